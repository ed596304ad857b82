// SPDX-License-Identifier: GPL-2.0
//! What a history is made from: a machine and a list of steps. Any part of the list is a plan, too,
//! so that proptest can shrink it: a step names what it is for by a number that is taken modulo
//! what there is.

use proptest::collection::vec;
use proptest::prelude::*;

/// How likely requests are to be mistaken for each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flavour {
    /// No two requests touch; nothing can be mistaken.
    Apart,
    /// Requests touch only within one small area, and all areas are apart.
    Islands,
    /// All within a few sectors.
    Wild,
}

/// A disk.
#[derive(Clone, Debug)]
pub struct DiskPlan {
    /// It has a volatile write cache.
    pub cache: bool,
    /// It has forced unit access.
    pub fua: bool,
    /// It has zones.
    pub zoned: bool,
    /// It has a scheduler.
    pub elevator: bool,
    /// Its queue keeps statistics.
    pub stats: bool,
    /// A request that its driver gives back goes past the scheduler.
    pub prepared: bool,
    /// Hardware queues.
    pub queues: usize,
    /// Requests the driver takes at a time.
    pub depth: usize,
}

/// What a trace was told to record, beside starts, ends and merges of requests.
#[derive(Clone, Copy, Debug)]
pub struct Shown {
    /// Bios: queue, merges, split, and the allocation of a request.
    pub bios: bool,
    /// What the driver is given and gives back.
    pub driver: bool,
    /// What the driver completes, and errors.
    pub complete: bool,
}

/// The machine.
#[derive(Clone, Debug)]
pub struct Machine {
    /// How requests lie.
    pub flavour: Flavour,
    /// CPUs.
    pub cpus: usize,
    /// Names of tasks, an index into [`crate::world::NAMES`] each.
    pub tasks: Vec<usize>,
    /// Disks.
    pub disks: Vec<DiskPlan>,
    /// A kernel before 6.19: other letters, and a sequence's last done at its first sector.
    pub old: bool,
    /// Events without a sector name the highest number.
    pub highest: bool,
    /// All requests end in the trace.
    pub drained: bool,
    /// Percent of the events before the trace begins.
    pub skipped: usize,
    /// What the trace was told to record, beside starts, ends and merges of requests.
    pub shown: Shown,
    /// Times a task's events are exchanged with another CPU's next to them.
    pub swaps: Vec<u16>,
}

/// What a bio does.
#[derive(Clone, Copy, Debug)]
pub enum Kind {
    /// Read.
    Read,
    /// Write.
    Write,
    /// Discard.
    Discard,
    /// Write zeroes.
    Zeroes,
    /// Zone append.
    Append,
    /// Zone management.
    Zone(u8),
    /// Flush without data.
    Empty,
    /// Passthrough.
    Driver,
}

/// How a request comes back from the driver.
#[derive(Clone, Copy, Debug)]
pub enum How {
    /// Whole.
    Whole,
    /// Failed.
    Failed,
    /// A part of it; the rest stays, or goes back.
    Part(u8, bool),
    /// Nothing of it, with an error, and again.
    Retried,
    /// Nothing of it, with an error, and then all of it failed.
    GivenUp,
}

/// A bio.
#[derive(Clone, Debug)]
pub struct Bio {
    /// The disk.
    pub disk: usize,
    /// The task.
    pub task: usize,
    /// The CPU it is on.
    pub cpu: usize,
    /// What it does.
    pub kind: Kind,
    /// Where.
    pub place: usize,
    /// How much.
    pub len: u64,
    /// Preflush, FUA, sync, ahead, meta.
    pub flags: [bool; 5],
    /// Cut in so many.
    pub parts: u64,
    /// The task plugs.
    pub plug: bool,
}

/// What happens next.
#[derive(Clone, Debug)]
pub enum Act {
    /// A bio is submitted.
    Submit(Bio),
    /// A task gives what it has plugged to the disks.
    Unplug(usize),
    /// A request goes to the driver.
    Issue(usize, usize),
    /// A request comes back.
    Complete(usize, usize, How),
    /// The driver gives back what it had.
    Requeue(usize, usize),
    /// The driver has no room for a request.
    Refuse(usize, usize),
    /// A CPU goes idle.
    Idle,
}

/// A step.
#[derive(Clone, Debug)]
pub struct Step {
    /// us before it.
    pub gap: u64,
    /// us between its events.
    pub tick: u64,
    /// The CPU.
    pub cpu: usize,
    /// What happens.
    pub act: Act,
}

/// A history to be.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The machine.
    pub machine: Machine,
    /// What happens on it.
    pub steps: Vec<Step>,
}

fn disk() -> impl Strategy<Value = DiskPlan> {
    let switches = any::<[bool; 6]>();
    (switches, 1..=3usize, 1..=8usize).prop_map(|(s, queues, depth)| DiskPlan {
        cache: s[0],
        fua: s[1],
        zoned: s[2],
        elevator: s[3],
        stats: s[4],
        prepared: s[5],
        queues,
        depth,
    })
}

fn shown() -> impl Strategy<Value = Shown> {
    let all = Shown {
        bios: true,
        driver: true,
        complete: true,
    };
    let some = any::<[bool; 3]>().prop_map(|[bios, driver, complete]| Shown {
        bios,
        driver,
        complete,
    });
    prop_oneof![3 => Just(all), 1 => some]
}

fn machine(flavour: Flavour) -> impl Strategy<Value = Machine> {
    (
        1..=4usize,
        vec(0..64usize, 1..5),
        vec(disk(), 1..3),
        any::<[bool; 2]>(),
        prop_oneof![3 => Just((true, 0)), 1 => Just((false, 0)), 1 => (Just(true), 1..60usize)],
        vec(any::<u16>(), 0..12),
        shown(),
    )
        .prop_map(
            move |(cpus, tasks, mut disks, [old, highest], (drained, skipped), swaps, shown)| {
                // Those kernels have no letters for zones.
                disks.iter_mut().for_each(|disk| disk.zoned &= !old);
                Machine {
                    flavour,
                    cpus,
                    tasks,
                    disks,
                    old,
                    highest,
                    drained,
                    skipped,
                    shown,
                    swaps,
                }
            },
        )
}

fn kind() -> impl Strategy<Value = Kind> {
    prop_oneof![
        6 => Just(Kind::Read),
        10 => Just(Kind::Write),
        3 => Just(Kind::Discard),
        1 => Just(Kind::Zeroes),
        3 => Just(Kind::Append),
        1 => any::<u8>().prop_map(Kind::Zone),
        1 => Just(Kind::Empty),
        1 => Just(Kind::Driver),
    ]
}

fn bio() -> impl Strategy<Value = Bio> {
    (
        (0..8usize, 0..8usize, 0..8usize),
        kind(),
        0..48usize,
        1..=4u64,
        proptest::array::uniform5(proptest::bool::weighted(0.3)),
        prop_oneof![8 => Just(1u64), 1 => 2..=3u64],
        proptest::bool::weighted(0.4),
    )
        .prop_map(
            |((disk, task, cpu), kind, place, len, flags, parts, plug)| Bio {
                disk,
                task,
                cpu,
                kind,
                place,
                len,
                flags,
                parts,
                plug,
            },
        )
}

fn how() -> impl Strategy<Value = How> {
    prop_oneof![
        20 => Just(How::Whole),
        1 => Just(How::Failed),
        2 => (any::<u8>(), any::<bool>()).prop_map(|(part, back)| How::Part(part, back)),
        1 => Just(How::Retried),
        1 => Just(How::GivenUp),
    ]
}

fn act() -> impl Strategy<Value = Act> {
    let one = || (0..8usize, 0..64usize);
    prop_oneof![
        12 => bio().prop_map(Act::Submit),
        3 => (0..8usize).prop_map(Act::Unplug),
        10 => one().prop_map(|(disk, pick)| Act::Issue(disk, pick)),
        10 => (one(), how()).prop_map(|((disk, pick), how)| Act::Complete(disk, pick, how)),
        1 => one().prop_map(|(disk, pick)| Act::Requeue(disk, pick)),
        1 => one().prop_map(|(disk, pick)| Act::Refuse(disk, pick)),
        1 => Just(Act::Idle),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    (0..200u64, 0..3u64, 0..8usize, act()).prop_map(|(gap, tick, cpu, act)| Step {
        gap,
        tick,
        cpu,
        act,
    })
}

/// Draws plans of this flavour.
pub fn plans(flavour: Flavour) -> impl Strategy<Value = Plan> {
    (machine(flavour), vec(step(), 1..60)).prop_map(|(machine, steps)| Plan { machine, steps })
}
