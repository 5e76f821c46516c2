//! The evidence about the machines of this job: whatever says how many there are, or which of them this is. All of it must
//! agree: nothing decides because it is read first.

use std::borrow::Cow;
use std::fmt::{self, Display};

use super::allocation::{Allocation, Answer, Placement, alone, place_flags, refused};
use super::engines::answers;
use super::stray::{counted_by_another, foreign_address};
use super::tables::engines::{Engine, Inside, Role, Variable};
use super::tables::rank_variables::{NNODES, NODE_RANK, RANK_VARIABLES};
use super::variables::{RankFlags, machines, machines_of, number};
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
    engine: Option<&'static Engine>,
    allocation: Option<Allocation>,
    count: Option<Sourced<u32>>,
    /// The number of this machine.
    index: Option<Sourced<u32>>,
    rank: Option<Sourced<u64>>,
    /// The number of ranks.
    world: Option<Sourced<u64>>,
    /// torchrun numbers the machines as they come.
    by_torchrun: bool,
    /// What is not known of a larger job. It must be, unless something else places this process.
    missing: Option<Problem>,
    /// The variables to unset if they are left over.
    variables: Vec<Cow<'static, str>>,
}

/// What set the variables of a piece. What is left over from something else was rather set for less, so the likeliest
/// comes last.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum SetBy {
    Engine,
    User,
    EngineForTask,
    LauncherForRank,
}

impl Evidence {
    pub(super) fn collect(host: &Host) -> Self {
        let engines =
            answers(host).filter_map(|(engine, answer)| Piece::of_engine(engine, answer, host));
        let mut pieces: Vec<Piece> = engines.collect();
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
    pub(super) fn and(mut self, stated: &RankFlags) -> Self {
        self.0.extend(Piece::of_words(stated));
        self
    }

    /// The rule. What is `stated` by flags of zlaunch, or typed as words of a launcher, decides: what says something else is
    /// told. All other evidence must agree, and in a larger job something must place this process. `starts`: a launcher in the
    /// command starts the ranks.
    pub(super) fn weigh(&self, stated: &RankFlags, starts: bool) -> Result<Vec<Problem>, Problem> {
        let pieces: Vec<&Piece> = self.judged().collect();
        let mut told: Vec<Problem> = Vec::new();
        if starts {
            told.extend(self.started_twice());
        }
        if let Some(words) = Piece::of_words(stated) {
            for piece in pieces {
                // Variables that zlaunch ignores are named elsewhere. Tasks that start the launcher do so in any place.
                let is_judged = if starts {
                    !piece.is_one_of_several()
                } else {
                    piece.allocation.is_some()
                };
                if is_judged {
                    told.extend(words.overrules(piece));
                }
            }
            return Ok(told);
        }
        if let Some(warning) = told.pop() {
            return Err(Problem {
                rule: Rule::Ranks,
                severity: Severity::Error,
                allowable: false,
                ..warning
            });
        }
        let is_numbered = stated.node_rank.is_some();
        for (at, one) in pieces.iter().enumerate() {
            let mut others = pieces[at + 1..].iter();
            if let Some(two) = others.find(|two| one.contradicts(two, is_numbered)) {
                return Err(one.disagreement(two));
            }
        }
        let is_settled = pieces
            .iter()
            .any(|piece| piece.is_one_machine() || piece.settles(is_numbered));
        match pieces.iter().find_map(|piece| piece.missing.as_ref()) {
            Some(missing) if !is_settled => Err(missing.clone()),
            _ => Ok(told),
        }
    }

    /// Warns if this is one of several tasks, each of which starts the launcher in the command.
    pub(super) fn started_twice(&self) -> Option<Problem> {
        let piece = self.judged().find(|piece| piece.is_one_of_several())?;
        let what = format!("{piece}, and each of them starts this launcher");
        let problem = piece.locate(Problem::warning(Rule::ContradictsScheduler, what));
        Some(problem.fix(say("start it once on each machine").or(piece.unset())))
    }

    /// Warns if this is not the first machine, where one machine starts the ranks of all: the first would do the same.
    pub(super) fn against_hostfile(&self) -> Option<Problem> {
        let is_later = |piece: &&Piece| piece.index.as_ref().is_some_and(|index| index.value > 0);
        let piece = self.judged().find(is_later)?;
        let what = format!("{piece}: the ranks of a hostfile are started from one machine");
        let problem = piece.locate(Problem::warning(Rule::ContradictsScheduler, what));
        Some(problem.fix("start it on the first machine only, or without the hostfile on each"))
    }

    /// What the engine says that places this process. Of several engines it is the first that knows which machine this is.
    pub(super) fn allocation(&self) -> Option<&Allocation> {
        let all = || self.judged().filter_map(|piece| piece.allocation.as_ref());
        all()
            .find(|allocation| allocation.node_rank.is_some())
            .or_else(|| all().next())
    }

    pub(super) fn place_of_several(&self) -> Option<Place> {
        let piece = self.0.iter().find(|piece| piece.says_several())?;
        piece.places().into_iter().next()
    }

    /// Each piece in words, if there are several.
    pub(super) fn in_words(&self) -> Vec<String> {
        if self.0.len() < 2 {
            return Vec::new();
        }
        self.0.iter().map(Piece::to_string).collect()
    }

    /// The pieces without those of engines whose place another engine knows better.
    fn judged(&self) -> impl Iterator<Item = &Piece> {
        self.0.iter().filter(|piece| {
            let mut others = self.0.iter();
            !others.any(|other| other.runs_inside(piece) || other.sets_variables_of(piece))
        })
    }
}

impl Piece {
    fn of_engine(engine: &'static Engine, answer: Answer, host: &Host) -> Option<Self> {
        let piece = Piece {
            by: engine.name.into(),
            engine: Some(engine),
            variables: set(engine.variables().map(Variable::name), host),
            ..Piece::default()
        };
        let allocation = match answer {
            Ok(allocation) => Allocation {
                engine: engine.name,
                ..allocation?
            },
            Err(problem) => {
                let number = |role| engine.number(role, 0, host).ok().flatten();
                return Some(Piece {
                    rank: number(Role::Rank),
                    world: number(Role::Size),
                    missing: Some(problem),
                    ..piece
                });
            }
        };
        let task = if let Placement::Rank(task) = &allocation.placement {
            Some(task)
        } else {
            None
        };
        Some(Piece {
            count: Some(allocation.nnodes.clone()),
            index: allocation.node_rank.clone(),
            rank: task.map(|task| task.rank.clone().map(u64::from)),
            world: task.map(|task| task.world_size.clone().map(u64::from)),
            allocation: Some(allocation),
            ..piece
        })
    }

    /// RANK and WORLD_SIZE. Without LOCAL_RANK they can count machines or ranks.
    fn of_ranks(host: &Host) -> Option<Self> {
        let number = |name: &str| number::<u64>(name, 0, host).ok().flatten();
        let rank = number(vars::RANK)?;
        let world = number(vars::WORLD_SIZE)?;
        let is_one = world.value == 1;
        let groups = number(vars::GROUP_WORLD_SIZE).and_then(|groups| machines_of(groups.value, 1));
        let machines = if is_one {
            Some(1)
        } else {
            groups.or_else(|| machines_of(world.value, number(vars::LOCAL_WORLD_SIZE)?.value))
        };
        let is_rank = is_one || host.nonempty_var(vars::LOCAL_RANK).is_some();
        let missing = (!is_rank).then(|| {
            let machines = give("--nnodes", world.value)
                .and(give("--node-rank", rank.value))
                .remark("for machines");
            let fixes = machines.or("set LOCAL_RANK too, for ranks").or(alone());
            let what = "without LOCAL_RANK these can count machines or ranks";
            let problem = refused(what);
            problem.at(&rank).at(&world).fix(fixes)
        });
        Some(Piece {
            by: vars::RANK.into(),
            count: machines.map(|machines| Sourced::new(machines, world.from.clone())),
            rank: Some(rank),
            world: Some(world),
            by_torchrun: host.nonempty_var(vars::GROUP_RANK).is_some(),
            missing,
            variables: RANK_VARIABLES.map(Cow::from).to_vec(),
            ..Piece::default()
        })
    }

    fn of_variables(nnodes: &'static str, node_rank: &'static str, host: &Host) -> Option<Self> {
        let variables = set([nnodes, node_rank].map(Cow::from), host);
        let by = variables.first()?.clone();
        let index = number::<u32>(node_rank, 0, host).ok().flatten();
        let (count, missing) = match machines(&[nnodes], host) {
            Ok(None) => (
                None,
                index.as_ref().and_then(|index| uncounted(index, host)),
            ),
            Ok(count) => (count, None),
            Err(problem) => (None, Some(problem)),
        };
        Some(Piece {
            by,
            count,
            index,
            missing,
            variables,
            ..Piece::default()
        })
    }

    /// `None`: they leave the number of machines open.
    fn of_words(stated: &RankFlags) -> Option<Self> {
        let nnodes = stated.nnodes.clone()?;
        Some(Piece {
            by: nnodes.from.to_string().into(),
            count: Some(nnodes),
            index: stated.node_rank.clone(),
            ..Piece::default()
        })
    }

    fn is_one_machine(&self) -> bool {
        self.count.as_ref().is_some_and(|count| count.value == 1)
    }

    /// True if it says that this process is a rank among others.
    fn is_one_of_several(&self) -> bool {
        self.rank.is_some() && self.world.as_ref().is_some_and(|world| world.value > 1)
    }

    /// True if it says that there are several machines. Being number 0 does not.
    fn says_several(&self) -> bool {
        let is_first = self.index.as_ref().is_some_and(|index| index.value == 0);
        self.missing.is_some() && !is_first
            || self.count.as_ref().is_some_and(|count| count.value > 1)
    }

    /// The number of this machine in a job of so many machines.
    fn index_among(&self, machines: u32) -> Option<u32> {
        if let Some(index) = &self.index {
            return Some(index.value);
        }
        if self.by_torchrun {
            return None;
        }
        let each = self.world.as_ref()?.value / u64::from(machines);
        u32::try_from(self.rank.as_ref()?.value.checked_div(each)?).ok()
    }

    /// True if it places this process in a larger job. `is_numbered`: a flag says which machine this is.
    fn settles(&self, is_numbered: bool) -> bool {
        let is_rank = self.is_one_of_several() && self.missing.is_none();
        let has_number = is_numbered || self.index.is_some();
        is_rank || has_number && self.count.is_some()
    }

    fn contradicts(&self, other: &Piece, is_numbered: bool) -> bool {
        let machines = match (&self.count, &other.count) {
            (Some(one), Some(two)) if one.value != two.value => return true,
            (Some(count), None) if count.value == 1 => return other.says_several(),
            (None, Some(count)) if count.value == 1 => return self.says_several(),
            (one, two) => one
                .as_ref()
                .or(two.as_ref())
                .map_or(1, |count| count.value.max(1)),
        };
        let differ = |one: &Option<Sourced<u64>>, two: &Option<Sourced<u64>>| {
            one.as_ref()
                .zip(two.as_ref())
                .is_some_and(|(one, two)| one.value != two.value)
        };
        let is_other_rank = differ(&self.rank, &other.rank) || differ(&self.world, &other.world);
        let by_torchrun = self.by_torchrun || other.by_torchrun;
        let does_not_divide = |piece: &Piece| {
            let rest = |world: &Sourced<u64>| world.value % u64::from(machines);
            piece.count.is_none() && piece.world.as_ref().is_some_and(|world| rest(world) != 0)
        };
        let indexes = self.index_among(machines).zip(other.index_among(machines));
        let is_other_machine = machines > 1 && indexes.is_some_and(|(one, two)| one != two);
        is_other_rank && !by_torchrun
            || does_not_divide(self)
            || does_not_divide(other)
            || is_other_machine && !is_numbered
    }

    /// Two pieces contradict each other. The one that is likelier left over is to be unset: of two with the same origin, that of
    /// one machine.
    fn disagreement(&self, other: &Piece) -> Problem {
        let problem = refused(format!("{self}, but {other}"));
        let doubt = |piece: &Piece| (piece.set_by(), piece.is_one_machine());
        let stale = if doubt(other) > doubt(self) {
            other
        } else {
            self
        };
        let fixes = if stale.variables.is_empty() {
            alone().into()
        } else {
            stale.unset().or(alone())
        };
        other.locate(self.locate(problem)).fix(fixes)
    }

    fn set_by(&self) -> SetBy {
        match (&self.engine, &self.rank) {
            (Some(_), None) => SetBy::Engine,
            (None, None) => SetBy::User,
            (Some(_), Some(_)) => SetBy::EngineForTask,
            (None, Some(_)) => SetBy::LauncherForRank,
        }
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
        let sees_less = self.is_one_machine() && other.says_several();
        is_inside && self.allocation.is_some() && !sees_less
    }

    /// True if this engine also sets the variables of the other one, which then have the same numbers.
    fn sets_variables_of(&self, other: &Piece) -> bool {
        let (Some(engine), Some(of_other)) = (self.engine, other.engine) else {
            return false;
        };
        let machines = || Some(u64::from(self.count.as_ref()?.value));
        let tasks = self
            .world
            .as_ref()
            .map(|world| world.value)
            .or_else(machines);
        let is_same_world = |world: &Sourced<u64>| Some(world.value) == tasks;
        let is_a_task = |rank: &Sourced<u64>| tasks.is_some_and(|tasks| rank.value < tasks);
        let is_same = other.world.as_ref().is_none_or(is_same_world)
            && other.rank.as_ref().is_none_or(is_a_task);
        of_other.set_by.contains(&engine.name) && (self.allocation.is_none() || is_same)
    }

    fn places(&self) -> Vec<Place> {
        let mut places = Vec::new();
        if self.missing.is_none() {
            places.extend(self.rank.iter().chain(&self.world).map(Place::from));
        }
        places.extend(self.count.iter().chain(&self.index).map(Place::from));
        places.extend(
            self.missing
                .iter()
                .flat_map(|problem| problem.places.clone()),
        );
        places
    }

    fn locate(&self, mut problem: Problem) -> Problem {
        problem.places.extend(self.places());
        problem.places.dedup();
        problem
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
                write!(f, "{by} says rank {rank} of {world}")
            }
            (Some(rank), ..) => write!(f, "{by} says rank {rank}"),
            _ if self.is_one_machine() => write!(f, "{by} says one machine"),
            (_, _, Some(count), Some(index)) => {
                write!(f, "{by} says machine {index} of {count}")
            }
            (_, _, Some(count), None) => write!(f, "{by} says {count} machines"),
            (_, _, None, Some(index)) => write!(f, "{by} says machine {index}"),
            _ => write!(f, "{by} says part of a larger job"),
        }
    }
}

/// Refuses the number of a machine without the number of machines. Machine 0 may be alone, unless it is to meet others.
fn uncounted(index: &Sourced<u32>, host: &Host) -> Option<Problem> {
    let address = foreign_address(host);
    if index.value == 0 && address.is_none() {
        return None;
    }
    let what = format!("this is machine {index}, but the number of machines is unknown");
    let problem = refused(what).at(index);
    let problem = address.iter().fold(problem, Problem::at);
    let first = address.as_ref().map_or("HOST", |address| &address.value);
    let place = place_flags("N", &index.value.to_string(), first);
    Some(problem.fix(place.or("set NNODES").or(alone())))
}

fn set(names: impl IntoIterator<Item = Cow<'static, str>>, host: &Host) -> Vec<Cow<'static, str>> {
    let is_set = |name: &Cow<str>| host.nonempty_var(name).is_some();
    names.into_iter().filter(is_set).collect()
}
