//! Queues in closed form, and simulations of the same queues.
//!
//! - [`mmc`], [`md1`]: one station with Poisson arrivals.
//! - [`Jackson`]: open networks of M/M/c stations (Jackson 1957). Each station behaves as if its
//!   arrivals were Poisson.
//! - [`station`]: one station, simulated customer by customer.
//! - [`sites`]: sites that multicast to each other over up- and downlinks of limited rate, on the
//!   emulated lines of [`wan`]; the reference for the links in SRMP's evaluation.

mod formulas;
mod sample;
pub mod sites;
pub mod station;

pub use formulas::{Jackson, Load, QueueError, Station, md1, mmc};
pub use sample::{BATCHES, Sample};
