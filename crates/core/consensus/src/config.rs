//! The settings of a group, and the limits that cannot be configured.

use std::time::Duration;

/// Largest number of members of one group: numbers of nodes are 16 bits wide, and a leader talks to
/// every member.
pub const MEMBERS_MAX: usize = 4_096;
/// Largest number of tombstones: keys of removed nodes that are remembered so that a late request
/// cannot add one again. The newest ones are kept.
pub const TOMBSTONES_MAX: usize = 4_096;
/// The largest [`Config::entry_bytes_max`]: 256 MiB.
pub const ENTRY_BYTES_MAX: usize = 256 << 20;
/// The largest state of an application that fits a snapshot: 1 GiB.
pub const SNAPSHOT_BYTES_MAX: usize = 1 << 30;
/// Largest number of proposals of one node that wait to be committed.
pub const PENDING_MAX: usize = 65_536;

/// The settings of one member. All members should have the same ones.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// The step of the group's clock; every timeout is a number of these. Default 50 ms.
    pub tick: Duration,
    /// Ticks between two heartbeats of the leader. Default 2.
    pub heartbeat_ticks: u32,
    /// Ticks between two heartbeats to a learner that has the whole log, while the group has all
    /// its voters. With many learners the interval is longer, so that a leader sends to about five
    /// of them in a tick. Default 10.
    pub learner_ticks: u32,
    /// The shortest election timeout, in ticks; a follower waits between one and two of these for
    /// its leader. It must be longer than the longest round trip between members. Default 8 (400
    /// ms).
    pub election_ticks: u32,
    /// Largest number of voters of the group; all further members are learners. With one
    /// voter more, an odd group survives no additional loss, so groups stay odd. Default 9.
    pub voters_max: usize,
    /// A voter that has been silent for this long is replaced by a healthy learner. Default 5 s.
    pub voter_lost_after: Duration,
    /// The longest body of a proposal, in bytes. Default 64 MiB, limit [`ENTRY_BYTES_MAX`].
    pub entry_bytes_max: usize,
    /// Bodies of this node's proposals that wait to be committed, in bytes. Default 128 MiB.
    pub pending_bytes_max: usize,
    /// Proposals in flight to the leader, in bytes; a longer one travels alone. Default 1 MiB.
    pub window_bytes: usize,
    /// Proposals or entries in one message, in bytes; a longer one travels alone. Default 256 KiB.
    pub message_bytes: usize,
    /// Largest number of messages with entries in flight to one follower. Default 64.
    pub inflight_messages: usize,
    /// Uncommitted entries that the leader accepts, in bytes. Default 128 MiB.
    pub uncommitted_bytes_max: usize,
    /// Entries kept in memory before a snapshot is requested. Default 8,192.
    pub log_entries_max: usize,
    /// Bytes of entries kept in memory before a snapshot is requested. Default 32 MiB.
    pub log_bytes_max: usize,
    /// First wait before proposals, requests and entries are sent again. It doubles up to sixteen
    /// times this. Default 250 ms.
    pub retry: Duration,
    /// First time that a follower has to take in a snapshot before it is sent again; it doubles up
    /// to a minute. Default 2 s.
    pub snapshot_retry: Duration,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            tick: Duration::from_millis(50),
            heartbeat_ticks: 2,
            learner_ticks: 10,
            election_ticks: 8,
            voters_max: 9,
            voter_lost_after: Duration::from_secs(5),
            entry_bytes_max: 64 << 20,
            pending_bytes_max: 128 << 20,
            window_bytes: 1 << 20,
            message_bytes: 256 << 10,
            inflight_messages: 64,
            uncommitted_bytes_max: 128 << 20,
            log_entries_max: 8_192,
            log_bytes_max: 32 << 20,
            retry: Duration::from_millis(250),
            snapshot_retry: Duration::from_secs(2),
        }
    }
}

/// A setting that is invalid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("consensus setting `{setting}`: {why}")]
pub struct ConfigError {
    /// Its name in [`Config`], or `key`.
    pub setting: &'static str,
    /// The rule that it breaks.
    pub why: &'static str,
}

impl Config {
    /// Checks every setting.
    ///
    /// # Errors
    /// The first invalid setting.
    pub fn check(&self) -> Result<(), ConfigError> {
        let wrong = |setting, why| Err(ConfigError { setting, why });
        if self.tick.is_zero() {
            return wrong("tick", "must be longer than nothing");
        }
        if self.heartbeat_ticks == 0 {
            return wrong("heartbeat_ticks", "must be at least 1");
        }
        if self.learner_ticks < self.heartbeat_ticks || self.learner_ticks > 100_000 {
            return wrong("learner_ticks", "must be at least heartbeat_ticks and at most 100,000");
        }
        if self.election_ticks <= self.heartbeat_ticks || self.election_ticks > 100_000 {
            return wrong("election_ticks", "must be more than heartbeat_ticks and at most 100,000");
        }
        if self.voters_max == 0 || self.voters_max > MEMBERS_MAX {
            return wrong("voters_max", "must be between 1 and 4,096");
        }
        if self.entry_bytes_max == 0 || self.entry_bytes_max > ENTRY_BYTES_MAX {
            return wrong("entry_bytes_max", "must be between 1 byte and 256 MiB");
        }
        if self.pending_bytes_max < self.entry_bytes_max {
            return wrong("pending_bytes_max", "must be at least entry_bytes_max");
        }
        if self.message_bytes == 0 || self.message_bytes > ENTRY_BYTES_MAX {
            return wrong("message_bytes", "must be between 1 byte and 256 MiB");
        }
        if self.uncommitted_bytes_max < self.message_bytes {
            return wrong("uncommitted_bytes_max", "must be at least message_bytes");
        }
        if self.inflight_messages == 0 {
            return wrong("inflight_messages", "must be at least 1");
        }
        if self.log_entries_max < 2 {
            return wrong("log_entries_max", "must be at least 2");
        }
        if self.retry.is_zero() || self.snapshot_retry.is_zero() {
            return wrong("retry", "must be longer than nothing");
        }
        Ok(())
    }

    /// The shortest election timeout as a duration: older contact counts as lost.
    pub fn election_timeout(&self) -> Duration {
        self.tick.saturating_mul(self.election_ticks)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_defaults_make_sense_and_nonsense_is_named() {
        assert_eq!(Config::default().check(), Ok(()));
        let none = Config { voters_max: 0, ..Config::default() };
        assert_eq!(none.check().map_err(|e| e.setting), Err("voters_max"));
        let fast = Config { election_ticks: 2, ..Config::default() };
        assert_eq!(fast.check().map_err(|e| e.setting), Err("election_ticks"));
    }
}
