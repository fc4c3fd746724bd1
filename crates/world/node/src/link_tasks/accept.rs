//! Listening for other nodes.

use std::io;
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::Duration;

use base::Address;
use tokio::net::TcpListener;
use tracing::{debug, warn};

use super::{connect, task};
use crate::hub::Hub;
use crate::link::establish;
use crate::link::greetings::Greeting;
use crate::link::memory::MemoryListener;
use crate::link::provider::RankListener;
use crate::link::sockets::tcp_listeners;
use crate::link::stream::Raw;
use crate::link::{LinkContext, quic, sockets, tls};
use crate::machine::Machine;
use crate::url::written;
use crate::url::{LinkListen, Scheme};

/// The wait after a failure to accept.
const RETRY: Duration = Duration::from_millis(100);

/// A listener for links of other nodes.
pub(crate) enum Listener {
    Tcp(TcpListener),
    Tls(TcpListener),
    Quic(quinn::Endpoint),
    Memory(MemoryListener),
    Rank(RankListener),
}

/// A connection that has not been wrapped or encrypted yet.
enum Arrival {
    Tcp(tokio::net::TcpStream),
    Tls(tokio::net::TcpStream),
    Quic(Box<quinn::Incoming>),
    /// A stream that needs no further set-up.
    Ready(Raw),
}

/// Opens the listeners of `listen`.
pub(crate) async fn bind(listen: &LinkListen, context: &LinkContext) -> io::Result<Vec<Listener>> {
    context.trust.allows(listen.scheme).map_err(io::Error::other)?;
    match listen.scheme {
        Scheme::Memory => Ok(vec![Listener::Memory(MemoryListener::bind(&listen.host)?)]),
        Scheme::Mpi => Ok(vec![Listener::Rank(RankListener::bind(context.provider.as_ref(), &listen.host)?)]),
        Scheme::Tcp => {
            let listeners = tcp_listeners(&listen.host, listen.port).await?;
            Ok(listeners.into_iter().map(Listener::Tcp).collect())
        }
        Scheme::Tls => {
            let listeners = tcp_listeners(&listen.host, listen.port).await?;
            Ok(listeners.into_iter().map(Listener::Tls).collect())
        }
        Scheme::Quic => {
            let keys = context.trust.keys().map_err(io::Error::other)?;
            let mut listeners = Vec::new();
            for address in sockets::resolve(&listen.host, listen.port).await? {
                listeners.push(Listener::Quic(quic::listen(&keys, address)?));
            }
            Ok(listeners)
        }
    }
}

impl Listener {
    /// The address, with the port that the system chose; `None` for a listener without an IP
    /// address.
    pub(crate) fn local_addr(&self) -> Option<SocketAddr> {
        match self {
            Self::Tcp(listener) | Self::Tls(listener) => listener.local_addr().ok(),
            Self::Quic(endpoint) => endpoint.local_addr().ok(),
            Self::Memory(_) | Self::Rank(_) => None,
        }
    }

    /// The kind of its links.
    pub(crate) fn scheme(&self) -> Scheme {
        match self {
            Self::Tcp(_) => Scheme::Tcp,
            Self::Tls(_) => Scheme::Tls,
            Self::Quic(_) => Scheme::Quic,
            Self::Memory(_) => Scheme::Memory,
            Self::Rank(_) => Scheme::Mpi,
        }
    }

    /// Its address as a URL.
    pub(crate) fn url(&self) -> String {
        match self {
            Self::Memory(listener) => written(Scheme::Memory, &listener.name, 0),
            Self::Rank(listener) => written(Scheme::Mpi, &listener.rank.to_string(), 0),
            other => other.local_addr().map_or_else(String::new, |address| {
                written(other.scheme(), &address.ip().to_string(), address.port())
            }),
        }
    }

    async fn accept(&mut self) -> io::Result<Arrival> {
        match self {
            Self::Tcp(listener) => listener.accept().await.map(|(stream, _)| Arrival::Tcp(stream)),
            Self::Tls(listener) => listener.accept().await.map(|(stream, _)| Arrival::Tls(stream)),
            Self::Memory(listener) => listener.accept().await.map(Arrival::Ready),
            Self::Rank(listener) => listener.accept().await.map(Arrival::Ready),
            Self::Quic(endpoint) => {
                let incoming = endpoint.accept().await.ok_or(io::ErrorKind::NotConnected)?;
                Ok(Arrival::Quic(Box::new(incoming)))
            }
        }
    }
}

/// Accepts links for ever.
pub(crate) async fn listen<M: Machine + 'static>(
    hub: Rc<Hub<M>>,
    mut listener: Listener,
    context: Rc<LinkContext>,
) {
    loop {
        match listener.accept().await {
            Ok(arrival) => take(&hub, arrival, &context),
            Err(error) => {
                warn!(%error, "cannot accept links for now");
                tokio::time::sleep(RETRY).await;
            }
        }
    }
}

/// Gives a connection a place among those that have not identified themselves, and listens to it.
fn take<M: Machine + 'static>(hub: &Rc<Hub<M>>, arrival: Arrival, context: &Rc<LinkContext>) {
    let (peer, address) = (arrival.peer(), arrival.address());
    let mut greetings = context.greetings.borrow_mut();
    let limit = greetings.max();
    let number = match greetings.take(hub.clock.now(), address) {
        Greeting::Taken { number, evicted: false } => number,
        Greeting::Taken { number, evicted: true } => {
            hub.core.borrow_mut().stats.refused_links += 1;
            warn!(
                limit,
                "silent link closed: network.silent-connections are open, and its address has the most"
            );
            number
        }
        Greeting::Refused => {
            hub.core.borrow_mut().stats.refused_links += 1;
            warn!(
                peer,
                limit, "link refused: network.silent-connections are open, and its address has the most"
            );
            return;
        }
    };
    let task = tokio::task::spawn_local(admit(Rc::clone(hub), arrival, peer, Rc::clone(context), number));
    greetings.attend(number, task.abort_handle());
}

/// Serves one link that another node made, from start to end.
async fn admit<M: Machine + 'static>(
    hub: Rc<Hub<M>>,
    arrival: Arrival,
    peer: String,
    context: Rc<LinkContext>,
    number: u64,
) {
    let result =
        match tokio::time::timeout(context.connect_timeout, Box::pin(arrival.establish(&context))).await {
            Ok(result) => result,
            Err(_) => Err(format!("it did not say who it is within {:?}", context.connect_timeout)),
        };
    context.greetings.borrow_mut().remove(number);
    let place = result.and_then(|established| Ok((Place::take(&hub, context.accepted_max)?, established)));
    match place {
        Ok((_place, established)) => Box::pin(task::serve(hub, established, None)).await,
        Err(why) => {
            hub.core.borrow_mut().stats.refused_links += 1;
            warn!(peer, why, "link refused");
        }
    }
}

/// A place among the accepted links.
struct Place<M>(Rc<Hub<M>>);

impl<M: Machine> Place<M> {
    fn take(hub: &Rc<Hub<M>>, max: usize) -> Result<Self, String> {
        let links = &mut hub.core.borrow_mut().links;
        if links.accepted >= max {
            return Err(format!("{max} links of other nodes are open (network.connections)"));
        }
        links.accepted += 1;
        Ok(Self(Rc::clone(hub)))
    }
}

impl<M> Drop for Place<M> {
    fn drop(&mut self) {
        // A task that is dropped together with its node finds the core not borrowed.
        if let Ok(mut core) = self.0.core.try_borrow_mut() {
            core.links.accepted -= 1;
        } else {
            debug!("a link's place is given back late");
        }
    }
}

impl Arrival {
    /// The address of its peer. All links inside one program or job share an address.
    fn address(&self) -> Address {
        let ip = match self {
            Self::Tcp(stream) | Self::Tls(stream) => stream.peer_addr().ok().map(|peer| peer.ip()),
            Self::Quic(incoming) => Some(incoming.remote_address().ip()),
            Self::Ready(raw) => raw.peer_ip,
        };
        ip.map(Address::from).unwrap_or_default()
    }

    fn peer(&self) -> String {
        let of = |scheme, stream: &tokio::net::TcpStream| match stream.peer_addr() {
            Ok(peer) => format!("{scheme}://{}", sockets::canonical(peer)),
            Err(_) => format!("{scheme}"),
        };
        match self {
            Self::Tcp(stream) => of(Scheme::Tcp, stream),
            Self::Tls(stream) => of(Scheme::Tls, stream),
            Self::Quic(incoming) => format!("quic://{}", sockets::canonical(incoming.remote_address())),
            Self::Ready(raw) => raw.peer.clone(),
        }
    }

    async fn establish(self, context: &LinkContext) -> Result<establish::Established, String> {
        let raw = match self {
            Self::Ready(raw) => raw,
            Self::Tcp(stream) => {
                connect::wrap(context, stream, None).await.map_err(|error| error.to_string())?
            }
            Self::Tls(stream) => {
                tls::accept(context.trust.keys()?, stream).await.map_err(|error| error.to_string())?
            }
            Self::Quic(incoming) => quic::accept(context.trust.keys()?, *incoming).await?,
        };
        let connection = raw.quic.clone();
        establish::accept(raw).await.map_err(|error| quic::reason(connection.as_ref(), error))
    }
}
