//! In steady state no message causes an allocation: datagrams are split off from buffers that are
//! reused.

use base::{Moment, Seed};
use bytes::Bytes;
use srmp::auth::{GroupKey, Keyring};
use srmp::model::{DataId, MemberId, Profile, StreamKey};
use srmp::rate::Rate;
use srmp::{Channel, Config, Endpoint, Event};
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};
use std::alloc::System;
use std::net::SocketAddr;
use std::time::Duration;

#[global_allocator]
static GLOBAL: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

fn config(profile: Profile, member: u64, keys: bool) -> Config {
    let mut config = Config::new(profile, MemberId(member));
    config.rate.rate_min = Rate::new(50e6).expect("a rate");
    config.keys = keys.then(|| Keyring::new(GroupKey::new(1, &[7; 32]).expect("it is long enough")));
    config
}

/// Two members that send to each other, without a network.
struct Pair {
    now: Moment,
    ends: [Endpoint; 2],
    ticks: u64,
    delivered: u64,
}

impl Pair {
    fn new(profile: Profile, keys: bool) -> Self {
        let now = Moment::from_secs(1);
        let end = |member| {
            Endpoint::new(config(profile, member, keys), Seed(member), now).expect("the settings can be")
        };
        Self { now, ends: [end(1), end(2)], ticks: 0, delivered: 0 }
    }

    /// Advances by a millisecond: each member sends two mode 0 messages, and a mode 1 message in
    /// every tenth one.
    fn tick(&mut self, body: &Bytes) {
        self.now += Duration::from_millis(1);
        self.ticks += 1;
        for end in &mut self.ends {
            for stream in 1..=2 {
                let stream = Some(StreamKey(self.ticks as u32 % 300 * 2 + stream));
                end.send_mode0(self.now, stream, 0, body.clone()).expect("it fits");
            }
            if self.ticks.is_multiple_of(10) {
                let data = DataId(self.ticks as u32 / 10 % 15);
                end.send_mode1(self.now, data, body.clone(), false).expect("it fits");
            }
        }
        for from in 0..2 {
            if self.ends[from].poll_timeout().is_some_and(|at| at <= self.now) {
                self.ends[from].handle_timeout(self.now);
            }
            let address = SocketAddr::from(([10, 0, 0, from as u8 + 1], 5_000));
            while let Some(transmit) = self.ends[from].poll_transmit(self.now) {
                self.ends[1 - from].handle_datagram(self.now, address, Channel::Group, &transmit.datagram);
            }
        }
        for end in &mut self.ends {
            while let Some(event) = end.poll_event() {
                self.delivered += u64::from(matches!(event, Event::Mode0 { .. } | Event::Mode1 { .. }));
            }
        }
    }
}

/// A single test, so that no other thread allocates meanwhile.
#[test]
fn nothing_is_allocated_in_steady_state() {
    let body = Bytes::from(vec![5; 250]);
    for (profile, keys) in [(Profile::V2, false), (Profile::V3, false), (Profile::V3, true)] {
        let mut pair = Pair::new(profile, keys);
        (0..30_000).for_each(|_| pair.tick(&body));
        let (before, region) = (pair.delivered, Region::new(GLOBAL));
        (0..5_000).for_each(|_| pair.tick(&body));
        let change = region.change();
        let delivered = pair.delivered - before;
        assert!(delivered > 20_000, "{delivered}");
        let allocations = change.allocations + change.reallocations;
        assert_eq!(allocations, 0, "{profile:?}, keys {keys}: for {delivered} messages");
    }
}
