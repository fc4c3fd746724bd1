//! Connecting, and what needs a connection but no membership (4.2 to 4.11).

use super::{Reply, Served, finish};
use crate::control::{Command, ControlPlane, ExecutionId, NodeId};
use crate::effect::{Effect, Effects};
use crate::modules::{FomSource, ModuleText, has_text};
use crate::proposal::{CallId, CallerId, Finish, Outcome, Proposal, Report, Waiting};
use hla::api::call_request::CallRequest as Call;
use hla::api::call_response::CallResponse as Answer;
use hla::api::{self, AdditionalSettingsResultCode, callback_request::CallbackRequest as Callback};
use hla::encoding::{NO_CREDENTIALS, PLAIN_TEXT_PASSWORD, decode_plain_text_password};
use hla::fom::Limits;
use hla::{Exception, RtiError};
use router::ClientId;

/// Makes the join response called `$variant` from the outcome.
macro_rules! join {
    ($variant:ident) => {
        |outcome: Outcome| Answer::$variant(api::$variant { result: outcome.joined })
    };
}

/// The setting by which adapters for HLA Evolved say what they are.
const API_VERSION: &str = "API.version";

/// What a connect request asked for.
pub(crate) struct Connected {
    pub(crate) answer: Answer,
    /// The federate speaks the 2010 edition through an adapter.
    pub(crate) evolved: bool,
}

/// Serves the four forms of Connect (4.2); `None` when the call is another one.
///
/// # Errors
/// `Unauthorized` or `InvalidCredentials`, see [`check_credentials`].
pub(crate) fn connect(call: &Call, password: Option<&str>) -> Option<Result<Connected, RtiError>> {
    let (configuration, credentials) = match call {
        Call::ConnectRequest(_) => (None, None),
        Call::ConnectWithCredentialsRequest(r) => (None, r.credentials.as_ref()),
        Call::ConnectWithConfigurationRequest(r) => (r.rti_configuration.as_ref(), None),
        Call::ConnectWithConfigurationAndCredentialsRequest(r) => {
            (r.rti_configuration.as_ref(), r.credentials.as_ref())
        }
        _ => return None,
    };
    Some(check_credentials(credentials, password).map(|()| {
        let (result, evolved) = apply(configuration);
        let configuration_result = Some(result);
        let answer = match call {
            Call::ConnectWithCredentialsRequest(_) => {
                Answer::ConnectWithCredentialsResponse(api::ConnectWithCredentialsResponse {
                    configuration_result,
                })
            }
            Call::ConnectWithConfigurationRequest(_) => {
                Answer::ConnectWithConfigurationResponse(api::ConnectWithConfigurationResponse {
                    configuration_result,
                })
            }
            Call::ConnectWithConfigurationAndCredentialsRequest(_) => {
                Answer::ConnectWithConfigurationAndCredentialsResponse(
                    api::ConnectWithConfigurationAndCredentialsResponse { configuration_result },
                )
            }
            _ => Answer::ConnectResponse(api::ConnectResponse { configuration_result }),
        };
        Connected { answer, evolved }
    }))
}

/// No credentials count as `HLAnoCredentials`. With a password set, only `HLAplainTextPassword` with that
/// password is let in.
fn check_credentials(credentials: Option<&api::Credentials>, password: Option<&str>) -> Result<(), RtiError> {
    let invalid = |text: String| Err(RtiError::new(Exception::InvalidCredentials, text));
    let given = match credentials {
        None => None,
        Some(credentials) => match credentials.r#type.as_str() {
            NO_CREDENTIALS if credentials.data.is_empty() => None,
            NO_CREDENTIALS => return invalid("HLAnoCredentials carries no data".to_owned()),
            PLAIN_TEXT_PASSWORD => match decode_plain_text_password(&credentials.data) {
                Ok(text) => Some(text),
                Err(_) => {
                    return invalid("HLAplainTextPassword does not hold an HLAunicodeString".to_owned());
                }
            },
            other => {
                let known = "HLAnoCredentials or HLAplainTextPassword";
                return invalid(format!("credentials of type `{other}`; this RTI takes {known}"));
            }
        },
    };
    match (password, given) {
        (None, _) => Ok(()),
        (Some(expected), Some(given)) if constant_time_eq(expected, &given) => Ok(()),
        (Some(_), Some(_)) => Err(RtiError::new(Exception::Unauthorized, "wrong password")),
        (Some(_), None) => Err(RtiError::new(Exception::Unauthorized, "this RTI asks for a password")),
    }
}

/// Compares without telling by its duration where the first difference is.
fn constant_time_eq(a: &str, b: &str) -> bool {
    a.len() == b.len() && a.bytes().zip(b.bytes()).fold(0, |differs, (a, b)| differs | (a ^ b)) == 0
}

/// What of a configuration was used, and whether it names the 2010 edition.
fn apply(configuration: Option<&api::RtiConfiguration>) -> (api::ConfigurationResult, bool) {
    let mut result = api::ConfigurationResult::default();
    let mut evolved = false;
    let Some(configuration) = configuration else { return (result, evolved) };
    let mut ignored = Vec::new();
    let mut code = AdditionalSettingsResultCode::SettingsIgnored;
    for line in configuration.additional_settings.split(['\n', '\r', ',']).map(str::trim) {
        match line.split_once('=') {
            _ if line.is_empty() => {}
            Some((API_VERSION, version)) => {
                evolved = version.trim() == "IEEE 1516-2010";
                code = AdditionalSettingsResultCode::SettingsApplied;
            }
            Some((name, _)) => ignored.push(name.trim().to_owned()),
            None => ignored.push(line.to_owned()),
        }
    }
    result.set_additional_settings_result_code(code);
    if !configuration.configuration_name.is_empty() {
        result.message = format!("no configuration `{}` here; ", configuration.configuration_name);
    }
    if !ignored.is_empty() {
        result.message += &format!("settings not known here: {}", ignored.join(", "));
    }
    (result, evolved)
}

/// What a list service reports, from the state of the control plane.
pub(crate) fn report(report: Report, control: &ControlPlane) -> Callback {
    match report {
        Report::Federations => federations(control),
        Report::Members(name) => members(control, name),
    }
}

fn federations(control: &ControlPlane) -> Callback {
    let information = control.federations().map(|federation| api::FederationExecutionInformation {
        federation_execution_name: federation.name.clone(),
        logical_time_implementation_name: federation.time.name().to_owned(),
    });
    let set =
        api::FederationExecutionInformationSet { federation_execution_information: information.collect() };
    Callback::ReportFederationExecutions(api::ReportFederationExecutions { report: Some(set) })
}

fn members(control: &ControlPlane, federation_name: String) -> Callback {
    let Some(federation) = control.federation(&federation_name) else {
        return Callback::ReportFederationExecutionDoesNotExist(api::ReportFederationExecutionDoesNotExist {
            federation_name,
        });
    };
    let members = federation.members().map(|(_, member)| api::FederationExecutionMemberInformation {
        federate_name: member.name.clone(),
        federate_type: member.federate_type.clone(),
    });
    let set = api::FederationExecutionMemberInformationSet {
        federation_execution_member_information: members.collect(),
    };
    let report = Some(set);
    Callback::ReportFederationExecutionMembers(api::ReportFederationExecutionMembers {
        federation_name,
        report,
    })
}

/// A call that needs a connection but no membership, with what serving it needs.
pub(crate) struct Reception<'a> {
    pub(crate) control: &'a ControlPlane,
    pub(crate) effects: &'a mut Effects,
    pub(crate) source: &'a dyn FomSource,
    pub(crate) limits: &'a Limits,
    pub(crate) node: NodeId,
    pub(crate) caller: CallerId,
    pub(crate) call: CallId,
    pub(crate) client: ClientId,
}

impl Reception<'_> {
    /// Serves the call; `None` when it is one of a joined federate.
    pub(crate) fn serve(&mut self, call: Call) -> Option<Served> {
        Some(match call {
            Call::ListFederationExecutionsRequest(_) => {
                self.list(Report::Federations, finish!(ListFederationExecutionsResponse))
            }
            Call::ListFederationExecutionMembersRequest(r) => {
                let report = Report::Members(r.federation_name);
                self.list(report, finish!(ListFederationExecutionMembersResponse))
            }
            Call::DestroyFederationExecutionRequest(r) => {
                let command = Command::Destroy { federation: r.federation_name };
                self.propose(command, finish!(DestroyFederationExecutionResponse))
            }
            other => return self.create(other),
        })
    }

    fn propose(&mut self, command: Command, finish: Finish) -> Served {
        let waiting = Some(Waiting { caller: self.caller, call: self.call, finish });
        self.effects.push(Effect::Propose(Proposal { command, waiting, report: None }));
        Ok(Reply::Later)
    }

    /// Alone, this node has the newest state there is; with others, it waits for what was committed so far.
    fn list(&mut self, report: Report, finish: Finish) -> Served {
        if self.control.nodes().len() > 1 {
            let waiting = Some(Waiting { caller: self.caller, call: self.call, finish });
            let (command, report) = (Command::Barrier, Some(report));
            self.effects.push(Effect::Propose(Proposal { command, waiting, report }));
            return Ok(Reply::Later);
        }
        self.effects.tell(self.client, self::report(report, self.control));
        Ok(Reply::Now(finish(Outcome::default())))
    }

    /// The six forms of Create Federation Execution (4.5).
    fn create(&mut self, call: Call) -> Option<Served> {
        let one = |module: Option<api::FomModule>| {
            Some(api::FomModuleSet { fom_module: module.into_iter().collect() })
        };
        Some(match call {
            Call::CreateFederationExecutionRequest(r) => {
                let finish = finish!(CreateFederationExecutionResponse);
                self.propose_create(
                    r.federation_name,
                    one(r.fom_module).as_ref(),
                    None,
                    String::new(),
                    finish,
                )
            }
            Call::CreateFederationExecutionWithTimeRequest(r) => {
                let (modules, time) = (one(r.fom_module), r.logical_time_implementation_name);
                let finish = finish!(CreateFederationExecutionWithTimeResponse);
                self.propose_create(r.federation_name, modules.as_ref(), None, time, finish)
            }
            Call::CreateFederationExecutionWithModulesRequest(r) => {
                let finish = finish!(CreateFederationExecutionWithModulesResponse);
                self.propose_create(r.federation_name, r.fom_modules.as_ref(), None, String::new(), finish)
            }
            Call::CreateFederationExecutionWithModulesAndTimeRequest(r) => {
                let (modules, time) = (r.fom_modules.as_ref(), r.logical_time_implementation_name);
                let finish = finish!(CreateFederationExecutionWithModulesAndTimeResponse);
                self.propose_create(r.federation_name, modules, None, time, finish)
            }
            Call::CreateFederationExecutionWithMimRequest(r) => {
                let (modules, mim) = (r.fom_modules.as_ref(), Some(r.mim_module.unwrap_or_default()));
                let finish = finish!(CreateFederationExecutionWithMimResponse);
                self.propose_create(r.federation_name, modules, mim.as_ref(), String::new(), finish)
            }
            Call::CreateFederationExecutionWithMimAndTimeRequest(r) => {
                let (modules, mim) = (r.fom_modules.as_ref(), Some(r.mim_module.unwrap_or_default()));
                let (time, finish) = (
                    r.logical_time_implementation_name,
                    finish!(CreateFederationExecutionWithMimAndTimeResponse),
                );
                self.propose_create(r.federation_name, modules, mim.as_ref(), time, finish)
            }
            other => return self.join(other),
        })
    }

    fn propose_create(
        &mut self,
        federation: String,
        modules: Option<&api::FomModuleSet>,
        mim: Option<&api::FomModule>,
        time: String,
        finish: Finish,
    ) -> Served {
        let mim = mim.map(|module| self.mim(module)).transpose()?;
        let modules = ModuleText::set_from_federate(modules, self.source, self.limits)?;
        self.propose(Command::Create { federation, mim, modules, time }, finish)
    }

    fn mim(&self, module: &api::FomModule) -> Result<ModuleText, RtiError> {
        if let Some(api::fom_module::FomModule::Url(url)) = &module.fom_module
            && url == hla::fom::STANDARD_MIM
        {
            let text = "leave the MIM out to get the standard one";
            return Err(RtiError::new(Exception::DesignatorIsHLAstandardMIM, text));
        }
        ModuleText::from_federate(module, true, self.source, self.limits)
    }

    /// The four forms of Join Federation Execution (4.11).
    fn join(&mut self, call: Call) -> Option<Served> {
        Some(match call {
            Call::JoinFederationExecutionRequest(r) => {
                let finish = join!(JoinFederationExecutionResponse);
                self.propose_join(r.federation_name, None, r.federate_type, None, finish)
            }
            Call::JoinFederationExecutionWithModulesRequest(r) => {
                let (modules, finish) =
                    (r.additional_fom_modules.as_ref(), join!(JoinFederationExecutionWithModulesResponse));
                self.propose_join(r.federation_name, None, r.federate_type, modules, finish)
            }
            Call::JoinFederationExecutionWithNameRequest(r) => {
                let finish = join!(JoinFederationExecutionWithNameResponse);
                self.propose_join(r.federation_name, Some(r.federate_name), r.federate_type, None, finish)
            }
            Call::JoinFederationExecutionWithNameAndModulesRequest(r) => {
                let (modules, finish) = (
                    r.additional_fom_modules.as_ref(),
                    join!(JoinFederationExecutionWithNameAndModulesResponse),
                );
                self.propose_join(r.federation_name, Some(r.federate_name), r.federate_type, modules, finish)
            }
            _ => return None,
        })
    }

    /// An empty federate name counts as none: the RTI makes one.
    fn propose_join(
        &mut self,
        federation: String,
        name: Option<String>,
        federate_type: String,
        modules: Option<&api::FomModuleSet>,
        finish: Finish,
    ) -> Served {
        let modules = ModuleText::set_from_federate(modules, self.source, self.limits)?;
        let (modules, known) = self.without_known(&federation, modules);
        let name = name.filter(|name| !name.is_empty());
        let node = self.node;
        self.propose(Command::Join { federation, name, federate_type, modules, known, node }, finish)
    }

    /// The modules that are new to a federation execution; and which one that is, if some are not.
    fn without_known(
        &self,
        federation: &str,
        modules: Vec<ModuleText>,
    ) -> (Vec<ModuleText>, Option<ExecutionId>) {
        let Some(federation) = self.control.federation(federation) else { return (modules, None) };
        let given = modules.len();
        let is_new = |module: &ModuleText| !has_text(&federation.model, &module.text);
        let new: Vec<_> = modules.into_iter().filter(is_new).collect();
        let known = (new.len() < given).then_some(federation.id);
        (new, known)
    }
}
