// SPDX-License-Identifier: GPL-2.0
//! `stat`, `latency` and `paths` on a directory that looks like `/sys`.

#[path = "common/fake.rs"]
mod fake;

use fake::{squeeze, Fake};

/// A `stat` line: time, io_ticks, time_in_queue, reads, writes, and the device side if there is one.
struct Line {
    time: u64,
    ticks: u64,
    queue: u64,
    /// ios, sectors, nsecs.
    read: [u64; 3],
    write: [u64; 3],
    device: Option<Device>,
}

struct Device {
    errors: u64,
    ticks: u64,
    queue: u64,
    in_flight: u64,
    requeues: u64,
    read: u64,
    write: u64,
}

impl Line {
    fn text(&self) -> String {
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
fn before() -> Line {
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
fn after() -> Line {
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

const HEADS: &str = "Device r/s w/s %util aqu-sz depth r_await r_q2d r_d2c w_await w_q2d w_d2c %idlq errors requeues";

#[test]
fn stat_shows_the_time_since_mode_2_and_then_each_interval() {
    let fake = Fake::new();
    fake.device_that_waits("sda");
    let mut run = fake.start(&["stat", "1", "2"]);
    fake.answer("sda", &before().text());
    // How long ago mode 2 began is not known: no rates.
    assert_eq!(
        run.report(),
        [
            HEADS,
            "sda - - - - 2.25 6.000 2.000 4.000 6.000 4.000 2.000 - 1 2"
        ]
    );
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
        (&["stat", "sdz"], "no such disk or partition"),
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
        out.contains("note: sdb: iostats is 1, not 2: echo 2 > "),
        "{out}"
    );
    let (_, out, _) = fake.run(&["paths", "dm-0", "--json"]);
    let json: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_eq!(json["lines"][0]["share_ppm"], 1_000_000);
    assert_eq!(json["lines"][0]["d2c"], 1_000_000);
    assert_eq!(json["left_out"].as_array().unwrap().len(), 1);
}
