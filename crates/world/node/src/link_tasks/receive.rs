//! The task that receives the datagrams of one link.

use std::io;
use std::rc::Rc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use tokio::net::UdpSocket;
use tokio::time::Instant;
use tracing::{debug, warn};

use crate::hub::Hub;
use crate::link::datagram::{DatagramReceiver, Kind, QUIC_HEADER};
use crate::link::datagram_keys::{Incoming, Outgoing, Refused};
use crate::link::sequence::Sequence;
use crate::link::{LinkId, LinkInput};
use crate::machine::{Input, Machine};

/// Interval between probes of a UDP side that has not been answered yet, and later.
const PROBE_FIRST: Duration = Duration::from_millis(100);
const PROBE_LATER: Duration = Duration::from_secs(1);

/// After this long without an answer, datagrams are not used.
const PROBE_SILENCE: Duration = Duration::from_millis(3500);

/// Number of datagrams handled before other tasks get their turn.
const DATAGRAM_BATCH: usize = 64;

/// Serves the datagrams of a link. The link's task ends it.
pub(crate) async fn receive<M: Machine>(hub: Rc<Hub<M>>, link: LinkId, receiver: DatagramReceiver) {
    match receiver {
        DatagramReceiver::Quic(connection) => receive_quic(&hub, link, &connection).await,
        DatagramReceiver::Udp { socket, incoming, outgoing } => {
            Box::pin(receive_udp(&hub, link, &socket, incoming, &outgoing)).await;
        }
    }
}

/// Switches the sending of frames as datagrams on or off.
fn set_usable<M: Machine>(hub: &Hub<M>, link: LinkId, usable: bool) {
    let max = {
        let mut core = hub.core.borrow_mut();
        let Some(side) = core.links.get_mut(link).and_then(|outbound| outbound.datagrams.as_mut()) else {
            return;
        };
        side.usable = usable;
        if usable { side.frame_bytes_max() } else { 0 }
    };
    debug!(%link, max, "datagrams");
    hub.handle(Input::Link(LinkInput::DatagramSize { link, max }));
}

fn deliver<M: Machine>(
    hub: &Hub<M>,
    link: LinkId,
    sequence: &Sequence,
    foreign: u64,
    frames: &mut Vec<Bytes>,
) {
    let open = {
        let mut core = hub.core.borrow_mut();
        let Some(outbound) = core.links.get_mut(link) else { return };
        sequence.write(&mut outbound.counters);
        outbound.counters.foreign_datagrams = foreign;
        outbound.is_open()
    };
    if open && !frames.is_empty() {
        hub.act(|machine, now| {
            for frame in frames.drain(..) {
                machine.handle(now, Input::Link(LinkInput::Datagram { link, frame }));
            }
        });
    }
    frames.clear();
}

async fn receive_quic<M: Machine>(hub: &Hub<M>, link: LinkId, connection: &quinn::Connection) {
    set_usable(hub, link, true);
    let mut sequence = Sequence::new();
    let mut foreign = 0;
    let mut frames = Vec::new();
    // The task of the stream also sees the end of the connection.
    while let Ok(mut datagram) = connection.read_datagram().await {
        if datagram.len() <= QUIC_HEADER {
            foreign += 1;
        } else {
            let number = bytes::Buf::get_u64(&mut datagram);
            if sequence.take(number) {
                frames.push(datagram);
            }
        }
        deliver(hub, link, &sequence, foreign, &mut frames);
    }
}

async fn receive_udp<M: Machine>(
    hub: &Hub<M>,
    link: LinkId,
    socket: &UdpSocket,
    mut incoming: Incoming,
    outgoing: &Outgoing,
) {
    let mut sequence = Sequence::new();
    let (mut foreign, mut frames) = (0, Vec::new());
    let mut buffer = vec![0; 1 << 16];
    let mut scratch = BytesMut::new();
    let start = Instant::now();
    let mut answered: Option<Instant> = None;
    let (mut usable, mut warned, mut next_probe) = (false, false, start);
    loop {
        tokio::select! {
            _ = socket.readable() => {}
            () = tokio::time::sleep_until(next_probe) => {
                probe(socket, Kind::Probe, outgoing, &mut scratch);
                let fresh = !usable && start.elapsed() < PROBE_SILENCE;
                next_probe = Instant::now() + if fresh { PROBE_FIRST } else { PROBE_LATER };
            }
        }
        for _ in 0..DATAGRAM_BATCH {
            let count = match socket.try_recv(&mut buffer) {
                Ok(count) => count,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(_) => continue, // an answer of the network to something that was sent
            };
            match incoming.read(&mut buffer[..count]) {
                Ok((Kind::Probe, ..)) => probe(socket, Kind::Answer, outgoing, &mut scratch),
                Ok((Kind::Answer, ..)) => answered = Some(Instant::now()),
                Ok((Kind::Frame, number, frame)) if !frame.is_empty() => {
                    if sequence.take(number) {
                        frames.push(Bytes::copy_from_slice(frame));
                    }
                }
                Err(Refused::Repeated) => sequence.refuse(),
                Ok(_) | Err(Refused::Foreign) => foreign += 1,
            }
        }
        deliver(hub, link, &sequence, foreign, &mut frames);
        let now_usable = answered.is_some_and(|at| at.elapsed() < PROBE_SILENCE);
        if now_usable != usable {
            usable = now_usable;
            set_usable(hub, link, usable);
        }
        if !usable && !warned && start.elapsed() > PROBE_SILENCE {
            warned = true;
            warn!(%link, "UDP does not come through; best effort travels in the TCP stream");
        }
    }
}

fn probe(socket: &UdpSocket, kind: Kind, outgoing: &Outgoing, scratch: &mut BytesMut) {
    scratch.clear();
    outgoing.write(scratch, kind, 0, &[]);
    let _ = socket.try_send(scratch); // one that is lost is followed by another
}
