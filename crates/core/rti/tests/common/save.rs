//! Saving and restoring federation executions: the services by names, a place for images, and the
//! callbacks in text.

use super::calls::{Refused, integer_time, modules};
use super::show::integer;
use super::{Fed, Inner, World};
use hla::api::callback_request::CallbackRequest as Callback;
use hla::api::{self, FederateHandleSaveStatusPair, FederateRestoreStatus};
use hla::handle::FederateHandle;
use rti::{CallId, Config, SaveStore};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

/// Images by federation execution and label.
type Images = BTreeMap<(String, String), Vec<u8>>;

/// A place for images in memory. Clones share it.
#[derive(Clone, Default, Debug)]
pub(crate) struct Saves {
    images: Arc<Mutex<Images>>,
    /// Whether storing and loading fail.
    failing: Arc<AtomicBool>,
}

impl Saves {
    /// Settings of services that use this place.
    pub(crate) fn config(&self) -> Config {
        Config { saves: Arc::new(self.clone()), ..Config::default() }
    }

    pub(crate) fn fail(&self, failing: bool) {
        self.failing.store(failing, Ordering::Relaxed);
    }

    pub(crate) fn image(&self, label: &str) -> Option<Vec<u8>> {
        self.load("F", label).expect("the place does not fail now")
    }

    /// Puts an image in place of that under the label.
    pub(crate) fn put(&self, label: &str, image: &[u8]) {
        self.store("F", label, image).expect("the place does not fail now");
    }

    fn check(&self) -> Result<(), String> {
        if self.failing.load(Ordering::Relaxed) { Err("the disk is full".to_owned()) } else { Ok(()) }
    }
}

impl SaveStore for Saves {
    fn store(&self, federation: &str, label: &str, image: &[u8]) -> Result<(), String> {
        self.check()?;
        let key = (federation.to_owned(), label.to_owned());
        self.images.lock().expect("no test panics while it has the lock").insert(key, image.to_vec());
        Ok(())
    }

    fn load(&self, federation: &str, label: &str) -> Result<Option<Vec<u8>>, String> {
        self.check()?;
        let key = (federation.to_owned(), label.to_owned());
        Ok(self.images.lock().expect("no test panics while it has the lock").get(&key).cloned())
    }
}

/// More turns than any test needs.
const TURNS_MAX: usize = 100_000;

impl World {
    /// The federation execution `F` with this place for images, and `N` federates A, B, C…
    pub(crate) fn with_saves<const N: usize>(saves: &Saves, switches: &[&str]) -> (Self, [Fed; N]) {
        let world = Self::with_config(saves.config(), switches);
        let federates = std::array::from_fn(|at| world.joined(&char::from(b'A' + at as u8).to_string()));
        (world, federates)
    }

    /// A federate of `F` of this type.
    pub(crate) fn joined_as(&self, name: &str, federate_type: &str) -> Fed {
        let fed = self.connected(name);
        fed.join_as(federate_type, &[]).expect("join");
        fed
    }

    /// Does all the work that is due: jobs, proposals, and slices of work. Nobody may wait for an
    /// answer.
    pub(crate) fn settle(&self) {
        for _ in 0..TURNS_MAX {
            let mut inner = self.0.borrow_mut();
            let completed = inner.commit_all();
            assert!(completed.is_empty(), "nobody waits: {completed:?}");
            inner.take_callbacks();
            let now = inner.now;
            if inner.rti.poll_timeout().is_none_or(|due| due > now) {
                return;
            }
            inner.rti.handle_timeout(now);
        }
        panic!("there is always more work");
    }

    /// Lets jobs wait from now on, or runs them. Calls may end then.
    pub(crate) fn hold_jobs(&self, hold: bool) {
        let mut inner = self.0.borrow_mut();
        inner.hold_jobs = hold;
        inner.commit_all();
        inner.take_callbacks();
        drop(inner);
        self.settle();
    }

    /// From now on, callbacks name federates like this.
    pub(crate) fn name_federates(&self, names: &BTreeMap<FederateHandle, String>) {
        self.0.borrow_mut().federates.clone_from(names);
    }
}

impl Fed {
    pub(crate) fn join_as(&self, federate_type: &str, files: &[(&str, &str)]) -> Refused {
        let joined = self.ask(api::JoinFederationExecutionWithNameAndModulesRequest {
            federate_name: self.name.clone(),
            federate_type: federate_type.to_owned(),
            federation_name: "F".to_owned(),
            additional_fom_modules: modules(files),
        })?;
        self.note_joined(joined.federate_handle, self.name.clone());
        Ok(())
    }

    /// Calls a service, whether it is answered now or later.
    pub(crate) fn start<R: api::Request>(&self, request: R) {
        let mut inner = self.world.0.borrow_mut();
        inner.last_call += 1;
        let (now, call) = (inner.now, CallId(inner.last_call));
        let answer = inner.rti.call(now, self.caller, call, request.into_call());
        assert!(!matches!(answer, Some(Err(_))), "{answer:?}");
        inner.commit_all();
        inner.take_callbacks();
        drop(inner);
        self.world.settle();
    }

    /// Calls a service, and lets the RTI do the work that it leaves for later.
    fn settling<R: api::Request>(&self, request: R) -> Refused<R::Output> {
        let answer = self.ask(request);
        self.world.settle();
        answer
    }
}

/// Federation save (4.19 to 4.26).
impl Fed {
    pub(crate) fn request_save(&self, label: &str) -> Refused {
        self.settling(api::RequestFederationSaveRequest { label: label.to_owned() })
    }

    pub(crate) fn request_save_at(&self, label: &str, time: i64) -> Refused {
        let (label, time) = (label.to_owned(), integer_time(time));
        self.settling(api::RequestFederationSaveWithTimeRequest { label, time })
    }

    pub(crate) fn save_begun(&self) -> Refused {
        self.settling(api::FederateSaveBegunRequest {})
    }

    pub(crate) fn save_complete(&self) -> Refused {
        self.settling(api::FederateSaveCompleteRequest {})
    }

    pub(crate) fn save_not_complete(&self) -> Refused {
        self.settling(api::FederateSaveNotCompleteRequest {})
    }

    pub(crate) fn abort_save(&self) -> Refused {
        self.settling(api::AbortFederationSaveRequest {})
    }

    pub(crate) fn query_save(&self) -> Refused {
        self.settling(api::QueryFederationSaveStatusRequest {})
    }

    /// Begins and completes a save.
    pub(crate) fn save(&self) -> Refused {
        self.save_begun()?;
        self.save_complete()
    }
}

/// Federation restore (4.27 to 4.35).
impl Fed {
    pub(crate) fn request_restore(&self, label: &str) -> Refused {
        self.settling(api::RequestFederationRestoreRequest { label: label.to_owned() })
    }

    pub(crate) fn restore_complete(&self) -> Refused {
        self.settling(api::FederateRestoreCompleteRequest {})
    }

    pub(crate) fn restore_not_complete(&self) -> Refused {
        self.settling(api::FederateRestoreNotCompleteRequest {})
    }

    pub(crate) fn abort_restore(&self) -> Refused {
        self.settling(api::AbortFederationRestoreRequest {})
    }

    pub(crate) fn query_restore(&self) -> Refused {
        self.settling(api::QueryFederationRestoreStatusRequest {})
    }
}

impl Inner {
    /// Callbacks about saves and restores. Federates are named in the state before a restore; the
    /// handles for the time after it are numbers, like `f3`.
    pub(super) fn of_saves(&self, callback: &Callback) -> Option<String> {
        Some(match callback {
            Callback::InitiateFederateSave(r) => format!("initiateSave({})", r.label),
            Callback::InitiateFederateSaveWithTime(r) => {
                format!("initiateSave({}, {})", r.label, integer(r.time.as_ref()))
            }
            Callback::FederationSaved(_) => "federationSaved".to_owned(),
            Callback::FederationNotSaved(r) => format!("federationNotSaved({})", r.reason().as_str_name()),
            Callback::FederationSaveStatusResponse(r) => {
                let response = r.response.as_ref().expect("the array is always there");
                let show = |pair: &FederateHandleSaveStatusPair| {
                    format!("{}={}", self.federate(pair.federate_handle), pair.save_status().as_str_name())
                };
                let all = response.federate_handle_save_status_pair.iter().map(show);
                format!("saveStatus({})", all.collect::<Vec<_>>().join(", "))
            }
            Callback::RequestFederationRestoreSucceeded(r) => format!("restoreRequestSucceeded({})", r.label),
            Callback::RequestFederationRestoreFailed(r) => format!("restoreRequestFailed({})", r.label),
            Callback::FederationRestoreBegun(_) => "restoreBegun".to_owned(),
            Callback::InitiateFederateRestore(r) => {
                let handle = r.post_restore_federate_handle.unwrap_or_default();
                format!("initiateRestore({}, {}, {handle:?})", r.label, r.federate_name)
            }
            Callback::FederationRestored(_) => "federationRestored".to_owned(),
            Callback::FederationNotRestored(r) => {
                format!("federationNotRestored({})", r.reason().as_str_name())
            }
            Callback::FederationRestoreStatusResponse(r) => {
                let response = r.response.as_ref().expect("the array is always there");
                let show = |status: &FederateRestoreStatus| {
                    let (before, after) = (status.pre_restore_handle, status.post_restore_handle);
                    let (before, after) = (self.federate(before), after.unwrap_or_default());
                    format!("{before}>{after:?}={}", status.restore_status().as_str_name())
                };
                let all = response.federate_restore_status.iter().map(show);
                format!("restoreStatus({})", all.collect::<Vec<_>>().join(", "))
            }
            _ => return None,
        })
    }
}
