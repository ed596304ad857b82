// SPDX-License-Identifier: GPL-2.0
use std::fs;

use super::*;
use crate::record::testing::{machine, step};
use crate::record::{frame, Encoder, Writer};

fn header() -> Header {
    Header::new(7, "host".to_owned(), "7.2.0".to_owned())
}

fn samples(count: u64) -> Vec<Sample> {
    let mut samples = vec![machine(1)];
    for seed in 1..count {
        let mut sample = samples[samples.len() - 1].clone();
        step(&mut sample, seed * 7);
        samples.push(sample);
    }
    samples
}

/// A recording with a key frame after every so many; and where each sample ends.
fn bytes(samples: &[Sample], every: usize) -> (Vec<u8>, Vec<usize>) {
    let mut bytes = header().line();
    let mut ends = Vec::new();
    let mut encoder = Encoder::default();
    for (number, sample) in samples.iter().enumerate() {
        if number % every == 0 {
            encoder = Encoder::default();
        }
        let is_key = encoder.frame(&mut bytes, sample.clone()).unwrap();
        assert_eq!(is_key, number % every == 0);
        ends.push(bytes.len());
    }
    (bytes, ends)
}

/// Reads all of a file that has these bytes.
fn read(bytes: &[u8]) -> anyhow::Result<(Vec<Sample>, Vec<Note>)> {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("file");
    fs::write(&path, bytes).unwrap();
    let mut replay = Replay::open(&path)?;
    let mut samples = Vec::new();
    while let Some(sample) = replay.next()? {
        samples.push(sample);
    }
    Ok((samples, replay.take_notes()))
}

#[test]
fn a_file_that_is_cut_anywhere_has_all_samples_before_and_says_so() {
    let samples = samples(5);
    let (bytes, ends) = bytes(&samples, 3);
    let begin = header().line().len();
    for cut in 0..=bytes.len() {
        if cut < begin {
            let error = format!("{:#}", read(&bytes[..cut]).unwrap_err());
            let is_said = error.contains("in its header") || error.contains("no recording");
            assert!(is_said && error.contains("/file: "), "{cut}: {error}");
            continue;
        }
        let whole = ends.iter().filter(|&&end| end <= cut).count();
        let (found, notes) = read(&bytes[..cut]).unwrap();
        assert_eq!(found, samples[..whole], "{cut}");
        let is_torn = cut != begin && !ends.contains(&cut);
        assert_eq!(notes.len(), usize::from(is_torn), "{cut}");
        for note in notes {
            let text = note.to_string();
            assert!(text.contains("ends in the middle of a sample"), "{text}");
        }
    }
}

#[test]
fn a_byte_that_is_flipped_anywhere_is_found_and_the_rest_is_read() {
    let samples = samples(4);
    let (bytes, ends) = bytes(&samples, 2);
    let begin = header().line().len();
    for place in 0..bytes.len() {
        let mut flipped = bytes.clone();
        flipped[place] ^= [0x01, 0x80, 0xff][place % 3];
        let (found, notes) = read(&flipped).unwrap();
        let mut want = samples.clone();
        if place >= begin {
            let hit = ends.iter().filter(|&&end| end <= place).count();
            want.drain(hit..(hit / 2 + 1) * 2);
        }
        assert_eq!(found, want, "{place}");
        assert_eq!(notes.len(), 1, "{place}: {notes:?}");
    }
}

#[test]
fn a_sample_that_is_none_is_passed_over_with_those_that_follow_it() {
    let samples = samples(2);
    let mut bytes = header().line();
    let sum = frame::put(&mut bytes, true, 0, b"\x03");
    frame::put(&mut bytes, false, sum, b"");
    Encoder::default()
        .frame(&mut bytes, samples[0].clone())
        .unwrap();
    let (found, notes) = read(&bytes).unwrap();
    assert_eq!(found, samples[..1]);
    let notes: Vec<String> = notes.iter().map(Note::to_string).collect();
    assert_eq!(notes.len(), 2, "{notes:?}");
    assert!(notes[0].contains("its checksum is right, and it has no boot id"));
}

#[test]
fn any_sample_can_be_gone_to() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("file");
    let samples = samples(130);
    let mut writer = Writer::create(&path, false, &header()).unwrap();
    for sample in &samples {
        writer.write(sample.clone()).unwrap();
    }
    assert_eq!(writer.length(), fs::metadata(&path).unwrap().len());
    writer.finish().unwrap();
    let mut replay = Replay::open(&path).unwrap();
    assert_eq!(replay.header(), Some(&header()));
    let index = replay.index().unwrap();
    assert_eq!((index.samples, index.keys.len()), (130, 3));
    for number in [0, 1, 59, 60, 61, 129, 3] {
        replay.seek(&index, number).unwrap();
        let sample = replay.next().unwrap();
        assert_eq!(sample.as_ref(), samples.get(number as usize), "{number}");
    }
    for number in [130, 999] {
        replay.seek(&index, number).unwrap();
        assert_eq!(replay.next().unwrap(), None);
    }
    assert_eq!(index.at(samples[61].wall_ns), 60);
    assert_eq!(index.at(samples[60].wall_ns), 60);
    assert_eq!((index.at(0), index.at(u64::MAX)), (0, 120));
    assert_eq!(replay.take_notes(), []);
    // A file that is there is not written over.
    let error = Writer::create(&path, false, &header()).err().unwrap();
    assert!(error.to_string().contains("--overwrite"), "{error}");
    assert_eq!(Replay::open(&path).unwrap().index().unwrap(), index);
    Writer::create(&path, true, &header()).unwrap();
    assert_eq!(Replay::open(&path).unwrap().index().unwrap().samples, 0);
}

#[test]
fn a_device_is_found_by_any_of_its_names_wherever_it_comes() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("file");
    let mut samples = samples(2);
    let last = &mut samples[1].devices[0].identity;
    let identity = std::sync::Arc::make_mut(last);
    (identity.name, identity.dm_name) = ("dm-7".to_owned(), Some("vg-home".to_owned()));
    fs::write(&path, bytes(&samples, 60).0).unwrap();
    let mut replay = Replay::open(&path).unwrap();
    assert_eq!(replay.find("/dev/mapper/vg-home").unwrap(), "dm-7");
    assert_eq!(replay.next().unwrap().as_ref(), Some(&samples[0]));
    let error = replay.find("sdz").unwrap_err();
    assert!(
        error.to_string().contains("sdz: not in it, it has"),
        "{error}"
    );
    assert!(error.downcast_ref::<NotAvailable>().is_some());
}
