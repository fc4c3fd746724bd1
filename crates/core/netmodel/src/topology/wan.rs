//! Sites joined by lines, from a table: wide-area networks.

use std::collections::BTreeSet;

use super::{Builder, LinkClass, Topology, TopologyError, Wire};
use crate::routing::NextLinks;
use crate::units::{Picos, Rate};

/// Largest number of classes of lines: the links of hosts take one of 256.
const CLASSES_MAX: usize = 255;

/// A site: one switch with its hosts.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Site {
    /// Its name.
    pub name: String,
    /// Number of its hosts; 0 for a site that only forwards.
    pub hosts: u32,
}

/// A duplex line between two sites.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Line {
    /// The sites, by number.
    pub ends: (u32, u32),
    /// Its rate in each direction.
    pub rate: Rate,
    /// The propagation delay.
    pub delay: Picos,
    /// Its other properties, in each direction.
    pub wire: Wire,
}

/// A route that is written by hand: at one site, traffic to another site goes by a third one first.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Detour {
    /// The site that forwards.
    pub at: u32,
    /// The destination site.
    pub to: u32,
    /// The neighbour to which it forwards.
    pub via: u32,
}

/// A table of sites.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Wan {
    /// Sites. Their hosts are numbered site by site.
    pub sites: Vec<Site>,
    /// Lines between them, each pair once.
    pub lines: Vec<Line>,
    /// Routes written by hand. All others are the quickest: the least delay, then the fewest lines.
    pub detours: Vec<Detour>,
}

/// Classes of links, and lines: the two sites, and the class.
type Laid = (Vec<LinkClass>, Vec<(u32, u32, usize)>);

/// The reason why a table is not valid.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum WanError {
    /// A line is not valid.
    #[error("the line between {0} and {1} {2}")]
    Line(String, String, &'static str),
    /// Lines are of too many kinds.
    #[error("{0} kinds of lines are too many: at most {CLASSES_MAX} are told apart")]
    Kinds(usize),
    /// A site has no route to another.
    #[error("no line leads from {0} to {1}")]
    Apart(String, String),
    /// A route goes by a site that is not a neighbour.
    #[error("the route at {at} to {to} goes by {via}, and no line joins {at} and {via}")]
    NotJoined {
        /// The site that forwards.
        at: String,
        /// The destination site.
        to: String,
        /// The site that is not a neighbour.
        via: String,
    },
    /// A site of clusters has sites of its own.
    #[error("{0} is a `wan` within a `wan`: a site is a network of another shape")]
    Nested(String),
    /// The gateway of a site does not exist, or has no hosts.
    #[error("the gateway of {0} is switch {1}, which is no switch with hosts there")]
    Gateway(String, u32),
    /// A route goes in a circle.
    #[error("routes from {0} to {1} go in a circle")]
    Circle(String, String),
}

impl Wan {
    fn name(&self, site: u32) -> String {
        self.sites.get(site as usize).map_or_else(|| format!("site {site}"), |site| site.name.clone())
    }

    /// The ends of all lines and their classes, which follow `classes`.
    ///
    /// # Errors
    /// A line is not valid, or there are too many classes.
    pub(super) fn lay(&self, mut classes: Vec<LinkClass>) -> Result<Laid, TopologyError> {
        let before = classes.len();
        let mut laid = BTreeSet::new();
        let mut cables = Vec::new();
        for Line { ends: (a, b), rate, delay, wire } in &self.lines {
            let wrong = |why| WanError::Line(self.name(*a), self.name(*b), why);
            if a == b {
                return Err(wrong("joins a site to itself").into());
            }
            if (*a).max(*b) as usize >= self.sites.len() {
                return Err(wrong("joins a site that there is not").into());
            }
            if !laid.insert((*a.min(b), *a.max(b))) {
                return Err(wrong("is there twice").into());
            }
            let line = LinkClass { name: "line".to_owned(), rate: *rate, delay: *delay, wire: *wire };
            let known = classes[before..].iter().position(|class| *class == line);
            let class = known.unwrap_or_else(|| {
                classes.push(line);
                classes.len() - before - 1
            });
            cables.push((*a, *b, class + before));
        }
        if classes.len() > CLASSES_MAX {
            return Err(WanError::Kinds(classes.len() - before).into());
        }
        Ok((classes, cables))
    }

    /// Builds it, with links of class `host` at the hosts.
    ///
    /// # Errors
    /// A line is not valid, or there are too many parts.
    pub(super) fn build(&self, host: LinkClass) -> Result<Topology, TopologyError> {
        let (classes, cables) = self.lay(vec![host])?;
        let hosts: u64 = self.sites.iter().map(|site| u64::from(site.hosts)).sum();
        let links = 2 * (hosts + cables.len() as u64);
        let mut builder = Builder::new(hosts, self.sites.len() as u64, links, classes)?;
        let hosts = hosts as u32;
        for (a, b, class) in cables {
            builder.cable(hosts + a, hosts + b, class as u8);
        }
        let mut host = 0;
        for (site, at) in self.sites.iter().zip(0..) {
            for _ in 0..site.hosts {
                builder.cable(host, hosts + at, 0);
                host += 1;
            }
        }
        Ok(builder.build())
    }

    /// The quickest routes, with those written by hand in their place.
    ///
    /// # Errors
    /// A site cannot reach another, or a route goes by a site that is not a neighbour, or in a
    /// circle.
    pub fn routes(&self, topology: &Topology) -> Result<NextLinks, WanError> {
        let mut next = NextLinks::quickest(topology);
        for &Detour { at, to, via } in &self.detours {
            if !next.set(topology, at, to, via) {
                return Err(WanError::NotJoined {
                    at: self.name(at),
                    to: self.name(to),
                    via: self.name(via),
                });
            }
        }
        if let Some((from, to)) = next.apart() {
            return Err(WanError::Apart(self.name(from), self.name(to)));
        }
        if let Some((from, to)) = next.circle(topology) {
            return Err(WanError::Circle(self.name(from), self.name(to)));
        }
        Ok(next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::routing::Routes;

    /// Four sites in a square with one slow diagonal, two hosts each.
    fn square() -> Wan {
        let site = |name: &str| Site { name: name.to_owned(), hosts: 2 };
        let line = |ends, ms| Line {
            ends,
            rate: Rate::mbit(10),
            delay: Picos::from_millis(ms),
            wire: Wire::default(),
        };
        Wan {
            sites: ["A", "B", "C", "D"].map(site).to_vec(),
            lines: vec![
                line((0, 1), 10),
                line((1, 2), 10),
                line((2, 3), 10),
                line((3, 0), 10),
                line((0, 2), 30),
            ],
            detours: Vec::new(),
        }
    }

    fn host() -> LinkClass {
        LinkClass {
            name: "host".to_owned(),
            rate: Rate::mbit(100),
            delay: Picos::ZERO,
            wire: Wire::default(),
        }
    }

    /// The sites that a message between two hosts passes.
    fn way(wan: &Wan, source: u32, destination: u32) -> String {
        let topology = wan.build(host()).unwrap();
        let routes = Routes::Table(wan.routes(&topology).unwrap());
        let mut path = Vec::new();
        routes.path(&topology, source, destination, 7, &mut path);
        assert_eq!(topology.from(path[0]), source);
        assert_eq!(topology.to(path[path.len() - 1]), destination);
        let switches = path[..path.len() - 1].iter().map(|link| topology.to(*link) - topology.hosts());
        switches.map(|site| wan.sites[site as usize].name.clone()).collect()
    }

    #[test]
    fn messages_take_the_quickest_way_or_that_which_is_written() {
        let mut wan = square();
        assert_eq!(way(&wan, 0, 1), "A", "within a site");
        assert_eq!(way(&wan, 0, 2), "AB");
        assert_eq!(way(&wan, 0, 4), "ABC", "20 ms by B or D before 30 ms");
        wan.detours = vec![Detour { at: 0, to: 2, via: 3 }];
        assert_eq!(way(&wan, 0, 4), "ADC");
        wan.detours = vec![Detour { at: 0, to: 2, via: 2 }];
        assert_eq!(way(&wan, 0, 4), "AC");
        assert_eq!(way(&wan, 4, 0), "CBA", "the way back is another route");
    }

    #[test]
    fn impossible_values_are_reported_by_name() {
        let say = |change: &dyn Fn(&mut Wan)| {
            let mut wan = square();
            change(&mut wan);
            let built = wan.build(host()).map_err(|error| error.to_string());
            built.and_then(|topology| wan.routes(&topology).map_err(|error| error.to_string())).unwrap_err()
        };
        assert_eq!(say(&|wan| wan.lines[0].ends = (1, 1)), "the line between B and B joins a site to itself");
        assert_eq!(say(&|wan| wan.lines[4].ends = (1, 0)), "the line between B and A is there twice");
        assert_eq!(say(&|wan| wan.lines.truncate(2)), "no line leads from A to D");
        let detour = |at, to, via| Detour { at, to, via };
        assert_eq!(
            say(&|wan| wan.detours.push(detour(1, 3, 3))),
            "the route at B to D goes by D, and no line joins B and D"
        );
        assert_eq!(
            say(&|wan| wan.detours = vec![detour(0, 2, 1), detour(1, 2, 0)]),
            "routes from A to C go in a circle"
        );
        let many = |wan: &mut Wan| {
            wan.sites = (0..300).map(|site| Site { name: site.to_string(), hosts: 1 }).collect();
            let line = |ends: u32| Line {
                ends: (ends, ends + 1),
                rate: Rate::mbit(1),
                delay: Picos::from_millis(u64::from(ends)),
                wire: Wire::default(),
            };
            wan.lines = (0..299).map(line).collect();
        };
        assert!(say(&many).starts_with("299 kinds of lines are too many"));
    }
}
