//! Checks of `[network]` that involve more than one key.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use serde::Deserialize;
use serde::de::IgnoredAny;
use toml::Spanned;

use super::{Network, PlanError, Topology};
use crate::config::ConfigError;
use crate::url::{LinkListen, LinkUrl, Scheme, SiteKey};

/// Longest name of a node, in bytes.
const NAME_BYTES_MAX: usize = 64;

/// The place to which an error points. It is looked up in the text only when there is an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Key(&'static str),
    Node(usize),
    Edge(usize),
    Link(usize),
}

type Problem = (Place, String);

/// Checks the `[network]` of `text`.
pub(in crate::config) fn check(network: &Network, text: &str, file: &str) -> Result<(), ConfigError> {
    problem(network).map_or(Ok(()), |(place, message)| Err(point(place, message, text, file)))
}

impl Network {
    /// Checks settings that do not come from a configuration file in the way that a file is
    /// checked.
    ///
    /// # Errors
    /// Settings that contradict each other.
    pub fn check(&self) -> Result<(), PlanError> {
        problem(self).map_or(Ok(()), |(_, message)| Err(PlanError::Unsound(message)))
    }
}

fn problem(network: &Network) -> Option<Problem> {
    values(network).or_else(|| proofs(network)).or_else(|| links(network)).or_else(|| {
        if network.node.is_empty() {
            let stray = network.edge.first()?;
            let message = format!(
                "an edge from `{}` to `{}`, but there are no nodes: name them with [[network.node]]",
                stray.a, stray.b
            );
            return Some((Place::Edge(0), message));
        }
        names(network).or_else(|| edges(network)).or_else(|| shape(network))
    })
}

/// Values that are invalid for a network.
fn values(network: &Network) -> Option<Problem> {
    let key = |key, message: &str| Some((Place::Key(key), format!("`network.{key}` {message}")));
    if network.name.as_ref().is_some_and(|name| !is_name(name)) {
        return key("name", NAME_RULE);
    }
    for (name, value, least) in [
        ("bundle", network.bundle, 128),
        ("queue", network.queue, 64 << 10),
        ("queue-messages", network.queue_messages, 16),
        ("message", network.message, 1 << 10),
        ("credit", network.credit, 64 << 10),
        ("connections", network.connections, 1),
        ("silent-connections", network.silent_connections, 1),
    ] {
        if value < least {
            return key(name, &format!("is {value}, which is less than the least useful value, {least}"));
        }
    }
    if network.bundle > 1 << 20 {
        return key("bundle", "is more than 1MiB, the longest frame of a link");
    }
    if network.message > network.queue {
        return key("message", "is more than `network.queue`: such a message would never fit");
    }
    for (name, value) in [
        ("connect-timeout", network.connect_timeout),
        ("keep-alive", network.keep_alive),
        ("node-timeout", network.node_timeout),
    ] {
        if value.is_zero() {
            return key(name, "is zero");
        }
    }
    if network.silence < 2 * network.keep_alive || network.silence == Duration::ZERO {
        return key(
            "silence",
            "is less than two times `network.keep-alive`: sound links would count as dead",
        );
    }
    if network.minority_timeout <= network.node_timeout {
        return key("minority-timeout", "has to be longer than `network.node-timeout`");
    }
    let tls = &network.tls;
    if tls.certificate.is_some() != tls.key.is_some() {
        return key("tls", "has a `certificate` without its `key`, or a `key` without its `certificate`");
    }
    if tls.authority.is_some() && tls.certificate.is_none() {
        return key("tls", "has an `authority` but no `certificate`: others could not check this node");
    }
    if tls.revocations.is_some() && tls.authority.is_none() {
        return key("tls", "has `revocations` but no `authority` whose certificates they are");
    }
    if network.topology == Some(Topology::Hypercube) && network.join.is_some() {
        return key(
            "join",
            "is not for a hypercube, whose links have dimensions: name all nodes with [[network.node]], or give each of `links` its `rank`",
        );
    }
    if network.redundancy && matches!(network.topology, Some(Topology::Mesh | Topology::Hypercube)) {
        return key("redundancy", "is for `tree` and `graph`: a mesh or hypercube has several ways as it is");
    }
    on_demand(network)
}

/// Links that follow the traffic.
fn on_demand(network: &Network) -> Option<Problem> {
    let key = |key, message: &str| Some((Place::Key(key), format!("`network.{key}` {message}")));
    let settings = network.on_demand?;
    if network.topology != Some(Topology::Mesh) {
        return key("on-demand", "is for `topology = \"mesh\"`: other topologies have fixed links");
    }
    if settings.below > settings.above {
        return key("on-demand", "gives links up (`below`) at a higher rate than it makes them (`above`)");
    }
    if network.multicast.is_some() {
        return key("multicast", "needs links among the nodes of a site, and `on-demand` gives them up");
    }
    None
}

/// Checks that the addresses of links go with the authority, or with its absence.
fn proofs(network: &Network) -> Option<Problem> {
    let refused = network.tls.refuses_plain_links();
    let defect = |scheme: Scheme, address: String| match scheme {
        Scheme::Tcp if refused => Some(format!(
            "`{address}` proves nothing, and [network.tls] has an `authority`: write `{}`, or allow it with \
             `plain-links = \"allowed\"` in [network.tls]",
            address.replacen("tcp", "tls", 1)
        )),
        Scheme::Tls if network.tls.authority.is_none() => Some(format!(
            "`{address}` needs [network.tls] with `certificate`, `key` and `authority` (`meshrti trust` makes them)"
        )),
        _ => None,
    };
    let url = |place, url: &LinkUrl| Some((place, defect(url.scheme, url.address())?));
    let listen =
        |listen: &LinkListen| Some((Place::Key("listen"), defect(listen.scheme, listen.to_string())?));
    let links = || (0..).zip(&network.links).find_map(|(index, link)| url(Place::Link(index), &link.to));
    let nodes = || (0..).zip(&network.node).find_map(|(index, node)| url(Place::Node(index), &node.address));
    let groups = || {
        let groups = network.multicast.as_ref()?;
        let message = match groups.key {
            SiteKey::Network if network.tls.authority.is_none() => format!(
                "`{groups}` has `key=network`: nodes hand out keys only to nodes that prove who they are. It needs \
                 [network.tls] with `certificate`, `key` and `authority` (`meshrti trust` makes them)"
            ),
            SiteKey::None if refused => format!(
                "`{groups}` has no `key`, and [network.tls] has an `authority`: write `key=network` or `key=FILE`, or \
                 allow it with `plain-links = \"allowed\"` in [network.tls]"
            ),
            _ => return None,
        };
        Some((Place::Key("multicast"), message))
    };
    (network.listen.iter().find_map(listen))
        .or_else(|| network.join.as_ref().and_then(|join| url(Place::Key("join"), join)))
        .or_else(|| network.advertise.iter().find_map(|at| url(Place::Key("advertise"), at)))
        .or_else(links)
        .or_else(nodes)
        .or_else(groups)
}

const NAME_RULE: &str = "has to have 1 to 64 bytes, without control characters";

fn is_name(name: &str) -> bool {
    (1..=NAME_BYTES_MAX).contains(&name.len()) && !name.chars().any(char::is_control)
}

/// Checks `network.links`.
fn links(network: &Network) -> Option<Problem> {
    let mut addresses = BTreeSet::new();
    let mut names = BTreeSet::new();
    for (index, link) in network.links.iter().enumerate() {
        let place = Place::Link(index);
        if !addresses.insert(link.to.address()) {
            return Some((
                place,
                format!("a second link to {}: one link joins two nodes", link.to.address()),
            ));
        }
        if let Some(name) = &link.name
            && !names.insert(name)
        {
            return Some((place, format!("a second link to the node `{name}`: one link joins two nodes")));
        }
        if link.flags.is_none() && link.back_flags.is_some() {
            return Some((
                place,
                "`back-flags` without `flags`: say how this end sees the other, too".into(),
            ));
        }
        if link.flags.is_some() && network.topology != Some(Topology::Graph) {
            return Some((place, NO_FLAGS.to_owned()));
        }
        let mut whole = link.to.clone();
        link.apply(&mut whole.options);
        if let Err(error) = whole.check() {
            return Some((place, error.to_string()));
        }
    }
    None
}

const NO_FLAGS: &str = "flags are for `topology = \"graph\"`: the other topologies have their own";

/// Checks that names and addresses of nodes are unique.
fn names(network: &Network) -> Option<Problem> {
    let mut names = BTreeSet::new();
    let mut addresses = BTreeMap::new();
    for (index, node) in network.node.iter().enumerate() {
        let place = Place::Node(index);
        if !is_name(&node.name) {
            return Some((place, format!("the name of a node {NAME_RULE}")));
        }
        if !names.insert(&node.name) {
            return Some((
                place,
                format!("two nodes are called `{}`; every node needs its own name", node.name),
            ));
        }
        if let Some(other) = addresses.insert(node.address.address(), &node.name) {
            let address = node.address.address();
            return Some((place, format!("`{other}` and `{}` have one address, {address}", node.name)));
        }
    }
    None
}

/// Checks that each edge joins two existing nodes, and that no edge is repeated.
fn edges(network: &Network) -> Option<Problem> {
    let index = |name: &str| network.node.iter().position(|node| node.name == name);
    let topology = network.topology.unwrap_or(Topology::Tree);
    let mut pairs = BTreeSet::new();
    for (number, edge) in network.edge.iter().enumerate() {
        let place = Place::Edge(number);
        let (Some(a), Some(b)) = (index(&edge.a), index(&edge.b)) else {
            let unknown = if index(&edge.a).is_none() { &edge.a } else { &edge.b };
            let known: Vec<&str> = network.node.iter().map(|node| node.name.as_str()).collect();
            return Some((place, format!("no node is called `{unknown}` (there are: {})", known.join(", "))));
        };
        if a == b {
            return Some((place, format!("an edge from `{}` to itself", edge.a)));
        }
        if !pairs.insert((a.min(b), a.max(b))) {
            let message =
                format!("a second edge between `{}` and `{}`; one link joins two nodes", edge.a, edge.b);
            return Some((place, message));
        }
        if topology == Topology::Hypercube && !(a ^ b).is_power_of_two() {
            let message = format!(
                "`{}` (number {a}) and `{}` (number {b}) are no neighbours in a hypercube: their numbers differ in more than one bit",
                edge.a, edge.b
            );
            return Some((place, message));
        }
        if topology != Topology::Graph && (edge.flags_a.is_some() || edge.flags_b.is_some()) {
            return Some((place, NO_FLAGS.to_owned()));
        }
        if edge.flags_a.is_none() && edge.flags_b.is_some() {
            return Some((place, "`flags-b` without `flags-a`: say how both ends see each other".to_owned()));
        }
        if let Some(problem) = options(network, number, topology) {
            return Some(problem);
        }
    }
    None
}

/// Checks that the options of an edge fit the kind of link that the connecting side makes.
fn options(network: &Network, number: usize, topology: Topology) -> Option<Problem> {
    let edge = &network.edge[number];
    let target = match topology {
        Topology::Tree => &edge.a,
        Topology::Graph => &edge.b,
        Topology::Mesh => (&edge.a).max(&edge.b),
        Topology::Hypercube => {
            let late = network.node.iter().rfind(|node| node.name == edge.a || node.name == edge.b);
            &late?.name
        }
    };
    let mut url = network.node.iter().find(|node| node.name == *target)?.address.clone();
    edge.apply(&mut url.options);
    url.check().err().map(|error| (Place::Edge(number), error.to_string()))
}

/// Checks that the whole is a sound network of its topology.
fn shape(network: &Network) -> Option<Problem> {
    match network.topology.unwrap_or(Topology::Tree) {
        Topology::Mesh if network.on_demand.is_some() => apart(network),
        Topology::Mesh => None,
        Topology::Hypercube if network.node.len().is_power_of_two() => None,
        Topology::Hypercube => {
            let message = format!(
                "a hypercube has 2, 4, 8, 16 … nodes; there are {} [[network.node]]",
                network.node.len()
            );
            Some((Place::Key("topology"), message))
        }
        topology => cycle(network).or_else(|| apart(network)).or_else(|| root(network, topology)),
    }
}

/// The first edge that closes a cycle, if redundancy is off.
fn cycle(network: &Network) -> Option<Problem> {
    let mut neighbours: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (number, edge) in network.edge.iter().enumerate() {
        if !network.redundancy
            && let Some(path) = path(&neighbours, &edge.a, &edge.b)
        {
            let message = format!(
                "a cycle: `{}` and `{}` are connected already, by {}; remove an edge, or allow several ways with `redundancy = true`",
                edge.a,
                edge.b,
                path.join(" – ")
            );
            return Some((Place::Edge(number), message));
        }
        neighbours.entry(&edge.a).or_default().push(&edge.b);
        neighbours.entry(&edge.b).or_default().push(&edge.a);
    }
    None
}

/// A path from `from` to `to`, both included.
fn path<'a>(neighbours: &BTreeMap<&'a str, Vec<&'a str>>, from: &'a str, to: &str) -> Option<Vec<&'a str>> {
    let mut previous: BTreeMap<&str, &str> = BTreeMap::from([(from, from)]);
    let mut open = vec![from];
    while let Some(node) = open.pop() {
        if node == to {
            let mut path = vec![node];
            while path.last() != Some(&from) {
                path.push(previous[path[path.len() - 1]]);
            }
            path.reverse();
            return Some(path);
        }
        for &next in neighbours.get(node).into_iter().flatten() {
            previous.entry(next).or_insert_with(|| {
                open.push(next);
                node
            });
        }
    }
    None
}

/// The first node that no path reaches.
fn apart(network: &Network) -> Option<Problem> {
    let mut neighbours: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for edge in &network.edge {
        neighbours.entry(&edge.a).or_default().push(&edge.b);
        neighbours.entry(&edge.b).or_default().push(&edge.a);
    }
    let first = network.node[0].name.as_str();
    let lost = |name: &str| path(&neighbours, first, name).is_none();
    let index = network.node.iter().position(|node| lost(&node.name))?;
    let message = format!(
        "no edges lead from `{first}` to `{}`: connect it with an [[network.edge]]",
        network.node[index].name
    );
    Some((Place::Node(index), message))
}

/// Checks that a tree has one node above all others.
fn root(network: &Network, topology: Topology) -> Option<Problem> {
    if topology != Topology::Tree {
        return None;
    }
    let is_root = |name: &str| network.edge.iter().all(|edge| edge.b != name);
    let mut roots = network.node.iter().enumerate().filter(|(_, node)| is_root(&node.name));
    let Some((_, first)) = roots.next() else {
        let message =
            "no node is at the top: every one is the `b` of an edge (`a` is the upper end, `b` the lower)";
        return Some((Place::Edge(0), message.to_owned()));
    };
    let (index, second) = roots.next()?;
    let message = format!(
        "`{}` and `{}` are both at the top of the tree: each is the `b` of no edge (`a` is the upper end, `b` the lower)",
        first.name, second.name
    );
    Some((Place::Node(index), message))
}

/// The positions of tables in the text. They are read only to point at one of them.
#[derive(Deserialize)]
struct Places {
    network: NetworkPlaces,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct NetworkPlaces {
    node: Vec<Spanned<IgnoredAny>>,
    edge: Vec<Spanned<IgnoredAny>>,
    links: Vec<Spanned<IgnoredAny>>,
}

/// The positions of keys.
#[derive(Deserialize)]
struct Keys {
    network: BTreeMap<String, Spanned<IgnoredAny>>,
}

fn point(place: Place, message: String, text: &str, file: &str) -> ConfigError {
    let tables = || toml::from_str::<Places>(text).ok().map(|places| places.network);
    let span = match place {
        Place::Key(key) => {
            let keys = toml::from_str::<Keys>(text).ok();
            keys.and_then(|keys| keys.network.get(key).map(Spanned::span))
        }
        Place::Node(index) => tables().and_then(|network| network.node.get(index).map(Spanned::span)),
        Place::Edge(index) => tables().and_then(|network| network.edge.get(index).map(Spanned::span)),
        Place::Link(index) => tables().and_then(|network| network.links.get(index).map(Spanned::span)),
    };
    ConfigError::spanned(file, text, message, span)
}
