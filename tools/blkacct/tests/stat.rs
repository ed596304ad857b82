// SPDX-License-Identifier: GPL-2.0
//! `stat`, and what the three commands share, on a directory that looks like `/sys`.

#[allow(dead_code, reason = "each test crate uses its part")]
#[path = "common/fake.rs"]
mod fake;
#[path = "common/lines.rs"]
mod lines;

use std::fs;

use fake::{squeeze, Fake};
use lines::{after, before, Line};

const HEADS: &str = "Device r/s w/s %util aqu-sz depth r_await r_q2d r_d2c w_await w_q2d w_d2c %idlq errors requeues";

#[test]
fn stat_shows_the_time_since_mode_2_and_then_each_interval() {
    let fake = Fake::new();
    fake.device_that_waits("sda");
    fake.put("sda/blkacct/counted_ns", "40000000000\n");
    let mut run = fake.start(&["stat", "1", "2"]);
    fake.answer("sda", &before().text());
    // 40 s in mode 2, of the minute.
    assert_eq!(
        run.report(),
        [
            HEADS,
            "sda 25.00 12.50 10.00 0.22 2.25 6.000 2.000 4.000 6.000 4.000 2.000 2.50 1 2"
        ]
    );
    fake.put("sda/blkacct/counted_ns", "42000000000\n");
    fake.answer("sda", &after().text());
    assert_eq!(
        run.report(),
        [
            HEADS,
            "sda 500.00 50.00 50.00 0.75 1.50 1.000 0.400 0.600 5.000 3.000 2.000 10.00 3 7"
        ]
    );
    assert_eq!(run.end(), (0, String::new(), String::new()));
}

#[test]
fn stat_of_a_disk_without_a_device_side_has_no_split() {
    let fake = Fake::new();
    let line = Line {
        device: None,
        ..before()
    };
    fake.device("dm-0", &line.text());
    let (code, out, _) = fake.run(&["stat"]);
    assert_eq!(code, 0);
    let row = squeeze(out.lines().nth(1).unwrap());
    assert_eq!(row, "dm-0 - - - - 2.25 6.000 - - 6.000 - - - - -");
}

#[test]
fn stat_in_json_has_integers_of_ns() {
    let fake = Fake::new();
    fake.device_that_waits("sda");
    let mut run = fake.start(&["stat", "--json", "1", "2"]);
    fake.answer("sda", &before().text());
    let first: serde_json::Value = serde_json::from_str(&run.line()).unwrap();
    assert_eq!(first[0]["interval_ns"], serde_json::Value::Null);
    fake.answer("sda", &after().text());
    let second: serde_json::Value = serde_json::from_str(&run.line()).unwrap();
    assert_eq!(second[0]["device"], "sda");
    assert_eq!(second[0]["interval_ns"], 2_000_000_000u64);
    assert_eq!(second[0]["read"]["nsecs"], 1_000_000_000);
    assert_eq!(second[0]["write"]["device_nsecs"], 200_000_000);
    assert_eq!(second[0]["idle_while_queued"], 200_000_000);
    assert_eq!(second[0]["device_in_flight"], 3);
    assert_eq!(run.end().0, 0);
}

fn names(out: &str) -> Vec<&str> {
    let rows = out.lines().skip(1).filter(|line| !line.is_empty());
    rows.map(|line| line.split_whitespace().next().unwrap())
        .collect()
}

#[test]
fn stat_leaves_out_what_is_not_asked_for_or_not_in_mode_2() {
    let fake = Fake::new();
    for device in ["sda", "sda/sda1", "sdb", "sdb/sdb1"] {
        fake.device(device, &before().text());
    }
    fake.put("sda/sda1/partition", "1\n");
    fake.put("sdb/sdb1/partition", "1\n");
    fake.put("sdc/blkacct/iostats", "1\n");
    fake.put("sdd/size", "0\n");
    let names = |args: &[&str]| {
        let (code, out, _) = fake.run(args);
        assert_eq!(code, 0, "{args:?}");
        names(&out).join(" ")
    };
    assert_eq!(names(&["stat"]), "sda sdb");
    assert_eq!(names(&["stat", "--all"]), "sda sda1 sdb sdb1");
    assert_eq!(names(&["stat", "sdb", "sdc"]), "sdb");
    assert_eq!(names(&["stat", "--all", "sdb"]), "sdb sdb1");
    assert_eq!(names(&["stat", "/dev/sda1"]), "sda1");
}

#[test]
fn every_command_takes_every_name_of_a_device() {
    let fake = Fake::new();
    fake.device("cciss!c0d0", &before().text());
    fake.no_latency("cciss!c0d0");
    fake.put("cciss!c0d0/dev", "104:0\n");
    fake.put("cciss!c0d0/slaves/cciss!c0d0/dev", "104:0\n");
    let by_id = fake.path().join("dev/disk/by-id");
    fs::create_dir_all(&by_id).unwrap();
    fs::create_dir(fake.path().join("dev/cciss")).unwrap();
    fs::write(fake.path().join("dev/cciss/c0d0"), "").unwrap();
    std::os::unix::fs::symlink("../../cciss/c0d0", by_id.join("scsi-1")).unwrap();
    for name in [
        "cciss/c0d0",
        "cciss!c0d0",
        "/dev/cciss/c0d0",
        "/dev/disk/by-id/scsi-1",
        "104:0",
    ] {
        for command in ["stat", "latency", "paths"] {
            let (code, out, errors) = fake.run(&[command, name]);
            assert_eq!((code, errors.as_str()), (0, ""), "{command} {name}");
            assert!(out.contains("cciss/c0d0 "), "{out}");
        }
        let (code, _, errors) = fake.run(&["check", "--watch", name]);
        assert_eq!(code, 1);
        assert!(
            errors.contains("cciss/c0d0: the time in stat stands still"),
            "{errors}"
        );
    }
}

#[test]
fn nothing_to_show_is_status_4_with_the_fix() {
    let fake = Fake::new();
    fake.put("sda/blkacct/iostats", "1\n");
    fake.put("sdb/blkacct/iostats", "0\n");
    for (args, fix) in [
        (
            &["stat"][..],
            "no device is in mode 2: echo 2 > /sys/block/DISK/queue/iostats",
        ),
        (&["stat", "sda"], "sda: iostats is 1, not 2: echo 2 > "),
        (&["stat", "sdz"], "sdz: no such disk or partition"),
        (&["stat", "sda", "8:7"], "8:7: no such disk or partition"),
        (&["latency", "sda"], "sda: iostats is 1, not 2: echo 2 > "),
        (&["latency", "sdz"], "no such disk or partition"),
        (&["paths", "sda"], "no device below it"),
    ] {
        let (code, out, errors) = fake.run(args);
        assert_eq!((code, out.as_str()), (4, ""), "{args:?}");
        assert!(errors.contains(fix), "{errors}");
    }
    fake.put("sdc/size", "0\n");
    let (code, _, errors) = fake.run(&["stat", "sdc"]);
    assert_eq!(code, 4);
    assert!(errors.contains("modprobe blkacct"), "{errors}");
}

#[test]
fn a_disk_that_goes_is_dropped_with_a_note_and_a_new_one_joins() {
    let fake = Fake::new();
    // The first in order waits, so that the others change between two reports.
    fake.device_that_waits("sda");
    for disk in ["sdb", "sdc", "sdd"] {
        fake.device(disk, &before().text());
    }
    let mut run = fake.start(&["stat", "1", "2"]);
    fake.answer("sda", &before().text());
    assert_eq!(run.report().len(), 5);
    fake.remove("sdb");
    fake.put("sdc/blkacct/iostats", "1\n");
    // Another disk of the same name: it has counted less.
    let mut less = before();
    (less.time, less.read[0]) = (62_000_000_000, 1);
    fake.device("sdd", &less.text());
    fake.device("sde", &before().text());
    fake.answer("sda", &after().text());
    let report = run.report();
    let begin = |row: usize| report[row].split(' ').take(2).collect::<Vec<_>>().join(" ");
    assert_eq!(
        (begin(1), begin(2), begin(3)),
        ("sda 500.00".into(), "sdd -".into(), "sde -".into())
    );
    assert_eq!(report.len(), 4);
    let (code, _, errors) = run.end();
    assert_eq!(code, 0);
    for note in ["sdb: gone", "sdc: iostats is 1", "sdd: another device"] {
        assert!(errors.contains(note), "{errors}");
    }
}

#[test]
fn a_file_that_is_no_stat_is_an_error_with_its_name() {
    let fake = Fake::new();
    fake.device("sda", "1 2 3\n");
    let (code, _, errors) = fake.run(&["stat"]);
    assert_eq!(code, 1);
    assert!(errors.contains("sda/blkacct/stat:1:"), "{errors}");
    assert!(errors.contains("in_flight is missing"), "{errors}");
}

#[test]
fn a_reader_that_leaves_ends_the_run_without_an_error() {
    let fake = Fake::new();
    fake.device("sda", &before().text());
    let run = fake.start(&["stat", "1"]);
    assert_eq!(run.deaf(), (0, String::new()));
}
