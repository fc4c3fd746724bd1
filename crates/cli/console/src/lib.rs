//! The common parts of all commands: outcomes and exit statuses ([`exit`]), machine-readable
//! reports ([`report`]), tables for people ([`table`]), progress lines ([`progress`]), sizes on the
//! command line ([`size`]), round trips as figures ([`rounds`]), and the way to a server that asks for a
//! [`password`] or encrypts ([`trust`]).

pub mod exit;
pub mod password;
pub mod progress;
pub mod report;
pub mod rounds;
pub mod size;
pub mod table;
pub mod trust;
