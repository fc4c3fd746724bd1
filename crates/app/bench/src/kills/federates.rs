//! The federates of a run. Each sends numbered messages, logs everything that it sends and
//! receives, and goes to another node when its own is gone.

use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::Duration;

use base::{Rng, Seed};
use bytes::Bytes;
use federate::{Callback, Callbacks, Federate, FederateError, Options};
use hla::api::ResignAction;
use hla::handle::{AttributeHandle, InteractionClassHandle, ObjectInstanceHandle};
use tokio::sync::watch;

use super::log::{Clock, Log, Note, Stamp};
use crate::error::BenchError;
use crate::process::{orders, print_line};

/// Longest wait for a node to accept a federate, before another node is tried.
const ENTRY_MAX: Duration = Duration::from_secs(10);
/// Wait after a node that did not accept it.
const ENTRY_PAUSE: Duration = Duration::from_millis(20);

/// The settings of the federates of one process.
#[derive(Clone, Debug)]
pub(crate) struct FederateProcess {
    /// The folder for the logs.
    pub(crate) folder: PathBuf,
    /// The beginning of the run, as time since 1970.
    pub(crate) origin: Duration,
    pub(crate) federation: String,
    pub(crate) seed: u64,
    /// Wait between two messages of a federate.
    pub(crate) every: Duration,
    pub(crate) first: u32,
    pub(crate) count: u32,
    /// The addresses of the nodes.
    pub(crate) nodes: Vec<String>,
}

impl FederateProcess {
    /// The words of the role with these settings.
    pub(crate) fn words(&self) -> Vec<String> {
        let mut words = vec![
            "kills-federates".to_owned(),
            self.folder.display().to_string(),
            self.origin.as_nanos().to_string(),
            self.federation.clone(),
            self.seed.to_string(),
            self.every.as_micros().to_string(),
            self.first.to_string(),
            self.count.to_string(),
        ];
        words.extend(self.nodes.iter().cloned());
        words
    }

    /// Parses the words behind the role's name.
    pub(crate) fn of_words(words: &[&str]) -> Option<Self> {
        let [folder, origin, federation, seed, every, first, count, nodes @ ..] = words else { return None };
        Some(Self {
            folder: PathBuf::from(folder),
            origin: Duration::from_nanos(origin.parse().ok()?),
            federation: (*federation).to_owned(),
            seed: seed.parse().ok()?,
            every: Duration::from_micros(every.parse().ok()?),
            first: first.parse().ok()?,
            count: count.parse().ok()?,
            nodes: nodes.iter().map(|node| (*node).to_owned()).collect(),
        })
    }
}

/// The file of a federate's log.
pub(crate) fn log_file(folder: &Path, slot: u32) -> PathBuf {
    folder.join(format!("federate-{slot:02}.log"))
}

/// Whether the objects of a lost federate are deleted; otherwise they stay without owner.
pub fn deletes(slot: u32) -> bool {
    slot.is_multiple_of(2)
}

/// The phase of the run.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Phase {
    Busy,
    Quiet,
    Over,
}

/// The role: runs the federates until `end`; after `quiet` they send nothing.
pub(crate) async fn play(process: FederateProcess) -> Result<(), BenchError> {
    let mut orders = orders();
    let clock = Clock::since(process.origin);
    let (phase, watched) = watch::channel(Phase::Busy);
    let mut tasks = Vec::new();
    for slot in process.first..process.first + process.count {
        let path = log_file(&process.folder, slot);
        let log = Log::create(&path, clock).map_err(BenchError::system(path.display().to_string()))?;
        let actor = Actor {
            slot,
            process: process.clone(),
            log: Rc::new(RefCell::new(log)),
            rng: Seed(process.seed).split("federate").split_index(slot.into()).rng(),
            phase: watched.clone(),
        };
        tasks.push(tokio::task::spawn_local(actor.live()));
    }
    print_line("ready");
    while let Some(order) = orders.recv().await {
        let ends = match order.first().map(String::as_str) {
            Some("quiet") => phase.send_replace(Phase::Quiet) == Phase::Over,
            Some("end") => phase.send_replace(Phase::Over) != Phase::Over,
            _ => false,
        };
        if ends {
            break;
        }
    }
    for task in tasks {
        let ended = task.await.map_err(|error| BenchError::system("task")(std::io::Error::other(error)))?;
        ended.map_err(BenchError::system("a federate's log"))?;
    }
    print_line(&format!("ended {}", clock.drift()));
    // The process that gave the orders ends this one; until then the sessions stay.
    while orders.recv().await.is_some() {}
    Ok(())
}

/// One federate, session after session.
struct Actor {
    slot: u32,
    process: FederateProcess,
    log: Rc<RefCell<Log>>,
    rng: Rng,
    phase: watch::Receiver<Phase>,
}

/// A joined federate.
struct Entered {
    federate: Federate,
    callbacks: Callbacks,
}

/// The handles of the object model.
struct Model {
    number: AttributeHandle,
    call: InteractionClassHandle,
}

impl Actor {
    fn note(&self, note: &Note) {
        self.log.borrow_mut().note(note);
    }

    async fn live(mut self) -> std::io::Result<()> {
        let mut node = self.slot as usize % self.process.nodes.len();
        let mut life = 0;
        while *self.phase.borrow() != Phase::Over {
            life += 1;
            self.note(&Note::Tries(node, life));
            let entry = tokio::time::timeout(ENTRY_MAX, self.enter(node, life)).await;
            match entry.unwrap_or_else(|_| Err(format!("not within {ENTRY_MAX:?}"))) {
                Ok(entered) => self.stay(entered, life).await,
                Err(why) => {
                    self.note(&Note::Failed(why));
                    tokio::time::sleep(ENTRY_PAUSE).await;
                }
            }
            node = self.another(node);
        }
        self.log.borrow_mut().end()
    }

    /// Any other node.
    fn another(&mut self, node: usize) -> usize {
        let count = self.process.nodes.len();
        if count < 2 {
            return node;
        }
        (node + 1 + super::below(&mut self.rng, count as u64 - 1) as usize) % count
    }

    async fn enter(&self, node: usize, life: u32) -> Result<Entered, String> {
        let mut options = Options::new(&self.process.nodes[node]);
        options.session.connect_timeout = Duration::from_secs(2);
        // A session ends with its node: a federate that waited for the node to come back would not
        // be joined elsewhere meanwhile.
        options.session.reconnect_window = Duration::ZERO;
        let (federate, callbacks) = Federate::connect(options).await.map_err(|error| error.to_string())?;
        let name = format!("F{}.{life}", self.slot);
        let joined = federate.join_federation_execution_with_name(name, "kills", &self.process.federation);
        let joined = joined.await.map_err(|error| error.to_string())?;
        self.note(&Note::Joined(node, life, joined.federate_handle.unwrap_or_default().0.into()));
        Ok(Entered { federate, callbacks })
    }

    /// Sends and receives until the session or the run is over.
    async fn stay(&mut self, entered: Entered, life: u32) {
        let Entered { federate, mut callbacks } = entered;
        let publisher = Publisher {
            slot: self.slot,
            life,
            every: self.process.every,
            first: Duration::from_micros(super::below(
                &mut self.rng,
                self.process.every.as_micros() as u64 + 1,
            )),
            log: Rc::clone(&self.log),
            phase: self.phase.clone(),
        };
        let publishing = tokio::task::spawn_local(async move { publisher.publish(&federate).await });
        loop {
            let callback = tokio::select! {
                callback = callbacks.recv() => callback,
                _ = self.phase.wait_for(|phase| *phase == Phase::Over) => break,
            };
            match callback {
                Some(Callback::ConnectionLost(lost)) => {
                    self.note(&Note::Lost(lost.fault_description));
                    break;
                }
                Some(Callback::FederateResigned(resigned)) => {
                    self.note(&Note::Lost(resigned.reason_for_resign_description));
                    break;
                }
                Some(callback) => self.hear(&callback),
                None => {
                    self.note(&Note::Lost("the session is over".to_owned()));
                    break;
                }
            }
        }
        if *self.phase.borrow() == Phase::Over {
            // No federate may be resigned before all logs are complete, so the session lasts as
            // long as the process.
            std::mem::forget(callbacks);
        }
        publishing.abort();
    }

    fn hear(&self, callback: &Callback) {
        let note = match callback {
            Callback::DiscoverObjectInstance(found) => {
                let producer = found.producing_federate.unwrap_or_default().0;
                Note::Discovers(found.object_instance.unwrap_or_default().0, producer.into())
            }
            Callback::RemoveObjectInstance(gone) => Note::Removes(gone.object_instance.unwrap_or_default().0),
            Callback::ReflectAttributeValues(reflect) => match Stamp::from_octets(&reflect.user_supplied_tag)
            {
                Some(stamp) => Note::Reflects(reflect.object_instance.unwrap_or_default().0, stamp),
                None => Note::Refused(format!("a reflect of nobody: {reflect:?}")),
            },
            Callback::ReceiveInteraction(received) => match Stamp::from_octets(&received.user_supplied_tag) {
                Some(stamp) => Note::Receives(stamp),
                None => Note::Refused(format!("an interaction of nobody: {received:?}")),
            },
            _ => return,
        };
        self.note(&note);
    }
}

/// The sending half of a session.
struct Publisher {
    slot: u32,
    life: u32,
    every: Duration,
    first: Duration,
    log: Rc<RefCell<Log>>,
    phase: watch::Receiver<Phase>,
}

impl Publisher {
    fn note(&self, note: &Note) {
        self.log.borrow_mut().note(note);
    }

    /// Declares, registers and sends. The receiving half records the end of the session.
    async fn publish(mut self, federate: &Federate) {
        let result = match self.declare(federate).await {
            Ok((model, object)) => self.send_all(federate, &model, object).await,
            Err(error) => Err(error),
        };
        match result {
            Err(FederateError::Disconnected(_)) => {}
            Err(error) => self.note(&Note::Refused(error.to_string())),
            // Dropping the federate would end its session.
            Ok(()) => std::future::pending().await,
        }
    }

    async fn declare(&self, federate: &Federate) -> Result<(Model, ObjectInstanceHandle), FederateError> {
        let directive = match deletes(self.slot) {
            true => ResignAction::DeleteObjects,
            false => ResignAction::UnconditionallyDivestAttributes,
        };
        federate.set_automatic_resign_directive(directive).await?;
        let beacon = federate.get_object_class_handle("HLAobjectRoot.Beacon").await?;
        let number = federate.get_attribute_handle(beacon, "Number").await?;
        let call = federate.get_interaction_class_handle("HLAinteractionRoot.Call").await?;
        federate.publish_object_class_attributes(beacon, [number]).await?;
        federate.subscribe_object_class_attributes(beacon, [number]).await?;
        federate.publish_interaction_class(call).await?;
        federate.subscribe_interaction_class(call).await?;
        self.note(&Note::Ready);
        let object = federate.register_object_instance(beacon).await?;
        self.note(&Note::Registered(object.0));
        Ok((Model { number, call }, object))
    }

    async fn send_all(
        &mut self,
        federate: &Federate,
        model: &Model,
        object: ObjectInstanceHandle,
    ) -> Result<(), FederateError> {
        let mut tick = tokio::time::interval_at(tokio::time::Instant::now() + self.first, self.every);
        tick.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        for turn in 0_u64.. {
            let quiet = tokio::select! {
                _ = tick.tick() => false,
                _ = self.phase.wait_for(|phase| *phase >= Phase::Quiet) => true,
            };
            if quiet {
                self.note(&Note::Quiet);
                return Ok(());
            }
            let number = turn / 2 + 1;
            let tag = Bytes::from(Stamp { slot: self.slot, life: self.life, number }.to_octets());
            if turn.is_multiple_of(2) {
                self.note(&Note::Updates(number));
                federate.update_attribute_values(object, [(model.number, tag.clone())], tag).await?;
                self.note(&Note::Updated(number));
            } else {
                self.note(&Note::Sends(number));
                federate.send_interaction(model.call, [], tag).await?;
                self.note(&Note::Sent(number));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_crew_survives_its_words() {
        let process = FederateProcess {
            folder: "/tmp/a b".into(),
            origin: Duration::from_nanos(1_700_000_000_123_456_789),
            federation: "MeshRTI bench kills 7".into(),
            seed: 7,
            every: Duration::from_millis(100),
            first: 5,
            count: 5,
            nodes: vec!["127.0.0.1:20000".into(), "127.0.0.1:20001".into()],
        };
        let words = process.words();
        let read =
            FederateProcess::of_words(&words[1..].iter().map(String::as_str).collect::<Vec<_>>()).unwrap();
        assert_eq!(read.words(), words);
        assert!(FederateProcess::of_words(&["folder", "x"]).is_none());
    }
}
