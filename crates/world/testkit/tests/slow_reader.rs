//! A federate that does not read delays nobody; what may be dropped for it is dropped and counted, and
//! what may not is kept up to a limit, after which it is disconnected (1516.1-2025, 6.11; limits are
//! this RTI's settings).

use base::{Moment, Seed};
use hla::api::call_request::CallRequest as Call;
use hla::api::{self, AttributeHandleSet, AttributeHandleValue, AttributeHandleValueMap};
use netsim::HostId;
use std::time::Duration;
use testkit::{Failure, Group, Limits, Options, World};

/// Three silent federates, joined: a sender, a reader, and one that will not read.
fn world(seed: u64, limits: Limits) -> World {
    let mut options = Options::swarm(Seed(seed), Group::Object).without_troubles();
    (options.federates, options.federations, options.mistakes) = (3, 1, 0);
    options.delays = vec![Duration::from_millis(1); 3];
    options.rate = None;
    options.pace = Duration::from_millis(5);
    options.lasts = Duration::from_secs(4);
    options.timeouts.heart = Duration::from_secs(180);
    options.timeouts.heartbeat = Duration::from_secs(60);
    options.limits = limits;
    options.mix.clear();
    World::new(options)
}

/// Attributes of the class that is sent: one reliable, one best effort.
struct Sent {
    class: hla::handle::ObjectClassHandle,
    attributes: [hla::handle::AttributeHandle; 2],
}

fn sent(world: &World) -> Sent {
    let model = &world.known(world.federates()[0]).model;
    let class = model.object_class_by_name("Weather").expect("the model has weather");
    let attribute = |name| model.attribute_by_name(class, name).expect("weather has it");
    Sent { class, attributes: [attribute("report"), attribute("wind")] }
}

fn set(sent: &Sent) -> Option<AttributeHandleSet> {
    Some(AttributeHandleSet { attribute_handle: sent.attributes.to_vec() })
}

/// Joins all, and has the first register what the others subscribe.
fn prepare(world: &mut World) -> Result<Sent, Failure> {
    let hosts = world.federates().to_vec();
    let mut now = Moment::ZERO;
    while !hosts.iter().all(|&host| world.is_joined(host)) {
        now += Duration::from_millis(50);
        assert!(now < Moment::from_secs(60), "joining takes for ever");
        world.run_until(now)?;
    }
    let sent = sent(world);
    for &host in &hosts[1..] {
        let subscribe = api::SubscribeObjectClassAttributesRequest {
            object_class: Some(sent.class),
            attributes: set(&sent),
        };
        world.act(host, Call::SubscribeObjectClassAttributesRequest(subscribe))?;
    }
    let publish =
        api::PublishObjectClassAttributesRequest { object_class: Some(sent.class), attributes: set(&sent) };
    world.act(hosts[0], Call::PublishObjectClassAttributesRequest(publish))?;
    let register = api::RegisterObjectInstanceRequest { object_class: Some(sent.class) };
    world.act(hosts[0], Call::RegisterObjectInstanceRequest(register))?;
    world.run_until(world.now() + Duration::from_millis(100))?;
    Ok(sent)
}

/// `count` updates of one attribute, a millisecond apart.
fn update(world: &mut World, sent: &Sent, attribute: usize, count: u32) -> Result<(), Failure> {
    let host = world.federates()[0];
    let instance = *world.known(host).own.keys().next().expect("registered before");
    for _ in 0..count {
        let stamp = world.stamp(host);
        let value = AttributeHandleValue {
            attribute_handle: Some(sent.attributes[attribute]),
            value: vec![7; 400].into(),
        };
        let update = api::UpdateAttributeValuesRequest {
            object_instance: Some(instance),
            attribute_values: Some(AttributeHandleValueMap { attribute_handle_value: vec![value] }),
            user_supplied_tag: stamp,
        };
        world.act(host, Call::UpdateAttributeValuesRequest(update))?;
        world.run_until(world.now() + Duration::from_millis(1))?;
    }
    Ok(())
}

/// When the second federate got each reflection.
fn arrivals(slow: bool) -> Vec<Moment> {
    let limits = Limits { stream_window: 4_000, unsent_bytes_high: 8_000, queue_bytes_max: 40_000 };
    let mut world = world(1, limits);
    let run = |world: &mut World| -> Result<Vec<Moment>, Failure> {
        let sent = prepare(world)?;
        let reader = world.federates()[1];
        world.set_reading(world.federates()[2], !slow);
        world.record(reader);
        update(world, &sent, 1, 400)?;
        Ok(world.recorded().to_vec())
    };
    run(&mut world).unwrap_or_else(|failure| panic!("{failure}"))
}

#[test]
fn a_slow_reader_delays_nobody() {
    let (undisturbed, beside_a_slow_one) = (arrivals(false), arrivals(true));
    assert!(undisturbed.len() > 390, "{}", undisturbed.len());
    assert_eq!(undisturbed, beside_a_slow_one);
}

#[test]
fn what_is_best_effort_is_dropped_and_counted_and_the_rest_comes() {
    let limits = Limits { stream_window: 4_000, unsent_bytes_high: 8_000, queue_bytes_max: 40_000 };
    for seed in 1..6 {
        let mut world = world(seed, limits);
        let run = |world: &mut World| -> Result<(), Failure> {
            let sent = prepare(world)?;
            let slow = world.federates()[2];
            world.set_reading(slow, false);
            update(world, &sent, 1, 300)?;
            update(world, &sent, 0, 30)?;
            assert!(joined(world) == 3, "30 reliable callbacks fit");
            assert!(dropped(world) > 50, "most of the rest does not");
            world.set_reading(slow, true);
            world.run_until(world.now() + Duration::from_secs(2))
        };
        run(&mut world).unwrap_or_else(|failure| panic!("{failure}"));
        let outcome = world.run().unwrap_or_else(|failure| panic!("{failure}"));
        assert!(outcome.dropped > 50, "{outcome:?}");
    }
}

#[test]
fn who_never_reads_what_must_come_is_disconnected() {
    let limits = Limits { stream_window: 4_000, unsent_bytes_high: 8_000, queue_bytes_max: 40_000 };
    let mut world = world(7, limits);
    let run = |world: &mut World| -> Result<(), Failure> {
        let sent = prepare(world)?;
        world.set_reading(world.federates()[2], false);
        update(world, &sent, 0, 300)
    };
    run(&mut world).unwrap_or_else(|failure| panic!("{failure}"));
    assert_eq!(joined(&world), 2, "{:?}", world.status());
    world.run().unwrap_or_else(|failure| panic!("{failure}"));
}

fn joined(world: &World) -> usize {
    world.status().federations.iter().map(|federation| federation.federates.len()).sum()
}

fn dropped(world: &World) -> u64 {
    let federates = world.status().federations;
    federates.iter().flat_map(|federation| &federation.federates).map(|federate| federate.dropped).sum()
}

#[test]
fn hosts_are_numbered_as_the_tests_think() {
    let limits = Limits { stream_window: 1 << 20, unsent_bytes_high: 1 << 20, queue_bytes_max: 1 << 20 };
    assert_eq!(world(1, limits).federates(), [HostId(1), HostId(2), HostId(3)]);
}
