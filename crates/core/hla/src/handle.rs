//! Typed handles of the HLA API.
//!
//! On the wire a handle is a message with one field of opaque bytes. Ours are big-endian numbers of
//! fixed width, counted from 1. The *invalid* handle is 0 here and empty bytes on the wire.
//!
//! Handles of other RTIs may have another width, or count from 0. A federate only has to give them
//! back unchanged, so octets of any width up to 15 are kept: as the number that they represent,
//! with the width in the top octet, `0xf0 | width`. Our own services never gave out such a handle,
//! so it ends in an exception. Octets that do not fit (a longer handle, or a foreign one whose
//! number needs the top octet) decode to the invalid handle.

use bytes::{Buf, BufMut};
use prost::encoding::{DecodeContext, WireType, encode_key, skip_field};
use prost::{DecodeError, Message};

/// From this top octet on, a number is a handle of a foreign width; the low half of the octet is
/// the width.
const FOREIGN: u8 = 0xf0;
/// Octets of the longest handle that is kept.
const WIDTH_MAX: usize = 15;

macro_rules! handles {
    ($($(#[$meta:meta])* $name:ident($int:ty) as $prefix:literal;)+) => {
        base::id! {$(
            $(#[$meta])*
            #[derive(serde::Serialize, serde::Deserialize)]
            pub struct $name($int) as $prefix;
        )+}

        $(impl $name {
            /// The handle of nothing.
            pub const INVALID: Self = Self(0);

            /// Whether this is not the invalid handle.
            pub const fn is_valid(self) -> bool {
                self.0 != 0
            }

            /// The octets that a federate gets when it encodes the handle; empty if invalid.
            pub fn to_octets(self) -> Vec<u8> {
                let (octets, width) = self.octets();
                octets[octets.len() - width..].to_vec()
            }

            /// The handle with these octets; invalid if they do not fit.
            pub fn from_octets(octets: &[u8]) -> Self {
                let value_octets = size_of::<$int>() - 1;
                let (high, low) = octets.split_at(octets.len().saturating_sub(value_octets));
                let value = low.iter().fold(0, |value, &octet| value << 8 | <$int>::from(octet));
                match (octets.len(), high) {
                    (0, _) => Self::INVALID,
                    // A native width: the top octet is part of the number, unless it could be
                    // mistaken for a width.
                    (width, &[top]) if width == size_of::<$int>() && top < FOREIGN => {
                        let native = <$int>::from(top) << (8 * value_octets) | value;
                        if native == 0 { Self::foreign(width, 0) } else { Self(native) }
                    }
                    (width, high) if width <= WIDTH_MAX && high.iter().all(|&octet| octet == 0) => {
                        Self::foreign(width, value)
                    }
                    _ => Self::INVALID,
                }
            }

            const fn foreign(width: usize, value: $int) -> Self {
                Self(((FOREIGN as usize | width) as $int) << (<$int>::BITS - 8) | value)
            }

            /// The octets, right-aligned, and their number.
            fn octets(self) -> ([u8; 16], usize) {
                let mut octets = [0; 16];
                let native = self.0.to_be_bytes();
                octets[16 - native.len()..].copy_from_slice(&native);
                let top = native[0];
                if top >= FOREIGN {
                    octets[16 - native.len()] = 0;
                    (octets, usize::from(top & !FOREIGN))
                } else {
                    (octets, if self.is_valid() { native.len() } else { 0 })
                }
            }
        }

        impl Message for $name {
            fn encode_raw(&self, buf: &mut impl BufMut) {
                if self.is_valid() {
                    let (octets, width) = self.octets();
                    encode_key(1, WireType::LengthDelimited, buf);
                    buf.put_u8(width as u8);
                    buf.put_slice(&octets[octets.len() - width..]);
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
                    *self = Self::from_octets(&octets);
                } else if len <= WIDTH_MAX {
                    let mut octets = [0; WIDTH_MAX];
                    buf.copy_to_slice(&mut octets[..len]);
                    *self = Self::from_octets(&octets[..len]);
                } else {
                    buf.advance(len);
                    *self = Self::INVALID;
                }
                Ok(())
            }

            fn encoded_len(&self) -> usize {
                match self.octets().1 {
                    0 => 0,
                    width => 2 + width,
                }
            }

            fn clear(&mut self) {
                self.0 = 0;
            }
        })+
    };
}

/// prost alone can build its errors, so let it fail on a message that is cut short.
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
    /// An object instance. High half: the node that registered it; low half: a counter of that
    /// node.
    ObjectInstanceHandle(u64) as "oi";
    /// A message that can be retracted.
    MessageRetractionHandle(u64) as "mr";
    /// A transportation type: 1 is HLAreliable, 2 is HLAbestEffort.
    TransportationTypeHandle(u32) as "tt";
    /// A dimension.
    DimensionHandle(u32) as "di";
    /// A region. High half: the federate that created it; low half: a counter of that federate.
    RegionHandle(u64) as "re";
}

impl TransportationTypeHandle {
    /// HLAreliable. Clients of the Federate Protocol rely on this very number.
    pub const RELIABLE: Self = Self(1);
    /// HLAbestEffort. Clients of the Federate Protocol rely on this very number.
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
    fn foreign_handles_come_back_as_they_came() {
        let handles: [&[u8]; 8] = [
            &[7],
            &[0],
            &[1, 2, 3],
            &[0, 0, 0, 0],
            &[0, 1, 2, 3, 4],
            &[0; 8],
            &[0, 0, 0, 0, 0, 0, 1, 2],
            &[0; 15],
        ];
        for octets in handles.into_iter().filter(|octets| octets.len() != 5) {
            let handle = ObjectClassHandle::from_octets(octets);
            assert!(handle.is_valid(), "{octets:?}");
            assert_eq!(handle.to_octets(), octets);
            let wire = handle.encode_to_vec();
            assert_eq!(wire.len(), handle.encoded_len());
            assert_eq!(ObjectClassHandle::decode(&wire[..]).unwrap(), handle);
        }
        for octets in handles {
            assert_eq!(ObjectInstanceHandle::from_octets(octets).to_octets(), octets);
        }
    }

    #[test]
    fn unfit_handles_are_invalid_not_broken() {
        let unfit: [&[u8]; 4] = [&[], &[0, 1, 2, 3, 4], &[0xf0, 0, 0, 1], &[1; 16]];
        for octets in unfit {
            assert_eq!(ObjectClassHandle::from_octets(octets), ObjectClassHandle::INVALID, "{octets:?}");
        }
        let decode = |b: &[u8]| ObjectClassHandle::decode(b);
        assert_eq!(decode(&[0x0a, 4, 0, 0, 1, 2]).unwrap(), ObjectClassHandle(258));
        assert_eq!(decode(&[0x0a, 5, 0, 1, 2, 3, 4]).unwrap(), ObjectClassHandle::INVALID);
        assert_eq!(decode(&[]).unwrap(), ObjectClassHandle::INVALID);
        assert!(decode(&[0x0a, 4, 0, 0]).is_err());
    }

    proptest::proptest! {
        #[test]
        fn numbers_of_our_own_are_their_big_endian_octets(number in 1u32..0xf000_0000) {
            let handle = ObjectClassHandle(number);
            proptest::prop_assert_eq!(handle.to_octets(), number.to_be_bytes());
            proptest::prop_assert_eq!(ObjectClassHandle::from_octets(&number.to_be_bytes()), handle);
        }

        #[test]
        fn any_octets_come_back_or_are_invalid(octets: Vec<u8>) {
            let handle = ObjectInstanceHandle::from_octets(&octets);
            if handle.is_valid() {
                proptest::prop_assert_eq!(handle.to_octets(), octets);
            }
        }
    }

    #[test]
    fn debug_says_what_it_is() {
        assert_eq!(format!("{:?} {:?}", ObjectClassHandle(17), ObjectInstanceHandle(902)), "oc17 oi902");
    }
}
