//! Counters of a network.

macro_rules! stats {
    ($($(#[$doc:meta])* $name:ident,)+) => {
        /// Counters of a network; they never decrease.
        #[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
        pub struct NetworkStats {
            $($(#[$doc])* pub $name: u64,)+
        }

        impl NetworkStats {
            /// Calls `f` with the name and the value of every counter.
            pub fn each(&self, mut f: impl FnMut(&'static str, u64)) {
                $(f(stringify!($name), self.$name);)+
            }
        }
    };
}

stats! {
    /// Events taken from the queue.
    events,
    /// Events delivered to hosts.
    deliveries,
    /// Connections requested by hosts.
    connections,
    /// Connections that broke: cut, reset or refused.
    broken_connections,
    /// Bytes that hosts sent on connections.
    stream_sent_bytes,
    /// Bytes that hosts received on connections.
    stream_received_bytes,
    /// Datagrams that hosts sent.
    sent_datagrams,
    /// Datagrams that hosts received, copies included.
    received_datagrams,
    /// Datagrams lost by a rule or sent to a host that is down.
    dropped_datagrams,
    /// Copies of datagrams that rules made.
    duplicated_datagrams,
    /// Datagrams that a rule delayed so that others could overtake them.
    reordered_datagrams,
    /// Packets that rules delayed.
    delayed_packets,
    /// Connections that rules cut.
    cuts,
    /// Times that a rule stalled a direction of a connection.
    stalls,
}
