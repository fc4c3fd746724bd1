//! Federates of this process.

use std::time::Duration;

use bytes::Bytes;
use federate::hla::Exception;
use federate::hla::api::FomModule;
use federate::hla::handle::{
    AttributeHandle, FederateHandle, InteractionClassHandle, ObjectClassHandle, ObjectInstanceHandle,
    ParameterHandle,
};
use federate::{Callback, Callbacks, Federate, FederateError, Options, fom};

use super::{Server, soon};

/// The object model of these tests.
pub(crate) const RANGE: &str = include_str!("../range.xml");

/// The object model of these tests, as a module.
pub(crate) fn range() -> FomModule {
    fom::content("range.xml", RANGE)
}

/// How to reach `address`, with quick tries to resume.
pub(crate) fn options(address: &str) -> Options {
    let mut options = Options::new(address);
    options.session.retry_delay = Duration::from_millis(20);
    options
}

/// A connected federate.
pub(crate) async fn connect(server: &Server) -> (Federate, Callbacks) {
    soon(Federate::connect(options(server.address()))).await.expect("the server takes a federate")
}

/// The handles of the names in the model.
#[derive(Clone, Copy)]
pub(crate) struct Model {
    pub(crate) aircraft: ObjectClassHandle,
    pub(crate) identifier: AttributeHandle,
    pub(crate) spatial: AttributeHandle,
    pub(crate) fire: InteractionClassHandle,
    pub(crate) event: ParameterHandle,
    pub(crate) sweep: InteractionClassHandle,
    pub(crate) echo: ParameterHandle,
}

/// A joined federate.
pub(crate) struct Member {
    pub(crate) federate: Federate,
    pub(crate) callbacks: Callbacks,
    pub(crate) handle: FederateHandle,
    pub(crate) model: Model,
}

/// A federate that has joined `federation` as `name`, and created it unless somebody had.
pub(crate) async fn create_and_join(options: Options, federation: &str, name: &str) -> Member {
    let (federate, callbacks) = soon(Federate::connect(options)).await.expect("the server takes a federate");
    match soon(federate.create_federation_execution(federation, range())).await {
        Err(error) if !error.is(Exception::FederationExecutionAlreadyExists) => panic!("{error}"),
        _ => {}
    }
    join(federate, callbacks, federation, name).await.expect("it can join")
}

/// A federate at `server` that has joined `federation` as `name`, and publishes and subscribes to everything.
pub(crate) async fn member_of(server: &Server, federation: &str, name: &str) -> Member {
    let member = create_and_join(options(server.address()), federation, name).await;
    member.declare_all().await;
    member
}

/// Joins, and looks the model up.
pub(crate) async fn join(
    federate: Federate,
    callbacks: Callbacks,
    federation: &str,
    name: &str,
) -> Result<Member, FederateError> {
    let joined = soon(federate.join_federation_execution_with_name(name, "e2e", federation)).await?;
    let aircraft = federate.get_object_class_handle("BaseEntity.Aircraft").await?;
    let fire = federate.get_interaction_class_handle("WeaponFire").await?;
    let sweep = federate.get_interaction_class_handle("RadarSweep").await?;
    let model = Model {
        aircraft,
        identifier: federate.get_attribute_handle(aircraft, "EntityIdentifier").await?,
        spatial: federate.get_attribute_handle(aircraft, "Spatial").await?,
        fire,
        event: federate.get_parameter_handle(fire, "EventIdentifier").await?,
        sweep,
        echo: federate.get_parameter_handle(sweep, "Echo").await?,
    };
    Ok(Member { federate, callbacks, handle: joined.federate_handle.unwrap_or_default(), model })
}

impl Member {
    /// Publishes and subscribes to everything of the model.
    pub(crate) async fn declare_all(&self) {
        let (federate, model) = (&self.federate, &self.model);
        let attributes = [model.identifier, model.spatial];
        for call in [
            federate.publish_object_class_attributes(model.aircraft, attributes),
            federate.subscribe_object_class_attributes(model.aircraft, attributes),
            federate.publish_interaction_class(model.fire),
            federate.subscribe_interaction_class(model.fire),
            federate.publish_interaction_class(model.sweep),
            federate.subscribe_interaction_class(model.sweep),
        ] {
            soon(call).await.expect("the model has it");
        }
    }

    /// The first callback that `pick` wants; what comes before it is dropped.
    pub(crate) async fn until<T>(&mut self, what: &str, mut pick: impl FnMut(Callback) -> Option<T>) -> T {
        soon(async {
            while let Some(callback) = self.callbacks.recv().await {
                if let Some(wanted) = pick(callback) {
                    return wanted;
                }
            }
            panic!("{what}: the session ended first");
        })
        .await
    }

    /// The next instance it discovers, and its name.
    pub(crate) async fn discovers(&mut self) -> (ObjectInstanceHandle, String) {
        self.until("discovery", |callback| match callback {
            Callback::DiscoverObjectInstance(found) => {
                Some((found.object_instance.unwrap_or_default(), found.object_instance_name))
            }
            _ => None,
        })
        .await
    }

    /// The number in the tag of the next interaction.
    pub(crate) async fn receives(&mut self) -> u32 {
        self.until("interaction", |callback| match callback {
            Callback::ReceiveInteraction(received) => Some(number(&received.user_supplied_tag)),
            _ => None,
        })
        .await
    }

    /// The number in the tag of the next reflection of `instance`.
    pub(crate) async fn reflects(&mut self, instance: ObjectInstanceHandle) -> u32 {
        self.until("reflection", |callback| match callback {
            Callback::ReflectAttributeValues(r) if r.object_instance == Some(instance) => {
                Some(number(&r.user_supplied_tag))
            }
            _ => None,
        })
        .await
    }

    /// Waits until `instance` is removed.
    pub(crate) async fn sees_removal(&mut self, instance: ObjectInstanceHandle) {
        self.until("removal", |callback| match callback {
            Callback::RemoveObjectInstance(r) if r.object_instance == Some(instance) => Some(()),
            _ => None,
        })
        .await;
    }

    /// Waits until it is told that its connection is lost, and why.
    pub(crate) async fn loses_connection(&mut self) -> String {
        self.until("end", |callback| match callback {
            Callback::ConnectionLost(lost) => Some(lost.fault_description),
            _ => None,
        })
        .await
    }

    /// Registers an aircraft.
    pub(crate) async fn registers(&self) -> ObjectInstanceHandle {
        soon(self.federate.register_object_instance(self.model.aircraft)).await.expect("it is published")
    }

    /// Updates the reliable attribute of `instance`, with a number as value and tag.
    pub(crate) async fn update(&self, instance: ObjectInstanceHandle, n: u32) {
        let values = [(self.model.identifier, tag(n))];
        soon(self.federate.update_attribute_values(instance, values, tag(n))).await.expect("it owns it");
    }

    /// Sends a reliable interaction with a number in its tag.
    pub(crate) async fn fire(&self, n: u32) {
        let values = [(self.model.event, Bytes::from_static(b"event"))];
        soon(self.federate.send_interaction(self.model.fire, values, tag(n))).await.expect("it is published");
    }
}

/// Numbers from here on are greetings.
const GREETING: u32 = 1_000_000;

/// Waits until the listener hears the speaker, and then everything that it took: before what the one subscribes is known where the
/// other is, nothing is sent. Other subscribers may hear several greetings.
pub(crate) async fn heard_by(speaker: &Member, listener: &mut Member) {
    for greeting in GREETING.. {
        speaker.fire(greeting).await;
        let hears = async { while listener.receives().await != greeting {} };
        if tokio::time::timeout(Duration::from_millis(200), hears).await.is_ok() {
            return;
        }
    }
}

/// A number as a tag.
pub(crate) fn tag(number: u32) -> Bytes {
    Bytes::copy_from_slice(&number.to_be_bytes())
}

/// The number that is a tag.
pub(crate) fn number(tag: &Bytes) -> u32 {
    u32::from_be_bytes(tag[..].try_into().expect("these tags have four octets"))
}
