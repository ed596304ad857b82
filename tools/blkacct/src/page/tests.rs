// SPDX-License-Identifier: GPL-2.0
//! The page as a whole.

use std::collections::HashMap;
use std::sync::Arc;

use super::html::page;
use super::pictures::{picture, NAMES};
use super::testing::{history, samples, Event};
use super::PICTURE_CSS;
use crate::record::{Header, Writer};

/// Returns all pictures in a page.
fn pictures_in(html: &str) -> Vec<&str> {
    let begins = html.match_indices("<svg ").map(|(at, _)| at);
    let end = |at: usize| html[at..].find("</svg>").map(|end| &html[at..at + end + 6]);
    begins.filter_map(end).collect()
}

/// Fails if a text is no well-formed XML: every tag is closed in order, and no text has markup.
fn assert_well_formed(xml: &str) {
    let mut open: Vec<&str> = Vec::new();
    let mut rest = xml;
    while let Some(at) = rest.find(['<', '&']) {
        if let Some(entity) = rest[at..].strip_prefix('&') {
            let name = &entity[..entity.find(';').expect("an entity ends")];
            assert!(["amp", "lt", "gt", "quot", "#39"].contains(&name), "{name}");
            rest = entity;
            continue;
        }
        let end = at + rest[at..].find('>').expect("a tag ends");
        let tag = &rest[at + 1..end];
        assert_eq!(tag.matches('"').count() % 2, 0, "{tag}");
        assert!(!tag.contains(['<', '\'']), "{tag}");
        if let Some(name) = tag.strip_prefix('/') {
            assert_eq!(open.pop(), Some(name));
        } else if !tag.ends_with('/') {
            open.push(tag.split(' ').next().unwrap_or(tag));
        }
        rest = &rest[end + 1..];
    }
    assert!(open.is_empty(), "{open:?}");
}

#[test]
fn every_picture_is_there_and_well_formed() {
    let run = history(2, 100, &[(30, Event::Gone), (40, Event::Back)]);
    let html = page(&[run], false);
    let all = pictures_in(&html);
    assert_eq!(all.len(), 2 * NAMES.len());
    all.into_iter().for_each(assert_well_formed);
    assert_eq!(html.matches("<details>").count(), 2 * NAMES.len());
}

#[test]
fn nothing_is_fetched_and_nothing_runs() {
    let html = page(&[history(1, 30, &[])], false).replace("http://www.w3.org/2000/svg", "");
    for no in [
        "http:",
        "https:",
        "<script",
        "src=",
        "url(",
        "@import",
        "javascript",
        " on",
    ] {
        let found = html
            .match_indices(no)
            .map(|(at, _)| &html[at..(at + 40).min(html.len())]);
        let found: Vec<_> = found
            .filter(|text| no != " on" || text.contains("=\""))
            .collect();
        assert!(found.is_empty(), "{no}: {found:?}");
    }
}

#[test]
fn hostile_names_are_text() {
    let mut run = history(1, 30, &[]);
    let mut disk = run.disks.remove("sda").unwrap();
    let evil = "</title></svg><script>alert('\"&')</script>\u{202e}\u{0}";
    let identity = Arc::make_mut(&mut disk.identity);
    identity.model = Some(evil.to_owned());
    identity.dm_name = Some(evil.to_owned());
    disk.suspects = vec![evil.to_owned()];
    run.disks.insert(evil.to_owned(), disk);
    run.title = evil.to_owned();
    run.host = Some(evil.to_owned());
    run.left_out.insert(evil.to_owned(), evil.to_owned());
    let html = page(&[run], false);
    assert!(!html.contains("<script"));
    assert!(!html.contains(['\u{202e}', '\u{0}']));
    pictures_in(&html).into_iter().for_each(assert_well_formed);
}

#[test]
fn a_gap_is_a_gap_in_every_line() {
    let run = history(1, 60, &[(20, Event::Gone), (30, Event::Back)]);
    for (name, _) in NAMES.iter().filter(|(name, _)| *name != "saturation") {
        let svg = picture("x", name, "sda", &run, &run.disks["sda"])
            .unwrap()
            .svg
            .end(None);
        assert!(svg.contains("class=\"gap\" d=\"M"), "{name}");
        // No line has a slope at all, and none begins in the gap or passes over it.
        let (from, to) = (76.0 + 708.0 * 19.0 / 59.0, 76.0 + 708.0 * 30.0 / 59.0);
        for line in svg.split("<path ").skip(1) {
            let class = line.split('"').nth(1).unwrap();
            let d = line.split('"').nth(3).unwrap();
            if !class.starts_with("line") && !class.starts_with("heat") {
                continue;
            }
            assert!(!d.contains('L'), "{name}");
            let mut at = 0.0;
            for part in d.split_inclusive(|c: char| c.is_ascii_digit() || c == '.' || c == ' ') {
                // Only to see that the path is made of these alone.
                assert!(part
                    .trim_matches(|c: char| "MVH .".contains(c) || c.is_ascii_digit())
                    .is_empty());
            }
            for run_of in d.split('M').skip(1) {
                let xs = run_of.split('H').enumerate().map(|(n, text)| {
                    let text = if n == 0 {
                        text.split([' ', 'V']).next()
                    } else {
                        text.split('V').next()
                    };
                    text.unwrap().parse::<f64>().unwrap()
                });
                let xs: Vec<f64> = xs.collect();
                let crosses = xs
                    .windows(2)
                    .any(|two| two[0] < from + 1.0 && two[1] > to - 1.0);
                assert!(!crosses, "{name} {class}: {xs:?}");
                at = xs.last().copied().unwrap_or(at);
            }
            assert!(at > to, "{name} {class}: goes on after the gap");
        }
    }
}

#[test]
fn an_hour_of_eight_disks_is_below_two_megabytes() {
    let run = history(8, 3600, &[]);
    let html = page(&[run], false);
    assert!(html.len() < 2_000_000, "{}", html.len());
    assert!(html.len() > 200_000, "{}", html.len());
}

#[test]
fn two_runs_are_put_side_by_side() {
    let html = page(&[history(1, 30, &[]), history(1, 40, &[])], false);
    assert!(html.contains("Side by side") && html.contains("before to after"));
    let ids = html.match_indices(" id=\"");
    let ids: Vec<_> = ids
        .map(|(at, _)| html[at + 5..].split('"').next().unwrap())
        .collect();
    let mut unique = ids.clone();
    unique.sort_unstable();
    unique.dedup();
    assert_eq!(ids.len(), unique.len(), "every id is there once");
}

/// Also what the test in a browser looks at: with `BLKACCT_PAGES` the pages stay in that directory.
#[test]
fn a_recording_becomes_a_page_and_a_picture() {
    let temporary = tempfile::tempdir().unwrap();
    let kept = std::env::var_os("BLKACCT_PAGES").map(std::path::PathBuf::from);
    let dir = kept.as_deref().unwrap_or(temporary.path());
    let recording = dir.join("made-up.blkacct");
    let header = Header::new(0, "host<&>".to_owned(), "7.0".to_owned());
    let mut writer = Writer::create(&recording, true, &header).unwrap();
    let events = [
        (700, Event::Gone),
        (800, Event::Back),
        (1300, Event::Suspend),
    ];
    for mut sample in samples(3, 1800, &events) {
        if let Some(disk) = sample
            .devices
            .last_mut()
            .filter(|disk| disk.identity.name == "sdc")
        {
            Arc::make_mut(&mut disk.identity).name = "sd<c>&\"'".to_owned();
        }
        writer.write(sample).unwrap();
    }
    writer.finish().unwrap();
    let run = |words: &[&str]| {
        let recording = recording.to_str().unwrap();
        let words = ["blkacct", "report", "--from", recording]
            .into_iter()
            .chain(words.iter().copied());
        let done = crate::run(words.map(std::ffi::OsString::from)).unwrap();
        assert_eq!(done, crate::exit::Exit::Ok);
    };
    let (page, picture) = (dir.join("page.html"), dir.join("util.svg"));
    run(&["-o", page.to_str().unwrap()]);
    run(&["--svg", "util", "-o", picture.to_str().unwrap()]);
    let html = std::fs::read_to_string(page).unwrap();
    assert!(html.contains("host&lt;&amp;&gt;") && html.contains("before 11:40: gone"));
    let svg = std::fs::read_to_string(picture).unwrap();
    assert!(svg.contains("<style>"));
    let (before, style) = svg.split_once("<style>").unwrap();
    let (_, after) = style.split_once("</style>").unwrap();
    assert_well_formed(&format!("{before}{after}"));
}

/// Returns the colours of light and of dark.
fn colours() -> [HashMap<String, [f64; 3]>; 2] {
    let (light, dark) = PICTURE_CSS.split_once("@media").unwrap();
    [light, dark].map(|part| {
        let declared = part
            .split("--")
            .skip(1)
            .filter_map(|text| text.split_once(": #"));
        let parsed = declared.map(|(name, value)| {
            let channel = |n: usize| {
                let byte = u8::from_str_radix(&value[2 * n..2 * n + 2], 16).unwrap();
                let part = f64::from(byte) / 255.0;
                match part <= 0.04045 {
                    true => part / 12.92,
                    false => ((part + 0.055) / 1.055).powf(2.4),
                }
            };
            (name.to_owned(), [channel(0), channel(1), channel(2)])
        });
        parsed.collect()
    })
}

fn luminance([r, g, b]: [f64; 3]) -> f64 {
    0.2126 * r + 0.7152 * g + 0.0722 * b
}

/// The contrast of two colours, by WCAG 2.
fn contrast(a: [f64; 3], b: [f64; 3]) -> f64 {
    let (a, b) = (luminance(a), luminance(b));
    (a.max(b) + 0.05) / (a.min(b) + 0.05)
}

#[test]
fn colours_have_contrast_in_light_and_dark() {
    for (scheme, colours) in ["light", "dark"].into_iter().zip(colours()) {
        let check = |front: &str, back: &str, least: f64| {
            let found = contrast(colours[front], colours[back]);
            assert!(
                found >= least,
                "{scheme}: {front} on {back}: {found:.2} of {least}"
            );
        };
        // Text: level AA. Times stand on a gap's shade, too.
        for front in ["text", "dim", "link"] {
            ["back", "card"]
                .into_iter()
                .for_each(|back| check(front, back, 4.5));
        }
        for front in ["read", "write", "queue", "driver", "stock", "bad"] {
            check(front, "back", 3.0);
            check(front, "gap", 3.0);
        }
        // The shades of a heatmap are in order, and the darkest is far from the page.
        check("h5", "back", 4.5);
        let shades = (0..6).map(|n| contrast(colours[&format!("h{n}")], colours["back"]));
        let shades: Vec<f64> = shades.collect();
        assert!(
            shades.windows(2).all(|two| two[1] > two[0] * 1.15),
            "{scheme}: {shades:?}"
        );
    }
}
