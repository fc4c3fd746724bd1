//! Draws the parameters of a run from its seed.

use super::faults::{FaultKind, FederateFault, PlannedFault, Planner, hardship, outage, plan};
use super::{Kind, Limits, Multicast, Options, Reading, Shape, Timeouts, Timing};
use crate::draw::Draw;
use crate::fom::{RESIGN, Switches};
use crate::script::{Group, Op};
use base::{Moment, Seed};
use kernel::{PipeConfig, link_pipe};
use std::time::Duration;

/// Streams of runs are short, so that their followers must be filtered soon.
const FILTER_WINDOW: u32 = 2;

/// One node by itself. Each parameter is drawn independently, so that runs differ in kind.
pub(super) fn one(seed: Seed, group: Group) -> Options {
    let mut draw = Draw::new(seed, "options");
    let federates = draw.between(1, 7) as usize;
    let far = draw.chance(40);
    let delay = |draw: &mut Draw| if far { draw.micros(50, 80_000) } else { draw.micros(1, 500) };
    let delays = (0..federates).map(|_| delay(&mut draw)).collect();
    let lasts = draw.millis(500, 20_000);
    let timeouts = timeouts(&mut draw);
    let faults = federate_faults(&mut draw, federates, lasts, group);
    let slow = |fault: &PlannedFault| matches!(fault.kind, FaultKind::Federate(_, FederateFault::SlowReader));
    let slow = faults.iter().any(slow);
    Options {
        seed,
        federates,
        federations: if draw.chance(20) { 2 } else { 1 },
        delays,
        rate: draw.pick(&[None, None, Some(1_000_000_000), Some(2_000_000)]).copied().flatten(),
        call_interval: lasts / draw.between(10, 100) as u32,
        burst: *draw.pick(&[1, 1, 1, 3, 8]).unwrap_or(&1),
        lasts,
        padding: *draw.pick(&[0, 0, 20, 300, 3_000]).unwrap_or(&0),
        mistakes: *draw.pick(&[0, 5, 20]).unwrap_or(&0),
        restart: draw.chance(50),
        mix: group.mix(&mut draw),
        is_by_hand: false,
        module: None,
        switches: switches(&mut draw),
        timeouts,
        limits: limits(&mut draw, slow),
        is_tapped: true,
        shape: Shape::alone(),
        sites: vec![Duration::ZERO],
        spares: 0,
        protected: 0,
        homes: None,
        timing: Timing::USUAL,
        pipe: link_pipe(),
        // The reference model answers at once.
        reading: Reading::AT_ONCE,
        multicast: None,
        on_demand: None,
        disk: None,
        hostile: 0,
        faults,
    }
}

/// Many nodes.
pub(super) fn many(seed: Seed, kind: Kind) -> Options {
    let mut draw = Draw::new(seed, "cluster");
    let mut options = one(seed, Group::Session);
    draw_federates(&mut options, &mut draw);
    let protected = draw.below(5) as usize;
    let (shape, protected) = shape(kind, protected, &mut draw);
    let far = draw.chance(35);
    let site = |draw: &mut Draw| if far { draw.micros(100, 12_000) } else { draw.micros(5, 300) };
    // One site more, for a node that joins.
    options.sites = (0..=shape.nodes).map(|_| site(&mut draw)).collect();
    options.spares = 1;
    options.timing = if draw.chance(75) { Timing::SHORT } else { Timing::USUAL };
    options.faults = match draw.chance(15) {
        true => Vec::new(),
        false => plan(&shape, protected, &options.timing, options.lasts, options.federates, &mut draw),
    };
    (options.shape, options.protected) = (shape, protected);
    let (pipe, dense) = pipe(seed);
    options.pipe = pipe;
    if dense {
        // A burst of the federates is more than a pipe takes.
        (options.padding, options.burst, options.rate) = (300, 16, Some(2_000_000));
    }
    options.reading = reading(seed);
    options.multicast = multicast(seed);
    options.on_demand = on_demand(&options);
    options.disk = disk(seed);
    let mut draw = Draw::new(seed, "outage");
    if options.disk.is_some() && draw.chance(30) {
        outage(&mut options.faults, options.shape.nodes, options.lasts, &mut draw);
    } else {
        endure(&mut options, seed);
    }
    options.hostile = hostile(seed);
    options.is_tapped = false;
    options
}

/// Every fifth run has rare faults, and lasts until they are over.
fn endure(options: &mut Options, seed: Seed) {
    let mut draw = Draw::new(seed, "hardship");
    if draw.chance(80) {
        return;
    }
    let Options { shape, protected, timing, lasts, federates, faults, .. } = options;
    let mut planner = Planner::new(shape, *protected, timing, *lasts, *federates);
    let over = hardship(faults, &mut planner, options.disk.is_some(), &mut draw);
    options.lasts = options.lasts.max(over.since(Moment::ZERO) + Duration::from_secs(1));
}

/// Every fifth run has malicious clients.
fn hostile(seed: Seed) -> usize {
    let mut draw = Draw::new(seed, "hostile");
    if draw.chance(20) { draw.between(1, 2) as usize } else { 0 }
}

/// In every other run, reading modules takes a while.
fn reading(seed: Seed) -> Reading {
    let mut draw = Draw::new(seed, "reading");
    match draw.chance(50) {
        true => Reading { at_once_bytes: 0, takes: draw.micros(0, 300_000), at: None },
        false => Reading::AT_ONCE,
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
            filter_window: FILTER_WINDOW,
        }
    } else {
        Limits {
            stream_window: 256 << 10,
            unsent_bytes_high: 1 << 20,
            queue_bytes_max: 256 << 20,
            filter_window: FILTER_WINDOW,
        }
    }
}

fn switches(draw: &mut Draw) -> Switches {
    Switches {
        auto_provide: draw.chance(40),
        attribute_scope: draw.chance(50),
        attribute_relevance: draw.chance(50),
        object_class_relevance: draw.chance(70),
        interaction_relevance: draw.chance(70),
        convey_regions: draw.chance(40),
        resign: RESIGN[draw.below(6) as usize],
    }
}

fn federate_faults(draw: &mut Draw, federates: usize, lasts: Duration, group: Group) -> Vec<PlannedFault> {
    let kinds: &[fn(&mut Draw) -> FederateFault] = &[
        |draw| FederateFault::Delay(draw.millis(1, 300)),
        |draw| FederateFault::Fragment(draw.between(1, 40) as usize),
        |draw| FederateFault::Cut(draw.between(2_000, 300_000) as u32),
        |draw| FederateFault::Cut(draw.between(2_000, 100_000) as u32),
        |_| FederateFault::Stall,
        |_| FederateFault::Kill,
        |_| FederateFault::SlowReader,
    ];
    if draw.chance(25) {
        return Vec::new();
    }
    // The kinds of faults that this run has at all.
    let allowed: Vec<usize> = (0..kinds.len()).filter(|_| draw.chance(45)).collect();
    let number = if group == Group::Session { draw.between(2, 10) } else { draw.between(0, 6) };
    let mut faults = Vec::new();
    for _ in 0..number {
        let Some(&kind) = draw.pick(&allowed) else { break };
        let at = Moment::from_micros(draw.between(1, lasts.as_micros() as u64));
        let lasts = draw.micros(1_000, lasts.as_micros() as u64 / 2);
        let federate = draw.below(federates as u64) as usize;
        let kind = FaultKind::Federate(federate, kinds[kind](draw));
        faults.push(PlannedFault { at, lasts, kind });
    }
    faults
}

/// Every third run has small pipes. In two fifths of these the pipes are so small, and the traffic
/// is so large, that federates are paused again and again; then the second value is true.
fn pipe(seed: Seed) -> (PipeConfig, bool) {
    let mut draw = Draw::new(seed, "pipes");
    let usual = link_pipe();
    if !draw.chance(33) {
        return (usual, false);
    }
    if draw.chance(40) {
        let (bytes, credit) = (draw.between(1_500, 4_000), draw.between(500, 1_500));
        let pipe = PipeConfig {
            frame_bytes_max: 500,
            credit_bytes: Some(credit as usize),
            ..usual.with_bytes_max(bytes as usize)
        };
        return (pipe, true);
    }
    let bytes = draw.between(3_000, 40_000) as usize;
    let pipe = PipeConfig {
        messages_max: *draw.pick(&[32, 256, usual.messages_max]).unwrap_or(&usual.messages_max),
        frame_bytes_max: *draw.pick(&[128, 1_000, usual.frame_bytes_max]).unwrap_or(&usual.frame_bytes_max),
        credit_bytes: Some(draw.between(1_000, 10_000) as usize),
        credit_hold_max: draw.millis(50, 1_000),
        ..usual.with_bytes_max(bytes)
    };
    (pipe, false)
}

/// In every second run nodes have disks. The slowest ones need half of the shortest election
/// timeout. On slower ones a leader may be silent for longer than that, and a node may not get away
/// in time.
fn disk(seed: Seed) -> Option<Duration> {
    let mut draw = Draw::new(seed, "disk");
    let slowest = *draw.pick(&[5, 50, 200]).unwrap_or(&5);
    draw.chance(50).then(|| draw.millis(1, slowest))
}

/// Every fourth run has multicast groups; some lose nothing, others up to a fifth of the datagrams.
fn multicast(seed: Seed) -> Option<Multicast> {
    let mut draw = Draw::new(seed, "multicast");
    draw.chance(25).then(|| Multicast {
        groups: draw.between(1, 3) as usize,
        loss: *draw.pick(&[0, 1, 5, 20]).unwrap_or(&0),
    })
}

/// In a third of the meshes without multicast groups links follow the traffic. The rates are such
/// that they come and go in a run of some seconds.
fn on_demand(options: &Options) -> Option<kernel::OnDemand> {
    let mut draw = Draw::new(options.seed, "on demand");
    let fits = options.shape.kind == Kind::Mesh && options.multicast.is_none();
    (fits && draw.chance(33)).then(|| {
        let above = *draw.pick(&[100, 300, 2_000]).unwrap_or(&300);
        kernel::OnDemand {
            above,
            below: above / draw.between(1, 4),
            window: draw.millis(30, 150),
            // With fewer, messages about changes of links would make links for ever.
            windows: 3,
            idle_after: draw.millis(100, 1_500),
        }
    })
}

fn shape(kind: Kind, protected: usize, draw: &mut Draw) -> (Shape, usize) {
    let nodes = *draw.pick(&[1, 2, 3, 3, 3, 4, 4, 5, 5, 6]).unwrap_or(&3);
    let shape = match kind {
        Kind::Alone => Shape::alone(),
        Kind::Tree => Shape::tree(nodes, draw),
        Kind::Mesh => Shape::mesh(nodes, protected % nodes),
        Kind::Hypercube => Shape::hypercube(if nodes > 2 { 2 } else { 1 }),
        Kind::Graph => Shape::graph(nodes, draw),
    };
    let protected = protected % shape.nodes;
    (shape, protected)
}

fn draw_federates(options: &mut Options, draw: &mut Draw) {
    options.federates = draw.between(3, 8) as usize;
    options.delays = (0..options.federates).map(|_| draw.micros(1, 2_000)).collect();
    options.lasts = draw.millis(2_000, 6_000);
    options.call_interval = options.lasts / draw.between(15, 60) as u32;
    options.burst = *draw.pick(&[1, 1, 3]).unwrap_or(&1);
    options.rate = draw.pick(&[None, None, Some(1_000_000_000), Some(20_000_000)]).copied().flatten();
    options.padding = *draw.pick(&[0, 0, 20, 300]).unwrap_or(&0);
    options.mistakes = *draw.pick(&[0, 0, 5]).unwrap_or(&0);
    options.restart = true;
    options.timeouts = Timeouts {
        heartbeat: Duration::from_secs(1),
        heart: Duration::from_secs(3),
        retry: draw.millis(50, 500),
        closed_window: draw.millis(1_000, 4_000),
        resume_window: draw.millis(4_000, 8_000),
        unjoined_window: draw.millis(500, 2_000),
    };
    options.limits = Limits {
        stream_window: 256 << 10,
        unsent_bytes_high: 1 << 20,
        queue_bytes_max: 256 << 20,
        filter_window: FILTER_WINDOW,
    };
    if draw.chance(85) {
        options.mix.retain(|&(op, _)| op != Op::Destroy);
    }
    // Traffic with promised messages: otherwise most of a short run would be preparation.
    let more = [(Op::Subscribe, 30), (Op::Publish, 15), (Op::Register, 15), (Op::Update, 60)];
    options.mix.extend(more);
    options.mix.extend([
        (Op::PublishInteraction, 10),
        (Op::SubscribeInteraction, 15),
        (Op::SendInteraction, 30),
    ]);
}
