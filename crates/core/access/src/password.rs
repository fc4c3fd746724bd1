//! Passwords are kept as Argon2id hashes (RFC 9106).

use argon2::password_hash::phc::PasswordHash;
use argon2::password_hash::{PasswordHasher as _, PasswordVerifier as _};
use argon2::{Algorithm, Argon2, Params, Version};
use blake2::{Blake2s256, Digest as _};

/// The longest password, in octets of UTF-8.
pub const PASSWORD_BYTES_MAX: usize = 1_024;

/// The most that a hash may cost: 256 MiB, 16 passes, 16 lanes. A policy with more would let every
/// guess stop the verifying thread for seconds.
const MEMORY_KIB_MAX: u32 = 256 << 10;
const PASSES_MAX: u32 = 16;
const LANES_MAX: u32 = 16;

/// The reason why a password or its hash cannot be used.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum PasswordError {
    /// The password is empty or too long.
    #[error("a password has 1 to {PASSWORD_BYTES_MAX} octets, this one has {0}")]
    Length(usize),
    /// The text is no Argon2id hash.
    #[error("this is no Argon2id hash of a password ({0}); `meshrti access hash` makes one")]
    NoHash(String),
    /// The hash takes too long.
    #[error(
        "the hash costs m={memory},t={passes},p={lanes}; at most m={MEMORY_KIB_MAX},t={PASSES_MAX},p={LANES_MAX} is taken"
    )]
    Cost {
        /// Memory in KiB.
        memory: u32,
        /// Number of passes.
        passes: u32,
        /// Number of lanes.
        lanes: u32,
    },
}

/// The hash of a password, in the form of PHC strings: `$argon2id$v=19$m=19456,t=2,p=1$...`. The
/// caller draws `salt`.
///
/// # Errors
/// The password is empty or too long.
pub fn hash_password(password: &str, salt: [u8; 16]) -> Result<String, PasswordError> {
    if password.is_empty() || password.len() > PASSWORD_BYTES_MAX {
        return Err(PasswordError::Length(password.len()));
    }
    // The parameters that OWASP recommends first: 19 MiB, 2 passes, 1 lane.
    let hasher = Argon2::new(Algorithm::Argon2id, Version::V0x13, Params::default());
    let hash = hasher.hash_password_with_salt(password.as_bytes(), &salt);
    Ok(hash.map_err(no_hash)?.to_string())
}

fn no_hash(error: impl std::fmt::Display) -> PasswordError {
    PasswordError::NoHash(error.to_string())
}

/// Checks that a text is a hash that [`PasswordCheck`] can verify.
pub(crate) fn check_hash(text: &str) -> Result<(), PasswordError> {
    let hash = PasswordHash::new(text).map_err(no_hash)?;
    if hash.algorithm.as_str() != "argon2id" || hash.salt.is_none() || hash.hash.is_none() {
        return Err(PasswordError::NoHash("its algorithm, salt or hash is missing".to_owned()));
    }
    let params = Params::try_from(&hash).map_err(no_hash)?;
    let (memory, passes, lanes) = (params.m_cost(), params.t_cost(), params.p_cost());
    if memory > MEMORY_KIB_MAX || passes > PASSES_MAX || lanes > LANES_MAX {
        return Err(PasswordError::Cost { memory, passes, lanes });
    }
    Ok(())
}

/// The mark by which a password that was verified is recognized again.
pub(crate) type Fingerprint = [u8; 32];

/// The fingerprint of a password for an account with this hash, whose salt it depends on.
pub(crate) fn fingerprint(hash: &str, password: &str) -> Fingerprint {
    let mut digest = Blake2s256::new();
    for part in [hash, password] {
        digest.update((part.len() as u64).to_be_bytes());
        digest.update(part);
    }
    digest.finalize().into()
}

/// Compares in a time that does not tell where the first difference is.
pub(crate) fn is_same(a: &Fingerprint, b: &Fingerprint) -> bool {
    a.iter().zip(b).fold(0, |differs, (a, b)| differs | (a ^ b)) == 0
}

/// A password to be verified, which takes tens of milliseconds.
pub(crate) struct PasswordCheck {
    pub(crate) password: String,
    /// The hash to compare it with.
    pub(crate) hash: String,
    /// The account; `None` if there is none, and the work is done all the same: the time must not
    /// tell.
    pub(crate) account: Option<String>,
}

/// The outcome of a [`PasswordCheck`].
pub(crate) struct PasswordVerdict {
    /// The account, and the hash of its password, if the password is right.
    pub(crate) right: Option<(String, String)>,
    pub(crate) fingerprint: Fingerprint,
}

impl PasswordCheck {
    /// Verifies the password.
    pub(crate) fn run(self) -> PasswordVerdict {
        let Self { password, hash, account } = self;
        let parsed = PasswordHash::new(&hash).ok();
        let verified = parsed
            .is_some_and(|parsed| Argon2::default().verify_password(password.as_bytes(), &parsed).is_ok());
        let fingerprint = fingerprint(&hash, &password);
        PasswordVerdict { right: account.filter(|_| verified).map(|account| (account, hash)), fingerprint }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verify(hash: &str, password: &str) -> bool {
        let check = PasswordCheck {
            password: password.to_owned(),
            hash: hash.to_owned(),
            account: Some("viewer".to_owned()),
        };
        check.run().right.is_some()
    }

    #[test]
    fn a_hash_is_that_of_its_password_alone() {
        let hash = hash_password("pässword", [7; 16]).unwrap();
        assert!(hash.starts_with("$argon2id$v=19$m=19456,t=2,p=1$"), "{hash}");
        assert_eq!(check_hash(&hash), Ok(()));
        assert!(verify(&hash, "pässword"));
        assert!(!verify(&hash, "password"));
        assert!(!verify(&hash, ""));
        assert_ne!(hash, hash_password("pässword", [8; 16]).unwrap());
    }

    /// Made by the reference implementation: `echo -n password | argon2 somesalt -id -t 2 -m 16 -p 1`.
    #[test]
    fn hashes_of_the_reference_implementation_are_known() {
        let hash = "$argon2id$v=19$m=65536,t=2,p=1$c29tZXNhbHQ$CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc";
        assert_eq!(check_hash(hash), Ok(()));
        assert!(verify(hash, "password"));
    }

    #[test]
    fn texts_that_are_no_hash_are_refused() {
        for text in ["", "secret", "$argon2id$v=19$m=19456,t=2,p=1", "$2b$12$abcdefghijklmnopqrstuv"] {
            assert!(matches!(check_hash(text), Err(PasswordError::NoHash(_))), "{text}");
        }
        let hash = hash_password("x", [7; 16]).unwrap();
        let dear = hash.replace("m=19456,t=2,p=1", "m=1048576,t=2,p=1");
        assert!(matches!(check_hash(&dear), Err(PasswordError::Cost { memory: 1_048_576, .. })));
        assert_eq!(hash_password("", [7; 16]), Err(PasswordError::Length(0)));
        let long = "x".repeat(PASSWORD_BYTES_MAX + 1);
        assert_eq!(hash_password(&long, [7; 16]), Err(PasswordError::Length(long.len())));
    }
}
