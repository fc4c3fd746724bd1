//! The layout of an exercise: sites, routers and simulators, their links, and their hosts.

use super::Site;
use router::ClientFlags;
use router::topology::{self, Edge, End, Place, Role, Topology};

/// The topology of the routers. Simulators are clients of leaf routers in any case.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Joined {
    /// A tree at each site. The trees of other sites are below that of the first site, whose top
    /// router is the root.
    Tree,
    /// A triad in place of each leaf router, linked to every other triad at any site.
    Mesh,
    /// A triad in place of the top router of each site, linked to every other triad, with the tree
    /// of its site below it.
    MeshOfSites,
    /// The same hosts as in a mesh of sites, but the triads are linked by the product's overlay and
    /// not by hand: all to that of the first site, and to each other while there is traffic for it.
    OnDemand,
}

impl Joined {
    /// Lower-case name.
    pub const fn name(self) -> &'static str {
        match self {
            Joined::Tree => "tree",
            Joined::Mesh => "mesh",
            Joined::MeshOfSites => "mesh-of-sites",
            Joined::OnDemand => "on-demand",
        }
    }
}

/// The function of a host.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Duty {
    /// The top router of a tree.
    Root,
    /// The three routers of a triad.
    Triad,
    /// A router with this many levels of routers below it, not counting leaf routers.
    Router(u8),
    /// A router with simulators as clients.
    Leaf,
    /// A simulator.
    Simulator,
}

impl Duty {
    /// A name for display, in the plural.
    pub fn name(self) -> String {
        match self {
            Duty::Root => "root".to_owned(),
            Duty::Triad => "triads".to_owned(),
            Duty::Router(above) => format!("level {above}"),
            Duty::Leaf => "leaf routers".to_owned(),
            Duty::Simulator => "simulators".to_owned(),
        }
    }
}

/// A host.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Part {
    pub(super) duty: Duty,
    /// Its number among the hosts of its site with the same duty.
    pub(super) number: usize,
    pub(super) site: usize,
}

/// The layout of the network before it is built.
#[derive(Debug)]
pub(super) struct Layout {
    pub(super) topology: Topology,
    /// Hosts, by process number.
    pub(super) parts: Vec<Part>,
    /// The first router with a simulator behind it; all later ones have one too.
    pub(super) first_seat: usize,
    /// Sites whose triads may be linked although no edge says so.
    on_demand: usize,
}

/// Number of routers on each level of a site's tree, leaf routers last.
fn widths(simulators: usize, per_leaf: usize, fan_out: usize) -> Vec<usize> {
    let mut widths = vec![simulators.div_ceil(per_leaf).max(1)];
    while widths[0] > 1 {
        widths.insert(0, widths[0].div_ceil(fan_out));
    }
    widths
}

const BOTH: ClientFlags = ClientFlags::SOURCE.union(ClientFlags::SINK);

impl Layout {
    /// Lays out a network with up to `per_leaf` simulators at a leaf router and up to `fan_out`
    /// routers below another one.
    pub(super) fn draw(sites: &[Site], joined: Joined, per_leaf: usize, fan_out: usize) -> Self {
        let widths: Vec<Vec<usize>> =
            sites.iter().map(|site| widths(site.simulators, per_leaf, fan_out)).collect();
        let triads = match joined {
            Joined::Tree => 0,
            Joined::Mesh => widths.iter().filter_map(|widths| widths.last()).sum(),
            _ => sites.len(),
        };
        let mut topology = topology::mesh(triads);
        if joined == Joined::OnDemand {
            let routers = topology.routers.clone();
            let is_memory = |edge: &Edge| routers[edge.a.router].process == routers[edge.b.router].process;
            topology.edges.retain(is_memory);
        }
        let on_demand = if joined == Joined::OnDemand { sites.len() } else { 0 };
        let mut layout = Self { topology, parts: Vec::new(), first_seat: 0, on_demand };
        let mut primaries = std::mem::take(&mut layout.topology.entries).into_iter();
        // The lowest routers of each site so far, which get the next level below them.
        let mut uppers: Vec<Vec<usize>> = vec![Vec::new(); sites.len()];
        for (site, widths) in widths.iter().enumerate() {
            let count = match joined {
                Joined::Tree => 0,
                Joined::Mesh => widths.last().copied().unwrap_or(0),
                _ => 1,
            };
            for number in 0..count {
                layout.parts.push(Part { duty: Duty::Triad, number, site });
            }
            uppers[site] = primaries.by_ref().take(count).collect();
        }
        let first_level = if joined == Joined::Tree { 0 } else { 1 };
        for (site, widths) in widths.iter().enumerate() {
            let levels = if joined == Joined::Mesh { &[] } else { &widths[first_level..] };
            for (level, &width) in levels.iter().enumerate() {
                let below = u8::try_from(levels.len() - level).unwrap_or(u8::MAX);
                let duty = match below {
                    1 => Duty::Leaf,
                    _ => Duty::Router(below - 1),
                };
                let is_top = joined == Joined::Tree && level == 0;
                let duty = if is_top && site == 0 && below > 1 { Duty::Root } else { duty };
                let above = if is_top && site > 0 { vec![layout.root()] } else { uppers[site].clone() };
                let routers: Vec<usize> =
                    (0..width).map(|number| layout.add(Part { duty, number, site })).collect();
                for (number, &router) in routers.iter().enumerate() {
                    if !above.is_empty() {
                        layout.put_below(router, above[number * above.len() / width]);
                    }
                }
                uppers[site] = routers;
            }
        }
        layout.first_seat = layout.topology.routers.len();
        for (site, Site { simulators, .. }) in sites.iter().enumerate() {
            for number in 0..*simulators {
                let leaf = uppers[site][number * uppers[site].len() / simulators];
                let seat = layout.add(Part { duty: Duty::Simulator, number, site });
                layout.put_below(seat, leaf);
                layout.topology.entries.push(seat);
            }
        }
        layout
    }

    /// The top router of the first site's tree, which is the first router of all.
    fn root(&self) -> usize {
        0
    }

    /// Adds a router on a host of its own.
    fn add(&mut self, part: Part) -> usize {
        self.topology.routers.push(Place { role: Role::Plain, process: self.parts.len() });
        self.parts.push(part);
        self.topology.routers.len() - 1
    }

    fn put_below(&mut self, router: usize, above: usize) {
        self.topology.edges.push(Edge {
            a: End { router, flags: BOTH | ClientFlags::UPPER | ClientFlags::PERSISTENT },
            b: End { router: above, flags: BOTH },
            rank: 0,
        });
    }

    /// Number of links between hosts, without those that an overlay makes.
    pub(super) fn links(&self) -> usize {
        self.topology.edges.iter().filter(|edge| !self.topology.is_memory(edge)).count()
    }

    /// Largest number of links that overlays make.
    pub(super) fn on_demand_links(&self) -> usize {
        self.on_demand * self.on_demand.saturating_sub(1) / 2
    }

    /// The hosts of triads, by process number.
    pub(super) fn triads(&self) -> impl Iterator<Item = usize> + '_ {
        self.parts.iter().enumerate().filter(|(_, part)| part.duty == Duty::Triad).map(|(at, _)| at)
    }

    /// Pairs of different sites with a link between them, or for which an overlay may make one, the
    /// smaller index first, each pair once.
    pub(super) fn joined_sites(&self) -> Vec<(usize, usize)> {
        let site = |router: usize| self.parts[self.topology.routers[router].process].site;
        let pairs = self.topology.edges.iter().map(|edge| {
            let (a, b) = (site(edge.a.router), site(edge.b.router));
            (a.min(b), a.max(b))
        });
        let on_demand = (0..self.on_demand).flat_map(|b| (0..b).map(move |a| (a, b)));
        let mut pairs: Vec<_> = pairs.filter(|(a, b)| a != b).chain(on_demand).collect();
        pairs.sort_unstable();
        pairs.dedup();
        pairs
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sites(simulators: &[usize]) -> Vec<Site> {
        let site = |(number, simulators): (usize, &usize)| Site {
            name: format!("S{number}"),
            simulators: *simulators,
        };
        simulators.iter().enumerate().map(site).collect()
    }

    /// Number of hosts with this duty.
    fn count(layout: &Layout, duty: Duty) -> usize {
        layout.parts.iter().filter(|part| part.duty == duty).count()
    }

    #[test]
    fn a_tree_at_each_site_below_the_first() {
        let tree = Layout::draw(&sites(&[120, 80, 60, 3]), Joined::Tree, 5, 4);
        assert_eq!(tree.topology.check(), Ok(()));
        let of = |duty| count(&tree, duty);
        assert_eq!([of(Duty::Leaf), of(Duty::Simulator)], [24 + 16 + 12 + 1, 263]);
        // 24 under 6 under 2 under the root; 16 under 4 under 1; 12 under 3 under 1; 1.
        assert_eq!([of(Duty::Router(1)), of(Duty::Router(2)), of(Duty::Root)], [6 + 4 + 3, 2 + 1 + 1, 1]);
        assert_eq!(tree.joined_sites(), [(0, 1), (0, 2), (0, 3)]);
        // A tree has one edge fewer than routers.
        assert_eq!(tree.links(), tree.topology.routers.len() - 1);
    }

    #[test]
    fn meshes_of_leaf_routers_and_of_sites() {
        let mesh = Layout::draw(&sites(&[1_813]), Joined::Mesh, 20, 4);
        assert_eq!((count(&mesh, Duty::Triad), mesh.parts.len()), (91, 1_904));
        assert_eq!(mesh.links(), 91 * 90 + 1_813);
        assert_eq!(mesh.first_seat, 273);
        let flat = Layout::draw(&sites(&[10, 6, 1]), Joined::Mesh, 5, 4);
        assert_eq!((flat.topology.check(), count(&flat, Duty::Triad)), (Ok(()), 2 + 2 + 1));
        assert_eq!(flat.joined_sites(), [(0, 1), (0, 2), (1, 2)]);
        let wan = Layout::draw(&sites(&[120, 80, 3]), Joined::MeshOfSites, 5, 4);
        assert_eq!(wan.topology.check(), Ok(()));
        // The third site's only leaf router is its triad.
        let of = |duty| count(&wan, duty);
        assert_eq!(
            [of(Duty::Triad), of(Duty::Router(2)), of(Duty::Router(1)), of(Duty::Leaf)],
            [3, 2, 6 + 4, 24 + 16]
        );
        assert_eq!(wan.joined_sites(), [(0, 1), (0, 2), (1, 2)]);
        // Without the edges between triads, but with the same hosts.
        let alone = Layout::draw(&sites(&[120, 80, 3]), Joined::OnDemand, 5, 4);
        assert_eq!((&alone.parts, alone.first_seat), (&wan.parts, wan.first_seat));
        assert_eq!(alone.links() + 2 * alone.on_demand_links(), wan.links());
        assert_eq!((alone.joined_sites(), alone.triads().count()), (wan.joined_sites(), 3));
        let processes: Vec<usize> = wan.topology.routers.iter().map(|place| place.process).collect();
        assert!(processes.is_sorted() && processes.last() == Some(&(wan.parts.len() - 1)));
    }

    #[test]
    fn simulators_are_spread_evenly() {
        let mesh = Layout::draw(&sites(&[43]), Joined::Mesh, 20, 4);
        let leaf = |edge: &&Edge| edge.a.router >= mesh.first_seat;
        let mut counts = [0; 3];
        mesh.topology.edges.iter().filter(leaf).for_each(|edge| counts[edge.b.router / 3] += 1);
        assert_eq!(counts, [15, 14, 14]);
    }
}
