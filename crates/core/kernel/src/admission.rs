//! Admission of federates: connect calls, and the limit on wrong passwords.

use crate::Kernel;
use crate::report::RefusalReport;
use base::Moment;
use fedpro::server::SessionKey;
use hla::api::call_request::CallRequest as Call;
use hla::{Exception, RtiError};

/// The standing of a session after a call, if the call succeeds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Standing {
    /// Connected.
    Connected {
        /// Whether it connects with credentials.
        credentials: bool,
    },
    /// No longer connected.
    Disconnected,
}

impl Standing {
    /// `None` for a call that does not change the standing.
    pub(crate) const fn after(call: &Call) -> Option<Self> {
        match call {
            Call::ConnectRequest(_) | Call::ConnectWithConfigurationRequest(_) => {
                Some(Self::Connected { credentials: false })
            }
            Call::ConnectWithCredentialsRequest(_)
            | Call::ConnectWithConfigurationAndCredentialsRequest(_) => {
                Some(Self::Connected { credentials: true })
            }
            Call::DisconnectRequest(_) => Some(Self::Disconnected),
            _ => None,
        }
    }

    pub(crate) const fn is_connected(self) -> bool {
        matches!(self, Self::Connected { .. })
    }
}

impl Kernel {
    /// The reason to refuse a connect call without serving it: too many wrong passwords have come
    /// from its address. Right passwords are refused too, because a response would distinguish them
    /// from wrong ones.
    pub(crate) fn refusal(&mut self, now: Moment, key: SessionKey, request: &Call) -> Option<RtiError> {
        if Standing::after(request) != Some(Standing::Connected { credentials: true }) {
            return None;
        }
        let address = self.endpoint.address(key)?;
        let wait = self.access.failures.refuses(now, address)?;
        let seconds = wait.as_secs() + 1; // rounded up: a retry then is not too early
        let text = format!("too many wrong passwords from this address; try again in {seconds} s");
        Some(RtiError::new(Exception::Unauthorized, text))
    }

    /// The counters of refusals.
    pub(crate) fn refusals(&self) -> RefusalReport {
        let stats = self.endpoint.stats();
        RefusalReport {
            connections: stats.connections_refused,
            sessions: stats.sessions_refused,
            unconnected: stats.sessions_evicted,
            wrong_passwords: self.access.failures.wrong(),
            refused_passwords: self.access.failures.refused(),
        }
    }

    /// Updates the standing of a session after a connect or disconnect call.
    pub(crate) fn review_standing(
        &mut self,
        now: Moment,
        key: SessionKey,
        standing: Standing,
        has_succeeded: bool,
    ) {
        if has_succeeded {
            self.endpoint.set_connected(now, key, standing.is_connected());
        }
    }
}
