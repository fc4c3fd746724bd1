//! Alarms at exact moments. The runtime's own timers count in milliseconds, within which many
//! updates can be due; the system's timers are finer.

use std::io;
use std::time::Instant;

use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

/// Sends a signal at each of these moments, or at once if it is over, with the moment at which it did. A thread of its own sleeps in
/// between; it ends when the receiver is gone.
///
/// # Errors
/// The system cannot start a thread.
pub(crate) fn at(moments: Vec<Instant>) -> io::Result<UnboundedReceiver<Instant>> {
    let (sender, receiver) = unbounded_channel();
    std::thread::Builder::new().name("alarm".to_owned()).spawn(move || {
        for moment in moments {
            std::thread::sleep(moment.saturating_duration_since(Instant::now()));
            if sender.send(Instant::now()).is_err() {
                return;
            }
        }
    })?;
    Ok(receiver)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn all_moments_come_and_none_before_its_time() {
        let begun = Instant::now();
        let moments: Vec<_> =
            [0, 200, 300, 5_000, 4_000, 5_100].map(|micros| begun + Duration::from_micros(micros)).into();
        let mut ticks = at(moments.clone()).unwrap();
        for moment in moments {
            let sent = ticks.blocking_recv().expect("there is one more");
            assert!(sent >= moment && Instant::now() >= sent);
        }
        assert_eq!(ticks.blocking_recv(), None, "that is all");
    }
}
