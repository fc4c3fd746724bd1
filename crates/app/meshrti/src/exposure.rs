//! Ports of a server that anybody on the network may use.

use std::fmt::Display;

use carrier::{Carrier, Listening};
use console::exit::Failure;
use node::Config;
use tracing::warn;

/// Says in one line what others on the network can do to a server with this configuration, and the
/// commands that change it. With `is_required` this is an error.
///
/// # Errors
/// Security is required, and a port is open to others without it.
pub(crate) fn check(config: &Config, is_required: bool) -> Result<(), Failure> {
    let found = weaknesses(config);
    if is_required && !found.is_empty() {
        return Err(Failure::wrong_use(format_args!("--require-security: {}", found.join("; "))));
    }
    if !found.is_empty() {
        warn!("{}; docs/guide/access.md says more, and --require-security refuses it", found.join("; "));
    }
    Ok(())
}

fn weaknesses(config: &Config) -> Vec<String> {
    let federates = config.listen.iter().filter(|address| !is_own(&address.host));
    let (mut open, mut readable) = (Vec::new(), Vec::new());
    for address in federates {
        if !config.access.is_controlled() {
            open.push(address);
        }
        match address.carriers {
            Listening::For(Carrier::Tls | Carrier::SecureWebSocket) => {}
            Listening::For(Carrier::Tcp | Carrier::WebSocket) | Listening::Any => readable.push(address),
        }
    }
    let mut found = Vec::new();
    if !open.is_empty() {
        found.push(format!(
            "whoever reaches {} may join, read and write everything: `meshrti access hash` makes a \
             password for [access]",
            list(&open)
        ));
    }
    if !readable.is_empty() {
        found.push(format!(
            "connections to {} may be read and changed on their way: listen on tls://, with a certificate \
             of your authority or of `meshrti trust add`",
            list(&readable)
        ));
    }
    if let Some(network) = &config.network {
        let nodes: Vec<_> = network.listen.iter().filter(|listen| !is_own(&listen.host)).collect();
        if !nodes.is_empty() && network.tls.authority.is_none() {
            found.push(format!(
                "whoever reaches {} may be a node of the network: `meshrti trust init` makes an authority \
                 for [network.tls]",
                list(&nodes)
            ));
        }
    }
    found
}

fn list(addresses: &[&impl Display]) -> String {
    addresses.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

/// Whether only this machine reaches a host.
fn is_own(host: &str) -> bool {
    host == "localhost" || host.parse().is_ok_and(|ip: std::net::IpAddr| ip.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Vec<String> {
        weaknesses(&Config::parse(text, "test").unwrap())
    }

    #[test]
    fn only_ports_that_others_reach_are_weak() {
        assert_eq!(of("listen = [\"tcp://127.0.0.1:1\", \"any://[::1]:2\", \"ws://localhost:3\"]").len(), 0);
        let tls = "[tls]\ncertificate = \"c\"\nkey = \"k\"\n[access]\npolicy = \"p\"\n";
        assert_eq!(of(&format!("listen = [\"tls://*:1\"]\n{tls}")).len(), 0);
        let any = of(&format!("listen = [\"any://*:1\"]\n{tls}"));
        assert!(any.len() == 1 && any[0].contains("connections to any://*:1 may be read"), "{any:?}");
        let both = of("[network]\nlisten = [\"tcp://*:15160\"]");
        assert!(both[0].contains("whoever reaches tcp://*:15164 may join"), "{both:?}");
        assert!(both[1].contains("connections to tcp://*:15164 may be read"), "{both:?}");
        assert!(both[2].contains("whoever reaches tcp://*:15160 may be a node"), "{both:?}");
    }
}
