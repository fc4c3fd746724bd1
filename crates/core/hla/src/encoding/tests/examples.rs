use super::*;
use bytes::Bytes;

/// Checks that `value` encodes to `hex`, and decodes from it.
#[track_caller]
fn check(data_type: &DataType, value: &Value, hex: &str) {
    let expected = octets(hex);
    assert_eq!(&data_type.encode(value).unwrap()[..], expected);
    assert_eq!(&data_type.decode(&expected).unwrap(), value);
}

fn values<T: Into<Value> + Clone>(elements: &[T]) -> Vec<Value> {
    elements.iter().cloned().map(Into::into).collect()
}

#[test]
fn basic_and_simple_types() {
    check(&t("HLAinteger32BE"), &(-2).into(), "FF FF FF FE");
    check(&t("HLAinteger32LE"), &(-2).into(), "FE FF FF FF");
    check(&t("HLAinteger16LE"), &(-32768).into(), "00 80");
    check(&t("HLAinteger64BE"), &i64::MIN.into(), "80 00 00 00 00 00 00 00");
    check(&t("HLAunsignedInteger64LE"), &(u64::MAX - 1).into(), "FE FF FF FF FF FF FF FF");
    check(&t("HLAunsignedInteger32BE"), &u32::MAX.into(), "FF FF FF FF");
    check(&t("HLAoctetPairBE"), &0xfffe_u16.into(), "FF FE");
    check(&t("HLAoctet"), &255.into(), "FF");
    check(&t("HLAfloat32LE"), &1.0.into(), "00 00 80 3F");
    check(&t("HLAfloat64BE"), &1.5.into(), "3F F8 00 00 00 00 00 00");
    check(&t("HLAboolean"), &true.into(), "00 00 00 01");
    check(&t("HLAASCIIchar"), &"a".into(), "61");
    check(&t("HLAunicodeChar"), &"€".into(), "20 AC");
    assert_eq!(DataType::standard("HLAinteger24BE"), None);
}

#[test]
fn strings_and_opaque_data() {
    check(&t("HLAASCIIstring"), &"abc".into(), "00 00 00 03 61 62 63");
    check(&t("HLAunicodeString"), &"AB".into(), "00 00 00 02 00 41 00 42");
    check(&t("HLAunicodeString"), &"\u{10437}".into(), "00 00 00 02 D8 01 DC 37");
    check(&t("HLAunicodeString"), &"".into(), "00 00 00 00");
    let opaque = Value::Octets(Bytes::from_static(&[0xaa, 0xbb, 0xcc]));
    check(&t("HLAopaqueData"), &opaque, "00 00 00 03 AA BB CC");
    check(&t("HLAtoken"), &Value::Octets(Bytes::new()), "");
    let marking = DataType::fixed_array(t("HLAASCIIchar"), 3).unwrap();
    check(&marking, &"F\x001".into(), "46 00 31");
}

#[test]
fn records_pad_between_fields_only() {
    let three = record(&[t("HLAoctet"), t("HLAinteger32BE"), t("HLAoctet")]);
    check(&three, &Value::Record(values(&[1, 2, 3])), "01 00 00 00 00 00 00 02 03");
    let two = record(&[t("HLAinteger16BE"), t("HLAfloat64BE")]);
    let value = Value::Record(vec![1.into(), 1.5.into()]);
    check(&two, &value, "00 01 00 00 00 00 00 00 3F F8 00 00 00 00 00 00");
    check(&record(&[]), &Value::Record(vec![]), "");
}

#[test]
fn arrays_pad_between_elements_only() {
    let pair = record(&[t("HLAinteger32BE"), t("HLAoctet")]);
    let pairs = Value::Array(vec![Value::Record(values(&[1, 2])), Value::Record(values(&[3, 4]))]);
    let fixed = DataType::fixed_array(pair, 2).unwrap();
    check(&fixed, &pairs, "00 00 00 01 02 00 00 00 00 00 00 03 04");

    let doubles = DataType::variable_array(t("HLAfloat64BE")).unwrap();
    check(&doubles, &Value::Array(values(&[1.0])), "00 00 00 01 00 00 00 00 3F F0 00 00 00 00 00 00");
    check(&doubles, &Value::Array(vec![]), "00 00 00 00");
    assert_eq!(doubles.octet_boundary(), 8);

    let names = DataType::variable_array(t("HLAunicodeString")).unwrap();
    let hex = "00 00 00 02 00 00 00 01 00 61 00 00 00 00 00 01 00 62";
    check(&names, &Value::Array(values(&["a", "b"])), hex);
}

#[test]
fn handles_of_the_mim() {
    let handle = |o: &'static [u8]| Value::Octets(Bytes::from_static(o));
    check(&t("HLAopaqueData"), &handle(&[0, 0, 0, 5]), "00 00 00 04 00 00 00 05");
    let list = DataType::variable_array(t("HLAopaqueData")).unwrap();
    let two = Value::Array(vec![handle(&[0, 0, 0, 5]), handle(&[0, 0, 0, 6])]);
    check(&list, &two, "00 00 00 02 00 00 00 04 00 00 00 05 00 00 00 04 00 00 00 06");
    let two = Value::Array(vec![handle(&[1, 2, 3]), handle(&[4, 5, 6])]);
    check(&list, &two, "00 00 00 02 00 00 00 03 01 02 03 00 00 00 00 03 04 05 06");
    let subscription = record(&[t("HLAopaqueData"), t("HLAboolean")]);
    let value = Value::Record(vec![handle(&[1, 2, 3]), true.into()]);
    check(&subscription, &value, "00 00 00 03 01 02 03 00 00 00 00 01");
}

#[test]
fn variants_pad_to_the_widest_alternative() {
    let alternatives = |one: &str| {
        vec![alternative("A", &[1], Some(t(one))), alternative("B", &[2], Some(t("HLAinteger32BE")))]
    };
    let wide = DataType::variant_record(t("HLAinteger32BE"), alternatives("HLAfloat64BE")).unwrap();
    check(&wide, &Value::variant(1, Some(2.0.into())), "00 00 00 01 00 00 00 00 40 00 00 00 00 00 00 00");
    check(&wide, &Value::variant(2, Some(7.into())), "00 00 00 02 00 00 00 00 00 00 00 07");
    check(&wide, &Value::variant(3, None), "00 00 00 03");
    let narrow = DataType::variant_record(t("HLAoctet"), alternatives("HLAoctet")).unwrap();
    check(&narrow, &Value::variant(1, Some(9.into())), "01 00 00 00 09");
}

#[test]
fn variants_choose_by_enumerator_boolean_and_other() {
    let colours = vec![("Red".to_owned(), 1), ("Blue".to_owned(), 2)];
    let colour = DataType::enumerated(BasicType::INTEGER32_BE, colours).unwrap();
    let DataType::Enumerated(names) = &colour else { unreachable!("just built") };
    assert_eq!((names.name_of(2), names.number_of("Red")), (Some("Blue"), Some(1)));
    let other = Alternative { name: "Rest".to_owned(), discriminants: None, data_type: Some(t("HLAoctet")) };
    let paint = DataType::variant_record(colour, vec![alternative("None", &[1], None), other]).unwrap();
    check(&paint, &Value::variant(1, None), "00 00 00 01");
    check(&paint, &Value::variant(2, Some(5.into())), "00 00 00 02 05");

    let maybe = alternative("Some", &[1], Some(t("HLAinteger16BE")));
    let option = DataType::variant_record(DataType::Boolean, vec![maybe]).unwrap();
    check(&option, &Value::variant(1, Some(5.into())), "00 00 00 01 00 05");
    check(&option, &Value::variant(0, None), "00 00 00 00");
    assert!(option.encode(&Value::variant(2, None)).is_err());
}

#[test]
fn extendable_variants_say_their_length() {
    let known = |discriminant: &str| {
        let alternatives =
            vec![alternative("A", &[1], Some(t("HLAinteger16BE"))), alternative("Nothing", &[2], None)];
        DataType::extendable_variant_record(t(discriminant), alternatives).unwrap()
    };
    let record32 = known("HLAinteger32BE");
    assert_eq!(record32.octet_boundary(), 8);
    check(&record32, &Value::variant(1, Some(5.into())), "00 00 00 01 00 00 00 02 00 05");
    check(&record32, &Value::variant(2, None), "00 00 00 02 00 00 00 00");
    check(&record32, &Value::variant(9, None), "00 00 00 09 00 00 00 00");
    let unknown = Value::UnknownAlternative { discriminant: 9, octets: Bytes::from_static(&[1, 2, 3]) };
    check(&record32, &unknown, "00 00 00 09 00 00 00 03 01 02 03");
    // An octet as discriminant: length at 4, alternative at 8. Eight octets: length at 8,
    // alternative at 16.
    check(&known("HLAoctet"), &Value::variant(1, Some(5.into())), "01 00 00 00 00 00 00 02 00 05");
    let wide = "00 00 00 00 00 00 00 01 00 00 00 02 00 00 00 00 00 05";
    check(&known("HLAinteger64BE"), &Value::variant(1, Some(5.into())), wide);
    // The value after an unknown alternative is found again.
    let list = DataType::variable_array(record32).unwrap();
    let two = Value::Array(vec![unknown, Value::variant(1, Some(5.into()))]);
    let hex = "00 00 00 02 00 00 00 00 00 00 00 09 00 00 00 03 01 02 03 00 00 00 00 00 00 00 00 01 00 00 00 02 00 05";
    check(&list, &two, hex);
}

#[test]
fn values_that_do_not_fit_are_refused_with_their_place() {
    let wheel = record(&[t("HLAoctet"), t("HLAunicodeString")]);
    let car = record(&[DataType::variable_array(wheel).unwrap()]);
    let value = |n: i128| {
        let wheel = Value::Record(vec![Value::Integer(n), "".into()]);
        Value::Record(vec![Value::Array(vec![wheel])])
    };
    assert!(car.encode(&value(255)).is_ok());
    let error = car.encode(&value(256)).unwrap_err();
    assert_eq!(error.path(), ".F0[0].F0");
    assert_eq!(error.to_string(), "`F0[0].F0`: 256 is out of range: an unsigned integer of 8 bits");
    for (data_type, value) in [
        ("HLAfloat32BE", Value::Float(1e300)),
        ("HLAASCIIstring", "ä".into()),
        ("HLAunicodeChar", "\u{10437}".into()),
        ("HLAASCIIchar", "".into()),
        ("HLAboolean", 1.into()),
        ("HLAinteger32BE", 1.0.into()),
        ("HLAinteger16BE", Value::Integer(1 << 15)),
        ("HLAopaqueData", "text".into()),
        ("HLAtoken", Value::Octets(Bytes::from_static(&[1]))),
    ] {
        assert!(t(data_type).encode(&value).is_err(), "{data_type} {value:?}");
    }
    assert!(record(&[t("HLAoctet")]).encode(&Value::Record(vec![])).is_err());
    assert!(DataType::fixed_array(DataType::Boolean, 2).unwrap().encode(&Value::Array(vec![])).is_err());
}

#[test]
fn impossible_datatypes_cannot_be_built() {
    let a = |name: &str, d: &[i128]| alternative(name, d, None);
    let variant = |discriminant: &str, alternatives| DataType::variant_record(t(discriminant), alternatives);
    assert_eq!(variant("HLAfloat64BE", vec![]), Err(DataTypeError::NoDiscriminant));
    let twice = variant("HLAoctet", vec![a("A", &[1]), a("B", &[2, 1])]);
    assert_eq!(twice, Err(DataTypeError::DuplicateDiscriminant(1)));
    let named = variant("HLAoctet", vec![a("A", &[1]), a("A", &[2])]);
    assert_eq!(named, Err(DataTypeError::DuplicateName("A".to_owned())));
    assert_eq!(
        variant("HLAoctet", vec![a("A", &[256])]),
        Err(DataTypeError::OutOfRange(256, "A".to_owned()))
    );
    let other = Alternative { name: "Rest".to_owned(), discriminants: None, data_type: None };
    let extendable = DataType::extendable_variant_record(t("HLAoctet"), vec![other]);
    assert_eq!(extendable, Err(DataTypeError::MisplacedOther));
    let mut nested = t("HLAboolean");
    for _ in 0..DEPTH_MAX {
        nested = DataType::variable_array(nested).unwrap();
    }
    assert_eq!(DataType::variable_array(nested), Err(DataTypeError::TooDeep));
}

#[derive(Encoding, Clone, PartialEq, Debug)]
#[encoding(crate = crate)]
struct Wheel {
    id: u8,
    radius: f64,
    bolts: [Le<i16>; 2],
    marks: Vec<String>,
    flat: bool,
    maker: AsciiString,
    raw: OpaqueData,
}

#[test]
fn typed_structs_encode_as_their_description_does() {
    let data_type = record(&[
        t("HLAoctet"),
        t("HLAfloat64BE"),
        DataType::fixed_array(t("HLAinteger16LE"), 2).unwrap(),
        DataType::variable_array(t("HLAunicodeString")).unwrap(),
        t("HLAboolean"),
        t("HLAASCIIstring"),
        t("HLAopaqueData"),
    ]);
    let wheel = Wheel {
        id: 7,
        radius: 0.25,
        bolts: [Le(1), Le(-1)],
        marks: vec!["a".to_owned(), "bc".to_owned()],
        flat: true,
        maker: AsciiString("Acme".to_owned()),
        raw: OpaqueData(Bytes::from_static(&[1])),
    };
    let value = Value::Record(vec![
        7.into(),
        0.25.into(),
        Value::Array(values(&[1, -1])),
        Value::Array(values(&["a", "bc"])),
        true.into(),
        "Acme".into(),
        Value::Octets(Bytes::from_static(&[1])),
    ]);
    assert_eq!(Wheel::OCTET_BOUNDARY, data_type.octet_boundary());
    let wheels = vec![wheel.clone(), wheel];
    let octets = wheels.encode().unwrap();
    let list = DataType::variable_array(data_type).unwrap();
    assert_eq!(octets, list.encode(&Value::Array(vec![value.clone(), value])).unwrap());
    assert_eq!(Vec::<Wheel>::decode(&octets).unwrap(), wheels);
    let error = Vec::<Wheel>::decode(&octets[..octets.len() - 1]).unwrap_err();
    assert_eq!(error.path(), "[1].raw");
}
