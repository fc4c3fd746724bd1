//! Streams of reliable messages that end and start again while a follower is late.

use crate::weather;
use base::Seed;
use hla::api;
use hla::api::call_request::CallRequest as Call;
use hla::api::callback_request::CallbackRequest as Callback;
use std::time::Duration;
use testkit::observation::Observation;
use testkit::{Cluster, FaultKind, Options, Shape, Timing, stamp};

/// Number of messages after the publisher's new start.
const MESSAGES: usize = 20;

/// A publisher ends and starts again. A node learns of the end so late that it unsubscribes when
/// the publisher has already been publishing again for long. It still gets all messages since the
/// new start, although for a moment nobody followed the stream.
#[test]
fn a_late_follower_gets_the_messages_since_the_new_beginning() {
    for way in [1, 2, 4, 6] {
        begins_anew_for_a_late_follower(Duration::from_secs(way));
    }
}

fn begins_anew_for_a_late_follower(way: Duration) {
    let mut options = Options::quiet(Seed(3), Shape::connected_graphs(2).remove(0), 2);
    // Links stay up, however late everything is.
    options.timing = Timing {
        silence: Duration::from_secs(20),
        node: Duration::from_secs(30),
        minority: Duration::from_secs(60),
        ..Timing::USUAL
    };
    options.homes = Some(vec![0, 1]);
    let mut cluster = Cluster::new(options);
    weather::prepare(&mut cluster, 1).unwrap_or_else(|failure| panic!("{failure}"));
    let (speaks, hears) = (cluster.federates()[0], cluster.federates()[1]);
    let class = cluster.known(speaks).model.interaction_class_by_name("Order").expect("the model has orders");
    let act = |cluster: &mut Cluster, host, call| {
        cluster.act(host, call).unwrap_or_else(|failure| panic!("{failure}"));
    };
    let run =
        |cluster: &mut Cluster, span| cluster.run_for(span).unwrap_or_else(|failure| panic!("{failure}"));
    let interaction_class = Some(class);
    let publish =
        || Call::PublishInteractionClassRequest(api::PublishInteractionClassRequest { interaction_class });
    let subscribe = api::SubscribeInteractionClassRequest { interaction_class };
    act(&mut cluster, hears, Call::SubscribeInteractionClassRequest(subscribe));
    act(&mut cluster, speaks, publish());
    run(&mut cluster, Duration::from_secs(2));
    cluster.record();
    let send = |cluster: &mut Cluster| {
        let send = api::SendInteractionRequest {
            interaction_class,
            parameter_values: Some(api::ParameterHandleValueMap::default()),
            user_supplied_tag: cluster.stamp(speaks),
        };
        act(cluster, speaks, Call::SendInteractionRequest(send));
    };
    send(&mut cluster);
    run(&mut cluster, Duration::from_secs(1));
    let late = cluster.add_rule(FaultKind::Slow(0, 1, way));
    let unpublish = api::UnpublishInteractionClassRequest { interaction_class };
    act(&mut cluster, speaks, Call::UnpublishInteractionClassRequest(unpublish));
    act(&mut cluster, speaks, publish());
    for _ in 0..MESSAGES {
        run(&mut cluster, Duration::from_millis(100));
        send(&mut cluster);
    }
    run(&mut cluster, Duration::from_secs(60));
    cluster.network_mut().remove_rule(late);
    run(&mut cluster, Duration::from_secs(10));
    let received = cluster.recorded().iter().filter_map(|(host, seen)| match &seen.observation {
        Observation::Received { callback: Callback::ReceiveInteraction(c), .. } if *host == hears => {
            stamp(&c.user_supplied_tag).map(|(_, count)| count)
        }
        _ => None,
    });
    let received: Vec<u32> = received.collect();
    let first = received.first().copied().expect("something came");
    let all: Vec<u32> = (first..).take(1 + MESSAGES).collect();
    assert_eq!(received, all, "{way:?} on the way: each once, in order");
}
