// SPDX-License-Identifier: GPL-2.0
//! Which devices are asked for.

use std::path::Path;
use std::sync::Arc;

use super::Identity;
use crate::device::Device;

/// Which devices to look at.
#[derive(Clone, Debug, Default)]
pub struct Choice {
    /// Devices by any of their names; all disks if there is none.
    pub names: Vec<String>,
    /// And the partitions of these.
    pub partitions: bool,
    /// And what these lie on, down to the bottom.
    pub below: bool,
}

impl Choice {
    /// Replaces what is only a name here, such as a link in `/dev`, by the kernel's name. One that
    /// is not there stays: it may come.
    #[must_use]
    pub fn resolved(&self, root: &Path) -> Self {
        let resolve = |name: &String| {
            Device::find(root, name).map_or_else(|_| name.clone(), |device| device.name)
        };
        Choice {
            names: self.names.iter().map(resolve).collect(),
            ..self.clone()
        }
    }

    /// Returns whether each device is asked for.
    pub fn of(&self, devices: &[Arc<Identity>]) -> Vec<bool> {
        let mut chosen: Vec<bool> = devices.iter().map(|device| self.names_it(device)).collect();
        // Each round goes down by a layer. A device lies on none above it, so this ends.
        for _ in devices.iter().filter(|_| self.below) {
            let below: Vec<&String> = devices
                .iter()
                .zip(&chosen)
                .filter(|(_, chosen)| **chosen)
                .flat_map(|(device, _)| &device.slaves)
                .collect();
            let more: Vec<bool> = devices
                .iter()
                .zip(&chosen)
                .map(|(device, &chosen)| chosen || below.contains(&&device.name))
                .collect();
            if more == chosen {
                break;
            }
            chosen = more;
        }
        chosen
    }

    fn names_it(&self, device: &Identity) -> bool {
        let named = |name: &String| device.is_called(name);
        match &device.partition_of {
            _ if self.names.iter().any(named) => true,
            Some(disk) => {
                self.partitions
                    && (self.names.is_empty() || self.names.iter().any(|name| name == disk))
            }
            None => self.names.is_empty(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn device(name: &str, slaves: &[&str], partition_of: Option<&str>) -> Arc<Identity> {
        Arc::new(Identity {
            name: name.to_owned(),
            slaves: slaves.iter().map(|name| (*name).to_owned()).collect(),
            partition_of: partition_of.map(str::to_owned),
            ..Identity::default()
        })
    }

    #[test]
    fn disks_partitions_and_layers_are_told_apart() {
        let devices = [
            device("dm-0", &["dm-1"], None),
            device("dm-1", &["sda1", "sdb"], None),
            device("sda", &[], None),
            device("sda1", &[], Some("sda")),
            device("sdb", &[], None),
            device("sdc", &[], None),
        ];
        let chosen = |names: &[&str], partitions, below| {
            let choice = Choice {
                names: names.iter().map(|name| (*name).to_owned()).collect(),
                partitions,
                below,
            };
            let chosen = choice.of(&devices).into_iter().zip(&devices);
            let names = chosen.filter(|(chosen, _)| *chosen);
            let names: Vec<&str> = names.map(|(_, device)| device.name.as_str()).collect();
            names.join(" ")
        };
        assert_eq!(chosen(&[], false, false), "dm-0 dm-1 sda sdb sdc");
        assert_eq!(chosen(&[], true, false), "dm-0 dm-1 sda sda1 sdb sdc");
        assert_eq!(chosen(&["sda"], true, false), "sda sda1");
        assert_eq!(chosen(&["sda1"], false, false), "sda1");
        assert_eq!(chosen(&["/dev/sdb", "sdz"], true, false), "sdb");
        assert_eq!(chosen(&["dm-0"], false, true), "dm-0 dm-1 sda1 sdb");
    }
}
