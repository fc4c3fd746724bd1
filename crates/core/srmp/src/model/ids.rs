//! Identifiers of members, their epochs, and the data they send.

base::id! {
    /// A member, unique in its group: `Sender_ID` and `Receiver_ID` of RFC 4410, section 3.2.
    ///
    /// It has 32 bits on the wire in profile v2, where it may be an IPv4 address, and 64 bits in
    /// v3. Zero denotes no member.
    pub struct MemberId(u64) as "m";

    /// One incarnation of a member: the seconds from 2020-01-01 00:00 UTC to its start.
    ///
    /// It must grow with every start; where the clock cannot be trusted, the last one has to be
    /// kept on disk. Receivers refuse a lower epoch, and no key may be used twice with the same
    /// pair of epoch and [`Seq`](crate::model::Seq). Profile v2 has no epochs; there it is 0.
    pub struct Epoch(u32) as "e";

    /// A data element of one member, sent in one mode only: `dataID` of RFC 4410, section 3.2. It
    /// has 16 bits in profile v2 and 32 in v3.
    pub struct DataId(u32) as "d";

    /// The subject of a mode 0 message, by which a newer message can replace it before it is sent;
    /// 0 when the application gives none. Profile v2 does not carry it.
    pub struct StreamKey(u32) as "k";

    /// The number of a mode 2 message of one member. Retransmissions and the acknowledgement repeat
    /// it.
    ///
    /// Profile v3 counts messages per member in 64 bits. Profile v2 counts them per data element in
    /// 16 bits: RFC 4410, section 5.3.1, shows one 32-bit field, which is read here as `dataID` and
    /// number. See [`Transaction::of_v2`].
    pub struct Transaction(u64) as "t";
}

impl MemberId {
    /// No member.
    pub const NOBODY: MemberId = MemberId(0);
}

impl Transaction {
    /// The transaction of profile v2 for a data element (its low 16 bits) and the element's message
    /// number.
    pub const fn of_v2(data: DataId, number: u16) -> Self {
        Self(((data.0 as u64 & 0xffff) << 16) | number as u64)
    }

    /// The data element in a transaction of profile v2.
    pub const fn data_of_v2(self) -> DataId {
        DataId((self.0 >> 16) as u32 & 0xffff)
    }
}
