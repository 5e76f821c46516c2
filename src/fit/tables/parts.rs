//! The columns of the table, and the pieces of a bar: the parts of a GPU's memory, in the order of `GpuUsage::parts`.

pub struct Column {
    pub title: &'static str,
    /// Its colour in a picture.
    pub fill: &'static str,
}

pub const COLUMNS: [Column; 7] = [
    Column {
        title: "params",
        fill: "#4c78a8",
    },
    Column {
        title: "grads",
        fill: "#54a24b",
    },
    Column {
        title: "optim",
        fill: "#b279a2",
    },
    Column {
        title: "activ",
        fill: "#eeca3b",
    },
    Column {
        title: "buffers",
        fill: "#9d9d9d",
    },
    Column {
        title: "logits",
        fill: "#72b7b2",
    },
    Column {
        title: "other",
        fill: "#c9c9c9",
    },
];

/// Pixels of a picture: the margin to the left of the bars, a bar, all of it, and the height of a line.
pub const LEFT: u64 = 130;
pub const BAR: u64 = 620;
pub const WIDTH: u64 = 960;
pub const LINE: u64 = 24;
