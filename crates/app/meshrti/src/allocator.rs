//! The program's allocator, and the return of free memory to the system.

use std::time::Duration;

/// The C library's allocator uses atomic operations as soon as a process has two threads, and
/// messages are allocated by the thousand before the first one is freed. See
/// `docs/decisions/0006-allocator.md`.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Pause between two returns of free memory. A return visits the allocator's pages, which takes a
/// millisecond for each gigabyte.
const RETURN_INTERVAL: Duration = Duration::from_secs(1);

/// Returns free memory to the system from time to time. Never ends.
///
/// The allocator does so by itself only while the program allocates. A server that has become idle
/// would keep what a burst of messages needed.
pub(crate) async fn return_memory() {
    let mut ticks = tokio::time::interval(RETURN_INTERVAL);
    loop {
        ticks.tick().await;
        collect();
    }
}

#[expect(unsafe_code, reason = "a function of a C library; the end-to-end tests of memory need its effect")]
fn collect() {
    // SAFETY: the function may be called at any time and from any thread. It frees only memory that
    // the program has given back.
    unsafe { libmimalloc_sys::mi_collect(true) }
}
