//! One node with its federates, call by call.

use crate::calls::{Handles, module};
use base::Moment;
use hla::Exception;
use hla::api::call_request::CallRequest as Call;
use hla::api::call_response::CallResponse as Answer;
use hla::api::callback_request::CallbackRequest as Wire;
use hla::api::{self, Message as _};
use hla::fom::{Edition, Fdd, Limits, Module};
use hla::handle::{FederateHandle, ObjectInstanceHandle};
use rti::{CallId, CallerId, Config, NoFoms, Rti};
use std::collections::BTreeMap;
use testkit::model::ownership::{self as model, Callback, Callbacks, Request};

/// See the module.
pub(crate) struct World {
    rti: Rti,
    pub(crate) handles: Handles,
    callers: BTreeMap<FederateHandle, CallerId>,
    instances: Vec<ObjectInstanceHandle>,
    /// Callbacks of clause 7 that have come.
    told: Callbacks,
    /// Owners that a query has named: attribute, owner.
    owners: BTreeMap<usize, Option<FederateHandle>>,
    last_caller: u64,
    last_call: u32,
}

impl World {
    pub(crate) fn new() -> Self {
        let text = module();
        let (read, _) = Module::read("o.xml", text.as_bytes(), &Limits::default()).expect("a sound module");
        let fdd = Fdd::standard(Edition::Hla2025).extend(&[read]).expect("a module that fits").0;
        let mut world = Self {
            rti: Rti::new(Config::default(), Box::new(NoFoms)),
            handles: Handles::of(&fdd),
            callers: BTreeMap::new(),
            instances: Vec::new(),
            told: Callbacks::new(),
            owners: BTreeMap::new(),
            last_caller: 0,
            last_call: 0,
        };
        let creator = world.connect();
        let file = api::FileFomModule { name: "o.xml".to_owned(), content: text.into() };
        let file = api::FomModule { fom_module: Some(api::fom_module::FomModule::File(file)) };
        let create = api::CreateFederationExecutionWithModulesRequest {
            federation_name: "F".to_owned(),
            fom_modules: Some(api::FomModuleSet { fom_module: vec![file] }),
        };
        world.ask(creator, Call::CreateFederationExecutionWithModulesRequest(create)).expect("create");
        world
    }

    fn connect(&mut self) -> CallerId {
        self.last_caller += 1;
        let caller = CallerId(self.last_caller);
        self.rti.open(Moment::ZERO, caller).expect("there is room");
        self.ask(caller, Call::ConnectRequest(api::ConnectRequest {})).expect("connect");
        caller
    }

    /// A new federate, which subscribes everything.
    pub(crate) fn join(&mut self) -> FederateHandle {
        let caller = self.connect();
        let join = api::JoinFederationExecutionRequest {
            federate_type: "T".to_owned(),
            federation_name: "F".to_owned(),
        };
        let joined = self.ask(caller, Call::JoinFederationExecutionRequest(join)).expect("join");
        let Answer::JoinFederationExecutionResponse(joined) = joined else { panic!("{joined:?}") };
        let federate = joined.result.and_then(|result| result.federate_handle).expect("it has a handle");
        self.callers.insert(federate, caller);
        let attributes = self.handles.set(&(0..self.handles.attributes.len()).collect());
        let object_class = Some(self.handles.class);
        let subscribe = api::SubscribeObjectClassAttributesRequest { object_class, attributes };
        self.ask(caller, Call::SubscribeObjectClassAttributesRequest(subscribe)).expect("subscribe");
        federate
    }

    /// Calls a service. Returns its answer and the callbacks of clause 7.
    pub(crate) fn call(
        &mut self,
        federate: FederateHandle,
        request: &Request,
    ) -> Result<(model::Answer, Callbacks), Exception> {
        self.told.clear();
        let call = self.handles.call(request, |instance| self.instances.get(instance).copied());
        let answer = match self.ask(self.callers[&federate], call)? {
            Answer::RegisterObjectInstanceResponse(r) => {
                self.instances.push(r.result.expect("a registration has an instance"));
                self.work();
                model::Answer::Registered(self.instances.len() - 1)
            }
            Answer::AttributeOwnershipDivestitureIfWantedResponse(r) => {
                model::Answer::Divested(self.handles.numbers(r.result).into_iter().collect())
            }
            _ => model::Answer::Done,
        };
        if matches!(request, Request::Resign { .. }) {
            self.callers.remove(&federate);
        }
        Ok((answer, std::mem::take(&mut self.told)))
    }

    /// The session of a federate ends. Returns the callbacks of clause 7 to others.
    pub(crate) fn lose(&mut self, federate: FederateHandle) -> Callbacks {
        self.told.clear();
        let caller = self.callers.remove(&federate).expect("it is joined");
        self.rti.close(Moment::ZERO, caller);
        self.work();
        std::mem::take(&mut self.told)
    }

    /// The owners of an instance, as a query tells a federate.
    pub(crate) fn owners(
        &mut self,
        federate: FederateHandle,
        instance: usize,
    ) -> BTreeMap<usize, Option<FederateHandle>> {
        self.owners.clear();
        let query = api::QueryAttributeOwnershipRequest {
            object_instance: Some(self.instances[instance]),
            attributes: self.handles.set(&(0..self.handles.attributes.len()).collect()),
        };
        self.ask(self.callers[&federate], Call::QueryAttributeOwnershipRequest(query)).expect("it is known");
        std::mem::take(&mut self.owners)
    }

    fn ask(&mut self, caller: CallerId, request: Call) -> Result<Answer, Exception> {
        self.last_call += 1;
        let is_registration = matches!(request, Call::RegisterObjectInstanceRequest(_));
        let answer = self.rti.call(Moment::ZERO, caller, CallId(self.last_call), request);
        let answer = match is_registration {
            // Its instance gets a number before the callbacks about it are read.
            true => answer,
            false => answer.or(self.work()),
        };
        answer.expect("a call is answered once its proposals are committed").map_err(|error| error.exception)
    }

    /// Does all work, and returns the answer of a call that waited for it.
    fn work(&mut self) -> Option<Result<Answer, hla::RtiError>> {
        let mut answer = None;
        loop {
            let mut is_idle = true;
            while let Some(job) = self.rti.poll_job() {
                answer = answer.or(self.rti.finish_job(Moment::ZERO, job.run()).map(|done| done.answer));
                is_idle = false;
            }
            while let Some(proposal) = self.rti.poll_proposal() {
                answer = answer.or(self.rti.commit(Moment::ZERO, proposal).map(|done| done.answer));
                is_idle = false;
            }
            while let Some(done) = self.rti.poll_completion() {
                answer = answer.or(Some(done.answer));
                is_idle = false;
            }
            if self.rti.poll_timeout().is_some_and(|at| at <= Moment::ZERO) {
                self.rti.handle_timeout(Moment::ZERO);
            } else if is_idle {
                break;
            }
        }
        self.take_callbacks();
        answer
    }

    fn take_callbacks(&mut self) {
        while let Some(caller) = self.rti.poll_ready() {
            while let Some(body) = self.rti.poll_callback(caller) {
                let callback = api::CallbackRequest::decode(&body[..]).expect("the RTI encodes callbacks");
                let receiver = self.callers.iter().find(|&(_, &known)| known == caller);
                if let Some((&to, _)) = receiver {
                    self.hear(to, callback.callback_request.expect("a callback"));
                }
            }
        }
    }

    fn hear(&mut self, to: FederateHandle, callback: Wire) {
        match callback {
            Wire::InformAttributeOwnership(r) => {
                let owned = self.handles.numbers(r.attributes).into_iter().map(|at| (at, r.federate));
                self.owners.extend(owned);
            }
            Wire::AttributeIsNotOwned(r) => {
                self.owners.extend(self.handles.numbers(r.attributes).into_iter().map(|at| (at, None)));
            }
            other => {
                let number = |handle| self.instances.iter().position(|&known| known == handle);
                let number = |handle| number(handle).expect("a known instance");
                let told: Vec<Callback> = self.handles.callbacks(other, number);
                self.told.extend(told.into_iter().map(|callback| (to, callback)));
            }
        }
    }
}
