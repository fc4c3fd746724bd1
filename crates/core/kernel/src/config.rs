//! Settings of a kernel.

use std::time::Duration;

/// Settings of a [`Kernel`](crate::Kernel).
#[derive(Clone, Debug)]
pub struct Config {
    /// The services.
    pub rti: rti::Config,
    /// Sessions and their limits. [`resume_window`](fedpro::server::Config::resume_window) applies when a
    /// connection went silent.
    pub sessions: fedpro::server::Config,
    /// How long a joined federate is kept whose connection its own side closed or whose process died.
    /// Default 15 s: clients try to resume at once, and again every 5 s.
    pub closed_window: Duration,
    /// How long a session without a joined federate is kept after its connection was lost. Default 2 s.
    pub unjoined_window: Duration,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            rti: rti::Config::default(),
            sessions: fedpro::server::Config::default(),
            closed_window: Duration::from_secs(15),
            unjoined_window: Duration::from_secs(2),
        }
    }
}
