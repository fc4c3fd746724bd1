//! Switches (10.34 to 10.56).

use super::federation::resign_action;
use super::{Context, Served, answer, done};
use crate::control::Command;
use hla::RtiError;
use hla::api::call_request::CallRequest as Call;

/// Reports of services go through the management object model, which is not built yet.
fn refuse_reporting(service: &str, value: bool) -> Result<(), RtiError> {
    if value {
        let text =
            "reports belong to the management object model (clause 11), which this RTI does not offer yet";
        return Err(RtiError::internal(format!("{service}: {text}")));
    }
    Ok(())
}

#[allow(clippy::needless_pass_by_value)] // the last group of the chain; the others hand the context on
pub(crate) fn serve(cx: Context<'_>, call: Call) -> Served {
    let x = &mut *cx.objects;
    let switches = &mut x.federate_mut(cx.who).switches;
    match call {
        Call::GetObjectClassRelevanceAdvisorySwitchRequest(_) => {
            answer!(GetObjectClassRelevanceAdvisorySwitchResponse, switches.object_class_relevance)
        }
        Call::SetObjectClassRelevanceAdvisorySwitchRequest(r) => {
            switches.object_class_relevance = r.value;
            done!(SetObjectClassRelevanceAdvisorySwitchResponse)
        }
        Call::GetAttributeRelevanceAdvisorySwitchRequest(_) => {
            answer!(GetAttributeRelevanceAdvisorySwitchResponse, switches.attribute_relevance)
        }
        Call::SetAttributeRelevanceAdvisorySwitchRequest(r) => {
            let starts = r.value && !switches.attribute_relevance;
            switches.attribute_relevance = r.value;
            if starts {
                x.start_relevance(cx.who);
            }
            done!(SetAttributeRelevanceAdvisorySwitchResponse)
        }
        Call::GetAttributeScopeAdvisorySwitchRequest(_) => {
            answer!(GetAttributeScopeAdvisorySwitchResponse, switches.attribute_scope)
        }
        Call::SetAttributeScopeAdvisorySwitchRequest(r) => {
            switches.attribute_scope = r.value;
            done!(SetAttributeScopeAdvisorySwitchResponse)
        }
        Call::GetInteractionRelevanceAdvisorySwitchRequest(_) => {
            answer!(GetInteractionRelevanceAdvisorySwitchResponse, switches.interaction_relevance)
        }
        Call::SetInteractionRelevanceAdvisorySwitchRequest(r) => {
            switches.interaction_relevance = r.value;
            done!(SetInteractionRelevanceAdvisorySwitchResponse)
        }
        Call::GetConveyRegionDesignatorSetsSwitchRequest(_) => {
            answer!(GetConveyRegionDesignatorSetsSwitchResponse, switches.convey_region_designator_sets)
        }
        Call::SetConveyRegionDesignatorSetsSwitchRequest(r) => {
            switches.convey_region_designator_sets = r.value;
            done!(SetConveyRegionDesignatorSetsSwitchResponse)
        }
        Call::GetAutomaticResignDirectiveRequest(_) => {
            answer!(GetAutomaticResignDirectiveResponse, switches.resign_directive as i32)
        }
        Call::SetAutomaticResignDirectiveRequest(r) => {
            let directive = resign_action(r.value)?;
            // Other nodes need it should this one die.
            if directive != std::mem::replace(&mut switches.resign_directive, directive) {
                let (execution, federate) = (x.id, cx.who);
                cx.effects.propose(Command::SetResignDirective { execution, federate, directive });
            }
            done!(SetAutomaticResignDirectiveResponse)
        }
        other => of_reporting_and_federation(&cx, other),
    }
}

fn of_reporting_and_federation(cx: &Context<'_>, call: Call) -> Served {
    let model = cx.objects.model.switches();
    match call {
        Call::GetServiceReportingSwitchRequest(_) => answer!(GetServiceReportingSwitchResponse, false),
        Call::SetServiceReportingSwitchRequest(r) => {
            refuse_reporting("setServiceReportingSwitch", r.value)?;
            done!(SetServiceReportingSwitchResponse)
        }
        Call::GetExceptionReportingSwitchRequest(_) => answer!(GetExceptionReportingSwitchResponse, false),
        Call::SetExceptionReportingSwitchRequest(r) => {
            refuse_reporting("setExceptionReportingSwitch", r.value)?;
            done!(SetExceptionReportingSwitchResponse)
        }
        Call::GetSendServiceReportsToFileSwitchRequest(_) => {
            answer!(GetSendServiceReportsToFileSwitchResponse, false)
        }
        Call::SetSendServiceReportsToFileSwitchRequest(r) => {
            refuse_reporting("setSendServiceReportsToFileSwitch", r.value)?;
            done!(SetSendServiceReportsToFileSwitchResponse)
        }
        Call::GetAutoProvideSwitchRequest(_) => answer!(GetAutoProvideSwitchResponse, model.auto_provide),
        Call::GetDelaySubscriptionEvaluationSwitchRequest(_) => {
            answer!(GetDelaySubscriptionEvaluationSwitchResponse, model.delay_subscription_evaluation)
        }
        Call::GetAdvisoriesUseKnownClassSwitchRequest(_) => {
            answer!(GetAdvisoriesUseKnownClassSwitchResponse, model.advisories_use_known_class)
        }
        Call::GetAllowRelaxedDdmSwitchRequest(_) => {
            answer!(GetAllowRelaxedDdmSwitchResponse, model.allow_relaxed_ddm)
        }
        Call::GetNonRegulatedGrantSwitchRequest(_) => {
            answer!(GetNonRegulatedGrantSwitchResponse, model.non_regulated_grant)
        }
        other => super::later::refuse(&other),
    }
}
