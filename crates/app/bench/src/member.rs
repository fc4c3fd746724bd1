//! A federate of a benchmark.

use bytes::Bytes;
use federate::hla::Exception;
use federate::hla::api::ResignAction;
use federate::{Callback, Callbacks, Federate, FederateError, Updates};
use hla::api::RegisterObjectInstanceRequest;
use hla::fom::Edition;
use hla::handle::{AttributeHandle, ObjectClassHandle, ObjectInstanceHandle};

use crate::access::server_options;
use crate::edition::module;
use crate::error::BenchError;
use crate::process::PATIENCE;

/// The object model of the benchmarks.
pub(crate) const FOM: &str = include_str!("../foms/MeshRTI-Bench.xml");

/// A class with an attribute `Payload`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Payload {
    pub(crate) class: ObjectClassHandle,
    pub(crate) attribute: AttributeHandle,
}

/// A joined federate with the handles that it uses.
pub(crate) struct Member {
    pub(crate) federate: Federate,
    pub(crate) callbacks: Callbacks,
    /// The class that the measuring side updates.
    pub(crate) ping: Payload,
    /// The class that the answering side updates.
    pub(crate) pong: Payload,
}

impl Member {
    /// Creates the federation execution, with a FOM module of `edition`, and joins it.
    pub(crate) async fn create(server: &str, edition: Edition, federation: &str) -> Result<Self, BenchError> {
        let (federate, callbacks) = Federate::connect(server_options(server)?).await?;
        federate.create_federation_execution(federation, module("MeshRTI-Bench.xml", FOM, edition)).await?;
        Self::joined(federate, callbacks, federation).await
    }

    /// Joins the federation execution.
    pub(crate) async fn join(server: &str, federation: &str) -> Result<Self, BenchError> {
        let (federate, callbacks) = Federate::connect(server_options(server)?).await?;
        Self::joined(federate, callbacks, federation).await
    }

    async fn joined(federate: Federate, callbacks: Callbacks, federation: &str) -> Result<Self, BenchError> {
        federate.join_federation_execution("bench", federation).await?;
        let ping = payload_of(&federate, "HLAobjectRoot.Ping").await?;
        let pong = payload_of(&federate, "HLAobjectRoot.Pong").await?;
        Ok(Self { federate, callbacks, ping, pong })
    }

    /// The handles of the class of entities.
    pub(crate) async fn entity(&self) -> Result<Entity, BenchError> {
        let class = self.federate.get_object_class_handle("HLAobjectRoot.Entity").await?;
        let event = self.federate.get_attribute_handle(class, "Event").await?;
        let state = self.federate.get_attribute_handle(class, "State").await?;
        Ok(Entity { class, attributes: [event, state] })
    }

    /// Publishes `payload` and registers an object of its class.
    pub(crate) async fn offer(&self, payload: Payload) -> Result<ObjectInstanceHandle, BenchError> {
        self.federate.publish_object_class_attributes(payload.class, [payload.attribute]).await?;
        Ok(self.federate.register_object_instance(payload.class).await?)
    }

    /// Subscribes to `payload`.
    pub(crate) async fn want(&self, payload: Payload) -> Result<(), BenchError> {
        Ok(self.federate.subscribe_object_class_attributes(payload.class, [payload.attribute]).await?)
    }

    /// Waits until an object of `payload`'s class is discovered.
    pub(crate) async fn await_object(&mut self, payload: Payload) -> Result<(), BenchError> {
        loop {
            if let Callback::DiscoverObjectInstance(found) = self.next("an object to be discovered").await?
                && found.object_class == Some(payload.class)
            {
                return Ok(());
            }
        }
    }

    /// The next callback; an error if none comes within [`PATIENCE`].
    pub(crate) async fn next(&mut self, reason: &str) -> Result<Callback, BenchError> {
        let callback = tokio::time::timeout(PATIENCE, self.callbacks.recv()).await;
        received(callback.map_err(|_| stalled(reason))?)
    }

    /// Resigns, deletes its objects, divests what it owns of others, and destroys the federation
    /// execution if no federate is left in it.
    pub(crate) async fn leave(self, federation: &str) -> Result<(), BenchError> {
        let Self { federate, callbacks, .. } = self;
        leave(federate, callbacks, federation).await
    }
}

/// Lets a federate resign, delete its objects and divest what it owns of others. The federation execution
/// is destroyed if no federate is left in it.
pub(crate) async fn leave(
    federate: Federate,
    callbacks: Callbacks,
    federation: &str,
) -> Result<(), BenchError> {
    federate.resign_federation_execution(ResignAction::DeleteObjectsThenDivest).await?;
    match federate.destroy_federation_execution(federation).await {
        Err(error) if !error.is(Exception::FederatesCurrentlyJoined) => return Err(error.into()),
        _ => {}
    }
    federate.disconnect().await?;
    drop(callbacks);
    Ok(())
}

/// The class of entities.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entity {
    pub(crate) class: ObjectClassHandle,
    /// The reliable attribute and the best-effort one.
    pub(crate) attributes: [AttributeHandle; 2],
}

pub(crate) async fn payload_of(federate: &Federate, name: &str) -> Result<Payload, FederateError> {
    let class = federate.get_object_class_handle(name).await?;
    let attribute = federate.get_attribute_handle(class, "Payload").await?;
    Ok(Payload { class, attribute })
}

/// A callback, or the end of the session as an error.
pub(crate) fn received(callback: Option<Callback>) -> Result<Callback, BenchError> {
    match callback {
        Some(Callback::ConnectionLost(lost)) => {
            Err(FederateError::Disconnected(lost.fault_description.into()).into())
        }
        Some(callback) => Ok(callback),
        None => Err(FederateError::Disconnected("the session is over".into()).into()),
    }
}

/// The value in a reflect of an update with one attribute; `None` for any other callback.
pub(crate) fn reflected(callback: Callback) -> Option<Bytes> {
    let Callback::ReflectAttributeValues(reflect) = callback else { return None };
    reflect.attribute_values?.attribute_handle_value.pop().map(|attribute| attribute.value)
}

pub(crate) fn stalled(reason: &str) -> BenchError {
    BenchError::Stalled { reason: reason.to_owned(), seconds: PATIENCE.as_secs() }
}

/// Registers `count` objects as fast as the server takes them.
pub(crate) async fn register(
    updates: &Updates,
    class: ObjectClassHandle,
    count: usize,
) -> Result<(), BenchError> {
    for _ in 0..count {
        updates.send(RegisterObjectInstanceRequest { object_class: Some(class) }).await?;
    }
    Ok(updates.drained().await?)
}

/// Sends `count` updates of `size` bytes as fast as they are taken.
pub(crate) async fn flood(
    updates: &Updates,
    object: ObjectInstanceHandle,
    payload: Payload,
    size: usize,
    count: usize,
) -> Result<(), BenchError> {
    let value = bytes::Bytes::from(vec![1; size]);
    for _ in 0..count {
        updates.update_attribute_values(object, [(payload.attribute, value.clone())], "").await?;
    }
    updates.flush();
    Ok(())
}
