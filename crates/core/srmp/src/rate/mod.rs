//! Congestion control: TFMCC (RFC 4654) as RFC 4410, section 4.4, applies it to bundles, and the
//! shaper that keeps to the rate.
//!
//! Every member runs one [`Sender`] per group, and one [`Receiver`] per remote member of it. The
//! receiver measures loss events ([`LossHistory`]), the round-trip time and the rate of arrivals.
//! From these it computes the rate of a TCP flow on the same path ([`throughput`]). The sender
//! follows the slowest receiver, its *current limiting receiver* (CLR). The others report only when
//! they are slower than all reports so far, after random delays that let few of them report. The
//! [`Shaper`] decides which message may leave when: mode 0 gives way, mode 1 does not.
//!
//! All of them are machines. The current time comes in as a [`Moment`](base::Moment), and members'
//! time stamps as [`Stamp`](crate::model::Stamp)s. Rates are [`Rate`]s, which no datagram can make
//! negative or NaN.

mod config;
mod equation;
mod feedback;
mod loss_history;
mod receiver;
mod sender;
mod shaper;
mod units;

pub use crate::model::Echo;
pub use config::{CLR_INTERVAL_MAX, CLR_INTERVAL_MIN, Config, FEEDBACK_SHARE, RTT_INITIAL, RTT_MAX, RTT_MIN};
pub use equation::{interval_before_first_loss, throughput};
pub use feedback::{BundleInfo, Feedback, Round, SenderInfo};
pub use loss_history::{INTERVALS, JUMP_MAX, LossHistory, Observation};
pub use receiver::{Receiver, ReceiverStats};
pub use sender::{Sender, SenderStats, Verdict};
pub use shaper::{Class, Discard, Dropped, Policy, Shaper, ShaperConfig, ShaperStats};
pub use units::Rate;
