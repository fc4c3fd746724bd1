//! Tests of one sender, driven by hand.

mod announcements;
mod copies;
mod repairs;

use super::table::Why;
use super::{SendConfig, Sender};
use crate::model::{DataId, Dsn, NackItem, Segment, Sn, SnSpace};
use crate::timing::Timing;
use base::Moment;
use bytes::Bytes;
use std::time::Duration;

const R_MAX: Duration = Duration::from_millis(100);

struct Rig {
    now: Moment,
    sender: Sender,
}

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

fn wanted(data: u32, sn: u32) -> NackItem {
    NackItem { data: DataId(data), sn: Sn(sn), segment: Segment::Whole }
}

impl Rig {
    fn new(strict: bool) -> Self {
        let config = SendConfig {
            timing: Timing::default(),
            space: SnSpace::V2,
            strict,
            segment_bytes: 100,
            buffer_bytes_max: 10_000,
            elements_max: 2_000,
            copy_share: 0.05,
            repair_share: 0.25,
            copies: !strict,
        };
        let now = Moment::from_secs(10);
        Self { now, sender: Sender::new(now, config) }
    }

    /// Sends a new version at once.
    fn send(&mut self, data: u32, body: &[u8]) -> Dsn {
        let body = Bytes::copy_from_slice(body);
        let dsn = self.sender.update(self.now, DataId(data), body).unwrap();
        for index in 0..dsn.segments.max(1) {
            let piece = self.sender.take(dsn, index).unwrap();
            assert_eq!(piece.body.len(), self.sender.piece_len(dsn, index).unwrap());
            self.sender.sent(self.now, dsn, index, Why::New, R_MAX);
        }
        dsn
    }

    fn nack(&mut self, data: u32, sn: u32) -> super::Answer {
        self.sender.handle_nack(self.now, wanted(data, sn), R_MAX)
    }

    /// Sends everything that waits to be sent again.
    fn again(&mut self) -> Vec<(u32, u32, u16, Why)> {
        let mut sent = Vec::new();
        while let Some((piece, why)) = self.sender.next_again(self.now, 1e6) {
            self.sender.sent(self.now, piece.dsn, piece.index, why, R_MAX);
            sent.push((piece.dsn.data.0, piece.dsn.sn.0, piece.index, why));
        }
        sent
    }

    fn announce(&mut self, max: usize, carried: &[u32]) -> Vec<u32> {
        let mut out = Vec::new();
        self.sender.announce(self.now, max, carried.iter().map(|data| DataId(*data)), &mut out);
        out.iter().map(|dsn| dsn.data.0).collect()
    }

    /// Lets time pass. Returns the times at which an announcement was due; one is made at each.
    fn trail(&mut self, time: Duration) -> Vec<Moment> {
        let end = self.now + time;
        let mut urged = Vec::new();
        while let Some(next) = self.sender.deadline().filter(|next| *next <= end) {
            self.now = next;
            self.sender.expire(next);
            if self.sender.must_announce() {
                urged.push(next);
                self.announce(32, &[]);
            }
        }
        self.now = end;
        urged
    }
}
