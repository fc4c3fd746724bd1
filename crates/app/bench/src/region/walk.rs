//! Objects and subscribers that walk, and whether updates reach those near enough.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::rc::Rc;
use std::time::Duration;

use bytes::Bytes;
use federate::{Callback, Callbacks, Federate};
use hla::handle::{ObjectInstanceHandle, RegionHandle};
use tokio::sync::Notify;

use super::ground::Ground;
use super::world::{SIDE, Scene, World};
use super::{Moves, Plan, SIZE_BYTES_MIN, Walk};
use crate::error::BenchError;
use crate::floor::Floor;
use crate::member::{Member, reflected};
use crate::process::{Launcher, PATIENCE, Process, orders, print_line};
use crate::role::{self, number};
use crate::server::{Server, federation_name};
use crate::wire::message_bytes;
use console::rounds::Rounds;

/// Round trips of the floor: enough for a median, and a fraction of a second.
const FLOOR_SAMPLES: u64 = 2_000;
const FLOOR_WARM_UP: u64 = 200;
/// The longest wait for updates of a step that should come.
const LATE: Duration = Duration::from_secs(10);

/// Lets everybody walk.
pub(super) async fn measure(
    launcher: &Launcher,
    server: &Server,
    plan: &Plan,
    mut progress: impl FnMut(u64, u64),
) -> Result<Walk, BenchError> {
    let side = (plan.side * f64::from(SIDE)) as u32;
    let Plan { objects, subscribers, moves, .. } = *plan;
    let scene = Scene { objects, subscribers, side, moves }.words();
    let federation = federation_name("walk");
    let creator = Member::create(server.address(), server.edition(), &federation).await?;
    let walkers = role::region_walkers("region-walkers", server.address(), &federation, &scene);
    let mut walkers = launcher.start(&walkers).await?.0;
    let watchers = role::region_walkers("region-watchers", server.far_address(), &federation, &scene);
    let mut watchers = launcher.start(&watchers).await?.0;
    watchers.hear("near").await?;
    let mut floor = Floor::start(launcher, server.links(), &[]).await?;
    let floor = floor.rounds(0, message_bytes(0), FLOOR_WARM_UP, FLOOR_SAMPLES).await?;
    let nothing = || Moves { rounds: Rounds::new(0), cpu_s: Some(0.0) };
    let (mut of_objects, mut of_subscribers) = (nothing(), nothing());
    let mut sums = [0; 3];
    for step in 0..plan.steps {
        moves_of(server, &mut walkers, &mut of_objects).await?;
        moves_of(server, &mut watchers, &mut of_subscribers).await?;
        walkers.send_line(&format!("update {}", plan.size)).await?;
        walkers.hear("updated").await?;
        watchers.send_line("count").await?;
        let counted = watchers.hear("counted").await?;
        for (sum, word) in sums.iter_mut().zip(&counted) {
            *sum += number(word)? as u64;
        }
        progress(step + 1, plan.steps);
    }
    drop((walkers, watchers));
    creator.leave(&federation).await?;
    for moves in [&mut of_objects, &mut of_subscribers] {
        let count = moves.rounds.samples();
        moves.cpu_s = moves.cpu_s.filter(|_| count > 0).map(|sum| sum / count as f64);
    }
    let [expected, reached, surplus] = sums;
    let updates = plan.steps * plan.objects as u64;
    Ok(Walk { objects: of_objects, subscribers: of_subscribers, floor, updates, expected, reached, surplus })
}

/// Lets a process move its regions, one after the other.
async fn moves_of(server: &Server, process: &mut Process, moves: &mut Moves) -> Result<(), BenchError> {
    let before = server.cpu_s();
    process.send_line("move").await?;
    let words = process.hear("moved").await?;
    let spent = server.cpu_s().zip(before);
    moves.cpu_s = moves.cpu_s.zip(spent).map(|(sum, (after, before))| sum + after - before);
    match words.iter().all(|word| moves.rounds.add_word(word)) {
        true => Ok(()),
        false => Err(BenchError::Unusable("a process does not say how long moves took".to_owned())),
    }
}

fn print_moved(rounds: &Rounds) {
    let words: Vec<_> = rounds.words().collect();
    print_line(&format!("moved {}", words.join(" ")));
}

/// The federate with the objects: `move` is answered by `moved` and how long each took, and
/// `update SIZE`, of all objects, by `updated`.
pub(crate) async fn play_walkers(server: &str, federation: &str, words: [&str; 4]) -> Result<(), BenchError> {
    let mut orders = orders();
    let mut world = World::new(Scene::of_words(words)?);
    let member = Member::join(server, federation).await?;
    let ground = Ground::of(&member).await?;
    let Member { federate, mut callbacks, .. } = member;
    tokio::spawn(async move { while callbacks.recv().await.is_some() {} });
    federate.publish_object_class_attributes(ground.moving.class, [ground.moving.attribute]).await?;
    let places = (0..world.scene().objects).map(|object| world.object(object));
    let regions = ground.create(&federate, places).await?;
    let with: Vec<_> = regions.iter().map(|&region| vec![region]).collect();
    let objects = ground.register(&federate, &with).await?;
    print_line("ready");
    let mut step = 0_u32;
    while let Some(order) = orders.recv().await {
        match order.iter().map(String::as_str).collect::<Vec<_>>()[..] {
            ["move"] => {
                step += 1;
                let mut rounds = Rounds::new(0);
                for object in world.step() {
                    let place = world.object(object);
                    rounds.record(ground.move_to(&federate, regions[object], place).await?);
                }
                print_moved(&rounds);
            }
            ["update", size] => {
                update_all(&federate, &ground, &objects, (step, number(size)?)).await?;
                print_line("updated");
            }
            _ => {}
        }
    }
    Ok(())
}

/// Updates all objects; each value tells the object and the step.
async fn update_all(
    federate: &Federate,
    ground: &Ground,
    objects: &[ObjectInstanceHandle],
    (step, size): (u32, usize),
) -> Result<(), BenchError> {
    let updates = federate.updates();
    for (index, &object) in objects.iter().enumerate() {
        let mut value = vec![3; size.max(SIZE_BYTES_MIN)];
        value[..4].copy_from_slice(&(index as u32).to_be_bytes());
        value[4..8].copy_from_slice(&step.to_be_bytes());
        let value = Bytes::from(value);
        updates.update_attribute_values(object, [(ground.moving.attribute, value)], "").await?;
    }
    Ok(updates.drained().await?)
}

/// Everything that has reached the subscribers.
struct Seen {
    world: World,
    step: u32,
    /// For each subscriber the objects that it has discovered.
    discovered: Vec<usize>,
    /// For each subscriber the objects near it of which it has got the update of this step.
    reached: Vec<BTreeSet<usize>>,
    /// Updates that should not have come, since they were last told.
    surplus: u64,
}

impl Seen {
    fn take(&mut self, subscriber: usize, callback: Callback) {
        if let Callback::DiscoverObjectInstance(_) = callback {
            self.discovered[subscriber] += 1;
        }
        let Some(value) = reflected(callback) else { return };
        let word = |from: usize| value.get(from..from + 4).and_then(|octets| octets.try_into().ok());
        let [object, step] = [0, 4].map(|from| word(from).map_or(u32::MAX, u32::from_be_bytes));
        let object = object as usize;
        let is_right = step == self.step && self.world.is_near(object, subscriber);
        if !is_right || !self.reached[subscriber].insert(object) {
            self.surplus += 1;
        }
    }

    fn expected(&self) -> u64 {
        (0..self.reached.len()).map(|subscriber| self.world.near(subscriber) as u64).sum()
    }

    fn reached(&self) -> u64 {
        self.reached.iter().map(|objects| objects.len() as u64).sum()
    }

    /// Whether all have discovered what is near them at the beginning.
    fn knows_all(&self) -> bool {
        self.discovered.iter().enumerate().all(|(subscriber, &known)| known >= self.world.near(subscriber))
    }
}

/// The subscribers: `near` when they know the objects near them; `move` is answered by `moved` and how
/// long each took, and `count` by `counted` and the numbers of updates of this step that should have
/// reached them, that did, and that should not have.
pub(crate) async fn play_watchers(
    server: &str,
    federation: &str,
    words: [&str; 4],
) -> Result<(), BenchError> {
    let mut orders = orders();
    let world = World::new(Scene::of_words(words)?);
    let count = world.scene().subscribers;
    let reached = vec![BTreeSet::new(); count];
    let seen = Seen { world, step: 0, discovered: vec![0; count], reached, surplus: 0 };
    let seen = Rc::new(RefCell::new(seen));
    let progress = Rc::new(Notify::new());
    let mut subscribers = Vec::with_capacity(count);
    for subscriber in 0..count {
        let member = Member::join(server, federation).await?;
        let ground = Ground::of(&member).await?;
        let place = seen.borrow().world.subscriber(subscriber);
        let region = ground.create(&member.federate, [place]).await?[0];
        ground.watch(&member.federate, region).await?;
        let Member { federate, callbacks, .. } = member;
        let (seen, progress) = (Rc::clone(&seen), Rc::clone(&progress));
        tokio::task::spawn_local(watch(subscriber, callbacks, seen, progress));
        subscribers.push((federate, ground, region));
    }
    print_line("ready");
    await_until(&progress, PATIENCE, || seen.borrow().knows_all()).await;
    print_line("near");
    while let Some(order) = orders.recv().await {
        if order.first().is_some_and(|word| word == "move") {
            print_moved(&move_all(&subscribers, &seen).await?);
        } else {
            let expected = seen.borrow().expected();
            await_until(&progress, LATE, || seen.borrow().reached() >= expected).await;
            let mut seen = seen.borrow_mut();
            let surplus = std::mem::take(&mut seen.surplus);
            print_line(&format!("counted {expected} {} {surplus}", seen.reached()));
        }
    }
    Ok(())
}

/// Moves the box of each subscriber.
async fn move_all(
    subscribers: &[(Federate, Ground, RegionHandle)],
    seen: &RefCell<Seen>,
) -> Result<Rounds, BenchError> {
    {
        let mut seen = seen.borrow_mut();
        seen.world.step();
        seen.step += 1;
        seen.reached.iter_mut().for_each(BTreeSet::clear);
    }
    let mut rounds = Rounds::new(0);
    for (subscriber, (federate, ground, region)) in subscribers.iter().enumerate() {
        let place = seen.borrow().world.subscriber(subscriber);
        rounds.record(ground.move_to(federate, *region, place).await?);
    }
    Ok(rounds)
}

async fn watch(subscriber: usize, mut callbacks: Callbacks, seen: Rc<RefCell<Seen>>, progress: Rc<Notify>) {
    while let Some(callback) = callbacks.recv().await {
        seen.borrow_mut().take(subscriber, callback);
        progress.notify_one();
    }
}

/// Waits until something is so, or for the longest time that it may take.
async fn await_until(progress: &Notify, longest: Duration, is_so: impl Fn() -> bool) {
    let wait = async {
        while !is_so() {
            progress.notified().await;
        }
    };
    let _ = tokio::time::timeout(longest, wait).await; // what is missing is counted
}
