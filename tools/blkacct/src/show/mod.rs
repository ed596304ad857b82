// SPDX-License-Identifier: GPL-2.0
//! How figures are printed.

pub mod table;
