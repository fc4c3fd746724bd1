//! Settings of a kernel.

use std::time::Duration;

/// Settings of a [`Kernel`](crate::Kernel).
#[derive(Clone, Debug)]
pub struct Config {
    /// The services.
    pub rti: rti::Config,
    /// Sessions and their limits; they have 10 s to connect by default. [`resume_window`](fedpro::server::Config::resume_window) applies when a
    /// connection went silent.
    pub sessions: fedpro::server::Config,
    /// How long a joined federate is kept whose connection its own side closed or whose process died.
    /// Default 15 s: clients try to resume at once, and again every 5 s.
    pub closed_window: Duration,
    /// How long a session without a joined federate is kept after its connection was lost. Default 2 s.
    pub unjoined_window: Duration,
    /// Wrong passwords that an address may try in [`password_window`](Config::password_window); then its connect calls
    /// are refused until the window is over. Default 10.
    pub passwords_wrong_max: u32,
    /// How long wrong passwords of an address count. Default 60 s.
    pub password_window: Duration,
    /// Memory that clients may take together, in bytes: their messages, what waits for them, object
    /// models, objects, and what is kept for resumes and repairs. Default 8 GiB; a world that knows
    /// its machine sets a part of that.
    pub memory_bytes_max: usize,
    /// When memory for messages of clients is short, those with long ones wait for so long; then
    /// one of them is ended. Default 5 s.
    pub input_pause_max: Duration,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            rti: rti::Config::default(),
            sessions: fedpro::server::Config {
                connect_timeout: Some(Duration::from_secs(10)),
                ..fedpro::server::Config::default()
            },
            closed_window: Duration::from_secs(15),
            unjoined_window: Duration::from_secs(2),
            passwords_wrong_max: 10,
            password_window: Duration::from_secs(60),
            memory_bytes_max: 8 << 30,
            input_pause_max: Duration::from_secs(5),
        }
    }
}
