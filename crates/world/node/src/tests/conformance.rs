//! The conformance suite over every kind of link that this crate provides.

use super::certificates;
use crate::conformance::{self, Kind};

const MEMORY: Kind =
    Kind { listen: "memory://", via: None, options: "", has_datagrams: false, provider: None, tls: None };
const TCP: Kind = Kind { listen: "tcp://127.0.0.1:0", ..MEMORY };
const TCP_UDP: Kind = Kind { options: ",best-effort=udp", has_datagrams: true, ..TCP };
const QUIC: Kind = Kind { listen: "quic://127.0.0.1:0", has_datagrams: true, ..MEMORY };
const TLS: Kind = Kind { listen: "tls://127.0.0.1:0", tls: Some(certificates::shared), ..MEMORY };
const TLS_UDP: Kind = Kind { tls: TLS.tls, listen: TLS.listen, ..TCP_UDP };
const QUIC_TLS: Kind = Kind { tls: TLS.tls, ..QUIC };
const EMULATED: Kind = Kind { options: ",delay=3ms,jitter=2ms,loss=1%", ..TCP };

macro_rules! suite {
    (over [$($name:ident: $kind:ident,)+] $tests:tt) => {
        $(suite!(one $name $kind; $tests);)+
        #[test]
        fn every_test_of_the_suite_is_here() {
            let here = suite!(count $tests);
            assert_eq!(here, conformance::TESTS.len());
        }
    };
    (one $name:ident $kind:ident; [$($test:ident,)+]) => {
        mod $name { $(#[test] fn $test() { super::conformance::$test(super::$kind); })+ }
    };
    (count [$($test:ident,)+]) => { [$(stringify!($test)),+].len() };
}

suite! {
    over [memory: MEMORY, tcp: TCP, tcp_with_udp: TCP_UDP, quic: QUIC, tls: TLS, tls_with_udp: TLS_UDP, quic_with_certificates: QUIC_TLS, emulated: EMULATED,]
    [
        frames_keep_their_order,
        the_largest_frame_passes,
        an_over_limit_frame_ends_its_link_only,
        a_hostile_length_ends_its_link_only,
        a_peer_that_restarts_is_found_again,
        a_peer_that_says_nothing_is_closed,
        a_peer_that_stops_reading_is_closed,
        a_slow_peer_delays_nobody_and_loses_nothing,
        a_closed_link_says_its_last_words,
        a_node_that_stops_says_its_last_words,
        datagrams_pass_where_there_are_some,
    ]
}
