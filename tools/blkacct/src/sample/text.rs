// SPDX-License-Identifier: GPL-2.0
//! The module's own types in JSON: files as the text that they were, histograms as their buckets
//! that are not empty.

/// A file as its text, without the newline.
pub mod option {
    use std::fmt::Display;
    use std::str::FromStr;

    use serde::de::{Deserialize, Deserializer, Error};
    use serde::ser::{Serialize, Serializer};

    pub fn serialize<T: Display, S: Serializer>(
        value: &Option<T>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        let text = value.as_ref().map(|value| value.to_string());
        text.as_deref().map(str::trim_end).serialize(serializer)
    }

    pub fn deserialize<'a, T, D>(deserializer: D) -> Result<Option<T>, D::Error>
    where
        T: FromStr<Err: Display>,
        D: Deserializer<'a>,
    {
        let text = Option::<String>::deserialize(deserializer)?;
        text.map(|text| text.parse().map_err(D::Error::custom))
            .transpose()
    }
}

/// The histograms of all groups: of each its lines `total` and `device`, of each the place and the
/// count of its buckets.
pub mod latencies {
    use std::sync::Arc;

    use acct::hist::{Counts, Latency, BUCKETS};
    use acct::sgrp::StatGroup;
    use serde::de::{Deserialize, Deserializer, Error};
    use serde::ser::{Serialize, Serializer};

    type All = [Option<Arc<Latency>>; StatGroup::COUNT];
    type Buckets = Vec<(usize, u64)>;
    type Sides = (Buckets, Option<Buckets>);

    pub fn serialize<S: Serializer>(all: &All, serializer: S) -> Result<S::Ok, S::Error> {
        let sides = |latency: &Latency| {
            (
                buckets(&latency.total),
                latency.device.as_ref().map(buckets),
            )
        };
        let all: Vec<Option<Sides>> = all.iter().map(|one| one.as_deref().map(sides)).collect();
        all.serialize(serializer)
    }

    fn buckets(counts: &Counts) -> Buckets {
        let all = counts.0.iter().copied().enumerate();
        all.filter(|&(_, count)| count > 0).collect()
    }

    pub fn deserialize<'a, D: Deserializer<'a>>(deserializer: D) -> Result<All, D::Error> {
        let groups = <[Option<Sides>; StatGroup::COUNT]>::deserialize(deserializer)?;
        let mut all = All::default();
        for (one, sides) in all.iter_mut().zip(groups) {
            let Some((total, device)) = sides else {
                continue;
            };
            let latency = Latency {
                total: counts(&total).map_err(D::Error::custom)?,
                device: device
                    .map(|device| counts(&device))
                    .transpose()
                    .map_err(D::Error::custom)?,
            };
            *one = Some(Arc::new(latency));
        }
        Ok(all)
    }

    fn counts(buckets: &[(usize, u64)]) -> Result<Counts, String> {
        let mut counts = Counts::default();
        for &(place, count) in buckets {
            let bucket = counts.0.get_mut(place);
            *bucket.ok_or_else(|| format!("bucket {place} of {BUCKETS}"))? = count;
        }
        Ok(counts)
    }
}
