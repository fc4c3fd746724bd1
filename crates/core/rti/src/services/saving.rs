//! Saving and restoring federation executions (4.19 to 4.34).

use super::{Context, Reply, Serve, Served};
use crate::control::Command;
use crate::limits::check_name;
use hla::Exception;
use hla::RtiError;
use hla::api::callback_request::CallbackRequest as Callback;
use hla::api::*;

fn check_label(label: &str) -> Result<(), RtiError> {
    if label.is_empty() {
        return Err(RtiError::internal("the label of a save may not be empty"));
    }
    check_name(Exception::RTIinternalError, "the label of a save", label)
}

impl Serve for RequestFederationSaveRequest {
    fn serve(self, mut context: Context<'_>) -> Served<()> {
        check_label(&self.label)?;
        let (execution, federate, label) = (context.objects.id, context.federate, self.label);
        context.propose::<Self>(Command::RequestSave { execution, federate, label, time: None })
    }
}

impl Serve for RequestFederationSaveWithTimeRequest {
    fn serve(self, mut context: Context<'_>) -> Served<()> {
        check_label(&self.label)?;
        let at = context.time.decode(self.time.as_ref())?;
        context.time.check_save_time(context.federate, at)?;
        let (execution, federate, label) = (context.objects.id, context.federate, self.label);
        let time = Some(at.encode());
        context.propose::<Self>(Command::RequestSave { execution, federate, label, time })
    }
}

/// Services that check the progress of their caller, and propose a command with these fields. The node
/// has applied everything of which the federate was told, so it refuses a premature call at once.
macro_rules! proposals {
    ($($request:ident => $check:ident $command:ident { $($field:ident: $value:expr),* };)+) => {$(
        impl Serve for $request {
            fn serve(self, mut context: Context<'_>) -> Served<()> {
                let (execution, federate) = (context.objects.id, context.federate);
                context.federation().$check(federate)?;
                context.propose::<Self>(Command::$command { execution, federate, $($field: $value),* })
            }
        }
    )+};
}

proposals! {
    FederateSaveBegunRequest => check_instructed BeginSave {};
    FederateSaveCompleteRequest => check_saving CompleteSave { success: true };
    FederateSaveNotCompleteRequest => check_saving CompleteSave { success: false };
    FederateRestoreCompleteRequest => check_restoring CompleteRestore { success: true };
    FederateRestoreNotCompleteRequest => check_restoring CompleteRestore { success: false };
}

impl Serve for AbortFederationSaveRequest {
    fn serve(self, mut context: Context<'_>) -> Served<()> {
        let (execution, federate) = (context.objects.id, context.federate);
        context.propose::<Self>(Command::AbortSave { execution, federate })
    }
}

impl Serve for AbortFederationRestoreRequest {
    fn serve(self, mut context: Context<'_>) -> Served<()> {
        let (execution, federate) = (context.objects.id, context.federate);
        context.propose::<Self>(Command::AbortRestore { execution, federate })
    }
}

impl Serve for RequestFederationRestoreRequest {
    fn serve(self, mut context: Context<'_>) -> Served<()> {
        check_label(&self.label)?;
        let (execution, federate, label) = (context.objects.id, context.federate, self.label);
        context.propose::<Self>(Command::RequestRestore { execution, federate, label })
    }
}

impl Serve for QueryFederationSaveStatusRequest {
    fn serve(self, mut context: Context<'_>) -> Served<()> {
        let status = context.federation().save_status().map(|(federate, status)| {
            let federate_handle = Some(federate);
            FederateHandleSaveStatusPair { federate_handle, save_status: status.into() }
        });
        let response =
            Some(FederateHandleSaveStatusPairArray { federate_handle_save_status_pair: status.collect() });
        context
            .tell_status(Callback::FederationSaveStatusResponse(FederationSaveStatusResponse { response }));
        Ok(Reply::Now(()))
    }
}

impl Serve for QueryFederationRestoreStatusRequest {
    fn serve(self, mut context: Context<'_>) -> Served<()> {
        let status =
            context.federation().restore_status().map(|(federate, becomes, status)| FederateRestoreStatus {
                pre_restore_handle: Some(federate),
                post_restore_handle: becomes.or(Some(federate)),
                restore_status: status.into(),
            });
        let response = Some(FederateRestoreStatusArray { federate_restore_status: status.collect() });
        context.tell_status(Callback::FederationRestoreStatusResponse(FederationRestoreStatusResponse {
            response,
        }));
        Ok(Reply::Now(()))
    }
}

impl Context<'_> {
    /// Answers a query of the calling federate. A save or a restore does not hold the answer up.
    fn tell_status(&mut self, callback: Callback) {
        let client = self.objects.federate(self.federate).client;
        self.effects.notify_directly(client, callback);
    }
}
