// SPDX-License-Identifier: GPL-2.0

//! Counts the writes to what hardware queues share: none while each queue has I/O in flight.
//!
//! The core is built once more, on atomics that count. A write is a store or a `cmpxchg`, whether
//! that succeeds or not: each takes the cache line away from the other CPUs.

#![cfg(not(loom))]
#![allow(missing_docs)]

use std::sync::Barrier;
use std::thread;

use counting::busy::Busy;
use counting::leaf::Leaf;
use counting::nsec::Nsec;
use counting::sync::writes_to;

// An inline module, so that the files find their siblings in it, as they do in the module's build.
#[path = "../../../rust/acct"]
#[allow(dead_code)]
mod counting {
    pub mod busy;
    pub mod extended;
    pub mod leaf;
    pub mod nsec;
    pub mod root;
    mod word;

    #[path = "../../tools/acct/tests/common/counting_sync.rs"]
    pub mod sync;
}

const IOS: u64 = 10_000;

/// Keeps `depth` I/Os in flight on a leaf, the oldest ending when another has started; returns what
/// `in_steady_state` says when it has been called with what one I/O takes, at that depth.
fn steady<R>(
    busy: &Busy,
    leaf: &Leaf,
    depth: u64,
    in_steady_state: impl FnOnce(&dyn Fn()) -> R,
) -> R {
    let clock = || Nsec(1);
    let start = || {
        busy.start(leaf).commit(clock(), &clock);
    };
    let end = || {
        busy.end(leaf).commit(clock(), &clock);
    };
    (1..depth).for_each(|_| start());
    let result = in_steady_state(&|| {
        start();
        end();
    });
    (1..depth).for_each(|_| end());
    result
}

/// Returns the writes to the busy clock, and those to the leaf, that `IOS` I/Os made.
fn writes(busy: &Busy, depth: u64) -> (u64, u64) {
    let leaf = Leaf::default();
    steady(busy, &leaf, depth, |io| {
        let before = (writes_to(busy), writes_to(&leaf));
        (0..IOS).for_each(|_| io());
        (writes_to(busy) - before.0, writes_to(&leaf) - before.1)
    })
}

#[test]
fn no_shared_line_is_written_at_depth() {
    for depth in [2, 4, 32] {
        assert_eq!(
            writes(&Busy::default(), depth),
            (0, 2 * IOS),
            "depth {depth}"
        );
    }
}

#[test]
fn no_shared_line_is_written_at_depth_on_many_queues() {
    let busy = Busy::default();
    let all = Barrier::new(4);
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let leaf = Leaf::default();
                steady(&busy, &leaf, 3, |io| {
                    // Nobody is on the way in or out while this is counted.
                    all.wait();
                    let before = writes_to(&busy);
                    all.wait();
                    (0..IOS).for_each(|_| io());
                    all.wait();
                    assert_eq!(writes_to(&busy), before);
                    all.wait();
                });
            });
        }
    });
}

#[test]
fn each_io_turns_the_root_twice_at_depth_1() {
    // A cmpxchg and a hint each: what the others are spared.
    assert_eq!(writes(&Busy::default(), 1), (4 * IOS, 2 * IOS));
}
