//! One of the two federates, which speaks and hears in one way.

use bytes::Bytes;
use federate::{Callback, Callbacks, Federate, LogicalClock, Updates};
use hla::api::{
    AttributeHandleValueMap, JoinResult, ParameterHandleValueMap, RangeBounds,
    SendDirectedInteractionRequest, SendDirectedInteractionWithTimeRequest, SendInteractionRequest,
    SendInteractionWithRegionsAndTimeRequest, SendInteractionWithRegionsRequest,
    SendInteractionWithTimeRequest, SetRangeBoundsRequest, UpdateAttributeValuesRequest,
    UpdateAttributeValuesWithTimeRequest,
};
use hla::handle::{
    AttributeHandle, DimensionHandle, FederateHandle, InteractionClassHandle, ObjectClassHandle,
    ObjectInstanceHandle, ParameterHandle, RegionHandle,
};
use hla::time::{LogicalTime, LogicalTimeInterval};

use super::way::{Bundling, Ddm, Kind, Order, Way};
use crate::access::measured_options;
use crate::edition::module;
use crate::error::BenchError;
use crate::member::leave;
use crate::server::Server;

/// The object model of the exchange.
const FOM: &str = include_str!("../../foms/MeshRTI-Latency.xml");
/// The upper bound of its dimension.
const PLACES: u32 = 1_000_000_000;
/// Number of calls that are made together.
const TOGETHER: usize = 1_000;
/// Regions for interactions, if each has one of its own: they take turns.
const INTERACTION_REGIONS: usize = 100;

/// The two federates.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Party {
    /// Sends queries.
    Asker,
    /// Answers them.
    Answerer,
}

/// The classes of one party.
#[derive(Clone, Copy, Debug)]
struct Classes {
    object: ObjectClassHandle,
    /// `Data` and `Time`.
    attributes: [AttributeHandle; 2],
    interaction: InteractionClassHandle,
    parameters: [ParameterHandle; 2],
}

impl Classes {
    async fn of(federate: &Federate, name: &str, way: Way) -> Result<Self, BenchError> {
        let suffix = way.suffix();
        let object = federate.get_object_class_handle(format!("HLAobjectRoot.{name}")).await?;
        let attributes = [
            federate.get_attribute_handle(object, format!("Data{suffix}")).await?,
            federate.get_attribute_handle(object, format!("Time{suffix}")).await?,
        ];
        let interaction =
            federate.get_interaction_class_handle(format!("HLAinteractionRoot.{name}{suffix}")).await?;
        let parameters = [
            federate.get_parameter_handle(interaction, "Data").await?,
            federate.get_parameter_handle(interaction, "Time").await?,
        ];
        Ok(Self { object, attributes, interaction, parameters })
    }

    /// The meaning of a callback, if these are the classes of the other party.
    fn hear(&self, callback: Callback) -> Result<Heard, BenchError> {
        let message = |object, sender, values: Option<Values>| {
            let wrong = || BenchError::Nonsense("a message without the values that were sent".to_owned());
            values.map(|values| Heard::Message(Message { object, sender, values })).ok_or_else(wrong)
        };
        match callback {
            Callback::ReflectAttributeValues(reflect) => message(
                reflect.object_instance,
                reflect.producing_federate,
                self.updated(reflect.attribute_values),
            ),
            Callback::ReflectAttributeValuesWithTime(reflect) => message(
                reflect.object_instance,
                reflect.producing_federate,
                self.updated(reflect.attribute_values),
            ),
            Callback::ReceiveInteraction(received) => {
                message(None, received.producing_federate, self.sent(received.parameter_values))
            }
            Callback::ReceiveInteractionWithTime(received) => {
                message(None, received.producing_federate, self.sent(received.parameter_values))
            }
            Callback::ReceiveDirectedInteraction(received) => message(
                received.object_instance,
                received.producing_federate,
                self.sent(received.parameter_values),
            ),
            Callback::ReceiveDirectedInteractionWithTime(received) => message(
                received.object_instance,
                received.producing_federate,
                self.sent(received.parameter_values),
            ),
            Callback::DiscoverObjectInstance(found) if found.object_class == Some(self.object) => {
                let object = |object| Heard::Object(object, found.producing_federate);
                Ok(found.object_instance.map_or(Heard::Nothing, object))
            }
            Callback::FederateResigned(resigned) => {
                Err(BenchError::Resigned(resigned.reason_for_resign_description))
            }
            _ => Ok(Heard::Nothing),
        }
    }

    fn updated(&self, values: Option<AttributeHandleValueMap>) -> Option<Values> {
        let values = values?.attribute_handle_value.into_iter();
        let pairs = values.filter_map(|value| Some((value.attribute_handle?, value.value)));
        both(self.attributes, pairs)
    }

    fn sent(&self, values: Option<ParameterHandleValueMap>) -> Option<Values> {
        let values = values?.parameter_handle_value.into_iter();
        let pairs = values.filter_map(|value| Some((value.parameter_handle?, value.value)));
        both(self.parameters, pairs)
    }
}

/// The content of a message.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Values {
    pub(super) data: Bytes,
    pub(super) time: Bytes,
}

/// A message of the other party.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Message {
    /// The object that was updated or to which it is directed.
    pub(super) object: Option<ObjectInstanceHandle>,
    /// The federate that sent it.
    pub(super) sender: Option<FederateHandle>,
    pub(super) values: Values,
}

/// The meaning of a callback.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Heard {
    /// An object of the other party, and the federate that registered it.
    Object(ObjectInstanceHandle, Option<FederateHandle>),
    /// A message.
    Message(Message),
    /// Anything else.
    Nothing,
}

/// A joined federate.
pub(super) struct Side {
    pub(super) federate: Federate,
    pub(super) callbacks: Callbacks,
    pub(super) updates: Updates,
    way: Way,
    own: Classes,
    other: Classes,
    place: DimensionHandle,
    /// The region of all objects, or those of interactions.
    regions: Vec<RegionHandle>,
    /// The number of interactions sent, which chooses among the regions.
    sent: usize,
    /// In time-stamp order.
    pub(super) clock: Option<LogicalClock>,
}

impl Side {
    /// Creates the federation execution.
    pub(super) async fn create(
        server: &Server,
        federation: &str,
    ) -> Result<(Federate, Callbacks), BenchError> {
        let (federate, callbacks) = Federate::connect(measured_options(server.address())?).await?;
        let module = module("MeshRTI-Latency.xml", FOM, server.edition());
        federate.create_federation_execution(federation, module).await?;
        Ok((federate, callbacks))
    }

    /// Connects.
    pub(super) async fn connect(server: &str) -> Result<(Federate, Callbacks), BenchError> {
        Ok(Federate::connect(measured_options(server)?).await?)
    }

    /// Joins, publishes and subscribes.
    pub(super) async fn join(
        (federate, callbacks): (Federate, Callbacks),
        federation: &str,
        way: Way,
        party: Party,
    ) -> Result<Self, BenchError> {
        let joined = federate.join_federation_execution("bench", federation).await?;
        let query = Classes::of(&federate, "Query", way).await?;
        let reply = Classes::of(&federate, "Reply", way).await?;
        let (own, other) = match party {
            Party::Asker => (query, reply),
            Party::Answerer => (reply, query),
        };
        let place = federate.get_dimension_handle("Place").await?;
        let updates = federate.updates();
        let regions = Vec::new();
        let mut side =
            Self { federate, callbacks, updates, way, own, other, place, regions, sent: 0, clock: None };
        side.declare().await?;
        if way.order == Order::TimeStamp {
            side.start_clock(&joined).await?;
        }
        Ok(side)
    }

    async fn declare(&mut self) -> Result<(), BenchError> {
        let (federate, own, other) = (&self.federate, self.own, self.other);
        let everywhere = match self.way.ddm {
            Ddm::Off => None,
            _ => Some(self.create_regions(&[(0, PLACES)]).await?[0]),
        };
        if self.way.kind != Kind::Interaction {
            federate.publish_object_class_attributes(own.object, own.attributes).await?;
            match everywhere {
                None => federate.subscribe_object_class_attributes(other.object, other.attributes).await?,
                Some(region) => {
                    let pairs = [(other.attributes.to_vec(), vec![region])];
                    federate
                        .subscribe_object_class_attributes_with_regions(other.object, pairs, true)
                        .await?;
                }
            }
        }
        match self.way.kind {
            Kind::Update => {}
            Kind::Interaction => {
                federate.publish_interaction_class(own.interaction).await?;
                match everywhere {
                    None => federate.subscribe_interaction_class(other.interaction).await?,
                    Some(region) => {
                        federate
                            .subscribe_interaction_class_with_regions(other.interaction, true, [region])
                            .await?;
                    }
                }
            }
            // A message is directed to an object of the other party, and heard by its owner.
            Kind::Directed => {
                federate.publish_object_class_directed_interactions(other.object, [own.interaction]).await?;
                federate
                    .subscribe_object_class_directed_interactions(own.object, [other.interaction])
                    .await?;
            }
        }
        self.regions = match (self.way.ddm, self.way.kind) {
            (Ddm::Off, _) | (Ddm::RegionPerObject, Kind::Update | Kind::Directed) => Vec::new(),
            (Ddm::OneRegion, _) => self.create_regions(&[(0, PLACES)]).await?,
            (Ddm::RegionPerObject, Kind::Interaction) => {
                self.create_regions(&places(0, INTERACTION_REGIONS)).await?
            }
        };
        Ok(())
    }

    async fn start_clock(&mut self, joined: &JoinResult) -> Result<(), BenchError> {
        let mut clock = LogicalClock::new(&self.federate, joined)?;
        clock.regulate(one_step()?, &mut self.callbacks, |_| {}).await?;
        clock.constrain(&mut self.callbacks, |_| {}).await?;
        self.clock = Some(clock);
        Ok(())
    }

    /// The time stamp of the next message.
    pub(super) fn next_step(&self) -> Result<Option<LogicalTime>, BenchError> {
        let Some(clock) = &self.clock else { return Ok(None) };
        Ok(Some(clock.now().add(one_step()?)?))
    }

    async fn create_regions(&self, places: &[(u32, u32)]) -> Result<Vec<RegionHandle>, BenchError> {
        let mut regions = Vec::with_capacity(places.len());
        for some in places.chunks(TOGETHER) {
            let calls: Vec<_> = some.iter().map(|_| self.federate.create_region([self.place])).collect();
            let first = regions.len();
            for (call, &(lower, upper)) in calls.into_iter().zip(some) {
                let region = call.await?;
                regions.push(region);
                let bounds = SetRangeBoundsRequest {
                    region: Some(region),
                    dimension: Some(self.place),
                    range_bounds: Some(RangeBounds { lower, upper }),
                };
                self.updates.send(bounds).await?;
            }
            self.updates.drained().await?;
            self.federate.commit_region_modifications(regions[first..].iter().copied()).await?;
        }
        Ok(regions)
    }

    /// Registers `count` more objects; `first` of them are there already.
    pub(super) async fn register(
        &self,
        first: usize,
        count: usize,
    ) -> Result<Vec<ObjectInstanceHandle>, BenchError> {
        let mut objects = Vec::with_capacity(count);
        while objects.len() < count {
            let some = (count - objects.len()).min(TOGETHER);
            let regions = match self.way.ddm {
                Ddm::RegionPerObject => self.create_regions(&places(first + objects.len(), some)).await?,
                Ddm::OneRegion => vec![self.regions[0]; some],
                Ddm::Off => Vec::new(),
            };
            let calls: Vec<_> = (0..some)
                .map(|at| match regions.get(at) {
                    None => self.federate.register_object_instance(self.own.object),
                    Some(region) => {
                        let pairs = [(self.own.attributes.to_vec(), vec![*region])];
                        self.federate.register_object_instance_with_regions(self.own.object, pairs)
                    }
                })
                .collect();
            for call in calls {
                objects.push(call.await?);
            }
        }
        Ok(objects)
    }

    /// Sends a message: updates `own`, or directs an interaction to `other`.
    pub(super) async fn send(
        &mut self,
        own: Option<ObjectInstanceHandle>,
        other: Option<ObjectInstanceHandle>,
        values: Values,
        at: Option<LogicalTime>,
    ) -> Result<(), BenchError> {
        match self.way.kind {
            Kind::Update => self.update(own, values, at).await?,
            Kind::Interaction | Kind::Directed => {
                let parameters = self.own.parameters.into_iter().zip([values.data, values.time]);
                self.send_interaction(other, Some(parameters.collect()), at).await?;
            }
        }
        if self.way.bundling == Bundling::Off {
            self.updates.flush();
        }
        Ok(())
    }

    async fn update(
        &mut self,
        own: Option<ObjectInstanceHandle>,
        values: Values,
        at: Option<LogicalTime>,
    ) -> Result<(), BenchError> {
        let values = self.own.attributes.into_iter().zip([values.data, values.time]);
        let (attribute_values, user_supplied_tag) = (Some(values.collect()), Bytes::new());
        let sent = match at {
            None => {
                let request = UpdateAttributeValuesRequest {
                    object_instance: own,
                    attribute_values,
                    user_supplied_tag,
                };
                self.updates.send(request).await
            }
            Some(time) => {
                let request = UpdateAttributeValuesWithTimeRequest {
                    object_instance: own,
                    attribute_values,
                    user_supplied_tag,
                    time: Some(time.into()),
                };
                self.updates.send(request).await
            }
        };
        Ok(sent?)
    }

    async fn send_interaction(
        &mut self,
        object_instance: Option<ObjectInstanceHandle>,
        parameter_values: Option<ParameterHandleValueMap>,
        at: Option<LogicalTime>,
    ) -> Result<(), BenchError> {
        let (interaction_class, user_supplied_tag) = (Some(self.own.interaction), Bytes::new());
        self.sent += 1;
        let regions = match self.regions.len() {
            0 => None,
            count => Some([self.regions[self.sent % count]].into_iter().collect()),
        };
        let (updates, time) = (&self.updates, at.map(Into::into));
        let sent = match (self.way.kind == Kind::Directed, regions, time.is_some()) {
            (true, _, false) => {
                let request = SendDirectedInteractionRequest {
                    interaction_class,
                    object_instance,
                    parameter_values,
                    user_supplied_tag,
                };
                updates.send(request).await
            }
            (true, _, true) => {
                let request = SendDirectedInteractionWithTimeRequest {
                    interaction_class,
                    object_instance,
                    parameter_values,
                    user_supplied_tag,
                    time,
                };
                updates.send(request).await
            }
            (false, None, false) => {
                let request =
                    SendInteractionRequest { interaction_class, parameter_values, user_supplied_tag };
                updates.send(request).await
            }
            (false, None, true) => {
                let request = SendInteractionWithTimeRequest {
                    interaction_class,
                    parameter_values,
                    user_supplied_tag,
                    time,
                };
                updates.send(request).await
            }
            (false, regions, false) => {
                let request = SendInteractionWithRegionsRequest {
                    interaction_class,
                    parameter_values,
                    regions,
                    user_supplied_tag,
                };
                updates.send(request).await
            }
            (false, regions, true) => {
                let request = SendInteractionWithRegionsAndTimeRequest {
                    interaction_class,
                    parameter_values,
                    regions,
                    user_supplied_tag,
                    time,
                };
                updates.send(request).await
            }
        };
        Ok(sent?)
    }

    /// The meaning of a callback.
    pub(super) fn hear(&self, callback: Callback) -> Result<Heard, BenchError> {
        self.other.hear(callback)
    }

    /// Resigns, and destroys the federation execution if nobody is left in it.
    pub(super) async fn leave(self, federation: &str) -> Result<(), BenchError> {
        let Self { federate, callbacks, .. } = self;
        leave(federate, callbacks, federation).await
    }
}

/// The values of two handles.
fn both<H: PartialEq>([data, time]: [H; 2], pairs: impl Iterator<Item = (H, Bytes)>) -> Option<Values> {
    let (mut data_value, mut time_value) = (None, None);
    for (handle, value) in pairs {
        if handle == data {
            data_value = Some(value);
        } else if handle == time {
            time_value = Some(value);
        }
    }
    Some(Values { data: data_value?, time: time_value? })
}

/// The regions of `count` objects that have one each, from the object `first`: no two are at one
/// place.
fn places(first: usize, count: usize) -> Vec<(u32, u32)> {
    (first..first + count).map(|object| object as u32 % PLACES).map(|at| (at, at + 1)).collect()
}

fn one_step() -> Result<LogicalTimeInterval, BenchError> {
    Ok(LogicalTimeInterval::float64(1.0)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_has_both_values_in_any_order() {
        let value = |text: &'static str| Bytes::from_static(text.as_bytes());
        let found = both([1, 2], [(2, value("t")), (3, value("x")), (1, value("d"))].into_iter());
        assert_eq!(found, Some(Values { data: value("d"), time: value("t") }));
        assert_eq!(both([1, 2], [(1, value("d"))].into_iter()), None);
    }

    #[test]
    fn callbacks_mean_messages_objects_or_the_end() {
        use hla::api::{
            AttributeHandleValue, DiscoverObjectInstance, FederateResigned, ReflectAttributeValues,
        };

        let classes = Classes {
            object: ObjectClassHandle(1),
            attributes: [AttributeHandle(2), AttributeHandle(3)],
            interaction: InteractionClassHandle(4),
            parameters: [ParameterHandle(5), ParameterHandle(6)],
        };
        let reflect = |handles: &[u64]| {
            let value = |handle: &u64| AttributeHandleValue {
                attribute_handle: Some(AttributeHandle(*handle as _)),
                value: Bytes::from_static(b"v"),
            };
            let values =
                AttributeHandleValueMap { attribute_handle_value: handles.iter().map(value).collect() };
            classes.hear(Callback::ReflectAttributeValues(ReflectAttributeValues {
                attribute_values: Some(values),
                ..Default::default()
            }))
        };
        let value = Bytes::from_static(b"v");
        let values = Values { data: value.clone(), time: value };
        let heard = Message { object: None, sender: None, values };
        assert_eq!(reflect(&[2, 3]).unwrap(), Heard::Message(heard));
        assert!(matches!(reflect(&[2]), Err(BenchError::Nonsense(_))), "a value is missing");

        let found = |class| {
            let object_instance = Some(ObjectInstanceHandle(9));
            let object_class = Some(ObjectClassHandle(class));
            let found = DiscoverObjectInstance { object_instance, object_class, ..Default::default() };
            classes.hear(Callback::DiscoverObjectInstance(found)).unwrap()
        };
        assert_eq!(found(1), Heard::Object(ObjectInstanceHandle(9), None));
        assert_eq!(found(7), Heard::Nothing, "of another class");

        let resigned = FederateResigned { reason_for_resign_description: "by hand".to_owned() };
        let error = classes.hear(Callback::FederateResigned(resigned)).unwrap_err();
        assert_eq!(error.to_string(), "the server resigned the federate: by hand");
    }
}
