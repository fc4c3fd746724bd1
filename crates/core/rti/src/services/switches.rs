//! Switches (10.34 to 10.56).

use super::federation::resign_action;
use super::{Context, Reply, Serve, Served};
use crate::control::Command;
use crate::object::federate::FederateSwitches;
use hla::RtiError;
use hla::api::*;
use hla::fom::Switches;

impl Context<'_> {
    /// The switches of the calling federate.
    fn switches(&mut self) -> &mut FederateSwitches {
        &mut self.objects.federate_mut(self.federate).switches
    }

    /// The switches of the federation execution.
    fn federation_switches(&self) -> &Switches {
        self.objects.model.switches()
    }
}

/// Services that return a value, and those that only set one of the federate's switches.
macro_rules! switches {
    ($(get $get:ident: |$context:ident| $value:expr;)+ $(set $set:ident: $switch:ident;)+) => {
        $(impl Serve for $get {
            #[allow(unused_mut, unused_variables)] // some values are constant, others need no change to be had
            fn serve(self, mut $context: Context<'_>) -> Served<Self::Output> {
                Ok(Reply::Now($value))
            }
        })+
        $(impl Serve for $set {
            fn serve(self, mut context: Context<'_>) -> Served<()> {
                context.switches().$switch = self.value;
                Ok(Reply::Now(()))
            }
        })+
    };
}

switches! {
    get GetObjectClassRelevanceAdvisorySwitchRequest: |context| context.switches().object_class_relevance;
    get GetAttributeRelevanceAdvisorySwitchRequest: |context| context.switches().attribute_relevance;
    get GetAttributeScopeAdvisorySwitchRequest: |context| context.switches().attribute_scope;
    get GetInteractionRelevanceAdvisorySwitchRequest: |context| context.switches().interaction_relevance;
    get GetConveyRegionDesignatorSetsSwitchRequest: |context| context.switches().convey_region_designator_sets;
    get GetAutomaticResignDirectiveRequest: |context| context.switches().resign_directive;
    get GetServiceReportingSwitchRequest: |context| context.switches().service_reporting;
    get GetExceptionReportingSwitchRequest: |context| context.switches().exception_reporting;
    get GetSendServiceReportsToFileSwitchRequest: |context| false;
    get GetAutoProvideSwitchRequest: |context| context.objects.auto_provide;
    get GetDelaySubscriptionEvaluationSwitchRequest:
        |context| context.federation_switches().delay_subscription_evaluation;
    get GetAdvisoriesUseKnownClassSwitchRequest:
        |context| context.federation_switches().advisories_use_known_class;
    get GetAllowRelaxedDdmSwitchRequest: |context| context.federation_switches().allow_relaxed_ddm;
    get GetNonRegulatedGrantSwitchRequest: |context| context.federation_switches().non_regulated_grant;
    set SetObjectClassRelevanceAdvisorySwitchRequest: object_class_relevance;
    set SetAttributeScopeAdvisorySwitchRequest: attribute_scope;
    set SetInteractionRelevanceAdvisorySwitchRequest: interaction_relevance;
    set SetConveyRegionDesignatorSetsSwitchRequest: convey_region_designator_sets;
    set SetExceptionReportingSwitchRequest: exception_reporting;
}

impl Serve for SetAttributeRelevanceAdvisorySwitchRequest {
    fn serve(self, mut context: Context<'_>) -> Served<()> {
        let before = std::mem::replace(&mut context.switches().attribute_relevance, self.value);
        let completion = context.completion::<Self>(());
        let starts = self.value && !before;
        Ok(Reply::now_if(!starts || context.objects.start_relevance(context.federate, completion)))
    }
}

impl Serve for SetAutomaticResignDirectiveRequest {
    fn serve(self, mut context: Context<'_>) -> Served<()> {
        let directive = resign_action(self.value)?;
        if directive == context.switches().resign_directive {
            return Ok(Reply::Now(()));
        }
        // Other nodes act by the directive if this node dies. The federate may rely on it only once
        // they have it.
        let (execution, federate) = (context.objects.id, context.federate);
        context.propose::<Self>(Command::SetResignDirective { execution, federate, directive })
    }
}

impl Serve for SetServiceReportingSwitchRequest {
    fn serve(self, Context { objects, effects, federate, .. }: Context<'_>) -> Served<()> {
        objects.set_service_reporting(effects, federate, self.value).map(Reply::Now)
    }
}

impl Serve for SetSendServiceReportsToFileSwitchRequest {
    fn serve(self, _: Context<'_>) -> Served<()> {
        match self.value {
            true => Err(RtiError::internal(NO_FILES)),
            false => Ok(Reply::Now(())),
        }
    }
}

/// The reason why the switch sendServiceReportsToFile stays off.
pub(crate) const NO_FILES: &str = "this RTI writes no files of service reports: its host is not the federate's; the reports come \
                                   as interactions (11.5)";
