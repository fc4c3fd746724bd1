//! The receiving end of a stream: delivers in order, exactly once, without gaps.

use super::buffers::{BufferTotal, BufferedBytes};
use base::Moment;
use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::time::Duration;

/// The time and the memory that a receiver spends on waiting for missing messages.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Patience {
    /// A gap younger than this may still be filled by a message that took another path.
    pub(crate) reorder_wait: Duration,
    /// Bytes that wait behind a gap. Later messages beyond it are dropped and requested again.
    pub(crate) buffered_bytes_max: usize,
    /// The same for all streams together.
    pub(crate) total_bytes_max: usize,
}

/// Ranges of irrelevant numbers that are remembered behind a gap. Later ones are requested again.
const IRRELEVANT_RANGES_MAX: usize = 4_096;

/// Greater numbers are rejected, because no stream gets that far.
const NUMBER_MAX: u64 = 1 << 62;

/// Puts the messages of one stream in order. Numbers start at 1. Some of them may be irrelevant: the
/// sender has said that they hold nothing for this node (as in the GAP submessage of DDSI-RTPS,
/// 8.3.8.4).
///
/// Contract: after each `take`, `tail`, `repaired` or `start`, drain [`Inbound::pop`]. Once
/// [`Inbound::timeout`] has come, request from the sender the messages that
/// [`Inbound::poll_request`] names. Requests and responses must not be lost.
#[derive(Debug)]
pub(crate) struct Inbound<T> {
    /// Number of the next message to deliver; 0 while the start is not known.
    next: u64,
    buffered: BTreeMap<u64, (T, usize)>,
    /// Irrelevant numbers from `next` on: the last one of each range, by the first. Messages may be
    /// buffered within.
    irrelevant: BTreeMap<u64, u64>,
    buffered_bytes: BufferedBytes,
    /// The highest number known to exist.
    known: u64,
    /// A request is under way and has not been answered.
    asking: bool,
    ask_at: Option<Moment>,
}

impl<T> Inbound<T> {
    /// A stream whose start is not known yet. All messages wait.
    pub(crate) fn new(total: &BufferTotal) -> Self {
        let (buffered, buffered_bytes) = (BTreeMap::new(), total.part());
        let irrelevant = BTreeMap::new();
        Self { next: 0, buffered, irrelevant, buffered_bytes, known: 0, asking: false, ask_at: None }
    }

    /// Starts delivery after number `at`.
    pub(crate) fn start(&mut self, now: Moment, at: u64, patience: Patience) {
        let at = at.min(NUMBER_MAX);
        self.next = at + 1;
        let later = self.buffered.split_off(&self.next);
        let earlier = std::mem::replace(&mut self.buffered, later);
        self.buffered_bytes.remove(earlier.into_values().map(|(_, bytes)| bytes).sum());
        self.known = self.known.max(at);
        self.pass_irrelevant();
        self.look(now, patience);
    }

    /// Number of the last message delivered or passed over, or the number after which delivery started.
    pub(crate) fn delivered(&self) -> u64 {
        self.next.saturating_sub(1)
    }

    /// Takes a message. Returns false if it is a duplicate or there was no room to keep it.
    pub(crate) fn take(
        &mut self,
        now: Moment,
        number: u64,
        item: T,
        bytes: usize,
        patience: Patience,
    ) -> bool {
        let is_number = (1..=NUMBER_MAX).contains(&number);
        if number < self.next || !is_number || self.buffered.contains_key(&number) {
            return false;
        }
        self.known = self.known.max(number);
        let room = self.has_room(bytes, patience);
        // The next message is delivered at once, and therefore needs no room.
        let kept = room || number == self.next;
        if kept {
            self.buffered.insert(number, (item, bytes));
            self.buffered_bytes.add(bytes);
        }
        self.look(now, patience);
        kept
    }

    /// Whether `number` is the next one, and nothing waits or is missing. Such a message need not
    /// be put in order.
    pub(crate) fn is_next(&self, number: u64) -> bool {
        number == self.next
            && number <= NUMBER_MAX
            && self.known < number
            && self.buffered.is_empty()
            && self.ask_at.is_none()
            && !self.asking
    }

    /// Notes the delivery of a message that [was next](Inbound::is_next).
    pub(crate) fn pass(&mut self) {
        self.known = self.next;
        self.next += 1;
    }

    /// Takes the sender's word that messages with these numbers hold nothing for this node.
    pub(crate) fn take_irrelevant(&mut self, now: Moment, numbers: RangeInclusive<u64>, patience: Patience) {
        let (first, last) = (self.next.max(*numbers.start()), NUMBER_MAX.min(*numbers.end()));
        if first > last {
            return;
        }
        self.known = self.known.max(last);
        // The common case: nothing waits.
        if first == self.next && self.buffered.is_empty() && self.irrelevant.is_empty() {
            self.next = last + 1;
        } else {
            let before = self.irrelevant.range(..=first).next_back().map(|(_, &last)| last);
            let is_new = before.is_none_or(|before| before < last);
            if is_new && self.irrelevant.len() < IRRELEVANT_RANGES_MAX {
                self.irrelevant.insert(first, last);
            }
            self.pass_irrelevant();
        }
        self.look(now, patience);
    }

    /// Passes over irrelevant numbers, up to the next message that is here or missing.
    fn pass_irrelevant(&mut self) {
        while self.next > 0
            && let Some(range) = self.irrelevant.first_entry().filter(|range| *range.key() <= self.next)
        {
            let last = *range.get();
            let waiting = self.buffered.keys().next().copied().unwrap_or(u64::MAX);
            if waiting <= last {
                self.next = self.next.max(waiting);
                break;
            }
            range.remove();
            self.next = self.next.max(last + 1);
        }
    }

    /// Takes the sender's announcement that it has sent numbers up to `last`.
    pub(crate) fn advance_high_water_mark(&mut self, now: Moment, last: u64, patience: Patience) {
        if last > self.known && last <= NUMBER_MAX {
            self.known = last;
            self.look(now, patience);
        }
    }

    /// Takes the response to a request: messages from number `first` on. They may be fewer than
    /// requested.
    pub(crate) fn repaired(
        &mut self,
        now: Moment,
        first: u64,
        items: impl IntoIterator<Item = (T, usize)>,
        patience: Patience,
    ) {
        self.asking = false;
        for (number, (item, bytes)) in (first..).zip(items) {
            self.take(now, number, item, bytes, patience);
        }
        self.end_repair(now);
    }

    /// Takes the response to a request: all that these numbers hold for this node.
    pub(crate) fn repaired_filtered(
        &mut self,
        now: Moment,
        (first, last): (u64, u64),
        items: impl IntoIterator<Item = (u64, T, usize)>,
        patience: Patience,
    ) {
        self.asking = false;
        let mut from = first;
        for (number, item, bytes) in items {
            self.take(now, number, item, bytes, patience);
            self.take_irrelevant(now, from..=number.saturating_sub(1), patience);
            from = number.saturating_add(1);
        }
        self.take_irrelevant(now, from..=last, patience);
        self.end_repair(now);
    }

    fn end_repair(&mut self, now: Moment) {
        // A repair may be shorter than the request. It has made progress, so the rest is requested
        // without another wait.
        self.ask_at = (!self.is_complete()).then_some(now);
    }

    /// The next message, without removing it.
    pub(crate) fn peek(&self) -> Option<&T> {
        let (&number, (item, _)) = self.buffered.first_key_value()?;
        (number == self.next).then_some(item)
    }

    /// The next message and its number.
    pub(crate) fn pop(&mut self) -> Option<(u64, T)> {
        let entry = self.buffered.first_entry()?;
        if *entry.key() != self.next {
            return None;
        }
        let (number, (item, bytes)) = entry.remove_entry();
        self.buffered_bytes.remove(bytes);
        self.next += 1;
        self.pass_irrelevant();
        Some((number, item))
    }

    /// The numbers to request from the sender, once it is time.
    pub(crate) fn poll_request(&mut self, now: Moment, patience: Patience) -> Option<RangeInclusive<u64>> {
        if self.ask_at.is_none_or(|at| at > now) {
            return None;
        }
        self.ask_at = None;
        let missing = self.missing()?;
        if *missing.start() != self.next && !self.has_room(1, patience) {
            // The waiting messages have not been taken yet, and there is no room for more.
            self.ask_at = Some(now + patience.reorder_wait.max(Duration::from_millis(1)));
            return None;
        }
        // One request at a time: its answer tells whether the rest can be had at all.
        self.asking = true;
        Some(missing)
    }

    /// When to call [`Inbound::poll_request`] next.
    pub(crate) fn timeout(&self) -> Option<Moment> {
        self.ask_at
    }

    /// Whether all messages known to exist have been received.
    pub(crate) fn is_complete(&self) -> bool {
        match self.irrelevant.is_empty() {
            true => {
                self.next == 0 || self.buffered.len() as u64 == (self.known + 1).saturating_sub(self.next)
            }
            false => self.next == 0 || self.missing().is_none(),
        }
    }

    /// Whether a message of `bytes` may wait, too.
    fn has_room(&self, bytes: usize, patience: Patience) -> bool {
        self.buffered_bytes.get() + bytes <= patience.buffered_bytes_max
            && self.buffered_bytes.total() + bytes <= patience.total_bytes_max
    }

    /// Bytes that wait.
    #[cfg(test)]
    pub(crate) fn buffered_bytes(&self) -> usize {
        self.buffered_bytes.get()
    }

    /// Starts the wait in which a gap may close by itself.
    fn look(&mut self, now: Moment, patience: Patience) {
        if self.is_complete() {
            self.ask_at = None;
        } else if !self.asking && self.ask_at.is_none() {
            self.ask_at = Some(now + patience.reorder_wait);
        }
    }

    /// The first gap.
    fn missing(&self) -> Option<RangeInclusive<u64>> {
        let mut from = self.next;
        let mut messages = self.buffered.keys().map(|&number| (number, number)).peekable();
        let mut ranges = self.irrelevant.iter().map(|(&first, &last)| (first, last)).peekable();
        loop {
            let is_message = match (messages.peek(), ranges.peek()) {
                (Some(message), Some(range)) => message < range,
                (message, _) => message.is_some(),
            };
            let accounted = if is_message { messages.next() } else { ranges.next() };
            let Some((first, last)) = accounted else { break };
            if first > from {
                return Some(from..=first - 1);
            }
            from = from.max(last + 1);
        }
        (from <= self.known).then_some(from..=self.known)
    }
}

#[cfg(test)]
mod tests {
    use super::super::History;
    use super::*;
    use bytes::Bytes;
    use proptest::prelude::*;

    const PATIENCE: Patience = Patience {
        reorder_wait: Duration::from_millis(20),
        buffered_bytes_max: 64,
        total_bytes_max: usize::MAX,
    };

    #[test]
    fn before_the_start_everything_is_held() {
        let mut inbound = Inbound::new(&BufferTotal::default());
        let now = Moment::ZERO;
        for number in [3, 5, 4] {
            assert!(inbound.take(now, number, number, 1, PATIENCE));
        }
        assert_eq!(inbound.pop(), None);
        inbound.start(now, 3, PATIENCE);
        assert_eq!((inbound.pop(), inbound.pop(), inbound.pop()), (Some((4, 4)), Some((5, 5)), None));
        assert!(inbound.is_complete());
        assert_eq!(inbound.timeout(), None);
    }

    #[test]
    fn streams_share_the_room_for_waiting_messages() {
        let (total, now) = (BufferTotal::default(), Moment::ZERO);
        let patience = Patience { total_bytes_max: 100, ..PATIENCE };
        let (mut one, mut other) = (Inbound::new(&total), Inbound::new(&total));
        one.start(now, 0, patience);
        other.start(now, 0, patience);
        assert!(one.take(now, 2, 2, 60, patience));
        assert!(!other.take(now, 2, 2, 60, patience), "there is room for one of them");
        assert!(other.take(now, 1, 1, 60, patience), "the next message needs no room");
        assert_eq!((other.pop(), total.bytes()), (Some((1, 1)), 60));
        drop(one);
        assert_eq!(total.bytes(), 0);
        let due = other.timeout().unwrap();
        assert_eq!(other.poll_request(due, patience), Some(2..=2));
        other.repaired(due, 2, [(2, 60)], patience);
        assert_eq!(other.pop(), Some((2, 2)));
    }

    #[test]
    fn a_gap_is_asked_for_after_the_reorder_wait_and_only_once() {
        let mut inbound = Inbound::new(&BufferTotal::default());
        let now = Moment::from_secs(1);
        inbound.start(now, 0, PATIENCE);
        inbound.take(now, 4, 4, 1, PATIENCE);
        assert_eq!(inbound.poll_request(now, PATIENCE), None);
        let due = inbound.timeout().unwrap();
        assert_eq!(due, now + PATIENCE.reorder_wait);
        assert_eq!(inbound.poll_request(due, PATIENCE), Some(1..=3));
        assert_eq!(inbound.timeout(), None, "until it is answered");
        inbound.repaired(due, 1, [(1, 1), (2, 1)], PATIENCE);
        assert_eq!(inbound.poll_request(due, PATIENCE), Some(3..=3), "the answer was short");
        inbound.repaired(due, 3, [(3, 1)], PATIENCE);
        assert_eq!(std::iter::from_fn(|| inbound.pop()).count(), 4);
        assert_eq!(inbound.timeout(), None);
    }

    #[derive(Clone, Debug)]
    enum Step {
        /// Sends a message of this many bytes, and lets the network deliver copies of it after
        /// these delays in ms.
        Append(usize, Vec<u64>),
        Pass(u64),
        /// Lets the receiver take the messages that are ready. Without it the receiver is blocked.
        Drain,
    }

    fn steps() -> impl Strategy<Value = Vec<Step>> {
        let fate = prop_oneof![
            3 => Just(vec![]),
            6 => (0u64..5).prop_map(|delay| vec![delay]),
            2 => (0u64..100).prop_map(|delay| vec![delay]),
            1 => proptest::collection::vec(0u64..100, 2..4),
        ];
        let step = prop_oneof![
            6 => (0usize..40, fate).prop_map(|(bytes, fate)| Step::Append(bytes, fate)),
            2 => (0u64..60).prop_map(Step::Pass),
            3 => Just(Step::Drain),
        ];
        proptest::collection::vec(step, 0..120)
    }

    struct World {
        now: Moment,
        appended: Vec<Bytes>,
        history: History<u8>,
        inbound: Inbound<Bytes>,
        /// Messages in transit: arrival time, number, content.
        air: Vec<(Moment, u64, Bytes)>,
        requests: Vec<(Moment, RangeInclusive<u64>)>,
        got: Vec<Bytes>,
        requested: usize,
    }

    impl World {
        fn step_to(&mut self, until: Moment) {
            loop {
                let air = self.air.iter().map(|(at, ..)| *at).min();
                let requests = self.requests.iter().map(|(at, _)| *at).min();
                let next = [air, requests, self.inbound.timeout()].into_iter().flatten().min();
                let Some(next) = next.filter(|&next| next <= until) else { break };
                self.now = self.now.max(next);
                let now = self.now;
                let (due, later): (Vec<_>, Vec<_>) =
                    std::mem::take(&mut self.air).into_iter().partition(|(at, ..)| *at <= now);
                self.air = later;
                for (_, number, body) in due {
                    let bytes = body.len();
                    self.inbound.take(now, number, body, bytes, PATIENCE);
                }
                if let Some(at) = self.requests.iter().position(|(at, _)| *at <= now) {
                    let (_, range) = self.requests.remove(at);
                    let events = self.history.range(7, range.clone(), 100).expect("nothing is evicted here");
                    let items = events.into_iter().map(|body| {
                        let bytes = body.len();
                        (body, bytes)
                    });
                    self.inbound.repaired(now, *range.start(), items, PATIENCE);
                }
                if let Some(range) = self.inbound.poll_request(now, PATIENCE) {
                    self.requested += 1;
                    self.requests.push((now + Duration::from_millis(30), range));
                }
            }
            self.now = until;
        }

        fn drain(&mut self) {
            while let Some((number, body)) = self.inbound.pop() {
                assert_eq!(number, self.got.len() as u64 + 1);
                self.got.push(body);
            }
        }
    }

    proptest! {
        #[test]
        fn exactly_once_in_order_complete_then_silent(steps in steps()) {
            let mut inbound = Inbound::new(&BufferTotal::default());
            inbound.start(Moment::ZERO, 0, PATIENCE);
            let mut world = World {
                now: Moment::ZERO,
                appended: Vec::new(),
                history: History::new(1 << 20),
                inbound,
                air: Vec::new(),
                requests: Vec::new(),
                got: Vec::new(),
                requested: 0,
            };
            for step in steps {
                match step {
                    Step::Append(bytes, fate) => {
                        let number = world.appended.len() as u64 + 1;
                        let body = Bytes::from(vec![number as u8; bytes]);
                        world.appended.push(body.clone());
                        world.history.push(world.now, 7, (number, 1), body.clone());
                        for delay in fate {
                            world.air.push((world.now + Duration::from_millis(delay), number, body.clone()));
                        }
                    }
                    Step::Pass(ms) => world.step_to(world.now + Duration::from_millis(ms)),
                    Step::Drain => world.drain(),
                }
                prop_assert!(world.inbound.buffered_bytes() <= PATIENCE.buffered_bytes_max + 40);
            }
            // The announcement of the high-water mark arrives, and the receiver takes all messages.
            world.inbound.advance_high_water_mark(world.now, world.appended.len() as u64, PATIENCE);
            for _ in 0..400 {
                world.drain();
                world.step_to(world.now + Duration::from_millis(50));
            }
            world.drain();
            prop_assert_eq!(&world.got, &world.appended);
            prop_assert!(world.inbound.is_complete());
            prop_assert_eq!(world.inbound.timeout(), None);
            let before = world.requested;
            world.step_to(world.now + Duration::from_secs(60));
            prop_assert_eq!(world.requested, before, "silence");
        }
    }

    /// A copy of what one node wants of a stream, over a network that loses, repeats and reorders.
    #[derive(Clone, Debug)]
    struct Fate {
        relevant: bool,
        /// When copies arrive, in ms after they were sent.
        delays: Vec<u64>,
    }

    fn fates() -> impl Strategy<Value = Vec<Fate>> {
        let delays = prop_oneof![
            3 => Just(vec![]),
            6 => (0u64..5).prop_map(|delay| vec![delay]),
            3 => proptest::collection::vec(0u64..100, 1..4),
        ];
        let fate = (any::<bool>(), delays).prop_map(|(relevant, delays)| Fate { relevant, delays });
        proptest::collection::vec(fate, 0..60)
    }

    /// A message that arrives: the number of the relevant message before, its own, and whether it is one
    /// or announces the end.
    type Arrival = (u64, u64, bool);

    fn arrive(inbound: &mut Inbound<u64>, now: Moment, (after, number, is_message): Arrival) {
        if is_message {
            inbound.take_irrelevant(now, after + 1..=number - 1, PATIENCE);
            inbound.take(now, number, number, 10, PATIENCE);
        } else {
            inbound.advance_high_water_mark(now, after, PATIENCE);
            inbound.take_irrelevant(now, after + 1..=number, PATIENCE);
        }
    }

    proptest! {
        #[test]
        fn irrelevant_messages_are_passed_over_and_no_other(fates in fates(), start_late in any::<bool>()) {
            let mut inbound = Inbound::new(&BufferTotal::default());
            let mut now = Moment::ZERO;
            if !start_late {
                inbound.start(now, 0, PATIENCE);
            }
            let (mut air, mut relevant, mut after) = (Vec::new(), Vec::new(), 0);
            for (number, fate) in (1..).zip(&fates) {
                let at = Moment::ZERO + Duration::from_millis(number);
                let arrival = (after, number, fate.relevant);
                air.extend(fate.delays.iter().map(|&delay| (at + Duration::from_millis(delay), arrival)));
                if fate.relevant {
                    relevant.push(number);
                    after = number;
                }
            }
            let last = fates.len() as u64;
            air.push((Moment::from_secs(1), (after, last, false)));
            air.sort();
            let mut air = std::collections::VecDeque::from(air);
            let (mut got, mut request) = (Vec::new(), None);
            for _ in 0..1_000 {
                while let Some((_, message)) = inbound.pop() {
                    got.push(message);
                }
                let next = air.front().map(|(at, _)| *at).into_iter().chain(inbound.timeout());
                let Some(next) = next.chain(request.as_ref().map(|(at, _)| *at)).min() else { break };
                now = now.max(next);
                if start_late && inbound.next == 0 && now >= Moment::ZERO + Duration::from_millis(20) {
                    inbound.start(now, 0, PATIENCE);
                }
                if let Some((_, arrival)) = air.pop_front_if(|(at, _)| *at <= now) {
                    arrive(&mut inbound, now, arrival);
                }
                if let Some((_, numbers)) = request.take_if(|(at, _)| *at <= now) {
                    // A repair is limited in length.
                    let (first, mut to) = RangeInclusive::into_inner(numbers);
                    let mut wanted: Vec<u64> = relevant.iter().copied().filter(|n| (first..=to).contains(n)).collect();
                    if wanted.len() > 2 {
                        wanted.truncate(2);
                        to = wanted[1];
                    }
                    let items = wanted.into_iter().map(|number| (number, number, 10));
                    inbound.repaired_filtered(now, (first, to), items, PATIENCE);
                }
                if let Some(numbers) = inbound.poll_request(now, PATIENCE) {
                    request = Some((now + Duration::from_millis(30), numbers));
                }
            }
            prop_assert_eq!(got, relevant);
            prop_assert_eq!((inbound.delivered(), inbound.timeout()), (last, None));
            prop_assert!(inbound.is_complete() && inbound.irrelevant.is_empty());
        }
    }
}
