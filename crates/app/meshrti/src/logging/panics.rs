//! A panic ends the process.
//!
//! Without this, a task that panics would leave a crippled server, which listens but accepts no
//! connection, or serves without a timer. The end of the process tells the operator to restart the
//! server, and its log gives the reason.

use std::backtrace::{Backtrace, BacktraceStatus};
use std::fmt::Write as _;
use std::panic::PanicHookInfo;

/// The exit status of a process that panicked, as of Rust's own programs.
const STATUS: i32 = 101;

/// Installs a hook: a panic of any thread or task is logged and ends the process with status 101.
pub(super) fn end_the_process() {
    std::panic::set_hook(Box::new(|panic| {
        super::finish(&describe(panic));
        std::process::exit(STATUS);
    }));
}

/// A description of the panic for the log.
fn describe(panic: &PanicHookInfo<'_>) -> String {
    let thread = std::thread::current();
    let name = thread.name().unwrap_or("without a name");
    let message = panic.payload_as_str().unwrap_or("(a value that is no text)");
    let place = panic.location().map(ToString::to_string).unwrap_or_default();
    let mut text = format!("error: a defect of MeshRTI: thread `{name}` panicked at {place}: {message}\n");
    let backtrace = Backtrace::capture();
    // Writing to a string does not fail.
    let _ = match backtrace.status() {
        BacktraceStatus::Captured => writeln!(text, "{backtrace}"),
        _ => writeln!(text, "hint: RUST_BACKTRACE=1 says where it came from; please report it"),
    };
    text
}

#[cfg(test)]
mod tests {
    use std::process::Command;
    use std::time::Duration;

    use crate::logging::{Verbosity, init};

    const ROLE: &str = "MESHRTI_PANICS";

    /// The process that panics, in a task of a runtime that would catch the panic. Not a test by
    /// itself.
    #[test]
    #[ignore = "started by the test below"]
    fn helper() {
        if std::env::var_os(ROLE).is_none() {
            return;
        }
        init(&Verbosity { verbose: 0, quiet: false }, "info").expect("the log starts");
        tracing::info!("before");
        node::runtime().expect("there is a runtime").block_on(async {
            tokio::task::spawn_local(async { panic!("half a server") });
            tokio::time::sleep(Duration::from_secs(60)).await;
        });
    }

    #[test]
    fn a_task_that_panics_ends_the_process_with_a_reason() {
        let output = Command::new(std::env::current_exe().expect("a program knows itself"))
            .args(["--exact", "logging::panics::tests::helper", "--ignored", "--nocapture"])
            .env(ROLE, "1")
            .env_remove("RUST_BACKTRACE")
            .env_remove("MESHRTI_LOG")
            .env_remove("RUST_LOG")
            .output()
            .expect("it starts");
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(super::STATUS), "{said}");
        let (before, panicked) = (said.find("before"), said.find("half a server"));
        assert!(before.is_some() && before < panicked, "{said}");
        assert!(said.contains("logging/panics.rs:"), "{said}");
    }
}
