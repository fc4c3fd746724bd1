//! Time management (clause 8): asynchronous delivery.

use super::{Context, Reply, Serve, Served};
use crate::effect::Effect;
use hla::api::*;
use hla::{Exception, RtiError};

impl Context<'_> {
    /// Sets asynchronous delivery. It matters only once federates can be time-constrained; to
    /// others everything is delivered at once (8.14).
    fn deliver_asynchronously(&mut self, on: bool, already: Exception) -> Served<()> {
        let federate = self.objects.federate_mut(self.federate);
        let (client, state) = (federate.client, &mut federate.asynchronous_delivery);
        if *state == on {
            let state = if on { "enabled" } else { "disabled" };
            return Err(RtiError::new(already, format!("asynchronous delivery is {state}")));
        }
        *state = on;
        if on {
            // All messages in receive order that its inbox withholds are delivered now (8.14).
            self.effects.push(Effect::HoldReceiveOrder { to: client, on: false });
        }
        Ok(Reply::Now(()))
    }
}

impl Serve for EnableAsynchronousDeliveryRequest {
    fn serve(self, mut context: Context<'_>) -> Served<()> {
        context.deliver_asynchronously(true, Exception::AsynchronousDeliveryAlreadyEnabled)
    }
}

impl Serve for DisableAsynchronousDeliveryRequest {
    fn serve(self, mut context: Context<'_>) -> Served<()> {
        context.deliver_asynchronously(false, Exception::AsynchronousDeliveryAlreadyDisabled)
    }
}
