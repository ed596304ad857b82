// SPDX-License-Identifier: GPL-2.0
//! `blkacct check`: from what is asked to what is printed.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::Path;

use anyhow::{bail, Context};
use cases::Fault;

use crate::cli::{CheckArgs, FileFormat};
use crate::copies;
use crate::device;
use crate::exit::{self, Exit};
use crate::invariants::{self, Violation};
use crate::judge::{self, carry, Reported};
use crate::live;
use crate::oracle::replay::{Outcome, Replay};
use crate::oracle::{Oracle, Truth};
use crate::progress::Progress;
use crate::report::Report;
use crate::source::{sniff, Evidence, Format, Printed, Stream};
use crate::terminal;
use crate::watch;

/// Runs the check.
///
/// # Errors
///
/// Whatever keeps it from a verdict.
pub fn run(args: &CheckArgs) -> anyhow::Result<Exit> {
    if let Some(disk) = &args.live {
        return live(disk, args);
    }
    if let Some(device) = &args.watch {
        return watch::run(device, args);
    }
    match args.format {
        FileFormat::Case => cases(args),
        FileFormat::Ftrace => trace(args, Format::Ftrace),
        FileFormat::PerfScript => trace(args, Format::PerfScript),
        FileFormat::Blkparse => trace(args, Format::Blkparse),
    }
}

/// Checks windows on a disk, one after the other; the worst of them decides.
fn live(disk: &str, args: &CheckArgs) -> anyhow::Result<Exit> {
    let mut session = live::Session::open(disk, args)?;
    let mut worst = Ok(Exit::Ok);
    for _ in 0..args.windows {
        let (truth, evidence, reported) = session.window(args)?;
        match conclude(args, disk, &truth, &evidence, &reported) {
            Ok(Exit::Ok) => {}
            other => worst = other,
        }
    }
    worst
}

/// Plays cases and prints each expectation with what was found.
fn cases(args: &CheckArgs) -> anyhow::Result<Exit> {
    let for_traces = args.disk.is_some() || !args.stat.is_empty() || args.losses_shown;
    if for_traces || args.models || args.json {
        bail!(
            "--disk, --stat, --losses-shown, --models and --json are for traces; say which format \
             with --format"
        );
    }
    let mut out = terminal::out();
    let mut holds = true;
    for path in &args.files {
        let name = path.display().to_string();
        let outcomes = replay(&name, open(path)?).with_context(|| name.clone())?;
        if outcomes.is_empty() {
            bail!("{name}: expects nothing; add an `expect` line");
        }
        for outcome in outcomes {
            holds &= outcome.holds();
            exit::unless_closed(expectation(&mut out, &name, &outcome))?;
        }
    }
    Ok(if holds { Exit::Ok } else { Exit::CheckFailed })
}

/// Plays a case.
fn replay(name: &str, source: impl Read) -> anyhow::Result<Vec<Outcome>> {
    let mut replay = Replay::default();
    let mut source = BufReader::new(source);
    if let Some(what) = sniff::known(source.fill_buf()?) {
        bail!("this is {}", sniff::advice(what, name));
    }
    for step in cases::read(source) {
        match step {
            Ok(step) => replay.step(&step)?,
            Err(error) if matches!(error.fault, Fault::Unreadable(_)) => return Err(error.into()),
            Err(error) => {
                return Err(error).context("not a case; is it a trace? then give --format")
            }
        }
    }
    Ok(replay.finish())
}

fn expectation(out: &mut impl Write, name: &str, outcome: &Outcome) -> io::Result<()> {
    let when = outcome.at_us.map(|at| format!("@{at}")).unwrap_or_default();
    let (name, line) = (terminal::line(name), outcome.line);
    write!(out, "{name}:{line}: expect{when} {}", outcome.device)?;
    for &(key, want, found) in &outcome.found {
        let key = key.name();
        if want == found {
            write!(out, " {key}={found} ok")?;
        } else {
            write!(out, " {key}={found} FAIL (expected {want})")?;
        }
    }
    writeln!(out)
}

/// Reads a trace and prints the truth, beside what was reported if that is given.
fn trace(args: &CheckArgs, format: Format) -> anyhow::Result<Exit> {
    let [path] = args.files.as_slice() else {
        bail!("one trace at a time: a window has one trace");
    };
    if args.losses_shown && format != Format::PerfScript {
        bail!("--losses-shown is for --format perf-script; the other formats tell of losses");
    }
    let Some(disk) = &args.disk else {
        bail!("which disk? a trace has events of many; give --disk");
    };
    let dev = device::in_a_trace(&args.root, disk)?;
    let stat = match args.stat.as_slice() {
        [] => None,
        [before, after] => Some(copies::read(before, after)?),
        _ => bail!("--stat is given twice: the beginning and the end of the window"),
    };
    let mut oracle = match &stat {
        None => Oracle::whole(args.skew_ns),
        Some(_) if format == Format::Blkparse => {
            bail!("the times of blkparse count from its start; use --format ftrace or perf-script with --stat")
        }
        Some((before, after)) => {
            let mut oracle = Oracle::window(before.time_ns, args.skew_ns);
            oracle.close(after.time_ns, (before.in_flight, after.in_flight));
            if let Some((before, after)) = before.device.zip(after.device) {
                oracle.counted_at_driver((before.in_flight, after.in_flight));
            }
            oracle
        }
    };
    oracle.ends_with(format.end());
    if args.models {
        oracle.model(args.hz);
    }
    let name = path.display().to_string();
    let progress = Progress::new(args.progress);
    let mut stream = Stream::new(&name, open(path)?, format, dev, progress);
    let mut sink = |event| oracle.event(&event);
    stream.read(&mut sink)?;
    let mut evidence = stream.finish(&mut sink);
    let losses_shown = format != Format::PerfScript || args.losses_shown;
    evidence.file = Some(Printed {
        format,
        losses_shown,
    });
    let window = stat.map(|(before, after)| (before.time_ns, after.time_ns));
    let reasons = carry::unfit(format, &evidence, disk, window, args.skew_ns);
    if !reasons.is_empty() {
        return unfit(args, disk, &oracle.finish(), &evidence, reasons);
    }
    let violations = stat.map_or_else(Vec::new, |(a, b)| invariants::check(&a, &b));
    let reported = Reported {
        stat,
        // Who took the copies knows how long it took; each is as good as an event.
        read_ns: args.skew_ns.saturating_mul(2),
        violations: violations.iter().map(Violation::to_string).collect(),
        ..Reported::default()
    };
    conclude(args, disk, &oracle.finish(), &evidence, &reported)
}

/// Prints why there are no figures.
fn unfit(
    args: &CheckArgs,
    disk: &str,
    truth: &Truth,
    evidence: &Evidence,
    reasons: Vec<String>,
) -> anyhow::Result<Exit> {
    let report = Report {
        disk: disk.to_owned(),
        from_ns: truth.from,
        to_ns: truth.to,
        skew_ns: args.skew_ns,
        events: evidence.events,
        pass: false,
        doubts: [reasons, judge::of_trace(evidence)].concat(),
        violations: Vec::new(),
        notes: Vec::new(),
        fields: Vec::new(),
        models: Vec::new(),
    };
    print(args, &report)
}

/// Prints the report. Unfit evidence is an error, after all that can be said has been said.
fn conclude(
    args: &CheckArgs,
    disk: &str,
    truth: &Truth,
    evidence: &Evidence,
    reported: &Reported,
) -> anyhow::Result<Exit> {
    let mut report = Report {
        disk: disk.to_owned(),
        from_ns: truth.from,
        to_ns: truth.to,
        skew_ns: args.skew_ns,
        events: evidence.events,
        pass: false,
        doubts: judge::doubts(truth, evidence, reported),
        violations: reported.violations.clone(),
        notes: judge::notes(truth, reported),
        fields: judge::fields(truth, reported, args.skew_ns),
        models: truth.models.clone(),
    };
    let differs = report.fields.iter().any(|field| field.ok == Some(false));
    if let Some(unseen) = carry::unseen(truth, evidence, reported) {
        match differs {
            true => report.doubts.push(unseen),
            false => report.notes.push(unseen),
        }
    }
    report.pass = report.doubts.is_empty() && !report.is_wrong();
    print(args, &report)
}

/// Prints a report; its verdict is the status.
fn print(args: &CheckArgs, report: &Report) -> anyhow::Result<Exit> {
    let mut out = terminal::out();
    exit::unless_closed(match args.json {
        true => report.json(&mut out),
        false => report.table(&mut out),
    })?;
    if !report.doubts.is_empty() {
        bail!("no verdict: {}", report.doubts.join("; "));
    }
    Ok(if report.is_wrong() {
        Exit::CheckFailed
    } else {
        Exit::Ok
    })
}

/// Opens a file, or standard input for `-`.
fn open(path: &Path) -> anyhow::Result<Box<dyn Read>> {
    if path == Path::new("-") {
        return Ok(Box::new(io::stdin().lock()));
    }
    let file = File::open(path).with_context(|| path.display().to_string())?;
    Ok(Box::new(file))
}
