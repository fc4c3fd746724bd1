//! Settings of loggers, and what is counted of them.

use std::time::Duration;

const fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

/// Whether a member may become a logger.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum LoggerRole {
    /// It uses the loggers of its site, if there are any.
    #[default]
    Never,
    /// It is a logger when the site elects it. It keeps a copy of all data for that.
    Candidate,
    /// It stands for election before all candidates.
    Always,
}

/// Settings of loggers.
#[derive(Clone, Debug, PartialEq)]
pub struct LoggerConfig {
    /// Whether the member's site has a scope of its own, so that there may be loggers. Everything below needs it. False.
    pub site: bool,
    /// Whether this member may become a logger.
    pub role: LoggerRole,
    /// Who is more is elected before others, and takes over from who is less: 1 to 254. 100.
    pub priority: u8,
    /// Whether the site's logger may serve other sites.
    pub region: bool,
    /// Loggers that one logger, or a source, is to serve. With more sites than this there are region loggers. 8.
    pub fan_in: usize,
    /// How often the site's logger shows itself. 1 s.
    pub adv_interval: Duration,
    /// A logger that does not show itself for so long is dead. 3.5 s.
    pub dead_after: Duration,
    /// A logger that does not answer is asked no more for so long. 30 s.
    pub blacklist: Duration,
    /// How often a site's logger shows itself to other sites. 5 s.
    pub global_interval: Duration,
    /// Bytes of messages that a logger keeps (`Logger_Bytes_Max`). 64 MiB.
    pub bytes_max: usize,
    /// Loggers of other sites that are known. 1024.
    pub peers_max: usize,
    /// Messages of which a logger remembers who waits for them. 4096.
    pub lacks_max: usize,
    /// Ask for the whole state when joining, and when it differs. True.
    pub sync: bool,
    /// Bytes per second of repairs and of state within the site. 1 250 000, which is 10 Mbit/s.
    pub site_rate: f64,
    /// The share of the group's rate at which a source gives its state to one who joins, but at least 1 Mbit/s. 0.25.
    pub sync_share: f64,
    /// Answers to requests for state that may wait. 16.
    pub sync_jobs_max: usize,
    /// The round-trip time of the site until it is measured. 10 ms.
    pub site_rtt_initial: Duration,
}

impl Default for LoggerConfig {
    fn default() -> Self {
        Self {
            site: false,
            role: LoggerRole::Never,
            priority: 100,
            region: true,
            fan_in: 8,
            adv_interval: ms(1_000),
            dead_after: ms(3_500),
            blacklist: ms(30_000),
            global_interval: ms(5_000),
            bytes_max: 64 << 20,
            peers_max: 1_024,
            lacks_max: 4_096,
            sync: true,
            site_rate: 1_250_000.0,
            sync_share: 0.25,
            sync_jobs_max: 16,
            site_rtt_initial: ms(10),
        }
    }
}

impl LoggerConfig {
    /// In a site with loggers, with such a part in it.
    pub fn in_site(role: LoggerRole) -> Self {
        Self { site: true, role, ..Self::default() }
    }

    pub(crate) fn is_eligible(&self) -> bool {
        self.site && self.role != LoggerRole::Never
    }

    /// What comes first in the rank.
    pub(crate) fn rank_priority(&self) -> u8 {
        match self.role {
            LoggerRole::Never => 0,
            LoggerRole::Candidate => self.priority.clamp(1, 254),
            LoggerRole::Always => 255,
        }
    }
}

/// What a member counts of loggers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LoggerCounters {
    /// Times that it became the site's logger.
    pub activations: u64,
    /// Times that it gave that up to another.
    pub step_downs: u64,
    /// Advertisements sent, claims included.
    pub advertisements: u64,
    /// Wishes that reached this member as a logger.
    pub nacks: u64,
    /// Wishes ignored: of who asks too much, of unknown sources, or for what was just sent to all.
    pub nacks_ignored: u64,
    /// Messages and segments given to one member.
    pub repairs_unicast: u64,
    /// Messages and segments given to the whole site.
    pub repairs_multicast: u64,
    /// Own messages and segments given to a logger that asked, alone.
    pub repairs_own: u64,
    /// Words that something is being fetched.
    pub pendings: u64,
    /// Datagrams of wishes sent to loggers or to sources alone.
    pub asks: u64,
    /// Of these, to others than the first to be asked.
    pub escalations: u64,
    /// Loggers given up because they did not answer.
    pub deaths: u64,
    /// Requests for state sent.
    pub sync_requests: u64,
    /// Requests for state that this member answered, or joined to an answer under way.
    pub syncs_served: u64,
    /// Requests for state ignored because too many wait.
    pub syncs_refused: u64,
    /// Messages and segments sent for that.
    pub sync_messages: u64,
    /// Answers to own requests that ended.
    pub syncs_ended: u64,
    /// Messages dropped because memory was short.
    pub evicted: u64,
}
