//! A `wan`: sites joined by lines, each one switch or a network of another shape.

use base::Seed;
use netmodel::topology::{Cluster, Clusters, Shape};
use serde::Deserialize;

use super::Topology;
use super::links::Line;

/// Sites joined by lines.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Wan {
    sites: Vec<Site>,
    lines: Vec<Line>,
    #[serde(default)]
    routes: Vec<Route>,
}

/// A site: one switch with its hosts, or a network of another shape.
#[derive(Clone, Debug, Deserialize)]
#[serde(try_from = "toml::Table")]
struct Site {
    name: String,
    inside: Inside,
}

#[derive(Clone, Debug)]
enum Inside {
    Hosts(u32),
    Cluster { topology: Topology, gateway: u32 },
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Plain {
    hosts: u32,
}

impl TryFrom<toml::Table> for Site {
    type Error = String;

    fn try_from(mut table: toml::Table) -> Result<Self, String> {
        let why = |error: toml::de::Error| error.message().to_owned();
        let name = table.remove("name").ok_or("missing field `name`")?;
        let name: String = name.try_into().map_err(|error| format!("`name`: {}", why(error)))?;
        let wrong = |error: String| format!("site `{name}`: {error}");
        if !table.contains_key("shape") {
            if table.contains_key("gateway") {
                return Err(wrong(
                    "`gateway` is for a site with a `shape`: this one has one switch".to_owned(),
                ));
            }
            let Plain { hosts } = table.try_into().map_err(why).map_err(wrong)?;
            return Ok(Self { name, inside: Inside::Hosts(hosts) });
        }
        let gateway = table.remove("gateway").map_or(Ok(0), toml::Value::try_into);
        let gateway = gateway.map_err(|error| wrong(format!("`gateway`: {}", why(error))))?;
        let topology = Topology::deserialize(table).map_err(why).map_err(wrong)?;
        Ok(Self { name, inside: Inside::Cluster { topology, gateway } })
    }
}

/// A route: messages at one site for another go to a third one first.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Route {
    at: String,
    to: String,
    via: String,
}

impl Wan {
    fn site(&self, name: &str) -> Option<u32> {
        self.sites.iter().position(|site| site.name == name).map(|site| site as u32)
    }

    /// Checks that every site has a unique name, and that every other name refers to a site.
    pub(super) fn check(&self) -> Result<(), String> {
        for (at, site) in self.sites.iter().enumerate() {
            if self.sites[..at].iter().any(|other| other.name == site.name) {
                return Err(format!("[topology]: two sites are called `{}`", site.name));
            }
        }
        let lines = self.lines.iter().zip(1..).flat_map(|(line, number)| {
            line.between.iter().map(move |name| (format!("line {number} of `lines`"), name))
        });
        let routes = self.routes.iter().zip(1..).flat_map(|(route, number)| {
            [&route.at, &route.to, &route.via].map(|name| (format!("entry {number} of `routes`"), name))
        });
        match lines.chain(routes).find(|(_, name)| self.site(name).is_none()) {
            None => Ok(()),
            Some((place, name)) => {
                let known: Vec<&str> = self.sites.iter().map(|site| site.name.as_str()).collect();
                Err(format!(
                    "[topology]: {place}: there is no site `{name}` (there are: {})",
                    known.join(", ")
                ))
            }
        }
    }

    /// True if a site is a network of another shape.
    pub(super) fn has_clusters(&self) -> bool {
        self.sites.iter().any(|site| matches!(site.inside, Inside::Cluster { .. }))
    }

    /// The shape. `seed` is for random topologies of sites.
    ///
    /// # Errors
    /// A line or the network of a site is not valid.
    pub(super) fn shape(&self, seed: Seed) -> Result<Shape, String> {
        let wan = self.table()?;
        if !self.has_clusters() {
            return Ok(Shape::Wan(wan));
        }
        let cluster = |(number, site): (u64, &Site)| {
            Ok(match &site.inside {
                Inside::Hosts(hosts) => Cluster { shape: Shape::Star { hosts: *hosts }, gateway: 0 },
                Inside::Cluster { topology, gateway } => {
                    let shape = topology.shape(seed.split_index(number))?;
                    Cluster { shape, gateway: *gateway }
                }
            })
        };
        let clusters = (0..).zip(&self.sites).map(cluster).collect::<Result<_, String>>()?;
        let clusters = Clusters::new(wan, clusters).map_err(|why| format!("[topology]: {why}"))?;
        Ok(Shape::Clusters(clusters))
    }

    fn table(&self) -> Result<netmodel::topology::Wan, String> {
        // `check` has verified all names.
        let site = |name: &str| self.site(name).unwrap_or(u32::MAX);
        let line = |(line, number): (&Line, usize)| {
            line.line(number, (site(&line.between[0]), site(&line.between[1])))
        };
        let route = |route: &Route| netmodel::topology::Detour {
            at: site(&route.at),
            to: site(&route.to),
            via: site(&route.via),
        };
        let hosts = |site: &Site| match site.inside {
            Inside::Hosts(hosts) => hosts,
            Inside::Cluster { .. } => 0, // its shape knows
        };
        let known = |site: &Site| netmodel::topology::Site { name: site.name.clone(), hosts: hosts(site) };
        Ok(netmodel::topology::Wan {
            sites: self.sites.iter().map(known).collect(),
            lines: self.lines.iter().zip(1..).map(line).collect::<Result<_, _>>()?,
            detours: self.routes.iter().map(route).collect(),
        })
    }
}

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};

    use netmodel::study::network::set_up;
    use netmodel::topology::Shape;

    use super::super::Scenario;

    fn example(name: &str) -> String {
        let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../examples/simulations").join(name);
        std::fs::read_to_string(path).expect("the example is in the repository")
    }

    #[test]
    fn sites_may_be_networks_of_their_own() {
        let text = example("clusters-wan.toml");
        let network = Scenario::parse(&text).unwrap().network(1, Path::new("")).unwrap();
        let Shape::Clusters(clusters) = &network.shape else { panic!("sites have shapes") };
        assert_eq!(clusters.clusters()[0].gateway, 5);
        assert_eq!(network.shape.parts().0, 64 + 54 + 8);
        let say = |from: &str, to: &str| {
            assert!(text.contains(from), "{from}");
            let scenario = Scenario::parse(&text.replacen(from, to, 1));
            let network = scenario.and_then(|scenario| scenario.network(1, Path::new("")));
            network
                .and_then(|network| set_up(&network, base::Seed(1)).map_err(|why| why.to_string()))
                .err()
                .unwrap()
        };
        for (from, to, why) in [
            (
                "gateway = 5",
                "gateway = 16",
                "the gateway of NORTH is switch 16, which is no switch with hosts there",
            ),
            ("gateway = 5", "gateways = 5", "site `NORTH`: unknown field `gateways`"),
            ("hosts = 8", "hosts = 8, gateway = 0", "site `EAST`: `gateway` is for a site with a `shape`"),
            ("shape = \"fat-tree\"", "shape = \"fat\"", "site `SOUTH`: unknown variant `fat`"),
            ("hosts = 8", "host = 8", "site `EAST`: unknown field `host`"),
            ("sides = [4, 4]", "sides = [1, 4]", "a side is 1; expected at least 2"),
            (
                "switches = {",
                "# switches = {",
                "[links]: `switches` is missing: links between the switches of a site",
            ),
        ] {
            let said = say(from, to);
            assert!(said.contains(why), "{to}: {said}");
        }
    }
}
