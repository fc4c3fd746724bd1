//! The exceptions of time management (clause 8): each is raised, at a single node and in a network
//! of two, and the call that raises it has no effect.

use crate::cluster::{Cluster, SOUND};
use crate::common::{Fed, Refused, World};
use bytes::Bytes;
use hla::Exception::{self, *};
use hla::api::OrderType::Timestamp;
use hla::api::{self, Request, SERVICES, call_request::CallRequest as Call};
use hla::handle::{MessageRetractionHandle, ObjectInstanceHandle};
use rti::FederationStatus;
use std::collections::BTreeSet;

/// Two federates: `a` makes the calls, `b` would notice their effects.
struct Stage {
    a: Fed,
    b: Fed,
    cluster: Option<Cluster>,
    /// Messages that cannot be retracted by `a`, and why not.
    messages: Vec<(MessageRetractionHandle, Exception)>,
}

/// The state in which `a` makes its calls.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Given {
    Joined,
    Owner,
    At10,
    Regulating,
    Constrained,
    Asynchronous,
    Advancing,
    AdvancingConstrained,
    RegulationPending,
    ConstraintPending,
    Sent,
}

const ALL: [Given; 11] = [
    Given::Joined,
    Given::Owner,
    Given::At10,
    Given::Regulating,
    Given::Constrained,
    Given::Asynchronous,
    Given::Advancing,
    Given::AdvancingConstrained,
    Given::RegulationPending,
    Given::ConstraintPending,
    Given::Sent,
];

impl Stage {
    fn new(nodes: usize) -> Self {
        let messages = Vec::new();
        if nodes == 1 {
            let (_, [a, b]) = World::in_time();
            return Self { a, b, cluster: None, messages };
        }
        let mut cluster = Cluster::new(nodes, &["nonRegulatedGrant"], SOUND, 0);
        let [a, b] = cluster.join_all();
        Self { a, b, cluster: Some(cluster), messages }
    }

    fn settle(&mut self) {
        if let Some(cluster) = &mut self.cluster {
            cluster.settle();
        }
    }

    fn prepare(&mut self, given: Given) -> Refused {
        let Self { a, b, .. } = self;
        match given {
            Given::Joined => {}
            Given::Owner => {
                a.publish("C", &["t"])?;
                a.register("C")?;
            }
            Given::At10 => a.tar(10)?,
            Given::Regulating => a.regulate(1)?,
            Given::Constrained => a.constrain()?,
            Given::Asynchronous => a.ask(api::EnableAsynchronousDeliveryRequest {})?,
            Given::Advancing | Given::AdvancingConstrained => {
                b.regulate(1)?;
                a.constrain()?;
                if given == Given::Advancing {
                    a.regulate(1)?;
                }
                self.settle();
                self.a.tar(20)?;
            }
            Given::RegulationPending => {
                b.constrain()?;
                self.settle();
                [&self.a, &self.b].into_iter().for_each(Fed::skip);
                self.a.regulate(1)?;
                // The other node has not answered yet.
                return Ok(());
            }
            Given::ConstraintPending => {
                b.regulate(1)?;
                a.tar(100)?;
                self.settle();
                self.a.constrain()?;
            }
            Given::Sent => self.send()?,
        }
        self.settle();
        Ok(())
    }

    /// Lets `a` send messages that it can no longer retract, and `b` one of its own.
    fn send(&mut self) -> Refused {
        let Self { a, b, .. } = self;
        for (sender, receiver) in [(&*a, &*b), (b, a)] {
            sender.publish_interaction("I")?;
            sender.order_interaction("I", Timestamp)?;
            receiver.subscribe_interaction("I")?;
        }
        a.regulate(1)?;
        b.regulate(1)?;
        b.constrain()?;
        self.settle();
        let Self { a, b, .. } = self;
        a.send_in_time("I", "p=1", 30)?;
        let passed = a.send_in_time("I", "p=2", 3)?;
        let retracted = a.send_in_time("I", "p=3", 8)?;
        a.retract(retracted)?;
        a.tar(2)?;
        let foreign = b.send_in_time("I", "p=4", 40)?;
        self.messages = vec![
            (passed, MessageCanNoLongerBeRetracted),
            (retracted, MessageCanNoLongerBeRetracted),
            (foreign, InvalidMessageRetractionHandle),
            (MessageRetractionHandle(retracted.0 + 1), InvalidMessageRetractionHandle),
            (MessageRetractionHandle::INVALID, InvalidMessageRetractionHandle),
            (MessageRetractionHandle(u64::MAX), InvalidMessageRetractionHandle),
        ];
        Ok(())
    }

    /// The status of both federates. No callback may have come.
    fn look(&mut self) -> [Vec<FederationStatus>; 2] {
        self.settle();
        [&self.a, &self.b].map(|fed| {
            assert_eq!(fed.callbacks(), Vec::<String>::new(), "{}", fed.name);
            let mut status = fed.world.0.borrow().rti.status();
            // Time passes between two looks.
            let times = status.iter_mut().flat_map(|federation| &mut federation.federates);
            times.filter_map(|federate| federate.time.as_mut()).for_each(|time| time.lasts_ms = 0);
            status
        })
    }
}

fn time(octets: &[u8]) -> Option<api::LogicalTime> {
    Some(api::LogicalTime { data: Bytes::copy_from_slice(octets) })
}

fn at(time: i64) -> Option<api::LogicalTime> {
    self::time(&time.to_be_bytes())
}

fn interval(octets: &[u8]) -> Option<api::LogicalTimeInterval> {
    Some(api::LogicalTimeInterval { data: Bytes::copy_from_slice(octets) })
}

/// All advances to a time, which raise the same exception.
fn advances(time: &Option<api::LogicalTime>, raised: Exception) -> [(Call, Exception); 5] {
    [
        api::TimeAdvanceRequestRequest { time: time.clone() }.into_call(),
        api::TimeAdvanceRequestAvailableRequest { time: time.clone() }.into_call(),
        api::NextMessageRequestRequest { time: time.clone() }.into_call(),
        api::NextMessageRequestAvailableRequest { time: time.clone() }.into_call(),
        api::FlushQueueRequestRequest { time: time.clone() }.into_call(),
    ]
    .map(|call| (call, raised))
}

fn row(call: impl Request, raised: Exception) -> (Call, Exception) {
    (call.into_call(), raised)
}

fn regulate(lookahead: i64) -> api::EnableTimeRegulationRequest {
    api::EnableTimeRegulationRequest { lookahead: interval(&lookahead.to_be_bytes()) }
}

fn modify(lookahead: i64) -> api::ModifyLookaheadRequest {
    api::ModifyLookaheadRequest { lookahead: interval(&lookahead.to_be_bytes()) }
}

/// Octets that are no integer time and no lookahead.
fn no_times() -> [Vec<u8>; 5] {
    [vec![], vec![0; 7], vec![0; 9], (-1_i64).to_be_bytes().to_vec(), i64::MIN.to_be_bytes().to_vec()]
}

/// The calls that are refused, and their exceptions.
fn refused(given: Given, stage: &Stage) -> Vec<(Call, Exception)> {
    let a = &stage.a;
    match given {
        Given::Joined => of_joined(a),
        Given::Owner => {
            let order = |attributes: &[&str]| api::ChangeAttributeOrderTypeRequest {
                object_instance: a.instance(1),
                attributes: Some(api::AttributeHandleSet {
                    attribute_handle: attributes.iter().map(|name| a.attribute(name)).collect(),
                }),
                order_type: 0,
            };
            vec![row(order(&["t", "a"]), AttributeNotOwned), row(order(&["t", "none"]), AttributeNotDefined)]
        }
        Given::At10 => advances(&at(9), LogicalTimeAlreadyPassed).into(),
        Given::Regulating => {
            let lookahead = |octets: &Vec<u8>| api::ModifyLookaheadRequest { lookahead: interval(octets) };
            let mut rows = vec![row(regulate(1), TimeRegulationAlreadyEnabled)];
            rows.push(row(api::ModifyLookaheadRequest { lookahead: None }, InvalidLookahead));
            rows.extend(no_times().iter().map(|octets| row(lookahead(octets), InvalidLookahead)));
            rows
        }
        Given::Constrained => {
            vec![row(api::EnableTimeConstrainedRequest {}, TimeConstrainedAlreadyEnabled)]
        }
        Given::Asynchronous => {
            vec![row(api::EnableAsynchronousDeliveryRequest {}, AsynchronousDeliveryAlreadyEnabled)]
        }
        Given::Advancing => {
            let mut rows = Vec::from(advances(&at(20), InTimeAdvancingState));
            rows.push(row(modify(2), InTimeAdvancingState));
            rows
        }
        Given::AdvancingConstrained => vec![row(regulate(1), InTimeAdvancingState)],
        Given::RegulationPending => {
            let mut rows = Vec::from(advances(&at(10), RequestForTimeRegulationPending));
            rows.push(row(regulate(1), RequestForTimeRegulationPending));
            rows
        }
        Given::ConstraintPending => {
            let mut rows = Vec::from(advances(&at(101), RequestForTimeConstrainedPending));
            rows.push(row(api::EnableTimeConstrainedRequest {}, RequestForTimeConstrainedPending));
            rows
        }
        Given::Sent => {
            let retract = |&(message, raised): &(MessageRetractionHandle, Exception)| {
                row(api::RetractRequest { retraction: Some(message) }, raised)
            };
            let mut rows: Vec<_> = stage.messages.iter().map(retract).collect();
            rows.push(row(api::RetractRequest { retraction: None }, InvalidMessageRetractionHandle));
            let bad = no_times();
            let early = 2_i64.to_be_bytes();
            let octets = bad.iter().map(|octets| time(octets)).chain([None, time(&early)]);
            let message = |time| api::SendInteractionWithTimeRequest {
                interaction_class: a.interaction("I"),
                parameter_values: None,
                user_supplied_tag: Bytes::new(),
                time,
            };
            rows.extend(octets.map(|time| row(message(time), InvalidLogicalTime)));
            rows
        }
    }
}

fn of_joined(a: &Fed) -> Vec<(Call, Exception)> {
    let mut rows = Vec::new();
    for octets in no_times() {
        rows.extend(advances(&time(&octets), InvalidLogicalTime));
        let regulate = api::EnableTimeRegulationRequest { lookahead: interval(&octets) };
        rows.push(row(regulate, InvalidLookahead));
    }
    rows.extend(advances(&None, InvalidLogicalTime));
    let unknown = Some(ObjectInstanceHandle(u64::MAX));
    let set = |name| Some(api::AttributeHandleSet { attribute_handle: vec![a.attribute(name)] });
    let order_of_class = |class, attribute| api::ChangeDefaultAttributeOrderTypeRequest {
        the_object_class: a.class(class),
        attributes: set(attribute),
        order_type: 1,
    };
    let order_of_interaction = |class| api::ChangeInteractionOrderTypeRequest {
        interaction_class: a.interaction(class),
        order_type: 1,
    };
    rows.extend([
        row(api::EnableTimeRegulationRequest { lookahead: None }, InvalidLookahead),
        row(api::DisableTimeRegulationRequest {}, TimeRegulationIsNotEnabled),
        row(api::DisableTimeConstrainedRequest {}, TimeConstrainedIsNotEnabled),
        row(api::DisableAsynchronousDeliveryRequest {}, AsynchronousDeliveryAlreadyDisabled),
        row(modify(1), TimeRegulationIsNotEnabled),
        row(api::QueryLookaheadRequest {}, TimeRegulationIsNotEnabled),
        row(api::RetractRequest { retraction: Some(MessageRetractionHandle(1)) }, TimeRegulationIsNotEnabled),
        row(
            api::ChangeAttributeOrderTypeRequest {
                object_instance: unknown,
                attributes: set("t"),
                order_type: 0,
            },
            ObjectInstanceNotKnown,
        ),
        row(order_of_class("none", "t"), ObjectClassNotDefined),
        row(order_of_class("C", "e"), AttributeNotDefined),
        row(order_of_interaction("I"), InteractionClassNotPublished),
        row(order_of_interaction("none"), InteractionClassNotDefined),
    ]);
    rows
}

/// Makes all calls that are refused, in a network of so many nodes. Adds the exceptions to
/// `raised`.
fn provoke(nodes: usize, raised: &mut BTreeSet<(&'static str, &'static str)>) -> Refused {
    let pending = |given: &Given| nodes > 1 || *given != Given::RegulationPending;
    for given in ALL.into_iter().filter(pending) {
        let mut stage = Stage::new(nodes);
        stage.prepare(given)?;
        [&stage.a, &stage.b].into_iter().for_each(Fed::skip);
        for (call, exception) in refused(given, &stage) {
            let service = call.service();
            // A request that is pending is not any more once time passes.
            let before = (given != Given::RegulationPending).then(|| stage.look());
            let shown = format!("{given:?} at {nodes} nodes, {call:?}");
            assert_eq!(stage.a.plain(call), Err(exception), "{shown}");
            if let Some(before) = before {
                assert_eq!(stage.look(), before, "{shown}");
            }
            raised.insert((service.name, exception.name()));
        }
        if given == Given::RegulationPending {
            stage.settle();
            assert_eq!(stage.a.callbacks(), ["regulating(0)"], "nothing but what was requested");
        }
    }
    Ok(())
}

/// Exceptions of services of clause 8 that cannot be provoked here.
fn is_exempt(service: &str, exception: Exception) -> bool {
    match exception {
        // The call table raises these for every service; see the tests of the table.
        FederateNotExecutionMember | NotConnected => true,
        // The tests of saving provoke these for every service.
        SaveInProgress | RestoreInProgress => true,
        // A defect of the RTI.
        RTIinternalError => true,
        // A federate that is not constrained is granted at once, and never in this state.
        InTimeAdvancingState => service == "enableTimeConstrained",
        _ => false,
    }
}

#[test]
fn each_exception_of_each_service_is_raised_and_has_no_effect() -> Refused {
    let mut raised = BTreeSet::new();
    provoke(1, &mut raised)?;
    provoke(2, &mut raised)?;
    let of_clause = SERVICES.iter().filter(|service| service.clause.starts_with("8."));
    let declared = of_clause.flat_map(|service| service.exceptions.iter().map(move |&e| (service.name, e)));
    let mut wanted = 0;
    for (service, exception) in declared.filter(|&(service, exception)| !is_exempt(service, exception)) {
        wanted += 1;
        assert!(raised.contains(&(service, exception.name())), "{service}: nobody has provoked {exception}");
    }
    assert_eq!(wanted, 49, "exceptions that the services of clause 8 declare");
    Ok(())
}
