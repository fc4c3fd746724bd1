//! Rates and round-trip times in 16 bits, profile v2.
//!
//! RFC 4410, sections 3.2 and 3.3, defines only an "8-bit unsigned exponent, 8-bit unsigned
//! mantissa". It is read here as follows: the high octet e is the power of two, the low octet m the
//! fraction of a mantissa with a leading one, and the value is (1 + m/256) * 2^e. So every value
//! from 1 up has one form, greater values have greater forms, and the error is below 0.2 %.

/// The form of a value without limit: `X_supp` at the start of a feedback round.
pub const NO_LIMIT: u16 = 0xffff;

/// The nearest 16-bit form. Values below 1 and NaN get the form of 1, and infinity gets
/// [`NO_LIMIT`]. Finite values that are too great get the greatest finite form.
pub fn encode(value: f64) -> u16 {
    if value == f64::INFINITY {
        return NO_LIMIT;
    }
    if value.is_nan() || value < 1.0 {
        return 0;
    }
    let bits = value.to_bits();
    // An f64 has the same structure: a power of two, and a fraction of 52 bits. Eight of these are
    // kept, rounded half up. A carry of the fraction increments the exponent.
    let exponent = ((bits >> 52) & 0x7ff) - 1023;
    let fraction = bits & ((1 << 52) - 1);
    let rounded = (exponent << 8) + ((fraction + (1 << 43)) >> 44);
    u16::try_from(rounded).unwrap_or(NO_LIMIT).min(NO_LIMIT - 1)
}

/// The value of a 16-bit form: at least 1, and infinity for [`NO_LIMIT`].
pub fn decode(form: u16) -> f64 {
    if form == NO_LIMIT {
        return f64::INFINITY;
    }
    let [e, m] = form.to_be_bytes();
    (1.0 + f64::from(m) / 256.0) * f64::from(e).exp2()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_written_examples() {
        for (value, form, back) in [
            (1.0, 0x0000, 1.0),
            (100.0, 0x0690, 100.0),
            (500.0, 0x08f4, 500.0),
            (334_500.0, 0x1247, 334_848.0),
            (1_000_000.0, 0x13e8, 999_424.0),
            (f64::INFINITY, 0xffff, f64::INFINITY),
        ] {
            assert_eq!(encode(value), form, "{value}");
            assert_eq!(decode(form), back, "{form:#06x}");
        }
    }

    #[test]
    fn a_value_out_of_range_becomes_the_nearest_in_range() {
        for low in [0.0, -0.0, 0.99, -5.0, f64::NAN, f64::NEG_INFINITY, f64::MIN_POSITIVE] {
            assert_eq!(encode(low), 0, "{low}");
        }
        assert_eq!(encode(f64::MAX), 0xfffe);
        assert_eq!(encode(511.9), 0x0900, "the fraction carries into the exponent");
    }

    #[test]
    fn every_form_comes_back_and_keeps_its_order() {
        for form in 0..=u16::MAX {
            assert_eq!(encode(decode(form)), form);
            assert!(form == 0 || decode(form) > decode(form - 1));
        }
    }

    proptest! {
        #[test]
        fn is_off_by_less_than_a_fifth_of_a_percent(value in 1.0f64..1e15) {
            let back = decode(encode(value));
            prop_assert!((back / value - 1.0).abs() < 0.002, "{value} became {back}");
        }
    }
}
