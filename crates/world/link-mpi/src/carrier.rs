//! The links of one rank, as a machine: messages in, messages out, and streams for the users of
//! links.
//!
//! It depends on neither MPI nor threads. The driver hands it received messages
//! ([`Carrier::handle_message`]), sends its messages ([`Carrier::poll_message`]) and tells it when
//! a rank has taken one ([`Carrier::handle_sent`]).
//!
//! Memory is bounded whatever the others do. A rank that takes nothing has [`IN_FLIGHT_MAX`]
//! messages under way to it, and further data for its links waits with the writers. A reader that
//! reads nothing keeps at most [`WINDOW_BYTES`](crate::link::WINDOW_BYTES).

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::task::{Context, Poll, Waker};

use bytes::Bytes;

use crate::link::{Link, Outgoing};
use crate::message::{Kind, Malformed, Message, VERSION};

/// Messages that may be under way to one rank, sent and not yet taken.
pub(crate) const IN_FLIGHT_MAX: usize = 16;

/// Links made by other ranks that are not yet accepted here.
const BACKLOG_MAX: usize = 64;

/// Refusals that wait to be sent to one rank. Requests beyond them get no answer.
const REFUSALS_MAX: usize = 64;

/// One end of one link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct LinkKey {
    /// The other rank; may be this one.
    pub(crate) peer: u32,
    /// True if this end made the link.
    pub(crate) is_maker: bool,
    /// The number that the maker gave to the link.
    pub(crate) number: u32,
}

/// The state of another rank as a whole.
#[derive(Default)]
struct Peer {
    /// Links that may have something to send; each at most once.
    ready: VecDeque<LinkKey>,
    refusals: VecDeque<(u32, String)>,
    in_flight: usize,
    bye_sent: bool,
    bye_received: bool,
}

#[derive(Default)]
struct Listener {
    backlog: VecDeque<LinkKey>,
    waker: Option<Waker>,
}

/// The links of one rank.
pub(crate) struct Carrier {
    rank: u32,
    links: BTreeMap<LinkKey, Link>,
    /// By rank.
    peers: Vec<Peer>,
    /// Ranks to which there may be something to send.
    talking: BTreeSet<u32>,
    /// Number of links that this rank made.
    made: u32,
    listener: Option<Listener>,
    leaving: bool,
}

impl Carrier {
    /// The carrier of `rank`, which is one of `size`.
    pub(crate) fn new(rank: u32, size: u32) -> Self {
        Self {
            rank,
            links: BTreeMap::new(),
            peers: (0..size).map(|_| Peer::default()).collect(),
            talking: BTreeSet::new(),
            made: 0,
            listener: None,
            leaving: false,
        }
    }

    /// Makes a link to `peer`.
    ///
    /// # Errors
    /// There is no such rank, or it has left, or this rank leaves.
    pub(crate) fn connect(&mut self, peer: u32) -> Result<LinkKey, String> {
        let size = self.peers.len();
        let Some(other) = self.peers.get(peer as usize) else {
            return Err(format!("there is no rank {peer}; the job has {size}, from 0 to {}", size - 1));
        };
        if self.leaving {
            return Err("this rank leaves the job".to_owned());
        }
        if other.bye_received {
            return Err(format!("rank {peer} has left the job"));
        }
        self.made = self.made.checked_add(1).ok_or("this rank has made 4 billion links")?;
        let key = LinkKey { peer, is_maker: true, number: self.made };
        self.links.insert(key, Link::asked());
        self.mark(key);
        Ok(key)
    }

    /// Ready when `link` is made, or with the reason why it is not.
    pub(crate) fn poll_connected(&mut self, link: LinkKey, cx: &Context<'_>) -> Poll<Result<(), String>> {
        let Some(entry) = self.links.get_mut(&link) else {
            return Poll::Ready(Err("the link is gone".to_owned()));
        };
        match entry.outcome() {
            Some(result) => Poll::Ready(result),
            None => {
                entry.await_reading(cx.waker());
                Poll::Pending
            }
        }
    }

    /// Accepts links from now on; false if this process already does.
    pub(crate) fn listen(&mut self) -> bool {
        let free = self.listener.is_none() && !self.leaving;
        if free {
            self.listener = Some(Listener::default());
        }
        free
    }

    /// The next link that another rank made; ready with `None` when this rank leaves.
    pub(crate) fn poll_accept(&mut self, cx: &Context<'_>) -> Poll<Option<LinkKey>> {
        let Some(listener) = &mut self.listener else { return Poll::Ready(None) };
        match listener.backlog.pop_front() {
            Some(link) => Poll::Ready(Some(link)),
            None => {
                listener.waker = Some(cx.waker().clone());
                Poll::Pending
            }
        }
    }

    /// Accepts no further links, and closes those that were not accepted.
    pub(crate) fn stop_listening(&mut self) {
        for link in self.listener.take().map(|listener| listener.backlog).into_iter().flatten() {
            self.close(link);
        }
    }

    /// Octets of `link`, at most `max`; empty at the end.
    pub(crate) fn poll_read(
        &mut self,
        link: LinkKey,
        cx: &Context<'_>,
        max: usize,
    ) -> Poll<Result<Bytes, String>> {
        let Some(entry) = self.links.get_mut(&link) else { return Poll::Ready(Ok(Bytes::new())) };
        match entry.read(max) {
            Err(why) => Poll::Ready(Err(why)),
            Ok(None) => {
                entry.await_reading(cx.waker());
                Poll::Pending
            }
            Ok(Some(octets)) => {
                self.mark(link); // the peer may be granted more
                Poll::Ready(Ok(octets))
            }
        }
    }

    /// Writes octets to `link`; ready with the number written, at least one.
    pub(crate) fn poll_write(
        &mut self,
        link: LinkKey,
        cx: &Context<'_>,
        octets: &[u8],
    ) -> Poll<Result<usize, String>> {
        let Some(entry) = self.links.get_mut(&link) else {
            return Poll::Ready(Err("the link is gone".to_owned()));
        };
        match entry.write(octets) {
            Ok(0) if !octets.is_empty() => {
                entry.await_writing(cx.waker());
                Poll::Pending
            }
            result => {
                self.mark(link);
                Poll::Ready(result)
            }
        }
    }

    /// Ends the stream that this side writes to `link`.
    pub(crate) fn shut(&mut self, link: LinkKey) {
        if let Some(entry) = self.links.get_mut(&link) {
            entry.shut();
            self.mark(link);
        }
    }

    /// Closes `link`, which no user here holds any longer.
    pub(crate) fn close(&mut self, link: LinkKey) {
        let Some(entry) = self.links.get_mut(&link) else { return };
        if entry.is_unsaid() || entry.is_over() {
            self.forget(link);
        } else {
            entry.dismiss();
            self.mark(link);
        }
    }

    /// Ends all links, tells the other ranks, and refuses everything from now on.
    pub(crate) fn leave(&mut self) {
        self.leaving = true;
        if let Some(waker) = self.listener.as_mut().and_then(|listener| listener.waker.take()) {
            waker.wake();
        }
        self.listener = None;
        let links: Vec<LinkKey> = self.links.keys().copied().collect();
        for link in links {
            self.close(link);
        }
        self.talking.extend(0..self.peers.len() as u32); // ranks are counted by MPI in 31 bits
    }

    /// True when all ranks have left, and nothing is under way.
    pub(crate) fn is_over(&self) -> bool {
        self.leaving
            && self.peers.iter().all(|peer| peer.bye_sent && peer.bye_received && peer.in_flight == 0)
    }

    /// True if this rank leaves.
    pub(crate) fn is_leaving(&self) -> bool {
        self.leaving
    }

    /// Number of ranks that have not left.
    pub(crate) fn remaining(&self) -> usize {
        self.peers.iter().filter(|peer| !peer.bye_received).count()
    }

    /// True if [`poll_message`](Self::poll_message) may return a message.
    pub(crate) fn has_messages(&self) -> bool {
        !self.talking.is_empty()
    }

    /// The next message, and the rank it is for.
    pub(crate) fn poll_message(&mut self) -> Option<(u32, Bytes)> {
        loop {
            let rank = *self.talking.first()?;
            let peer = &mut self.peers[rank as usize];
            if peer.in_flight >= IN_FLIGHT_MAX || peer.bye_sent {
                self.talking.remove(&rank);
                continue;
            }
            let message = if let Some((number, why)) = peer.refusals.pop_front() {
                Message::encode(Kind::Refuse, false, number, 0, why.as_bytes())
            } else if let Some(link) = peer.ready.pop_front() {
                match self.next_of(link) {
                    Some(message) => message,
                    None => continue,
                }
            } else if self.leaving {
                peer.bye_sent = true;
                Message::encode(Kind::Bye, false, 0, 0, &[])
            } else {
                self.talking.remove(&rank);
                continue;
            };
            self.peers[rank as usize].in_flight += 1;
            return Some((rank, message));
        }
    }

    fn next_of(&mut self, link: LinkKey) -> Option<Bytes> {
        let entry = self.links.get_mut(&link)?;
        let outgoing = entry.next()?;
        if entry.is_over() && entry.is_dismissed() {
            self.links.remove(&link);
        } else if entry.has_next() {
            self.peers[link.peer as usize].ready.push_back(link); // behind the other links
        }
        let Outgoing { kind, value, body } = outgoing;
        Some(Message::encode(kind, link.is_maker, link.number, value, &body))
    }

    /// Notes that `peer` has taken a message.
    pub(crate) fn handle_sent(&mut self, peer: u32) {
        let state = &mut self.peers[peer as usize];
        state.in_flight -= 1;
        if !state.ready.is_empty() || !state.refusals.is_empty() || self.leaving {
            self.talking.insert(peer);
        }
    }

    /// Takes a message from a rank.
    ///
    /// # Errors
    /// The message is not one of this protocol. All links with that rank are then broken.
    pub(crate) fn handle_message(&mut self, from: u32, octets: Bytes) -> Result<(), Malformed> {
        let result = Message::decode(octets).and_then(|message| self.take(from, message));
        if let Err(error) = &result {
            let why = format!("rank {from} sent {error}: does it run another version?");
            for link in self.links_with(from) {
                if let Some(entry) = self.links.get_mut(&link) {
                    entry.breach(&why);
                    self.mark(link);
                }
            }
        }
        result
    }

    fn take(&mut self, from: u32, message: Message) -> Result<(), Malformed> {
        let link = LinkKey { peer: from, is_maker: !message.by_maker, number: message.number };
        match message.kind {
            Kind::Open => return self.on_open(link, &message),
            Kind::Bye => {
                self.peers[from as usize].bye_received = true;
                let why = format!("rank {from} has left the job");
                for link in self.links_with(from) {
                    self.end(link, Some(&why));
                }
                return Ok(());
            }
            _ => {}
        }
        // This side has closed and forgotten the link; the other end learns that from a message
        // under way.
        let Some(entry) = self.links.get_mut(&link) else { return Ok(()) };
        match message.kind {
            Kind::Accept => entry.on_accept(message.value as usize),
            Kind::Refuse => {
                let why = String::from_utf8_lossy(&message.body).into_owned();
                self.end(link, Some(&why));
            }
            Kind::Data => {
                if let Err(why) = entry.on_data(message.body) {
                    entry.breach(&why);
                }
            }
            Kind::Credit => entry.on_credit(message.value as usize),
            Kind::End => entry.on_end(),
            Kind::Close if message.value != 0 => self.end(link, Some("the peer gave the link up")),
            Kind::Close => self.end(link, None),
            Kind::Open | Kind::Bye => {} // above
        }
        self.mark(link);
        Ok(())
    }

    fn on_open(&mut self, link: LinkKey, message: &Message) -> Result<(), Malformed> {
        let refusal = match (message.body.first(), &mut self.listener) {
            (Some(&VERSION), Some(listener)) if listener.backlog.len() < BACKLOG_MAX => {
                if self.links.contains_key(&link) {
                    return Err(Malformed::Twice(link.number));
                }
                self.links.insert(link, Link::accepted(message.value as usize));
                listener.backlog.push_back(link);
                if let Some(waker) = listener.waker.take() {
                    waker.wake();
                }
                self.mark(link);
                return Ok(());
            }
            (Some(&VERSION), Some(_)) => format!("rank {} does not come to accept links", self.rank),
            (Some(&VERSION), None) => format!("no node listens at rank {}", self.rank),
            (version, _) => format!(
                "rank {} speaks version {VERSION} of the protocol for MPI, not {}",
                self.rank,
                version.copied().unwrap_or(0)
            ),
        };
        let peer = &mut self.peers[link.peer as usize];
        if peer.refusals.len() < REFUSALS_MAX {
            peer.refusals.push_back((link.number, refusal));
            self.talking.insert(link.peer);
        }
        Ok(())
    }

    /// Ends `link`, which the peer has forgotten.
    fn end(&mut self, link: LinkKey, why: Option<&str>) {
        let Some(entry) = self.links.get_mut(&link) else { return };
        entry.end(why);
        if entry.is_dismissed() {
            self.forget(link);
        }
    }

    fn forget(&mut self, link: LinkKey) {
        self.links.remove(&link);
        self.peers[link.peer as usize].ready.retain(|&ready| ready != link);
    }

    fn links_with(&self, peer: u32) -> Vec<LinkKey> {
        self.links.keys().copied().filter(|link| link.peer == peer).collect()
    }

    /// Notes that `link` may have something to send now.
    fn mark(&mut self, link: LinkKey) {
        if !self.links.get(&link).is_some_and(Link::has_next) {
            return;
        }
        let peer = &mut self.peers[link.peer as usize];
        if !peer.ready.contains(&link) {
            peer.ready.push_back(link);
        }
        self.talking.insert(link.peer);
    }

    #[cfg(test)]
    pub(crate) fn kept(&self) -> Vec<(usize, usize)> {
        self.links.values().map(Link::kept).collect()
    }
}
