//! Floods from one address, and honest clients beside them.

use super::*;
use crate::frame::{Control, Message, ResumeStatus};
use crate::server::tests::{control, events, transmit_at};

const FLOOD: Address = Address::numbered(1);
const HONEST: Address = Address::numbered(2);

fn ms(ms: u64) -> Moment {
    Moment::from_millis(ms)
}

/// A client at `address` connects and requests a session. `number` is its connection and the id of
/// its session.
fn ask(endpoint: &mut Endpoint, now: Moment, address: Address, number: u64) -> Vec<Event> {
    endpoint.handle_open(now, ConnId(number), address, number);
    endpoint.handle_bytes(now, ConnId(number), control(0, 0, Control::NewSession { version: 1 }));
    events(endpoint)
}

/// Opens a session as `ask` does, and returns it.
fn open(endpoint: &mut Endpoint, now: Moment, address: Address, number: u64) -> SessionKey {
    let events = ask(endpoint, now, address, number);
    let Some(&Event::SessionOpened { session, .. }) = events.last() else { panic!("not opened: {events:?}") };
    session
}

/// The client gets no session, is told that the server is out of resources, and its connection is
/// closed.
fn assert_refused(endpoint: &mut Endpoint, now: Moment, address: Address, number: u64, reason: Refusal) {
    let conn = ConnId(number);
    assert_eq!(ask(endpoint, now, address, number), [Event::Refused { conn, address, reason }]);
    let (frames, done) = transmit_at(now, endpoint, conn);
    let status = Message::Control(Control::NewSessionStatus(NewSessionReason::OutOfResources));
    assert_eq!(frames[0].clone().message(), Ok(status));
    assert!(done.close_after && !done.discard);
}

#[test]
fn an_address_has_its_share_and_newcomers_have_the_reserve() {
    let config =
        Config { sessions_max: 8, sessions_per_address_max: 3, sessions_reserved: 2, ..Config::default() };
    let mut endpoint = Endpoint::new(config);
    let now = ms(1);
    let first = (0..3).map(|number| open(&mut endpoint, now, FLOOD, number + 1)).collect::<Vec<_>>()[0];
    assert_refused(&mut endpoint, now, FLOOD, 4, Refusal::SessionsOfAddress { limit: 3 });
    for number in 5..8 {
        open(&mut endpoint, now, HONEST, number);
    }
    // Six are taken; two are reserved for addresses without a session.
    open(&mut endpoint, now, Address::numbered(3), 8);
    assert_refused(&mut endpoint, now, Address::numbered(3), 9, Refusal::Sessions { limit: 8 });
    open(&mut endpoint, now, Address::numbered(4), 10);
    assert_refused(&mut endpoint, now, Address::numbered(5), 11, Refusal::Sessions { limit: 8 });
    endpoint.end(now, first, EndReason::Closed("test".into()));
    events(&mut endpoint);
    open(&mut endpoint, now, Address::numbered(5), 12);
    assert_eq!(endpoint.stats().sessions_refused, 3);
}

fn connecting() -> Endpoint {
    Endpoint::new(Config { connect_timeout: Some(Duration::from_secs(10)), ..Config::default() })
}

#[test]
fn four_thousand_bare_sessions_of_one_address_keep_no_other_out() {
    let mut endpoint = connecting();
    let mut refused = 0;
    for number in 0..4_095 {
        // 4,095 in 2.6 seconds.
        let now = Moment::from_micros(635 * number);
        let opened =
            matches!(ask(&mut endpoint, now, FLOOD, 1 + number).last(), Some(Event::SessionOpened { .. }));
        refused += u64::from(!opened);
        if number % 100 == 0 {
            let key = open(&mut endpoint, now, HONEST, 10_000 + number);
            endpoint.set_connected(now, key, true);
        }
    }
    // The flood takes its own places again and again; nobody else is evicted.
    assert_eq!((endpoint.sessions(), refused), (1_024 + 41, 0));
    // The honest sessions remain when the sessions of the flood end because they never connected.
    endpoint.handle_timeout(Moment::from_secs(20));
    let ended = events(&mut endpoint);
    let timeout = Duration::from_secs(10);
    let late = |event: &&Event| matches!(event, Event::SessionEnded { reason, .. } if *reason == EndReason::NotConnected { timeout });
    assert_eq!(ended.iter().filter(late).count(), 1_024);
    assert_eq!(endpoint.sessions(), 41);
    assert_eq!(endpoint.stats().sessions_evicted, 4_095);
}

#[test]
fn sessions_that_do_not_connect_make_room_for_others_and_connected_ones_do_not() {
    let config = Config { unconnected_sessions_max: 3, ..connecting().config().clone() };
    let mut endpoint = Endpoint::new(config);
    let mut flood = (1..5).map(|number| {
        let key = open(&mut endpoint, ms(0), FLOOD, number);
        if number == 1 {
            endpoint.set_connected(ms(0), key, true);
        }
        key
    });
    let flood: Vec<_> = flood.by_ref().collect();
    assert_refused(&mut endpoint, ms(99), FLOOD, 5, Refusal::UnconnectedSessions { limit: 3 });
    let evicted = |session| Event::SessionEnded { session, reason: EndReason::Evicted };
    let opened = |session, conn| Event::SessionOpened { session, conn: ConnId(conn) };
    let events = ask(&mut endpoint, ms(99), HONEST, 6);
    let Some(&Event::SessionOpened { session: honest, .. }) = events.last() else { panic!("{events:?}") };
    assert_eq!(events, [evicted(flood[1]), opened(honest, 6)], "another address need not wait");
    let events = ask(&mut endpoint, ms(100), FLOOD, 7);
    assert_eq!(events[0], evicted(flood[2]));
    // The honest client takes its time, and may.
    endpoint.set_connected(ms(9_000), honest, true);
    endpoint.handle_timeout(ms(30_000));
    assert!(endpoint.is_connected(honest) && endpoint.is_connected(flood[0]));
    assert_eq!(endpoint.sessions(), 2);
}

#[test]
fn a_session_that_disconnects_has_to_connect_again_or_go() {
    let mut endpoint = connecting();
    let key = open(&mut endpoint, ms(0), HONEST, 1);
    endpoint.set_connected(ms(1), key, true);
    endpoint.handle_timeout(ms(60_000));
    endpoint.set_connected(ms(60_000), key, false);
    assert_eq!(endpoint.poll_timeout(), Some(ms(70_000)));
    endpoint.handle_timeout(ms(69_999));
    assert_eq!(events(&mut endpoint), []);
    endpoint.handle_timeout(ms(70_000));
    let reason = EndReason::NotConnected { timeout: Duration::from_secs(10) };
    assert_eq!(events(&mut endpoint), [Event::SessionEnded { session: key, reason }]);
}

#[test]
fn a_session_counts_where_it_was_resumed_and_is_never_refused_there() {
    let config = Config { sessions_per_address_max: 1, ..Config::default() };
    let mut endpoint = Endpoint::new(config);
    let key = open(&mut endpoint, ms(0), FLOOD, 1);
    open(&mut endpoint, ms(0), HONEST, 2);
    endpoint.handle_open(ms(1), ConnId(3), HONEST, 3);
    let request = Control::ResumeRequest { last_received: None, oldest_available: None };
    endpoint.handle_bytes(ms(1), ConnId(3), control(1, u32::MAX, request));
    assert_eq!(events(&mut endpoint), [Event::Resumed { session: key, conn: ConnId(3) }]);
    let (frames, _) = transmit_at(ms(1), &mut endpoint, ConnId(3));
    let answer = frames[0].clone().message();
    assert!(matches!(answer, Ok(Message::Control(Control::ResumeStatus { status: ResumeStatus::Ok, .. }))));
    assert_eq!(endpoint.address(key), Some(HONEST));
    // Its old address has room again, its new one has none.
    open(&mut endpoint, ms(1), FLOOD, 4);
    assert_refused(&mut endpoint, ms(1), HONEST, 5, Refusal::SessionsOfAddress { limit: 1 });
}
