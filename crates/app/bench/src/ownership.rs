//! Attributes that pass from federate to federate.
//!
//! A holder registers objects. First a taker acquires attributes one after the other, and the holder
//! divests each when it is requested. Then the taker requests those of all other objects, the holder
//! does not divest them, and at last it resigns, so that all of them pass to the taker.

use std::time::{Duration, Instant};

use federate::Callback;
use hla::api::{
    AttributeOwnershipAcquisitionRequest, AttributeOwnershipDivestitureIfWantedRequest, ResignAction,
};
use hla::handle::ObjectInstanceHandle;

use crate::error::BenchError;
use crate::floor::Floor;
use crate::member::{Member, received, register, stalled};
use crate::process::{Launcher, PATIENCE, orders, print_line};
use crate::role;
use crate::role::number;
use crate::server::{Server, federation_name};
use crate::wire::message_bytes;
use console::rounds::Rounds;

/// Hand-overs before those that are measured.
const WARM_UP: usize = 100;
/// The longest time that the resignation may take.
const RESIGNATION_MAX: Duration = Duration::from_secs(600);

/// The settings of the benchmark.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// Number of attributes that the taker acquires one after the other.
    pub transfers: usize,
    /// Number of attributes that pass to the taker when the holder resigns.
    pub objects: usize,
}

/// The results.
#[derive(Clone, Debug)]
pub struct Ownership {
    /// From the call of Attribute Ownership Acquisition (7.8) to Attribute Ownership Acquisition
    /// Notification (7.7).
    pub transfers: Rounds,
    /// Round trips of as many octets as the holder gets, through the relay.
    pub floor: Rounds,
    /// From the order to resign to the notification of the last attribute.
    pub reassigned: Duration,
}

impl Ownership {
    /// The median time of a transfer beside the median round trip of the relay.
    pub fn ratio(&self) -> f64 {
        self.transfers.quantile_us(0.5) / self.floor.quantile_us(0.5)
    }
}

/// Runs the plan.
///
/// # Errors
/// The server or the system fails or refuses a request.
pub async fn measure(launcher: &Launcher, server: &Server, plan: &Plan) -> Result<Ownership, BenchError> {
    let federation = federation_name("ownership");
    let mut taker = Member::create(server.address(), server.edition(), &federation).await?;
    let ping = taker.ping;
    taker.federate.publish_object_class_attributes(ping.class, [ping.attribute]).await?;
    taker.want(ping).await?;
    let mut holder = launcher.start(&role::holder(server.far_address(), &federation)).await?.0;
    let count = WARM_UP + plan.transfers + plan.objects;
    holder.send_line(&format!("register {count}")).await?;
    let mut objects = Vec::with_capacity(count);
    while objects.len() < count {
        if let Callback::DiscoverObjectInstance(found) = taker.next("an object to be discovered").await? {
            objects.extend(found.object_instance);
        }
    }
    holder.hear_within("registered", RESIGNATION_MAX).await?;

    holder.send_line("divest").await?;
    holder.hear("divesting").await?;
    let (mut transfers, mut warm_up) = (Rounds::new(0), Rounds::new(0));
    for (index, &object) in objects[..WARM_UP + plan.transfers].iter().enumerate() {
        let begun = Instant::now();
        let call = taker.federate.attribute_ownership_acquisition(object, [ping.attribute], "");
        acquired(&mut taker, 1).await?;
        let rounds = if index < WARM_UP { &mut warm_up } else { &mut transfers };
        rounds.record(begun.elapsed());
        call.await?;
    }
    holder.send_line("keep").await?;
    holder.hear("keeping").await?;
    let updates = taker.federate.updates();
    for &object in &objects[WARM_UP + plan.transfers..] {
        updates.send(acquisition(object, &taker)).await?;
    }
    updates.drained().await?;
    let begun = Instant::now();
    holder.send_line("resign").await?;
    acquired(&mut taker, plan.objects).await?;
    let reassigned = begun.elapsed();
    drop(holder);

    let mut floor = Floor::start(launcher, server.links(), &[]).await?;
    let bytes = message_bytes(0);
    let floor = floor.rounds(0, bytes, WARM_UP as u64, plan.transfers.max(1) as u64).await?;
    taker.leave(&federation).await?;
    Ok(Ownership { transfers, floor, reassigned })
}

fn acquisition(object: ObjectInstanceHandle, member: &Member) -> AttributeOwnershipAcquisitionRequest {
    AttributeOwnershipAcquisitionRequest {
        object_instance: Some(object),
        desired_attributes: Some([member.ping.attribute].into_iter().collect()),
        user_supplied_tag: bytes::Bytes::new(),
    }
}

/// Waits until the member has acquired attributes of that many objects.
async fn acquired(member: &mut Member, count: usize) -> Result<(), BenchError> {
    let mut left = count;
    let wait = async {
        while left > 0 {
            let callback = received(member.callbacks.recv().await)?;
            left -= usize::from(matches!(callback, Callback::AttributeOwnershipAcquisitionNotification(_)));
        }
        Ok(())
    };
    let patience = if count > 1 { RESIGNATION_MAX } else { PATIENCE };
    tokio::time::timeout(patience, wait).await.map_err(|_| stalled("an attribute to be acquired"))?
}

/// A holder of objects. `register COUNT`, `divest` and `keep` are answered: a request that
/// came before `divest` would never be granted. After `divest` it divests what is
/// requested, and after `keep` it does not. After `resign` it is gone.
pub(crate) async fn play_holder(server: &str, federation: &str) -> Result<(), BenchError> {
    let mut orders = orders();
    let Member { federate, mut callbacks, ping, .. } = Member::join(server, federation).await?;
    federate.publish_object_class_attributes(ping.class, [ping.attribute]).await?;
    print_line("ready");
    let updates = federate.updates();
    let mut divests = false;
    loop {
        let order = tokio::select! {
            order = orders.recv() => order,
            callback = callbacks.recv() => {
                if let (true, Callback::RequestAttributeOwnershipRelease(request)) = (divests, received(callback)?) {
                    updates
                        .send(AttributeOwnershipDivestitureIfWantedRequest {
                            object_instance: request.object_instance,
                            attributes: request.candidate_attributes,
                            user_supplied_tag: bytes::Bytes::new(),
                        })
                        .await?;
                    updates.flush();
                }
                continue;
            }
        };
        match order.unwrap_or_default().iter().map(String::as_str).collect::<Vec<_>>()[..] {
            [] => return Ok(()),
            ["register", count] => {
                register(&updates, ping.class, number(count)?).await?;
                print_line("registered");
            }
            ["resign"] => {
                let directive = ResignAction::UnconditionallyDivestAttributes;
                federate.resign_federation_execution(directive).await?;
            }
            [order] => {
                divests = order == "divest";
                print_line(if divests { "divesting" } else { "keeping" });
            }
            _ => {}
        }
    }
}
