//! The task of one link.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};
use std::time::Duration;

use base::Moment;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::time::Sleep;
use tracing::{info, warn};

use super::receive::receive;
use crate::hub::Hub;
use crate::link::establish::Established;
use crate::link::frame::{FrameReader, LINK_FRAME_BYTES_MAX};
use crate::link::keys::Proof;
use crate::link::outbound::{LinkEnd, Outbound};
use crate::link::stream::{BoxRead, BoxWrite};
use crate::link::{LinkId, LinkInput, TargetId};
use crate::machine::{Input, Machine};

/// How long the peer may take to close its side after the last byte was written.
const LINGER: Duration = Duration::from_secs(2);

/// Interval at which the counters of a busy link are reported to the machine.
const REPORT_EVERY: Duration = Duration::from_secs(1);

/// Serves a link until it ends, and reports its beginning and its end to the machine.
pub(crate) async fn serve<M: Machine + 'static>(
    hub: Rc<Hub<M>>,
    established: Established,
    target: Option<TargetId>,
) {
    let Established { mut read, write, reader, line, sender, receiver, peer, local_ip, proof } = established;
    let names = proof.as_ref().map(Proof::names);
    let outbound = Outbound::new(write, line, sender);
    let link = {
        let mut core = hub.core.borrow_mut();
        let link = core.links.insert(outbound, proof);
        if local_ip.is_some_and(|ip| core.links.see_address(ip)) {
            let addresses = core.links.addresses();
            core.machine.handle(hub.clock.now(), Input::Link(LinkInput::Addresses(addresses)));
        }
        core.stats.opened_links += 1;
        link
    };
    info!(%link, peer, "link up");
    hub.handle(Input::Link(LinkInput::Up { link, target }));
    if let Some(names) = names {
        hub.handle(Input::Link(LinkInput::Proven { link, names }));
    }
    let datagrams =
        receiver.map(|receiver| tokio::task::spawn_local(receive(Rc::clone(&hub), link, receiver)));
    let mut inbound = Inbound { link, reader, sleep: None, reported: hub.clock.now() };
    let end = poll_fn(|cx| inbound.poll(&hub, &mut read, cx)).await;
    if let Some(datagrams) = datagrams {
        datagrams.abort();
    }
    let (outbound, lingering) = {
        let links = &mut hub.core.borrow_mut().links;
        (links.remove(link), links.linger())
    };
    let write = outbound.map(Outbound::into_write);
    if end.orderly {
        info!(%link, peer, reason = end.why, "link closed");
    } else {
        warn!(%link, peer, reason = end.why, "link down");
    }
    hub.handle(Input::Link(LinkInput::Down { link, reason: &end.why }));
    drop(hub);
    if let Some(write) = write.filter(|_| end.orderly) {
        Box::pin(linger(read, write)).await;
    }
    drop(lingering);
}

/// The reading side of one link.
struct Inbound {
    link: LinkId,
    reader: FrameReader,
    sleep: Option<(Moment, Pin<Box<Sleep>>)>,
    reported: Moment,
}

impl Inbound {
    /// Does all the work for which the stream is ready. Ready when the link is over.
    fn poll<M: Machine>(&mut self, hub: &Hub<M>, read: &mut BoxRead, cx: &mut Context<'_>) -> Poll<LinkEnd> {
        loop {
            let took = {
                let mut core = hub.core.borrow_mut();
                let core = &mut *core;
                let Some(outbound) = core.links.get_mut(self.link) else {
                    return Poll::Ready(LinkEnd::broken("it is gone"));
                };
                outbound.attend(cx.waker());
                let now = || hub.clock.now();
                let took = outbound.is_due(now) && outbound.pump(&mut core.machine, now(), self.link);
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

    /// Passes all whole frames to the machine.
    fn deliver<M: Machine>(&mut self, hub: &Hub<M>, count: usize) -> Result<(), String> {
        let mut result = Ok(());
        let mut frames = 0;
        let link = self.link;
        let open = hub.core.borrow_mut().links.get_mut(link).is_some_and(|outbound| outbound.is_open());
        let now = hub.act(|machine, now| {
            loop {
                match self.reader.next(LINK_FRAME_BYTES_MAX) {
                    Ok(None) => break,
                    Ok(Some(frame)) if open => {
                        frames += 1;
                        machine.handle(now, Input::Link(LinkInput::Frame { link, frame }));
                    }
                    Ok(Some(_)) => {} // nobody listens any more
                    Err(error) => {
                        result = Err(error.to_string());
                        break;
                    }
                }
            }
        });
        let report = now.since(self.reported) >= REPORT_EVERY;
        let counts = {
            let mut core = hub.core.borrow_mut();
            let Some(outbound) = core.links.get_mut(link) else { return result };
            outbound.counters.received_frames += frames;
            outbound.counters.received_bytes += count as u64;
            report.then_some(outbound.counters)
        };
        if let Some(counts) = counts {
            self.reported = now;
            hub.handle(Input::Link(LinkInput::Counts { link, counts }));
        }
        result
    }

    /// Sets the timer so that the task is woken at `wanted`.
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

/// Closes all links, and waits briefly until their peers have read the remaining frames. Members of
/// a network that leave at the same time need each other's last words.
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
            if hub.core.borrow().links.is_over() {
                return;
            }
            departed.await;
        }
    };
    let _ = tokio::time::timeout(LINGER, gone).await; // each link has its own, shorter limit
}

/// Ends the writing side, then reads and discards until the peer has closed its own.
async fn linger(mut read: BoxRead, mut write: BoxWrite) {
    let mut scratch = [0; 512];
    let drained = async {
        let _ = write.shutdown().await;
        while matches!(read.read(&mut scratch).await, Ok(count) if count > 0) {}
    };
    let _ = tokio::time::timeout(LINGER, drained).await; // a peer that stays is cut off
}
