//! The limit of open files, and with them sockets, of the process.

use node::Config;

/// The number of files in addition to connections: listeners, the log, modules, and sockets that
/// wait for their peers to close.
const BESIDES: usize = 512;

/// Raises the limit of open files to the number that the limits of `config` need, and warns if the
/// system allows less. Many systems begin with 1,024, and fewer clients than `config` allows would
/// use these up.
pub(crate) fn allow(config: &Config) {
    let links = config.network.as_ref().map_or(0, |network| network.connections + network.silent_connections);
    raise(config.limits.connections.saturating_add(links).saturating_add(BESIDES) as u64);
}

#[cfg(unix)]
fn raise(wanted: u64) {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    if current.is_none_or(|current| current >= wanted) {
        return;
    }
    let allowed = maximum.map_or(wanted, |maximum| maximum.min(wanted));
    if let Err(error) = setrlimit(Resource::Nofile, Rlimit { current: Some(allowed), maximum }) {
        return tracing::warn!(%error, ?current, wanted, "the limit of open files is not raised");
    }
    if allowed < wanted {
        tracing::warn!(allowed, wanted, "limits.connections is more than the system allows files to be open");
    }
}

#[cfg(not(unix))]
fn raise(_wanted: u64) {}
