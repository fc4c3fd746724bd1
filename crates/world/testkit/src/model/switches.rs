//! Switches that a federate sets and reads (10.34 to 10.49).

use super::{Effects, Federation, Served, answer};
use hla::Exception;
use hla::api::call_request::CallRequest as Call;
use hla::handle::FederateHandle;

impl Federation {
    /// Sets a switch. Enabling an advisory repeats no earlier advice. `None`: it is another call.
    pub(super) fn set_switch(
        &mut self,
        federate: FederateHandle,
        request: &Call,
        _: &mut Effects,
    ) -> Option<Served> {
        let me = self.me(federate);
        match request {
            Call::SetObjectClassRelevanceAdvisorySwitchRequest(r) => me.registration_advisory = r.value,
            Call::SetInteractionRelevanceAdvisorySwitchRequest(r) => me.interaction_advisory = r.value,
            Call::SetAttributeScopeAdvisorySwitchRequest(r) => me.scope_advisory = r.value,
            Call::SetAttributeRelevanceAdvisorySwitchRequest(r) => me.update_advisory = r.value,
            Call::SetConveyRegionDesignatorSetsSwitchRequest(r) => me.convey_regions = r.value,
            Call::SetAutomaticResignDirectiveRequest(r) if (0..6).contains(&r.value) => {
                me.directive = r.value;
            }
            Call::SetAutomaticResignDirectiveRequest(_) => {
                return Some(Err(vec![Exception::InvalidResignAction]));
            }
            _ => return None,
        }
        Some(Ok(None))
    }

    /// Reads a switch. `None`: it is another call.
    pub(super) fn get_switch(
        &mut self,
        federate: FederateHandle,
        request: &Call,
        _: &mut Effects,
    ) -> Option<Served> {
        let me = &self.federates[&federate];
        Some(match request {
            Call::GetObjectClassRelevanceAdvisorySwitchRequest(_) => {
                answer!(GetObjectClassRelevanceAdvisorySwitchResponse, me.registration_advisory)
            }
            Call::GetInteractionRelevanceAdvisorySwitchRequest(_) => {
                answer!(GetInteractionRelevanceAdvisorySwitchResponse, me.interaction_advisory)
            }
            Call::GetAttributeScopeAdvisorySwitchRequest(_) => {
                answer!(GetAttributeScopeAdvisorySwitchResponse, me.scope_advisory)
            }
            Call::GetAttributeRelevanceAdvisorySwitchRequest(_) => {
                answer!(GetAttributeRelevanceAdvisorySwitchResponse, me.update_advisory)
            }
            Call::GetConveyRegionDesignatorSetsSwitchRequest(_) => {
                answer!(GetConveyRegionDesignatorSetsSwitchResponse, me.convey_regions)
            }
            Call::GetAutomaticResignDirectiveRequest(_) => {
                answer!(GetAutomaticResignDirectiveResponse, me.directive)
            }
            Call::GetServiceReportingSwitchRequest(_) => answer!(GetServiceReportingSwitchResponse, false),
            Call::GetAutoProvideSwitchRequest(_) => {
                answer!(GetAutoProvideSwitchResponse, self.model.switches().auto_provide)
            }
            _ => return None,
        })
    }
}
