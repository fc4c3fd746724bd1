//! Updates with and without regions, in turns: a flood of them, and round trips.
//!
//! Each mode has a federation execution of its own with two federates. The one in a process of its own
//! updates its objects in turn, the one in this process counts or answers. Both see all of the square,
//! so that every update reaches the other one in every mode.

use std::collections::VecDeque;
use std::pin::pin;
use std::time::{Duration, Instant};

use bytes::Bytes;
use federate::{Callback, Updates};
use hla::handle::{ObjectInstanceHandle, RegionHandle};

use super::ground::Ground;
use super::{Mode, ModeCosts, Plan};
use crate::error::BenchError;
use crate::federation::SIZE_BYTES_MIN;
use crate::floor::Floor;
use crate::member::{Member, received, reflected, stalled};
use crate::process::{Launcher, PATIENCE, Process, orders, print_line};
use crate::role::{self, number};
use crate::server::{Server, federation_name};
use crate::throughput::flood;
use crate::wire::message_bytes;
use console::rounds::Rounds;
use workload::phases::{Rectangle, SIDE};
use workload::share;

/// Regions that one object has, where they are associated with others than those that are updated.
const OF_ANOTHER: usize = 20;
/// The longest time in which a federate makes its regions and objects.
const SETUP_MAX: Duration = Duration::from_secs(600);
/// Round trips before each slice that are not counted.
const WARM_UP: u64 = 100;

impl Mode {
    /// Its word in the role of a process.
    const fn word(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::OneForAll => "one",
            Self::OneEach => "each",
            Self::Held => "held",
            Self::InUse => "in-use",
        }
    }

    fn of_word(word: &str) -> Result<Self, BenchError> {
        let mode = Self::ALL.into_iter().find(|mode| mode.word() == word);
        mode.ok_or_else(|| BenchError::Unusable(format!("`{word}` is no use of regions")))
    }

    /// Whether the updates have regions.
    const fn narrows(self) -> bool {
        matches!(self, Self::OneForAll | Self::OneEach)
    }
}

/// One of the two federates.
struct Party {
    member: Member,
    ground: Ground,
    /// Those that it updates.
    objects: Vec<ObjectInstanceHandle>,
    /// Number of others that it has registered.
    others: usize,
    /// The object that is updated next.
    next: usize,
}

impl Party {
    /// Subscribes, registers that many objects, and holds that many regions besides.
    async fn enter(member: Member, mode: Mode, objects: usize, regions: usize) -> Result<Self, BenchError> {
        let ground = Ground::of(&member).await?;
        let federate = &member.federate;
        let moving = ground.moving;
        federate.publish_object_class_attributes(moving.class, [moving.attribute]).await?;
        if mode.narrows() {
            let all = ground.create(federate, [Rectangle::ALL]).await?;
            ground.watch(federate, all[0]).await?;
        } else {
            member.want(moving).await?;
        }
        let updated = match mode {
            Mode::OneForAll => vec![ground.create(federate, [Rectangle::ALL]).await?; objects],
            Mode::OneEach => {
                let regions = ground.create(federate, somewhere(objects)).await?;
                regions.into_iter().map(|region| vec![region]).collect()
            }
            _ => vec![Vec::new(); objects],
        };
        let updated = ground.register(federate, &updated).await?;
        let held = match mode {
            Mode::Held | Mode::InUse => ground.create(federate, somewhere(regions)).await?,
            _ => Vec::new(),
        };
        let others: Vec<Vec<RegionHandle>> = match mode {
            Mode::InUse => held.chunks(OF_ANOTHER).map(<[_]>::to_vec).collect(),
            _ => Vec::new(),
        };
        ground.register(federate, &others).await?;
        Ok(Self { member, ground, objects: updated, others: others.len(), next: 0 })
    }

    /// Waits until so many objects of the other one are discovered.
    async fn discover(&mut self, count: usize) -> Result<(), BenchError> {
        let mut left = count;
        while left > 0 {
            let callback = self.member.next("an object to be discovered").await?;
            left -= usize::from(matches!(callback, Callback::DiscoverObjectInstance(_)));
        }
        Ok(())
    }

    /// Updates the object whose turn it is.
    async fn update(&mut self, updates: &Updates, value: Bytes) -> Result<(), BenchError> {
        let object = self.objects[self.next];
        self.next = (self.next + 1) % self.objects.len();
        Ok(updates.update_attribute_values(object, [(self.ground.moving.attribute, value)], "").await?)
    }

    /// Updates as fast as the server takes it. Returns the number of those refused.
    async fn flood(&mut self, size: usize, count: usize) -> Result<u64, BenchError> {
        let updates = self.member.federate.updates();
        let before = updates.counts().failed;
        let value = Bytes::from(vec![1; size]);
        for _ in 0..count {
            self.update(&updates, value.clone()).await?;
        }
        // Failures are reported as a number; they are no error of this process.
        let _ = updates.drained().await;
        Ok(updates.counts().failed - before)
    }

    /// Makes round trips with the other one.
    async fn rounds(&mut self, size: usize, warm_up: u64, count: u64) -> Result<Rounds, BenchError> {
        let updates = self.member.federate.updates();
        let mut rounds = Rounds::new(size);
        let mut payload = vec![2; size.max(SIZE_BYTES_MIN)];
        for round in 0..warm_up + count {
            payload[..SIZE_BYTES_MIN].copy_from_slice(&round.to_be_bytes());
            let begun = Instant::now();
            self.update(&updates, Bytes::copy_from_slice(&payload)).await?;
            while reflected(received(self.member.callbacks.recv().await)?).as_deref() != Some(&payload[..]) {}
            if round >= warm_up {
                rounds.record(begun.elapsed());
            }
        }
        updates.drained().await?;
        Ok(rounds)
    }
}

/// Points all over the square.
fn somewhere(count: usize) -> impl Iterator<Item = Rectangle> {
    let at = |index: usize| (index as u32).wrapping_mul(7_919) % SIDE;
    (0..count).map(move |index| Rectangle([(at(index), at(index) + 1), (at(index * 31), at(index * 31) + 1)]))
}

/// The two federates of a mode, and what they have cost so far.
struct Pair {
    mode: Mode,
    federation: String,
    here: Party,
    there: Process,
    seconds: f64,
    cpu_s: Option<f64>,
    rounds: Rounds,
}

impl Pair {
    async fn start(
        launcher: &Launcher,
        server: &Server,
        plan: &Plan,
        mode: Mode,
    ) -> Result<Self, BenchError> {
        let federation = format!("{} {}", federation_name("region"), mode.word());
        let member = Member::create(server.address(), server.edition(), &federation).await?;
        let mut here = Party::enter(member, mode, 1, 0).await?;
        let (objects, regions) = (plan.objects.to_string(), plan.regions.to_string());
        let words = [mode.word(), &objects, &regions];
        let (mut there, _) =
            launcher.start(&role::region_party(server.far_address(), &federation, words)).await?;
        let registered = there.hear_within("entered", SETUP_MAX).await?;
        here.discover(number(registered.first().map_or("", String::as_str))?).await?;
        Ok(Self { mode, federation, here, there, seconds: 0.0, cpu_s: Some(0.0), rounds: Rounds::new(0) })
    }

    async fn flood(&mut self, server: &Server, size: usize, count: u64) -> Result<(), BenchError> {
        let before = server.cpu_s();
        self.seconds += flood(&mut self.here.member, &mut self.there, size, count).await?;
        let spent = server.cpu_s().zip(before);
        self.cpu_s = self.cpu_s.zip(spent).map(|(sum, (after, before))| sum + after - before);
        Ok(())
    }

    /// Answers while the other one makes round trips.
    async fn rounds(&mut self, size: usize, count: u64) -> Result<(), BenchError> {
        self.there.send_line(&format!("rounds {size} {WARM_UP} {count}")).await?;
        let Self { here, there, rounds, .. } = self;
        let mut took = pin!(there.hear_within("took", PATIENCE + Duration::from_millis(20 * count)));
        let updates = here.member.federate.updates();
        let words = loop {
            let callback = tokio::select! {
                words = &mut took => break words?,
                callback = here.member.callbacks.recv() => received(callback)?,
            };
            if let Some(payload) = reflected(callback) {
                here.update(&updates, payload).await?;
            }
        };
        match words.iter().all(|word| rounds.add_word(word)) {
            true => Ok(updates.drained().await?),
            false => Err(BenchError::Unusable("a process does not say how long it took".to_owned())),
        }
    }

    async fn end(self) -> Result<ModeCosts, BenchError> {
        let Self { mode, federation, here, there, seconds, cpu_s, rounds } = self;
        drop(there);
        here.member.leave(&federation).await?;
        Ok(ModeCosts { mode, update_s: seconds, cpu_s, rounds })
    }
}

/// Measures all modes in turns. Returns the floor of their round trips, too.
pub(super) async fn measure(
    launcher: &Launcher,
    server: &Server,
    plan: &Plan,
    mut progress: impl FnMut(u64, u64),
) -> Result<(Vec<ModeCosts>, Rounds), BenchError> {
    let mut floor = Floor::start(launcher, server.links(), &[]).await?;
    let mut floor_rounds = Rounds::new(plan.size);
    let mut pairs: VecDeque<Pair> = VecDeque::new();
    for mode in Mode::ALL {
        let mut pair = Box::pin(Pair::start(launcher, server, plan, mode)).await?;
        flood(&mut pair.here.member, &mut pair.there, plan.size, plan.updates / 10 + 1).await?;
        pairs.push_back(pair);
    }
    let slices = plan.slices.clamp(1, plan.updates.max(1));
    for slice in 0..slices {
        let samples = share(plan.samples, slices, slice);
        floor_rounds.add(&floor.rounds(plan.size, message_bytes(plan.size), WARM_UP, samples).await?);
        for pair in &mut pairs {
            pair.flood(server, plan.size, share(plan.updates, slices, slice)).await?;
            pair.rounds(plan.size, samples).await?;
        }
        pairs.rotate_left(1); // none of them is always the first
        progress(slice + 1, slices);
    }
    let mut costs = Vec::new();
    for pair in pairs {
        let mut ended = pair.end().await?;
        ended.update_s /= plan.updates as f64;
        ended.cpu_s = ended.cpu_s.map(|sum| sum / plan.updates as f64);
        costs.push(ended);
    }
    costs.sort_by_key(|costs| costs.mode);
    Ok((costs, floor_rounds))
}

/// The other federate: says `entered` and the number of its objects; `flood SIZE COUNT` is answered by
/// `sent COUNT FAILED`, and `rounds SIZE WARM_UP COUNT` by `took` and how long they took.
pub(crate) async fn play_party(server: &str, federation: &str, words: [&str; 3]) -> Result<(), BenchError> {
    let [mode, objects, regions] = words;
    let mut orders = orders();
    let member = Member::join(server, federation).await?;
    print_line("ready");
    let mut party =
        Party::enter(member, Mode::of_word(mode)?, number(objects)?.max(1), number(regions)?).await?;
    party.discover(1).await?;
    print_line(&format!("entered {}", party.objects.len() + party.others));
    loop {
        let order = tokio::select! {
            order = orders.recv() => order,
            // Nobody sends anything now; a lost session ends the process.
            callback = party.member.callbacks.recv() => { received(callback)?; continue; }
        };
        match order.unwrap_or_default().iter().map(String::as_str).collect::<Vec<_>>()[..] {
            [] => return Ok(()),
            ["flood", size, count] => {
                let failed = party.flood(number(size)?, number(count)?).await?;
                print_line(&format!("sent {count} {failed}"));
            }
            ["rounds", size, warm_up, count] => {
                let (size, warm_up, count) = (number(size)?, number(warm_up)? as u64, number(count)? as u64);
                let budget = PATIENCE + Duration::from_millis(20 * (warm_up + count));
                let rounds = tokio::time::timeout(budget, party.rounds(size, warm_up, count)).await;
                let rounds = rounds.map_err(|_| stalled("a round trip"))??;
                let words: Vec<_> = rounds.words().collect();
                print_line(&format!("took {}", words.join(" ")));
            }
            _ => {}
        }
    }
}
