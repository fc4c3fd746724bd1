//! Costs from measurements.
