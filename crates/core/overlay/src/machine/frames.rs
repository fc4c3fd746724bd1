//! The choice of the next frame on a link.

use super::{Overlay, Timer};
use crate::LinkId;
use crate::link::{Ready, Stage};
use crate::map::Entry;
use crate::wire::{ENTRIES, Frame, entry};
use base::Moment;
use bytes::{BufMut, Bytes, BytesMut};

/// Entries are batched into frames of about this size.
const ENTRIES_BYTES: usize = 16 << 10;

impl Overlay {
    /// The next frame of the overlay for the link. Call it only when the link can take a frame.
    pub fn poll_frame(&mut self, now: Moment, id: LinkId) -> Option<Bytes> {
        let frame = self.next_frame(now, id);
        let link = self.links.get_mut(&id)?;
        match &frame {
            Some(frame) => {
                link.sent_frames += 1;
                self.stats.sent_frames += 1;
                self.stats.sent_bytes += frame.len() as u64;
            }
            None => {
                link.ready = Ready::Idle;
                if link.stage == Stage::Closing {
                    self.finish_close(id);
                }
            }
        }
        frame
    }

    /// Greetings and refusals come first, then keep-alives and paths, then entries and urgent
    /// unicasts in turns, then the rest.
    fn next_frame(&mut self, now: Moment, id: LinkId) -> Option<Bytes> {
        let link = self.links.get_mut(&id)?;
        if let Some(token) = link.pong_due.take() {
            self.stats.sent_keep_alives += 1;
            return Some(Frame::Pong(token).encode());
        }
        if let Some(frame) = link.out.pop_front() {
            link.last_sent = now;
            if link.stage != Stage::Up {
                link.asked = Some((0, now));
            }
            return Some(frame);
        }
        if link.stage != Stage::Up {
            return None;
        }
        if std::mem::take(&mut link.ping_due) {
            link.last_sent = now;
            link.last_ping = now;
            link.token = link.token.wrapping_add(1);
            link.asked = Some((link.token, now));
            let token = link.token;
            self.stats.sent_keep_alives += 1;
            return Some(Frame::Ping { token, summary: self.summary() }.encode());
        }
        if std::mem::take(&mut link.path_due) {
            link.last_sent = now;
            let (mine, seen, tunnel) = (link.path.mine, link.path.theirs, link.from_tunnel);
            return Some(Frame::Path { mine, seen, tunnel }.encode());
        }
        if std::mem::take(&mut link.digest_due) {
            link.last_sent = now;
            let known = self.map.iter().map(|entry| (entry.key, entry.sequence)).collect();
            return Some(Frame::Digest(known).encode());
        }
        let turn = std::mem::replace(&mut link.entries_next, false) || link.urgent.is_empty();
        if turn && let Some(frame) = self.next_entries(now, id) {
            return Some(frame);
        }
        let link = self.links.get_mut(&id)?;
        link.entries_next = true;
        let part_max = self.config.limits.piece_bytes_max;
        let piece = link.urgent.pop(part_max).or_else(|| link.bulk.pop(part_max))?;
        link.last_sent = now;
        Some(Frame::Unicast(piece).encode())
    }

    /// The urgent unicasts that wait for the link, as frames.
    pub(super) fn take_urgent(&mut self, id: LinkId) -> Vec<Bytes> {
        let part_max = self.config.limits.piece_bytes_max;
        let Some(link) = self.links.get_mut(&id) else { return Vec::new() };
        std::iter::from_fn(|| link.urgent.pop(part_max)).map(|piece| Frame::Unicast(piece).encode()).collect()
    }

    fn next_entries(&mut self, now: Moment, id: LinkId) -> Option<Bytes> {
        let link = self.links.get_mut(&id)?;
        // News of this node itself is urgent and rare; news of others travels with it.
        if now < link.entries_at && !link.dirty.contains_key(&self.config.key) {
            if !link.dirty.is_empty() {
                self.timers.set(Timer::RateLimit(id), link.entries_at);
            }
            return None;
        }
        let (own, peer) = (self.config.key, link.peer_key());
        let mut out = BytesMut::new();
        while out.len() < ENTRIES_BYTES
            && let Some((key, always)) = link.dirty.pop_first()
        {
            let advertised = link.advertised.get(&key).copied().unwrap_or(0);
            // The peer may have become a neighbour of that node while the entry waited.
            let hears =
                |entry: &Entry| !always && key != own && peer.is_some_and(|p| entry.rtt_to(p).is_some());
            let news = |entry: &&Entry| entry.sequence > advertised && !hears(entry);
            if let Some(entry) = self.map.get(key).filter(news) {
                if out.is_empty() {
                    out.put_u8(ENTRIES);
                }
                entry::put(&mut out, entry);
                link.advertised.insert(key, entry.sequence);
                self.stats.sent_entries += 1;
            }
        }
        if out.is_empty() {
            return None;
        }
        if link.dirty.is_empty() {
            link.entries_at = now + self.config.timing.settle;
        }
        link.last_sent = now;
        Some(out.freeze())
    }
}
