// SPDX-License-Identifier: GPL-2.0

//! Nanosecond-exact block I/O accounting, switched on per disk by iostats=2.
//!
//! Bring-up: find the hooks, then hear of every block device, which gives each its files. Nothing
//! is attached to the block layer until a disk enters mode 2. Teardown is the fields' drop order.
//!
//! Data flows one way: event -> `events` -> `delivery`, by the `table` -> `account` -> `acct` ->
//! (read) `attrs`.

#![forbid(unsafe_op_in_unsafe_fn)]
#![deny(unsafe_code)]

#[cfg(not(target_pointer_width = "64"))]
compile_error!("blkacct needs a 64-bit kernel: its times, counts and windows have 64 bits");

mod account;
// Its API is public, and used in full, in the crate that userspace builds of it.
#[allow(unreachable_pub, dead_code)]
mod acct;
mod attrs;
mod bio_events;
#[cfg(CONFIG_KUNIT)]
mod cases;
mod compat;
mod delivery;
mod device_events;
mod disk;
mod disks;
mod events;
mod hooks;
mod mode;
#[cfg(CONFIG_KUNIT)]
mod rig;
mod sys;
mod table;

use disks::Disks;
use hooks::Hooks;
use kernel::{
    prelude::*,
    sync::Arc, //
};
use sys::{
    class_interface::Registration,
    ftrace::TextStays,
    queue_iostats::Served,
    repeat::Repeat,
    stat_files::Watched, //
};

module! {
    type: Blkacct,
    name: "blkacct",
    authors: ["blkacct developers"],
    description: "Nanosecond-exact block I/O accounting (iostats=2)",
    license: "GPL",
    params: {
        classic: u8 {
            default: 1,
            description: "In mode 2 the kernel's own io_ticks (/proc/diskstats) is exact too (1)",
        },
        device: u8 {
            default: 1,
            description: "In mode 2 the driver's share is counted too: device_ticks and more (1)",
        },
        private: u8 {
            default: 0,
            description: "The files are for root and its group alone, 0440 and 0640 (0)",
        },
    },
}

/// The module while it is loaded.
struct Blkacct {
    /// The slow catch-up of the totals; first to go.
    _catch_up: Repeat<Disks>,
    /// The block layer's own file; `None` where ftrace cannot give it to us.
    _queue_iostats: Option<Served<Disks>>,
    /// Every device's files and accounts go with it, and so do the probes.
    _devices: Pin<KBox<Registration<Disks>>>,
    /// When no device is left, the probes go.
    _probes: Probes,
    /// Where the kernel's own statistics are read; `None` where ftrace cannot show us. After the
    /// devices: an account that closes gives the kernel's `io_ticks` back.
    _stat_files: Option<Watched<Hooks>>,
    /// Last: all hooks are gone then, or stay.
    _text: TextStays,
}

/// The probes, which a device that goes does not take away itself.
struct Probes(Arc<Hooks>);

impl Drop for Probes {
    fn drop(&mut self) {
        self.0.detach();
    }
}

impl kernel::Module for Blkacct {
    fn init(_module: &'static ThisModule) -> Result<Self> {
        // Dropped last, also if the rest fails.
        let text = TextStays;
        let hooks = Hooks::find(compat::parameter(module_parameters::device.value()) != 0)?;
        let stat_files = watch(&hooks);
        let pace = hooks.pace().clone();
        let probes = Probes(hooks.clone());
        let private = compat::parameter(module_parameters::private.value()) != 0;
        let disks = Disks::new(hooks, private)?;
        let devices = KBox::pin_init(Registration::new(disks.clone()), GFP_KERNEL)?;
        let queue_iostats = Served::new(disks.clone()).inspect_err(|error| {
            pr_info!("queue/iostats does not take 2 ({error:?}); use blkacct/iostats\n");
        });
        Ok(Self {
            _devices: devices,
            _queue_iostats: queue_iostats.ok(),
            _probes: probes,
            _stat_files: stat_files,
            _text: text,
            _catch_up: Repeat::new(pace, disks)?,
        })
    }
}

/// Makes the kernel's own `io_ticks` exact in mode 2, unless that is not wanted or not possible.
fn watch(hooks: &Arc<Hooks>) -> Option<Watched<Hooks>> {
    if compat::parameter(module_parameters::classic.value()) == 0 {
        return None;
    }
    match Watched::new(hooks.clone()) {
        Ok(watched) => {
            hooks.set_classic();
            Some(watched)
        }
        Err(error) => {
            pr_info!("/proc/diskstats keeps the kernel's own io_ticks in mode 2 ({error:?})\n");
            None
        }
    }
}
