//! The switch serviceReporting (10.46, 10.47, 11.5), and what it excludes: a federate whose services
//! are reported does not subscribe the reports, since each of them would cause the next one.

use super::objects::Objects;
use crate::effect::{Effect, Effects};
use hla::handle::{FederateHandle, InteractionClassHandle};
use hla::{Exception, RtiError};

/// The interaction class of the reports.
const REPORTS: &str = "HLAinteractionRoot.HLAmanager.HLAfederate.HLAreport.HLAreportServiceInvocation";

impl Objects {
    /// Sets the switch of a federate.
    ///
    /// # Errors
    /// ReportServiceInvocationsAreSubscribed.
    pub(crate) fn set_service_reporting(
        &mut self,
        effects: &mut Effects,
        federate: FederateHandle,
        on: bool,
    ) -> Result<(), RtiError> {
        let (execution, reports) = (self.id, self.model.interaction_class_by_name(REPORTS));
        let known = self.federate_mut(federate);
        if on && reports.is_some_and(|class| known.subscribed_interactions.contains_key(&class)) {
            let text = format!("this federate subscribes {REPORTS}");
            return Err(RtiError::new(Exception::ReportServiceInvocationsAreSubscribed, text));
        }
        known.switches.service_reporting = on;
        effects.push(Effect::ReportServices { execution, federate, caller: known.caller, on });
        Ok(())
    }

    /// Checks that a federate may subscribe an interaction class.
    pub(super) fn check_not_reported(
        &self,
        federate: FederateHandle,
        class: InteractionClassHandle,
    ) -> Result<(), RtiError> {
        let is_reported = self.federate(federate).switches.service_reporting;
        if is_reported && self.model.interaction_class_by_name(REPORTS) == Some(class) {
            let exception = Exception::FederateServiceInvocationsAreBeingReportedViaMOM;
            return Err(RtiError::new(exception, "the switch serviceReporting of this federate is on"));
        }
        Ok(())
    }
}
