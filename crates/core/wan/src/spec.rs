//! The behaviour of a line, as a value and as a text.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use crate::jitter::Jitter;
use crate::loss::Loss;
use crate::share::Share;
use crate::units::{Rate, Size, Time, parse_duration, parse_rate, parse_share, parse_size};

/// Longest delay, and jitter, that can be emulated.
pub const DELAY_MAX: Duration = Duration::from_secs(60);

/// The behaviour of a line towards the datagrams offered to it. The default changes nothing.
///
/// As a text: `delay=35ms,jitter=gamma:3ms,loss=ge:5%:3,rate=384kbit/s,queue=16kB`, in any order.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct LineSpec {
    /// Time from the departure of the last bit to its arrival. `delay=35ms`.
    pub delay: Duration,
    /// The random addition to the delay of each datagram. `jitter=2ms`, and [`Jitter`]'s other
    /// texts.
    pub jitter: Jitter,
    /// The model that selects lost datagrams. `loss=5%`, and [`Loss`]'s other texts.
    pub loss: Loss,
    /// Bits per second; `None` is infinitely fast. `rate=384kbit/s`.
    pub rate: Option<u64>,
    /// Octets that may wait while another datagram is sent; a datagram that finds no room is
    /// dropped. `None` is without limit, and without a rate nothing waits. `queue=16kB`.
    pub queue: Option<usize>,
    /// Whether jitter may let datagrams overtake each other. `order=fifo` (the default) or
    /// `order=free`.
    pub order: PacketOrder,
    /// Datagrams that are held back, whatever the order. `reorder=1%:20ms`.
    pub reorder: Option<Reorder>,
    /// Share of datagrams that arrive twice. `duplicate=0.1%`.
    pub duplicate: Share,
    /// True if nothing passes: a partition. Datagrams already under way arrive. `cut=on` or
    /// `cut=off`.
    pub cut: bool,
}

/// Whether a line keeps the order of its datagrams.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum PacketOrder {
    /// No datagram arrives before one that was offered earlier, except those of
    /// [`LineSpec::reorder`].
    #[default]
    Fifo,
    /// Each datagram arrives when its own delay is over.
    Free,
}

/// Datagrams that are held back for a while, so that others overtake them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Reorder {
    /// The share of datagrams held back.
    pub share: Share,
    /// The extra delay.
    pub extra: Duration,
}

/// The reason why a text does not describe a line.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SpecError {
    /// There is no such option.
    #[error("`{key}` is no option of a line (there are: {})", LineSpec::KEYS.join(", "))]
    Unknown {
        /// The name given.
        key: String,
    },
    /// The value is not valid for this option.
    #[error("option `{key}`: {why}")]
    Value {
        /// The option.
        key: &'static str,
        /// The fault, and the expected form.
        why: String,
    },
    /// Options that contradict each other.
    #[error("{0}")]
    Together(String),
    /// A phase of a schedule is not valid.
    #[error("phase {number} of the schedule: {why}")]
    Phase {
        /// The number of the phase, from 1.
        number: usize,
        /// The fault.
        why: String,
    },
}

impl LineSpec {
    /// The names of all options.
    pub const KEYS: [&'static str; 9] =
        ["delay", "jitter", "loss", "rate", "queue", "order", "reorder", "duplicate", "cut"];

    /// True if the line changes nothing.
    pub fn is_none(&self) -> bool {
        *self == Self::default()
    }

    /// Sets one option. `read` returns the content of a trace file.
    ///
    /// # Errors
    /// There is no such option, or the value is not valid for it.
    pub fn set_with(
        &mut self,
        key: &str,
        value: &str,
        read: &dyn Fn(&str) -> Result<String, String>,
    ) -> Result<(), SpecError> {
        let known = Self::KEYS.into_iter().find(|&known| known == key);
        let key = known.ok_or_else(|| SpecError::Unknown { key: key.to_owned() })?;
        self.apply(key, value, read).map_err(|why| SpecError::Value { key, why })
    }

    /// Sets one option, without files.
    ///
    /// # Errors
    /// There is no such option, the value is not valid for it, or it names a file.
    pub fn set(&mut self, key: &str, value: &str) -> Result<(), SpecError> {
        self.set_with(key, value, &no_files)
    }

    fn apply(
        &mut self,
        key: &str,
        value: &str,
        read: &dyn Fn(&str) -> Result<String, String>,
    ) -> Result<(), String> {
        match key {
            "delay" => self.delay = parse_delay(value)?,
            "jitter" => self.jitter = parse_jitter(value)?,
            "loss" => self.loss = Loss::parse(value, read)?,
            "rate" => self.rate = if value == "none" { None } else { Some(parse_rate(value)?) },
            "queue" => self.queue = if value == "none" { None } else { Some(parse_size(value)?) },
            "order" => self.order = parse_order(value)?,
            "reorder" => self.reorder = parse_reorder(value)?,
            "duplicate" => self.duplicate = parse_share(value)?,
            _ => self.cut = parse_cut(value)?,
        }
        Ok(())
    }

    /// Checks the rules that concern several options.
    ///
    /// # Errors
    /// A two-sided jitter that is longer than the delay; a queue on a line that is infinitely fast.
    pub fn check(&self) -> Result<(), SpecError> {
        let spread = self.jitter.scale();
        if self.jitter.is_two_sided() && spread > self.delay {
            return Err(SpecError::Together(format!(
                "`jitter={}` makes delays shorter by more than `delay={}`; give the line at least that delay",
                self.jitter,
                Time(self.delay)
            )));
        }
        if self.queue.is_some() && self.rate.is_none() {
            return Err(SpecError::Together(
                "`queue` limits what waits for a line with a `rate`, and there is none".to_owned(),
            ));
        }
        Ok(())
    }

    /// Reads `key=value,key=value` over the present options.
    pub(crate) fn read(
        &mut self,
        text: &str,
        read: &dyn Fn(&str) -> Result<String, String>,
    ) -> Result<(), SpecError> {
        for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
            let (key, value) = part.split_once('=').unwrap_or((part, ""));
            self.set_with(key.trim(), value.trim(), read)?;
        }
        self.check()
    }
}

/// The file reader of lines that may not name files.
pub(crate) fn no_files(file: &str) -> Result<String, String> {
    Err(format!("the trace `{file}` would be read from a file, and there are none here"))
}

/// Reads a delay that is not too long to be emulated.
fn parse_delay(text: &str) -> Result<Duration, String> {
    in_range(text, parse_duration(text)?)
}

fn parse_jitter(text: &str) -> Result<Jitter, String> {
    let jitter = Jitter::parse(text)?;
    in_range(text, jitter.scale()).map(|_| jitter)
}

fn in_range(text: &str, time: Duration) -> Result<Duration, String> {
    if time > DELAY_MAX {
        return Err(format!("`{text}` is longer than {DELAY_MAX:?}, the longest that is emulated"));
    }
    Ok(time)
}

fn parse_order(text: &str) -> Result<PacketOrder, String> {
    match text {
        "fifo" => Ok(PacketOrder::Fifo),
        "free" => Ok(PacketOrder::Free),
        _ => Err(format!("`{text}` is no order; write `fifo` or `free`")),
    }
}

fn parse_reorder(text: &str) -> Result<Option<Reorder>, String> {
    if text == "none" {
        return Ok(None);
    }
    let (share, extra) = text.split_once(':').ok_or_else(|| {
        format!("`{text}` does not say which share is held back for how long; write for example \"1%:20ms\"")
    })?;
    let (share, extra) = (parse_share(share)?, parse_delay(extra)?);
    Ok(Some(Reorder { share, extra }).filter(|reorder| !reorder.share.is_none()))
}

fn parse_cut(text: &str) -> Result<bool, String> {
    match text {
        "on" | "" => Ok(true),
        "off" => Ok(false),
        _ => Err(format!("`{text}` is neither `on` nor `off`")),
    }
}

impl FromStr for LineSpec {
    type Err = SpecError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut spec = Self::default();
        spec.read(text, &no_files)?;
        Ok(spec)
    }
}

/// Writes the options that differ from the default, separated by commas.
impl fmt::Display for LineSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.differences(&Self::default()).join(","))
    }
}

impl LineSpec {
    /// The options, as texts, that turn `before` into this one.
    pub fn differences(&self, before: &Self) -> Vec<String> {
        let none = || "none".to_owned();
        let mut texts = Vec::new();
        let mut note = |differs: bool, key: &str, value: String| {
            if differs {
                texts.push(format!("{key}={value}"));
            }
        };
        note(self.delay != before.delay, "delay", Time(self.delay).to_string());
        note(self.jitter != before.jitter, "jitter", self.jitter.to_string());
        note(self.loss != before.loss, "loss", self.loss.to_string());
        note(self.rate != before.rate, "rate", self.rate.map_or_else(none, |rate| Rate(rate).to_string()));
        note(
            self.queue != before.queue,
            "queue",
            self.queue.map_or_else(none, |size| Size(size).to_string()),
        );
        note(self.order != before.order, "order", self.order.to_string());
        let reorder =
            self.reorder.map_or_else(none, |Reorder { share, extra }| format!("{share}:{}", Time(extra)));
        note(self.reorder != before.reorder, "reorder", reorder);
        note(self.duplicate != before.duplicate, "duplicate", self.duplicate.to_string());
        note(self.cut != before.cut, "cut", if self.cut { "on" } else { "off" }.to_owned());
        texts
    }
}

impl fmt::Display for PacketOrder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Fifo => "fifo",
            Self::Free => "free",
        })
    }
}
