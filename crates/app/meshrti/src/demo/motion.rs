//! How the entities of the demo move: dead-simple kinematics.

use std::f64::consts::TAU;

use super::world::{Local, Orientation};

/// Position, velocity and orientation of an entity.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct State {
    pub(super) place: Local,
    pub(super) velocity: Local,
    pub(super) orientation: Orientation,
}

/// The gravity for the bank angle of a turn, in m/s².
const GRAVITY: f64 = 9.81;

/// A circle that an entity follows for ever.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Circle {
    pub(super) centre: Local,
    pub(super) radius_m: f64,
    pub(super) speed_m_per_s: f64,
    /// The starting point on the circle, in turns.
    pub(super) phase: f64,
}

impl Circle {
    /// The state after `driven` metres, clockwise as seen from above. `moving` tells whether the
    /// entity moves at this moment.
    pub(super) fn at(&self, driven: f64, moving: bool) -> State {
        let angle = (self.phase + driven / (TAU * self.radius_m)).rem_euclid(1.0) * TAU;
        let speed = if moving { self.speed_m_per_s } else { 0.0 };
        let (sin, cos) = angle.sin_cos();
        let flies = self.centre.up > 0.0;
        let roll = if flies { (speed * speed / (GRAVITY * self.radius_m)).atan() } else { 0.0 };
        // From the north point over the east: the heading is a quarter ahead of the angle.
        let heading = (angle + TAU / 4.0) % TAU;
        State {
            place: self.centre.plus(Local::new(sin, cos, 0.0), self.radius_m),
            velocity: Local::new(cos * speed, -sin * speed, 0.0),
            orientation: Orientation { heading: heading as f32, pitch: 0.0, roll: roll as f32 },
        }
    }
}

/// One step of a munition from `from` towards `target`. `None` when it has arrived.
pub(super) fn chase(from: Local, target: Local, speed_m_per_s: f64, step_s: f64) -> Option<State> {
    let way = target.plus(from, -1.0);
    let distance = way.length();
    let step = speed_m_per_s * step_s;
    if distance <= step {
        return None;
    }
    let velocity = Local::default().plus(way, speed_m_per_s / distance);
    let orientation = Orientation {
        heading: way.east.atan2(way.north).rem_euclid(TAU) as f32,
        pitch: (way.up / distance).asin() as f32,
        roll: 0.0,
    };
    Some(State { place: from.plus(velocity, step_s), velocity, orientation })
}

#[cfg(test)]
mod tests {
    use super::*;

    const CIRCLE: Circle = Circle {
        centre: Local::new(100.0, 0.0, 1_000.0),
        radius_m: 2_000.0,
        speed_m_per_s: 150.0,
        phase: 0.25,
    };

    #[test]
    fn a_circle_is_closed_and_its_velocity_points_along_it() {
        let (begin, round) = (CIRCLE.at(0.0, true), CIRCLE.at(TAU * 2_000.0, true));
        assert!(begin.place.plus(round.place, -1.0).length() < 1e-6);
        let step = CIRCLE.at(0.15, true).place.plus(begin.place, -1.0);
        assert!(step.plus(begin.velocity, -0.001).length() < 1e-4, "{step:?}");
        assert_eq!(begin.place, Local::new(2_100.0, CIRCLE.at(0.0, true).place.north, 1_000.0));
        assert!((begin.orientation.heading - 180_f32.to_radians()).abs() < 1e-3, "eastmost it flies south");
        assert!(begin.orientation.roll > 0.5);
    }

    #[test]
    fn a_stopped_entity_has_no_speed() {
        assert_eq!(CIRCLE.at(10.0, false).velocity.length(), 0.0);
    }

    #[test]
    fn a_munition_arrives() {
        let target = Local::new(3_000.0, 4_000.0, 0.0);
        let mut place = Local::new(0.0, 0.0, 0.0);
        let mut steps = 0;
        while let Some(state) = chase(place, target, 500.0, 0.1) {
            assert!((state.velocity.length() - 500.0).abs() < 1e-6);
            place = state.place;
            steps += 1;
        }
        assert!((98..=100).contains(&steps), "{steps}");
        assert!(chase(target, target, 500.0, 0.1).is_none());
    }
}
