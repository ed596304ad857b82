// SPDX-License-Identifier: GPL-2.0
//! The table from which the module replays the cases is made of the cases that there are.

use std::fs;
use std::path::Path;

const TABLE: &str = "../../rust/cases/table.rs";

fn made_anew() -> String {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../testing/cases");
    let mut cases = Vec::new();
    for entry in dir.read_dir().unwrap() {
        let path = entry.unwrap().path();
        if path
            .extension()
            .is_some_and(|extension| extension == "trace")
        {
            let name = path.file_stem().unwrap().to_string_lossy().into_owned();
            let text = fs::read_to_string(&path).unwrap();
            cases.push((name, cases::parse(&text).unwrap()));
        }
    }
    cases.sort_by(|(a, _), (b, _)| a.cmp(b));
    cases::table(&cases).unwrap()
}

#[test]
fn the_table_of_the_module_is_made_of_the_cases() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(TABLE);
    let made = made_anew();
    if std::env::var_os("BLKACCT_MAKE_TABLE").is_some() {
        fs::write(&path, &made).unwrap();
    }
    let there = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        there == made,
        "rust/cases/table.rs is not of these cases; make it anew: \
         BLKACCT_MAKE_TABLE=1 cargo test -p cases --test table"
    );
}

#[test]
fn a_device_that_the_table_cannot_have_is_an_error() {
    let case = cases::parse("0 S 1 d1 R 8\n").unwrap();
    let error = cases::table(&[("X".to_owned(), case)]).unwrap_err();
    assert_eq!(error, "X: 1: the table knows no device d1");
}
