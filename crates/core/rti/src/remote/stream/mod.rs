//! Reliable, ordered delivery over a fabric that loses, repeats and reorders.
//!
//! Two machines, each of its own and without knowledge of HLA:
//!
//! - a *stream* is what one node says about one topic, to whoever follows it: the sender keeps what it said
//!   in its [`History`], a receiver puts it in order with [`Inbound`] and asks for what is missing;
//! - a [`Session`] carries letters from one node to one other, each exactly once and in order.

mod history;
mod inbound;
mod session;

pub(crate) use history::{Gone, History};
pub(crate) use inbound::{Inbound, Patience};
pub(crate) use session::Session;
