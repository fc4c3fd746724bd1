//! The guard of a session: dropping the last one ends the session.

use std::sync::Arc;

use crate::state::Shared;

/// Ends the session when nobody holds it any longer.
pub(crate) struct Guard {
    pub(crate) shared: Arc<Shared>,
}

impl Drop for Guard {
    fn drop(&mut self) {
        let mut state = self.shared.lock();
        let now = state.now();
        state.session.terminate(now);
        state.wake_driver();
    }
}
