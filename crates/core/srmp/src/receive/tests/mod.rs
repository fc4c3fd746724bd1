//! Tests of one sender's state, driven by hand.

mod detection;
mod suppression;

use super::shared::ReceiveConfig;
use super::{Origin, Received, Shape, Shared};
use crate::model::{DataId, Dsn, MemberId, NackItem, Segment, Sn, SnSpace};
use crate::timing::Timing;
use base::{Moment, Seed};
use bytes::Bytes;

const SENDER: MemberId = MemberId(7);

/// A receiver that joined its group long ago.
struct Rig {
    now: Moment,
    shared: Shared,
    origin: Origin,
}

fn ms(ms: u64) -> std::time::Duration {
    std::time::Duration::from_millis(ms)
}

fn dsn(data: u32, sn: u32) -> Dsn {
    Dsn::whole(DataId(data), Sn(sn))
}

fn whole(data: u32, sn: u32) -> NackItem {
    NackItem { data: DataId(data), sn: Sn(sn), segment: Segment::Whole }
}

fn segment(data: u32, sn: u32, index: u16) -> NackItem {
    NackItem { data: DataId(data), sn: Sn(sn), segment: Segment::Index(index) }
}

impl Rig {
    fn new(members: u32, strict: bool) -> Self {
        let config = ReceiveConfig {
            keeps_state: true,
            timing: Timing::default(),
            space: SnSpace::V2,
            strict,
            require_mode1_first: true,
            literal_mode0_gate: false,
            bytes_max: 10_000,
            items_per_origin_max: 20,
            items_max: 30,
            segments_max: 127,
        };
        let mut shared = Shared::new(config, Seed(5), Moment::ZERO);
        shared.members = members;
        let mut origin = Origin::new(SENDER, &shared);
        origin.set_r_max(ms(100));
        Self { now: Moment::from_secs(100), shared, origin }
    }

    fn announce(&mut self, data: u32, sn: u32) -> bool {
        self.origin.announce(self.now, &mut self.shared, dsn(data, sn))
    }

    fn data(&mut self, data: u32, sn: u32) -> Received {
        plain(self.origin.receive(
            self.now,
            &mut self.shared,
            dsn(data, sn),
            0,
            &Bytes::from(format!("{data}:{sn}")),
            None,
        ))
    }

    fn segment(&mut self, data: u32, sn: u32, index: u16, segments: u16) -> Received {
        let dsn = Dsn { segments, ..dsn(data, sn) };
        plain(self.origin.receive(
            self.now,
            &mut self.shared,
            dsn,
            index,
            &Bytes::from(vec![index as u8; 4]),
            None,
        ))
    }

    fn end_of_bundle(&mut self) {
        self.origin.end_of_bundle(self.now, &mut self.shared);
    }

    fn pass(&mut self, time: std::time::Duration) {
        let end = self.now + time;
        while let Some(next) = self.origin.deadline().filter(|next| *next <= end) {
            self.now = self.now.max(next);
            self.origin.expire(self.now, &mut self.shared);
        }
        self.now = end;
    }

    /// Takes the repair requests that are due now.
    fn nacks(&mut self) -> Vec<NackItem> {
        let mut out = Vec::new();
        self.origin.expire(self.now, &mut self.shared);
        self.origin.take_nacks(self.now, &mut self.shared, 100, &mut out);
        out
    }

    /// Takes the repair requests of the next `time`, each with the time at which it was due.
    fn nacks_within(&mut self, time: std::time::Duration) -> Vec<(Moment, NackItem)> {
        let end = self.now + time;
        let mut all = Vec::new();
        let taken = self.nacks();
        all.extend(taken.into_iter().map(|wanted| (self.now, wanted)));
        while let Some(next) = self.origin.deadline().filter(|next| *next <= end) {
            self.now = self.now.max(next);
            let taken = self.nacks();
            all.extend(taken.into_iter().map(|wanted| (self.now, wanted)));
        }
        self.now = end;
        all
    }
}

/// Replaces the segmentation, which other tests check.
fn plain(received: Received) -> Received {
    match received {
        Received::Message(body, _) => message(body),
        other => other,
    }
}

/// A received message.
fn message(body: impl Into<Bytes>) -> Received {
    Received::Message(body.into(), Shape::default())
}
