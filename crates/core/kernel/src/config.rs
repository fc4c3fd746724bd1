//! Settings of a kernel.

use std::time::Duration;

/// Settings of a [`Kernel`](crate::Kernel).
#[derive(Clone, Debug)]
pub struct Config {
    /// Settings of the services.
    pub rti: rti::Config,
    /// Sessions and their limits. By default a session must connect within 10 s.
    /// [`resume_window`](fedpro::server::Config::resume_window) applies when a connection falls
    /// silent.
    pub sessions: fedpro::server::Config,
    /// How long a joined federate is kept after its own side closed the connection or its process
    /// died. Default 15 s: clients try to resume at once, and again every 5 s.
    pub closed_window: Duration,
    /// How long a session without a joined federate is kept after the loss of its connection.
    /// Default 2 s.
    pub unjoined_window: Duration,
    /// The federates that may connect, and what they may do. Default: none; everybody may do anything.
    pub policy: Option<access::Policy>,
    /// How long the authorizer of the site may take to answer what
    /// [`poll_authorizer_request`](crate::Kernel::poll_authorizer_request) asks. Default: none; nobody
    /// is asked.
    pub authorizer_timeout: Option<Duration>,
    /// Wrong passwords that an address may try in [`password_window`](Config::password_window). Its
    /// further connect calls are refused until the window is over. Default 10.
    pub passwords_wrong_max: u32,
    /// Length of the window in which the wrong passwords of an address are counted. Default 60 s.
    pub password_window: Duration,
    /// Memory that all clients together may use, in bytes: for their messages, queues to them,
    /// object models, objects, and messages kept for resumes and repairs. Default 8 GiB. A world
    /// that knows its machine sets a part of the machine's memory.
    pub memory_bytes_max: usize,
    /// While memory for input is short, clients with long messages are paused. If the shortage
    /// lasts for this long, one of them is ended. Default 5 s.
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
            policy: None,
            authorizer_timeout: None,
            passwords_wrong_max: 10,
            password_window: Duration::from_secs(60),
            memory_bytes_max: 8 << 30,
            input_pause_max: Duration::from_secs(5),
        }
    }
}
