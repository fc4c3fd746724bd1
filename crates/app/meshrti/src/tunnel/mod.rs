//! `meshrti tunnel`: carries the connections of federates that know TCP alone over another carrier.

mod relay;
mod way;

use std::rc::Rc;
use std::time::Duration;

use carrier::ServerUrl;
use console::exit::{Failure, Outcome, block_on, say};
use console::trust::TrustFlags;
use tokio::net::TcpListener;
use tokio::task::LocalSet;
use tracing::{info, warn};

use way::Way;

/// Open connections at most; further ones are closed at once.
const CONNECTIONS_MAX: usize = 1024;

/// The pause after a failure to accept a connection, such as a lack of file descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Carry the connections of federates that know TCP alone over TLS or WebSocket.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  meshrti tunnel --to tls://sim-host --authority authority.pem
  meshrti tunnel 127.0.0.1:15170 --to wss://hq.example --authority authority.pem
  meshrti tunnel --to wss://hq.example --authority authority.pem --proxy proxy.example:3128

Federates on this machine then connect to localhost. The tunnel passes bytes on, knows nothing of HLA, and keeps nothing: \
a federate whose connection breaks resumes its session through it.")]
pub(crate) struct Args {
    /// Where to listen for federates, which nothing protects up to here
    #[arg(default_value = "127.0.0.1:15164", value_name = "HOST:PORT")]
    listen: String,
    /// The server: tls://HOST:PORT, wss://HOST:PORT or ws://HOST:PORT
    #[arg(long, value_name = "URL")]
    to: ServerUrl,
    /// Go through this HTTP proxy
    #[arg(long, value_name = "HOST:PORT")]
    proxy: Option<String>,
    /// Longest wait for the server and the proxy
    #[arg(short, long, default_value = "5s", value_parser = humantime::parse_duration)]
    timeout: Duration,
    #[command(flatten)]
    trust: TrustFlags,
}

pub(crate) fn run(args: &Args) -> Outcome {
    let way = Way::new(args.to.clone(), args.proxy.clone(), args.trust.read()?, args.timeout);
    let way = way.map_err(|error| {
        Failure::wrong_use(format_args!("{}: {error}", args.to))
            .hint("--authority FILE, or MESHRTI_AUTHORITY, names a PEM file with the authorities to trust")
    })?;
    block_on(async { LocalSet::new().run_until(serve(&args.listen, Rc::new(way))).await })
}

/// Carries connections until it is interrupted.
async fn serve(listen: &str, way: Rc<Way>) -> Outcome {
    let listener = TcpListener::bind(listen)
        .await
        .map_err(|error| Failure::bad_news(format_args!("cannot listen on {listen}: {error}")))?;
    let address = listener
        .local_addr()
        .map_err(|error| Failure::bad_news(format_args!("cannot listen on {listen}: {error}")))?;
    say(format_args!("listening on tcp://{address}"));
    if !address.ip().is_loopback() {
        warn!(%address, "nothing protects the way from a federate on another machine to this tunnel");
    }
    let open = Rc::new(());
    loop {
        let (client, peer) = match listener.accept().await {
            Ok(accepted) => accepted,
            Err(error) => {
                warn!(%error, "cannot accept connections for now");
                tokio::time::sleep(ACCEPT_PAUSE).await;
                continue;
            }
        };
        if Rc::strong_count(&open) > CONNECTIONS_MAX {
            warn!(%peer, limit = CONNECTIONS_MAX, "connection refused: so many are open");
            continue;
        }
        let (way, is_open) = (Rc::clone(&way), Rc::clone(&open));
        tokio::task::spawn_local(async move {
            info!(%peer, "connection opened");
            match relay::carry(client, &way).await {
                Ok(()) => info!(%peer, "connection closed"),
                Err(error) => warn!(%peer, %error, "connection failed"),
            }
            drop(is_open);
        });
    }
}
