//! `zlaunch templates`.

use clap::Command;
use serde_json::json;

use super::prelude::*;
use crate::{
    base::json,
    config::{layers::with_layers, template},
};

#[derive(Args)]
pub struct TemplatesArgs {
    #[arg(value_parser = AnyValue(TEMPLATES))]
    name: Option<Given>,
    #[arg(help_heading = "Output", requires = "name")]
    raw: bool,
    #[arg(value_parser = AnyValue(REPORT_FORMATS), help_heading = "Output", conflicts_with = "name")]
    format: Option<Given>,
}

impl Tool for TemplatesArgs {
    const LAUNCH_OPTIONS: LaunchOptions =
        LaunchOptions::These(&["template_dir", "patch", "unset", "set"]);

    fn describe(command: Command) -> Command {
        // Without a name the templates are listed, and nothing is changed.
        command.mut_args(|arg| match arg.get_id().as_str() {
            "patch" | "unset" | "set" => arg.requires("name"),
            _ => arg,
        })
    }

    fn read(self, mut reader: Reader) -> Requested {
        let name = reader.one(self.name, values::text);
        let format = reader
            .one(self.format, one_of(REPORT_FORMATS))
            .map_or(Format::Text, |format| format.value);
        let search = reader.search();
        let layers = reader.layers();
        reader.answer(move |host: &Host| match name {
            None if format == Format::Json => {
                out(&format!("{:#}\n", json!(template::list(&search, host))))
            }
            None => out(&template::listed(template::list(&search, host))),
            Some(name) if self.raw => out(&template::raw(&name, &search, host)?),
            Some(name) => {
                let template = template::resolve(&name, &search, host)?;
                let secrets = Secrets::of(host);
                report::report(&template.notes, &secrets);
                err(&template.summary(&secrets));
                // Without layers, keys that only the user can know may still be missing.
                let changed = (!layers.is_empty())
                    .then(|| with_layers(&template, &layers, host))
                    .transpose()?;
                out(&json::write(changed.as_ref().unwrap_or(&template.config)))
            }
        })
    }
}
