// SPDX-License-Identifier: GPL-2.0

//! Windows: when exact accounting was on, and so whether an I/O counts.
//!
//! A bio-based device cannot be drained for a switch: I/O in flight spans it. Yet an I/O must be
//! judged the same at its start and at its end, or in-flight drifts. Both ends know one thing in
//! common, the driver's `start_time` in jiffies, so that decides: an I/O counts if the accounting
//! was on at its `start_time`.
//!
//! The history is a list of *edges*, times at which the accounting was switched, in turn on and
//! off. An I/O counts if the number of edges before its `start_time` is odd. Edges are only ever
//! appended, so a judgement can change only by an edge that is not yet in the list when the start
//! is judged and lies before its `start_time`. There is none: an edge is placed at the present
//! jiffy *after* everybody can see that one is about to be, and whoever sees that waits for it. So
//! whoever missed it had its `start_time` before, and that is not after the edge.

use super::sync::{
    Acquire,
    Atomic,
    Full,
    Relaxed, //
};

/// How many edges are kept: two for each window.
const EDGES: usize = 128;

/// In `Windows::state`: an edge is about to be appended.
const CHANGING: u64 = 1;
/// In `Windows::state`: one edge.
const EDGE: u64 = 2;

/// No room for another window, as I/O of the oldest may still be in flight.
#[derive(Debug, PartialEq, Eq)]
pub struct NoRoom;

/// The windows of one device. Times are in jiffies, and compared as the kernel's `time_after()`.
#[derive(Debug)]
pub struct Windows {
    /// The number of edges, and whether there is about to be one more: `edges:63 | changing:1`.
    state: Atomic<u64>,
    edges: [Atomic<u64>; EDGES],
}

impl Default for Windows {
    fn default() -> Self {
        Self {
            state: Atomic::new(0),
            edges: core::array::from_fn(|_| Atomic::new(0)),
        }
    }
}

impl Windows {
    /// Returns whether I/O with this `start_time` counts. Any context.
    ///
    /// The caller orders the reading of jiffies for the `start_time` before this.
    pub fn cover(&self, start_time: u64) -> bool {
        let edges = loop {
            // ORDERING: Acquire. The edges that the number promises have been written.
            let state = self.state.load(Acquire);
            if state & CHANGING == 0 {
                break (state / EDGE) as usize;
            }
            core::hint::spin_loop();
        };
        // From the newest: nearly always it is the one.
        let before = self.edges.iter().take(edges).rposition(|edge| {
            // ORDERING: Relaxed. Ordered by the load of the number.
            start_time.wrapping_sub(edge.load(Relaxed)) as i64 > 0
        });
        // The edge before it, if it has an even place, switched the accounting on.
        before.is_some_and(|place| place % 2 == 0)
    }

    /// Returns whether the accounting is on.
    pub fn is_open(&self) -> bool {
        // ORDERING: Relaxed, here and in `have_room` and `append`. Whoever changes the windows is
        // alone in that, and others may be told of a moment ago.
        self.state.load(Relaxed) / EDGE % 2 == 1
    }

    /// Returns the time of the last switch; `None` if there was none.
    pub fn last(&self) -> Option<u64> {
        // ORDERING: Acquire. The edge has been written.
        let edges = (self.state.load(Acquire) / EDGE) as usize;
        let last = self.edges.get(edges.checked_sub(1)?)?;
        // ORDERING: Relaxed. Ordered by the load of the number.
        Some(last.load(Relaxed))
    }

    /// Returns whether another window can be opened.
    pub fn have_room(&self) -> bool {
        self.state.load(Relaxed) / EDGE + 2 <= EDGES as u64
    }

    /// Opens a window: I/O counts from the jiffy after `jiffies()` on. Open windows stay open.
    ///
    /// The caller has interrupts off, since a judgement waits meanwhile, and is the only one to
    /// change the windows.
    ///
    /// # Errors
    ///
    /// [`NoRoom`]; nothing has changed then.
    pub fn open(&self, jiffies: impl FnOnce() -> u64) -> Result<(), NoRoom> {
        if !self.is_open() {
            if !self.have_room() {
                return Err(NoRoom);
            }
            self.append(jiffies);
        }
        Ok(())
    }

    /// Closes the window: I/O counts up to and with the present jiffy. The caller is as in
    /// [`Self::open`].
    pub fn close(&self, jiffies: impl FnOnce() -> u64) {
        if self.is_open() {
            self.append(jiffies);
        }
    }

    fn append(&self, jiffies: impl FnOnce() -> u64) {
        let state = self.state.load(Relaxed);
        // ORDERING: Full, a barrier in the kernel. Who does not see this has read jiffies before
        // we do below, and so judges a `start_time` that is not after the edge.
        let _ = self.state.cmpxchg(state, state | CHANGING, Full);
        if let Some(edge) = self.edges.get((state / EDGE) as usize) {
            // ORDERING: Relaxed. Published with the number.
            edge.store(jiffies(), Relaxed);
        }
        // ORDERING: Full. The release half publishes the edge with the number.
        let _ = self
            .state
            .cmpxchg(state | CHANGING, state.wrapping_add(EDGE), Full);
    }

    /// Forgets all windows: nothing counts until one is opened. Nobody judges meanwhile, and none
    /// of the I/O that counted is in flight.
    pub fn forget(&self) {
        // ORDERING: Relaxed. Nobody looks: the caller orders it with those who did and who will.
        self.state.store(0, Relaxed);
    }
}

#[cfg(any(test, CONFIG_KUNIT))]
#[cfg_attr(CONFIG_KUNIT, kernel::macros::kunit_tests(blkacct_window))]
mod tests {
    use super::*;

    fn windows(edges: &[u64]) -> Windows {
        let windows = Windows::default();
        for (place, edge) in edges.iter().enumerate() {
            if place % 2 == 0 {
                assert!(windows.open(|| *edge).is_ok());
            } else {
                windows.close(|| *edge);
            }
        }
        windows
    }

    #[test]
    fn io_counts_from_after_the_opening_to_the_closing() {
        let windows = windows(&[10, 20, 30, 40, 50]);
        for (start_time, counts) in [
            (10, false),
            (11, true),
            (20, true),
            (21, false),
            (30, false),
            (31, true),
            (40, true),
            (41, false),
            (51, true),
            (5000, true),
        ] {
            assert_eq!(windows.cover(start_time), counts);
        }
    }

    #[test]
    fn a_later_edge_does_not_change_a_judgement() {
        let windows = Windows::default();
        for at in [10, 12, 12, 12, 13, 20] {
            let before = [9, 10, 11, 12, at].map(|start_time| windows.cover(start_time));
            if windows.is_open() {
                windows.close(|| at);
            } else {
                assert!(windows.open(|| at).is_ok());
            }
            // What has begun by now, so with a start time up to this one.
            let after = [9, 10, 11, 12, at].map(|start_time| windows.cover(start_time));
            for (start_time, (before, after)) in
                [9, 10, 11, 12, at].iter().zip(before.iter().zip(after))
            {
                assert!(*start_time > at || *before == after);
            }
        }
    }

    #[test]
    fn a_window_within_one_jiffy_counts_nothing() {
        let windows = windows(&[10, 10]);
        for start_time in 8..13 {
            assert!(!windows.cover(start_time));
        }
    }

    #[test]
    fn jiffies_that_wrap_make_no_difference() {
        let windows = windows(&[u64::MAX - 1, 3]);
        assert!(!windows.cover(u64::MAX - 1));
        assert!(windows.cover(u64::MAX));
        assert!(windows.cover(0));
        assert!(windows.cover(3));
        assert!(!windows.cover(4));
    }

    #[test]
    fn a_window_is_opened_and_closed_once() {
        let windows = windows(&[10]);
        assert!(windows.open(|| 15).is_ok());
        assert!(windows.cover(11));
        windows.close(|| 20);
        windows.close(|| 25);
        assert!(!windows.cover(21));
        assert_eq!(windows.last(), Some(20));
    }

    #[test]
    fn when_full_it_says_so_until_it_forgets() {
        let windows = Windows::default();
        for window in 0..EDGES as u64 / 2 {
            assert!(windows.open(|| 10 * window).is_ok());
            windows.close(|| 10 * window + 5);
        }
        assert!(windows.open(|| 10_000) == Err(NoRoom));
        assert!(windows.cover(1));
        windows.forget();
        assert!(!windows.cover(1));
        assert!(windows.open(|| 10_000).is_ok());
        assert!(windows.cover(10_001));
    }
}
