//! Federation management and synchronization points (clause 4).

use super::{
    Caller, Effects, Federate, Federation, Model, Name, Owed, Point, Regions, Served, refuse_if, units,
};
use crate::observation::SessionId;
use crate::request::Joining;
use hla::Exception;
use hla::api::call_request::CallRequest as Call;
use hla::api::call_response::CallResponse as Answer;
use hla::api::{
    self, FederateHandleSet, ResignAction, SynchronizationPointFailureReason,
    callback_request::CallbackRequest as Callback,
};
use hla::handle::FederateHandle;
use std::collections::{BTreeMap, BTreeSet};

/// The logical time of the federations of a run: the default (4.5).
const TIME: &str = "HLAfloat64Time";
/// The type of every federate of a run.
pub(super) const FEDERATE_TYPE: &str = "scripted";

impl Model {
    /// Executes a call of a session without a joined federate.
    pub(super) fn execute_alone(
        &mut self,
        session: SessionId,
        caller: &Caller,
        request: &Call,
        fx: &mut Effects,
    ) -> Served {
        match request {
            Call::DisconnectRequest(_) => {
                self.callers.insert(session, Caller::default());
                fx.released.push(session);
                Ok(None)
            }
            Call::ConnectRequest(_) if caller.connected => Err(vec![Exception::AlreadyConnected]),
            Call::ConnectRequest(_) => {
                self.callers.insert(session, Caller { connected: true, joined: None });
                let configuration_result = Some(api::ConfigurationResult::default());
                Ok(Some(Answer::ConnectResponse(api::ConnectResponse { configuration_result })))
            }
            _ if !caller.connected => Err(vec![Exception::NotConnected]),
            _ => self.manage(session, request, fx),
        }
    }

    /// Executes a call that needs only a connection.
    pub(super) fn manage(&mut self, session: SessionId, request: &Call, fx: &mut Effects) -> Served {
        match request {
            Call::CreateFederationExecutionRequest(r) => {
                if self.federations.contains_key(&r.federation_name) {
                    return Err(vec![Exception::FederationExecutionAlreadyExists]);
                }
                let federation = Federation::new(self.base.clone());
                self.federations.insert(r.federation_name.clone(), federation);
                Ok(None)
            }
            Call::DestroyFederationExecutionRequest(r) => match self.federations.get(&r.federation_name) {
                None => Err(vec![Exception::FederationExecutionDoesNotExist]),
                Some(federation) if !federation.federates.is_empty() => {
                    Err(vec![Exception::FederatesCurrentlyJoined])
                }
                Some(_) => {
                    self.federations.remove(&r.federation_name);
                    Ok(None)
                }
            },
            Call::ListFederationExecutionsRequest(_) => {
                let report = self.federations.keys().map(|name| api::FederationExecutionInformation {
                    federation_execution_name: name.clone(),
                    logical_time_implementation_name: TIME.to_owned(),
                });
                let set = api::FederationExecutionInformationSet {
                    federation_execution_information: report.collect(),
                };
                let callback = api::ReportFederationExecutions { report: Some(set) };
                notify_session(fx, session, Callback::ReportFederationExecutions(callback));
                Ok(None)
            }
            Call::ListFederationExecutionMembersRequest(r) => {
                self.list_members(session, &r.federation_name, fx);
                Ok(None)
            }
            _ => match Joining::of(request) {
                Some(joining) => self.join(session, joining, fx).map(|result| Some(joined(request, result))),
                None => Err(vec![Exception::FederateNotExecutionMember]),
            },
        }
    }

    fn list_members(&self, session: SessionId, name: &str, fx: &mut Effects) {
        let federation_name = name.to_owned();
        let callback = match self.federations.get(name) {
            None => {
                Callback::ReportFederationExecutionDoesNotExist(api::ReportFederationExecutionDoesNotExist {
                    federation_name,
                })
            }
            Some(federation) => {
                let members =
                    federation.federates.values().map(|federate| api::FederationExecutionMemberInformation {
                        federate_name: federate.name.clone(),
                        federate_type: FEDERATE_TYPE.to_owned(),
                    });
                let report = Some(api::FederationExecutionMemberInformationSet {
                    federation_execution_member_information: members.collect(),
                });
                Callback::ReportFederationExecutionMembers(api::ReportFederationExecutionMembers {
                    federation_name,
                    report,
                })
            }
        };
        notify_session(fx, session, callback);
    }

    /// Handles count from 1 and are never assigned again; a federate without a name gets one
    /// (4.11).
    fn join(
        &mut self,
        session: SessionId,
        joining: Joining<'_>,
        fx: &mut Effects,
    ) -> Result<api::JoinResult, Vec<Exception>> {
        let extended = self.extended.clone();
        let Some(federation) = self.federations.get_mut(joining.federation) else {
            return Err(vec![Exception::FederationExecutionDoesNotExist]);
        };
        let handle = FederateHandle(federation.federates_ever + 1);
        let federate_name = joining.name.map_or_else(|| format!("HLAfederate_{}", handle.0), str::to_owned);
        if federation.federates.values().any(|federate| federate.name == federate_name) {
            return Err(vec![Exception::FederateNameAlreadyInUse]);
        }
        federation.federates_ever = handle.0;
        if joining.extends {
            federation.model = extended;
        }
        let switches = federation.model.switches();
        let federate = Federate {
            session,
            name: federate_name,
            publishes: BTreeSet::new(),
            subscribes: BTreeMap::new(),
            publishes_interactions: BTreeSet::new(),
            subscribes_interactions: BTreeMap::new(),
            publishes_directed: BTreeSet::new(),
            subscribes_directed: BTreeMap::new(),
            regions: Regions::default(),
            default_transportation: BTreeMap::new(),
            interaction_transportation: BTreeMap::new(),
            reflected: BTreeMap::new(),
            registration_advisory: switches.object_class_relevance_advisory,
            interaction_advisory: switches.interaction_relevance_advisory,
            scope_advisory: switches.attribute_scope_advisory,
            update_advisory: switches.attribute_relevance_advisory,
            convey_regions: switches.convey_region_designator_sets,
            directive: switches.automatic_resign_action as i32,
        };
        federation.federates.insert(handle, federate);
        federation.add_federate_instance(handle, fx);
        federation.announce_to_newcomer(handle, fx);
        self.callers.insert(
            session,
            Caller { connected: true, joined: Some((joining.federation.to_owned(), handle)) },
        );
        let logical_time_implementation_name = TIME.to_owned();
        Ok(api::JoinResult { federate_handle: Some(handle), logical_time_implementation_name })
    }
}

/// The answer in the form of the joining request.
fn joined(request: &Call, result: api::JoinResult) -> Answer {
    let result = Some(result);
    match request {
        Call::JoinFederationExecutionRequest(_) => {
            Answer::JoinFederationExecutionResponse(api::JoinFederationExecutionResponse { result })
        }
        Call::JoinFederationExecutionWithNameRequest(_) => {
            Answer::JoinFederationExecutionWithNameResponse(api::JoinFederationExecutionWithNameResponse {
                result,
            })
        }
        _ => Answer::JoinFederationExecutionWithNameAndModulesResponse(
            api::JoinFederationExecutionWithNameAndModulesResponse { result },
        ),
    }
}

fn notify_session(fx: &mut Effects, to: SessionId, callback: Callback) {
    let owed = units(callback).into_iter().map(|callback| Owed { to, callback, best_effort: false });
    fx.owed.extend(owed);
}

impl Federation {
    /// Executes calls about synchronization points, and resigning. `None`: it is another call.
    pub(super) fn synchronize(
        &mut self,
        federate: FederateHandle,
        request: &Call,
        fx: &mut Effects,
    ) -> Option<Served> {
        Some(match request {
            Call::RegisterFederationSynchronizationPointRequest(r) => {
                self.register_point(federate, &r.synchronization_point_label, &r.user_supplied_tag, None, fx)
            }
            Call::RegisterFederationSynchronizationPointWithSetRequest(r) => {
                let set = r.synchronization_set.as_ref();
                self.register_point(federate, &r.synchronization_point_label, &r.user_supplied_tag, set, fx)
            }
            Call::SynchronizationPointAchievedRequest(r) => {
                self.achieve(federate, &r.synchronization_point_label, r.successfully, fx)
            }
            Call::ResignFederationExecutionRequest(r) => self.resign(federate, r.resign_action, fx),
            _ => return None,
        })
    }

    /// A missing or empty set means all federates, later joiners included (4.14).
    fn register_point(
        &mut self,
        federate: FederateHandle,
        label: &str,
        tag: &bytes::Bytes,
        set: Option<&FederateHandleSet>,
        fx: &mut Effects,
    ) -> Served {
        let set = set.map(|set| set.federate_handle.clone()).unwrap_or_default();
        if set.iter().any(|member| member.0 == 0 || member.0 > self.federates_ever) {
            return Err(vec![Exception::InvalidFederateHandle]);
        }
        let mut reasons = Vec::new();
        if self.points.contains_key(label) {
            reasons.push(SynchronizationPointFailureReason::SynchronizationPointLabelNotUnique);
        }
        if set.iter().any(|member| !self.federates.contains_key(member)) {
            reasons.push(SynchronizationPointFailureReason::SynchronizationSetMemberNotJoined);
        }
        let synchronization_point_label = label.to_owned();
        if let Some(&reason) = reasons.first() {
            let reason = reason.into();
            let failed = api::SynchronizationPointRegistrationFailed { synchronization_point_label, reason };
            self.notify(fx, federate, Callback::SynchronizationPointRegistrationFailed(failed));
            return Ok(None);
        }
        let succeeded = api::SynchronizationPointRegistrationSucceeded { synchronization_point_label };
        self.notify(fx, federate, Callback::SynchronizationPointRegistrationSucceeded(succeeded));
        let everybody = set.is_empty();
        let members = if everybody { self.federates.keys().copied().collect() } else { set };
        for &member in members.iter().collect::<BTreeSet<_>>() {
            self.announce(member, label, tag, fx);
        }
        let achieved = members.into_iter().map(|member| (member, None)).collect();
        self.points.insert(label.to_owned(), Point { tag: tag.clone(), everybody, achieved });
        Ok(None)
    }

    fn announce(&self, to: FederateHandle, label: &str, tag: &bytes::Bytes, fx: &mut Effects) {
        let announce = api::AnnounceSynchronizationPoint {
            synchronization_point_label: label.to_owned(),
            user_supplied_tag: tag.clone(),
        };
        self.notify(fx, to, Callback::AnnounceSynchronizationPoint(announce));
    }

    fn announce_to_newcomer(&mut self, newcomer: FederateHandle, fx: &mut Effects) {
        let mut labels = Vec::new();
        for (label, point) in self.points.iter_mut().filter(|(_, point)| point.everybody) {
            point.achieved.insert(newcomer, None);
            labels.push((label.clone(), point.tag.clone()));
        }
        for (label, tag) in labels {
            self.announce(newcomer, &label, &tag, fx);
        }
    }

    /// The first report of a federate counts (4.17).
    fn achieve(&mut self, federate: FederateHandle, label: &str, success: bool, fx: &mut Effects) -> Served {
        let point = self.points.get_mut(label).and_then(|point| point.achieved.get_mut(&federate));
        let Some(word) = point else {
            return Err(vec![Exception::SynchronizationPointLabelNotAnnounced]);
        };
        word.get_or_insert(success);
        self.complete_points(fx);
        Ok(None)
    }

    /// Synchronizes points that every member has achieved, and forgets points without members.
    fn complete_points(&mut self, fx: &mut Effects) {
        self.points.retain(|_, point| !point.achieved.is_empty());
        let done: Vec<_> = self
            .points
            .iter()
            .filter(|(_, point)| point.achieved.values().all(Option::is_some))
            .map(|(label, _)| label.clone())
            .collect();
        for label in done {
            let point = self.points.remove(&label).expect("listed above");
            let failed = point.achieved.iter().filter(|(_, word)| **word == Some(false));
            let failed = FederateHandleSet { federate_handle: failed.map(|(&member, _)| member).collect() };
            for &member in point.achieved.keys() {
                let synchronized = api::FederationSynchronized {
                    synchronization_point_label: label.clone(),
                    failed_to_sync_set: Some(failed.clone()),
                };
                self.notify(fx, member, Callback::FederationSynchronized(synchronized));
            }
        }
    }

    fn resign(&mut self, federate: FederateHandle, action: i32, fx: &mut Effects) -> Served {
        let Ok(action) = ResignAction::try_from(action) else {
            return Err(vec![Exception::InvalidResignAction]);
        };
        let (delete, divest) = parts(action);
        let privilege = self.privilege;
        let owned =
            self.instances.values().filter(|object| object.owners.values().any(|&owner| owner == federate));
        let remains = |object: &super::Instance| {
            let deletable = object.owners.get(&privilege) == Some(&federate);
            !(divest || delete && deletable)
        };
        refuse_if(if owned.into_iter().any(remains) {
            vec![Exception::FederateOwnsAttributes]
        } else {
            Vec::new()
        })?;
        self.leave(federate, delete, fx);
        Ok(None)
    }

    /// Resigns a lost federate by its directive. The attributes that it still owns become unowned
    /// (4.4).
    pub(super) fn lose(&mut self, federate: FederateHandle, fx: &mut Effects) {
        let directive = ResignAction::try_from(self.federates[&federate].directive);
        let delete = directive.is_ok_and(|directive| parts(directive).0);
        self.leave(federate, delete, fx);
    }

    fn leave(&mut self, federate: FederateHandle, delete: bool, fx: &mut Effects) {
        let before = self.advice();
        if delete {
            let mine = self
                .instances
                .iter()
                .filter(|(_, object)| object.owners.get(&self.privilege) == Some(&federate));
            for handle in mine.map(|(&handle, _)| handle).collect::<Vec<_>>() {
                self.remove(federate, handle, &bytes::Bytes::new(), fx);
            }
        }
        for object in self.instances.values_mut() {
            object.owners.retain(|_, owner| *owner != federate);
        }
        // The change is reported in two steps: others first lose sight of attributes that became
        // unowned, and then the federate is gone.
        let now = self.notify_changes(&before, federate, fx);
        for object in self.instances.values_mut() {
            object.known.remove(&federate);
        }
        self.federates.remove(&federate);
        self.notify_changes(&now, federate, fx);
        self.notify_interest(&before, fx);
        self.names.retain(|_, name| *name != Name::Reserved(federate));
        for point in self.points.values_mut() {
            point.achieved.remove(&federate);
        }
        self.complete_points(fx);
        self.remove_federate_instance(federate, fx);
    }
}

/// Whether an action deletes, and whether it divests (4.12).
fn parts(action: ResignAction) -> (bool, bool) {
    match action {
        ResignAction::UnconditionallyDivestAttributes => (false, true),
        ResignAction::DeleteObjects => (true, false),
        ResignAction::DeleteObjectsThenDivest | ResignAction::CancelThenDeleteThenDivest => (true, true),
        ResignAction::CancelPendingOwnershipAcquisitions | ResignAction::NoAction => (false, false),
    }
}
