//! Loggers on real sockets.

use bytes::Bytes;
use srmp::model::{DataId, MemberId, Profile};
use srmp::{Event, LoggerConfig, LoggerRole};

use super::super::OpenError;
use super::super::sockets::derived_site;
use super::*;

const V4: IpAddr = IpAddr::V4(Ipv4Addr::new(239, 255, 44, 10));

fn in_site(group: SocketAddr, member: u64, role: LoggerRole) -> HostConfig {
    let mut config = config(group, member, Profile::V3);
    config.protocol.logger = LoggerConfig::in_site(role);
    config
}

#[tokio::test]
async fn a_logger_gives_what_its_sender_cannot_any_more() {
    if !has_multicast(V4) {
        return;
    }
    let group = group();
    let (sender, logger) =
        (open(in_site(group, 1, LoggerRole::Never)), open(in_site(group, 2, LoggerRole::Candidate)));
    sender.sees(1).await;
    let state = |data: u32| Bytes::from(vec![data as u8; if data == 3 { 5_000 } else { 200 }]);
    for data in 0..20 {
        sender.host.send1(DataId(data), state(data), false).expect("it can be sent");
    }
    let settled = async {
        let is_ready = |endpoint: &srmp::Endpoint| {
            endpoint.messages(MemberId(1)).count() == 20
                && endpoint.logger().is_some_and(|view| view.is_active)
        };
        while !logger.host.inspect(is_ready) {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(PATIENCE, settled).await.expect("it has everything and is elected");
    sender.host.leave().await;
    let mut joiner = open(in_site(group, 3, LoggerRole::Never));
    let mut missing: Vec<u32> = (0..20).collect();
    while !missing.is_empty() {
        let (data, body) = joiner
            .next(|event| match event {
                Event::Mode1 { from: MemberId(1), data, body, .. } => Some((data.0, body)),
                _ => None,
            })
            .await;
        assert_eq!(body, state(data));
        missing.retain(|other| *other != data);
    }
    assert!(logger.host.inspect(|endpoint| endpoint.counters().logger.expect("v3").sync_messages) >= 20);
}

#[tokio::test]
async fn groups_that_cannot_be_a_site_are_refused() {
    let group = SocketAddr::new(V4, 4_410);
    let site = derived_site(group);
    assert_eq!(site, derived_site(group));
    assert!(site.ip().to_string().starts_with("239.255.") && site.ip() != group.ip() && site.port() == 4_410);
    for bad in ["239.255.44.10:4410", "127.0.0.1:4410", "239.1.1.1:0", "[ff12::1]:4410"] {
        let mut config = in_site(group, 1, LoggerRole::Never);
        config.site_group = Some(bad.parse().expect("an address"));
        assert!(matches!(SrmpHost::open(config), Err(OpenError::Site { .. })), "{bad}");
    }
}
