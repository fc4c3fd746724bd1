//! The task of one connection.

use std::future::poll_fn;
use std::net::SocketAddr;
use std::pin::pin;
use std::rc::Rc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use base::Address;
use carrier::Filter;
use fedpro::server::ConnId;
use tokio::io::AsyncReadExt as _;
use tokio::net::TcpStream;
use tokio::net::tcp::OwnedReadHalf;
use tracing::{Instrument as _, debug, info_span, warn};

use crate::hub::Hub;
use crate::hub::connections::End;
use crate::machine::Machine;

/// After the last byte was written, the peer has this long to close its side. If the socket were
/// closed earlier, the system would discard data that the peer has not read yet.
const LINGER: Duration = Duration::from_secs(2);

/// Number of sockets that may linger. Thousands of refused clients a second would otherwise exhaust
/// the file descriptors of the process. Beyond this number, a peer may not see why it was refused.
const LINGERING_MAX: usize = 256;

/// Starts the task of a newly accepted connection.
pub(super) fn start<M: Machine + 'static>(
    hub: &Rc<Hub<M>>,
    stream: TcpStream,
    peer: SocketAddr,
    filter: Option<Filter>,
) {
    let session_id = match fresh_session_id() {
        Ok(id) => id,
        Err(error) => {
            warn!(%peer, %error, "connection closed: the system gives no random numbers for its session id");
            return;
        }
    };
    if let Err(error) = stream.set_nodelay(true) {
        debug!(%peer, %error, "the socket takes no TCP_NODELAY");
    }
    let (read, write) = stream.into_split();
    let hub = Rc::clone(hub);
    let span = info_span!("connection", %peer);
    let conn = span.in_scope(|| hub.open((write, filter), Address::from(peer.ip()), session_id));
    tokio::task::spawn_local(serve(hub, conn, read).instrument(span));
}

/// An unguessable session id: it is the only protection of a session's resumption. Zero means *no
/// session*.
fn fresh_session_id() -> Result<u64, getrandom::Error> {
    loop {
        let id = getrandom::u64()?;
        if id != 0 {
            return Ok(id);
        }
    }
}

async fn serve<M: Machine>(hub: Rc<Hub<M>>, conn: ConnId, mut read: OwnedReadHalf) {
    debug!(%conn, "connection opened");
    let end = poll_fn(|cx| poll(&hub, conn, &mut read, cx)).await;
    match &end {
        End::Failed(error) => debug!(%conn, %error, "connection failed"),
        End::Refused(error) => warn!(%error, "connection refused"),
        End::CutOff => debug!(%conn, "connection cut off"),
        End::Eof => debug!(%conn, "connection closed by its peer"),
        End::Finished => debug!(%conn, "connection closed"),
    }
    hub.close(conn, &end);
    let lingering = Rc::clone(&hub.lingering);
    drop(hub);
    if matches!(end, End::Finished | End::Refused(_)) && lingering.get() < LINGERING_MAX {
        lingering.set(lingering.get() + 1);
        Box::pin(linger(read)).await;
        lingering.set(lingering.get() - 1);
    }
}

/// Does all the work for which the socket is ready. Ready when the connection is over.
fn poll<M: Machine>(hub: &Hub<M>, conn: ConnId, read: &mut OwnedReadHalf, cx: &mut Context<'_>) -> Poll<End> {
    loop {
        ready_to_write(hub, conn, cx);
        {
            let mut core = hub.core.borrow_mut();
            let Some(outbound) = core.table.get_mut(conn) else { return Poll::Ready(End::Finished) };
            if let Some(end) = outbound.end.take() {
                return Poll::Ready(end);
            }
            match &mut outbound.task {
                Some(task) => task.clone_from(cx.waker()),
                none => *none = Some(cx.waker().clone()),
            }
            if core.machine.is_paused(conn) {
                return Poll::Pending; // the machine releases it
            }
        }
        let (result, room) = {
            let mut core = hub.core.borrow_mut();
            core.prepare_read();
            let room = core.read_buffer.capacity();
            (pin!(read.read_buf(&mut core.read_buffer)).poll(cx), room)
        };
        match ready!(result) {
            Ok(0) => return Poll::Ready(End::Eof),
            Ok(count) => {
                hub.receive(conn);
                if count == room {
                    return yield_to_others(cx); // there is more, but it is the others' turn
                }
            }
            Err(error) => return Poll::Ready(End::Failed(error.to_string())),
        }
    }
}

/// Lets every other task run, including those whose sockets have become ready, before the present
/// one is polled again.
///
/// A task that only wakes itself stays runnable, and the runtime looks for ready sockets once in 61
/// polls: others would wait for as many full reads.
fn yield_to_others<T>(cx: &mut Context<'_>) -> Poll<T> {
    // The first poll hands the waker to the runtime, which wakes it after it has looked for ready
    // sockets. The future is not needed any longer.
    let _ = pin!(tokio::task::yield_now()).poll(cx);
    Poll::Pending
}

/// Writes the rest that a full socket left, as soon as there is room.
fn ready_to_write<M: Machine>(hub: &Hub<M>, conn: ConnId, cx: &mut Context<'_>) {
    let mut core = hub.core.borrow_mut();
    loop {
        let Some(outbound) = core.table.get_mut(conn) else { return };
        if outbound.unsent.is_empty() || outbound.end.is_some() {
            return;
        }
        match outbound.socket.as_ref().poll_write_ready(cx) {
            Poll::Pending => return,
            Poll::Ready(Ok(())) => core.write_more(hub.clock.now(), conn),
            Poll::Ready(Err(error)) => outbound.end = Some(End::Failed(error.to_string())),
        }
    }
}

/// Reads and discards until the peer has closed its side.
async fn linger(mut read: OwnedReadHalf) {
    let mut scratch = [0; 512];
    let drained = async { while matches!(read.read(&mut scratch).await, Ok(count) if count > 0) {} };
    let _ = tokio::time::timeout(LINGER, drained).await; // a peer that stays is cut off
}
