//! The square, and who moves over it. Every process has the same one, so that each knows who is near
//! whom without asking.

use base::{Rng, Seed};
use rand_core::RngCore as _;

use crate::error::BenchError;
use crate::role::number;

/// The side of the square: the upper bound of both dimensions in the object model.
pub(super) const SIDE: u32 = 1_000_000;
/// The longest way in one step, on each axis.
const PACE_MAX: u32 = SIDE / 100;

/// The inhabitants of a square.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Scene {
    pub(super) objects: usize,
    pub(super) subscribers: usize,
    /// The side of the box around a subscriber.
    pub(super) side: u32,
    /// Number of objects that move in a step. The others stay.
    pub(super) moves: usize,
}

impl Scene {
    /// The scene as words of a role.
    pub(super) fn words(self) -> [String; 4] {
        [
            self.objects.to_string(),
            self.subscribers.to_string(),
            self.side.to_string(),
            self.moves.to_string(),
        ]
    }

    /// The scene of such words.
    pub(super) fn of_words([objects, subscribers, side, moves]: [&str; 4]) -> Result<Self, BenchError> {
        let side = u32::try_from(number(side)?).unwrap_or(SIDE);
        let (objects, subscribers, moves) = (number(objects)?, number(subscribers)?, number(moves)?);
        Ok(Self { objects, subscribers, side, moves })
    }
}

/// A rectangle: on each dimension the lower bound, and the upper one, which is not part of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Rectangle(pub(super) [(u32, u32); 2]);

impl Rectangle {
    /// The whole square.
    pub(super) const ALL: Self = Self([(0, SIDE); 2]);

    /// One point.
    fn point(at: [u32; 2]) -> Self {
        Self(at.map(|at| (at, at + 1)))
    }

    /// A box around a point, as far as it is in the square.
    fn around(at: [u32; 2], side: u32) -> Self {
        let half = side.max(2) / 2;
        Self(at.map(|at| (at.saturating_sub(half), (at + half).min(SIDE))))
    }

    pub(super) fn overlaps(&self, other: &Self) -> bool {
        self.0.iter().zip(&other.0).all(|(own, other)| own.0 < other.1 && other.0 < own.1)
    }
}

/// Somebody who walks straight on, and back from the sides of the square.
#[derive(Clone, Copy, Debug)]
struct Walker {
    at: [u32; 2],
    pace: [i64; 2],
}

impl Walker {
    fn new(rng: &mut Rng) -> Self {
        let at = [(); 2].map(|()| rng.next_u32() % SIDE);
        let pace = [(); 2].map(|()| i64::from(rng.next_u32() % (2 * PACE_MAX + 1)) - i64::from(PACE_MAX));
        Self { at, pace }
    }

    fn step(&mut self) {
        for (at, pace) in self.at.iter_mut().zip(&mut self.pace) {
            let next = i64::from(*at) + *pace;
            if !(0..i64::from(SIDE)).contains(&next) {
                *pace = -*pace;
            }
            *at = (i64::from(*at) + *pace).clamp(0, i64::from(SIDE) - 1) as u32;
        }
    }
}

/// All of them.
#[derive(Debug)]
pub(super) struct World {
    scene: Scene,
    objects: Vec<Walker>,
    subscribers: Vec<Walker>,
    /// The object that moves next.
    next: usize,
}

impl World {
    pub(super) fn new(scene: Scene) -> Self {
        let mut rng = Seed(9).rng();
        let mut walkers = |count| (0..count).map(|_| Walker::new(&mut rng)).collect();
        let (objects, subscribers) = (walkers(scene.objects), walkers(scene.subscribers));
        Self { scene, objects, subscribers, next: 0 }
    }

    /// Lets all subscribers move, and as many objects as it is the turn of. Returns these.
    pub(super) fn step(&mut self) -> Vec<usize> {
        self.subscribers.iter_mut().for_each(Walker::step);
        let count = self.objects.len();
        let moved: Vec<usize> =
            (0..self.scene.moves.min(count)).map(|place| (self.next + place) % count).collect();
        for &object in &moved {
            self.objects[object].step();
        }
        self.next = (self.next + moved.len()) % count.max(1);
        moved
    }

    /// The update region of an object.
    pub(super) fn object(&self, index: usize) -> Rectangle {
        Rectangle::point(self.objects[index].at)
    }

    /// The subscription region of a subscriber.
    pub(super) fn subscriber(&self, index: usize) -> Rectangle {
        Rectangle::around(self.subscribers[index].at, self.scene.side)
    }

    pub(super) fn scene(&self) -> Scene {
        self.scene
    }

    /// Whether a perfect filter passes an update of the object on to the subscriber.
    pub(super) fn is_near(&self, object: usize, subscriber: usize) -> bool {
        object < self.objects.len() && self.object(object).overlaps(&self.subscriber(subscriber))
    }

    /// Number of objects near a subscriber.
    pub(super) fn near(&self, subscriber: usize) -> usize {
        (0..self.objects.len()).filter(|&object| self.is_near(object, subscriber)).count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCENE: Scene = Scene { objects: 30, subscribers: 5, side: SIDE / 5, moves: 7 };

    #[test]
    fn everybody_stays_in_the_square_and_all_take_their_turns() {
        let mut world = World::new(SCENE);
        let mut moved = Vec::new();
        for step in 0..300 {
            let turn = world.step();
            assert_eq!(turn.len(), 7, "step {step}");
            moved.extend(turn);
            let objects = (0..30).map(|object| world.object(object));
            for Rectangle(bounds) in objects.chain((0..5).map(|subscriber| world.subscriber(subscriber))) {
                assert!(bounds.iter().all(|(lower, upper)| lower < upper && *upper <= SIDE), "{bounds:?}");
            }
        }
        assert!((0..30).all(|object| moved.iter().filter(|&&other| other == object).count() == 70));
    }

    #[test]
    fn two_processes_see_the_same() {
        let words = SCENE.words();
        let scene = Scene::of_words(words.each_ref().map(String::as_str)).unwrap();
        let (mut one, mut other) = (World::new(SCENE), World::new(scene));
        for _ in 0..50 {
            assert_eq!(one.step(), other.step());
            assert!((0..5).all(|subscriber| one.near(subscriber) == other.near(subscriber)));
        }
        assert!((0..5).any(|subscriber| one.near(subscriber) > 0));
    }

    #[test]
    fn a_box_at_a_corner_is_cut() {
        assert_eq!(Rectangle::around([10, SIDE - 1], 100), Rectangle([(0, 60), (SIDE - 51, SIDE)]));
        assert!(Rectangle::ALL.overlaps(&Rectangle::point([SIDE - 1, 0])));
        assert!(!Rectangle::around([50, 50], 100).overlaps(&Rectangle::point([100, 50])));
    }
}
