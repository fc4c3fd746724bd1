//! The image of the objects in a saved federation execution: federates with their declarations and
//! regions, instances with their owners, and negotiations about ownership.
//!
//! An image is taken while nobody may change anything and no work in slices is left. It leaves out
//! what follows from the rest: interest, indices. Moments are kept as the time that has passed since.

use super::counters::Counters;
use super::deletion::Deletion;
use super::federate::{ClassSubscription, Federate, FederateSwitches, Preference};
use super::instance::{AttributeState, Cursor, Instance, Instances};
use super::known::KnownBy;
use super::objects::Objects;
use super::ownership::{NegotiationsImage, OffersImage, RequestsImage};
use super::reduction::{Reduction, ReductionImage};
use super::regions::{Distribution, UpdateRegions};
use super::remote_federates::RemoteFederate;
use crate::control::management::is_managed;
use crate::control::{NodeId, Placement, PublishedClass, placed};
use crate::effect::Effects;
use crate::proposal::CallerId;
use base::Moment;
use hla::RtiError;
use hla::api::OrderType;
use hla::fom::Fdd;
use hla::handle::{
    AttributeHandle, FederateHandle, InteractionClassHandle, ObjectClassHandle, ObjectInstanceHandle,
    TransportationTypeHandle,
};
use router::ClientId;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// A preference: the transportation type, and whether the order is TimeStamp.
type PreferenceImage = (Option<TransportationTypeHandle>, Option<bool>);

/// A federate.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct FederateImage {
    handle: FederateHandle,
    switches: FederateSwitches,
    constrained: bool,
    unsubscribed: u64,
    publications: BTreeMap<ObjectClassHandle, BTreeSet<AttributeHandle>>,
    subscriptions: BTreeMap<ObjectClassHandle, ClassSubscription>,
    published_interactions: BTreeSet<InteractionClassHandle>,
    subscribed_interactions: BTreeMap<InteractionClassHandle, bool>,
    published_directed: BTreeMap<ObjectClassHandle, BTreeSet<InteractionClassHandle>>,
    subscribed_directed: BTreeMap<ObjectClassHandle, BTreeMap<InteractionClassHandle, bool>>,
    registration_on: BTreeSet<ObjectClassHandle>,
    interactions_on: BTreeSet<InteractionClassHandle>,
    attribute_preferences: BTreeMap<(ObjectClassHandle, AttributeHandle), PreferenceImage>,
    interaction_preferences: BTreeMap<InteractionClassHandle, PreferenceImage>,
    distribution: Distribution,
    counters: Counters,
    reduction: ReductionImage,
}

/// Everything but the instances.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct ObjectsImage {
    /// The designators of the update rates in use, in the order of their numbers.
    rates: Vec<String>,
    federates: Vec<FederateImage>,
    deletions: BTreeMap<ObjectInstanceHandle, Deletion>,
    offers: OffersImage,
    negotiations: NegotiationsImage,
    requests: RequestsImage,
    has_associated: bool,
    abandoned: bool,
    /// Instances at home elsewhere of which federates here own attributes.
    owned_elsewhere: BTreeMap<ObjectClassHandle, BTreeSet<ObjectInstanceHandle>>,
    remote_federates: BTreeMap<FederateHandle, RemoteFederate>,
}

/// An instance.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct InstanceImage {
    handle: ObjectInstanceHandle,
    class: ObjectClassHandle,
    name: Box<str>,
    producer: FederateHandle,
    registrar: NodeId,
    home: NodeId,
    attributes: Box<[AttributeState]>,
    known: KnownBy,
    regions: Option<Box<UpdateRegions>>,
}

impl Instance {
    /// Its image in a saved federation execution.
    pub(super) fn image(&self) -> InstanceImage {
        InstanceImage {
            handle: self.handle,
            class: self.class,
            name: self.name.clone(),
            producer: self.producer,
            registrar: self.registrar,
            home: self.home,
            attributes: self.attributes.clone(),
            known: self.known.clone(),
            regions: self.update_regions.clone(),
        }
    }

    /// The instance of an image.
    pub(super) fn from_image(image: InstanceImage) -> Self {
        let InstanceImage { handle, class, name, producer, registrar, home, attributes, known, regions } =
            image;
        Self { handle, class, name, producer, registrar, home, attributes, known, update_regions: regions }
    }
}

impl InstanceImage {
    pub(crate) fn handle(&self) -> ObjectInstanceHandle {
        self.handle
    }
}

/// The instances of an image, ready to be used, with what was counted as they were read.
#[derive(Default)]
pub(crate) struct RestoredInstances {
    instances: Instances,
    /// The number of attributes of an instance of each class.
    attributes: BTreeMap<ObjectClassHandle, usize>,
    with_regions: Vec<ObjectInstanceHandle>,
    unowned: Vec<ObjectInstanceHandle>,
}

impl RestoredInstances {
    /// Adds an instance of the part of `node`, with nodes as they are placed now. One that was
    /// registered at a node without a part has its home for its registrar. One that its home has deleted
    /// (`is_deleted`) is only known to federates that have not come to the time of the deletion.
    ///
    /// # Errors
    /// Its home has no part.
    pub(crate) fn add(
        &mut self,
        mut image: InstanceImage,
        placement: &Placement,
        (node, is_deleted): (Option<NodeId>, bool),
    ) -> Result<(), String> {
        if !is_managed(image.handle) {
            image.home = match placement.get(&image.home) {
                Some(&home) => home,
                None if is_deleted => NodeId::GONE,
                None => return Err(format!("it has no part of the home of {:?}", image.handle)),
            };
            image.registrar = placement.get(&image.registrar).copied().unwrap_or(image.home);
        }
        let instance = Instance::from_image(image);
        let handle = instance.handle;
        let attributes = self.attributes.entry(instance.class).or_default();
        *attributes = instance.attributes().count().max(*attributes);
        if instance.region_bytes().is_some() {
            self.with_regions.push(handle);
        }
        if Some(instance.home) == node && !instance.is_owned() {
            self.unowned.push(handle);
        }
        self.instances.insert(instance);
        Ok(())
    }

    /// Checks that the object model has the classes of the instances, with no fewer attributes.
    fn check(&self, model: &Fdd) -> Result<(), RtiError> {
        let fits = |(&class, &attributes): (&ObjectClassHandle, &usize)| {
            model.object_class(class).is_some_and(|class| class.attributes.len() >= attributes)
        };
        match self.attributes.iter().find(|entry| !fits(*entry)) {
            Some((class, _)) => Err(unknown(&format!("instances of {class:?}"))),
            None => Ok(()),
        }
    }
}

fn unknown(what: &str) -> RtiError {
    RtiError::internal(format!("the image has {what}, which do not fit the object model"))
}

/// The session of a federate that takes the place of a saved one.
pub(crate) struct RestoredSession {
    pub(crate) caller: CallerId,
    pub(crate) client: ClientId,
    pub(crate) objects_max: Option<usize>,
}

fn preferences<K: Ord + Copy>(all: &BTreeMap<K, Preference>) -> BTreeMap<K, PreferenceImage> {
    let image = |how: &Preference| (how.transportation, how.order.map(|order| order == OrderType::Timestamp));
    all.iter().map(|(&of, how)| (of, image(how))).collect()
}

fn restored_preferences<K: Ord>(all: BTreeMap<K, PreferenceImage>) -> BTreeMap<K, Preference> {
    let order = |in_time| if in_time { OrderType::Timestamp } else { OrderType::Receive };
    let restored =
        |(transportation, in_time): PreferenceImage| Preference { transportation, order: in_time.map(order) };
    all.into_iter().map(|(of, how)| (of, restored(how))).collect()
}

impl FederateImage {
    fn of(federate: &Federate, now: Moment) -> Self {
        Self {
            handle: federate.handle,
            switches: federate.switches,
            constrained: federate.constrained,
            unsubscribed: federate.unsubscribed,
            publications: federate.publications.clone(),
            subscriptions: federate.subscriptions.clone(),
            published_interactions: federate.published_interactions.clone(),
            subscribed_interactions: federate.subscribed_interactions.clone(),
            published_directed: federate.published_directed.clone(),
            subscribed_directed: federate.subscribed_directed.clone(),
            registration_on: federate.registration_on.clone(),
            interactions_on: federate.interactions_on.clone(),
            attribute_preferences: preferences(&federate.attribute_preferences),
            interaction_preferences: preferences(&federate.interaction_preferences),
            distribution: federate.distribution.clone(),
            counters: federate.counters.clone(),
            reduction: federate.reduction.image(now),
        }
    }

    fn restore(self, session: &RestoredSession, now: Moment) -> Federate {
        let mut federate = Federate::new(self.handle, session.caller, session.client, self.switches);
        federate.objects_max = session.objects_max;
        federate.constrained = self.constrained;
        federate.unsubscribed = self.unsubscribed;
        federate.publications = self.publications;
        federate.subscriptions = self.subscriptions;
        federate.published_interactions = self.published_interactions;
        federate.subscribed_interactions = self.subscribed_interactions;
        federate.published_directed = self.published_directed;
        federate.subscribed_directed = self.subscribed_directed;
        federate.registration_on = self.registration_on;
        federate.interactions_on = self.interactions_on;
        federate.attribute_preferences = restored_preferences(self.attribute_preferences);
        federate.interaction_preferences = restored_preferences(self.interaction_preferences);
        federate.distribution = self.distribution;
        federate.counters = self.counters;
        federate.reduction = Reduction::of_image(self.reduction, now);
        federate
    }

    /// Checks that the object model has the classes that the federate has declared.
    fn check(&self, model: &Fdd) -> Result<(), RtiError> {
        let objects = self.publications.keys().chain(self.subscriptions.keys());
        let mut objects =
            objects.chain(self.published_directed.keys()).chain(self.subscribed_directed.keys());
        if let Some(class) = objects.find(|&&class| model.object_class(class).is_none()) {
            return Err(unknown(&format!("declarations of {class:?}")));
        }
        let mut interactions = self.published_interactions.iter().chain(self.subscribed_interactions.keys());
        match interactions.find(|&&class| model.interaction_class(class).is_none()) {
            Some(class) => Err(unknown(&format!("declarations of {class:?}"))),
            None => Ok(()),
        }
    }
}

impl ObjectsImage {
    /// Whether an instance is deleted, at a time that some federate here has not come to.
    pub(crate) fn is_deleted(&self, instance: ObjectInstanceHandle) -> bool {
        self.deletions.contains_key(&instance)
    }

    /// Replaces the nodes of remote federates by those that are in their places now.
    ///
    /// # Errors
    /// One has no part.
    pub(crate) fn place(&mut self, placement: &Placement) -> Result<(), String> {
        for remote in self.remote_federates.values_mut() {
            remote.node = placed(placement, remote.node)?;
        }
        Ok(())
    }

    /// Checks that the image fits an object model, with its instances.
    ///
    /// # Errors
    /// `RTIinternalError`: a class or an update rate of the image is missing.
    pub(crate) fn check(&self, model: &Fdd, instances: &RestoredInstances) -> Result<(), RtiError> {
        if let Some(rate) = self.rates.iter().find(|rate| model.update_rate(rate).is_none()) {
            return Err(unknown(&format!("subscriptions at the update rate `{rate}`")));
        }
        self.federates.iter().try_for_each(|federate| federate.check(model))?;
        instances.check(model)
    }
}

impl Objects {
    /// The image, without the instances.
    pub(crate) fn image(&self, now: Moment) -> ObjectsImage {
        ObjectsImage {
            rates: self.rates.iter().map(|rate| rate.designator.clone()).collect(),
            federates: self.federates.values().map(|federate| FederateImage::of(federate, now)).collect(),
            deletions: self.deletions.clone(),
            offers: self.offers.image(),
            negotiations: self.negotiations.image(),
            requests: self.requests.image(),
            has_associated: self.has_associated,
            abandoned: self.abandoned,
            owned_elsewhere: self.owned_elsewhere.clone(),
            remote_federates: self.remote_federates.clone(),
        }
    }

    /// The images of the next instances, `max` at most.
    pub(crate) fn instance_images(&self, cursor: &mut Cursor, max: usize) -> Vec<InstanceImage> {
        let next = cursor.advance(&self.instances, max);
        next.into_iter().filter_map(|handle| Some(self.instances.get(handle)?.image())).collect()
    }

    /// Whether no request of a federate waits for an answer, nor any work for its turn.
    pub(crate) fn is_at_rest(&self) -> bool {
        self.is_settled() && !self.requests.is_waiting() && self.adoptions.is_empty()
    }

    /// Takes over an image that [fits](ObjectsImage::check) the object model, into a machine without
    /// federates and instances.
    pub(crate) fn take_image(
        &mut self,
        effects: &mut Effects,
        image: ObjectsImage,
        restored: RestoredInstances,
        sessions: &BTreeMap<FederateHandle, RestoredSession>,
    ) {
        for designator in &image.rates {
            let rate = self.rate(designator);
            debug_assert!(rate.is_ok(), "{rate:?}");
        }
        self.instances = restored.instances;
        self.instances.grow(&self.model);
        restored.with_regions.into_iter().for_each(|instance| self.index_regions(instance));
        restored.unowned.into_iter().for_each(|instance| self.count_unowned(instance));
        self.deletions = image.deletions;
        self.offers.take_image(&image.offers);
        self.negotiations.take_image(image.negotiations, effects.now);
        self.requests.take_image(image.requests, effects.now);
        self.has_associated = image.has_associated;
        self.abandoned = image.abandoned;
        self.owned_elsewhere = image.owned_elsewhere;
        self.remote_federates = image.remote_federates;
        self.remote_version += 1;
        for federate in image.federates {
            if let Some(session) = sessions.get(&federate.handle) {
                let now = effects.now;
                self.take_federate(effects, federate.restore(session, now));
            }
        }
    }

    /// Takes over the classes that this node has published to others, and goes on.
    pub(crate) fn go_on_publishing(&mut self, classes: impl Iterator<Item = PublishedClass>) {
        self.replicated = true;
        self.published = classes.collect();
    }

    fn take_federate(&mut self, effects: &mut Effects, federate: Federate) {
        let handle = federate.handle;
        self.declarations += federate.declarations();
        self.region_bytes += federate.distribution.bytes();
        let objects: Vec<_> = federate.subscriptions.keys().copied().collect();
        let interactions: Vec<_> = federate.subscribed_interactions.keys().copied().collect();
        let directed = !federate.subscribed_directed.is_empty();
        self.federates.insert(handle, federate);
        objects.into_iter().for_each(|class| self.cover_objects(effects, handle, class));
        interactions.into_iter().for_each(|class| self.cover_interactions(effects, handle, class));
        if directed {
            self.set_interest(effects, handle, PublishedClass::Directed, true);
        }
    }
}
