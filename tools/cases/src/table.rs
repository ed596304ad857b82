// SPDX-License-Identifier: GPL-2.0
//! Cases as the Rust table from which the module's own tests replay them.

use std::fmt::Write;

use super::{Case, Event, Expect, Io, Key, Op, What};

/// Returns the table of these cases, each with its name.
///
/// # Errors
///
/// A device that the table has no number for: it knows one disk, `d0`, and two partitions.
pub fn table(cases: &[(String, Case)]) -> Result<String, String> {
    let mut text = String::from(
        "// SPDX-License-Identifier: GPL-2.0\n\n\
         //! Made of `tools/testing/cases`; a test of `tools/cases` tells when it must be made anew.\n\n\
         use super::{\n    Key::*,\n    Step::{\n        self,\n        *, //\n    }, //\n};\n\
         use crate::acct::sgrp::StatGroup;\n\n\
         /// Name and lines of each case.\n\
         #[rustfmt::skip]\n\
         pub(crate) static CASES: &[(&str, &[Step])] = &[\n",
    );
    for (name, case) in cases {
        let _ = writeln!(text, "    (\"{name}\", &[");
        let mut last = 0;
        for step in &case.steps {
            let line = match &step.what {
                What::Event { at_us, event } => {
                    last = *at_us;
                    of_event(last, event)
                }
                What::Expect(expect) => of_expect(expect, last).map(Some),
            };
            let line = line.map_err(|device| format!("{name}: {}: {device}", step.line))?;
            if let Some(line) = line {
                let _ = writeln!(text, "        {line},");
            }
        }
        text += "    ]),\n";
    }
    text += "];\n";
    Ok(text)
}

/// Returns the step of an event; none for one that changes nothing in the kernel either.
fn of_event(at: u64, event: &Event) -> Result<Option<String>, String> {
    Ok(Some(match event {
        Event::Start(Io {
            request,
            device,
            op,
            ..
        }) => {
            let group = match op {
                Op::Read => "Read",
                Op::Write => "Write",
                Op::Discard => "Discard",
                Op::Flush => "Flush",
            };
            format!(
                "Start({at}, {request}, {}, StatGroup::{group})",
                number(device)?
            )
        }
        Event::End(io) => format!("End({at}, {})", io.request),
        Event::Merge { io, into } => format!("Merge({at}, {}, {into})", io.request),
        Event::Requeue(io) => format!("Requeue({})", io.request),
        Event::FlushIssue(_) => "FlushIssue".to_owned(),
        Event::FlushDone(_) => "FlushDone".to_owned(),
        Event::Switch { on, .. } => format!("Switch({on})"),
        Event::Read => format!("Read({at})"),
        Event::Remove { .. } => "Remove".to_owned(),
        Event::Partial(_) => return Ok(None),
    }))
}

fn of_expect(expect: &Expect, last: u64) -> Result<String, String> {
    let wanted = expect.want.iter().filter_map(|&(key, value)| {
        let name = match key {
            Key::Busy => "Busy",
            Key::Queue => "Queue",
            Key::Lat => "Lat",
            Key::Ios => "Ios",
            Key::Inflight => "Inflight",
            Key::Merges => "Merges",
            // The kernel counts its internal flushes itself.
            Key::Flushes | Key::FlushUs => return None,
        };
        Some(format!("({name}, {value})"))
    });
    let wanted: Vec<String> = wanted.collect();
    Ok(format!(
        "Expect({}, {}, &[{}])",
        expect.at_us.unwrap_or(last),
        number(&expect.device)?,
        wanted.join(", ")
    ))
}

/// Returns the number of a device in the table.
fn number(device: &str) -> Result<usize, String> {
    let known = ["d0", "d0p1", "d0p2"];
    known
        .iter()
        .position(|&name| name == device)
        .ok_or_else(|| format!("the table knows no device {device}"))
}
