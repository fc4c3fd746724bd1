//! Derived types encode as their descriptions do.

use super::*;
use bytes::Bytes;
use std::fmt::Debug;

#[derive(Encoding, Clone, Copy, PartialEq, Debug)]
#[encoding(crate = crate)]
#[repr(u8)]
enum Colour {
    Red = 1,
    Green,
    Blue = 9,
    #[encoding(other)]
    Other(u8),
}

#[derive(Encoding, Clone, Copy, PartialEq, Debug)]
#[encoding(crate = crate)]
#[repr(i32)]
enum Side {
    Left = -1,
    Right,
}

#[derive(Encoding, Clone, PartialEq, Debug)]
#[encoding(crate = crate)]
struct Pair<T>(T, u8);

#[derive(Encoding, Clone, PartialEq, Debug)]
#[encoding(crate = crate, discriminant = Colour)]
enum Paint {
    Red(f64),
    #[encoding(on = Colour::Green)]
    Grass(u8),
    Blue,
    #[encoding(other)]
    Unknown(Colour),
}

#[derive(Encoding, Clone, PartialEq, Debug)]
#[encoding(crate = crate, discriminant = bool)]
enum Maybe {
    #[encoding(on = true)]
    Some(i16),
    #[encoding(on = false)]
    None,
}

#[derive(Encoding, Clone, PartialEq, Debug)]
#[encoding(crate = crate, discriminant = u8, extendable)]
enum Message {
    #[encoding(on = 1)]
    Text(String),
    #[encoding(on = 2)]
    Stop,
    #[encoding(other)]
    Later(u8),
}

/// Checks a value against its description, with and without an octet before it.
fn check<T: Encoding + Clone + PartialEq + Debug>(data_type: &DataType, value: &T, described: Value) {
    assert_eq!(T::OCTET_BOUNDARY, data_type.octet_boundary(), "{value:?}");
    let octets = value.encode().unwrap();
    assert_eq!(octets, data_type.encode(&described).unwrap(), "{value:?}");
    assert_eq!(&T::decode(&octets).unwrap(), value);
    let pair = Pair(value.clone(), 7);
    let described = record(&[data_type.clone(), t("HLAoctet")])
        .encode(&Value::Record(vec![described, 7.into()]))
        .unwrap();
    assert_eq!(pair.encode().unwrap(), described);
    assert_eq!(Pair::decode(&described).unwrap(), pair);
}

fn enumerated(representation: &str, enumerators: &[(&str, i128)]) -> DataType {
    let DataType::Basic(basic) = t(representation) else { panic!("{representation} is basic") };
    let enumerators = enumerators.iter().map(|(name, number)| ((*name).to_owned(), *number)).collect();
    DataType::enumerated(basic, enumerators).unwrap()
}

fn colour() -> DataType {
    enumerated("HLAoctet", &[("Red", 1), ("Green", 2), ("Blue", 9)])
}

#[test]
fn enumerations_count_on_from_the_last_number() {
    for (value, number) in [(Colour::Red, 1), (Colour::Green, 2), (Colour::Blue, 9), (Colour::Other(3), 3)] {
        check(&colour(), &value, number.into());
    }
    let side = enumerated("HLAinteger32BE", &[("Left", -1), ("Right", 0)]);
    check(&side, &Side::Left, (-1).into());
    check(&side, &Side::Right, 0.into());
}

#[test]
fn a_number_without_a_name_is_an_error_unless_a_variant_takes_it() {
    let error = Side::decode(&[0, 0, 0, 5]).unwrap_err();
    assert_eq!(error.to_string(), "Side has no enumerator with the number 5 (at octet 0)");
    assert_eq!(Colour::decode(&[5]), Ok(Colour::Other(5)));
}

#[test]
fn variant_records_choose_by_the_name_of_the_enumerator() {
    let alternatives = vec![
        alternative("Red", &[1], Some(t("HLAfloat64BE"))),
        alternative("Grass", &[2], Some(t("HLAoctet"))),
        alternative("Blue", &[9], None),
    ];
    let paint = DataType::variant_record(colour(), alternatives).unwrap();
    check(&paint, &Paint::Red(1.5), Value::variant(1, Some(1.5.into())));
    check(&paint, &Paint::Grass(4), Value::variant(2, Some(4.into())));
    check(&paint, &Paint::Blue, Value::variant(9, None));
    check(&paint, &Paint::Unknown(Colour::Other(77)), Value::variant(77, None));
    let error = Paint::decode(&[1, 0, 0, 0, 0, 0, 0, 0, 1]).unwrap_err();
    assert_eq!(error.path(), ".Red");
}

#[test]
fn a_discriminant_can_be_a_boolean() {
    let alternatives =
        vec![alternative("Some", &[1], Some(t("HLAinteger16BE"))), alternative("None", &[0], None)];
    let maybe = DataType::variant_record(DataType::Boolean, alternatives).unwrap();
    check(&maybe, &Maybe::Some(-3), Value::variant(1, Some((-3).into())));
    check(&maybe, &Maybe::None, Value::variant(0, None));
}

#[test]
fn extendable_records_skip_alternatives_that_they_do_not_know() {
    let alternatives =
        vec![alternative("Text", &[1], Some(t("HLAunicodeString"))), alternative("Stop", &[2], None)];
    let message = DataType::extendable_variant_record(t("HLAoctet"), alternatives).unwrap();
    check(&message, &Message::Text("hé".to_owned()), Value::variant(1, Some("hé".into())));
    check(&message, &Message::Stop, Value::variant(2, None));
    check(&message, &Message::Later(3), Value::variant(3, None));
    let later = Value::UnknownAlternative { discriminant: 9, octets: Bytes::from_static(&[1, 2, 3]) };
    let octets = message.encode(&later).unwrap();
    assert_eq!(Message::decode(&octets), Ok(Message::Later(9)));
    assert!(Message::decode(&octets[..octets.len() - 1]).is_err());
}

#[test]
fn an_alternative_without_octets_needs_no_padding() {
    #[derive(Encoding, Clone, PartialEq, Debug)]
    #[encoding(crate = crate, discriminant = u64, extendable)]
    enum Numbers {
        #[encoding(on = 1)]
        None([f64; 0]),
    }
    let none = DataType::fixed_array(t("HLAfloat64BE"), 0).unwrap();
    let alternatives = vec![alternative("None", &[1], Some(none))];
    let numbers = DataType::extendable_variant_record(t("HLAunsignedInteger64BE"), alternatives).unwrap();
    check(&numbers, &Numbers::None([]), Value::variant(1, Some(Value::Array(vec![]))));
    let error = DataType::variable_array(numbers).unwrap().decode(&[0, 0, 0, 1, 0, 0]).unwrap_err();
    assert_eq!(error.path(), "[0]");
}

#[test]
fn texts_and_slices_are_encoded_without_a_copy() {
    assert_eq!("hé".encode(), "hé".to_owned().encode());
    assert_eq!([1_i16, 2][..].encode(), vec![1_i16, 2].encode());
    assert_eq!((&&7_u16).encode(), 7_u16.encode());
    assert_eq!(<[f64]>::OCTET_BOUNDARY, 8);
}
