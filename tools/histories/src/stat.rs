// SPDX-License-Identifier: GPL-2.0
//! What a module that is right has in `stat`.

use std::fmt::Write;

use crate::truth::Truth;

/// Writes `stat` at this time, in ns; the truth is of all since the history began.
pub fn line(time: u64, truth: &Truth) -> String {
    let mut text = format!(
        "{time} {} {} {}",
        truth.io_ticks, truth.time_in_queue, truth.in_flight
    );
    for tally in &truth.groups {
        let merges = tally.merges + tally.joined;
        let _ = write!(
            text,
            " {} {merges} {} {}",
            tally.ios, tally.sectors, tally.nsecs
        );
    }
    let (ticks, queue, in_flight) = truth.device;
    let (errors, requeues) = (truth.errors, truth.requeues);
    let _ = write!(text, " {errors} {ticks} {queue} {in_flight} {requeues}");
    for tally in &truth.groups {
        let _ = write!(text, " {}", tally.device_nsecs);
    }
    text + "\n"
}
