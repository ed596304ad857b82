// SPDX-License-Identifier: GPL-2.0

//! Short histories of a root, with a clock that is told what it says.

// Inline, as KUnit's macro wants it.
#[cfg_attr(CONFIG_KUNIT, kernel::macros::kunit_tests(blkacct_root))]
mod suite {
    use super::super::super::{
        nsec::{
            Clock,
            Nsec, //
        },
        root::Root,
        sync::Atomic,
        word::{
            idle_word,
            TOTAL_BITS, //
        }, //
    };

    const MODULUS: u64 = 1 << TOTAL_BITS;

    fn at(t: u64) -> impl Clock {
        move || Nsec(t)
    }

    fn arrive(root: &Root, t: u64) -> Nsec {
        root.arrive(root.arriving(), Nsec(t), &at(t))
    }

    fn depart(root: &Root, t: u64) -> Nsec {
        let time = root.depart(root.departing(), Nsec(t), &at(t));
        time.unwrap_or(Nsec(0))
    }

    fn total(root: &Root, t: u64) -> u64 {
        root.read(&at(t)).1
    }

    #[test]
    fn overlapping_holders_are_busy_once() {
        let root = Root::default();
        arrive(&root, 100);
        arrive(&root, 140);
        depart(&root, 150);
        depart(&root, 180);
        assert_eq!(total(&root, 1000), 80);
        assert!(!root.is_busy());
    }

    #[test]
    fn an_idle_gap_is_not_charged() {
        let root = Root::default();
        arrive(&root, 0);
        depart(&root, 100);
        arrive(&root, 1_000_000);
        arrive(&root, 1_000_000);
        depart(&root, 1_000_030);
        depart(&root, 1_000_030);
        assert_eq!(total(&root, 2_000_000), 130);
    }

    #[test]
    fn a_reader_sees_the_open_span() {
        let root = Root::default();
        arrive(&root, 10);
        assert_eq!(total(&root, 10), 0);
        assert_eq!(total(&root, 25), 15);
    }

    #[test]
    fn a_reader_charges_nothing_that_is_over() {
        let root = Root::default();
        arrive(&root, 0);
        // The period ends while the reader is about to read the clock.
        let clock = || {
            root.depart(root.departing(), Nsec(10), &at(10));
            Nsec(1000)
        };
        assert_eq!(root.read(&clock), (Nsec(1000), 10));
    }

    #[test]
    fn a_stale_end_does_not_close_the_period() {
        let root = Root::default();
        arrive(&root, 0);
        let last = root.departing();
        arrive(&root, 11);
        depart(&root, 20);
        // The last holder read 10 before the other came and went: it must look again.
        let time = root.depart(last, Nsec(10), &at(21));
        assert_eq!(time, Some(Nsec(21)));
        assert_eq!(total(&root, 30), 21);
    }

    #[test]
    fn an_end_among_others_does_not_hold_the_root_unseen() {
        let root = Root::default();
        arrive(&root, 0);
        arrive(&root, 0);
        let one = root.departing();
        // It reads 10, the other ends at 11, and a third starts at 20: only `one` is there between.
        depart(&root, 11);
        arrive(&root, 20);
        let time = root.depart(one, Nsec(10), &at(21));
        assert_eq!(time, Some(Nsec(21)));
        depart(&root, 30);
        assert_eq!(total(&root, 40), 30);
    }

    #[test]
    fn the_version_wraps_within_its_bits() {
        let root = Root::default();
        for t in 0..600 {
            arrive(&root, 2 * t);
            depart(&root, 2 * t + 1);
        }
        assert_eq!(total(&root, 5000), 600);
        assert!(!root.is_busy());
    }

    #[test]
    fn a_stale_start_does_not_open_one_in_the_past() {
        let root = Root::default();
        let late = root.arriving();
        arrive(&root, 10);
        depart(&root, 20);
        let time = root.arrive(late, Nsec(5), &at(50));
        assert_eq!(time, Nsec(50));
        depart(&root, 60);
        assert_eq!(total(&root, 100), 20);
    }

    #[test]
    fn a_clock_that_steps_back_is_clamped_and_told() {
        struct Late(core::cell::Cell<u64>);
        impl Clock for Late {
            fn now(&self) -> Nsec {
                Nsec(90)
            }
            fn was_behind(&self, ns: u64) {
                self.0.set(ns);
            }
        }
        let (root, clock) = (Root::default(), Late(core::cell::Cell::new(0)));
        arrive(&root, 100);
        let time = root.depart(root.departing(), Nsec(90), &clock);
        assert_eq!(time, Some(Nsec(100)));
        assert_eq!(clock.0.get(), 10);
        assert_eq!(total(&root, 200), 0);
    }

    #[test]
    fn nobody_departs_from_an_idle_root() {
        let root = Root::default();
        assert_eq!(root.depart(root.departing(), Nsec(5), &at(5)), None);
        assert!(!root.is_busy());
    }

    #[test]
    fn the_total_survives_the_wrap_of_its_word() {
        let root = Root {
            word: Atomic::new(idle_word(MODULUS - 1)),
            last: Atomic::new(0),
        };
        let start = 5 * MODULUS;
        arrive(&root, start);
        depart(&root, start + 8);
        assert_eq!(total(&root, start + 20), 7);
    }
}
