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

const PLAIN: &str = "Device tps kB_read/s kB_wrtn/s kB_dscd/s kB_read kB_wrtn kB_dscd \
                     %util aqu-sz r_await r_d2c w_await w_d2c %idlq errors requeues";

const EXTENDED: &str = "Device r/s rkB/s rrqm/s %rrqm r_await rareq-sz \
                        w/s wkB/s wrqm/s %wrqm w_await wareq-sz \
                        d/s dkB/s drqm/s %drqm d_await dareq-sz f/s f_await aqu-sz %util \
                        depth r_q2d r_d2c w_q2d w_d2c %drv %idlq atdrv %stall errors requeues";

/// What happened from `before` to `after`.
const ROW: &str = "500.00 2000.00 0.00 0.00 1.00 4.00 50.00 200.00 0.00 0.00 5.00 4.00 \
                   0.00 0.00 0.00 0.00 0.00 0.00 0.00 0.00 0.75 50.00 \
                   1.50 0.40 0.60 3.00 2.00 40.00 10.00 3 0.00 3 7";

/// Runs the command over `before` and `after` of sda; returns both reports.
fn two(args: &[&str]) -> [Vec<String>; 2] {
    let (fake, mut run) = started(args);
    fake.answer("sda", &before().text());
    let first = run.report();
    second(&fake);
    let reports = [first, run.report()];
    assert_eq!(run.end(), (0, String::new(), String::new()));
    reports
}

fn started(args: &[&str]) -> (Fake, fake::Run) {
    let fake = Fake::new();
    fake.device_that_waits("sda");
    fake.put("sda/dev", "8:0\n");
    fake.put("sda/diskseq", "7\n");
    fake.put("sda/blkacct/counted_ns", "40000000000\n");
    let run = fake.start(&[&["stat"], args, &["1", "2"]].concat());
    (fake, run)
}

fn second(fake: &Fake) {
    fake.put("sda/blkacct/counted_ns", "42000000000\n");
    fake.answer("sda", &after().text());
}

#[test]
fn stat_shows_the_time_since_mode_2_and_then_each_interval() {
    let first = "sda 37.50 100.00 50.00 0.00 4000 2000 0 10.00 0.23 6.00 4.00 6.00 2.00 2.50 1 2";
    let next = "sda 550.00 2000.00 200.00 0.00 4000 400 0 50.00 0.75 1.00 0.60 5.00 2.00 10.00 3 7";
    // 40 s in mode 2, of the minute.
    assert_eq!(two(&[]), [[PLAIN, first], [PLAIN, next]]);
}

#[test]
fn extended_has_all_columns_of_iostat_and_its_own_after() {
    let [_, next] = two(&["-x"]);
    assert_eq!(next, [EXTENDED.to_owned(), format!("sda {ROW}")]);
}

#[test]
fn units_and_digits_are_as_asked_for() {
    let second = |args| {
        let [_, next] = two(args);
        next.join("\n")
    };
    let begin = |text: &str, cells: usize| {
        let row = text.lines().nth(1).unwrap();
        row.split(' ').take(cells).collect::<Vec<_>>().join(" ")
    };
    let mega = second(&["-m"]);
    assert!(mega.starts_with("Device tps MB_read/s MB_wrtn/s MB_dscd/s MB_read"));
    assert_eq!(begin(&mega, 7), "sda 550.00 1.95 0.20 0.00 3 0");
    let human = second(&["-d", "--human", "--dec=1"]);
    assert_eq!(begin(&human, 6), "sda 550.0 2.0M 200.0k 0.0k 3.9M");
    let whole = second(&["-x", "-k", "--dec=0"]);
    assert_eq!(begin(&whole, 7), "sda 500 2000 0 0 1 4");
    assert!(human.contains(" 50.0% "), "{human}");
}

#[test]
fn the_first_report_and_idle_devices_can_be_left_out() {
    let fake = Fake::new();
    // One waits for the other, so that no two reads of one are mixed up.
    for disk in ["sda", "sdb"] {
        fake.device_that_waits(disk);
    }
    let mut run = fake.start(&["stat", "-y", "-z", "-t", "1", "2"]);
    for text in [before().text(), after().text()] {
        fake.answer("sda", &text);
        fake.answer("sdb", &before().text());
    }
    let report = run.report();
    assert!(
        report[0].starts_with("20") && report[0].contains('T'),
        "{report:?}"
    );
    assert_eq!(report.len(), 3, "sdb did nothing: {report:?}");
    // The count is of what is shown: one more is due.
    fake.answer("sda", &after().text());
    fake.answer("sdb", &before().text());
    assert_eq!(run.report().len(), 2);
    assert_eq!(run.end().0, 0);
}

#[test]
fn a_group_is_the_sum_and_its_util_the_mean() {
    let fake = Fake::new();
    for disk in ["sda", "sdb"] {
        fake.device(disk, &before().text());
        fake.put(&format!("{disk}/blkacct/counted_ns"), "40000000000\n");
    }
    let (_, out, _) = fake.run(&["stat", "-g", "both", "sda", "sdb"]);
    let rows: Vec<String> = out.lines().map(squeeze).collect();
    let group = " 75.00 200.00 100.00 0.00 8000 4000 0 10.00 0.45 6.00 4.00 6.00 2.00 2.50 2 4";
    assert_eq!(rows[3], format!("both{group}").trim());
    let (_, out, _) = fake.run(&["stat", "-g", "both", "-H"]);
    assert_eq!(names(&out), ["both"]);
}

#[test]
fn devices_are_shown_by_the_names_that_are_asked_for() {
    let fake = Fake::new();
    for disk in ["dm-0", "sda"] {
        fake.device(disk, &before().text());
    }
    fake.put("dm-0/dm/name", "vg-root\n");
    let by_id = fake.path().join("dev/disk/by-id");
    fs::create_dir_all(&by_id).unwrap();
    std::os::unix::fs::symlink("../../sda", by_id.join("wwn-0x5")).unwrap();
    let shown = |args: &[&str]| {
        let (code, out, errors) = fake.run(&[&["stat"], args].concat());
        assert_eq!((code, errors.as_str()), (0, ""));
        names(&out).join(" ")
    };
    assert_eq!(shown(&["-N"]), "vg-root sda");
    assert_eq!(shown(&["-j", "ID"]), "dm-0 wwn-0x5");
    let (code, _, errors) = fake.run(&["stat", "-j", "UUID"]);
    assert_eq!(code, 1);
    assert!(errors.contains("dev/disk/by-uuid"), "{errors}");
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
    assert_eq!(row, "dm-0 - - - - 4000 2000 0 - - 6.00 - 6.00 - - - -");
}

#[test]
fn stat_in_json_is_a_line_a_report_with_integers_of_ns() {
    let (fake, mut run) = started(&["--json"]);
    fake.answer("sda", &before().text());
    let first: serde_json::Value = serde_json::from_str(&run.line()).unwrap();
    assert_eq!(
        (&first["schema"], &first["version"]),
        (&"blkacct-stat".into(), &1.into())
    );
    assert_eq!(first["devices"][0]["since_mode_2"], true);
    second(&fake);
    let line = run.line();
    let second: serde_json::Value = serde_json::from_str(&line).unwrap();
    assert!(line.ends_with("}\n"));
    assert!(second["time"].as_str().unwrap().ends_with('Z'));
    assert!(second["time_ns"].as_u64() > first["time_ns"].as_u64());
    let sda = &second["devices"][0];
    assert_eq!(
        (&sda["device"], &sda["identity"]["dev"]),
        (&"sda".into(), &"8:0".into())
    );
    assert_eq!(sda["identity"]["diskseq"], 7);
    assert_eq!(sda["interval_ns"], 2_000_000_000u64);
    assert_eq!(sda["read"]["nsecs"], 1_000_000_000);
    assert_eq!(sda["write"]["device_nsecs"], 200_000_000);
    assert_eq!(sda["idle_while_queued"], 200_000_000);
    assert_eq!(sda["device_in_flight"], 3);
    assert_eq!(sda["figures"]["%util"], 50.0);
    assert_eq!(sda["figures"]["r_q2d"], 0.4);
    assert_eq!(sda["stall"]["certain_ns"], 0);
    assert_eq!(run.end().0, 0);
}

#[test]
fn a_gap_is_told_in_json_and_has_no_figures() {
    let (fake, mut run) = started(&["--json"]);
    fake.answer("sda", &before().text());
    run.line();
    // It was out of mode 2 meanwhile.
    fake.answer("sda", &after().text());
    let line: serde_json::Value = serde_json::from_str(&run.line()).unwrap();
    assert_eq!(line["devices"][0]["gap"], "was out of mode 2 for a time");
    assert_eq!(line["devices"][0]["figures"], serde_json::Value::Null);
    run.end();
}

#[test]
fn csv_has_a_head_and_a_line_for_each_device() {
    let (fake, mut run) = started(&["--csv"]);
    let head = run.line();
    fake.answer("sda", &before().text());
    run.line();
    second(&fake);
    let line = run.line();
    let (heads, cells): (Vec<&str>, Vec<&str>) = (
        head.trim().split(',').collect(),
        line.trim().split(',').collect(),
    );
    assert_eq!(heads.len(), cells.len());
    let cell = |name| cells[heads.iter().position(|head| *head == name).unwrap()];
    assert_eq!(
        (cell("device"), cell("dev"), cell("diskseq")),
        ("sda", "8:0", "7")
    );
    assert_eq!(
        (cell("interval_s"), cell("aqu-sz")),
        ("2.000000000", "0.75")
    );
    assert_eq!(
        (cell("r_d2c"), cell("errors"), cell("id")),
        ("0.6", "3", "")
    );
    assert_eq!(run.end().0, 0);
}

#[test]
fn json_in_the_shape_of_sysstat_is_closed_by_a_signal() {
    let fake = Fake::new();
    fake.device("sda", &before().text());
    fake.put("sda/blkacct/counted_ns", "40000000000\n");
    let mut run = fake.start(&["stat", "-x", "-o", "JSON", "1000"]);
    // The head, and a report.
    let mut text: String = (0..3).map(|_| run.line()).collect();
    run.signal();
    let (code, rest, errors) = run.end();
    assert_eq!((code, errors.as_str()), (0, ""));
    text += &rest;
    let json: serde_json::Value = serde_json::from_str(&text).unwrap();
    let host = &json["sysstat"]["hosts"][0];
    assert!(host["number-of-cpus"].as_u64() > Some(0));
    let statistics = host["statistics"].as_array().unwrap();
    assert_eq!(statistics.len(), 1);
    let disk = statistics[0]["disk"][0].as_object().unwrap();
    let names: Vec<&str> = "disk_device r/s w/s d/s f/s rkB/s wkB/s dkB/s rrqm/s wrqm/s drqm/s \
                            rrqm wrqm drqm r_await w_await d_await f_await rareq-sz wareq-sz \
                            dareq-sz aqu-sz util"
        .split_whitespace()
        .collect();
    assert_eq!(disk.len(), names.len());
    for name in names {
        assert!(disk.contains_key(name), "{name}");
    }
    assert_eq!((&disk["r/s"], &disk["util"]), (&25.0.into(), &10.0.into()));
}

#[test]
fn what_is_printed_is_read_by_other_tools() {
    let fake = Fake::new();
    fake.device("sda", &before().text());
    fake.device("sdb", &before().text());
    fake.put("sda/blkacct/counted_ns", "40000000000\n");
    fake.put("sda/device/model", "a, \"b\"\n");
    let python = |args: &[&str], program: &str| {
        let (code, out, _) = fake.run(args);
        assert_eq!(code, 0);
        let python = assert_cmd::Command::new("python3")
            .args(["-c", program])
            .write_stdin(out)
            .assert();
        python.success();
    };
    python(
        &["stat", "--csv"],
        "import csv, sys; rows = list(csv.DictReader(sys.stdin)); assert len(rows) == 2 and \
         all(None not in row.values() for row in rows) and float(rows[0]['%util']) == 10",
    );
    python(
        &["stat", "--json"],
        "import json, sys; [line] = map(json.loads, sys.stdin); \
         assert line['devices'][0]['identity']['model'] == 'a, \"b\"'",
    );
    python(
        &["stat", "-x", "-o", "json"],
        "import json, sys; json.load(sys.stdin)['sysstat']['hosts'][0]['statistics'][0]['disk'][1]",
    );
    python(
        &["list", "--json"],
        "import json, sys; json.load(sys.stdin)['disks'][1]",
    );
}

#[test]
fn stock_is_beside_ours_only_where_it_is_the_kernels_own() {
    for (classic, stock) in [("0", "30.00 0.70"), ("1", "- 0.70")] {
        let (fake, mut run) = started(&["-x", "--stock"]);
        fake.put("sda/blkacct/classic", &format!("{classic}\n"));
        let line =
            |ticks, queue| format!("8 0 sda 0 0 0 0 0 0 0 0 0 {ticks} {queue} 0 0 0 0 0 0\n");
        fake.proc("diskstats", &line(0, 0));
        fake.answer("sda", &before().text());
        run.report();
        // Its list is read before `stat`, so this is there for the second.
        fake.proc("diskstats", &line(300, 700));
        second(&fake);
        let row = run.report().remove(1);
        let cells: Vec<&str> = row.split(' ').rev().take(2).collect();
        let shown = [cells[1], cells[0]].map(|cell| cell.parse::<f64>().ok());
        // The kernel's figures are over the time between the two reads, a second and some.
        let want: Vec<Option<f64>> = stock.split(' ').map(|cell| cell.parse().ok()).collect();
        for (shown, want) in shown.into_iter().zip(want) {
            assert_eq!(shown.is_some(), want.is_some(), "{row}");
            assert!(
                shown.unwrap_or_default() <= want.unwrap_or_default() + 0.01,
                "{row}"
            );
        }
        run.end();
    }
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
    assert_eq!(names(&["stat", "-p"]), "sda sda1 sdb sdb1");
    assert_eq!(names(&["stat", "ALL"]), "sda sda1 sdb sdb1");
    assert_eq!(names(&["stat", "-p", "sdb"]), "sdb sdb1");
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
        (&["stat"][..], "no device is in mode 2: blkacct on DISK"),
        (&["stat", "sda"], "sda: iostats is 1, not 2: blkacct on sda"),
        (&["stat", "sdz"], "sdz: no such disk or partition"),
        (&["stat", "sda", "8:7"], "8:7: no such disk or partition"),
        (
            &["latency", "sda"],
            "sda: iostats is 1, not 2: blkacct on sda",
        ),
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
        ("sda 550.00".into(), "sdd -".into(), "sde -".into())
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
