//! The 178 services of the standard, one method each, by service group; generated from the call
//! table (`cargo xtask gen`).

#[rustfmt::skip]
mod ddm;
#[rustfmt::skip]
mod declaration;
#[rustfmt::skip]
mod federation;
#[rustfmt::skip]
mod object;
#[rustfmt::skip]
mod ownership;
#[rustfmt::skip]
mod support;
#[rustfmt::skip]
mod switches;
#[rustfmt::skip]
mod time;
