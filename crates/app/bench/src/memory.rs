//! The cost of idle federates and objects for the server.

use std::time::Duration;

use hla::fom::Edition;

use crate::error::BenchError;
use crate::member::{Member, register};
use crate::process::Launcher;
use crate::role;
use crate::server::{Server, federation_name};

/// Number of attributes of the class of the registered objects.
pub const ATTRIBUTES: usize = 40;

/// The settings of the benchmark.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Number of joined federates that do nothing.
    pub federates: usize,
    /// Number of registered objects of a class with [`ATTRIBUTES`] attributes.
    pub objects: usize,
    /// Time for which the idle server is watched.
    pub idle: Duration,
    /// Edition of the FOM modules that the server gets.
    pub edition: Edition,
}

/// The costs.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Memory {
    /// Number of joined federates that did nothing.
    pub federates: usize,
    /// Number of registered objects.
    pub objects: usize,
    /// Memory of the server before, in bytes.
    pub empty_bytes: u64,
    /// Additional memory of the server per federate, in bytes.
    pub federate_bytes: f64,
    /// Additional memory of the server per object, in bytes.
    pub object_bytes: f64,
    /// Share of a processor that the server used while nothing happened.
    pub idle_cpu: Option<f64>,
}

/// Runs the plan on a server of its own.
///
/// # Errors
/// The system does not report the memory of processes; the server fails or refuses a request.
pub async fn measure(launcher: &Launcher, plan: &Plan) -> Result<Memory, BenchError> {
    let server = Server::start(launcher).await?.with_edition(plan.edition);
    let federation = federation_name("memory");
    let member = Member::create(server.address(), server.edition(), &federation).await?;
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

    register(&member.federate.updates(), wide, plan.objects).await?;
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
