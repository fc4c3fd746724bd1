//! Ctrl-C ends a simulation with its results so far.

use std::sync::atomic::{AtomicBool, Ordering};

use console::exit::Status;

static STOPPED: AtomicBool = AtomicBool::new(false);

/// Installs the handler: Ctrl-C stops runs, which then report their results so far. A second Ctrl-C
/// ends the process at once.
///
/// If the system cannot install a handler, Ctrl-C ends the process as it does without this.
pub fn watch() {
    std::thread::spawn(|| {
        let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_io().build() else { return };
        runtime.block_on(async {
            let mut first = std::pin::pin!(tokio::signal::ctrl_c());
            // The first poll installs the handler.
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

/// Whether runs must stop.
pub fn is_stopped() -> bool {
    STOPPED.load(Ordering::Relaxed)
}

/// Whether runs may continue, for code that takes such a function.
pub fn goes_on() -> bool {
    !is_stopped()
}

/// The status of a command, depending on whether it was stopped.
pub fn status() -> Status {
    if is_stopped() { Status::Interrupted } else { Status::Done }
}
