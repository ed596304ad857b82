// SPDX-License-Identifier: GPL-2.0
//! Cases that are not: any text, and real cases with a fault. Nothing panics, and an error names the line.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{select, Index};

const CASE: &str = "# all of them\n0 S 1 d0 R 8\n1 Q 1 d0 R 8\n2 P 1 d0 R 4\n3 R\n4 f 1 d0 F 0\n\
    5 g 1 d0 F 0\n6 S 2 d0p1 W 8\n6 M 2 d0p1 W 8 1\n7 T d0 0\nexpect@7 d0 busy=7 queue=8\n8 E 1 d0 D 8\n\
    9 X d0\nexpect d0 busy=0 flush_us=1\n";

const WORDS: [&str; 12] = [
    "",
    "0",
    "18446744073709551615",
    "18446744073709551616",
    "-1",
    "S",
    "M",
    "expect@",
    "d",
    "d0p",
    "busy=",
    "#",
];

/// Returns whether the error of a text, if it has one, is at a line of it.
fn is_told(text: &str) -> bool {
    match cases::parse(text) {
        Ok(case) => case.steps.len() <= text.lines().count(),
        Err(error) => (1..=text.lines().count()).contains(&error.line),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_text_is_a_case_or_an_error_with_its_line(bytes in vec(any::<u8>(), 0..400)) {
        prop_assert!(is_told(&String::from_utf8_lossy(&bytes)));
    }

    #[test]
    fn a_wrong_word_is_harmless_or_an_error_with_its_line(
        at in any::<Index>(),
        place in any::<Index>(),
        word in select(&WORDS[..]),
    ) {
        let mut lines: Vec<String> = CASE.lines().map(str::to_owned).collect();
        let at = at.index(lines.len());
        let mut words: Vec<&str> = lines[at].split(' ').collect();
        let place = place.index(words.len());
        words[place] = word;
        lines[at] = words.join(" ");
        if let Err(error) = cases::parse(&lines.join("\n")) {
            // Of a time that is too late, the next line tells.
            let later = matches!(error.fault, cases::Fault::Backwards { .. });
            prop_assert!(error.line == at + 1 || (later && error.line > at + 1), "{error}");
        }
    }
}
