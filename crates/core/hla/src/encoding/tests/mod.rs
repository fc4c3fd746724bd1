//! The examples of the rules, hostile octets, and round trips of any datatype.

mod derived;
mod examples;
mod from_fom;
mod hostile;
mod round_trip;

use super::*;

fn t(name: &str) -> DataType {
    DataType::standard(name).expect("a datatype of the MIM")
}

fn record(fields: &[DataType]) -> DataType {
    let field =
        |(i, data_type): (usize, &DataType)| Field { name: format!("F{i}"), data_type: data_type.clone() };
    DataType::fixed_record(fields.iter().enumerate().map(field).collect()).unwrap()
}

fn alternative(name: &str, discriminants: &[i128], data_type: Option<DataType>) -> Alternative {
    Alternative { name: name.to_owned(), discriminants: Some(discriminants.to_vec()), data_type }
}

fn octets(hex: &str) -> Vec<u8> {
    hex.split_whitespace().map(|octet| u8::from_str_radix(octet, 16).unwrap()).collect()
}
