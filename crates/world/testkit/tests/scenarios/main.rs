//! Scripted scenarios: flapping links, streams whose follower is late, slow networks and readers.

mod back_pressure;
mod flaps;
mod reading;
mod slow_reader;
mod streams;
mod suspend;
mod weather;
