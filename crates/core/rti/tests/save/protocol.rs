//! Random calls of the services for saves and restores, by federates that come and go. The answers
//! and callbacks must be exactly those of the protocol.

use crate::common::save::Saves;
use crate::common::{Fed, Refused, World, fom};
use crate::protocol_spec::{Call, Expected, LABELS, Spec, TYPES, others};
use hla::Exception::{RestoreInProgress, SaveInProgress};
use hla::api::{self, CallRequest, Message as _, ResignAction};
use hla::handle::FederateHandle;
use proptest::prelude::*;
use proptest::strategy::ValueTree as _;
use proptest::test_runner::TestRunner;
use std::collections::BTreeMap;

#[derive(Clone, Copy, Debug)]
struct Op {
    federate: usize,
    /// Whether to go on with the save or restore that is under way, if there is one.
    onward: bool,
    call: Call,
}

fn federate_type() -> impl Strategy<Value = usize> {
    prop::bool::weighted(0.2).prop_map(usize::from)
}

fn call() -> impl Strategy<Value = Call> {
    let label = || prop::bool::weighted(0.3).prop_map(usize::from);
    prop_oneof![
        8 => label().prop_map(|label| Call::Save { label }),
        4 => (label(), 0i64..4).prop_map(|(label, time)| Call::SaveAt { label, time }),
        6 => Just(Call::Begun),
        6 => Just(Call::Complete),
        3 => Just(Call::NotComplete),
        1 => Just(Call::AbortSave),
        2 => Just(Call::QuerySave),
        16 => prop_oneof![8 => label(), 1 => Just(2)].prop_map(|label| Call::Restore { label }),
        6 => Just(Call::RestoreComplete),
        2 => Just(Call::RestoreNotComplete),
        1 => Just(Call::AbortRestore),
        2 => Just(Call::QueryRestore),
        2 => Just(Call::Resign),
        1 => Just(Call::Lose),
        6 => (federate_type(), prop::bool::weighted(0.05))
            .prop_map(|(federate_type, more)| Call::Join { federate_type, more }),
        2 => Just(Call::Regulate),
        1 => Just(Call::Constrain),
        3 => Just(Call::DisableConstrained),
        2 => prop::bool::weighted(0.2).prop_map(|on| Call::Fail { on }),
        4 => any::<u8>().prop_map(|service| Call::Other { service: service.into() }),
    ]
}

fn op() -> impl Strategy<Value = Op> {
    (0usize..4, prop::bool::weighted(0.7), call()).prop_map(|(federate, onward, call)| Op {
        federate,
        onward,
        call,
    })
}

struct Run {
    world: World,
    saves: Saves,
    federates: [Fed; 4],
    /// So many have joined.
    joined: usize,
}

/// An empty request of a service.
fn empty(field: u32) -> api::call_request::CallRequest {
    let mut octets = Vec::new();
    prost::encoding::encode_key(field, prost::encoding::WireType::LengthDelimited, &mut octets);
    octets.push(0);
    let request = CallRequest::decode(&octets[..]).expect("a known field with an empty message");
    request.call_request.expect("a known service")
}

impl Run {
    fn new() -> Self {
        let saves = Saves::default();
        let world = World::with_config(saves.config(), &[]);
        let federates = std::array::from_fn(|at| world.connected(&format!("caller{at}")));
        Self { world, saves, federates, joined: 0 }
    }

    fn apply(&mut self, at: usize, call: Call) -> Refused {
        let f = &self.federates[at];
        match call {
            Call::Save { label } => f.request_save(LABELS[label]),
            Call::SaveAt { label, time } => f.request_save_at(LABELS[label], time),
            Call::Begun => f.save_begun(),
            Call::Complete => f.save_complete(),
            Call::NotComplete => f.save_not_complete(),
            Call::AbortSave => f.abort_save(),
            Call::QuerySave => f.query_save(),
            Call::Restore { label } => f.request_restore(LABELS[label]),
            Call::RestoreComplete => f.restore_complete(),
            Call::RestoreNotComplete => f.restore_not_complete(),
            Call::AbortRestore => f.abort_restore(),
            Call::QueryRestore => f.query_restore(),
            Call::Resign => f.resign(ResignAction::NoAction),
            Call::Regulate => f.regulate(1),
            Call::Constrain => f.constrain(),
            Call::DisableConstrained => f.ask(api::DisableTimeConstrainedRequest {}),
            Call::Join { federate_type, more } => self.join(at, federate_type, more),
            Call::Fail { on } => {
                self.saves.fail(on);
                Ok(())
            }
            Call::Lose => {
                self.world.lose(f);
                self.federates[at] = self.world.connected("again");
                Ok(())
            }
            Call::Other { service } => {
                let all: Vec<_> = others().collect();
                f.plain(empty(all[service % all.len()].field))
            }
        }
    }

    fn join(&mut self, at: usize, federate_type: usize, more: bool) -> Refused {
        let text = fom::more();
        let files: &[(&str, &str)] = if more { &[("more.xml", &text)] } else { &[] };
        self.joined += 1;
        self.federates[at].name = format!("N{}", self.joined);
        self.federates[at].join_as(TYPES[federate_type], files)
    }

    /// Federates are those of the model from now on.
    fn take_identities(&mut self, spec: &Spec) {
        for (at, member) in &spec.members {
            self.federates[*at].name.clone_from(&member.name);
            self.federates[*at].handle.set(member.handle);
            self.world.0.borrow_mut().federates.insert(member.handle, member.name.clone());
        }
    }
}

/// Nothing says which handles federates have after a restore if there is none.
fn without_handles(callback: String) -> String {
    if !callback.contains("=NO_RESTORE_IN_PROGRESS") {
        return callback;
    }
    let parts = callback.split(", ").map(|part| {
        let (before, status) = part.split_once('=').expect("name>handle=status");
        format!("{}={status}", before.split('>').next().unwrap_or_default())
    });
    parts.collect::<Vec<_>>().join(", ")
}

fn agrees(outcome: Refused, expected: Expected) -> bool {
    match expected {
        Expected::Done => outcome == Ok(()),
        Expected::Refused(exception) => outcome == Err(exception),
        Expected::RefusedSomehow => {
            outcome.is_err_and(|exception| exception != SaveInProgress && exception != RestoreInProgress)
        }
        Expected::NotInTheWay => !matches!(outcome, Err(SaveInProgress | RestoreInProgress)),
    }
}

/// Compares the services with the protocol. Returns all callbacks.
fn compare(ops: &[Op]) -> Result<Vec<String>, TestCaseError> {
    let (mut run, mut spec, mut all) = (Run::new(), Spec::new(), Vec::new());
    for (step, &Op { federate, onward, call }) in ops.iter().enumerate() {
        let next = if onward { spec.next_step(federate) } else { None };
        let (at, call) = next.unwrap_or((federate, call));
        if !spec.settles(at, call) {
            continue;
        }
        let shown = format!("step {step}: caller {at}: {call:?}");
        let handles: Vec<FederateHandle> = spec.members.values().map(|member| member.handle).collect();
        let outcome = run.apply(at, call);
        run.world.settle();
        let (name, handle) = (run.federates[at].name.clone(), run.federates[at].handle.get());
        let expected = spec.apply(at, call, (&name, handle));
        prop_assert!(agrees(outcome, expected), "{}: {:?} instead of {:?}", shown, outcome, expected);
        if let (Call::Join { .. }, Ok(())) = (call, outcome) {
            prop_assert!(!handles.contains(&handle), "{}: {:?} of {:?}", shown, handle, handles);
        }
        let told = std::mem::take(&mut spec.told);
        // Callbacks name federates as they are when they are shown, so before a restore has ended.
        for (at, (federate, expected)) in run.federates.iter().zip(told).enumerate() {
            let told: Vec<_> = federate.callbacks().into_iter().map(without_handles).collect();
            prop_assert_eq!(&told, &expected, "{}: told to caller {}", shown, at);
            all.extend(told);
        }
        run.take_identities(&spec);
    }
    Ok(all)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 192, max_shrink_iters: 4_000, ..ProptestConfig::default() })]

    #[test]
    fn saves_and_restores_follow_the_protocol(
        joins in proptest::collection::vec(federate_type(), 2..=4),
        ops in proptest::collection::vec(op(), 120),
    ) {
        compare(&joins_first(&joins, &ops))?;
    }
}

fn joins_first(joins: &[usize], ops: &[Op]) -> Vec<Op> {
    let join = |(federate, &federate_type)| Op {
        federate,
        onward: false,
        call: Call::Join { federate_type, more: false },
    };
    joins.iter().enumerate().map(join).chain(ops.iter().copied()).collect()
}

/// Random cases are worth their time only if they reach every end.
#[test]
fn random_saves_and_restores_end_in_every_way() {
    let mut runner = TestRunner::deterministic();
    let strategy = (proptest::collection::vec(federate_type(), 2..=4), proptest::collection::vec(op(), 120));
    let mut reached = BTreeMap::<String, u32>::new();
    for _ in 0..200 {
        let (joins, ops) = strategy.new_tree(&mut runner).expect("a case").current();
        for told in compare(&joins_first(&joins, &ops)).expect("the protocol is followed") {
            *reached.entry(told).or_default() += 1;
        }
    }
    let ends = [
        "federationSaved",
        "federationNotSaved(SAVE_ABORTED)",
        "federationNotSaved(RTI_UNABLE_TO_SAVE)",
        "federationNotSaved(FEDERATE_REPORTED_FAILURE_DURING_SAVE)",
        "federationNotSaved(FEDERATE_RESIGNED_DURING_SAVE)",
        "restoreRequestFailed(L)",
        "federationRestored",
        "federationNotRestored(RESTORE_ABORTED)",
        "federationNotRestored(FEDERATE_REPORTED_FAILURE_DURING_RESTORE)",
        "federationNotRestored(FEDERATE_RESIGNED_DURING_RESTORE)",
    ];
    for end in ends {
        assert!(reached.get(end).is_some_and(|count| *count >= 5), "{end}: {reached:#?}");
    }
}
