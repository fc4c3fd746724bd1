//! Grants of logical time: federates that all regulate and are constrained advance in steps.
//!
//! All federates wait for each other in every step, so that the slowest grant of a step delays the
//! next one of everybody. The federates of a node are in one process of their own.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use console::rounds::Rounds;
use federate::{Callback, Callbacks, Federate, LogicalClock};
use hla::api::{OrderType, UpdateAttributeValuesWithTimeRequest};
use hla::handle::{AttributeHandle, ObjectInstanceHandle};
use hla::time::{LogicalTime, LogicalTimeInterval};

use crate::error::BenchError;
use crate::floor::Floor;
use crate::member::{Member, Payload};
use crate::process::{Launcher, PATIENCE, Process, orders, print_line};
use crate::role;
use crate::role::number;
use crate::server::{Server, federation_name};
use crate::wire::message_bytes;

/// The payload of an update in a step.
const VALUE: &[u8] = &[7; 100];

/// The service by which federates advance.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Service {
    /// Time Advance Request (8.8).
    TimeAdvance,
    /// Next Message Request (8.10).
    NextMessage,
}

impl Service {
    /// Its word in the role of a process.
    pub(crate) const fn word(self) -> &'static str {
        match self {
            Self::TimeAdvance => "advance",
            Self::NextMessage => "next-message",
        }
    }
}

/// Round trips of the floor: enough for a median, and a fraction of a second.
const FLOOR_SAMPLES: u64 = 2_000;
const FLOOR_WARM_UP: u64 = 200;

/// The settings of the benchmark.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Federates. They are spread evenly over the nodes.
    pub federates: usize,
    /// Measured steps of each federate.
    pub steps: u64,
    /// Lookahead of each federate, in steps.
    pub lookahead: u32,
    /// Updates that each federate sends to all others in each step.
    pub messages: usize,
    /// The order of these updates. Those in receive order have no time stamps.
    pub order: OrderType,
    /// The service by which they advance.
    pub service: Service,
}

impl Plan {
    /// The word for the order in reports, and in the role of a process.
    pub const fn order_word(&self) -> &'static str {
        match self.order {
            OrderType::Timestamp => "timestamp",
            OrderType::Receive => "receive",
        }
    }
}

/// The grants of a run.
#[derive(Clone, Debug)]
pub struct Grants {
    /// Number of grants.
    pub grants: u64,
    /// Duration of all of them, in seconds.
    pub took_s: f64,
    /// Times from the request of an advance to its grant. They include the wait for the others.
    pub waits: Rounds,
    /// Round trips through the relay, of messages as long as an update.
    pub floor: Rounds,
    /// Updates that were delivered.
    pub delivered: u64,
    /// Processor time of all nodes, in seconds, if this benchmark started them.
    pub server_cpu_s: Option<f64>,
}

impl Grants {
    /// Grants per second, all federates together.
    pub fn per_s(&self) -> f64 {
        self.grants as f64 / self.took_s
    }

    /// The median time of a grant beside the median round trip of the relay.
    pub fn ratio(&self) -> f64 {
        self.waits.quantile_us(0.5) / self.floor.quantile_us(0.5)
    }
}

/// Runs the plan.
///
/// # Errors
/// The server or the system fails or refuses a request; messages were lost.
pub async fn measure(launcher: &Launcher, server: &Server, plan: &Plan) -> Result<Grants, BenchError> {
    // A run of the other order may come next, and its federates may not be gone by then.
    let federation = format!("{} {}", federation_name("grants"), plan.order_word());
    let creator = Member::create(server.address(), server.edition(), &federation).await?;
    let nodes = server.addresses();
    let mut groups = Vec::new();
    for (node, address) in nodes.iter().enumerate() {
        let count = plan.federates / nodes.len() + usize::from(node < plan.federates % nodes.len());
        if count > 0 {
            let (lookahead, messages) = (plan.lookahead.to_string(), plan.messages.to_string());
            let words = [&*lookahead, &*messages, plan.service.word(), plan.order_word()];
            let role = role::steppers(address, &federation, count, words);
            groups.push(launcher.start(&role).await?.0);
        }
    }
    let mut floor = Floor::start(launcher, server.links(), &[]).await?;
    let size = VALUE.len();
    let floor = floor.rounds(size, message_bytes(size), FLOOR_WARM_UP, FLOOR_SAMPLES).await?;
    let waits = Rounds::new(0);
    let mut grants = Grants { grants: 0, took_s: 0.0, waits, floor, delivered: 0, server_cpu_s: None };
    step(&mut groups, plan.steps.div_ceil(10), &mut grants.clone()).await?;
    let cpu_before = server.cpu_s();
    let begun = Instant::now();
    step(&mut groups, plan.steps, &mut grants).await?;
    grants.took_s = begun.elapsed().as_secs_f64();
    grants.server_cpu_s = server.cpu_s().zip(cpu_before).map(|(after, before)| after - before);
    drop(groups);
    creator.leave(&federation).await?;
    let others = plan.federates.saturating_sub(1) as u64;
    // The updates of the last steps, as far as the lookahead, are still on their way. Those of the
    // last step are if they have no time stamps.
    let on_their_way = match plan.order {
        OrderType::Timestamp => plan.lookahead,
        OrderType::Receive => plan.lookahead.max(1),
    };
    let steps = plan.steps.saturating_sub(u64::from(on_their_way));
    let expected = steps * plan.federates as u64 * plan.messages as u64 * others;
    if grants.delivered < expected {
        return Err(BenchError::Lossy { sent: expected, received: grants.delivered, failed: 0 });
    }
    Ok(grants)
}

/// Lets all federates advance by so many steps.
async fn step(groups: &mut [Process], steps: u64, grants: &mut Grants) -> Result<(), BenchError> {
    for group in &mut *groups {
        group.send_line(&format!("step {steps}")).await?;
    }
    // A step may take a second with very many federates.
    let patience = PATIENCE + Duration::from_secs(steps);
    for group in groups {
        let words = group.hear_within("stepped", patience).await?;
        let [delivered, waits @ ..] = &words[..] else {
            return Err(BenchError::Unusable("a process does not say what it delivered".to_owned()));
        };
        grants.delivered += number(delivered)? as u64;
        if !waits.iter().all(|word| grants.waits.add_word(word)) {
            return Err(BenchError::Unusable("a process does not say how long grants took".to_owned()));
        }
    }
    grants.grants = grants.waits.samples();
    Ok(())
}

/// One federate that advances in steps.
struct Stepper {
    federate: Federate,
    callbacks: Callbacks,
    clock: LogicalClock,
    class: Payload,
    object: ObjectInstanceHandle,
    lookahead: LogicalTimeInterval,
    messages: usize,
    service: Service,
    order: OrderType,
}

impl Stepper {
    async fn join(server: &str, federation: &str, words: &[String; 4]) -> Result<Self, BenchError> {
        let [lookahead, messages, service, order] = words;
        let lookahead = LogicalTimeInterval::float64(number(lookahead)? as f64)?;
        let service = match &service[..] {
            "next-message" => Service::NextMessage,
            _ => Service::TimeAdvance,
        };
        let order = match &order[..] {
            "receive" => OrderType::Receive,
            _ => OrderType::Timestamp,
        };
        let mut member = Member::join(server, federation).await?;
        let class = member.step().await?;
        if number(messages)? > 0 {
            member.want(class).await?;
        }
        let object = member.offer(class).await?;
        let mut clock = LogicalClock::new(&member.federate, &member.join)?;
        clock.regulate(lookahead, &mut member.callbacks, |_| {}).await?;
        clock.constrain(&mut member.callbacks, |_| {}).await?;
        let Member { federate, callbacks, .. } = member;
        let messages = number(messages)?;
        Ok(Self { federate, callbacks, clock, class, object, lookahead, messages, service, order })
    }

    /// Advances by `steps`. Returns the number of messages that were delivered.
    async fn advance(&mut self, steps: usize, waits: &RefCell<Rounds>) -> Result<u64, BenchError> {
        let one = LogicalTimeInterval::float64(1.0)?;
        let (mut delivered, updates) = (0, self.federate.updates());
        for _ in 0..steps {
            let next = self.clock.now().add(one)?;
            let stamp = self.clock.now().add(self.lookahead)?;
            for _ in 0..self.messages {
                let values = [(self.class.attribute, Bytes::from_static(VALUE))];
                match self.order {
                    OrderType::Timestamp => updates.send(self.update(values, stamp)).await?,
                    OrderType::Receive => updates.update_attribute_values(self.object, values, "").await?,
                }
            }
            let begun = Instant::now();
            while self.clock.now() < next {
                self.request(next, &mut delivered).await?;
            }
            waits.borrow_mut().record(begun.elapsed());
        }
        Ok(delivered)
    }

    fn update(
        &self,
        values: [(AttributeHandle, Bytes); 1],
        stamp: LogicalTime,
    ) -> UpdateAttributeValuesWithTimeRequest {
        UpdateAttributeValuesWithTimeRequest {
            object_instance: Some(self.object),
            attribute_values: Some(values.into_iter().collect()),
            user_supplied_tag: Bytes::new(),
            time: Some(stamp.into()),
        }
    }

    /// One advance towards `next`.
    async fn request(&mut self, next: LogicalTime, delivered: &mut u64) -> Result<(), BenchError> {
        let count = |callback| {
            let is_update = matches!(
                callback,
                Callback::ReflectAttributeValuesWithTime(_) | Callback::ReflectAttributeValues(_)
            );
            *delivered += u64::from(is_update);
        };
        match self.service {
            Service::TimeAdvance => self.clock.advance(next, &mut self.callbacks, count).await?,
            Service::NextMessage => self.clock.next_message(next, &mut self.callbacks, count).await?,
        };
        Ok(())
    }
}

/// Federates that advance together: `step COUNT` is answered by `stepped`, the number of messages
/// delivered, and how long the grants took.
pub(crate) async fn play_steppers(
    server: &str,
    federation: &str,
    count: usize,
    words: &[String; 4],
) -> Result<(), BenchError> {
    let mut orders = orders();
    let mut steppers = Vec::with_capacity(count);
    for _ in 0..count {
        steppers.push(Stepper::join(server, federation, words).await?);
    }
    print_line("ready");
    while let Some(order) = orders.recv().await {
        let [_, steps] = &order[..] else { continue };
        let steps = number(steps)?;
        let waits = Rc::new(RefCell::new(Rounds::new(0)));
        let tasks: Vec<_> = steppers
            .drain(..)
            .map(|mut stepper| {
                let waits = Rc::clone(&waits);
                tokio::task::spawn_local(async move {
                    let delivered = stepper.advance(steps, &waits).await?;
                    Ok::<_, BenchError>((stepper, delivered))
                })
            })
            .collect();
        let mut all = 0;
        for task in tasks {
            let done = task.await.map_err(|error| BenchError::Unusable(error.to_string()))?;
            let (stepper, delivered) = done?;
            steppers.push(stepper);
            all += delivered;
        }
        let words: Vec<_> = waits.borrow().words().collect();
        print_line(&format!("stepped {all} {}", words.join(" ")));
    }
    Ok(())
}
