//! Clusters behind lines: the sites of a wide area network, each a network of any other shape.
//!
//! The lines of a site are joined to one of its switches, its gateway. Hosts and switches are
//! numbered site by site, as in the shape of the site.

use super::{Builder, LinkClass, Shape, Topology, TopologyError, Wan, WanError};
use crate::routing::{NextLinks, RouteError, Routes, ShortestPaths};

/// The network of a site.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Cluster {
    /// Its shape, which has no lines of its own.
    pub shape: Shape,
    /// The switch that lines are joined to. It has hosts.
    pub gateway: u32,
}

/// Sites that are clusters, and the lines between them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Clusters {
    wan: Wan,
    clusters: Vec<Cluster>,
}

/// The place of a site in the whole network.
#[derive(Clone, Debug)]
struct Place {
    topology: Topology,
    routes: Routes,
    /// Its first host in the whole network.
    hosts: u32,
    gateway: u32,
    /// The first link out of its switches in the whole network.
    links: u32,
    /// Number of lines at its gateway, whose ports are the first.
    lines: u32,
}

/// Routes between and within sites.
#[derive(Clone, Debug)]
pub struct ClusterRoutes {
    sites: Vec<Place>,
    /// The sites as switches, and the routes between them.
    lines: Topology,
    next: NextLinks,
    /// By link between these: the line in the whole network.
    line: Vec<u32>,
}

impl Clusters {
    /// Sites of these shapes, in the order of the sites of `wan`, whose numbers of hosts are set.
    ///
    /// # Errors
    /// A site has lines of its own, or there are not as many clusters as sites.
    pub fn new(mut wan: Wan, clusters: Vec<Cluster>) -> Result<Self, TopologyError> {
        let nested = |(site, cluster): (usize, &Cluster)| {
            matches!(cluster.shape, Shape::Wan(_) | Shape::Clusters(_)).then(|| wan.sites[site].name.clone())
        };
        if wan.sites.len() != clusters.len() {
            let (what, expected) = ("the number of clusters", "as many as sites");
            return Err(TopologyError::Value { what, value: clusters.len() as u64, expected });
        }
        if let Some(name) = (0..).zip(&clusters).find_map(nested) {
            return Err(WanError::Nested(name).into());
        }
        for (site, cluster) in wan.sites.iter_mut().zip(&clusters) {
            site.hosts = u32::try_from(cluster.shape.parts().0).unwrap_or(u32::MAX);
        }
        Ok(Self { wan, clusters })
    }

    /// The sites and lines.
    pub fn wan(&self) -> &Wan {
        &self.wan
    }

    pub(crate) fn wan_mut(&mut self) -> &mut Wan {
        &mut self.wan
    }

    /// The networks of the sites.
    pub fn clusters(&self) -> &[Cluster] {
        &self.clusters
    }

    /// Numbers of hosts, switches and directed links.
    pub(super) fn parts(&self) -> (u64, u64, u64) {
        let lines = (0, 0, 2 * self.wan.lines.len() as u64);
        self.clusters.iter().map(|cluster| cluster.shape.parts()).fold(lines, |sum, more| {
            (sum.0.saturating_add(more.0), sum.1.saturating_add(more.1), sum.2.saturating_add(more.2))
        })
    }

    /// The name of the site for its gateway, and this name with a number for its other switches.
    pub(super) fn switch_names(&self) -> Vec<String> {
        let names = |(site, cluster): (&super::Site, &Cluster)| {
            let name = |switch: u64| match switch == u64::from(cluster.gateway) {
                true => site.name.clone(),
                false => format!("{}/{switch}", site.name),
            };
            (0..cluster.shape.parts().1).map(name).collect::<Vec<_>>()
        };
        self.wan.sites.iter().zip(&self.clusters).flat_map(names).collect()
    }

    /// Builds it, with links of class `host` at the hosts and `cable` between switches of a site.
    pub(super) fn build(&self, host: &LinkClass, cable: &LinkClass) -> Result<Topology, TopologyError> {
        let (classes, cables) = self.wan.lay(vec![host.clone(), cable.clone()])?;
        let (hosts, switches, links) = self.parts();
        let mut builder = Builder::new(hosts, switches, links, classes)?;
        let hosts = hosts as u32;
        let gateways = self.gateways();
        for (a, b, class) in cables {
            builder.cable(hosts + gateways[a as usize], hosts + gateways[b as usize], class as u8);
        }
        let (mut first_host, mut first_switch) = (0, 0);
        for (site, cluster) in self.wan.sites.iter().zip(&self.clusters) {
            let inside = cluster.shape.build(host.clone(), cable.clone())?;
            if cluster.gateway >= inside.switches() || gateway_host(&inside, cluster.gateway).is_none() {
                return Err(WanError::Gateway(site.name.clone(), cluster.gateway).into());
            }
            let place = |node: u32| match node.checked_sub(inside.hosts()) {
                None => first_host + node,
                Some(switch) => hosts + first_switch + switch,
            };
            for node in 0..inside.hosts() + inside.switches() {
                for link in inside.out_of(node) {
                    let class = u8::from(inside.is_between_switches(link));
                    builder.link(place(node), place(inside.to(link)), class);
                }
            }
            first_host += inside.hosts();
            first_switch += inside.switches();
        }
        Ok(builder.build())
    }

    /// By site: the number of its gateway in the whole network, without the hosts.
    fn gateways(&self) -> Vec<u32> {
        let mut first = 0;
        let gateway = |cluster: &Cluster| {
            let gateway = first + cluster.gateway;
            first += cluster.shape.parts().1 as u32;
            gateway
        };
        self.clusters.iter().map(gateway).collect()
    }

    /// Routes in a topology that [`Shape::build`] made: within sites as in their shapes, by the
    /// gateways between them, and over lines as in the table of sites.
    ///
    /// # Errors
    /// A site cannot reach another, or some host another of its site.
    pub fn routes(&self, topology: &Topology) -> Result<ClusterRoutes, ClusterError> {
        let host = topology.classes()[0].clone();
        let cable = topology.classes()[1].clone();
        let lines = Shape::Wan(self.wan.clone()).build(host.clone(), cable.clone())?;
        let next = self.wan.routes(&lines)?;
        let gateways = self.gateways();
        let (mut sites, mut first_host, mut first_switch) = (Vec::new(), 0, 0);
        for (site, cluster) in (0..).zip(&self.clusters) {
            let inside = cluster.shape.build(host.clone(), cable.clone())?;
            let routes = match &cluster.shape {
                Shape::Torus(torus) => Routes::DimensionOrder(torus.clone()),
                _ => {
                    let paths = ShortestPaths::new(&inside)?;
                    paths.check(&inside)?;
                    Routes::Shortest(paths)
                }
            };
            let at = lines.hosts() + site;
            let joined = lines.out_of(at).filter(|link| lines.is_between_switches(*link)).count();
            let links = topology.out_of(topology.hosts() + first_switch).start;
            let (hosts, switches) = (inside.hosts(), inside.switches());
            let gateway = cluster.gateway;
            let place =
                Place { topology: inside, routes, hosts: first_host, gateway, links, lines: joined as u32 };
            sites.push(place);
            first_host += hosts;
            first_switch += switches;
        }
        let line = |link: u32| {
            let ends = [lines.from(link), lines.to(link)].map(|end| end.checked_sub(lines.hosts()));
            let [Some(from), Some(to)] = ends else { return u32::MAX };
            let [from, to] = [from, to].map(|site| topology.hosts() + gateways[site as usize]);
            topology.out_of(from).find(|link| topology.to(*link) == to).unwrap_or(u32::MAX)
        };
        let line = (0..lines.links()).map(line).collect();
        Ok(ClusterRoutes { sites, lines, next, line })
    }
}

/// The reason why there are no routes between clusters.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ClusterError {
    /// Within a site.
    #[error(transparent)]
    Route(#[from] RouteError),
    /// Between sites.
    #[error(transparent)]
    Wan(#[from] WanError),
    /// The shape of a site is not valid.
    #[error(transparent)]
    Topology(#[from] TopologyError),
}

/// A host at a switch.
fn gateway_host(topology: &Topology, switch: u32) -> Option<u32> {
    let links = topology.out_of(topology.hosts() + switch);
    links.map(|link| topology.to(link)).find(|node| *node < topology.hosts())
}

impl Place {
    /// The link of the whole network that is this link of the site.
    fn link(&self, link: u32) -> u32 {
        let hosts = self.topology.hosts();
        let Some(after) = link.checked_sub(hosts) else { return self.hosts + link };
        let shifts = link >= self.topology.out_of(hosts + self.gateway).start;
        self.links + after + if shifts { self.lines } else { 0 }
    }

    /// Adds the links from one host of the site to another, without some of the first and last ones.
    fn path(&self, (from, to): (u32, u32), flow: u64, without: (usize, usize), path: &mut Vec<u32>) {
        let mut inside = Vec::new();
        self.routes.path(&self.topology, from, to, flow, &mut inside);
        let kept = without.0..inside.len().saturating_sub(without.1);
        path.extend(inside.get(kept).unwrap_or(&[]).iter().map(|link| self.link(*link)));
    }

    fn gateway_host(&self) -> u32 {
        gateway_host(&self.topology, self.gateway).unwrap_or(0)
    }
}

impl ClusterRoutes {
    fn site_of(&self, host: u32) -> usize {
        self.sites.partition_point(|site| site.hosts <= host) - 1
    }

    /// Adds the links from one host to another to `path`.
    pub(crate) fn path(&self, source: u32, destination: u32, flow: u64, path: &mut Vec<u32>) {
        let (from, to) = (self.site_of(source), self.site_of(destination));
        let (left, entered) = (&self.sites[from], &self.sites[to]);
        let (source, destination) = (source - left.hosts, destination - entered.hosts);
        if from == to {
            left.path((source, destination), flow, (0, 0), path);
            return;
        }
        left.path((source, left.gateway_host()), flow, (0, 1), path);
        let mut site = from as u32;
        while site != to as u32 {
            let link = self.next.next(to as u32, site);
            path.push(self.line[link as usize]);
            site = self.lines.to(link) - self.lines.hosts();
        }
        entered.path((entered.gateway_host(), destination), flow, (1, 0), path);
    }
}

#[cfg(test)]
mod tests;
