//! Soundness checks for hand-written topologies.

use super::{Edge, End, Topology};
use crate::client::{ClientFlags, Level};

/// A fault of a topology.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TopologyError {
    /// An edge or an entry names a router that is not there.
    #[error("there is no router {router}, there are {routers}")]
    NoRouter {
        /// The index named.
        router: usize,
        /// How many there are.
        routers: usize,
    },
    /// An edge joins a router with itself.
    #[error("edge {edge} joins router {router} with itself")]
    OwnNeighbour {
        /// The edge.
        edge: usize,
        /// The router.
        router: usize,
    },
    /// One end sends and the other does not accept, or one end expects what the other does not
    /// send.
    #[error("edge {edge}: a sink at one end must be a source at the other")]
    FlagsDisagree {
        /// The edge.
        edge: usize,
    },
    /// A message could return to a router that it came from. It is still delivered once, but
    /// interest that goes round keeps itself alive, and needless traffic with it.
    #[error("messages that cross edge {edge} can come back to it")]
    Loop {
        /// An edge on the loop.
        edge: usize,
    },
}

/// Direction of travel along an edge: from `a` to `b`, or back.
type Channel = (usize, bool);

impl Topology {
    /// Checks indices and flags, and that no message can go round a loop.
    ///
    /// # Errors
    /// The first fault found.
    pub fn check(&self) -> Result<(), TopologyError> {
        let routers = self.routers.len();
        for &router in &self.entries {
            if router >= routers {
                return Err(TopologyError::NoRouter { router, routers });
            }
        }
        for (index, edge) in self.edges.iter().enumerate() {
            for router in [edge.a.router, edge.b.router] {
                if router >= routers {
                    return Err(TopologyError::NoRouter { router, routers });
                }
            }
            if edge.a.router == edge.b.router {
                return Err(TopologyError::OwnNeighbour { edge: index, router: edge.a.router });
            }
            let agree =
                |x: End, y: End| x.flags.contains(ClientFlags::SINK) == y.flags.contains(ClientFlags::SOURCE);
            if !agree(edge.a, edge.b) || !agree(edge.b, edge.a) {
                return Err(TopologyError::FlagsDisagree { edge: index });
            }
        }
        self.find_loop()
    }

    /// Walks over all channels, depth first. The successors of a channel are those over which the
    /// receiving router may forward.
    fn find_loop(&self) -> Result<(), TopologyError> {
        #[derive(Clone, Copy, PartialEq)]
        enum Seen {
            No,
            OnPath,
            Done,
        }
        let mut edges_of = vec![Vec::new(); self.routers.len()];
        for (index, edge) in self.edges.iter().enumerate() {
            edges_of[edge.a.router].push((index, true));
            edges_of[edge.b.router].push((index, false));
        }
        let mut seen = vec![[Seen::No; 2]; self.edges.len()];
        let starts = (0..self.edges.len()).flat_map(|edge| [(edge, false), (edge, true)]);
        for start in starts.filter(|channel| self.carries(*channel)) {
            if seen[start.0][usize::from(start.1)] != Seen::No {
                continue;
            }
            seen[start.0][usize::from(start.1)] = Seen::OnPath;
            let mut path = vec![(start, 0)];
            while let Some((channel, next)) = path.last_mut() {
                let (from, router) = (*channel, self.ends(*channel).1.router);
                let Some(&on) = edges_of[router].get(*next) else {
                    seen[from.0][usize::from(from.1)] = Seen::Done;
                    path.pop();
                    continue;
                };
                *next += 1;
                if !self.may_go_on(from, on) {
                    continue;
                }
                match &mut seen[on.0][usize::from(on.1)] {
                    Seen::Done => {}
                    Seen::OnPath => return Err(TopologyError::Loop { edge: on.0 }),
                    unseen => {
                        *unseen = Seen::OnPath;
                        path.push((on, 0));
                    }
                }
            }
        }
        Ok(())
    }

    /// The client of the sending router for the receiver, and that of the receiver for the sender.
    fn ends(&self, (edge, forward): Channel) -> (End, End) {
        let Edge { a, b, .. } = self.edges[edge];
        if forward { (a, b) } else { (b, a) }
    }

    fn carries(&self, channel: Channel) -> bool {
        self.ends(channel).0.flags.contains(ClientFlags::SINK)
    }

    fn may_go_on(&self, from: Channel, on: Channel) -> bool {
        let level = |end: End, edge: usize| Level::new(end.flags, self.edges[edge].rank);
        let (came, goes) = (self.ends(from).1, self.ends(on).0);
        from.0 != on.0 && self.carries(on) && level(came, from.0).may_send_to(level(goes, on.0))
    }
}

#[cfg(test)]
mod tests {
    use super::super::{hypercube, mesh, tree};
    use super::*;

    fn ring(flags: ClientFlags) -> Topology {
        let edge = |a, b| Edge { a: End { router: a, flags }, b: End { router: b, flags }, rank: 0 };
        Topology::graph(3, vec![edge(0, 1), edge(1, 2), edge(2, 0)])
    }

    #[test]
    fn the_usual_shapes_are_sound() {
        for topology in
            [tree(&[]), tree(&[4, 4]), tree(&[2, 2, 4]), mesh(1), mesh(7), hypercube(0), hypercube(6)]
        {
            assert_eq!(topology.check(), Ok(()));
        }
        assert_eq!(tree(&[2, 3]).entries, [3, 4, 5, 6, 7, 8]);
        assert_eq!(mesh(4).edges.len(), 8 + 12);
        assert_eq!(hypercube(4).edges.len(), 32);
    }

    #[test]
    fn loops_and_contradictions_are_found() {
        let both = ClientFlags::SOURCE | ClientFlags::SINK;
        assert!(matches!(ring(both).check(), Err(TopologyError::Loop { .. })));
        assert_eq!(ring(both | ClientFlags::UPPER).check(), Ok(()), "upper neighbours: nobody relays");
        assert_eq!(ring(ClientFlags::SINK).check(), Err(TopologyError::FlagsDisagree { edge: 0 }));
        let mut wrong = ring(both);
        wrong.edges[1].b.router = 1;
        assert_eq!(wrong.check(), Err(TopologyError::OwnNeighbour { edge: 1, router: 1 }));
        wrong.edges[1].b.router = 9;
        assert_eq!(wrong.check(), Err(TopologyError::NoRouter { router: 9, routers: 3 }));
    }
}
