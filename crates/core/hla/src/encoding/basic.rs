//! Basic data representations: numbers of fixed width and byte order.

use super::{Decoder, DecoderError, Encoder, EncoderError, Value};

/// The interpretation of the bits of a basic data representation.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Interpretation {
    /// Two's complement.
    Signed,
    /// A number from 0 up; also octets and octet pairs.
    Unsigned,
    /// IEEE 754 binary32 or binary64.
    Float,
}

/// The position of the most significant octet.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Endian {
    /// The most significant octet comes first.
    Big,
    /// The least significant octet comes first.
    Little,
}

/// A basic data representation. Its octet boundary equals its size.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct BasicType {
    interpretation: Interpretation,
    octets: u8,
    endian: Endian,
}

impl BasicType {
    /// The representation of `octets` octets: 1, 2, 4 or 8 for integers, 4 or 8 for floats; `None`
    /// for any other width.
    pub const fn new(interpretation: Interpretation, octets: usize, endian: Endian) -> Option<Self> {
        match (interpretation, octets) {
            (Interpretation::Float, 4 | 8)
            | (Interpretation::Signed | Interpretation::Unsigned, 1 | 2 | 4 | 8) => {
                Some(Self { interpretation, octets: octets as u8, endian })
            }
            _ => None,
        }
    }

    /// The representation with this name in the standard MIM of either edition.
    pub fn standard(name: &str) -> Option<Self> {
        let (interpretation, octets, endian) = match name {
            "HLAoctet" | "HLAunsignedInteger8" => return Some(Self::OCTET),
            "HLAoctetPairBE" | "HLAunsignedInteger16BE" => (Interpretation::Unsigned, 2, Endian::Big),
            "HLAoctetPairLE" | "HLAunsignedInteger16LE" => (Interpretation::Unsigned, 2, Endian::Little),
            "HLAunsignedInteger32BE" => (Interpretation::Unsigned, 4, Endian::Big),
            "HLAunsignedInteger32LE" => (Interpretation::Unsigned, 4, Endian::Little),
            "HLAunsignedInteger64BE" => (Interpretation::Unsigned, 8, Endian::Big),
            "HLAunsignedInteger64LE" => (Interpretation::Unsigned, 8, Endian::Little),
            "HLAinteger16BE" => (Interpretation::Signed, 2, Endian::Big),
            "HLAinteger16LE" => (Interpretation::Signed, 2, Endian::Little),
            "HLAinteger32BE" => (Interpretation::Signed, 4, Endian::Big),
            "HLAinteger32LE" => (Interpretation::Signed, 4, Endian::Little),
            "HLAinteger64BE" => (Interpretation::Signed, 8, Endian::Big),
            "HLAinteger64LE" => (Interpretation::Signed, 8, Endian::Little),
            "HLAfloat32BE" => (Interpretation::Float, 4, Endian::Big),
            "HLAfloat32LE" => (Interpretation::Float, 4, Endian::Little),
            "HLAfloat64BE" => (Interpretation::Float, 8, Endian::Big),
            "HLAfloat64LE" => (Interpretation::Float, 8, Endian::Little),
            _ => return None,
        };
        Self::new(interpretation, octets, endian)
    }

    /// HLAoctet.
    pub const OCTET: Self = Self { interpretation: Interpretation::Unsigned, octets: 1, endian: Endian::Big };
    /// HLAinteger32BE, the representation of the standard's enumerations and counts.
    pub const INTEGER32_BE: Self =
        Self { interpretation: Interpretation::Signed, octets: 4, endian: Endian::Big };

    /// The interpretation of its bits.
    pub const fn interpretation(self) -> Interpretation {
        self.interpretation
    }

    /// Its size in octets, which is also its octet boundary.
    pub const fn size(self) -> usize {
        self.octets as usize
    }

    /// Its byte order.
    pub const fn endian(self) -> Endian {
        self.endian
    }

    /// Whether it is an integer representation that can represent `number`.
    pub const fn holds(self, number: i128) -> bool {
        let bits = 8 * self.octets as u32;
        match self.interpretation {
            Interpretation::Signed => -(1 << (bits - 1)) <= number && number < 1 << (bits - 1),
            Interpretation::Unsigned => 0 <= number && number < 1 << bits,
            Interpretation::Float => false,
        }
    }

    pub(super) fn encode_integer(self, number: i128, encoder: &mut Encoder) -> Result<(), EncoderError> {
        if !self.holds(number) {
            return Err(EncoderError::new(format!("{number} is out of range: {}", self.describe())));
        }
        self.put(number as u64, encoder);
        Ok(())
    }

    pub(super) fn encode(self, value: &Value, encoder: &mut Encoder) -> Result<(), EncoderError> {
        match (self.interpretation, value) {
            (Interpretation::Float, &Value::Float(x)) => self.encode_float(x, encoder),
            (Interpretation::Signed | Interpretation::Unsigned, &Value::Integer(n)) => {
                self.encode_integer(n, encoder)
            }
            _ => Err(EncoderError::new(format!("{} is no value of {}", value.describe(), self.describe()))),
        }
    }

    fn encode_float(self, x: f64, encoder: &mut Encoder) -> Result<(), EncoderError> {
        if self.octets == 8 {
            self.put(x.to_bits(), encoder);
            return Ok(());
        }
        let narrow = x as f32;
        if narrow.is_infinite() && x.is_finite() {
            return Err(EncoderError::new(format!("{x:e} is out of range: a float of 32 bits")));
        }
        self.put(narrow.to_bits().into(), encoder);
        Ok(())
    }

    /// Writes the lowest octets of `bits`.
    fn put(self, bits: u64, encoder: &mut Encoder) {
        let size = self.size();
        encoder.align(size);
        match self.endian {
            Endian::Big => encoder.raw(&bits.to_be_bytes()[8 - size..]),
            Endian::Little => encoder.raw(&bits.to_le_bytes()[..size]),
        };
    }

    pub(super) fn decode_integer(self, decoder: &mut Decoder<'_>) -> Result<i128, DecoderError> {
        let bits = self.take(decoder)?;
        let unused = 64 - 8 * u32::from(self.octets);
        Ok(match self.interpretation {
            Interpretation::Signed => i128::from((bits << unused) as i64 >> unused),
            Interpretation::Unsigned | Interpretation::Float => i128::from(bits),
        })
    }

    pub(super) fn decode(self, decoder: &mut Decoder<'_>) -> Result<Value, DecoderError> {
        if self.interpretation != Interpretation::Float {
            return self.decode_integer(decoder).map(Value::Integer);
        }
        let bits = self.take(decoder)?;
        Ok(Value::Float(match self.octets {
            8 => f64::from_bits(bits),
            _ => f32::from_bits(bits as u32).into(),
        }))
    }

    fn take(self, decoder: &mut Decoder<'_>) -> Result<u64, DecoderError> {
        let size = self.size();
        decoder.align(size)?;
        let octets = decoder.raw(size)?;
        let mut all = [0; 8];
        Ok(match self.endian {
            Endian::Big => {
                all[8 - size..].copy_from_slice(octets);
                u64::from_be_bytes(all)
            }
            Endian::Little => {
                all[..size].copy_from_slice(octets);
                u64::from_le_bytes(all)
            }
        })
    }

    fn describe(self) -> String {
        let bits = 8 * u32::from(self.octets);
        match self.interpretation {
            Interpretation::Signed => format!("a signed integer of {bits} bits"),
            Interpretation::Unsigned => format!("an unsigned integer of {bits} bits"),
            Interpretation::Float => format!("a float of {bits} bits"),
        }
    }
}
