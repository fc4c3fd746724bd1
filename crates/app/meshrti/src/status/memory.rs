//! The use of a server's memory.

use kernel::report::{MemoryReport, MemoryUseReport};

use console::exit::say;

/// Prints a line for each use of memory.
pub(super) fn print(memory: &MemoryReport) {
    if memory.uses.is_empty() {
        return; // a server of an older version, or of another vendor
    }
    say(format_args!("  memory for clients, of {}: used, most so far, bound now", size(memory.total)));
    for of in &memory.uses {
        let MemoryUseReport { of: name, used, peak, bound, .. } = of;
        let (used, peak, bound) = (size(*used), size(*peak), size(*bound));
        say(format_args!("    {name:<11} {used:>12} {peak:>12} {bound:>12}{}", actions(of)));
    }
}

/// The actions that lack of memory has caused. Actions that never happened are left out.
fn actions(of: &MemoryUseReport) -> String {
    let counts =
        [(of.paused, "paused"), (of.refused, "refused"), (of.dropped, "dropped"), (of.ended, "ended")];
    let counts = counts.iter().filter(|(count, _)| *count > 0);
    counts.map(|(count, name)| format!("  {name}: {count}")).collect()
}

/// Formats a size in MiB, so that sizes can be compared.
fn size(bytes: usize) -> String {
    format!("{:.1} MiB", bytes as f64 / f64::from(1 << 20))
}
