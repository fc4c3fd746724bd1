//! The federate that watches. All its data comes from the callbacks of the RTI.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use console::rounds::Rounds;
use federate::Callback;
use hla::api::{ParameterHandleValueMap, ReceiveInteraction, ReflectAttributeValues};
use hla::encoding::{AsciiString, Encoding as _};
use hla::handle::{ObjectInstanceHandle, ParameterHandle};
use tokio::time::Instant;

use super::model::{DemoError, Member};
use super::world::{Position, Velocity};

/// The number of last events that are kept.
pub(super) const EVENTS: usize = 6;

/// An entity that the viewer has discovered.
#[derive(Clone, Debug, Default)]
pub(super) struct Seen {
    pub(super) class: &'static str,
    pub(super) marking: String,
    pub(super) position: Option<Position>,
    pub(super) velocity: Option<Velocity>,
    /// The number of updates since the last computation of rates, and the rate per second before
    /// it.
    updates: u32,
    pub(super) updates_per_s: f64,
}

/// The data that the viewer has collected so far.
pub(super) struct View {
    begun: Instant,
    counted: Instant,
    pub(super) entities: BTreeMap<ObjectInstanceHandle, Seen>,
    /// The last events, the newest at the end.
    pub(super) events: VecDeque<String>,
    /// The latencies from sending an update to its reflect, of the last interval and of the whole
    /// run.
    pub(super) recent: Rounds,
    pub(super) latency: Rounds,
    pub(super) discovered: u64,
    pub(super) removed: u64,
    pub(super) reflects: u64,
    pub(super) interactions: u64,
}

impl View {
    fn new() -> Self {
        let now = Instant::now();
        Self {
            begun: now,
            counted: now,
            entities: BTreeMap::new(),
            events: VecDeque::new(),
            recent: Rounds::new(0),
            latency: Rounds::new(0),
            discovered: 0,
            removed: 0,
            reflects: 0,
            interactions: 0,
        }
    }

    /// The time since the viewer began to watch.
    pub(super) fn age(&self) -> Duration {
        self.begun.elapsed()
    }

    /// Computes the rates since the last call, and restarts the counts.
    pub(super) fn count(&mut self) {
        let seconds = self.counted.elapsed().as_secs_f64().max(1e-3);
        for entity in self.entities.values_mut() {
            entity.updates_per_s = f64::from(std::mem::take(&mut entity.updates)) / seconds;
        }
        self.counted = Instant::now();
    }

    /// The updates per second of all entities together.
    pub(super) fn updates_per_s(&self) -> f64 {
        self.entities.values().map(|entity| entity.updates_per_s).sum()
    }

    fn event(&mut self, text: &str) {
        if self.events.len() == EVENTS {
            self.events.pop_front();
        }
        self.events.push_back(format!("{:6.1} s  {text}", self.begun.elapsed().as_secs_f64()));
    }
}

/// A federate that subscribes to everything.
pub(super) struct Viewer {
    pub(super) member: Member,
    pub(super) view: View,
}

impl Viewer {
    /// Subscribes to all entities and interactions.
    pub(super) async fn new(member: Member) -> Result<Self, DemoError> {
        let model = &member.model;
        let everything = model.class("BaseEntity");
        member.federate.subscribe_object_class_attributes(everything, model.attributes()).await?;
        // Only a subscriber to the class of registration discovers an object at that class.
        for class in [super::model::AIRCRAFT, super::model::GROUND_VEHICLE, super::model::MUNITION] {
            member.federate.subscribe_object_class_attributes(model.class(class), model.attributes()).await?;
        }
        for shot in [model.fire, model.detonation] {
            member.federate.subscribe_interaction_class(shot.class).await?;
        }
        Ok(Self { member, view: View::new() })
    }

    /// Handles callbacks until `end`. Returns false if there will be no further callbacks.
    pub(super) async fn watch_until(&mut self, end: Instant) -> bool {
        loop {
            match tokio::time::timeout_at(end, self.member.callbacks.recv()).await {
                Err(_) => return true,
                Ok(None | Some(Callback::ConnectionLost(_))) => return false,
                Ok(Some(callback)) => self.see(callback),
            }
        }
    }

    fn see(&mut self, callback: Callback) {
        match callback {
            Callback::DiscoverObjectInstance(found) => {
                let Some(object) = found.object_instance else { return };
                let class =
                    found.object_class.and_then(|class| self.member.model.name_of(class)).unwrap_or("?");
                self.view.discovered += 1;
                let marking = found.object_instance_name;
                self.view.entities.insert(object, Seen { class, marking, ..Seen::default() });
            }
            Callback::ReflectAttributeValues(reflect) => self.reflect(reflect),
            Callback::RemoveObjectInstance(removed) => {
                let gone = removed.object_instance.and_then(|object| self.view.entities.remove(&object));
                if let Some(gone) = gone {
                    self.view.removed += 1;
                    self.view.event(&format!("removed     {} ({})", gone.marking, gone.class));
                }
            }
            Callback::ReceiveInteraction(received) => self.interaction(received),
            _ => {}
        }
    }

    fn reflect(&mut self, reflect: ReflectAttributeValues) {
        let Some(object) = reflect.object_instance else { return };
        self.view.reflects += 1;
        if let Some(age) = self.member.stamps.age(&reflect.user_supplied_tag) {
            self.view.recent.record(age);
            self.view.latency.record(age);
        }
        let Some(entity) = self.view.entities.get_mut(&object) else { return };
        let model = &self.member.model;
        let mut named = None;
        for value in reflect.attribute_values.unwrap_or_default().attribute_handle_value {
            // A value that does not decode as its datatype comes from a federate with another
            // object model.
            if value.attribute_handle == Some(model.position) {
                entity.position = Position::decode(&value.value).ok();
                entity.updates += 1;
            } else if value.attribute_handle == Some(model.velocity) {
                entity.velocity = Velocity::decode(&value.value).ok();
            } else if value.attribute_handle == Some(model.marking)
                && let Ok(AsciiString(marking)) = AsciiString::decode(&value.value)
                && marking != entity.marking
            {
                named = Some(format!("discovered  {marking} ({})", entity.class));
                entity.marking = marking;
            }
        }
        if let Some(text) = named {
            self.view.event(&text);
        }
    }

    fn interaction(&mut self, received: ReceiveInteraction) {
        let model = &self.member.model;
        let (shot, verb) = match received.interaction_class {
            Some(class) if class == model.fire.class => (model.fire, "fired      "),
            Some(class) if class == model.detonation.class => (model.detonation, "detonated  "),
            _ => return,
        };
        let values = received.parameter_values.unwrap_or_default();
        let (munition, target) = (text_of(&values, shot.munition), text_of(&values, shot.target));
        self.view.interactions += 1;
        self.view.event(&format!("{verb} {munition} at {target}"));
    }
}

fn text_of(values: &ParameterHandleValueMap, parameter: ParameterHandle) -> String {
    let value = values.parameter_handle_value.iter().find(|value| value.parameter_handle == Some(parameter));
    value
        .and_then(|value| AsciiString::decode(&value.value).ok())
        .map_or_else(|| "?".to_owned(), |text| text.0)
}
