// SPDX-License-Identifier: GPL-2.0
//! What a person would say of a disk, and of all.

use super::knee::knee;
use super::quantity::{short, spaced, Quantity, Unit};
use super::run::{Disk, Run};
use super::sums::Sums;
use crate::show::table::duration;

/// Depth and throughput of each window, both in thousandths.
pub fn dots(disk: &Disk) -> Vec<(u64, u64)> {
    let dot = |sums: Sums| {
        let depth = Quantity::AtDriver.of(&sums);
        let depth = depth.or_else(|| Quantity::Depth.of(&sums))?;
        let rate = Quantity::Reads.of(&sums)?;
        let rate = rate.saturating_add(Quantity::Writes.of(&sums)?);
        (rate > 0).then_some((depth, rate))
    };
    disk.windows
        .iter()
        .filter_map(Sums::of)
        .filter_map(dot)
        .collect()
}

/// Returns a sentence or two about a disk; the worst comes first.
pub fn of_disk(name: &str, disk: &Disk) -> Vec<String> {
    let Some(sums) = disk.whole() else {
        return vec![format!("Of {name} nothing is known.")];
    };
    let mut said = Vec::new();
    if sums.busy_ns == 0 {
        said.push(format!("{name} had nothing to do."));
    }
    if sums.stalled_ns > 0 {
        let time = spaced(&duration(sums.stalled_ns));
        said.push(format!(
            "{name} stalled: for {time} I/O waited and nothing completed."
        ));
    }
    if let Some(errors) = sums.errors.filter(|&n| n > 0) {
        let what = if errors == 1 { "request" } else { "requests" };
        said.push(format!("{errors} {what} failed on {name}."));
    }
    if let (true, Some(await_ns)) = (sums.busy_ns > 0, sums.all.latency()) {
        let busy = Quantity::Util
            .of(&sums)
            .map_or_else(String::new, |v| Unit::Share.text(v));
        let ios = sums.read.ios.saturating_add(sums.write.ios);
        let rate = u128::from(ios) * 1_000_000_000_000 / u128::from(sums.interval_ns.max(1));
        let time = |ns| spaced(&duration(ns));
        let mut text = format!(
            "{name} was busy {busy} of the time and completed {} reads and writes a second, in {} \
             on average",
            short(rate),
            time(await_ns)
        );
        match (sums.all.q2d(), sums.all.d2c()) {
            (Some(queue), Some(driver)) if queue > driver => {
                text += &format!(
                    ", most of it in the queue ({}), not at the disk",
                    time(queue)
                );
            }
            (Some(_), Some(driver)) => {
                text += &format!(", most of it at the disk ({})", time(driver));
            }
            _ => (),
        }
        said.push(text + ".");
    }
    let idle = Quantity::Idle.of(&sums).filter(|&share| share > 100);
    if let Some(idle) = idle {
        let suspects = match &disk.suspects[..] {
            [] => "Nothing that is set on its queue explains it".to_owned(),
            names => format!("It may be {}", names.join(", ")),
        };
        said.push(format!(
            "For {} of the time requests waited and the driver had none. {suspects}.",
            Unit::Share.text(idle)
        ));
    }
    if let Ok(knee) = knee(&dots(disk)) {
        said.push(format!(
            "More than {} at once brought no more: {} is its limit.",
            short(knee.depth.into()),
            Unit::Rate.text(knee.rate)
        ));
    }
    if let (Some(ours), Some(stock)) = (Quantity::Util.of(&sums), Quantity::Stock.of(&sums)) {
        if ours.abs_diff(stock) > 500 {
            said.push(format!(
                "The kernel's own counter says {} busy, which is wrong.",
                Unit::Share.text(stock)
            ));
        }
    }
    said
}

/// Returns what matters most of all disks.
pub fn of_run(run: &Run) -> String {
    let badness = |disk: &Disk| {
        disk.whole().map_or((0, 0, 0), |sums| {
            (sums.stalled_ns, sums.errors.unwrap_or(0), sums.busy_ns)
        })
    };
    let worst = run.disks.iter().max_by_key(|(_, disk)| badness(disk));
    let Some((name, disk)) = worst else {
        return "Nothing is known: no disk was in mode 2 in two samples that follow each other."
            .to_owned();
    };
    let mut said = of_disk(name, disk);
    said.truncate(2);
    let others = run.disks.len() - 1;
    if others > 0 {
        let rest = run.disks.iter().filter(|(other, _)| *other != name);
        let is_bad = |disk: &Disk| badness(disk).0 > 0 || badness(disk).1 > 0;
        let bad: Vec<&str> = rest
            .filter(|(_, disk)| is_bad(disk))
            .map(|(name, _)| name.as_str())
            .collect();
        said.push(match &bad[..] {
            [] => "No other disk stalled or failed.".to_owned(),
            names if names.len() > 5 => {
                format!("{} other disks stalled or failed, too.", names.len())
            }
            names => format!("{} stalled or failed, too.", names.join(", ")),
        });
    }
    said.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page::testing::history;

    #[test]
    fn the_worst_is_said_first() {
        let mut run = history(3, 120, &[]);
        assert!(of_run(&run).ends_with("No other disk stalled or failed."));
        assert!(
            of_run(&run).contains("most of it at the disk"),
            "{}",
            of_run(&run)
        );
        let step = &mut run.disks.get_mut("sdb").unwrap().series.steps[5];
        step.sums.stalled_ns = 3_200_000_000;
        assert!(
            of_run(&run).starts_with("sdb stalled: for 3.2 s I/O waited and nothing completed.")
        );
    }

    #[test]
    fn idle_while_queued_names_the_suspects_and_the_stock_counter_is_judged() {
        let run = history(1, 120, &[]);
        let said = of_disk("sda", &run.disks["sda"]).join(" ");
        assert!(said.contains("requests waited and the driver had none. It may be scheduler bfq."));
        assert!(said.contains("The kernel's own counter says"), "{said}");
        assert!(said.contains("at once brought no more"), "{said}");
    }

    #[test]
    fn of_nothing_nothing_is_said() {
        assert!(of_run(&Run::default()).starts_with("Nothing is known"));
    }
}
