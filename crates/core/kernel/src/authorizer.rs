//! The authorizer of a site: a program of its own that also decides who may connect, create, destroy and
//! join (the Authorizer of IEEE 1516.1-2025). It never allows more than the access policy does.
//!
//! The kernel asks, and goes on. The call waits, with those of its session behind it, and nobody else
//! does. Without an answer in time it is refused.

use crate::Kernel;
use crate::admission::Standing;
use base::{Moment, Serial31};
use fedpro::server::SessionKey;
use hla::api::call_request::CallRequest as Call;
use hla::{Exception, RtiError};
use rti::{Authorization, CallerId};
use serde::Serialize;
use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

/// Questions that wait for the authorizer at most. Further calls are refused: one that is so slow is of no
/// use, and each waiting call holds memory.
const WAITING_MAX: usize = 1_000;

/// A question for the authorizer. Secrets are no part of it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct AuthorizerRequest {
    /// Its number, which the answer names.
    pub number: u64,
    /// The operation: `connect`, `create`, `destroy` or `join`.
    pub service: &'static str,
    /// The session.
    pub session: String,
    /// The account of the federate; `None` without an access policy.
    pub account: Option<String>,
    /// The names in the certificate that the federate has shown, and its digest.
    pub certificate: Vec<String>,
    /// The address of the federate.
    pub address: String,
    /// Whether its connection encrypts.
    pub encrypted: bool,
    /// The federation execution.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub federation: Option<String>,
    /// The federate's name; empty if the RTI is to make one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub federate: Option<String>,
    /// The federate's type.
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub federate_type: Option<String>,
}

impl AuthorizerRequest {
    /// The operation as a sentence, as in the audit log.
    fn operation(&self) -> String {
        let of = |name: &Option<String>| name.clone().unwrap_or_default();
        match (&self.federation, &self.federate) {
            (Some(federation), Some(federate)) if !federate.is_empty() => {
                format!("join {federation} as {federate} of type {}", of(&self.federate_type))
            }
            (Some(federation), Some(_)) => format!("join {federation} of type {}", of(&self.federate_type)),
            (Some(federation), None) => format!("{} {federation}", self.service),
            (None, _) => self.service.to_owned(),
        }
    }
}

/// The four results of the standard's Authorizer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum AuthorizerResult {
    /// The federate may.
    Authorized,
    /// It may not.
    Unauthorized {
        /// The reason, which the federate is told.
        reason: String,
    },
    /// Its credentials are of no use. Counts as [`AuthorizerResult::Unauthorized`] but at connect.
    InvalidCredentials {
        /// The reason, which the federate is told.
        reason: String,
    },
    /// Nobody could decide.
    Error {
        /// The reason, for the log and the federate.
        reason: String,
    },
}

/// A call that waits for its answer.
struct Waiting {
    caller: CallerId,
    call: Serial31,
    request: Call,
    operation: String,
    until: Moment,
}

/// The calls that wait for the authorizer.
#[derive(Default)]
pub(crate) struct Authorizer {
    /// How long an answer may take; `None` without an authorizer.
    timeout: Option<Duration>,
    last: u64,
    waiting: BTreeMap<u64, Waiting>,
    questions: VecDeque<AuthorizerRequest>,
}

impl Authorizer {
    pub(crate) fn new(timeout: Option<Duration>) -> Self {
        Self { timeout, ..Self::default() }
    }

    /// When the first question has waited for too long. Questions wait equally long, so that is the
    /// first one.
    pub(crate) fn poll_timeout(&self) -> Option<Moment> {
        self.waiting.first_key_value().map(|(_, waiting)| waiting.until)
    }

    fn overdue(&self, now: Moment) -> Option<u64> {
        self.waiting.first_key_value().filter(|(_, waiting)| waiting.until <= now).map(|(number, _)| *number)
    }
}

impl Kernel {
    /// The next question for the authorizer. The answer goes to [`Kernel::finish_authorizer_request`].
    #[must_use]
    pub fn poll_authorizer_request(&mut self) -> Option<AuthorizerRequest> {
        self.access.authorizer.questions.pop_front()
    }

    /// Takes the answer to a question. One that comes too late has no effect.
    pub fn finish_authorizer_request(&mut self, now: Moment, number: u64, result: AuthorizerResult) {
        if let Some(waiting) = self.access.authorizer.waiting.remove(&number) {
            self.take_result(now, waiting, result);
            self.drive(now);
        }
    }

    /// Refuses the calls whose answers did not come in time.
    pub(crate) fn refuse_unanswered(&mut self, now: Moment) {
        while let Some(number) = self.access.authorizer.overdue(now) {
            let Some(waiting) = self.access.authorizer.waiting.remove(&number) else { return };
            let seconds = self.access.authorizer.timeout.unwrap_or_default().as_secs_f64();
            let reason = format!("the authorizer has not answered within {seconds} s");
            self.take_result(now, waiting, AuthorizerResult::Error { reason });
        }
    }

    /// Serves a call of a caller whose account, if there are any, is known.
    pub(crate) fn serve_known(
        &mut self,
        now: Moment,
        key: SessionKey,
        caller: CallerId,
        call: Serial31,
        request: Call,
    ) {
        match self.question(key, caller, &request) {
            Some(question) => self.ask_authorizer(now, caller, (call, request), question),
            None => self.serve_authorized(now, key, caller, call, request),
        }
    }

    /// Asks the authorizer about a call.
    fn ask_authorizer(
        &mut self,
        now: Moment,
        caller: CallerId,
        (call, request): (Serial31, Call),
        question: AuthorizerRequest,
    ) {
        let authorizer = &mut self.access.authorizer;
        let operation = question.operation();
        if authorizer.waiting.len() >= WAITING_MAX {
            let reason = format!("{WAITING_MAX} calls wait for it already");
            let result = AuthorizerResult::Error { reason };
            return self.refuse_by_authorizer(now, caller, (call, &request), &operation, result);
        }
        authorizer.last = question.number;
        authorizer.questions.push_back(question);
        let until = now + authorizer.timeout.unwrap_or_default();
        let waiting = Waiting { caller, call, request, operation, until };
        authorizer.waiting.insert(authorizer.last, waiting);
        self.sessions.wait(caller);
    }

    /// The question about a call; `None` if the authorizer does not decide about it. Without one this
    /// costs an update a comparison.
    #[inline]
    fn question(&self, key: SessionKey, caller: CallerId, request: &Call) -> Option<AuthorizerRequest> {
        self.access.authorizer.timeout?;
        self.question_about(key, caller, request)
    }

    fn question_about(&self, key: SessionKey, caller: CallerId, request: &Call) -> Option<AuthorizerRequest> {
        let connects = Standing::after(request).is_some_and(Standing::is_connected);
        let (service, federation, federate, federate_type) = if connects {
            self.rti.is_unconnected(caller).then_some(("connect", None, None, None))?
        } else {
            let (service, [federation, federate, federate_type]) = rti::asked_execution(request)?;
            (service, Some(federation?), federate, federate_type)
        };
        let own = |name: Option<&str>| name.map(ToOwned::to_owned);
        let certificate = self.certificate(caller);
        Some(AuthorizerRequest {
            number: self.access.authorizer.last + 1,
            service,
            session: key.to_string(),
            account: self.rti.account(caller).map(|account| account.name().to_owned()),
            encrypted: certificate.is_some(),
            certificate: certificate.flatten().unwrap_or_default(),
            address: self.endpoint.address(key).unwrap_or_default().to_string(),
            federation: own(federation),
            federate: own(federate),
            federate_type: own(federate_type),
        })
    }

    fn take_result(&mut self, now: Moment, waiting: Waiting, result: AuthorizerResult) {
        let Waiting { caller, call, request, operation, .. } = waiting;
        let Some(key) = self.sessions.key(caller) else { return };
        self.sessions.go_on(caller);
        if result == AuthorizerResult::Authorized {
            let decision = Authorization { operation, allowed: true, line: None };
            self.record_of_authorizer(caller, decision, None);
            self.serve_authorized(now, key, caller, call, request);
        } else {
            self.refuse_by_authorizer(now, caller, (call, &request), &operation, result);
        }
        self.serve_later(now, caller);
    }

    fn refuse_by_authorizer(
        &mut self,
        now: Moment,
        caller: CallerId,
        (call, request): (Serial31, &Call),
        operation: &str,
        result: AuthorizerResult,
    ) {
        let Some(key) = self.sessions.key(caller) else { return };
        let connects = Standing::after(request).is_some_and(Standing::is_connected);
        let (exception, reason) = match result {
            AuthorizerResult::InvalidCredentials { reason } if connects => {
                (Exception::InvalidCredentials, reason)
            }
            AuthorizerResult::Unauthorized { reason } | AuthorizerResult::InvalidCredentials { reason } => {
                (Exception::Unauthorized, reason)
            }
            AuthorizerResult::Error { reason } => (Exception::RTIinternalError, reason),
            AuthorizerResult::Authorized => return,
        };
        tracing::warn!(session = %key, operation, %reason, "refused by the authorizer of the site");
        let decision = Authorization { operation: operation.to_owned(), allowed: false, line: None };
        self.record_of_authorizer(caller, decision, Some(&reason));
        if connects {
            self.rti.forget_account(caller);
        }
        let text = format!("the authorizer of the site refuses to {operation}: {reason}");
        self.respond(now, key, caller, call, Err(RtiError::new(exception, text)));
    }
}
