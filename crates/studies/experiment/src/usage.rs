//! Processor time and memory of a simulation, and whether the memory suffices.

use console::exit::Failure;

/// Processor time of this thread in seconds, to the nanosecond. `None` where the system does not
/// report it.
pub fn thread_cpu_s() -> Option<f64> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    text.split_whitespace().next()?.parse::<f64>().ok().map(|ns| ns * 1e-9)
}

/// The peak resident memory of this process in bytes. `None` where the system does not report it.
pub fn peak_rss_bytes() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix("kB")?.trim_end().parse::<u64>().ok().map(|kib| kib * 1024)
}

/// Memory available to this process in bytes: that of the system, or less where a control group has
/// a limit. `None` where the system does not report it.
fn available_bytes() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let system = line.trim().strip_suffix("kB")?.trim_end().parse::<u64>().ok()? * 1024;
    let read = |name: &str| {
        let text = std::fs::read_to_string(format!("/sys/fs/cgroup/memory.{name}")).ok()?;
        text.trim().parse::<u64>().ok()
    };
    let group = read("max").zip(read("current")).map(|(most, now)| most.saturating_sub(now));
    Some(group.map_or(system, |group| group.min(system)))
}

/// Refuses `runs` simultaneous runs that need more memory than is available, and reports their
/// need. Accepts them if the need or the available memory is not known.
pub fn refuse_too_large(needed: Option<u64>, runs: usize) -> Result<(), Failure> {
    let needed = needed.unwrap_or(0).saturating_mul(runs as u64);
    match available_bytes().filter(|available| needed > *available) {
        None => Ok(()),
        Some(available) => {
            let gib = |bytes: u64| bytes as f64 / f64::from(1 << 30);
            let what = format_args!(
                "this needs about {:.1} GiB of memory, and {:.1} GiB are free",
                gib(needed),
                gib(available)
            );
            let failure = Failure::bad_news(what);
            Err(if runs > 1 {
                failure.hint(format!("{runs} runs at a time: fewer --jobs need less"))
            } else {
                failure
            })
        }
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    #[test]
    fn an_excessive_size_is_refused_with_the_size() {
        assert!(super::refuse_too_large(Some(1 << 20), 2).is_ok());
        let failure = format!("{:?}", super::refuse_too_large(Some(1 << 50), 2).unwrap_err());
        assert!(failure.contains("this needs about 2097152.0 GiB of memory"), "{failure}");
        assert!(failure.contains("2 runs at a time"), "{failure}");
    }

    #[test]
    fn the_system_says_something() {
        assert!(super::thread_cpu_s().is_some());
        assert!(super::peak_rss_bytes().is_some_and(|bytes| bytes > 0));
    }
}
