// SPDX-License-Identifier: GPL-2.0
//! The flush machinery: a write with a flush becomes a sequence of steps, and all that wait for a
//! flush share one. There are two lists, of those who wait for the flush that runs and of those who
//! wait for the next.

use crate::event::{Id, Op, Opf, What};
use crate::world::{Request, World};

/// The steps that a request still has to take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sequence {
    pre: bool,
    data: bool,
    post: bool,
    /// Where its bio begins, now.
    bio: u64,
}

/// The flush queue of a hardware queue.
#[derive(Clone, Debug, Default)]
pub struct FlushQueue {
    lists: [Vec<Id>; 2],
    pending: usize,
    running: usize,
    data_in_flight: u64,
}

impl FlushQueue {
    /// Whether anyone waits for a flush.
    pub fn is_busy(&self) -> bool {
        self.lists.iter().any(|list| !list.is_empty())
    }
}

impl World {
    /// Takes a new request with flush flags; whether the machinery has it, or else it goes the way
    /// of all others.
    pub(crate) fn insert_flush(&mut self, id: Id) -> bool {
        let request = &mut self.requests[id];
        let disk = &self.machine.disks[request.disk];
        let data = request.sectors > 0;
        let pre = disk.cache && request.opf.preflush;
        let post = disk.cache && request.opf.fua && !disk.fua;
        request.opf.preflush = false;
        request.opf.fua &= disk.fua;
        request.opf.sync = true;
        if !pre && !post {
            return false;
        }
        request.sequence = Some(Sequence {
            pre,
            data,
            post,
            bio: request.sector,
        });
        let (disk, queue) = (request.disk, request.flush_queue);
        if !pre {
            // Data first: it goes the normal way.
            request.bypass = true;
            self.disks[disk].flush_queues[queue].data_in_flight += 1;
            return false;
        }
        self.advance(id, false);
        true
    }

    /// A step is over: the next one.
    fn advance(&mut self, id: Id, failed: bool) {
        let request = &self.requests[id];
        let (disk, queue) = (request.disk, request.flush_queue);
        let Some(sequence) = request.sequence else {
            return;
        };
        let flush_queue = &mut self.disks[disk].flush_queues[queue];
        if failed || !(sequence.pre || sequence.data || sequence.post) {
            self.end_sequence(id, sequence, failed);
        } else if !sequence.pre && sequence.data {
            flush_queue.data_in_flight += 1;
            self.requests[id].bypass = true;
            self.disks[disk].queued.push(id);
        } else {
            flush_queue.lists[flush_queue.pending].push(id);
        }
        self.kick(disk, queue);
    }

    /// The sequence is over, and so is its request.
    fn end_sequence(&mut self, id: Id, sequence: Sequence, failed: bool) {
        let old = self.machine.old;
        let request = &mut self.requests[id];
        request.sequence = None;
        if !old {
            request.sector = sequence.bio;
        }
        let sectors = request.sectors;
        let (stay, last) = (false, true);
        let lock = Some(request.flush_queue);
        let before = std::mem::replace(&mut self.locked, lock);
        self.event_of(What::Complete { stay, last }, id, sectors, failed);
        if failed {
            self.event_of(What::Error, id, sectors, true);
        }
        self.event(What::Done { stay, last }, id);
        self.locked = before;
    }

    /// Makes a flush if someone waits for one and none runs.
    fn kick(&mut self, disk: usize, queue: usize) {
        let flush_queue = &mut self.disks[disk].flush_queues[queue];
        if flush_queue.pending != flush_queue.running
            || flush_queue.lists[flush_queue.pending].is_empty()
            || flush_queue.data_in_flight > 0
        {
            return;
        }
        flush_queue.pending ^= 1;
        let mut opf = Opf::plain(Op::Flush);
        opf.preflush = true;
        self.requests.push(Request {
            disk,
            opf,
            sector: 0,
            sectors: 0,
            flush_queue: queue,
            sequence: None,
            bypass: true,
        });
        self.disks[disk].queued.push(self.requests.len() - 1);
    }

    /// The flush has ended, with interrupts off: all who waited go on.
    pub(crate) fn flush_ended(&mut self, id: Id, failed: bool) {
        let (disk, queue) = (self.requests[id].disk, self.requests[id].flush_queue);
        let flush_queue = &mut self.disks[disk].flush_queues[queue];
        let waiting = std::mem::take(&mut flush_queue.lists[flush_queue.running]);
        flush_queue.running ^= 1;
        for waiter in waiting {
            if let Some(sequence) = &mut self.requests[waiter].sequence {
                if sequence.pre {
                    sequence.pre = false;
                } else {
                    sequence.post = false;
                }
            }
            self.advance(waiter, failed);
        }
    }

    /// The data of a sequence has been written.
    pub(crate) fn data_ended(&mut self, id: Id, failed: bool) {
        let (disk, queue) = (self.requests[id].disk, self.requests[id].flush_queue);
        self.disks[disk].flush_queues[queue].data_in_flight -= 1;
        if let Some(sequence) = &mut self.requests[id].sequence {
            sequence.data = false;
        }
        self.advance(id, failed);
    }

    /// So many sectors of the data have been written.
    pub(crate) fn bio_advances(&mut self, id: Id, sectors: u64) {
        if let Some(sequence) = &mut self.requests[id].sequence {
            sequence.bio += sectors;
        }
    }
}
