//! Figures of papers, as their texts give them.
//!
//! "RTI Latency Testing over the Defense Research and Engineering Network" (M. Lorenzo, M. Muuss,
//! M. Caruso, B. Riggs, 2001): RTI 1.3NG v3.1 on SGI computers with IRIX 6.5, at Fort Belvoir and
//! across the DREN at Fort Knox. Its text gives three tables. It has no table over payload sizes.

/// A row of Table 1, the mass object test: times of round trips in milliseconds.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Mass {
    /// Objects of each federate.
    pub objects: u64,
    /// Mean.
    pub mean_ms: f64,
    /// Minimum.
    pub min_ms: f64,
    /// Maximum.
    pub max_ms: f64,
}

/// Table 1. The text that we have of it runs all columns together without separators; this is the
/// reading in which the total is twice the number of each federate, and each minimum is below its
/// mean. [`MASS_DOUBT`] says where it leaves a doubt.
pub const MASS: [Mass; 5] = [
    Mass { objects: 100, mean_ms: 187.016, min_ms: 43.19, max_ms: 492.627 },
    Mass { objects: 500, mean_ms: 560.252, min_ms: 153.12, max_ms: 1465.61 },
    Mass { objects: 1000, mean_ms: 925.661, min_ms: 292.097, max_ms: 2103.28 },
    Mass { objects: 1200, mean_ms: 1300.28, min_ms: 500.425, max_ms: 2392.8 },
    Mass { objects: 1500, mean_ms: 12210.01, min_ms: 534.436, max_ms: 22836.0 },
];

/// The unreadable part of Table 1.
pub const MASS_DOUBT: &str = "The text of the paper's Table 1 has lost the borders of its columns. Its last row, \
1500300012210.01534.43622836, could also mean a mean of 12210.0 and a minimum of 1534.436 ms, or, if its first \
figures are a misprint, a mean of 2210.01 ms.";

/// A row of Table 2, BmLatency: mean time of one way in milliseconds, for an attribute of 128 bytes.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct BmLatency {
    /// The host of rtiexec and fedex.
    pub rti: &'static str,
    /// The host of the federate that registers the object.
    pub registering: &'static str,
    /// The host of the federate that reflects it.
    pub reflecting: &'static str,
    /// Without regions.
    pub without_ddm_ms: f64,
    /// With regions.
    pub with_ddm_ms: f64,
}

const fn bm(rti: &'static str, hosts: [&'static str; 2], without_ddm_ms: f64, with_ddm_ms: f64) -> BmLatency {
    BmLatency { rti, registering: hosts[0], reflecting: hosts[1], without_ddm_ms, with_ddm_ms }
}

/// Table 2. Eyeball is at Fort Knox, the others are at Fort Belvoir: the last two rows are of one
/// site.
pub const BM_LATENCY: [BmLatency; 6] = [
    bm("Oohlala", ["Eyeball", "Oohlala"], 30.5969, 17.5904),
    bm("Eyeball", ["Eyeball", "Oohlala"], 30.8898, 16.9279),
    bm("Eyeball", ["Oohlala", "Eyeball"], 30.19, 17.0395),
    bm("Oohlala", ["Oohlala", "Eyeball"], 30.606, 17.9756),
    bm("Oohlala", ["Kraken", "Oohlala"], 20.165, 16.88199),
    bm("Oohlala", ["Oohlala", "Kraken"], 20.25, 16.22345),
];

/// A row of Table 3, HLA Ping: mean times in milliseconds, with regions.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct HlaPing {
    /// The host of rtiexec and fedex.
    pub rti: &'static str,
    /// The host of the federate that answers.
    pub server: &'static str,
    /// The host of the federate that asks.
    pub client: &'static str,
    /// One way.
    pub one_way_ms: f64,
    /// Round trip.
    pub round_trip_ms: f64,
}

const fn ping(rti: &'static str, hosts: [&'static str; 2], one_way_ms: f64, round_trip_ms: f64) -> HlaPing {
    HlaPing { rti, server: hosts[0], client: hosts[1], one_way_ms, round_trip_ms }
}

/// Table 3. Its columns ran together like those of Table 1; times with three decimals are the only
/// reading.
pub const HLA_PING: [HlaPing; 4] = [
    ping("Oohlala", ["Oohlala", "Oohlala"], 37.570, 84.989),
    ping("Oohlala", ["Oohlala", "Eyeball"], 48.948, 83.415),
    ping("Eyeball", ["Eyeball", "Oohlala"], 34.852, 75.143),
    ping("Eyeball", ["Oohlala", "Kraken"], 37.169, 65.198),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_figures_can_be_true() {
        assert!(MASS.iter().all(|row| row.min_ms < row.mean_ms && row.mean_ms < row.max_ms));
        assert!(MASS.windows(2).all(|pair| pair[0].objects < pair[1].objects));
        assert!(BM_LATENCY.iter().all(|row| row.with_ddm_ms < row.without_ddm_ms));
        assert!(HLA_PING.iter().all(|row| row.one_way_ms < row.round_trip_ms));
    }
}
