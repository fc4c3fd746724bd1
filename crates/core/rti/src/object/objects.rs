//! The object plane of one federation execution: its state, and the checks that every service
//! starts with.

use super::class_request::ClassRequests;
use super::deletion::Deletions;
use super::departures::Departures;
use super::divestiture::Divestitures;
use super::federate::{Federate, FederateSwitches, Rate, RateId};
use super::forgotten::Forgotten;
use super::instance::{Instance, Instances};
use super::interest::Interest;
use super::losses::Losses;
use super::ownership::{Adoptions, Negotiations, Offers, OpenRequests};
use super::regions::{MovedRegions, RegionReviews};
use super::relevance_review::RelevanceReviews;
use super::remote_federates::RemoteFederate;
use super::resign::Resignations;
use super::review::Reviews;
use super::tombstones::Tombstones;
use super::work::Kind;
use crate::control::{ExecutionId, NodeId, PublishedClass};
use crate::effect::{Change, Effects};
use crate::proposal::CallerId;
use crate::wire::Payload;
use base::HandleState;
use hla::api::{AttributeHandleSet, callback_request::CallbackRequest as Callback};
use hla::fom::{Fdd, InteractionClass, ObjectClass, PRIVILEGE_TO_DELETE};
use hla::handle::{
    AttributeHandle, FederateHandle, InteractionClassHandle, ObjectClassHandle, ObjectInstanceHandle,
};
use hla::time::TimeKind;
use hla::{Exception, RtiError};
use router::ClientId;
use std::collections::{BTreeMap, BTreeSet, HashSet};

/// Largest index of an update rate designator in use. [`Relevance`](super::instance::Relevance)
/// stores the index in 16 bits, beside two values of its own.
const RATES_MAX: usize = u16::MAX as usize - 2;

/// Memory of a class attribute that a federate publishes or subscribes: its entries in a set and in
/// the index of interest.
pub(crate) const DECLARATION_BYTES: usize = 64;

/// The federates of this node in one federation execution, and the instances that they may know.
///
/// A machine: its methods change nothing else, and request everything else by [`Effects`].
pub(crate) struct Objects {
    pub(crate) id: ExecutionId,
    pub(crate) node: NodeId,
    pub(crate) model: Fdd,
    pub(crate) time: TimeKind,
    /// The switch autoProvide (6.20): owners are asked for values that somebody has just discovered.
    pub(crate) auto_provide: bool,
    pub(crate) federates: BTreeMap<FederateHandle, Federate>,
    pub(crate) instances: Instances,
    /// Their interest in classes.
    pub(crate) interest: Interest,
    /// Federates of other nodes, as far as their subscriptions concern federates here.
    pub(super) remote_federates: BTreeMap<FederateHandle, RemoteFederate>,
    /// Number of changes of their subscriptions, from 1 on.
    pub(crate) remote_version: u64,
    /// The publications of this node.
    pub(super) published: BTreeSet<PublishedClass>,
    pub(super) tombstones: Tombstones,
    pub(super) deletions: Deletions,
    pub(super) reviews: Reviews,
    pub(super) moved_regions: MovedRegions,
    pub(super) region_reviews: RegionReviews,
    pub(super) class_requests: ClassRequests,
    pub(super) relevance_reviews: RelevanceReviews,
    pub(super) divestitures: Divestitures,
    pub(super) resignations: Resignations,
    /// The kind of work that was done last.
    pub(super) last_work: Kind,
    /// Names after this one may belong to instances that nobody has, see [`Objects::free_names`].
    pub(super) names_after: Option<String>,
    /// A federate of this node has associated update regions at some time. Until then no update has to
    /// look for any.
    pub(super) has_associated: bool,
    /// Requests of federates here about ownership.
    pub(super) requests: OpenRequests,
    /// Negotiations about attributes of instances at home here.
    pub(crate) negotiations: Negotiations,
    /// Attributes that are offered to all federates.
    pub(super) offers: Offers,
    /// Instances with a dead home whose new home is this node.
    pub(super) adoptions: Adoptions,
    /// Instances at home elsewhere of which federates here own attributes, by class.
    pub(super) owned_elsewhere: BTreeMap<ObjectClassHandle, BTreeSet<ObjectInstanceHandle>>,
    pub(super) departures: Departures,
    pub(super) losses: Losses,
    pub(super) forgotten: Forgotten,
    /// Whether a lost federate has left instances without an owner, and this was logged.
    pub(super) abandoned: bool,
    /// Instances at home here without any owned attribute.
    unowned: HashSet<ObjectInstanceHandle, HandleState>,
    /// The memory of the last update's payload. Most updates then allocate nothing of their own.
    pub(super) spare_payload: Option<Box<Payload>>,
    /// Whether other nodes may follow this one. A single node need not replicate anything.
    pub(crate) replicated: bool,
    /// Update rate designators in use.
    pub(crate) rates: Vec<Rate>,
    pub(crate) privilege: AttributeHandle,
    pub(crate) last_instance: u32,
    /// Number of attributes that the federates of this node publish and subscribe. Each counts once
    /// for each federate and class.
    pub(super) declarations: usize,
    /// An estimate of the memory of regions of federates here, in bytes.
    pub(super) region_bytes: usize,
    mom_objects: Option<ObjectClassHandle>,
    mom_interactions: Option<InteractionClassHandle>,
}

impl Objects {
    pub(crate) fn new(id: ExecutionId, node: NodeId, model: Fdd, time: TimeKind) -> Self {
        let root = model.object_class_by_name(hla::fom::OBJECT_ROOT).expect("every model has the root class");
        let privilege = model
            .attribute_by_name(root, PRIVILEGE_TO_DELETE)
            .expect("the MIM gives the root class its privilege attribute");
        Self {
            id,
            node,
            time,
            auto_provide: model.switches().auto_provide,
            privilege,
            mom_objects: model.object_class_by_name("HLAobjectRoot.HLAmanager"),
            mom_interactions: model.interaction_class_by_name("HLAinteractionRoot.HLAmanager"),
            model,
            federates: BTreeMap::new(),
            instances: Instances::default(),
            interest: Interest::default(),
            remote_federates: BTreeMap::new(),
            remote_version: 1,
            published: BTreeSet::new(),
            tombstones: Tombstones::default(),
            deletions: Deletions::default(),
            reviews: Reviews::default(),
            moved_regions: MovedRegions::default(),
            region_reviews: RegionReviews::default(),
            class_requests: ClassRequests::default(),
            relevance_reviews: RelevanceReviews::default(),
            divestitures: Divestitures::default(),
            resignations: Resignations::default(),
            last_work: Kind::Names,
            names_after: None,
            has_associated: false,
            requests: OpenRequests::default(),
            negotiations: Negotiations::default(),
            offers: Offers::default(),
            adoptions: Adoptions::default(),
            owned_elsewhere: BTreeMap::new(),
            departures: Departures::default(),
            losses: Losses::default(),
            forgotten: Forgotten::default(),
            abandoned: false,
            unowned: HashSet::default(),
            spare_payload: None,
            replicated: false,
            rates: Vec::new(),
            last_instance: 0,
            declarations: 0,
            region_bytes: 0,
        }
    }

    /// An estimate of the memory of instances and declarations here, in bytes. Cost: O(1).
    pub(crate) fn bytes(&self) -> usize {
        let ownership = self.negotiations.bytes() + self.offers.bytes() + self.requests.bytes();
        self.instances.bytes() + self.declarations * DECLARATION_BYTES + self.region_bytes + ownership
    }

    /// An estimate of the memory of regions, of their use by federates here, and of the update regions
    /// of instances, in bytes. Cost: O(1).
    pub(crate) fn bytes_of_regions(&self) -> usize {
        self.region_bytes + self.instances.update_regions().1
    }

    /// An estimate of the memory of one more instance of a class, in bytes.
    pub(crate) fn bytes_of_instance(&self, class: Option<ObjectClassHandle>, name: &str) -> usize {
        let class = self.model.object_class(class.unwrap_or_default());
        Instance::bytes_of(name.len(), class.map_or(0, |class| class.attributes.len()))
    }

    /// Adds a federate of this node.
    pub(crate) fn join(&mut self, federate: FederateHandle, caller: CallerId, client: ClientId) {
        let switches = FederateSwitches::from(self.model.switches());
        self.federates.insert(federate, Federate::new(federate, caller, client, switches));
    }

    /// Takes over an extended model. Classes that were added below a subscribed class are
    /// subscribed as well, and instances gain the attributes that were added to their class.
    pub(crate) fn extend_model(&mut self, effects: &mut Effects, model: Fdd) {
        self.instances.grow(&model);
        self.model = model;
        let all = self.federates.values().map(|federate| {
            let objects: Vec<_> = federate.subscriptions.keys().copied().collect();
            let interactions: Vec<_> = federate.subscribed_interactions.keys().copied().collect();
            (federate.handle, objects, interactions)
        });
        for (federate, objects, interactions) in all.collect::<Vec<_>>() {
            objects.into_iter().for_each(|class| self.cover_objects(effects, federate, class));
            interactions.into_iter().for_each(|class| self.cover_interactions(effects, federate, class));
        }
    }

    /// Adds a federate's interest in everything registered at `class` or below it.
    pub(super) fn cover_objects(
        &mut self,
        effects: &mut Effects,
        federate: FederateHandle,
        class: ObjectClassHandle,
    ) {
        self.set_interest(effects, federate, PublishedClass::Objects(class), true);
        for child in self.class_of(class).children.clone() {
            self.cover_objects(effects, federate, child);
        }
    }

    /// Adds a federate's interest in interactions of `class` and of its subclasses.
    pub(super) fn cover_interactions(
        &mut self,
        effects: &mut Effects,
        federate: FederateHandle,
        class: InteractionClassHandle,
    ) {
        self.set_interest(effects, federate, PublishedClass::Interactions(class), true);
        let children = self.model.interaction_class(class).map(|class| class.children.clone());
        for child in children.unwrap_or_default() {
            self.cover_interactions(effects, federate, child);
        }
    }

    pub(super) fn set_interest(
        &mut self,
        effects: &mut Effects,
        federate: FederateHandle,
        class: PublishedClass,
        on: bool,
    ) {
        if self.interest.set(class, federate, on) {
            effects.replicate(Change::Cover { class });
        }
    }

    /// The stream to which this node appends changes of an instance; `None` if the home is
    /// elsewhere.
    pub(crate) fn stream_of(&self, instance: ObjectInstanceHandle) -> Option<PublishedClass> {
        let object = self.instances.get(instance)?;
        (object.home == self.node).then_some(PublishedClass::Objects(object.class))
    }

    /// Whether this node is the home of an instance.
    pub(crate) fn is_at_home(&self, instance: ObjectInstanceHandle) -> bool {
        self.instances.get(instance).is_some_and(|object| object.home == self.node)
    }

    /// The number of instances at home at this node.
    pub(crate) fn own_instances(&self) -> usize {
        self.instances.at_home(self.node)
    }

    /// The number of those without any owned attribute.
    pub(crate) fn unowned_instances(&self) -> usize {
        self.unowned.len()
    }

    /// Updates whether an instance counts as unowned.
    pub(super) fn count_unowned(&mut self, instance: ObjectInstanceHandle) {
        let object = self.instances.get(instance);
        if object.is_some_and(|object| object.home == self.node && !object.is_owned()) {
            self.unowned.insert(instance);
        } else if !self.unowned.is_empty() {
            self.unowned.remove(&instance);
        }
    }

    /// The joined federate behind a checked handle.
    pub(crate) fn federate(&self, handle: FederateHandle) -> &Federate {
        self.federates.get(&handle).expect("a caller that is joined has its federate here")
    }

    pub(crate) fn federate_mut(&mut self, handle: FederateHandle) -> &mut Federate {
        self.federates.get_mut(&handle).expect("a caller that is joined has its federate here")
    }

    /// Sends a callback to a federate, if it is still joined.
    pub(crate) fn notify(&self, effects: &mut Effects, federate: FederateHandle, callback: Callback) {
        if let Some(federate) = self.federates.get(&federate) {
            effects.notify(federate.client, callback);
        }
    }

    pub(crate) fn object_class(
        &self,
        handle: Option<ObjectClassHandle>,
        otherwise: Exception,
    ) -> Result<&ObjectClass, RtiError> {
        let handle = handle.unwrap_or_default();
        self.model.object_class(handle).ok_or_else(|| {
            RtiError::new(otherwise, format!("{handle:?} is no object class of this federation"))
        })
    }

    pub(crate) fn interaction_class(
        &self,
        handle: Option<InteractionClassHandle>,
        otherwise: Exception,
    ) -> Result<&InteractionClass, RtiError> {
        let handle = handle.unwrap_or_default();
        self.model.interaction_class(handle).ok_or_else(|| {
            RtiError::new(otherwise, format!("{handle:?} is no interaction class of this federation"))
        })
    }

    /// The attributes of a request, each of which must be available at `class`.
    pub(crate) fn attributes_at(
        &self,
        class: &ObjectClass,
        set: Option<&AttributeHandleSet>,
    ) -> Result<BTreeSet<AttributeHandle>, RtiError> {
        let handles = set.map(|set| set.attribute_handle.as_slice()).unwrap_or_default();
        match handles.iter().find(|&&handle| !class.has_attribute(handle)) {
            Some(&handle) => Err(self.attribute_not_defined(handle, class)),
            None => Ok(handles.iter().copied().collect()),
        }
    }

    pub(crate) fn attribute_not_defined(&self, handle: AttributeHandle, class: &ObjectClass) -> RtiError {
        let what = match self.model.attribute(handle) {
            Some(attribute) => format!("attribute `{}` ({handle:?})", attribute.name),
            None => format!("{handle:?}"),
        };
        RtiError::new(Exception::AttributeNotDefined, format!("{what} is not available at `{}`", class.name))
    }

    /// The instance, if `federate` knows it.
    pub(crate) fn known_instance(
        &self,
        federate: FederateHandle,
        handle: Option<ObjectInstanceHandle>,
    ) -> Result<(&Instance, &ObjectClass), RtiError> {
        let handle = handle.unwrap_or_default();
        let not_known = || {
            let text = format!("{handle:?} is not known to this federate");
            RtiError::new(Exception::ObjectInstanceNotKnown, text)
        };
        let instance = self.instances.get(handle).ok_or_else(not_known)?;
        let class = instance.known_class(federate).ok_or_else(not_known)?;
        Ok((instance, self.class_of(class)))
    }

    /// The class behind a handle that the execution itself stored.
    pub(crate) fn class_of(&self, handle: ObjectClassHandle) -> &ObjectClass {
        self.model.object_class(handle).expect("classes are never removed from a model")
    }

    /// `class` and its superclasses, most specific first.
    pub(crate) fn lineage(&self, class: ObjectClassHandle) -> impl Iterator<Item = ObjectClassHandle> + '_ {
        std::iter::successors(Some(class), |&class| self.model.object_class(class)?.parent)
    }

    /// `class` and its superclasses among the interaction classes, most specific first.
    pub(crate) fn interaction_lineage(
        &self,
        class: InteractionClassHandle,
    ) -> impl Iterator<Item = InteractionClassHandle> + '_ {
        std::iter::successors(Some(class), |&class| self.model.interaction_class(class)?.parent)
    }

    /// Rejects object classes of the management object model, for services with regions.
    pub(crate) fn refuse_mom_class(&self, service: &str, class: ObjectClassHandle) -> Result<(), RtiError> {
        match self.mom_objects {
            Some(mom) if self.model.is_subclass(class, mom) => {
                Err(mom_not_built(service, &self.class_of(class).name))
            }
            _ => Ok(()),
        }
    }

    /// Rejects interaction classes of the management object model, for services with regions.
    pub(crate) fn refuse_mom_interaction(
        &self,
        service: &str,
        class: InteractionClassHandle,
    ) -> Result<(), RtiError> {
        match self.is_mom_interaction(class) {
            true => {
                let name = self.model.interaction_class(class).map_or("", |class| &class.name);
                Err(mom_not_built(service, name))
            }
            false => Ok(()),
        }
    }

    /// Whether an interaction class belongs to the management object model.
    pub(super) fn is_mom_interaction(&self, class: InteractionClassHandle) -> bool {
        self.mom_interactions.is_some_and(|mom| self.model.is_interaction_subclass(class, mom))
    }

    /// The id of an update rate designator; `None` for the empty one, which requests no reduction.
    pub(crate) fn rate(&mut self, designator: &str) -> Result<Option<RateId>, RtiError> {
        if designator.is_empty() {
            return Ok(None);
        }
        let rate = self.model.update_rate(designator).ok_or_else(|| {
            let text = format!("the object model has no update rate `{designator}`");
            RtiError::new(Exception::InvalidUpdateRateDesignator, text)
        })?;
        let known = self.rates.iter().position(|rate| rate.designator == designator);
        let at = known.unwrap_or(self.rates.len());
        if at > RATES_MAX {
            return Err(RtiError::internal(
                "more update rate designators are in use than this RTI can count",
            ));
        }
        if known.is_none() {
            self.rates.push(Rate::new(designator, rate));
        }
        Ok(Some(RateId(at as u16)))
    }
}

fn mom_not_built(service: &str, class: &str) -> RtiError {
    RtiError::internal(format!(
        "{service}: `{class}` belongs to the management object model (clause 11), for which this RTI does not offer regions yet"
    ))
}
