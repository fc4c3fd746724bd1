//! Network namespaces of this machine (Linux) that stand for computers.

use std::fs::File;
use std::net::IpAddr;
use std::str::FromStr;

use crate::error::BenchError;

/// A network namespace (`ip netns`) that stands for a computer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Namespace {
    /// Its name.
    pub name: String,
    /// The address under which processes of other namespaces reach those in this one.
    pub address: IpAddr,
}

/// A text that names no namespace.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("`{0}` is no namespace: expected NAME=ADDRESS, such as meshrti-1=10.78.0.1")]
pub struct NamespaceError(String);

impl FromStr for Namespace {
    type Err = NamespaceError;

    fn from_str(text: &str) -> Result<Self, NamespaceError> {
        let wrong = || NamespaceError(text.to_owned());
        let (name, address) = text.split_once('=').ok_or_else(wrong)?;
        // The name becomes a part of a path, and an argument of `ip`.
        let is_plain = name.starts_with(|c: char| c.is_ascii_alphanumeric())
            && name.chars().all(|c| c.is_ascii_alphanumeric() || "._-".contains(c));
        let address = address.parse().map_err(|_| wrong())?;
        if is_plain { Ok(Self { name: name.to_owned(), address }) } else { Err(wrong()) }
    }
}

impl Namespace {
    /// Moves the calling thread into the namespace while the result lives, with all threads and
    /// processes that it starts meanwhile.
    ///
    /// # Errors
    /// There is no such namespace, or the system refuses; it takes administrator rights.
    #[cfg(target_os = "linux")]
    pub(crate) fn enter(&self) -> Result<Inside, BenchError> {
        let refused = || BenchError::system(format!("network namespace `{}`", self.name));
        let before = File::open("/proc/thread-self/ns/net").map_err(refused())?;
        // Where `ip netns add` puts it.
        let there = File::open(format!("/var/run/netns/{}", self.name)).map_err(refused())?;
        move_to(&there).map_err(refused())?;
        Ok(Inside(before))
    }

    /// No other system has them.
    ///
    /// # Errors
    /// Always.
    #[cfg(not(target_os = "linux"))]
    pub(crate) fn enter(&self) -> Result<Inside, BenchError> {
        Err(BenchError::Unusable(format!("network namespace `{}`: only Linux has them", self.name)))
    }

    /// Checks that processes can be started in it.
    ///
    /// # Errors
    /// There is no such namespace, or the system refuses; it takes administrator rights.
    pub fn check(&self) -> Result<(), BenchError> {
        self.enter().map(drop)
    }
}

/// The calling thread is in a network namespace while this lives. Afterwards it is where it was.
#[derive(Debug)]
pub(crate) struct Inside(
    /// The namespace of the thread before.
    #[cfg_attr(not(target_os = "linux"), allow(dead_code))]
    File,
);

impl Drop for Inside {
    fn drop(&mut self) {
        // The thread had the rights to leave it, so it has those to return.
        #[cfg(target_os = "linux")]
        let _ = move_to(&self.0);
    }
}

#[cfg(target_os = "linux")]
fn move_to(namespace: &File) -> std::io::Result<()> {
    use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
    use std::os::fd::AsFd as _;
    Ok(move_into_link_name_space(namespace.as_fd(), Some(LinkNameSpaceType::Network))?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_namespace_has_a_name_and_an_address() {
        let namespace = |text: &str| text.parse::<Namespace>();
        let found = namespace("meshrti-1=10.78.0.1").unwrap();
        assert_eq!((found.name.as_str(), found.address), ("meshrti-1", [10, 78, 0, 1].into()));
        assert!(namespace("a=fd00::1").unwrap().address.is_ipv6());
        for wrong in
            ["meshrti-1", "=10.78.0.1", "a=", "a=b", "../a=10.78.0.1", "-a=10.78.0.1", "a b=10.78.0.1"]
        {
            let error = namespace(wrong).unwrap_err().to_string();
            assert!(
                error.starts_with(&format!("`{wrong}` is no namespace: expected NAME=ADDRESS")),
                "{error}"
            );
        }
    }

    #[test]
    fn an_absent_namespace_is_an_error_that_names_it() {
        let absent: Namespace = "meshrti-absent=10.78.0.1".parse().unwrap();
        let error = absent.check().unwrap_err().to_string();
        assert!(error.starts_with("network namespace `meshrti-absent`: "), "{error}");
    }
}
