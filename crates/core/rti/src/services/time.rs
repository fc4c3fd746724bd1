//! Time management (clause 8).

use super::{Context, Reply, Serve, Served};
use crate::control::Command;
use crate::time::{AdvanceService, Query};
use hla::api::*;

impl Context<'_> {
    /// In a network, makes sure that the federation execution has a time home.
    fn need_time_home(&mut self) -> Reply<()> {
        if self.time.is_networked() && self.federation().time_home().is_none() {
            let (execution, node) = (self.objects.id, self.objects.node);
            self.effects.propose(Command::SetTimeHome { execution, node });
        }
        Reply::Now(())
    }

    /// One of the services that advance logical time (8.8 to 8.12).
    fn advance(self, service: AdvanceService, time: Option<&LogicalTime>) -> Served<()> {
        let to = self.time.decode(time)?;
        self.time.advance(self.federate, service, to, self.evolved).map(Reply::Now)
    }
}

impl Serve for EnableTimeRegulationRequest {
    fn serve(self, mut context: Context<'_>) -> Served<()> {
        let lookahead = context.time.decode_lookahead(self.lookahead.as_ref())?;
        context.time.enable_regulation(context.federate, lookahead)?;
        Ok(context.need_time_home())
    }
}

impl Serve for DisableTimeRegulationRequest {
    fn serve(self, Context { time, federate, .. }: Context<'_>) -> Served<()> {
        time.disable_regulation(federate).map(Reply::Now)
    }
}

impl Serve for EnableTimeConstrainedRequest {
    fn serve(self, mut context: Context<'_>) -> Served<()> {
        context.time.enable_constrained(context.federate)?;
        Ok(context.need_time_home())
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

/// The answer to a query that has waited for other nodes.
pub(crate) fn query_answer(
    query: Query,
    time: Option<hla::time::LogicalTime>,
    kind: hla::time::TimeKind,
) -> call_response::CallResponse {
    let result = query_return(time, kind);
    match query {
        Query::Galt => QueryGaltRequest::response(result),
        Query::Lits => QueryLitsRequest::response(result),
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
    fn serve(
        self,
        Context { objects, time, federate, caller, call, .. }: Context<'_>,
    ) -> Served<Self::Output> {
        if time.query(federate, caller, call, Query::Galt) {
            return Ok(Reply::Later);
        }
        Ok(Reply::Now(query_return(time.query_galt(federate), objects.time)))
    }
}

impl Serve for QueryLitsRequest {
    fn serve(
        self,
        Context { objects, time, federate, caller, call, .. }: Context<'_>,
    ) -> Served<Self::Output> {
        if time.query(federate, caller, call, Query::Lits) {
            return Ok(Reply::Later);
        }
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
