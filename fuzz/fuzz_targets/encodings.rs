//! Values of arbitrary datatypes from arbitrary octets: every decoded value can be encoded, and
//! decodes again to the same value.
//!
//! Input: the datatype, see [`Shape`], then the octets.
#![no_main]

use hla::encoding::{Alternative, DataType, Decoder, Encoding as _, Field};
use libfuzzer_sys::fuzz_target;

const STANDARD: [&str; 16] = [
    "HLAoctet",
    "HLAoctetPairLE",
    "HLAinteger16BE",
    "HLAinteger32LE",
    "HLAinteger64BE",
    "HLAunsignedInteger16LE",
    "HLAunsignedInteger64LE",
    "HLAfloat32LE",
    "HLAfloat64BE",
    "HLAboolean",
    "HLAASCIIchar",
    "HLAunicodeChar",
    "HLAASCIIstring",
    "HLAunicodeString",
    "HLAopaqueData",
    "HLAtoken",
];

/// Reads a datatype. The high half of its first byte is the kind (0 to 9: the standard one of the
/// low half; then arrays, records and variants of the following datatypes, as many as the low half
/// says).
struct Shape<'a> {
    rest: &'a [u8],
    depth: u8,
}

impl Shape<'_> {
    fn byte(&mut self) -> Option<u8> {
        let (first, rest) = self.rest.split_first()?;
        self.rest = rest;
        Some(*first)
    }

    fn read(&mut self) -> Option<DataType> {
        let byte = self.byte()?;
        let few = byte & 15;
        self.depth = self.depth.checked_sub(1)?;
        let made = match byte >> 4 {
            0..=9 => DataType::standard(STANDARD[usize::from(few)]),
            10 => DataType::variable_array(self.read()?).ok(),
            11 => DataType::fixed_array(self.read()?, usize::from(few)).ok(),
            12 | 13 => DataType::fixed_record(self.fields(few)?).ok(),
            kind => {
                let discriminant = self.read()?;
                let alternatives = self.alternatives(few)?;
                match kind {
                    14 => DataType::variant_record(discriminant, alternatives).ok(),
                    _ => DataType::extendable_variant_record(discriminant, alternatives).ok(),
                }
            }
        };
        self.depth += 1;
        made
    }

    fn fields(&mut self, count: u8) -> Option<Vec<Field>> {
        (0..count).map(|at| Some(Field { name: format!("f{at}"), data_type: self.read()? })).collect()
    }

    fn alternatives(&mut self, count: u8) -> Option<Vec<Alternative>> {
        let one = |at: u8| {
            let data_type = if at % 3 == 2 { None } else { Some(self.read()?) };
            let discriminants = (at % 4 != 3).then(|| vec![i128::from(at)]);
            Some(Alternative { name: format!("a{at}"), discriminants, data_type })
        };
        (0..count).map(one).collect()
    }
}

/// The typed decoders, on the same octets.
fn typed(octets: &[u8]) {
    let _ = String::decode(octets);
    let _ = Vec::<String>::decode(octets);
    let mut decoder = Decoder::new(octets);
    while decoder.opaque_data().is_ok() && decoder.remaining() > 0 && decoder.align(8).is_ok() {}
    let _ = hla::encoding::decode_plain_text_password(octets);
}

fuzz_target!(|data: &[u8]| {
    let mut shape = Shape { rest: data, depth: 12 };
    let Some(data_type) = shape.read() else { return };
    let octets = shape.rest;
    typed(octets);
    let Ok(value) = data_type.decode(octets) else { return };
    let encoded = data_type.encode(&value).expect("what was decoded can be encoded");
    let again = data_type.decode(&encoded).expect("what was encoded can be decoded");
    // Compared as octets, since NaN is not equal to itself. Padding in `octets` may contain
    // anything.
    assert_eq!(data_type.encode(&again).expect("encoded before"), encoded);
});
