//! A snapshot of a kernel, and its reports in the responses to connect requests.

use crate::Kernel;
use crate::report::{
    MemoryReport, NetworkReport, OwnershipReport, RegionsReport, Report as _, ReportQuery, SlowTurnsReport,
    WhyReport,
};
use hla::api::{self, call_response};

/// A snapshot of a [`Kernel`](crate::Kernel).
#[derive(Clone, Debug)]
pub struct Status {
    /// Federation executions, by name.
    pub federations: Vec<rti::FederationStatus>,
    /// Sessions, interrupted ones included.
    pub sessions: usize,
    /// Connections.
    pub connections: usize,
    /// The uses of memory.
    pub memory: Vec<base::MemoryStatus>,
    /// Counters of the endpoint of the sessions.
    pub endpoint: fedpro::server::Stats,
    /// Connect calls with a wrong password.
    pub passwords_wrong: u64,
    /// Connect calls that were refused because their address had tried too many wrong passwords.
    pub passwords_refused: u64,
}

impl Kernel {
    /// Puts a report into the response to a connect request.
    pub(crate) fn attach_report(&self, answer: &mut call_response::CallResponse, query: &ReportQuery) {
        use call_response::CallResponse::{
            ConnectWithConfigurationAndCredentialsResponse, ConnectWithConfigurationResponse,
        };
        let result = match answer {
            ConnectWithConfigurationResponse(r) => &mut r.configuration_result,
            ConnectWithConfigurationAndCredentialsResponse(r) => &mut r.configuration_result,
            _ => return,
        };
        let report = match query {
            ReportQuery::None => return,
            ReportQuery::Network => self.network_report().to_json(),
            ReportQuery::Ownership(query) => OwnershipReport::of(&self.rti, query).to_json(),
            ReportQuery::Regions(query) => RegionsReport::of(&self.rti, query).to_json(),
            ReportQuery::Why(query) => WhyReport::of(&self.rti, query).to_json(),
        };
        let result = result.get_or_insert_default();
        result.set_additional_settings_result_code(api::AdditionalSettingsResultCode::SettingsApplied);
        result.message = report;
    }

    fn network_report(&self) -> NetworkReport {
        let federations = self.rti.status();
        let presence = |caller| self.endpoint.presence(self.sessions.key(caller)?);
        let mut report = match &self.network {
            Some(network) => {
                NetworkReport::of(self.rti.now(), &network.status(&self.rti), &federations, &presence)
            }
            None => NetworkReport::alone(&federations, &presence),
        };
        report.slow_turns = SlowTurnsReport::of(&self.slow_turns);
        report.refusals = self.refusals();
        report.access = self.access_report();
        report.memory = MemoryReport::of(self);
        report
    }
}
