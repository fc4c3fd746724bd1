//! A square with objects and subscribers that move. Everybody has the same one, and therefore knows who is near
//! whom without asking.

use std::rc::Rc;

use base::{Rng, Seed};
use rand_core::RngCore as _;

/// The side of the square: the upper bound of both dimensions in the FOM module of the benchmarks.
pub const SIDE: u32 = 1_000_000;
/// The longest way in one move, on each axis.
const PACE_MAX: u32 = SIDE / 100;

/// The settings of a square.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Scene {
    /// Number of objects.
    pub objects: u32,
    /// Number of subscribers.
    pub subscribers: u32,
    /// The side of the box around a subscriber.
    pub side: u32,
    /// Objects that move in a step. The others stay.
    pub moves: u32,
}

/// A rectangle: on each dimension the lower bound, and the upper one, which is not part of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Rectangle(pub [(u32, u32); 2]);

impl Rectangle {
    /// The whole square.
    pub const ALL: Self = Self([(0, SIDE); 2]);

    /// One point.
    fn point(at: [u32; 2]) -> Self {
        Self(at.map(|at| (at, at + 1)))
    }

    /// A box around a point, as far as it is in the square.
    fn around(at: [u32; 2], side: u32) -> Self {
        let half = side.max(2) / 2;
        Self(at.map(|at| (at.saturating_sub(half), at.saturating_add(half).min(SIDE))))
    }

    fn overlaps(&self, other: &Self) -> bool {
        self.0.iter().zip(&other.0).all(|(own, other)| own.0 < other.1 && other.0 < own.1)
    }
}

/// One that moves straight on, and back from the sides of the square.
#[derive(Clone, Copy, Debug)]
struct Mover {
    from: [u32; 2],
    pace: [i64; 2],
}

impl Mover {
    fn new(rng: &mut Rng) -> Self {
        let from = [(); 2].map(|()| rng.next_u32() % SIDE);
        let pace = [(); 2].map(|()| i64::from(rng.next_u32() % (2 * PACE_MAX + 1)) - i64::from(PACE_MAX));
        Self { from, pace }
    }

    /// Its place after so many moves.
    fn at(&self, moves: u64) -> [u32; 2] {
        let last = i64::from(SIDE - 1);
        let [x, y] = self.from;
        let [pace_x, pace_y] = self.pace;
        [(x, pace_x), (y, pace_y)].map(|(from, pace)| {
            // There and back is one period.
            let moves = i64::try_from(moves % (2 * last.unsigned_abs())).unwrap_or(0);
            let way = (i64::from(from) + pace * moves).rem_euclid(2 * last);
            u32::try_from(way.min(2 * last - way)).unwrap_or(0)
        })
    }
}

/// All objects and subscribers. A copy costs nothing.
#[derive(Clone, Debug)]
pub(super) struct Square {
    scene: Scene,
    objects: Rc<[Mover]>,
    subscribers: Rc<[Mover]>,
}

impl Square {
    /// The square with these settings. There is one only.
    pub(super) fn new(scene: Scene) -> Self {
        let mut rng = Seed(9).rng();
        let mut movers = |count| (0..count).map(|_| Mover::new(&mut rng)).collect();
        let (objects, subscribers) = (movers(scene.objects), movers(scene.subscribers));
        Self { scene, objects, subscribers }
    }

    /// Its settings.
    pub(super) fn scene(&self) -> Scene {
        self.scene
    }

    /// The update region of an object that has made so many moves.
    pub(super) fn object(&self, index: u32, moves: u64) -> Option<Rectangle> {
        self.objects.get(index as usize).map(|object| Rectangle::point(object.at(moves)))
    }

    /// The subscription region of a subscriber that has made so many moves.
    pub(super) fn subscriber(&self, index: u32, moves: u64) -> Option<Rectangle> {
        let at = self.subscribers.get(index as usize)?.at(moves);
        Some(Rectangle::around(at, self.scene.side))
    }

    /// The moves that an object has made after so many steps. They take turns.
    fn moves_after(&self, index: u32, steps: u32) -> u64 {
        let all = u64::from(steps) * u64::from(self.scene.moves.min(self.scene.objects));
        all.saturating_sub(index.into()).div_ceil(u64::from(self.scene.objects.max(1)))
    }

    /// Whether a perfect filter passes an update of the object on to the subscriber after so many steps.
    pub(super) fn is_near(&self, object: u32, subscriber: u32, steps: u32) -> bool {
        let object = self.object(object, self.moves_after(object, steps));
        let subscriber = self.subscriber(subscriber, steps.into());
        object.zip(subscriber).is_some_and(|(object, subscriber)| object.overlaps(&subscriber))
    }

    /// Number of objects near a subscriber after so many steps.
    pub(super) fn near(&self, subscriber: u32, steps: u32) -> u32 {
        let count = (0..self.scene.objects).filter(|&object| self.is_near(object, subscriber, steps)).count();
        u32::try_from(count).unwrap_or(u32::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCENE: Scene = Scene { objects: 30, subscribers: 5, side: SIDE / 5, moves: 7 };

    #[test]
    fn all_stay_in_the_square() {
        let square = Square::new(SCENE);
        for moves in (0..300).chain([u64::MAX]) {
            let objects = (0..30).filter_map(|object| square.object(object, moves));
            let subscribers = (0..5).filter_map(|subscriber| square.subscriber(subscriber, moves));
            for Rectangle(bounds) in objects.chain(subscribers) {
                assert!(bounds.iter().all(|(lower, upper)| lower < upper && *upper <= SIDE), "{bounds:?}");
            }
        }
        assert_eq!((square.object(30, 0), square.subscriber(5, 0)), (None, None));
    }

    #[test]
    fn one_that_moves_turns_at_a_side() {
        let mover = Mover { from: [10, SIDE - 5], pace: [-4, 3] };
        let ways: Vec<_> = (0..4).map(|moves| mover.at(moves)).collect();
        assert_eq!(ways, [[10, SIDE - 5], [6, SIDE - 2], [2, SIDE - 3], [2, SIDE - 6]]);
    }

    /// As many as the scene says move in each step, the next ones each time.
    #[test]
    fn objects_take_turns() {
        let square = Square::new(SCENE);
        let mut moves = [0; 30];
        for step in 0..300 {
            assert_eq!(
                [0, 17, 29].map(|object| square.moves_after(object, step)),
                [moves[0], moves[17], moves[29]]
            );
            (0..7).for_each(|turn| moves[(step as usize * 7 + turn) % 30] += 1);
        }
        assert_eq!(moves, [70; 30]);
    }

    #[test]
    fn everybody_has_the_same_square() {
        let (one, other) = (Square::new(SCENE), Square::new(SCENE));
        let near = |square: &Square, steps| [0, 1, 2, 3, 4].map(|subscriber| square.near(subscriber, steps));
        assert!((0..50).all(|steps| near(&one, steps) == near(&other, steps)));
        assert!(near(&one, 20).iter().any(|near| *near > 0));
    }

    #[test]
    fn a_box_at_a_corner_is_cut() {
        assert_eq!(Rectangle::around([10, SIDE - 1], 100), Rectangle([(0, 60), (SIDE - 51, SIDE)]));
        assert!(Rectangle::ALL.overlaps(&Rectangle::point([SIDE - 1, 0])));
        assert!(!Rectangle::around([50, 50], 100).overlaps(&Rectangle::point([100, 50])));
    }
}
