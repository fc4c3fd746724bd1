//! What simulating costs this process.

/// Processor time of this thread in seconds, to the nanosecond; `None` where the system does not say.
pub(super) fn thread_cpu_s() -> Option<f64> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    text.split_whitespace().next()?.parse::<f64>().ok().map(|ns| ns * 1e-9)
}

/// Most memory that this process had in RAM so far, in bytes; `None` where the system does not say.
pub(super) fn peak_rss_bytes() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix("kB")?.trim_end().parse::<u64>().ok().map(|kib| kib * 1024)
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    #[test]
    fn the_system_says_something() {
        assert!(super::thread_cpu_s().is_some());
        assert!(super::peak_rss_bytes().is_some_and(|bytes| bytes > 0));
    }
}
