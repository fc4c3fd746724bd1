//! Workload files, with one block for each class of objects.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Deserialize;

use crate::chain::{self, ChainError};
use crate::class::{Chain, Class, Emit, Phase, Start, State, StateSpec, Workload};
use crate::holding::{Holding, HoldingError};
use crate::size::Size;

/// Maximum number of objects of a workload.
const OBJECTS_MAX: u64 = 10_000_000;

/// Shortest mean stay.
const MEAN_MIN: Duration = Duration::from_micros(1);

/// Longest mean stay: a leap year.
const MEAN_MAX: Duration = Duration::from_secs(366 * 24 * 3600);

/// Maximum rate of one object in one mode, in messages per second.
const RATE_MAX: f64 = 1e6;

/// A workload that cannot be used.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ConfigError {
    /// A syntax error in the file, with its line.
    #[error("{0}")]
    File(String),
    /// An invalid class.
    #[error("class `{class}`: {why}")]
    Class {
        /// Its name.
        class: String,
        /// The mistake, and the expected form.
        why: String,
    },
    /// A class whose states do not form an irreducible chain.
    #[error("class `{class}`: {error}")]
    Chain {
        /// Its name.
        class: String,
        /// The reason.
        error: ChainError,
    },
    /// An invalid distribution of holding times.
    #[error("class `{class}`, state `{state}`: {error}")]
    Holding {
        /// Its name.
        class: String,
        /// The state.
        state: State,
        /// The reason.
        error: HoldingError,
    },
    /// More objects than a generator accepts.
    #[error("{0} objects; at most {OBJECTS_MAX} are taken")]
    TooMany(u64),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    class: Vec<ClassEntry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct ClassEntry {
    name: String,
    count: u32,
    preset: Option<String>,
    #[serde(default)]
    phase: Option<String>,
    #[serde(default)]
    start: Option<String>,
    size0: Option<Text>,
    size1: Option<Text>,
    #[serde(default)]
    state: BTreeMap<String, StateEntry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct StateEntry {
    mean: String,
    holding: Option<String>,
    next: BTreeMap<String, f64>,
    #[serde(default)]
    rate0: f64,
    #[serde(default)]
    rate1: f64,
    emit0: Option<String>,
    emit1: Option<String>,
}

/// A number or a text.
#[derive(Deserialize)]
#[serde(untagged, expecting = "a number of octets or a text such as \"uniform:100:400\"")]
enum Text {
    Number(u32),
    Text(String),
}

impl Workload {
    /// Parses a file that names no traces.
    ///
    /// # Errors
    /// [`ConfigError`]: the mistake and its place.
    pub fn parse(text: &str) -> Result<Self, ConfigError> {
        Self::parse_with(text, &|file| {
            Err(format!("a trace would be read from `{file}`, and there are no files here"))
        })
    }

    /// Parses a file. `read` returns the content of a trace file, or the reason why it cannot.
    ///
    /// # Errors
    /// [`ConfigError`]: the mistake and its place.
    pub fn parse_with(
        text: &str,
        read: &dyn Fn(&str) -> Result<String, String>,
    ) -> Result<Self, ConfigError> {
        let file: File = toml::from_str(text).map_err(|error| ConfigError::File(error.to_string()))?;
        let classes = file.class.iter().map(|entry| class(entry, read)).collect::<Result<_, _>>()?;
        let workload = Self { classes };
        workload.check()?;
        Ok(workload)
    }

    /// Checks that a generator accepts the workload.
    ///
    /// # Errors
    /// [`ConfigError`]: the class and the mistake.
    pub fn check(&self) -> Result<(), ConfigError> {
        for (index, class) in self.classes.iter().enumerate() {
            if self.classes[..index].iter().any(|other| other.name == class.name) {
                return Err(fail(&class.name, "there is another class of that name"));
            }
            chain::check(&class.chain)
                .map_err(|error| ConfigError::Chain { class: class.name.clone(), error })?;
            check_class(class)?;
        }
        let objects = self.objects();
        if objects > OBJECTS_MAX { Err(ConfigError::TooMany(objects)) } else { Ok(()) }
    }
}

fn check_class(class: &Class) -> Result<(), ConfigError> {
    if let Start::In(state) = class.start
        && class.chain.get(state).is_none()
    {
        return Err(fail(&class.name, format!("it is to start in `{state}`, and has no such state")));
    }
    for state in State::ALL {
        let Some(spec) = class.chain.get(state) else { continue };
        let fail = |why: String| Err(fail(&class.name, format!("state `{state}`: {why}")));
        if !(MEAN_MIN..=MEAN_MAX).contains(&spec.mean) {
            return fail(format!("a mean stay of {:?} is not from {MEAN_MIN:?} to a year", spec.mean));
        }
        for (mode, rate) in spec.rate.iter().enumerate() {
            if !(0.0..=RATE_MAX).contains(rate) {
                return fail(format!("rate{mode} is {rate}; expected 0 to {RATE_MAX} messages per second"));
            }
        }
        if matches!(spec.emit[0], Emit::PerTransition | Emit::Bernoulli(_)) {
            return fail("emit0 is `fixed` or `poisson`; the others are for mode 1".to_owned());
        }
        if let Emit::Bernoulli(share) = spec.emit[1]
            && !(0.0..=1.0).contains(&share)
        {
            return fail(format!("emit1: {share} is no probability"));
        }
    }
    Ok(())
}

fn fail(class: &str, why: impl Into<String>) -> ConfigError {
    ConfigError::Class { class: class.to_owned(), why: why.into() }
}

fn class(entry: &ClassEntry, read: &dyn Fn(&str) -> Result<String, String>) -> Result<Class, ConfigError> {
    let why = |why: String| fail(&entry.name, why);
    let mut class = match &entry.preset {
        Some(_) if !entry.state.is_empty() => {
            return Err(why("it has a preset and states; give one or the other".to_owned()));
        }
        Some(preset) => preset_class(preset).map_err(why)?,
        None => Class {
            name: String::new(),
            count: 0,
            chain: chain(entry, read)?,
            phase: Phase::default(),
            start: Start::default(),
            size: [Size::default(); 2],
        },
    };
    class.name.clone_from(&entry.name);
    class.count = entry.count;
    if let Some(text) = &entry.phase {
        class.phase = match text.as_str() {
            "continuous" => Phase::Continuous,
            "restart" => Phase::Restart,
            _ => return Err(why(format!("`{text}` is no phase; write `continuous` or `restart`"))),
        };
    }
    if let Some(text) = &entry.start {
        class.start =
            if text == "stationary" { Start::Stationary } else { Start::In(state(text).map_err(why)?) };
    }
    for (size, text) in class.size.iter_mut().zip([&entry.size0, &entry.size1]) {
        match text {
            None => {}
            Some(Text::Number(number)) => *size = Size::parse(&number.to_string()).map_err(why)?,
            Some(Text::Text(text)) => *size = Size::parse(text).map_err(why)?,
        }
    }
    Ok(class)
}

fn preset_class(name: &str) -> Result<Class, String> {
    let workload = match name {
        "table1" => Workload::table1(1),
        "full4" => Workload::full4(1),
        _ => return Err(format!("`{name}` is no preset (there are: table1, full4)")),
    };
    workload.classes.into_iter().next().ok_or_else(|| format!("the preset `{name}` is empty"))
}

fn chain(entry: &ClassEntry, read: &dyn Fn(&str) -> Result<String, String>) -> Result<Chain, ConfigError> {
    let mut chain = Chain { states: [const { None }; 4] };
    for (name, spec) in &entry.state {
        let state = state(name).map_err(|why| fail(&entry.name, why))?;
        chain.states[state as usize] = Some(state_spec(&entry.name, state, spec, read)?);
    }
    Ok(chain)
}

fn state_spec(
    class: &str,
    at: State,
    entry: &StateEntry,
    read: &dyn Fn(&str) -> Result<String, String>,
) -> Result<StateSpec, ConfigError> {
    let why = |why: String| fail(class, format!("state `{at}`: {why}"));
    let mean = humantime::parse_duration(&entry.mean).map_err(|error| {
        why(format!("`{}` is no length of time ({error}); write for example \"50s\"", entry.mean))
    })?;
    let holding = match &entry.holding {
        None => Holding::default(),
        Some(text) => Holding::parse(text, read).map_err(|error| ConfigError::Holding {
            class: class.to_owned(),
            state: at,
            error,
        })?,
    };
    let mut next = [0.0; 4];
    for (name, share) in &entry.next {
        next[state(name).map_err(why)? as usize] = *share;
    }
    let emit = |text: &Option<String>, default| text.as_deref().map_or(Ok(default), emit);
    let emit =
        [emit(&entry.emit0, Emit::Fixed).map_err(why)?, emit(&entry.emit1, Emit::Poisson).map_err(why)?];
    Ok(StateSpec { mean, holding, next, rate: [entry.rate0, entry.rate1], emit })
}

fn state(name: &str) -> Result<State, String> {
    State::ALL
        .into_iter()
        .find(|state| state.name() == name)
        .ok_or_else(|| format!("`{name}` is no state (there are: off, idle, moving, join)"))
}

fn emit(text: &str) -> Result<Emit, String> {
    match text.split_once(':') {
        None if text == "fixed" => Ok(Emit::Fixed),
        None if text == "poisson" => Ok(Emit::Poisson),
        None if text == "per-transition" => Ok(Emit::PerTransition),
        Some(("bernoulli", share)) => {
            let share = share.parse().ok().filter(|share| (0.0..=1.0).contains(share));
            share.map(Emit::Bernoulli).ok_or_else(|| format!("`{text}` has no probability from 0 to 1"))
        }
        _ => Err(format!(
            "`{text}` is no way to emit; write `fixed`, `poisson`, `per-transition` or `bernoulli:0.01`"
        )),
    }
}
