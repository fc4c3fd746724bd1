use super::*;
use proptest::prelude::*;

fn int(value: i64) -> LogicalTime {
    LogicalTime::integer64(value).unwrap()
}

fn float(value: f64) -> LogicalTime {
    LogicalTime::float64(value).unwrap()
}

fn exception<T: fmt::Debug>(result: Result<T, RtiError>) -> Exception {
    result.unwrap_err().exception
}

#[test]
fn names() {
    assert_eq!(TimeKind::from_name("").unwrap(), TimeKind::Float64);
    for kind in [TimeKind::Integer64, TimeKind::Float64] {
        assert_eq!(TimeKind::from_name(kind.name()).unwrap(), kind);
    }
    let refused = TimeKind::from_name("hlaInteger64Time");
    assert_eq!(exception(refused), Exception::CouldNotCreateLogicalTimeFactory);
}

#[test]
fn encodings_of_the_standard() {
    assert_eq!(int(1000).encode(), [0, 0, 0, 0, 0, 0, 0x03, 0xe8]);
    assert_eq!(float(0.5).encode(), [0x3f, 0xe0, 0, 0, 0, 0, 0, 0]);
    assert_eq!(TimeKind::Integer64.final_time().as_integer64(), Some(i64::MAX));
    assert_eq!(TimeKind::Float64.final_time().encode(), 0x7fef_ffff_ffff_ffffu64.to_be_bytes());
    assert_eq!(TimeKind::Float64.epsilon().as_float64(), Some(f64::from_bits(1)));
    assert_eq!(TimeKind::Integer64.epsilon().as_integer64(), Some(1));
    let on_the_wire = api::LogicalTime::from(int(1));
    assert_eq!(&on_the_wire.data[..], [0, 0, 0, 0, 0, 0, 0, 1]);
}

#[test]
fn invalid_times_are_refused() {
    for value in [-1.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -f64::MIN_POSITIVE] {
        assert_eq!(exception(LogicalTime::float64(value)), Exception::InvalidLogicalTime);
        assert_eq!(exception(LogicalTimeInterval::float64(value)), Exception::InvalidLogicalTimeInterval);
        let decoded = TimeKind::Float64.decode_time(&value.to_be_bytes());
        assert_eq!(exception(decoded), Exception::InvalidLogicalTime);
    }
    assert_eq!(exception(LogicalTime::integer64(-1)), Exception::InvalidLogicalTime);
    assert_eq!(float(-0.0), TimeKind::Float64.initial());
    let decoded = TimeKind::Integer64.decode_interval(&(-1i64).to_be_bytes());
    assert_eq!(exception(decoded), Exception::InvalidLogicalTimeInterval);
    for octets in [&[][..], &[0; 7], &[0; 9]] {
        assert_eq!(exception(TimeKind::Integer64.decode_time(octets)), Exception::CouldNotDecode);
        assert_eq!(exception(TimeKind::Float64.decode_interval(octets)), Exception::CouldNotDecode);
    }
}

#[test]
fn case_99_an_epsilon_always_advances() {
    // Edge case of the standard: at 1e17 a double cannot express one more epsilon.
    let t = float(1e17);
    let next = t.add(TimeKind::Float64.epsilon()).unwrap();
    assert!(next > t);
    assert_eq!(next.as_float64(), Some(1e17f64.next_up()));
    assert_eq!(next.subtract(TimeKind::Float64.epsilon()).unwrap(), t);
    assert_eq!(t.add(TimeKind::Float64.zero()).unwrap(), t);
    let last = TimeKind::Float64.final_time();
    assert_eq!(exception(last.add(TimeKind::Float64.epsilon())), Exception::IllegalTimeArithmetic);
}

#[test]
fn arithmetic_stays_in_range_and_in_kind() {
    let one = LogicalTimeInterval::integer64(1).unwrap();
    assert_eq!(exception(int(i64::MAX).add(one)), Exception::IllegalTimeArithmetic);
    assert_eq!(exception(int(0).subtract(one)), Exception::IllegalTimeArithmetic);
    assert_eq!(exception(float(0.0).add(one)), Exception::InvalidLogicalTimeInterval);
    assert_eq!(exception(float(0.0).distance(int(0))), Exception::InvalidLogicalTime);
    let huge = LogicalTimeInterval::float64(f64::MAX).unwrap();
    assert_eq!(exception(huge.add(huge)), Exception::IllegalTimeArithmetic);
    assert_eq!(exception(float(1.0).subtract(huge)), Exception::IllegalTimeArithmetic);
}

#[test]
fn prints_the_plain_number() {
    assert_eq!(int(1000).to_string(), "1000");
    assert_eq!(float(0.5).to_string(), "0.5");
    assert_eq!(format!("{:?}", TimeKind::Float64.epsilon()), "5e-324");
}

fn doubles() -> impl Strategy<Value = f64> {
    (0..=f64::MAX.to_bits()).prop_map(f64::from_bits)
}

proptest! {
    #[test]
    fn order_and_octets_agree_with_the_number(a in doubles(), b in doubles(), i in 0i64.., j in 0i64..) {
        prop_assert_eq!(float(a).cmp(&float(b)), a.total_cmp(&b));
        prop_assert_eq!(int(i).cmp(&int(j)), i.cmp(&j));
        prop_assert_eq!(TimeKind::Float64.decode_time(&float(a).encode()).unwrap(), float(a));
        prop_assert_eq!(TimeKind::Integer64.decode_time(&int(i).encode()).unwrap(), int(i));
    }

    #[test]
    fn decoding_takes_what_construction_takes(octets in any::<[u8; 8]>()) {
        let f = f64::from_be_bytes(octets);
        prop_assert_eq!(TimeKind::Float64.decode_time(&octets), LogicalTime::float64(f));
        let i = i64::from_be_bytes(octets);
        prop_assert_eq!(TimeKind::Integer64.decode_time(&octets), LogicalTime::integer64(i));
    }

    #[test]
    fn float_sums_are_exact_or_strictly_greater(a in doubles(), d in doubles()) {
        let interval = LogicalTimeInterval::float64(d).unwrap();
        match float(a).add(interval) {
            Ok(sum) => {
                let plain = a + d;
                let expected = if d > 0.0 && plain == a { a.next_up() } else { plain };
                prop_assert_eq!(sum.as_float64(), Some(expected));
                prop_assert!(d == 0.0 || sum > float(a));
            }
            Err(e) => {
                prop_assert_eq!(e.exception, Exception::IllegalTimeArithmetic);
                prop_assert!(a + d == f64::INFINITY || a == f64::MAX);
            }
        }
        match float(a).subtract(interval) {
            Ok(less) => prop_assert!(d == 0.0 || less < float(a)),
            Err(_) => prop_assert!(d > a),
        }
    }

    #[test]
    fn integer_arithmetic_is_the_checked_one(a in 0i64.., d in 0i64..) {
        let interval = LogicalTimeInterval::integer64(d).unwrap();
        prop_assert_eq!(int(a).add(interval).ok().and_then(LogicalTime::as_integer64), a.checked_add(d));
        let less = a.checked_sub(d).filter(|&x| x >= 0);
        prop_assert_eq!(int(a).subtract(interval).ok().and_then(LogicalTime::as_integer64), less);
        prop_assert_eq!(int(a).distance(int(d)).unwrap().as_integer64(), Some((a - d).abs()));
        prop_assert_eq!(int(a).distance(int(d)).unwrap(), int(d).distance(int(a)).unwrap());
    }
}
