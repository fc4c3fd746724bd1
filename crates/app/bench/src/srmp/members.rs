//! Two members of an SRMP group in one thread.

use std::net::{Ipv4Addr, SocketAddr, UdpSocket};

use bytes::Bytes;
use srmp::auth::{GroupKey, Keyring};
use srmp::model::{Profile, StreamKey};
use srmp::rate::Rate;
use srmp::{Endpoint, Event};
use srmp_udp::{HostConfig, Interface, OpenError, SrmpEvents, SrmpHost};
use tokio::runtime::Runtime;

use super::{Kind, Plan, SILENCE};
use crate::error::BenchError;

/// The group, with a port that nobody uses.
const GROUP: Ipv4Addr = Ipv4Addr::new(239, 255, 44, 11);
/// Number of streams to which messages belong in turn.
const STREAMS: u64 = 1_000;

/// A sending member, a receiving one, and the runtime that they share.
pub(super) struct Pair {
    runtime: Runtime,
    speaks: SrmpHost,
    _speaks_events: SrmpEvents,
    _hears: SrmpHost,
    hears_events: SrmpEvents,
    body: Bytes,
    sent: u64,
    heard: u64,
    /// Number of messages that may be in flight.
    window: u64,
    /// Number of messages that may wait for a bundle to be full.
    waiting: u64,
}

impl Pair {
    pub(super) fn open(plan: &Plan, kind: Kind) -> Result<Self, BenchError> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(BenchError::system("event queue"))?;
        let group = free_group()?;
        let (speaks, hears) = runtime.block_on(async {
            let open = || open(group, &plan.interface, kind);
            Ok::<_, BenchError>((open()?, open()?))
        })?;
        let room = speaks.0.inspect(|endpoint| endpoint.format().mode0_bytes_max(0));
        if plan.size > room {
            return Err(BenchError::Unusable(format!(
                "a best-effort message of {} bytes does not fit into a datagram: {room} do",
                plan.size
            )));
        }
        let per_datagram = if kind == Kind::Single { 1 } else { (room / (plan.size + 8)).max(1) as u64 };
        let mut pair = Self {
            runtime,
            speaks: speaks.0,
            _speaks_events: speaks.1,
            _hears: hears.0,
            hears_events: hears.1,
            body: Bytes::from(vec![7; plan.size]),
            sent: 0,
            heard: 0,
            window: kind.burst() as u64 * per_datagram,
            waiting: if kind == Kind::Single { 0 } else { per_datagram + 1 },
        };
        pair.meet()?;
        Ok(pair)
    }

    /// Waits until the receiving member has heard the sending one.
    fn meet(&mut self) -> Result<(), BenchError> {
        let Self { runtime, hears_events, .. } = self;
        let seen =
            async { while !matches!(hears_events.recv().await, Some(Event::MemberSeen { .. }) | None) {} };
        let met = runtime.block_on(async { tokio::time::timeout(SILENCE, seen).await });
        met.map_err(|_| stalled())
    }

    /// Sends `count` messages or a few more, and receives all except those that wait for a full
    /// bundle.
    pub(super) fn flood(&mut self, count: u64) -> Result<u64, BenchError> {
        let Self { runtime, speaks, hears_events, body, sent, heard, window, waiting, .. } = self;
        let before = *heard;
        let end = *sent + count;
        runtime.block_on(async {
            while *sent < end {
                for _ in 0..*window {
                    let stream = Some(StreamKey((*sent % STREAMS) as u32 + 1));
                    speaks
                        .send0(stream, 0, body.clone())
                        .map_err(|error| BenchError::Unusable(error.to_string()))?;
                    *sent += 1;
                }
                let all = async {
                    while *heard + *waiting < *sent {
                        match hears_events.recv().await {
                            Some(Event::Mode0 { .. }) => *heard += 1,
                            Some(_) => {}
                            None => return,
                        }
                    }
                };
                tokio::time::timeout(SILENCE, all).await.map_err(|_| stalled())?;
            }
            Ok::<_, BenchError>(())
        })?;
        Ok(*heard - before)
    }

    /// Number of bundles so far.
    pub(super) fn datagrams(&self) -> u64 {
        self.speaks.inspect(|endpoint| endpoint.counters().endpoint.sent.bundles)
    }

    /// Mean length of a datagram in bytes.
    pub(super) fn datagram_bytes(&self) -> usize {
        self.speaks.inspect(|endpoint| {
            let sent = &endpoint.counters().endpoint.sent;
            (sent.bytes / sent.datagrams.max(1)) as usize
        })
    }
}

fn stalled() -> BenchError {
    BenchError::Stalled { reason: "messages of the group".into(), seconds: SILENCE.as_secs() }
}

fn free_group() -> Result<SocketAddr, BenchError> {
    let port = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)).and_then(|socket| socket.local_addr());
    Ok(SocketAddr::from((GROUP, port.map_err(BenchError::system("a free port"))?.port())))
}

/// A member without an effective limit of its rate.
pub(super) fn open(
    group: SocketAddr,
    interface: &Interface,
    kind: Kind,
) -> Result<(SrmpHost, SrmpEvents), BenchError> {
    let unusable = |error: OpenError| BenchError::Unusable(error.to_string());
    let mut config = HostConfig::new(group, Profile::V3).map_err(unusable)?;
    config.interface = interface.clone();
    let protocol = &mut config.protocol;
    // Congestion control is not measured here.
    protocol.rate.rate_min = Rate::new(1e10).expect("it is above zero");
    if kind == Kind::Single {
        protocol.timing.bundle_timeout = std::time::Duration::ZERO;
    }
    if matches!(kind, Kind::Authenticated | Kind::Encrypted) {
        let key = GroupKey::new(1, &[42; 32]).expect("it is long enough");
        protocol.keys = Some(Keyring::new(key));
        protocol.encrypt = kind == Kind::Encrypted;
    }
    SrmpHost::open(config).map_err(unusable)
}

/// A group with a port that nobody uses, for other parts of this benchmark.
pub(super) fn group() -> Result<SocketAddr, BenchError> {
    free_group()
}

/// Waits until a member has heard another one.
pub(super) async fn met(host: &SrmpHost) -> Result<(), BenchError> {
    let seen = async {
        while host.inspect(Endpoint::live_members) == 0 {
            tokio::time::sleep(std::time::Duration::from_millis(1)).await;
        }
    };
    tokio::time::timeout(SILENCE, seen).await.map_err(|_| stalled())
}
