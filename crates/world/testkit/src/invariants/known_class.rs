//! An instance is discovered as the most specific class, among its own and the superclasses, at
//! which the federate subscribes an attribute that some federate owns (1516.1-2025, 6.9).

use super::Invariant;
use crate::ledger::Ledger;
use crate::observation::{Observation, Seen};
use hla::api::callback_request::CallbackRequest as Callback;

/// See the module.
#[derive(Default)]
pub(super) struct KnownClass {
    discovered: u64,
}

impl Invariant for KnownClass {
    fn name(&self) -> &'static str {
        "known_class"
    }

    fn observe(&mut self, seen: &Seen, ledger: &Ledger) -> Result<(), String> {
        let Observation::Received { session, callback: Callback::DiscoverObjectInstance(c), .. } =
            &seen.observation
        else {
            return Ok(());
        };
        let (handle, class) = (c.object_instance.unwrap_or_default(), c.object_class.unwrap_or_default());
        // The federate that registered it may not have the answer yet.
        let (Some(instance), Some(member)) = (ledger.instance(*session, handle), ledger.member(*session))
        else {
            return Ok(());
        };
        if ledger.is_destroyed(&member.federation) {
            return Ok(());
        }
        let lineage = ledger.lineage(instance.class);
        let Some(place) = lineage.iter().position(|&at| at == class) else {
            return Err(format!("{session}: {handle:?} of {:?} is discovered as {class:?}", instance.class));
        };
        self.discovered += 1;
        // A more specific class at which the federate has subscribed since before the registration.
        let better = lineage[..place].iter().find(|&&below| {
            let owned = instance.owned.iter();
            let mut since = owned.filter_map(|&attribute| member.subscribed.get(&(below, attribute)));
            since.any(|&since| since < instance.asked)
        });
        match better {
            Some(better) => {
                Err(format!("{session}: {handle:?} is discovered as {class:?}, not as {better:?}"))
            }
            None => Ok(()),
        }
    }

    fn checked(&self) -> u64 {
        self.discovered
    }
}
