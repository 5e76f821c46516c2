//! A list of GPUs in a variable, read as CUDA's driver and torch read it: seen on a driver of 2026 and in torch 2.15.

use crate::base::vars;
use crate::report::fix::{Fix, run};

pub struct DeviceList {
    pub names: Vec<String>,
    pub fault: Option<DeviceFault>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DeviceFault {
    /// A GPU is listed twice. The driver and torch then see none.
    Repeated(String),
    /// The list ends before a word that is not a device.
    NotADevice(String),
    /// The list ends before a number that the machine does not have.
    NotThere(String, usize),
    /// Only the number at the start counts: `0 1`.
    MoreThanANumber(String),
}

impl DeviceFault {
    /// `seen`: how many GPUs are left.
    pub(crate) fn what(&self, seen: usize) -> String {
        let left = match seen {
            0 => "torch sees no GPU".to_string(),
            1 => "torch sees only the GPU before it".to_string(),
            _ => format!("torch sees only the {seen} GPUs before it"),
        };
        match self {
            DeviceFault::Repeated(name) => format!("`{name}` is in the list twice: {left}"),
            DeviceFault::NotADevice(name) => {
                format!("`{name}` is not a GPU, and the list ends there: {left}")
            }
            DeviceFault::NotThere(name, 1) => {
                format!("there is no GPU {name} (the machine has one, GPU 0): {left}")
            }
            DeviceFault::NotThere(name, count) => {
                format!(
                    "there is no GPU {name} (the machine has {count}, from 0 to {}): {left}",
                    count - 1
                )
            }
            DeviceFault::MoreThanANumber(name) => {
                format!("only the number at the start of `{name}` counts")
            }
        }
    }

    pub(crate) fn fix(&self, variable: &str) -> Fix {
        let export = |list: &str| run(format!("export {variable}={list}"));
        match self {
            DeviceFault::Repeated(_) => export("0,1").remark("each GPU once"),
            DeviceFault::NotThere(_, count) => {
                let all: Vec<String> = (0..(*count).min(8))
                    .map(|number| number.to_string())
                    .collect();
                export(&all.join(","))
            }
            _ => export("0,1")
                .remark("comma-separated numbers, or GPU-… as `nvidia-smi -L` prints them"),
        }
    }
}

/// Words with which a whole list says that no GPU is wanted.
const NONE: &[&str] = &["nodevfiles", "none", "void"];

impl DeviceList {
    pub fn read(variable: &str, list: &str, gpus: Option<usize>) -> Self {
        match variable {
            vars::CUDA_VISIBLE_DEVICES => Self::judged(list, gpus.filter(|count| *count > 0)),
            vars::HIP_VISIBLE_DEVICES => Self::judged(list, None),
            // Other runtimes have rules of their own.
            _ => DeviceList {
                names: plain(list),
                fault: None,
            },
        }
    }

    fn judged(list: &str, gpus: Option<usize>) -> Self {
        let mut names: Vec<String> = Vec::new();
        let mut fault = None;
        // A list with both kinds was not tried: that needs a GPU that is divided.
        let is_id = |entry: &str| entry.starts_with("GPU-") || entry.starts_with("MIG-");
        let by_id = is_id(list);
        for entry in list.split(',') {
            // A number that ends the list, nothing at all, or the word for none.
            let ends = entry.trim().is_empty() || entry.trim().starts_with('-');
            if ends || names.is_empty() && NONE.contains(&list.trim().to_ascii_lowercase().as_str())
            {
                break;
            }
            let number = number(entry.trim()).map(|number| number.to_string());
            let Some(name) = (if by_id {
                is_id(entry).then(|| entry.to_string())
            } else {
                number
            }) else {
                fault = Some(DeviceFault::NotADevice(entry.trim().to_string()));
                break;
            };
            if let (Some(count), Ok(number)) = (gpus, name.parse::<usize>())
                && number >= count
            {
                fault = Some(DeviceFault::NotThere(name, count));
                break;
            }
            if names.contains(&name) {
                return DeviceList {
                    names: Vec::new(),
                    fault: Some(DeviceFault::Repeated(name)),
                };
            }
            if !by_id && entry.trim().trim_start_matches(['+', '0']) != name.trim_start_matches('0')
            {
                fault = fault.or(Some(DeviceFault::MoreThanANumber(entry.trim().to_string())));
            }
            names.push(name);
        }
        DeviceList { names, fault }
    }
}

/// The number that a word starts with, as `strtoul` reads it.
fn number(word: &str) -> Option<u32> {
    let word = word.strip_prefix('+').unwrap_or(word);
    word[..word
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(word.len())]
        .parse()
        .ok()
}

/// The names up to the first that is not a device.
fn plain(list: &str) -> Vec<String> {
    let entries = list.split(',').map(str::trim);
    let devices = entries
        .take_while(|entry| !entry.is_empty() && !entry.starts_with('-') && *entry != "NoDevFiles");
    devices.map(str::to_string).collect()
}
