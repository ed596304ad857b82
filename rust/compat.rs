// SPDX-License-Identifier: GPL-2.0

//! Where the kernels that the module builds for differ. The source is the same for all of them, and
//! asks for no version.

use core::borrow::Borrow;

/// Returns a module parameter's value, of which the `kernel` crate of 7.2 gives a reference and
/// that of 7.3 a copy.
pub(crate) fn parameter(value: impl Borrow<u8>) -> u8 {
    *value.borrow()
}
