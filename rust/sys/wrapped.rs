// SPDX-License-Identifier: GPL-2.0

//! An array in which every index leads to an element, without a test.

use kernel::prelude::*;

/// An array of a power of two of elements, indexed modulo its length.
///
/// # Invariants
///
/// `elements` has `mask + 1` elements, a power of two, and never changes its length.
pub(crate) struct Wrapped<T> {
    elements: KVec<T>,
    mask: usize,
}

impl<T> Wrapped<T> {
    /// Makes an array of at least `least` elements, by `make`. May sleep.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub(crate) fn new(least: usize, make: impl Fn() -> T) -> Result<Self> {
        let length = least.max(1).checked_next_power_of_two().ok_or(ENOMEM)?;
        let mut elements = KVec::with_capacity(length, GFP_KERNEL)?;
        for _ in 0..length {
            elements.push(make(), GFP_KERNEL)?;
        }
        // INVARIANT: That many were pushed, and nothing else changes the length.
        Ok(Self {
            elements,
            mask: length - 1,
        })
    }

    /// Returns the number of elements.
    #[cfg(CONFIG_KUNIT)]
    pub(crate) fn len(&self) -> usize {
        self.elements.len()
    }

    /// Returns element `index` modulo the length.
    #[inline(always)]
    pub(crate) fn at(&self, index: usize) -> &T {
        // SAFETY: No more than `mask`, so there is one by the type invariants.
        unsafe { self.elements.get_unchecked(index & self.mask) }
    }

    /// Returns element `index` modulo the length.
    pub(crate) fn at_mut(&mut self, index: usize) -> &mut T {
        let index = index & self.mask;
        &mut self.elements[index]
    }

    /// Iterates over all elements.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &T> {
        self.elements.iter()
    }
}

#[cfg(CONFIG_KUNIT)]
#[kernel::macros::kunit_tests(blkacct_wrapped)]
mod tests {
    use super::*;
    use core::cell::Cell;

    #[test]
    fn every_index_leads_to_an_element() -> Result {
        for (least, length) in [(0, 1), (1, 1), (5, 8), (8, 8)] {
            let next = Cell::new(0);
            let mut array = Wrapped::new(least, || next.replace(next.get() + 1))?;
            assert_eq!(array.len(), length);
            for index in [0, 1, 7, 8, usize::MAX] {
                assert_eq!(*array.at(index), index % length);
                assert_eq!(*array.at_mut(index), index % length);
            }
        }
        Ok(())
    }

    #[test]
    fn what_cannot_be_had_is_an_error() {
        assert!(Wrapped::new(usize::MAX, || 0u64).is_err());
    }
}
