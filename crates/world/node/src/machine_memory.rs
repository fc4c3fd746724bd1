//! The memory that this process may use.

use std::fs;
use std::path::Path;

/// The memory of this machine in bytes, or less if a control group limits it. `None` if the system
/// does not report it.
pub(crate) fn machine_memory() -> Option<usize> {
    let machine = fs::read_to_string("/proc/meminfo").ok().and_then(|text| of_meminfo(&text));
    let groups = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let limit = of_groups(&groups, Path::new("/sys/fs/cgroup"));
    machine.into_iter().chain(limit).min()
}

/// The total memory of the machine, from a line such as `MemTotal:       24000000 kB`.
fn of_meminfo(text: &str) -> Option<usize> {
    let line = text.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kib: usize = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kib.checked_mul(1 << 10)
}

/// The least limit of the control groups named in `groups` (the text of `/proc/self/cgroup`) and of
/// those around them. In a container the path of the group may not exist; its limit is then in the
/// root.
fn of_groups(groups: &str, root: &Path) -> Option<usize> {
    let limits = groups.lines().flat_map(|line| {
        let mut fields = line.splitn(3, ':').skip(1);
        let (controllers, path) = (fields.next().unwrap_or_default(), fields.next().unwrap_or_default());
        let (folder, file) = match controllers {
            "" => (root.to_owned(), "memory.max"),
            controllers if controllers.split(',').any(|controller| controller == "memory") => {
                (root.join("memory"), "memory.limit_in_bytes")
            }
            _ => return Vec::new(),
        };
        let own = Path::new(path.trim_start_matches('/'));
        own.ancestors().filter_map(|group| limit(&folder.join(group).join(file))).collect()
    });
    limits.min()
}

/// The limit in a file; `None` for `max`.
fn limit(file: &Path) -> Option<usize> {
    fs::read_to_string(file).ok()?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_limit_of_nested_groups_counts() {
        let root = std::env::temp_dir().join(format!("meshrti-cgroup-{}", std::process::id()));
        let put = |path: &str, text: &str| {
            let path = root.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        put("a/memory.max", "1000\n");
        put("a/b/memory.max", "max\n");
        put("memory/c/memory.limit_in_bytes", "700\n");
        let of = |groups| of_groups(groups, &root);
        assert_eq!(of("0::/a/b\n"), Some(1000));
        assert_eq!(of("0::/elsewhere\n"), None);
        assert_eq!(of("3:cpu,memory:/c\n0::/a\n"), Some(700));
        assert_eq!(of("3:cpu:/c\n"), None);
        fs::remove_dir_all(&root).unwrap();
    }

    #[test]
    fn all_memory_of_the_machine() {
        assert_eq!(of_meminfo("MemTotal:       24 kB\nMemFree: 1 kB\n"), Some(24 << 10));
        assert_eq!(of_meminfo("MemFree: 1 kB\n"), None);
        #[cfg(target_os = "linux")]
        assert!(machine_memory().is_some_and(|bytes| bytes > 16 << 20));
    }
}
