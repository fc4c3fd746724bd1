//! Tests of accepted and refused datagrams, and of the cost of hostile ones.

mod cost;
mod golden;
mod keys;
mod replay;
mod signatures;

use super::*;
use crate::Fault;
use crate::model::*;
use crate::wire::*;
use base::Moment;
use bytes::Bytes;

const SENDER: MemberId = MemberId(0x0a00_0001);
const EPOCH: Epoch = Epoch(7);
const NOW: Moment = Moment::from_secs(1);

fn session() -> u32 {
    session_tag("exercise", "239.1.2.3:5000")
}

fn format(profile: Profile, protection: Protection) -> Format {
    Format::new(profile, session(), LENGTH_DEFAULT, protection).expect("sound")
}

fn group_key(id: u8) -> GroupKey {
    let secret: Vec<u8> = (0..32).map(|byte| byte + id - 5).collect();
    GroupKey::new(id, &secret).expect("long enough")
}

/// One sender, and a writer for it.
struct Peer {
    writer: Writer,
    encryptor: Encryptor,
    header: Header,
}

impl Peer {
    fn new(format: Format, keyring: &Keyring, sender: MemberId, epoch: Epoch) -> Self {
        let encryptor = Encryptor::new(keyring, &format, sender, epoch).expect("a protected format");
        let header = Header { epoch, stamp: Stamp(123_456), ..Header::new(Kind::Mode2, sender) };
        Self { writer: Writer::new(format), encryptor, header }
    }

    /// A sealed mode 2 message.
    fn message(&mut self, seq: u32) -> Bytes {
        self.writer.begin(Kind::Mode2, 0);
        let (transaction, body) = (Transaction(1), Bytes::from_static(b"HIT"));
        let message = Mode2 { transaction, data: DataId(0x0101), body };
        self.writer.push(&Record::Mode2(message)).expect("there is room");
        let header = Header { seq: Seq(seq), ..self.header };
        let mut datagram = self.writer.finish(&header, &[]).expect("sound");
        self.encryptor.seal(&mut datagram).expect("a new number");
        datagram.freeze()
    }
}

/// A sender with key 5, and its receiver.
fn pair(protection: Protection) -> (Peer, Decryptor) {
    let (format, keyring) = (format(Profile::V3, protection), Keyring::new(group_key(5)));
    let peer = Peer::new(format, &keyring, SENDER, EPOCH);
    (peer, Decryptor::new(&keyring, &format, DecryptorLimits::default()))
}

/// The result of a datagram: its packet, or the counter of its fault.
fn open(decryptor: &mut Decryptor, format: &Format, now: Moment, datagram: &Bytes) -> Result<Packet, Fault> {
    let envelope = format.decode(datagram).map_err(|error| error.fault())?;
    decryptor.open(now, envelope).map_err(|error| error.fault())
}
