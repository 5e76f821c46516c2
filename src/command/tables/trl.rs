//! The sub-commands of TRL.

pub struct TrlCommand {
    pub name: &'static str,
    /// The class of its arguments.
    pub class: &'static str,
}

pub const TRL_COMMANDS: &[TrlCommand] = &[
    TrlCommand {
        name: "sft",
        class: "SFTConfig",
    },
    TrlCommand {
        name: "dpo",
        class: "DPOConfig",
    },
    TrlCommand {
        name: "grpo",
        class: "GRPOConfig",
    },
    TrlCommand {
        name: "kto",
        class: "KTOConfig",
    },
    TrlCommand {
        name: "reward",
        class: "RewardConfig",
    },
    TrlCommand {
        name: "rloo",
        class: "RLOOConfig",
    },
];
