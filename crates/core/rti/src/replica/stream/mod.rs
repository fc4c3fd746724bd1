//! Reliable, ordered delivery over a network that loses, repeats and reorders.
//!
//! Two independent machines without knowledge of HLA:
//!
//! - a *stream* has any number of followers: the sender keeps the messages in its [`History`], a
//!   receiver puts them in order with [`Inbound`] and requests repairs;
//! - a [`Session`] carries messages from one node to one other, each exactly once and in order.

mod buffers;
mod history;
mod inbound;
mod session;

pub(crate) use buffers::{BufferTotal, BufferedBytes};
pub(crate) use history::{Gone, History};
pub(crate) use inbound::{Inbound, Patience};
pub(crate) use session::{Lane, Session};
