//! The contents of link frames, for tools that count the traffic between nodes.

use super::envelope::Unicast;
use super::groups;
use super::links::OVERLAY;
use bytes::Bytes;
use overlay::Carried;

/// The content of a frame of a link.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum FrameKind {
    /// A keep-alive of the link.
    Life,
    /// Greetings, the map, agreement on paths, tunnels.
    Map,
    /// The replicated log: entries, heartbeats, elections.
    Log,
    /// A unicast of the services, or of a node that joins.
    PeerMessage,
    /// Interests, advertisements and messages of the routers.
    Router,
}

impl FrameKind {
    /// Reads no more of a frame than necessary. The parts of a divided unicast after its first
    /// count as the log.
    pub fn of(frame: &Bytes) -> Self {
        match frame.first() {
            Some(&OVERLAY) => match overlay::carried(&frame[1..]) {
                Carried::Life => Self::Life,
                Carried::Body([first, ..]) if !Unicast::is_consensus(*first) => Self::PeerMessage,
                Carried::Body(_) => Self::Log,
                Carried::Map => Self::Map,
            },
            Some(&groups::CHANNEL) | None => Self::Map,
            Some(_) => Self::Router,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unicast(body: &[u8]) -> Bytes {
        let mut frame = vec![OVERLAY, 8];
        frame.resize(1 + 32, 0);
        frame.extend_from_slice(body);
        frame.into()
    }

    #[test]
    fn frames_are_told_apart() {
        let peer_message = Unicast::Services(Bytes::from_static(b"x")).encode();
        let entry = Unicast::Consensus(Bytes::from_static(b"x")).encode();
        assert_eq!(FrameKind::of(&unicast(&peer_message)), FrameKind::PeerMessage);
        assert_eq!(FrameKind::of(&unicast(&entry)), FrameKind::Log);
        assert_eq!(FrameKind::of(&Bytes::from_static(&[OVERLAY, 4, 0])), FrameKind::Life);
        assert_eq!(FrameKind::of(&Bytes::from_static(&[OVERLAY, 7, 0])), FrameKind::Map);
        assert_eq!(FrameKind::of(&Bytes::from_static(&[1, 0])), FrameKind::Router);
        assert_eq!(FrameKind::of(&Bytes::new()), FrameKind::Map);
    }
}
