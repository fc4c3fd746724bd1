use super::*;
use bytes::Bytes;
use proptest::prelude::*;
use proptest::sample::select;

/// A source of arbitrary small choices; drawn by proptest, so it shrinks.
struct Entropy<'a>(std::iter::Cycle<std::slice::Iter<'a, u8>>);

impl Entropy<'_> {
    fn octet(&mut self) -> u8 {
        self.0.next().copied().unwrap_or(0)
    }

    fn bits(&mut self) -> u64 {
        u64::from_be_bytes(std::array::from_fn(|_| self.octet()))
    }

    fn below(&mut self, n: usize) -> usize {
        usize::from(self.octet()) % n
    }
}

const BASIC: [&str; 18] = [
    "HLAoctet",
    "HLAoctetPairBE",
    "HLAoctetPairLE",
    "HLAinteger16BE",
    "HLAinteger16LE",
    "HLAinteger32BE",
    "HLAinteger32LE",
    "HLAinteger64BE",
    "HLAinteger64LE",
    "HLAunsignedInteger16LE",
    "HLAunsignedInteger32BE",
    "HLAunsignedInteger32LE",
    "HLAunsignedInteger64BE",
    "HLAunsignedInteger64LE",
    "HLAfloat32BE",
    "HLAfloat32LE",
    "HLAfloat64BE",
    "HLAfloat64LE",
];

fn leaves() -> impl Strategy<Value = DataType> {
    const OTHERS: [&str; 7] = [
        "HLAboolean",
        "HLAASCIIchar",
        "HLAunicodeChar",
        "HLAASCIIstring",
        "HLAunicodeString",
        "HLAopaqueData",
        "HLAtoken",
    ];
    prop_oneof![select(&BASIC[..]), select(&OTHERS[..])].prop_map(t)
}

fn data_types() -> impl Strategy<Value = DataType> {
    leaves().prop_recursive(4, 24, 4, |inner| {
        let discriminants = select(vec!["HLAoctet", "HLAinteger16LE", "HLAinteger64BE", "HLAboolean"]);
        prop_oneof![
            inner.clone().prop_map(|element| DataType::variable_array(element).unwrap()),
            (inner.clone(), 0usize..4).prop_map(|(element, n)| DataType::fixed_array(element, n).unwrap()),
            prop::collection::vec(inner.clone(), 0..4).prop_map(|fields| record(&fields)),
            (discriminants, prop::option::of(inner.clone()), inner, any::<bool>()).prop_map(
                |(discriminant, one, zero, extendable)| {
                    let alternatives = vec![alternative("A", &[1], one), alternative("B", &[0], Some(zero))];
                    if extendable {
                        DataType::extendable_variant_record(t(discriminant), alternatives).unwrap()
                    } else {
                        DataType::variant_record(t(discriminant), alternatives).unwrap()
                    }
                }
            ),
        ]
    })
}

fn text(unit: Unit, len: usize, entropy: &mut Entropy<'_>) -> Value {
    let ascii = unit == Unit::AsciiChar;
    let one = |e: &mut Entropy<'_>| char::from(if ascii { e.octet() & 0x7f } else { e.octet() });
    Value::Text((0..len).map(|_| one(entropy)).collect())
}

/// Some value of the datatype.
fn value_of(data_type: &DataType, entropy: &mut Entropy<'_>) -> Value {
    match data_type {
        DataType::Basic(basic) if basic.interpretation() == Interpretation::Float => {
            Value::Float(f64::from(entropy.bits() as i32) / 65536.0).narrowed(basic.size())
        }
        DataType::Basic(basic) => {
            let bits = entropy.bits();
            let wide = [i128::from(bits), i128::from(bits as i64)];
            let fits = wide.into_iter().find(|&n| basic.holds(n));
            Value::Integer(fits.unwrap_or_else(|| i128::from(bits & 0x7f)))
        }
        DataType::Boolean => Value::Boolean(entropy.octet() > 127),
        DataType::AsciiChar => text(Unit::AsciiChar, 1, entropy),
        DataType::UnicodeChar => text(Unit::UnicodeChar, 1, entropy),
        DataType::Run(run) => {
            let len = run.len.unwrap_or_else(|| entropy.below(5));
            match run.unit {
                Unit::Octet => Value::Octets((0..len).map(|_| entropy.octet()).collect::<Bytes>()),
                unit => text(unit, len, entropy),
            }
        }
        DataType::Array(array) => {
            let len = array.len().unwrap_or_else(|| entropy.below(4));
            Value::Array((0..len).map(|_| value_of(array.element(), entropy)).collect())
        }
        DataType::FixedRecord(record) => {
            Value::Record(record.fields().iter().map(|f| value_of(&f.data_type, entropy)).collect())
        }
        DataType::VariantRecord(record) => {
            let discriminants = if *record.discriminant() == DataType::Boolean { 2 } else { 3 };
            let discriminant = entropy.below(discriminants) as i128;
            let chosen = record.alternative(discriminant);
            let value = chosen.and_then(|a| a.data_type.as_ref()).map(|t| value_of(t, entropy));
            Value::variant(discriminant, value)
        }
        other => unreachable!("no strategy makes {other:?}"),
    }
}

impl Value {
    /// Rounds floats to a width of `size` octets.
    fn narrowed(self, size: usize) -> Value {
        match self {
            Value::Float(x) if size == 4 => Value::Float(f64::from(x as f32)),
            other => other,
        }
    }
}

proptest! {
    #[test]
    fn any_value_of_any_datatype_comes_back(
        data_type in data_types(),
        entropy in prop::collection::vec(any::<u8>(), 1..64),
    ) {
        let value = value_of(&data_type, &mut Entropy(entropy.iter().cycle()));
        let octets = data_type.encode(&value).unwrap();
        prop_assert_eq!(&data_type.decode(&octets).unwrap(), &value);
        // The same value behind an octet, at other offsets: padding depends on the boundary alone.
        let shifted = record(&[t("HLAoctet"), data_type.clone()]);
        let value = Value::Record(vec![1.into(), value]);
        let behind = shifted.encode(&value).unwrap();
        let start = data_type.octet_boundary();
        prop_assert_eq!(&behind[start..], &octets[..]);
        prop_assert_eq!(shifted.decode(&behind).unwrap(), value);
        // Octets that are cut anywhere are refused.
        for len in 0..octets.len() {
            prop_assert!(data_type.decode(&octets[..len]).is_err());
        }
    }

    #[test]
    fn any_octets_decode_or_are_refused(
        data_type in data_types(),
        octets in prop::collection::vec(prop_oneof![3 => 0u8..3, 1 => any::<u8>()], 0..64),
    ) {
        if let Ok(value) = data_type.decode(&octets) {
            let again = data_type.encode(&value).unwrap();
            // Padding may differ, the length may not. NaN payloads are not distinguished.
            prop_assert_eq!(again.len(), octets.len());
        }
    }

    #[test]
    fn strings_come_back(text in any::<String>()) {
        let octets = text.encode().unwrap();
        prop_assert_eq!(&octets, &t("HLAunicodeString").encode(&text.as_str().into()).unwrap());
        prop_assert_eq!(String::decode(&octets).unwrap(), text);
    }
}
