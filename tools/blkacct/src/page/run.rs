// SPDX-License-Identifier: GPL-2.0
//! All that a page says of one run: the samples of a source, taken in one after the other.

use std::collections::BTreeMap;
use std::sync::Arc;

use acct::hist::Counts;
use acct::sgrp::StatGroup;
use acct::wire::{Anomalies, Stat};

use super::clock::Clock;
use super::series::{Series, Step};
use super::sums::Sums;
use crate::figures::{blame, histogram, Gap, Window};
use crate::sample::{DeviceSample, Identity, Latencies, Sample};

/// Gaps of one disk that are told; more are counted.
const MOST_GAPS: usize = 20;
/// Windows of one disk that are kept.
const MOST_WINDOWS: usize = 600;

/// What was seen of some disks for some time.
#[derive(Default)]
pub struct Run {
    /// Where it is from.
    pub title: String,
    /// The name of the machine.
    pub host: Option<String>,
    /// The release of its kernel.
    pub kernel: Option<String>,
    /// When it began, in ns since 1970 UTC.
    pub wall_ns: u64,
    /// How long it is, in ns.
    pub span_ns: u64,
    /// Samples that were taken.
    pub samples: u64,
    /// The disks of which something is known, by name.
    pub disks: BTreeMap<String, Disk>,
    /// Those of which nothing is, and why.
    pub left_out: BTreeMap<String, String>,
    clock: Clock,
    last: Option<(u64, Sample)>,
}

/// A time without a gap.
#[derive(Clone, Copy, Debug)]
pub struct Ends {
    /// When it begins and ends on the page's clock.
    pub times: (u64, u64),
    /// All that happened in it.
    pub window: Window,
    first: Stat,
}

/// What was seen of a disk.
pub struct Disk {
    /// Who it is, as it was at the end.
    pub identity: Arc<Identity>,
    /// What happened over time.
    pub series: Series,
    /// The counters at both ends of what is known without a gap, and when that is.
    pub ends: Option<Ends>,
    /// Some windows, spread evenly over the time: all, if they are not too many.
    pub windows: Vec<Window>,
    /// One of so many is kept, as a power of two; and how many there were.
    every: u32,
    seen: u64,
    /// Histograms of the whole time, by [`StatGroup::index`]: total and device.
    pub latencies: [Option<(Counts, Option<Counts>)>; StatGroup::COUNT],
    /// Times of which nothing is known: when they end, and why.
    pub gaps: Vec<(u64, Gap)>,
    /// How many there are.
    pub gap_count: u64,
    /// By how much the anomalies grew; none if the module does not tell.
    pub anomalies: Option<Anomalies>,
    /// The longest that a read of its counters took, in ns.
    pub took_ns: u64,
    /// What could hold requests back, at the end.
    pub suspects: Vec<String>,
    /// Whether the kernel's own busy time is its own.
    pub classic: Option<bool>,
    is_open: bool,
}

impl Disk {
    fn new(identity: Arc<Identity>) -> Self {
        Disk {
            identity,
            series: Series::default(),
            ends: None,
            windows: Vec::new(),
            every: 0,
            seen: 0,
            latencies: [const { None }; StatGroup::COUNT],
            gaps: Vec::new(),
            gap_count: 0,
            anomalies: Some(Anomalies::default()),
            took_ns: 0,
            suspects: Vec::new(),
            classic: None,
            is_open: false,
        }
    }

    /// Returns all that is known of it as one; none if nothing is.
    pub fn whole(&self) -> Option<Sums> {
        self.series.whole()
    }

    fn gap(&mut self, at: u64, gap: Gap) {
        self.is_open = false;
        self.gap_count += 1;
        if self.gaps.len() < MOST_GAPS {
            self.gaps.push((at, gap));
        }
    }

    fn take(&mut self, times: (u64, u64), a: &DeviceSample, b: &DeviceSample, window: &Window) {
        self.identity = b.identity.clone();
        self.took_ns = self.took_ns.max(b.took_ns);
        self.suspects = blame::set(&b.identity.queue);
        self.classic = b.classic;
        self.anomalies = match (self.anomalies, a.anomalies, b.anomalies) {
            (Some(sum), Some(a), Some(b)) => Some(grown(&sum, &a, &b)),
            _ => None,
        };
        let Some(sums) = Sums::of(window) else {
            return;
        };
        if let (Some(first), Some(last)) = (&a.stat, &b.stat) {
            let before = self.ends.filter(|_| self.is_open);
            let (begin, first) = before.map_or((times.0, *first), |b| (b.times.0, b.first));
            self.ends = Some(Ends {
                times: (begin, times.1),
                window: Window::new(Some(&first), last),
                first,
            });
        }
        let of_time = [StatGroup::Read, StatGroup::Write]
            .map(|group| growth(&a.latencies, &b.latencies, group).map(|(total, _)| total));
        for group in StatGroup::ALL {
            let Some((total, device)) = growth(&a.latencies, &b.latencies, group) else {
                continue;
            };
            let all = self.latencies[group.index()].get_or_insert_default();
            all.0 = histogram::sum([&all.0, &*total].into_iter());
            if let Some(device) = device {
                let before = all.1.get_or_insert_default();
                *before = histogram::sum([&*before, &*device].into_iter());
            }
        }
        if self.seen & ((1 << self.every) - 1) == 0 {
            self.windows.push(*window);
        }
        self.seen += 1;
        if self.windows.len() > MOST_WINDOWS {
            let mut place = 0u32;
            self.windows.retain(|_| {
                place += 1;
                place % 2 == 1
            });
            self.every = (self.every + 1).min(u64::BITS - 1);
        }
        let step = Step::new(times.0, times.1, sums, of_time);
        self.series.push(step, self.is_open);
        self.is_open = true;
    }
}

type Growth = (Box<Counts>, Option<Box<Counts>>);

/// Returns what a group's histograms grew by; none if by nothing.
fn growth(a: &Latencies, b: &Latencies, group: StatGroup) -> Option<Growth> {
    let after = b.of(group)?;
    let before = a.of(group).copied().unwrap_or_default();
    let total = histogram::grown(&before.total, &after.total);
    let device = after.device.map(|after| {
        let before = before.device.unwrap_or_default();
        Box::new(histogram::grown(&before, &after))
    });
    let is_empty = total.0.iter().all(|&n| n == 0);
    (!is_empty).then(|| (Box::new(total), device))
}

fn grown(sum: &Anomalies, a: &Anomalies, b: &Anomalies) -> Anomalies {
    let add = |sum: u64, a: u64, b: u64| sum.saturating_add(b.saturating_sub(a));
    Anomalies {
        clamped: add(sum.clamped, a.clamped, b.clamped),
        orphans: add(sum.orphans, a.orphans, b.orphans),
        lost_starts: add(sum.lost_starts, a.lost_starts, b.lost_starts),
        late_starts: add(sum.late_starts, a.late_starts, b.late_starts),
        bound_ns: add(sum.bound_ns, a.bound_ns, b.bound_ns),
    }
}

impl Run {
    /// Takes in the next sample.
    pub fn take(&mut self, sample: Sample) {
        let at = self.clock.at(&sample);
        self.samples += 1;
        self.span_ns = self.span_ns.max(at);
        let Some((before_at, before)) = &self.last else {
            self.wall_ns = sample.wall_ns;
            self.last = Some((at, sample));
            return;
        };
        let names = before.devices.iter().chain(&sample.devices);
        let mut names: Vec<&String> = names.map(|device| &device.identity.name).collect();
        names.sort();
        names.dedup();
        for name in names {
            match Gap::between(before, &sample, name) {
                Ok((a, b)) => {
                    let disk = self.disks.entry(name.clone());
                    let disk = disk.or_insert_with(|| Disk::new(b.identity.clone()));
                    if let Ok(window) = Window::between(before, &sample, name) {
                        disk.take((*before_at, at), a, b, &window);
                    }
                    self.left_out.remove(name);
                }
                Err(gap) => match self.disks.get_mut(name) {
                    // Told once, where it begins; and a return is the end of it, not another.
                    Some(disk) if disk.is_open => disk.gap(at, gap),
                    Some(_) => (),
                    None => {
                        let why = sample.device(name).map(DeviceSample::counters);
                        let why = match why {
                            Some(Err(refusal)) => refusal.to_string(),
                            _ => gap.to_string(),
                        };
                        self.left_out.insert(name.clone(), why);
                    }
                },
            }
        }
        self.last = Some((at, sample));
    }

    /// Returns the disks with the most busy time, so many at most, by name.
    pub fn busiest(&self, most: usize) -> Vec<(&str, &Disk)> {
        let busy = |disk: &Disk| disk.whole().map_or(0, |sums| sums.busy_ns);
        let mut disks: Vec<_> = self.disks.iter().map(|(n, d)| (n.as_str(), d)).collect();
        disks.sort_by_key(|(_, disk)| std::cmp::Reverse(busy(disk)));
        disks.truncate(most);
        disks.sort_by_key(|(name, _)| *name);
        disks
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page::testing::{history, Event};

    #[test]
    fn a_disk_that_leaves_and_comes_back_has_a_gap() {
        let run = history(1, 20, &[(8, Event::Gone), (12, Event::Back)]);
        let disk = &run.disks["sda"];
        assert_eq!(disk.gap_count, 1);
        assert_eq!(disk.gaps[0].1, Gap::Gone);
        let breaks: Vec<_> = disk.series.steps.windows(2).collect();
        let breaks = breaks.iter().filter(|two| !two[1].joined);
        let breaks: Vec<_> = breaks.map(|two| (two[0].end, two[1].begin)).collect();
        let second = 1_000_000_000;
        assert_eq!(breaks, [(7 * second, 12 * second)]);
    }

    #[test]
    fn another_mode_and_a_suspend_are_gaps() {
        for event in [Event::ModeOff, Event::Suspend, Event::Reboot] {
            let run = history(1, 20, &[(8, event), (10, Event::Back)]);
            assert!(run.disks["sda"].gap_count >= 1, "{event:?}");
            let steps = &run.disks["sda"].series.steps;
            assert!(steps[1..].iter().any(|step| !step.joined), "{event:?}");
        }
    }

    #[test]
    fn a_disk_out_of_mode_2_is_named_with_what_helps() {
        let run = history(1, 5, &[(0, Event::ModeOff)]);
        assert!(run.disks.is_empty());
        assert!(
            run.left_out["sda"].contains("blkacct on sda"),
            "{:?}",
            run.left_out
        );
    }
}
