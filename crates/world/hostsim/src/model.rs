//! What steps of a process cost on a kind of computer.

/// Processor time and waiting of single steps, in nanoseconds. All are measured by calibrating, none is universal.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Costs {
    /// Time from the moment at which something comes for a process that sleeps, until it runs on an idle core. No processor time.
    pub wake_ns: f64,
    /// A turn: waiting for events, being scheduled, finding out what is ready.
    pub turn_ns: f64,
    /// At the beginning of a turn, for each other process that ran on its core since it ran there itself: the caches are theirs now. At most
    /// for [`OTHERS_MAX`], after which nothing is left that could be lost.
    pub refill_ns: f64,
    /// Writing once to a socket, its way through the system to the other end included; a read costs [`READ_PART`] of it.
    pub write_ns: f64,
    /// Each byte that is written or read, of the first [`WARM_BYTES`] of a write or a read.
    pub warm_byte_ns: f64,
    /// Each byte that is written, beyond the first [`WARM_BYTES`] of a write.
    pub write_byte_ns: f64,
    /// Each byte that is read, beyond the first [`WARM_BYTES`] of a read.
    pub read_byte_ns: f64,
    /// At a node: taking a call of a federate in, finding who wants it, answering.
    pub call_ns: f64,
    /// At a node: a callback to a federate, and its acknowledgement.
    pub callback_ns: f64,
    /// At nodes: a message over a link, half of it at either end.
    pub link_message_ns: f64,
    /// At nodes: a message of a federate that goes to other nodes, half of it where it begins and half where it ends.
    pub remote_message_ns: f64,
    /// At the node where it begins: each byte of such a message, which is kept there for a while.
    pub remote_byte_ns: f64,
    /// At the node that sends it: what the protocol of a multicast group makes of a datagram. It hears itself as well. A further process on its
    /// computer that hears it costs [`COPY_PART`] of a write.
    pub datagram_send_ns: f64,
    /// At each node that takes it: what the protocol makes of a datagram.
    pub datagram_take_ns: f64,
    /// At a federate: making a call, and taking its answer.
    pub federate_call_ns: f64,
    /// At a federate: taking a callback, and acknowledging it.
    pub federate_callback_ns: f64,
}

/// Other processes that a process can lose its caches to, see [`Costs::refill_ns`]. A choice.
pub const OTHERS_MAX: usize = 8;

/// So many bytes of a write or a read find room in the nearest caches on their way, and cost less than those of floods; how much less depends on who else
/// uses these caches. A choice.
pub const WARM_BYTES: usize = 16 << 10;

/// The part of a write that a read costs. A choice: in the runs of a calibration each write meets about one read, so that only
/// their sum can be known.
pub const READ_PART: f64 = 0.25;

/// The part of a write that each further copy of a datagram costs, of those on the computer of who sends it. A choice, since there is one such copy in
/// the runs of a calibration: nodes that sent to five took 7 µs more than those that sent to two, where a write took 4.3.
pub const COPY_PART: f64 = 0.5;

impl Costs {
    /// Number of costs.
    pub const COUNT: usize = 16;

    /// What they are called, in the order of [`Costs::to_array`].
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

    /// All of them.
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
    /// Writing once.
    pub(crate) fn of_write(&self, bytes: usize) -> f64 {
        self.write_ns + self.of_bytes(bytes, self.write_byte_ns)
    }

    /// Reading once.
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
    /// Processes that run at the same time.
    pub cores: u32,
    /// What their steps cost.
    pub costs: Costs,
}

/// The largest cost that is accepted, in nanoseconds: a second.
pub const COST_NS_MAX: f64 = 1e9;

/// A cost that is none.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
pub enum ModelError {
    /// No core.
    #[error("`cores` is 0; expected at least 1")]
    Cores,
    /// A cost out of range.
    #[error("`{name}` is {value}; expected a number of nanoseconds from 0 to 1e9")]
    Cost {
        /// Which.
        name: &'static str,
        /// What it is.
        value: f64,
    },
}

impl HostModel {
    /// A computer of 2026 in a data centre with two virtual cores, as one calibration measured it; what datagrams cost is of another one like it.
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
            let said = HostModel { costs, ..HostModel::EXAMPLE }.check().unwrap_err().to_string();
            assert!(said.starts_with("`read_byte_ns` is "), "{said}");
        }
    }
}
