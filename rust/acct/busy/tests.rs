// SPDX-License-Identifier: GPL-2.0

//! Short histories of a busy clock, with a clock that is told what it says.

// Inline, as KUnit's macro wants it.
#[cfg_attr(CONFIG_KUNIT, kernel::macros::kunit_tests(blkacct_busy))]
mod suite {
    use super::super::*;

    fn at(t: u64) -> impl Clock {
        move || Nsec(t)
    }

    fn start(busy: &Busy, leaf: &Leaf, t: u64) -> Nsec {
        busy.start(leaf).commit(Nsec(t), &at(t))
    }

    fn end(busy: &Busy, leaf: &Leaf, t: u64) -> Option<Nsec> {
        busy.end(leaf).commit(Nsec(t), &at(t))
    }

    #[test]
    fn leaves_overlap_into_one_period() {
        let (busy, a, b) = (Busy::default(), Leaf::default(), Leaf::default());
        start(&busy, &a, 10);
        start(&busy, &a, 20);
        start(&busy, &b, 30);
        end(&busy, &a, 40);
        end(&busy, &a, 50);
        end(&busy, &b, 70);
        assert_eq!(busy.read(&at(1000)), (Nsec(1000), 60));
        assert!(!busy.is_busy());
    }

    #[test]
    fn a_start_that_was_overtaken_keeps_its_time() {
        let (busy, leaf) = (Busy::default(), Leaf::default());
        let first = busy.start(&leaf);
        assert_eq!(start(&busy, &leaf, 20), Nsec(20));
        // The first had read 10, but the root has changed since. Its hold of it is surplus.
        assert_eq!(first.commit(Nsec(10), &at(30)), Nsec(30));
        assert_eq!(leaf.in_flight(), 2);
        end(&busy, &leaf, 40);
        assert!(busy.is_busy());
        assert_eq!(end(&busy, &leaf, 50), Some(Nsec(50)));
        assert_eq!(busy.read(&at(60)).1, 30);
        assert!(!busy.is_busy());
    }

    #[test]
    fn a_start_that_joins_late_counts_from_its_time() {
        let (busy, leaf) = (Busy::default(), Leaf::default());
        start(&busy, &leaf, 10);
        let late = busy.start(&leaf);
        end(&busy, &leaf, 20);
        // It had read 15, but what it was about to join is over.
        assert_eq!(late.commit(Nsec(15), &at(30)), Nsec(30));
        end(&busy, &leaf, 40);
        assert_eq!(busy.read(&at(90)).1, 20);
    }

    #[test]
    fn an_end_that_was_overtaken_looks_again() {
        let (busy, leaf) = (Busy::default(), Leaf::default());
        start(&busy, &leaf, 0);
        start(&busy, &leaf, 0);
        let one = busy.end(&leaf);
        // It reads 10; the other ends at 11 and a third starts at 20. It has been there between.
        end(&busy, &leaf, 11);
        start(&busy, &leaf, 20);
        assert_eq!(one.commit(Nsec(10), &at(21)), Some(Nsec(21)));
        end(&busy, &leaf, 30);
        assert_eq!(busy.read(&at(40)).1, 30);
    }

    #[test]
    fn an_end_that_turns_out_to_be_the_last_closes_the_period() {
        let (busy, leaf) = (Busy::default(), Leaf::default());
        start(&busy, &leaf, 0);
        start(&busy, &leaf, 0);
        let one = busy.end(&leaf);
        let other = busy.end(&leaf);
        assert_eq!(one.commit(Nsec(10), &at(10)), Some(Nsec(10)));
        assert_eq!(other.commit(Nsec(9), &at(15)), Some(Nsec(15)));
        assert_eq!(busy.read(&at(20)).1, 15);
    }

    #[test]
    fn a_direct_io_and_one_on_a_leaf_are_busy_once() {
        let (busy, leaf) = (Busy::default(), Leaf::default());
        busy.start_direct().commit(Nsec(10), &at(10));
        start(&busy, &leaf, 20);
        assert_eq!(busy.end_direct().commit(Nsec(30), &at(30)), Some(Nsec(30)));
        end(&busy, &leaf, 40);
        assert_eq!(busy.read(&at(90)).1, 30);
        assert!(!busy.is_busy());
    }

    #[test]
    fn what_never_ends_is_abandoned_at_once() {
        let (busy, leaf) = (Busy::default(), Leaf::default());
        assert_eq!(busy.abandon(&leaf, &at(5)), 0);
        assert_eq!(busy.abandon_direct(&at(5)), 0);
        for t in [10, 20, 30] {
            start(&busy, &leaf, t);
        }
        for t in [12, 22] {
            busy.start_direct().commit(Nsec(t), &at(t));
        }
        assert_eq!(busy.abandon(&leaf, &at(40)), 3);
        assert!(busy.is_busy());
        assert_eq!(busy.abandon_direct(&at(50)), 2);
        assert!(!busy.is_busy());
        assert_eq!(busy.read(&at(90)).1, 40);
    }

    #[test]
    fn an_orphan_changes_nothing() {
        let (busy, leaf) = (Busy::default(), Leaf::default());
        assert_eq!(end(&busy, &leaf, 5), None);
        assert_eq!(busy.end_direct().commit(Nsec(5), &at(5)), None);
        start(&busy, &leaf, 7);
        assert_eq!(leaf.in_flight(), 1);
        assert_eq!(busy.read(&at(9)).1, 2);
    }
}
