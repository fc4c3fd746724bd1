//! The report of a node about its network.

use std::time::Duration;

use crate::access::server_options;
use federate::Federate;
use hla::api::RtiConfiguration;
use kernel::report::{NetworkReport, REPORT_SETTING, Report as _};

/// The report of the node at `address`; `None` if it gives none in time.
pub(crate) async fn report(address: &str, patience: Duration) -> Option<NetworkReport> {
    tokio::time::timeout(patience, ask(address, patience)).await.ok()?
}

async fn ask(address: &str, patience: Duration) -> Option<NetworkReport> {
    let mut options = server_options(address).ok()?;
    options.session.connect_timeout = patience;
    let (federate, _callbacks) = Federate::open(&options).await.ok()?;
    let configuration =
        RtiConfiguration { additional_settings: REPORT_SETTING.to_owned(), ..RtiConfiguration::default() };
    let connected = match options.credentials {
        Some(credentials) => {
            federate.request_connect_with_configuration_and_credentials(configuration, credentials)
        }
        None => federate.request_connect_with_configuration(configuration),
    };
    let answer = connected.await.ok()?;
    NetworkReport::from_json(&answer.message)
}
