//! One random federation: the same calls to the services and to the model.

use crate::world::World;
use base::Seed;
use hla::api::OrderType;
use hla::handle::FederateHandle;
use hla::time::{LogicalTime, LogicalTimeInterval, TimeKind};
use std::collections::BTreeMap;
use testkit::Draw;
use testkit::model::time::{Advance, Callback, Flaw, Message, Request, Sending, TimeModel};

/// Counts of a run.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Tally {
    pub(crate) grants: u64,
    pub(crate) in_time: u64,
    pub(crate) retracted: u64,
}

/// A federation whose calls are drawn from a seed.
pub(crate) struct Run {
    draw: Draw,
    world: World,
    model: TimeModel,
    kind: TimeKind,
    federates: Vec<FederateHandle>,
    evolved: BTreeMap<FederateHandle, bool>,
    /// Messages that were sent in time-stamp order.
    retractable: Vec<usize>,
    steps: Vec<String>,
    tally: Tally,
}

/// Advances that a federate prefers: federations of one style reach further than mixed ones.
const SERVICES: [Advance; 5] = [Advance::Tar, Advance::Tara, Advance::Nmr, Advance::Nmra, Advance::Fqr];

impl Run {
    pub(crate) fn new(seed: Seed, flaw: Option<Flaw>) -> Self {
        let mut draw = Draw::new(seed, "time");
        let kind = if draw.chance(50) { TimeKind::Integer64 } else { TimeKind::Float64 };
        let non_regulated_grant = draw.chance(50);
        let model = TimeModel::new(kind, non_regulated_grant);
        let model = match flaw {
            Some(flaw) => model.with_flaw(flaw),
            None => model,
        };
        let world = World::new(kind, non_regulated_grant);
        let (federates, evolved) = (Vec::new(), BTreeMap::new());
        let (retractable, steps, tally) = (Vec::new(), Vec::new(), Tally::default());
        Self { draw, world, model, kind, federates, evolved, retractable, steps, tally }
    }

    /// Runs to the end.
    ///
    /// # Errors
    /// The difference between the services and the model, after the steps that led to it.
    pub(crate) fn finish(mut self) -> Result<Tally, String> {
        for _ in 0..self.draw.between(2, 5) {
            self.join()?;
        }
        self.begin()?;
        for _ in 0..self.draw.between(40, 200) {
            self.step()?;
        }
        Ok(self.tally)
    }

    /// Most federates get their roles at the beginning.
    fn begin(&mut self) -> Result<(), String> {
        let zero = self.draw.chance(50);
        for handle in self.federates.clone() {
            if self.draw.chance(70) {
                let lookahead = if zero { self.interval(1) } else { self.interval(4) };
                self.call(handle, Request::EnableRegulation(lookahead))?;
            }
            if self.draw.chance(75) {
                self.call(handle, Request::EnableConstrained)?;
            }
        }
        Ok(())
    }

    fn step(&mut self) -> Result<(), String> {
        if self.federates.is_empty() || self.federates.len() < 7 && self.draw.chance(2) {
            return self.join();
        }
        if self.draw.chance(2) {
            return self.leave();
        }
        if self.draw.chance(5) {
            return self.retract();
        }
        let handle = *self.draw.pick(&self.federates).expect("there is one");
        let request = self.request(handle);
        self.call(handle, request)
    }

    fn request(&mut self, handle: FederateHandle) -> Request {
        match self.draw.below(100) {
            0..38 => {
                let service = *self.draw.pick(&SERVICES).expect("there are five");
                let to = self.near(handle);
                Request::Advance(service, to)
            }
            38..74 => self.sending(handle),
            74..80 => Request::Register,
            80 => Request::Retract(usize::MAX),
            81..86 => Request::ModifyLookahead(self.interval(6)),
            86..89 => *self
                .draw
                .pick(&[Request::QueryGalt, Request::QueryTime, Request::QueryLits, Request::QueryLookahead])
                .expect("there are four"),
            89..91 => Request::Asynchronous(self.draw.chance(50)),
            91..93 => Request::EnableRegulation(self.interval(4)),
            93..95 => Request::EnableConstrained,
            95 => Request::DisableRegulation,
            96 => Request::DisableConstrained,
            97 => Request::ChangeInteractionOrder(self.order()),
            _ => match self.instance() {
                Some(instance) if self.draw.chance(50) => {
                    Request::ChangeAttributeOrder(instance, self.order())
                }
                Some(instance) => Request::ChangeDeleteOrder(instance, self.order()),
                None => Request::QueryGalt,
            },
        }
    }

    /// Retracts one of the latest messages; rarely somebody else tries to.
    fn retract(&mut self) -> Result<(), String> {
        let Some(last) = self.retractable.len().checked_sub(1) else { return Ok(()) };
        let number = self.retractable[last - self.draw.below((last as u64 + 1).min(6)) as usize];
        let sender = self.model.messages()[number].sender;
        let handle = match self.federates.contains(&sender) && self.draw.chance(90) {
            true => sender,
            false => *self.draw.pick(&self.federates).expect("there is one"),
        };
        self.call(handle, Request::Retract(number))
    }

    fn sending(&mut self, handle: FederateHandle) -> Request {
        let time = self.draw.chance(85).then(|| self.near(handle));
        let sending = match (self.draw.below(10), self.instance()) {
            (0..4, Some(instance)) => Sending::Update(instance),
            (4, Some(instance)) => Sending::Delete(instance),
            _ => Sending::Interaction,
        };
        Request::Send(sending, time)
    }

    /// One of the latest instances.
    fn instance(&mut self) -> Option<usize> {
        let last = self.model.instances().len().checked_sub(1)?;
        Some(last - self.draw.below((last as u64 + 1).min(4)) as usize)
    }

    fn order(&mut self) -> OrderType {
        if self.draw.chance(70) { OrderType::Timestamp } else { OrderType::Receive }
    }

    /// A time near that of a federate; rarely before it, or the last one.
    fn near(&mut self, handle: FederateHandle) -> LogicalTime {
        if self.draw.chance(1) {
            return self.kind.final_time();
        }
        let time = self.model.times(handle).0;
        let distance = self.interval(8);
        match self.draw.chance(3) {
            true => time.subtract(distance).unwrap_or(time),
            false => time.add(distance).unwrap_or(time),
        }
    }

    /// An interval below `end` units. A unit of float time is a tenth, so that sums are rounded.
    fn interval(&mut self, end: u64) -> LogicalTimeInterval {
        let units = self.draw.below(end);
        match self.kind {
            TimeKind::Integer64 => LogicalTimeInterval::integer64(units as i64),
            TimeKind::Float64 => LogicalTimeInterval::float64(units as f64 * 0.1),
        }
        .expect("a small interval")
    }

    fn join(&mut self) -> Result<(), String> {
        let evolved = self.draw.chance(25);
        let handle = self.world.join(evolved);
        self.federates.push(handle);
        self.evolved.insert(handle, evolved);
        let ((), expected) = self.model.join(handle, evolved);
        self.compare(format!("{handle:?} joins"), expected)
    }

    fn leave(&mut self) -> Result<(), String> {
        let at = self.draw.below(self.federates.len() as u64) as usize;
        let handle = self.federates.swap_remove(at);
        let delete = self.draw.chance(50);
        self.world.leave(handle, delete);
        let ((), expected) = self.model.leave(handle, delete);
        self.compare(format!("{handle:?} leaves, its instances are deleted: {delete}"), expected)
    }

    fn call(&mut self, handle: FederateHandle, request: Request) -> Result<(), String> {
        let number = self.model.messages().len();
        let got = self.world.call(handle, request, number);
        let (answer, expected) = self.model.call(handle, request);
        let step = format!("{handle:?} {request:?} -> {got:?}");
        let agree = match (&got, &answer) {
            (Ok(got), Ok(expected)) => got == expected,
            (Err(got), Err(expected)) => expected.contains(got),
            _ => false,
        };
        if let Request::Send(..) = request
            && let Some(message) = self.model.messages().get(number)
            && message.sent == OrderType::Timestamp
        {
            self.retractable.push(number);
        }
        self.tally.retracted += u64::from(matches!(request, Request::Retract(_)) && got.is_ok());
        if !agree {
            return Err(self.difference(&step, &format!("the model answers {answer:?}")));
        }
        self.compare(step, expected)
    }

    fn compare(&mut self, step: String, expected: Vec<(FederateHandle, Callback)>) -> Result<(), String> {
        let mut by_federate: BTreeMap<FederateHandle, Vec<Callback>> = BTreeMap::new();
        for (to, callback) in expected {
            by_federate.entry(to).or_default().push(callback);
        }
        for (handle, got) in self.world.heard() {
            let expected = by_federate.remove(&handle).unwrap_or_default();
            self.count(&got);
            let messages = self.model.messages();
            let (got, expected) = (canonical(messages, &got), canonical(messages, &expected));
            if got != expected {
                let text = format!("{handle:?} gets\n  {got:?}\n  and by the model\n  {expected:?}");
                return Err(self.difference(&step, &text));
            }
        }
        self.steps.push(step);
        Ok(())
    }

    fn count(&mut self, got: &[Callback]) {
        for callback in got {
            match callback {
                Callback::Granted(_) | Callback::Flushed(..) => self.tally.grants += 1,
                Callback::Message(_, OrderType::Timestamp) => self.tally.in_time += 1,
                _ => {}
            }
        }
    }

    fn difference(&self, step: &str, text: &str) -> String {
        format!("{}\n{step}\n{text}\nevolved: {:?}", self.steps.join("\n"), self.evolved)
    }
}

/// The callbacks with messages of equal times sorted by their senders. Their order is free as long
/// as that of each sender is kept. Deletions of a federate that leaves carry no tag: they are told
/// apart by their place alone.
fn canonical(messages: &[Message], callbacks: &[Callback]) -> Vec<Callback> {
    let untagged = |number: usize| match messages.get(number) {
        Some(Message { sending: Sending::Delete(_), time: None, .. }) => usize::MAX,
        _ => number,
    };
    let mut all: Vec<_> = callbacks
        .iter()
        .map(|&callback| match callback {
            Callback::Message(number, OrderType::Receive) => {
                Callback::Message(untagged(number), OrderType::Receive)
            }
            other => other,
        })
        .collect();
    let key = |callback: &Callback| match *callback {
        Callback::Message(number, _) => messages.get(number).map(|message| message.time),
        _ => None,
    };
    let sender = |callback: &Callback| match *callback {
        Callback::Message(number, _) => messages.get(number).map(|message| message.sender),
        _ => None,
    };
    let mut at = 0;
    while at < all.len() {
        let time = key(&all[at]);
        let end = at + all[at..].iter().take_while(|callback| key(callback) == time).count();
        if time.flatten().is_some() {
            all[at..end].sort_by_key(sender);
        }
        at = end.max(at + 1);
    }
    all
}
