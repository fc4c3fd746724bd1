//! A federate whose connection is lost is kept for exactly as long as configured, and is then
//! resigned by its automatic resign directive (1516.1-2025, 4.4; the windows are settings of this
//! RTI).

use crate::observation::{Loss, SessionId};
use crate::options::Timeouts;
use base::Moment;
use std::collections::BTreeMap;

/// Sessions without a connection.
pub(super) struct LostFederates {
    timeouts: Timeouts,
    lost: BTreeMap<SessionId, (Moment, Loss)>,
}

impl LostFederates {
    pub(super) fn new(timeouts: Timeouts) -> Self {
        Self { timeouts, lost: BTreeMap::new() }
    }

    pub(super) fn interrupted(&mut self, at: Moment, session: SessionId, loss: Loss) {
        self.lost.insert(session, (at, loss));
    }

    /// Removes a session that has resumed or is over.
    pub(super) fn settled(&mut self, session: SessionId) {
        self.lost.remove(&session);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.lost.is_empty()
    }

    /// The sessions whose windows have ended at `now`, in the order in which they ended.
    pub(super) fn expire(&mut self, now: Moment, is_joined: impl Fn(SessionId) -> bool) -> Vec<SessionId> {
        let deadline = |session: SessionId, (at, loss): (Moment, Loss)| {
            at + match (is_joined(session), loss) {
                (false, _) => self.timeouts.unjoined_window,
                (true, Loss::Closed) => self.timeouts.closed_window,
                (true, Loss::Silent) => self.timeouts.resume_window,
            }
        };
        let all = self.lost.iter().map(|(&session, &lost)| (deadline(session, lost), session));
        let mut due: Vec<_> = all.filter(|(deadline, _)| *deadline <= now).collect();
        due.sort_unstable();
        for (_, session) in &due {
            self.lost.remove(session);
        }
        due.into_iter().map(|(_, session)| session).collect()
    }
}
