//! The tower that turns pictures into tokens, counted from the config.json of its model.

use serde_json::Value;

use super::{ModelConfig, Tower, model_type};
use crate::fit::tables::towers::{ENCODERS, PROJECTORS};

impl Tower {
    pub fn params(&self) -> u64 {
        self.encoder.params + self.projector
    }

    /// `text`: the hidden size of the language model. `None` if the config has no tower, or one that is not in the tables.
    pub fn read(config: &Value, text: u64) -> Option<Self> {
        let vision = config.get("vision_config")?;
        let whole = model_type(config)?;
        let names = [model_type(vision).unwrap_or_default(), whole];
        let encoder = names
            .iter()
            .find_map(|name| ENCODERS.iter().find(|row| row.model_types.contains(name)))?;
        let projector = PROJECTORS
            .iter()
            .find(|row| row.model_types.contains(&whole))?;
        // Below the largest numbers, no sum can overflow.
        let number = |names: &[&str], default: u64, most: u64| {
            let found = names.iter().find_map(|name| vision.get(name));
            found
                .and_then(|found| found.get(0).unwrap_or(found).as_u64())
                .unwrap_or(default)
                .min(most)
        };
        let patch = number(&["patch_size"], encoder.patch, 1 << 10).max(1);
        let frames = number(&["temporal_patch_size"], encoder.frames, 8);
        let channels = number(&["num_channels", "in_channels", "in_chans"], 3, 8);
        let side = number(&["spatial_merge_size"], projector.side, 16);
        let positions = if encoder.grid {
            (number(&["image_size"], 0, 1 << 14) / patch).pow(2) + encoder.positions
        } else {
            number(&["num_position_embeddings"], encoder.positions, 1 << 20)
        };
        let model = ModelConfig {
            text: vision,
            whole: vision,
            architecture: &encoder.architecture,
        };
        let mut weights = model.count()?;
        let shape = &mut weights.shape;
        let tower = shape.hidden;
        let merged = side * side * tower;
        let deep = vision
            .get("deepstack_visual_indexes")
            .and_then(Value::as_array)
            .map_or(0, Vec::len)
            .min(64) as u64;
        let pixels = channels * patch * patch * frames;
        // Some have the vocabulary of a text model that was trained with them.
        weights.params -= shape.embedding;
        weights.params += tower * (pixels + encoder.vectors + positions);
        shape.embedding = 0;
        shape.vocab = 0;
        shape.projected = (1 + deep) * tower;
        let projected = projector.tower_to_text * tower * text
            + projector.merged_to_merged * merged * merged
            + projector.merged_to_text * merged * text
            + projector.text_to_text * text * text
            + projector.tower * tower
            + projector.merged * merged
            + projector.text * text;
        // More of them project what inner layers see, each with a norm of its own.
        let deeper = deep * (merged * merged + merged * text + 3 * merged + text);
        Some(Tower {
            encoder: weights,
            projector: projected + deeper,
            patches: side * side,
            pixel_bytes: 4 * pixels,
            patch_bytes: 4 * pixels + 4 * (1 + deep) * text / (side * side).max(1),
        })
    }
}
