//! The data of a message: octets that nobody looks at, or numbers that both federates encode and decode,
//! as federates on computers of different kinds do.

use bytes::Bytes;
use hla::encoding::{Decoder, Encode, Encoder, EncoderError, Encoding as _, Le};

use super::way::Encoding;
use crate::error::BenchError;

/// The data of a load.
#[derive(Clone, Debug)]
pub(super) struct Data {
    encoding: Encoding,
    octets: Bytes,
    numbers: Vec<i32>,
}

impl Data {
    pub(super) fn new(size: usize, encoding: Encoding) -> Self {
        let numbers = (0..size / size_of::<i32>()).map(|at| at as i32 - 7).collect();
        Self { encoding, octets: Bytes::from(vec![7; size]), numbers }
    }

    /// The octets of a message, encoded anew.
    pub(super) fn encoded(&self) -> Result<Bytes, BenchError> {
        match self.encoding {
            Encoding::Opaque => Ok(self.octets.clone()),
            encoding => encoded(&self.numbers, encoding),
        }
    }

    /// Whether these octets mean the same.
    pub(super) fn is_same(&self, octets: &Bytes) -> bool {
        match self.encoding {
            Encoding::Opaque => octets.len() == self.octets.len(),
            encoding => decoded(octets, encoding).is_ok_and(|numbers| numbers == self.numbers),
        }
    }
}

/// The data that the answering federate sends back.
pub(super) fn answered(octets: Bytes, encoding: Encoding) -> Result<Bytes, BenchError> {
    match encoding {
        Encoding::Opaque => Ok(octets),
        encoding => encoded(&decoded(&octets, encoding)?, encoding),
    }
}

fn encoded(numbers: &[i32], encoding: Encoding) -> Result<Bytes, BenchError> {
    let mut encoder = Encoder::default();
    let put = |encoder: &mut Encoder| -> Result<(), EncoderError> {
        match encoding {
            Encoding::LittleEndian => numbers.iter().try_for_each(|number| Le(*number).encode_to(encoder)),
            _ => numbers.iter().try_for_each(|number| number.encode_to(encoder)),
        }
    };
    put(&mut encoder).map_err(|error| BenchError::Unusable(error.to_string()))?;
    Ok(encoder.finish())
}

fn decoded(octets: &[u8], encoding: Encoding) -> Result<Vec<i32>, BenchError> {
    let mut decoder = Decoder::new(octets);
    let numbers = 0..octets.len() / size_of::<i32>();
    let numbers: Result<Vec<i32>, _> = match encoding {
        Encoding::LittleEndian => {
            numbers.map(|_| Le::<i32>::decode_from(&mut decoder).map(|Le(number)| number)).collect()
        }
        _ => numbers.map(|_| i32::decode_from(&mut decoder)).collect(),
    };
    numbers.map_err(|error| BenchError::Nonsense(format!("data that are no numbers: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_back_in_both_orders_of_octets() {
        for &encoding in Encoding::ALL {
            let data = Data::new(128, encoding);
            let octets = data.encoded().expect("it can be encoded");
            assert_eq!(octets.len(), 128);
            let back = answered(octets.clone(), encoding).expect("it can be decoded");
            assert!(back == octets && data.is_same(&back));
            assert!(!data.is_same(&octets.slice(..64)));
        }
        let first = |encoding| Data::new(4, encoding).encoded().expect("it can be encoded")[..].to_vec();
        assert_eq!(first(Encoding::BigEndian), (-7_i32).to_be_bytes());
        assert_eq!(first(Encoding::LittleEndian), (-7_i32).to_le_bytes());
    }
}
