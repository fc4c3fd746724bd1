//! Connecting to other nodes.

use std::io;
use std::rc::Rc;

use tokio::net::TcpStream;
use tracing::{Instrument as _, debug, info_span};

use super::task;
use crate::hub::Hub;
use crate::link::establish::{self, Established};
use crate::link::stream::Raw;
use crate::link::{LinkContext, LinkInput, TargetId, memory, provider, quic, sockets, tls};
use crate::machine::{Input, Machine};
use crate::url::{LinkUrl, Scheme};

/// Connects to the targets that the machine wants. Never ends.
pub(crate) async fn keep_connecting<M: Machine + 'static>(hub: Rc<Hub<M>>, context: Rc<LinkContext>) {
    let asked = Rc::clone(&hub.core.borrow().links.asked);
    loop {
        let wanted = hub.core.borrow_mut().links.wanted.pop_front();
        let Some((target, url)) = wanted else {
            asked.notified().await;
            continue;
        };
        let span = info_span!("link", to = url);
        tokio::task::spawn_local(connect(Rc::clone(&hub), Rc::clone(&context), target, url).instrument(span));
    }
}

async fn connect<M: Machine + 'static>(
    hub: Rc<Hub<M>>,
    context: Rc<LinkContext>,
    target: TargetId,
    url: String,
) {
    let result = match url.parse::<LinkUrl>() {
        Ok(url) => match tokio::time::timeout(context.connect_timeout, reach(&context, &url)).await {
            Ok(Ok(established)) => Ok(established),
            Ok(Err(why)) => Err(why),
            Err(_) => Err(format!("no answer within {:?}", context.connect_timeout)),
        },
        Err(error) => Err(error.to_string()),
    };
    match result {
        Ok(established) => Box::pin(task::serve(hub, established, Some(target))).await,
        Err(why) => {
            debug!(%target, why, "no link");
            hub.core.borrow_mut().stats.failed_link_attempts += 1;
            hub.handle(Input::Link(LinkInput::Failed { target, reason: &why }));
        }
    }
}

/// Makes a link.
pub(crate) async fn reach(context: &LinkContext, url: &LinkUrl) -> Result<Established, String> {
    let raw = raw(context, url).await?;
    let quic = raw.quic.clone();
    let established = Box::pin(establish::initiate(raw, &url.options)).await;
    established.map_err(|error| quic::reason(quic.as_ref(), error))
}

/// Connects, and writes nothing yet.
pub(crate) async fn raw(context: &LinkContext, url: &LinkUrl) -> Result<Raw, String> {
    context.trust.allows(url.scheme)?;
    match url.scheme {
        Scheme::Memory => memory::connect(&url.host).map_err(|error| error.to_string()),
        Scheme::Mpi => {
            provider::connect(context.provider.as_ref(), &url.host).await.map_err(|error| error.to_string())
        }
        Scheme::Tcp | Scheme::Tls => connect_tcp(context, url).await.map_err(|error| error.to_string()),
        Scheme::Quic => context.quic.connect(&context.trust, url).await,
    }
}

/// Tries all addresses of the host, one after the other.
async fn connect_tcp(context: &LinkContext, url: &LinkUrl) -> io::Result<Raw> {
    let mut failure = io::Error::other("the name has no address");
    for address in sockets::resolve(&url.host, url.port).await? {
        match TcpStream::connect(address).await {
            Ok(stream) if url.scheme == Scheme::Tls => {
                let keys = context.trust.keys().map_err(io::Error::other)?;
                return tls::connect(keys, stream, url, context.trust.needs_host(url)).await;
            }
            Ok(stream) => return wrap(context, stream, Some(&url.host)).await,
            Err(error) => failure = error,
        }
    }
    Err(failure)
}

/// Configures a TCP stream and wraps it. `host` is the peer's name if this node connected.
pub(crate) async fn wrap(context: &LinkContext, stream: TcpStream, host: Option<&str>) -> io::Result<Raw> {
    sockets::tune(&stream)?;
    let peer = sockets::canonical(stream.peer_addr()?);
    let local = sockets::canonical(stream.local_addr()?);
    let (read, write) = match host {
        Some(host) => context.layer.connect(host, stream).await?,
        None => context.layer.accept(stream).await?,
    };
    Ok(Raw {
        read,
        write,
        peer: format!("tcp://{peer}"),
        peer_ip: Some(peer.ip()),
        local_ip: Some(local.ip()),
        quic: None,
        datagram_keys: None,
        proof: None,
    })
}
