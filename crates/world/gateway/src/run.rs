//! The sessions of a gateway: it joins a federation execution on both sides, and joins again when it
//! loses one of them.

use federate::hla::api::ResignAction;
use federate::{Callback, Callbacks, Federate, FederateError, Options, Updates};
use hla::Exception;
use hla::api::{
    DeleteObjectInstanceRequest, RegisterObjectInstanceRequest, RegisterObjectInstanceWithNameRequest,
    ReleaseObjectInstanceNameRequest, RequestInstanceAttributeValueUpdateRequest,
    ReserveObjectInstanceNameRequest,
};
use hla::handle::{FederateHandle, ObjectInstanceHandle};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::time::Duration;
use tokio::sync::{Notify, mpsc, watch};

use crate::Side;
use crate::machine::{Action, Machine, MirrorId, input, producer};
use crate::passes::Names;
use crate::policy::{FEDERATE_NAME_START, Federation};

mod declare;

/// The type of federates that are gateways.
const FEDERATE_TYPE: &str = "Gateway";
/// How long a gateway waits for a federation execution that does not exist yet before it asks again.
const EXECUTION_WAIT: Duration = Duration::from_secs(2);
/// The first and the longest pause before a lost session is begun again; each is twice the one before.
const PAUSE: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(30));
/// A session that lasts so long was a success: the next pause is the first one again.
const SETTLED: Duration = Duration::from_mins(1);
/// Calls that wait for a side at most. While more do, the callbacks of the other side wait, first here
/// and then at its server: a slow side slows the other down, and nothing is lost.
const ACTIONS_MAX: usize = 1024;
/// Callbacks that wait here at most while a side takes no calls. One that goes on sending loses the session.
const CALLBACKS_MAX: usize = 1 << 16;
/// How often the log tells what has passed.
const REPORT: Duration = Duration::from_mins(1);
/// The names of federates that are remembered at most, for each side.
const PRODUCERS_MAX: usize = 10_000;

/// One federation execution of a gateway.
pub struct Passage<'a> {
    /// The name of the gateway.
    pub gateway: &'a str,
    /// The federation execution.
    pub federation: &'a Federation,
    /// The classes that may pass from the inside and from the outside.
    pub names: [Names; 2],
}

/// The registration of a mirror, and its answer.
type Registered = (MirrorId, Result<ObjectInstanceHandle, String>);

/// A joined federate.
struct Member {
    federate: Federate,
    updates: Updates,
}

impl Passage<'_> {
    /// Passes what may pass until `stop` becomes true. `options` makes the options of each connection to a
    /// side, or says why there are none.
    pub async fn run(
        &self,
        options: impl Fn(Side) -> Result<Options, String>,
        mut stop: watch::Receiver<bool>,
    ) {
        let mut pause = PAUSE.0;
        loop {
            let begun = tokio::time::Instant::now();
            let Err(why) = self.session(&options, &mut stop).await else { return };
            if begun.elapsed() >= SETTLED {
                pause = PAUSE.0;
            }
            tracing::warn!(federation = self.federation.name, why, again_in = ?pause, "nothing passes for now");
            tokio::select! {
                () = tokio::time::sleep(pause) => {}
                _ = stop.wait_for(|stop| *stop) => return,
            }
            pause = (pause * 2).min(PAUSE.1);
        }
    }

    /// Joins both sides and passes what may pass. Returns when it is told to stop.
    ///
    /// # Errors
    /// Why a side could not be joined, or was lost.
    async fn session(
        &self,
        options: &impl Fn(Side) -> Result<Options, String>,
        stop: &mut watch::Receiver<bool>,
    ) -> Result<(), String> {
        let mut stop_of_outside = stop.clone();
        let Some((inside, of_inside)) = self.join(Side::Inside, options, stop).await? else { return Ok(()) };
        let joined = self.join(Side::Outside, options, &mut stop_of_outside).await;
        let passed = match joined {
            Ok(Some((outside, of_outside))) => {
                let members = [inside.clone(), outside.clone()];
                let passed = self.pass(&members, [of_inside, of_outside], stop).await;
                resign(&outside).await;
                passed
            }
            Ok(None) => Ok(()),
            Err(why) => Err(why),
        };
        resign(&inside).await;
        passed
    }

    /// Connects to a side and joins the federation execution, as soon as it exists. `None`: it is told to
    /// stop.
    async fn join(
        &self,
        side: Side,
        options: &impl Fn(Side) -> Result<Options, String>,
        stop: &mut watch::Receiver<bool>,
    ) -> Result<Option<(Federate, Callbacks)>, String> {
        let on_side = |error: &dyn std::fmt::Display| format!("{side}: {error}");
        let mut options = options(side)?;
        options.callbacks_max = CALLBACKS_MAX;
        options.callbacks_high = options.callbacks_high.min(CALLBACKS_MAX / 4);
        let connected = tokio::select! {
            connected = Federate::connect(options) => connected,
            _ = stop.wait_for(|stop| *stop) => return Ok(None),
        };
        let (federate, callbacks) = connected.map_err(|error| on_side(&error))?;
        let name = format!("{FEDERATE_NAME_START}{}", self.gateway);
        let federation = self.federation.name_on(side);
        let mut is_told = false;
        loop {
            match federate.join_federation_execution_with_name(&name, FEDERATE_TYPE, federation).await {
                Ok(_) => break,
                Err(error) if error.is(Exception::FederationExecutionDoesNotExist) => {
                    if !std::mem::replace(&mut is_told, true) {
                        tracing::info!(%side, federation, "waits until it exists");
                    }
                }
                Err(error) => return Err(on_side(&error)),
            }
            tokio::select! {
                () = tokio::time::sleep(EXECUTION_WAIT) => {}
                _ = stop.wait_for(|stop| *stop) => {
                    leave(&federate).await;
                    return Ok(None);
                }
            }
        }
        // Whatever becomes of this process: mirrors must not outlive the gateway.
        let directive =
            federate.set_automatic_resign_directive(ResignAction::CancelThenDeleteThenDivest).await;
        directive.map_err(|error| on_side(&error))?;
        tracing::info!(%side, federation, "joined");
        Ok(Some((federate, callbacks)))
    }

    async fn pass(
        &self,
        federates: &[Federate; 2],
        callbacks: [Callbacks; 2],
        stop: &mut watch::Receiver<bool>,
    ) -> Result<(), String> {
        let passes = declare::declare(federates, &self.names).await?;
        let members = federates.clone().map(|federate| Member { updates: federate.updates(), federate });
        let machine = Machine::new(passes, self.federation.objects_max);
        let (to_answers, answers) = mpsc::unbounded_channel();
        let session = Session { machine: RefCell::new(machine), members, changed: Notify::new(), to_answers };
        let [of_inside, of_outside] = callbacks;
        let federation = &self.federation.name;
        tracing::info!(federation, "what the policy names passes now");
        tokio::select! {
            why = session.read(Side::Inside, of_inside) => Err(why),
            why = session.read(Side::Outside, of_outside) => Err(why),
            why = session.write(Side::Inside) => Err(why),
            why = session.write(Side::Outside) => Err(why),
            () = session.take_answers(answers) => Ok(()),
            () = session.report(federation) => Ok(()),
            _ = stop.wait_for(|stop| *stop) => Ok(()),
        }
    }
}

/// Deletes the mirrors and leaves a federation execution, if the connection still is there.
async fn resign(federate: &Federate) {
    if let Err(error) = federate.resign_federation_execution(ResignAction::CancelThenDeleteThenDivest).await {
        tracing::debug!(%error, "not resigned");
    }
    leave(federate).await;
}

async fn leave(federate: &Federate) {
    if federate.disconnect().await.is_err() {
        federate.terminate().await;
    }
}

/// Both sides, joined.
struct Session {
    machine: RefCell<Machine>,
    members: [Member; 2],
    /// Calls have come or gone.
    changed: Notify,
    to_answers: mpsc::UnboundedSender<Registered>,
}

impl Session {
    fn member(&self, side: Side) -> &Member {
        let [inside, outside] = &self.members;
        match side {
            Side::Inside => inside,
            Side::Outside => outside,
        }
    }

    /// Handles the callbacks of a side until it is lost. Returns why.
    async fn read(&self, side: Side, mut callbacks: Callbacks) -> String {
        let mut producers = BTreeMap::new();
        loop {
            while self.machine.borrow().actions(side.other()) >= ACTIONS_MAX {
                self.changed.notified().await;
            }
            let Some(callback) = callbacks.recv().await else {
                return format!("{side}: the session has ended");
            };
            match callback {
                Callback::ConnectionLost(lost) => return format!("{side}: {}", lost.fault_description),
                Callback::FederateResigned(resigned) => {
                    return format!("{side}: resigned: {}", resigned.reason_for_resign_description);
                }
                // Nothing that others synchronize waits for a gateway.
                Callback::AnnounceSynchronizationPoint(point) => {
                    let label = point.synchronization_point_label;
                    let achieved = self.member(side).federate.synchronization_point_achieved(label, true);
                    if let Err(error) = achieved.await {
                        tracing::debug!(%side, %error, "a synchronization point");
                    }
                }
                callback => {
                    let of_gateway = match producer(&callback) {
                        Some(federate) => match self.is_gateway(side, &mut producers, federate).await {
                            Ok(of_gateway) => of_gateway,
                            Err(error) => return format!("{side}: {error}"),
                        },
                        None => false,
                    };
                    if let Some(input) = input(callback) {
                        self.machine.borrow_mut().handle(side, input, of_gateway);
                        self.changed.notify_waiters();
                    }
                }
            }
        }
    }

    /// Whether a federate of a side is a gateway, this one or another.
    async fn is_gateway(
        &self,
        side: Side,
        known: &mut BTreeMap<FederateHandle, bool>,
        federate: FederateHandle,
    ) -> Result<bool, FederateError> {
        if let Some(known) = known.get(&federate) {
            return Ok(*known);
        }
        let is_gateway = match self.member(side).federate.get_federate_name(federate).await {
            Ok(name) => name.starts_with(FEDERATE_NAME_START),
            Err(error @ FederateError::Disconnected { .. }) => return Err(error),
            // It has resigned since.
            Err(_) => return Ok(false),
        };
        if known.len() >= PRODUCERS_MAX {
            known.clear();
        }
        known.insert(federate, is_gateway);
        Ok(is_gateway)
    }

    /// Makes the calls on a side until it is lost. Returns why.
    async fn write(&self, side: Side) -> String {
        let Member { federate, updates } = self.member(side);
        loop {
            let waiting = self.changed.notified();
            let next = self.machine.borrow_mut().poll_action(side);
            let Some(action) = next else {
                updates.flush();
                waiting.await;
                continue;
            };
            self.changed.notify_waiters();
            if let Err(error) = self.act(federate, updates, action).await {
                return format!("{side}: {error}");
            }
        }
    }

    async fn act(&self, federate: &Federate, updates: &Updates, action: Action) -> Result<(), FederateError> {
        match action {
            Action::Update { object, values, tag } => {
                updates.update_attribute_values(object, values, tag).await
            }
            Action::Send { class, values, tag } => updates.send_interaction(class, values, tag).await,
            Action::Reserve { name } => {
                updates.send(ReserveObjectInstanceNameRequest { object_instance_name: name }).await
            }
            Action::Release { name } => {
                updates.send(ReleaseObjectInstanceNameRequest { object_instance_name: name }).await
            }
            Action::Delete { object, tag } => {
                let (object_instance, user_supplied_tag) = (Some(object), tag);
                updates.send(DeleteObjectInstanceRequest { object_instance, user_supplied_tag }).await
            }
            Action::Request { object, attributes } => {
                let request = RequestInstanceAttributeValueUpdateRequest {
                    object_instance: Some(object),
                    attributes: Some(attributes.into_iter().collect()),
                    user_supplied_tag: bytes::Bytes::new(),
                };
                updates.send(request).await
            }
            Action::Register { mirror, class, name } => {
                let object_class = Some(class);
                let call = match name {
                    None => federate.call(RegisterObjectInstanceRequest { object_class }),
                    Some(object_instance_name) => federate
                        .call(RegisterObjectInstanceWithNameRequest { object_class, object_instance_name }),
                };
                let answers = self.to_answers.clone();
                tokio::spawn(async move {
                    let answer = call.await.map_err(|error| error.to_string());
                    // Nobody hears it when the session has ended.
                    let _ = answers.send((mirror, answer));
                });
                Ok(())
            }
        }
    }

    async fn take_answers(&self, mut answers: mpsc::UnboundedReceiver<Registered>) {
        while let Some((mirror, answer)) = answers.recv().await {
            self.machine.borrow_mut().registered(mirror, answer);
            self.changed.notify_waiters();
        }
    }

    /// Tells the log what has passed.
    async fn report(&self, federation: &str) {
        let mut before = Side::BOTH.map(|side| self.machine.borrow().counts(side));
        loop {
            tokio::time::sleep(REPORT).await;
            for (side, before) in Side::BOTH.into_iter().zip(&mut before) {
                let counts = self.machine.borrow().counts(side);
                if std::mem::replace(before, counts) != counts {
                    tracing::info!(federation, from = %side, ?counts, "passed so far");
                }
            }
        }
    }
}
