//! The signals that end a process that serves.

/// Ctrl-C and, where there is one, the termination signal.
pub(crate) struct Signals {
    /// `None` if the handler cannot be installed. The system then ends the process, as the signal
    /// requests.
    #[cfg(unix)]
    terminate: Option<(tokio::signal::unix::Signal, tokio::signal::unix::Signal)>,
}

impl Signals {
    /// Installs the handlers, after which no signal is missed. Must be called on a runtime.
    pub(crate) fn listen() -> Self {
        #[cfg(unix)]
        {
            use tokio::signal::unix::{SignalKind, signal};
            Self { terminate: signal(SignalKind::interrupt()).ok().zip(signal(SignalKind::terminate()).ok()) }
        }
        #[cfg(not(unix))]
        Self {}
    }

    /// Waits for the next signal.
    pub(crate) async fn next(&mut self) {
        #[cfg(unix)]
        match &mut self.terminate {
            Some((interrupt, terminate)) => tokio::select! {
                _ = interrupt.recv() => {}
                _ = terminate.recv() => {}
            },
            None => std::future::pending().await,
        }
        #[cfg(not(unix))]
        drop(tokio::signal::ctrl_c().await);
    }
}
