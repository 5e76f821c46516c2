//! The architectures whose parameters can be counted: `architectures.txt` says what its cells mean.

use serde::Deserialize;

use crate::base::rows;

pub const ARCHITECTURES: &str = include_str!("architectures.txt");

/// Says if a model has something, such as a bias: `never`, `always`, `if KEY` or `unless KEY`.
type Presence = String;

/// One of the words that the table lists for the cell.
type Kind = String;

/// The cases in which attention stores the score of every pair of tokens, if `sdpa` computes it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Scores {
    #[default]
    Never,
    InFp32,
    Always,
    Eager,
}

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Architecture {
    pub(super) projections: Kind,
    pub(super) qkv_bias: Presence,
    pub(super) out_bias: Presence,
    pub(super) qk_norm: Presence,
    pub(super) each_head_normed: bool,
    pub(super) one_kv_head: Presence,
    pub(super) sinks: Presence,
    pub(super) recurrence: Option<Kind>,
    pub(super) mlp: Kind,
    pub(super) mlp_bias: Presence,
    pub(super) norm: Kind,
    pub(super) norms: u64,
    pub(super) parallel: Presence,
    pub(super) embedding_norm: Presence,
    pub(super) final_norm: Presence,
    pub(super) head_bias: Presence,
    pub(super) tied: bool,
    pub(super) softcapped: bool,
    pub(super) positions: Option<String>,
    pub(super) more_positions: u64,
    pub(super) shared_gate: bool,
    pub(super) expert_bias: Presence,
    pub(super) hidden_kept: u64,
    pub(super) inner_kept: i64,
    pub(super) scores: Scores,
    defaults: String,
}

impl Architecture {
    /// `None` if the table does not have it.
    pub(super) fn of(model_type: &str) -> Option<Self> {
        let mut cells = rows::find(ARCHITECTURES, model_type)?.cells();
        // A chain that leads back to itself has no end.
        for _ in 0..8 {
            let Some(parent) = cells.remove("like") else { break };
            let mut inherited = rows::find(ARCHITECTURES, parent.as_str()?)?.cells();
            inherited.extend(cells);
            cells = inherited;
        }
        serde_json::from_value(cells.into()).ok()
    }

    /// The value that transformers uses for a key that is missing.
    pub(super) fn default(&self, key: &str) -> Option<u64> {
        let mut words = self.defaults.split(' ');
        words.find(|word| *word == key)?;
        words.next()?.parse().ok()
    }
}
