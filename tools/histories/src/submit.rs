// SPDX-License-Identifier: GPL-2.0
//! From a bio to a request: split, merge, or a request of its own, which a plug holds back or the
//! scheduler gets.

use crate::driver::ZONE;
use crate::event::{Id, Op, Opf, What};
use crate::plan::{Bio, Flavour, Kind};
use crate::world::{Request, World};

impl World {
    pub(crate) fn submit(&mut self, bio: &Bio) {
        let disk = bio.disk % self.disks.len();
        let task = bio.task % self.plugs.len();
        if let Kind::Driver = bio.kind {
            self.run_on(task, bio.cpu);
            return self.passthrough(disk);
        }
        let Some((opf, sector, sectors)) = self.shape(disk, bio) else {
            return;
        };
        self.run_on(task, bio.cpu);
        if !bio.plug {
            self.unplug(task);
        }
        self.bio_event(disk, What::Queue, opf, (sector, sectors));
        let parts = bio.parts.min(sectors).max(1);
        // The parts of a sequence touch, which could be mistaken.
        let whole = opf.op == Op::ZoneAppend || self.apart() && (opf.preflush || opf.fua);
        let parts = if whole { 1 } else { parts };
        let each = sectors / parts;
        for part in 0..parts {
            let from = sector + part * each;
            let mut opf = opf;
            let mut len = each;
            if part + 1 == parts {
                len = sector + sectors - from;
            } else {
                opf.nomerge = true;
                self.bio_event(disk, What::Split(from + each), opf, (from, each));
            }
            self.submit_part(disk, task, bio.plug, opf, (from, len));
        }
    }

    /// Returns what the bio is on this disk; none if the disk has nothing of the kind, or if it
    /// could be mistaken where nothing can.
    fn shape(&mut self, disk: usize, bio: &Bio) -> Option<(Opf, u64, u64)> {
        let plan = &self.machine.disks[disk];
        let op = match bio.kind {
            Kind::Read => Op::Read,
            Kind::Write | Kind::Empty => Op::Write,
            Kind::Discard => Op::Discard,
            Kind::Zeroes => Op::WriteZeroes,
            Kind::Append if plan.zoned => Op::ZoneAppend,
            Kind::Zone(n) if plan.zoned => Op::Zone(['O', 'C', 'F', 'R'][usize::from(n) % 4]),
            _ => return None,
        };
        let mut opf = Opf::plain(op);
        let [preflush, fua, sync, ahead, meta] = bio.flags;
        let empty = matches!(bio.kind, Kind::Empty);
        if empty && !plan.cache {
            // It is over before it is a request.
            return None;
        }
        // Without a cache there is nothing to flush: the flags go before the bio is traced.
        opf.preflush = empty || op == Op::Write && preflush && plan.cache;
        opf.fua = !empty && op == Op::Write && fua && plan.cache;
        opf.sync = sync || opf.preflush || opf.fua || matches!(op, Op::Zone(_));
        opf.ahead = op == Op::Read && ahead;
        opf.meta = matches!(op, Op::Read | Op::Write) && meta && !empty;
        opf.nomerge = op == Op::ZoneAppend;
        let placeless = empty || matches!(op, Op::ZoneAppend | Op::Zone(_));
        if self.apart() && placeless && self.has_alike(disk, opf, bio.place) {
            return None;
        }
        if empty {
            return Some((opf, 0, 0));
        }
        let unit = 8;
        let sectors = bio.len * unit;
        self.areas += 1;
        let sector = match (op, self.machine.flavour) {
            (Op::ZoneAppend, _) => (bio.place as u64 % 4) * ZONE,
            (_, Flavour::Apart) => 8 * ZONE + self.areas * 1024,
            (_, Flavour::Islands) => {
                8 * ZONE + (bio.place as u64 / 6) * 4096 + (bio.place as u64 % 6) * unit
            }
            (_, Flavour::Wild) => 8 * ZONE + bio.place as u64 / 2 * unit,
        };
        let sectors = match op {
            Op::Zone(_) => 0,
            _ => sectors,
        };
        Some((opf, sector, sectors))
    }

    /// Whether one is in flight that it could be mistaken for: an append in its zone, or a zone
    /// command or an empty flush, whose place blktrace does not tell.
    fn has_alike(&self, disk: usize, opf: Opf, place: usize) -> bool {
        let zone = (place as u64 % 4) * ZONE;
        let lists = &self.disks[disk];
        let in_flight = lists.queued.iter().chain(&lists.issued);
        let plugged = self.plugs.iter().flatten();
        let alike = |id: &Id| {
            let other = &self.requests[*id];
            let placeless = other.sectors == 0 && other.counted();
            other.disk == disk
                && match opf.op {
                    Op::ZoneAppend => other.opf.op == Op::ZoneAppend && other.sector == zone,
                    _ => placeless,
                }
        };
        in_flight.chain(plugged).any(alike)
            || opf.op != Op::ZoneAppend && lists.flush_queues.iter().any(|queue| queue.is_busy())
    }

    fn submit_part(&mut self, disk: usize, task: usize, plug: bool, opf: Opf, place: (u64, u64)) {
        if self.bio_joins(disk, task, plug, opf, place) {
            return;
        }
        let (sector, sectors) = place;
        self.requests.push(Request {
            disk,
            opf,
            sector,
            sectors,
            flush_queue: self.cpu % self.machine.disks[disk].queues,
            sequence: None,
            bypass: false,
        });
        let id = self.requests.len() - 1;
        self.event(What::GetRq, id);
        self.event(What::Start, id);
        if (opf.preflush || opf.fua) && self.insert_flush(id) {
            return;
        }
        match plug {
            true => self.plugs[task].push(id),
            false => self.insert(id),
        }
    }

    /// A task gives what it has plugged to the disks.
    pub(crate) fn unplug(&mut self, task: usize) {
        for id in std::mem::take(&mut self.plugs[task]) {
            self.insert(id);
        }
    }

    /// The scheduler gets a request; it may be absorbed at once.
    fn insert(&mut self, id: Id) {
        let disk = self.requests[id].disk;
        if self.machine.disks[disk].elevator && self.absorbed_at_insert(id) {
            return;
        }
        self.event(What::Insert, id);
        self.disks[disk].queued.push(id);
    }

    fn passthrough(&mut self, disk: usize) {
        self.requests.push(Request {
            disk,
            opf: Opf::plain(Op::Driver),
            sector: 0,
            sectors: 0,
            flush_queue: 0,
            sequence: None,
            bypass: true,
        });
        let id = self.requests.len() - 1;
        self.event(What::Start, id);
        self.disks[disk].queued.push(id);
    }
}
