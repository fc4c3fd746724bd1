//! Generators: networks given by a name and a few numbers.
//!
//! Hosts are numbered switch by switch. The ports of a switch are its cables in the order in which
//! the generator lays them, then its hosts.

use std::collections::BTreeSet;

use base::Seed;

use super::{Builder, Built, Clusters, LinkClass, Topology, TopologyError, Torus, Wan};
use crate::arrivals::below;

/// A network by its name and numbers.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Shape {
    /// A torus or a mesh of any number of dimensions.
    Torus(Torus),
    /// One switch.
    Star {
        /// Number of hosts.
        hosts: u32,
    },
    /// A cable between any two switches.
    FullMesh {
        /// Number of switches.
        switches: u32,
        /// Hosts at each switch.
        hosts_per_switch: u32,
    },
    /// A root, a number of switches below it, a number below each of these, and so on; hosts at the
    /// lowest switches.
    Tree {
        /// Switches below each switch, by level, the root's first.
        fan_outs: Vec<u32>,
        /// Hosts at each of the lowest switches.
        hosts_per_leaf: u32,
    },
    /// Three levels of switches with `ports` ports each (Al-Fares, Loukissas, Vahdat 2008): ports³
    /// / 4 hosts, any two with as many paths as there are cores between them.
    FatTree {
        /// Ports of each switch, even.
        ports: u32,
    },
    /// Two levels: each leaf has a cable to each spine.
    LeafSpine {
        /// Switches with hosts.
        leaves: u32,
        /// Switches between them.
        spines: u32,
        /// Hosts at each leaf.
        hosts_per_leaf: u32,
    },
    /// Groups of switches, a full mesh inside each, and one cable between any two groups (Kim,
    /// Dally, Scott, Abts 2008): a h + 1 groups.
    Dragonfly {
        /// Hosts at each switch (p).
        hosts_per_switch: u32,
        /// Switches of a group (a).
        group: u32,
        /// Cables of each switch to other groups (h).
        global: u32,
    },
    /// A random graph of switches that all have the same number of cables.
    RandomRegular {
        /// Number of switches.
        switches: u32,
        /// Cables of each switch.
        degree: u32,
        /// Hosts at each switch.
        hosts_per_switch: u32,
        /// The seed of the random graph.
        seed: Seed,
    },
    /// Sites joined by lines, each with a rate and a delay of its own.
    Wan(Wan),
    /// The same, where each site is a network of another shape.
    Clusters(Clusters),
    /// A topology that a program built. It has classes of links of its own.
    Built(Built),
}

/// Classes of links, except those of a [`Wan`].
const HOST: u8 = 0;
const CABLE: u8 = 1;

/// The numbers of parts of a shape.
struct Counts {
    /// Switches with hosts, which come first.
    with_hosts: u64,
    hosts_at_each: u64,
    switches: u64,
    /// Duplex cables between switches.
    cables: u64,
}

impl Shape {
    /// Switches in each dimension of a torus or mesh with two dimensions. The first one varies
    /// faster in the numbers of switches.
    pub fn sides(&self) -> Option<(u32, u32)> {
        match self {
            Shape::Torus(torus) => torus.flat(),
            _ => None,
        }
    }

    /// Numbers of hosts, switches and directed links that it will have.
    pub fn parts(&self) -> (u64, u64, u64) {
        if let Shape::Torus(torus) = self {
            let hosts = torus.hosts();
            return (hosts, torus.switches(), torus.cables().saturating_add(hosts.saturating_mul(2)));
        }
        if let Shape::Clusters(clusters) = self {
            return clusters.parts();
        }
        if let Shape::Built(built) = self {
            let topology = built.topology();
            return (topology.hosts().into(), topology.switches().into(), topology.links().into());
        }
        let counts = self.counts();
        let hosts = match self {
            Shape::Wan(wan) => wan.sites.iter().map(|site| u64::from(site.hosts)).sum(),
            _ => counts.with_hosts.saturating_mul(counts.hosts_at_each),
        };
        (hosts, counts.switches, counts.cables.saturating_add(hosts).saturating_mul(2))
    }

    /// The names of its switches, if they have names.
    pub fn switch_names(&self) -> Vec<String> {
        match self {
            Shape::Wan(wan) => wan.sites.iter().map(|site| site.name.clone()).collect(),
            Shape::Clusters(clusters) => clusters.switch_names(),
            _ => Vec::new(),
        }
    }

    /// Its sites and lines, if it has any.
    pub fn wan(&self) -> Option<&Wan> {
        match self {
            Shape::Wan(wan) => Some(wan),
            Shape::Clusters(clusters) => Some(clusters.wan()),
            _ => None,
        }
    }

    /// The same, to change the lines.
    pub(crate) fn wan_mut(&mut self) -> Option<&mut Wan> {
        match self {
            Shape::Wan(wan) => Some(wan),
            Shape::Clusters(clusters) => Some(clusters.wan_mut()),
            _ => None,
        }
    }

    /// Its name.
    pub fn name(&self) -> &'static str {
        match self {
            Shape::Torus(torus) if torus.wraps => "torus",
            Shape::Torus(_) => "mesh",
            Shape::Star { .. } => "star",
            Shape::FullMesh { .. } => "full-mesh",
            Shape::Tree { .. } => "tree",
            Shape::FatTree { .. } => "fat-tree",
            Shape::LeafSpine { .. } => "leaf-spine",
            Shape::Dragonfly { .. } => "dragonfly",
            Shape::RandomRegular { .. } => "random-regular",
            Shape::Wan(_) | Shape::Clusters(_) => "wan",
            Shape::Built(_) => "built",
        }
    }

    /// Builds it, with links of class `host` at the hosts and `cable` between switches.
    ///
    /// # Errors
    /// A number is not valid for this shape, or there are too many parts.
    pub fn build(&self, host: LinkClass, cable: LinkClass) -> Result<Topology, TopologyError> {
        if let Shape::Torus(torus) = self {
            return torus.build(host, cable);
        }
        if let Shape::Wan(wan) = self {
            return wan.build(host);
        }
        if let Shape::Clusters(clusters) = self {
            return clusters.build(&host, &cable);
        }
        if let Shape::Built(built) = self {
            return Ok(built.topology().clone());
        }
        self.check()?;
        let counts = self.counts();
        let hosts = counts.with_hosts.saturating_mul(counts.hosts_at_each);
        let links = counts.cables.saturating_add(hosts).saturating_mul(2);
        let mut builder = Builder::new(hosts, counts.switches, links, vec![host, cable])?;
        let (hosts, switches) = (hosts as u32, counts.switches as u32);
        self.lay(|a, b| builder.cable(hosts + a, hosts + b, CABLE), switches);
        for host in 0..hosts {
            builder.cable(host, hosts + host / counts.hosts_at_each as u32, HOST);
        }
        Ok(builder.build())
    }

    /// Checks that the numbers are large enough, and that no product of them overflows.
    fn check(&self) -> Result<(), TopologyError> {
        let at_least = |what, value: u32, least: u32, expected| {
            let value = u64::from(value);
            if value < u64::from(least) {
                Err(TopologyError::Value { what, value, expected })
            } else {
                Ok(())
            }
        };
        let one = |what, value| at_least(what, value, 1, "at least 1");
        match self {
            Shape::Torus(_) | Shape::Wan(_) | Shape::Clusters(_) | Shape::Built(_) => Ok(()),
            Shape::Star { hosts } => one("the number of hosts", *hosts),
            Shape::FullMesh { switches, hosts_per_switch } => {
                one("the number of switches", *switches)?;
                one("the number of hosts at a switch", *hosts_per_switch)
            }
            Shape::Tree { fan_outs, hosts_per_leaf } => {
                fan_outs.iter().try_for_each(|fan_out| one("a fan-out", *fan_out))?;
                one("the number of hosts at a leaf", *hosts_per_leaf)
            }
            Shape::FatTree { ports } if ports % 2 == 1 => Err(TopologyError::Value {
                what: "the number of ports",
                value: u64::from(*ports),
                expected: "an even number",
            }),
            Shape::FatTree { ports } => at_least("the number of ports", *ports, 2, "at least 2"),
            Shape::LeafSpine { leaves, spines, hosts_per_leaf } => {
                one("the number of leaves", *leaves)?;
                one("the number of spines", *spines)?;
                one("the number of hosts at a leaf", *hosts_per_leaf)
            }
            Shape::Dragonfly { hosts_per_switch, group, global } => {
                one("the number of hosts at a switch", *hosts_per_switch)?;
                one("the number of switches of a group", *group)?;
                one("the number of cables to other groups", *global)
            }
            Shape::RandomRegular { switches, degree, hosts_per_switch, .. } => {
                one("the number of hosts at a switch", *hosts_per_switch)?;
                at_least("the number of cables of a switch", *degree, 2, "at least 2")?;
                at_least(
                    "the number of switches",
                    *switches,
                    degree.saturating_add(1),
                    "more than the cables of one",
                )?;
                let odd = degree % 2 == 1 && switches % 2 == 1;
                let (what, value) = ("the number of switches", u64::from(*switches));
                if odd {
                    Err(TopologyError::Value {
                        what,
                        value,
                        expected: "even, as there is an odd number of cables",
                    })
                } else {
                    Ok(())
                }
            }
        }
    }

    fn counts(&self) -> Counts {
        let wide = |number: &u32| u64::from(*number);
        let product = |a: u64, b: u64| a.saturating_mul(b);
        let counts = |with_hosts, hosts_at_each: &u32, switches, cables| Counts {
            with_hosts,
            hosts_at_each: wide(hosts_at_each),
            switches,
            cables,
        };
        match self {
            Shape::Torus(torus) => {
                counts(torus.switches(), &torus.hosts_per_switch, torus.switches(), torus.cables() / 2)
            }
            // These counts do not build them, because sites differ.
            Shape::Clusters(_) | Shape::Built(_) => counts(0, &0, self.parts().1, self.parts().2 / 2),
            Shape::Wan(wan) => counts(0, &0, wan.sites.len() as u64, wan.lines.len() as u64),
            Shape::Star { hosts } => counts(1, hosts, 1, 0),
            Shape::FullMesh { switches, hosts_per_switch } => {
                let n = wide(switches);
                counts(n, hosts_per_switch, n, product(n, n - 1) / 2)
            }
            Shape::Tree { fan_outs, hosts_per_leaf } => {
                let (mut level, mut all) = (1u64, 1u64);
                for fan_out in fan_outs {
                    level = product(level, wide(fan_out));
                    all = all.saturating_add(level);
                }
                counts(level, hosts_per_leaf, all, all - 1)
            }
            Shape::FatTree { ports } => {
                let half = wide(ports) / 2;
                let edges = product(2 * half, half);
                let switches = edges.saturating_mul(2).saturating_add(product(half, half));
                counts(edges, &(ports / 2), switches, product(edges, 2 * half))
            }
            Shape::LeafSpine { leaves, spines, hosts_per_leaf } => counts(
                wide(leaves),
                hosts_per_leaf,
                wide(leaves) + wide(spines),
                product(wide(leaves), wide(spines)),
            ),
            Shape::Dragonfly { hosts_per_switch, group, global } => {
                let ways = product(wide(group), wide(global));
                let groups = ways.saturating_add(1);
                let inside = product(groups, product(wide(group), wide(group) - 1) / 2);
                let switches = product(groups, wide(group));
                counts(switches, hosts_per_switch, switches, inside.saturating_add(product(groups, ways) / 2))
            }
            Shape::RandomRegular { switches, degree, hosts_per_switch, .. } => counts(
                wide(switches),
                hosts_per_switch,
                wide(switches),
                product(wide(switches), wide(degree)) / 2,
            ),
        }
    }

    /// Lays the cables between switches, and calls `cable` once for each.
    fn lay(&self, mut cable: impl FnMut(u32, u32), switches: u32) {
        match self {
            Shape::Torus(_) | Shape::Wan(_) | Shape::Clusters(_) | Shape::Built(_) | Shape::Star { .. } => {}
            Shape::FullMesh { .. } => (0..switches).for_each(|a| (a + 1..switches).for_each(|b| cable(a, b))),
            Shape::Tree { fan_outs, .. } => tree(fan_outs, switches, cable),
            Shape::FatTree { ports } => fat_tree(*ports / 2, cable),
            Shape::LeafSpine { leaves, .. } => {
                (0..*leaves).for_each(|leaf| (*leaves..switches).for_each(|spine| cable(leaf, spine)));
            }
            Shape::Dragonfly { group, global, .. } => dragonfly(*group, *global, cable),
            Shape::RandomRegular { degree, seed, .. } => {
                random_regular(switches, *degree, *seed).into_iter().for_each(|(a, b)| cable(a, b));
            }
        }
    }
}

/// The lowest level has the first numbers, the root the last.
fn tree(fan_outs: &[u32], switches: u32, mut cable: impl FnMut(u32, u32)) {
    let mut first = switches - 1;
    let mut level = 1;
    for fan_out in fan_outs {
        let below = first - level * fan_out;
        (0..level * fan_out).for_each(|child| cable(first + child / fan_out, below + child));
        (first, level) = (below, level * fan_out);
    }
}

/// Pods of `half` edge and `half` aggregation switches, 2 `half` of them; edges first, then
/// aggregation, then cores.
fn fat_tree(half: u32, mut cable: impl FnMut(u32, u32)) {
    let edges = 2 * half * half;
    for pod in 0..2 * half {
        for edge in 0..half {
            (0..half).for_each(|above| cable(pod * half + edge, edges + pod * half + above));
        }
    }
    for pod in 0..2 * half {
        for above in 0..half {
            (0..half).for_each(|core| cable(edges + pod * half + above, 2 * edges + above * half + core));
        }
    }
}

/// Global port k of a group (of its switch k / h) leads to the group k + 1 positions further.
fn dragonfly(group: u32, global: u32, mut cable: impl FnMut(u32, u32)) {
    let ways = group * global;
    let groups = ways + 1;
    for g in 0..groups {
        (0..group).for_each(|a| (a + 1..group).for_each(|b| cable(g * group + a, g * group + b)));
    }
    for g in 0..groups {
        for k in 0..ways {
            let to = (g + k + 1) % groups;
            if g < to {
                cable(g * group + k / global, to * group + (ways - 1 - k) / global);
            }
        }
    }
}

/// A ring with cables to the neighbours up to `degree` / 2 away (and across), whose ends are
/// swapped at random many times. The degrees stay, and nothing of the ring is left.
fn random_regular(switches: u32, degree: u32, seed: Seed) -> Vec<(u32, u32)> {
    const SWAPS_PER_CABLE: usize = 20;
    let sorted = |a: u32, b: u32| (a.min(b), a.max(b));
    let mut cables: Vec<(u32, u32)> = (1..=degree / 2)
        .flat_map(|step| (0..switches).map(move |a| sorted(a, (a + step) % switches)))
        .collect();
    if degree % 2 == 1 {
        cables.extend((0..switches / 2).map(|a| (a, a + switches / 2)));
    }
    let mut there: BTreeSet<(u32, u32)> = cables.iter().copied().collect();
    let mut stream = seed.split("random-regular").rng();
    let count = cables.len() as u32;
    for _ in 0..cables.len() * SWAPS_PER_CABLE {
        let (one, other) = (below(&mut stream, count) as usize, below(&mut stream, count) as usize);
        let ((a, b), (c, d)) = (cables[one], cables[other]);
        let (c, d) = if below(&mut stream, 2) == 0 { (c, d) } else { (d, c) };
        let swapped = [sorted(a, c), sorted(b, d)];
        let new = a != c
            && b != d
            && swapped[0] != swapped[1]
            && swapped.iter().all(|cable| !there.contains(cable));
        if new {
            there.remove(&cables[one]);
            there.remove(&cables[other]);
            there.extend(swapped);
            [cables[one], cables[other]] = swapped;
        }
    }
    cables.sort_unstable();
    cables
}

#[cfg(test)]
mod tests;
