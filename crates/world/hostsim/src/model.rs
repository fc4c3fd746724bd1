//! The costs of the steps of a process on a kind of computer.

/// Processor time and latency of single steps, in nanoseconds. All values come from a calibration;
/// none is universal.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Costs {
    /// From the arrival of input for a sleeping process until it runs on an idle core. This is
    /// latency, not processor time.
    pub wake_ns: f64,
    /// A turn: waiting for events, being scheduled, and finding the ready sockets.
    pub turn_ns: f64,
    /// Refilling the caches at the beginning of a turn, for each other process that has used the
    /// core since the process last ran there. Counts at most [`OTHERS_MAX`] others, since no cached
    /// data is left after that many.
    pub refill_ns: f64,
    /// A write to a socket, with its way through the system to the other end. A read costs
    /// [`READ_PART`] of it.
    pub write_ns: f64,
    /// Each byte read or written, of the first [`WARM_BYTES`] of a read or write.
    pub warm_byte_ns: f64,
    /// Each byte written beyond the first [`WARM_BYTES`] of a write.
    pub write_byte_ns: f64,
    /// Each byte read beyond the first [`WARM_BYTES`] of a read.
    pub read_byte_ns: f64,
    /// At a node: receiving a call, finding its subscribers, and answering it.
    pub call_ns: f64,
    /// At a node: a callback to a federate, and its acknowledgement.
    pub callback_ns: f64,
    /// At nodes: a message over a link, half of it at each end.
    pub link_message_ns: f64,
    /// At nodes: a message that goes to other nodes, half of it at the sending node and half at the
    /// receiving one.
    pub remote_message_ns: f64,
    /// At the sending node: each byte of such a message, which is kept for repairs.
    pub remote_byte_ns: f64,
    /// At the sending node: the multicast protocol's work on a datagram, including its own copy of
    /// it. Each further process that receives the datagram on the same computer costs [`COPY_PART`]
    /// of a write.
    pub datagram_send_ns: f64,
    /// At each receiving node: the multicast protocol's work on a datagram.
    pub datagram_take_ns: f64,
    /// At a federate: making a call, and receiving its answer.
    pub federate_call_ns: f64,
    /// At a federate: receiving a callback, and acknowledging it.
    pub federate_callback_ns: f64,
}

/// Maximum number of other processes that evict cached data, see [`Costs::refill_ns`]. An
/// assumption, not a measurement.
pub const OTHERS_MAX: usize = 8;

/// Bytes of a read or write that fit into the nearest caches on their way. They cost less than the
/// bytes of a flood; how much less depends on the other users of these caches. An assumption, not a
/// measurement.
pub const WARM_BYTES: usize = 16 << 10;

/// Cost of a read as a part of the cost of a write. An assumption: in the runs of a calibration
/// each write meets about one read, so that only their sum can be determined.
pub const READ_PART: f64 = 0.25;

/// Cost of each further copy of a datagram on the sender's computer, as a part of a write. An
/// assumption, since the runs of a calibration contain one such copy. It agrees with one
/// observation: nodes that sent to five others took 7 µs more than nodes that sent to two, where a
/// write took 4.3 µs.
pub const COPY_PART: f64 = 0.5;

impl Costs {
    /// Number of costs.
    pub const COUNT: usize = 16;

    /// Their names, in the order of [`Costs::to_array`].
    pub const NAMES: [&'static str; Self::COUNT] = [
        "wake_ns",
        "turn_ns",
        "refill_ns",
        "write_ns",
        "warm_byte_ns",
        "write_byte_ns",
        "read_byte_ns",
        "call_ns",
        "callback_ns",
        "link_message_ns",
        "remote_message_ns",
        "remote_byte_ns",
        "datagram_send_ns",
        "datagram_take_ns",
        "federate_call_ns",
        "federate_callback_ns",
    ];

    /// All costs, in the order of [`Costs::NAMES`].
    pub fn to_array(self) -> [f64; Self::COUNT] {
        [
            self.wake_ns,
            self.turn_ns,
            self.refill_ns,
            self.write_ns,
            self.warm_byte_ns,
            self.write_byte_ns,
            self.read_byte_ns,
            self.call_ns,
            self.callback_ns,
            self.link_message_ns,
            self.remote_message_ns,
            self.remote_byte_ns,
            self.datagram_send_ns,
            self.datagram_take_ns,
            self.federate_call_ns,
            self.federate_callback_ns,
        ]
    }

    /// The reverse of [`Costs::to_array`].
    pub fn from_array(array: [f64; Self::COUNT]) -> Self {
        let [
            wake_ns,
            turn_ns,
            refill_ns,
            write_ns,
            warm_byte_ns,
            write_byte_ns,
            read_byte_ns,
            call_ns,
            callback_ns,
            link_message_ns,
            remote_message_ns,
            remote_byte_ns,
            datagram_send_ns,
            datagram_take_ns,
            federate_call_ns,
            federate_callback_ns,
        ] = array;
        Self {
            wake_ns,
            turn_ns,
            refill_ns,
            write_ns,
            warm_byte_ns,
            write_byte_ns,
            read_byte_ns,
            call_ns,
            callback_ns,
            link_message_ns,
            remote_message_ns,
            remote_byte_ns,
            datagram_send_ns,
            datagram_take_ns,
            federate_call_ns,
            federate_callback_ns,
        }
    }
}

impl Costs {
    /// Cost of one write, in nanoseconds.
    pub(crate) fn of_write(&self, bytes: usize) -> f64 {
        self.write_ns + self.of_bytes(bytes, self.write_byte_ns)
    }

    /// Cost of one read, in nanoseconds.
    pub(crate) fn of_read(&self, bytes: usize) -> f64 {
        READ_PART * self.write_ns + self.of_bytes(bytes, self.read_byte_ns)
    }

    fn of_bytes(&self, bytes: usize, each_ns: f64) -> f64 {
        let warm = bytes.min(WARM_BYTES);
        self.warm_byte_ns * warm as f64 + each_ns * (bytes - warm) as f64
    }
}

/// A kind of computer.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct HostModel {
    /// Cores: the number of processes that run at the same time.
    pub cores: u32,
    /// The costs of steps.
    pub costs: Costs,
}

/// Largest valid cost, in nanoseconds: a second.
pub const COST_NS_MAX: f64 = 1e9;

/// An invalid host model.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
pub enum ModelError {
    /// No core.
    #[error("`cores` is 0; expected at least 1")]
    Cores,
    /// A cost out of range.
    #[error("`{name}` is {value}; expected a number of nanoseconds from 0 to 1e9")]
    Cost {
        /// Name of the cost.
        name: &'static str,
        /// Its value.
        value: f64,
    },
}

impl HostModel {
    /// A data-centre computer of 2026 with two virtual cores, as one calibration measured it. The
    /// costs of datagrams were measured on another computer like it.
    pub const EXAMPLE: HostModel = HostModel {
        cores: 2,
        costs: Costs {
            wake_ns: 3_600.0,
            turn_ns: 600.0,
            refill_ns: 1_400.0,
            write_ns: 4_300.0,
            warm_byte_ns: 0.05,
            write_byte_ns: 0.45,
            read_byte_ns: 0.17,
            call_ns: 240.0,
            callback_ns: 220.0,
            link_message_ns: 290.0,
            remote_message_ns: 260.0,
            remote_byte_ns: 0.64,
            datagram_send_ns: 18_000.0,
            datagram_take_ns: 11_000.0,
            federate_call_ns: 260.0,
            federate_callback_ns: 340.0,
        },
    };

    /// Checks the ranges.
    ///
    /// # Errors
    /// [`ModelError`].
    pub fn check(&self) -> Result<(), ModelError> {
        if self.cores == 0 {
            return Err(ModelError::Cores);
        }
        for (name, value) in Costs::NAMES.into_iter().zip(self.costs.to_array()) {
            if !(0.0..=COST_NS_MAX).contains(&value) {
                return Err(ModelError::Cost { name, value });
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn costs_have_an_order_and_a_range() {
        let costs = HostModel::EXAMPLE.costs;
        assert_eq!(Costs::from_array(costs.to_array()), costs);
        assert_eq!(HostModel::EXAMPLE.check(), Ok(()));
        let none = HostModel { cores: 0, ..HostModel::EXAMPLE };
        assert_eq!(none.check(), Err(ModelError::Cores));
        for wrong in [-1.0, f64::NAN, f64::INFINITY] {
            let costs = Costs { read_byte_ns: wrong, ..costs };
            let error = HostModel { costs, ..HostModel::EXAMPLE }.check().unwrap_err().to_string();
            assert!(error.starts_with("`read_byte_ns` is "), "{error}");
        }
    }
}
