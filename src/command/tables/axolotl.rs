//! What axolotl's own command sets and renames, read from its sources.

use std::ops::Range;

use crate::base::vars;

pub const AXOLOTL_MODULE: &str = "axolotl.cli.train";

/// A variable that `axolotl train` sets where the user has none.
pub struct AxolotlVariable {
    pub name: &'static str,
    pub value: &'static str,
    /// The versions of axolotl that set it.
    pub axolotl: Range<[u32; 3]>,
    /// The versions of torch with which it is set; `None` for any, also where torch was not found.
    pub torch: Option<Range<[u32; 3]>>,
}

const FIRST: [u32; 3] = [0; 3];
const LATER: [u32; 3] = [u32::MAX; 3];
const SEGMENTS: &str = "expandable_segments:True";
const ROUNDED: &str = "expandable_segments:True,roundup_power2_divisions:16";

pub const AXOLOTL_VARIABLES: &[AxolotlVariable] = &[
    AxolotlVariable {
        name: vars::PYTORCH_ALLOC_CONF,
        value: SEGMENTS,
        axolotl: [0, 16, 0]..LATER,
        torch: Some([2, 9, 0]..LATER),
    },
    AxolotlVariable {
        name: vars::PYTORCH_ALLOC_CONF,
        value: ROUNDED,
        axolotl: [0, 13, 0]..[0, 16, 0],
        torch: Some([2, 9, 0]..LATER),
    },
    AxolotlVariable {
        name: vars::PYTORCH_CUDA_ALLOC_CONF,
        value: ROUNDED,
        axolotl: FIRST..[0, 13, 0],
        torch: Some([2, 9, 0]..LATER),
    },
    AxolotlVariable {
        name: vars::PYTORCH_CUDA_ALLOC_CONF,
        value: ROUNDED,
        axolotl: FIRST..LATER,
        torch: Some([2, 2, 0]..[2, 9, 0]),
    },
    AxolotlVariable {
        name: "XFORMERS_IGNORE_FLASH_VERSION_CHECK",
        value: "1",
        axolotl: [0, 13, 0]..LATER,
        torch: None,
    },
    AxolotlVariable {
        name: "HF_HUB_ENABLE_HF_TRANSFER",
        value: "1",
        axolotl: FIRST..[0, 13, 0],
        torch: None,
    },
];

/// A key of axolotl that transformers calls otherwise.
pub struct AxolotlName {
    pub own: &'static str,
    pub hf: &'static str,
}

pub const AXOLOTL_NAMES: &[AxolotlName] = &[
    AxolotlName {
        own: "micro_batch_size",
        hf: "per_device_train_batch_size",
    },
    AxolotlName {
        own: "base_model",
        hf: "model_name_or_path",
    },
];
