//! Plays the [roles](crate::role) of the processes of a benchmark.

use std::cell::Cell;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::rc::Rc;
use std::time::Instant;

use federate::{Callback, Federate};
use node::config::network::{StatePlace, Topology};
use tokio::sync::Notify;

use crate::access::server_options;
use crate::error::BenchError;
use crate::kills::federates::{self, FederateProcess};
use crate::kills::nodes;
use crate::member::{Member, flood, received, reflected};
use crate::phases::play_group;
use crate::process::{orders, print_line};
use crate::role::{number, spawned};
use crate::srmp::{population, table1};
use crate::{entities, exchange, federation, floor, region, site};

const LOOPBACK: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

/// Plays the role named by `words`, which a [`Launcher`](crate::Launcher) of another process has
/// made.
///
/// # Errors
/// There is no such role, or it cannot be played.
pub fn play(words: &[String]) -> Result<(), BenchError> {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words[..] {
        ["relay"] => floor::relay(LOOPBACK, None, None).map_err(BenchError::system("relay")),
        ["relay-at", host] => floor::relay(address(host)?, None, None).map_err(BenchError::system("relay")),
        ["relay", onward] => floor::relay(LOOPBACK, Some(onward), None).map_err(BenchError::system("relay")),
        ["relay", onward, line] => {
            let line =
                line.parse().map_err(|error| BenchError::Unusable(format!("line `{line}`: {error}")))?;
            floor::relay(LOOPBACK, Some(onward), Some(&line)).map_err(BenchError::system("relay"))
        }
        ["node", number, host, groups, join] => {
            serve_node(number, address(host)?, given(join), sharing(groups, None)?)
        }
        ["site-node", number, host, groups, join] => {
            serve_node(number, address(host)?, given(join), sharing(groups, Some(Topology::Mesh))?)
        }
        ["listener", server, federation] => run(site::listen(server, federation)),
        ["floor-end", relay] => floor::far_end(relay).map_err(BenchError::system("far end of the relay")),
        ["server"] => serve(StatePlace::Nowhere),
        ["server", saves] => serve(StatePlace::Directory(saves.into())),
        ["echo", server, federation] => run(spawned(play_echo(server.to_owned(), federation.to_owned()))),
        ["answerer", server, federation, way] => {
            let [server, federation, way] = [server, federation, way].map(str::to_owned);
            run(spawned(exchange::play_answerer(server, federation, way)))
        }
        ["asker", server, federation] => {
            run(spawned(federation::play_asker(server.to_owned(), federation.to_owned())))
        }
        ["player", server, federation, objects] => {
            let objects = number(objects)?;
            run(spawned(entities::play_player(server.to_owned(), federation.to_owned(), objects)))
        }
        ["watchers", server, federation, count] => {
            run(entities::play_watchers(server, federation, number(count)?))
        }
        ["publisher", server, federation] => {
            run(spawned(play_publisher(server.to_owned(), federation.to_owned())))
        }
        ["srmp-objects", group, number, interface] => run(table1::play(group, number, interface)),
        ["srmp-member", group, member, interface, line] => {
            run(population::play(group, member, interface, line))
        }
        ["kills-node", file, name] => run(nodes::play(file, name)),
        ["kills-federates", ref words @ ..] => match FederateProcess::of_words(words) {
            Some(process) => run(federates::play(process)),
            None => Err(BenchError::Unusable("these are no orders for federates".to_owned())),
        },
        ["sinks", server, federation, count] => run(play_sinks(server, federation, number(count)?)),
        ["group", server, federation, number, nodes, ref plan @ ..] => {
            run(play_group(server, federation, [number, nodes], plan))
        }
        ["region-party", server, federation, mode, objects, regions] => {
            run(region::play_party(server, federation, [mode, objects, regions]))
        }
        ["idlers", server, federation, count] => run(play_idlers(server, federation, number(count)?)),
        _ => Err(BenchError::Unusable(format!("there is no role `{}`", words.join(" ")))),
    }
}

fn run(role: impl Future<Output = Result<(), BenchError>>) -> Result<(), BenchError> {
    node::runtime().map_err(BenchError::system("event queue"))?.block_on(role)
}

/// A node with the default settings, on loopback.
fn serve(saves: StatePlace) -> Result<(), BenchError> {
    let loopback = "tcp://127.0.0.1:0".parse().expect("it is an address to listen on");
    let federation = node::config::Federation { saves, ..node::config::Federation::default() };
    let config = node::Config { listen: vec![loopback], federation, ..node::Config::default() };
    run(async {
        let kernel = node::kernel(&config).map_err(|error| BenchError::Unusable(error.to_string()))?;
        let node = Box::pin(node::Node::bind(&config, kernel))
            .await
            .map_err(|error| BenchError::Unusable(error.to_string()))?;
        let _orders = orders(); // no orders; the end of the pipe ends the server
        print_line(&format!("ready {}", node.addresses()[0]));
        node.run(std::future::pending()).await;
        Ok(())
    })
}

/// A node of a network that listens at `host`: the first one creates the network, others join.
fn serve_node(
    number: &str,
    host: IpAddr,
    join: Option<&str>,
    network: node::config::Network,
) -> Result<(), BenchError> {
    let unusable = |error: &dyn std::fmt::Display| BenchError::Unusable(error.to_string());
    let any_port = format!("tcp://{}", SocketAddr::new(host, 0));
    let mut config = node::Config {
        name: format!("bench-{number}"),
        listen: vec![any_port.parse().expect("it is an address to listen on")],
        ..node::Config::default()
    };
    config.network = Some(node::config::Network {
        listen: vec![any_port.parse().expect("it is an address to listen on")],
        join: join.map(str::parse).transpose().map_err(|error| unusable(&error))?,
        ..network
    });
    run(async {
        let kernel = node::kernel(&config).map_err(|error| unusable(&error))?;
        let node = Box::pin(node::Node::bind(&config, kernel)).await.map_err(|error| unusable(&error))?;
        let _orders = orders();
        let links = node.link_addresses().first().cloned().unwrap_or_default();
        print_line(&format!("ready {} {links}", node.addresses()[0]));
        node.run(std::future::pending()).await;
        Ok(())
    })
}

/// The address of a computer.
fn address(word: &str) -> Result<IpAddr, BenchError> {
    word.parse().map_err(|_| BenchError::Unusable(format!("`{word}` is no address of a computer")))
}

/// The content of a word; `-` means nothing.
fn given(word: &str) -> Option<&str> {
    Some(word).filter(|word| *word != "-")
}

/// A network with this topology whose nodes share these groups.
fn sharing(groups: &str, topology: Option<Topology>) -> Result<node::config::Network, BenchError> {
    let groups = given(groups).map(str::parse).transpose();
    Ok(node::config::Network {
        topology,
        multicast: groups.map_err(|error| BenchError::Unusable(format!("multicast groups: {error}")))?,
        ..node::config::Network::default()
    })
}

/// Answers every update of a ping by an update of its pong with the same payload.
async fn play_echo(server: String, federation: String) -> Result<(), BenchError> {
    let _orders = orders();
    let mut member = Member::join(&server, &federation).await?;
    let (ping, pong) = (member.ping, member.pong);
    member.want(ping).await?;
    let object = member.offer(pong).await?;
    print_line("ready");
    let updates = member.federate.updates();
    loop {
        let callback = received(member.callbacks.recv().await)?;
        if let Some(payload) = reflected(callback) {
            updates.update_attribute_values(object, [(pong.attribute, payload)], "").await?;
        }
    }
}

/// Floods: `flood SIZE COUNT` is answered by `sent COUNT FAILED SECONDS`, the time until the server had
/// taken all of them.
async fn play_publisher(server: String, federation: String) -> Result<(), BenchError> {
    let mut orders = orders();
    let member = Member::join(&server, &federation).await?;
    let object = member.offer(member.ping).await?;
    let Member { federate, mut callbacks, ping, .. } = member;
    tokio::spawn(async move { while callbacks.recv().await.is_some() {} });
    print_line("ready");
    let updates = federate.updates();
    let mut failed = 0;
    while let Some(order) = orders.recv().await {
        let [_, size, count] = &order[..] else { continue };
        let count = number(count)?;
        let begun = Instant::now();
        flood(&updates, object, ping, number(size)?, count).await?;
        // Failures are reported as a number; they are no error of this process.
        let _ = updates.drained().await;
        let failures = updates.counts().failed;
        print_line(&format!("sent {count} {} {}", failures - failed, begun.elapsed().as_secs_f64()));
        failed = failures;
    }
    Ok(())
}

/// Federates that count reflects: `expect COUNT` is answered by `got COUNT` when that many more
/// have come. All of them subscribe to pings, only the first one to pongs.
async fn play_sinks(server: &str, federation: &str, count: usize) -> Result<(), BenchError> {
    let mut orders = orders();
    let received_all = Rc::new(Cell::new(0_u64));
    let progress = Rc::new(Notify::new());
    for index in 0..count {
        let member = Member::join(server, federation).await?;
        member.want(member.ping).await?;
        if index == 0 {
            member.want(member.pong).await?;
        }
        let (received_all, progress) = (Rc::clone(&received_all), Rc::clone(&progress));
        tokio::task::spawn_local(async move {
            let Member { federate: _federate, mut callbacks, .. } = member;
            while let Some(callback) = callbacks.recv().await {
                if matches!(callback, Callback::ReflectAttributeValues(_)) {
                    received_all.set(received_all.get() + 1);
                    progress.notify_one();
                }
            }
        });
    }
    print_line("ready");
    let mut reported = 0;
    while let Some(order) = orders.recv().await {
        let [_, expected] = &order[..] else { continue };
        let target = reported + number(expected)? as u64;
        while received_all.get() < target {
            progress.notified().await;
        }
        print_line(&format!("got {}", received_all.get() - reported));
        reported = received_all.get();
    }
    Ok(())
}

/// Federates that are joined and do nothing.
async fn play_idlers(server: &str, federation: &str, count: usize) -> Result<(), BenchError> {
    let mut orders = orders();
    let mut joined = Vec::with_capacity(count);
    for _ in 0..count {
        let (federate, callbacks) = Federate::connect(server_options(server)?).await?;
        federate.join_federation_execution("idle", federation).await?;
        joined.push((federate, callbacks));
    }
    print_line("ready");
    while orders.recv().await.is_some() {}
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::role::{sinks, words};

    #[test]
    fn an_unknown_role_is_an_error_that_names_it() {
        let error = play(&words(["dance", "now"])).unwrap_err().to_string();
        assert_eq!(error, "there is no role `dance now`");
        let error = play(&sinks("localhost", "f", 3)[..3]).unwrap_err().to_string();
        assert!(error.contains("sinks localhost f"), "{error}");
        let error = play(&words(["relay-at", "home"])).unwrap_err().to_string();
        assert_eq!(error, "`home` is no address of a computer");
    }
}
