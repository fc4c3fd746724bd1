//! Logical time: HLAinteger64Time and HLAfloat64Time with their intervals (1516.1-2025, clause on
//! standardized time types), which every RTI has to offer.
//!
//! One value type serves both kinds. Non-negative finite doubles order as their bit patterns do
//! when these are read as integers. So a time of either kind is kept as its 64 bits, compares with
//! one integer comparison, and is encoded as those bits (8 octets, big endian).

use crate::{Exception, RtiError, api};
use bytes::Bytes;
use std::fmt;

#[cfg(test)]
mod tests;

/// Length of every encoded time and interval, in octets.
pub const ENCODED_LEN: usize = 8;

/// The implementation of logical time of a federation; fixed when the federation is created.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum TimeKind {
    /// HLAinteger64Time: 0 to 2⁶³−1, epsilon 1.
    Integer64,
    /// HLAfloat64Time: 0.0 to the largest finite double, epsilon the smallest positive double. The
    /// default of a federation that names none.
    Float64,
}

impl TimeKind {
    /// The name of the implementation, as passed to Create Federation Execution.
    pub const fn name(self) -> &'static str {
        match self {
            TimeKind::Integer64 => "HLAinteger64Time",
            TimeKind::Float64 => "HLAfloat64Time",
        }
    }

    /// The implementation with this name (case-sensitive). The empty name means the default,
    /// HLAfloat64Time.
    ///
    /// # Errors
    /// CouldNotCreateLogicalTimeFactory for any other name.
    pub fn from_name(name: &str) -> Result<Self, RtiError> {
        match name {
            "HLAinteger64Time" => Ok(TimeKind::Integer64),
            "HLAfloat64Time" | "" => Ok(TimeKind::Float64),
            other => Err(RtiError::new(
                Exception::CouldNotCreateLogicalTimeFactory,
                format!(
                    "no logical time implementation `{other}`; there are HLAinteger64Time and HLAfloat64Time"
                ),
            )),
        }
    }

    /// The first time: 0.
    pub const fn initial(self) -> LogicalTime {
        LogicalTime(Number { kind: self, bits: 0 })
    }

    /// The last time: 2⁶³−1, or the largest finite double.
    pub const fn final_time(self) -> LogicalTime {
        LogicalTime(Number { kind: self, bits: self.bits_max() })
    }

    /// The interval of length zero.
    pub const fn zero(self) -> LogicalTimeInterval {
        LogicalTimeInterval(Number { kind: self, bits: 0 })
    }

    /// The smallest interval above zero: 1, or the smallest positive double (about 4.9e-324).
    pub const fn epsilon(self) -> LogicalTimeInterval {
        LogicalTimeInterval(Number { kind: self, bits: 1 })
    }

    /// The time with these octets.
    ///
    /// # Errors
    /// CouldNotDecode unless there are 8 octets; InvalidLogicalTime when they hold a negative or
    /// non-finite number.
    pub fn decode_time(self, octets: &[u8]) -> Result<LogicalTime, RtiError> {
        let number = Number::decode(self, octets, "time")?;
        number.map(LogicalTime).map_err(|n| invalid_time(&n))
    }

    /// The interval with these octets.
    ///
    /// # Errors
    /// CouldNotDecode unless there are 8 octets; InvalidLogicalTimeInterval when they hold a
    /// negative or non-finite number.
    pub fn decode_interval(self, octets: &[u8]) -> Result<LogicalTimeInterval, RtiError> {
        let number = Number::decode(self, octets, "interval")?;
        number.map(LogicalTimeInterval).map_err(|n| invalid_interval(&n))
    }

    const fn bits_max(self) -> u64 {
        match self {
            TimeKind::Integer64 => i64::MAX as u64,
            TimeKind::Float64 => f64::MAX.to_bits(),
        }
    }
}

impl fmt::Display for TimeKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A point on a federation's time axis; never negative, never NaN or infinite.
///
/// `Ord` is the order of time between times of one kind, and all times of a federation are of one
/// kind. Between kinds the order is arbitrary but total: integer before float.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LogicalTime(Number);

/// A distance between two times of one kind; never negative, never NaN or infinite. Ordered like
/// [`LogicalTime`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LogicalTimeInterval(Number);

impl LogicalTime {
    /// The HLAinteger64Time `value`.
    ///
    /// # Errors
    /// InvalidLogicalTime when it is negative.
    pub fn integer64(value: i64) -> Result<Self, RtiError> {
        Number::integer64(value).map(Self).map_err(|n| invalid_time(&n))
    }

    /// The HLAfloat64Time `value`; −0.0 becomes 0.0.
    ///
    /// # Errors
    /// InvalidLogicalTime when it is negative, NaN or infinite.
    pub fn float64(value: f64) -> Result<Self, RtiError> {
        Number::float64(value).map(Self).map_err(|n| invalid_time(&n))
    }

    /// This time plus `interval`. A float sum that rounding would leave at `self` becomes the next
    /// representable time: adding an interval above zero gives a strictly greater time.
    ///
    /// # Errors
    /// IllegalTimeArithmetic beyond the final time; InvalidLogicalTimeInterval if the kinds differ.
    #[expect(clippy::should_implement_trait, reason = "the standard's name; `+` cannot fail")]
    pub fn add(self, interval: LogicalTimeInterval) -> Result<Self, RtiError> {
        self.0.same_kind(interval.0, Exception::InvalidLogicalTimeInterval)?;
        self.0.add(interval.0).map(Self)
    }

    /// This time minus `interval`; strictly less than `self` for any interval above zero.
    ///
    /// # Errors
    /// IllegalTimeArithmetic before the initial time; InvalidLogicalTimeInterval when the kinds
    /// differ.
    pub fn subtract(self, interval: LogicalTimeInterval) -> Result<Self, RtiError> {
        self.0.same_kind(interval.0, Exception::InvalidLogicalTimeInterval)?;
        self.0.subtract(interval.0).map(Self)
    }

    /// The absolute distance between the two times.
    ///
    /// # Errors
    /// InvalidLogicalTime when the kinds differ.
    pub fn distance(self, other: Self) -> Result<LogicalTimeInterval, RtiError> {
        self.0.same_kind(other.0, Exception::InvalidLogicalTime)?;
        let (low, high) = if self <= other { (self.0, other.0) } else { (other.0, self.0) };
        high.difference(low).map(LogicalTimeInterval)
    }

    /// Whether this is the last time of its kind.
    pub const fn is_final(self) -> bool {
        self.0.bits == self.0.kind.bits_max()
    }
}

impl LogicalTimeInterval {
    /// The HLAinteger64Interval `value`.
    ///
    /// # Errors
    /// InvalidLogicalTimeInterval when it is negative.
    pub fn integer64(value: i64) -> Result<Self, RtiError> {
        Number::integer64(value).map(Self).map_err(|n| invalid_interval(&n))
    }

    /// The HLAfloat64Interval `value`; −0.0 becomes 0.0.
    ///
    /// # Errors
    /// InvalidLogicalTimeInterval when it is negative, NaN or infinite.
    pub fn float64(value: f64) -> Result<Self, RtiError> {
        Number::float64(value).map(Self).map_err(|n| invalid_interval(&n))
    }

    /// The sum of both; strictly greater than `self` for any `other` above zero.
    ///
    /// # Errors
    /// IllegalTimeArithmetic beyond the largest interval; InvalidLogicalTimeInterval when the kinds
    /// differ.
    #[expect(clippy::should_implement_trait, reason = "the standard's name; `+` cannot fail")]
    pub fn add(self, other: Self) -> Result<Self, RtiError> {
        self.0.same_kind(other.0, Exception::InvalidLogicalTimeInterval)?;
        self.0.add(other.0).map(Self)
    }

    /// This interval minus `other`; strictly less than `self` for any `other` above zero.
    ///
    /// # Errors
    /// IllegalTimeArithmetic when `other` is longer; InvalidLogicalTimeInterval when the kinds
    /// differ.
    pub fn subtract(self, other: Self) -> Result<Self, RtiError> {
        self.0.same_kind(other.0, Exception::InvalidLogicalTimeInterval)?;
        self.0.subtract(other.0).map(Self)
    }

    /// Whether this is the interval of length zero.
    pub const fn is_zero(self) -> bool {
        self.0.bits == 0
    }
}

macro_rules! number_faces {
    ($($name:ident)+) => {$(
        impl $name {
            /// The implementation of logical time that it belongs to.
            pub const fn kind(self) -> TimeKind {
                self.0.kind
            }

            /// The number as an integer; `None` if it is of the float kind.
            pub const fn as_integer64(self) -> Option<i64> {
                match self.0.kind {
                    TimeKind::Integer64 => Some(self.0.bits as i64),
                    TimeKind::Float64 => None,
                }
            }

            /// The number as a double; `None` if it is of the integer kind.
            pub const fn as_float64(self) -> Option<f64> {
                match self.0.kind {
                    TimeKind::Integer64 => None,
                    TimeKind::Float64 => Some(f64::from_bits(self.0.bits)),
                }
            }

            /// The octets that a federate gets: 8, big endian.
            pub const fn encode(self) -> [u8; ENCODED_LEN] {
                self.0.bits.to_be_bytes()
            }
        }

        impl From<$name> for api::$name {
            fn from(number: $name) -> Self {
                api::$name { data: Bytes::copy_from_slice(&number.encode()) }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(&self.0, f)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Debug::fmt(&self.0, f)
            }
        }
    )+};
}

number_faces! { LogicalTime LogicalTimeInterval }

/// The common part of times and intervals. Invariant: `bits <= kind.bits_max()`, which for floats
/// excludes negative numbers (top bit set), infinities and NaN (exponent all ones).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Number {
    kind: TimeKind,
    bits: u64,
}

/// Eight octets that are not a number of the kind; the error prints them.
struct OutOfRange(Number);

impl Number {
    fn new(kind: TimeKind, bits: u64) -> Result<Self, OutOfRange> {
        // −0.0 equals 0.0, so it is a legal encoding of it.
        let bits = if kind == TimeKind::Float64 && bits == (-0.0f64).to_bits() { 0 } else { bits };
        let number = Self { kind, bits };
        if bits <= kind.bits_max() { Ok(number) } else { Err(OutOfRange(number)) }
    }

    fn integer64(value: i64) -> Result<Self, OutOfRange> {
        Self::new(TimeKind::Integer64, value as u64)
    }

    fn float64(value: f64) -> Result<Self, OutOfRange> {
        Self::new(TimeKind::Float64, value.to_bits())
    }

    fn decode(kind: TimeKind, octets: &[u8], item: &str) -> Result<Result<Self, OutOfRange>, RtiError> {
        let array: [u8; ENCODED_LEN] = octets.try_into().map_err(|_| {
            let details = format!("a {kind} {item} has {ENCODED_LEN} octets, not {}", octets.len());
            RtiError::new(Exception::CouldNotDecode, details)
        })?;
        Ok(Self::new(kind, u64::from_be_bytes(array)))
    }

    fn same_kind(self, other: Self, exception: Exception) -> Result<(), RtiError> {
        if self.kind == other.kind {
            return Ok(());
        }
        Err(RtiError::new(exception, format!("{} and {} do not mix", self.kind, other.kind)))
    }

    /// The sum; strictly greater than `self` unless `other` is zero. The kinds must be equal.
    fn add(self, other: Self) -> Result<Self, RtiError> {
        let sum = match self.kind {
            TimeKind::Integer64 => self.bits + other.bits, // two 63-bit numbers
            // The bits of an infinite sum exceed the maximum, and so does the successor of the
            // maximum.
            TimeKind::Float64 => {
                let sum = (f64::from_bits(self.bits) + f64::from_bits(other.bits)).to_bits();
                if other.bits > 0 { sum.max(self.bits + 1) } else { sum }
            }
        };
        self.checked(sum, "+", other)
    }

    /// The difference; strictly less than `self` unless `other` is zero. The kinds must be equal.
    fn subtract(self, other: Self) -> Result<Self, RtiError> {
        let less = self.difference(other)?;
        let strictly = if other.bits > 0 { less.bits.min(self.bits - 1) } else { less.bits };
        Ok(Self { bits: strictly, ..self })
    }

    /// The rounded difference. The kinds must be equal.
    fn difference(self, other: Self) -> Result<Self, RtiError> {
        let difference = match self.kind {
            _ if other.bits > self.bits => u64::MAX,
            TimeKind::Integer64 => self.bits - other.bits,
            TimeKind::Float64 => (f64::from_bits(self.bits) - f64::from_bits(other.bits)).to_bits(),
        };
        self.checked(difference, "-", other)
    }

    fn checked(self, bits: u64, sign: &str, other: Self) -> Result<Self, RtiError> {
        Self::new(self.kind, bits).map_err(|_| {
            let details = format!("{self} {sign} {other} is outside the range of {}", self.kind);
            RtiError::new(Exception::IllegalTimeArithmetic, details)
        })
    }
}

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind {
            TimeKind::Integer64 => fmt::Display::fmt(&(self.bits as i64), f),
            TimeKind::Float64 => fmt::Display::fmt(&f64::from_bits(self.bits), f),
        }
    }
}

impl fmt::Debug for Number {
    /// Like `Display`, but with huge and tiny doubles in scientific notation.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind {
            TimeKind::Integer64 => fmt::Debug::fmt(&(self.bits as i64), f),
            TimeKind::Float64 => fmt::Debug::fmt(&f64::from_bits(self.bits), f),
        }
    }
}

fn invalid_time(OutOfRange(number): &OutOfRange) -> RtiError {
    let details = format!("{number:?} is no {} time: it must be finite and at least 0", number.kind);
    RtiError::new(Exception::InvalidLogicalTime, details)
}

fn invalid_interval(OutOfRange(number): &OutOfRange) -> RtiError {
    let details = format!("{number:?} is no {} interval: it must be finite and at least 0", number.kind);
    RtiError::new(Exception::InvalidLogicalTimeInterval, details)
}
