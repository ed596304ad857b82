// SPDX-License-Identifier: GPL-2.0

use super::*;
use crate::figures::Gap;
use std::fs;

struct Root(tempfile::TempDir);

const LINE: &str = "   8       0 sda 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17\n";

impl Root {
    fn new() -> Self {
        let root = Root(tempfile::tempdir().unwrap());
        root.put("proc/sys/kernel/random/boot_id", "8e6a\n");
        root
    }

    fn put(&self, file: &str, text: &str) {
        let path = self.0.path().join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// A disk in mode 2 that has read so often.
    fn disk(&self, name: &str, time: u64, reads: u64) {
        let file = |file: &str, text: &str| self.put(&format!("sys/block/{name}/{file}"), text);
        file("blkacct/iostats", "2\n");
        let stat = format!("{time} 0 0 0 {reads}{}\n", " 0".repeat(35));
        file("blkacct/stat", &stat);
    }

    fn histogram(&self, reads: u64) {
        for group in acct::sgrp::StatGroup::ALL {
            let count = if group.index() == 0 { reads } else { 0 };
            let text = format!("total {count}{}\n", " 0".repeat(113));
            self.put(
                &format!("sys/block/sda/blkacct/latency_{}", group.name()),
                &text,
            );
        }
    }

    fn live(&self, histograms: bool) -> Live {
        Live::new(self.0.path(), Choice::default(), histograms)
    }
}

#[test]
fn a_sample_has_all_that_the_machine_says() {
    let root = Root::new();
    root.disk("sda", 60, 9);
    root.histogram(9);
    for (file, text) in [
        ("proc/diskstats", LINE),
        ("sys/block/sda/blkacct/counted_ns", "50\n"),
        ("sys/block/sda/blkacct/classic", "1\n"),
        (
            "sys/block/sda/blkacct/anomalies",
            "clamped 1\norphans 2\nlost_starts 3\nlate_starts 4\nbound_ns 5\n",
        ),
        ("sys/block/sdb/blkacct/iostats", "1\n"),
        ("sys/block/sdc/size", "8\n"),
    ] {
        root.put(file, text);
    }
    let sample = root.live(true).read().unwrap();
    assert_eq!(&*sample.boot_id, "8e6a");
    assert!(sample.begin_ns > 0 && sample.begin_ns <= sample.end_ns);
    assert!(sample.wall_ns > 1_700_000_000_000_000_000);
    let [sda, sdb, sdc] = &sample.devices[..] else {
        panic!("{sample:?}");
    };
    let stat = sda.stat.unwrap();
    assert_eq!((stat.time_ns, stat.groups[0].ios), (60, 9));
    assert_eq!((sda.counted_ns, sda.classic), (Some(50), Some(true)));
    assert_eq!(sda.anomalies.unwrap().bound_ns, 5);
    assert_eq!(sda.kernel.unwrap().flushes, 16);
    let read = sda.latencies.of(acct::sgrp::StatGroup::Read).unwrap();
    assert_eq!((read.total.0[0], read.device), (9, None));
    assert_eq!(
        (sdb.mode, sdb.stat, sdb.latencies.are_none()),
        (Some(1), None, true)
    );
    assert_eq!((sdc.mode, sdc.identity.sectors), (None, Some(8)));
    assert!(sdb.counters().unwrap_err().0.contains("sdb: iostats is 1"));
    assert!(sdc.counters().unwrap_err().0.contains("modprobe blkacct"));
    // It is the same when it comes back from JSON.
    let json = serde_json::to_string(&sample).unwrap();
    assert_eq!(serde_json::from_str::<Sample>(&json).unwrap(), sample);
}

#[test]
fn files_are_read_again_and_devices_come_and_go() {
    let root = Root::new();
    root.disk("sda", 60, 9);
    root.disk("sdb", 60, 9);
    let mut live = root.live(false);
    let first = live.read().unwrap();
    root.disk("sda", 70, 19);
    root.disk("sdc", 70, 0);
    fs::remove_dir_all(root.0.path().join("sys/block/sdb")).unwrap();
    let second = live.read().unwrap();
    let (a, b) = Gap::between(&first, &second, "sda").unwrap();
    assert_eq!(a.stat.unwrap().groups[0].ios, 9);
    assert_eq!(b.stat.unwrap().groups[0].ios, 19);
    assert_eq!(Gap::between(&first, &second, "sdb"), Err(Gap::Gone));
    assert_eq!(Gap::between(&first, &second, "sdc"), Err(Gap::New));
}

#[test]
fn the_kernels_list_tells_when_to_look_for_devices() {
    let root = Root::new();
    root.disk("sda", 60, 9);
    root.put("proc/diskstats", LINE);
    let mut live = root.live(false);
    let names = |live: &mut Live| {
        let sample = live.read().unwrap();
        let names = sample.devices.iter().map(|d| d.identity.name.clone());
        names.collect::<Vec<_>>().join(" ")
    };
    assert_eq!(names(&mut live), "sda");
    root.disk("sdb", 60, 9);
    root.put(
        "proc/diskstats",
        &format!("{LINE}{}", LINE.replace("sda", "sdb")),
    );
    assert_eq!(names(&mut live), "sda sdb");
}

#[test]
fn a_histogram_is_read_until_it_has_caught_up_with_the_counters() {
    let root = Root::new();
    let mut live = root.live(true);
    let mut count = |time, reads, counted| {
        root.disk("sda", time, reads);
        root.histogram(counted);
        let sample = live.read().unwrap();
        let read = sample.devices[0].latencies.of(acct::sgrp::StatGroup::Read);
        read.unwrap().total.0[0]
    };
    assert_eq!(count(1, 5, 4), 4);
    // The I/O stands still, and its histogram catches up.
    assert_eq!(count(2, 5, 5), 5);
    // It is not read again, so what a healthy module does not do is not seen.
    assert_eq!(count(3, 5, 77), 5);
    assert_eq!(count(4, 6, 6), 6);
}

#[test]
fn a_file_that_is_not_what_it_should_be_is_named() {
    let root = Root::new();
    root.disk("sda", 60, 9);
    root.put("sys/block/sda/blkacct/stat", "1 2 3\n");
    let error = format!("{:#}", root.live(false).read().unwrap_err());
    assert!(error.contains("sda/blkacct/stat:1:"), "{error}");
    root.put("sys/block/sda/blkacct/iostats", "x\n");
    let error = format!("{:#}", root.live(false).read().unwrap_err());
    assert!(error.contains("sda/blkacct/iostats"), "{error}");
}
