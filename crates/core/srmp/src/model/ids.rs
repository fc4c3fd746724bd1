//! Names of members, of their lives, and of what they send.

base::id! {
    /// A member of a group, unique in it: `Sender_ID` and `Receiver_ID` of RFC 4410, section 3.2.
    ///
    /// On the wire it has 32 bits in profile v2, where it may be an IPv4 address, and 64 bits in v3. Zero names nobody.
    pub struct MemberId(u64) as "m";

    /// One life of a member: seconds since 2020-01-01 00:00 UTC at its start. It grows with every start, which must be seen
    /// to (kept on disk where clocks cannot be trusted): receivers refuse a lower one, and no key may see a pair of
    /// epoch and [`Seq`](crate::model::Seq) twice. Profile v2 has none; there it is 0.
    pub struct Epoch(u32) as "e";

    /// A data element of one member, sent in one mode only: `dataID` of RFC 4410, section 3.2. 16 bits in profile v2, 32 in v3.
    pub struct DataId(u32) as "d";

    /// What a mode 0 message is about, so that a newer one can replace it before it is sent; 0 when the application did not say.
    /// Profile v2 does not carry it.
    pub struct StreamKey(u32) as "k";

    /// The number of a mode 2 message of one member, the same in every retransmission and in the acknowledgement.
    ///
    /// In profile v3 it is counted per member in 64 bits. Profile v2 counts 16 bits per data element (RFC 4410, section 5.3.1, whose
    /// format shows one 32-bit field: read as `dataID` and number); see [`Transaction::of_v2`].
    pub struct Transaction(u64) as "t";
}

impl MemberId {
    /// No member.
    pub const NOBODY: MemberId = MemberId(0);
}

impl Transaction {
    /// The transaction of profile v2 with a data element (its low 16 bits) and the element's number.
    pub const fn of_v2(data: DataId, number: u16) -> Self {
        Self(((data.0 as u64 & 0xffff) << 16) | number as u64)
    }

    /// The data element of a transaction of profile v2.
    pub const fn data_of_v2(self) -> DataId {
        DataId((self.0 >> 16) as u32 & 0xffff)
    }
}
