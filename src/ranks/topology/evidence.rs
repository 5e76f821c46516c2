//! The evidence about the machines of this job: whatever says how many there are, or which of them this is. All of it must
//! agree: nothing decides because it is read first.

use std::borrow::Cow;
use std::fmt::{self, Display};

use super::allocation::{Allocation, Placement, Task};
use super::engines::table::{Block, Variable};
use super::engines::{Answer, answers};
use super::net::{counted_by_another, foreign_address};
use super::problems::{alone, place_flags};
use super::variables::{
    NNODES, NODE_RANK, RANK_VARIABLES, RankFlags, machines, machines_of, number,
};
use crate::base::source::Sourced;
use crate::base::vars;
use crate::host::Host;
use crate::report::fix::{Fix, Owner, drop_word, give, run, say};
use crate::report::{Place, Problem, Rule, Severity};

pub(super) struct Evidence(Vec<Piece>);

#[derive(Default)]
struct Piece {
    /// The engine, or the first variable.
    by: Cow<'static, str>,
    count: Option<Sourced<u32>>,
    /// The number of this machine.
    index: Option<Sourced<u32>>,
    rank: Option<Sourced<u64>>,
    /// The number of ranks.
    world: Option<Sourced<u64>>,
    /// torchrun numbers the machines as they come.
    by_torchrun: bool,
    /// What is not known of a larger job. It must be, unless something else places this process.
    missing: Vec<Problem>,
    engine: Option<(Block, Option<Allocation>)>,
    /// The variables to unset if they are left over.
    variables: Vec<&'static str>,
}

impl Evidence {
    pub(super) fn collect(host: &Host) -> Self {
        let engines =
            answers(host).filter_map(|(block, answer)| Piece::of_engine(block, answer, host));
        let mut pieces: Vec<Piece> = engines.collect();
        if !pieces.iter().any(|piece| {
            piece
                .allocation()
                .is_some_and(|allocation| allocation.sets_rank_variables)
        }) {
            pieces.extend(Piece::of_ranks(host));
        }
        pieces.extend(
            (0..NNODES.len()).filter_map(|at| Piece::of_variables(NNODES[at], NODE_RANK[at], host)),
        );
        if !pieces.iter().any(Piece::says_several) {
            let missing = counted_by_another(host).map(Vec::from);
            pieces.extend(missing.map(|missing| Piece {
                by: "another tool".into(),
                missing,
                ..Piece::default()
            }));
        }
        Evidence(pieces)
    }

    /// Besides, what the launcher in the command read in a file or a variable.
    pub(super) fn and(mut self, stated: &RankFlags) -> Self {
        self.0.extend(Piece::of_words(stated));
        self
    }

    /// The rule. What is `stated` by flags of zlaunch, or typed as words of a launcher, decides: what says something else is
    /// told. All other evidence must agree, and in a larger job something must place this process. `starts`: a launcher in the
    /// command starts the ranks.
    pub(super) fn weigh(
        &self,
        stated: &RankFlags,
        starts: bool,
    ) -> Result<Vec<Problem>, Vec<Problem>> {
        let pieces: Vec<&Piece> = self.judged().collect();
        let started_twice = if starts { self.started_twice() } else { None };
        if let Some(words) = Piece::of_words(stated) {
            // Variables that zlaunch ignores are named elsewhere. Tasks that start the launcher do so in any place.
            let others = pieces.iter().filter(|it| {
                if starts {
                    !it.is_one_of_several()
                } else {
                    it.allocation().is_some()
                }
            });
            let overruled = others.filter_map(|piece| words.overrules(piece));
            return Ok(started_twice.into_iter().chain(overruled).collect());
        }
        if let Some(warning) = started_twice {
            return Err(Problem {
                rule: Rule::Ranks,
                severity: Severity::Error,
                allowable: false,
                ..warning
            }
            .into());
        }
        let is_numbered = stated.node_rank.is_some();
        for (at, one) in pieces.iter().enumerate() {
            if let Some(two) = pieces[at + 1..]
                .iter()
                .find(|two| one.contradicts(two, is_numbered))
            {
                return Err(one.disagreement(two).into());
            }
        }
        let is_settled = pieces
            .iter()
            .any(|piece| piece.is_one_machine() || piece.places(is_numbered));
        let missing = pieces
            .iter()
            .map(|piece| &piece.missing)
            .find(|missing| !missing.is_empty() && !is_settled);
        missing.map_or(Ok(Vec::new()), |missing| Err(missing.clone()))
    }

    /// Warns if this is one of several tasks, each of which starts the launcher in the command.
    pub(super) fn started_twice(&self) -> Option<Problem> {
        let piece = self.judged().find(|piece| piece.is_one_of_several())?;
        let what = format!("{piece}, and each of them starts this launcher");
        let fixes = say("start it once on each machine").or(piece.unset());
        Some(
            piece
                .locate(Problem::warning(Rule::ContradictsScheduler, what))
                .fix(fixes),
        )
    }

    /// Warns if this is not the first machine, where one machine starts the ranks of all: the first would do the same.
    pub(super) fn against_hostfile(&self) -> Option<Problem> {
        let piece = self
            .judged()
            .find(|piece| piece.index.as_ref().is_some_and(|index| index.value > 0))?;
        let what = format!("{piece}: the ranks of a hostfile are started from one machine");
        let fix = say("start it on the first machine only, or without the hostfile on each");
        Some(
            piece
                .locate(Problem::warning(Rule::ContradictsScheduler, what))
                .fix(fix),
        )
    }

    /// The engine that places this process: of several, the first that knows which machine this is.
    pub(super) fn engine(&self) -> Option<(&'static str, &Allocation)> {
        let engines = || {
            self.judged()
                .filter_map(|piece| Some((piece.engine.as_ref()?.0.name(), piece.allocation()?)))
        };
        engines()
            .find(|(_, allocation)| allocation.node_rank.is_some())
            .or_else(|| engines().next())
    }

    pub(super) fn place_of_several(&self) -> Option<Place> {
        let piece = self.0.iter().find(|piece| piece.says_several())?;
        piece
            .locate(Problem::error(Rule::Ranks, ""))
            .places
            .into_iter()
            .next()
    }

    /// Each piece, if there are several.
    pub(super) fn in_words(&self) -> Vec<String> {
        let pieces = if self.0.len() > 1 { &self.0[..] } else { &[] };
        pieces.iter().map(Piece::to_string).collect()
    }

    /// Without the engines of which another one knows better.
    fn judged(&self) -> impl Iterator<Item = &Piece> {
        self.0
            .iter()
            .filter(|piece| !self.0.iter().any(|other| other.knows_better_than(piece)))
    }
}

impl Piece {
    fn of_engine(block: Block, answer: Answer, host: &Host) -> Option<Self> {
        let (allocation, missing) = match answer {
            Ok(allocation) => (Some(allocation?), Vec::new()),
            Err(problems) => (None, problems),
        };
        let readable = |role: &str| number(block.name_of(role), 0, host).ok().flatten();
        let (rank, world) = match allocation.as_ref().map(|allocation| &allocation.placement) {
            Some(Placement::Rank(Task {
                rank, world_size, ..
            })) => (
                Some(rank.clone().map(u64::from)),
                Some(world_size.clone().map(u64::from)),
            ),
            Some(_) => (None, None),
            None => (readable("rank"), readable("size")),
        };
        Some(Piece {
            by: block.name().into(),
            count: allocation
                .as_ref()
                .map(|allocation| allocation.nnodes.clone()),
            index: allocation
                .as_ref()
                .and_then(|allocation| allocation.node_rank.clone()),
            rank,
            world,
            missing,
            engine: Some((block, allocation)),
            variables: set(block.variables().map(Variable::name), host),
            ..Piece::default()
        })
    }

    /// RANK and WORLD_SIZE. Without LOCAL_RANK they can count machines or ranks.
    fn of_ranks(host: &Host) -> Option<Self> {
        let number = |name: &str| number::<u64>(name, 0, host).ok().flatten();
        let (rank, world) = (number(vars::RANK)?, number(vars::WORLD_SIZE)?);
        let divided =
            number(vars::LOCAL_WORLD_SIZE).and_then(|each| machines_of(world.value, each.value));
        let groups = number(vars::GROUP_WORLD_SIZE).and_then(|groups| machines_of(groups.value, 1));
        let machines = if world.value == 1 {
            Some(1)
        } else {
            groups.or(divided)
        };
        let missing = if world.value == 1 || host.nonempty_var(vars::LOCAL_RANK).is_some() {
            Vec::new()
        } else {
            let machines = give("--nnodes", world.value)
                .and(give("--node-rank", rank.value))
                .remark("for machines");
            let fixes = machines.or("set LOCAL_RANK too, for ranks").or(alone());
            let what = "without LOCAL_RANK these can count machines or ranks";
            Problem::error(Rule::Ranks, what)
                .at(&rank)
                .at(&world)
                .fix(fixes)
                .into()
        };
        Some(Piece {
            by: vars::RANK.into(),
            count: machines.map(|machines| Sourced::new(machines, world.from.clone())),
            rank: Some(rank),
            world: Some(world),
            by_torchrun: host.nonempty_var(vars::GROUP_RANK).is_some(),
            missing,
            variables: RANK_VARIABLES.to_vec(),
            ..Piece::default()
        })
    }

    fn of_variables(nnodes: &'static str, node_rank: &'static str, host: &Host) -> Option<Self> {
        let variables = set([nnodes, node_rank], host);
        let by = *variables.first()?;
        let (count, index) = (
            machines(&[nnodes], host),
            number::<u32>(node_rank, 0, host).ok().flatten(),
        );
        let mut missing: Vec<Problem> = count.as_ref().err().cloned().into_iter().collect();
        let address = foreign_address(host);
        if let Some(index) = index
            .as_ref()
            .filter(|index| by == node_rank && (index.value > 0 || address.is_some()))
        {
            let what = format!(
                "this is machine {}, but the number of machines is unknown",
                index.value
            );
            let problem = address
                .iter()
                .fold(Problem::error(Rule::Ranks, what).at(index), Problem::at);
            let first = address.as_ref().map_or("HOST", |address| &address.value);
            let place = place_flags("N", &index.value.to_string(), first);
            missing.push(problem.fix(place.or("set NNODES").or(alone())));
        }
        Some(Piece {
            by: by.into(),
            count: count.ok().flatten(),
            index,
            missing,
            variables,
            ..Piece::default()
        })
    }

    /// `None`: they leave the number of machines open.
    fn of_words(stated: &RankFlags) -> Option<Self> {
        let by = stated.nnodes.as_ref()?.from.to_string().into();
        Some(Piece {
            by,
            count: stated.nnodes.clone(),
            index: stated.node_rank.clone(),
            ..Piece::default()
        })
    }

    fn allocation(&self) -> Option<&Allocation> {
        self.engine.as_ref()?.1.as_ref()
    }

    fn is_one_machine(&self) -> bool {
        self.count.as_ref().is_some_and(|count| count.value == 1)
    }

    /// A task that is a rank among others.
    fn is_one_of_several(&self) -> bool {
        self.rank.is_some() && self.world.as_ref().is_some_and(|world| world.value > 1)
    }

    /// The number 0 does not say that there are others.
    fn says_several(&self) -> bool {
        let is_first = self.index.as_ref().is_some_and(|index| index.value == 0);
        !self.missing.is_empty() && !is_first
            || self.count.as_ref().is_some_and(|count| count.value > 1)
    }

    /// The number of this machine, if there are so many.
    fn index_among(&self, machines: u32) -> Option<u32> {
        if let Some(index) = &self.index {
            return Some(index.value);
        }
        let (Some(rank), Some(world), false) = (&self.rank, &self.world, self.by_torchrun) else {
            return None;
        };
        u32::try_from(rank.value.checked_div(world.value / u64::from(machines))?).ok()
    }

    fn places(&self, is_numbered: bool) -> bool {
        let is_rank = self.is_one_of_several() && self.missing.is_empty();
        is_rank
            || !self.is_one_machine()
                && self.count.is_some()
                && (is_numbered || self.index.is_some())
    }

    fn contradicts(&self, other: &Piece, is_numbered: bool) -> bool {
        let counts = [self, other].map(|piece| piece.count.as_ref().map(|count| count.value));
        let machines = match counts {
            [Some(one), Some(two)] if one != two => return true,
            [Some(1), None] => return other.says_several(),
            [None, Some(1)] => return self.says_several(),
            [one, two] => one.or(two).unwrap_or(1).max(1),
        };
        let differ = |number: fn(&Piece) -> &Option<Sourced<u64>>| {
            number(self)
                .as_ref()
                .zip(number(other).as_ref())
                .is_some_and(|(one, two)| one.value != two.value)
        };
        let by_torchrun = self.by_torchrun || other.by_torchrun;
        let is_other_rank =
            !by_torchrun && (differ(|piece| &piece.rank) || differ(|piece| &piece.world));
        let does_not_divide = |piece: &Piece| {
            piece.count.is_none()
                && piece
                    .world
                    .as_ref()
                    .is_some_and(|world| world.value % u64::from(machines) != 0)
        };
        let is_other = self
            .index_among(machines)
            .zip(other.index_among(machines))
            .is_some_and(|(one, two)| one != two);
        is_other_rank
            || does_not_divide(self)
            || does_not_divide(other)
            || machines > 1 && is_other && !is_numbered
    }

    /// The piece that may be left over is to be unset.
    fn disagreement(&self, other: &Piece) -> Problem {
        let problem =
            other.locate(self.locate(Problem::error(Rule::Ranks, format!("{self}, but {other}"))));
        let stale = if other.looks_left_over() > self.looks_left_over() {
            other
        } else {
            self
        };
        problem.fix(if stale.variables.is_empty() {
            alone().into()
        } else {
            stale.unset().or(alone())
        })
    }

    fn unset(&self) -> Fix {
        run(format!("unset {}", self.variables.join(" ")))
            .remark("if left over from something else")
    }

    /// The warning of what these words overrule.
    fn overrules(&self, piece: &Piece) -> Option<Problem> {
        let nnodes = self
            .count
            .as_ref()
            .filter(|_| piece.contradicts(self, false))?;
        let is_same_count = piece
            .count
            .as_ref()
            .is_none_or(|count| count.value == nnodes.value);
        let fix = if is_same_count && nnodes.value > 1 {
            say(
                "leave the number of the machine to the scheduler: a `$SLURM_NODEID` in the batch script is 0 everywhere",
            )
        } else {
            let owner = if nnodes.from.is_flag() {
                Owner::Zlaunch
            } else {
                Owner::Launcher
            };
            drop_word(&nnodes.from)
                .of(owner)
                .remark("to use all of them together")
        };
        let problem = Problem::warning(Rule::ContradictsScheduler, format!("{piece}, but {self}"));
        Some(piece.locate(self.locate(problem)).fix(fix))
    }

    /// This engine starts its tasks in jobs of the other one, and they may have the variables of the machine that started them;
    /// that the job has several machines where this one sees one is said all the same. Or it also sets the variables of the
    /// other one, which then have the same numbers.
    fn knows_better_than(&self, other: &Piece) -> bool {
        let (Some((block, allocation)), Some((of_other, _))) = (&self.engine, &other.engine) else {
            return false;
        };
        let lists = |list: Option<&str>, name: &str| {
            list.is_some_and(|list| list.split(", ").any(|it| it == name))
        };
        let inside = if allocation.is_some() && block.name() != of_other.name() {
            block.field("inside")
        } else {
            None
        };
        let is_inside = inside == Some("any") || lists(inside, of_other.name());
        let tasks = self
            .world
            .as_ref()
            .map(|world| world.value)
            .or_else(|| Some(self.count.as_ref()?.value.into()));
        let is_same = other
            .world
            .as_ref()
            .is_none_or(|world| Some(world.value) == tasks)
            && other
                .rank
                .as_ref()
                .is_none_or(|rank| Some(rank.value) < tasks);
        is_inside && !(self.is_one_machine() && other.says_several())
            || lists(of_other.field("set-by"), block.name()) && (allocation.is_none() || is_same)
    }

    fn locate(&self, mut problem: Problem) -> Problem {
        if self.missing.is_empty() {
            problem
                .places
                .extend(self.rank.iter().chain(&self.world).map(Place::from));
        }
        problem
            .places
            .extend(self.count.iter().chain(&self.index).map(Place::from));
        problem.places.extend(
            self.missing
                .iter()
                .flat_map(|problem| problem.places.clone()),
        );
        problem.places.dedup();
        problem
    }

    /// What is left over was rather set for less: ranks of a launcher, then a few variables, then one machine.
    fn looks_left_over(&self) -> impl Ord {
        (
            self.rank.is_some(),
            self.engine.is_none(),
            self.is_one_machine(),
        )
    }
}

impl Display for Piece {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Piece {
            by,
            count,
            index,
            rank,
            world,
            ..
        } = self;
        match (rank, world, count, index) {
            (Some(rank), Some(world), ..) => {
                write!(f, "{by} says rank {} of {}", rank.value, world.value)
            }
            (Some(rank), ..) => write!(f, "{by} says rank {}", rank.value),
            _ if self.is_one_machine() => write!(f, "{by} says one machine"),
            (_, _, Some(count), Some(index)) => {
                write!(f, "{by} says machine {} of {}", index.value, count.value)
            }
            (_, _, Some(count), None) => write!(f, "{by} says {} machines", count.value),
            (_, _, None, Some(index)) => write!(f, "{by} says machine {}", index.value),
            _ => write!(f, "{by} says part of a larger job"),
        }
    }
}

fn set(names: impl IntoIterator<Item = &'static str>, host: &Host) -> Vec<&'static str> {
    names
        .into_iter()
        .filter(|name| host.nonempty_var(name).is_some())
        .collect()
}
