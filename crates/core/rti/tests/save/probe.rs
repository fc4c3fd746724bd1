//! The end of a run: all that federates can ask for, and time that goes on until nothing is queued.

use crate::common::mom::handle_of;
use crate::common::{Fed, Refused};
use crate::manage::OF_FEDERATES;
use crate::run::{NAMES, Run};
use crate::words::attributes;
use hla::api;
use std::time::Duration;

const ALL: u8 = u8::MAX;

impl Run {
    /// Asks for everything, and records the answers and callbacks.
    pub(crate) fn probe(&mut self) {
        for at in self.joined() {
            let line = format!("{} {}", NAMES[at], times(&self.federates[at]));
            self.record(&line);
            let line = format!("{} {}", NAMES[at], switches(&self.federates[at]));
            self.record(&line);
            self.probe_instances(at);
            self.probe_regions(at);
        }
        let members = api::ListFederationExecutionMembersRequest { federation_name: "F".to_owned() };
        let line = format!("{:?}", self.federates[0].ask(members));
        self.record(&line);
        if self.net.is_some() {
            return;
        }
        let joined = self.joined();
        for (teller, about) in joined.iter().flat_map(|&teller| joined.iter().map(move |&at| (teller, at))) {
            if teller == about {
                let line = format!("{:?}", self.federates[teller].hear_all_reports());
                self.record(&line);
            }
            if teller == joined[0] {
                self.probe_reports(teller, about);
            }
        }
    }

    fn probe_reports(&mut self, at: usize, about: usize) {
        for what in OF_FEDERATES {
            let class = format!("HLAfederate.HLArequest.HLArequest{what}");
            let about = handle_of(&self.federates[about]);
            let asked = self.federates[at].ask_rti(&class, &[("federate", about)]);
            self.record(&format!("{} asks for {what}: {asked:?}", NAMES[at]));
        }
        let class = "HLAfederation.HLArequest.HLArequestSynchronizationPoints";
        let asked = self.federates[at].ask_rti(class, &[]);
        self.record(&format!("{} asks for points: {asked:?}", NAMES[at]));
    }

    fn probe_instances(&mut self, at: usize) {
        for (number, class) in self.state.instances.clone().into_iter().map(|of| (of.number, of.class)) {
            let f = &self.federates[at];
            let mut found = format!("{:?} {:?}", f.known_class(number), f.instance_name(number));
            for name in attributes(class, ALL) {
                let rate = f.rate_of(number, name);
                let transportation = f.query_transportation(number, name);
                found += &format!(" {name}: {:?} {rate:?} {transportation:?}", f.owns(number, name));
            }
            found += &format!(" {:?}", f.query_ownership(number, &attributes(class, ALL)));
            self.record(&format!("{} {number}: {found}", NAMES[at]));
        }
    }

    fn probe_regions(&mut self, at: usize) {
        for (_, _, region) in self.state.regions.clone() {
            let f = &self.federates[at];
            let bounds = ["X", "Y", "Z"].map(|name| f.range_of(region, name));
            self.record(&format!("{} {region:?}: {bounds:?}", NAMES[at]));
        }
    }

    /// Lets time go on in turns, until nothing is queued.
    pub(crate) fn finish(&mut self) {
        for round in 0..3 {
            for at in self.joined() {
                let to = 20 * (round + 1) + i64::try_from(at).expect("a small number");
                let asked = self.federates[at].tar(to);
                self.record(&format!("{} asks for {to}: {asked:?}", NAMES[at]));
            }
            self.pass(Duration::from_millis(1_100));
            self.record("time passes");
        }
        for at in self.joined() {
            let f = &self.federates[at];
            let done: [Refused; 2] =
                [f.ask(api::DisableTimeRegulationRequest {}), f.ask(api::DisableTimeConstrainedRequest {})];
            self.record(&format!("{} leaves logical time: {done:?}", NAMES[at]));
        }
    }
}

fn times(f: &Fed) -> String {
    format!("time {:?} GALT {:?} LITS {:?} lookahead {:?}", f.time(), f.galt(), f.lits(), f.lookahead())
}

fn switches(f: &Fed) -> String {
    let own = [
        f.ask(api::GetObjectClassRelevanceAdvisorySwitchRequest {}),
        f.ask(api::GetAttributeRelevanceAdvisorySwitchRequest {}),
        f.ask(api::GetAttributeScopeAdvisorySwitchRequest {}),
        f.ask(api::GetInteractionRelevanceAdvisorySwitchRequest {}),
        f.ask(api::GetConveyRegionDesignatorSetsSwitchRequest {}),
        f.ask(api::GetServiceReportingSwitchRequest {}),
        f.ask(api::GetExceptionReportingSwitchRequest {}),
        f.ask(api::GetSendServiceReportsToFileSwitchRequest {}),
    ];
    let common = [
        f.ask(api::GetAutoProvideSwitchRequest {}),
        f.ask(api::GetDelaySubscriptionEvaluationSwitchRequest {}),
        f.ask(api::GetAdvisoriesUseKnownClassSwitchRequest {}),
        f.ask(api::GetAllowRelaxedDdmSwitchRequest {}),
        f.ask(api::GetNonRegulatedGrantSwitchRequest {}),
    ];
    format!("switches {own:?} {:?} {common:?}", f.resign_directive())
}
