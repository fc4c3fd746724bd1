//! The endpoint's state of one connection.

use super::SessionKey;
use crate::frame::Decoder;
use base::Address;
use bytes::Bytes;
use std::collections::VecDeque;
use std::fmt;

/// A connection, named by the world that owns it. A name may be reused after `handle_closed` or
/// `close_after`.
///
/// A world with slots puts the slot into the low half and its generation into the high half: `c3.1`
/// is the second connection in slot 3.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct ConnId(pub u64);

impl fmt::Debug for ConnId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (generation, slot) = (self.0 >> 32, self.0 & u64::from(u32::MAX));
        write!(f, "c{slot}")?;
        if generation > 0 { write!(f, ".{generation}") } else { Ok(()) }
    }
}

impl fmt::Display for ConnId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

/// The proof of identity that the carrier of a connection has got from its client, such as the digest
/// of a verified certificate. The default stands for no proof.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Proof(pub [u8; 32]);

#[derive(Debug)]
pub(crate) struct Connection {
    pub(crate) address: Address,
    pub(crate) proof: Proof,
    pub(crate) decoder: Decoder,
    pub(crate) state: State,
    /// Bytes that were given for it and that its full socket has not yet accepted.
    pub(crate) socket_bytes: usize,
    /// Bytes of the tail of a closing connection.
    pub(crate) tail_bytes: usize,
}

impl Connection {
    /// A connection on which nothing has been received.
    pub(crate) fn new(address: Address, message_bytes_max: usize, session_id: u64) -> Self {
        let (decoder, state) = (Decoder::new(message_bytes_max), State::Fresh { session_id });
        Self { address, proof: Proof::default(), decoder, state, socket_bytes: 0, tail_bytes: 0 }
    }
}

#[derive(Debug)]
pub(crate) enum State {
    /// Nothing has been received. A new session would get this id.
    Fresh { session_id: u64 },
    /// It carries a session.
    Attached(SessionKey),
    /// It closes when `tail`, which consists of whole messages, has been written.
    Closing { tail: VecDeque<Bytes>, discard: bool },
}
