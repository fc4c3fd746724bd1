//! Helpers that the topics share.

pub(crate) mod certificates;
pub(crate) mod federates;
pub(crate) mod helper;
pub(crate) mod proxy;
pub(crate) mod raw;
pub(crate) mod server;
pub(crate) mod stranger;
pub(crate) mod wire;

use std::time::Duration;

pub(crate) use federates::{Member, Model, RANGE, connect, create_and_join, join, member_of, options, range};
pub(crate) use server::{Server, meshrti};

/// How long anything may take before it counts as hanging.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// The result of `work`, which must not hang.
pub(crate) async fn soon<T>(work: impl Future<Output = T>) -> T {
    tokio::time::timeout(PATIENCE, work).await.expect("it does not hang")
}

/// Asks again and again until `done` says so.
pub(crate) async fn eventually(what: &str, mut done: impl FnMut() -> bool) {
    let asked = async {
        while !done() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(PATIENCE, asked).await.unwrap_or_else(|_| panic!("never: {what}"));
}
