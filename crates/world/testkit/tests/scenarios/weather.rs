//! Federates of a cluster that publish weather to others, and records of its delivery.

use hla::api::call_request::CallRequest as Call;
use hla::api::callback_request::CallbackRequest as Callback;
use hla::api::{self, AttributeHandleSet, AttributeHandleValue, AttributeHandleValueMap};
use hla::handle::{AttributeHandle, ObjectClassHandle, ObjectInstanceHandle};
use netsim::HostId;
use std::collections::BTreeMap;
use std::time::Duration;
use testkit::observation::Observation;
use testkit::{Cluster, Failure, stamp};

/// An attribute of weather.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Of {
    /// Reliable.
    Report,
    /// Best effort.
    Wind,
}

fn class(cluster: &Cluster) -> ObjectClassHandle {
    let model = &cluster.known(cluster.federates()[0]).model;
    model.object_class_by_name("Weather").expect("the model has weather")
}

fn attribute(cluster: &Cluster, of: Of) -> AttributeHandle {
    let model = &cluster.known(cluster.federates()[0]).model;
    let name = if of == Of::Report { "report" } else { "wind" };
    model.attribute_by_name(class(cluster), name).expect("weather has it")
}

/// Has all federates join, then lets the first `publishers` register an instance each, and the
/// others subscribe and discover them. Returns the instances.
pub(crate) fn prepare(
    cluster: &mut Cluster,
    publishers: usize,
) -> Result<Vec<ObjectInstanceHandle>, Failure> {
    cluster.join_all()?;
    let hosts = cluster.federates().to_vec();
    let object_class = Some(class(cluster));
    let attribute_handle = vec![attribute(cluster, Of::Report), attribute(cluster, Of::Wind)];
    let attributes = Some(AttributeHandleSet { attribute_handle });
    for &host in &hosts[publishers..] {
        let attributes = attributes.clone();
        let subscribe = api::SubscribeObjectClassAttributesRequest { object_class, attributes };
        cluster.act(host, Call::SubscribeObjectClassAttributesRequest(subscribe))?;
    }
    for &host in &hosts[..publishers] {
        let attributes = attributes.clone();
        let publish = api::PublishObjectClassAttributesRequest { object_class, attributes };
        cluster.act(host, Call::PublishObjectClassAttributesRequest(publish))?;
        let register = api::RegisterObjectInstanceRequest { object_class };
        cluster.act(host, Call::RegisterObjectInstanceRequest(register))?;
    }
    cluster.wait(Duration::from_secs(5), "discovery", |cluster| {
        let knows_all = |host: &HostId| cluster.known(*host).others.len() == publishers;
        match cluster.federates()[publishers..].iter().find(|host| !knows_all(host)) {
            Some(host) => Err(format!("{host} does not know all instances")),
            None => Ok(()),
        }
    })?;
    let own = |host: &HostId| *cluster.known(*host).own.keys().next().expect("the others know it");
    Ok(hosts[..publishers].iter().map(own).collect())
}

/// Makes an update of one attribute, with this many octets beyond its stamp.
pub(crate) fn update(
    cluster: &mut Cluster,
    host: HostId,
    instance: ObjectInstanceHandle,
    of: Of,
    padding: usize,
) -> Result<(), Failure> {
    let stamp = cluster.stamp(host);
    let mut value = stamp.to_vec();
    value.resize(stamp.len() + padding, 0);
    let value = AttributeHandleValue { attribute_handle: Some(attribute(cluster, of)), value: value.into() };
    let update = api::UpdateAttributeValuesRequest {
        object_instance: Some(instance),
        attribute_values: Some(AttributeHandleValueMap { attribute_handle_value: vec![value] }),
        user_supplied_tag: stamp,
    };
    cluster.act(host, Call::UpdateAttributeValuesRequest(update))
}

/// The stamps that each federate got from each other one, in order.
pub(crate) fn received(cluster: &Cluster) -> BTreeMap<(HostId, HostId), Vec<u32>> {
    let mut all: BTreeMap<_, Vec<u32>> = BTreeMap::new();
    for (host, seen) in cluster.recorded() {
        if let Observation::Received { callback: Callback::ReflectAttributeValues(c), .. } = &seen.observation
            && let Some((from, count)) = stamp(&c.user_supplied_tag)
        {
            all.entry((*host, HostId(from))).or_default().push(count);
        }
    }
    all
}

/// The stamps of the updates that each federate made, and its number of answers.
pub(crate) fn made(cluster: &Cluster) -> BTreeMap<HostId, (Vec<u32>, usize)> {
    let mut all: BTreeMap<_, (Vec<u32>, usize)> = BTreeMap::new();
    for (host, seen) in cluster.recorded() {
        match &seen.observation {
            Observation::Made { request: Call::UpdateAttributeValuesRequest(update), .. } => {
                let stamps = &mut all.entry(*host).or_default().0;
                stamps.extend(stamp(&update.user_supplied_tag).map(|(_, count)| count));
            }
            Observation::Got { .. } => all.entry(*host).or_default().1 += 1,
            _ => {}
        }
    }
    all
}

/// The stamps of the reliable updates of a federate.
pub(crate) fn reliable(cluster: &Cluster, host: HostId) -> Vec<u32> {
    let report = attribute(cluster, Of::Report);
    let of = |(from, seen): &(HostId, testkit::observation::Seen)| match &seen.observation {
        Observation::Made { request: Call::UpdateAttributeValuesRequest(update), .. } if *from == host => {
            let pairs = &update.attribute_values.as_ref()?.attribute_handle_value;
            let is_reliable = pairs.iter().any(|pair| pair.attribute_handle == Some(report));
            stamp(&update.user_supplied_tag).filter(|_| is_reliable).map(|(_, count)| count)
        }
        _ => None,
    };
    cluster.recorded().iter().filter_map(of).collect()
}

/// Whether a federate was granted the name.
pub(crate) fn has_name(cluster: &Cluster, host: HostId) -> bool {
    cluster.recorded().iter().any(|(to, seen)| {
        let granted = matches!(
            seen.observation,
            Observation::Received { callback: Callback::ObjectInstanceNameReservationSucceeded(_), .. }
        );
        granted && *to == host
    })
}
