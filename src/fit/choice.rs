//! Whether it fits, which template to take, and ways out where nothing does.

use super::advice::Advice;
use super::memory::{self, Machines, Need, Training};
use super::strategy::Strategy;
use super::training::{Settled, Tuner};
use super::weights::Weights;
use super::{Accounting, Size, training_of};

/// The largest micro batch that is looked for.
const MOST: u64 = 4096;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Fits,
    /// It fits by the sums, but not with the margin.
    Tight,
    Not,
    Unknown,
}

#[derive(Clone, Debug)]
pub(crate) struct Row {
    pub(crate) name: String,
    pub(crate) strategy: Strategy,
    pub(crate) need: Need,
    pub(crate) verdict: Verdict,
}

pub(crate) struct Recommended {
    pub(crate) template: String,
    pub(crate) why: String,
    pub(crate) largest_micro_batch: u64,
}

/// The allocator loses some memory to gaps. A tenth is a choice: with most of a card free it reserved 1 to 44 % more than
/// was allocated in the measured runs; how little it can do with when memory is short was not measured.
pub(crate) fn with_margin(need: &Need) -> u64 {
    need.gpu() + need.allocated() / 10
}

/// What the machines have.
pub(super) struct Limits {
    pub(super) gpu: Option<u64>,
    pub(super) host: Option<u64>,
    pub(super) accounting: Accounting,
}

impl Limits {
    pub(super) fn rows(&self, training: &Training, strategies: &[(String, Strategy)], machines: Machines) -> Vec<Row> {
        let row = |(name, strategy): &(String, Strategy)| {
            let need = self.need(training, strategy, machines);
            Row { name: name.clone(), strategy: strategy.clone(), verdict: self.verdict(&need, strategy), need }
        };
        strategies.iter().map(row).collect()
    }

    fn need(&self, training: &Training, strategy: &Strategy, machines: Machines) -> Need {
        match self.accounting {
            Accounting::Real => memory::need(training, strategy, machines),
            Accounting::Textbook => memory::textbook(training, strategy, machines),
        }
    }

    fn verdict(&self, need: &Need, strategy: &Strategy) -> Verdict {
        let Some(gpu) = self.gpu else { return Verdict::Unknown };
        let full = if self.accounting == Accounting::Real { with_margin(need) } else { need.gpu() };
        match self.host {
            _ if need.gpu() > gpu => Verdict::Not,
            Some(host) if need.host > host => Verdict::Not,
            None if strategy.offloads() => Verdict::Unknown,
            _ if full > gpu => Verdict::Tight,
            _ => Verdict::Fits,
        }
    }

    fn fits(&self, training: &Training, strategy: &Strategy, machines: Machines) -> bool {
        self.verdict(&self.need(training, strategy, machines), strategy) == Verdict::Fits
    }

    fn largest_micro_batch(&self, training: &Training, strategy: &Strategy, machines: Machines) -> u64 {
        largest(MOST, |micro_batch| self.fits(&Training { micro_batch, ..training.clone() }, strategy, machines))
    }
}

/// The largest number up to `most` for which it holds, where it holds for all smaller ones; 0 if for none.
fn largest(most: u64, holds: impl Fn(u64) -> bool) -> u64 {
    let (mut low, mut high) = (0, most + 1);
    while low + 1 < high {
        let middle = low.midpoint(high);
        if holds(middle) { low = middle } else { high = middle }
    }
    low
}

pub(super) fn recommend(
    rows: &[Row],
    order: &[&str],
    training: &Training,
    machines: Machines,
    limits: &Limits,
    advice: &Advice,
) -> Option<Recommended> {
    let named = |name: &&str| rows.iter().find(|row| row.name == **name);
    let row = order.iter().filter_map(named).find(|row| row.verdict == Verdict::Fits)?;
    let before: Vec<&str> = order.iter().copied().take_while(|name| *name != row.name).collect();
    let mut why = if before.is_empty() {
        "the fastest, and it fits".to_string()
    } else {
        format!("the first that fits after {}", before.join(", "))
    };
    if row.strategy.offloads() {
        why += &format!("; offload makes a step {}× slower", advice.offload_factor());
    }
    let largest_micro_batch = match limits.accounting {
        Accounting::Real => limits.largest_micro_batch(training, &row.strategy, machines),
        Accounting::Textbook => training.micro_batch,
    };
    Some(Recommended { template: row.name.clone(), why, largest_micro_batch })
}

/// Ways out, where nothing fits: each is tried by the same sums.
pub(super) struct Ways<'a> {
    pub(super) limits: &'a Limits,
    pub(super) order: &'a [&'a str],
    pub(super) strategies: &'a [(String, Strategy)],
    pub(super) weights: &'a Weights,
    pub(super) settled: &'a Settled,
}

impl Ways<'_> {
    pub(super) fn all(&self, machines: Machines) -> Vec<String> {
        let mut ways = Vec::new();
        let mut try_out = |what: &str, settled: &Settled| {
            let found = self.first(settled, machines);
            ways.extend(found.map(|name| format!("{what}: {name}")));
        };
        let with = |change: fn(&mut Settled)| {
            let mut settled = self.settled.clone();
            change(&mut settled);
            settled
        };
        let Settled { micro_batch, checkpointing, fused_loss, tuner, .. } = self.settled;
        if micro_batch.value > 1 {
            try_out("a micro batch of 1", &with(|it| it.micro_batch.value = 1));
        }
        if !checkpointing.value {
            try_out("gradient checkpointing", &with(|it| it.checkpointing.value = true));
        }
        if !fused_loss.value {
            try_out("a fused loss (Liger)", &with(|it| it.fused_loss.value = true));
        }
        if tuner.value == Tuner::Full {
            try_out("LoRA", &with(|it| it.tuner.value = Tuner::Lora));
        }
        if tuner.value != Tuner::Quantised(4) {
            try_out("QLoRA in 4 bits", &with(|it| it.tuner.value = Tuner::Quantised(4)));
        }
        ways.extend(self.shorter(machines));
        ways.extend(self.more_gpus(machines));
        ways.extend(self.disk(machines));
        if ways.is_empty() {
            ways.push(
                "machines with more memory: neither LoRA, nor shorter sequences, nor more of these would do"
                    .to_string(),
            );
        }
        ways
    }

    /// The first template that fits then.
    fn first(&self, settled: &Settled, machines: Machines) -> Option<&str> {
        let training = training_of(self.weights, settled);
        self.order.iter().copied().find(|name| {
            let strategy = self.strategies.iter().find(|(known, _)| known == name);
            strategy.is_some_and(|(_, strategy)| self.limits.fits(&training, strategy, machines))
        })
    }

    fn shorter(&self, machines: Machines) -> Option<String> {
        let with = |seq_len: u64| {
            let mut settled = self.settled.clone();
            settled.seq_len.value = seq_len;
            settled
        };
        let most = self.settled.seq_len.value / 64;
        let pieces = largest(most, |pieces| self.first(&with(64 * pieces), machines).is_some());
        let name = self.first(&with(64 * pieces), machines).filter(|_| pieces > 0)?;
        Some(format!("sequences of {} tokens: {name}", 64 * pieces))
    }

    fn more_gpus(&self, machines: Machines) -> Option<String> {
        let more = (1..=10).map(|power| Machines { nodes: machines.nodes << power, gpus: machines.gpus });
        let wider = (1..=3).map(|power| Machines { gpus: machines.gpus << power, ..machines });
        let wider = wider.filter(|machines| machines.gpus <= 8);
        let (name, machines) =
            wider.chain(more).find_map(|machines| Some((self.first(self.settled, machines)?, machines)))?;
        let each = if machines.nodes > 1 {
            format!("{} machines with {} GPUs each", machines.nodes, machines.gpus)
        } else {
            format!("{} GPUs", machines.gpus)
        };
        Some(format!("{each}: {name}"))
    }

    /// What a disk could take, for who has a fast one.
    fn disk(&self, machines: Machines) -> Option<String> {
        let training = training_of(self.weights, self.settled);
        let (name, strategy) = self.strategies.iter().find(|(name, _)| name == "zero3_nvme")?;
        let need = self.limits.need(&training, strategy, machines);
        let fits = self.limits.fits(&training, strategy, machines);
        fits.then(|| format!("a local NVMe disk with {} free: {name}", Size(need.disk)))
    }
}
