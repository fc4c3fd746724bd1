//! Bearer tokens: signed JSON Web Tokens (RFC 7519, with the advice of RFC 8725).
//!
//! ring verifies the signatures. Keys are public ones alone: with a symmetric key, whoever can verify
//! a token can also make one.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::signature::{self, RsaParameters, RsaPublicKeyComponents, UnparsedPublicKey};
use serde::Deserialize;
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// The longest token, in octets.
pub const TOKEN_BYTES_MAX: usize = 16 << 10;

/// The most keys of a key set.
const KEYS_MAX: usize = 100;

/// The difference between clocks that is tolerated, in seconds. RFC 7519, 4.1.4 suggests a few minutes
/// at most.
const LEEWAY: f64 = 60.0;

/// The keys that sign tokens, and the promises that a token has to make.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TokenKeys {
    keys: Vec<Key>,
    /// A token has to be for this audience (`aud`): those that were made for others count for nothing.
    audience: String,
    /// A token has to come from this issuer (`iss`), if one is given.
    issuer: Option<String>,
}

/// A key set (RFC 7517, 5).
#[derive(Deserialize)]
struct KeySet {
    keys: Vec<Jwk>,
}

/// A key (RFC 7517, 4).
#[derive(Deserialize)]
struct Jwk {
    kty: String,
    #[serde(rename = "use")]
    purpose: Option<String>,
    alg: Option<String>,
    kid: Option<String>,
    crv: Option<String>,
    n: Option<String>,
    e: Option<String>,
    x: Option<String>,
    y: Option<String>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
struct Key {
    id: Option<String>,
    /// The only algorithm that it may be used with, if the key set says so.
    algorithm: Option<String>,
    public: PublicKey,
}

#[derive(Clone, PartialEq, Eq, Debug)]
enum PublicKey {
    Rsa {
        n: Vec<u8>,
        e: Vec<u8>,
    },
    /// An uncompressed point.
    P256(Vec<u8>),
    P384(Vec<u8>),
    Ed25519(Vec<u8>),
}

/// The header of a token (RFC 7515, 4.1).
#[derive(Deserialize)]
struct Header {
    alg: String,
    kid: Option<String>,
    crit: Option<Value>,
}

/// The claims of a token whose signature and dates are good.
pub(crate) struct Claims(Map<String, Value>);

impl TokenKeys {
    /// Reads a key or a key set in JSON (RFC 7517). Keys for other purposes and of unknown types are
    /// left out, as RFC 7517, 5 asks.
    ///
    /// # Errors
    /// The text is no key set, or has no key that can verify tokens.
    pub fn read(text: &str, audience: String, issuer: Option<String>) -> Result<Self, String> {
        let value: Value = serde_json::from_str(text).map_err(|error| error.to_string())?;
        let keys = match value.get("keys") {
            Some(_) => serde_json::from_value::<KeySet>(value).map(|set| set.keys),
            None => serde_json::from_value(value).map(|key| vec![key]),
        };
        let keys = keys.map_err(|error| error.to_string())?;
        if keys.len() > KEYS_MAX {
            return Err(format!("{} keys; at most {KEYS_MAX} are taken", keys.len()));
        }
        if let Some(key) = keys.iter().find(|key| key.kty == "oct") {
            let id = key.kid.as_deref().unwrap_or("without `kid`");
            return Err(format!("key {id} is symmetric: with it this server could make tokens itself"));
        }
        let keys = keys.into_iter().filter_map(Jwk::read).collect::<Result<Vec<_>, _>>()?;
        match keys.is_empty() {
            true => Err("there is no public key for signatures (RSA, EC or OKP)".to_owned()),
            false => Ok(Self { keys, audience, issuer }),
        }
    }

    /// The claims of a token, at this moment, in seconds since 1970.
    ///
    /// # Errors
    /// The token is malformed, unsigned, signed by another key, for others, or out of date; says which.
    pub(crate) fn verify(&self, token: &str, now: u64) -> Result<Claims, String> {
        if token.len() > TOKEN_BYTES_MAX {
            return Err(format!("it has over {TOKEN_BYTES_MAX} octets"));
        }
        let parts: Vec<&str> = token.split('.').collect();
        let [header, claims, sign] = parts[..] else {
            return Err("it does not have three parts".to_owned());
        };
        let read: Header = json(header, "header")?;
        if read.crit.is_some() {
            return Err("its header has `crit`, and no extension is known here".to_owned());
        }
        let sign = octets(sign).ok_or("its signature is not in base64url")?;
        let message = &token[..header.len() + 1 + claims.len()];
        if !self.keys.iter().any(|key| key.has_signed(&read, message.as_bytes(), &sign)) {
            return Err(format!("no key of this server has signed it with {:?}", read.alg));
        }
        let claims: Map<String, Value> = json(claims, "claims")?;
        self.check(&claims, now as f64)?;
        Ok(Claims(claims))
    }

    fn check(&self, claims: &Map<String, Value>, now: f64) -> Result<(), String> {
        let number = |name: &str| match claims.get(name) {
            None => Ok(None),
            Some(value) => value.as_f64().map(Some).ok_or_else(|| format!("its `{name}` is no number")),
        };
        let end = number("exp")?.ok_or("it does not say when it expires (`exp`)")?;
        if now >= end + LEEWAY {
            return Err("it has expired".to_owned());
        }
        if number("nbf")?.is_some_and(|begin| now + LEEWAY < begin) {
            return Err("it is not valid yet".to_owned());
        }
        if !is_or_has(claims.get("aud"), &self.audience) {
            return Err(format!("it is not for the audience {:?}", self.audience));
        }
        match &self.issuer {
            Some(issuer) if claims.get("iss").and_then(Value::as_str) != Some(issuer) => {
                Err(format!("it is not from the issuer {issuer:?}"))
            }
            _ => Ok(()),
        }
    }
}

impl Claims {
    /// Whether they have all of `wanted`.
    pub(crate) fn have(&self, wanted: &BTreeMap<String, String>) -> bool {
        wanted.iter().all(|(name, value)| is_or_has(self.0.get(name), value))
    }
}

/// Whether a claim is this text, or a list with it.
fn is_or_has(claim: Option<&Value>, text: &str) -> bool {
    match claim {
        Some(Value::String(value)) => value == text,
        Some(Value::Array(values)) => values.iter().any(|value| value.as_str() == Some(text)),
        _ => false,
    }
}

fn octets(part: &str) -> Option<Vec<u8>> {
    URL_SAFE_NO_PAD.decode(part).ok()
}

fn json<T: serde::de::DeserializeOwned>(part: &str, name: &str) -> Result<T, String> {
    let octets = octets(part).ok_or_else(|| format!("its {name} is not in base64url"))?;
    serde_json::from_slice(&octets).map_err(|error| format!("its {name}: {error}"))
}

impl Jwk {
    /// `None` for a key of no use here.
    fn read(self) -> Option<Result<Key, String>> {
        if self.purpose.as_deref().is_some_and(|purpose| purpose != "sig") {
            return None;
        }
        let name = self.kid.clone().unwrap_or_else(|| "without `kid`".to_owned());
        let fail = |member: &str| format!("key {name}: `{member}` is missing, or no base64url");
        let member =
            |value: &Option<String>, member| value.as_deref().and_then(octets).ok_or_else(|| fail(member));
        let point = |length| {
            let (x, y) = (member(&self.x, "x")?, member(&self.y, "y")?);
            match x.len() == length && y.len() == length {
                true => Ok([&[4][..], &x, &y].concat()),
                false => Err(format!("key {name}: `x` and `y` do not have {length} octets")),
            }
        };
        let rsa = || Ok(PublicKey::Rsa { n: member(&self.n, "n")?, e: member(&self.e, "e")? });
        let public = match (self.kty.as_str(), self.crv.as_deref()) {
            ("RSA", _) => rsa(),
            ("EC", Some("P-256")) => point(32).map(PublicKey::P256),
            ("EC", Some("P-384")) => point(48).map(PublicKey::P384),
            ("OKP", Some("Ed25519")) => member(&self.x, "x").map(PublicKey::Ed25519),
            _ => return None,
        };
        let (id, algorithm) = (self.kid, self.alg);
        Some(public.map(|public| Key { id, algorithm, public }))
    }
}

impl Key {
    /// Whether a token with this header has this signature of the key. The kind of the key decides which
    /// algorithms count: the header alone must not (RFC 8725, 3.1).
    fn has_signed(&self, header: &Header, message: &[u8], sign: &[u8]) -> bool {
        let is_other = |mine: &Option<String>, its: &str| mine.as_deref().is_some_and(|mine| mine != its);
        if is_other(&self.algorithm, &header.alg)
            || header.kid.as_deref().is_some_and(|id| is_other(&self.id, id))
        {
            return false;
        }
        let plain =
            |algorithm, key: &[u8]| UnparsedPublicKey::new(algorithm, key).verify(message, sign).is_ok();
        match (&self.public, header.alg.as_str()) {
            (PublicKey::Rsa { n, e }, algorithm) => rsa(algorithm)
                .is_some_and(|by| RsaPublicKeyComponents { n, e }.verify(by, message, sign).is_ok()),
            (PublicKey::P256(key), "ES256") => plain(&signature::ECDSA_P256_SHA256_FIXED, key),
            (PublicKey::P384(key), "ES384") => plain(&signature::ECDSA_P384_SHA384_FIXED, key),
            (PublicKey::Ed25519(key), "EdDSA" | "Ed25519") => {
                UnparsedPublicKey::new(&signature::ED25519, key).verify(message, sign).is_ok()
            }
            _ => false,
        }
    }
}

/// The algorithm of an RSA signature of this name (RFC 7518, 3.1). Keys of under 2048 bits are refused.
fn rsa(name: &str) -> Option<&'static RsaParameters> {
    Some(match name {
        "RS256" => &signature::RSA_PKCS1_2048_8192_SHA256,
        "RS384" => &signature::RSA_PKCS1_2048_8192_SHA384,
        "RS512" => &signature::RSA_PKCS1_2048_8192_SHA512,
        "PS256" => &signature::RSA_PSS_2048_8192_SHA256,
        "PS384" => &signature::RSA_PSS_2048_8192_SHA384,
        "PS512" => &signature::RSA_PSS_2048_8192_SHA512,
        _ => return None,
    })
}

#[cfg(test)]
pub(crate) mod tests;
