//! The interactions of the management object model (clause 11): those that federates send to the
//! RTI, and its answers.
//!
//! The node of the sender serves what the control plane records. The node of the federate that an
//! interaction concerns serves the rest. Reports go to subscribers there, to the nodes that watch
//! their class, and to the node that asked, which may not be known as a watcher yet.

use super::Rti;
use super::execution::Execution;
use super::shared::{OnBehalf, Shared};
use crate::control::{Command, Federation, NodeId, PublishedClass};
use crate::effect::{Asked, Change, MomRequest};
use crate::image::Periods;
use crate::mom::{
    InstanceCounts, MessageCounts, MomInteraction, Parameters, Policy, Report, SERVICES, Unusable, report,
};
use crate::object::counters::Counters;
use crate::proposal::{CallId, Completion};
use crate::replica::context::Timer;
use crate::services::switches::NO_FILES;
use crate::wire::{HandleValue, ObjectMessage, Values};
use hla::RtiError;
use hla::api::{
    SetAttributeRelevanceAdvisorySwitchResponse, call_request::CallRequest as Call,
    call_response::CallResponse,
};
use hla::fom::Fdd;
use hla::handle::FederateHandle;
use hla::time::LogicalTime;
use std::time::Duration;

/// The number of a call that nobody has made, so that nobody waits for its answer.
pub(super) const NO_CALL: CallId = CallId(u32::MAX);

impl Rti {
    /// Calls the services that federates have asked the RTI to call as others (11.4.2). A failure is
    /// reported, and nobody waits for an answer.
    pub(super) fn call_on_behalf(&mut self) {
        while let Some(on_behalf) = self.shared.on_behalf.pop_front() {
            let OnBehalf { execution: id, target, call, sender, class, from } = on_behalf;
            let Some(execution) = self.executions.get_mut(&id) else { continue };
            let Some(caller) = execution.objects.federates.get(&target).map(|federate| federate.caller)
            else {
                continue;
            };
            if matches!(call, Call::ResignFederationExecutionRequest(_)) {
                execution.mom.resigned.insert(target);
            }
            let last_call = self.last_call;
            let served = self.authorize(caller, &call).and_then(|()| self.serve(caller, NO_CALL, call));
            self.last_call = last_call;
            let (Err(error), Some(execution), Some(federation)) =
                (served, self.executions.get_mut(&id), self.control.execution(id))
            else {
                continue;
            };
            execution.mom.resigned.remove(&target);
            let name = federation.model.interaction_class(class).map_or("", |class| &class.name);
            let report = report::mom_exception(sender, name, &error.to_string(), false);
            execution.send_report(&mut self.shared, federation, report, from);
            execution.settle(&mut self.shared);
        }
    }
}

impl Execution {
    /// Serves an interaction that a federate has sent to the RTI: one of this node, or one of the
    /// node `from`.
    pub(super) fn asked(
        &mut self,
        shared: &mut Shared,
        federation: &Federation,
        asked: &Asked,
        from: Option<NodeId>,
    ) {
        let model = federation.model.clone();
        let Some((class, kind)) = self.mom.interactions.received(&model, asked.class) else { return };
        let Asked { sender, values, .. } = asked;
        let parameters = Parameters { model: &model, class, values };
        let served = self.target(federation, kind, &parameters).and_then(|target| match target {
            Some(target) if !kind.is_recorded() && !self.objects.federates.contains_key(&target) => {
                if from.is_none() {
                    let message = ObjectMessage::Ask { target, asked: asked.clone() };
                    shared.effects.replicate(Change::SendToFederate { federate: target, message });
                }
                Ok(Vec::new())
            }
            Some(target) => match kind {
                MomInteraction::Service(at) => {
                    let call = SERVICES.get(at).map(|(_, make)| make(&parameters)).transpose()?;
                    let (execution, sender) = (self.id(), *sender);
                    let on_behalf = |call| OnBehalf { execution, target, call, sender, class, from };
                    shared.on_behalf.extend(call.map(on_behalf));
                    Ok(Vec::new())
                }
                _ => self.answer(shared, federation, (kind, Some(target)), &parameters),
            },
            None => self.answer(shared, federation, (kind, None), &parameters),
        });
        let reports = served.unwrap_or_else(|Unusable(why)| {
            let name = model.interaction_class(class).map_or("", |class| &class.name);
            vec![report::mom_exception(*sender, name, &why, true)]
        });
        for report in reports {
            self.send_report(shared, federation, report, from);
        }
    }

    /// The joined federate that an interaction concerns.
    fn target(
        &self,
        federation: &Federation,
        kind: MomInteraction,
        parameters: &Parameters<'_>,
    ) -> Result<Option<FederateHandle>, Unusable> {
        if !kind.has_target() {
            return Ok(None);
        }
        let target = parameters.federate()?;
        match federation.member(target) {
            Some(_) => Ok(Some(target)),
            None => Err(Unusable(format!("parameter HLAfederate: {target:?} is no joined federate"))),
        }
    }

    /// Serves an interaction whose target, if it has one, is at this node or of no importance.
    fn answer(
        &mut self,
        shared: &mut Shared,
        federation: &Federation,
        (kind, target): (MomInteraction, Option<FederateHandle>),
        parameters: &Parameters<'_>,
    ) -> Result<Vec<Report>, Unusable> {
        let Some(target) = target else {
            if kind != MomInteraction::SetFederationSwitches {
                return of_federation(federation, kind, parameters);
            }
            if let Some(on) = parameters.switch("HLAautoProvide")? {
                shared.effects.propose(Command::SetAutoProvide { execution: self.id(), on });
            }
            return Ok(Vec::new());
        };
        match kind {
            MomInteraction::SetTiming => {
                let seconds = parameters.number("HLAreportPeriod")?;
                let period = Duration::from_secs(seconds.into());
                self.set_period(shared, target, period, period);
                Ok(Vec::new())
            }
            MomInteraction::SetExceptionReporting => {
                self.set_exception_reporting(shared, target, parameters.boolean("HLAreportingState")?);
                Ok(Vec::new())
            }
            MomInteraction::SetServiceReporting => {
                self.set_service_reporting(shared, target, parameters.boolean("HLAreportingState")?)?;
                Ok(Vec::new())
            }
            MomInteraction::SetSwitches => self.set_switches(shared, target, parameters),
            MomInteraction::RequestFederateModule => {
                let index = parameters.number("HLAFOMmoduleIndicator")?;
                let modules = federation.member(target).map(|member| member.modules.as_slice());
                let designator = modules.unwrap_or_default().get(index as usize);
                let text = designator.and_then(|designator| {
                    let mut all = federation.model.modules().iter();
                    all.find(|module| module.designator() == designator)
                });
                let text = text.ok_or_else(|| no_module(index))?.text();
                Ok(vec![report::federate_module(target, index, text)])
            }
            _ => self.of_declarations(target, kind, parameters),
        }
    }

    /// The answers about what a federate here has declared, sent and received.
    fn of_declarations(
        &self,
        target: FederateHandle,
        kind: MomInteraction,
        parameters: &Parameters<'_>,
    ) -> Result<Vec<Report>, Unusable> {
        let objects = &self.objects;
        let Some(federate) = objects.federates.get(&target) else { return Ok(Vec::new()) };
        let counters = &federate.counters;
        let counts = |kind| report::message_counts(target, kind, counters, &objects.model);
        let instances =
            |kind, counts| vec![report::instance_counts(target, kind, Counters::instances(counts))];
        Ok(match kind {
            MomInteraction::RequestPublications => report::publications(federate),
            MomInteraction::RequestSubscriptions => report::subscriptions(federate, &objects.rates),
            MomInteraction::RequestInstancesThatCanBeDeleted => {
                let counts = objects.deletable_by(target).into_iter();
                vec![report::instance_counts(target, InstanceCounts::CanBeDeleted, counts)]
            }
            MomInteraction::RequestInstancesUpdated => {
                instances(InstanceCounts::Updated, &counters.instances_updated)
            }
            MomInteraction::RequestInstancesReflected => {
                instances(InstanceCounts::Reflected, &counters.instances_reflected)
            }
            MomInteraction::RequestUpdatesSent => counts(MessageCounts::UpdatesSent),
            MomInteraction::RequestInteractionsSent => counts(MessageCounts::InteractionsSent),
            MomInteraction::RequestDirectedInteractionsSent => counts(MessageCounts::DirectedSent),
            MomInteraction::RequestReflectionsReceived => counts(MessageCounts::ReflectionsReceived),
            MomInteraction::RequestInteractionsReceived => counts(MessageCounts::InteractionsReceived),
            MomInteraction::RequestDirectedInteractionsReceived => counts(MessageCounts::DirectedReceived),
            MomInteraction::RequestInstanceInformation => {
                let instance = parameters.instance("HLAobjectInstance")?;
                let object = objects.instances.get(instance);
                let known = object.and_then(|object| Some((object, object.known_class(target)?)));
                let owned = known.into_iter().flat_map(|_| objects.attributes_of(target, instance));
                vec![report::instance_information(target, instance, known, owned)]
            }
            _ => Vec::new(),
        })
    }

    /// Sends an interaction of the RTI to its subscribers, and to the node `from`, which has asked.
    pub(super) fn send_report(
        &mut self,
        shared: &mut Shared,
        federation: &Federation,
        report: Report,
        from: Option<NodeId>,
    ) {
        let Some((class, values)) = in_model(&federation.model, report) else { return };
        let own = self.objects.node;
        let watchers = federation.watchers(PublishedClass::Interactions(class));
        let others = watchers.filter(|&node| node != own && Some(node) != from).chain(from);
        for node in others {
            shared.effects.send(node, ObjectMessage::Report { class, values: values.clone() });
        }
        self.objects.receive_managed(&mut shared.effects, class, values);
    }

    /// Sends an interaction of the RTI to subscribers of this node only. Every node sends it.
    fn send_report_here(&mut self, shared: &mut Shared, report: Report) {
        if let Some((class, values)) = in_model(&self.objects.model, report) {
            self.objects.receive_managed(&mut shared.effects, class, values);
        }
    }

    /// A service of a federate here has raised an exception. It is reported if the federate's switch
    /// is on.
    #[cold]
    pub(super) fn note_exception(
        &self,
        shared: &mut Shared,
        (federate, service): (FederateHandle, &'static str),
        error: &RtiError,
    ) {
        let known = self.objects.federates.get(&federate);
        if known.is_some_and(|known| known.switches.exception_reporting) {
            let raised = MomRequest::Raised { federate, service, text: error.to_string() };
            shared.managed.push_back((self.id(), raised));
        }
    }

    /// A service of a federate here has raised an exception, and reports of these are on.
    pub(super) fn report_exception(
        &mut self,
        shared: &mut Shared,
        federation: &Federation,
        (federate, service): (FederateHandle, &str),
        text: &str,
    ) {
        let report = report::exception(federate, service, text);
        self.send_report(shared, federation, report, None);
    }

    /// A federate was lost. Its time is known if it was at this node; the report then goes to all
    /// nodes.
    pub(super) fn report_lost(
        &mut self,
        shared: &mut Shared,
        federation: Option<&Federation>,
        (federate, name): (FederateHandle, &str),
        time: Option<LogicalTime>,
    ) {
        let fault = match federation {
            Some(_) => "the session of the federate ended without a resignation",
            None => "the RTI node of the federate is gone",
        };
        let report = report::federate_lost(federate, name, time, fault);
        match federation {
            Some(federation) => self.send_report(shared, federation, report, None),
            None => self.send_report_here(shared, report),
        }
    }

    /// How often the attributes of federates here are updated, and the time to the next update.
    pub(super) fn periods(&self, shared: &Shared) -> Periods {
        let left = |federate| {
            let at = shared.timers.get(Timer::Report(self.id(), federate));
            at.map_or(Duration::ZERO, |at| at.since(shared.now))
        };
        self.mom.periods.iter().map(|(&federate, &period)| (federate, period, left(federate))).collect()
    }

    /// Sets how often the attributes of a federate here are updated, and the time to the first update;
    /// zero: never.
    pub(super) fn set_period(
        &mut self,
        shared: &mut Shared,
        federate: FederateHandle,
        period: Duration,
        first: Duration,
    ) {
        let timer = Timer::Report(self.id(), federate);
        if period.is_zero() {
            self.mom.periods.remove(&federate);
            shared.timers.clear(timer);
        } else {
            self.mom.periods.insert(federate, period);
            shared.timers.set(timer, shared.now + first);
        }
    }

    /// Updates the attributes of a federate here whose period has ended.
    pub(super) fn report_period(
        &mut self,
        shared: &mut Shared,
        federation: &Federation,
        federate: FederateHandle,
    ) {
        let Some(&period) = self.mom.periods.get(&federate) else { return };
        if !self.objects.federates.contains_key(&federate) {
            self.mom.periods.remove(&federate);
            return;
        }
        shared.timers.set(Timer::Report(self.id(), federate), shared.now + period);
        let all: Vec<_> = self.mom.attributes.with_policy(Policy::Periodic).collect();
        self.tell(shared, federation, federate, all);
    }

    /// Sets whether the services of a federate here are reported.
    fn set_service_reporting(
        &mut self,
        shared: &mut Shared,
        federate: FederateHandle,
        on: bool,
    ) -> Result<(), Unusable> {
        if !self.objects.federates.contains_key(&federate) {
            return Ok(());
        }
        let set = self.objects.set_service_reporting(&mut shared.effects, federate, on);
        set.map_err(|error| Unusable(error.to_string()))?;
        shared.managed.push_back((self.id(), MomRequest::Changed(federate)));
        Ok(())
    }

    fn set_exception_reporting(&mut self, shared: &mut Shared, federate: FederateHandle, on: bool) {
        if let Some(federate) = self.objects.federates.get_mut(&federate) {
            federate.switches.exception_reporting = on;
        }
        shared.managed.push_back((self.id(), MomRequest::Changed(federate)));
    }

    /// HLAsetSwitches: all switches that are given, or none if one of them cannot be used.
    fn set_switches(
        &mut self,
        shared: &mut Shared,
        target: FederateHandle,
        parameters: &Parameters<'_>,
    ) -> Result<Vec<Report>, Unusable> {
        let switch = |name: &str| parameters.switch(name);
        let (class, scope) =
            (switch("HLAobjectClassRelevanceAdvisory")?, switch("HLAattributeScopeAdvisory")?);
        let relevance = switch("HLAattributeRelevanceAdvisory")?;
        let interaction = switch("HLAinteractionRelevanceAdvisory")?;
        let (convey, exceptions) =
            (switch("HLAconveyRegionDesignatorSets")?, switch("HLAexceptionReporting")?);
        let action = parameters.action("HLAautomaticResignAction")?;
        let services = switch("HLAserviceReporting")?;
        if switch("HLAsendServiceReportsToFile")? == Some(true) {
            return Err(Unusable(format!("HLAsendServiceReportsToFile: {NO_FILES}")));
        }
        if switch("HLAconveyProducingFederate")? == Some(false) {
            return Err(Unusable("HLAconveyProducingFederate: this RTI always conveys it".to_owned()));
        }
        if let Some(on) = services {
            self.set_service_reporting(shared, target, on)?;
        }
        let Some(federate) = self.objects.federates.get_mut(&target) else { return Ok(Vec::new()) };
        let (caller, switches) = (federate.caller, &mut federate.switches);
        let starts = relevance == Some(true) && !switches.attribute_relevance;
        let settings = [
            (&mut switches.object_class_relevance, class),
            (&mut switches.attribute_relevance, relevance),
            (&mut switches.attribute_scope, scope),
            (&mut switches.interaction_relevance, interaction),
            (&mut switches.convey_region_designator_sets, convey),
            (&mut switches.exception_reporting, exceptions),
        ];
        for (switch, value) in settings {
            *switch = value.unwrap_or(*switch);
        }
        if starts {
            // No call waits for the end of this.
            let answer = SetAttributeRelevanceAdvisorySwitchResponse::default();
            let answer = Ok(CallResponse::SetAttributeRelevanceAdvisorySwitchResponse(answer));
            let completion = Completion { caller, call: NO_CALL, answer };
            self.objects.start_relevance(target, completion);
        }
        let execution = self.id();
        if let Some(directive) = action {
            shared.effects.propose(Command::SetResignDirective { execution, federate: target, directive });
        }
        shared.managed.push_back((execution, MomRequest::Changed(target)));
        Ok(Vec::new())
    }
}

/// The answers about the federation execution.
fn of_federation(
    federation: &Federation,
    kind: MomInteraction,
    parameters: &Parameters<'_>,
) -> Result<Vec<Report>, Unusable> {
    Ok(match kind {
        MomInteraction::RequestSyncPoints => vec![report::sync_points(&federation.sync)],
        MomInteraction::RequestSyncPointStatus => match parameters.text("HLAsyncPointName")? {
            Some(label) => vec![report::sync_point_status(federation, &label)],
            // In the 2010 edition the request cannot name a point.
            None => {
                federation.sync.labels().map(|label| report::sync_point_status(federation, label)).collect()
            }
        },
        MomInteraction::RequestFederationModule => {
            let index = parameters.number("HLAFOMmoduleIndicator")?;
            let module = federation.model.modules().get(index as usize).ok_or_else(|| no_module(index))?;
            vec![report::federation_module(index, module.text())]
        }
        _ => vec![report::mim(federation.model.mim().text())],
    })
}

fn no_module(index: u32) -> Unusable {
    Unusable(format!("parameter HLAFOMmoduleIndicator: there is no module {index}"))
}

/// The class and the values of a report in an object model; `None` if its edition has no such class.
fn in_model(model: &Fdd, report: Report) -> Option<(hla::handle::InteractionClassHandle, Values)> {
    let class =
        model.interaction_class_by_name(&format!("HLAinteractionRoot.HLAmanager.{}", report.class))?;
    let parameter = |(name, value)| {
        let handle = model.parameter_by_name(class, name)?.0;
        Some(HandleValue { handle, value })
    };
    Some((class, report.parameters.into_iter().filter_map(parameter).collect()))
}
