//! The table `[hosts]`: a constant time, or a chain of stages by name or in full.

use netmodel::host::{Bus, Host, PROFILES, Profile, Stage};
use netmodel::stage::TokenRate;
use netmodel::units::Picos;
use serde::Deserialize;

use super::{Rate, Time};

/// The model of hosts.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Hosts {
    /// The time that both hosts together take for a message.
    per_message: Option<Time>,
    stages: Option<Stages>,
}

/// The stages of a host.
#[derive(Clone, Debug, Deserialize)]
#[serde(try_from = "toml::Value")]
struct Stages(Host);

/// The stages in full.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct InFull {
    send: Vec<OneStage>,
    bus: BusTable,
    receive: Vec<OneStage>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct OneStage {
    name: String,
    service: Time,
    #[serde(default)]
    latency: Time,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct BusTable {
    rate: Rate,
    #[serde(default)]
    shared: bool,
}

/// Most stages of a direction.
const STAGES_MAX: usize = 16;

impl TryFrom<toml::Value> for Stages {
    type Error = String;

    fn try_from(value: toml::Value) -> Result<Self, String> {
        if let Some(name) = value.as_str() {
            let known = || PROFILES.map(|profile| profile.name).join("`, `");
            let profile = Profile::named(name);
            return profile
                .map(|profile| Self(profile.host()))
                .ok_or_else(|| format!("there are no stages `{name}`; there are `{}`", known()));
        }
        if !value.is_table() {
            return Err("`stages` is a name, or a table with `send`, `bus` and `receive`".to_owned());
        }
        let InFull { send, bus, receive } =
            value.try_into().map_err(|error: toml::de::Error| error.message().to_owned())?;
        let rate = TokenRate::constant(bus.rate.0);
        Ok(Self(Host {
            send: stages("send", send)?,
            bus: Bus { out: rate, into: rate, shared: bus.shared },
            receive: stages("receive", receive)?,
        }))
    }
}

fn stages(key: &str, stages: Vec<OneStage>) -> Result<Vec<Stage>, String> {
    if stages.len() > STAGES_MAX {
        return Err(format!("`{key}` has {} stages; at most {STAGES_MAX} are possible", stages.len()));
    }
    let stage =
        |stage: OneStage| Stage { latency: stage.latency.0, ..Stage::new(&stage.name, stage.service.0) };
    Ok(stages.into_iter().map(stage).collect())
}

impl Hosts {
    /// Checks that there is one model of hosts.
    pub(super) fn check(&self) -> Result<(), String> {
        if self.per_message.is_some() && self.stages.is_some() {
            let why = "[hosts]: `per_message` is a constant in place of `stages`: leave one of them out";
            return Err(why.to_owned());
        }
        Ok(())
    }

    /// The constant time.
    pub(super) fn constant(&self) -> Picos {
        self.per_message.map_or(Picos::ZERO, |Time(time)| time)
    }

    /// The chain of stages.
    pub(super) fn host(&self) -> Option<Host> {
        self.stages.as_ref().map(|Stages(host)| host.clone())
    }
}
