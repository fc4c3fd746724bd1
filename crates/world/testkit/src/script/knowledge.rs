//! The knowledge of a federate from its answers and callbacks.

use super::regions::Regions;
use crate::draw::Draw;
use crate::fom;
use crate::options::Options;
use crate::request::{attributes, joined_handle, registered};
use bytes::{BufMut, Bytes, BytesMut};
use hla::api::call_request::CallRequest as Call;
use hla::api::call_response::CallResponse as Answer;
use hla::api::callback_request::CallbackRequest as Callback;
use hla::fom::Fdd;
use hla::handle::{
    AttributeHandle, FederateHandle, InteractionClassHandle, ObjectClassHandle, ObjectInstanceHandle,
};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The standing of a federate.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Standing {
    /// Not connected to the RTI.
    Alone,
    /// Connected.
    Connected,
    /// Joined.
    Joined(FederateHandle),
}

/// The knowledge of a federate.
#[derive(Clone, Debug)]
pub struct Knowledge {
    /// The object model for which it was built.
    pub model: Arc<Fdd>,
    /// The module of that model as XML.
    pub module: Bytes,
    /// Its standing.
    pub standing: Standing,
    /// The federation it belongs to.
    pub federation: String,
    /// Names of all federations of the run.
    pub federations: Vec<String>,
    /// The number of its host, which is part of every stamp.
    pub host: u32,
    /// Number of stamps given out.
    pub stamps: u32,
    /// Largest padding of a value in octets.
    pub padding: u64,
    /// Percentage of calls to make wrongly.
    pub mistakes: u64,
    /// Classes that it has published, as far as it remembers.
    pub published: BTreeSet<ObjectClassHandle>,
    /// Attributes that it has published.
    pub published_attributes: BTreeSet<(ObjectClassHandle, AttributeHandle)>,
    /// Interaction classes that it has published.
    pub published_interactions: BTreeSet<InteractionClassHandle>,
    /// Instances that it registered, with their classes.
    pub own: BTreeMap<ObjectInstanceHandle, ObjectClassHandle>,
    /// Instances of others that it knows, with their known classes.
    pub others: BTreeMap<ObjectInstanceHandle, ObjectClassHandle>,
    /// Instances that it once knew.
    pub gone: Vec<ObjectInstanceHandle>,
    /// Names that it has reserved.
    pub reserved: BTreeSet<String>,
    /// Synchronization points announced to it.
    pub announced: BTreeSet<String>,
    /// Federates that it has heard of.
    pub peers: BTreeSet<FederateHandle>,
    /// Its regions.
    pub regions: Regions,
}

impl Knowledge {
    /// The knowledge of every federate of a run at its start.
    pub(crate) fn new(options: &Options) -> Self {
        let federations: Vec<_> =
            (0..options.federations).map(|number| format!("federation {number}")).collect();
        let module = options.module.clone().unwrap_or_else(|| fom::module(&options.switches));
        Self {
            model: Arc::new(fom::of_module(&module)),
            module: module.into(),
            standing: Standing::Alone,
            federation: federations[0].clone(),
            federations,
            host: 0,
            stamps: 0,
            padding: options.padding,
            mistakes: options.mistakes,
            published: BTreeSet::new(),
            published_attributes: BTreeSet::new(),
            published_interactions: BTreeSet::new(),
            own: BTreeMap::new(),
            others: BTreeMap::new(),
            gone: Vec::new(),
            reserved: BTreeSet::new(),
            announced: BTreeSet::new(),
            peers: BTreeSet::new(),
            regions: Regions::default(),
        }
    }

    /// The next stamp: the federate's host and a counter. So every message of a run is unique and
    /// identifies its sender.
    pub fn stamp(&mut self) -> Bytes {
        self.stamps += 1;
        let mut stamp = BytesMut::with_capacity(8);
        stamp.put_u32(self.host);
        stamp.put_u32(self.stamps);
        stamp.freeze()
    }

    /// A value that starts with `stamp`.
    pub fn value(&self, stamp: &Bytes, draw: &mut Draw) -> Bytes {
        let mut value = BytesMut::from(&stamp[..]);
        value.resize(8 + draw.between(0, self.padding) as usize, 0x5a);
        value.freeze()
    }

    /// An object class of the run's model.
    pub fn object_class(&self, draw: &mut Draw) -> ObjectClassHandle {
        if draw.chance(self.mistakes / 4) {
            return ObjectClassHandle(draw.below(2_000) as u32);
        }
        let names: Vec<_> = fom::object_class_names().collect();
        draw.pick(&names).and_then(|name| self.model.object_class_by_name(name)).unwrap_or_default()
    }

    /// A class of the management object model.
    pub fn managed_class(&self, draw: &mut Draw) -> ObjectClassHandle {
        let name = draw.pick(&["HLAfederate", "HLAfederation"]).copied().unwrap_or_default();
        self.model.object_class_by_name(&format!("HLAobjectRoot.HLAmanager.{name}")).unwrap_or_default()
    }

    /// An interaction class of the run's model.
    pub fn interaction_class(&self, draw: &mut Draw) -> InteractionClassHandle {
        if draw.chance(self.mistakes / 4) {
            return InteractionClassHandle(draw.below(2_000) as u32);
        }
        let names: Vec<_> = fom::interaction_class_names().collect();
        draw.pick(&names).and_then(|name| self.model.interaction_class_by_name(name)).unwrap_or_default()
    }

    /// Some attributes of `class`.
    pub fn attributes(&self, class: ObjectClassHandle, draw: &mut Draw) -> Vec<AttributeHandle> {
        let all = self.model.object_class(class).map(|class| class.attributes.clone()).unwrap_or_default();
        let mut some = draw.some(&all);
        if draw.chance(self.mistakes / 4) {
            some.push(AttributeHandle(draw.below(1_000) as u32));
        }
        some
    }

    /// Some of the attributes of `class` that it has published.
    pub fn owned(&self, class: ObjectClassHandle, draw: &mut Draw) -> Vec<AttributeHandle> {
        let of = self.published_attributes.iter().filter(|(at, _)| *at == class);
        draw.some(&of.map(|&(_, attribute)| attribute).collect::<Vec<_>>())
    }

    /// Whether it has published an attribute of `class`, as far as it remembers.
    pub fn is_published(&self, class: ObjectClassHandle, attribute: AttributeHandle) -> bool {
        self.published_attributes.contains(&(class, attribute))
    }

    /// An instance that the federate knows, or (by mistake) one that it does not know, with a class
    /// for it.
    pub fn instance(&self, draw: &mut Draw) -> Option<(ObjectInstanceHandle, ObjectClassHandle)> {
        if draw.chance(self.mistakes) {
            let gone = draw.pick(&self.gone).copied();
            return Some((gone.unwrap_or(ObjectInstanceHandle(7)), self.object_class(draw)));
        }
        let own = draw.chance(60) && !self.own.is_empty() || self.others.is_empty();
        let instances: Vec<_> = if own { &self.own } else { &self.others }.iter().collect();
        draw.pick(&instances).map(|&(&instance, &class)| (instance, class))
    }

    /// Learns from the answer to `request`.
    pub fn learn_answer(&mut self, request: &Call, answer: &Answer) {
        match (request, answer) {
            (Call::ConnectRequest(_), Answer::ExceptionData(data))
                if data.exception_name == "AlreadyConnected" =>
            {
                self.standing = Standing::Connected;
            }
            (_, Answer::ExceptionData(_)) => {}
            (Call::ConnectRequest(_), _) => self.standing = Standing::Connected,
            (Call::DisconnectRequest(_), _) => self.standing = Standing::Alone,
            (Call::ResignFederationExecutionRequest(_), _) => self.forget_federation(),
            (Call::RegisterObjectInstanceWithNameRequest(q), _) => {
                self.reserved.remove(&q.object_instance_name);
            }
            (Call::RegisterObjectInstanceWithNameAndRegionsRequest(q), _) => {
                self.reserved.remove(&q.object_instance_name);
            }
            (Call::DeleteObjectInstanceRequest(q), _) => self.lost(q.object_instance),
            (Call::LocalDeleteObjectInstanceRequest(q), _) => {
                // The instance may have been discovered again already.
                self.gone.extend(q.object_instance);
                self.regions.lost(q.object_instance.unwrap_or_default());
            }
            (Call::PublishObjectClassAttributesRequest(q), _) => {
                self.published.extend(q.object_class);
                let class = q.object_class.unwrap_or_default();
                let listed = attributes(&q.attributes).iter().map(|&attribute| (class, attribute));
                self.published_attributes.extend(listed);
            }
            (Call::PublishInteractionClassRequest(q), _) => {
                self.published_interactions.extend(q.interaction_class);
            }
            (Call::ReleaseObjectInstanceNameRequest(q), _) => {
                self.reserved.remove(&q.object_instance_name);
            }
            _ => {}
        }
        if !matches!(answer, Answer::ExceptionData(_)) {
            self.regions.learn(request, answer);
        }
        if let Some(handle) = joined_handle(answer) {
            self.standing = Standing::Joined(handle);
        }
        self.own.extend(registered(request, answer).map(|(class, instance)| (instance, class)));
    }

    /// Learns from a callback.
    pub fn learn_callback(&mut self, callback: &Callback) {
        match callback {
            Callback::DiscoverObjectInstance(c) => {
                if let (Some(instance), Some(class)) = (c.object_instance, c.object_class) {
                    self.others.insert(instance, class);
                }
                self.peers.extend(c.producing_federate.filter(|producer| producer.is_valid()));
            }
            Callback::RemoveObjectInstance(c) => self.lost(c.object_instance),
            Callback::AnnounceSynchronizationPoint(c) => {
                self.announced.insert(c.synchronization_point_label.clone());
            }
            Callback::FederationSynchronized(c) => {
                self.announced.remove(&c.synchronization_point_label);
            }
            Callback::ObjectInstanceNameReservationSucceeded(c) => {
                self.reserved.insert(c.object_instance_name.clone());
            }
            Callback::MultipleObjectInstanceNameReservationSucceeded(c) => {
                self.reserved.extend(c.object_instance_names.iter().cloned());
            }
            _ => {}
        }
    }

    fn lost(&mut self, instance: Option<ObjectInstanceHandle>) {
        let Some(instance) = instance else { return };
        self.own.remove(&instance);
        self.others.remove(&instance);
        self.regions.lost(instance);
        self.gone.push(instance);
    }

    /// Records that the federate is no longer joined.
    pub fn forget_federation(&mut self) {
        self.standing = Standing::Connected;
        self.published.clear();
        self.published_attributes.clear();
        self.published_interactions.clear();
        self.own.clear();
        self.others.clear();
        self.gone.clear();
        self.reserved.clear();
        self.announced.clear();
        self.peers.clear();
        self.regions = Regions::default();
    }
}
