//! Requests for the values of all instances of a class (6.22).
//!
//! A class may have a million instances, and each of them is a callback to an owner. A request
//! therefore visits the instances in slices. The first slice belongs to the call. The others follow
//! between the events of other federates, and only as fast as the owners take their callbacks. An
//! owner that does not keep up delays only its own part of a request.

use super::instance::Cursor;
use super::objects::Objects;
use super::regions::RegionsOfAttributes;
use crate::control::management::RTI;
use crate::effect::Effects;
use bytes::Bytes;
use hla::RtiError;
use hla::handle::{AttributeHandle, FederateHandle, ObjectClassHandle};
use router::ClientId;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Maximum number of instances that one slice visits. Each may be a callback of a microsecond.
const VISITED_PER_SLICE: usize = 1_000;

/// Maximum number of unfinished requests of one federate. Only requests for classes with more
/// instances than one slice are ever unfinished.
const REQUESTS_MAX: usize = 64;

/// The owners to which a request, or its part, is passed on.
#[derive(Debug)]
enum Owners {
    /// All but these, which have parts of their own.
    AllBut(BTreeSet<FederateHandle>),
    /// The part of one owner that did not keep up.
    Only(FederateHandle),
}

/// The subject of a request.
#[derive(Clone, Debug)]
pub(super) struct RequestedClass {
    pub(super) class: ObjectClassHandle,
    pub(super) attributes: BTreeSet<AttributeHandle>,
    /// The regions of attributes that are requested only where they overlap (9.13).
    pub(super) regions: RegionsOfAttributes,
}

/// A request, or the part of it that concerns one owner.
#[derive(Debug)]
struct ClassRequest {
    requester: FederateHandle,
    requested: RequestedClass,
    tag: Bytes,
    owners: Owners,
    cursor: Cursor,
}

/// The unfinished requests. They take turns.
#[derive(Debug, Default)]
pub(crate) struct ClassRequests {
    pending: VecDeque<ClassRequest>,
}

impl ClassRequests {
    pub(super) fn is_empty(&self) -> bool {
        self.pending.is_empty()
    }

    /// The position of the next request that need not wait for its owner.
    fn next(&self, congested: impl Fn(FederateHandle) -> bool) -> Option<usize> {
        self.pending.iter().position(|request| match request.owners {
            Owners::AllBut(_) => true,
            Owners::Only(owner) => !congested(owner),
        })
    }

    /// Forgets the requests of a federate, and the parts that concern it as an owner.
    pub(super) fn remove_federate(&mut self, federate: FederateHandle) {
        self.pending.retain(|request| {
            request.requester != federate
                && !matches!(request.owners, Owners::Only(owner) if owner == federate)
        });
    }

    /// Whether a federate has as many unfinished requests as it may have.
    fn is_full(&self, requester: FederateHandle) -> bool {
        let own = self.pending.iter().filter(|request| request.requester == requester);
        own.filter(|request| matches!(request.owners, Owners::AllBut(_))).count() >= REQUESTS_MAX
    }
}

impl Objects {
    /// Asks the owners here of all instances of a class and below.
    ///
    /// # Errors
    /// `RTIinternalError` if the federate has too many unfinished requests.
    pub(super) fn provide_class(
        &mut self,
        effects: &mut Effects,
        requester: FederateHandle,
        requested: RequestedClass,
        tag: Bytes,
    ) -> Result<(), RtiError> {
        if self.class_requests.is_full(requester) {
            return Err(RtiError::internal(format!(
                "{REQUESTS_MAX} requests of this federate for values of classes with more than \
                 {VISITED_PER_SLICE} instances are not finished; no more are accepted until one is"
            )));
        }
        let owners = Owners::AllBut(BTreeSet::new());
        let cursor = self.instances.cursor_below(&self.model, requested.class);
        let mut request = ClassRequest { requester, requested, tag, owners, cursor };
        self.visit_requested(effects, &mut request, |_| false);
        if !request.cursor.is_done() {
            self.class_requests.pending.push_back(request);
        }
        Ok(())
    }

    /// Whether a request can be continued.
    pub(super) fn can_continue_class_requests(&self, congested: impl Fn(ClientId) -> bool) -> bool {
        self.class_requests.next(|owner| self.is_congested(owner, &congested)).is_some()
    }

    /// Processes one slice of one request.
    pub(super) fn continue_class_requests(
        &mut self,
        effects: &mut Effects,
        congested: impl Fn(ClientId) -> bool,
    ) {
        let next = self.class_requests.next(|owner| self.is_congested(owner, &congested));
        let Some(mut request) = next.and_then(|at| self.class_requests.pending.remove(at)) else { return };
        self.visit_requested(effects, &mut request, congested);
        if !request.cursor.is_done() {
            self.class_requests.pending.push_back(request);
        }
    }

    fn visit_requested(
        &mut self,
        effects: &mut Effects,
        request: &mut ClassRequest,
        congested: impl Fn(ClientId) -> bool,
    ) {
        let begin = request.cursor.clone();
        let visited = request.cursor.advance(&self.instances, VISITED_PER_SLICE);
        let ClassRequest { requester, requested, tag, owners, .. } = request;
        // Nothing is delivered during the slice, so that the answers for an owner are the same for
        // all its instances.
        let mut asked: BTreeMap<FederateHandle, bool> = BTreeMap::new();
        let mut is_asked = |owner: FederateHandle| match owners {
            // Each node has all instances of the management object model, and answers by itself.
            _ if owner == RTI => matches!(owners, Owners::AllBut(_)),
            _ if !self.federates.contains_key(&owner) => false,
            Owners::Only(only) => owner == *only,
            Owners::AllBut(others) if others.contains(&owner) => false,
            Owners::AllBut(_) => *asked.entry(owner).or_insert_with(|| !self.is_congested(owner, &congested)),
        };
        for instance in visited {
            let attributes = self.overlapping(instance, requested);
            self.ask_owners(effects, *requester, instance, &attributes, tag, &mut is_asked);
        }
        let late: Vec<_> = asked.into_iter().filter(|(_, asked)| !asked).map(|(owner, _)| owner).collect();
        for owner in late {
            if let Owners::AllBut(others) = owners {
                others.insert(owner);
            }
            self.class_requests.pending.push_back(ClassRequest {
                requester: *requester,
                requested: requested.clone(),
                tag: tag.clone(),
                owners: Owners::Only(owner),
                cursor: begin.clone(),
            });
        }
    }

    pub(super) fn is_congested(&self, owner: FederateHandle, congested: impl Fn(ClientId) -> bool) -> bool {
        self.federates.get(&owner).is_some_and(|federate| congested(federate.client))
    }
}
