// SPDX-License-Identifier: GPL-2.0
//! Lines of `stat` of a made-up disk.

/// A `stat` line: time, io_ticks, time_in_queue, reads, writes, and the device side if there is one.
pub struct Line {
    pub time: u64,
    pub ticks: u64,
    pub queue: u64,
    /// ios, sectors, nsecs.
    pub read: [u64; 3],
    pub write: [u64; 3],
    pub device: Option<Device>,
}

pub struct Device {
    pub errors: u64,
    pub ticks: u64,
    pub queue: u64,
    pub in_flight: u64,
    pub requeues: u64,
    pub read: u64,
    pub write: u64,
}

impl Line {
    pub fn text(&self) -> String {
        let [ios, sectors, nsecs] = self.read;
        let [w_ios, w_sectors, w_nsecs] = self.write;
        let (time, ticks, queue) = (self.time, self.ticks, self.queue);
        let mut text = format!(
            "{time} {ticks} {queue} 0 {ios} 0 {sectors} {nsecs} {w_ios} 0 {w_sectors} {w_nsecs}{}",
            " 0".repeat(28)
        );
        if let Some(d) = &self.device {
            let (errors, ticks, queue) = (d.errors, d.ticks, d.queue);
            let (in_flight, requeues) = (d.in_flight, d.requeues);
            text += &format!(
                " {errors} {ticks} {queue} {in_flight} {requeues} {} {}{}",
                d.read,
                d.write,
                " 0".repeat(7)
            );
        }
        text + "\n"
    }
}

/// A disk a minute after boot.
pub fn before() -> Line {
    Line {
        time: 60_000_000_000,
        ticks: 4_000_000_000,
        queue: 9_000_000_000,
        read: [1000, 8000, 6_000_000_000],
        write: [500, 4000, 3_000_000_000],
        device: Some(Device {
            errors: 1,
            ticks: 3_000_000_000,
            queue: 5_000_000_000,
            in_flight: 0,
            requeues: 2,
            read: 4_000_000_000,
            write: 1_000_000_000,
        }),
    }
}

/// The same two seconds later: 1000 reads of 1 ms, 0.6 at the driver; 100 writes of 5 ms, 2 there.
pub fn after() -> Line {
    Line {
        time: 62_000_000_000,
        ticks: 5_000_000_000,
        queue: 10_500_000_000,
        read: [2000, 16000, 7_000_000_000],
        write: [600, 4800, 3_500_000_000],
        device: Some(Device {
            errors: 4,
            ticks: 3_800_000_000,
            queue: 5_800_000_000,
            in_flight: 3,
            requeues: 9,
            read: 4_600_000_000,
            write: 1_200_000_000,
        }),
    }
}
