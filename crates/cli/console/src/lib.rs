//! The common parts of all commands: outcomes and exit statuses ([`exit`]), machine-readable
//! reports ([`report`]), tables for people ([`table`]), progress lines ([`progress`]), sizes on the
//! command line ([`size`]), and round trips as figures ([`rounds`]).

pub mod exit;
pub mod password;
pub mod progress;
pub mod report;
pub mod rounds;
pub mod size;
pub mod table;
