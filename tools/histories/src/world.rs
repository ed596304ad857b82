// SPDX-License-Identifier: GPL-2.0
//! The machine at work: its state, and the record of what happens.

use crate::event::{Id, Op, Opf, Record, What};
use crate::flush::{FlushQueue, Sequence};
use crate::plan::{Act, Flavour, Machine, Plan};

/// Names that tasks may have; a name has up to 15 bytes.
pub const NAMES: [&str; 14] = [
    "fio",
    "kworker/u8:1",
    "jbd2/sda1-8",
    "a b",
    "[x] y",
    "x: y",
    "[001] 1.5: z",
    "(sd-pam)",
    "#x",
    "CPU:0 [LOST",
    "block_io_start:",
    "8,0 R 0 + 8",
    "-1 [000]",
    "]",
];

/// A request.
#[derive(Clone, Debug)]
pub struct Request {
    /// Its disk.
    pub disk: usize,
    /// What it does, now.
    pub opf: Opf,
    /// Where it begins, now.
    pub sector: u64,
    /// What is left of it.
    pub sectors: u64,
    /// Its flush queue.
    pub flush_queue: usize,
    /// Its flush sequence, if it is in one.
    pub sequence: Option<Sequence>,
    /// It is past the scheduler, where nothing merges.
    pub bypass: bool,
}

impl Request {
    /// Whether the statistics count it.
    pub fn counted(&self) -> bool {
        !matches!(self.opf.op, Op::Flush | Op::Driver)
    }

    /// Whether anything may join it, or it anything.
    pub fn mergeable(&self) -> bool {
        let opf = self.opf;
        let flags = opf.nomerge || opf.preflush || opf.fua;
        opf.op.merges() && !flags && !self.bypass && self.sequence.is_none()
    }

    /// The sector behind it.
    pub fn end(&self) -> u64 {
        self.sector + self.sectors
    }
}

/// A disk.
#[derive(Clone, Debug, Default)]
pub struct Disk {
    /// What the scheduler, or the lists that take its place, has.
    pub queued: Vec<Id>,
    /// What the driver has.
    pub issued: Vec<Id>,
    /// One for each hardware queue.
    pub flush_queues: Vec<FlushQueue>,
    /// Write pointers of the zones.
    pub zones: Vec<u64>,
}

/// The whole.
pub struct World {
    /// What it is.
    pub machine: Machine,
    /// All requests there have been.
    pub requests: Vec<Request>,
    /// What has happened.
    pub records: Vec<Record>,
    /// The disks.
    pub disks: Vec<Disk>,
    /// What each task has plugged.
    pub plugs: Vec<Vec<Id>>,
    /// The task on each CPU.
    pub current: Vec<Option<usize>>,
    /// Areas handed out, so that each is used once.
    pub areas: u64,
    /// The flush queue whose lock is held.
    pub(crate) locked: Option<usize>,
    pub(crate) cpu: usize,
    pub(crate) now: u64,
    pub(crate) tick: u64,
}

/// The first moment, in us.
const BEGIN: u64 = 100_000_000;

impl World {
    /// Makes the history of a plan.
    pub fn of(plan: &Plan) -> World {
        let machine = plan.machine.clone();
        let disks = machine.disks.iter().map(|disk| Disk {
            flush_queues: vec![FlushQueue::default(); disk.queues],
            zones: vec![0; 4],
            ..Disk::default()
        });
        let mut world = World {
            disks: disks.collect(),
            plugs: vec![Vec::new(); machine.tasks.len()],
            current: vec![None; machine.cpus],
            requests: Vec::new(),
            records: Vec::new(),
            areas: 0,
            locked: None,
            cpu: 0,
            now: BEGIN,
            tick: 0,
            machine,
        };
        for step in &plan.steps {
            world.now += step.gap;
            world.tick = step.tick;
            world.cpu = step.cpu % world.machine.cpus;
            world.act(&step.act);
        }
        if world.machine.drained {
            world.drain();
        }
        world.swap();
        world
    }

    fn act(&mut self, act: &Act) {
        let disk = |n: usize| n % self.disks.len();
        match act {
            Act::Submit(bio) => self.submit(bio),
            Act::Unplug(task) => {
                let task = task % self.plugs.len();
                self.run_on(task, self.cpu);
                self.unplug(task);
            }
            &Act::Issue(n, pick) => self.issue(disk(n), pick),
            &Act::Complete(n, pick, how) => self.come_back(disk(n), pick, how),
            &Act::Requeue(n, pick) => self.give_back(disk(n), pick),
            &Act::Refuse(n, pick) => self.refuse(disk(n), pick),
            Act::Idle => self.current[self.cpu] = None,
        }
    }

    /// Lets all that is in flight end.
    fn drain(&mut self) {
        for task in 0..self.plugs.len() {
            self.now += 7;
            self.unplug(task);
        }
        let busy = |disk: &Disk| !disk.queued.is_empty() || !disk.issued.is_empty();
        while let Some(disk) = self.disks.iter().position(busy) {
            self.now += 11;
            self.issue(disk, 0);
            self.now += 13;
            self.come_back(disk, 0, crate::plan::How::Whole);
        }
    }

    /// Brings a task to a CPU.
    pub(crate) fn run_on(&mut self, task: usize, cpu: usize) {
        for current in &mut self.current {
            if *current == Some(task) {
                *current = None;
            }
        }
        self.cpu = cpu % self.machine.cpus;
        self.current[self.cpu] = Some(task);
    }

    /// Whether this is a history of requests that cannot be mistaken.
    pub(crate) fn apart(&self) -> bool {
        self.machine.flavour == Flavour::Apart
    }

    /// Records what happens to a request, as the request is now.
    pub(crate) fn event(&mut self, what: What, id: Id) {
        let sectors = match what {
            What::Done { .. } => 0,
            _ => self.requests[id].sectors,
        };
        self.event_of(what, id, sectors, false);
    }

    /// Records what happens to so many sectors of a request.
    pub(crate) fn event_of(&mut self, what: What, id: Id, sectors: u64, failed: bool) {
        let request = &self.requests[id];
        let flags = request.opf.preflush || request.opf.fua;
        let special = flags || request.opf.op == Op::Flush || request.sequence.is_some();
        let flush_queue = special.then_some(request.flush_queue).or(self.locked);
        let (disk, opf, sector) = (request.disk, request.opf, request.sector);
        self.record(
            disk,
            what,
            Some(id),
            flush_queue,
            opf,
            (sector, sectors),
            failed,
        );
    }

    /// Records what happens to a bio.
    pub(crate) fn bio_event(&mut self, disk: usize, what: What, opf: Opf, place: (u64, u64)) {
        self.record(disk, what, None, None, opf, place, false);
    }

    #[allow(clippy::too_many_arguments)]
    fn record(
        &mut self,
        disk: usize,
        what: What,
        request: Option<Id>,
        flush_queue: Option<usize>,
        opf: Opf,
        (sector, sectors): (u64, u64),
        failed: bool,
    ) {
        self.records.push(Record {
            time: self.now * 1000,
            cpu: self.cpu,
            task: self.current[self.cpu],
            disk,
            what,
            request,
            flush_queue,
            opf,
            sector,
            sectors,
            failed,
        });
        self.now += self.tick;
    }

    /// Exchanges events of different CPUs that have nothing to do with each other; each takes the
    /// other's time.
    fn swap(&mut self) {
        for &swap in &self.machine.swaps {
            let Some(last) = self.records.len().checked_sub(1).filter(|&last| last > 0) else {
                return;
            };
            let at = usize::from(swap) % last;
            if independent(&self.records[at], &self.records[at + 1]) {
                let time = self.records[at].time;
                self.records[at].time = self.records[at + 1].time;
                self.records[at + 1].time = time;
                self.records.swap(at, at + 1);
            }
        }
    }
}

/// Whether two events could as well have come the other way round.
fn independent(a: &Record, b: &Record) -> bool {
    let touched = |record: &Record| {
        let other = match record.what {
            What::Merge(into) => Some(into),
            _ => None,
        };
        [record.request, other]
    };
    let shared = touched(a)
        .into_iter()
        .flatten()
        .any(|id| touched(b).contains(&Some(id)));
    let flush = a.disk == b.disk && a.flush_queue.is_some() && a.flush_queue == b.flush_queue;
    // A bio's events belong together, and what it joins is not recorded.
    let bios = a.request.is_none() || b.request.is_none();
    let task = a.task.is_some() && a.task == b.task;
    // The two ends of a flush are at one time.
    let ended = |record: &Record| {
        let ends = matches!(record.what, What::Complete { .. } | What::Done { .. });
        ends && record.opf.op == Op::Flush
    };
    if ended(a) || ended(b) {
        return false;
    }
    a.cpu != b.cpu && !shared && !flush && !bios && !task
}
