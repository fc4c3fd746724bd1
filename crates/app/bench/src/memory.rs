//! What federates and objects cost the server when they do nothing.

use std::time::Duration;

use hla::api::RegisterObjectInstanceRequest;

use crate::member::Member;
use crate::server::{Server, federation_name};
use crate::{BenchError, Launcher, role};

/// How many attributes the class of the registered objects has.
pub const ATTRIBUTES: usize = 40;

/// What to measure.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Joined federates that do nothing.
    pub federates: usize,
    /// Registered objects of a class with [`ATTRIBUTES`] attributes.
    pub objects: usize,
    /// How long the idle server is watched.
    pub idle: Duration,
}

/// What they cost.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Memory {
    /// Joined federates that did nothing.
    pub federates: usize,
    /// Registered objects.
    pub objects: usize,
    /// Memory of the server before, in bytes.
    pub empty_bytes: u64,
    /// Additional memory of the server per federate, in bytes.
    pub federate_bytes: f64,
    /// Additional memory of the server per object, in bytes.
    pub object_bytes: f64,
    /// Part of a processor that the server used while nobody did anything.
    pub idle_cpu: Option<f64>,
}

/// Measures as planned, on a server of its own.
///
/// # Errors
/// The system does not say how much memory a process uses; the server does not what is asked of it.
pub async fn measure(launcher: &Launcher, plan: &Plan) -> Result<Memory, BenchError> {
    let server = Server::start(launcher).await?;
    let federation = federation_name("memory");
    let member = Member::create(server.address(), &federation).await?;
    let wide = member.federate.get_object_class_handle("HLAobjectRoot.Wide").await?;
    let mut attributes = Vec::with_capacity(ATTRIBUTES);
    for index in 1..=ATTRIBUTES {
        attributes.push(member.federate.get_attribute_handle(wide, format!("Value{index:02}")).await?);
    }
    member.federate.publish_object_class_attributes(wide, attributes).await?;

    let empty_bytes = server.resident_bytes()?;
    let (idlers, _) = launcher.start(&role::idlers(server.address(), &federation, plan.federates)).await?;
    let with_federates = server.resident_bytes()?;
    let cpu_before = server.cpu_s();
    tokio::time::sleep(plan.idle).await;
    let idle_cpu =
        server.cpu_s().zip(cpu_before).map(|(after, before)| (after - before) / plan.idle.as_secs_f64());

    let updates = member.federate.updates();
    for _ in 0..plan.objects {
        updates.send(RegisterObjectInstanceRequest { object_class: Some(wide) }).await?;
    }
    updates.drained().await?;
    let with_objects = server.resident_bytes()?;
    drop(idlers);
    let per = |more: u64, less: u64, count: usize| more.saturating_sub(less) as f64 / count.max(1) as f64;
    Ok(Memory {
        federates: plan.federates,
        objects: plan.objects,
        empty_bytes,
        federate_bytes: per(with_federates, empty_bytes, plan.federates),
        object_bytes: per(with_objects, with_federates, plan.objects),
        idle_cpu,
    })
}
