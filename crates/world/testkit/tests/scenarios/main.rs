//! Scripted scenarios: links that flap, streams whose follower is late, networks and readers that are slow.

mod back_pressure;
mod flaps;
mod reading;
mod slow_reader;
mod streams;
mod suspend;
mod weather;
