//! Two routers joined by a link, without anything in between.

use super::TestRouter;
use super::app::{Note, Want};
use base::{Moment, Seed};
use router::{ClientConfig, ClientFlags, ClientId, LinkChange, PipeConfig, Router, RouterConfig, RouterId};

const T0: Moment = Moment::ZERO;

/// A source at the first router, a sink of group 1 at the second.
pub struct Pair {
    pub a: TestRouter,
    pub b: TestRouter,
    pub to_b: ClientId,
    pub to_a: ClientId,
    pub source: ClientId,
    pub sink: ClientId,
}

impl Pair {
    /// `link`: the pipes of its ends; `sink`: the pipe of the sink. Nothing has been exchanged yet.
    pub fn new(link: [&PipeConfig; 2], sink: PipeConfig) -> Self {
        let router =
            |id: u32| -> TestRouter { Router::new(RouterConfig::new(RouterId(id), Seed(u64::from(id)))) };
        let (mut a, mut b) = (router(1), router(2));
        let end = |router: &mut TestRouter, pipe: &PipeConfig| {
            let flags = ClientFlags::SOURCE | ClientFlags::SINK | ClientFlags::PERSISTENT;
            let config = ClientConfig { pipe: pipe.clone(), ..ClientConfig::link(flags) };
            let client = router.add_client(T0, config).expect("first");
            router.handle_link(T0, client, LinkChange::Up).expect("a link");
            client
        };
        let (to_b, to_a) = (end(&mut a, link[0]), end(&mut b, link[1]));
        let source = a.add_client(T0, ClientConfig::local()).expect("few");
        let sink = b.add_client(T0, ClientConfig { pipe: sink, ..ClientConfig::local() }).expect("few");
        b.set_interest(T0, sink, Want::group(1), true).expect("a sink");
        Self { a, b, to_b, to_a, source, sink }
    }

    /// Carries everything from the second to the first; returns the number of frames.
    pub fn back(&mut self, now: Moment) -> usize {
        let mut frames = 0;
        while let Some(frame) = self.b.poll_frame(now, self.to_a) {
            let _ = self.a.handle_frame(now, self.to_b, frame).expect("well spoken");
            frames += 1;
        }
        frames
    }

    /// Carries everything from the first to the second, without replies; returns the number of
    /// messages.
    pub fn forth(&mut self, now: Moment) -> u32 {
        let mut messages = 0;
        while let Some(frame) = self.a.poll_frame(now, self.to_b) {
            messages += self.b.handle_frame(now, self.to_a, frame).expect("well spoken").messages;
        }
        messages
    }

    /// The messages that the sink has received.
    pub fn received(&mut self) -> Vec<Note> {
        std::iter::from_fn(|| self.b.poll_message(self.sink)).collect()
    }
}
