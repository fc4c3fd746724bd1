//! The 178 services of the standard, one method each, by service group.

mod ddm;
mod declaration;
mod federation;
mod object;
mod ownership;
mod support;
mod switches;
mod time;
