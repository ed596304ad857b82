// SPDX-License-Identifier: GPL-2.0
//! What each tracer shows of a history.

pub mod blkparse;
pub mod ftrace;
pub mod perf;

use crate::event::{Op, Record, What};
use crate::plan::Shown;
use crate::world::{World, NAMES};

/// A text format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// `trace` of tracefs.
    Ftrace,
    /// `trace-cmd report`.
    TraceCmd,
    /// `perf script --ns`.
    Perf,
    /// `blkparse`.
    Blkparse,
}

impl Format {
    /// All of them.
    pub const ALL: [Format; 4] = [
        Format::Ftrace,
        Format::TraceCmd,
        Format::Perf,
        Format::Blkparse,
    ];

    /// What the checker calls it.
    pub fn argument(self) -> &'static str {
        match self {
            Format::Ftrace | Format::TraceCmd => "ftrace",
            Format::Perf => "perf-script",
            Format::Blkparse => "blkparse",
        }
    }
}

/// Prints the history from this event on.
pub fn print(world: &World, format: Format, first: usize) -> String {
    match format {
        Format::Ftrace => ftrace::trace(world, first),
        Format::TraceCmd => ftrace::trace_cmd(world, first),
        Format::Perf => perf::script(world, first),
        Format::Blkparse => blkparse::text(world, first),
    }
}

/// Returns major and minor number of a disk; partitions have its queue, and so its number.
pub fn dev(disk: usize) -> (usize, usize) {
    (8, 16 * disk)
}

/// Returns the name and the number of the task.
pub(crate) fn who(world: &World, record: &Record, idle: &str) -> (String, usize) {
    match record.task {
        Some(task) => {
            let name = NAMES[world.machine.tasks[task] % NAMES.len()];
            (name.to_owned(), 100 + task)
        }
        None => (idle.to_owned(), 0),
    }
}

/// Returns the tracepoint's name and text; none if the trace was not told to record it.
pub(crate) fn tracepoint(world: &World, record: &Record) -> Option<(&'static str, String)> {
    let Shown {
        bios,
        driver,
        complete,
    } = world.machine.shown;
    let (major, minor) = dev(record.disk);
    let letters = record.opf.letters(world.machine.old);
    let (sector, sectors) = (record.sector, record.sectors);
    let (comm, _) = who(world, record, &format!("swapper/{}", record.cpu));
    let bytes = match record.opf.op {
        Op::Driver => 36,
        _ => sectors * 512,
    };
    let error = if record.failed { -5 } else { 0 };
    let bare = matches!(record.opf.op, Op::Driver | Op::Flush) && world.machine.highest;
    let done_at = if bare { u64::MAX } else { sector };
    let bio = format!("{major},{minor} {letters} {sector} + {sectors} [{comm}]");
    let request =
        format!("{major},{minor} {letters} {bytes} () {sector} + {sectors} none,0,0 [{comm}]");
    let back =
        |sector| format!("{major},{minor} {letters} () {sector} + {sectors} none,0,0 [{error}]");
    let (shown, name, text) = match record.what {
        What::Queue => (bios, "block_bio_queue", bio),
        What::BackMerge => (bios, "block_bio_backmerge", bio),
        What::FrontMerge => (bios, "block_bio_frontmerge", bio),
        What::Split(at) => {
            let text = format!("{major},{minor} {letters} {sector} / {at} [{comm}]");
            (bios, "block_split", text)
        }
        What::GetRq => (bios, "block_getrq", bio),
        What::Start => (true, "block_io_start", request),
        What::Insert => (bios, "block_rq_insert", request),
        What::Issue => (driver, "block_rq_issue", request),
        What::Requeue => (driver, "block_rq_requeue", back(sector)),
        What::Complete { .. } => (complete, "block_rq_complete", back(done_at)),
        What::Error => (complete, "block_rq_error", back(sector)),
        What::Done { .. } => (true, "block_io_done", request),
        What::Merge(_) => (true, "block_rq_merge", request),
    };
    shown.then_some((name, text))
}
