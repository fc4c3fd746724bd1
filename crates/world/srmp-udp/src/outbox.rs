//! Outgoing datagrams, many per system call.

use std::io;
use std::net::SocketAddr;
use std::ops::Range;

use quinn_udp::Transmit;
use tokio::io::Interest;

use super::sockets::Batched;
use super::stats::IoCounters;

/// Bytes per system call: less than the maximum of an IP datagram.
const BATCH_BYTES_MAX: usize = 60_000;
/// Bytes that are taken from the protocol at a time.
const OUTBOX_BYTES: usize = 256 << 10;
/// The emulation and older systems support no more segments.
const SEGMENTS_MAX: usize = 64;

/// Datagrams of the same size to one address. The last one may be shorter.
#[derive(Debug)]
struct Batch {
    to: SocketAddr,
    segment: usize,
    count: usize,
    range: Range<usize>,
    /// Its last datagram was shorter, so no further one can be added.
    closed: bool,
}

/// Datagrams that wait for the socket.
#[derive(Debug, Default)]
pub(super) struct Outbox {
    bytes: Vec<u8>,
    batches: Vec<Batch>,
    /// Number of batches that were sent.
    done: usize,
    /// The site's group, the TTL of datagrams to it, and that of others.
    site: Option<(SocketAddr, u32, u32)>,
}

impl Outbox {
    /// An empty outbox. `ttls` are those of datagrams to the site and to the group.
    pub(super) fn new(site: Option<SocketAddr>, ttls: (u8, u8)) -> Self {
        let site = site.filter(|_| ttls.0 != ttls.1).map(|site| (site, ttls.0.into(), ttls.1.into()));
        Self { site, ..Self::default() }
    }

    /// Changes the TTL of the socket around datagrams to the site, because all datagrams of a
    /// member are sent by one socket.
    fn reach(&self, batch: &Batch, by: &Batched, is_before: bool) -> io::Result<()> {
        let Some((_, near, far)) = self.site.filter(|site| site.0 == batch.to) else { return Ok(()) };
        let ttl = if is_before { near } else { far };
        let socket = socket2::SockRef::from(&by.socket);
        match batch.to {
            SocketAddr::V4(_) => socket.set_multicast_ttl_v4(ttl),
            SocketAddr::V6(_) => socket.set_multicast_hops_v6(ttl),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.batches.is_empty()
    }

    /// Whether no more datagrams should be taken now.
    pub(super) fn is_full(&self) -> bool {
        self.bytes.len() >= OUTBOX_BYTES
    }

    /// Adds a datagram. `segments` is the number that the system takes at once.
    pub(super) fn push(&mut self, to: SocketAddr, datagram: &[u8], segments: usize) {
        let begin = self.bytes.len();
        self.bytes.extend_from_slice(datagram);
        if let Some(batch) = self.batches.last_mut()
            && batch.takes(to, datagram.len(), segments.min(SEGMENTS_MAX))
        {
            batch.closed = datagram.len() < batch.segment;
            batch.count += 1;
            batch.range.end = self.bytes.len();
            return;
        }
        self.batches.push(Batch {
            to,
            segment: datagram.len(),
            count: 1,
            range: begin..self.bytes.len(),
            closed: false,
        });
    }

    /// Sends as much as the socket accepts. The rest stays.
    pub(super) fn send(&mut self, by: &Batched, counters: &mut IoCounters) {
        while let Some(batch) = self.batches.get(self.done) {
            let reach = self.reach(batch, by, true);
            let sent = reach.and_then(|()| batch.send(&self.bytes, by, counters));
            if let Err(error) = self.reach(batch, by, false) {
                tracing::warn!(%error, "the reach of multicast datagrams stays that of the site");
            }
            match sent {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                Err(error) => {
                    tracing::debug!(to = %batch.to, %error, "datagrams were not sent");
                    counters.send_errors += batch.count as u64;
                }
                Ok(()) => counters.sent += batch.count as u64,
            }
            self.done += 1;
        }
        self.bytes.clear();
        self.batches.clear();
        self.done = 0;
    }
}

impl Batch {
    fn takes(&self, to: SocketAddr, len: usize, segments: usize) -> bool {
        !self.closed
            && self.to == to
            && len > 0
            && len <= self.segment
            && self.count < segments
            && self.range.len() + len <= BATCH_BYTES_MAX
    }

    fn send(&self, bytes: &[u8], by: &Batched, counters: &mut IoCounters) -> io::Result<()> {
        let bytes = &bytes[self.range.clone()];
        let whole = self.call(bytes, by, counters);
        match whole {
            // The system or the network card cannot segment it. From now on it is cut into
            // datagrams here.
            Err(error) if self.count > 1 && error.kind() != io::ErrorKind::WouldBlock => {
                let mut last = Ok(());
                for datagram in bytes.chunks(self.segment) {
                    last = last.and(self.call(datagram, by, counters));
                }
                last
            }
            other => other,
        }
    }

    fn call(&self, bytes: &[u8], by: &Batched, counters: &mut IoCounters) -> io::Result<()> {
        let transmit = Transmit {
            destination: self.to,
            ecn: None,
            contents: bytes,
            segment_size: (bytes.len() > self.segment).then_some(self.segment),
            src_ip: None,
        };
        counters.send_calls += 1;
        by.socket.try_io(Interest::WRITABLE, || by.state.try_send((&by.socket).into(), &transmit))
    }
}
