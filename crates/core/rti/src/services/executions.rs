//! Federation executions: create, destroy, list and join (4.5 to 4.11). These services require a
//! connection, but no membership.

use super::module_call::{ModuleCall, Purpose};
use super::{FromOutcome, Reply, Served, propose, waiting};
use crate::control::{Command, ControlPlane, FEDERATION_BYTES, MEMBER_BYTES, NodeId};
use crate::effect::{Effect, Effects};
use crate::limits::{Growth, check_count, check_name};
use crate::modules::{FomSource, SentModule};
use crate::proposal::{CallId, CallerId, Proposal, Report};
use hla::api::callback_request::CallbackRequest as Callback;
use hla::api::*;
use hla::{Exception, RtiError};
use router::ClientId;

/// A service of connected callers.
pub(crate) trait ServeConnected: Request {
    fn serve(self, reception: Reception<'_>) -> Served<Self::Output>;
}

/// A call of a connected caller, with the context for serving it.
pub(crate) struct Reception<'a> {
    pub(crate) control: &'a ControlPlane,
    pub(crate) effects: &'a mut Effects,
    /// Room for object models.
    pub(crate) models: Growth<'a>,
    /// Room for federation executions and their members.
    pub(crate) federations: Growth<'a>,
    pub(crate) source: &'a dyn FomSource,
    /// Receives the call if its modules must be read first.
    pub(crate) to_read: &'a mut Option<ModuleCall>,
    pub(crate) node: NodeId,
    pub(crate) caller: CallerId,
    pub(crate) call: CallId,
    pub(crate) client: ClientId,
    /// The caller's host.
    pub(crate) host: &'a str,
    /// Whether the caller's queue of callbacks is congested.
    pub(crate) congested: bool,
    /// Maximum number of federation executions.
    pub(crate) federations_max: usize,
    /// The automatic resign directive of new federation executions whose object models set none.
    pub(crate) directive: ResignAction,
}

/// Serves all forms of a service in the same way, through their common part.
macro_rules! forms {
    ($common:ident -> $output:ty: $serve:ident for $($form:ident)+) => {$(
        impl ServeConnected for $form {
            fn serve(self, mut reception: Reception<'_>) -> Served<$output> {
                reception.$serve::<Self>($common::from(self))
            }
        }
    )+};
}

forms! { Create -> (): create for
    CreateFederationExecutionRequest
    CreateFederationExecutionWithTimeRequest
    CreateFederationExecutionWithModulesRequest
    CreateFederationExecutionWithModulesAndTimeRequest
    CreateFederationExecutionWithMimRequest
    CreateFederationExecutionWithMimAndTimeRequest
}

forms! { Join -> JoinResult: join for
    JoinFederationExecutionRequest
    JoinFederationExecutionWithModulesRequest
    JoinFederationExecutionWithNameRequest
    JoinFederationExecutionWithNameAndModulesRequest
}

impl ServeConnected for DestroyFederationExecutionRequest {
    fn serve(self, mut reception: Reception<'_>) -> Served<()> {
        reception.propose::<Self>(Command::Destroy { federation: self.federation_name })
    }
}

impl ServeConnected for ListFederationExecutionsRequest {
    fn serve(self, reception: Reception<'_>) -> Served<()> {
        reception.list::<Self>(Report::Federations)
    }
}

impl ServeConnected for ListFederationExecutionMembersRequest {
    fn serve(self, reception: Reception<'_>) -> Served<()> {
        reception.list::<Self>(Report::Members(self.federation_name))
    }
}

impl Reception<'_> {
    fn propose<R: Request<Output: FromOutcome>>(&mut self, command: Command) -> Served<R::Output> {
        propose::<R>(self.effects, (self.caller, self.call), command, None)
    }

    /// Reports a list. A single node has the newest state. A node of a network waits for everything
    /// committed so far.
    fn list<R: Request<Output = ()>>(self, report: Report) -> Served<()> {
        if self.congested {
            let text = "a list can only be asked for by a federate that takes its callbacks: over 1 MiB of \
                        them, or over a quarter of its queue, waits";
            return Err(RtiError::internal(text));
        }
        if self.control.nodes().len() > 1 {
            return propose::<R>(self.effects, (self.caller, self.call), Command::Barrier, Some(report));
        }
        self.effects.notify(self.client, self::report(report, self.control));
        Ok(Reply::Now(()))
    }

    fn create<R: Request<Output = ()>>(&mut self, create: Create) -> Served<()> {
        let name = &create.federation_name;
        check_name(Exception::RTIinternalError, "the name of a federation execution", name)?;
        check_count("federation executions", self.control.federations().count(), self.federations_max)?;
        self.federations.check(FEDERATION_BYTES)?;
        let mim = create.mim_module.map(|module| self.mim(module)).transpose()?;
        let modules = SentModule::set_from_federate(create.fom_modules, self.source)?;
        let (federation, time) = (create.federation_name, create.logical_time_implementation_name);
        let directive = self.directive;
        self.bring::<R>(mim, modules, Purpose::Create { federation, time, directive })
    }

    fn mim(&self, module: FomModule) -> Result<SentModule, RtiError> {
        if let Some(fom_module::FomModule::Url(url)) = &module.fom_module
            && url == hla::fom::STANDARD_MIM
        {
            let text = "leave the MIM out to get the standard one";
            return Err(RtiError::new(Exception::DesignatorIsHLAstandardMIM, text));
        }
        SentModule::from_federate(module, true, self.source)
    }

    fn join<R: Request<Output = JoinResult>>(&mut self, join: Join) -> Served<JoinResult> {
        let Join { federate_name, federate_type, federation_name: federation, additional_fom_modules } = join;
        let internal = Exception::RTIinternalError;
        check_name(internal, "the name of a federate", federate_name.as_deref().unwrap_or_default())?;
        check_name(internal, "the type of a federate", &federate_type)?;
        self.federations.check(MEMBER_BYTES)?;
        let modules = SentModule::set_from_federate(additional_fom_modules, self.source)?;
        let name = federate_name.filter(|name| !name.is_empty());
        let host = self.host.to_owned();
        self.bring::<R>(None, modules, Purpose::Join { federation, name, federate_type, host })
    }

    /// Proposes the command of a call with modules: at once, or after they have been read.
    fn bring<R: Request<Output: FromOutcome>>(
        &mut self,
        mim: Option<SentModule>,
        modules: Vec<SentModule>,
        purpose: Purpose,
    ) -> Served<R::Output> {
        let waiting = waiting::<R>(self.caller, self.call);
        let call = ModuleCall { waiting, mim, modules, purpose };
        match call.open_at_once(self.control)? {
            Some(opened) => {
                self.models.check(call.growth(opened.new_octets()))?;
                let command = call.purpose.command(self.control, self.node, opened);
                let proposal = Proposal { command, waiting: Some(waiting), report: None };
                self.effects.push(Effect::Propose(Box::new(proposal)));
            }
            // Its modules may be known already, or unpack to more. The check is repeated when they
            // are read.
            None => {
                self.models.check(call.growth(0))?;
                *self.to_read = Some(call);
            }
        }
        Ok(Reply::Later)
    }
}

/// The callback with the report of a list service, from the state of the control plane.
pub(crate) fn report(report: Report, control: &ControlPlane) -> Callback {
    match report {
        Report::Federations => federations(control),
        Report::Members(name) => members(control, name),
    }
}

fn federations(control: &ControlPlane) -> Callback {
    let information = control.federations().map(|federation| FederationExecutionInformation {
        federation_execution_name: federation.name.clone(),
        logical_time_implementation_name: federation.time.name().to_owned(),
    });
    let set = FederationExecutionInformationSet { federation_execution_information: information.collect() };
    Callback::ReportFederationExecutions(ReportFederationExecutions { report: Some(set) })
}

fn members(control: &ControlPlane, federation_name: String) -> Callback {
    let Some(federation) = control.federation(&federation_name) else {
        return Callback::ReportFederationExecutionDoesNotExist(ReportFederationExecutionDoesNotExist {
            federation_name,
        });
    };
    let members = federation.members().map(|(_, member)| FederationExecutionMemberInformation {
        federate_name: member.name.clone(),
        federate_type: member.federate_type.clone(),
    });
    let set = FederationExecutionMemberInformationSet {
        federation_execution_member_information: members.collect(),
    };
    let report = Some(set);
    Callback::ReportFederationExecutionMembers(ReportFederationExecutionMembers { federation_name, report })
}
