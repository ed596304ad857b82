// SPDX-License-Identifier: GPL-2.0
//! By what name a device is shown.

use std::collections::BTreeMap;

use anyhow::bail;

use crate::cli::StatArgs;
use crate::sample::{links, Identity};

/// The kind of name that was asked for.
pub enum Labels {
    /// The kernel's.
    Kernel,
    /// The device mapper's, where there is one.
    Mapped,
    /// The first in `/dev/disk/by-id`, which a recording has as well.
    Id,
    /// One of another directory of `/dev/disk`, where there is one.
    Persistent(BTreeMap<String, Vec<String>>),
}

impl Labels {
    /// Reads the directory, if names of one were asked for.
    ///
    /// # Errors
    ///
    /// One that is not there.
    pub fn new(args: &StatArgs) -> anyhow::Result<Self> {
        let Some(kind) = &args.persistent else {
            return Ok(match args.mapped {
                true => Labels::Mapped,
                false => Labels::Kernel,
            });
        };
        let kind = format!("by-{}", kind.to_lowercase());
        if kind == "by-id" {
            return Ok(Labels::Id);
        }
        let dir = args.root.join("dev/disk").join(&kind);
        if kind.contains('/') || !dir.is_dir() {
            bail!("-j: no directory {}", dir.display());
        }
        Ok(Labels::Persistent(links(&args.root, &kind)))
    }

    /// Returns the name of a device.
    pub fn of(&self, identity: &Identity) -> String {
        let other = match self {
            Labels::Kernel => None,
            Labels::Id => identity.by_id.first(),
            Labels::Mapped => identity.dm_name.as_ref(),
            Labels::Persistent(names) => names.get(&identity.name).and_then(|names| names.first()),
        };
        other.unwrap_or(&identity.name).clone()
    }
}
