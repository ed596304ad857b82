// SPDX-License-Identifier: GPL-2.0
//! The driver: takes requests up to its depth, and gives them back in any order, whole, in parts,
//! failed or undone.

use crate::event::{Id, Op, What};
use crate::plan::How;
use crate::world::World;

impl World {
    /// A request goes to the driver, if it has room.
    pub(crate) fn issue(&mut self, disk: usize, pick: usize) {
        let depth = self.machine.disks[disk].depth;
        let Disk { queued, issued } = self.lists(disk);
        if queued == 0 || issued >= depth {
            return;
        }
        let id = self.disks[disk].queued.remove(pick % queued);
        self.event(What::Issue, id);
        self.disks[disk].issued.push(id);
    }

    /// The driver has no room: the request never came to it.
    pub(crate) fn refuse(&mut self, disk: usize, pick: usize) {
        let Disk { queued, .. } = self.lists(disk);
        if queued == 0 {
            return;
        }
        let id = self.disks[disk].queued[pick % queued];
        self.requests[id].bypass = true;
        self.event(What::Requeue, id);
    }

    /// The driver gives a request back undone.
    pub(crate) fn give_back(&mut self, disk: usize, pick: usize) {
        let Disk { issued, .. } = self.lists(disk);
        if issued > 0 {
            let id = self.disks[disk].issued[pick % issued];
            self.requeue(id);
        }
    }

    fn requeue(&mut self, id: Id) {
        let disk = self.requests[id].disk;
        self.disks[disk].issued.retain(|&other| other != id);
        self.event(What::Requeue, id);
        self.requests[id].bypass |= self.machine.disks[disk].prepared;
        self.disks[disk].queued.push(id);
    }

    /// A request comes back from the driver.
    pub(crate) fn come_back(&mut self, disk: usize, pick: usize, how: How) {
        let Disk { issued, .. } = self.lists(disk);
        if issued == 0 {
            return;
        }
        let id = self.disks[disk].issued[pick % issued];
        let (op, sectors) = (self.requests[id].opf.op, self.requests[id].sectors);
        let dividable = matches!(op, Op::Read | Op::Write) && sectors > 1;
        let retries = matches!(op, Op::Read | Op::Write | Op::Discard | Op::WriteZeroes);
        match how {
            How::Part(part, back) if dividable => {
                let done = 1 + u64::from(part) % (sectors - 1);
                let (stay, last) = (false, false);
                self.event_of(What::Complete { stay, last }, id, done, false);
                self.requests[id].sector += done;
                self.requests[id].sectors -= done;
                self.bio_advances(id, done);
                if back {
                    self.requeue(id);
                }
            }
            How::Retried if retries => {
                self.nothing_done(id);
                self.requeue(id);
            }
            How::GivenUp if retries => {
                self.nothing_done(id);
                self.end(id, true);
            }
            How::Failed => self.end(id, true),
            _ => self.end(id, false),
        }
    }

    /// The driver tells of an error, and that none of it is done.
    fn nothing_done(&mut self, id: Id) {
        let (stay, last) = (false, false);
        self.event_of(What::Complete { stay, last }, id, 0, true);
        self.event_of(What::Error, id, 0, true);
    }

    /// The driver has no more to do with a request.
    fn end(&mut self, id: Id, failed: bool) {
        let request = &self.requests[id];
        let (disk, sectors, op) = (request.disk, request.sectors, request.opf.op);
        let sequence = request.sequence.is_some();
        let stats = self.machine.disks[disk].stats;
        self.disks[disk].issued.retain(|&other| other != id);
        if op == Op::ZoneAppend && !failed {
            let zone = self.requests[id].sector / ZONE;
            let pointer = &mut self.disks[disk].zones[zone as usize];
            self.requests[id].sector += *pointer;
            *pointer = (*pointer + sectors) % (ZONE - 64);
        }
        // The two ends of a flush are one, whoever of them is taken for it.
        let tick = self.tick;
        if op == Op::Flush {
            self.tick = 0;
        }
        let (stay, last) = (true, !sequence);
        self.event_of(What::Complete { stay, last }, id, sectors, failed);
        if failed && !matches!(op, Op::Flush | Op::Driver) {
            self.event_of(What::Error, id, sectors, true);
        }
        self.bio_advances(id, sectors);
        self.requests[id].sectors = 0;
        match op {
            Op::Driver => {}
            Op::Flush => {
                if stats {
                    self.event(What::Done { stay, last }, id);
                }
                self.tick = tick;
                self.now += tick;
                self.flush_ended(id, failed);
            }
            _ => {
                self.event(What::Done { stay, last }, id);
                if sequence {
                    self.data_ended(id, failed);
                }
            }
        }
    }

    fn lists(&self, disk: usize) -> Disk {
        Disk {
            queued: self.disks[disk].queued.len(),
            issued: self.disks[disk].issued.len(),
        }
    }
}

/// How many a disk has in each place.
struct Disk {
    queued: usize,
    issued: usize,
}

/// Sectors of a zone.
pub const ZONE: u64 = 1 << 16;
