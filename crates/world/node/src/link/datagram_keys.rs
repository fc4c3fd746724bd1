//! The proof that a UDP datagram belongs to a link: a token beside TCP, a key beside TLS.

use std::cell::Cell;

use bytes::{BufMut as _, BytesMut};
use ring::aead::{Aad, CHACHA20_POLY1305, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use rustls::Connection;

use super::datagram::{Kind, UDP_HEADER};
use super::sequence::Sequence;

/// Names the keys among all that are derived from a TLS session (RFC 5705, section 4).
const LABEL: &[u8] = b"EXPORTER-meshrti-udp";

/// Octets of a key, and of the proof after a frame. With this cipher any number of datagrams may have
/// the same key; with AES-GCM it would have to be replaced every 2^23 of them (RFC 9001, section 6.6).
const KEY_BYTES: usize = 32;
const PROOF_BYTES: usize = 16;

/// So many forged datagrams may be tried with one key (RFC 9001, section 6.6). It takes days to send
/// them. After that all datagrams are refused until the link is made anew.
const FORGED_MAX: u64 = 1 << 36;

/// The keys for the datagrams of one link. No other link ever has them, nor this one once it has
/// connected again.
pub(crate) struct DatagramKeys {
    outgoing: Box<LessSafeKey>,
    incoming: Box<LessSafeKey>,
}

impl DatagramKeys {
    /// Derives the keys from a session of TLS whose handshake is over.
    ///
    /// # Errors
    /// The session does not allow it.
    pub(crate) fn of(session: &Connection) -> Result<Self, rustls::Error> {
        let mut secret = [0; 2 * KEY_BYTES];
        match session {
            Connection::Client(client) => client.export_keying_material(&mut secret, LABEL, None)?,
            Connection::Server(server) => server.export_keying_material(&mut secret, LABEL, None)?,
        };
        let (of_client, of_server) = secret.split_at(KEY_BYTES);
        let [of_client, of_server] = [of_client, of_server].map(|secret| {
            let key = UnboundKey::new(&CHACHA20_POLY1305, secret);
            Box::new(LessSafeKey::new(key.expect("a key of the cipher's length")))
        });
        Ok(match session {
            Connection::Client(_) => Self { outgoing: of_client, incoming: of_server },
            Connection::Server(_) => Self { outgoing: of_server, incoming: of_client },
        })
    }

    /// The sides for datagrams to the peer, and from it.
    pub(crate) fn split(self) -> (Outgoing, Incoming) {
        let incoming = Incoming::Key { key: self.incoming, numbers: Sequence::new(), forged: 0 };
        (Outgoing::Key { key: self.outgoing, last: Cell::new(0) }, incoming)
    }
}

/// Each datagram of a key has a number of its own, which is the nonce.
fn nonce(number: u64) -> Nonce {
    let mut nonce = [0; NONCE_LEN];
    nonce[NONCE_LEN - 8..].copy_from_slice(&number.to_be_bytes());
    Nonce::assume_unique_for_key(nonce)
}

/// Proves that datagrams to the peer come from here.
pub(crate) enum Outgoing {
    /// They begin with the token that the peer has chosen.
    Token(u64),
    /// They are encrypted with a key. `last`: the number of the last one.
    Key { key: Box<LessSafeKey>, last: Cell<u64> },
}

impl Outgoing {
    /// Octets of a datagram beside the frame.
    pub(crate) fn overhead(&self) -> usize {
        match self {
            Self::Token(_) => UDP_HEADER,
            Self::Key { .. } => UDP_HEADER + PROOF_BYTES,
        }
    }

    /// Appends a datagram to `out`, which is empty.
    pub(crate) fn write(&self, out: &mut BytesMut, kind: Kind, number: u64, frame: &[u8]) {
        let mut header = [0; UDP_HEADER];
        header[0] = kind as u8;
        let proof = match self {
            Self::Token(token) => *token,
            Self::Key { last, .. } => {
                last.set(last.get() + 1);
                last.get()
            }
        };
        header[1..9].copy_from_slice(&proof.to_be_bytes());
        header[9..].copy_from_slice(&number.to_be_bytes());
        out.put_slice(&header);
        out.put_slice(frame);
        if let Self::Key { key, .. } = self {
            let (aad, secret) = (Aad::from(header), &mut out[UDP_HEADER..]);
            let sealed = key.seal_in_place_separate_tag(nonce(proof), aad, secret);
            out.put_slice(sealed.expect("a datagram is shorter than the cipher's limit").as_ref());
        }
    }
}

/// The reason why a datagram is not believed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Refused {
    /// It does not belong to the link.
    Foreign,
    /// It came before, or too late to tell.
    Repeated,
}

/// Checks whether datagrams come from the peer.
pub(crate) enum Incoming {
    /// They begin with the token that this side has chosen.
    Token(u64),
    /// They are encrypted with a key. `numbers`: those that came. `forged`: how many were not.
    Key { key: Box<LessSafeKey>, numbers: Sequence, forged: u64 },
}

impl Incoming {
    /// Reads a datagram, in place: kind, number and frame.
    ///
    /// # Errors
    /// It is not from the peer, or not a new one.
    pub(crate) fn read<'a>(&mut self, datagram: &'a mut [u8]) -> Result<(Kind, u64, &'a [u8]), Refused> {
        let (header, rest) = datagram.split_first_chunk_mut::<UDP_HEADER>().ok_or(Refused::Foreign)?;
        let octets = |at: usize| <[u8; 8]>::try_from(&header[at..at + 8]).map(u64::from_be_bytes);
        let (Ok(proof), Ok(number)) = (octets(1), octets(9)) else { return Err(Refused::Foreign) };
        let frame: &[u8] = match self {
            Self::Token(token) if *token == proof => rest,
            Self::Key { key, numbers, forged } if *forged < FORGED_MAX => {
                let Ok(frame) = key.open_in_place(nonce(proof), Aad::from(*header), rest) else {
                    *forged += 1;
                    return Err(Refused::Foreign);
                };
                if !numbers.take(proof) {
                    return Err(Refused::Repeated);
                }
                frame
            }
            Self::Token(_) | Self::Key { .. } => return Err(Refused::Foreign),
        };
        Ok((Kind::of(header[0]).ok_or(Refused::Foreign)?, number, frame))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(octet: u8) -> Box<LessSafeKey> {
        Box::new(LessSafeKey::new(UnboundKey::new(&CHACHA20_POLY1305, &[octet; KEY_BYTES]).unwrap()))
    }

    fn ends() -> (Outgoing, Incoming) {
        let sends = DatagramKeys { outgoing: key(1), incoming: key(2) };
        let receives = DatagramKeys { outgoing: key(2), incoming: key(1) };
        (sends.split().0, receives.split().1)
    }

    fn datagram(from: &Outgoing, number: u64, frame: &[u8]) -> BytesMut {
        let mut out = BytesMut::new();
        from.write(&mut out, Kind::Frame, number, frame);
        assert_eq!(out.len(), from.overhead() + frame.len());
        out
    }

    #[test]
    fn only_datagrams_with_the_token_are_read() {
        let (outgoing, mut incoming) = (Outgoing::Token(7), Incoming::Token(7));
        let mut sent = datagram(&outgoing, 9, b"frame");
        assert_eq!(incoming.read(&mut sent), Ok((Kind::Frame, 9, &b"frame"[..])));
        assert_eq!(Incoming::Token(8).read(&mut sent), Err(Refused::Foreign));
        for length in 0..UDP_HEADER {
            assert_eq!(incoming.read(&mut sent[..length]), Err(Refused::Foreign));
        }
        sent[0] = 3;
        assert_eq!(incoming.read(&mut sent), Err(Refused::Foreign));
    }

    #[test]
    fn a_datagram_comes_once_whatever_the_order() {
        let (outgoing, mut incoming) = ends();
        let sent: Vec<_> = (1..=3).map(|number| datagram(&outgoing, number, b"same")).collect();
        assert_ne!(sent[0][UDP_HEADER..], sent[1][UDP_HEADER..], "equal frames look different");
        for place in [2, 0, 1] {
            let number = place as u64 + 1;
            assert_eq!(incoming.read(&mut sent[place].clone()), Ok((Kind::Frame, number, &b"same"[..])));
            assert_eq!(incoming.read(&mut sent[place].clone()), Err(Refused::Repeated));
        }
    }

    #[test]
    fn no_octet_can_be_changed_and_no_other_key_will_do() {
        let (outgoing, mut incoming) = ends();
        let mut sent = datagram(&outgoing, 1, b"frame");
        assert!(!sent.windows(5).any(|octets| octets == b"frame"), "it is encrypted");
        for place in 0..sent.len() {
            let mut changed = sent.clone();
            changed[place] ^= 1;
            assert_eq!(incoming.read(&mut changed), Err(Refused::Foreign), "octet {place}");
            assert_eq!(incoming.read(&mut sent.clone()[..place]), Err(Refused::Foreign), "{place} octets");
        }
        // Nor what this end has sent itself.
        let mut back = datagram(&Outgoing::Key { key: key(2), last: Cell::new(0) }, 1, b"frame");
        assert_eq!(incoming.read(&mut back), Err(Refused::Foreign));
        assert_eq!(incoming.read(&mut sent), Ok((Kind::Frame, 1, &b"frame"[..])));
    }

    #[test]
    fn after_too_many_forged_ones_nothing_is_believed() {
        let (outgoing, mut incoming) = ends();
        let Incoming::Key { forged, .. } = &mut incoming else { unreachable!() };
        *forged = FORGED_MAX - 1;
        assert!(incoming.read(&mut datagram(&outgoing, 1, b"good")).is_ok());
        assert_eq!(incoming.read(&mut [0; 64]), Err(Refused::Foreign));
        assert_eq!(incoming.read(&mut datagram(&outgoing, 2, b"good")), Err(Refused::Foreign));
    }
}
