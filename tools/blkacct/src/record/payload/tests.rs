// SPDX-License-Identifier: GPL-2.0
use super::*;
use acct::wire::Stat;
use proptest::prelude::*;

use crate::record::testing::{machine, step};

fn round(samples: &[Sample]) -> Vec<usize> {
    let mut lengths = Vec::new();
    let mut last: Option<Sample> = None;
    for sample in samples {
        let mut bytes = Vec::new();
        write(&mut bytes, last.as_ref(), sample).unwrap();
        assert_eq!(read(&bytes, last.as_ref()).as_ref(), Ok(sample));
        // As a key frame, too.
        let mut key = Vec::new();
        write(&mut key, None, sample).unwrap();
        assert_eq!(read(&key, None).as_ref(), Ok(sample));
        assert_eq!(wall_ns(&key), Some(sample.wall_ns));
        lengths.push(bytes.len());
        last = Some(sample.clone());
    }
    lengths
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn every_sample_comes_back(seeds: Vec<u64>) {
        let mut samples = vec![machine(3)];
        for seed in seeds.into_iter().take(20) {
            let mut sample = samples[samples.len() - 1].clone();
            step(&mut sample, seed);
            samples.push(sample);
        }
        round(&samples);
    }

    #[test]
    fn no_bytes_do_harm(bytes: Vec<u8>, place: usize, value: u8) {
        let _ = read(&bytes, None);
        let _ = read(&bytes, Some(&machine(2)));
        // Nor do those that nearly are a sample.
        let mut nearly = Vec::new();
        write(&mut nearly, None, &machine(2)).unwrap();
        let place = place % nearly.len();
        nearly[place] = value;
        let _ = read(&nearly, None);
        let _ = read(&nearly[..place], None);
    }
}

#[test]
fn each_thing_that_can_change_comes_back() {
    let first = machine(3);
    let with = |change: &dyn Fn(&mut Sample)| {
        let mut sample = first.clone();
        sample.begin_ns += 1_000_000_000;
        change(&mut sample);
        round(&[first.clone(), sample.clone(), first.clone(), sample]);
    };
    with(&|s| s.boot_id = "other".into());
    with(&|s| s.suspended_ns = 5);
    with(&|s| s.wall_ns = 3);
    with(&|s| s.begin_ns = 1);
    with(&|s| s.devices.clear());
    with(&|s| drop(s.devices.remove(1)));
    with(&|s| s.devices.swap(0, 2));
    with(&|s| s.devices[1].identity = s.devices[0].identity.clone());
    with(&|s| Arc::make_mut(&mut s.devices[1].identity).diskseq = Some(99));
    with(&|s| {
        let identity = Arc::make_mut(&mut s.devices[1].identity);
        identity.queue.scheduler = Some("bfq".to_owned());
    });
    with(&|s| s.devices[0].mode = None);
    with(&|s| s.devices[0].mode = Some(255));
    with(&|s| s.devices[0].stat = None);
    with(&|s| s.devices[0].stat = Some(Stat::default()));
    with(&|s| s.devices[0].stat.as_mut().unwrap().errors = None);
    with(&|s| s.devices[0].stat.as_mut().unwrap().device = None);
    with(&|s| s.devices[0].counted_ns = None);
    with(&|s| s.devices[0].counted_ns = Some(0));
    with(&|s| s.devices[0].anomalies = None);
    with(&|s| s.devices[0].classic = None);
    with(&|s| s.devices[0].classic = Some(true));
    with(&|s| s.devices[0].kernel = None);
    with(&|s| s.devices[0].latencies = Latencies::default());
    with(&|s| s.devices[0].latencies.0[4] = Some(Arc::default()));
    let latency = |s: &mut Sample, change: fn(&mut Latency)| {
        change(Arc::make_mut(
            s.devices[0].latencies.0[0].get_or_insert_default(),
        ));
    };
    with(&|s| latency(s, |l| l.device = None));
    with(&|s| latency(s, |l| l.total = Default::default()));
    with(&|s| latency(s, |l| l.total.0[113] = u64::MAX));
}

#[test]
fn what_has_not_changed_takes_no_room() {
    let first = machine(3);
    let mut second = first.clone();
    second.begin_ns += 1_000_000_000;
    second.end_ns += 1_000_000_000;
    second.wall_ns += 1_000_000_000;
    for device in &mut second.devices {
        device.stat.as_mut().unwrap().time_ns += 1_000_000_000;
        *device.counted_ns.as_mut().unwrap() += 1_000_000_000;
    }
    // Flags, a second, three other clocks, and the end of each device.
    assert_eq!(round(&[first, second])[1], 1 + 5 + 3 + 3);
}

#[test]
fn one_device_is_not_made_two() {
    let first = machine(1);
    let mut bytes = Vec::new();
    let mut second = first.clone();
    second.devices.push(second.devices[0].clone());
    write(&mut bytes, Some(&first), &second).unwrap();
    // The second one is written as new.
    assert_eq!(read(&bytes, Some(&first)).as_ref(), Ok(&second));
    // flags, four clocks, two devices, both the first of before.
    let twice = [LIST as u8, 0, 0, 0, 0, 2, 1, 1, 0, 0];
    assert_eq!(read(&twice, Some(&first)), Err(Fault("such device before")));
    let many = [LIST as u8, 0, 0, 0, 0, 0xff, 0xff, 0x7f];
    assert_eq!(read(&many, Some(&first)), Err(Fault("list of devices")));
    assert_eq!(
        read(&[0, 0, 0, 0, 0, 0], None),
        Err(Fault("flags that can be"))
    );
}

#[test]
fn more_devices_than_there_can_be_are_refused() {
    let mut sample = machine(1);
    sample.devices = vec![sample.devices[0].clone(); MOST_DEVICES + 1];
    let error = write(&mut Vec::new(), None, &sample).unwrap_err();
    assert!(error.to_string().contains("16385 devices"), "{error}");
}
