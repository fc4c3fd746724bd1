//! A process of federates that follow orders.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;
use std::time::Instant;

use base::Moment;
use console::rounds::Rounds;
use federate::{Call, Callbacks, Federate as Connection};
use hla::api::call_response::CallResponse;
use tokio::sync::Notify;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use workload::phases::{Action, Counts, Federate, Input, Order, Plan};

use crate::access::server_options;
use crate::error::BenchError;
use crate::member::received;
use crate::process::{orders, print_line};
use crate::role::number;

/// Unanswered calls at which a federate waits for answers.
const WINDOW: usize = 4_096;

/// The state that the federates of a process share.
struct Group {
    server: String,
    /// The clock of the federates begins then.
    begun: Instant,
    /// Orders that all of them have left.
    orders_left: Cell<usize>,
    times: RefCell<Rounds>,
    counts: Cell<Counts>,
    failure: RefCell<Option<String>>,
    /// Fires when nobody has orders left, or somebody has failed.
    settled: Notify,
}

impl Group {
    fn now(&self) -> Moment {
        Moment::ZERO + self.begun.elapsed()
    }

    /// Waits until nobody has orders left. Returns the times and the reflects recorded since this was last
    /// called.
    async fn wait(&self) -> Result<(Rounds, Counts), String> {
        loop {
            if let Some(reason) = &*self.failure.borrow() {
                return Err(reason.clone());
            }
            if self.orders_left.get() == 0 {
                return Ok((self.times.replace(Rounds::new(0)), self.counts.take()));
            }
            self.settled.notified().await;
        }
    }
}

/// A federate and its task.
struct Follower {
    group: Rc<Group>,
    federate: Federate,
    /// Orders that it had left when it last told the group.
    orders_left: usize,
    connection: Option<(Connection, Callbacks)>,
    calls: VecDeque<Call<CallResponse>>,
}

impl Follower {
    /// Follows orders until there can be none.
    async fn follow(mut self, mut orders: UnboundedReceiver<Order>) {
        if let Err(error) = self.run(&mut orders).await {
            *self.group.failure.borrow_mut() = Some(error.to_string());
            self.group.settled.notify_one();
        }
    }

    async fn run(&mut self, orders: &mut UnboundedReceiver<Order>) -> Result<(), BenchError> {
        loop {
            self.act().await?;
            self.tell()?;
            let timeout = self.federate.poll_timeout().map(|at| at.since(self.group.now()));
            let timeout = async {
                match timeout {
                    Some(pause) => tokio::time::sleep(pause).await,
                    None => std::future::pending().await,
                }
            };
            let (connection, calls) = (&mut self.connection, &mut self.calls);
            let callback = async {
                match connection {
                    Some((_, callbacks)) => callbacks.recv().await,
                    None => std::future::pending().await,
                }
            };
            let answer = async {
                match calls.front_mut() {
                    Some(call) => call.await,
                    None => std::future::pending().await,
                }
            };
            let input = tokio::select! {
                biased;
                answer = answer => {
                    self.calls.pop_front();
                    Input::Answered(answer?)
                }
                callback = callback => Input::CalledBack(received(callback)?),
                order = orders.recv() => match order {
                    Some(order) => {
                        self.federate.order(order);
                        self.orders_left += 1;
                        continue;
                    }
                    None => return Ok(()),
                },
                () = timeout => continue,
            };
            self.federate.handle(self.group.now(), input);
        }
    }

    /// Does what the federate wants now.
    async fn act(&mut self) -> Result<(), BenchError> {
        while self.calls.len() < WINDOW
            && let Some(action) = self.federate.poll_action(self.group.now())
        {
            match action {
                Action::Connect => {
                    self.connection = Some(Connection::connect(server_options(&self.group.server)?).await?);
                    self.federate.handle(self.group.now(), Input::Connected);
                }
                Action::Call(call) => {
                    let none = || BenchError::Unusable("a federate calls before it is connected".to_owned());
                    let (connection, _) = self.connection.as_ref().ok_or_else(none)?;
                    self.calls.push_back(connection.call_any(call));
                }
                Action::Terminate => {
                    if let Some((connection, _)) = &self.connection {
                        connection.terminate().await;
                    }
                    self.connection = None;
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

/// Gives all federates of a group an order.
fn give(group: &Group, followers: &[UnboundedSender<Order>], order: Order) {
    for follower in followers {
        // One that has failed takes none, and its group says why.
        if follower.send(order).is_ok() {
            group.orders_left.set(group.orders_left.get() + 1);
        }
    }
}

/// Plays group `number` of a plan in a network of so many nodes: `phase NUMBER` gives its orders of this phase,
/// `wait` is answered with `done`, the recorded reflects and times once all orders are done, and so is
/// `end-round` for a canary. `failed` and the reason is the answer if a federate cannot go on.
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
    let group = Rc::new(Group {
        server: server.to_owned(),
        begun: Instant::now(),
        orders_left: Cell::new(0),
        times: RefCell::new(Rounds::new(0)),
        counts: Cell::default(),
        failure: RefCell::new(None),
        settled: Notify::new(),
    });
    let unknown = || BenchError::Unusable(format!("`{}` has no group {group_number}", plan.name()));
    let of = *plan.groups(nodes).get(group_number).ok_or_else(unknown)?;
    let followers: Vec<UnboundedSender<Order>> = plan
        .federates(group_number, of, federation)
        .map(|federate| {
            let (sender, receiver) = unbounded_channel();
            let group = Rc::clone(&group);
            let follower =
                Follower { group, federate, orders_left: 0, connection: None, calls: VecDeque::new() };
            tokio::task::spawn_local(follower.follow(receiver));
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
        match group.wait().await {
            Ok((times, Counts { reflects, expected, reached, surplus })) => {
                let words: Vec<_> = times.words().collect();
                print_line(&format!("done {reflects} {expected} {reached} {surplus} {}", words.join(" ")));
            }
            Err(reason) => print_line(&format!("failed {reason}")),
        }
    }
    Ok(())
}
