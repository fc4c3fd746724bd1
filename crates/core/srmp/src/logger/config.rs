//! The settings and counters of loggers.

use std::time::Duration;

const fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

/// A member's candidacy for the logger of its site.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum LoggerRole {
    /// It uses the loggers of its site, if there are any, and never becomes one.
    #[default]
    Never,
    /// It may be elected as the logger of its site. For that it keeps a copy of all data.
    Candidate,
    /// It stands for election with precedence over all candidates.
    Always,
}

/// The settings of loggers.
#[derive(Clone, Debug, PartialEq)]
pub struct LoggerConfig {
    /// Whether the member's site has a scope of its own, so that it may have loggers. All other
    /// settings need it. Default false.
    pub site: bool,
    /// The member's candidacy.
    pub role: LoggerRole,
    /// The priority, from 1 to 254. Members with a higher one are elected first, and take over from
    /// those with a lower one. Default 100.
    pub priority: u8,
    /// Whether the site's logger may serve other sites. Default true.
    pub region: bool,
    /// The most loggers that one logger, or a source, is to serve. If there are more sites than
    /// this, some loggers serve a region. Default 8.
    pub fan_in: usize,
    /// The interval at which the site's logger advertises itself within the site. Default 1 s.
    pub adv_interval: Duration,
    /// A logger that has not advertised itself for this long is dead. Default 3.5 s.
    pub dead_after: Duration,
    /// A logger that does not answer is not asked again for this long. Default 30 s.
    pub blacklist: Duration,
    /// The interval at which a site's logger advertises itself to other sites. Default 5 s.
    pub global_interval: Duration,
    /// The most bytes of messages that a logger keeps (`Logger_Bytes_Max`). Default 64 MiB.
    pub bytes_max: usize,
    /// The most loggers of other sites that are known. Default 1024.
    pub peers_max: usize,
    /// The most messages for which a logger remembers the members that wait for them. Default 4096.
    pub missing_max: usize,
    /// Whether to request the whole state when joining, and when digests differ. Default true.
    pub sync: bool,
    /// Bytes per second of repairs and state transfers within the site. Default 1 250 000, which is
    /// 10 Mbit/s.
    pub site_rate: f64,
    /// The share of the group's rate at which a source transfers its state to a joining member, but
    /// at least 1 Mbit/s. Default 0.25.
    pub sync_share: f64,
    /// The most state transfers that may wait. Default 16.
    pub sync_jobs_max: usize,
    /// The round-trip time of the site until it is measured. Default 10 ms.
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
            missing_max: 4_096,
            sync: true,
            site_rate: 1_250_000.0,
            sync_share: 0.25,
            sync_jobs_max: 16,
            site_rtt_initial: ms(10),
        }
    }
}

impl LoggerConfig {
    /// The settings of a member with this candidacy, in a site with loggers.
    pub fn in_site(role: LoggerRole) -> Self {
        Self { site: true, role, ..Self::default() }
    }

    pub(crate) fn is_eligible(&self) -> bool {
        self.site && self.role != LoggerRole::Never
    }

    /// The priority field of the rank.
    pub(crate) fn rank_priority(&self) -> u8 {
        match self.role {
            LoggerRole::Never => 0,
            LoggerRole::Candidate => self.priority.clamp(1, 254),
            LoggerRole::Always => 255,
        }
    }
}

/// The counters of loggers at a member.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LoggerCounters {
    /// Times that the member became the site's logger.
    pub activations: u64,
    /// Times that it gave up that role to another member.
    pub step_downs: u64,
    /// Advertisements sent, claims included.
    pub advertisements: u64,
    /// Repair requests that reached this member as a logger.
    pub nacks: u64,
    /// Repair requests ignored: from members that ask too much, for unknown sources, or for
    /// messages just sent to the whole site.
    pub nacks_ignored: u64,
    /// Messages and segments sent to one member.
    pub repairs_unicast: u64,
    /// Messages and segments sent to the whole site.
    pub repairs_multicast: u64,
    /// Own messages and segments sent by unicast to a logger that asked.
    pub repairs_own: u64,
    /// Notices that a message is being fetched.
    pub pendings: u64,
    /// Datagrams of repair requests sent by unicast to loggers or sources.
    pub asks: u64,
    /// Of these, datagrams to members other than the first in the path.
    pub escalations: u64,
    /// Loggers given up because they did not answer.
    pub deaths: u64,
    /// State requests sent.
    pub sync_requests: u64,
    /// State requests that this member answered, or added to a transfer under way.
    pub syncs_served: u64,
    /// State requests ignored because too many transfers wait.
    pub syncs_refused: u64,
    /// Messages and segments sent in state transfers.
    pub sync_messages: u64,
    /// State transfers to this member that ended.
    pub syncs_ended: u64,
    /// Messages dropped because memory was short.
    pub evicted: u64,
}
