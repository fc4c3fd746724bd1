//! Ctrl-C: what is known so far is what comes out.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::exit::Status;

static STOPPED: AtomicBool = AtomicBool::new(false);

/// From now on Ctrl-C stops runs, which then tell what they know; a second one ends the process at once.
///
/// Where the system gives no handler Ctrl-C ends the process, as without this.
pub(super) fn watch() {
    std::thread::spawn(|| {
        let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_io().build() else { return };
        runtime.block_on(async {
            let mut first = std::pin::pin!(tokio::signal::ctrl_c());
            // The handler is there once this was asked.
            let asked = tokio::select! { biased; told = &mut first => Some(told), () = async {} => None };
            tracing::info!("Ctrl-C ends this with what is known so far");
            let told = match asked {
                Some(told) => told,
                None => first.await,
            };
            if told.is_ok() {
                STOPPED.store(true, Ordering::Relaxed);
                if tokio::signal::ctrl_c().await.is_ok() {
                    std::process::exit(Status::Interrupted as i32);
                }
            }
        });
    });
}

/// Whether runs are to stop.
pub(super) fn is_stopped() -> bool {
    STOPPED.load(Ordering::Relaxed)
}

/// Whether runs are to go on: what those ask that take a function for it.
pub(super) fn goes_on() -> bool {
    !is_stopped()
}

/// How a command ends that was, or was not, stopped.
pub(super) fn status() -> Status {
    if is_stopped() { Status::Interrupted } else { Status::Done }
}
