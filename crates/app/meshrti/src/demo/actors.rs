//! The active federates of the demo. Each has its own connection to the RTI and learns about the
//! others only through it.

use std::collections::BTreeMap;
use std::time::Duration;

use federate::Callback;
use hla::encoding::{AsciiString, Encoding as _};
use hla::handle::{AttributeHandle, ObjectInstanceHandle};
use tokio::time::{Instant, MissedTickBehavior, interval, sleep};

use super::model::{AIRCRAFT, DemoError, GROUND_VEHICLE, MUNITION, Member, Shot};
use super::motion::{Circle, chase};
use super::stamp::Stamps;
use super::world::{Local, Position};

/// Updates of aircraft and munitions per second, and of ground vehicles.
const FAST_HZ: u32 = 25;
const SLOW_HZ: u32 = 10;

/// The time for which a vehicle stops after a detonation aimed at it.
const STUNNED: Duration = Duration::from_secs(4);

/// The launcher's wait before its first munition, and after each.
const RELOAD: Duration = Duration::from_secs(3);
const MUNITION_M_PER_S: f64 = 420.0;
const LAUNCHER: Local = Local::new(-400.0, -900.0, 2.0);

/// The time until the late visitor joins, and the length of each stay and absence.
const VISIT: Duration = Duration::from_secs(10);

/// Entities on circles, with their names and circles.
pub(super) struct Fleet {
    name: &'static str,
    class: &'static str,
    rate_hz: u32,
    entities: Vec<(&'static str, Circle)>,
}

const fn circle(east: f64, north: f64, up: f64, radius_m: f64, speed_m_per_s: f64, phase: f64) -> Circle {
    Circle { centre: Local::new(east, north, up), radius_m, speed_m_per_s, phase }
}

impl Fleet {
    pub(super) fn air() -> Self {
        let entities = vec![
            ("Falcon 1", circle(0.0, 0.0, 3_000.0, 4_000.0, 180.0, 0.0)),
            ("Falcon 2", circle(0.0, 0.0, 3_200.0, 4_200.0, 180.0, 0.03)),
            ("Heron", circle(2_000.0, 1_000.0, 900.0, 1_200.0, 55.0, 0.5)),
        ];
        Self { name: "Air wing", class: AIRCRAFT, rate_hz: FAST_HZ, entities }
    }

    pub(super) fn ground() -> Self {
        let entities = vec![
            ("Truck 11", circle(300.0, 0.0, 0.0, 400.0, 14.0, 0.1)),
            ("Truck 12", circle(300.0, 0.0, 0.0, 400.0, 14.0, 0.05)),
            ("Rover", circle(-600.0, 800.0, 0.0, 250.0, 22.0, 0.7)),
        ];
        Self { name: "Ground convoy", class: GROUND_VEHICLE, rate_hz: SLOW_HZ, entities }
    }

    fn visitor() -> Self {
        let entities = vec![("Visitor", circle(-1_000.0, -1_000.0, 1_500.0, 1_800.0, 90.0, 0.25))];
        Self { name: "Visiting flight", class: AIRCRAFT, rate_hz: FAST_HZ, entities }
    }

    /// Moves the entities for the time `stay`, or for ever.
    pub(super) async fn play(
        self,
        server: String,
        stamps: Stamps,
        stay: Option<Duration>,
    ) -> Result<(), DemoError> {
        let mut member = Member::join(&server, self.name, stamps, false).await?;
        member.publish(self.class).await?;
        let detonation = member.model.detonation;
        member.federate.subscribe_interaction_class(detonation.class).await?;
        let mut entities = Vec::new();
        for (marking, circle) in self.entities {
            let object = member.register(self.class, marking).await?;
            entities.push(Driven { object, marking, circle, driven: 0.0, stunned_until: None });
        }
        let begun = Instant::now();
        let mut ticks = ticker(self.rate_hz);
        while stay.is_none_or(|stay| begun.elapsed() < stay) {
            ticks.tick().await;
            while let Some(callback) = member.callbacks.try_recv() {
                heed(&member, &mut entities, detonation, callback).await?;
            }
            for entity in &mut entities {
                let moving = entity.stunned_until.is_none_or(|until| until <= Instant::now());
                if moving {
                    entity.driven += entity.circle.speed_m_per_s / f64::from(self.rate_hz);
                }
                member.show(entity.object, &entity.circle.at(entity.driven, moving)).await?;
            }
        }
        member.leave().await
    }
}

/// An entity on its circle.
struct Driven {
    object: ObjectInstanceHandle,
    marking: &'static str,
    circle: Circle,
    driven: f64,
    stunned_until: Option<Instant>,
}

/// Reacts to callbacks: a request for a marking, or a detonation.
async fn heed(
    member: &Member,
    entities: &mut [Driven],
    detonation: Shot,
    callback: Callback,
) -> Result<(), DemoError> {
    match callback {
        Callback::ProvideAttributeValueUpdate(asked) => {
            let entity = entities.iter().find(|entity| Some(entity.object) == asked.object_instance);
            let wanted =
                asked.attributes.unwrap_or_default().attribute_handle.contains(&member.model.marking);
            if let Some(entity) = entity.filter(|_| wanted) {
                member.mark(entity.object, entity.marking).await?;
            }
        }
        Callback::ReceiveInteraction(received) if received.interaction_class == Some(detonation.class) => {
            let values = received.parameter_values.unwrap_or_default().parameter_handle_value;
            let target = values.iter().find(|value| value.parameter_handle == Some(detonation.target));
            let target = target.and_then(|value| AsciiString::decode(&value.value).ok());
            let hit =
                entities.iter_mut().find(|entity| target.as_ref().is_some_and(|t| t.0 == entity.marking));
            if let Some(hit) = hit {
                hit.stunned_until = Some(Instant::now() + STUNNED);
            }
        }
        _ => {}
    }
    Ok(())
}

/// A federate that joins late, leaves, and joins again.
pub(super) async fn visit(server: String, stamps: Stamps) -> Result<(), DemoError> {
    loop {
        sleep(VISIT / 2).await;
        Fleet::visitor().play(server.clone(), stamps, Some(VISIT)).await?;
    }
}

/// A launcher that shoots at ground vehicles at their reported positions.
pub(super) async fn launch(server: String, stamps: Stamps) -> Result<(), DemoError> {
    sleep(Duration::from_millis(500)).await;
    let member = Member::join(&server, "Launcher", stamps, false).await?;
    member.publish(MUNITION).await?;
    let model = member.model.clone();
    for shot in [model.fire, model.detonation] {
        member.federate.publish_interaction_class(shot.class).await?;
    }
    let vehicles = model.class(GROUND_VEHICLE);
    member.federate.subscribe_object_class_attributes(vehicles, [model.marking, model.position]).await?;
    let mut launcher = Launcher { member, targets: BTreeMap::new() };
    for number in 1.. {
        launcher.watch_for(RELOAD).await?;
        let chosen = launcher.targets.values().filter(|target| target.place.is_some()).count();
        if chosen > 0 {
            launcher.shoot(number, number % chosen).await?;
        }
    }
    Ok(())
}

/// The launcher's knowledge of a vehicle.
#[derive(Default)]
struct Target {
    marking: String,
    place: Option<Local>,
}

struct Launcher {
    member: Member,
    targets: BTreeMap<ObjectInstanceHandle, Target>,
}

impl Launcher {
    /// Handles callbacks of the RTI for the given time.
    async fn watch_for(&mut self, time: Duration) -> Result<(), DemoError> {
        let end = Instant::now() + time;
        let mut ticks = ticker(FAST_HZ);
        while Instant::now() < end {
            ticks.tick().await;
            self.watch();
        }
        Ok(())
    }

    fn watch(&mut self) {
        while let Some(callback) = self.member.callbacks.try_recv() {
            match callback {
                Callback::ReflectAttributeValues(reflect) => {
                    let Some(object) = reflect.object_instance else { continue };
                    let target = self.targets.entry(object).or_default();
                    let values = reflect.attribute_values.unwrap_or_default().attribute_handle_value;
                    let find = |wanted: AttributeHandle| {
                        values
                            .iter()
                            .find(|value| value.attribute_handle == Some(wanted))
                            .map(|value| &value.value[..])
                    };
                    if let Some(Ok(marking)) = find(self.member.model.marking).map(AsciiString::decode) {
                        target.marking = marking.0;
                    }
                    if let Some(Ok(position)) = find(self.member.model.position).map(Position::decode) {
                        target.place = Some(Local::of(position));
                    }
                }
                Callback::RemoveObjectInstance(removed) => {
                    removed.object_instance.and_then(|object| self.targets.remove(&object));
                }
                _ => {}
            }
        }
    }

    /// Fires a munition at the target with this index and steers it until it arrives.
    async fn shoot(&mut self, number: usize, index: usize) -> Result<(), DemoError> {
        let known = self.targets.iter().filter(|(_, target)| target.place.is_some()).nth(index);
        let Some((&object, Target { marking, place: Some(aim) })) = known else { return Ok(()) };
        let (target, munition, mut aim) = (marking.clone(), format!("Arrow {number}"), *aim);
        let (fire, detonation) = (self.member.model.fire, self.member.model.detonation);
        let arrow = self.member.register(MUNITION, &munition).await?;
        self.member.announce(fire, &munition, &target, LAUNCHER.position()).await?;
        let mut place = LAUNCHER;
        let mut ticks = ticker(FAST_HZ);
        while let Some(state) = chase(place, aim, MUNITION_M_PER_S, 1.0 / f64::from(FAST_HZ)) {
            self.member.show(arrow, &state).await?;
            ticks.tick().await;
            place = state.place;
            self.watch();
            aim = self.targets.get(&object).and_then(|target| target.place).unwrap_or(aim);
        }
        self.member.announce(detonation, &munition, &target, place.position()).await?;
        self.member.federate.delete_object_instance(arrow, self.member.stamps.now()).await?;
        Ok(())
    }
}

fn ticker(rate_hz: u32) -> tokio::time::Interval {
    let mut ticks = interval(Duration::from_secs(1) / rate_hz);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
    ticks
}
