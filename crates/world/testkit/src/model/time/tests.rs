//! The edge cases of time management, by their numbers. Times are integers.

use super::{Advance, Answer, Callback, Request, Sending, Step, TimeModel};
use Advance::{Fqr, Nmr, Nmra, Tar, Tara};
use hla::Exception::{self, *};
use hla::api::OrderType::{Receive, Timestamp};
use hla::handle::FederateHandle;
use hla::time::{LogicalTime, LogicalTimeInterval, TimeKind};

const F1: FederateHandle = FederateHandle(1);
const F2: FederateHandle = FederateHandle(2);
const F3: FederateHandle = FederateHandle(3);

fn t(time: i64) -> LogicalTime {
    LogicalTime::integer64(time).unwrap()
}

fn l(interval: i64) -> LogicalTimeInterval {
    LogicalTimeInterval::integer64(interval).unwrap()
}

/// A federation of `N` federates, which may advance without regulating ones.
fn federation(federates: u32) -> TimeModel {
    let mut model = TimeModel::new(TimeKind::Integer64, true);
    (1..=federates).for_each(|number| model.join(FederateHandle(number), false).0);
    model
}

type Heard = Vec<(FederateHandle, Callback)>;

/// A call that succeeds, with the callbacks that it causes.
fn call(model: &mut TimeModel, handle: FederateHandle, request: Request) -> Heard {
    let (answer, heard) = model.call(handle, request);
    answer.expect("a call that may be made");
    heard
}

fn refused(model: &mut TimeModel, handle: FederateHandle, request: Request) -> Exception {
    let (answer, heard): Step<_> = model.call(handle, request);
    assert_eq!(heard, []);
    answer.expect_err("a call that must be refused")[0]
}

fn advance(model: &mut TimeModel, handle: FederateHandle, service: Advance, to: i64) -> Heard {
    call(model, handle, Request::Advance(service, t(to)))
}

fn regulate(model: &mut TimeModel, handle: FederateHandle, lookahead: i64) -> Heard {
    call(model, handle, Request::EnableRegulation(l(lookahead)))
}

fn constrain(model: &mut TimeModel, handle: FederateHandle) -> Heard {
    call(model, handle, Request::EnableConstrained)
}

/// Sends an interaction and returns its number.
fn send(model: &mut TimeModel, handle: FederateHandle, time: i64) -> usize {
    match model.call(handle, Request::Send(Sending::Interaction, Some(t(time)))).0 {
        Ok(Answer::Sent(Some(number))) => number,
        other => panic!("{other:?}"),
    }
}

fn interaction(time: i64) -> Request {
    Request::Send(Sending::Interaction, Some(t(time)))
}

fn granted(handle: FederateHandle, time: i64) -> (FederateHandle, Callback) {
    (handle, Callback::Granted(t(time)))
}

fn in_time(handle: FederateHandle, message: usize) -> (FederateHandle, Callback) {
    (handle, Callback::Message(message, Timestamp))
}

fn at_once(handle: FederateHandle, message: usize) -> (FederateHandle, Callback) {
    (handle, Callback::Message(message, Receive))
}

#[test]
fn case_81_without_regulation_a_grant_depends_on_the_switch() {
    let mut model = federation(1);
    constrain(&mut model, F1);
    assert_eq!(advance(&mut model, F1, Tar, 100), [granted(F1, 100)]);
    let mut model = TimeModel::new(TimeKind::Integer64, false);
    let _ = (model.join(F1, false), model.join(F2, true));
    constrain(&mut model, F1);
    constrain(&mut model, F2);
    assert_eq!(advance(&mut model, F1, Tar, 100), []);
    assert_eq!(advance(&mut model, F2, Tar, 100), [granted(F2, 100)], "the 2010 edition has no switch");
}

#[test]
fn case_82_a_message_at_the_bound_may_come() {
    for (service, to, is_granted) in [(Tar, 12, false), (Tara, 12, true), (Tar, 11, true), (Tara, 13, false)]
    {
        let mut model = federation(2);
        regulate(&mut model, F1, 2);
        advance(&mut model, F1, Tar, 10);
        constrain(&mut model, F2);
        let heard = advance(&mut model, F2, service, to);
        assert_eq!(heard == [granted(F2, to)], is_granted, "{service:?} {to}");
    }
}

#[test]
fn case_83_zero_lookahead_after_tar_closes_the_time() {
    let mut model = federation(2);
    regulate(&mut model, F1, 0);
    constrain(&mut model, F2);
    advance(&mut model, F1, Tar, 10);
    assert_eq!(refused(&mut model, F1, interaction(10)), InvalidLogicalTime);
    assert_eq!(advance(&mut model, F2, Tar, 10), [granted(F2, 10)]);
    // Time Advance Request Available does not open it again.
    advance(&mut model, F1, Tara, 10);
    assert_eq!(refused(&mut model, F1, interaction(10)), InvalidLogicalTime);
}

#[test]
fn case_84_zero_lookahead_after_tara_leaves_the_time_open() {
    let mut model = federation(2);
    regulate(&mut model, F1, 0);
    constrain(&mut model, F2);
    advance(&mut model, F1, Tara, 10);
    assert_eq!(advance(&mut model, F2, Tara, 10), [granted(F2, 10)]);
    assert_eq!(advance(&mut model, F2, Tar, 10), []);
    let message = send(&mut model, F1, 10);
    assert_eq!(advance(&mut model, F1, Tar, 10), [granted(F1, 10), in_time(F2, message), granted(F2, 10)]);
}

#[test]
fn case_85_a_pending_advance_raises_the_bound() {
    let mut model = federation(3);
    regulate(&mut model, F1, 5);
    constrain(&mut model, F1);
    regulate(&mut model, F2, 1);
    constrain(&mut model, F3);
    assert_eq!(advance(&mut model, F1, Tar, 20), []);
    assert_eq!(refused(&mut model, F1, interaction(24)), InvalidLogicalTime);
    send(&mut model, F1, 25);
    assert_eq!(model.call(F2, Request::QueryGalt).0, Ok(Answer::Time(Some(t(25)))));
}

#[test]
fn case_86_a_next_message_request_may_be_granted_early() {
    let mut model = federation(3);
    regulate(&mut model, F1, 1);
    constrain(&mut model, F1);
    regulate(&mut model, F2, 1);
    send(&mut model, F2, 7);
    advance(&mut model, F1, Nmr, 20);
    advance(&mut model, F2, Tar, 4);
    assert_eq!(model.call(F3, Request::QueryGalt).0, Ok(Answer::Time(Some(t(5)))));
    advance(&mut model, F2, Tara, 6);
    assert_eq!(model.call(F2, Request::QueryGalt).0, Ok(Answer::Time(Some(t(8)))));
}

#[test]
fn case_87_one_advance_at_a_time_and_never_back() {
    let mut model = federation(2);
    regulate(&mut model, F2, 1);
    constrain(&mut model, F1);
    advance(&mut model, F1, Tar, 5);
    assert_eq!(refused(&mut model, F1, Request::Advance(Tar, t(6))), InTimeAdvancingState);
    advance(&mut model, F2, Tar, 5);
    assert_eq!(refused(&mut model, F1, Request::Advance(Nmr, t(4))), LogicalTimeAlreadyPassed);
    assert_eq!(advance(&mut model, F1, Tar, 5), [granted(F1, 5)]);
}

#[test]
fn case_88_a_pending_role_forbids_advances() {
    let mut model = federation(2);
    assert_eq!(regulate(&mut model, F1, 5), [(F1, Callback::RegulationEnabled(t(0)))]);
    assert_eq!(refused(&mut model, F1, Request::EnableRegulation(l(5))), TimeRegulationAlreadyEnabled);
    advance(&mut model, F2, Tar, 100);
    assert_eq!(constrain(&mut model, F2), []);
    assert_eq!(refused(&mut model, F2, Request::Advance(Tar, t(101))), RequestForTimeConstrainedPending);
    assert_eq!(refused(&mut model, F2, Request::EnableConstrained), RequestForTimeConstrainedPending);
}

#[test]
fn case_89_regulation_begins_where_no_constrained_federate_has_been() {
    let mut model = federation(2);
    constrain(&mut model, F2);
    advance(&mut model, F2, Tar, 50);
    assert_eq!(regulate(&mut model, F1, 5), [(F1, Callback::RegulationEnabled(t(45)))]);
    assert_eq!(model.call(F1, Request::QueryTime).0, Ok(Answer::Time(Some(t(45)))));
    assert_eq!(refused(&mut model, F1, interaction(50)), InvalidLogicalTime, "F2 has closed 50");
    send(&mut model, F1, 51);
}

#[test]
fn case_90_constraint_begins_when_the_past_is_closed() {
    let mut model = federation(2);
    regulate(&mut model, F2, 5);
    advance(&mut model, F1, Tar, 100);
    assert_eq!(constrain(&mut model, F1), []);
    assert_eq!(advance(&mut model, F2, Tar, 94), [granted(F2, 94)]);
    let enabled = (F1, Callback::ConstrainedEnabled(t(100)));
    assert_eq!(advance(&mut model, F2, Tar, 95), [granted(F2, 95), enabled]);
}

#[test]
fn case_91_receive_order_waits_while_a_constrained_federate_is_idle() {
    let mut model = federation(2);
    constrain(&mut model, F2);
    let untimed = Request::Send(Sending::Interaction, None);
    assert_eq!(call(&mut model, F1, untimed), []);
    assert_eq!(advance(&mut model, F2, Tar, 1), [at_once(F2, 0), granted(F2, 1)]);
    assert_eq!(call(&mut model, F1, untimed), []);
    assert_eq!(call(&mut model, F2, Request::Asynchronous(true)), [at_once(F2, 1)]);
    assert_eq!(call(&mut model, F1, untimed), [at_once(F2, 2)]);
}

#[test]
fn case_92_messages_come_by_their_times() {
    let mut model = federation(2);
    regulate(&mut model, F1, 1);
    constrain(&mut model, F2);
    let [a, b, c] = [5, 5, 3].map(|time| send(&mut model, F1, time));
    let (at, after) = (send(&mut model, F1, 10), send(&mut model, F1, 11));
    advance(&mut model, F1, Tar, 10);
    let expected = [c, a, b, at].map(|message| in_time(F2, message));
    let heard = advance(&mut model, F2, Tar, 10);
    assert_eq!(heard, [&expected[..], &[granted(F2, 10)]].concat());
    advance(&mut model, F1, Tar, 11);
    assert_eq!(advance(&mut model, F2, Tar, 11), [in_time(F2, after), granted(F2, 11)]);
}

#[test]
fn case_93_next_message_request_stops_at_the_next_message() {
    for service in [Nmr, Nmra] {
        let mut model = federation(2);
        regulate(&mut model, F1, 1);
        constrain(&mut model, F2);
        let [a, b, c] = [7, 7, 9].map(|time| send(&mut model, F1, time));
        advance(&mut model, F1, Tar, 30);
        let heard = advance(&mut model, F2, service, 20);
        assert_eq!(heard, [in_time(F2, a), in_time(F2, b), granted(F2, 7)]);
        assert_eq!(advance(&mut model, F2, service, 20), [in_time(F2, c), granted(F2, 9)]);
        assert_eq!(advance(&mut model, F2, service, 20), [granted(F2, 20)]);
    }
}

#[test]
fn case_94_flush_queue_request_delivers_all() {
    let mut model = TimeModel::new(TimeKind::Integer64, true);
    let _ = (model.join(F1, false), model.join(F2, false), model.join(F3, true));
    regulate(&mut model, F1, 1);
    constrain(&mut model, F2);
    constrain(&mut model, F3);
    let [a, b] = [5, 30].map(|time| send(&mut model, F1, time));
    advance(&mut model, F1, Tar, 7);
    let flushed = (F2, Callback::Flushed(t(5), t(5)));
    assert_eq!(advance(&mut model, F2, Fqr, 20), [in_time(F2, a), in_time(F2, b), flushed]);
    assert_eq!(advance(&mut model, F3, Fqr, 20), [in_time(F3, a), in_time(F3, b), granted(F3, 5)]);
    assert_eq!(advance(&mut model, F2, Fqr, 20), [(F2, Callback::Flushed(t(8), t(20)))]);
}

#[test]
fn case_95_a_lower_lookahead_comes_with_time() {
    let mut model = federation(1);
    advance(&mut model, F1, Tar, 100);
    regulate(&mut model, F1, 10);
    call(&mut model, F1, Request::ModifyLookahead(l(0)));
    assert_eq!(model.call(F1, Request::QueryLookahead).0, Ok(Answer::Lookahead(l(10))));
    advance(&mut model, F1, Tara, 104);
    assert_eq!(model.call(F1, Request::QueryLookahead).0, Ok(Answer::Lookahead(l(6))));
    assert_eq!(refused(&mut model, F1, interaction(109)), InvalidLogicalTime);
    send(&mut model, F1, 110);
    call(&mut model, F1, Request::ModifyLookahead(l(8)));
    assert_eq!(model.call(F1, Request::QueryLookahead).0, Ok(Answer::Lookahead(l(8))));
    constrain(&mut model, F1);
    model.join(F2, false);
    regulate(&mut model, F2, 0);
    advance(&mut model, F1, Tar, 200);
    assert_eq!(refused(&mut model, F1, Request::ModifyLookahead(l(9))), InTimeAdvancingState);
}

#[test]
fn case_96_without_constraint_the_queue_is_receive_order() {
    let mut model = federation(2);
    regulate(&mut model, F1, 1);
    constrain(&mut model, F2);
    let [a, b] = [9, 5].map(|time| send(&mut model, F1, time));
    advance(&mut model, F2, Tar, 3);
    let heard = call(&mut model, F2, Request::DisableConstrained);
    assert_eq!(heard, [at_once(F2, b), at_once(F2, a), granted(F2, 3)]);
}

#[test]
fn case_97_the_last_regulator_leaves() {
    let mut model = federation(2);
    regulate(&mut model, F1, 1);
    constrain(&mut model, F2);
    let message = send(&mut model, F1, 20);
    assert_eq!(advance(&mut model, F2, Tar, 50), []);
    assert_eq!(model.leave(F1, true).1, [in_time(F2, message), granted(F2, 50)]);
}

#[test]
fn case_98_retraction() {
    let mut model = federation(3);
    regulate(&mut model, F1, 1);
    constrain(&mut model, F2);
    let heard = call(&mut model, F1, interaction(9));
    assert_eq!(heard, [at_once(F3, 0)]);
    assert_eq!(refused(&mut model, F2, Request::Retract(0)), TimeRegulationIsNotEnabled);
    assert_eq!(refused(&mut model, F1, Request::Retract(1)), InvalidMessageRetractionHandle);
    assert_eq!(call(&mut model, F1, Request::Retract(0)), [(F3, Callback::RequestRetraction(0))]);
    assert_eq!(refused(&mut model, F1, Request::Retract(0)), MessageCanNoLongerBeRetracted);
    advance(&mut model, F1, Tar, 30);
    assert_eq!(advance(&mut model, F2, Tar, 20), [granted(F2, 20)]);
    // A message at the bound itself is final from the beginning.
    let at_bound = send(&mut model, F1, 31);
    assert_eq!(refused(&mut model, F1, Request::Retract(at_bound)), MessageCanNoLongerBeRetracted);
}

#[test]
fn case_98_retraction_of_a_deletion_brings_the_instance_back() {
    let mut model = federation(3);
    regulate(&mut model, F1, 1);
    constrain(&mut model, F2);
    call(&mut model, F1, Request::Register);
    let delete = Request::Send(Sending::Delete(0), Some(t(9)));
    assert_eq!(call(&mut model, F1, delete), [at_once(F3, 0)]);
    assert_eq!(refused(&mut model, F1, delete), ObjectInstanceNotKnown);
    assert_eq!(call(&mut model, F1, Request::Retract(0)), [(F3, Callback::RequestRetraction(0))]);
    let update = Request::Send(Sending::Update(0), None);
    call(&mut model, F2, Request::Asynchronous(true));
    assert_eq!(call(&mut model, F1, update), [at_once(F2, 1), at_once(F3, 1)]);
}

#[test]
fn case_99_every_interval_above_zero_advances_a_float() {
    let mut model = TimeModel::new(TimeKind::Float64, true);
    let _ = (model.join(F1, false), model.join(F2, false));
    let far = LogicalTime::float64(1e17).unwrap();
    constrain(&mut model, F2);
    call(&mut model, F1, Request::Advance(Tar, far));
    call(&mut model, F1, Request::EnableRegulation(TimeKind::Float64.epsilon()));
    let next = far.add(TimeKind::Float64.epsilon()).unwrap();
    assert!(next > far);
    assert_eq!(model.call(F2, Request::QueryGalt).0, Ok(Answer::Time(Some(next))));
    let at_far = Request::Send(Sending::Interaction, Some(far));
    assert_eq!(refused(&mut model, F1, at_far), InvalidLogicalTime);
    assert_eq!(call(&mut model, F2, Request::Advance(Tar, far)), [(F2, Callback::Granted(far))]);
}

#[test]
fn case_100_an_update_before_the_deletion_at_the_same_time() {
    let mut model = federation(2);
    regulate(&mut model, F1, 1);
    constrain(&mut model, F2);
    call(&mut model, F1, Request::Register);
    call(&mut model, F1, Request::Send(Sending::Update(0), Some(t(5))));
    call(&mut model, F1, Request::Send(Sending::Delete(0), Some(t(5))));
    advance(&mut model, F1, Tar, 5);
    assert_eq!(advance(&mut model, F2, Tar, 5), [in_time(F2, 0), in_time(F2, 1), granted(F2, 5)]);
    assert!(model.instances()[0].known.is_empty());
}

#[test]
fn next_message_requests_with_lookahead_reach_each_other() {
    let mut model = federation(3);
    for handle in [F1, F2, F3] {
        regulate(&mut model, handle, 1);
        constrain(&mut model, handle);
    }
    assert_eq!(advance(&mut model, F1, Nmr, 100), []);
    assert_eq!(advance(&mut model, F2, Nmr, 50), []);
    assert_eq!(advance(&mut model, F3, Nmr, 70), [granted(F2, 50)]);
}
