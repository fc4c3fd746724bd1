//! The name of a node in its network.

use super::network::PlanError;
use super::{Config, DEFAULT_NAME, ListenAddress};

impl Config {
    /// The name of this node among the nodes of its network: `network.name`, or `name`, or, if both
    /// have their defaults, the name of the host with `suffix`, which should be drawn at random.
    pub fn network_name(&self, suffix: u16) -> String {
        self.given_name().unwrap_or_else(|| format!("{}-{suffix:04x}", host_name()))
    }

    /// The name that the configuration gives the node for its network.
    pub fn given_name(&self) -> Option<String> {
        let own = self.network.as_ref().and_then(|network| network.name.clone());
        own.or_else(|| (self.name != DEFAULT_NAME).then(|| self.name.clone()))
    }

    /// [Settles](Config::settle) with a suffix drawn by the system.
    ///
    /// # Errors
    /// Those of [`Config::settle`], or the system gives no random numbers.
    pub fn settle_here(&mut self) -> Result<(), PlanError> {
        let suffix = if self.network.is_some() { getrandom::u32()? as u16 } else { 0 }; // the low half
        self.settle(suffix)
    }

    /// Derives the settings that depend on the identity of this node: its name in the network (a
    /// default one ends in `suffix`), and the addresses on which it listens according to the
    /// topology file. Command-line flags that overrule the configuration are applied later.
    ///
    /// # Errors
    /// The topology file does not contain this node, links are configured besides it, or settings
    /// contradict each other.
    pub fn settle(&mut self, suffix: u16) -> Result<(), PlanError> {
        let name = self.network_name(suffix);
        let given = self.given_name();
        let (named, creator) = (given.is_some(), given.unwrap_or_else(host_name));
        let Some(network) = &mut self.network else { return Ok(()) };
        network.check()?;
        let plan = network.plan(&name)?;
        network.name = Some(name);
        if network.creator.is_none() {
            (network.is_named, network.creator) = (named, Some(creator));
        }
        network.listen = plan.listen;
        network.advertise = plan.advertise;
        if let Some(federates) = plan.federates
            && self.listen == [ListenAddress::default()]
        {
            self.listen = federates;
        }
        Ok(())
    }
}

/// The name of this machine, or a substitute.
fn host_name() -> String {
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let host: String = host.trim().chars().filter(|c| !c.is_control()).take(32).collect();
    if host.is_empty() { DEFAULT_NAME.to_owned() } else { host }
}
