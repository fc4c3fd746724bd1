//! Time management (clause 8).

use super::{Context, Reply, Serve, Served};
use crate::time::AdvanceService;
use hla::RtiError;
use hla::api::*;

impl Context<'_> {
    /// Refuses to let a federate of a network of nodes regulate time or be constrained.
    ///
    /// A federate's logical time depends on what federates at other nodes may still send. This node
    /// does not learn that yet, and a wrong grant would be worse than none.
    fn refuse_in_network(&self, service: &Service) -> Result<(), RtiError> {
        if !self.control.is_network() && !self.objects.replicated {
            return Ok(());
        }
        let text = "this RTI does not offer regulating and constrained federates in a network of nodes yet; \
                    a single node (`meshrti serve` without a network) does";
        Err(RtiError::internal(format!("{}: {text}", service.name)))
    }

    /// One of the services that advance logical time (8.8 to 8.12).
    fn advance(self, service: AdvanceService, time: Option<&LogicalTime>) -> Served<()> {
        let to = self.time.decode(time)?;
        self.time.advance(self.federate, service, to, self.evolved).map(Reply::Now)
    }
}

impl Serve for EnableTimeRegulationRequest {
    fn serve(self, context: Context<'_>) -> Served<()> {
        context.refuse_in_network(Self::SERVICE)?;
        let lookahead = context.time.decode_lookahead(self.lookahead.as_ref())?;
        context.time.enable_regulation(context.federate, lookahead).map(Reply::Now)
    }
}

impl Serve for DisableTimeRegulationRequest {
    fn serve(self, Context { time, federate, .. }: Context<'_>) -> Served<()> {
        time.disable_regulation(federate).map(Reply::Now)
    }
}

impl Serve for EnableTimeConstrainedRequest {
    fn serve(self, context: Context<'_>) -> Served<()> {
        context.refuse_in_network(Self::SERVICE)?;
        context.time.enable_constrained(context.federate).map(Reply::Now)
    }
}

impl Serve for DisableTimeConstrainedRequest {
    fn serve(self, Context { time, federate, .. }: Context<'_>) -> Served<()> {
        time.disable_constrained(federate).map(Reply::Now)
    }
}

impl Serve for TimeAdvanceRequestRequest {
    fn serve(self, context: Context<'_>) -> Served<()> {
        context.advance(AdvanceService::TimeAdvance, self.time.as_ref())
    }
}

impl Serve for TimeAdvanceRequestAvailableRequest {
    fn serve(self, context: Context<'_>) -> Served<()> {
        context.advance(AdvanceService::TimeAdvanceAvailable, self.time.as_ref())
    }
}

impl Serve for NextMessageRequestRequest {
    fn serve(self, context: Context<'_>) -> Served<()> {
        context.advance(AdvanceService::NextMessage, self.time.as_ref())
    }
}

impl Serve for NextMessageRequestAvailableRequest {
    fn serve(self, context: Context<'_>) -> Served<()> {
        context.advance(AdvanceService::NextMessageAvailable, self.time.as_ref())
    }
}

impl Serve for FlushQueueRequestRequest {
    fn serve(self, context: Context<'_>) -> Served<()> {
        context.advance(AdvanceService::FlushQueue, self.time.as_ref())
    }
}

impl Serve for EnableAsynchronousDeliveryRequest {
    fn serve(self, Context { time, federate, .. }: Context<'_>) -> Served<()> {
        time.set_asynchronous(federate, true).map(Reply::Now)
    }
}

impl Serve for DisableAsynchronousDeliveryRequest {
    fn serve(self, Context { time, federate, .. }: Context<'_>) -> Served<()> {
        time.set_asynchronous(federate, false).map(Reply::Now)
    }
}

/// The result of a query. Clients in C++ decode the time even if it is not valid.
fn query_return(time: Option<hla::time::LogicalTime>, kind: hla::time::TimeKind) -> TimeQueryReturn {
    TimeQueryReturn {
        logical_time_is_valid: time.is_some(),
        logical_time: Some(time.unwrap_or(kind.initial()).into()),
    }
}

impl Serve for QueryGaltRequest {
    fn serve(self, Context { objects, time, federate, .. }: Context<'_>) -> Served<Self::Output> {
        Ok(Reply::Now(query_return(time.query_galt(federate), objects.time)))
    }
}

impl Serve for QueryLitsRequest {
    fn serve(self, Context { objects, time, federate, .. }: Context<'_>) -> Served<Self::Output> {
        Ok(Reply::Now(query_return(time.query_lits(federate), objects.time)))
    }
}

impl Serve for QueryLogicalTimeRequest {
    fn serve(self, Context { time, federate, .. }: Context<'_>) -> Served<Self::Output> {
        Ok(Reply::Now(time.logical_time(federate).into()))
    }
}

impl Serve for ModifyLookaheadRequest {
    fn serve(self, Context { time, federate, .. }: Context<'_>) -> Served<()> {
        let lookahead = time.decode_lookahead(self.lookahead.as_ref())?;
        time.modify_lookahead(federate, lookahead).map(Reply::Now)
    }
}

impl Serve for QueryLookaheadRequest {
    fn serve(self, Context { time, federate, .. }: Context<'_>) -> Served<Self::Output> {
        Ok(Reply::Now(time.query_lookahead(federate)?.into()))
    }
}

impl Serve for RetractRequest {
    fn serve(self, Context { time, federate, .. }: Context<'_>) -> Served<()> {
        time.retract(federate, self.retraction.unwrap_or_default()).map(Reply::Now)
    }
}
