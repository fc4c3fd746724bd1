//! What a run consists of: drawn from its seed, printed when it fails.

use crate::draw::Draw;
use crate::fom::{RESIGN, Switches};
use crate::script::{Group, Op};
use base::{Moment, Seed};
use std::time::Duration;

/// Timeouts of both ends of every session. Short ones let faults reach every timeout within a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Timeouts {
    /// A client's heartbeat interval.
    pub heartbeat: Duration,
    /// Silence after which either end gives a connection up.
    pub heart: Duration,
    /// How long a client waits between two tries to resume.
    pub retry: Duration,
    /// How long a federate is kept whose connection was closed.
    pub closed_window: Duration,
    /// How long a session is kept whose connection fell silent.
    pub resume_window: Duration,
    /// How long a session without a joined federate is kept.
    pub unjoined_window: Duration,
}

/// Limits under which a federate that does not read is felt soon.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// Bytes in one direction of a connection.
    pub stream_window: usize,
    /// Bytes of a session from which the kernel holds callbacks back.
    pub unsent_bytes_high: usize,
    /// Bytes of callbacks that wait for one federate at most.
    pub queue_bytes_max: usize,
}

/// A fault of the plan.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Trouble {
    /// When it begins.
    pub at: Moment,
    /// When it ends; nothing for what happens once.
    pub lasts: Duration,
    /// Which federate, by number.
    pub federate: usize,
    /// What it is.
    pub kind: TroubleKind,
}

/// What can go wrong.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TroubleKind {
    /// What passes between it and the server arrives late, each packet by up to this.
    Delay(Duration),
    /// Bytes arrive in pieces of at most that many.
    Fragment(usize),
    /// Each packet breaks the connection with this chance, in parts per million.
    Cut(u32),
    /// Nothing passes from or to it, and nobody notices.
    Stall,
    /// Its process dies and never returns.
    Kill,
    /// Its process lives, and reads nothing.
    SlowReader,
}

/// Everything that is drawn for a run before it starts.
#[derive(Clone, Debug)]
pub struct Options {
    /// The seed it was drawn from.
    pub seed: Seed,
    /// Which services the federates use.
    pub group: Group,
    /// How many federates there are.
    pub federates: usize,
    /// In how many federation executions they are.
    pub federations: usize,
    /// One way, between each federate and the server.
    pub delays: Vec<Duration>,
    /// Bits per second of the links; `None` is infinitely fast.
    pub rate: Option<u64>,
    /// Mean time between two calls of one federate.
    pub pace: Duration,
    /// How many calls a federate makes at once.
    pub burst: u64,
    /// How long the safety phase lasts.
    pub lasts: Duration,
    /// Values have up to so many octets more than their stamp.
    pub padding: u64,
    /// Calls that a federate gets wrong on purpose, per cent.
    pub mistakes: u64,
    /// Federates that lost their session begin a new one.
    pub restart: bool,
    /// What the federates call, with weights.
    pub mix: Vec<(Op, u64)>,
    /// The switches of the object model.
    pub switches: Switches,
    /// Timeouts.
    pub timeouts: Timeouts,
    /// Limits.
    pub limits: Limits,
    /// What goes wrong when.
    pub troubles: Vec<Trouble>,
}

impl Options {
    /// The swarm: each parameter drawn by itself, so that runs differ in kind.
    pub fn swarm(seed: Seed, group: Group) -> Self {
        let mut draw = Draw::new(seed, "options");
        let federates = draw.between(1, 7) as usize;
        let far = draw.chance(40);
        let delay = |draw: &mut Draw| if far { draw.micros(50, 80_000) } else { draw.micros(1, 500) };
        let delays = (0..federates).map(|_| delay(&mut draw)).collect();
        let lasts = draw.millis(500, 20_000);
        let timeouts = timeouts(&mut draw);
        let troubles = troubles(&mut draw, federates, lasts, group);
        let slow = troubles.iter().any(|trouble| trouble.kind == TroubleKind::SlowReader);
        Self {
            seed,
            group,
            federates,
            federations: if draw.chance(20) { 2 } else { 1 },
            delays,
            rate: draw.pick(&[None, None, Some(1_000_000_000), Some(2_000_000)]).copied().flatten(),
            pace: lasts / draw.between(10, 100) as u32,
            burst: *draw.pick(&[1, 1, 1, 3, 8]).unwrap_or(&1),
            lasts,
            padding: *draw.pick(&[0, 0, 20, 300, 3_000]).unwrap_or(&0),
            mistakes: *draw.pick(&[0, 5, 20]).unwrap_or(&0),
            restart: draw.chance(50),
            mix: group.mix(&mut draw),
            switches: switches(&mut draw),
            timeouts,
            limits: limits(&mut draw, slow),
            troubles,
        }
    }

    /// The same without anything that goes wrong.
    #[must_use]
    pub fn without_troubles(mut self) -> Self {
        self.troubles.clear();
        self
    }
}

fn timeouts(draw: &mut Draw) -> Timeouts {
    let short = draw.chance(60);
    let s = Duration::from_secs;
    if short {
        Timeouts {
            heartbeat: s(1),
            heart: s(3),
            retry: draw.millis(50, 800),
            closed_window: draw.millis(1_000, 4_000),
            resume_window: draw.millis(5_000, 15_000),
            unjoined_window: draw.millis(500, 2_000),
        }
    } else {
        Timeouts {
            heartbeat: s(60),
            heart: s(180),
            retry: s(5),
            closed_window: s(10),
            resume_window: s(600),
            unjoined_window: s(2),
        }
    }
}

fn limits(draw: &mut Draw, slow: bool) -> Limits {
    if slow || draw.chance(20) {
        Limits {
            stream_window: draw.between(600, 8_000) as usize,
            unsent_bytes_high: draw.between(500, 20_000) as usize,
            queue_bytes_max: draw.between(20_000, 200_000) as usize,
        }
    } else {
        Limits { stream_window: 256 << 10, unsent_bytes_high: 1 << 20, queue_bytes_max: 256 << 20 }
    }
}

fn switches(draw: &mut Draw) -> Switches {
    Switches {
        auto_provide: draw.chance(40),
        attribute_scope: draw.chance(50),
        attribute_relevance: draw.chance(50),
        object_class_relevance: draw.chance(70),
        interaction_relevance: draw.chance(70),
        resign: RESIGN[draw.below(6) as usize],
    }
}

fn troubles(draw: &mut Draw, federates: usize, lasts: Duration, group: Group) -> Vec<Trouble> {
    let kinds: &[fn(&mut Draw) -> TroubleKind] = &[
        |draw| TroubleKind::Delay(draw.millis(1, 300)),
        |draw| TroubleKind::Fragment(draw.between(1, 40) as usize),
        |draw| TroubleKind::Cut(draw.between(2_000, 300_000) as u32),
        |draw| TroubleKind::Cut(draw.between(2_000, 100_000) as u32),
        |_| TroubleKind::Stall,
        |_| TroubleKind::Kill,
        |_| TroubleKind::SlowReader,
    ];
    if draw.chance(25) {
        return Vec::new();
    }
    // A group of faults that this run has at all.
    let allowed: Vec<usize> = (0..kinds.len()).filter(|_| draw.chance(45)).collect();
    let number = if group == Group::Session { draw.between(2, 10) } else { draw.between(0, 6) };
    let mut troubles = Vec::new();
    for _ in 0..number {
        let Some(&kind) = draw.pick(&allowed) else { break };
        let at = Moment::from_micros(draw.between(1, lasts.as_micros() as u64));
        let lasts = draw.micros(1_000, lasts.as_micros() as u64 / 2);
        let federate = draw.below(federates as u64) as usize;
        troubles.push(Trouble { at, lasts, federate, kind: kinds[kind](draw) });
    }
    troubles
}
