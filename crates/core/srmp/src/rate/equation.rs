//! The throughput of a TCP flow (RFC 4410, section 4.1; RFC 4654, section 2.1).

use super::{RTT_MIN, Rate};
use std::time::Duration;

/// The rate of a TCP flow with packets of `bytes` bytes, a round-trip time of `rtt` and `p` loss
/// events per packet:
///
/// `X = 8 s / (R (sqrt(2p/3) + 3 sqrt(6p) p (1 + 32 p^2)))` in bit/s.
///
/// Without loss there is no limit; more than one event per packet counts as one. `rtt` counts as at
/// least [`RTT_MIN`].
pub fn throughput(bytes: f64, rtt: Duration, p: f64) -> Rate {
    if p.is_nan() || p <= 0.0 {
        return Rate::UNLIMITED;
    }
    let p = p.min(1.0);
    let round_trips = (2.0 * p / 3.0).sqrt() + 3.0 * (6.0 * p).sqrt() * p * (1.0 + 32.0 * p * p);
    Rate::of(bytes / round_trips, rtt.max(RTT_MIN))
}

/// The number of packets received before the first loss event of a flow, estimated from its rate
/// (RFC 4654, section 5). The term of the equation that dominates at small `p` is solved for `1/p`.
/// At least 1.
///
/// The actual count is of no use, because the sender was still looking for its rate until the first
/// loss. The result grows with the square of `rtt`.
pub fn interval_before_first_loss(received: Rate, bytes: f64, rtt: Duration) -> f64 {
    let packets_per_rtt = received.bits_per_second() * rtt.as_secs_f64() / (8.0 * bytes.max(1.0));
    let interval = packets_per_rtt * packets_per_rtt / 1.5;
    if interval.is_finite() { interval.max(1.0) } else { 1.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn known_values() {
        for (bytes, rtt, p, expected) in [
            (1_454.0, 100, 0.01, 1_306_649.0),
            (1_454.0, 100, 0.05, 428_742.0),
            (300.0, 100, 0.05, 88_461.0),
            (1_454.0, 50, 0.02, 1_704_064.0),
        ] {
            let rate = throughput(bytes, Duration::from_millis(rtt), p).bits_per_second();
            assert!((rate - expected).abs() < 1.0, "{rate} is not {expected}");
        }
        assert_eq!(throughput(1_454.0, Duration::from_millis(100), 0.0), Rate::UNLIMITED);
    }

    #[test]
    fn the_first_interval_inverts_the_equation_where_loss_is_rare() {
        let (bytes, rtt) = (1_454.0, Duration::from_millis(100));
        let rate = throughput(bytes, rtt, 1e-5);
        let interval = interval_before_first_loss(rate, bytes, rtt);
        assert!((interval - 1e5).abs() < 1e3, "{interval}");
        assert_eq!(interval_before_first_loss(Rate::ZERO, bytes, rtt), 1.0);
        assert_eq!(interval_before_first_loss(Rate::UNLIMITED, bytes, rtt), 1.0);
    }

    proptest! {
        #[test]
        fn falls_with_loss_and_with_distance(bytes in 1.0f64..65_535.0, ms in 1u64..10_000, p in 1e-9f64..1.0) {
            let rtt = Duration::from_millis(ms);
            let rate = throughput(bytes, rtt, p);
            prop_assert!(rate > Rate::ZERO && !rate.is_unlimited());
            prop_assert!(throughput(bytes, rtt, p * 0.9) > rate);
            prop_assert!(throughput(bytes, rtt * 2, p) < rate);
        }

        #[test]
        fn any_float_gives_a_rate(bytes in 1.0f64..65_535.0, p: f64) {
            prop_assert!(throughput(bytes, Duration::ZERO, p) >= Rate::ZERO);
        }
    }
}
