//! The task behind a federate: it drives the connection and the timers of the session.

use std::io;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};

use base::Moment;
use bytes::BytesMut;
use carrier::{ClientTls, Filter, ServerUrl};
use fedpro::client::Action;
use tokio::io::AsyncReadExt as _;
use tokio::net::TcpStream;
use tokio::net::tcp::OwnedReadHalf;
use tokio::time::Sleep;
use tracing::debug;

use crate::state::{Shared, State};

/// Most bytes that one read returns.
const READ_BYTES: usize = 256 << 10;

/// A read of at most this many bytes is copied out of the read buffer: otherwise a few bytes that
/// the application keeps would keep the whole buffer alive.
const COPY_OUT_BYTES: usize = READ_BYTES / 16;

/// Number of reads in a row before other tasks have their turn.
const READS_PER_TURN: usize = 4;

/// The connection of the session.
enum Link {
    Down,
    Connecting(Pin<Box<dyn Future<Output = io::Result<TcpStream>> + Send>>),
    Up(OwnedReadHalf),
}

/// The result of one look at the socket.
#[derive(Default)]
enum Read {
    #[default]
    Nothing,
    Bytes(BytesMut),
    End(String),
}

/// The driver's next step, once everything that can be done now is done.
enum Next {
    /// The session has ended, and the driver with it.
    End,
    /// The driver waits for the socket or for a moment.
    Wait {
        /// Whether it also waits for bytes to read.
        read: bool,
        /// When the session must be woken up.
        until: Moment,
    },
}

/// Drives one session until it ends.
pub(crate) struct Driver {
    shared: Arc<Shared>,
    target: ServerUrl,
    tls: Option<ClientTls>,
    link: Link,
    timer: Pin<Box<Sleep>>,
    /// The moment to which the timer is set. It may be earlier than the session needs, never later.
    armed: Moment,
    /// Whether bytes are wanted, as of the last look at the state.
    reads: bool,
    buffer: BytesMut,
}

impl Driver {
    pub(crate) fn new(shared: Arc<Shared>, target: ServerUrl, tls: Option<ClientTls>) -> Self {
        Self {
            shared,
            target,
            tls,
            link: Link::Down,
            timer: Box::pin(tokio::time::sleep(std::time::Duration::ZERO)),
            armed: Moment::ZERO,
            reads: false,
            buffer: BytesMut::new(),
        }
    }

    /// Carries out the session's actions on the connection.
    fn act(&mut self, state: &mut State, now: Moment) {
        while let Some(action) = state.session.poll_action() {
            match action {
                Action::Connect => {
                    state.detach();
                    let target = (self.target.host.clone(), self.target.port);
                    self.link = Link::Connecting(Box::pin(TcpStream::connect(target)));
                }
                Action::CloseConnection => {
                    state.flush(now);
                    state.close();
                    state.detach();
                    self.link = Link::Down;
                }
            }
        }
    }

    /// Handles the loss of the connection, or the failure to make one.
    fn lost(&mut self, state: &mut State, now: Moment, reason: String) {
        debug!(%reason, "connection closed");
        self.link = Link::Down;
        state.detach();
        state.session.handle_closed(now, reason);
    }

    /// Advances a connection that is being made. Returns whether something changed.
    fn poll_connecting(&mut self, cx: &mut Context<'_>) -> bool {
        let Link::Connecting(connecting) = &mut self.link else { return false };
        let Poll::Ready(result) = connecting.as_mut().poll(cx) else { return false };
        let shared = Arc::clone(&self.shared);
        let mut state = shared.lock();
        let now = state.now();
        let filter = Filter::client(&self.target, self.tls.as_ref());
        let result = result.and_then(|stream| stream.set_nodelay(true).map(|()| stream));
        match result.and_then(|stream| Ok((stream, filter.map_err(io::Error::other)?))) {
            Ok((stream, filter)) => {
                let (read, write) = stream.into_split();
                state.attach(write, filter);
                self.link = Link::Up(read);
                state.note_open(now);
            }
            Err(error) => self.lost(&mut state, now, error.to_string()),
        }
        true
    }

    /// Writes the waiting bytes. Returns whether the connection broke.
    fn poll_write(&mut self, state: &mut State, now: Moment, cx: &mut Context<'_>) -> bool {
        state.flush(now);
        while state.full {
            let Some(socket) = &state.socket else { break };
            match socket.as_ref().poll_write_ready(cx) {
                Poll::Pending => break,
                Poll::Ready(Ok(())) => {
                    state.full = false;
                    state.flush(now);
                }
                Poll::Ready(Err(error)) => {
                    state.full = false;
                    state.broken = Some(error.to_string());
                }
            }
        }
        let Some(reason) = state.broken.take() else { return false };
        self.lost(state, now, reason);
        true
    }

    /// Looks at the socket once.
    fn poll_read(&mut self, cx: &mut Context<'_>) -> Read {
        let Link::Up(read) = &mut self.link else { return Read::Nothing };
        if self.buffer.capacity() < READ_BYTES / 4 {
            self.buffer.reserve(READ_BYTES);
        }
        match pin!(read.read_buf(&mut self.buffer)).poll(cx) {
            Poll::Pending => Read::Nothing,
            Poll::Ready(Ok(0)) => Read::End("the server closed it".to_owned()),
            Poll::Ready(Err(error)) => Read::End(error.to_string()),
            Poll::Ready(Ok(count)) if count <= COPY_OUT_BYTES => {
                let copy = BytesMut::from(&self.buffer[..]);
                self.buffer.clear();
                Read::Bytes(copy)
            }
            Poll::Ready(Ok(_)) => Read::Bytes(self.buffer.split()),
        }
    }

    /// Passes on the result of a look at the socket.
    fn take(&mut self, state: &mut State, now: Moment, read: Read) {
        match read {
            Read::Nothing => {}
            Read::Bytes(octets) => {
                if let Err(reason) = state.take_read(now, octets) {
                    self.lost(state, now, reason);
                }
            }
            Read::End(reason) => self.lost(state, now, reason),
        }
    }

    /// Does all work that needs the state, with one lock and one look at the clock, since this is
    /// done for every message. `read` is the result of the last look at the socket.
    fn attend(&mut self, read: Read, cx: &mut Context<'_>) -> Next {
        let shared = Arc::clone(&self.shared);
        let mut state = shared.lock();
        let now = state.now();
        state.attend(cx.waker());
        self.take(&mut state, now, read);
        loop {
            self.act(&mut state, now);
            state.drain_events(now);
            if state.session.is_ended() {
                self.act(&mut state, now);
                state.detach();
                return Next::End;
            }
            if !self.poll_write(&mut state, now, cx) {
                break;
            }
        }
        self.reads = matches!(self.link, Link::Up(_)) && wants_to_read(&mut state);
        Next::Wait { read: self.reads, until: state.session.poll_timeout().unwrap_or(Moment::MAX) }
    }

    /// Handles the timers of the session. Returns whether a timeout was handled.
    fn poll_time(&mut self, until: Moment, cx: &mut Context<'_>) -> bool {
        if until < self.armed {
            self.arm(until);
        }
        if self.timer.as_mut().poll(cx).is_pending() {
            return false;
        }
        // Bytes that arrived while nothing was read count as a sign of life.
        let read = self.poll_read(cx);
        let shared = Arc::clone(&self.shared);
        let mut state = shared.lock();
        let now = state.now();
        self.take(&mut state, now, read);
        state.session.handle_timeout(now);
        let wanted = state.session.poll_timeout().unwrap_or(Moment::MAX);
        drop(state);
        self.arm(wanted);
        true
    }

    fn arm(&mut self, wanted: Moment) {
        /// A session without a timer is looked at again after this long.
        const FAR: std::time::Duration = std::time::Duration::from_secs(3600);
        let far = tokio::time::Instant::now() + FAR;
        self.armed = wanted;
        self.timer.as_mut().reset(self.shared.instant(wanted).map_or(far, |instant| instant.min(far)));
    }
}

impl Future for Driver {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let this = &mut *self;
        // The driver is mostly woken by bytes: it then looks at the state once, with them, and not
        // before and after.
        let mut read = if this.reads { this.poll_read(cx) } else { Read::Nothing };
        let mut reads = usize::from(this.reads);
        loop {
            let Next::Wait { read: wants_to_read, until } = this.attend(std::mem::take(&mut read), cx) else {
                return Poll::Ready(());
            };
            if this.poll_connecting(cx) {
                continue;
            }
            if wants_to_read {
                if reads == READS_PER_TURN {
                    cx.waker().wake_by_ref();
                } else {
                    reads += 1;
                    read = this.poll_read(cx);
                    if !matches!(read, Read::Nothing) {
                        continue;
                    }
                }
            }
            if !this.poll_time(until, cx) {
                return Poll::Pending;
            }
        }
    }
}

/// Whether to read: not while too many callbacks wait for the application, unless the application
/// waits for an answer.
fn wants_to_read(state: &mut State) -> bool {
    let waits = state.pending.waiting() > 0 || !state.writers.is_empty();
    state.reading_paused = state.callbacks.len() >= state.callbacks_high && !waits;
    !state.reading_paused
}
