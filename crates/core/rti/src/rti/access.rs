//! Access control: the accounts of callers.

use super::Rti;
use crate::caller::Standing;
use crate::proposal::CallerId;
use crate::services::authorization::{self, Authorization, Member, Subject};
use access::{Account, Operation};
use hla::RtiError;
use hla::api::call_request::CallRequest as Call;
use std::sync::Arc;

impl Rti {
    /// Gives a caller an account, before it connects. A caller without one may do anything.
    pub fn set_account(&mut self, caller: CallerId, account: Arc<Account>) {
        if let Some(caller) = self.callers.get_mut(&caller) {
            caller.account = Some(account);
        }
    }

    /// Takes the account of a caller that did not connect.
    pub fn forget_account(&mut self, caller: CallerId) {
        if let Some(caller) = self.callers.get_mut(&caller) {
            caller.account = None;
        }
    }

    /// The account of a caller.
    pub fn account(&self, caller: CallerId) -> Option<&Arc<Account>> {
        self.callers.get(&caller)?.account.as_ref()
    }

    /// Whether a caller has yet to connect.
    pub fn is_unconnected(&self, caller: CallerId) -> bool {
        self.callers.get(&caller).is_some_and(|caller| caller.standing == Standing::Open)
    }

    /// The next decision about a call, for the audit log.
    pub fn poll_authorization(&mut self) -> Option<(CallerId, Authorization)> {
        self.authorizations.pop_front()
    }

    /// Replaces the account of a caller by a changed one.
    ///
    /// # Errors
    /// The caller does something that its account may no longer do. Its session is to be ended.
    pub fn change_account(&mut self, caller: CallerId, account: &Arc<Account>) -> Result<(), RtiError> {
        let Some(known) = self.callers.get_mut(&caller) else { return Ok(()) };
        known.account = Some(Arc::clone(account));
        let Standing::Joined(execution, federate) = known.standing else { return Ok(()) };
        let execution = self.executions.get_mut(&execution).zip(self.control.execution(execution));
        let Some((execution, federation)) = execution else { return Ok(()) };
        if let Some(federate) = execution.objects.federates.get_mut(&federate) {
            federate.objects_max = account.limits().objects;
        }
        let regulates = execution.time.query_lookahead(federate).is_ok();
        let member = Member { federation, model: &execution.objects.model };
        member.ask_about_all(&execution.objects, federate, regulates, &mut |operation| {
            account.refusal(operation).map_or(Ok(()), |text| Err(RtiError::internal(text)))
        })
    }

    /// Lets the access policy decide about a call, if it is to.
    pub(super) fn authorize(&mut self, caller: CallerId, call: &Call) -> Result<(), RtiError> {
        let Some(subject) = Subject::of(call) else { return Ok(()) };
        let Some(known) = self.callers.get(&caller) else { return Ok(()) };
        let (Some(account), standing) = (&known.account, known.standing) else { return Ok(()) };
        let service = call.service();
        if !authorization::is_due(service, standing) {
            return Ok(());
        }
        let member = match standing {
            Standing::Joined(id, _) => match self.control.execution(id).zip(self.executions.get(&id)) {
                Some((federation, at)) => Some(Member { federation, model: &at.objects.model }),
                None => return Ok(()),
            },
            Standing::Open | Standing::Connected => None,
        };
        let records = &mut self.authorizations;
        subject.ask_about(member.as_ref(), &mut |operation: &Operation<'_>| {
            // Drained after every call. The limit is for drivers that keep no log.
            if records.len() < AUTHORIZATIONS_MAX {
                records.push_back((caller, Authorization::of(operation, account.decide(operation))));
            }
            authorization::refuse(account, service, operation)
        })
    }
}

/// The operation on a federation execution for which a call asks: its word, and the names of the federation
/// execution, the federate and its type.
pub fn asked_execution(call: &Call) -> Option<(&'static str, [Option<&str>; 3])> {
    match Subject::of(call)? {
        Subject::Execution(Operation::Create { federation }) => {
            Some(("create", [Some(federation), None, None]))
        }
        Subject::Execution(Operation::Destroy { federation }) => {
            Some(("destroy", [Some(federation), None, None]))
        }
        Subject::Execution(Operation::Join { federation, name, federate_type }) => {
            Some(("join", [Some(federation), Some(name), Some(federate_type)]))
        }
        _ => None,
    }
}

/// Decisions that may wait to be logged.
const AUTHORIZATIONS_MAX: usize = 4_096;
