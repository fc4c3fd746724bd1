//! Resource usage of a process, from Linux's `/proc`.

use crate::error::BenchError;

/// Clock ticks per second in `/proc/PID/stat`: fixed by the kernel's interface on all common
/// machines.
const TICKS_PER_S: f64 = 100.0;

/// Processor time that process `id` has used so far, user and system, in seconds. `None` if the
/// system does not report it.
pub(crate) fn cpu_s(id: u32) -> Option<f64> {
    cpu_in(&std::fs::read_to_string(format!("/proc/{id}/stat")).ok()?)
}

/// Resident memory of process `id`, in bytes.
///
/// # Errors
/// The system does not report it.
pub(crate) fn resident_bytes(id: u32) -> Result<u64, BenchError> {
    let path = format!("/proc/{id}/status");
    let text = std::fs::read_to_string(&path).map_err(BenchError::system(path.as_str()))?;
    resident_in(&text).ok_or_else(|| BenchError::Unusable(format!("{path} does not say VmRSS")))
}

/// Fields 14 and 15. The second field is a name in parentheses that may contain anything.
fn cpu_in(stat: &str) -> Option<f64> {
    let (_, fields) = stat.rsplit_once(')')?;
    let mut fields = fields.split_whitespace().skip(11);
    let user: f64 = fields.next()?.parse().ok()?;
    let system: f64 = fields.next()?.parse().ok()?;
    Some((user + system) / TICKS_PER_S)
}

fn resident_in(status: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim_end().parse().ok()?;
    Some(kib * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_s_words_are_understood() {
        let stat = "1234 (a b) c) S 1 1 1 0 -1 4194560 100 0 0 0 250 50 0 0 20 0 1 0 5 6 7";
        assert!((cpu_in(stat).unwrap() - 3.0).abs() < 1e-9);
        assert_eq!(cpu_in("1234 (a"), None);
        assert_eq!(resident_in("Name:\tx\nVmRSS:\t   1024 kB\n"), Some(1 << 20));
        assert_eq!(resident_in("Name:\tx\n"), None);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn this_process_uses_something() {
        let id = std::process::id();
        assert!(resident_bytes(id).unwrap() > 0);
        assert!(cpu_s(id).is_some());
    }
}
