// SPDX-License-Identifier: GPL-2.0
//! `latency` and `paths` on a directory that looks like `/sys`.

#[allow(dead_code, reason = "each test crate uses its part")]
#[path = "common/fake.rs"]
mod fake;
#[path = "common/lines.rs"]
mod lines;

use fake::{squeeze, Fake};
use lines::{after, before, Device, Line};

/// Buckets: 9 is [4096, 5120), 41 is [1048576, 1310720), 113 is open.
#[test]
fn latency_shows_both_sides_of_groups_with_io() {
    let fake = Fake::new();
    fake.device("sda", &before().text());
    fake.no_latency("sda");
    fake.latency("sda", "read", &[(41, 99), (113, 1)], &[(9, 100)]);
    let (code, out, _) = fake.run(&["latency", "sda"]);
    assert_eq!(code, 0);
    let lines: Vec<String> = out.lines().map(squeeze).collect();
    assert_eq!(
        lines,
        [
            "sda side count mean p50 p90 p99 p99.9 p99.99 max",
            "read total 100 2.75s 1.18ms 1.18ms 1.18ms 275s 275s 275s",
            "read device 100 4.61us 4.61us 4.61us 4.61us 4.61us 4.61us 4.61us",
            ""
        ]
    );
}

#[test]
fn latency_at_an_interval_is_of_the_interval() {
    let fake = Fake::new();
    fake.device("sda", &before().text());
    fake.no_latency("sda");
    fake.latency("sda", "write", &[(41, 99)], &[(9, 99)]);
    // The counts stand still, so the second report is empty whenever it comes.
    let (code, out, _) = fake.run(&["latency", "sda", "1", "2"]);
    assert_eq!(code, 0);
    let reports: Vec<&str> = out.split("\n\n").collect();
    assert_eq!(reports[0].lines().count(), 3);
    assert_eq!(reports[1].lines().count(), 1);
}

#[test]
fn histograms_are_drawn_from_the_first_bucket_to_the_last() {
    let fake = Fake::new();
    fake.device("sda", &before().text());
    fake.no_latency("sda");
    fake.latency("sda", "read", &[(9, 400), (11, 1)], &[]);
    let (_, out, _) = fake.run(&["latency", "sda", "--histogram"]);
    let bars: Vec<String> = out.lines().skip(5).map(squeeze).take(3).collect();
    let long = format!("[4.10us, 5.12us) 400 {}", "#".repeat(40));
    assert_eq!(
        bars,
        [long.as_str(), "[5.12us, 6.14us) 0", "[6.14us, 7.17us) 1 #"]
    );
}

#[test]
fn latency_in_json_has_integers_of_ns_and_the_buckets() {
    let fake = Fake::new();
    fake.device("sda", &before().text());
    fake.no_latency("sda");
    fake.latency("sda", "read", &[(9, 4)], &[(9, 4)]);
    let (_, out, _) = fake.run(&["latency", "sda", "--json"]);
    let json: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_eq!(json[1]["side"], "device");
    assert_eq!(json[0]["percentiles"][2], 4608);
    // All times are in one bucket of 4096 to 5120 ns, so none waited for longer than it is wide.
    let queue = &json[0]["queue_percentiles"][2];
    assert_eq!(*queue, serde_json::json!({"least": 0, "most": 1024}));
    assert!(json[1].get("queue_percentiles").is_none());
    assert_eq!(json[0]["buckets"], serde_json::json!([[4096, 5120, 4]]));
}

/// Two paths, of 1 ms and of 3 ms, below a device that adds half a millisecond.
fn two_paths() -> Fake {
    let fake = Fake::new();
    let line = |ios: u64, ms: u64, device: bool| Line {
        time: 60_000_000_000,
        ticks: 1,
        queue: 1,
        read: [ios, ios * 8, ios * ms * 1_100_000],
        write: [0; 3],
        device: device.then_some(Device {
            errors: 2,
            ticks: 1,
            queue: 1,
            in_flight: 4,
            requeues: 5,
            read: ios * ms * 1_000_000,
            write: 0,
        }),
    };
    fake.device("sda", &line(300, 1, true).text());
    fake.device("sdb", &line(100, 3, true).text());
    fake.device("dm-0", &line(400, 2, false).text());
    for disk in ["sda", "sdb", "dm-0"] {
        fake.no_latency(disk);
    }
    fake.latency("sda", "read", &[], &[(41, 300)]);
    fake.latency("sdb", "read", &[], &[(9, 100)]);
    fake.put("dm-0/slaves/sda/size", "0\n");
    fake.put("dm-0/slaves/sdb/size", "0\n");
    fake
}

#[test]
fn paths_stand_side_by_side_with_the_device_above() {
    let fake = two_paths();
    let (code, out, errors) = fake.run(&["paths", "dm-0"]);
    assert_eq!((code, errors.as_str()), (0, ""));
    let lines: Vec<String> = out.lines().map(squeeze).collect();
    assert_eq!(
        lines,
        [
            "Device ios %share io/s kB/s await q2d d2c d2c p99 at driver errors requeues",
            "sda 300 75.0 - - 1.10ms 100us 1.00ms 1.18ms 4 2 5",
            "sdb 100 25.0 - - 3.30ms 300us 3.00ms 4.61us 4 2 5",
            "dm-0 400 - - - 2.20ms - - - - - -",
            // 2.2 ms, less 1.1 and 3.3 by their shares.
            "dm-0 adds 550us, give or take 0ns",
            ""
        ]
    );
}

#[test]
fn paths_at_an_interval_have_rates() {
    let fake = two_paths();
    fake.remove("sda/blkacct");
    fake.no_latency("sda");
    fake.latency("sda", "read", &[], &[(41, 300)]);
    fake.device_that_waits("sda");
    let mut run = fake.start(&["paths", "dm-0", "1", "2"]);
    fake.answer("sda", &before().text());
    run.report();
    fake.latency("sda", "read", &[], &[(41, 300), (9, 1100)]);
    fake.answer("sda", &after().text());
    let report = run.report();
    // 1100 I/O and 8800 sectors in two seconds; p99 of the 1100 new ones.
    assert_eq!(
        report[1],
        "sda 1100 100.0 550.00 2200.00 1.36ms 636us 727us 4.61us 3 3 7"
    );
    assert_eq!(run.end().0, 0);
}

#[test]
fn a_path_that_is_not_in_mode_2_is_named_with_the_fix() {
    let fake = two_paths();
    fake.put("sdb/blkacct/iostats", "1\n");
    let (code, out, _) = fake.run(&["paths", "dm-0"]);
    assert_eq!(code, 0);
    assert!(
        out.contains("note: sdb: iostats is 1, not 2: blkacct on sdb"),
        "{out}"
    );
    let (_, out, _) = fake.run(&["paths", "dm-0", "--json"]);
    let json: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_eq!(json["lines"][0]["share_ppm"], 1_000_000);
    assert_eq!(json["lines"][0]["d2c"], 1_000_000);
    assert_eq!(json["left_out"].as_array().unwrap().len(), 1);
    assert_eq!(
        json["own"],
        serde_json::Value::Null,
        "that leg may have had any of it"
    );
}
