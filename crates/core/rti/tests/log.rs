//! Nodes that share one log of commands: federation management as seen by federates on any node,
//! and when a node lags behind, is declared dead, or has no majority.

#[path = "log/cluster.rs"]
mod cluster;

use bytes::Bytes;
use cluster::*;
use hla::Exception;
use hla::api::call_request::CallRequest as Call;
use hla::api::callback_request::CallbackRequest as Callback;
use hla::api::{self, ResignAction};
use rti::{CallerId, Command, Config, NoFoms, Rti};

fn exception<T>(answer: Result<T, hla::RtiError>) -> Exception {
    match answer {
        Ok(_) => panic!("it was served"),
        Err(error) => error.exception,
    }
}

#[test]
fn federates_of_two_nodes_are_one_federation() {
    let mut c = Cluster::new(2);
    let a = c.join(0, 1);
    let b = c.join(1, 2);
    assert_ne!(a, b);
    c.connect(1, 3);
    assert_eq!(exception(c.call(1, 3, join("F", "federate 1"))), Exception::FederateNameAlreadyInUse);
    assert_eq!(exception(c.call(1, 3, destroy("F"))), Exception::FederatesCurrentlyJoined);

    c.call(0, 1, register("P")).unwrap();
    assert_eq!(c.notified(1, 2), [announced("P")]);
    assert_eq!(c.notified(0, 1).last(), Some(&announced("P")));
    c.call(1, 2, achieve("P", false)).unwrap();
    assert_eq!(c.notified(1, 2), []);
    c.call(0, 1, achieve("P", true)).unwrap();
    assert_eq!(c.notified(0, 1), [synchronized("P", &[b])]);
    assert_eq!(c.notified(1, 2), [synchronized("P", &[b])]);

    c.call(0, 1, reserve("tank")).unwrap();
    c.call(1, 2, reserve("tank")).unwrap();
    assert_eq!((c.notified(0, 1), c.notified(1, 2)), (vec![reserved("tank")], vec![not_reserved("tank")]));
    c.assert_equal();
}

#[test]
fn a_list_is_no_older_than_its_request() {
    let mut c = Cluster::new(2);
    c.join(0, 1);
    c.connect(1, 2);
    c.connect(0, 3);
    // Committed, but node 1 has not heard of it.
    let joined = c.begin(0, 3, join("F", "federate 3"));
    c.settle_without(&[1]);
    c.answer(0, 3, joined).unwrap().unwrap();
    let listed = c.begin(1, 2, list_members("F"));
    assert!(c.answer(1, 2, listed).is_none(), "it waits for its barrier");
    assert_eq!(c.notified(1, 2), []);
    c.settle();
    c.answer(1, 2, listed).unwrap().unwrap();
    let reported = c.notified(1, 2);
    match &reported[..] {
        [Callback::ReportFederationExecutionMembers(report)] => {
            assert_eq!(report.report.as_ref().unwrap().federation_execution_member_information.len(), 2);
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn one_node_lists_at_once() {
    let mut c = Cluster::new(1);
    c.connect(0, 1);
    let listed = c.begin(0, 1, list_members("F"));
    assert!(c.answer(0, 1, listed).is_some());
    assert!(matches!(&c.notified(0, 1)[..], [Callback::ReportFederationExecutionDoesNotExist(_)]));
    assert!(c.nodes[0].rti.poll_proposal().is_none());
}

#[test]
fn a_node_that_was_cut_off_tells_its_federates_what_they_missed() {
    let mut c = Cluster::new(2);
    c.join(0, 1);
    let b = c.join(1, 2);
    c.call(0, 1, register("P")).unwrap();
    c.call(1, 2, achieve("P", false)).unwrap();
    c.notified(1, 2);

    c.begin(0, 1, achieve("P", true));
    c.settle_without(&[1]);
    for label in ["Q", "P"] {
        c.begin(0, 1, register(label));
        c.settle_without(&[1]);
    }
    assert_eq!(c.notified(1, 2), []);
    c.restore(1);
    assert_eq!(c.notified(1, 2), [synchronized("P", &[b]), announced("Q"), announced("P")]);
    c.settle();
    assert_eq!(c.notified(1, 2), [], "nothing twice");
    c.call(1, 2, achieve("Q", true)).unwrap();
    c.call(0, 1, achieve("Q", true)).unwrap();
    assert_eq!(c.notified(1, 2), [synchronized("Q", &[])]);
    c.assert_equal();
}

#[test]
fn a_node_that_comes_late_starts_from_a_snapshot() {
    let mut c = Cluster::new(1);
    c.join(0, 1);
    c.call(0, 1, register("P")).unwrap();
    let late = c.start();
    c.settle_without(&[late]);
    c.restore(late);
    c.join(late, 2);
    assert_eq!(c.notified(late, 2), [announced("P")]);
    assert_eq!(c.members(), ["federate 1", "federate 2"]);
    c.assert_equal();
}

#[test]
fn nobody_joins_at_a_node_that_is_not_part_of_the_network() {
    let mut c = Cluster::new(1);
    c.join(0, 1);
    let late = c.start();
    c.settle();
    c.remove(late);
    c.settle();
    c.connect(late, 2);
    let error = c.call(late, 2, join("F", "federate 2")).map(|_| ()).unwrap_err();
    assert_eq!(error.exception, Exception::RTIinternalError);
    assert!(error.details.contains("(k200) is not part of the network"), "{error}");
    assert_eq!(c.members(), ["federate 1"]);
}

#[test]
fn a_node_taken_for_dead_loses_its_federates() {
    for by_snapshot in [false, true] {
        let mut c = Cluster::new(3);
        c.join(0, 1);
        c.join(1, 2);
        let set = api::SetAutomaticResignDirectiveRequest { value: ResignAction::DeleteObjects.into() };
        c.call(1, 2, Call::SetAutomaticResignDirectiveRequest(set)).unwrap();
        c.call(0, 1, register("P")).unwrap();
        c.call(0, 1, achieve("P", true)).unwrap();
        c.notified(0, 1);
        c.remove(1);
        c.settle_without(&[1]);
        assert_eq!(c.notified(0, 1), [synchronized("P", &[])], "nobody is waited for in vain");
        assert_eq!(c.nodes[1].rti.poll_lost(), None);
        match by_snapshot {
            true => c.restore(1),
            false => c.settle(),
        }
        let (caller, why) = c.nodes[1].rti.poll_lost().expect("its federate cannot go on");
        assert_eq!((caller, c.nodes[1].rti.is_joined(CallerId(2))), (CallerId(2), false));
        assert!(why.contains("for dead"), "{why}");
        c.close(1, 2);
        c.settle();
        assert_eq!(c.members(), ["federate 1"]);
        c.assert_equal();
    }
}

#[test]
fn calls_given_up_are_undone_when_they_are_committed_late() {
    let mut c = Cluster::new(2);
    c.join(0, 1);
    c.join(1, 2);
    c.connect(1, 3);
    let joining = c.begin(1, 3, join("F", "federate 3"));
    let reserving = c.begin(1, 2, reserve("tank"));
    c.propose(1);
    c.fail_waiting(1, "no majority of nodes");
    for (caller, call) in [(3, joining), (2, reserving)] {
        let error = c.answer(1, caller, call).unwrap().map(|_| ()).unwrap_err();
        assert_eq!(error.exception, Exception::RTIinternalError);
        assert!(error.details.contains("no majority of nodes"), "{error}");
    }
    c.settle();
    assert_eq!((c.notified(1, 2), c.notified(1, 3)), (vec![], vec![]));
    assert!(c.answer(1, 3, joining).is_none() && !c.nodes[1].rti.is_joined(CallerId(3)));
    assert_eq!(c.members(), ["federate 1", "federate 2"]);
    c.call(0, 1, reserve("tank")).unwrap();
    assert_eq!(c.notified(0, 1), [reserved("tank")], "it was released");
    c.call(1, 3, join("F", "federate 3")).unwrap();
    assert!(c.nodes[1].rti.is_joined(CallerId(3)));
    c.assert_equal();
}

#[test]
fn a_session_that_ends_while_it_waits_leaves_nothing_behind() {
    let mut c = Cluster::new(2);
    c.join(0, 1);
    c.join(1, 2);
    c.connect(1, 3);
    c.begin(1, 3, join("F", "federate 3"));
    c.begin(1, 2, reserve("tank"));
    c.propose(1);
    c.close(1, 3);
    c.close(1, 2);
    c.settle();
    assert_eq!(c.members(), ["federate 1"]);
    c.call(0, 1, reserve("tank")).unwrap();
    assert_eq!(c.notified(0, 1), [reserved("tank")]);
    c.assert_equal();
}

#[test]
fn calls_that_a_snapshot_covers_are_answered_as_far_as_it_shows() {
    let mut c = Cluster::new(2);
    c.join(0, 1);
    for caller in 2..=4 {
        c.join(1, caller);
    }
    for caller in 5..=8 {
        c.connect(1, caller);
    }
    c.call(1, 8, create("G")).unwrap();
    c.call(0, 1, register("P")).unwrap();
    for caller in 2..=4 {
        c.notified(1, caller);
    }
    let resign = api::ResignFederationExecutionRequest { resign_action: ResignAction::NoAction.into() };
    let calls = [
        (2, reserve("tank"), None),
        (3, achieve("P", true), Some(())),
        (4, Call::ResignFederationExecutionRequest(resign), Some(())),
        (5, join("F", "federate 5"), None),
        (6, create("H"), None),
        (7, list_members("F"), Some(())),
        (8, destroy("G"), Some(())),
    ];
    let calls = calls.map(|(caller, request, served)| (caller, c.begin(1, caller, request), served));
    c.propose(1);
    c.settle_without(&[1]);
    c.restore(1);
    for (caller, call, served) in calls {
        let answer = c.answer(1, caller, call).expect("an answer");
        assert_eq!(answer.map(|_| ()).ok(), served, "call of {caller}");
    }
    assert!(matches!(&c.notified(1, 7)[..], [Callback::ReportFederationExecutionMembers(_)]));
    assert_eq!(c.notified(1, 2), []);
    assert!(!c.nodes[1].rti.is_joined(CallerId(4)) && !c.nodes[1].rti.is_joined(CallerId(5)));
    c.settle();
    assert_eq!(c.members(), ["federate 1", "federate 2", "federate 3"], "the join was undone");
    c.notified(0, 1);
    c.call(0, 1, reserve("tank")).unwrap();
    assert_eq!(c.notified(0, 1), [reserved("tank")], "and so was the reservation");
    c.assert_equal();
}

#[test]
fn octets_that_are_no_command_or_snapshot_change_nothing() {
    let mut c = Cluster::new(1);
    c.join(0, 1);
    let before = c.nodes[0].rti.snapshot();
    let (now, key) = (base::Moment::from_secs(2), base::NodeKey(100));
    let rti = &mut c.nodes[0].rti;
    assert!(rti.commit_remote(now, key, b"\x01\xff\xff").is_err());
    assert!(rti.commit_remote(now, key, b"").is_err());
    assert!(rti.restore(now, &before.slice(..before.len() / 2)).is_err());
    assert_eq!(rti.snapshot(), before);
    assert!(rti.is_joined(CallerId(1)));
}

#[test]
fn a_snapshot_is_of_the_moment_when_it_was_begun() {
    let mut c = Cluster::new(1);
    c.join(0, 1);
    let before = c.nodes[0].rti.snapshot();
    c.nodes[0].rti.begin_snapshot();
    let job = c.nodes[0].rti.poll_job().expect("the state is to be encoded");
    c.call(0, 1, reserve("tank")).unwrap();
    let after = c.nodes[0].rti.snapshot();
    let rti = &mut c.nodes[0].rti;
    assert!(before != after && rti.take_snapshot().is_none());
    let now = base::Moment::from_secs(2);
    assert!(rti.finish_job(now, job.run()).is_none());
    assert_eq!((rti.take_snapshot(), rti.take_snapshot()), (Some(before), None));
    // One that is begun while another is encoded replaces it.
    rti.begin_snapshot();
    let first = rti.poll_job().expect("the state is to be encoded");
    rti.begin_snapshot();
    rti.finish_job(now, first.run());
    assert!(rti.take_snapshot().is_none());
    let second = rti.poll_job().expect("the state is to be encoded");
    rti.finish_job(now, second.run());
    assert_eq!(rti.take_snapshot(), Some(after));
}

#[test]
fn a_job_decodes_a_long_snapshot() {
    let mut c = Cluster::new(2);
    c.join(0, 1);
    for batch in 0..40 {
        let names = (0..100).map(|n| format!("a name of about thirty octets {batch} {n}"));
        c.call(0, 1, reserve_all(names)).unwrap();
    }
    c.notified(0, 1);
    let (snapshot, now) = (c.nodes[0].rti.snapshot(), base::Moment::from_secs(2));
    assert!(snapshot.len() > 64 << 10);
    let mut rti = Rti::new(Config::default(), Box::new(NoFoms));
    assert!(!rti.is_ready_to_restore(&snapshot));
    assert!(!rti.is_ready(&Command::Barrier), "nothing overtakes it");
    let job = rti.poll_job().expect("the snapshot is to be decoded");
    assert!(!rti.is_ready_to_restore(&snapshot));
    rti.finish_job(now, job.run());
    // Another one has the same octets at another place.
    let other = Bytes::copy_from_slice(&snapshot);
    assert!(rti.is_ready_to_restore(&snapshot));
    rti.restore(now, &snapshot).unwrap();
    assert_eq!(rti.snapshot(), snapshot);
    assert!(!rti.is_ready_to_restore(&other));
    // A damaged one is not decoded twice, and `restore` reports it.
    let damaged = snapshot.slice(..snapshot.len() - 1);
    let job = rti.poll_job().expect("the other one is to be decoded");
    rti.finish_job(now, job.run());
    assert!(!rti.is_ready_to_restore(&damaged));
    let job = rti.poll_job().expect("the damaged one is to be decoded");
    rti.finish_job(now, job.run());
    assert!(rti.is_ready_to_restore(&damaged));
    assert!(rti.restore(now, &damaged).is_err());
    assert_eq!(rti.snapshot(), snapshot);
}
