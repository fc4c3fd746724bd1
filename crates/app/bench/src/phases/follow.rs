//! A process of federates that follow orders.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::future::{pending, poll_fn};
use std::pin::Pin;
use std::rc::Rc;
use std::task::Poll;
use std::time::{Duration, Instant};

use base::Moment;
use console::rounds::Rounds;
use federate::{Call, Callbacks, Federate as Connected, FederateError, Updates};
use hla::api::call_request::CallRequest;
use hla::api::call_response::CallResponse;
use tokio::sync::Notify;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use workload::phases::{Action, Counts, Federate, Input, Order, Plan};

use crate::access::server_options;
use crate::error::BenchError;
use crate::member::received;
use crate::process::{PATIENCE, orders, print_line};
use crate::role::number;

/// Unanswered calls at which a federate waits for answers.
const WINDOW: usize = 4_096;

/// The state that the federates of a process share.
struct Group {
    server: String,
    /// The longest time in which nothing comes to any of them, while they have orders.
    patience: Duration,
    /// The clock of the federates begins then.
    begun: Instant,
    /// Orders that all of them have left.
    orders_left: Cell<usize>,
    times: RefCell<Rounds>,
    counts: Cell<Counts>,
    /// Somebody has failed, and has said why.
    has_failed: Cell<bool>,
    /// When something last came to any of them, an order among it.
    last_input: Cell<Moment>,
    /// Fires when nobody has orders left.
    settled: Notify,
    /// Fires when nothing has come to anybody for too long.
    stalled: Notify,
}

impl Group {
    fn new(server: &str, patience: Duration) -> Self {
        Self {
            server: server.to_owned(),
            patience,
            begun: Instant::now(),
            orders_left: Cell::new(0),
            times: RefCell::new(Rounds::new(0)),
            counts: Cell::default(),
            has_failed: Cell::new(false),
            last_input: Cell::new(Moment::ZERO),
            settled: Notify::new(),
            stalled: Notify::new(),
        }
    }

    fn now(&self) -> Moment {
        Moment::ZERO + self.begun.elapsed()
    }

    /// Waits until nobody has orders left, which is never if somebody has failed. Returns the times and the
    /// reflects recorded since this was last called.
    async fn wait(&self) -> (Rounds, Counts) {
        while self.orders_left.get() > 0 || self.has_failed.get() {
            let idle = self.now().since(self.last_input.get());
            if idle >= self.patience {
                self.stalled.notify_waiters();
                self.last_input.set(self.now());
            }
            let left = self.patience.saturating_sub(idle);
            // If it is over, this looks again.
            let _ = tokio::time::timeout(left, self.settled.notified()).await;
        }
        (self.times.replace(Rounds::new(0)), self.counts.take())
    }
}

/// A federate and its task.
struct Follower {
    group: Rc<Group>,
    federate: Federate,
    /// Orders that it had left when it last told the group.
    orders_left: usize,
    connection: Option<Connection>,
    calls: VecDeque<Call<CallResponse>>,
}

/// An update on its way into a session.
type Sending = Pin<Box<dyn Future<Output = Result<(), FederateError>>>>;

/// Its session, and what it waits for there.
struct Connection {
    connected: Connected,
    callbacks: Callbacks,
    updates: Updates,
    /// An update that the session does not take yet.
    sending: Option<Sending>,
    /// It waits for the answers to its updates.
    awaits_updates: bool,
}

/// The next event of a federate.
enum Event {
    Input(Input),
    Order(Order),
    /// It may go on: an update is sent, or a pause is over.
    GoesOn,
    /// Nothing has come to its group for too long.
    Stalled,
    /// Its group needs it no longer.
    End,
}

impl Connection {
    async fn new(server: &str) -> Result<Self, BenchError> {
        let (connected, callbacks) = Connected::connect(server_options(server)?).await?;
        let updates = connected.updates();
        Ok(Self { connected, callbacks, updates, sending: None, awaits_updates: false })
    }

    /// Sends an update, or keeps it until the session takes it.
    async fn send(&mut self, update: CallRequest) -> Result<(), BenchError> {
        let mut sending: Sending = Box::pin(self.updates.send_any(update));
        match poll_fn(|cx| Poll::Ready(sending.as_mut().poll(cx))).await {
            Poll::Ready(sent) => sent?,
            Poll::Pending => self.sending = Some(sending),
        }
        Ok(())
    }

    /// A callback that is already there.
    fn callback(&mut self) -> Result<Option<Input>, BenchError> {
        let callback = self.callbacks.try_recv();
        Ok(callback.map(|callback| received(Some(callback))).transpose()?.map(Input::CalledBack))
    }

    /// Waits until an update is sent, the updates are answered, or there is a callback.
    async fn event(&mut self) -> Result<Event, BenchError> {
        let sent = async {
            match &mut self.sending {
                Some(sending) => sending.await,
                None => pending().await,
            }
        };
        let answered = async {
            match self.awaits_updates {
                true => self.updates.drained().await,
                false => pending().await,
            }
        };
        tokio::select! {
            biased;
            sent = sent => {
                sent?;
                self.sending = None;
                Ok(Event::GoesOn)
            }
            answered = answered => {
                answered?;
                self.awaits_updates = false;
                Ok(Event::Input(Input::UpdatesAnswered))
            }
            callback = self.callbacks.recv() => Ok(Event::Input(Input::CalledBack(received(callback)?))),
        }
    }
}

impl Follower {
    fn new(group: &Rc<Group>, federate: Federate) -> Self {
        let group = Rc::clone(group);
        Self { group, federate, orders_left: 0, connection: None, calls: VecDeque::new() }
    }

    /// Follows orders until there can be none.
    async fn follow(mut self, mut orders: UnboundedReceiver<Order>) {
        if let Err(error) = self.run(&mut orders).await {
            // The benchmark may be waiting for another process.
            print_line(&format!("failed {error}"));
            self.group.has_failed.set(true);
        }
    }

    async fn run(&mut self, orders: &mut UnboundedReceiver<Order>) -> Result<(), BenchError> {
        loop {
            self.act().await?;
            // Callbacks that are there are taken without a wait, so that the group is told once of many.
            if let Some(connection) = &mut self.connection
                && let Some(input) = connection.callback()?
            {
                self.handle(input);
                continue;
            }
            self.tell()?;
            match self.event(orders).await? {
                Event::Input(input) => self.handle(input),
                Event::Order(order) => {
                    self.federate.order(order);
                    self.orders_left += 1;
                }
                Event::Stalled => {
                    let seconds = self.group.patience.as_secs();
                    let stalled = |reason| BenchError::Stalled { reason, seconds };
                    self.federate.waits_for().map_or(Ok(()), |reason| Err(stalled(reason)))?;
                }
                Event::GoesOn => {}
                Event::End => return Ok(()),
            }
        }
    }

    /// Waits until there is something to do.
    async fn event(&mut self, orders: &mut UnboundedReceiver<Order>) -> Result<Event, BenchError> {
        let pause = self.federate.poll_timeout().map(|at| at.since(self.group.now()));
        let over = async {
            match pause {
                Some(pause) => tokio::time::sleep(pause).await,
                None => pending().await,
            }
        };
        let answer = async {
            match self.calls.front_mut() {
                Some(call) => call.await,
                None => pending().await,
            }
        };
        let event = async {
            match &mut self.connection {
                Some(connection) => connection.event().await,
                None => pending().await,
            }
        };
        tokio::select! {
            biased;
            answer = answer => {
                self.calls.pop_front();
                Ok(Event::Input(Input::Answered(answer?)))
            }
            event = event => event,
            order = orders.recv() => Ok(order.map_or(Event::End, Event::Order)),
            () = over => Ok(Event::GoesOn),
            () = self.group.stalled.notified() => Ok(Event::Stalled),
        }
    }

    fn handle(&mut self, input: Input) {
        let now = self.group.now();
        self.group.last_input.set(now);
        self.federate.handle(now, input);
    }

    /// Does what the federate wants now.
    async fn act(&mut self) -> Result<(), BenchError> {
        while self.calls.len() < WINDOW
            && self.connection.as_ref().is_none_or(|connection| connection.sending.is_none())
            && let Some(action) = self.federate.poll_action(self.group.now())
        {
            let none = || BenchError::Unusable("a federate calls before it is connected".to_owned());
            match action {
                Action::Connect => {
                    self.connection = Some(Connection::new(&self.group.server).await?);
                    self.federate.handle(self.group.now(), Input::Connected);
                }
                Action::Call(call) => {
                    let connection = self.connection.as_ref().ok_or_else(none)?;
                    self.calls.push_back(connection.connected.call_any(call));
                }
                Action::Update(update) => {
                    self.connection.as_mut().ok_or_else(none)?.send(update).await?;
                }
                Action::AwaitUpdates => self.connection.as_mut().ok_or_else(none)?.awaits_updates = true,
                Action::Terminate => {
                    if let Some(connection) = self.connection.take() {
                        connection.connected.terminate().await;
                        check(&connection.updates)?;
                    }
                    self.calls.clear();
                    self.federate.handle(self.group.now(), Input::Ended);
                }
            }
        }
        Ok(())
    }

    /// Tells the group what has changed.
    fn tell(&mut self) -> Result<(), BenchError> {
        if let Some(reason) = self.federate.failure() {
            return Err(BenchError::Unusable(reason.to_owned()));
        }
        let mut times = self.group.times.borrow_mut();
        self.federate.take_times().into_iter().for_each(|time| times.record(time));
        let mut counts = self.group.counts.get();
        counts.add(self.federate.take_counts());
        self.group.counts.set(counts);
        let left = self.federate.orders_left();
        let of_all = self.group.orders_left.get() - (self.orders_left - left);
        self.orders_left = left;
        self.group.orders_left.set(of_all);
        if of_all == 0 {
            self.group.settled.notify_one();
        }
        Ok(())
    }
}

/// An error if an update was refused.
fn check(updates: &Updates) -> Result<(), BenchError> {
    updates.counts().last_error.map_or(Ok(()), |refused| Err(refused.into()))
}

/// Gives all federates of a group an order.
fn give(group: &Group, followers: &[UnboundedSender<Order>], order: Order) {
    // They may have been without one for longer than they have patience.
    group.last_input.set(group.now());
    for follower in followers {
        // One that has failed takes none, and its group says why.
        if follower.send(order).is_ok() {
            group.orders_left.set(group.orders_left.get() + 1);
        }
    }
}

/// Plays group `number` of a plan in a network of so many nodes: `phase NUMBER` gives its orders of this phase,
/// `wait` is answered with `done`, the recorded reflects and times once all orders are done, and so is
/// `end-round` for a canary. `failed` and the reason follow unasked once a federate cannot go on.
pub(crate) async fn play_group(
    server: &str,
    federation: &str,
    [group_number, nodes]: [&str; 2],
    plan: &[&str],
) -> Result<(), BenchError> {
    let mut lines = orders();
    let none = || BenchError::Unusable(format!("there is no plan `{}`", plan.join(" ")));
    let plan = Plan::of_words(plan).ok_or_else(none)?;
    let (group_number, nodes) = (number(group_number)?, number(nodes)?);
    let group = Rc::new(Group::new(server, PATIENCE));
    let unknown = || BenchError::Unusable(format!("`{}` has no group {group_number}", plan.name()));
    let of = *plan.groups(nodes).get(group_number).ok_or_else(unknown)?;
    let followers: Vec<UnboundedSender<Order>> = plan
        .federates(group_number, of, federation)
        .map(|federate| {
            let (sender, receiver) = unbounded_channel();
            tokio::task::spawn_local(Follower::new(&group, federate).follow(receiver));
            sender
        })
        .collect();
    let phases = plan.phases(nodes);
    print_line("ready");
    while let Some(line) = lines.recv().await {
        match line.iter().map(String::as_str).collect::<Vec<_>>()[..] {
            ["phase", phase] => {
                let phase = phases.get(number(phase)?).into_iter();
                let own = phase.flat_map(|phase| &phase.orders).filter(|(group, _)| *group == group_number);
                own.for_each(|(_, order)| give(&group, &followers, *order));
                continue;
            }
            ["end-round"] => give(&group, &followers, Order::EndRound),
            _ => {}
        }
        let (times, Counts { reflects, expected, reached, surplus }) = group.wait().await;
        let words: Vec<_> = times.words().collect();
        print_line(&format!("done {reflects} {expected} {reached} {surplus} {}", words.join(" ")));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use workload::phases::Awaited;

    use super::*;

    /// One of two callbacks is missing for ever.
    #[test]
    fn a_federate_to_which_nothing_comes_says_what_is_missing() {
        let group = Rc::new(Group::new("nowhere", Duration::from_millis(10)));
        let mut follower = Follower::new(&group, Federate::new("F", (1, 3)));
        let (sender, mut orders) = unbounded_channel();
        let senders = [sender];
        give(&group, &senders, Order::Await(Awaited::Reflect, 2));
        let found = hla::api::callback_request::CallbackRequest::ReflectAttributeValues(Default::default());
        follower.federate.handle(Moment::ZERO, Input::CalledBack(found));
        let failed = node::runtime().unwrap().block_on(async {
            tokio::select! {
                failed = follower.run(&mut orders) => failed.unwrap_err().to_string(),
                _ = group.wait() => unreachable!("it waits for a callback"),
            }
        });
        let text = "while waiting for Reflect Attribute Values at federate 2 of 3: 1 of 2 have come";
        assert!(failed.ends_with(text), "{failed}");
    }
}
