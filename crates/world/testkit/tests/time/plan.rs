//! Federations in logical time as drawn from a seed, and their course by the reference model.

use base::Seed;
use hla::api::OrderType;
use hla::handle::FederateHandle;
use hla::time::{LogicalTime, LogicalTimeInterval, TimeKind};
use testkit::Draw;
use testkit::model::time::{Advance, Callback, Request, Sending, TimeModel};

/// Interaction classes. A federate publishes one when it first sends an interaction of it.
pub(crate) const CLASSES: usize = 4;

pub(crate) const KIND: TimeKind = TimeKind::Float64;

/// No federate asks for more steps at or after this time.
pub(crate) const END: f64 = 12.0;

/// The time of the last request.
pub(crate) const LAST: f64 = 100.0;

pub(crate) fn time(time: f64) -> LogicalTime {
    LogicalTime::float64(time).expect("a time that is not negative")
}

/// The part of a federate in a run.
#[derive(Clone, Debug)]
pub(crate) struct Role {
    /// `None`: it does not regulate time.
    pub(crate) lookahead: Option<f64>,
    pub(crate) constrained: bool,
}

/// One call of a script.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Act {
    Interaction { class: usize, time: f64 },
    Update { time: f64 },
}

/// A run, as drawn from its seed.
pub(crate) struct Plan {
    pub(crate) seed: Seed,
    pub(crate) roles: Vec<Role>,
    pub(crate) services: Vec<Advance>,
    /// Only services whose grants no later message of the same time can follow.
    pub(crate) strict: bool,
}

/// The present of a federate, on which its script depends.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Present {
    pub(crate) time: f64,
    /// The last grant closed its time.
    pub(crate) closed: bool,
    pub(crate) step: u64,
    pub(crate) received: u64,
}

impl Plan {
    pub(crate) fn new(seed: Seed) -> Self {
        let mut draw = Draw::new(seed, "plan");
        let strict = draw.chance(50);
        let all: &[Advance] = match strict {
            true => &[Advance::Tar, Advance::Nmr],
            false => &[Advance::Tar, Advance::Nmr, Advance::Tara, Advance::Nmra],
        };
        let services = all.iter().copied().filter(|_| draw.chance(70)).collect::<Vec<_>>();
        let services = if services.is_empty() { all.to_vec() } else { services };
        let count = draw.between(2, 5);
        let roles = (0..count).map(|_| Role {
            lookahead: draw.chance(90).then(|| match draw.chance(40) {
                true => 0.0,
                false => (1 + draw.below(4)) as f64 * 0.5,
            }),
            constrained: draw.chance(90),
        });
        Self { seed, roles: roles.collect(), services, strict }
    }

    /// The calls of a federate after a grant: messages, and the next advance.
    pub(crate) fn step(&self, federate: usize, now: Present) -> (Vec<Act>, Advance, f64) {
        let seed = self.seed.split_index(federate as u64).split_index(now.step);
        let mut draw = Draw::new(seed, "step");
        let mut acts = Vec::new();
        if let Some(lookahead) = self.roles[federate].lookahead {
            let gap = if lookahead == 0.0 && now.closed { 0.5 } else { 0.0 };
            let mut count = draw.below(3);
            if self.strict && self.roles[federate].constrained && now.received > 0 {
                count += 1;
            }
            for _ in 0..count {
                let at = now.time + lookahead + gap + draw.below(5) as f64 * 0.5;
                let class = draw.below(CLASSES as u64) as usize;
                acts.push(match draw.chance(40) {
                    true => Act::Update { time: at },
                    false => Act::Interaction { class, time: at },
                });
            }
        }
        if now.time >= END {
            return (acts, Advance::Tar, LAST);
        }
        let to = now.time + draw.between(1, 8) as f64 * 0.5;
        (acts, *draw.pick(&self.services).expect("there is one"), to)
    }
}

/// An event at a federate: a grant, or a message with its time stamp.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Heard {
    Granted(f64),
    Message { time: f64, sender: usize, tag: String },
}

/// The course of a run: the events at each federate, and the messages sent, in order.
#[derive(Debug, Default)]
pub(crate) struct Course {
    pub(crate) heard: Vec<Vec<Heard>>,
    pub(crate) sent: Vec<(usize, f64, String)>,
}

pub(crate) fn tag(federate: usize, step: u64, number: usize) -> String {
    format!("{federate}.{step}.{number}")
}

/// Runs the model.
pub(crate) fn reference(plan: &Plan) -> Course {
    let mut model = TimeModel::new(KIND, true);
    let handle = |federate: usize| FederateHandle(federate as u32 + 1);
    let count = plan.roles.len();
    let mut course = Course { heard: vec![Vec::new(); count], sent: Vec::new() };
    for federate in 0..count {
        model.join(handle(federate), false);
    }
    for federate in 0..count {
        model.call(handle(federate), Request::Register).0.expect("registers");
    }
    for (federate, role) in plan.roles.iter().enumerate() {
        if let Some(lookahead) = role.lookahead {
            let lookahead = LogicalTimeInterval::float64(lookahead).expect("not negative");
            model.call(handle(federate), Request::EnableRegulation(lookahead)).0.expect("regulates");
        }
        if role.constrained {
            model.call(handle(federate), Request::EnableConstrained).0.expect("constrained");
        }
    }
    let mut now = vec![Present { time: 0.0, closed: false, step: 0, received: 0 }; count];
    let mut waiting = vec![false; count];
    let mut closes = vec![false; count];
    while let Some(federate) = (0..count).find(|&at| !waiting[at] && now[at].time < LAST) {
        let (acts, service, to) = plan.step(federate, now[federate]);
        let step = now[federate].step;
        now[federate].step += 1;
        now[federate].received = 0;
        waiting[federate] = true;
        closes[federate] = matches!(service, Advance::Tar | Advance::Nmr);
        let mut callbacks = Vec::new();
        for (number, act) in acts.into_iter().enumerate() {
            let (sending, at) = match act {
                Act::Interaction { time, .. } => (Sending::Interaction, time),
                Act::Update { time } => (Sending::Update(federate), time),
            };
            course.sent.push((federate, at, tag(federate, step, number)));
            let (answer, told) = model.call(handle(federate), Request::Send(sending, Some(time(at))));
            answer.expect("it may send");
            callbacks.extend(told);
        }
        let (answer, told) = model.call(handle(federate), Request::Advance(service, time(to)));
        answer.expect("it may advance");
        callbacks.extend(told);
        for (to, callback) in callbacks {
            let to = to.0 as usize - 1;
            match callback {
                Callback::Granted(at) => {
                    now[to].time = at.as_float64().expect("a float time");
                    now[to].closed = closes[to];
                    waiting[to] = false;
                    course.heard[to].push(Heard::Granted(now[to].time));
                }
                Callback::Message(number, OrderType::Timestamp) => {
                    let (sender, time, tag) = course.sent[number].clone();
                    now[to].received += 1;
                    course.heard[to].push(Heard::Message { time, sender, tag });
                }
                _ => {}
            }
        }
    }
    course
}

/// The events with messages of equal times sorted by their senders.
pub(crate) fn canonical(heard: &[Heard]) -> Vec<Heard> {
    let mut all = heard.to_vec();
    let key = |event: &Heard| match event {
        Heard::Granted(_) => None,
        Heard::Message { time, .. } => Some(*time),
    };
    let sender = |event: &Heard| match event {
        Heard::Granted(_) => 0,
        Heard::Message { sender, .. } => *sender,
    };
    let mut at = 0;
    while at < all.len() {
        let time = key(&all[at]);
        let end = at + all[at..].iter().take_while(|event| key(event) == time).count();
        if time.is_some() {
            all[at..end].sort_by_key(sender);
        }
        at = end.max(at + 1);
    }
    all
}
