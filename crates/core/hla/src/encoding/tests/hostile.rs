use super::*;
use crate::{Exception, RtiError};

fn list(element: DataType) -> DataType {
    DataType::variable_array(element).unwrap()
}

#[test]
fn counts_that_lie_are_refused() {
    let numbers = list(t("HLAinteger32BE"));
    let error = numbers.decode(&octets("00 00 00 03 00 00 00 01 00 00 00 02")).unwrap_err();
    assert_eq!((error.path(), error.offset()), ("[2]", 12));
    assert_eq!(error.to_string(), "`[2]`: needs 4 octets, 0 are left (at octet 12)");
    for data_type in [numbers, list(t("HLAoctet")), t("HLAunicodeString"), t("HLAASCIIstring")] {
        assert!(data_type.decode(&octets("7F FF FF FF 00 00 00 00")).is_err());
        let error = data_type.decode(&octets("FF FF FF FF 00 00 00 00")).unwrap_err();
        assert!(error.to_string().contains("-1 is negative"), "{error}");
    }
    let error = RtiError::from(t("HLAopaqueData").decode(&octets("00 00")).unwrap_err());
    assert_eq!(error.exception, Exception::DecoderException);
}

#[test]
fn values_of_no_octets_are_rationed() {
    let count = |n: u32| n.to_be_bytes();
    let tokens = list(t("HLAtoken"));
    assert!(tokens.decode(&count(ZERO_SIZE_VALUES_MAX)).is_ok());
    assert!(tokens.decode(&count(ZERO_SIZE_VALUES_MAX + 1)).is_err());
    assert!(tokens.decode(&count(0x7fff_ffff)).is_err());
    // Records that double at each level would have 2^60 fields of no octets at the bottom.
    let mut doubling = record(&[]);
    for _ in 0..60 {
        doubling = record(&[doubling.clone(), doubling]);
    }
    assert!(doubling.decode(&[]).is_err());
    let huge = DataType::fixed_array(record(&[]), usize::MAX).unwrap();
    assert!(huge.decode(&[]).is_err());
    #[derive(Encoding)]
    #[encoding(crate = crate)]
    struct Empty {}
    assert!(Vec::<Empty>::decode(&count(0x7fff_ffff)).is_err());
}

#[test]
fn fixed_sizes_beyond_the_octets_are_refused() {
    for element in [t("HLAoctet"), t("HLAunicodeChar"), t("HLAfloat64BE")] {
        assert!(DataType::fixed_array(element, usize::MAX).unwrap().decode(&[0; 64]).is_err());
    }
}

#[test]
fn invalid_values_are_refused() {
    for (data_type, hex) in [
        ("HLAboolean", "00 00 00 02"),
        ("HLAboolean", "FF FF FF FF"),
        ("HLAASCIIchar", "80"),
        ("HLAASCIIstring", "00 00 00 01 C3"),
        ("HLAunicodeString", "00 00 00 01 D8 01"),
        ("HLAunicodeChar", "DC 37"),
        ("HLAinteger32BE", "00 00 00"),
        ("HLAinteger32BE", "00 00 00 00 00"),
        ("HLAtoken", "00"),
    ] {
        assert!(t(data_type).decode(&octets(hex)).is_err(), "{data_type} {hex}");
    }
}

#[test]
fn stated_lengths_of_alternatives_are_exact() {
    let alternatives = vec![alternative("A", &[1], Some(t("HLAinteger32BE")))];
    let record = DataType::extendable_variant_record(t("HLAinteger32BE"), alternatives).unwrap();
    assert!(record.decode(&octets("00 00 00 01 00 00 00 04 00 00 00 05")).is_ok());
    for hex in [
        "00 00 00 01 00 00 00 03 00 00 00 05",
        "00 00 00 01 00 00 00 05 00 00 00 05 00",
        "00 00 00 01 00 00 00 05 00 00 00 05",
        "00 00 00 01 FF FF FF FF 00 00 00 05",
        "00 00 00 01 7F FF FF FF 00 00 00 05",
        "00 00 00 02 7F FF FF FF 00 00 00 05",
    ] {
        assert!(record.decode(&octets(hex)).is_err(), "{hex}");
    }
}

#[test]
fn padding_is_not_looked_at_but_must_be_there() {
    let pair = record(&[t("HLAoctet"), t("HLAinteger16BE")]);
    assert!(pair.decode(&octets("01 FF 00 02")).is_ok());
    assert!(pair.decode(&octets("01")).is_err());
    assert!(Decoder::new(&[]).align(8).is_ok());
}
