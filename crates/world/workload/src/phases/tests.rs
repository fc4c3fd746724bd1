use std::time::Duration;

use base::Moment;
use hla::api;
use hla::api::call_request::CallRequest as Call;
use hla::api::call_response::CallResponse as Answer;
use hla::api::callback_request::CallbackRequest as Callback;
use hla::api::{OrderType, ResignAction};
use hla::handle::{DimensionHandle, ObjectInstanceHandle, RegionHandle};
use hla::time::LogicalTime;
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
                    Action::Update(call) => {
                        self.asked.push(call.service().name);
                        continue;
                    }
                    Action::AwaitUpdates => Input::UpdatesAnswered,
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
        Call::GetDimensionHandleRequest(_) => {
            let result = Some(DimensionHandle::from_octets(&[1]));
            Answer::GetDimensionHandleResponse(api::GetDimensionHandleResponse { result })
        }
        Call::CreateRegionRequest(_) => {
            let result = Some(RegionHandle::from_octets(&[1]));
            Answer::CreateRegionResponse(api::CreateRegionResponse { result })
        }
        Call::RegisterObjectInstanceWithRegionsRequest(_) => {
            let result = Some(ObjectInstanceHandle::from_octets(&[1]));
            let response = api::RegisterObjectInstanceWithRegionsResponse { result };
            Answer::RegisterObjectInstanceWithRegionsResponse(response)
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

fn granted(time: f64) -> Input {
    let time = LogicalTime::float64(time).ok().map(Into::into);
    Input::CalledBack(Callback::TimeAdvanceGrant(api::TimeAdvanceGrant { time }))
}

fn regulating(order: OrderType, service: AdvanceService) -> Federate {
    let advance = Advance { steps: 2, updates: 3, order, service };
    let mut federate = with_orders([Order::Regulate(2), Order::Constrain, Order::Advance(advance)]);
    let mut rti = Granting::default();
    rti.serve(&mut federate);
    assert_eq!(rti.asked, ["enableTimeRegulation"]);
    let time = LogicalTime::float64(5.0).ok().map(Into::into);
    let enabled = Callback::TimeRegulationEnabled(api::TimeRegulationEnabled { time: time.clone() });
    federate.handle(rti.now, Input::CalledBack(enabled));
    rti.serve(&mut federate);
    let enabled = Callback::TimeConstrainedEnabled(api::TimeConstrainedEnabled { time });
    federate.handle(rti.now, Input::CalledBack(enabled));
    federate
}

/// It sends its updates with the earliest time stamps, and does not wait for their answers.
#[test]
fn a_federate_advances_in_steps() {
    let mut federate = regulating(OrderType::Timestamp, AdvanceService::NextMessage);
    let mut rti = Granting::default();
    for end in [6.0, 7.0] {
        rti.asked.clear();
        for number in 0..3 {
            let Some(Action::Update(call)) = federate.poll_action(rti.now) else { panic!("update {number}") };
            let Call::UpdateAttributeValuesWithTimeRequest(update) = call else { panic!("{call:?}") };
            assert_eq!(update.time, LogicalTime::float64(end + 1.0).ok().map(Into::into));
        }
        rti.serve(&mut federate);
        assert_eq!(rti.asked, ["nextMessageRequest"]);
        federate.handle(rti.now, granted(end - 0.5));
        rti.serve(&mut federate);
        assert_eq!(rti.asked, ["nextMessageRequest"; 2], "that is not the end of the step");
        federate.handle(rti.now, granted(end));
    }
    assert_eq!((federate.poll_action(rti.now), federate.orders_left()), (None, 0));
    assert_eq!(federate.take_times(), [20, 20].map(Duration::from_micros), "two requests each");
}

#[test]
fn a_time_that_is_none_is_a_failure() {
    let mut federate = regulating(OrderType::Receive, AdvanceService::TimeAdvance);
    federate.handle(Moment::ZERO, Input::CalledBack(Callback::TimeAdvanceGrant(Default::default())));
    assert!(federate.failure().is_some_and(|why| why.ends_with("is no HLAfloat64Time")));
}

fn on_square(number: usize) -> Federate {
    let scene = Scene { objects: 2, subscribers: 1, side: 2 * SIDE, moves: 1 };
    let plan = Plan::Regions { scene, steps: 1, size: 8 };
    plan.federates(number, plan.groups(1)[number], "F").next().unwrap()
}

#[test]
fn the_owner_of_objects_moves_their_regions_and_updates_them() {
    let mut federate = on_square(0);
    for order in [Order::RegisterAtPlaces(2), Order::MoveObjects(1), Order::UpdateMoving(2, 8)] {
        federate.order(order);
    }
    let mut rti = Granting::default();
    rti.serve(&mut federate);
    let placed =
        ["createRegion"; 2].into_iter().chain(["setRangeBounds"; 4]).chain(["commitRegionModifications"]);
    let moved = ["setRangeBounds", "setRangeBounds", "commitRegionModifications"];
    let expected: Vec<_> = ["getDimensionHandle"; 2]
        .into_iter()
        .chain(placed)
        .chain(["registerObjectInstanceWithRegions"; 2])
        .chain(moved)
        .chain(["updateAttributeValues"; 2])
        .collect();
    assert_eq!((rti.asked, federate.orders_left()), (expected, 0));
    assert_eq!(federate.take_times(), [Duration::from_micros(30)]);
}

/// One of two updates is lost.
#[test]
fn a_subscriber_waits_for_what_is_near_but_not_for_ever() {
    let mut federate = on_square(1);
    for order in [Order::SubscribeAround, Order::AwaitNear, Order::See] {
        federate.order(order);
    }
    let mut rti = Granting::default();
    rti.serve(&mut federate);
    assert_eq!(rti.asked.last(), Some(&"subscribeObjectClassAttributesWithRegions"));
    assert_eq!(federate.orders_left(), 2);
    (0..2).for_each(|_| federate.handle(rti.now, found()));
    let value = |octets| {
        let value = api::AttributeHandleValue { attribute_handle: None, value: octets };
        api::AttributeHandleValueMap { attribute_handle_value: vec![value] }
    };
    let octets = bytes::Bytes::from_static(&[0; 8]);
    let reflect = api::ReflectAttributeValues { attribute_values: Some(value(octets)), ..Default::default() };
    federate.handle(rti.now, Input::CalledBack(Callback::ReflectAttributeValues(reflect)));
    rti.serve(&mut federate);
    assert_eq!((federate.orders_left(), rti.waited), (0, Duration::from_secs(10)));
    assert_eq!(federate.take_counts(), Counts { reflects: 1, expected: 2, reached: 1, surplus: 0 });
    assert_eq!(federate.take_counts(), Counts::default());
}

#[test]
fn a_federate_tells_what_it_waits_for() {
    let mut federate = with_orders([Order::Await(Awaited::Removal, 3)]);
    assert_eq!(federate.waits_for(), None, "it has not begun");
    assert_eq!(federate.poll_action(Moment::ZERO), None);
    let text = "Remove Object Instance at federate 1 of 1: 0 of 3 have come";
    assert_eq!(federate.waits_for().as_deref(), Some(text));
    let mut federate = with_orders([Order::Save]);
    assert!(matches!(federate.poll_action(Moment::ZERO), Some(Action::Call(_))));
    assert_eq!(federate.waits_for().as_deref(), Some("the answer to Save at federate 1 of 1"));
    let mut federate = Federate::new("F", (1, 2));
    federate.order(Order::Join(Duration::from_secs(9)));
    assert_eq!(federate.poll_action(Moment::ZERO), None);
    assert_eq!(federate.waits_for(), None, "it pauses");
}

/// It waits for the answers, and updates the first object of the class.
#[test]
fn a_flood_is_over_when_its_updates_are_answered() {
    let orders = [Order::Register(Class::Pong, 2), Order::Flood(Class::Pong, 3, 10)];
    let mut federate = with_orders(orders);
    let mut rti = Granting::default();
    let mut sent = 0;
    while federate.orders_left() > 0 {
        let action = federate.poll_action(rti.now).expect("it goes on");
        rti.now += Duration::from_micros(10);
        match action {
            Action::Call(call) => federate.handle(rti.now, Input::Answered(answer(&call))),
            Action::Update(Call::UpdateAttributeValuesRequest(update)) => {
                sent += 1;
                assert_eq!(update.object_instance, Some(ObjectInstanceHandle::from_octets(&[1])));
                let values = update.attribute_values.unwrap().attribute_handle_value;
                assert_eq!(values.iter().map(|value| value.value.len()).collect::<Vec<_>>(), [10]);
            }
            Action::AwaitUpdates => {
                assert_eq!((sent, federate.poll_action(rti.now)), (3, None), "it waits");
                federate.handle(rti.now, Input::UpdatesAnswered);
                assert_eq!(federate.poll_action(rti.now), None);
            }
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(federate.take_times(), [Duration::from_micros(40)], "three updates and their answers");
}

/// Every update of a publisher is one for the subscriber, in each slice.
#[test]
fn floods_are_as_many_updates_as_reflects() {
    for (fan, reflects) in [(Fan::In { publishers: 3 }, 100), (Fan::Out { subscribers: 4 }, 400)] {
        let floods = Floods { fan, updates: 100, slices: 3, size: 8 };
        assert_eq!(floods.singles(), reflects);
        let groups = Plan::Floods(floods).groups(2);
        let (mut updates, mut awaited) = ([0; 2], [0; 2]);
        let phases = Plan::Floods(floods).phases(2);
        let names: Vec<_> = phases.iter().filter_map(|phase| phase.name).collect();
        assert_eq!(names, [Floods::MANY, Floods::TAKEN, Floods::ONE].repeat(3));
        for phase in phases.iter().filter(|phase| phase.name.is_some()) {
            let at = usize::from(phase.name == Some(Floods::ONE));
            for (group, order) in &phase.orders {
                match order {
                    Order::Flood(_, count, 8) => updates[at] += u64::from(*count),
                    Order::Await(Awaited::Reflect, count) => {
                        awaited[at] += u64::from(*count) * u64::from(groups[*group].federates);
                    }
                    other => panic!("{other:?}"),
                }
            }
        }
        assert_eq!((updates, awaited), ([100, reflects], [reflects; 2]), "{fan:?}");
    }
}

fn plan() -> impl Strategy<Value = Plan> {
    (0..7, [0..2_000_u32, 0..2_000, 0..50, 0..50], any::<[bool; 2]>()).prop_map(
        |(kind, numbers, [one, other])| {
            let [first, second, third, fourth] = numbers;
            match kind {
                0 => Plan::Joins { federates: first, within: Duration::from_micros(second.into()) },
                1 => Plan::Objects { objects: first },
                2 => Plan::Ownership { transfers: first, objects: second },
                3 => Plan::Saves { objects: first },
                4 => {
                    let order = if one { OrderType::Receive } else { OrderType::Timestamp };
                    let service =
                        if other { AdvanceService::TimeAdvance } else { AdvanceService::NextMessage };
                    let advance = Advance { steps: second, updates: third, order, service };
                    Plan::Grants(Grants { federates: first, lookahead: fourth, advance })
                }
                5 => {
                    let fan =
                        if one { Fan::In { publishers: fourth } } else { Fan::Out { subscribers: fourth } };
                    Plan::Floods(Floods { fan, updates: first, slices: third, size: second })
                }
                _ => {
                    let scene = Scene { objects: first, subscribers: third, side: second, moves: first / 2 };
                    Plan::Regions { scene, steps: fourth, size: second }
                }
            }
        },
    )
}

proptest! {
    #[test]
    fn a_plan_is_the_same_in_words(plan in plan()) {
        let words = plan.words();
        let words: Vec<_> = words.iter().map(String::as_str).collect();
        prop_assert_eq!(Plan::of_words(&words), Some(plan));
    }

    /// A phase waits for groups that exist, and the first order of every group is to join. A federate
    /// that joins leaves in the end, or its session is terminated.
    #[test]
    fn every_group_joins_and_leaves(plan in plan(), nodes in 1..5_usize) {
        let groups = plan.groups(nodes).len();
        let mut orders = vec![Vec::new(); groups];
        for phase in plan.phases(nodes) {
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
    let words = [
        &["joins", "x", "1"][..],
        &["joins", "1", "-1"],
        &["joins", "1"],
        &["dance", "1"],
        &["objects", ""],
        &["grants", "1", "1", "1", "1", "timestamp", "no-message"],
        &[],
    ];
    for words in words {
        assert_eq!(Plan::of_words(words), None, "{words:?}");
    }
}
