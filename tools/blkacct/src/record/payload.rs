// SPDX-License-Identifier: GPL-2.0
//! A sample as bytes: what has changed since the one before it.

use std::collections::HashMap;
use std::sync::Arc;

use acct::hist::{Latency, BUCKETS};
use acct::sgrp::StatGroup;

use super::cells::{self, CELLS};
use super::changes;
use super::varint::{put, take, unzigzag, zigzag};
use crate::sample::{DeviceSample, Identity, Latencies, Sample};

/// No machine has as many devices.
pub const MOST_DEVICES: usize = 1 << 14;

/// The list of devices follows; else they are those of the sample before.
const LIST: u64 = 1;
/// The boot id follows.
const BOOT: u64 = 2;

/// Numbers of a device: its counters, then its histograms.
const PLACES: usize = CELLS + StatGroup::COUNT * 2 * BUCKETS;

/// Why bytes are no sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("its checksum is right, and it has no {0}")]
pub struct Fault(&'static str);

/// Returns a sample that has nothing: a key frame says what has changed since then.
fn nothing() -> Sample {
    Sample {
        boot_id: "".into(),
        wall_ns: 0,
        begin_ns: 0,
        end_ns: 0,
        suspended_ns: 0,
        devices: Vec::new(),
    }
}

fn blank(identity: Arc<Identity>) -> DeviceSample {
    DeviceSample {
        identity,
        mode: None,
        took_ns: 0,
        stat: None,
        counted_ns: None,
        anomalies: None,
        latencies: Latencies::default(),
        classic: None,
        kernel: None,
    }
}

/// Appends a sample. `before` is the one before it, none in a key frame.
///
/// # Errors
///
/// Too many devices; an identity that has no JSON.
pub fn write(out: &mut Vec<u8>, before: Option<&Sample>, sample: &Sample) -> anyhow::Result<()> {
    let empty = nothing();
    let last = before.unwrap_or(&empty);
    anyhow::ensure!(
        sample.devices.len() <= MOST_DEVICES,
        "{} devices, and a recording has no more than {MOST_DEVICES}: name some",
        sample.devices.len()
    );
    let same_list = before.is_some() && is_same_list(last, sample);
    let same_boot = before.is_some() && last.boot_id == sample.boot_id;
    let flag = |is: bool, flag: u64| if is { 0 } else { flag };
    put(out, flag(same_list, LIST) | flag(same_boot, BOOT));
    if !same_boot {
        put_bytes(out, sample.boot_id.as_bytes());
    }
    let grown = |new: u64, old: u64| zigzag(new.wrapping_sub(old));
    put(out, grown(sample.begin_ns, last.begin_ns));
    // The clocks run alike, and a read takes about as long as the one before.
    let off = |sample: &Sample| sample.wall_ns.wrapping_sub(sample.begin_ns);
    put(out, grown(off(sample), off(last)));
    let took = |sample: &Sample| sample.end_ns.wrapping_sub(sample.begin_ns);
    put(out, grown(took(sample), took(last)));
    put(out, grown(sample.suspended_ns, last.suspended_ns));
    let origins = match same_list {
        true => last.devices.iter().map(Some).collect(),
        false => put_list(out, last, sample)?,
    };
    for (device, origin) in sample.devices.iter().zip(origins) {
        put_device(out, (origin, last.begin_ns), (device, sample.begin_ns));
    }
    Ok(())
}

fn is_same_list(last: &Sample, sample: &Sample) -> bool {
    let pairs = last.devices.iter().zip(&sample.devices);
    let same = |a: &Arc<Identity>, b: &Arc<Identity>| Arc::ptr_eq(a, b) || a == b;
    last.devices.len() == sample.devices.len()
        && pairs
            .into_iter()
            .all(|(a, b)| same(&a.identity, &b.identity))
}

/// Appends the devices: of each 0 and its identity if it is new, else twice its place in the list
/// before and 1; or that and 2, and its identity, if something of that has changed. Returns what
/// each was before.
fn put_list<'a>(
    out: &mut Vec<u8>,
    last: &'a Sample,
    sample: &Sample,
) -> anyhow::Result<Vec<Option<&'a DeviceSample>>> {
    let names = last.devices.iter().enumerate();
    let mut places: HashMap<&str, usize> = names
        .map(|(place, device)| (device.identity.name.as_str(), place))
        .collect();
    put(out, sample.devices.len() as u64);
    let mut origins = Vec::with_capacity(sample.devices.len());
    for device in &sample.devices {
        let identity = &device.identity;
        // Each is the origin of one.
        let place = places.remove(identity.name.as_str());
        let origin = place.and_then(|place| Some((place, last.devices.get(place)?)));
        let origin = origin.filter(|(_, origin)| origin.identity.is_same(identity));
        let is_as_it_was = origin.is_some_and(|(_, origin)| origin.identity == *identity);
        let place = origin.map_or(0, |(place, _)| 2 * place as u64 + 1);
        put(out, place + u64::from(!is_as_it_was && origin.is_some()));
        if !is_as_it_was {
            put_bytes(out, &serde_json::to_vec(identity)?);
        }
        origins.push(origin.map(|(_, origin)| origin));
    }
    Ok(origins)
}

fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    put(out, bytes.len() as u64);
    out.extend(bytes);
}

/// Appends what has changed on a device, each sample of which was begun at its time.
fn put_device(
    out: &mut Vec<u8>,
    (old, old_begin): (Option<&DeviceSample>, u64),
    (new, new_begin): (&DeviceSample, u64),
) {
    let mut changes = changes::Writer::new(out);
    let old_cells = old.map_or([0; CELLS], |old| cells::write(old, old_begin));
    let new_cells = cells::write(new, new_begin);
    for (place, (&old, &new)) in old_cells.iter().zip(&new_cells).enumerate() {
        changes.add(place, old, new);
    }
    for (group, new) in new.latencies.0.iter().enumerate() {
        let old = old.and_then(|old| old.latencies.0[group].as_ref());
        let Some(new) = new else { continue };
        if old.is_some_and(|old| Arc::ptr_eq(old, new)) {
            continue;
        }
        let place = CELLS + group * 2 * BUCKETS;
        let at_driver = (old.and_then(|old| old.device.as_ref()), new.device.as_ref());
        let sides = [(old.map(|old| &old.total), Some(&new.total)), at_driver];
        for (place, (old, new)) in [place, place + BUCKETS].into_iter().zip(sides) {
            let Some(new) = new else { continue };
            for (bucket, &new) in new.0.iter().enumerate() {
                changes.add(place + bucket, old.map_or(0, |old| old.0[bucket]), new);
            }
        }
    }
    changes.end();
}

/// Reads a sample. `before` is the one before it, none in a key frame.
///
/// # Errors
///
/// Bytes that [`write`] does not write.
pub fn read(mut bytes: &[u8], before: Option<&Sample>) -> Result<Sample, Fault> {
    let empty = nothing();
    let last = before.unwrap_or(&empty);
    let bytes = &mut bytes;
    let flags = take(bytes).ok_or(Fault("flags"))?;
    let must = if before.is_none() { LIST | BOOT } else { 0 };
    if flags > LIST | BOOT || flags & must != must {
        return Err(Fault("flags that can be"));
    }
    let boot_id = match flags & BOOT {
        0 => last.boot_id.clone(),
        _ => text(bytes).ok_or(Fault("boot id"))?.into(),
    };
    let mut clock = |old: u64| {
        let grown = take(bytes).ok_or(Fault("clocks"))?;
        Ok(old.wrapping_add(unzigzag(grown)))
    };
    let begin_ns = clock(last.begin_ns)?;
    let wall_ns = clock(last.wall_ns.wrapping_sub(last.begin_ns))?.wrapping_add(begin_ns);
    let end_ns = clock(last.end_ns.wrapping_sub(last.begin_ns))?.wrapping_add(begin_ns);
    let suspended_ns = clock(last.suspended_ns)?;
    let origins = match flags & LIST {
        0 => last.devices.clone(),
        _ => list(bytes, last)?,
    };
    let mut devices = Vec::with_capacity(origins.len());
    for origin in origins {
        devices.push(device(bytes, (origin, last.begin_ns), begin_ns)?);
    }
    if !bytes.is_empty() {
        return Err(Fault("end where it should"));
    }
    Ok(Sample {
        boot_id,
        wall_ns,
        begin_ns,
        end_ns,
        suspended_ns,
        devices,
    })
}

/// Returns the wall clock of a key frame, without the rest of it.
pub fn wall_ns(mut bytes: &[u8]) -> Option<u64> {
    let bytes = &mut bytes;
    take(bytes)?;
    text(bytes)?;
    let (begin, off) = (unzigzag(take(bytes)?), unzigzag(take(bytes)?));
    Some(begin.wrapping_add(off))
}

/// Reads the devices; each as it was in the sample before, or blank.
fn list(bytes: &mut &[u8], last: &Sample) -> Result<Vec<DeviceSample>, Fault> {
    let count = take(bytes).and_then(|count| usize::try_from(count).ok());
    let count = count.filter(|&count| count <= MOST_DEVICES);
    let count = count.ok_or(Fault("list of devices"))?;
    let mut origins: Vec<Option<&DeviceSample>> = last.devices.iter().map(Some).collect();
    let mut devices = Vec::new();
    for _ in 0..count {
        let origin = take(bytes).ok_or(Fault("list of devices"))?;
        let identity = |bytes: &mut &[u8]| {
            let identity = serde_json::from_str(text(bytes)?).ok()?;
            Some(Arc::new(identity))
        };
        let Some(place) = origin.checked_sub(1) else {
            let identity = identity(bytes).ok_or(Fault("identity"))?;
            devices.push(blank(identity));
            continue;
        };
        // Each is the origin of one, or few bytes would make many.
        let origin = usize::try_from(place / 2).ok();
        let origin = origin.and_then(|place| origins.get_mut(place)?.take());
        let mut device = origin.ok_or(Fault("such device before"))?.clone();
        if place % 2 == 1 {
            device.identity = identity(bytes).ok_or(Fault("identity"))?;
        }
        devices.push(device);
    }
    Ok(devices)
}

fn text<'a>(bytes: &mut &'a [u8]) -> Option<&'a str> {
    let length = usize::try_from(take(bytes)?).ok()?;
    let (text, rest) = bytes.split_at_checked(length)?;
    *bytes = rest;
    std::str::from_utf8(text).ok()
}

/// Reads what has changed on a device, which was begun to be read at its time.
fn device(
    bytes: &mut &[u8],
    (mut sample, old_begin): (DeviceSample, u64),
    begin_ns: u64,
) -> Result<DeviceSample, Fault> {
    let mut cells = cells::write(&sample, old_begin);
    let latencies = &mut sample.latencies.0;
    let add = |place: usize, by: u64| {
        let count = match place.checked_sub(CELLS) {
            None => &mut cells[place],
            Some(place) => {
                let (side, bucket) = (place / BUCKETS, place % BUCKETS);
                let latency: &mut Latency =
                    Arc::make_mut(latencies[side / 2].get_or_insert_default());
                let counts = match side % 2 {
                    0 => &mut latency.total,
                    _ => latency.device.get_or_insert_default(),
                };
                &mut counts.0[bucket]
            }
        };
        *count = count.wrapping_add(by);
    };
    changes::read(bytes, PLACES, add).ok_or(Fault("changes of a device"))?;
    let has = cells::read(&cells, begin_ns, &mut sample).ok_or(Fault("device that can be"))?;
    for (group, latency) in sample.latencies.0.iter_mut().enumerate() {
        if !has.total(group) {
            *latency = None;
            continue;
        }
        let counts = latency.get_or_insert_default();
        if counts.device.is_some() != has.at_driver(group) {
            let counts = Arc::make_mut(counts);
            counts.device = has
                .at_driver(group)
                .then(|| counts.device.unwrap_or_default());
        }
    }
    Ok(sample)
}

#[cfg(test)]
mod tests;
