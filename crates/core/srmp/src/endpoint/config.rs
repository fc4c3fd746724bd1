//! The settings of an endpoint.

use crate::auth::{Keyring, Signer, Verifier, session_tag};
use crate::logger::LoggerConfig;
use crate::mode2::Mode2Config;
use crate::model::{Epoch, MemberId, Profile, SeqSpace};
use crate::rate::{self, Policy, ShaperConfig};
use crate::receive::{Interest, ReceiveConfig};
use crate::send::SendConfig;
use crate::timing::Timing;
use crate::wire::{Format, FormatError, LENGTH_DEFAULT, Protection};
use std::time::Duration;

/// The limits on memory and work.
#[derive(Clone, Debug, PartialEq)]
pub struct Limits {
    /// The most members that are told apart. Default 4096.
    pub members_max: usize,
    /// The most members that are all kept although they send nothing and ask for nothing. If there
    /// are more, only a sample is kept, from which their number is estimated (RFC 2762). Default
    /// 2048.
    pub listeners_max: usize,
    /// The most data elements of one member. Default 65 536.
    pub elements_per_member_max: usize,
    /// The most data elements of all members. Default 1 048 576.
    pub elements_max: usize,
    /// The most bytes of others' messages that are kept or reassembled. Default 64 MiB.
    pub receive_bytes_max: usize,
    /// The most data elements of this member. Default 65 536.
    pub own_elements_max: usize,
    /// The most bytes of this member's newest messages. Default 64 MiB.
    pub send_bytes_max: usize,
    /// The most segments of a message, in v3. Default 1024.
    pub segments_max: u16,
    /// The most mode 2 messages without acknowledgement. Default 256.
    pub mode2_max: usize,
    /// The most mode 2 messages that are remembered, so that none is delivered twice. Default
    /// 65 536.
    pub mode2_remembered_max: usize,
    /// The number of retransmissions of a mode 2 message. Default 6.
    pub mode2_retries: u32,
    /// The most repair requests per second of one member that are served. Default 50.
    pub nacks_per_second: f64,
    /// The most repair requests of one member that are served in a burst. Default 200.
    pub nacks_burst: f64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            members_max: 4_096,
            listeners_max: 2_048,
            elements_per_member_max: 65_536,
            elements_max: 1 << 20,
            receive_bytes_max: 64 << 20,
            own_elements_max: 65_536,
            send_bytes_max: 64 << 20,
            segments_max: 1_024,
            mode2_max: 256,
            mode2_remembered_max: 65_536,
            mode2_retries: 6,
            nacks_per_second: 50.0,
            nacks_burst: 200.0,
        }
    }
}

/// The settings of an [`Endpoint`](super::Endpoint).
#[derive(Debug)]
pub struct Config {
    /// The wire format.
    pub profile: Profile,
    /// RFC 4410 without this library's extensions: suppression by `Bundle_Timeout`, no trailing
    /// announcements, no copies, no sweeps, no urgent flush; mode 0 is dropped at random.
    pub strict: bool,
    /// The identity of this member: unique in the group, not 0, at most 32 bits in v2.
    pub member: MemberId,
    /// The epoch of this member; v3.
    pub epoch: Epoch,
    /// The name of the session; v3.
    pub session: String,
    /// The group's address and port as text, for example `239.1.2.3:5000`; v3.
    pub group: String,
    /// The group's keys; without keys datagrams are not protected.
    pub keys: Option<Keyring>,
    /// Whether to encrypt records in addition to authenticating datagrams; v3, needs keys.
    pub encrypt: bool,
    /// Signs this member's mode 1 messages; v3.
    pub signer: Option<Signer>,
    /// Verifies mode 1 messages, and drops those without a valid signature; v3.
    pub verifier: Option<Verifier>,
    /// The most bytes of a datagram, except in mode 2. Default 1454.
    pub length_max: usize,
    /// The most versions announced in a bundle, from 1 to 255. Default 32.
    pub announcements_max: usize,
    /// The timers.
    pub timing: Timing,
    /// The limits on memory and work.
    pub limits: Limits,
    /// The data of others that this member wants.
    pub interest: Interest,
    /// Whether to keep others' newest messages for later requests, and to request the whole state
    /// when joining or when digests differ.
    ///
    /// False where messages are momentary, and an element is only a slot for one message until all
    /// members have it. Nothing is kept then, and digests are not compared. Default true.
    pub keeps_state: bool,
    /// Hold back mode 0 of a sender while none of the data that it announces is here. Default true.
    pub require_mode1_first: bool,
    /// Hold back mode 0 of a sender until it has sent any mode 1; only with `strict`. Default
    /// false.
    pub literal_mode0_gate: bool,
    /// The share of the rate that repairs may take. Default 0.25.
    pub repair_share: f64,
    /// Loggers: whether the site may have them, and this member's candidacy; v3, not in strict.
    pub logger: LoggerConfig,
    /// Whether to send mode 1 messages again before anybody asks, up to ten times, where some
    /// receiver misses most of them. Never done where loggers are asked, since they repair the few
    /// losses for less. Default true.
    pub copies: bool,
    /// The share of the bytes sent that may go to copies where some receiver misses only some
    /// messages. With 0, only copies that save a repair are sent. Default 0.05.
    pub copy_share: f64,
    /// Congestion control.
    pub rate: rate::Config,
    /// The shaper of mode 0 and mode 1.
    pub shaper: ShaperConfig,
}

impl Config {
    /// The defaults of a profile.
    pub fn new(profile: Profile, member: MemberId) -> Self {
        Self {
            profile,
            strict: false,
            member,
            epoch: Epoch(0),
            session: String::new(),
            group: String::new(),
            keys: None,
            encrypt: false,
            signer: None,
            verifier: None,
            length_max: LENGTH_DEFAULT,
            announcements_max: 32,
            timing: Timing::default(),
            limits: Limits::default(),
            interest: Interest::All,
            keeps_state: true,
            require_mode1_first: true,
            literal_mode0_gate: false,
            repair_share: 0.25,
            copies: true,
            copy_share: 0.05,
            logger: LoggerConfig::default(),
            // Both profiles count bundles in 16 bits.
            rate: rate::Config { seq_space: SeqSpace::V2, ..rate::Config::new(profile) },
            shaper: ShaperConfig::default(),
        }
    }

    /// RFC 4410 without this library's extensions.
    pub fn strict(profile: Profile, member: MemberId) -> Self {
        Self {
            strict: true,
            copies: false,
            rate: rate::Config { seq_space: SeqSpace::V2, ..rate::Config::strict(profile) },
            shaper: ShaperConfig { policy: Policy::Random, ..ShaperConfig::default() },
            ..Self::new(profile, member)
        }
    }

    /// Settings for a site whose members send momentary messages, each as a data element that is
    /// used again when all members have it. A message is repaired within `repaired` of its sending
    /// or not at all, and a joining member does not request earlier ones.
    pub fn set_momentary(&mut self, repaired: Duration) {
        self.keeps_state = false;
        self.require_mode1_first = false;
        self.copies = false;
        // Enough for the last versions three times each, and some once more.
        self.announcements_max = 6;
        let timing = &mut self.timing;
        // The layer above bundles messages itself if it wants that.
        timing.bundle_timeout = Duration::ZERO;
        // There are few members, each of which should know soon whether the others are there.
        timing.presence = Some(Duration::from_secs(1));
        timing.member_timeout = Duration::from_secs(4);
        timing.data_timeout = Some(repaired);
        timing.data_lost = repaired * 2;
        timing.trailing = Duration::from_millis(5);
        timing.trailing_times = 1;
        timing.urgent_flush = Duration::from_micros(200);
        timing.nack_repeat_min = Duration::from_millis(3);
        timing.r_max_initial = Duration::from_millis(5);
        self.rate.rtt_initial = timing.r_max_initial;
        self.limits.nacks_per_second = 1_000.0;
        self.limits.nacks_burst = 1_000.0;
    }

    pub(super) fn format(&self) -> Result<Format, ConfigError> {
        if !self.profile.carries_member(self.member) {
            return Err(ConfigError::Member(self.member));
        }
        if !(1..=255).contains(&self.announcements_max) {
            return Err(ConfigError::Announcements(self.announcements_max));
        }
        if self.profile == Profile::V2 && (self.signer.is_some() || self.verifier.is_some()) {
            return Err(ConfigError::Signatures);
        }
        if self.logger.site && (self.profile == Profile::V2 || self.strict) {
            return Err(ConfigError::Loggers);
        }
        if self.logger.is_eligible() && (self.interest != Interest::All || !self.keeps_state) {
            return Err(ConfigError::LoggerInterest);
        }
        if self.logger.site
            && (self.logger.adv_interval.is_zero() || self.logger.fan_in == 0 || self.logger.site_rate <= 0.0)
        {
            return Err(ConfigError::LoggerSettings);
        }
        let protection = match (&self.keys, self.encrypt) {
            (None, true) => return Err(ConfigError::NoKeys),
            (None, false) => Protection::None,
            (Some(_), false) => Protection::Mac,
            (Some(_), true) => Protection::Encrypted,
        };
        let session = session_tag(&self.session, &self.group);
        let format = Format::new(self.profile, session, self.length_max, protection)?;
        if format.segment_bytes(self.announcements_max, self.signer.is_some()) < SEGMENT_BYTES_MIN {
            return Err(ConfigError::NoRoom);
        }
        let timing = &self.timing;
        if timing.heartbeat.is_zero() || timing.trailing.is_zero() || timing.member_timeout.is_zero() {
            return Err(ConfigError::Timing);
        }
        Ok(format)
    }

    pub(super) fn receive(&self) -> ReceiveConfig {
        let limits = &self.limits;
        ReceiveConfig {
            timing: self.timing.clone(),
            space: self.profile.sn_space(),
            strict: self.strict,
            keeps_state: self.keeps_state,
            require_mode1_first: self.require_mode1_first,
            literal_mode0_gate: self.literal_mode0_gate,
            bytes_max: limits.receive_bytes_max,
            items_per_origin_max: limits.elements_per_member_max,
            items_max: limits.elements_max,
            segments_max: limits.segments_max.min(self.profile.segments_max()),
        }
    }

    pub(super) fn send(&self, format: &Format) -> SendConfig {
        SendConfig {
            timing: self.timing.clone(),
            space: self.profile.sn_space(),
            strict: self.strict,
            segment_bytes: format.segment_bytes(self.announcements_max, self.signer.is_some()),
            buffer_bytes_max: self.limits.send_bytes_max,
            elements_max: self.limits.own_elements_max,
            repair_share: self.repair_share,
            copies: self.copies && !self.strict && !self.logger.site,
            copy_share: self.copy_share,
        }
    }

    pub(super) fn mode2(&self) -> Mode2Config {
        Mode2Config {
            pending_max: self.limits.mode2_max,
            remembered_max: self.limits.mode2_remembered_max,
            retries: self.limits.mode2_retries,
            ..Mode2Config::default()
        }
    }
}

/// The least length of a segment; shorter ones are not worth their headers.
const SEGMENT_BYTES_MIN: usize = 64;

/// Invalid settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// The wire has no room for the member's identity, or the identity is 0.
    #[error("member {0} does not fit the profile: 1 to 2^32 - 1 in v2, not 0 in v3")]
    Member(MemberId),
    /// There are too many announcements, or none.
    #[error("{0} announcements in a bundle: it must be 1 to 255")]
    Announcements(usize),
    /// The longest datagram has hardly any room for messages beside announcements.
    #[error("announcements leave no room for messages in a datagram: fewer of them, or longer datagrams")]
    NoRoom,
    /// Signatures need profile v3.
    #[error("profile v2 cannot carry signatures")]
    Signatures,
    /// Encryption needs keys.
    #[error("encryption without keys")]
    NoKeys,
    /// A timer that must not be zero is zero.
    #[error("heartbeat, trailing announcements and the timeout of members must not be zero")]
    Timing,
    /// Loggers need profile v3, and are not part of RFC 4410.
    #[error("loggers need profile v3, and cannot be strict")]
    Loggers,
    /// A member that may become a logger has to want and keep all data.
    #[error("a logger keeps what all others want: it cannot leave out any data itself")]
    LoggerInterest,
    /// A setting of loggers that must not be zero is zero.
    #[error("loggers: the interval of advertisements, the fan-in and the rate in the site must not be zero")]
    LoggerSettings,
    /// The wire format is invalid.
    #[error(transparent)]
    Format(#[from] FormatError),
}
