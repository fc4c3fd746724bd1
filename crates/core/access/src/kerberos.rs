//! Kerberos tokens: their form, and the names in them. The world verifies them, since that takes keys,
//! clocks and a memory of the tokens that came before.

use std::fmt;

/// The longest token, in octets. Tickets with very many groups of Active Directory reach 65,535
/// (its `MaxTokenSize`).
pub const KERBEROS_BYTES_MAX: usize = 64 << 10;

/// Verifies Kerberos tokens, on a thread that may wait.
pub trait KerberosVerifier: fmt::Debug + Send + Sync {
    /// The principal whose ticket is in a token, with its realm: `alice@EXAMPLE.ORG`.
    ///
    /// # Errors
    /// The reason why the token counts for nothing, for people who run the server.
    fn verify(&self, token: &[u8]) -> Result<String, String>;
}

/// The head of a token after its tag and length: the identifier of Kerberos 5 (RFC 4121, 1), and that
/// of its first message, KRB_AP_REQ (4.1).
const HEAD: &[u8] = b"\x06\x09\x2a\x86\x48\x86\xf7\x12\x01\x02\x02\x01\x00";

/// Whether this has the form of a first token of Kerberos 5 (RFC 2743, 3.1; RFC 4121, 4.1). Nothing else
/// reaches a library, and neither do tokens of mechanisms that negotiate.
pub(crate) fn is_context_token(token: &[u8]) -> bool {
    token.len() <= KERBEROS_BYTES_MAX
        && token.strip_prefix(b"\x60").and_then(content).and_then(|rest| rest.strip_prefix(HEAD)).is_some()
}

/// The content after a length in DER (X.690, 8.1.3 and 10.1), if it has that length.
fn content(rest: &[u8]) -> Option<&[u8]> {
    let (&first, rest) = rest.split_first()?;
    let (length, content) = match first {
        0..=0x7f => (usize::from(first), rest),
        // The length has no end in advance.
        0x80 => return None,
        // The first octet has the number of those that follow, and the shortest form is the only one.
        0x81..=0x84 => {
            let (octets, content) = rest.split_at_checked(usize::from(first - 0x80))?;
            let length = octets.iter().fold(0, |length, &octet| length << 8 | usize::from(octet));
            let is_shortest = octets.first() != Some(&0) && length >= 0x80;
            (is_shortest.then_some(length)?, content)
        }
        _ => return None,
    };
    (content.len() == length).then_some(content)
}

/// Whether this is the name of a principal with its realm.
pub(crate) fn is_principal(name: &str) -> bool {
    !name.contains(|c: char| c.is_whitespace() || c.is_control())
        && name.rsplit_once('@').is_some_and(|(name, realm)| !name.is_empty() && !realm.is_empty())
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A token with this in the place of its ticket.
    pub(crate) fn context_token(body: &[u8]) -> Vec<u8> {
        let content = [HEAD, body].concat();
        let length = content.len();
        let head = match length {
            0..0x80 => vec![0x60, length as u8],
            0x80..0x100 => vec![0x60, 0x81, length as u8],
            0x100..0x1_0000 => vec![0x60, 0x82, (length >> 8) as u8, length as u8],
            _ => vec![0x60, 0x83, (length >> 16) as u8, (length >> 8) as u8, length as u8],
        };
        [head, content].concat()
    }

    #[test]
    fn a_token_has_exactly_the_length_that_it_says() {
        for length in [0, 1, 114, 115, 242, 243, 1_000, KERBEROS_BYTES_MAX - 17] {
            let token = context_token(&vec![7; length]);
            assert!(is_context_token(&token), "{length}");
            assert!(!is_context_token(&token[..token.len() - 1]), "{length}");
            assert!(!is_context_token(&[&token[..], &[7]].concat()), "{length}");
        }
        assert!(!is_context_token(&context_token(&vec![7; KERBEROS_BYTES_MAX])), "it is too long");
    }

    #[test]
    fn other_tokens_are_none() {
        let good = context_token(b"ticket");
        assert!(is_context_token(&good));
        for i in 0..15 {
            let mut other = good.clone();
            other[i] ^= 1;
            assert!(!is_context_token(&other), "{i}");
        }
        // SPNEGO, AP-REQ without a frame, NTLM, a length with a zero before it, one without an end.
        let spnego = b"\x60\x08\x06\x06\x2b\x06\x01\x05\x05\x02";
        let longer = [b"\x60\x82\x00\x13", &good[2..]].concat();
        let endless = [b"\x60\x80", &good[2..]].concat();
        let overflowing = [b"\x60\x84\xff\xff\xff\xff", &good[2..]].concat();
        for other in [&spnego[..], b"\x6e\x00", b"NTLMSSP\0", b"", b"\x60", &longer, &endless, &overflowing] {
            assert!(!is_context_token(other), "{other:?}");
        }
    }

    #[test]
    fn a_principal_has_a_realm() {
        for name in ["alice@EXAMPLE.ORG", "sim/host.example@EXAMPLE.ORG", "a\\@b@R"] {
            assert!(is_principal(name), "{name}");
        }
        for name in ["", "alice", "@R", "alice@", "al ice@R", "alice@R\n"] {
            assert!(!is_principal(name), "{name}");
        }
    }
}
