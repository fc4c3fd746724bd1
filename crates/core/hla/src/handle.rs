//! Typed handles of the HLA API.
//!
//! On the wire a handle is a message with one field of opaque bytes. Ours are big-endian numbers of
//! fixed width; zero is the *invalid* handle and is sent as empty bytes. Bytes of any other width
//! decode to the invalid handle: a foreign handle is a federate's mistake, which ends in an
//! exception, not a broken message.

use bytes::{Buf, BufMut};
use prost::encoding::{DecodeContext, WireType, encode_key, encoded_len_varint, skip_field};
use prost::{DecodeError, Message};

macro_rules! handles {
    ($($(#[$meta:meta])* $name:ident($int:ty) as $prefix:literal;)+) => {
        base::id! {$(
            $(#[$meta])*
            pub struct $name($int) as $prefix;
        )+}

        $(impl $name {
            /// The handle that names nothing.
            pub const INVALID: Self = Self(0);

            /// True unless this is the invalid handle.
            pub const fn is_valid(self) -> bool {
                self.0 != 0
            }

            /// The octets a federate sees when it encodes the handle; empty when invalid.
            pub fn to_octets(self) -> Vec<u8> {
                if self.is_valid() { self.0.to_be_bytes().to_vec() } else { Vec::new() }
            }

            /// The handle with these octets; invalid when their number is wrong.
            pub fn from_octets(octets: &[u8]) -> Self {
                octets.try_into().map_or(Self::INVALID, |array| Self(<$int>::from_be_bytes(array)))
            }
        }

        impl Message for $name {
            fn encode_raw(&self, buf: &mut impl BufMut) {
                if self.is_valid() {
                    let octets = self.0.to_be_bytes();
                    encode_key(1, WireType::LengthDelimited, buf);
                    buf.put_u8(octets.len() as u8);
                    buf.put_slice(&octets);
                }
            }

            fn merge_field(
                &mut self,
                tag: u32,
                wire_type: WireType,
                buf: &mut impl Buf,
                ctx: DecodeContext,
            ) -> Result<(), DecodeError> {
                if tag != 1 || wire_type != WireType::LengthDelimited {
                    return skip_field(wire_type, tag, buf, ctx);
                }
                let len = prost::encoding::decode_varint(buf)?;
                if len > buf.remaining() as u64 {
                    return Err(truncated());
                }
                let len = len as usize;
                if len == size_of::<$int>() {
                    let mut octets = [0; size_of::<$int>()];
                    buf.copy_to_slice(&mut octets);
                    self.0 = <$int>::from_be_bytes(octets);
                } else {
                    buf.advance(len);
                    self.0 = 0;
                }
                Ok(())
            }

            fn encoded_len(&self) -> usize {
                if self.is_valid() {
                    1 + encoded_len_varint(size_of::<$int>() as u64) + size_of::<$int>()
                } else {
                    0
                }
            }

            fn clear(&mut self) {
                self.0 = 0;
            }
        })+
    };
}

/// prost builds its errors only itself: let it fail on a message that is cut short.
fn truncated() -> DecodeError {
    let mut one_byte: &[u8] = &[0x80];
    prost::encoding::decode_varint(&mut one_byte).expect_err("a lone continuation byte is no number")
}

handles! {
    /// A joined federate; unique in a federation execution and never used again in it.
    FederateHandle(u32) as "f";
    /// An object class of the federation's object model.
    ObjectClassHandle(u32) as "oc";
    /// An attribute; the same at the class that declares it and at every subclass.
    AttributeHandle(u32) as "at";
    /// An interaction class of the federation's object model.
    InteractionClassHandle(u32) as "ic";
    /// A parameter; the same at the class that declares it and at every subclass.
    ParameterHandle(u32) as "pa";
    /// An object instance. High half: the node that registered it; low half: a counter of that node.
    ObjectInstanceHandle(u64) as "oi";
    /// A message that can be retracted.
    MessageRetractionHandle(u64) as "mr";
    /// A transportation type: 1 is HLAreliable, 2 is HLAbestEffort.
    TransportationTypeHandle(u32) as "tt";
    /// A dimension.
    DimensionHandle(u32) as "di";
    /// A region.
    RegionHandle(u32) as "re";
}

impl TransportationTypeHandle {
    /// HLAreliable. Clients of the Federate Protocol know it by this very number.
    pub const RELIABLE: Self = Self(1);
    /// HLAbestEffort. Clients of the Federate Protocol know it by this very number.
    pub const BEST_EFFORT: Self = Self(2);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wire_form_is_big_endian_bytes_of_fixed_width() {
        assert_eq!(ObjectClassHandle(258).encode_to_vec(), [0x0a, 4, 0, 0, 1, 2]);
        assert_eq!(ObjectInstanceHandle(1).encode_to_vec(), [0x0a, 8, 0, 0, 0, 0, 0, 0, 0, 1]);
        assert_eq!(FederateHandle::INVALID.encode_to_vec(), []);
    }

    #[test]
    fn foreign_widths_are_invalid_not_broken() {
        let decode = |b: &[u8]| ObjectClassHandle::decode(b);
        assert_eq!(decode(&[0x0a, 4, 0, 0, 1, 2]).unwrap(), ObjectClassHandle(258));
        assert_eq!(decode(&[0x0a, 3, 1, 2, 3]).unwrap(), ObjectClassHandle::INVALID);
        assert_eq!(decode(&[]).unwrap(), ObjectClassHandle::INVALID);
        assert!(decode(&[0x0a, 4, 0, 0]).is_err());
    }

    #[test]
    fn debug_says_what_it_is() {
        assert_eq!(format!("{:?} {:?}", ObjectClassHandle(17), ObjectInstanceHandle(902)), "oc17 oi902");
    }
}
