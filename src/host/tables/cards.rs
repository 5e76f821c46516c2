//! GPUs by their names. Only the memory of the H200 was read on a card here; the others are the sizes these cards are known to
//! report, not checked.

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Card {
    /// The name people give it.
    pub name: &'static str,
    /// Each is a name of the driver, or the whole words of one that tell this card from others.
    pub driver: &'static [&'static str],
    /// The memory as the driver reports it.
    pub mib: u64,
    /// The GB it is sold with.
    pub sold: u64,
    pub example: CardExample,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CardExample {
    /// A value of `--gpu` that means this card.
    pub written: &'static str,
    /// The whole name by the driver.
    pub reported: &'static str,
    pub mib: u64,
}

/// What a maker writes in front of the name of a card, and people leave out.
pub const SERIES: &[&str] = &[
    "NVIDIA", "GEFORCE", "QUADRO", "TESLA", "RTX", "AMD", "INSTINCT",
];
/// Between a card and how many there are of it.
pub const TIMES: [char; 5] = ['x', 'X', '×', '*', ':'];

/// GPUs before Ampere have no bf16.
pub const WITHOUT_BF16: &[&str] = &[
    "V100",
    "T4",
    "RTX 2060",
    "RTX 2070",
    "RTX 2080",
    "TITAN RTX",
    "TITAN V",
    "GTX 1650",
    "GTX 1660",
    "Quadro RTX",
];
/// DeepSpeed supports no fp16 on GPUs before Volta.
pub const WITHOUT_FP16: &[&str] = &[
    "P100", "P40", "P4", "GTX 1060", "GTX 1070", "GTX 1080", "TITAN X", "TITAN Xp", "M40", "M60",
    "K80",
];

/// The first card that has the name counts.
pub const CARDS: &[Card] = &[
    Card {
        name: "B300",
        driver: &["B300"],
        mib: 275_040,
        sold: 288,
        example: CardExample {
            written: "b300-288gb",
            reported: "NVIDIA B300",
            mib: 275_040,
        },
    },
    Card {
        name: "GB200",
        driver: &["GB200"],
        mib: 189_471,
        sold: 186,
        example: CardExample {
            written: "gb200-186gb",
            reported: "NVIDIA GB200",
            mib: 189_471,
        },
    },
    Card {
        name: "B200",
        driver: &["B200"],
        mib: 183_359,
        sold: 180,
        example: CardExample {
            written: "b200-180gb",
            reported: "NVIDIA B200",
            mib: 183_359,
        },
    },
    Card {
        name: "H200",
        driver: &["H200"],
        mib: 143_771,
        sold: 141,
        example: CardExample {
            written: "h200-141gb",
            reported: "NVIDIA H200",
            mib: 143_771,
        },
    },
    Card {
        name: "GH200",
        driver: &["GH200"],
        mib: 97_871,
        sold: 96,
        example: CardExample {
            written: "gh200-96gb",
            reported: "NVIDIA GH200 480GB",
            mib: 97_871,
        },
    },
    Card {
        name: "H100 NVL",
        driver: &["H100 NVL"],
        mib: 95_830,
        sold: 94,
        example: CardExample {
            written: "h100 nvl-94gb",
            reported: "NVIDIA H100 NVL",
            mib: 95_830,
        },
    },
    Card {
        name: "H100",
        driver: &["H100"],
        mib: 81_559,
        sold: 80,
        example: CardExample {
            written: "h100-80gb",
            reported: "NVIDIA H100 80GB HBM3",
            mib: 81_559,
        },
    },
    Card {
        name: "H800",
        driver: &["H800"],
        mib: 81_559,
        sold: 80,
        example: CardExample {
            written: "h800-80gb",
            reported: "NVIDIA H800",
            mib: 81_559,
        },
    },
    Card {
        name: "H20",
        driver: &["H20"],
        mib: 97_871,
        sold: 96,
        example: CardExample {
            written: "h20-96gb",
            reported: "NVIDIA H20",
            mib: 97_871,
        },
    },
    Card {
        name: "A100-40GB",
        driver: &["A100-SXM4-40GB", "A100-PCIE-40GB"],
        mib: 40_960,
        sold: 40,
        example: CardExample {
            written: "a100-40gb",
            reported: "NVIDIA A100-SXM4-40GB",
            mib: 40_960,
        },
    },
    Card {
        name: "A100",
        driver: &["A100"],
        mib: 81_920,
        sold: 80,
        example: CardExample {
            written: "a100-80gb",
            reported: "NVIDIA A100-SXM4-80GB",
            mib: 81_920,
        },
    },
    Card {
        name: "A800-40GB",
        driver: &["A800 40GB", "A800-SXM4-40GB", "A800-PCIE-40GB"],
        mib: 40_960,
        sold: 40,
        example: CardExample {
            written: "a800-40gb",
            reported: "NVIDIA A800 40GB Active",
            mib: 40_960,
        },
    },
    Card {
        name: "A800",
        driver: &["A800"],
        mib: 81_920,
        sold: 80,
        example: CardExample {
            written: "a800-80gb",
            reported: "NVIDIA A800-SXM4-80GB",
            mib: 81_920,
        },
    },
    Card {
        name: "RTX PRO 6000",
        driver: &["RTX PRO 6000"],
        mib: 97_887,
        sold: 96,
        example: CardExample {
            written: "rtx pro 6000-96gb",
            reported: "NVIDIA RTX PRO 6000 Blackwell Workstation Edition",
            mib: 97_887,
        },
    },
    Card {
        name: "RTX 6000 Ada",
        driver: &["RTX 6000 Ada"],
        mib: 49_140,
        sold: 48,
        example: CardExample {
            written: "rtx 6000 ada-48gb",
            reported: "NVIDIA RTX 6000 Ada Generation",
            mib: 49_140,
        },
    },
    Card {
        name: "RTX A6000",
        driver: &["RTX A6000"],
        mib: 49_140,
        sold: 48,
        example: CardExample {
            written: "rtx a6000-48gb",
            reported: "NVIDIA RTX A6000",
            mib: 49_140,
        },
    },
    Card {
        name: "RTX 5000 Ada",
        driver: &["RTX 5000 Ada"],
        mib: 32_760,
        sold: 32,
        example: CardExample {
            written: "rtx 5000 ada-32gb",
            reported: "NVIDIA RTX 5000 Ada Generation",
            mib: 32_760,
        },
    },
    Card {
        name: "RTX 4500 Ada",
        driver: &["RTX 4500 Ada"],
        mib: 24_570,
        sold: 24,
        example: CardExample {
            written: "rtx 4500 ada-24gb",
            reported: "NVIDIA RTX 4500 Ada Generation",
            mib: 24_570,
        },
    },
    Card {
        name: "RTX 4000 Ada",
        driver: &["RTX 4000 Ada"],
        mib: 20_475,
        sold: 20,
        example: CardExample {
            written: "rtx 4000 ada-20gb",
            reported: "NVIDIA RTX 4000 Ada Generation",
            mib: 20_475,
        },
    },
    Card {
        name: "L40",
        driver: &["L40"],
        mib: 46_068,
        sold: 48,
        example: CardExample {
            written: "l40-48gb",
            reported: "NVIDIA L40",
            mib: 46_068,
        },
    },
    Card {
        name: "L40S",
        driver: &["L40S"],
        mib: 46_068,
        sold: 48,
        example: CardExample {
            written: "l40s-48gb",
            reported: "NVIDIA L40S",
            mib: 46_068,
        },
    },
    Card {
        name: "L20",
        driver: &["L20"],
        mib: 46_068,
        sold: 48,
        example: CardExample {
            written: "l20-48gb",
            reported: "NVIDIA L20",
            mib: 46_068,
        },
    },
    Card {
        name: "A40",
        driver: &["A40"],
        mib: 46_068,
        sold: 48,
        example: CardExample {
            written: "a40-48gb",
            reported: "NVIDIA A40",
            mib: 46_068,
        },
    },
    Card {
        name: "RTX 5090",
        driver: &["RTX 5090"],
        mib: 32_607,
        sold: 32,
        example: CardExample {
            written: "rtx 5090-32gb",
            reported: "NVIDIA GeForce RTX 5090",
            mib: 32_607,
        },
    },
    Card {
        name: "RTX 5080",
        driver: &["RTX 5080"],
        mib: 16_303,
        sold: 16,
        example: CardExample {
            written: "rtx 5080-16gb",
            reported: "NVIDIA GeForce RTX 5080",
            mib: 16_303,
        },
    },
    Card {
        name: "RTX 5070 Ti",
        driver: &["RTX 5070 Ti"],
        mib: 16_303,
        sold: 16,
        example: CardExample {
            written: "rtx 5070 ti-16gb",
            reported: "NVIDIA GeForce RTX 5070 Ti",
            mib: 16_303,
        },
    },
    Card {
        name: "RTX 5070",
        driver: &["RTX 5070"],
        mib: 12_227,
        sold: 12,
        example: CardExample {
            written: "rtx 5070-12gb",
            reported: "NVIDIA GeForce RTX 5070",
            mib: 12_227,
        },
    },
    Card {
        name: "RTX 4090",
        driver: &["RTX 4090"],
        mib: 24_564,
        sold: 24,
        example: CardExample {
            written: "rtx 4090-24gb",
            reported: "NVIDIA GeForce RTX 4090",
            mib: 24_564,
        },
    },
    Card {
        name: "RTX 4090 D",
        driver: &["RTX 4090 D"],
        mib: 24_564,
        sold: 24,
        example: CardExample {
            written: "rtx 4090 d-24gb",
            reported: "NVIDIA GeForce RTX 4090 D",
            mib: 24_564,
        },
    },
    Card {
        name: "RTX 4080",
        driver: &["RTX 4080"],
        mib: 16_376,
        sold: 16,
        example: CardExample {
            written: "rtx 4080-16gb",
            reported: "NVIDIA GeForce RTX 4080",
            mib: 16_376,
        },
    },
    Card {
        name: "RTX 4080 SUPER",
        driver: &["RTX 4080 SUPER"],
        mib: 16_376,
        sold: 16,
        example: CardExample {
            written: "rtx 4080 super-16gb",
            reported: "NVIDIA GeForce RTX 4080 SUPER",
            mib: 16_376,
        },
    },
    Card {
        name: "RTX 4070 Ti SUPER",
        driver: &["RTX 4070 Ti SUPER"],
        mib: 16_376,
        sold: 16,
        example: CardExample {
            written: "rtx 4070 ti super-16gb",
            reported: "NVIDIA GeForce RTX 4070 Ti SUPER",
            mib: 16_376,
        },
    },
    Card {
        name: "RTX 4070 Ti",
        driver: &["RTX 4070 Ti"],
        mib: 12_282,
        sold: 12,
        example: CardExample {
            written: "rtx 4070 ti-12gb",
            reported: "NVIDIA GeForce RTX 4070 Ti",
            mib: 12_282,
        },
    },
    Card {
        name: "RTX 4070 SUPER",
        driver: &["RTX 4070 SUPER"],
        mib: 12_282,
        sold: 12,
        example: CardExample {
            written: "rtx 4070 super-12gb",
            reported: "NVIDIA GeForce RTX 4070 SUPER",
            mib: 12_282,
        },
    },
    Card {
        name: "RTX 4070",
        driver: &["RTX 4070"],
        mib: 12_282,
        sold: 12,
        example: CardExample {
            written: "rtx 4070-12gb",
            reported: "NVIDIA GeForce RTX 4070",
            mib: 12_282,
        },
    },
    Card {
        name: "RTX 3090 Ti",
        driver: &["RTX 3090 Ti"],
        mib: 24_564,
        sold: 24,
        example: CardExample {
            written: "rtx 3090 ti-24gb",
            reported: "NVIDIA GeForce RTX 3090 Ti",
            mib: 24_564,
        },
    },
    Card {
        name: "RTX 3090",
        driver: &["RTX 3090"],
        mib: 24_576,
        sold: 24,
        example: CardExample {
            written: "rtx 3090-24gb",
            reported: "NVIDIA GeForce RTX 3090",
            mib: 24_576,
        },
    },
    Card {
        name: "RTX 2080 Ti",
        driver: &["RTX 2080 Ti"],
        mib: 11_264,
        sold: 11,
        example: CardExample {
            written: "rtx 2080 ti-11gb",
            reported: "NVIDIA GeForce RTX 2080 Ti",
            mib: 11_264,
        },
    },
    Card {
        name: "TITAN RTX",
        driver: &["TITAN RTX"],
        mib: 24_576,
        sold: 24,
        example: CardExample {
            written: "titan rtx-24gb",
            reported: "NVIDIA TITAN RTX",
            mib: 24_576,
        },
    },
    Card {
        name: "A30",
        driver: &["A30"],
        mib: 24_576,
        sold: 24,
        example: CardExample {
            written: "a30-24gb",
            reported: "NVIDIA A30",
            mib: 24_576,
        },
    },
    Card {
        name: "RTX A5000",
        driver: &["RTX A5000"],
        mib: 24_564,
        sold: 24,
        example: CardExample {
            written: "rtx a5000-24gb",
            reported: "NVIDIA RTX A5000",
            mib: 24_564,
        },
    },
    Card {
        name: "RTX A4500",
        driver: &["RTX A4500"],
        mib: 20_470,
        sold: 20,
        example: CardExample {
            written: "rtx a4500-20gb",
            reported: "NVIDIA RTX A4500",
            mib: 20_470,
        },
    },
    Card {
        name: "RTX A4000",
        driver: &["RTX A4000"],
        mib: 16_376,
        sold: 16,
        example: CardExample {
            written: "rtx a4000-16gb",
            reported: "NVIDIA RTX A4000",
            mib: 16_376,
        },
    },
    Card {
        name: "L4",
        driver: &["L4"],
        mib: 23_034,
        sold: 24,
        example: CardExample {
            written: "l4-24gb",
            reported: "NVIDIA L4",
            mib: 23_034,
        },
    },
    Card {
        name: "A10",
        driver: &["A10"],
        mib: 23_028,
        sold: 24,
        example: CardExample {
            written: "a10-24gb",
            reported: "NVIDIA A10",
            mib: 23_028,
        },
    },
    Card {
        name: "A10G",
        driver: &["A10G"],
        mib: 23_028,
        sold: 24,
        example: CardExample {
            written: "a10g-24gb",
            reported: "NVIDIA A10G",
            mib: 23_028,
        },
    },
    Card {
        name: "V100-32GB",
        driver: &[
            "V100-SXM2-32GB",
            "V100-PCIE-32GB",
            "V100-SXM3-32GB",
            "V100S-PCIE-32GB",
        ],
        mib: 32_768,
        sold: 32,
        example: CardExample {
            written: "v100-32gb",
            reported: "Tesla V100-SXM2-32GB",
            mib: 32_768,
        },
    },
    Card {
        name: "V100",
        driver: &["V100"],
        mib: 16_384,
        sold: 16,
        example: CardExample {
            written: "v100-16gb",
            reported: "Tesla V100-SXM2-16GB",
            mib: 16_384,
        },
    },
    Card {
        name: "P100",
        driver: &["P100-SXM2-16GB", "P100-PCIE-16GB"],
        mib: 16_384,
        sold: 16,
        example: CardExample {
            written: "p100-16gb",
            reported: "Tesla P100-PCIE-16GB",
            mib: 16_384,
        },
    },
    Card {
        name: "T4",
        driver: &["T4"],
        mib: 15_360,
        sold: 16,
        example: CardExample {
            written: "t4-16gb",
            reported: "Tesla T4",
            mib: 15_360,
        },
    },
    Card {
        name: "MI325X",
        driver: &["MI325X"],
        mib: 262_128,
        sold: 256,
        example: CardExample {
            written: "mi325x-256gb",
            reported: "AMD Instinct MI325X",
            mib: 262_128,
        },
    },
    Card {
        name: "MI300X",
        driver: &["MI300X"],
        mib: 196_592,
        sold: 192,
        example: CardExample {
            written: "mi300x-192gb",
            reported: "AMD Instinct MI300X",
            mib: 196_592,
        },
    },
    Card {
        name: "MI210",
        driver: &["MI210"],
        mib: 65_520,
        sold: 64,
        example: CardExample {
            written: "mi210-64gb",
            reported: "AMD Instinct MI210",
            mib: 65_520,
        },
    },
];
