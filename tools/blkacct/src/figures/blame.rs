// SPDX-License-Identifier: GPL-2.0
//! What could be to blame when requests wait and the driver has none.
//!
//! Rule: if a window has idle-while-queued time of more than 1 %, all that is set on the queue and
//! can hold requests back is named. Error: these are suspects and not culprits; that one of them did
//! it, counters cannot tell. A plug that a task holds is not to be seen here and is never named.

use super::Window;
use crate::sample::Queue;

/// From which share of the window the idle time is worth a word, in percent.
const WORTH_A_WORD: u128 = 1;

/// Names what can have held requests back, if they were.
pub fn suspects(queue: &Queue, window: &Window) -> Vec<String> {
    let (Some(idle), Some(interval)) = (window.idle_while_queued(), window.interval_ns) else {
        return Vec::new();
    };
    if u128::from(idle) * 100 <= u128::from(interval) * WORTH_A_WORD {
        return Vec::new();
    }
    set(queue)
}

/// Names what is set on a queue and can hold requests back.
pub fn set(queue: &Queue) -> Vec<String> {
    let mut suspects = Vec::new();
    if let Some(scheduler) = queue.scheduler.as_deref().filter(|&name| name != "none") {
        suspects.push(format!("scheduler {scheduler}"));
    }
    if let Some(us) = queue.wbt_lat_usec.filter(|&us| us > 0) {
        suspects.push(format!("wbt_lat_usec {us}"));
    }
    suspects.extend(queue.cgroup_limits.iter().cloned());
    suspects
}

#[cfg(test)]
mod tests {
    use super::*;
    use acct::wire::{DeviceSide, Stat};

    #[test]
    fn suspects_are_named_where_the_driver_idled() {
        let queue = Queue {
            scheduler: Some("bfq".to_owned()),
            wbt_lat_usec: Some(2000),
            cgroup_limits: vec!["io.max of /a: rbps=1".to_owned()],
            ..Queue::default()
        };
        let window = |busy: u64, driver: Option<u64>| {
            let after = Stat {
                time_ns: 1000,
                io_ticks: busy,
                device: driver.map(|ticks| DeviceSide {
                    ticks,
                    ..DeviceSide::default()
                }),
                ..Stat::default()
            };
            Window::new(Some(&Stat::default()), &after)
        };
        let all = ["scheduler bfq", "wbt_lat_usec 2000", "io.max of /a: rbps=1"];
        assert_eq!(suspects(&queue, &window(500, Some(489))), all);
        assert!(suspects(&queue, &window(500, Some(490))).is_empty());
        assert!(suspects(&queue, &window(500, None)).is_empty());
        let idle = Queue {
            scheduler: Some("none".to_owned()),
            wbt_lat_usec: Some(0),
            ..Queue::default()
        };
        assert!(suspects(&idle, &window(500, Some(0))).is_empty());
    }
}
