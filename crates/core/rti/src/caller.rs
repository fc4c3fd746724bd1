//! A caller: a session of a federate, with its standing.

use crate::control::{Activity, ExecutionId};
use access::Account;
use hla::handle::FederateHandle;
use router::ClientId;
use std::sync::Arc;

/// The standing of a caller.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Standing {
    /// Not connected.
    Open,
    /// Connected, not joined.
    Connected,
    /// Joined to a federation execution.
    Joined(ExecutionId, FederateHandle),
}

/// A caller as the RTI knows it.
pub(crate) struct Caller {
    /// Its client in the router of callbacks.
    pub(crate) client: ClientId,
    pub(crate) standing: Standing,
    /// The save or restore that it takes part in.
    pub(crate) activity: Activity,
    /// Its federate speaks the 2010 edition through an adapter.
    pub(crate) evolved: bool,
    /// Its account, which decides what it may do; `None`: it may do anything.
    pub(crate) account: Option<Arc<Account>>,
    /// The host that it runs on, as far as the driver knows; otherwise empty.
    pub(crate) host: Box<str>,
}

impl Caller {
    /// A caller that is not connected.
    pub(crate) fn new(client: ClientId, host: Box<str>) -> Self {
        let (standing, activity) = (Standing::Open, Activity::Normal);
        Self { client, standing, activity, evolved: false, account: None, host }
    }
}
