use std::time::Duration;

use base::Moment;
use hla::api;
use hla::api::ResignAction;
use hla::api::call_request::CallRequest as Call;
use hla::api::call_response::CallResponse as Answer;
use hla::api::callback_request::CallbackRequest as Callback;
use hla::handle::ObjectInstanceHandle;
use proptest::prelude::*;

use super::*;

/// An RTI that grants everything and remembers what it was asked.
#[derive(Default)]
struct Granting {
    now: Moment,
    asked: Vec<&'static str>,
    /// The longest time that the federate has waited for its timer.
    waited: Duration,
}

impl Granting {
    /// Serves a federate until it wants nothing more.
    fn serve(&mut self, federate: &mut Federate) {
        loop {
            while let Some(action) = federate.poll_action(self.now) {
                self.now += Duration::from_micros(10);
                let input = match action {
                    Action::Connect => Input::Connected,
                    Action::Terminate => Input::Ended,
                    Action::Call(call) => {
                        self.asked.push(call.service().name);
                        Input::Answered(answer(&call))
                    }
                };
                federate.handle(self.now, input);
            }
            let Some(at) = federate.poll_timeout().filter(|_| federate.orders_left() > 0) else { return };
            self.waited = self.waited.max(at.since(self.now));
            self.now = self.now.max(at);
        }
    }
}

fn answer(call: &Call) -> Answer {
    match call {
        Call::GetObjectClassHandleRequest(_) => {
            Answer::GetObjectClassHandleResponse(api::GetObjectClassHandleResponse { result: None })
        }
        Call::RegisterObjectInstanceRequest(_) => {
            let result = Some(ObjectInstanceHandle::from_octets(&[1]));
            Answer::RegisterObjectInstanceResponse(api::RegisterObjectInstanceResponse { result })
        }
        Call::UpdateAttributeValuesRequest(_) => {
            Answer::UpdateAttributeValuesResponse(api::UpdateAttributeValuesResponse {})
        }
        Call::FederateSaveBegunRequest(_) => {
            Answer::FederateSaveBegunResponse(api::FederateSaveBegunResponse {})
        }
        Call::FederateSaveCompleteRequest(_) => {
            Answer::FederateSaveCompleteResponse(api::FederateSaveCompleteResponse {})
        }
        // Any other answer counts as one to the call of the step.
        _ => Answer::DisconnectResponse(api::DisconnectResponse {}),
    }
}

fn found() -> Input {
    Input::CalledBack(Callback::DiscoverObjectInstance(api::DiscoverObjectInstance::default()))
}

fn with_orders<const N: usize>(orders: [Order; N]) -> Federate {
    let mut federate = Federate::new("F", (0, 1));
    orders.into_iter().for_each(|order| federate.order(order));
    federate
}

#[test]
fn a_federate_joins_and_leaves_and_records_both() {
    let mut federate = with_orders([Order::Join(Duration::ZERO), Order::Leave(ResignAction::NoAction)]);
    let mut rti = Granting::default();
    rti.serve(&mut federate);
    assert_eq!(rti.asked, ["joinFederationExecution", "resignFederationExecution", "disconnect"]);
    // Two steps of 10 µs to join, and three to leave.
    assert_eq!(federate.take_times(), [20, 30].map(Duration::from_micros));
    assert_eq!(federate.finished(), Moment::from_micros(50));
    assert_eq!(federate.take_times(), []);
}

#[test]
fn federates_connect_evenly_within_the_time() {
    let begins = |of: u32| {
        let begin = |place| {
            let mut federate = Federate::new("F", (place, of));
            federate.order(Order::Join(Duration::from_millis(40)));
            let mut rti = Granting::default();
            rti.serve(&mut federate);
            rti.waited.as_millis()
        };
        (0..of).map(begin).collect::<Vec<_>>()
    };
    assert_eq!(begins(5), [0, 10, 20, 30, 40]);
    assert_eq!(begins(1), [0]);
}

#[test]
fn a_wait_counts_from_the_end_of_the_last_one() {
    let mut federate = with_orders([]);
    let mut rti = Granting::default();
    federate.handle(rti.now, found());
    federate.order(Order::Await(Awaited::Discovery, 2));
    rti.serve(&mut federate);
    assert_eq!(federate.orders_left(), 1, "one came before the order, and one is missing");
    (0..3).for_each(|_| federate.handle(rti.now, found()));
    federate.order(Order::Await(Awaited::Discovery, 2));
    rti.serve(&mut federate);
    assert_eq!(federate.orders_left(), 0, "four came");
    federate.order(Order::Await(Awaited::Removal, 1));
    federate.handle(rti.now, found());
    rti.serve(&mut federate);
    assert_eq!(federate.orders_left(), 1, "that is none");
}

#[test]
fn a_canary_pauses_after_each_round_trip() {
    let mut federate = with_orders([Order::Join(Duration::ZERO), Order::Canary]);
    let mut rti = Granting::default();
    rti.serve(&mut federate);
    assert_eq!(federate.orders_left(), 1, "there is no echo yet");
    federate.handle(rti.now, found());
    rti.serve(&mut federate);
    assert_eq!(rti.asked.last(), Some(&"updateAttributeValues"));
    assert_eq!(federate.poll_timeout(), None, "it waits for the answer");
    federate.order(Order::EndRound);
    rti.serve(&mut federate);
    assert_eq!(federate.orders_left(), 1, "its round trip is under way");
    let _ = federate.take_times();
    let reflect = Callback::ReflectAttributeValues(api::ReflectAttributeValues::default());
    rti.now += Duration::from_micros(70);
    federate.handle(rti.now, Input::CalledBack(reflect));
    assert_eq!(federate.poll_action(rti.now), None);
    assert_eq!((federate.orders_left(), federate.take_times().len()), (0, 1));
    assert_eq!(federate.poll_timeout(), Some(rti.now + Duration::from_millis(5)));
    federate.order(Order::Leave(ResignAction::NoAction));
    rti.serve(&mut federate);
    assert_eq!(federate.poll_timeout(), None, "it is gone");
}

#[test]
fn a_federation_that_is_not_saved_is_a_failure() {
    let mut federate = with_orders([Order::Save, Order::Await(Awaited::Save, 1)]);
    let mut rti = Granting::default();
    rti.serve(&mut federate);
    let initiate = Callback::InitiateFederateSave(api::InitiateFederateSave::default());
    federate.handle(rti.now, Input::CalledBack(initiate));
    rti.serve(&mut federate);
    assert_eq!(rti.asked, ["requestFederationSave", "federateSaveBegun", "federateSaveComplete"]);
    assert_eq!(federate.failure(), None);
    let failed = Callback::FederationNotSaved(api::FederationNotSaved { reason: 0 });
    federate.handle(rti.now, Input::CalledBack(failed));
    assert!(federate.failure().is_some_and(|why| why.starts_with("the federation was not saved: ")));
    assert_eq!(federate.poll_action(rti.now), None);
}

fn plan() -> impl Strategy<Value = Plan> {
    let number = 0..2_000_u32;
    (0..4, number.clone(), number).prop_map(|(kind, first, second)| match kind {
        0 => Plan::Joins { federates: first, within: Duration::from_micros(second.into()) },
        1 => Plan::Objects { objects: first },
        2 => Plan::Ownership { transfers: first, objects: second },
        _ => Plan::Saves { objects: first },
    })
}

proptest! {
    #[test]
    fn a_plan_is_the_same_in_words(plan in plan()) {
        let words = plan.words();
        prop_assert_eq!(Plan::of_words([&words[0], &words[1], &words[2]]), Some(plan));
    }

    /// A phase waits for groups that exist, and the first order of every group is to join. A federate
    /// that joins leaves in the end, or its session is terminated.
    #[test]
    fn every_group_joins_and_leaves(plan in plan()) {
        let groups = plan.groups().len();
        let mut orders = vec![Vec::new(); groups];
        for phase in plan.phases() {
            phase.orders.iter().for_each(|(group, order)| orders[*group].push(*order));
            prop_assert!(phase.until.iter().all(|group| *group < groups));
        }
        for of_group in orders {
            let is_in = |is_in: bool, order: &Order| match order {
                Order::Join(_) => { assert!(!is_in, "it joins twice"); true }
                Order::Leave(_) | Order::Terminate => { assert!(is_in, "it is not in"); false }
                _ => { assert!(is_in, "{order:?} needs a joined federate"); true }
            };
            prop_assert!(!of_group.iter().fold(false, is_in), "it stays");
        }
    }
}

#[test]
fn other_words_are_no_plan() {
    for words in [["joins", "x", "1"], ["joins", "1", "-1"], ["dance", "1", "1"], ["objects", "", "0"]] {
        assert_eq!(Plan::of_words(words), None, "{words:?}");
    }
}
