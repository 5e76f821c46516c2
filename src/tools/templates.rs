//! `zlaunch templates`: the list, or one of them.

use std::borrow::Cow;

use super::output::{err, out};
use crate::base::json;
use crate::base::source::Sourced;
use crate::config::layers::{Layers, with_layers};
use crate::config::template::{self, Search};
use crate::host::Host;
use crate::report::secrets::Secrets;
use crate::report::{self, Problem};

pub struct TemplatesRequest {
    /// Without one, all are listed.
    pub name: Option<Sourced<String>>,
    pub(crate) raw: bool,
    pub search: Search,
    pub(crate) layers: Layers,
}

pub(crate) fn run(request: &TemplatesRequest, host: &Host) -> Result<(), Vec<Problem>> {
    let TemplatesRequest { name, raw, search, layers } = request;
    let Some(name) = name else {
        return out(&template::list(search, host));
    };
    if *raw {
        return out(&template::raw(name, search, host)?);
    }
    let template = template::resolve(name, search, host)?;
    let secrets = Secrets::of(host);
    report::report(&template.notes, &secrets);
    err(&template.summary(&secrets));
    // Without them, keys that only the user can know may still be missing.
    let config =
        if layers.is_empty() { Cow::Borrowed(&template.config) } else { with_layers(&template, layers, host)? };
    out(&json::write(&config))
}
