//! Encoding and decoding by the description of a datatype.

use super::datatype::{Array, FixedRecord, Run, Unit, VariantRecord};
use super::encoder::check_ascii;
use super::{DataType, Decoder, DecoderError, Encoder, EncoderError, EnumeratedType, Value};
use bytes::Bytes;

impl DataType {
    /// Encodes `value` as an outermost value.
    ///
    /// # Errors
    /// When `value` is not a value of this datatype. The error names the part at fault.
    pub fn encode(&self, value: &Value) -> Result<Bytes, EncoderError> {
        let mut encoder = Encoder::new();
        self.encode_to(value, &mut encoder)?;
        Ok(encoder.finish())
    }

    /// Decodes a value from all of `octets`.
    ///
    /// # Errors
    /// When the octets are not a value of this datatype, or octets follow the value.
    pub fn decode(&self, octets: &[u8]) -> Result<Value, DecoderError> {
        let mut decoder = Decoder::new(octets);
        let value = self.decode_from(&mut decoder)?;
        decoder.finish()?;
        Ok(value)
    }

    /// Writes `value` on its octet boundary.
    ///
    /// # Errors
    /// When `value` is not a value of this datatype. Part of it may then have been written.
    pub fn encode_to(&self, value: &Value, encoder: &mut Encoder) -> Result<(), EncoderError> {
        encoder.align(self.octet_boundary());
        match (self, value) {
            (DataType::Basic(basic), value) => basic.encode(value, encoder),
            (DataType::Boolean, &Value::Boolean(b)) => {
                encoder.boolean(b);
                Ok(())
            }
            (DataType::AsciiChar, Value::Text(text)) => encode_units(Unit::AsciiChar, Some(1), text, encoder),
            (DataType::UnicodeChar, Value::Text(text)) => {
                encode_units(Unit::UnicodeChar, Some(1), text, encoder)
            }
            (DataType::Run(run), Value::Octets(octets)) if run.unit == Unit::Octet => {
                encode_count(run.len, octets.len(), encoder)?;
                encoder.raw(octets);
                Ok(())
            }
            (DataType::Run(run), Value::Text(text)) if run.unit != Unit::Octet => {
                encode_units(run.unit, run.len, text, encoder)
            }
            (DataType::Enumerated(enumerated), &Value::Integer(n)) => {
                enumerated.representation().encode_integer(n, encoder)
            }
            (DataType::Array(array), Value::Array(values)) => array.encode(values, encoder),
            (DataType::FixedRecord(record), Value::Record(values)) => record.encode(values, encoder),
            (DataType::VariantRecord(record), value) => record.encode(value, encoder),
            _ => Err(self.mismatch(value)),
        }
    }

    /// Reads a value from its next octet boundary.
    ///
    /// # Errors
    /// When the octets are not a value of this datatype. The error has the offset and the part at
    /// fault.
    pub fn decode_from(&self, decoder: &mut Decoder<'_>) -> Result<Value, DecoderError> {
        decoder.align(self.octet_boundary())?;
        decoder.rationed(|decoder| match self {
            DataType::Basic(basic) => basic.decode(decoder),
            DataType::Boolean => decoder.boolean().map(Value::Boolean),
            DataType::AsciiChar => decode_units(Unit::AsciiChar, 1, decoder),
            DataType::UnicodeChar => decode_units(Unit::UnicodeChar, 1, decoder),
            DataType::Run(run) => run.decode(decoder),
            DataType::Enumerated(enumerated) => enumerated.decode(decoder),
            DataType::Array(array) => array.decode(decoder),
            DataType::FixedRecord(record) => record.decode(decoder),
            DataType::VariantRecord(record) => record.decode(decoder),
        })
    }

    fn mismatch(&self, value: &Value) -> EncoderError {
        let expected = match self {
            DataType::Basic(_) | DataType::Enumerated(_) => "a number",
            DataType::Boolean => "a boolean",
            DataType::AsciiChar | DataType::UnicodeChar => "a text of one character",
            DataType::Run(run) if run.unit == Unit::Octet => "octets",
            DataType::Run(_) => "a text",
            DataType::Array(_) => "an array",
            DataType::FixedRecord(_) => "a record",
            DataType::VariantRecord(_) => "a variant",
        };
        EncoderError::new(format!("needs {expected}, not {}", value.describe()))
    }
}

impl Run {
    fn decode(&self, decoder: &mut Decoder<'_>) -> Result<Value, DecoderError> {
        let len = match self.len {
            Some(len) => len,
            None => decoder.count()?,
        };
        decode_units(self.unit, len, decoder)
    }
}

impl EnumeratedType {
    fn decode(&self, decoder: &mut Decoder<'_>) -> Result<Value, DecoderError> {
        self.representation().decode_integer(decoder).map(Value::Integer)
    }
}

impl Array {
    fn encode(&self, values: &[Value], encoder: &mut Encoder) -> Result<(), EncoderError> {
        encode_count(self.len(), values.len(), encoder)?;
        for (i, value) in values.iter().enumerate() {
            self.element().encode_to(value, encoder).map_err(|e| e.within(format_args!("[{i}]")))?;
        }
        Ok(())
    }

    /// Memory grows with the elements read, whatever the count claims.
    fn decode(&self, decoder: &mut Decoder<'_>) -> Result<Value, DecoderError> {
        let len = match self.len() {
            Some(len) => len,
            None => decoder.count()?,
        };
        let mut values = Vec::new();
        for i in 0..len {
            let value = self.element().decode_from(decoder);
            values.push(value.map_err(|e| e.within(format_args!("[{i}]")))?);
        }
        Ok(Value::Array(values))
    }
}

impl FixedRecord {
    fn encode(&self, values: &[Value], encoder: &mut Encoder) -> Result<(), EncoderError> {
        let fields = self.fields();
        if values.len() != fields.len() {
            let details = format!("the record has {} fields, not {}", fields.len(), values.len());
            return Err(EncoderError::new(details));
        }
        for (field, value) in fields.iter().zip(values) {
            let done = field.data_type.encode_to(value, encoder);
            done.map_err(|e| e.within(format_args!(".{}", field.name)))?;
        }
        Ok(())
    }

    fn decode(&self, decoder: &mut Decoder<'_>) -> Result<Value, DecoderError> {
        let fields = self.fields().iter();
        let values = fields.map(|field| {
            let value = field.data_type.decode_from(decoder);
            value.map_err(|e| e.within(format_args!(".{}", field.name)))
        });
        values.collect::<Result<_, _>>().map(Value::Record)
    }
}

impl VariantRecord {
    fn encode(&self, value: &Value, encoder: &mut Encoder) -> Result<(), EncoderError> {
        match value {
            Value::Variant { discriminant, value } => {
                self.encode_discriminant(*discriminant, encoder)?;
                self.encode_alternative(*discriminant, value.as_deref(), encoder)
            }
            Value::UnknownAlternative { discriminant, octets } if self.is_extendable() => {
                if self.alternative(*discriminant).is_some() {
                    let details = format!("the discriminant {discriminant} has an alternative that is known");
                    return Err(EncoderError::new(details));
                }
                self.encode_discriminant(*discriminant, encoder)?;
                encoder.extension(octets)
            }
            other => Err(EncoderError::new(format!("needs a variant, not {}", other.describe()))),
        }
    }

    fn encode_discriminant(&self, number: i128, encoder: &mut Encoder) -> Result<(), EncoderError> {
        match self.discriminant() {
            DataType::Basic(basic) => basic.encode_integer(number, encoder),
            DataType::Enumerated(enumerated) => enumerated.representation().encode_integer(number, encoder),
            _ if number == 0 || number == 1 => {
                encoder.boolean(number == 1);
                Ok(())
            }
            _ => Err(EncoderError::new(format!("an HLAboolean is 0 or 1, not {number}"))),
        }
    }

    fn encode_alternative(
        &self,
        discriminant: i128,
        value: Option<&Value>,
        encoder: &mut Encoder,
    ) -> Result<(), EncoderError> {
        let alternative = self.alternative(discriminant);
        let within = |e: EncoderError| match alternative {
            Some(alternative) => e.within(format_args!(".{}", alternative.name)),
            None => e,
        };
        match (alternative.and_then(|a| a.data_type.as_ref()), value) {
            (Some(data_type), Some(value)) if self.is_extendable() => {
                let octets = data_type.encode(value).map_err(within)?;
                encoder.extension(&octets)
            }
            (Some(data_type), Some(value)) => {
                encoder.align(self.alternatives_boundary());
                data_type.encode_to(value, encoder).map_err(within)
            }
            (None, None) if self.is_extendable() => encoder.extension(&[]),
            (None, None) => Ok(()),
            (Some(_), None) => {
                Err(within(EncoderError::new(format!("the discriminant {discriminant} needs a value"))))
            }
            (None, Some(_)) => {
                Err(within(EncoderError::new(format!("the discriminant {discriminant} takes no value"))))
            }
        }
    }

    fn decode(&self, decoder: &mut Decoder<'_>) -> Result<Value, DecoderError> {
        let discriminant = match self.discriminant() {
            DataType::Basic(basic) => basic.decode_integer(decoder)?,
            DataType::Enumerated(enumerated) => enumerated.representation().decode_integer(decoder)?,
            _ => decoder.boolean()?.into(),
        };
        let alternative = self.alternative(discriminant);
        let value = if self.is_extendable() {
            let len = decoder.count()?;
            if len > 0 {
                decoder.align(VariantRecord::EXTENDABLE_BOUNDARY)?;
            }
            let Some(known) = alternative else {
                if len == 0 {
                    return Ok(Value::Variant { discriminant, value: None });
                }
                let octets = Bytes::copy_from_slice(decoder.raw(len)?);
                return Ok(Value::UnknownAlternative { discriminant, octets });
            };
            decoder.enclosed(len, |decoder| decode_optional(known.data_type.as_ref(), decoder))
        } else {
            let data_type = alternative.and_then(|a| a.data_type.as_ref());
            if data_type.is_some() {
                decoder.align(self.alternatives_boundary())?;
            }
            decode_optional(data_type, decoder)
        };
        let value = value.map_err(|e| match alternative {
            Some(alternative) => e.within(format_args!(".{}", alternative.name)),
            None => e,
        })?;
        Ok(Value::Variant { discriminant, value })
    }
}

fn decode_optional(
    data_type: Option<&DataType>,
    decoder: &mut Decoder<'_>,
) -> Result<Option<Box<Value>>, DecoderError> {
    data_type.map(|t| t.decode_from(decoder).map(Box::new)).transpose()
}

/// Writes the count of an HLAvariableArray; for an HLAfixedArray only checks the length.
fn encode_count(fixed: Option<usize>, len: usize, encoder: &mut Encoder) -> Result<(), EncoderError> {
    match fixed {
        Some(fixed) if fixed == len => Ok(()),
        Some(fixed) => Err(EncoderError::new(format!("needs {fixed} elements, not {len}"))),
        None => encoder.count(len).map(drop),
    }
}

/// An array of characters.
fn encode_units(
    unit: Unit,
    fixed: Option<usize>,
    text: &str,
    encoder: &mut Encoder,
) -> Result<(), EncoderError> {
    if unit == Unit::UnicodeChar {
        encode_count(fixed, text.encode_utf16().count(), encoder)?;
        encoder.utf16(text);
    } else {
        check_ascii(text)?;
        encode_count(fixed, text.len(), encoder)?;
        encoder.raw(text.as_bytes());
    }
    Ok(())
}

fn decode_units(unit: Unit, len: usize, decoder: &mut Decoder<'_>) -> Result<Value, DecoderError> {
    match unit {
        Unit::Octet => decoder.raw(len).map(|octets| Value::Octets(Bytes::copy_from_slice(octets))),
        Unit::AsciiChar => decoder.ascii(len).map(|text| Value::Text(text.to_owned())),
        Unit::UnicodeChar => decoder.utf16(len).map(Value::Text),
    }
}
