//! Federations of scripted callers that drive [`rti::Rti`] directly.
//!
//! [`World`] plays the driver of the services: it commits every proposal at once, passes the
//! response on, and only then takes the callbacks and puts them into a mailbox for each federate.
//! [`Fed`] is one caller. Its methods are the services, by names instead of handles; a name that
//! the object model does not have stands for an unknown handle. Callbacks read like
//! `reflect(1, a=x, reliable, A)`.

#![allow(dead_code, unused_imports)] // each test binary uses a part

mod calls;
mod declare;
pub(crate) mod fom;
mod lookups;
pub(crate) mod mom;
mod regions;
pub(crate) mod save;
mod show;
mod time;

pub(crate) use calls::Refused;

use base::{Moment, NodeKey};
use bytes::Bytes;
use hla::api::call_request::CallRequest as Call;
use hla::api::call_response::CallResponse as Answer;
use hla::api::{self, Message as _};
use hla::fom::{Edition, Fdd, Limits, Module};
use hla::handle::{
    AttributeHandle, FederateHandle, InteractionClassHandle, ObjectClassHandle, ObjectInstanceHandle,
    ParameterHandle,
};
use hla::{Exception, RtiError};
use rti::{CallId, CallerId, Config, NoFoms, Rti};
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;

/// A handle that belongs to nothing.
pub(crate) const NOBODY: u32 = 99_999;

/// The services with everything around them.
pub(crate) struct Inner {
    pub(crate) rti: Rti,
    pub(crate) now: Moment,
    /// The tests' own copy of the object model, for names in callbacks.
    pub(crate) model: Fdd,
    /// Names of federates by handle.
    pub(crate) federates: BTreeMap<FederateHandle, String>,
    /// Callbacks taken, in encoded form.
    pub(crate) mail: BTreeMap<CallerId, Vec<Bytes>>,
    last_caller: u64,
    last_call: u32,
    /// For an RTI that is one node of many: its key and the log of commands.
    pub(crate) log: Option<(NodeKey, Log)>,
    pub(crate) applied: usize,
    /// Whether jobs wait.
    pub(crate) hold_jobs: bool,
    /// For calls that wait for other nodes: lets some time pass in the network.
    pub(crate) patience: Option<Rc<dyn Fn()>>,
    /// The calls that have ended meanwhile.
    pub(crate) completed: Vec<rti::Completion>,
}

/// The commands of all nodes in their common order.
pub(crate) type Log = Rc<RefCell<Vec<(NodeKey, Bytes)>>>;

/// One RTI and the federation execution `F` with the object model of [`fom::main`].
#[derive(Clone)]
pub(crate) struct World(pub(crate) Rc<RefCell<Inner>>);

impl World {
    /// An RTI without federations.
    pub(crate) fn empty(config: Config) -> Self {
        Self(Rc::new(RefCell::new(Inner {
            rti: Rti::new(config, Box::new(NoFoms)),
            now: Moment::from_secs(1),
            model: Fdd::standard(Edition::Hla2025),
            federates: BTreeMap::new(),
            mail: BTreeMap::new(),
            last_caller: 0,
            last_call: 0,
            log: None,
            applied: 0,
            hold_jobs: false,
            patience: None,
            completed: Vec::new(),
        })))
    }

    /// A world with the federation execution `F`, in whose object model these switches are on.
    pub(crate) fn new(switches: &[&str]) -> Self {
        Self::with_config(Config::default(), switches)
    }

    /// Like [`World::new`], with these settings of the services.
    pub(crate) fn with_config(config: Config, switches: &[&str]) -> Self {
        Self::with_model(config, &fom::main(switches))
    }

    /// A world with the federation execution `F` of this object model.
    pub(crate) fn with_model(config: Config, text: &str) -> Self {
        let world = Self::empty(config);
        let creator = world.connected("creator");
        creator
            .create("F", &[("main.xml", text)], "HLAinteger64Time")
            .expect("the tests' object model is sound");
        if text.contains("IEEE1516-2010") {
            world.0.borrow_mut().model = Fdd::standard(Edition::Hla2010);
        }
        world.learn(&[("main.xml", text)]);
        world
    }

    /// `N` federates of type `T` in a new federation execution, called A, B, C…
    pub(crate) fn join<const N: usize>(switches: &[&str]) -> (Self, [Fed; N]) {
        let world = Self::new(switches);
        let federates = std::array::from_fn(|at| world.joined(&char::from(b'A' + at as u8).to_string()));
        (world, federates)
    }

    /// A caller whose session is open.
    pub(crate) fn opened(&self, name: &str) -> Fed {
        let mut inner = self.0.borrow_mut();
        inner.last_caller += 1;
        let caller = CallerId(inner.last_caller);
        let now = inner.now;
        inner.rti.open(now, caller).expect("there is room for a few callers");
        inner.mail.insert(caller, Vec::new());
        let handle = Cell::new(FederateHandle::INVALID);
        Fed { world: self.clone(), caller, name: name.to_owned(), handle }
    }

    /// A caller that is connected.
    pub(crate) fn connected(&self, name: &str) -> Fed {
        let fed = self.opened(name);
        fed.call(Call::ConnectRequest(api::ConnectRequest::default())).expect("connect");
        fed
    }

    /// A federate of `F`.
    pub(crate) fn joined(&self, name: &str) -> Fed {
        let fed = self.connected(name);
        fed.join("F", &[]).expect("join");
        fed
    }

    /// Extends the tests' own copy of the object model.
    pub(crate) fn learn(&self, modules: &[(&str, &str)]) {
        let read = |&(name, text): &(&str, &str)| {
            Module::read(name, text.as_bytes(), &Limits::default()).expect("a sound module").0
        };
        let modules: Vec<Module> = modules.iter().map(read).collect();
        let mut inner = self.0.borrow_mut();
        inner.model = inner.model.extend(&modules).expect("modules that fit").0;
    }

    /// Lets time pass.
    pub(crate) fn pass(&self, time: Duration) {
        let mut inner = self.0.borrow_mut();
        inner.now += time;
    }

    /// Ends the session of a federate.
    pub(crate) fn lose(&self, fed: &Fed) {
        let mut inner = self.0.borrow_mut();
        let now = inner.now;
        inner.rti.close(now, fed.caller);
        inner.commit_all();
        inner.take_callbacks();
    }
}

impl Inner {
    pub(crate) fn commit_all(&mut self) -> Vec<rti::Completion> {
        let mut completions = Vec::new();
        loop {
            let job = if self.hold_jobs { None } else { self.rti.poll_job() };
            if let Some(job) = job {
                completions.extend(self.rti.finish_job(self.now, job.run()));
            } else if let Some(proposal) = self.rti.poll_proposal() {
                self.catch_up(usize::MAX);
                if let Some((key, log)) = &self.log {
                    log.borrow_mut().push((*key, proposal.to_bytes()));
                    self.applied += 1;
                }
                completions.extend(self.rti.commit(self.now, proposal));
            } else {
                break;
            }
        }
        completions.extend(std::iter::from_fn(|| self.rti.poll_completion()));
        completions.iter().for_each(|completion| self.rti.note_completion(completion));
        completions
    }

    /// Applies up to `most` commands of other nodes from the log.
    pub(crate) fn catch_up(&mut self, most: usize) {
        let Some((_, log)) = self.log.clone() else { return };
        for _ in 0..most {
            let next = log.borrow().get(self.applied).cloned();
            let Some((from, command)) = next else { break };
            self.applied += 1;
            self.rti.commit_remote(self.now, from, &command).expect("nodes write what nodes read");
        }
    }

    pub(crate) fn take_callbacks(&mut self) {
        loop {
            while let Some(caller) = self.rti.poll_ready() {
                while let Some(callback) = self.rti.poll_callback(caller) {
                    self.mail.entry(caller).or_default().push(callback);
                }
            }
            if !self.rti.settle_reports(self.now) {
                break;
            }
        }
    }
}

/// One caller, usually a joined federate.
pub(crate) struct Fed {
    pub(crate) world: World,
    pub(crate) caller: CallerId,
    pub(crate) name: String,
    pub(crate) handle: Cell<FederateHandle>,
}

impl Fed {
    /// Calls a service as a driver of the RTI does: the response first, then callbacks to any
    /// federate.
    pub(crate) fn call(&self, request: Call) -> Result<Answer, RtiError> {
        let mut inner = self.world.0.borrow_mut();
        inner.last_call += 1;
        let (now, call) = (inner.now, CallId(inner.last_call));
        let mut answer = inner.rti.call(now, self.caller, call, request);
        loop {
            for completion in inner.commit_all() {
                assert_eq!((completion.caller, completion.call), (self.caller, call), "nobody else waits");
                assert!(answer.is_none(), "one answer per call");
                answer = Some(completion.answer);
            }
            // A call with much to do is answered when all of it is done, in slices.
            if answer.is_some() || inner.rti.poll_timeout().is_none_or(|due| due > now) {
                break;
            }
            inner.rti.handle_timeout(now);
        }
        inner.take_callbacks();
        let patience = inner.patience.clone().filter(|_| answer.is_none());
        drop(inner);
        patience
            .and_then(|patience| self.wait(call, &*patience))
            .or(answer)
            .expect("a call is answered once its proposals are committed")
    }

    /// Waits for the answer of other nodes to a call.
    fn wait(&self, call: CallId, patience: &dyn Fn()) -> Option<Result<Answer, RtiError>> {
        /// Each lets 10 ms pass.
        const TURNS_MAX: usize = 2_000;
        (0..TURNS_MAX).find_map(|_| {
            patience();
            let mut inner = self.world.0.borrow_mut();
            let ended = inner.completed.pop()?;
            assert_eq!((ended.caller, ended.call), (self.caller, call), "nobody else waits");
            Some(ended.answer)
        })
    }

    /// The callbacks to this federate since the last call, in order.
    pub(crate) fn callbacks(&self) -> Vec<String> {
        let taken = self.world.0.borrow_mut().mail.get_mut(&self.caller).map(std::mem::take);
        let inner = self.world.0.borrow();
        taken.unwrap_or_default().into_iter().map(|body| inner.show(&body)).collect()
    }

    /// The callbacks since the last call, without those about instances of the management object
    /// model, which subscribers of HLAobjectRoot discover as well.
    pub(crate) fn callbacks_of_federates(&self) -> Vec<String> {
        let mut callbacks = self.callbacks();
        callbacks.retain(|callback| !callback.contains("(0:"));
        callbacks
    }

    /// Drops the callbacks so far.
    pub(crate) fn skip(&self) {
        self.callbacks();
    }

    pub(crate) fn class(&self, name: &str) -> Option<ObjectClassHandle> {
        let unknown = ObjectClassHandle(NOBODY);
        Some(self.world.0.borrow().model.object_class_by_name(name).unwrap_or(unknown))
    }

    pub(crate) fn interaction(&self, name: &str) -> Option<InteractionClassHandle> {
        let unknown = InteractionClassHandle(NOBODY);
        Some(self.world.0.borrow().model.interaction_class_by_name(name).unwrap_or(unknown))
    }

    /// An attribute by its name, which only one class declares; `privilege` is the privilege to delete.
    pub(crate) fn attribute(&self, name: &str) -> AttributeHandle {
        let name = if name == "privilege" { hla::fom::PRIVILEGE_TO_DELETE } else { name };
        let inner = self.world.0.borrow();
        let found = inner.model.attributes().find(|attribute| attribute.name == name);
        found.map_or(AttributeHandle(NOBODY), |attribute| attribute.handle)
    }

    pub(crate) fn parameter(&self, name: &str) -> ParameterHandle {
        let inner = self.world.0.borrow();
        let found = inner.model.parameters().find(|parameter| parameter.name == name);
        found.map_or(ParameterHandle(NOBODY), |parameter| parameter.handle)
    }

    /// The `number`th instance registered. The number of its node, less one, is in the top octet.
    pub(crate) fn instance(&self, number: u32) -> Option<ObjectInstanceHandle> {
        let (node, number) = (u64::from(number >> 24) + 1, u64::from(number & 0xff_ffff));
        Some(ObjectInstanceHandle(node << 32 | number))
    }
}
