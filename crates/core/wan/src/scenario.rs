//! Named scenarios, and the place where losses are drawn.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use base::{Moment, Seed};

use crate::jitter::{GAMMA_SHAPE_DEFAULT, Jitter};
use crate::loss::{GilbertElliott, Loss, LossProcess, Step};
use crate::schedule::{Phases, Schedule};
use crate::share::Share;
use crate::spec::LineSpec;

/// A network of sites, with a line from each site to each other.
///
/// Some values are our choice, because the sources of the experiments name none: the delays of
/// `paper`, `congested`, `tail` and `partition`, the bursts of `tail`, and the times and sites of
/// the cut of `partition`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Scenario {
    /// 0.1 ms.
    Lan,
    /// 5 ms.
    Metro,
    /// The evaluation in the SRMP paper: 5 % loss; 50 ms.
    Paper,
    /// 35 ms, jitter from a gamma distribution of mean 3 ms.
    Continental,
    /// 120 ms.
    Global,
    /// 275 ms, 1 % loss in bursts of 5.
    Satcom,
    /// 384 kbit/s with a queue of 16 kB; 35 ms.
    Congested,
    /// Lines to the last site lose 10 % in bursts of 5, all others 0.1 %; 35 ms.
    Tail,
    /// The first half of the sites and the rest are cut from each other from 60 s to 90 s; 35 ms.
    Partition,
}

/// A name that does not exist.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{name}` is no {item} (there are: {known})")]
pub struct UnknownName {
    /// The kind of thing named.
    pub item: &'static str,
    /// The name.
    pub name: String,
    /// The names that exist.
    pub known: String,
}

impl Scenario {
    /// All of them.
    pub const ALL: [Scenario; 9] = [
        Self::Lan,
        Self::Metro,
        Self::Paper,
        Self::Continental,
        Self::Global,
        Self::Satcom,
        Self::Congested,
        Self::Tail,
        Self::Partition,
    ];

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Lan => "lan",
            Self::Metro => "metro",
            Self::Paper => "paper",
            Self::Continental => "continental",
            Self::Global => "global",
            Self::Satcom => "satcom",
            Self::Congested => "congested",
            Self::Tail => "tail",
            Self::Partition => "partition",
        }
    }

    /// The line from site `from` to site `to` of `sites`.
    pub fn line(self, from: usize, to: usize, sites: usize) -> Schedule {
        let after = |delay| LineSpec { delay, ..LineSpec::default() };
        let far = after(Duration::from_millis(35));
        let spec = match self {
            Self::Lan => after(Duration::from_micros(100)),
            Self::Metro => after(Duration::from_millis(5)),
            Self::Paper => {
                let loss = Loss::Bernoulli(Share::from_millionths(50_000));
                LineSpec { loss, ..after(Duration::from_millis(50)) }
            }
            Self::Continental => {
                let jitter = Jitter::Gamma { mean: Duration::from_millis(3), shape: GAMMA_SHAPE_DEFAULT };
                LineSpec { jitter, ..far }
            }
            Self::Global => after(Duration::from_millis(120)),
            Self::Satcom => LineSpec { loss: bursts(10_000), ..after(Duration::from_millis(275)) },
            Self::Congested => LineSpec { rate: Some(384_000), queue: Some(16_000), ..far },
            Self::Tail if to + 1 == sites => LineSpec { loss: bursts(100_000), ..far },
            Self::Tail => LineSpec { loss: Loss::Bernoulli(Share::from_millionths(1_000)), ..far },
            Self::Partition => return partition(far, (from < sites / 2) != (to < sites / 2)),
        };
        spec.into()
    }
}

/// Loss in bursts of 5 datagrams on average, with a mean loss in millionths.
fn bursts(loss_ppm: u32) -> Loss {
    let channel = GilbertElliott::of_burst(Share::from_millionths(loss_ppm), 5.0, Step::Datagram);
    Loss::GilbertElliott(channel.expect("the losses above leave gaps between bursts of 5"))
}

fn partition(spec: LineSpec, is_cut: bool) -> Schedule {
    let cut = LineSpec { cut: is_cut, ..spec.clone() };
    if !is_cut {
        return spec.into();
    }
    Schedule::constant(spec.clone())
        .then(Duration::from_secs(60), cut)
        .and_then(|schedule| schedule.then(Duration::from_secs(90), spec))
        .expect("the phases are in order")
}

impl fmt::Display for Scenario {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Scenario {
    type Err = UnknownName;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::ALL.into_iter().find(|scenario| scenario.name() == text).ok_or_else(|| UnknownName {
            item: "scenario of lines",
            name: text.to_owned(),
            known: Self::ALL.map(Scenario::name).join(", "),
        })
    }
}

/// The place where a host draws the losses of a multicast datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum LossAt {
    /// Once for all receivers: they lose the same datagrams.
    Sender,
    /// For each receiving host separately.
    #[default]
    Receiver,
    /// For each object at a receiving host separately.
    Object,
}

impl LossAt {
    /// All of them.
    pub const ALL: [LossAt; 3] = [Self::Sender, Self::Receiver, Self::Object];

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sender => "sender",
            Self::Receiver => "receiver",
            Self::Object => "object",
        }
    }
}

impl FromStr for LossAt {
    type Err = UnknownName;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::ALL.into_iter().find(|at| at.name() == text).ok_or_else(|| UnknownName {
            item: "place to draw losses at",
            name: text.to_owned(),
            known: Self::ALL.map(LossAt::name).join(", "),
        })
    }
}

/// The losses of several places with independent draws: one for the sender, or one for each object.
/// Use lines without losses of their own beside it.
#[derive(Clone, Debug)]
pub struct Losses {
    phases: Phases,
    processes: Vec<LossProcess>,
}

impl Losses {
    /// `places` places whose losses follow `schedule`. One more place changes nothing for the
    /// others.
    pub fn new(schedule: impl Into<Schedule>, seed: Seed, places: usize) -> Self {
        let phases = Phases::new(schedule.into());
        let loss = &phases.spec().loss;
        let process = |index| LossProcess::new(loss.clone(), seed.split_index(index as u64));
        Self { processes: (0..places).map(process).collect(), phases }
    }

    /// Draws for each place whether the datagram sent at `now` is lost.
    pub fn draw(&mut self, now: Moment) -> impl ExactSizeIterator<Item = bool> + '_ {
        if self.phases.advance(now) {
            let loss = &self.phases.spec().loss;
            self.processes.iter_mut().for_each(|process| process.set(loss));
        }
        self.processes.iter_mut().map(move |process| process.is_lost(now))
    }
}
