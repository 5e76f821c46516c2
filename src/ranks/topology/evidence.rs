//! The evidence about the machines of this job: whatever says how many there are, or which of them this is. All of it must
//! agree: nothing decides because it is read first.

use std::fmt::{self, Display};

use super::{
    Allocation, Answer, Placement, RankFlags, Role as RankRole, Stated, Topology, alone, batch,
    foreign_address, is_set, machines, machines_of, number, number_of_machines, place_flags,
    place_unknown, refused, slurm,
    tables::{
        engines::{ENGINES, Engine, Inside, Kind, Role, Variable},
        other_tools::{BARE_COUNTS, BARE_PLACES, COUNTS, NO_MACHINES, OF_TORCH, PLACES},
        rank_variables::{NNODES, NODE_RANK, RANK_VARIABLES},
    },
    text,
};
use crate::{
    base::{
        source::{Given, Sourced},
        vars,
    },
    host::Host,
    report::prelude::*,
};

pub struct Evidence(Vec<Piece>);

#[derive(Default)]
struct Piece {
    /// The engine, or the first variable.
    by: String,
    engine: Option<&'static Engine>,
    allocation: Option<Allocation>,
    count: Stated<u32>,
    /// The number of this machine.
    index: Stated<u32>,
    rank: Stated<u32>,
    /// The number of ranks.
    world: Stated<u32>,
    /// torchrun numbers the machines as they come.
    by_torchrun: bool,
    /// What is not known of a larger job. It must be, unless something else places this process.
    missing: Option<Problem>,
    /// The variables to unset if they are left over.
    variables: Vec<String>,
}

impl Evidence {
    pub fn collect(host: &Host) -> Self {
        let is_there = |prefix: &&str| host.vars_from(prefix).next().is_some();
        let mut pieces: Vec<Piece> = ENGINES
            .iter()
            .filter(|engine| engine.prefixes.iter().any(is_there))
            .filter_map(|engine| Piece::of_engine(engine, host))
            .collect();
        let mut allocations = pieces.iter().filter_map(|piece| piece.allocation.as_ref());
        if !allocations.any(|allocation| allocation.sets_rank_variables) {
            pieces.extend(Piece::of_ranks(host));
        }
        for (nnodes, node_rank) in NNODES.into_iter().zip(NODE_RANK) {
            pieces.extend(Piece::of_variables(nnodes, node_rank, host));
        }
        if !pieces.iter().any(Piece::says_several)
            && let Some(problem) = counted_by_another(host)
        {
            pieces.push(Piece {
                by: "another tool".into(),
                missing: Some(problem),
                ..Piece::default()
            });
        }
        Evidence(pieces)
    }

    /// Adds what the launcher in the command read in a file or a variable.
    pub fn and(mut self, stated: &RankFlags) -> Self {
        self.0.extend(Piece::of_words(stated));
        self
    }

    /// The rule. What is `stated` by flags of zlaunch, or typed as words of a launcher, decides: what says something else is
    /// told. All other evidence must agree, and in a larger job something must place this process. `starts`: a launcher in the
    /// command starts the ranks.
    pub fn weigh(&self, stated: &RankFlags, starts: bool) -> Result<Problems, Problem> {
        let pieces: Vec<&Piece> = self.judged().collect();
        let twice = self.started_twice().filter(|_| starts);
        if let Some(words) = Piece::of_words(stated) {
            // Variables that zlaunch ignores are named elsewhere. Tasks that start the launcher do so in any place.
            let overruled = pieces
                .into_iter()
                .filter(|piece| {
                    if starts {
                        !piece.is_one_of_several()
                    } else {
                        piece.allocation.is_some()
                    }
                })
                .filter_map(|piece| words.overrules(piece));
            return Ok(twice.into_iter().chain(overruled).collect());
        }
        if let Some(warning) = twice {
            return Err(Problem {
                rule: Rule::Ranks,
                severity: Severity::Error,
                allowable: false,
                ..warning
            });
        }
        let is_numbered = stated.node_rank.is_some();
        for (at, one) in pieces.iter().enumerate() {
            if let Some(two) = pieces[at + 1..]
                .iter()
                .find(|two| one.contradicts(two, is_numbered))
            {
                return Err(one.disagreement(two));
            }
        }
        if pieces.iter().any(|piece| piece.settles(is_numbered)) {
            return Ok(vec![]);
        }
        let is_one_machine = pieces.iter().any(|piece| piece.is_one_machine());
        // On one machine, too, each of several tasks would start all ranks.
        pieces
            .iter()
            .filter(|piece| !is_one_machine || piece.is_one_of_several())
            .find_map(|piece| piece.missing.clone())
            .map_or(Ok(vec![]), Err)
    }

    /// Warns if this is one of several tasks, each of which starts the launcher in the command.
    pub fn started_twice(&self) -> Option<Problem> {
        let piece = self.judged().find(|piece| piece.is_one_of_several())?;
        Some(
            piece
                .locate(
                    Rule::ContradictsScheduler
                        .warning(format!("{piece}, and each of them starts this launcher")),
                )
                .fix(say("start it once on each machine").or(piece.unset())),
        )
    }

    /// Warns if this is not the first machine, where one machine starts the ranks of all: the first would do the same.
    pub fn against_hostfile(&self) -> Option<Problem> {
        let piece = self.judged().find(|piece| piece.index.value() > Some(0))?;
        let what = format!("{piece}: the ranks of a hostfile are started from one machine");
        Some(
            piece
                .locate(Rule::ContradictsScheduler.warning(what))
                .fix("start it on the first machine only, or without the hostfile on each"),
        )
    }

    /// Refuses to start the ranks of one machine if anything counts several, however the plan came about.
    pub fn against_one_machine(&self, topology: &Topology) -> Option<Problem> {
        let starts = matches!(topology.role, RankRole::Starter) && topology.pool.is_none();
        let piece = self.0.iter().find(|piece| piece.count.value() > Some(1))?;
        if !starts || !topology.is_one_machine() {
            return None;
        }
        let what = format!("{piece}, but this would start the ranks of one machine");
        Some(piece.locate(refused(what)).fix(alone().or(piece.unset())))
    }

    /// What the engine says that places this process. Of several engines it is the first that knows which machine this is.
    pub fn allocation(&self) -> Option<&Allocation> {
        // Of several that are equal, `min` takes the first.
        self.judged()
            .filter_map(|piece| piece.allocation.as_ref())
            .min_by_key(|allocation| allocation.node_rank.is_none())
    }

    pub fn place_of_several(&self) -> Option<Place> {
        self.0
            .iter()
            .find(|piece| piece.says_several())?
            .places()
            .into_iter()
            .next()
    }

    /// Each piece in words, if there are several.
    pub fn in_words(&self) -> Vec<String> {
        if self.0.len() < 2 {
            return vec![];
        }
        self.0.iter().map(Piece::to_string).collect()
    }

    /// The pieces without those of engines whose place another engine knows better. Two that may each run inside the other
    /// must agree.
    fn judged(&self) -> impl Iterator<Item = &Piece> {
        self.0.iter().filter(|piece| {
            let is_known_better = |other: &Piece| {
                let is_inside = other.runs_inside(piece) && !piece.runs_inside(other);
                is_inside || other.sets_variables_of(piece)
            };
            !self.0.iter().any(is_known_better)
        })
    }
}

impl Piece {
    fn of_engine(engine: &'static Engine, host: &Host) -> Option<Self> {
        let mut piece = Piece {
            by: engine.name.into(),
            engine: Some(engine),
            variables: set(engine.variables().map(Variable::name), host),
            ..Piece::default()
        };
        match ask(engine, host) {
            Ok(allocation) => {
                let allocation = Allocation {
                    engine: engine.name,
                    ..allocation?
                };
                piece.count = Some(allocation.nnodes.clone());
                piece.index.clone_from(&allocation.node_rank);
                if let Placement::Rank(task) = &allocation.placement {
                    piece.rank = Some(task.rank.clone());
                    piece.world = Some(task.world_size.clone());
                }
                piece.allocation = Some(allocation);
            }
            Err(problem) => {
                let number = |role| engine.number(role, 0, host).ok().flatten();
                piece.index = number(Role::Instance);
                piece.rank = number(Role::Rank);
                piece.world = number(Role::Size);
                piece.missing = Some(problem);
            }
        }
        Some(piece)
    }

    /// RANK and WORLD_SIZE. Without LOCAL_RANK they can count machines or ranks.
    fn of_ranks(host: &Host) -> Option<Self> {
        let number = |name: &str| number::<u32>(name, 0, host).ok().flatten();
        let rank = number(vars::RANK)?;
        let world = number(vars::WORLD_SIZE)?;
        let is_one = world.value == 1;
        let machines = if is_one {
            Some(1)
        } else if let Some(groups) = number(vars::GROUP_WORLD_SIZE) {
            Some(groups.value)
        } else {
            number(vars::LOCAL_WORLD_SIZE).and_then(|local| machines_of(world.value, local.value))
        };
        let is_rank = is_one || is_set(vars::LOCAL_RANK, host);
        let missing = (!is_rank).then(|| {
            refused("without LOCAL_RANK these can count machines or ranks")
                .at(&rank)
                .at(&world)
                .fix(
                    give("--nnodes", &world)
                        .and(give("--node-rank", &rank))
                        .remark("for machines")
                        .or("set LOCAL_RANK too, for ranks")
                        .or(alone()),
                )
        });
        Some(Piece {
            by: vars::RANK.into(),
            count: machines.map(|machines| world.says(machines)),
            rank: Some(rank),
            world: Some(world),
            by_torchrun: is_set(vars::GROUP_RANK, host),
            missing,
            variables: RANK_VARIABLES.map(String::from).to_vec(),
            ..Piece::default()
        })
    }

    fn of_variables(nnodes: &'static str, node_rank: &'static str, host: &Host) -> Option<Self> {
        let variables = set([nnodes, node_rank], host);
        let by = variables.first()?.clone();
        let mut piece = Piece {
            by,
            index: number(node_rank, 0, host).ok().flatten(),
            variables,
            ..Piece::default()
        };
        match number_of_machines(&[nnodes], host) {
            Ok(Some(count)) => piece.count = Some(count),
            Ok(None) => piece.missing = uncounted(piece.index.as_ref()?, host),
            Err(problem) => piece.missing = Some(problem),
        }
        Some(piece)
    }

    /// `None`: they leave the number of machines open.
    fn of_words(stated: &RankFlags) -> Option<Self> {
        let nnodes = stated.nnodes.clone()?;
        Some(Piece {
            by: nnodes.from.to_string(),
            count: Some(nnodes),
            index: stated.node_rank.clone(),
            ..Piece::default()
        })
    }

    fn is_one_machine(&self) -> bool {
        self.count.value() == Some(1)
    }

    /// True if it says that this process is a rank among others.
    fn is_one_of_several(&self) -> bool {
        self.rank.is_some() && self.world.value() > Some(1)
    }

    /// True if it says that there are several machines. Being number 0 does not.
    fn says_several(&self) -> bool {
        let is_first = self.index.value() == Some(0);
        self.missing.is_some() && !is_first || self.count.value() > Some(1)
    }

    /// The number of this machine in a job of so many machines.
    fn index_among(&self, machines: u32) -> Option<u32> {
        if self.index.is_some() || self.by_torchrun {
            return self.index.value();
        }
        let each = self.world.value()? / machines;
        self.rank.value()?.checked_div(each)
    }

    /// True if it places this process in a larger job. `is_numbered`: a flag says which machine this is.
    fn settles(&self, is_numbered: bool) -> bool {
        self.is_one_of_several() && self.missing.is_none()
            || self.count.is_some() && (is_numbered || self.index.is_some())
    }

    fn contradicts(&self, other: &Piece, is_numbered: bool) -> bool {
        let machines = match (self.count.value(), other.count.value()) {
            (Some(one), Some(two)) if one != two => return true,
            (Some(1), None) => return other.says_several(),
            (None, Some(1)) => return self.says_several(),
            (one, two) => one.or(two).unwrap_or(1).max(1),
        };
        let differ =
            |one: Option<u32>, two: Option<u32>| one.zip(two).is_some_and(|(one, two)| one != two);
        let index = |piece: &Piece| piece.index_among(machines);
        let does_not_divide = |piece: &Piece| {
            let world = piece.world.value().unwrap_or(0);
            piece.count.is_none() && !world.is_multiple_of(machines)
        };
        let is_other_rank = differ(self.rank.value(), other.rank.value())
            || differ(self.world.value(), other.world.value());
        is_other_rank && !self.by_torchrun && !other.by_torchrun
            || does_not_divide(self)
            || does_not_divide(other)
            || machines > 1 && !is_numbered && differ(index(self), index(other))
    }

    /// Two pieces contradict each other. The one that is likelier left over is to be unset: of two with the same origin, that of
    /// one machine.
    fn disagreement(&self, other: &Piece) -> Problem {
        let problem = refused(format!("{self}, but {other}"));
        // What is left over was rather set for a rank than for a job, and by a person than by an engine.
        let doubt = |piece: &&Piece| {
            let is_for_rank = piece.rank.is_some();
            (is_for_rank, piece.engine.is_none(), piece.is_one_machine())
        };
        // Of two that are equal, `max` takes the last.
        let stale = [other, self].into_iter().max_by_key(doubt);
        let stale = stale.filter(|stale| !stale.variables.is_empty());
        let fixes = stale.map_or(alone().into(), |stale| stale.unset().or(alone()));
        other.locate(self.locate(problem)).fix(fixes)
    }

    fn unset(&self) -> Fix {
        run(format!("unset {}", self.variables.join(" ")))
            .remark("if left over from something else")
    }

    /// Warns of the piece if these words overrule it.
    fn overrules(&self, piece: &Piece) -> Option<Problem> {
        let nnodes = self.count.as_ref()?;
        if !piece.contradicts(self, false) {
            return None;
        }
        let is_same_count = piece.count.value().unwrap_or(nnodes.value) == nnodes.value;
        let fix = if is_same_count && nnodes.value > 1 {
            say(
                "leave the number of the machine to the scheduler: a `$SLURM_NODEID` in the batch script is 0 everywhere",
            )
        } else {
            let all = drop_word(&nnodes.from).remark("to use all of them together");
            if nnodes.from.is_flag() {
                all
            } else {
                all.of(Owner::Launcher)
            }
        };
        let problem = Rule::ContradictsScheduler.warning(format!("{piece}, but {self}"));
        Some(piece.locate(self.locate(problem)).fix(fix))
    }

    /// True if this engine starts its tasks in jobs of the other one, so that its own numbers hold. If the job has several
    /// machines and this engine sees one, both count.
    fn runs_inside(&self, other: &Piece) -> bool {
        let (Some(engine), Some(outer)) = (self.engine, other.engine) else {
            return false;
        };
        let is_inside = match engine.inside {
            Inside::Nothing => false,
            Inside::AnyOther => engine.name != outer.name,
            Inside::These(names) => names.contains(&outer.name),
        };
        is_inside && self.allocation.is_some() && !(self.is_one_machine() && other.says_several())
    }

    /// True if this engine also sets the variables of the other one, which then have the same numbers.
    fn sets_variables_of(&self, other: &Piece) -> bool {
        let (Some(engine), Some(of_other)) = (self.engine, other.engine) else {
            return false;
        };
        let tasks = self.world.value().or(self.count.value());
        let is_same = other.world.is_none() || other.world.value() == tasks;
        // `None` is less than any number: without a rank, it is one of theirs too.
        let is_a_task = other.rank.value() < tasks;
        of_other.set_by.contains(&engine.name)
            && (self.allocation.is_none() || is_same && is_a_task)
    }

    fn places(&self) -> Vec<Place> {
        let numbers = self.count.iter().chain(&self.index).map(Place::from);
        match &self.missing {
            Some(missing) => numbers.chain(missing.places.clone()).collect(),
            None => self
                .rank
                .iter()
                .chain(&self.world)
                .map(Place::from)
                .chain(numbers)
                .collect(),
        }
    }

    fn locate(&self, mut problem: Problem) -> Problem {
        problem.places.extend(self.places());
        problem.places.dedup();
        problem
    }
}

impl Display for Piece {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{} says ", self.by)?;
        match (&self.rank, &self.world, &self.count, &self.index) {
            (Some(rank), Some(world), ..) => write!(f, "rank {rank} of {world}"),
            (Some(rank), ..) => write!(f, "rank {rank}"),
            _ if self.is_one_machine() => f.write_str("one machine"),
            (_, _, Some(count), Some(index)) => write!(f, "machine {index} of {count}"),
            (_, _, Some(count), None) => write!(f, "{count} machines"),
            (_, _, None, Some(index)) => write!(f, "machine {index}"),
            _ => f.write_str("part of a larger job"),
        }
    }
}

/// Refuses the number of a machine without the number of machines. Machine 0 may be alone, unless it is to meet others.
fn uncounted(index: &Sourced<u32>, host: &Host) -> Option<Problem> {
    let address = foreign_address(host);
    if index.value == 0 && address.is_none() {
        return None;
    }
    let problem = address.iter().fold(
        refused(format!(
            "this is machine {index}, but the number of machines is unknown"
        ))
        .at(index),
        Problem::at,
    );
    let first = address.as_ref().map_or("HOST", |address| &address.value);
    Some(problem.fix(place_flags("N", index, first).or("set NNODES").or(alone())))
}

fn set(names: impl IntoIterator<Item: AsRef<str>>, host: &Host) -> Vec<String> {
    names
        .into_iter()
        .filter(|name| is_set(name.as_ref(), host))
        .map(|name| name.as_ref().to_string())
        .collect()
}

fn ask(engine: &Engine, host: &Host) -> Answer {
    let detect = match engine.kind {
        Kind::Machines | Kind::Pods { .. } => machines::detect,
        Kind::Ranks | Kind::RanksWithoutPlace => batch::detect_ranks,
        Kind::Shell => batch::detect_shell,
        Kind::Slurm => slurm::detect,
        Kind::GridEngine => batch::detect_grid_engine,
        Kind::Azure => batch::detect_azure,
        Kind::MpiJob => machines::detect_mpi_job,
        Kind::Vertex => machines::detect_vertex,
    };
    detect(engine, host)
}

/// The net under the table of engines: a tool that is not in it is seen by how it calls its numbers.
fn counted_by_another(host: &Host) -> Option<Problem> {
    let number = |name: &str| host.nonempty_var(name)?.trim().parse::<u64>().ok();
    let names = || host.env.keys().filter_map(|name| name.to_str());
    names()
        .filter(|count| number(count) > Some(1))
        .find_map(|count| {
            let is_bare = BARE_COUNTS.contains(&count);
            let (tool, _) = count.split_once('_').unwrap_or_default();
            let mut prefixes = ENGINES.iter().flat_map(|engine| engine.prefixes);
            let is_known = tool.is_empty()
                || OF_TORCH.contains(&tool)
                || prefixes.any(|prefix| count.starts_with(prefix));
            if !is_bare && (is_known || !ends_so(count, COUNTS)) {
                return None;
            }
            let is_place = |name: &&str| {
                let is_of_tool = || {
                    name.strip_prefix(tool).unwrap_or_default().starts_with('_')
                        && ends_so(name, PLACES)
                        && !NO_MACHINES.iter().any(|part| name.contains(part))
                };
                let is_so_named = if is_bare {
                    BARE_PLACES.contains(name)
                } else {
                    is_of_tool()
                };
                is_so_named && number(name).is_some() && number(name) <= number(count)
            };
            let place = names()
                .find(is_place)
                .and_then(|name| text(name, host))
                .or_else(|| foreign_address(host).filter(|_| is_bare))?;
            Some(place_unknown(
                if is_bare { "another tool" } else { tool },
                [&text(count, host)?, &place],
                "where its machines meet",
            ))
        })
}

fn ends_so(name: &str, endings: &[&str]) -> bool {
    let mut before = endings
        .iter()
        .filter_map(|ending| name.strip_suffix(ending));
    before.any(|before| before.ends_with('_'))
}
