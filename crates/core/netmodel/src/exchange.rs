//! Requests and responses: clients that send a request, wait for the response, think, and send the
//! next request. The load adapts to the speed of the network.

use base::{Rng, Seed};

use crate::arrivals::{exponential, unit};
use crate::pattern::{Destinations, Pattern};
use crate::sizes::{SizeDraws, Sizes};
use crate::study::network::NetworkError;
use crate::traffic::{Delivered, Exchanges};
use crate::units::Picos;

/// A length of time, constant or drawn.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Span {
    /// Always the same.
    Constant(Picos),
    /// Exponential with this mean.
    Exponential(Picos),
}

impl Span {
    /// The mean.
    pub fn mean(self) -> Picos {
        match self {
            Span::Constant(time) | Span::Exponential(time) => time,
        }
    }

    pub(crate) fn draw(self, stream: &mut Rng) -> Picos {
        match self {
            Span::Constant(time) => time,
            Span::Exponential(mean) => exponential(stream, mean),
        }
    }
}

/// The clients, servers, sizes and times of an exchange.
#[derive(Clone, PartialEq, Debug)]
pub struct Exchange {
    /// Hosts from 0 to below this number are clients; `None` means all hosts. Each has one request
    /// under way at a time.
    pub clients: Option<u32>,
    /// The servers that they ask.
    pub pattern: Pattern,
    /// Bytes of requests.
    pub request: Sizes,
    /// Bytes of responses.
    pub response: Sizes,
    /// The service time of a request. A server has one processor and serves requests in the order
    /// of their arrival.
    pub service: Span,
    /// The time from a response to the next request of its client.
    pub think: Span,
}

impl Exchange {
    /// An upper bound of the expected number of messages, as if only thinking and service took
    /// time.
    pub fn expected(&self, hosts: u32, (from, to): (Picos, Picos)) -> f64 {
        let clients = f64::from(self.clients.unwrap_or(hosts).min(hosts));
        // The way through the network takes time, too; a microsecond is a low estimate.
        let cycle = self.think.mean() + self.service.mean() + Picos::from_micros(1);
        2.0 * clients * to.since(from).as_secs() / cycle.as_secs()
    }
}

/// Clients and their requests. Client c is the source c, and the source `clients` + c answers it,
/// whichever host that is.
pub(crate) struct Exchanging {
    clients: u32,
    destinations: Destinations,
    requests: SizeDraws,
    responses: SizeDraws,
    service: Span,
    think: Span,
    window: (Picos, Picos),
    /// By client.
    each: Vec<Client>,
    /// By host: the time at which it has served all requests so far.
    free: Vec<Picos>,
    exchanges: Exchanges,
}

struct Client {
    /// Random streams of its thinking, and of its service times.
    think: Rng,
    service: Rng,
    /// The time of its last request, and the server.
    asked: Picos,
    server: u32,
    /// True if the server's processor has the request, or has served it.
    served: bool,
}

impl Exchanging {
    pub(crate) fn new(
        exchange: &Exchange,
        hosts: u32,
        window: (Picos, Picos),
        seed: Seed,
    ) -> Result<Self, NetworkError> {
        let clients = exchange.clients.unwrap_or(hosts);
        if !(1..=hosts).contains(&clients) {
            return Err(NetworkError::Clients { clients, hosts });
        }
        let client = |number: u32| {
            let stream = |what| seed.split(what).split_index(u64::from(number)).rng();
            let (think, service) = (stream("think"), stream("service"));
            Client { think, service, asked: Picos::ZERO, server: number, served: false }
        };
        Ok(Self {
            clients,
            destinations: Destinations::new(exchange.pattern, hosts, seed)?,
            requests: SizeDraws::new(&exchange.request, clients, seed.split("requests"))?,
            responses: SizeDraws::new(&exchange.response, clients, seed.split("responses"))?,
            service: exchange.service,
            think: exchange.think,
            window,
            each: (0..clients).map(client).collect(),
            free: vec![Picos::ZERO; hosts as usize],
            exchanges: Exchanges::default(),
        })
    }

    pub(crate) fn sources(&self) -> u32 {
        2 * self.clients
    }

    /// The first sending time. Clients begin in the middle of thinking.
    pub(crate) fn first(&mut self, source: u32) -> Option<Picos> {
        let client = self.each.get_mut(source as usize).filter(|_| !self.destinations.is_silent(source))?;
        let left = match self.think {
            Span::Constant(time) => Picos((unit(&mut client.think) * time.0 as f64) as u64),
            Span::Exponential(mean) => exponential(&mut client.think, mean),
        };
        Some(self.window.0 + left)
    }

    /// The source host, the destination host and the bytes of the message that a source sends now.
    pub(crate) fn take(&mut self, source: u32) -> (u32, u32, u64) {
        let asks = source < self.clients;
        let number = if asks { source } else { source - self.clients };
        if asks {
            let server = self.destinations.next(number);
            let client = &mut self.each[number as usize];
            (client.server, client.served) = (server, false);
            (number, server, self.requests.next(number))
        } else {
            (self.each[number as usize].server, number, self.responses.next(number))
        }
    }

    /// Notes that a source has sent now.
    pub(crate) fn has_sent(&mut self, source: u32, now: Picos) {
        if let Some(client) = self.each.get_mut(source as usize) {
            client.asked = now;
        }
    }

    pub(crate) fn host(&self, source: u32) -> u32 {
        match source.checked_sub(self.clients) {
            None => source,
            Some(client) => self.each[client as usize].server,
        }
    }

    /// Lets a request that has arrived wait for the server's processor.
    pub(crate) fn put_off(&mut self, source: u32, now: Picos) -> Option<Picos> {
        let client = &mut self.each[source.checked_sub(self.clients)? as usize];
        if std::mem::replace(&mut client.served, true) {
            return None;
        }
        let free = &mut self.free[client.server as usize];
        *free = now.max(*free) + self.service.draw(&mut client.service);
        Some(*free).filter(|done| *done > now)
    }

    /// The source that sends because of a message, and when.
    pub(crate) fn ended(&mut self, message: &Delivered, arrived: bool) -> Option<(Picos, u32)> {
        let there = message.ended + message.parcel.outside;
        let asked = message.sender < self.clients;
        if asked && arrived {
            return Some((there, self.clients + message.sender));
        }
        let number = if asked { message.sender } else { message.sender - self.clients };
        let client = &mut self.each[number as usize];
        if arrived {
            self.exchanges.latency.add(there.since(client.asked));
        } else {
            self.exchanges.failed += 1;
        }
        let next = there + self.think.draw(&mut client.think);
        (next < self.window.1).then_some((next, number))
    }

    pub(crate) fn exchanges(&self) -> &Exchanges {
        &self.exchanges
    }
}

#[cfg(test)]
mod tests;
