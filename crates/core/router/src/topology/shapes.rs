//! The common shapes: tree, mesh of triads and hypercube.

use super::{Edge, End, Place, Role, Topology};
use crate::client::ClientFlags;

/// A tree: the root, `fan_outs[0]` routers below it, `fan_outs[1]` below each of these, and so on.
/// Applications connect to the leaves. A router's parent is its upper, persistent client.
pub fn tree(fan_outs: &[usize]) -> Topology {
    let widths = fan_outs.iter().scan(1, |width, fan_out| {
        *width *= fan_out;
        Some(*width)
    });
    tree_of_layers(&widths.collect::<Vec<_>>())
}

/// A tree with so many routers in each layer below the root: `[2, 5, 20]` has 28. The routers of a
/// layer are spread over those of the layer above as evenly as they can be, in order. Applications
/// connect to the last layer.
pub fn tree_of_layers(widths: &[usize]) -> Topology {
    let both = ClientFlags::SOURCE | ClientFlags::SINK;
    let mut topology = Topology::graph(1, Vec::new());
    let routers = 1 + widths.iter().sum::<usize>();
    for child in 1..routers {
        let Some(parent) = parent(widths, child) else { continue };
        topology.routers.push(Place { role: Role::Plain, process: child });
        topology.edges.push(Edge {
            a: End { router: child, flags: both | ClientFlags::UPPER | ClientFlags::PERSISTENT },
            b: End { router: parent, flags: both },
            rank: 0,
        });
    }
    topology.entries = (routers - widths.last().copied().unwrap_or(1)..routers).collect();
    topology
}

/// The parent of a router in a [`tree_of_layers`]. Routers are numbered layer by layer, and the
/// root is 0. `None` for the root, and for a number beyond the last layer.
pub fn parent(widths: &[usize], router: usize) -> Option<usize> {
    let (mut above, mut first_above) = (1, 0);
    let mut first = 1;
    for &width in widths {
        if (first..first + width).contains(&router) {
            return Some(first_above + (router - first) * above / width);
        }
        (above, first_above) = (width, first);
        first += width;
    }
    None
}

/// A full mesh of triads (MeshRouter, figure 4): a Primary, a PopUp and a PullDown in each process,
/// in this order, and a link from every PopUp to every other triad's PullDown, persistent at the
/// PopUp. Applications connect to the Primaries.
///
/// A message goes from an application up to the PopUp, across one link to the PullDown of each
/// interested triad, and down to the Primary of that triad. A PullDown is only a source to its
/// Primary, and a PopUp is only a sink, so a message that came from the mesh never returns to it.
pub fn mesh(triads: usize) -> Topology {
    let (source, sink, upper) = (ClientFlags::SOURCE, ClientFlags::SINK, ClientFlags::UPPER);
    let mut topology = Topology::default();
    for process in 0..triads {
        let primary = 3 * process;
        for role in [Role::Primary, Role::PopUp, Role::PullDown] {
            topology.routers.push(Place { role, process });
        }
        topology.entries.push(primary);
        topology.edges.push(Edge {
            a: End { router: primary, flags: sink | upper },
            b: End { router: primary + 1, flags: source },
            rank: 0,
        });
        topology.edges.push(Edge {
            a: End { router: primary, flags: source | upper },
            b: End { router: primary + 2, flags: sink },
            rank: 0,
        });
    }
    for from in 0..triads {
        for to in (0..triads).filter(|to| *to != from) {
            topology.edges.push(Edge {
                a: End { router: 3 * from + 1, flags: sink | upper | ClientFlags::PERSISTENT },
                b: End { router: 3 * to + 2, flags: source | upper },
                rank: 0,
            });
        }
    }
    topology
}

/// A hypercube of 2^`dimensions` routers, for broadcast. Router `i` has a link of rank `k` to each
/// router whose index differs from `i` in bit `k` only. A message that came along dimension `k`
/// goes on only along smaller dimensions, so exactly one path of at most `dimensions` links reaches
/// each router. At most 16 dimensions; more count as 16.
pub fn hypercube(dimensions: u8) -> Topology {
    let dimensions = dimensions.min(16);
    let flags = ClientFlags::SOURCE | ClientFlags::SINK | ClientFlags::UPPER;
    let mut edges = Vec::new();
    let routers = 1 << dimensions;
    for router in 0..routers {
        for rank in 0..dimensions {
            let other = router ^ (1 << rank);
            if router < other {
                edges.push(Edge {
                    a: End { router, flags: flags | ClientFlags::PERSISTENT },
                    b: End { router: other, flags },
                    rank,
                });
            }
        }
    }
    Topology::graph(routers, edges)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_routers_of_a_layer_are_spread_over_the_layer_above() {
        // The root, 2 below it, 5 below these and 20 at the bottom (MeshRouter, figure 9).
        let widths = [2, 5, 20];
        let parents: Vec<_> = (0..29).map(|router| parent(&widths, router)).collect();
        assert_eq!(parents[..8], [None, Some(0), Some(0), Some(1), Some(1), Some(1), Some(2), Some(2)]);
        assert!((8..28).all(|leaf| parents[leaf] == Some(3 + (leaf - 8) / 4)), "{parents:?}");
        assert_eq!(parents[28], None, "there are 28 routers");
        assert_eq!(tree_of_layers(&widths).entries, (8..28).collect::<Vec<_>>());
        assert_eq!((tree_of_layers(&[]).entries, parent(&[], 1)), (vec![0], None));
    }
}
