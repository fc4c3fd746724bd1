//! The seeds of the runs: fixed ones and fresh ones, as in other crates.

use base::Seed;

/// Fixed seeds of each run of the gate.
pub(super) const FIXED: u64 = 10_000;
/// Fresh ones, which follow from a base.
const FRESH: u64 = 1_000;

fn number(variable: &str) -> Option<u64> {
    let text = std::env::var(variable).ok()?;
    let digits = text.strip_prefix("0x").map(|digits| u64::from_str_radix(digits, 16));
    Some(digits.unwrap_or_else(|| text.parse()).unwrap_or_else(|_| panic!("{variable}={text} is no number")))
}

/// A base for fresh seeds, different each time.
#[allow(clippy::disallowed_methods)] // this one number must differ from call to call; it is printed
fn fresh_base() -> Seed {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    Seed(Seed(now.as_nanos() as u64).split("base").0 >> 32)
}

/// The seeds that the environment asks for: the one in `MESHRTI_SEED`, as many fresh ones as
/// `MESHRTI_SEEDS` says, or the fixed ones and some fresh ones. `MESHRTI_SEED_BASE` is the base of
/// the fresh ones.
#[allow(clippy::print_stderr)] // shown beside a failure
pub(super) fn seeds() -> Vec<Seed> {
    if let Some(seed) = number("MESHRTI_SEED") {
        return vec![Seed(seed)];
    }
    let base = number("MESHRTI_SEED_BASE").map_or_else(fresh_base, Seed);
    let (fixed, fresh) = number("MESHRTI_SEEDS").map_or((FIXED, FRESH), |many| (0, many));
    eprintln!("{fixed} fixed seeds and {fresh} fresh ones, MESHRTI_SEED_BASE={base}");
    // Short ones, so that they are easy to pass on.
    let fresh = (0..fresh).map(|place| Seed(base.split("machines").split_index(place).0 >> 32));
    (0..fixed).map(Seed).chain(fresh).collect()
}
