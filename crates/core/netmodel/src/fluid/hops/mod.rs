//! Hop by hop: each link has a queue, and each queue a backlog for every stream that crosses it.
//!
//! A stream is the content of a subqueue: the messages of a lane, or one message. It is active at a
//! link while its bytes wait there or come in. Each of the n active streams of a link of rate C may
//! leave at C/n. A stream with a backlog does. One without passes on its inflow, up to C/n, and the
//! excess becomes its backlog. Capacity that a stream does not use is left idle, as in the ideal
//! queue of the VIA paper (Fig. 3). This model reads that queue as fluid at every hop.
//!
//! Buffers of switches may be limited. A stream whose backlog is full takes in no more than leaves,
//! and so slows its feeder, back to the host, whose memory has no limit. With buffers of zero bytes
//! this is min-share.
//!
//! Rates are constant between events. They change when a stream becomes active at a link or leaves
//! it, when a backlog is gone, and when one is full. Since C/n depends only on the number of active
//! streams, a change of one stream's rates concerns no other stream.

mod stream;

use super::MessageId;
use super::indices::NONE;
use super::run::Carrier;
use super::runs::Runs;
use crate::heap::IndexedHeap;
use crate::units::{Picos, Rate};
use stream::{Due, Stage, Stream};

#[derive(Clone, Debug)]
struct Link {
    /// Bytes per picosecond.
    capacity: f64,
    /// The rate offered to each of its streams: capacity / active.
    share: f64,
    /// Bytes of streams that have left it.
    carried: f64,
    /// The first stage of its list.
    head: u32,
    /// Number of streams that are active here.
    active: u32,
}

#[derive(Clone, Copy, Debug)]
struct Message {
    /// The position in its stream of its last byte.
    end: f64,
    /// The next message of its stream.
    next: MessageId,
}

/// Messages in streams through queues.
///
/// Contract: `now` never decreases; messages of a lane that are under way together have one path.
#[derive(Clone, Debug)]
pub struct HopByHop {
    /// Bytes that may wait in a stream at a switch.
    buffer: f64,
    links: Vec<Link>,
    streams: Vec<Stream>,
    unused_streams: Vec<u32>,
    /// The stages of all streams, each stream with a run of neighbours.
    stages: Vec<Stage>,
    runs: Runs,
    messages: Vec<Message>,
    unused_messages: Vec<MessageId>,
    /// By lane: its stream, if one is under way.
    by_lane: Vec<u32>,
    /// The time of the next event of each stream.
    events: IndexedHeap,
    rate_changes: u64,
    /// Streams whose rates have to be updated.
    touched: Vec<u32>,
}

impl HopByHop {
    /// Idle links of these rates. `buffer` bytes of each stream may wait at a switch, at least 1;
    /// with `None` there is always room.
    pub fn new(buffer: Option<u64>, rates: impl IntoIterator<Item = Rate>) -> Self {
        let link = |rate: Rate| Link {
            capacity: rate.bytes_per_ps(),
            share: rate.bytes_per_ps(),
            carried: 0.0,
            head: NONE,
            active: 0,
        };
        Self {
            buffer: buffer.map_or(f64::INFINITY, |bytes| bytes.max(1) as f64),
            links: rates.into_iter().map(link).collect(),
            streams: Vec::new(),
            unused_streams: Vec::new(),
            stages: Vec::new(),
            runs: Runs::default(),
            messages: Vec::new(),
            unused_messages: Vec::new(),
            by_lane: Vec::new(),
            events: IndexedHeap::default(),
            rate_changes: 0,
            touched: Vec::new(),
        }
    }

    /// Bytes of a lane's stream that wait at each link of its path; empty for a lane without
    /// messages.
    pub fn backlogs(&self, now: Picos, lane: u32) -> Vec<f64> {
        let Some(id) = self.by_lane.get(lane as usize).copied().filter(|id| *id != NONE) else {
            return Vec::new();
        };
        let stream = &self.streams[id as usize];
        let passed: Vec<f64> = stream.positions(&self.stages, now).collect();
        let fed = std::iter::once(stream.given).chain(passed.iter().copied());
        fed.zip(&passed).map(|(fed, passed)| fed - passed).collect()
    }

    fn take_message(&mut self, message: Message) -> MessageId {
        if let Some(id) = self.unused_messages.pop() {
            self.messages[id as usize] = message;
            return id;
        }
        self.messages.push(message);
        self.messages.len() as u32 - 1
    }

    /// The stream that a message joins: that of its lane, or a new one.
    fn stream_of(&mut self, now: Picos, path: &[u32], lane: Option<u32>) -> u32 {
        if let Some(lane) = lane {
            if self.by_lane.len() <= lane as usize {
                self.by_lane.resize(lane as usize + 1, NONE);
            }
            let id = self.by_lane[lane as usize];
            if id != NONE {
                debug_assert_eq!(self.streams[id as usize].stages.len(), path.len(), "a lane has one path");
                return id;
            }
        }
        let first = self.runs.take(path.len());
        let id = self.unused_streams.pop().unwrap_or(self.streams.len() as u32);
        let stages = first as usize..first as usize + path.len();
        self.stages.resize(self.runs.end().max(self.stages.len()), Stage::new(0, id));
        for (place, link) in self.stages[stages.clone()].iter_mut().zip(path) {
            assert!((*link as usize) < self.links.len(), "link {link} is none of {}", self.links.len());
            *place = Stage::new(*link, id);
        }
        let stream = Stream::new(now, stages, lane.unwrap_or(NONE));
        match self.streams.get_mut(id as usize) {
            Some(place) => *place = stream,
            None => self.streams.push(stream),
        }
        if let Some(lane) = lane {
            self.by_lane[lane as usize] = id;
        }
        id
    }

    /// Makes a stream active at a link.
    fn enter(&mut self, at: usize) {
        let link = &mut self.links[self.stages[at].link as usize];
        link.active += 1;
        link.share = link.capacity / f64::from(link.active);
        let next = std::mem::replace(&mut link.head, at as u32);
        let stage = &mut self.stages[at];
        (stage.next, stage.previous) = (next, NONE);
        if next != NONE {
            self.stages[next as usize].previous = at as u32;
        }
    }

    /// Ends the activity of a stream at a link.
    fn leave(&mut self, at: usize) {
        let Stage { link, next, previous, passed, counted, .. } = self.stages[at];
        let link = &mut self.links[link as usize];
        link.carried += passed - counted;
        link.active -= 1;
        link.share = if link.active == 0 { link.capacity } else { link.capacity / f64::from(link.active) };
        if previous == NONE {
            link.head = next;
        } else {
            self.stages[previous as usize].next = next;
        }
        if next != NONE {
            self.stages[next as usize].previous = previous;
        }
        let stage = &mut self.stages[at];
        (stage.counted, stage.rate, stage.full) = (passed, 0.0, false);
    }

    /// Notes the streams whose rates change because the offer of a link has changed.
    fn touch(&mut self, link: u32) {
        let Link { share, mut head, .. } = self.links[link as usize];
        while head != NONE {
            let Stage { stream, next, backlogged, rate, .. } = self.stages[head as usize];
            let noted = &mut self.streams[stream as usize].touched;
            if (backlogged || rate > share) && !*noted {
                *noted = true;
                self.touched.push(stream);
            }
            head = next;
        }
    }

    /// Updates the rates of all noted streams.
    fn refresh_touched(&mut self, now: Picos) {
        let mut touched = std::mem::take(&mut self.touched);
        for id in touched.drain(..) {
            self.streams[id as usize].touched = false;
            self.refresh(now, id);
        }
        self.touched = touched;
    }

    /// Advances a stream to now, and sets its rates from now on.
    fn refresh(&mut self, now: Picos, id: u32) {
        let stream = &mut self.streams[id as usize];
        stream.bring_up_to(&mut self.stages, now);
        let stages = &mut self.stages[stream.stages.clone()];
        self.rate_changes += stream::set_rates(stages, &self.links, stream.busy_from, stream.given);
        self.schedule(now, id);
    }

    /// Schedules the next event of a stream.
    fn schedule(&mut self, now: Picos, id: u32) {
        let stream = &mut self.streams[id as usize];
        let end = self.messages.get(stream.head as usize).map(|message| message.end);
        match stream.next(&self.stages[stream.stages.clone()], end, self.buffer) {
            Some((left, due)) => {
                stream.due = due;
                self.events.set(id, now.0.saturating_add(left));
            }
            None => self.release(id),
        }
    }

    /// Releases a stream of which nothing is left.
    fn release(&mut self, id: u32) {
        self.events.remove(id);
        let Stream { stages, lane, .. } = &self.streams[id as usize];
        if let Some(place) = self.by_lane.get_mut(*lane as usize) {
            *place = NONE;
        }
        self.runs.give_back(stages.start as u32, stages.len());
        self.unused_streams.push(id);
    }

    /// Handles a backlog that is gone. If nothing comes in either, its stream is no longer active
    /// here, nor at the stages from here to the next backlog.
    fn empty(&mut self, now: Picos, id: u32, place: usize) {
        let stream = &mut self.streams[id as usize];
        stream.bring_up_to(&mut self.stages, now);
        let range = stream.stages.clone();
        let stages = &mut self.stages[range.clone()];
        stages[place].passed = if place == 0 { stream.given } else { stages[place - 1].passed };
        stages[place].backlogged = false;
        if place == stream.busy_from {
            let rest = stages.iter().skip(place);
            let silent = rest.take_while(|stage| !stage.backlogged).count();
            let given = stream.given;
            stream.busy_from += silent;
            for at in range.skip(place).take(silent) {
                self.stages[at].passed = given;
                self.leave(at);
                self.touch(self.stages[at].link);
            }
        }
        self.refresh(now, id);
        self.refresh_touched(now);
    }

    /// Removes the first message of a stream, which has passed.
    fn end_message(&mut self, now: Picos, id: u32) -> MessageId {
        let stream = &mut self.streams[id as usize];
        let message = stream.head;
        stream.head = self.messages[message as usize].next;
        if stream.head == NONE {
            stream.tail = NONE;
        }
        self.unused_messages.push(message);
        stream.bring_up_to(&mut self.stages, now);
        self.schedule(now, id);
        message
    }

    /// Handles a backlog that has reached its limit.
    fn fill(&mut self, now: Picos, id: u32, place: usize) {
        let at = self.streams[id as usize].stages.start + place;
        self.stages[at].full = true;
        self.refresh(now, id);
    }
}

impl Carrier for HopByHop {
    fn send(&mut self, now: Picos, path: &[u32], lanes: &[u32], bytes: u64) -> MessageId {
        assert!(!path.is_empty() && lanes.len() < 2, "a message has a path, and at most one lane");
        let id = self.stream_of(now, path, lanes.first().copied());
        let stream = &mut self.streams[id as usize];
        stream.bring_up_to(&mut self.stages, now);
        let given = stream.given;
        stream.given += bytes as f64;
        let message = Message { end: stream.given, next: NONE };
        let before = std::mem::replace(&mut self.streams[id as usize].busy_from, 0);
        let message = self.take_message(message);
        let stream = &mut self.streams[id as usize];
        match std::mem::replace(&mut stream.tail, message) {
            NONE => stream.head = message,
            last => self.messages[last as usize].next = message,
        }
        if before > 0 {
            let first = stream.stages.start;
            for at in first..first + before {
                // The earlier bytes have passed these stages.
                self.stages[at].passed = given;
                self.stages[at].backlogged = at == first;
                self.enter(at);
            }
            for at in first..first + before {
                self.touch(self.stages[at].link);
            }
            self.refresh_touched(now);
        } else {
            self.schedule(now, id); // the rates stay, but the backlog at the host lasts longer
        }
        message
    }

    fn next_event(&self) -> Option<Picos> {
        self.events.first().map(|(time, _)| Picos(time))
    }

    fn step(&mut self) -> Option<MessageId> {
        let (now, id) = self.events.first()?;
        let now = Picos(now);
        match self.streams[id as usize].due {
            Due::End => return Some(self.end_message(now, id)),
            Due::Empty(place) => self.empty(now, id, place),
            Due::Full(place) => self.fill(now, id, place),
        }
        None
    }

    fn carried(&self, now: Picos) -> Vec<f64> {
        let mut carried: Vec<f64> = self.links.iter().map(|link| link.carried).collect();
        for (at, link) in self.links.iter().enumerate() {
            let mut head = link.head;
            while head != NONE {
                let Stage { stream, next, counted, .. } = self.stages[head as usize];
                let stream = &self.streams[stream as usize];
                let place = head as usize - stream.stages.start;
                let passed = stream.positions(&self.stages, now).nth(place);
                carried[at] += passed.unwrap_or(counted) - counted;
                head = next;
            }
        }
        carried
    }

    fn rate_changes(&self) -> u64 {
        self.rate_changes
    }
}

#[cfg(test)]
mod tests;
