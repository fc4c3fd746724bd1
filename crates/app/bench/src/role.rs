//! The orders for the processes of a benchmark.
//!
//! A role is a few words: its name and its arguments. It prints `ready`, follows the orders on its
//! standard input, answers on its standard output, and ends when the standard input does.
//! [`play`](mod@crate::play) plays it.

use std::net::{IpAddr, Ipv4Addr};

use crate::error::BenchError;

pub(crate) fn relay(onward: Option<&str>, line: Option<&wan::LineSpec>) -> Vec<String> {
    let mut words = words(["relay"]);
    words.extend(onward.map(str::to_owned));
    words.extend(line.map(ToString::to_string));
    words
}

/// The relay of a floor between two computers: it listens at `host`.
pub(crate) fn relay_at(host: IpAddr) -> Vec<String> {
    words(["relay-at", &host.to_string()])
}

/// `host`: where it listens; `None`: on loopback.
pub(crate) fn node(
    number: usize,
    host: Option<IpAddr>,
    groups: Option<&str>,
    join: Option<&str>,
) -> Vec<String> {
    let host = host.unwrap_or(Ipv4Addr::LOCALHOST.into()).to_string();
    words(["node", &number.to_string(), &host, groups.unwrap_or("-"), join.unwrap_or("-")])
}

/// The same, in a mesh.
pub(crate) fn site_node(
    number: usize,
    host: Option<IpAddr>,
    groups: Option<&str>,
    join: Option<&str>,
) -> Vec<String> {
    [&words(["site-node"])[..], &node(number, host, groups, join)[1..]].concat()
}

pub(crate) fn listener(server: &str, federation: &str) -> Vec<String> {
    words(["listener", server, federation])
}

pub(crate) fn floor_end(relay: &str) -> Vec<String> {
    words(["floor-end", relay])
}

/// A server that keeps saved federation executions in a folder.
pub(crate) fn saving_server(saves: &str) -> Vec<String> {
    words(["server", saves])
}

pub(crate) fn server() -> Vec<String> {
    words(["server"])
}

pub(crate) fn echo(server: &str, federation: &str) -> Vec<String> {
    words(["echo", server, federation])
}

/// `way` is how messages travel, as one word.
pub(crate) fn answerer(server: &str, federation: &str, way: &str) -> Vec<String> {
    words(["answerer", server, federation, way])
}

pub(crate) fn asker(server: &str, federation: &str) -> Vec<String> {
    words(["asker", server, federation])
}

pub(crate) fn player(server: &str, federation: &str, objects: usize) -> Vec<String> {
    words(["player", server, federation, &objects.to_string()])
}

pub(crate) fn watchers(server: &str, federation: &str, count: usize) -> Vec<String> {
    words(["watchers", server, federation, &count.to_string()])
}

pub(crate) fn publisher(server: &str, federation: &str) -> Vec<String> {
    words(["publisher", server, federation])
}

pub(crate) fn sinks(server: &str, federation: &str, count: usize) -> Vec<String> {
    words(["sinks", server, federation, &count.to_string()])
}

/// `use_` has the words of a use of regions.
pub(crate) fn region_party(server: &str, federation: &str, use_: [&str; 3]) -> Vec<String> {
    [&words(["region-party", server, federation])[..], &words(use_)].concat()
}

/// Group `number` of a plan in a network of so many nodes. `plan` has the words of the plan.
pub(crate) fn group(
    server: &str,
    federation: &str,
    (number, nodes): (usize, usize),
    plan: &[String],
) -> Vec<String> {
    let [number, nodes] = [number, nodes].map(|count| count.to_string());
    [&words(["group", server, federation, &number, &nodes])[..], plan].concat()
}

pub(crate) fn idlers(server: &str, federation: &str, count: usize) -> Vec<String> {
    words(["idlers", server, federation, &count.to_string()])
}

pub(crate) fn words<const N: usize>(words: [&str; N]) -> Vec<String> {
    words.map(str::to_owned).to_vec()
}

/// Reads a number among the words of a role or an order.
pub(crate) fn number(word: &str) -> Result<usize, BenchError> {
    word.parse().map_err(|_| BenchError::Unusable(format!("`{word}` is no number")))
}

/// Runs `work` as a task. A runtime looks at its sockets before it returns to the future with which
/// it was started, but not between two tasks. So bytes that the driver of a federate receives reach
/// a task one system call sooner.
pub(crate) async fn spawned<T: Send + 'static>(
    work: impl Future<Output = Result<T, BenchError>> + Send + 'static,
) -> Result<T, BenchError> {
    match tokio::spawn(work).await {
        Ok(result) => result,
        Err(error) => Err(BenchError::system("task")(std::io::Error::other(error))),
    }
}
