//! Access control: who connects, and the record of what was allowed and refused.

use crate::admission::Standing;
use crate::authorizer::Authorizer;
use crate::password_failures::PasswordFailures;
use crate::report::{AccessReport, AccountReport, ReportQuery};
use crate::{Config, Kernel};
use ::access::{
    self as accounts, Account, CredentialsCheck, CredentialsVerdict, Identity, Operation, Peer, Policy,
    Refusal,
};
use base::{Address, Moment, Serial31};
use fedpro::server::{ConnId, Proof, SessionKey};
use hla::api::Credentials;
use hla::api::call_request::CallRequest as Call;
use hla::{Exception, RtiError};
use rti::{Authorization, CallerId};
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

/// Records that may wait to be written. The world takes them after every turn. A world that writes
/// none loses the oldest.
const RECORDS_MAX: usize = 4_096;

/// The identity in a client's certificate that the carrier of its connection has verified.
#[derive(Clone, Default, Debug)]
pub struct Certificate {
    /// Its SHA-256.
    pub digest: [u8; 32],
    /// The names in it.
    pub names: Vec<String>,
}

impl Certificate {
    /// The names and the digest, as a policy has them.
    fn all_names(&self) -> Vec<String> {
        let digest: String = self.digest.iter().map(|octet| format!("{octet:02x}")).collect();
        self.names.iter().cloned().chain([format!("sha256:{digest}")]).collect()
    }
}

/// A decision for the audit log.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AccessRecord {
    /// The session.
    pub session: String,
    /// The address of its client.
    pub address: Address,
    /// The account, if it is known.
    pub account: Option<String>,
    /// The operation, as a sentence.
    pub operation: String,
    /// Whether it was allowed.
    pub allowed: bool,
    /// The line of the policy that decided; `None` if there is none about it.
    pub line: Option<usize>,
    /// The reason of a refusal.
    pub reason: Option<String>,
}

/// A connect call whose credentials are yet to be verified.
struct WaitingConnect {
    caller: CallerId,
    call: Serial31,
    request: Call,
}

/// The federates that may connect.
pub(crate) struct Access {
    /// Without a policy, everybody may do anything.
    policy: Option<Policy>,
    /// The certificates of encrypted connections; `None` inside: without a certificate.
    encrypted: BTreeMap<ConnId, Option<Certificate>>,
    /// Connect calls in the order of their arrival. The first one's credentials are being verified.
    /// There is at most one for each session.
    waiting: VecDeque<WaitingConnect>,
    /// The credentials to be verified next.
    check: Option<CredentialsCheck>,
    pub(crate) failures: PasswordFailures,
    pub(crate) authorizer: Authorizer,
    records: VecDeque<AccessRecord>,
    allowed: u64,
    refused: u64,
}

impl Access {
    pub(crate) fn new(config: &Config) -> Self {
        Self {
            policy: config.policy.clone(),
            failures: PasswordFailures::new(config.passwords_wrong_max, config.password_window),
            authorizer: Authorizer::new(config.authorizer_timeout),
            encrypted: BTreeMap::new(),
            waiting: VecDeque::new(),
            check: None,
            records: VecDeque::new(),
            allowed: 0,
            refused: 0,
        }
    }

    /// Whether federates need accounts.
    pub(crate) const fn is_on(&self) -> bool {
        self.policy.is_some()
    }

    /// A connection is closed.
    pub(crate) fn closed(&mut self, conn: ConnId) {
        self.encrypted.remove(&conn);
    }

    fn record(&mut self, record: AccessRecord) {
        match record.allowed {
            true => self.allowed += 1,
            false => self.refused += 1,
        }
        if self.records.len() == RECORDS_MAX {
            self.records.pop_front();
        }
        self.records.push_back(record);
    }
}

/// A connect call that is refused.
struct Refused {
    error: RtiError,
    /// The account, if it is known, and the line of the policy that decided.
    account: Option<String>,
    line: Option<usize>,
    /// The reason for the log, where the federate is not told all of it.
    reason: Option<String>,
}

impl From<RtiError> for Refused {
    fn from(error: RtiError) -> Self {
        Refusal::from(error).into()
    }
}

impl From<Refusal> for Refused {
    fn from(Refusal { error, reason }: Refusal) -> Self {
        Self { error, account: None, line: None, reason }
    }
}

/// How a connect call goes on.
enum Admission {
    /// The caller is connected as this account.
    As(Arc<Account>),
    /// The credentials are to be verified first.
    Unverified(CredentialsCheck),
}

impl Kernel {
    /// A connection that encrypts has got through its handshake. Call it before the connection's
    /// first bytes.
    pub fn handle_secured(&mut self, conn: ConnId, certificate: Option<Certificate>) {
        // All encrypted connections without certificates have the same proof: others cannot overhear the
        // numbers of their sessions.
        let proof = certificate.as_ref().map_or(Proof([0xff; 32]), |certificate| Proof(certificate.digest));
        self.endpoint.set_proof(conn, proof);
        self.access.encrypted.insert(conn, certificate);
    }

    /// Credentials that are to be verified, on another thread. The verdict goes to
    /// [`Kernel::finish_credentials_check`]. The next one follows after that.
    #[must_use]
    pub fn poll_credentials_check(&mut self) -> Option<CredentialsCheck> {
        self.access.check.take()
    }

    /// Takes the verdict about credentials.
    pub fn finish_credentials_check(&mut self, now: Moment, verdict: CredentialsVerdict) {
        let account = self.access.policy.as_mut().map(|policy| policy.admit(verdict));
        if let (Some(waiting), Some(account)) = (self.access.waiting.pop_front(), account) {
            self.connect_as(now, waiting, account);
        }
        self.check_next(now);
        self.drive(now);
    }

    /// The next decision for the audit log.
    pub fn poll_access_record(&mut self) -> Option<AccessRecord> {
        self.access.records.pop_front()
    }

    /// Replaces the policy. A session is ended if its account has gone, is proved in another way from now
    /// on, or may no longer do something that it does. Without a policy before, this has no effect.
    pub fn set_policy(&mut self, now: Moment, policy: Policy) {
        if !self.access.is_on() {
            return;
        }
        let callers: Vec<_> = self.sessions.callers().collect();
        for caller in callers {
            let Some(old) = self.rti.account(caller).cloned() else { continue };
            let why = match policy.account(old.name()) {
                None => Some("the account no longer exists".to_owned()),
                Some(new) if !new.is_proved_like(&old) => Some("its credentials have changed".to_owned()),
                Some(new) => {
                    self.limit_rate(now, caller, new);
                    self.rti.change_account(caller, new).err().map(|error| error.details.to_string())
                }
            };
            if let Some(why) = why {
                let reason = format!("the access policy has changed: {why}");
                let refused =
                    Authorization { operation: "stay connected".to_owned(), allowed: false, line: None };
                self.record(caller, Some(old.name()), refused, Some(&reason));
                self.disconnect(now, caller, reason);
            }
        }
        self.access.policy = Some(policy);
        self.drive(now);
    }

    /// Lets the policy decide about a connect call. Returns the call if it is to be served now.
    pub(crate) fn identify(
        &mut self,
        now: Moment,
        key: SessionKey,
        caller: CallerId,
        (call, request): (Serial31, Call),
    ) -> Option<Call> {
        let connects = Standing::after(&request).is_some_and(Standing::is_connected);
        if !self.access.is_on() || !connects || !self.rti.is_unconnected(caller) {
            return Some(request);
        }
        let refused = match self.admission(now, key, caller, &request) {
            Ok(Admission::As(account)) => match self.admit(now, caller, account, &request) {
                Ok(()) => return Some(request),
                Err(refused) => refused,
            },
            Ok(Admission::Unverified(check)) => {
                self.sessions.wait(caller);
                if self.access.waiting.is_empty() {
                    self.access.check = Some(check);
                }
                self.access.waiting.push_back(WaitingConnect { caller, call, request });
                return None;
            }
            Err(error) => error.into(),
        };
        self.refuse_connect(now, key, caller, call, refused);
        None
    }

    fn admission(
        &mut self,
        now: Moment,
        key: SessionKey,
        caller: CallerId,
        request: &Call,
    ) -> Result<Admission, RtiError> {
        if let Some(refusal) = self.refusal(now, key, request) {
            return Err(refusal);
        }
        let policy = self.access.policy.as_ref().ok_or_else(accounts::wrong_password)?;
        let certificate = self.sessions.conn(caller).and_then(|conn| self.access.encrypted.get(&conn));
        let address = self.endpoint.address(key);
        let peer = Peer {
            names: certificate.and_then(Option::as_ref).map(Certificate::all_names).unwrap_or_default(),
            is_readable: certificate.is_none() && address.is_none_or(|address| !address.is_loopback()),
        };
        Ok(match policy.identify(credentials(request), &peer)? {
            Identity::Known(account) => Admission::As(account),
            Identity::Unverified(check) => Admission::Unverified(check),
        })
    }

    /// Gives a caller its account, if that may connect, may have the report that it asks for, and has
    /// room.
    fn admit(
        &mut self,
        now: Moment,
        caller: CallerId,
        account: Arc<Account>,
        request: &Call,
    ) -> Result<(), Refused> {
        let name = || Some(account.name().to_owned());
        let refused = |text, line| Refused {
            error: RtiError::new(Exception::Unauthorized, text),
            account: name(),
            line,
            reason: None,
        };
        let mut operations = vec![Operation::Connect];
        if ReportQuery::of(request) != ReportQuery::None {
            operations.push(Operation::SeeStatus);
        }
        let mut decisions = Vec::with_capacity(operations.len());
        for operation in &operations {
            let decision = Authorization::of(operation, account.decide(operation));
            if let Some(text) = account.refusal(operation) {
                return Err(refused(text, decision.line));
            }
            decisions.push(decision);
        }
        if let Some(limit) = account.limits().sessions {
            let is_its = |other: &CallerId| {
                self.rti.account(*other).is_some_and(|other| other.name() == account.name())
            };
            let count = self.sessions.callers().filter(is_its).count();
            if count >= limit {
                let text = format!(
                    "account `{}` has {count} sessions at this node, as many as it may have",
                    account.name()
                );
                return Err(refused(text, None));
            }
        }
        for decision in decisions {
            self.record(caller, Some(account.name()), decision, None);
        }
        self.limit_rate(now, caller, &account);
        self.rti.set_account(caller, account);
        Ok(())
    }

    /// Tells people why the federate of a connection is slow.
    pub(crate) fn note_slowed(&self, conn: ConnId) {
        let mut callers = self.sessions.callers();
        let caller = callers.find(|&caller| self.sessions.conn(caller) == Some(conn));
        if let Some(account) = caller.and_then(|caller| self.rti.account(caller))
            && let Some(rate) = account.limits().bytes_per_second
        {
            let federate = caller.and_then(|caller| self.rti.federate_name(caller)).unwrap_or_default();
            tracing::warn!(%conn, account = account.name(), federate, "a session is slowed down: its account may send {rate} bytes/s");
        }
    }

    /// Limits what the session of a caller may send in a second, as its account does.
    fn limit_rate(&mut self, now: Moment, caller: CallerId, account: &Account) {
        if let Some(conn) = self.sessions.conn(caller) {
            self.rates.set(now, conn, account.limits().bytes_per_second);
        }
    }

    /// Ends a connect call whose credentials were verified.
    fn connect_as(
        &mut self,
        now: Moment,
        WaitingConnect { caller, call, request }: WaitingConnect,
        account: Result<Arc<Account>, Refusal>,
    ) {
        let Some(key) = self.sessions.key(caller) else { return };
        let admitted = match account {
            Ok(account) => self.admit(now, caller, account, &request),
            Err(error) => {
                if let Some(address) = self.endpoint.address(key) {
                    self.access.failures.failed(now, address);
                }
                Err(error.into())
            }
        };
        self.sessions.go_on(caller);
        match admitted {
            Ok(()) => self.serve_known(now, key, caller, call, request),
            Err(refused) => self.refuse_connect(now, key, caller, call, refused),
        }
        self.serve_later(now, caller);
    }

    /// Prepares the next credentials to be verified. Calls whose credentials are known by now are served.
    fn check_next(&mut self, now: Moment) {
        while let Some(WaitingConnect { caller, call, request }) = self.access.waiting.pop_front() {
            let Some(key) = self.sessions.key(caller) else { continue };
            let admission = self.admission(now, key, caller, &request);
            let waiting = WaitingConnect { caller, call, request };
            match admission {
                Ok(Admission::As(account)) => self.connect_as(now, waiting, Ok(account)),
                Ok(Admission::Unverified(check)) => {
                    self.access.waiting.push_front(waiting);
                    self.access.check = Some(check);
                    return;
                }
                Err(error) => {
                    self.sessions.go_on(caller);
                    self.refuse_connect(now, key, caller, call, error.into());
                    self.serve_later(now, caller);
                }
            }
        }
    }

    fn refuse_connect(
        &mut self,
        now: Moment,
        key: SessionKey,
        caller: CallerId,
        call: Serial31,
        Refused { error, account, line, reason }: Refused,
    ) {
        let reason = reason.as_deref().unwrap_or(&error.details);
        if let Some(address) = self.endpoint.address(key) {
            tracing::warn!(%address, session = %key, %reason, "connect refused");
        }
        let decision = Authorization { operation: Operation::Connect.to_string(), allowed: false, line };
        self.record(caller, account.as_deref(), decision, Some(reason));
        self.respond(now, key, caller, call, Err(error));
    }

    /// The names in the certificate of a caller whose connection encrypts, and its digest; `None` inside:
    /// it has shown none.
    pub(crate) fn certificate(&self, caller: CallerId) -> Option<Option<Vec<String>>> {
        let encrypted = self.sessions.conn(caller).and_then(|conn| self.access.encrypted.get(&conn))?;
        Some(encrypted.as_ref().map(Certificate::all_names))
    }

    /// Records a decision of the authorizer.
    pub(crate) fn record_of_authorizer(
        &mut self,
        caller: CallerId,
        decision: Authorization,
        reason: Option<&str>,
    ) {
        let account = self.rti.account(caller).map(Arc::clone);
        let reason = reason.map(|reason| format!("authorizer: {reason}"));
        self.record(caller, account.as_ref().map(|account| account.name()), decision, reason.as_deref());
    }

    /// Moves the decisions of the services to the audit log.
    pub(crate) fn take_authorizations(&mut self) {
        while let Some((caller, decision)) = self.rti.poll_authorization() {
            let account = self.rti.account(caller).map(Arc::clone);
            self.record(caller, account.as_ref().map(|account| account.name()), decision, None);
        }
    }

    fn record(
        &mut self,
        caller: CallerId,
        account: Option<&str>,
        Authorization { operation, allowed, line }: Authorization,
        reason: Option<&str>,
    ) {
        let Some(key) = self.sessions.key(caller) else { return };
        self.access.record(AccessRecord {
            session: key.to_string(),
            address: self.endpoint.address(key).unwrap_or_default(),
            account: account.map(ToOwned::to_owned),
            operation,
            allowed,
            line,
            reason: reason.map(ToOwned::to_owned),
        });
    }

    /// The accounts, their sessions at this node, and the counts of decisions.
    pub(crate) fn access_report(&self) -> AccessReport {
        let Access { policy, allowed, refused, .. } = &*self.access;
        let mut sessions: BTreeMap<&str, usize> = BTreeMap::new();
        for caller in self.sessions.callers() {
            if let Some(account) = self.rti.account(caller) {
                *sessions.entry(account.name()).or_default() += 1;
            }
        }
        let account = |account: &Arc<Account>| AccountReport {
            name: account.name().to_owned(),
            line: account.line(),
            sessions: sessions.get(account.name()).copied().unwrap_or_default(),
            limits: account.limits(),
        };
        let accounts = policy.iter().flat_map(Policy::accounts).map(account).collect();
        let (allowed, refused, slowed) = (*allowed, *refused, self.rates.holds());
        AccessReport { is_on: self.access.is_on(), accounts, allowed, refused, slowed }
    }
}

/// The credentials of a connect call.
fn credentials(call: &Call) -> Option<&Credentials> {
    match call {
        Call::ConnectWithCredentialsRequest(request) => request.credentials.as_ref(),
        Call::ConnectWithConfigurationAndCredentialsRequest(request) => request.credentials.as_ref(),
        _ => None,
    }
}
