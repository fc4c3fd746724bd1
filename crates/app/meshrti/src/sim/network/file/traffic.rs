//! The table `[traffic]`: senders, receivers, sizes and times of messages.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use netmodel::arrivals::Gaps;
use netmodel::exchange::{self, Exchange};
use netmodel::pattern;
use netmodel::script::Shared;
use netmodel::sizes;
use netmodel::study::network::Load;
use netmodel::units::Picos;
use serde::Deserialize;

use super::{Size, Time, objects, recording};

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Traffic {
    pattern: Option<Pattern>,
    arrivals: Option<Arrivals>,
    message_size: Option<Sizes>,
    /// In place of these three, a file of messages, relative to the folder of the scenario.
    trace: Option<PathBuf>,
    #[serde(default)]
    from: Time,
    /// The default is the time of the last message of the trace.
    until: Option<Time>,
}

/// A pattern by its name, or a table with its parameters.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(try_from = "toml::Value")]
struct Pattern(pattern::Pattern);

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Named {
    Uniform,
    Permutation,
    BitReversal,
    AllToAll,
    Transpose,
    Tornado,
    Shift(u32),
    Near(u32),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct HotSpot {
    hot_spot: u32,
    share: f64,
}

impl TryFrom<toml::Value> for Pattern {
    type Error = String;

    fn try_from(value: toml::Value) -> Result<Self, String> {
        let is_hot_spot = value.as_table().is_some_and(|table| table.contains_key("hot_spot"));
        if is_hot_spot {
            let spot: HotSpot =
                value.try_into().map_err(|error: toml::de::Error| error.message().to_owned())?;
            return Ok(Self(pattern::Pattern::HotSpot { host: spot.hot_spot, share: spot.share }));
        }
        let named: Named = value.try_into().map_err(|error: toml::de::Error| {
            format!("{}, or {{ hot_spot = HOST, share = SHARE }}", error.message())
        })?;
        Ok(Self(match named {
            Named::Uniform => pattern::Pattern::Uniform,
            Named::Permutation => pattern::Pattern::Permutation,
            Named::BitReversal => pattern::Pattern::BitReversal,
            Named::AllToAll => pattern::Pattern::AllToAll,
            Named::Transpose => pattern::Pattern::Transpose,
            Named::Tornado => pattern::Pattern::Tornado,
            Named::Shift(shift) => pattern::Pattern::Shift(shift),
            Named::Near(distance) => pattern::Pattern::Near(distance),
        }))
    }
}

#[derive(Clone, Debug, Deserialize)]
#[serde(tag = "process", rename_all = "kebab-case", deny_unknown_fields)]
enum Arrivals {
    Poisson {
        mean_gap: Time,
    },
    Constant {
        gap: Time,
    },
    OnOff {
        gap: Time,
        on: Time,
        off: Time,
    },
    /// Requests and responses. `message_size` is the size of requests.
    RequestResponse {
        response_size: Sizes,
        service: Span,
        think: Span,
        clients: Option<u32>,
    },
    /// Simulated objects, which also define the sizes of messages.
    Objects {
        /// The name of a preset, or a file relative to the folder of the scenario.
        workload: String,
        /// The number of objects of a preset at each host.
        per_host: Option<u32>,
    },
}

/// A size, or a table with a distribution of them.
#[derive(Clone, Debug, Deserialize)]
#[serde(try_from = "toml::Value")]
struct Sizes(sizes::Sizes);

#[derive(Deserialize)]
#[serde(tag = "distribution", rename_all = "kebab-case", deny_unknown_fields)]
enum Distribution {
    Exponential { mean: Size },
    Pareto { mean: Size, alpha: f64 },
    LogNormal { mean: Size, cv: f64 },
    Table { sizes: Vec<Size>, weights: Vec<f64> },
}

impl TryFrom<toml::Value> for Sizes {
    type Error = String;

    fn try_from(value: toml::Value) -> Result<Self, String> {
        if !value.is_table() {
            return Size::try_from(value).map(|Size(bytes)| Self(sizes::Sizes::Constant(bytes)));
        }
        let distribution: Distribution =
            value.try_into().map_err(|error: toml::de::Error| error.message().to_owned())?;
        Ok(Self(match distribution {
            Distribution::Exponential { mean: Size(mean) } => sizes::Sizes::Exponential(mean),
            Distribution::Pareto { mean: Size(mean), alpha } => sizes::Sizes::Pareto { mean, alpha },
            Distribution::LogNormal { mean: Size(mean), cv } => sizes::Sizes::LogNormal { mean, cv },
            Distribution::Table { sizes, weights } => {
                if sizes.len() != weights.len() {
                    return Err(format!(
                        "{} `sizes` and {} `weights`; expected as many",
                        sizes.len(),
                        weights.len()
                    ));
                }
                let table = sizes.into_iter().map(|Size(bytes)| bytes).zip(weights);
                sizes::Sizes::Table(table.collect())
            }
        }))
    }
}

/// A length of time such as "1ms", or with an exponential distribution such as { mean = "1ms" }.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(try_from = "toml::Value")]
pub(super) struct Span(pub(super) exchange::Span);

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Mean {
    mean: Time,
}

impl TryFrom<toml::Value> for Span {
    type Error = String;

    fn try_from(value: toml::Value) -> Result<Self, String> {
        if !value.is_table() {
            return Time::try_from(value).map(|Time(time)| Self(exchange::Span::Constant(time)));
        }
        let Mean { mean: Time(mean) } =
            value.try_into().map_err(|error: toml::de::Error| error.message().to_owned())?;
        Ok(Self(exchange::Span::Exponential(mean)))
    }
}

impl Traffic {
    /// Checks that traffic is either random or recorded, and that random traffic is possible.
    pub(super) fn check(&self) -> Result<(), String> {
        if let Some(until) = self.until.filter(|until| until.0 <= self.from.0) {
            return Err(format!("[traffic]: `until` is {}, not after `from`, {}", until.0, self.from.0));
        }
        if self.trace.is_some() {
            let drawn = [
                ("pattern", self.pattern.is_some()),
                ("arrivals", self.arrivals.is_some()),
                ("message_size", self.message_size.is_some()),
            ];
            return match drawn.iter().find(|(_, is_there)| *is_there) {
                Some((key, _)) => Err(format!("[traffic]: a `trace` says it all: leave `{key}` out")),
                None => Ok(()),
            };
        }
        self.pattern.ok_or_else(|| missing("pattern"))?;
        let arrivals = self.arrivals.as_ref().ok_or_else(|| missing("arrivals"))?;
        if matches!(arrivals, Arrivals::Objects { .. }) {
            if self.message_size.is_some() {
                return Err(
                    "[traffic]: objects say how long messages are: leave `message_size` out".to_owned()
                );
            }
        } else {
            check_sizes(
                "message_size",
                &self.message_size.as_ref().ok_or_else(|| missing("message_size"))?.0,
            )?;
        }
        self.until.ok_or_else(|| missing("until"))?;
        arrivals.check()
    }

    /// The longest possible message, as far as it is known before files are read.
    pub(super) fn longest(&self) -> u64 {
        let response = match &self.arrivals {
            Some(Arrivals::RequestResponse { response_size, .. }) => response_size.0.most(),
            _ => 0,
        };
        self.message_size.as_ref().map_or(0, |sizes| sizes.0.most()).max(response)
    }

    /// The load, and the start and end of its window. `folder` is the folder of the files.
    pub(super) fn load(&self, folder: &Path) -> Result<(Load, (Picos, Picos)), String> {
        if let Some(trace) = &self.trace {
            let recording = recording::read(&folder.join(trace))?;
            let last = recording.last().map_or(self.from.0 + Picos(1), |last| last + Picos(1));
            let until = self.until.map_or(last.max(self.from.0 + Picos(1)), |until| until.0);
            return Ok((Load::Recorded(Arc::new(recording)), (self.from.0, until)));
        }
        let pattern = self.pattern.ok_or_else(|| missing("pattern"))?.0;
        let until = self.until.ok_or_else(|| missing("until"))?.0;
        let sizes =
            || self.message_size.as_ref().map(|sizes| sizes.0.clone()).ok_or_else(|| missing("message_size"));
        let gaps = match self.arrivals.as_ref().ok_or_else(|| missing("arrivals"))? {
            Arrivals::Poisson { mean_gap } => Gaps::Poisson(mean_gap.0),
            Arrivals::Constant { gap } => Gaps::Constant(gap.0),
            Arrivals::OnOff { gap, on, off } => Gaps::OnOff { gap: gap.0, on: on.0, off: off.0 },
            Arrivals::RequestResponse { response_size, service, think, clients } => {
                let exchange = Exchange {
                    clients: *clients,
                    pattern,
                    request: sizes()?,
                    response: response_size.0.clone(),
                    service: service.0,
                    think: think.0,
                };
                return Ok((Load::Exchanged(exchange), (self.from.0, until)));
            }
            Arrivals::Objects { workload, per_host } => {
                let objects = objects::read(workload, *per_host, folder)?;
                let script = Shared(Arc::new(objects));
                return Ok((Load::Scripted { script, pattern }, (self.from.0, until)));
            }
        };
        Ok((Load::Drawn { pattern, gaps, sizes: sizes()? }, (self.from.0, until)))
    }
}

fn missing(key: &str) -> String {
    format!("[traffic]: `{key}` is missing (or name a `trace`)")
}

fn check_sizes(key: &str, sizes: &sizes::Sizes) -> Result<(), String> {
    match sizes {
        sizes::Sizes::Constant(0) => Err(format!("[traffic]: `{key}` is zero")),
        _ => sizes.check().map_err(|why| format!("[traffic]: `{key}`: {why}")),
    }
}

impl Arrivals {
    fn check(&self) -> Result<(), String> {
        let gaps: &[(&str, Time)] = match self {
            Arrivals::Poisson { mean_gap } => &[("mean_gap", *mean_gap)],
            Arrivals::Constant { gap } => &[("gap", *gap)],
            Arrivals::OnOff { gap, on, off } => &[("gap", *gap), ("on", *on), ("off", *off)],
            Arrivals::RequestResponse { response_size, clients, .. } => {
                if *clients == Some(0) {
                    return Err("[traffic]: `clients` is zero".to_owned());
                }
                return check_sizes("response_size", &response_size.0);
            }
            Arrivals::Objects { .. } => &[],
        };
        match gaps.iter().find(|(_, time)| time.0 == Picos::ZERO) {
            Some((key, _)) => Err(format!("[traffic]: `{key}` is zero")),
            None => Ok(()),
        }
    }
}
