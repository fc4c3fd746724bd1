//! Cores of this machine: processes pinned to a core, and cores that are kept awake.

use std::fs::File;
use std::io::Write as _;

/// Pins the calling thread, and processes that it starts, to one core while this lives. Afterwards
/// they run where they could before.
pub(crate) struct OnCore(#[cfg(target_os = "linux")] rustix::thread::CpuSet);

impl OnCore {
    /// Pins to the core `number` of those that this process may use, counted modulo their number.
    /// `None` if the system refuses.
    #[cfg(target_os = "linux")]
    pub(crate) fn new(number: usize) -> Option<Self> {
        use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
        let before = sched_getaffinity(None).ok()?;
        let allowed: Vec<usize> = (0..CpuSet::MAX_CPU).filter(|cpu| before.is_set(*cpu)).collect();
        let mut one = CpuSet::new();
        one.set(*allowed.get(number % allowed.len().max(1))?);
        sched_setaffinity(None, &one).ok()?;
        Some(Self(before))
    }

    /// `None`: this system has no call for it.
    #[cfg(not(target_os = "linux"))]
    pub(crate) fn new(_number: usize) -> Option<Self> {
        None
    }
}

impl Drop for OnCore {
    fn drop(&mut self) {
        // Fails if all of those cores were taken from this process meanwhile; the present one is
        // then as good.
        #[cfg(target_os = "linux")]
        let _ = rustix::thread::sched_setaffinity(None, &self.0);
    }
}

/// Whether processes can be pinned to cores here.
pub fn can_pin() -> bool {
    OnCore::new(0).is_some()
}

/// Keeps idle cores of this machine awake while this lives, so that no measurement includes their
/// wake-up. (Linux: the latency that `/dev/cpu_dma_latency` allows is zero, as with `cyclictest`.)
#[derive(Debug)]
pub struct Awake(
    /// The setting ends when this file is closed.
    #[allow(dead_code)]
    File,
);

impl Awake {
    /// Keeps cores awake.
    ///
    /// # Errors
    /// The system refuses or does not support this; on Linux it takes administrator rights.
    pub fn keep() -> std::io::Result<Self> {
        let mut file = File::options().write(true).open("/dev/cpu_dma_latency")?;
        file.write_all(&0_i32.to_ne_bytes())?;
        Ok(Self(file))
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use rustix::thread::sched_getaffinity;

    #[test]
    fn a_thread_is_on_one_core_and_then_free_again() {
        let count = || sched_getaffinity(None).map(|set| set.count()).unwrap();
        let before = count();
        for number in [0, 1, 1_000] {
            let there = OnCore::new(number).expect("a thread may choose among its own cores");
            assert_eq!(count(), 1);
            drop(there);
            assert_eq!(count(), before);
        }
    }
}
