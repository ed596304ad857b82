// SPDX-License-Identifier: GPL-2.0
//! Which request an event is about.

use super::{spread, Flight, Place, Request, Steps};
use crate::source::{Event, Group};

impl Flight {
    /// Returns the oldest of the requests at this very place that fit.
    pub(super) fn exact(
        &self,
        group: Group,
        sector: u64,
        fits: impl Fn(&Request) -> bool,
    ) -> Option<Place> {
        let mut here = self
            .places
            .range((group, sector, 0)..=(group, sector, u64::MAX));
        here.find(|(_, request)| fits(request))
            .map(|(&place, _)| place)
    }

    /// Returns the plain request that fits and holds this sector behind its first.
    pub(super) fn covering(
        &self,
        group: Group,
        sector: u64,
        fits: impl Fn(&Request) -> bool,
    ) -> Option<Place> {
        let mut before = self.places.range((group, 0, 0)..(group, sector, 0)).rev();
        before
            .next()
            .filter(|(place, r)| r.steps == Steps::One && fits(r) && place.1 + r.sectors > sector)
            .map(|(&place, _)| place)
    }

    /// Returns the likeliest of the plain requests that fit, for an event that no request's place
    /// has. Behind a request's first sector: part of it was complete before. In front of it: a bio
    /// joined there.
    pub(super) fn likeliest(
        &mut self,
        group: Group,
        sector: u64,
        fits: impl Fn(&Request) -> bool,
    ) -> Option<Place> {
        let plain = |(_, r): &(&Place, &Request)| r.steps == Steps::One && fits(r);
        let mut after = self
            .places
            .range((group, sector, 0)..=(group, u64::MAX, u64::MAX));
        let place = self
            .covering(group, sector, &fits)
            .or_else(|| after.find(plain).map(|(&place, _)| place))
            .or_else(|| self.group(group).find(plain).map(|(&place, _)| place))?;
        let spread = spread(self.plain_starts(group));
        self.slack.guessed(group, spread);
        Some(place)
    }

    /// Returns the request a done or a merge is about: at its place one that fits, or one of which
    /// the end is to come, or any; else the likeliest.
    pub(super) fn find(
        &mut self,
        group: Group,
        event: &Event,
        fits: impl Fn(&Request) -> bool,
    ) -> Option<Place> {
        let sector = event.sector;
        let at_end = self
            .ending
            .iter()
            .find(|&&(place, end)| place.0 == group && end == sector)
            .map(|&(place, _)| place);
        let here = self
            .places
            .range((group, sector, 0)..=(group, sector, u64::MAX));
        let (all, open) = here.fold((u64::from(at_end.is_some()), 0), |(all, open), (_, r)| {
            let open_step = matches!(r.steps, Steps::Two | Steps::Fua);
            (all + 1, open + u64::from(open_step))
        });
        // Two ends may be swapped without harm, but not an end and the middle of a sequence.
        if all > 1 && open > 0 {
            self.unclear_flushes += 1;
        }
        self.exact(group, sector, &fits)
            .or(at_end)
            .or_else(|| self.exact(group, sector, |_| true))
            .or_else(|| match self.issues {
                0 => self.likeliest(group, sector, |_| true),
                // Its issue would have moved it here: it is from before the trace, or partly done.
                _ => self.covering(group, sector, fits),
            })
    }

    /// Returns the plain request that fits and that bios at its front can have grown to the
    /// event's.
    pub(super) fn grown_to(
        &self,
        event: &Event,
        group: Group,
        fits: impl Fn(&Request) -> bool,
    ) -> Option<Place> {
        let end = event.sector.saturating_add(event.sectors);
        self.places
            .range((group, event.sector, 0)..(group, end, 0))
            .find(|(place, r)| r.steps == Steps::One && fits(r) && place.1 + r.sectors <= end)
            .map(|(&place, _)| place)
    }

    pub(super) fn group(&self, group: Group) -> impl Iterator<Item = (&Place, &Request)> {
        self.places
            .range((group, 0, 0)..=(group, u64::MAX, u64::MAX))
    }

    pub(super) fn plain_starts(&self, group: Group) -> impl Iterator<Item = u64> + '_ {
        let plain = self.group(group).filter(|(_, r)| r.steps == Steps::One);
        plain.map(|(_, request)| request.start)
    }
}
