//! The first steps of a federate, so that most of what follows makes sense. Bits select them.

use crate::common::Refused;
use crate::run::{NAMES, Run};
use proptest::prelude::*;

/// The number of steps.
const STEPS: u16 = 14;

/// Each step is more often taken than not.
pub(crate) fn arbitrary() -> impl Strategy<Value = u16> {
    (any::<u16>(), any::<u16>()).prop_map(|(first, second)| first | second)
}

impl Run {
    /// Takes the steps, and records them.
    pub(crate) fn begin(&mut self, at: usize, profile: u16) {
        for step in (0..STEPS).filter(|step| profile >> step & 1 == 1) {
            let done = self.first_step(at, step);
            self.record(&format!("{} takes step {step}: {done}", NAMES[at]));
        }
    }

    fn first_step(&mut self, at: usize, step: u16) -> String {
        let f = &self.federates[at];
        let both = |done: Refused, next: &dyn Fn() -> Refused| done.and_then(|()| next());
        let done = match step {
            0 => f.publish("C", &["a", "b", "t"]),
            1 => f.publish("C.S", &["a", "b", "t", "c"]),
            2 => f.subscribe("C", &["a", "b", "t"]),
            3 => f.subscribe("C.S", &["a", "c"]),
            4 => both(f.publish_interaction("I"), &|| f.publish_interaction("I.J")),
            5 => f.subscribe_interaction("I"),
            6 => both(f.publish_directed("C", &["D"]), &|| f.publish_directed("C.S", &["D.K"])),
            7 => f.subscribe_universally("C", &["D"]),
            8 => f.regulate(1),
            9 => f.constrain(),
            10 => f.publish("E", &["e"]),
            11 => f.reserve(crate::federation::NAMES[at]),
            12 => {
                let registered = f.register("C");
                return self.note_instance(at, 0, registered);
            }
            _ => {
                let registered = f.register("C.S");
                return self.note_instance(at, 1, registered);
            }
        };
        format!("{done:?}")
    }
}
