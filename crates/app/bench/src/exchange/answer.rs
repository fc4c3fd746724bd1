//! The federate that answers.
//!
//! For each object that it discovers it registers one of its own, its mirror, so that no attribute
//! has to change its owner. It looks the mirror up in a hash table and updates it with the values
//! that arrived, time stamp and all.

use std::str::FromStr as _;

use base::HandleMap;
use federate::Callback;
use hla::handle::{FederateHandle, ObjectInstanceHandle};
use tokio::sync::mpsc::UnboundedReceiver;

use super::data::answered;
use super::side::{Heard, Message, Party, Side, Values};
use super::way::{Kind, Way};
use crate::error::BenchError;
use crate::member::received;
use crate::process::{orders, print_line};

/// Objects that are mirrored together at most, so that answers do not wait for long.
const TOGETHER: usize = 10_000;

/// Answers until `leave`, which is answered by `left`. A failure is one line, too: `failed` and the
/// reason.
pub(crate) async fn play_answerer(server: String, federation: String, way: String) -> Result<(), BenchError> {
    let mut orders = orders();
    let answering = async {
        let way = Way::from_str(&way).map_err(BenchError::Unusable)?;
        let session = Side::connect(&server).await?;
        let side = Side::join(session, &federation, way, Party::Answerer).await?;
        print_line("ready");
        let answerer = Answerer {
            side,
            way,
            counterparts: HandleMap::default(),
            of_federates: HandleMap::default(),
            mirrored: 0,
        };
        answerer.run(&mut orders, &federation).await
    };
    match answering.await {
        Ok(()) => print_line("left"),
        Err(error) => print_line(&format!("failed: {error}")),
    }
    while orders.recv().await.is_some() {}
    Ok(())
}

/// An object of the other party, and the federate that registered it.
type Discovered = (ObjectInstanceHandle, Option<FederateHandle>);

struct Answerer {
    side: Side,
    way: Way,
    /// The mirror of each object of the other party. For directed interactions, which arrive at a
    /// mirror, the object of each mirror and the federate that registered it.
    counterparts: HandleMap<ObjectInstanceHandle, Discovered>,
    /// For directed interactions: an object of each federate of the other party, for answers to one that
    /// directs an interaction to the mirror of another one's object.
    of_federates: HandleMap<FederateHandle, ObjectInstanceHandle>,
    mirrored: usize,
}

impl Answerer {
    async fn run(
        mut self,
        orders: &mut UnboundedReceiver<Vec<String>>,
        federation: &str,
    ) -> Result<(), BenchError> {
        if self.side.clock.is_some() {
            return self.run_in_steps().await;
        }
        let mut discovered = Vec::new();
        loop {
            let callback = tokio::select! {
                biased;
                callback = self.side.callbacks.recv() => received(callback)?,
                order = orders.recv() => {
                    if order.is_some() {
                        self.side.leave(federation).await?;
                    }
                    return Ok(());
                }
            };
            let mut callback = Some(callback);
            while let Some(one) = callback.take() {
                self.handle(one, &mut discovered).await?;
                if discovered.len() < TOGETHER {
                    callback = self.side.callbacks.try_recv();
                }
            }
            self.mirror(&mut discovered).await?;
        }
    }

    /// Advances for ever: it ends with its process.
    async fn run_in_steps(mut self) -> Result<(), BenchError> {
        let mut discovered = Vec::new();
        loop {
            let next = self.side.next_step()?;
            let (Some(clock), Some(next)) = (&mut self.side.clock, next) else { return Ok(()) };
            let mut heard = Vec::new();
            clock.advance(next, &mut self.side.callbacks, |callback| heard.push(callback)).await?;
            for callback in heard {
                self.handle(callback, &mut discovered).await?;
            }
            self.mirror(&mut discovered).await?;
        }
    }

    async fn handle(
        &mut self,
        callback: Callback,
        discovered: &mut Vec<Discovered>,
    ) -> Result<(), BenchError> {
        match self.side.hear(callback)? {
            Heard::Nothing => Ok(()),
            Heard::Object(object, federate) => {
                discovered.push((object, federate));
                Ok(())
            }
            Heard::Message(message) => self.answer(message).await,
        }
    }

    async fn answer(&mut self, message: Message) -> Result<(), BenchError> {
        let Message { object, sender, values } = message;
        let at = self.side.next_step()?;
        let values = Values { data: answered(values.data, self.way.encoding)?, ..values };
        let counterpart = object.and_then(|object| self.counterparts.get(&object));
        let of_sender = |&(object, federate): &Discovered| match sender {
            Some(sender) if self.way.kind == Kind::Directed && federate != Some(sender) => {
                self.of_federates.get(&sender).copied().unwrap_or(object)
            }
            _ => object,
        };
        let counterpart = counterpart.map(of_sender);
        if self.way.kind != Kind::Interaction && counterpart.is_none() {
            return Err(BenchError::Nonsense("a message of an object that was not discovered".to_owned()));
        }
        match self.way.kind {
            Kind::Update => self.side.send(counterpart, None, values, at).await,
            Kind::Directed | Kind::Interaction => self.side.send(None, counterpart, values, at).await,
        }
    }

    async fn mirror(&mut self, discovered: &mut Vec<Discovered>) -> Result<(), BenchError> {
        if discovered.is_empty() {
            return Ok(());
        }
        let mirrors = self.side.register(self.mirrored, discovered.len()).await?;
        self.mirrored += mirrors.len();
        for ((object, federate), mirror) in discovered.drain(..).zip(mirrors) {
            match self.way.kind {
                Kind::Directed => {
                    self.counterparts.insert(mirror, (object, federate));
                    self.of_federates.extend(federate.map(|federate| (federate, object)));
                }
                Kind::Update | Kind::Interaction => {
                    self.counterparts.insert(object, (mirror, None));
                }
            }
        }
        Ok(())
    }
}
