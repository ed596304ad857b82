// SPDX-License-Identifier: GPL-2.0
//! What traces say and do not say: flush sequences, merges, requests that change place.

use blkacct::oracle::account::Tally;
use blkacct::oracle::{Oracle, Truth};
use blkacct::progress::Progress;
use blkacct::source::{Dev, Format, Group, Stream};

/// Reads a short form, `us event rwbs sector sectors`, as a trace of `format`.
fn truth(format: Format, short: &str) -> Truth {
    let mut text = String::new();
    for line in short.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [us, event, rwbs, sector, sectors] = words[..] else {
            panic!("{line}");
        };
        let us: u64 = us.parse().unwrap();
        text += &match format {
            Format::Blkparse => {
                format!("  8,0    1        1     0.{us:06}000   697  {event}  {rwbs} {sector} + {sectors} [x]\n")
            }
            _ => {
                let event = match event {
                    "start" => "block_io_start",
                    "done" => "block_io_done",
                    "merge" => "block_rq_merge",
                    "issue" => "block_rq_issue",
                    "requeue" => "block_rq_requeue",
                    "complete" => "block_rq_complete",
                    "error" => "block_rq_error",
                    _ => panic!("{line}"),
                };
                let bytes = match event {
                    "block_rq_requeue" | "block_rq_complete" | "block_rq_error" => "",
                    _ => " 0",
                };
                format!("               x-1       [000] d..1.     0.{us:06}: {event}: 8,0 {rwbs}{bytes} () {sector} + {sectors} none,0,0 [x]\n")
            }
        };
    }
    let dev = Dev { major: 8, minor: 0 };
    let mut oracle = Oracle::whole(0);
    oracle.ends_with(format.end());
    let mut stream = Stream::new("t", text.as_bytes(), format, dev, Progress::new(false));
    let mut sink = |event| oracle.event(&event);
    stream.read(&mut sink).unwrap();
    stream.finish(&mut sink);
    oracle.finish()
}

/// Returns `io_ticks`, `time_in_queue`, `ios`, `nsecs`, `merges`, `in_flight` of writes, in us.
fn writes(truth: &Truth) -> [u64; 6] {
    let (figures, write) = (
        truth.figures(),
        truth.figures().groups[Group::Write as usize],
    );
    [
        figures.io_ticks / 1000,
        figures.time_in_queue / 1000,
        write.ios,
        write.nsecs / 1000,
        write.merges,
        figures.in_flight,
    ]
}

#[test]
fn a_write_with_a_preflush_ends_at_its_second_done() {
    // The flush command in between is done without a start.
    let short = "0 start FWS 800 8\n5 done FF 0 0\n9 done WS 800 0\n10 done WS 808 0";
    assert_eq!(writes(&truth(Format::Ftrace, short)), [10, 10, 1, 10, 0, 0]);
}

#[test]
fn the_second_done_of_older_kernels_is_at_the_first_sector() {
    let short = "0 start FWFSM 32786 2\n3 done FF 0 0\n5 done WSM 32786 0\n8 done FF 0 0\n9 done WSM 32786 0";
    assert_eq!(writes(&truth(Format::Ftrace, short)), [9, 9, 1, 9, 0, 0]);
}

#[test]
fn emulated_forced_unit_access_ends_at_its_second_done() {
    let short = "0 start WFS 800 8\n9 done WS 800 0\n30 done WS 808 0";
    assert_eq!(writes(&truth(Format::Ftrace, short)), [30, 30, 1, 30, 0, 0]);
}

#[test]
fn real_forced_unit_access_ends_at_its_only_done() {
    let short = "0 start WFS 800 8\n9 done WFS 800 0";
    assert_eq!(writes(&truth(Format::Ftrace, short)), [9, 9, 1, 9, 0, 0]);
}

#[test]
fn an_empty_flush_ends_at_its_only_done() {
    let short = "0 start FWS 0 0\n7 done WS 0 0";
    assert_eq!(writes(&truth(Format::Ftrace, short)), [7, 7, 1, 7, 0, 0]);
}

#[test]
fn neighbours_of_a_flush_sequence_keep_their_own_ends() {
    // A plain write begins where the sequence's last done will be.
    let short =
        "0 start FWS 800 8\n1 start WS 808 8\n9 done WS 800 0\n10 done WS 808 0\n20 done WS 808 0";
    let truth = truth(Format::Ftrace, short);
    assert_eq!(writes(&truth), [20, 29, 2, 29, 0, 0]);
    assert_eq!(truth.readings.len(), 1);
}

#[test]
fn an_end_that_may_be_the_middle_of_a_sequence_is_told() {
    let short =
        "0 start FWS 800 8\n1 start WS 800 8\n9 done WS 800 0\n10 done WS 800 0\n20 done WS 808 0";
    let truth = truth(Format::Ftrace, short);
    assert_eq!(truth.open, 1);
    let queue = |n: usize| truth.readings[n].figures.time_in_queue;
    // The plain write ends at 9 or at 10.
    assert_eq!((queue(0), queue(1)), (28_000, 29_000));
}

#[test]
fn a_flush_command_of_a_stacked_driver_is_io_of_its_own() {
    let truth = truth(Format::Ftrace, "0 start FF 0 0\n7 done FF 0 0");
    assert_eq!(truth.figures().io_ticks, 7000);
    assert_eq!(truth.figures().groups[Group::Flush as usize].ios, 1);
}

#[test]
fn an_absorbed_request_leaves_and_passes_its_start_on() {
    let short = "0 start W 808 8\n4 start W 800 8\n6 merge W 808 8\n10 done W 800 0";
    let truth = truth(Format::Ftrace, short);
    assert_eq!(writes(&truth), [10, 12, 1, 10, 1, 0]);
    assert_eq!(truth.readings[0].slack[Group::Write as usize], 0);
}

#[test]
fn a_merge_that_could_be_two_is_bounded() {
    // A bio joined the request at 800, unseen: which of the two ends at 816?
    let short = "0 start W 816 8\n3 start W 800 8\n5 start W 790 8\n6 merge W 816 8\n10 done W 800 0\n11 done W 790 0";
    let truth = truth(Format::Ftrace, short);
    let [.., nsecs, merges, in_flight] = writes(&truth);
    assert_eq!((merges, in_flight), (1, 0));
    // Either the start at 3 or that at 5 gives way to the one at 0.
    assert_eq!(truth.readings[0].slack[Group::Write as usize], 2000);
    assert!([10 + 6, 7 + 11].contains(&nsecs));
}

#[test]
fn a_front_merge_moves_a_request_and_sums_stay_exact() {
    // Bios of 8 sectors joined both at the front.
    let short = "0 start W 808 8\n2 start W 908 8\n10 done W 900 0\n15 done W 800 0";
    let truth = truth(Format::Ftrace, short);
    assert_eq!(writes(&truth), [15, 23, 2, 23, 0, 0]);
    assert_eq!(truth.readings[0].slack[Group::Write as usize], 0);
}

#[test]
fn groups_do_not_lend_each_other_ends() {
    let short = "0 start R 8 8\n1 start W 8 8\n5 done W 8 0\n9 done R 8 0";
    let truth = truth(Format::Ftrace, short);
    assert_eq!(truth.figures().groups[Group::Read as usize].nsecs, 9000);
    assert_eq!(truth.figures().groups[Group::Write as usize].nsecs, 4000);
}

#[test]
fn driver_commands_are_left_out() {
    let truth = truth(Format::Ftrace, "0 start N 0 0\n1 start R 8 8\n5 done R 8 0");
    assert_eq!((truth.figures().io_ticks, truth.driver_commands), (4000, 1));
}

#[test]
fn an_end_without_a_start_began_before_the_trace() {
    let truth = truth(
        Format::Ftrace,
        "2 start R 16 8\n6 done W 80 0\n9 done R 16 0",
    );
    let figures = truth.figures();
    // Clipped at the beginning of the window, which is the first event.
    assert_eq!(
        (figures.io_ticks, figures.time_in_queue, figures.unseen),
        (7000, 11000, 1)
    );
}

#[test]
fn blkparse_requests_end_with_their_last_sector() {
    let short = "0 G R 800 16\n5 C R 800 8\n9 C R 808 8";
    let truth = truth(Format::Blkparse, short);
    assert_eq!(
        (truth.figures().io_ticks, truth.figures().groups[0].ios),
        (9000, 1)
    );
}

#[test]
fn blkparse_merges_of_bios_and_of_requests() {
    // A bio joins the end of 800, a bio joins its front, then the request at 824 is absorbed.
    let short = "0 G W 808 8\n1 M W 816 8\n2 F W 800 8\n3 G W 824 8\n4 M W 824 8\n9 C W 800 32";
    assert_eq!(writes(&truth(Format::Blkparse, short)), [9, 10, 1, 9, 1, 0]);
}

#[test]
fn blkparse_flush_sequences_end_at_the_second_completion() {
    let short = "0 G FWS 800 8\n5 C WS 800 8\n6 C WS 808 0";
    assert_eq!(writes(&truth(Format::Blkparse, short)), [6, 6, 1, 6, 0, 0]);
}

/// Returns `device_ticks`, its integral, stays, `device_nsecs`, requeues and what is there at the end,
/// in us, of all groups.
fn driver(truth: &Truth) -> [u64; 6] {
    let figures = truth.readings[0].driver.expect("issues");
    let sum = |of: fn(&Tally) -> u64| figures.groups.iter().map(of).sum::<u64>();
    [
        figures.io_ticks / 1000,
        figures.time_in_queue / 1000,
        sum(|tally| tally.ios),
        sum(|tally| tally.nsecs) / 1000,
        sum(|tally| tally.requeues),
        figures.in_flight,
    ]
}

#[test]
fn a_stay_at_the_driver_is_from_issue_to_done() {
    let short = "0 start R 8 8\n1 start R 16 8\n2 issue R 8 8\n4 issue R 16 8\n10 done R 8 0\n12 done R 16 0";
    let truth = truth(Format::Ftrace, short);
    assert_eq!(driver(&truth), [10, 16, 2, 16, 0, 0]);
    assert_eq!(truth.figures().io_ticks, 12_000);
}

#[test]
fn without_an_issue_nothing_is_said_of_the_driver() {
    assert!(
        truth(Format::Ftrace, "0 start R 8 8\n5 done R 8 0").readings[0]
            .driver
            .is_none()
    );
}

#[test]
fn a_requeue_ends_a_stay_and_a_refusal_is_none() {
    let short = "0 start R 8 8\n1 requeue R 8 8\n2 issue R 8 8\n4 requeue R 8 8\n6 issue R 8 8\n10 done R 8 0";
    assert_eq!(driver(&truth(Format::Ftrace, short)), [6, 6, 2, 6, 1, 0]);
}

#[test]
fn a_requeue_after_a_part_is_behind_the_first_sector() {
    let short = "0 start R 8 8\n2 issue R 8 8\n4 requeue R 12 4\n6 issue R 12 4\n10 done R 12 0";
    let truth = truth(Format::Ftrace, short);
    assert_eq!(driver(&truth), [6, 6, 2, 6, 1, 0]);
    assert_eq!(truth.figures().groups[Group::Read as usize].nsecs, 10_000);
}

#[test]
fn a_flush_sequence_is_at_the_driver_for_its_steps() {
    // Kernels with statistics show the flush done twice: when it completes, and when it ends.
    let short =
        "0 start FWS 800 8\n1 issue FF 0 0\n5 complete FF 0 0\n5 done FF 0 0\n6 issue WS 800 8\n\
                 9 done WS 800 0\n20 done WS 808 0";
    let truth = truth(Format::Ftrace, short);
    assert_eq!(driver(&truth), [7, 7, 2, 7, 0, 0]);
    let nsecs = truth.readings[0].driver.unwrap().groups[Group::Flush as usize].nsecs;
    assert_eq!(nsecs, 4_000);
    assert_eq!(writes(&truth), [20, 20, 1, 20, 0, 0]);
}

#[test]
fn the_end_of_a_sequence_is_not_that_of_a_write_that_waits_there() {
    let short = "0 start FWS 800 8\n1 start WS 808 8\n2 issue WS 800 8\n9 done WS 800 0\n10 done WS 808 0\n\
                 12 issue WS 808 8\n20 done WS 808 0";
    let truth = truth(Format::Ftrace, short);
    assert_eq!(driver(&truth), [15, 15, 2, 15, 0, 0]);
    assert_eq!(writes(&truth), [20, 29, 2, 29, 0, 0]);
}

#[test]
fn an_issue_tells_where_a_request_begins_by_then() {
    // A bio joined at the front of the second; both are done at places that no start has.
    let short = "0 start W 908 8\n1 start W 808 8\n2 issue W 900 16\n3 issue W 800 16\n10 done W 800 0\n15 done W 900 0";
    let truth = truth(Format::Ftrace, short);
    assert_eq!(driver(&truth), [13, 20, 2, 20, 0, 0]);
    assert_eq!(writes(&truth), [15, 24, 2, 24, 0, 0]);
    assert_eq!(truth.readings[0].slack[Group::Write as usize], 0);
}

#[test]
fn what_was_issued_before_the_trace_or_started_before_it_is_there() {
    let short = "1 start R 16 8\n2 issue W 80 8\n6 done W 80 0\n7 done W 96 0\n9 done R 16 0";
    let truth = truth(Format::Ftrace, short);
    // The second write was at the driver since the beginning of the window, at 1.
    assert_eq!(driver(&truth), [6, 10, 2, 4, 0, 0]);
}

#[test]
fn blkparse_shows_the_driver_too() {
    let short = "0 G R 800 16\n1 D R 800 16\n3 R R 800 16\n4 D R 800 16\n5 C R 800 8\n9 C R 808 8";
    assert_eq!(driver(&truth(Format::Blkparse, short)), [7, 7, 2, 7, 1, 0]);
}

#[test]
fn a_request_from_before_the_trace_does_not_take_the_starts_of_others() {
    // Two are in flight all the time; of the first only the end is in the trace.
    let short = "0 start R 16 8\n0 issue R 16 8\n1 done R 96 0\n1 start R 32 8\n1 issue R 32 8\n\
                 3 done R 16 0\n3 start R 48 8\n3 issue R 48 8\n5 done R 32 0\n7 done R 48 0";
    let truth = truth(Format::Ftrace, short);
    let read = truth.figures().groups[Group::Read as usize];
    assert_eq!(
        (read.ios, read.unseen, read.nsecs),
        (4, 1, 3_000 + 4_000 + 4_000)
    );
    assert_eq!(driver(&truth), [7, 12, 4, 11, 0, 0]);
}

#[test]
fn an_error_is_no_end() {
    let short =
        "0 start R 8 8\n1 issue R 8 8\n5 error R 8 8\n6 done R 8 0\n7 start R 8 8\n9 done R 8 0";
    let truth = truth(Format::Ftrace, short);
    assert_eq!(truth.errors.map(|errors| errors.inside), Some(1));
    assert_eq!(truth.figures().io_ticks, 8_000);
    let reads = truth.figures().groups[Group::Read as usize];
    assert_eq!((reads.ios, reads.nsecs), (2, 8_000));
}

#[test]
fn without_an_error_a_trace_may_not_show_them() {
    let truth = truth(Format::Ftrace, "0 start R 8 8\n5 done R 8 0");
    assert_eq!(truth.errors, None);
}

#[test]
fn zone_appends_end_somewhere_in_their_zone() {
    // Two in the zone from 0, one in that from 1000; they end where they were written.
    let short = "0 start ZAS 0 8\n1 start ZAS 0 8\n2 start ZAS 1000 8\n\
                 3 issue ZAS 0 8\n3 issue ZAS 0 8\n3 issue ZAS 1000 8\n\
                 5 done ZAS 8 0\n6 done ZAS 1064 0\n9 done ZAS 0 0";
    let truth = truth(Format::Ftrace, short);
    let figures = truth.figures();
    let append = figures.groups[Group::ZoneAppend as usize];
    assert_eq!((append.ios, append.unseen), (3, 0));
    assert_eq!((append.nsecs, figures.in_flight), (17_000, 0));
}

#[test]
fn an_absorbed_request_begins_in_front_of_its_start_if_a_bio_joined_there() {
    let short = "0 start W 64 8\n2 start W 40 16\n3 merge W 56 16\n4 issue W 40 32\n9 done W 40 0";
    let truth = truth(Format::Ftrace, short);
    // 9 in flight since 0, and one more from 2 to 3.
    assert_eq!(writes(&truth), [9, 10, 1, 9, 1, 0]);
}

#[test]
fn a_chain_of_merges_keeps_the_earliest_start() {
    let short = "0 start W 32 8\n1 start W 24 8\n2 start W 16 8\n\
                 3 merge W 32 8\n4 merge W 24 16\n5 issue W 16 24\n9 done W 16 0";
    assert_eq!(writes(&truth(Format::Ftrace, short)), [9, 13, 1, 9, 2, 0]);
}

#[test]
fn sequences_side_by_side_end_after_their_flush() {
    // The first one's end and the second one's data are at sector 808.
    let short = "0 start WFS 800 8\n0 start WFS 808 8\n1 issue WS 800 8\n1 issue WS 808 8\n\
                 3 done WS 800 0\n4 issue FF 0 0\n5 done WS 808 0\n7 complete FF 0 0\n\
                 8 done WS 808 0\n9 issue FF 0 0\n11 complete FF 0 0\n12 done WS 816 0";
    let truth = truth(Format::Ftrace, short);
    assert_eq!(truth.readings.len(), 1);
    assert_eq!(writes(&truth), [12, 20, 2, 20, 0, 0]);
    assert_eq!(driver(&truth), [8, 11, 4, 11, 0, 0]);
}

#[test]
fn a_sequence_whose_flush_was_issued_before_its_data_were_done_waits_for_the_next() {
    let short = "0 start WFS 800 8\n0 start WFS 808 8\n1 issue WS 800 8\n1 issue WS 808 8\n\
                 2 issue FF 0 0\n3 done WS 800 0\n4 complete FF 0 0\n5 done WS 808 0\n\
                 6 issue FF 0 0\n8 complete FF 0 0\n9 done WS 808 0\n10 done WS 816 0";
    let truth = truth(Format::Ftrace, short);
    // Which kernel it is, the last done tells.
    assert_eq!(truth.readings.len(), 1);
    assert_eq!(writes(&truth), [10, 19, 2, 19, 0, 0]);
}

#[test]
fn what_the_driver_completed_tells_the_end_of_a_sequence_from_data() {
    // A write to where the data of a sequence were, by another CPU, no flush shown.
    let short = "0 start WFS 800 8\n1 issue WS 800 8\n2 complete WS 800 8\n2 done WS 800 0\n\
                 3 start WFS 808 8\n4 issue WS 808 8\n6 complete WS 808 0\n6 done WS 808 0\n\
                 8 complete WS 808 8\n8 done WS 808 0\n10 complete WS 816 0\n10 done WS 816 0";
    let truth = truth(Format::Ftrace, short);
    assert_eq!(truth.readings.len(), 1);
    assert_eq!(writes(&truth), [10, 13, 2, 13, 0, 0]);
}

#[test]
fn what_nothing_tells_apart_is_a_range_that_holds_both() {
    // Either the first write ends at 6 and the second one's data at 8, or the other way round.
    let short = "0 start WFS 800 8\n1 issue WS 800 8\n2 done WS 800 0\n\
                 3 start WFS 808 8\n4 issue WS 808 8\n6 done WS 808 0\n8 done WS 808 0\n\
                 10 done WS 816 0";
    let truth = truth(Format::Ftrace, short);
    assert_eq!(truth.readings.len(), 2);
    let queue = |n: usize| truth.readings[n].figures.time_in_queue;
    assert_eq!((queue(0), queue(1)), (13_000, 15_000));
    let ios = |n: usize| truth.readings[n].figures.groups[Group::Write as usize].ios;
    assert_eq!((ios(0), ios(1)), (2, 2));
}

#[test]
fn a_way_that_comes_to_an_end_without_a_start_was_wrong() {
    // Taken for the end of the read-ahead neighbour the first done leaves none for the last.
    let short = "0 start FWS 800 8\n1 start WS 800 8\n2 issue WS 800 8\n3 issue WS 800 8\n\
                 9 done WS 800 0\n10 done WS 808 0\n20 done WS 800 0";
    let truth = truth(Format::Ftrace, short);
    assert_eq!(truth.readings.len(), 1);
    assert_eq!(writes(&truth), [20, 29, 2, 29, 0, 0]);
}

#[test]
fn write_zeroes_of_older_kernels_end_without_sectors() {
    let short = "0 start NS 64 80\n1 issue NS 64 80\n9 done NS 64 0";
    let truth = truth(Format::Ftrace, short);
    let zeroes = truth.figures().groups[Group::WriteZeroes as usize];
    assert_eq!((zeroes.ios, zeroes.nsecs), (1, 9000));
    assert_eq!(truth.figures().io_ticks, 9000);
}

#[test]
fn requests_that_never_end_cost_no_time() {
    // All at one place, so that each end has to be told from all of them.
    let mut text = String::new();
    for n in 0..40_000 {
        text += &format!("{n} start R 8 8\n");
    }
    for n in 0..10_000 {
        text += &format!("{} start W 8 8\n{} done W 8 0\n", 40_000 + n, 40_000 + n);
    }
    let truth = truth(Format::Ftrace, &text);
    assert_eq!(truth.figures().in_flight, 40_000);
}

#[test]
fn a_sequence_from_before_the_trace_ends_once() {
    let short = "0 start R 8 8\n1 complete WS 800 8\n1 done WS 800 0\n2 start R 16 8\n\
                 5 complete WS 808 0\n5 done WS 808 0\n6 done R 8 0\n9 done R 16 0";
    let truth = truth(Format::Ftrace, short);
    // The write was in flight from 0 to 5.
    assert_eq!(writes(&truth), [9, 18, 1, 0, 0, 0]);
    assert_eq!(truth.figures().unseen, 1);
}

#[test]
fn the_last_dones_of_older_kernels_are_at_the_first_sectors_of_them_all() {
    // The first of the two could be the end of the sequence in front of it.
    let short = "0 start WFS 800 8\n0 start WFS 808 8\n1 issue WS 800 8\n1 issue WS 808 8\n\
                 3 done WS 808 0\n4 done WS 800 0\n5 issue FF 0 0\n8 complete FF 0 0\n\
                 9 done WS 808 0\n10 done WS 800 0";
    let truth = truth(Format::Ftrace, short);
    assert_eq!(truth.readings.len(), 1);
    assert_eq!(truth.figures().unseen, 0);
    assert_eq!(writes(&truth), [10, 19, 2, 19, 0, 0]);
}

#[test]
fn a_refusal_gives_back_the_request_of_its_size() {
    let short = "0 start W 800 32\n1 issue W 800 32\n2 start W 800 8\n3 requeue W 800 8\n\
                 7 done W 800 0\n8 issue W 800 8\n9 done W 800 0";
    let truth = truth(Format::Ftrace, short);
    assert_eq!(driver(&truth), [7, 7, 2, 7, 0, 0]);
}

#[test]
fn which_of_two_flushes_ended_is_a_range() {
    let short = "0 start R 8 8\n1 issue FF 0 0\n3 issue FF 0 0\n6 complete FF 0 0\n9 done R 8 0";
    let truth = truth(Format::Ftrace, short);
    assert_eq!(truth.readings[0].driver_slack[Group::Flush as usize], 2000);
}
