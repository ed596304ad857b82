// SPDX-License-Identifier: GPL-2.0
//! `check --watch` from outside. What it judges is tested beside its code.

#[allow(dead_code, reason = "each test crate uses its part")]
#[path = "common/fake.rs"]
mod fake;

use fake::Fake;

#[test]
fn a_device_that_is_not_in_mode_2_is_not_watched() {
    let fake = Fake::new();
    fake.put("sda/blkacct/iostats", "1\n");
    let (status, _, errors) = fake.run(&["check", "--watch", "sda"]);
    assert_eq!(status, 4);
    assert!(errors.contains("echo 2 > "), "{errors}");
}
