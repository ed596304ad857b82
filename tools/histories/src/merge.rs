// SPDX-License-Identifier: GPL-2.0
//! Merges: of a bio into a request, at either end, and of a request into another, after which the
//! one that grew may be absorbed, too. Discards of several ranges need not touch.

use crate::event::{Id, Op, Opf, What};
use crate::world::World;

/// The largest request, in sectors.
const LARGEST: u64 = 2048;

impl World {
    /// Merges a bio into a request that the task has plugged or the disk has queued.
    pub(crate) fn bio_joins(
        &mut self,
        disk: usize,
        task: usize,
        plug: bool,
        opf: Opf,
        (sector, sectors): (u64, u64),
    ) -> bool {
        if !opf.op.merges() || opf.nomerge || opf.preflush || opf.fua || self.apart() {
            return false;
        }
        // Of a plug, only the last request for this disk.
        let on_disk = |id: &&Id| self.requests[**id].disk == disk;
        let last = self.plugs[task].iter().rev().find(on_disk).copied();
        if let Some(id) = last.filter(|_| plug) {
            if self.join(id, opf, (sector, sectors), disk).is_some() {
                return true;
            }
        }
        let queued = self.disks[disk].queued.clone();
        for id in queued.into_iter().rev() {
            let Some(side) = self.join(id, opf, (sector, sectors), disk) else {
                continue;
            };
            if self.machine.disks[disk].elevator {
                match side {
                    Side::Back => self.absorb_latter(id),
                    Side::Front => self.absorb_into_former(id),
                    Side::Discard => {}
                }
            }
            return true;
        }
        false
    }

    /// Lets a bio join this request, if it can.
    fn join(&mut self, id: Id, opf: Opf, (sector, n): (u64, u64), disk: usize) -> Option<Side> {
        let request = &self.requests[id];
        if !request.mergeable() || request.opf.op != opf.op || request.sectors + n > LARGEST {
            return None;
        }
        let side = if opf.op == Op::Discard {
            Side::Discard
        } else if request.end() == sector {
            Side::Back
        } else if sector + n == request.sector {
            Side::Front
        } else {
            return None;
        };
        match side {
            Side::Back => self.bio_event(disk, What::BackMerge, opf, (sector, n)),
            Side::Front => {
                self.bio_event(disk, What::FrontMerge, opf, (sector, n));
                self.requests[id].sector = sector;
            }
            // The kernel tells nobody.
            Side::Discard => {}
        }
        self.requests[id].sectors += n;
        Some(side)
    }

    /// A request about to be queued is absorbed by one that is; that one perhaps, too, and so on.
    pub(crate) fn absorbed_at_insert(&mut self, id: Id) -> bool {
        let mut absorbed = id;
        while let Some(into) = self.former(absorbed) {
            self.absorb(absorbed, into);
            if self.requests[id].opf.op == Op::Discard {
                return true;
            }
            absorbed = into;
        }
        absorbed != id
    }

    /// A request that grew at its end absorbs the next.
    fn absorb_latter(&mut self, id: Id) {
        let request = &self.requests[id];
        let (end, op) = (request.end(), request.opf.op);
        let next = self.disks[request.disk].queued.iter().copied().find(|&n| {
            let next = &self.requests[n];
            n != id && next.sector == end && next.opf.op == op && next.mergeable()
        });
        if let Some(next) = next {
            self.absorb(next, id);
        }
    }

    /// A request that grew at its front is absorbed by the one before.
    fn absorb_into_former(&mut self, id: Id) {
        if let Some(former) = self.former(id) {
            self.absorb(id, former);
        }
    }

    /// Finds a queued request that can absorb this one.
    fn former(&self, id: Id) -> Option<Id> {
        let request = &self.requests[id];
        if !request.mergeable() || self.apart() {
            return None;
        }
        let mut queued = self.disks[request.disk].queued.iter().rev().copied();
        queued.find(|&into| {
            let other = &self.requests[into];
            let touches = request.opf.op == Op::Discard || other.end() == request.sector;
            let fits = other.sectors + request.sectors <= LARGEST;
            let alike = other.opf.op == request.opf.op && other.mergeable();
            into != id && alike && touches && fits
        })
    }

    fn absorb(&mut self, id: Id, into: Id) {
        let disk = self.requests[id].disk;
        self.disks[disk].queued.retain(|&other| other != id);
        self.requests[into].sectors += self.requests[id].sectors;
        self.event(What::Merge(into), id);
    }
}

/// Where a bio joined.
enum Side {
    Back,
    Front,
    Discard,
}
