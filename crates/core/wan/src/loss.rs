//! Models that select the lost datagrams.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use base::{Moment, Rng, Seed};

use crate::share::Share;
use crate::units::{parse_duration, parse_share};

/// Longest trace, in datagrams.
pub const TRACE_LENGTH_MAX: usize = 1 << 24;

/// A model of loss.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub enum Loss {
    /// Nothing is lost.
    #[default]
    None,
    /// Each datagram independently. Text: `5%`.
    Bernoulli(Share),
    /// In bursts. Text: `ge:5%:3` (mean loss, mean burst in datagrams), `ge:5%:30ms` (burst in
    /// time), or all parameters: `ge:p=1.754%:r=33.3%:good=0%:bad=100%`, with `:per=ms` when steps
    /// are milliseconds.
    GilbertElliott(GilbertElliott),
    /// As recorded, starting again at the end. Text: `trace:FILE`.
    Trace(LossTrace),
}

/// The channel of Gilbert and Elliott: a good and a bad state, each with its loss. It starts in the
/// long-run mixture of both, so that the mean loss holds from the first datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct GilbertElliott {
    /// Probability of a change from good to bad in each step.
    pub to_bad: Share,
    /// Probability of a change from bad to good in each step.
    pub to_good: Share,
    /// Loss in the good state.
    pub good: Share,
    /// Loss in the bad state.
    pub bad: Share,
    /// The unit of a step.
    pub step: Step,
}

/// The times at which a [`GilbertElliott`] channel may change its state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Step {
    /// After each datagram.
    #[default]
    Datagram,
    /// Each millisecond, whether there are datagrams or not.
    Millisecond,
}

/// A recording of lost and received datagrams.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LossTrace {
    /// The file it was read from, for the text form.
    pub name: Arc<str>,
    /// One entry for each datagram; true if it was lost.
    pub lost: Arc<[bool]>,
}

impl LossTrace {
    /// Reads `1` or `x` as a lost datagram, `0` or `.` as one that arrived. It skips white space,
    /// and everything from a `#` to the end of its line.
    ///
    /// # Errors
    /// Another character, with its line; an empty trace; more than [`TRACE_LENGTH_MAX`] entries.
    pub fn parse(name: &str, text: &str) -> Result<Self, String> {
        let mut lost = Vec::new();
        for (number, line) in text.lines().enumerate() {
            let line = line.split('#').next().unwrap_or("");
            for character in line.chars().filter(|c| !c.is_whitespace()) {
                lost.push(match character {
                    '1' | 'x' => true,
                    '0' | '.' => false,
                    other => {
                        let line = number + 1;
                        return Err(format!(
                            "{name}, line {line}: `{other}` is neither lost (`1`, `x`) nor not (`0`, `.`)"
                        ));
                    }
                });
            }
        }
        match lost.len() {
            0 => Err(format!("{name}: the trace is empty")),
            1..=TRACE_LENGTH_MAX => Ok(Self { name: name.into(), lost: lost.into() }),
            many => {
                Err(format!("{name}: the trace has {many} entries; at most {TRACE_LENGTH_MAX} are taken"))
            }
        }
    }
}

impl GilbertElliott {
    /// The channel that loses everything in its bad state and nothing in its good one. On average
    /// it loses `loss`, in bursts of `burst` steps.
    ///
    /// # Errors
    /// A burst below one step, or so much loss that the bad state would have to follow the good one
    /// at once.
    pub fn of_burst(loss: Share, burst: f64, step: Step) -> Result<Self, String> {
        if !(burst >= 1.0 && burst.is_finite()) {
            return Err(format!("a mean burst of {burst} steps is below one"));
        }
        let to_good = 1.0 / burst;
        let to_bad = loss.as_f64() * to_good / loss.rest().as_f64();
        let to_bad = Share::from_f64(to_bad).ok_or_else(|| {
            format!(
                "a loss of {loss} cannot come in bursts as short as {burst} steps: they would have no gaps"
            )
        })?;
        let to_good = Share::from_f64(to_good).unwrap_or(Share::ALL);
        Ok(Self { to_bad, to_good, good: Share::NONE, bad: Share::ALL, step })
    }

    /// The long-run share of steps in the bad state; 0 when the channel never changes its state.
    pub fn bad_share(&self) -> f64 {
        let (to_bad, to_good) = (self.to_bad.as_f64(), self.to_good.as_f64());
        if to_bad + to_good > 0.0 { to_bad / (to_bad + to_good) } else { 0.0 }
    }

    /// The correlation with the present state after `steps`: `(1 - p - r)^steps`.
    fn memory(&self, steps: f64) -> f64 {
        libm::pow(1.0 - self.to_bad.as_f64() - self.to_good.as_f64(), steps)
    }
}

impl Loss {
    /// The long-run share of lost datagrams.
    pub fn mean(&self) -> f64 {
        match self {
            Self::None => 0.0,
            Self::Bernoulli(share) => share.as_f64(),
            Self::GilbertElliott(ge) => {
                let bad = ge.bad_share();
                (1.0 - bad) * ge.good.as_f64() + bad * ge.bad.as_f64()
            }
            Self::Trace(trace) => {
                trace.lost.iter().filter(|&&lost| lost).count() as f64 / trace.lost.len().max(1) as f64
            }
        }
    }

    /// Reads the text form. `read` returns the content of a trace file.
    ///
    /// # Errors
    /// There is no such model, its parameters are not valid, or its trace cannot be read.
    pub fn parse(text: &str, read: &dyn Fn(&str) -> Result<String, String>) -> Result<Self, String> {
        let loss = match text.split_once(':') {
            None if text == "none" => Self::None,
            None => Self::Bernoulli(parse_share(text)?),
            Some(("bernoulli", share)) => Self::Bernoulli(parse_share(share)?),
            Some(("ge", rest)) => Self::GilbertElliott(parse_ge(rest)?),
            Some(("trace", file)) => Self::Trace(LossTrace::parse(file, &read(file)?)?),
            Some((name, _)) => {
                return Err(format!(
                    "`{name}` is no model of loss; write \"5%\", \"ge:5%:3\", \"ge:5%:30ms\" or \"trace:FILE\""
                ));
            }
        };
        Ok(if loss == Self::Bernoulli(Share::NONE) { Self::None } else { loss })
    }
}

fn parse_ge(text: &str) -> Result<GilbertElliott, String> {
    if text.contains('=') {
        return parse_ge_in_full(text);
    }
    let (loss, burst) = text.split_once(':').ok_or_else(|| {
        format!("`ge:{text}` names no burst; write \"ge:5%:3\" (datagrams) or \"ge:5%:30ms\" (time)")
    })?;
    let loss = parse_share(loss)?;
    match burst.parse::<f64>() {
        Ok(datagrams) => GilbertElliott::of_burst(loss, datagrams, Step::Datagram),
        Err(_) => {
            let burst = parse_duration(burst)
                .map_err(|why| format!("{why}, or a number of datagrams, for the mean burst"))?;
            GilbertElliott::of_burst(loss, burst.as_secs_f64() * 1e3, Step::Millisecond)
        }
    }
}

fn parse_ge_in_full(text: &str) -> Result<GilbertElliott, String> {
    let (mut to_bad, mut to_good) = (None, None);
    let mut ge = GilbertElliott {
        to_bad: Share::NONE,
        to_good: Share::NONE,
        good: Share::NONE,
        bad: Share::ALL,
        step: Step::Datagram,
    };
    for part in text.split(':') {
        match part.split_once('=') {
            Some(("p", share)) => to_bad = Some(parse_share(share)?),
            Some(("r", share)) => to_good = Some(parse_share(share)?),
            Some(("good", share)) => ge.good = parse_share(share)?,
            Some(("bad", share)) => ge.bad = parse_share(share)?,
            Some(("per", "ms")) => ge.step = Step::Millisecond,
            _ => {
                return Err(format!(
                    "`{part}` is nothing of a Gilbert-Elliott channel; it has p=, r=, good=, bad= and per=ms"
                ));
            }
        }
    }
    let missing = || format!("`ge:{text}` needs both p= (good to bad) and r= (bad to good)");
    ge.to_bad = to_bad.ok_or_else(missing)?;
    ge.to_good = to_good.ok_or_else(missing)?;
    Ok(ge)
}

impl fmt::Display for Loss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => f.write_str("0%"),
            Self::Bernoulli(share) => write!(f, "{share}"),
            Self::GilbertElliott(ge) => write!(f, "{ge}"),
            Self::Trace(trace) => write!(f, "trace:{}", trace.name),
        }
    }
}

impl fmt::Display for GilbertElliott {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ge:p={}:r={}:good={}:bad={}", self.to_bad, self.to_good, self.good, self.bad)?;
        if self.step == Step::Millisecond { f.write_str(":per=ms") } else { Ok(()) }
    }
}

/// The number of whole milliseconds up to `now`, by which a time-based channel counts its steps.
fn millisecond(now: Moment) -> u64 {
    now.as_nanos() / Duration::from_millis(1).as_nanos() as u64
}

/// Decides for one datagram after the other whether it is lost.
#[derive(Clone, Debug)]
pub struct LossProcess {
    loss: Loss,
    rng: Rng,
    /// The state of a Gilbert-Elliott channel; `None` before its first datagram.
    is_bad: Option<bool>,
    /// The millisecond to which this state belongs.
    at_ms: u64,
    /// The position in a trace.
    next: usize,
}

impl LossProcess {
    /// A process whose random numbers come from `seed`.
    pub fn new(loss: Loss, seed: Seed) -> Self {
        Self { loss, rng: seed.rng(), is_bad: None, at_ms: 0, next: 0 }
    }

    /// Changes the model from now on. An equal model continues in its present state.
    pub fn set(&mut self, loss: &Loss) {
        if *loss != self.loss {
            self.loss = loss.clone();
            (self.is_bad, self.next) = (None, 0);
        }
    }

    /// Draws whether the datagram sent at `now` is lost.
    pub fn is_lost(&mut self, now: Moment) -> bool {
        match &self.loss {
            Loss::None => false,
            Loss::Bernoulli(share) => share.draw(&mut self.rng),
            Loss::GilbertElliott(ge) => {
                let ge = *ge;
                let bad = self.step(&ge, now);
                if bad { ge.bad } else { ge.good }.draw(&mut self.rng)
            }
            Loss::Trace(trace) => {
                let lost = trace.lost.get(self.next).is_some_and(|&lost| lost);
                self.next = (self.next + 1) % trace.lost.len().max(1);
                lost
            }
        }
    }

    /// Advances the state of the channel to this datagram.
    fn step(&mut self, ge: &GilbertElliott, now: Moment) -> bool {
        let steady = ge.bad_share();
        let at_ms = millisecond(now);
        let chance = match (self.is_bad, ge.step) {
            (None, _) => Share::from_f64(steady),
            (Some(true), Step::Datagram) => Some(ge.to_good.rest()),
            (Some(false), Step::Datagram) => Some(ge.to_bad),
            (Some(bad), Step::Millisecond) => {
                let memory = ge.memory(at_ms.saturating_sub(self.at_ms) as f64);
                let bad = f64::from(u8::from(bad));
                Share::from_f64((steady + (bad - steady) * memory).clamp(0.0, 1.0))
            }
        };
        let bad = chance.is_some_and(|chance| chance.draw(&mut self.rng));
        (self.is_bad, self.at_ms) = (Some(bad), at_ms.max(self.at_ms));
        bad
    }
}
