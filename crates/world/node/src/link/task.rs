//! The task of one link, and that of its datagrams.

use std::future::{Future, poll_fn};
use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};
use std::time::Duration;

use base::Moment;
use bytes::{Bytes, BytesMut};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::UdpSocket;
use tokio::time::{Instant, Sleep};
use tracing::{debug, info, warn};

use super::datagram::{self, DatagramReceiver, Kind, QUIC_HEADER};
use super::establish::Established;
use super::frame::{FrameReader, LINK_FRAME_BYTES_MAX};
use super::outbound::{LinkEnd, Outbound};
use super::sequence::Sequence;
use super::stream::{BoxRead, BoxWrite};
use super::{LinkId, TargetId};
use crate::driver::{Hub, Machine};

/// After the last byte was written the peer has this long to close its side.
const LINGER: Duration = Duration::from_secs(2);

/// The machine is told the counters of a busy link this often.
const REPORT_EVERY: Duration = Duration::from_secs(1);

/// Between probes of a UDP side that has not been answered yet, and later.
const PROBE_FIRST: Duration = Duration::from_millis(100);
const PROBE_LATER: Duration = Duration::from_secs(1);

/// Without an answer for this long datagrams are not used.
const PROBE_SILENCE: Duration = Duration::from_millis(3500);

/// Datagrams that are taken before others have their turn.
const DATAGRAM_BATCH: usize = 64;

/// Serves a link until it ends, and tells the machine of its beginning and its end.
pub(crate) async fn serve<M: Machine + 'static>(
    hub: Rc<Hub<M>>,
    established: Established,
    target: Option<TargetId>,
) {
    let Established { mut read, write, reader, line, sender, receiver, peer, local_ip } = established;
    let outbound = Outbound::new(write, line, sender);
    let link = {
        let mut core = hub.core.borrow_mut();
        let link = core.links.insert(outbound);
        if local_ip.is_some_and(|ip| core.links.see_address(ip)) {
            let addresses = core.links.addresses();
            core.machine.handle_link_addresses(hub.clock.now(), &addresses);
        }
        core.stats.opened_links += 1;
        link
    };
    info!(%link, peer, "link up");
    hub.act(|machine, now| machine.handle_link_up(now, link, target));
    let datagrams =
        receiver.map(|receiver| tokio::task::spawn_local(receive(Rc::clone(&hub), link, receiver)));
    let mut inbound = Inbound { link, reader, sleep: None, reported: hub.clock.now() };
    let end = poll_fn(|cx| inbound.poll(&hub, &mut read, cx)).await;
    if let Some(datagrams) = datagrams {
        datagrams.abort();
    }
    let outbound = hub.core.borrow_mut().links.remove(link);
    let write = outbound.map(Outbound::into_write);
    if end.orderly {
        info!(%link, peer, reason = end.why, "link closed");
    } else {
        warn!(%link, peer, reason = end.why, "link down");
    }
    hub.act(|machine, now| machine.handle_link_down(now, link, &end.why));
    drop(hub);
    if let Some(write) = write.filter(|_| end.orderly) {
        Box::pin(linger(read, write)).await;
    }
}

/// The reading side of one link.
struct Inbound {
    link: LinkId,
    reader: FrameReader,
    sleep: Option<(Moment, Pin<Box<Sleep>>)>,
    reported: Moment,
}

impl Inbound {
    /// Serves whatever the stream is ready for. Ready when the link is over.
    fn poll<M: Machine>(&mut self, hub: &Hub<M>, read: &mut BoxRead, cx: &mut Context<'_>) -> Poll<LinkEnd> {
        loop {
            let took = {
                let mut core = hub.core.borrow_mut();
                let core = &mut *core;
                let now = hub.clock.now();
                let Some(outbound) = core.links.get_mut(self.link) else {
                    return Poll::Ready(LinkEnd::broken("it is gone"));
                };
                outbound.attend(cx.waker());
                let took = outbound.is_due(now) && outbound.pump(&mut core.machine, now, self.link);
                if let Some(end) = outbound.end() {
                    return Poll::Ready(end.clone());
                }
                self.arm(hub, outbound.wake_at());
                took
            };
            if took {
                hub.act(|_, _| ()); // room may have made the machine send more, to anybody
            }
            if let Some((_, sleep)) = &mut self.sleep
                && sleep.as_mut().poll(cx).is_ready()
            {
                self.sleep = None;
                continue;
            }
            match self.reader.poll_read(read, cx) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(Ok(0)) => return Poll::Ready(LinkEnd::broken("the peer closed the link")),
                Poll::Ready(Err(error)) => return Poll::Ready(LinkEnd::broken(error.to_string())),
                Poll::Ready(Ok(count)) => {
                    if let Err(why) = self.deliver(hub, count) {
                        return Poll::Ready(LinkEnd::broken(why));
                    }
                }
            }
        }
    }

    /// Hands all whole frames to the machine.
    fn deliver<M: Machine>(&mut self, hub: &Hub<M>, count: usize) -> Result<(), String> {
        let mut result = Ok(());
        let mut frames = 0;
        let link = self.link;
        let open = hub.core.borrow_mut().links.get_mut(link).is_some_and(|outbound| outbound.is_open());
        hub.act(|machine, now| {
            loop {
                match self.reader.next(LINK_FRAME_BYTES_MAX) {
                    Ok(None) => break,
                    Ok(Some(frame)) if open => {
                        frames += 1;
                        machine.handle_link_frame(now, link, frame);
                    }
                    Ok(Some(_)) => {} // nobody listens any more
                    Err(error) => {
                        result = Err(error.to_string());
                        break;
                    }
                }
            }
        });
        let mut core = hub.core.borrow_mut();
        let core = &mut *core;
        let Some(outbound) = core.links.get_mut(link) else { return result };
        outbound.counters.received_frames += frames;
        outbound.counters.received_bytes += count as u64;
        let now = hub.clock.now();
        if now.since(self.reported) >= REPORT_EVERY {
            self.reported = now;
            core.machine.handle_link_counters(link, &outbound.counters);
        }
        result
    }

    /// Sees to it that the task is woken at `wanted`.
    fn arm<M: Machine>(&mut self, hub: &Hub<M>, wanted: Option<Moment>) {
        if self.sleep.as_ref().map(|(at, _)| *at) == wanted {
            return;
        }
        let instant = wanted.and_then(|at| Some((at, hub.clock.instant(at)?)));
        self.sleep = match (instant, self.sleep.take()) {
            (None, _) => None,
            (Some((at, instant)), Some((_, mut sleep))) => {
                sleep.as_mut().reset(instant);
                Some((at, sleep))
            }
            (Some((at, instant)), None) => Some((at, Box::pin(tokio::time::sleep_until(instant)))),
        };
    }
}

/// Closes all links, and waits for a moment until what they had to say is written.
pub(crate) async fn close_all<M: Machine>(hub: &Hub<M>) {
    let departed = {
        let mut core = hub.core.borrow_mut();
        let core = &mut *core;
        for link in core.links.ids() {
            if let Some(outbound) = core.links.get_mut(link) {
                outbound.close(&mut core.machine, hub.clock.now(), link, "the node stops".to_owned());
            }
        }
        Rc::clone(&core.links.departed)
    };
    let gone = async {
        loop {
            let departed = departed.notified();
            if hub.core.borrow().links.len() == 0 {
                return;
            }
            departed.await;
        }
    };
    let _ = tokio::time::timeout(LINGER, gone).await; // each link has its own, shorter limit
}

/// Ends the writing side, then reads and forgets until the peer has closed its own.
async fn linger(mut read: BoxRead, mut write: BoxWrite) {
    let mut scratch = [0; 512];
    let drained = async {
        let _ = write.shutdown().await;
        while matches!(read.read(&mut scratch).await, Ok(count) if count > 0) {}
    };
    let _ = tokio::time::timeout(LINGER, drained).await; // a peer that stays is cut off
}

/// Serves the datagrams of a link; ended by the link's task.
async fn receive<M: Machine>(hub: Rc<Hub<M>>, link: LinkId, receiver: DatagramReceiver) {
    match receiver {
        DatagramReceiver::Quic(connection) => receive_quic(&hub, link, &connection).await,
        DatagramReceiver::Udp { socket, token, peer_token } => {
            Box::pin(receive_udp(&hub, link, &socket, token, peer_token)).await;
        }
    }
}

/// Whether frames travel as datagrams from now on.
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
    hub.act(|machine, _| machine.set_link_datagrams(link, max));
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
        outbound.counters.datagrams = sequence.counters;
        outbound.counters.foreign_datagrams = foreign;
        outbound.is_open()
    };
    if open && !frames.is_empty() {
        hub.act(|machine, now| {
            frames.drain(..).for_each(|frame| machine.handle_link_datagram(now, link, frame));
        });
    }
    frames.clear();
}

async fn receive_quic<M: Machine>(hub: &Hub<M>, link: LinkId, connection: &quinn::Connection) {
    set_usable(hub, link, true);
    let mut sequence = Sequence::new();
    let mut foreign = 0;
    let mut frames = Vec::new();
    // The stream's task sees the end of the connection, too.
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
    token: u64,
    peer_token: u64,
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
                probe(socket, Kind::Probe, peer_token, &mut scratch);
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
            match datagram::read(&buffer[..count], token) {
                Some((Kind::Probe, ..)) => probe(socket, Kind::Answer, peer_token, &mut scratch),
                Some((Kind::Answer, ..)) => answered = Some(Instant::now()),
                Some((Kind::Frame, number, frame)) if !frame.is_empty() => {
                    if sequence.take(number) {
                        frames.push(Bytes::copy_from_slice(frame));
                    }
                }
                _ => foreign += 1,
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

fn probe(socket: &UdpSocket, kind: Kind, peer_token: u64, scratch: &mut BytesMut) {
    scratch.clear();
    datagram::write(scratch, kind, peer_token, 0, &[]);
    let _ = socket.try_send(scratch); // one that is lost is followed by another
}
