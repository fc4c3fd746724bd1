//! The tasks of links and groups: accepting and making links, reading and writing them, and taking
//! part in multicast groups.

pub(crate) mod accept;
pub(crate) mod connect;
mod member;
mod receive;
mod task;
mod trust;

pub(crate) use accept::{Listener, bind, listen};
pub(crate) use connect::keep_connecting;
pub(crate) use member::{check as check_multicast, keep_joining};
pub(crate) use task::close_all;
pub(crate) use trust::keep_trust;
