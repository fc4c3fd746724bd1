//! The services: the content of the `.proto` files, joined with the rows of `services.tsv`.
//!
//! A row names the service, its clause in IEEE 1516.1-2025 and the exceptions that it may raise.
//! The exceptions determine when the service may be called. A service that may raise `NotConnected`
//! needs a connection; one that may raise `FederateNotExecutionMember` needs a membership; and one
//! that may raise `SaveInProgress` or `RestoreInProgress` is refused meanwhile.

use super::names::type_name;
use super::protos::{Field, Kind, Messages};
use anyhow::{Context, bail, ensure};
use std::collections::BTreeMap;

/// A service with its request, its response and its row.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Service {
    /// Its name in the API, with the variant appended where a service has several requests.
    pub(super) name: String,
    pub(super) clause: String,
    pub(super) exceptions: Vec<String>,
    /// The field of `CallRequest`.
    pub(super) field: i32,
    /// The Rust types of its request and its response.
    pub(super) request: String,
    pub(super) response: String,
    pub(super) parameters: Vec<Field>,
    /// The one field of its response, if it has one.
    pub(super) result: Option<Field>,
}

/// The state of a caller that a service requires, as the call table spells it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Needs {
    Nothing,
    Connection,
    Membership,
}

impl Service {
    pub(super) fn raises(&self, exception: &str) -> bool {
        self.exceptions.iter().any(|raised| raised == exception)
    }

    pub(super) fn needs(&self) -> Needs {
        match (self.raises("NotConnected"), self.raises("FederateNotExecutionMember")) {
            (_, true) => Needs::Membership,
            (true, false) => Needs::Connection,
            (false, false) => Needs::Nothing,
        }
    }

    /// The number of its main clause, which is one service group.
    pub(super) fn main_clause(&self) -> &str {
        self.clause.split('.').next().unwrap_or_default()
    }

    /// The Rust type of its result.
    pub(super) fn output(&self) -> String {
        match self.result.as_ref().map(|field| &field.kind) {
            None => "()".to_owned(),
            Some(Kind::Scalar(name)) => (*name).to_owned(),
            Some(Kind::Text) => "String".to_owned(),
            Some(Kind::Texts) => "Vec<String>".to_owned(),
            Some(Kind::Octets) => "Bytes".to_owned(),
            Some(Kind::Collection(item)) => format!("Vec<{item}>"),
            Some(Kind::Enumeration(name) | Kind::Handle(name) | Kind::Time(name) | Kind::Message(name)) => {
                name.clone()
            }
        }
    }
}

/// All services, in the order of `CallRequest`.
pub(super) fn read(messages: &Messages<'_>, table: &str) -> anyhow::Result<Vec<Service>> {
    let mut rows = rows(table).context("services.tsv")?;
    let requests = messages.variants("CallRequest")?;
    let responses: BTreeMap<i32, &str> =
        messages.variants("CallResponse")?.into_iter().map(|(name, number)| (number, name)).collect();
    let mut services = Vec::new();
    for (at, (request, number)) in requests.into_iter().enumerate() {
        ensure!(number as usize == at + 1, "{request} has field {number} of CallRequest, not {}", at + 1);
        let stem = request.strip_suffix("Request").with_context(|| format!("{request} is no request"))?;
        let response = format!("{stem}Response");
        ensure!(
            responses.get(&(number + 1)) == Some(&response.as_str()),
            "field {} of CallResponse is not {response}",
            number + 1
        );
        let name = stem[..1].to_lowercase() + &stem[1..];
        let Some((clause, exceptions)) = rows.remove(&name) else {
            bail!("{request} has no row `{name}` in services.tsv");
        };
        let mut results = messages.fields(&response)?;
        ensure!(results.len() <= 1, "{response} has more than one field");
        services.push(Service {
            field: number,
            request: type_name(request),
            response: type_name(&response),
            parameters: messages.fields(request)?,
            result: results.pop(),
            name,
            clause,
            exceptions,
        });
    }
    if let Some(name) = rows.keys().next() {
        bail!("`{name}` of services.tsv has no request in the .proto files");
    }
    Ok(services)
}

/// Clause and exceptions by service.
fn rows(table: &str) -> anyhow::Result<BTreeMap<String, (String, Vec<String>)>> {
    let mut lines = table.lines();
    ensure!(lines.next() == Some("service\tclause\texceptions"), "the first line names three columns");
    let mut rows = BTreeMap::new();
    for line in lines {
        let [name, clause, exceptions] = line.split('\t').collect::<Vec<_>>()[..] else {
            bail!("three columns, not `{line}`");
        };
        let exceptions: Vec<String> = exceptions.split(' ').map(str::to_owned).collect();
        ensure!(exceptions.iter().any(|name| name == "RTIinternalError"), "`{name}` may fail inside the RTI");
        ensure!(rows.insert(name.to_owned(), (clause.to_owned(), exceptions)).is_none(), "`{name}` twice");
    }
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::protos;
    use crate::workspace::root;

    const HEAD: &str = "service\tclause\texceptions\n";

    fn with_table(table: &str) -> anyhow::Result<Vec<Service>> {
        let set = protos::compile(&root().join("crates/core/hla/proto"))?;
        read(&Messages::of(&set), table)
    }

    fn real_table() -> String {
        std::fs::read_to_string(root().join("crates/core/hla/proto/services.tsv")).unwrap()
    }

    fn message(result: anyhow::Result<Vec<Service>>) -> String {
        format!("{:#}", result.unwrap_err())
    }

    #[test]
    fn a_request_without_a_row_is_named() {
        let table: Vec<_> =
            real_table().lines().filter(|l| !l.starts_with("retract\t")).map(str::to_owned).collect();
        assert_eq!(
            message(with_table(&table.join("\n"))),
            "RetractRequest has no row `retract` in services.tsv"
        );
    }

    #[test]
    fn a_row_without_a_request_is_named() {
        let table = real_table() + "evokeCallback\t10.57\tRTIinternalError\n";
        assert_eq!(
            message(with_table(&table)),
            "`evokeCallback` of services.tsv has no request in the .proto files"
        );
    }

    #[test]
    fn rows_are_whole_and_single() {
        let twice = format!("{HEAD}retract\t8.21\tRTIinternalError\nretract\t8.21\tRTIinternalError\n");
        assert_eq!(message(with_table(&twice)), "services.tsv: `retract` twice");
        let short = format!("{HEAD}retract\t8.21\n");
        assert_eq!(message(with_table(&short)), "services.tsv: three columns, not `retract\t8.21`");
    }

    #[test]
    fn needs_follow_from_the_exceptions() {
        let services = with_table(&real_table()).unwrap();
        let needs = |name: &str| services.iter().find(|service| service.name == name).unwrap().needs();
        assert_eq!(needs("connectWithCredentials"), Needs::Nothing);
        assert_eq!(needs("disconnect"), Needs::Nothing);
        assert_eq!(needs("joinFederationExecution"), Needs::Connection);
        assert_eq!(needs("resignFederationExecution"), Needs::Membership);
        assert_eq!(services.iter().filter(|service| service.needs() != Needs::Membership).count(), 18);
    }
}
