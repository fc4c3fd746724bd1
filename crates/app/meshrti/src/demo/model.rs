//! The object model of the demo in a federate: handles in place of names, and a joined federate
//! that has them.

use std::time::Duration;

use bytes::Bytes;
use federate::{Callbacks, Federate, FederateError, Options, fom};
use hla::api::ResignAction;
use hla::encoding::{AsciiString, Encode as _, EncoderError};
use hla::handle::{
    AttributeHandle, InteractionClassHandle, ObjectClassHandle, ObjectInstanceHandle, ParameterHandle,
};

use super::motion::State;
use super::stamp::Stamps;
use super::world::Position;
use console::exit::Failure;

/// The federation execution that all federates of the demo join.
pub(super) const FEDERATION: &str = "MeshRTI Demo";

const FOM: &str = include_str!("../../foms/MeshRTI-Demo.xml");

/// The names of classes, without the path.
pub(super) const AIRCRAFT: &str = "Aircraft";
pub(super) const GROUND_VEHICLE: &str = "GroundVehicle";
pub(super) const MUNITION: &str = "Munition";

const CLASSES: [(&str, &str); 4] = [
    ("BaseEntity", "HLAobjectRoot.BaseEntity"),
    (AIRCRAFT, "HLAobjectRoot.BaseEntity.PhysicalEntity.Platform.Aircraft"),
    (GROUND_VEHICLE, "HLAobjectRoot.BaseEntity.PhysicalEntity.Platform.GroundVehicle"),
    (MUNITION, "HLAobjectRoot.BaseEntity.PhysicalEntity.Munition"),
];

/// The RTI's handles of an interaction class and its parameters.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shot {
    pub(super) class: InteractionClassHandle,
    pub(super) munition: ParameterHandle,
    pub(super) target: ParameterHandle,
    pub(super) location: ParameterHandle,
}

/// The RTI's handles of the names in the object model.
#[derive(Clone, Debug)]
pub(super) struct Model {
    classes: Vec<(&'static str, ObjectClassHandle)>,
    pub(super) marking: AttributeHandle,
    pub(super) position: AttributeHandle,
    pub(super) velocity: AttributeHandle,
    pub(super) orientation: AttributeHandle,
    pub(super) fire: Shot,
    pub(super) detonation: Shot,
}

impl Model {
    async fn look_up(federate: &Federate) -> Result<Self, FederateError> {
        let mut classes = Vec::new();
        for (name, path) in CLASSES {
            classes.push((name, federate.get_object_class_handle(path).await?));
        }
        let base = classes[0].1;
        let shot = async |name: &str, location: &str| {
            let class = federate.get_interaction_class_handle(format!("HLAinteractionRoot.{name}")).await?;
            Ok::<_, FederateError>(Shot {
                class,
                munition: federate.get_parameter_handle(class, "MunitionMarking").await?,
                target: federate.get_parameter_handle(class, "TargetMarking").await?,
                location: federate.get_parameter_handle(class, location).await?,
            })
        };
        Ok(Self {
            marking: federate.get_attribute_handle(base, "Marking").await?,
            position: federate.get_attribute_handle(base, "Position").await?,
            velocity: federate.get_attribute_handle(base, "Velocity").await?,
            orientation: federate.get_attribute_handle(base, "Orientation").await?,
            fire: shot("WeaponFire", "FireLocation").await?,
            detonation: shot("MunitionDetonation", "DetonationLocation").await?,
            classes,
        })
    }

    /// The handle of the class `name`.
    pub(super) fn class(&self, name: &str) -> ObjectClassHandle {
        self.classes
            .iter()
            .find(|(known, _)| *known == name)
            .expect("the name is a constant of this module")
            .1
    }

    /// The name of a class, if it is one of the demo's.
    pub(super) fn name_of(&self, class: ObjectClassHandle) -> Option<&'static str> {
        self.classes.iter().find(|(_, known)| *known == class).map(|(name, _)| *name)
    }

    pub(super) fn attributes(&self) -> [AttributeHandle; 4] {
        [self.marking, self.position, self.velocity, self.orientation]
    }
}

/// A joined federate of the demo.
pub(super) struct Member {
    pub(super) federate: Federate,
    pub(super) callbacks: Callbacks,
    pub(super) model: Model,
    pub(super) stamps: Stamps,
}

impl Member {
    /// Connects and joins; `creates` also creates the federation execution.
    pub(super) async fn join(
        server: &str,
        name: &str,
        stamps: Stamps,
        creates: bool,
    ) -> Result<Self, DemoError> {
        let mut options = Options::new(server);
        options.session.connect_timeout = Duration::from_secs(10);
        let (federate, callbacks) =
            Federate::connect(options).await.map_err(|error| DemoError(error.to_string()))?;
        if creates {
            federate.create_federation_execution(FEDERATION, fom::content("MeshRTI-Demo.xml", FOM)).await?;
        }
        federate.join_federation_execution_with_name(name, "demo", FEDERATION).await?;
        let model = Model::look_up(&federate).await?;
        Ok(Self { federate, callbacks, model, stamps })
    }

    /// Publishes a class of entities.
    pub(super) async fn publish(&self, class: &str) -> Result<(), FederateError> {
        self.federate.publish_object_class_attributes(self.model.class(class), self.model.attributes()).await
    }

    /// Registers an entity and sends its marking.
    pub(super) async fn register(
        &self,
        class: &str,
        marking: &str,
    ) -> Result<ObjectInstanceHandle, DemoError> {
        let object = self.federate.register_object_instance(self.model.class(class)).await?;
        self.mark(object, marking).await?;
        Ok(object)
    }

    /// Sends the marking of an entity.
    pub(super) async fn mark(&self, object: ObjectInstanceHandle, marking: &str) -> Result<(), DemoError> {
        let value = AsciiString(marking.to_owned()).encode()?;
        Ok(self.federate.update_attribute_values(object, [(self.model.marking, value)], Bytes::new()).await?)
    }

    /// Sends the state of an entity, stamped with the time, without waiting for the RTI's answer.
    pub(super) async fn show(&self, object: ObjectInstanceHandle, state: &State) -> Result<(), DemoError> {
        let values = [
            (self.model.position, state.place.position().encode()?),
            (self.model.velocity, state.velocity.velocity().encode()?),
            (self.model.orientation, state.orientation.encode()?),
        ];
        let updates = self.federate.updates();
        updates.update_attribute_values(object, values, self.stamps.now()).await?;
        updates.flush();
        Ok(())
    }

    /// Sends the interaction of a firing or a detonation.
    pub(super) async fn announce(
        &self,
        shot: Shot,
        munition: &str,
        target: &str,
        place: Position,
    ) -> Result<(), DemoError> {
        let values = [
            (shot.munition, AsciiString(munition.to_owned()).encode()?),
            (shot.target, AsciiString(target.to_owned()).encode()?),
            (shot.location, place.encode()?),
        ];
        Ok(self.federate.send_interaction(shot.class, values, self.stamps.now()).await?)
    }

    /// Resigns, and deletes all objects that it has registered.
    pub(super) async fn leave(self) -> Result<(), DemoError> {
        self.federate.resign_federation_execution(ResignAction::DeleteObjects).await?;
        Ok(self.federate.disconnect().await?)
    }
}

/// A failure of the demo, as a text for people.
#[derive(Debug)]
pub(super) struct DemoError(String);

impl From<FederateError> for DemoError {
    fn from(error: FederateError) -> Self {
        Self(error.to_string())
    }
}

impl From<EncoderError> for DemoError {
    fn from(error: EncoderError) -> Self {
        Self(error.to_string())
    }
}

impl From<DemoError> for Failure {
    fn from(error: DemoError) -> Self {
        Failure::bad_news(format_args!("the demo: {}", error.0))
    }
}
