//! The table `[application]`: programs of hosts, whose phases wait for messages.

use std::collections::BTreeSet;
use std::sync::Arc;

use netmodel::application::{self, Collective, Peers};
use netmodel::study::network::Load;
use netmodel::units::Picos;
use serde::Deserialize;

use super::traffic::Span;
use super::{Size, Time};

/// The programs of an application.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Application {
    iterations: u32,
    #[serde(default)]
    warm_up: u32,
    /// The start of the first iteration.
    #[serde(default)]
    from: Time,
    programs: Vec<Program>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Program {
    name: String,
    /// The default is all hosts that no other program names.
    hosts: Option<Hosts>,
    phases: Vec<Phase>,
}

/// Numbers of hosts, one by one or as a range.
#[derive(Clone, Debug, Deserialize)]
#[serde(try_from = "toml::Value")]
enum Hosts {
    List(BTreeSet<u32>),
    Range { first: u32, count: u32 },
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Range {
    first: u32,
    count: u32,
}

impl TryFrom<toml::Value> for Hosts {
    type Error = String;

    fn try_from(value: toml::Value) -> Result<Self, String> {
        let why = |error: toml::de::Error| format!("`hosts`: {}", error.message());
        if value.is_table() {
            let Range { first, count } = value.try_into().map_err(why)?;
            if count == 0 || u64::from(first) + u64::from(count) > u64::from(HOSTS_MAX) {
                return Err(format!("`hosts`: there are no {count} hosts from {first} on"));
            }
            return Ok(Self::Range { first, count });
        }
        let list: Vec<u32> = value
            .try_into()
            .map_err(|_| "`hosts` is a list of numbers, or { first = HOST, count = NUMBER }".to_owned())?;
        let set: BTreeSet<u32> = list.iter().copied().collect();
        if set.len() < list.len() {
            return Err("`hosts`: a host is in the list twice".to_owned());
        }
        Ok(Self::List(set))
    }
}

#[derive(Clone, Debug, Deserialize)]
#[serde(tag = "phase", rename_all = "kebab-case", deny_unknown_fields)]
enum Phase {
    Compute {
        time: Span,
    },
    Send {
        to: Others,
        size: Size,
        #[serde(default)]
        tag: String,
    },
    Wait {
        from: Others,
        #[serde(default)]
        tag: String,
        #[serde(default)]
        behind: u32,
    },
    Barrier {
        size: Option<Size>,
    },
    Broadcast {
        root: u32,
        size: Size,
    },
    AllReduce {
        algorithm: AllReduce,
        size: Size,
    },
    AllToAll {
        #[serde(default)]
        algorithm: AllToAll,
        size: Size,
    },
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum AllReduce {
    Ring,
    RecursiveDoubling,
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum AllToAll {
    #[default]
    Pairwise,
    Direct,
}

/// Most hosts of a network on which programs run. Each host has lists of its own.
const HOSTS_MAX: u32 = 1 << 20;
/// Size of a message of a barrier, in bytes. It only says that its sender has come.
const BARRIER: u64 = 8;

/// Other hosts: a word, a list, or a table with one key.
#[derive(Clone, Debug, Deserialize)]
#[serde(try_from = "toml::Value")]
struct Others(Peers);

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Form {
    Others,
    Shift(Vec<i64>),
    Program(String),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Grid {
    grid: Vec<u32>,
    #[serde(default)]
    wraps: bool,
}

impl TryFrom<toml::Value> for Others {
    type Error = String;

    fn try_from(value: toml::Value) -> Result<Self, String> {
        const FORMS: &str = "\"others\", a list of hosts, { shift = [RANKS] }, { grid = [SIDES], wraps = true }, or { program = NAME }";
        if value.is_array() {
            let hosts = value.try_into().map_err(|_| format!("expected {FORMS}"))?;
            return Ok(Self(Peers::Hosts(hosts)));
        }
        if value.as_table().is_some_and(|table| table.contains_key("grid")) {
            let Grid { grid, wraps } =
                value.try_into().map_err(|error: toml::de::Error| error.message().to_owned())?;
            return Ok(Self(Peers::Grid { sides: grid, wraps }));
        }
        let form = value.try_into();
        Ok(Self(match form.map_err(|_: toml::de::Error| format!("expected {FORMS}"))? {
            Form::Others => Peers::Others,
            Form::Shift(shifts) => Peers::Shift(shifts),
            Form::Program(name) => Peers::Program(name),
        }))
    }
}

impl Phase {
    fn phase(&self) -> application::Phase {
        let collective = |collective| application::Phase::Collective(collective);
        match self {
            Phase::Compute { time } => application::Phase::Compute(time.0),
            Phase::Send { to, size, tag } => {
                application::Phase::Send { to: to.0.clone(), bytes: size.0, tag: tag.clone() }
            }
            Phase::Wait { from, tag, behind } => {
                application::Phase::Wait { from: from.0.clone(), tag: tag.clone(), behind: *behind }
            }
            Phase::Barrier { size } => {
                collective(Collective::Barrier { bytes: size.map_or(BARRIER, |size| size.0) })
            }
            Phase::Broadcast { root, size } => {
                collective(Collective::Broadcast { root: *root, bytes: size.0 })
            }
            Phase::AllReduce { algorithm: AllReduce::Ring, size } => {
                collective(Collective::RingAllReduce { bytes: size.0 })
            }
            Phase::AllReduce { algorithm: AllReduce::RecursiveDoubling, size } => {
                collective(Collective::DoublingAllReduce { bytes: size.0 })
            }
            Phase::AllToAll { algorithm: AllToAll::Pairwise, size } => {
                collective(Collective::PairwiseAllToAll { bytes: size.0 })
            }
            Phase::AllToAll { algorithm: AllToAll::Direct, size } => {
                collective(Collective::DirectAllToAll { bytes: size.0 })
            }
        }
    }

    fn size(&self) -> u64 {
        match self {
            Phase::Compute { .. } | Phase::Wait { .. } => 0,
            Phase::Barrier { size } => size.map_or(BARRIER, |size| size.0),
            Phase::Send { size, .. }
            | Phase::Broadcast { size, .. }
            | Phase::AllReduce { size, .. }
            | Phase::AllToAll { size, .. } => size.0,
        }
    }
}

impl Application {
    /// Checks that programs have names of their own, and that one at most leaves its hosts out.
    pub(super) fn check(&self) -> Result<(), String> {
        for (at, program) in self.programs.iter().enumerate() {
            if self.programs[..at].iter().any(|other| other.name == program.name) {
                return Err(format!("[application]: two programs are called `{}`", program.name));
            }
        }
        let mut rest = self.programs.iter().filter(|program| program.hosts.is_none());
        if let (Some(one), Some(other)) = (rest.next(), rest.next()) {
            return Err(format!(
                "[application]: `{}` and `{}` both leave `hosts` out, and so run on the same hosts",
                one.name, other.name
            ));
        }
        Ok(())
    }

    /// The longest possible message.
    pub(super) fn longest(&self) -> u64 {
        self.programs.iter().flat_map(|program| &program.phases).map(Phase::size).max().unwrap_or(0)
    }

    /// The load, and the start and end of its window, on a network of `hosts` hosts.
    ///
    /// # Errors
    /// The programs do not suit the network, or wait for messages that nobody sends.
    pub(super) fn load(&self, hosts: u64) -> Result<(Load, (Picos, Picos)), String> {
        let hosts = u32::try_from(hosts).ok().filter(|hosts| *hosts <= HOSTS_MAX).ok_or_else(|| {
            format!(
                "[application]: {hosts} hosts are too many: programs run on networks of at most {HOSTS_MAX}"
            )
        })?;
        let named = |program: &Program| match &program.hosts {
            None => BTreeSet::new(),
            Some(Hosts::List(list)) => list.clone(),
            Some(Hosts::Range { first, count }) => (*first..first + count).collect(),
        };
        let all: BTreeSet<u32> = self.programs.iter().flat_map(named).collect();
        let program = |program: &Program| application::Program {
            name: program.name.clone(),
            hosts: match &program.hosts {
                None => (0..hosts).filter(|host| !all.contains(host)).collect(),
                Some(_) => named(program).into_iter().collect(),
            },
            phases: program.phases.iter().map(Phase::phase).collect(),
        };
        let application = application::Application {
            programs: self.programs.iter().map(program).collect(),
            iterations: self.iterations,
            warm_up: self.warm_up,
        };
        application.check(hosts).map_err(|why| format!("[application]: {why}"))?;
        Ok((Load::Application(Arc::new(application)), (self.from.0, Picos::MAX)))
    }
}

#[cfg(test)]
mod tests;
