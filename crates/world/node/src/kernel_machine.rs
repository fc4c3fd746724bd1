//! The kernel as the machine of a node.

use base::Moment;
use bytes::{Bytes, BytesMut};
use fedpro::server::{ConnId, Transmit};
use kernel::{FomSource, Kernel};

use crate::driver::StartError;
use crate::{Background, Config, FomFiles, Machine};

/// A kernel with the settings of `config`.
pub fn kernel(config: &Config) -> Kernel {
    Kernel::new(settings(config), Box::new(FomFiles::new(&config.fom)))
}

/// Starts a node on a thread of its own, inside of this program.
///
/// # Errors
/// An address cannot be listened on, or the system has no thread to give.
pub fn start(config: Config) -> Result<Background, StartError> {
    Background::start(config, kernel)
}

/// The part of a configuration that concerns the kernel.
fn settings(config: &Config) -> kernel::Config {
    // A session takes over from the federate's queue only what keeps its socket busy: what may be dropped can be
    // dropped only there. Its own limit leaves room for what a resume sends again.
    let defaults = fedpro::server::Config::default();
    let unsent_bytes_high = defaults.unsent_bytes_high.min(config.limits.queue / 4);
    let sessions = fedpro::server::Config {
        message_bytes_max: config.limits.message,
        sessions_max: config.limits.sessions,
        first_message_timeout: config.session.handshake_timeout,
        connections_without_session_max: config.limits.silent_connections,
        calls_max: config.limits.calls,
        history_messages_max: config.limits.history_messages,
        history_bytes_max: config.limits.history,
        heart_timeout: config.session.heartbeat_timeout,
        resume_window: config.session.resume_window,
        unsent_bytes_high,
        unsent_bytes_low: unsent_bytes_high / 4,
        unsent_bytes_max: config.limits.queue.saturating_add(config.limits.history),
        ..defaults
    };
    let rti = rti::Config {
        password: config.access.password.clone(),
        queue_bytes_max: config.limits.queue,
        fom: rti::FomLimits { module_bytes: config.fom.module, ..rti::FomLimits::default() },
        ..rti::Config::default()
    };
    kernel::Config {
        rti,
        sessions,
        closed_window: config.session.closed_window,
        unjoined_window: config.session.unjoined_window,
    }
}

impl FomSource for FomFiles {
    fn open(&self, designator: &str) -> Result<Bytes, String> {
        self.read(designator).map(Bytes::from).map_err(|error| error.to_string())
    }
}

impl Machine for Kernel {
    fn handle_open(&mut self, now: Moment, conn: ConnId, session_id: u64) {
        self.handle_open(now, conn, session_id);
    }

    fn handle_bytes(&mut self, now: Moment, conn: ConnId, bytes: Bytes) {
        self.handle_bytes(now, conn, bytes);
    }

    fn handle_closed(&mut self, now: Moment, conn: ConnId) {
        self.handle_closed(now, conn);
    }

    fn handle_timeout(&mut self, now: Moment) {
        self.handle_timeout(now);
    }

    fn poll_ready(&mut self) -> Option<ConnId> {
        self.poll_ready()
    }

    fn poll_transmit(&mut self, now: Moment, conn: ConnId, out: &mut BytesMut, budget: usize) -> Transmit {
        self.poll_transmit(now, conn, out, budget)
    }

    fn poll_timeout(&self) -> Option<Moment> {
        self.poll_timeout()
    }

    fn begin_shutdown(&mut self, now: Moment) {
        self.begin_shutdown(now);
    }
}
