//! The services of one node with their federates, in the words of the reference model.

use base::Moment;
use bytes::Bytes;
use hla::Exception;
use hla::api::call_response::CallResponse as Answer;
use hla::api::callback_request::CallbackRequest as Wire;
use hla::api::{self, Message as _, OrderType};
use hla::fom::{Edition, Fdd, Limits, Module, PRIVILEGE_TO_DELETE};
use hla::handle::{
    AttributeHandle, FederateHandle, InteractionClassHandle, MessageRetractionHandle, ObjectClassHandle,
    ObjectInstanceHandle,
};
use hla::time::{LogicalTime, TimeKind};
use rti::{CallId, CallerId, Config, NoFoms, Rti};
use std::collections::BTreeMap;
use testkit::model::time::{self as model, Advance, Callback, Request, Sending};

/// A module with one object class, one interaction class, and the switch of the run.
fn module(non_regulated_grant: bool) -> String {
    format!(
        "<objectModel xmlns=\"http://standards.ieee.org/IEEE1516-2025\"><objects><objectClass><name>HLAobjectRoot</name>\
         <objectClass><name>O</name><attribute><name>a</name><dataType>HLAcount</dataType>\
         <transportation>HLAbestEffort</transportation><order>TimeStamp</order></attribute></objectClass>\
         </objectClass></objects><interactions><interactionClass><name>HLAinteractionRoot</name>\
         <interactionClass><name>I</name><transportation>HLAreliable</transportation><order>TimeStamp</order>\
         </interactionClass></interactionClass></interactions>\
         <switches><nonRegulatedGrant isEnabled=\"{non_regulated_grant}\"/></switches></objectModel>"
    )
}

/// A federate as the driver of the services knows it.
struct Federate {
    caller: CallerId,
    heard: Vec<Callback>,
}

/// One node with a federation execution.
pub(crate) struct World {
    rti: Rti,
    kind: TimeKind,
    class: ObjectClassHandle,
    interaction: InteractionClassHandle,
    attribute: AttributeHandle,
    privilege: AttributeHandle,
    federates: BTreeMap<FederateHandle, Federate>,
    instances: Vec<ObjectInstanceHandle>,
    retractions: BTreeMap<usize, MessageRetractionHandle>,
    last_caller: u64,
    last_call: u32,
}

impl World {
    pub(crate) fn new(kind: TimeKind, non_regulated_grant: bool) -> Self {
        let text = module(non_regulated_grant);
        let (read, _) =
            Module::read("time.xml", text.as_bytes(), &Limits::default()).expect("a sound module");
        let fdd = Fdd::standard(Edition::Hla2025).extend(&[read]).expect("a module that fits").0;
        let class = fdd.object_class_by_name("O").expect("it is there");
        let mut world = Self {
            rti: Rti::new(Config::default(), Box::new(NoFoms)),
            kind,
            class,
            interaction: fdd.interaction_class_by_name("I").expect("it is there"),
            attribute: fdd.attribute_by_name(class, "a").expect("it is there"),
            privilege: fdd.attribute_by_name(class, PRIVILEGE_TO_DELETE).expect("it is there"),
            federates: BTreeMap::new(),
            instances: Vec::new(),
            retractions: BTreeMap::new(),
            last_caller: 0,
            last_call: 0,
        };
        let creator = world.connect(false);
        let file = api::FileFomModule { name: "time.xml".to_owned(), content: text.into() };
        let file = api::FomModule { fom_module: Some(api::fom_module::FomModule::File(file)) };
        let create = api::CreateFederationExecutionWithModulesAndTimeRequest {
            federation_name: "F".to_owned(),
            fom_modules: Some(api::FomModuleSet { fom_module: vec![file] }),
            logical_time_implementation_name: kind.name().to_owned(),
        };
        world.ask(creator, create).expect("create");
        world
    }

    fn connect(&mut self, evolved: bool) -> CallerId {
        self.last_caller += 1;
        let caller = CallerId(self.last_caller);
        self.rti.open(Moment::ZERO, caller).expect("there is room");
        let additional_settings = match evolved {
            true => "API.version=IEEE 1516-2010".to_owned(),
            false => String::new(),
        };
        let configuration = api::RtiConfiguration { additional_settings, ..Default::default() };
        let connect = api::ConnectWithConfigurationRequest { rti_configuration: Some(configuration) };
        self.ask(caller, connect).expect("connect");
        caller
    }

    /// A new federate, which publishes and subscribes everything.
    pub(crate) fn join(&mut self, evolved: bool) -> FederateHandle {
        let caller = self.connect(evolved);
        let join = api::JoinFederationExecutionRequest {
            federate_type: "T".to_owned(),
            federation_name: "F".to_owned(),
        };
        let joined = self.ask(caller, join).expect("join");
        let federate = joined.federate_handle.expect("a federate that joined has a handle");
        self.federates.insert(federate, Federate { caller, heard: Vec::new() });
        let set = Some(api::AttributeHandleSet { attribute_handle: vec![self.attribute] });
        let (object_class, interaction_class) = (Some(self.class), Some(self.interaction));
        let publish = api::PublishObjectClassAttributesRequest { object_class, attributes: set.clone() };
        self.ask(caller, publish).expect("publish");
        self.ask(caller, api::PublishInteractionClassRequest { interaction_class }).expect("publish");
        self.ask(caller, api::SubscribeInteractionClassRequest { interaction_class }).expect("subscribe");
        let subscribe = api::SubscribeObjectClassAttributesRequest { object_class, attributes: set };
        self.ask(caller, subscribe).expect("subscribe");
        federate
    }

    /// A federate resigns, or its session ends.
    pub(crate) fn leave(&mut self, handle: FederateHandle, delete: bool) {
        let caller = self.federates[&handle].caller;
        if delete {
            let resign_action = api::ResignAction::DeleteObjectsThenDivest.into();
            let resign = api::ResignFederationExecutionRequest { resign_action };
            self.ask(caller, resign).expect("resign");
        } else {
            self.rti.close(Moment::ZERO, caller);
            self.commit();
        }
        self.take_callbacks();
        self.federates.remove(&handle);
    }

    /// The callbacks to each federate since the last time.
    pub(crate) fn heard(&mut self) -> BTreeMap<FederateHandle, Vec<Callback>> {
        let all = self.federates.iter_mut();
        all.map(|(&handle, federate)| (handle, std::mem::take(&mut federate.heard))).collect()
    }

    /// Calls a service. `number` is that of the next message.
    pub(crate) fn call(
        &mut self,
        handle: FederateHandle,
        request: Request,
        number: usize,
    ) -> Result<model::Answer, Exception> {
        let caller = self.federates[&handle].caller;
        let answer = match request {
            Request::Advance(service, to) => {
                return self.advance(caller, service, to).map(|()| model::Answer::Done);
            }
            Request::Send(sending, time) => return self.send(caller, sending, time, number),
            Request::QueryGalt => {
                let galt = self.ask(caller, api::QueryGaltRequest {})?;
                model::Answer::Time(self.query(&galt))
            }
            Request::QueryLits => {
                let lits = self.ask(caller, api::QueryLitsRequest {})?;
                model::Answer::Time(self.query(&lits))
            }
            Request::QueryTime => {
                let time = self.ask(caller, api::QueryLogicalTimeRequest {})?;
                model::Answer::Time(Some(self.time(&time)))
            }
            Request::QueryLookahead => {
                let lookahead = self.ask(caller, api::QueryLookaheadRequest {})?;
                let lookahead = self.kind.decode_interval(&lookahead.data);
                model::Answer::Lookahead(lookahead.expect("the RTI encodes intervals of the federation"))
            }
            Request::Register => {
                let register = api::RegisterObjectInstanceRequest { object_class: Some(self.class) };
                let instance = self.ask(caller, register)?;
                self.instances.push(instance);
                self.take_callbacks();
                model::Answer::Registered(self.instances.len() - 1)
            }
            _ => self.change(caller, request).map(|()| model::Answer::Done)?,
        };
        Ok(answer)
    }

    /// Calls a service that returns nothing.
    fn change(&mut self, caller: CallerId, request: Request) -> Result<(), Exception> {
        match request {
            Request::EnableRegulation(lookahead) => {
                let lookahead = Some(lookahead.into());
                self.ask(caller, api::EnableTimeRegulationRequest { lookahead })
            }
            Request::DisableRegulation => self.ask(caller, api::DisableTimeRegulationRequest {}),
            Request::EnableConstrained => self.ask(caller, api::EnableTimeConstrainedRequest {}),
            Request::DisableConstrained => self.ask(caller, api::DisableTimeConstrainedRequest {}),
            Request::Asynchronous(true) => self.ask(caller, api::EnableAsynchronousDeliveryRequest {}),
            Request::Asynchronous(false) => self.ask(caller, api::DisableAsynchronousDeliveryRequest {}),
            Request::ModifyLookahead(lookahead) => {
                self.ask(caller, api::ModifyLookaheadRequest { lookahead: Some(lookahead.into()) })
            }
            Request::Retract(message) => {
                let retraction = self.retractions.get(&message).copied();
                self.ask(caller, api::RetractRequest { retraction })
            }
            Request::ChangeInteractionOrder(order) => {
                let (interaction_class, order_type) = (Some(self.interaction), order.into());
                self.ask(caller, api::ChangeInteractionOrderTypeRequest { interaction_class, order_type })
            }
            Request::ChangeAttributeOrder(instance, order) => {
                self.change_order(caller, instance, self.attribute, order)
            }
            Request::ChangeDeleteOrder(instance, order) => {
                self.change_order(caller, instance, self.privilege, order)
            }
            other => unreachable!("{other:?} returns something"),
        }
    }

    fn change_order(
        &mut self,
        caller: CallerId,
        instance: usize,
        attribute: AttributeHandle,
        order: OrderType,
    ) -> Result<(), Exception> {
        let object_instance = Some(self.instances[instance]);
        let attributes = Some(api::AttributeHandleSet { attribute_handle: vec![attribute] });
        let order_type = order.into();
        self.ask(caller, api::ChangeAttributeOrderTypeRequest { object_instance, attributes, order_type })
    }

    fn advance(&mut self, caller: CallerId, service: Advance, to: LogicalTime) -> Result<(), Exception> {
        let time = Some(to.into());
        match service {
            Advance::Tar => self.ask(caller, api::TimeAdvanceRequestRequest { time }),
            Advance::Tara => self.ask(caller, api::TimeAdvanceRequestAvailableRequest { time }),
            Advance::Nmr => self.ask(caller, api::NextMessageRequestRequest { time }),
            Advance::Nmra => self.ask(caller, api::NextMessageRequestAvailableRequest { time }),
            Advance::Fqr => self.ask(caller, api::FlushQueueRequestRequest { time }),
        }
    }

    fn send(
        &mut self,
        caller: CallerId,
        sending: Sending,
        time: Option<LogicalTime>,
        number: usize,
    ) -> Result<model::Answer, Exception> {
        let time: Option<api::LogicalTime> = time.map(Into::into);
        let user_supplied_tag = Bytes::from(number.to_string());
        let interaction_class = Some(self.interaction);
        let pair = api::AttributeHandleValue { attribute_handle: Some(self.attribute), value: Bytes::new() };
        let attribute_values = Some(api::AttributeHandleValueMap { attribute_handle_value: vec![pair] });
        let parameter_values = None;
        let object_instance = match sending {
            Sending::Interaction => None,
            Sending::Update(instance) | Sending::Delete(instance) => Some(self.instances[instance]),
        };
        let retraction = match (sending, time) {
            (Sending::Interaction, None) => self
                .ask(
                    caller,
                    api::SendInteractionRequest { interaction_class, parameter_values, user_supplied_tag },
                )
                .map(|()| None),
            (Sending::Interaction, time) => self
                .ask(
                    caller,
                    api::SendInteractionWithTimeRequest {
                        interaction_class,
                        parameter_values,
                        user_supplied_tag,
                        time,
                    },
                )
                .map(Some),
            (Sending::Update(_), None) => self
                .ask(
                    caller,
                    api::UpdateAttributeValuesRequest {
                        object_instance,
                        attribute_values,
                        user_supplied_tag,
                    },
                )
                .map(|()| None),
            (Sending::Update(_), time) => self
                .ask(
                    caller,
                    api::UpdateAttributeValuesWithTimeRequest {
                        object_instance,
                        attribute_values,
                        user_supplied_tag,
                        time,
                    },
                )
                .map(Some),
            (Sending::Delete(_), None) => self
                .ask(caller, api::DeleteObjectInstanceRequest { object_instance, user_supplied_tag })
                .map(|()| None),
            (Sending::Delete(_), time) => self
                .ask(
                    caller,
                    api::DeleteObjectInstanceWithTimeRequest { object_instance, user_supplied_tag, time },
                )
                .map(Some),
        }?;
        let valid = retraction.filter(|retraction| retraction.retraction_handle_is_valid);
        let handle = valid.map(|retraction| {
            retraction.message_retraction_handle.expect("a valid retraction handle is there")
        });
        if let Some(handle) = handle {
            let known = self.retractions.values().any(|&known| known == handle);
            assert!(!known, "{handle:?} was given before");
            self.retractions.insert(number, handle);
        }
        Ok(model::Answer::Sent(handle.map(|_| number)))
    }

    fn time(&self, time: &api::LogicalTime) -> LogicalTime {
        self.kind.decode_time(&time.data).expect("the RTI encodes times of the federation")
    }

    fn query(&self, query: &api::TimeQueryReturn) -> Option<LogicalTime> {
        let time = self.time(query.logical_time.as_ref().expect("clients decode it in any case"));
        query.logical_time_is_valid.then_some(time)
    }

    fn ask<R: api::Request>(&mut self, caller: CallerId, request: R) -> Result<R::Output, Exception> {
        self.last_call += 1;
        let mut answer = self.rti.call(Moment::ZERO, caller, CallId(self.last_call), request.into_call());
        answer = answer.or(self.commit());
        let answer: Result<Answer, _> = answer.expect("a call is answered once its proposals are committed");
        let answer = answer.map_err(|error| error.exception)?;
        if !matches!(answer, Answer::RegisterObjectInstanceResponse(_)) {
            self.take_callbacks();
        }
        Ok(R::output(answer).expect("a service answers with its own result"))
    }

    /// Commits all proposals, and returns the answer of the call that waited for one.
    fn commit(&mut self) -> Option<Result<Answer, hla::RtiError>> {
        let mut answer = None;
        while let Some(job) = self.rti.poll_job() {
            answer = answer.or(self.rti.finish_job(Moment::ZERO, job.run()).map(|done| done.answer));
        }
        while let Some(proposal) = self.rti.poll_proposal() {
            answer = answer.or(self.rti.commit(Moment::ZERO, proposal).map(|done| done.answer));
        }
        answer
    }

    fn take_callbacks(&mut self) {
        while let Some(caller) = self.rti.poll_ready() {
            while let Some(body) = self.rti.poll_callback(caller) {
                let callback = api::CallbackRequest::decode(&body[..]).expect("the RTI encodes callbacks");
                let callback = callback.callback_request.and_then(|callback| self.read(callback));
                let receiver = self.federates.values_mut().find(|federate| federate.caller == caller);
                if let Some((receiver, callback)) = receiver.zip(callback) {
                    receiver.heard.push(callback);
                }
            }
        }
        if let Some((caller, why)) = self.rti.poll_lost() {
            panic!("{caller} is lost: {why}");
        }
    }

    /// A callback in the words of the model; `None` for advisories.
    fn read(&self, callback: Wire) -> Option<Callback> {
        let at = |time: Option<api::LogicalTime>| self.time(&time.expect("the callback has a time"));
        let number = |tag: &Bytes| std::str::from_utf8(tag).ok()?.parse::<usize>().ok();
        let message = |tag: &Bytes, received: i32| {
            let order = OrderType::try_from(received).expect("one of two orders");
            Some(Callback::Message(number(tag).unwrap_or(usize::MAX), order))
        };
        match callback {
            Wire::ReflectAttributeValues(r) => message(&r.user_supplied_tag, 0),
            Wire::ReflectAttributeValuesWithTime(r) => {
                assert_eq!(r.optional_retraction.is_some(), r.sent_order_type == 1, "{r:?}");
                message(&r.user_supplied_tag, r.received_order_type)
            }
            Wire::ReceiveInteraction(r) => message(&r.user_supplied_tag, 0),
            Wire::ReceiveInteractionWithTime(r) => {
                assert_eq!(r.optional_retraction.is_some(), r.sent_order_type == 1, "{r:?}");
                message(&r.user_supplied_tag, r.received_order_type)
            }
            Wire::RemoveObjectInstance(r) => message(&r.user_supplied_tag, 0),
            Wire::RemoveObjectInstanceWithTime(r) => message(&r.user_supplied_tag, r.received_order_type),
            Wire::DiscoverObjectInstance(r) => {
                let handle = r.object_instance.expect("a discovery has an instance");
                let at = self.instances.iter().position(|&known| known == handle);
                Some(Callback::Discovered(at.expect("only registered instances are discovered")))
            }
            Wire::TimeRegulationEnabled(r) => Some(Callback::RegulationEnabled(at(r.time))),
            Wire::TimeConstrainedEnabled(r) => Some(Callback::ConstrainedEnabled(at(r.time))),
            Wire::TimeAdvanceGrant(r) => Some(Callback::Granted(at(r.time))),
            Wire::FlushQueueGrant(r) => Some(Callback::Flushed(at(r.time), at(r.optimistic_time))),
            Wire::RequestRetraction(r) => {
                let of = |(_, handle): &(&usize, &MessageRetractionHandle)| Some(**handle) == r.retraction;
                let (&number, _) = self.retractions.iter().find(of).expect("only messages are retracted");
                Some(Callback::RequestRetraction(number))
            }
            _ => None,
        }
    }
}
