// SPDX-License-Identifier: GPL-2.0
//! `on`, `off`, `list`, and the command alone, on a directory that looks like `/sys`.

#[allow(dead_code, reason = "each test crate uses its part")]
#[path = "common/fake.rs"]
mod fake;
#[allow(dead_code, reason = "each test crate uses its part")]
#[path = "common/lines.rs"]
mod lines;

use std::fs;

use fake::{squeeze, Fake};
use lines::before;

/// Two disks in mode 1, one of them bio-based, and one that has no switch.
fn machine() -> Fake {
    let fake = Fake::new();
    for disk in ["sda", "dm-0"] {
        fake.put(&format!("{disk}/blkacct/iostats"), "1\n");
    }
    fake.put("sda/mq/0/nr_tags", "64\n");
    fake.put("sda/dev", "8:0\n");
    fake.put("sda/size", "131072\n");
    fake.put("sda/queue/scheduler", "none [mq-deadline]\n");
    fake.put("sda/queue/nr_requests", "64\n");
    fake.put("sda/sda1/partition", "1\n");
    fake.put("dm-0/dm/name", "vg-root\n");
    fake.put("sdz/size", "0\n");
    fake
}

fn mode(fake: &Fake, disk: &str) -> String {
    let file = fake
        .path()
        .join("sys/block")
        .join(disk)
        .join("blkacct/iostats");
    fs::read_to_string(file).unwrap().trim().to_owned()
}

#[test]
fn on_and_off_switch_and_tell_what_the_drain_did() {
    let fake = machine();
    let (code, out, errors) = fake.run(&["on", "8:0", "dm-0"]);
    assert_eq!((code, errors.as_str()), (0, ""));
    let lines: Vec<&str> = out.lines().collect();
    assert!(lines[0].starts_with("sda: mode 1 -> 2; its queue was drained, which took "));
    assert_eq!(
        lines[1],
        "dm-0: mode 1 -> 2; bio-based, so not drained: I/O counts that begins from now on"
    );
    assert_eq!(
        (mode(&fake, "sda"), mode(&fake, "dm-0")),
        ("2".into(), "2".into())
    );
    let (code, out, _) = fake.run(&["on", "sda"]);
    assert_eq!((code, out.as_str()), (0, "sda: in mode 2 already\n"));
    let (code, out, _) = fake.run(&["off", "all"]);
    assert_eq!((code, out.lines().count()), (0, 2));
    assert_eq!(
        (mode(&fake, "sda"), mode(&fake, "dm-0")),
        ("1".into(), "1".into())
    );
}

#[test]
fn each_disk_is_tried_and_a_refusal_says_what_helps() {
    let fake = machine();
    let (code, out, errors) = fake.run(&["on", "nosuch", "sda1", "sdz", "sda"]);
    assert_eq!(code, 4, "that of the first");
    assert_eq!(out.lines().count(), 1);
    assert_eq!(mode(&fake, "sda"), "2");
    for told in [
        "nosuch: no such disk",
        "sda1: a partition has the mode of its disk: blkacct on sda",
        "sdz: the module does not take this disk",
    ] {
        assert!(errors.contains(told), "{errors}");
    }
    let bare = Fake::new();
    bare.put("sda/size", "0\n");
    for args in [["on", "sda"], ["on", "all"]] {
        let (code, _, errors) = bare.run(&args);
        assert_eq!(code, 4);
        assert!(errors.contains("modprobe blkacct"), "{errors}");
    }
    assert_eq!(fake.run(&["on"]).0, 2, "which disk?");
}

#[test]
fn list_shows_what_there_is_and_what_is_doubted() {
    let fake = machine();
    fake.device("sdb", &before().text());
    fake.put("sdb/mq/0/nr_tags", "64\n");
    fake.put("sdb/blkacct/classic", "0\n");
    fake.put(
        "sdb/blkacct/anomalies",
        "clamped 0\norphans 0\nlost_starts 0\nlate_starts 0\nbound_ns 5\n",
    );
    let (code, out, _) = fake.run(&["list"]);
    assert_eq!(code, 0);
    let lines: Vec<String> = out.lines().map(squeeze).collect();
    assert_eq!(
        &lines[..5],
        [
            "Disk mode can be size scheduler requests queues name",
            "dm-0 1 0 1 2 - - - - vg-root",
            "sda 1 0 1 2 64.0M mq-deadline 64 1 -",
            "sdb 2 0 1 2 - - - 1 -",
            "sdz - - 0.0k - - - -",
        ]
    );
    for doubt in [
        "sda: the kernel's own figures only: blkacct on sda",
        "sdb: /proc/diskstats and iostat have the kernel's own io_ticks",
        "sdb: any time can be off by 5 ns",
        "sdz: the module does not take it",
    ] {
        assert!(out.contains(doubt), "{out}");
    }
    let (code, out, _) = fake.run(&["list", "--json", "sda"]);
    assert_eq!(code, 0);
    let json: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_eq!(json["disks"][0]["holds_back"][0], "scheduler mq-deadline");
    assert_eq!(fake.run(&["list", "nosuch"]).0, 4);
}

#[test]
fn the_command_alone_says_what_to_do_next() {
    let fake = machine();
    let (code, out, _) = fake.run(&[]);
    assert_eq!(code, 0);
    assert!(out.contains("blkacct on all"), "{out}");
    fake.run(&["on", "sda"]);
    fake.device("sda", &before().text());
    let (code, out, _) = fake.run(&[]);
    assert_eq!(code, 0);
    assert!(
        out.contains("Counted exactly: sda.") && out.contains("blkacct stat -x 1"),
        "{out}"
    );
    let bare = Fake::new();
    bare.put("sda/size", "0\n");
    let (code, out, errors) = bare.run(&[]);
    assert_eq!((code, out.as_str()), (4, ""));
    assert!(errors.contains("modprobe blkacct"), "{errors}");
}
