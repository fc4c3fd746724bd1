use super::*;
use crate::fom::{Edition, Fdd, Limits, Module};

fn fdd(datatypes: &str) -> Fdd {
    let text = format!(
        "<objectModel xmlns=\"http://standards.ieee.org/IEEE1516-2010\"><dataTypes>{datatypes}</dataTypes></objectModel>"
    );
    let (module, _) = Module::read("test", text.as_bytes(), &Limits::default()).unwrap();
    Fdd::standard(Edition::Hla2010).extend(&[module]).unwrap().0
}

#[test]
fn every_datatype_of_the_mim_can_be_encoded() {
    for edition in [Edition::Hla2010, Edition::Hla2025] {
        let mim = Fdd::standard(edition);
        for described in mim.datatypes() {
            let data_type = DataType::from_fdd(&mim, &described.name).unwrap();
            if let Some(standard) = DataType::standard(&described.name) {
                assert_eq!(data_type, standard, "{}", described.name);
            }
        }
    }
}

#[test]
fn a_variant_of_arrays_by_enumerator_ranges() {
    let fdd = fdd("
        <basicDataRepresentations>
          <basicData><name>UnsignedInteger16LE</name><size>16</size><endian>Little</endian></basicData>
        </basicDataRepresentations>
        <enumeratedDataTypes><enumeratedData><name>Kind</name><representation>HLAoctet</representation>
          <enumerator><name>A</name><value>1</value></enumerator>
          <enumerator><name>B</name><value>5</value></enumerator>
          <enumerator><name>C</name><value>3</value></enumerator>
          <enumerator><name>D</name><value>4</value></enumerator></enumeratedData></enumeratedDataTypes>
        <arrayDataTypes><arrayData><name>Matrix</name><dataType>UnsignedInteger16LE</dataType>
          <cardinality>2,1</cardinality><encoding>HLAfixedArray</encoding></arrayData></arrayDataTypes>
        <variantRecordDataTypes><variantRecordData><name>Either</name><discriminant>Which</discriminant>
          <dataType>Kind</dataType>
          <alternative><enumerator>[B..C]</enumerator><name>M</name><dataType>Matrix</dataType></alternative>
          <alternative><enumerator>A</enumerator><name>NA</name><dataType>NA</dataType></alternative>
          <alternative><enumerator>HLAother</enumerator><name>O</name><dataType>HLAoctet</dataType></alternative>
          <encoding>HLAvariantRecord</encoding></variantRecordData></variantRecordDataTypes>");
    let either = DataType::from_fdd(&fdd, "Either").unwrap();
    let row = |n: i32| Value::Array(vec![n.into()]);
    let matrix = Value::variant(3, Some(Value::Array(vec![row(1), row(258)])));
    assert_eq!(&either.encode(&matrix).unwrap()[..], octets("03 00 01 00 02 01"));
    assert_eq!(&either.encode(&Value::variant(1, None)).unwrap()[..], octets("01"));
    assert_eq!(&either.encode(&Value::variant(4, Some(9.into()))).unwrap()[..], octets("04 00 09"));
}

#[test]
fn unencodable_types_are_refused_with_the_reason() {
    let array = |name: &str, of: &str, encoding: &str| {
        format!(
            "<arrayData><name>{name}</name><dataType>{of}</dataType><cardinality>Dynamic</cardinality>\
             <encoding>{encoding}</encoding></arrayData>"
        )
    };
    let fdd = fdd(&format!(
        "<arrayDataTypes>{}{}{}{}</arrayDataTypes>",
        array("Own", "HLAoctet", "RPRlengthlessArray"),
        array("Loop", "Loop2", "HLAvariableArray"),
        array("Loop2", "Loop", "HLAvariableArray"),
        array("Fixed", "HLAoctet", "HLAfixedArray"),
    ));
    for (name, reason) in [
        ("Own", "datatype `Own`: the encoding `RPRlengthlessArray` is not one of the standard's"),
        ("Loop", "datatype `Loop`: contains itself, or is nested too deeply"),
        ("Fixed", "datatype `Fixed`: `Dynamic` is no fixed number"),
        ("Nowhere", "datatype `Nowhere`: is not defined"),
    ] {
        assert_eq!(DataType::from_fdd(&fdd, name).unwrap_err().to_string(), reason);
    }
}
