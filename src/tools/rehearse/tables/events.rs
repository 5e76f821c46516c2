//! The events that end a rehearsal, those that show how far it came, and those about files.

pub struct Ending {
    pub event: &'static str,
    pub kind: Kind,
    pub verdict: &'static str,
    pub status: u8,
    pub says: Says,
}

#[derive(Clone, Copy, PartialEq)]
pub enum Kind {
    Refused,
    Arrived,
    NeedsNetwork,
    TimedOut,
    Died,
    /// It is not a Python program.
    Unable,
    Other,
}

#[derive(Clone, Copy)]
pub enum Says {
    Nothing,
    /// The trainer rejected the launch, with these words.
    Rejection,
    /// The last stage, this text, and what the trainer says.
    UpTo(&'static str),
    This(&'static str),
}

use Says::{Nothing, Rejection, This, UpTo};

/// A reason why the rest cannot be tried here is no failure; anything else may be one.
pub const ENDINGS: &[Ending] = &[
    Ending {
        event: "refused",
        kind: Kind::Refused,
        verdict: "refused",
        status: 1,
        says: Rejection,
    },
    Ending {
        event: "end",
        kind: Kind::Arrived,
        verdict: "arrived",
        status: 0,
        says: Nothing,
    },
    Ending {
        event: "limit",
        kind: Kind::Other,
        verdict: "incomplete, the rest needs a GPU",
        status: 0,
        says: UpTo("; the rest needs a GPU: "),
    },
    Ending {
        event: "shapes",
        kind: Kind::Other,
        verdict: "incomplete, only shapes were tried",
        status: 0,
        says: UpTo(", with shapes alone: "),
    },
    Ending {
        event: "network",
        kind: Kind::NeedsNetwork,
        verdict: "incomplete, the rest needs the network",
        status: 3,
        says: UpTo("; the rest needs the network: "),
    },
    Ending {
        event: "unsure",
        kind: Kind::Other,
        verdict: "not sure",
        status: 3,
        says: UpTo("; the next failure may come from the rehearsal itself: "),
    },
    Ending {
        event: "timeout",
        kind: Kind::TimedOut,
        verdict: "not sure",
        status: 3,
        says: UpTo("; stopped after "),
    },
    Ending {
        event: "died",
        kind: Kind::Died,
        verdict: "not sure",
        status: 3,
        says: UpTo("; then the process ended: "),
    },
    Ending {
        event: "unable",
        kind: Kind::Unable,
        verdict: "not sure",
        status: 3,
        says: Nothing,
    },
];

/// The end of a command that never called `deepspeed.initialize`.
pub const WITHOUT_DEEPSPEED: Ending = Ending {
    event: "end",
    kind: Kind::Other,
    verdict: "ended without DeepSpeed",
    status: 0,
    says: This("the command ended without calling deepspeed.initialize"),
};

pub struct Stage {
    pub event: &'static str,
    /// Its name in a sentence.
    pub name: &'static str,
}

/// In the order of a launch.
pub const STAGES: &[Stage] = &[
    Stage {
        event: "start",
        name: "the start",
    },
    Stage {
        event: "model",
        name: "the model",
    },
    Stage {
        event: "dataset",
        name: "the dataset",
    },
    Stage {
        event: "trainer",
        name: "the trainer",
    },
    Stage {
        event: "initialize",
        name: "DeepSpeed",
    },
    Stage {
        event: "step",
        name: "the first forward pass",
    },
];

/// Large files, of which only names and shapes are read.
pub struct ReadFiles {
    pub event: &'static str,
    pub name: &'static str,
}

pub const READ_FILES: &[ReadFiles] = &[
    ReadFiles {
        event: "weights",
        name: "weights on disk",
    },
    ReadFiles {
        event: "resumed",
        name: "checkpoint to resume from",
    },
];

/// Seconds, long enough for a slow file system.
pub const TIMEOUT: u32 = 300;

/// Lines of a message that are shown.
pub const MOST_LINES: usize = 12;
