//! The options of the group and of its member, which the subcommands share.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::ValueEnum;
use srmp::LoggerConfig;
use srmp::auth::{GroupKey, Keyring};
use srmp::model::{MemberId, Profile};
use srmp::rate::Rate;
use srmp_udp::{HostConfig, Interface, OpenError, SrmpEvents, SrmpHost};
use wan::Schedule;

use console::exit::Failure;

/// The number of the only key that is used here.
const KEY_ID: u8 = 1;

#[derive(Clone, Copy, ValueEnum)]
enum ProfileName {
    /// RFC 4410 byte for byte
    V2,
    /// Wide numbers, authentication
    V3,
}

/// The group, and this member of it.
#[derive(clap::Args)]
pub(super) struct Group {
    /// The group's address and port
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "239.255.44.10:4410")]
    group: SocketAddr,
    /// The interface, by name or address [default: by the routes]
    #[arg(long, value_name = "NAME")]
    interface: Option<Interface>,
    /// Networks that datagrams may cross; 1 is this one only
    #[arg(long, value_name = "N", default_value_t = 1)]
    ttl: u8,
    /// Say nothing to other members of this machine
    #[arg(long)]
    no_loopback: bool,
    /// The port of this member alone [default: any]
    #[arg(long, value_name = "PORT", default_value_t = 0, hide_default_value = true)]
    unicast_port: u16,
    /// The wire format of the group
    #[arg(long, default_value = "v3")]
    profile: ProfileName,
    /// The number of this member in the group [default: at random]
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u64).range(1..))]
    member: Option<u64>,
    /// The session's name, the same for all members; v3
    #[arg(long, value_name = "NAME", default_value = "", hide_default_value = true)]
    session: String,
    /// A file with the group's secret, at least 16 random bytes
    #[arg(long, value_name = "FILE")]
    key: Option<PathBuf>,
    /// Encrypt, too; v3
    #[arg(long, requires = "key")]
    encrypt: bool,
    /// An emulated line, each way, such as `delay=40ms,loss=5%`
    #[arg(long, value_name = "OPTIONS")]
    wan: Option<Schedule>,
    /// Ask the loggers of this site before the group; v3
    #[arg(long)]
    loggers: bool,
    /// The group of this site [default: derived from the group]
    #[arg(long, value_name = "ADDRESS:PORT")]
    site_group: Option<SocketAddr>,
    /// Networks that datagrams to the site may cross
    #[arg(long, value_name = "N", default_value_t = 1)]
    site_ttl: u8,
    /// Never send slower than this, such as `10Mbit/s`
    #[arg(long, value_name = "RATE", value_parser = wan::units::parse_rate)]
    rate_min: Option<u64>,
}

impl Group {
    /// Joins the group.
    pub(super) fn open(&self) -> Result<(SrmpHost, SrmpEvents), Failure> {
        self.open_as(LoggerConfig { site: self.loggers, ..LoggerConfig::default() })
    }

    /// Joins the group with a role among its loggers.
    pub(super) fn open_as(&self, logger: LoggerConfig) -> Result<(SrmpHost, SrmpEvents), Failure> {
        let mut config = self.config()?;
        config.protocol.logger = logger;
        SrmpHost::open(config).map_err(|error| {
            let hint = match &error {
                OpenError::NoRoute { .. } => {
                    "--interface lo stays on this machine; `ip -br address` shows what there is"
                }
                OpenError::UnknownInterface { .. } => "`ip -br address` shows interfaces and their addresses",
                OpenError::PortInUse(_) => "choose another port with --group, for all members",
                _ => return Failure::bad_news(error),
            };
            Failure::bad_news(error).hint(hint)
        })
    }

    fn config(&self) -> Result<HostConfig, Failure> {
        let profile = match self.profile {
            ProfileName::V2 => Profile::V2,
            ProfileName::V3 => Profile::V3,
        };
        let mut config = HostConfig::new(self.group, profile).map_err(Failure::bad_news)?;
        config.interface = self.interface.clone().unwrap_or_default();
        config.ttl = self.ttl;
        config.site_group = self.site_group;
        config.site_ttl = self.site_ttl;
        config.loopback = !self.no_loopback;
        config.unicast_port = self.unicast_port;
        config.outgoing.clone_from(&self.wan);
        config.incoming.clone_from(&self.wan);
        let protocol = &mut config.protocol;
        protocol.session.clone_from(&self.session);
        protocol.encrypt = self.encrypt;
        if let Some(member) = self.member {
            protocol.member = MemberId(member);
        }
        if let Some(rate) = self.rate_min {
            protocol.rate.rate_min = Rate::new(rate as f64).unwrap_or_default();
        }
        if let Some(path) = &self.key {
            let fail =
                |why: &dyn std::fmt::Display| Failure::bad_news(format_args!("{}: {why}", path.display()));
            let secret = std::fs::read(path).map_err(|error| fail(&error))?;
            let key = GroupKey::new(KEY_ID, &secret).map_err(|error| {
                fail(&error)
                    .hint("`head -c 32 /dev/urandom > FILE` makes a key; give the file to all members")
            })?;
            protocol.keys = Some(Keyring::new(key));
        }
        Ok(config)
    }
}
