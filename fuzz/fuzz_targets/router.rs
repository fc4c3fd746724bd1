//! Arbitrary records in frames and datagrams, over links that come and go, at a router between two
//! others.
//!
//! Input: chunks, each a control byte, a length byte and that many bytes. The two low bits of the
//! control byte select the destination: a link from below, a link from above, a local client (which
//! subscribes, advertises or sends the contents of the bytes), or none, and time passes. Bit 2: the
//! bytes are a whole frame; otherwise they are records and get a head. Bit 3: outputs are taken
//! only later. Bit 4: the bytes come as a datagram; at the local client, an interest is advertised.
//! Bit 5: the bytes come by a cast of the router behind the link. When time passes, bit 2 says that
//! the router's own two casts reach both neighbours (bit 3) or neither.
//!
//! The link from above has credit, and best effort leaves over it in datagrams.
#![no_main]

use base::{Moment, Seed};
use bytes::{Buf, BufMut, Bytes, BytesMut};
use libfuzzer_sys::fuzz_target;
use meshrti_fuzz::chunks;
use router::frame::{FRAME_HEAD_BYTES, MAGIC, VERSION};
use router::{
    ClientConfig, ClientFlags, ClientId, ClientKind, Fifos, Interest, LinkChange, Message, PipeConfig,
    Priority, Router, RouterConfig, RouterId, Wire, WireError,
};
use std::time::Duration;

/// A note on a topic: flags (class, droppable, key or none), the topic, the text.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Note {
    flags: u8,
    topic: u8,
    text: Bytes,
}

impl Message for Note {
    type Topic = u8;

    fn topic(&self) -> &u8 {
        &self.topic
    }

    fn priority(&self) -> Priority {
        Priority::ALL[usize::from(self.flags & 3)]
    }

    fn droppable(&self) -> bool {
        self.flags & 4 != 0
    }

    fn bytes(&self) -> usize {
        2 + self.text.len()
    }

    fn supersedes(&self) -> Option<u128> {
        (self.flags & 8 != 0).then(|| u128::from(self.topic))
    }
}

impl Wire for Note {
    fn encode(&self, out: &mut BytesMut) {
        out.put_u8(self.flags);
        out.put_u8(self.topic);
        out.put_slice(&self.text);
    }

    fn decode(mut body: Bytes, _pinned: usize) -> Result<Self, WireError> {
        if body.len() < 2 || body[0] > 15 {
            return Err(WireError("no note".to_owned()));
        }
        Ok(Self { flags: body.get_u8(), topic: body.get_u8(), text: body })
    }
}

/// One topic and as many above it as `more` says. Filed under the topic divided by 16, or under
/// "any".
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Want {
    any_key: bool,
    gated: bool,
    from: u8,
    more: u8,
}

impl Interest for Want {
    type Topic = u8;
    type Key = u8;

    fn key(&self) -> Option<u8> {
        (!self.any_key).then_some(self.from >> 4)
    }

    fn topic_key(topic: &u8) -> u8 {
        topic >> 4
    }

    fn shard_hash(topic: &u8) -> u64 {
        u64::from(*topic)
    }

    fn matches(&self, topic: &u8) -> bool {
        let within = (self.from..=self.from.saturating_add(self.more)).contains(topic);
        within && self.key().is_none_or(|key| key == topic >> 4)
    }

    fn merge(&mut self, other: &Self) {
        let end = self.from.saturating_add(self.more).max(other.from.saturating_add(other.more));
        self.from = self.from.min(other.from);
        self.more = end - self.from;
        self.gated &= other.gated;
    }

    fn gated(&self) -> bool {
        self.gated
    }

    fn advertised_by(&self, advertisement: &Self) -> bool {
        let apart = |a: &Self, b: &Self| a.from.saturating_add(a.more) < b.from;
        !apart(self, advertisement) && !apart(advertisement, self)
    }
}

impl Wire for Want {
    fn encode(&self, out: &mut BytesMut) {
        out.put_slice(&[u8::from(self.any_key) | u8::from(self.gated) << 1, self.from, self.more]);
    }

    fn decode(body: Bytes, _pinned: usize) -> Result<Self, WireError> {
        match body[..] {
            [bits @ 0..=3, from, more] => {
                Ok(Self { any_key: bits & 1 != 0, gated: bits & 2 != 0, from, more })
            }
            _ => Err(WireError("no want".to_owned())),
        }
    }
}

fn pipe() -> PipeConfig {
    PipeConfig {
        messages_max: 20,
        frame_bytes_max: 128,
        message_bytes_max: 4_096,
        interests_max: 16,
        advertisements_max: 16,
        interests_per_key_max: 3,
        newest_wins: true,
        ..PipeConfig::default()
    }
    .with_bytes_max(8_192)
}

/// The link from above has credit.
fn link(flags: ClientFlags) -> ClientConfig {
    let credit_bytes = flags.contains(ClientFlags::UPPER).then_some(1_024);
    ClientConfig { pipe: PipeConfig { credit_bytes, ..pipe() }, ..ClientConfig::link(flags) }
}

/// The other end accepts everything that comes to this router from its other clients.
fn other_end() -> ClientConfig {
    let pipe = PipeConfig { interests_max: 64, advertisements_max: 64, ..pipe() };
    ClientConfig { pipe, ..ClientConfig::link(BOTH) }
}

const BOTH: ClientFlags = ClientFlags::SOURCE.union(ClientFlags::SINK);

/// The router under test, and behind each of its links another one that checks the frames that it
/// gets.
struct World {
    now: Moment,
    router: Router<Note, Want>,
    local: ClientId,
    /// Each reaches both of the others, or none.
    casts: [ClientId; 2],
    links: [(ClientFlags, ClientId); 2],
    peers: [(Router<Note, Want>, ClientId); 2],
}

impl World {
    fn new() -> Self {
        let config = |router: u32| RouterConfig::new(RouterId(router), Seed(u64::from(router)));
        let mut router = Router::new(config(1));
        let local = ClientConfig { pipe: pipe(), ..ClientConfig::advised() };
        let local = router.add_client(Moment::ZERO, local).expect("the first client");
        let casts = [(); 2].map(|()| router.add_group(Moment::ZERO, pipe()).expect("two casts"));
        let mut add = |client| router.add_client(Moment::ZERO, client).expect("few clients");
        let links = [BOTH, BOTH | ClientFlags::UPPER].map(|flags| (flags, add(link(flags))));
        let peers = [2, 3].map(|id| {
            let mut peer = Router::new(config(id));
            let client = peer.add_client(Moment::ZERO, other_end()).expect("the first client");
            (peer, client)
        });
        let mut world = Self { now: Moment::ZERO, router, local, casts, links, peers };
        for index in 0..2 {
            world.raise(index);
        }
        world
    }

    /// Brings up both ends of a link.
    fn raise(&mut self, index: usize) {
        let now = self.now;
        self.router.handle_link(now, self.links[index].1, LinkChange::Up).expect("a link that was down");
        let (peer, client) = &mut self.peers[index];
        peer.handle_link(now, *client, LinkChange::Up).expect("a link that was down");
    }

    /// Breaks a link and replaces it.
    fn renew(&mut self, index: usize) {
        let now = self.now;
        let (flags, id) = self.links[index];
        if self.router.kind(id).is_some() {
            self.router.handle_link(now, id, LinkChange::Down).expect("it was up");
        }
        assert_eq!(self.router.kind(id), None, "a client that is not persistent goes with its link");
        self.links[index].1 = self.router.add_client(now, link(flags)).expect("one went");
        let (peer, client) = &mut self.peers[index];
        peer.remove_client(now, *client);
        *client = peer.add_client(now, other_end()).expect("one went");
        self.raise(index);
    }

    fn chunk(&mut self, control: u8, bytes: &[u8]) {
        match control & 3 {
            index @ 0..=1 => {
                let index = usize::from(index);
                let (cast, loose) = (control & 32 != 0, control & 48 != 0);
                let frame =
                    if control & 4 != 0 { Bytes::copy_from_slice(bytes) } else { framed(bytes, loose) };
                if loose {
                    // Whatever the frame contains, the link stays up.
                    let link = self.links[index].1;
                    let was_up = self.router.is_up(link);
                    let _ignored = match cast {
                        false => self.router.handle_datagram(self.now, link, frame),
                        true => self.router.handle_group_frame(self.now, link, frame),
                    };
                    assert_eq!(self.router.is_up(link), was_up);
                } else if self.router.handle_frame(self.now, self.links[index].1, frame).is_err() {
                    self.renew(index);
                }
            }
            2 => self.local(Bytes::copy_from_slice(bytes), control & 16 != 0),
            _ => {
                if control & 4 != 0 {
                    self.cover(control & 8 != 0);
                }
                self.now += Duration::from_millis(u64::from(control >> 4) * 500);
                self.router.handle_timeout(self.now);
            }
        }
        if control & 8 == 0 {
            self.settle();
        }
    }

    /// Makes the casts reach both neighbours, or none.
    fn cover(&mut self, covered: bool) {
        for (cast, (_, link)) in (0..2).flat_map(|cast| self.links.map(|link| (cast, link))) {
            self.router.set_covered(link, cast, covered);
        }
    }

    fn local(&mut self, bytes: Bytes, advertisement: bool) {
        if let (Ok(want), true) = (Want::decode(bytes.clone(), 0), advertisement) {
            let any = !self.router.advertisements(self.local).any(|known| *known == want);
            let done = self.router.set_advertisement(self.now, self.local, want, any);
            assert!(done.is_ok() || any, "what is known can be taken back");
        } else if let Ok(want) = Want::decode(bytes.clone(), 0) {
            let any = !self.router.interests(self.local).any(|known| *known == want);
            let done = self.router.set_interest(self.now, self.local, want, any);
            assert!(done.is_ok() || any, "what is known can be taken back");
        } else if let Ok(note) = Note::decode(bytes, 0) {
            let done = self.router.submit(self.now, self.local, note).expect("a local source");
            assert!(done.queued as usize + done.refused.len() <= 2, "not to itself");
        }
    }

    /// Takes all output for a link.
    fn send(&mut self, index: usize, client: ClientId) {
        let (peer, end) = &mut self.peers[index];
        let ordered = if index == 0 { Fifos::ALL } else { Fifos::RELIABLE };
        while let Some(frame) = self.router.poll_frame_of(self.now, client, ordered, usize::MAX) {
            assert!(frame.len() <= 128, "a frame of {} bytes", frame.len());
            let _received = peer.handle_frame(self.now, *end, frame).expect("a sound frame");
        }
        if index == 1 {
            while let Some(frame) = self.router.poll_frame_of(self.now, client, Fifos::BEST_EFFORT, 128) {
                assert!(frame.len() <= 128, "a datagram of {} bytes", frame.len());
                let _received = peer.handle_datagram(self.now, *end, frame).expect("a sound datagram");
            }
        }
    }

    /// Takes all output of a cast: each of the others gets it.
    fn send_all(&mut self, cast: ClientId) {
        while let Some(frame) = self.router.poll_frame_of(self.now, cast, Fifos::ALL, 128) {
            assert!(frame.len() <= 128, "a frame of {} bytes", frame.len());
            for (peer, end) in &mut self.peers {
                let _received =
                    peer.handle_group_frame(self.now, *end, frame.clone()).expect("a sound frame");
            }
        }
    }

    /// Takes all outputs, and lets the other routers read them.
    fn settle(&mut self) {
        while self.router.poll_event().is_some() {}
        for index in 0..2 {
            if self.router.kind(self.links[index].1).is_none() {
                self.renew(index);
            }
        }
        while let Some(client) = self.router.poll_ready() {
            if self.router.kind(client) == Some(ClientKind::Link) {
                let index = usize::from(client == self.links[1].1);
                self.send(index, client);
            } else if self.casts.contains(&client) {
                self.send_all(client);
            } else {
                while self.router.poll_message(client).is_some() {}
            }
        }
        while self.router.poll_event().is_some() {}
        for client in self.router.clients() {
            let (messages, bytes) = self.router.queued(client).expect("it is there");
            if client == self.local {
                assert_eq!((messages, bytes), (0, 0), "the local client is drained");
            } else {
                // Reliable messages may wait for credit, which the peer's greeting limits.
                assert!(messages <= 20 && bytes <= 8_192, "{messages} messages, {bytes} bytes for {client}");
            }
            let (_, stalled) = self.router.stalled(client).expect("it is there");
            assert!(stalled <= (1 << 20) + 8_192, "{stalled} bytes of {client} wait at the entrance");
        }
        for (peer, _) in &mut self.peers {
            while peer.poll_event().is_some() {}
        }
    }
}

/// Records behind a valid head.
fn framed(records: &[u8], loose: bool) -> Bytes {
    let mut frame = BytesMut::new();
    frame.put_u16(MAGIC);
    frame.put_u8(VERSION);
    frame.put_u8(u8::from(loose));
    frame.put_u32((FRAME_HEAD_BYTES + records.len()) as u32);
    frame.put_slice(records);
    frame.freeze()
}

fuzz_target!(|data: &[u8]| {
    let mut world = World::new();
    for ([control], bytes) in chunks(data) {
        world.chunk(control, bytes);
    }
    world.now += Duration::from_secs(1);
    world.router.handle_timeout(world.now);
    world.settle();
});
