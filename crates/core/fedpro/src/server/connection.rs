//! One connection as the endpoint sees it.

use super::SessionKey;
use crate::frame::Decoder;
use bytes::Bytes;
use std::collections::VecDeque;

base::id! {
    /// A connection, named by the world that owns it. A name may be used again after
    /// `handle_closed` or `close_after`.
    pub struct ConnId(u64) as "c";
}

#[derive(Debug)]
pub(crate) struct Connection {
    pub(crate) decoder: Decoder,
    pub(crate) state: State,
}

#[derive(Debug)]
pub(crate) enum State {
    /// Nothing has come yet; a new session would get this id. An older connection has the smaller age.
    Fresh { session_id: u64, age: u64 },
    /// It carries a session.
    Attached(SessionKey),
    /// It is to be closed when `tail`, whole messages, is written.
    Closing { tail: VecDeque<Bytes>, discard: bool },
}
