//! The RTI answers and calls back as the [model](crate::model) does, in the order in which it
//! executed the calls; no federate waits for another; and the RTI's status is true.
//!
//! The callbacks of one call may come in any order. The callbacks of different calls come in the
//! order of the calls.

use super::lost_federates::LostFederates;
use crate::model::{Effects, Model, Owed, Served, units};
use crate::observation::{FederationView, Observation, Seen, SessionId};
use crate::options::Timeouts;
use crate::request::is_of_rti;
use base::{Moment, Serial31};
use bytes::Bytes;
use fedpro::service::{response_field, service_name};
use hla::Exception;
use hla::api::call_request::CallRequest as Call;
use hla::api::call_response::CallResponse as Answer;
use hla::api::callback_request::CallbackRequest as Callback;
use hla::api::{CallRequest, CallResponse, CallbackRequest, Message as _};
use hla::fom::Fdd;
use hla::handle::{AttributeHandle, ObjectInstanceHandle};
use netsim::HostId;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

/// A federate that is owed this many bytes of callbacks may be refused a list. The RTI refuses one
/// when over 1 MiB waits, and the callbacks owed are split into units here, or left out there.
const CONGESTED_BYTES: usize = 1 << 19;

/// Whether a callback must come.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Need {
    Must,
    /// It must come unless the federate does not keep up.
    BestEffort,
    /// It need not come: it was still under way when its receiver left.
    May,
}

/// The callbacks that one step owes to one session.
struct Batch {
    at: Moment,
    cause: String,
    owed: Vec<(Callback, Need)>,
}

impl Batch {
    fn must_come(&self) -> bool {
        self.owed.iter().any(|(_, need)| *need == Need::Must)
    }

    /// Number of its best-effort callbacks that have not come.
    fn left_out(&self) -> u64 {
        self.owed.iter().filter(|(_, need)| *need == Need::BestEffort).count() as u64
    }
}

/// See the module.
pub struct AsTheModel {
    model: Model,
    lost: LostFederates,
    /// Calls that were executed and not yet answered.
    served: BTreeMap<(SessionId, u32), (Call, Served)>,
    owed: BTreeMap<SessionId, VecDeque<Batch>>,
    /// Number of best-effort callbacks dropped since the federate joined.
    dropped: BTreeMap<SessionId, u64>,
    dropped_in_all: u64,
    /// Sessions for which callbacks may have to wait, and the hosts with faults.
    disturbed: BTreeSet<SessionId>,
    disturbed_hosts: BTreeSet<HostId>,
    /// When the sockets of sessions were last seen to be full.
    full: BTreeMap<SessionId, Moment>,
    hosts: BTreeMap<SessionId, HostId>,
    /// Limits are so tight that any session may have to wait, or be ended.
    tight: bool,
    over: BTreeSet<SessionId>,
    last_status: Vec<FederationView>,
    /// The last values of the management object model that each session was told.
    managed: BTreeMap<SessionId, BTreeMap<(ObjectInstanceHandle, AttributeHandle), Bytes>>,
}

impl AsTheModel {
    /// The initial state. With `tight` limits, federates that do not read are disconnected.
    pub fn new(base: Arc<Fdd>, timeouts: Timeouts, tight: bool) -> Self {
        Self {
            model: Model::new(base),
            lost: LostFederates::new(timeouts),
            served: BTreeMap::new(),
            owed: BTreeMap::new(),
            dropped: BTreeMap::new(),
            dropped_in_all: 0,
            disturbed: BTreeSet::new(),
            disturbed_hosts: BTreeSet::new(),
            full: BTreeMap::new(),
            hosts: BTreeMap::new(),
            tight,
            over: BTreeSet::new(),
            last_status: Vec::new(),
            managed: BTreeMap::new(),
        }
    }

    /// Whether no callback is owed and every session has a connection.
    pub fn is_settled(&self) -> bool {
        let open = |session: &SessionId| !self.over.contains(session);
        self.lost.is_empty()
            && self.served.keys().all(|(session, _)| !open(session))
            && self
                .owed
                .iter()
                .all(|(session, batches)| !open(session) || !batches.iter().any(Batch::must_come))
    }

    /// Number of callbacks that were dropped because federates did not keep up.
    pub fn dropped(&self) -> u64 {
        self.dropped_in_all
    }

    /// Records that the sessions of a host may have to wait for their callbacks from now on.
    pub fn disturb(&mut self, host: HostId) {
        self.disturbed_hosts.insert(host);
        let sessions = self.hosts.iter().filter(|(_, of)| **of == host).map(|(&session, _)| session);
        self.disturbed.extend(sessions);
    }

    /// Handles an event in the kernel, before the kernel's outputs.
    ///
    /// # Errors
    /// The reason why the property does not hold.
    pub fn cause(&mut self, seen: &Seen) -> Result<(), String> {
        match &seen.observation {
            Observation::Opened { session, host } => {
                self.hosts.insert(*session, *host);
                if self.disturbed_hosts.contains(host) {
                    self.disturbed.insert(*session);
                }
                self.model.open(*session);
            }
            Observation::Executed { session, call, request } => {
                let (served, effects) = self.model.execute(seen.at, *session, request);
                let cause = cause_of(*session, *call, request);
                self.served.insert((*session, call.get()), (request.clone(), served));
                self.owe(seen.at, &cause, effects);
            }
            Observation::Full { session } => {
                self.full.insert(*session, seen.at);
            }
            Observation::Interrupted { session, loss } => {
                self.disturbed.insert(*session);
                if !self.over.contains(session) {
                    self.lost.interrupted(seen.at, *session, *loss);
                }
            }
            Observation::Terminated { session } | Observation::Ended { session } => {
                self.close(seen.at, *session, "the session's end");
            }
            Observation::TimedOut => {
                let model = &self.model;
                for session in self.lost.expire(seen.at, |session| model.is_joined(session)) {
                    self.close(seen.at, session, "the session's expiry");
                }
            }
            Observation::Status(status) => {
                self.last_status.clone_from(status);
                return self.compare_status(seen.at, status);
            }
            _ => {}
        }
        Ok(())
    }

    fn close(&mut self, at: Moment, session: SessionId, cause: &str) {
        self.lost.settled(session);
        if self.over.insert(session) {
            let effects = self.model.close(session);
            self.owe(at, &format!("{cause} {session}"), effects);
        }
    }

    fn owe(&mut self, at: Moment, cause: &str, effects: Effects) {
        for session in effects.released {
            let batches = self.owed.entry(session).or_default();
            batches.iter_mut().flat_map(|batch| &mut batch.owed).for_each(|(_, need)| *need = Need::May);
            self.dropped.remove(&session);
        }
        let mut by_session: BTreeMap<SessionId, Vec<(Callback, Need)>> = BTreeMap::new();
        for Owed { to, callback, best_effort } in effects.owed {
            let need = if best_effort { Need::BestEffort } else { Need::Must };
            by_session.entry(to).or_default().push((callback, need));
        }
        for (session, owed) in by_session {
            let batch = Batch { at, cause: cause.to_owned(), owed };
            self.owed.entry(session).or_default().push_back(batch);
        }
    }

    /// Handles an output of the kernel.
    ///
    /// # Errors
    /// The reason why the property does not hold.
    pub fn outcome(&mut self, seen: &Seen) -> Result<(), String> {
        match &seen.observation {
            Observation::Answered { session, call, answer } => {
                let Some((request, served)) = self.served.remove(&(*session, call.get())) else {
                    return Err(format!(
                        "{session}: an answer to {call}, which was not executed: {answer:?}"
                    ));
                };
                if self.may_refuse_list(*session, *call, &request, answer) {
                    return Ok(());
                }
                compare(&request, &served, answer).map_err(|wrong| format!("{session} call {call}: {wrong}"))
            }
            Observation::Called { session, body, .. } => {
                let callback = CallbackRequest::decode(body.clone()).ok().and_then(|c| c.callback_request);
                let Some(callback) = callback else { return Err(format!("{session}: unreadable callback")) };
                if matches!(callback, Callback::ConnectionLost(_)) && self.over.contains(session) {
                    return Ok(()); // the last callback to a federate that does not keep up (4.4)
                }
                // Offers follow from divestitures, which `model::ownership` judges.
                if matches!(callback, Callback::RequestAttributeOwnershipAssumption(_)) {
                    return Ok(());
                }
                if is_of_rti(&callback) {
                    self.note_managed(*session, callback);
                    return Ok(());
                }
                units(callback).iter().try_for_each(|unit| self.called(seen.at, *session, unit))
            }
            Observation::Resumed { session } => {
                self.disturbed.insert(*session);
                self.lost.settled(*session);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// Notes values of the management object model. Only the last ones are compared: when they are
    /// told is left open.
    fn note_managed(&mut self, session: SessionId, callback: Callback) {
        let Callback::ReflectAttributeValues(c) = callback else { return };
        let instance = c.object_instance.unwrap_or_default();
        let told = self.managed.entry(session).or_default();
        let pairs = c.attribute_values.unwrap_or_default().attribute_handle_value;
        let pairs =
            pairs.into_iter().filter_map(|pair| Some(((instance, pair.attribute_handle?), pair.value)));
        told.extend(pairs);
    }

    /// Whether the RTI may have refused a list because the federate does not take its callbacks. The
    /// report is then no longer owed.
    fn may_refuse_list(
        &mut self,
        session: SessionId,
        call: Serial31,
        request: &Call,
        answer: &Answer,
    ) -> bool {
        let is_list = matches!(
            request,
            Call::ListFederationExecutionsRequest(_) | Call::ListFederationExecutionMembersRequest(_)
        );
        let internal = Exception::RTIinternalError.name();
        let is_refused = matches!(answer, Answer::ExceptionData(data) if data.exception_name == internal);
        if !is_list || !is_refused {
            return false;
        }
        let Some(batches) = self.owed.get_mut(&session) else { return false };
        let cause = cause_of(session, call, request);
        batches.retain(|batch| batch.cause != cause);
        let owed = batches.iter().flat_map(|batch| &batch.owed);
        let bytes: usize = owed.map(|(callback, _)| callback.encoded_len()).sum();
        bytes >= CONGESTED_BYTES || self.tight && bytes > 0
    }

    /// Finds a callback in the oldest batch of its session. Batches that may be dropped may be
    /// skipped.
    fn called(&mut self, now: Moment, session: SessionId, unit: &Callback) -> Result<(), String> {
        let batches = self.owed.entry(session).or_default();
        loop {
            let Some(batch) = batches.front_mut() else {
                return Err(format!("{session}: nothing is owed, but it got {unit:?}"));
            };
            if let Some(place) = batch.owed.iter().position(|(owed, _)| owed == unit) {
                let (_, need) = batch.owed.swap_remove(place);
                let (at, cause) = (batch.at, batch.cause.clone());
                if batch.owed.is_empty() {
                    batches.pop_front();
                }
                if need == Need::May {
                    spare_twin(batches, unit);
                    return Ok(());
                }
                // A federate that reads, and whose connection holds, does not wait for others. It
                // waits for what it asked for itself, if its line is slow.
                let had_room = self.full.get(&session).is_none_or(|&full| full < at);
                if at != now && had_room && !self.tight && !self.disturbed.contains(&session) {
                    return Err(format!("{session}: {unit:?} is due to {cause} at {at} and left at {now}"));
                }
                return Ok(());
            }
            if batch.must_come() {
                let (cause, owed) = (&batch.cause, &batch.owed);
                return Err(format!("{session}: it got {unit:?}; {cause} owes first: {owed:?}"));
            }
            *self.dropped.entry(session).or_default() += batch.left_out();
            self.dropped_in_all += batch.left_out();
            batches.pop_front();
        }
    }

    fn compare_status(&mut self, at: Moment, status: &[FederationView]) -> Result<(), String> {
        let real: BTreeMap<&str, BTreeSet<&str>> = status
            .iter()
            .map(|f| (f.name.as_str(), f.federates.iter().map(|(name, _)| name.as_str()).collect()))
            .collect();
        if self.tight {
            // Members that the RTI has disconnected because they did not keep up.
            let mut gone = Vec::new();
            for (federation, names) in self.model.members() {
                let left = real.get(federation).cloned().unwrap_or_default();
                gone.extend(
                    names.difference(&left).filter_map(|name| self.model.session_of(federation, name)),
                );
            }
            for session in gone {
                self.close(at, session, "the overload of");
            }
        }
        if self.model.members() != real {
            return Err(format!("joined are {:?}, the status says {real:?}", self.model.members()));
        }
        let instances: BTreeMap<_, _> = status.iter().map(|f| (f.name.as_str(), f.instances)).collect();
        if self.model.instances() != instances {
            return Err(format!(
                "there are {:?} instances, the status says {instances:?}",
                self.model.instances()
            ));
        }
        Ok(())
    }

    /// The final check, after everything has had its time: all sessions that are left must have got
    /// all that they are owed.
    ///
    /// # Errors
    /// The reason why the property does not hold.
    pub fn finish(&mut self) -> Result<(), String> {
        for (&session, batches) in self.owed.iter_mut().filter(|(session, _)| !self.over.contains(session)) {
            for batch in batches.drain(..) {
                if batch.must_come() {
                    return Err(format!("{session}: {} still owes {:?}", batch.cause, batch.owed));
                }
                *self.dropped.entry(session).or_default() += batch.left_out();
                self.dropped_in_all += batch.left_out();
            }
        }
        let none = BTreeMap::new();
        for session in self.hosts.keys().filter(|session| !self.over.contains(session)) {
            let told = self.managed.get(session).unwrap_or(&none);
            let compared = self.model.compare_managed(*session, told);
            compared.map_err(|wrong| format!("{session}: {wrong}"))?;
        }
        for federation in &self.last_status {
            for (name, counted) in &federation.federates {
                let Some(session) = self.model.session_of(&federation.name, name) else { continue };
                let left_out = self.dropped.get(&session).copied().unwrap_or_default();
                if left_out != *counted {
                    return Err(format!(
                        "{session}: {left_out} callbacks were left out, {counted} are counted"
                    ));
                }
            }
        }
        Ok(())
    }
}

/// A callback that was matched with an optional one may have been an equal one that must come. That
/// one need not come any longer.
fn spare_twin(batches: &mut VecDeque<Batch>, unit: &Callback) {
    let all = batches.iter_mut().flat_map(|batch| &mut batch.owed);
    let mut twins = all.filter(|(owed, need)| owed == unit && *need != Need::May);
    if let Some((_, need)) = twins.next() {
        *need = Need::May;
    }
}

fn cause_of(session: SessionId, call: Serial31, request: &Call) -> String {
    let wrapped = CallRequest { call_request: Some(request.clone()) };
    format!("{session} call {call} {}", service_name(&wrapped))
}

fn compare(request: &Call, served: &Served, answer: &Answer) -> Result<(), String> {
    let right = match (served, answer) {
        (Err(faults), Answer::ExceptionData(data)) => {
            faults.iter().any(|fault| fault.name() == data.exception_name)
        }
        (Ok(Some(expected)), answer) => expected == answer,
        (Ok(None), Answer::ExceptionData(_)) | (Err(_), _) => false,
        (Ok(None), answer) => {
            let encoded = CallResponse { call_response: Some(answer.clone()) }.encode_to_vec();
            let wrapped = CallRequest { call_request: Some(request.clone()) };
            response_field(&wrapped) == field(&encoded)
        }
    };
    match right {
        true => Ok(()),
        false => Err(format!("{request:?} should give {served:?}, gave {answer:?}")),
    }
}

/// The number of the first field of a message.
fn field(encoded: &[u8]) -> Option<u32> {
    let mut key = 0;
    for (place, &byte) in encoded.iter().enumerate().take(5) {
        key |= u32::from(byte & 0x7f) << (7 * place);
        if byte & 0x80 == 0 {
            return Some(key >> 3);
        }
    }
    None
}
