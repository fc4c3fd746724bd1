use super::*;
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair as _};
use serde_json::json;

/// RFC 7515, A.1: the claims of its examples.
const JOE: &str =
    "eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ";

const NOW: u64 = 1_800_000_000;

fn keys(text: &str) -> Result<TokenKeys, String> {
    TokenKeys::read(text, "range".to_owned(), Some("https://login.example".to_owned()))
}

/// Whether a token has a signature of one of the keys.
fn is_signed(keys: &TokenKeys, token: &str) -> bool {
    !keys.verify(token, NOW).err().expect("its claims are out of date").contains("no key of this server")
}

/// An authority that signs tokens.
pub(crate) struct Signer {
    pair: EcdsaKeyPair,
    random: SystemRandom,
}

impl Signer {
    pub(crate) fn new() -> Self {
        let (random, how) = (SystemRandom::new(), &ECDSA_P256_SHA256_FIXED_SIGNING);
        let document = EcdsaKeyPair::generate_pkcs8(how, &random).unwrap();
        Self { pair: EcdsaKeyPair::from_pkcs8(how, document.as_ref(), &random).unwrap(), random }
    }

    fn jwk(&self, id: &str) -> Value {
        let point = self.pair.public_key().as_ref();
        let [x, y] = [&point[1..33], &point[33..]].map(|part| URL_SAFE_NO_PAD.encode(part));
        json!({ "kty": "EC", "crv": "P-256", "kid": id, "use": "sig", "x": x, "y": y })
    }

    pub(crate) fn keys(&self) -> TokenKeys {
        keys(&json!({ "keys": [self.jwk("k1")] }).to_string()).unwrap()
    }

    pub(crate) fn sign(&self, header: &Value, claims: &Value) -> String {
        let [header, claims] = [header, claims].map(|part| URL_SAFE_NO_PAD.encode(part.to_string()));
        let message = format!("{header}.{claims}");
        let sign = self.pair.sign(&self.random, message.as_bytes()).unwrap();
        format!("{message}.{}", URL_SAFE_NO_PAD.encode(sign.as_ref()))
    }

    /// The outcome for a token with these claims, changed by `more`.
    fn outcome(&self, more: &Value) -> Result<(), String> {
        let mut claims = claims();
        for (name, value) in more.as_object().unwrap() {
            match value {
                Value::Null => claims.as_object_mut().unwrap().remove(name),
                value => claims.as_object_mut().unwrap().insert(name.clone(), value.clone()),
            };
        }
        let token = self.sign(&json!({ "alg": "ES256", "kid": "k1" }), &claims);
        self.keys().verify(&token, NOW).map(drop)
    }
}

pub(crate) fn claims() -> Value {
    json!({ "iss": "https://login.example", "aud": "range", "exp": NOW + 3600, "sub": "alice", "roles": ["crew", "lead"] })
}

/// RFC 7515, A.2 (RS256) and A.3 (ES256), and RFC 8037, A.4 (EdDSA).
#[test]
fn the_examples_of_the_standards_are_verified() {
    let rsa = r#"{"kty":"RSA","n":"ofgWCuLjybRlzo0tZWJjNiuSfb4p4fAkd_wWJcyQoTbji9k0l8W26mPddxHmfHQp-Vaw-4qPCJrcS2mJPMEzP1Pt0Bm4d4QlL-yRT-SFd2lZS-pCgNMsD1W_YpRPEwOWvG6b32690r2jZ47soMZo9wGzjb_7OMg0LOL-bSf63kpaSHSXndS5z5rexMdbBYUsLA9e-KXBdQOS-UTo7WTBEMa2R2CapHg665xsmtdVMTBQY4uDZlxvb3qCo5ZwKh9kG4LT6_I5IhlJH7aGhyxXFvUK-DWNmoudF8NAco9_h9iaGNj8q2ethFkMLs91kzk2PAcDTW9gb54h4FRWyuXpoQ","e":"AQAB"}"#;
    let rs256 = format!(
        "eyJhbGciOiJSUzI1NiJ9.{JOE}.cC4hiUPoj9Eetdgtv3hF80EGrhuB__dzERat0XF9g2VtQgr9PJbu3XOiZj5RZmh7AAuHIm4Bh-0Qc_lF5YKt_O8W2Fp5jujGbds9uJdbF9CUAr7t1dnZcAcQjbKBYNX4BAynRFdiuB--f_nZLgrnbyTyWzO75vRK5h6xBArLIARNPvkSjtQBMHlb1L07Qe7K0GarZRmB_eSN9383LcOLn6_dO--xi12jzDwusC-eOkHWEsqtFZESc6BfI7noOPqvhJ1phCnvWh6IeYI2w9QOYEUipUTI8np6LbgGY9Fs98rqVt5AXLIhWkWywlVmtVrBp0igcN_IoypGlUPQGe77Rw"
    );
    let ec = r#"{"kty":"EC","crv":"P-256","x":"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU","y":"x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"}"#;
    let es256 = format!(
        "eyJhbGciOiJFUzI1NiJ9.{JOE}.DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q"
    );
    let okp = r#"{"kty":"OKP","crv":"Ed25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}"#;
    let eddsa = "eyJhbGciOiJFZERTQSJ9.RXhhbXBsZSBvZiBFZDI1NTE5IHNpZ25pbmc.hgyY0il_MGCjP0JzlnLWG1PPOt7-09PGcvMg3AIbQR6dWbhijcNR4ki4iylGjg5BhVsPt9g7sVvpAr_MuM0KAg";
    let tokens = [&rs256[..], &es256, eddsa];
    for (at, key) in [rsa, ec, okp].into_iter().enumerate() {
        let keys = keys(key).unwrap();
        for (other, token) in tokens.iter().enumerate() {
            assert_eq!(is_signed(&keys, token), at == other, "key {at}, token {other}");
            let forged = token.replacen(".e", ".f", 1).replacen(".RX", ".SX", 1);
            assert!(!is_signed(&keys, &forged), "key {at}, forged token {other}");
        }
    }
}

#[test]
fn a_token_is_for_this_server_and_in_date() {
    let signer = Signer::new();
    assert_eq!(signer.outcome(&json!({})), Ok(()));
    for (more, words) in [
        (json!({ "exp": NOW - 61 }), "has expired"),
        (json!({ "exp": null }), "does not say when it expires"),
        (json!({ "exp": format!("{}", NOW + 9) }), "`exp` is no number"),
        (json!({ "nbf": NOW + 61 }), "not valid yet"),
        (json!({ "nbf": "soon" }), "`nbf` is no number"),
        (json!({ "aud": "other" }), "not for the audience \"range\""),
        (json!({ "aud": null }), "not for the audience"),
        (json!({ "aud": ["a", "ranges"] }), "not for the audience"),
        (json!({ "iss": "https://evil.example" }), "not from the issuer"),
        (json!({ "iss": ["https://login.example"] }), "not from the issuer"),
    ] {
        let why = signer.outcome(&more).unwrap_err();
        assert!(why.contains(words), "{more}: {why}");
    }
    for more in [json!({ "exp": NOW - 59 }), json!({ "nbf": NOW + 59 }), json!({ "aud": ["x", "range"] })] {
        assert_eq!(signer.outcome(&more), Ok(()), "clocks differ a little");
    }
}

#[test]
fn the_key_says_which_algorithm_counts() {
    let signer = Signer::new();
    let sign = |header: Value| signer.keys().verify(&signer.sign(&header, &claims()), NOW).map(drop);
    for header in [
        json!({ "alg": "none" }),
        json!({ "alg": "HS256" }),
        json!({ "alg": "ES384" }),
        json!({ "alg": "es256" }),
        json!({ "alg": "ES256", "kid": "k2" }),
    ] {
        assert!(sign(header.clone()).unwrap_err().contains("no key of this server"), "{header}");
    }
    let critical = sign(json!({ "alg": "ES256", "crit": ["exp"] }));
    assert!(critical.unwrap_err().contains("`crit`"));
    assert_eq!(sign(json!({ "alg": "ES256" })), Ok(()), "without `kid` all keys are tried");
    let mut jwk = signer.jwk("k1");
    jwk["alg"] = json!("ES384");
    let token = signer.sign(&json!({ "alg": "ES256" }), &claims());
    assert!(keys(&jwk.to_string()).unwrap().verify(&token, NOW).is_err(), "it is for another algorithm");
}

#[test]
fn malformed_tokens_are_refused() {
    let signer = Signer::new();
    let token = signer.sign(&json!({ "alg": "ES256" }), &claims());
    let unsigned = token.rsplit_once('.').unwrap().0;
    let long = "x".repeat(TOKEN_BYTES_MAX + 1);
    for (token, words) in [
        ("", "three parts"),
        (unsigned, "three parts"),
        (&format!("{token}."), "three parts"),
        (&format!("{unsigned}."), "no key of this server"),
        (&format!("{token}="), "signature is not in base64url"),
        ("!.e30.AA", "header is not in base64url"),
        ("e30.e30.AA", "missing field `alg`"),
        (&long, "octets"),
    ] {
        let why = signer.keys().verify(token, NOW).err().unwrap();
        assert!(why.contains(words), "{token}: {why}");
    }
    assert!(Signer::new().keys().verify(&token, NOW).is_err(), "it is of another authority");
}

#[test]
fn an_account_asks_for_claims() {
    let signer = Signer::new();
    let token = signer.sign(&json!({ "alg": "ES256" }), &claims());
    let claims = signer.keys().verify(&token, NOW).unwrap();
    let have = |wanted: &[(&str, &str)]| {
        claims.have(&wanted.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())).collect())
    };
    assert!(have(&[("sub", "alice")]) && have(&[("roles", "lead"), ("sub", "alice")]));
    assert!(!have(&[("sub", "bob")]) && !have(&[("roles", "lead"), ("sub", "bob")]) && !have(&[("x", "")]));
    assert!(!have(&[("exp", "1800003600")]), "numbers are no texts");
}

#[test]
fn key_sets_that_verify_nothing_are_refused() {
    let signer = Signer::new();
    for (text, words) in [
        ("{", "EOF"),
        ("{}", "missing field `kty`"),
        (r#"{"keys": []}"#, "no public key"),
        (r#"{"kty": "oct", "k": "AA", "kid": "s"}"#, "key s is symmetric"),
        (r#"{"kty": "RSA", "use": "enc", "n": "AA", "e": "AQAB"}"#, "no public key"),
        (r#"{"kty": "RSA", "n": "AA"}"#, "`e` is missing"),
        (r#"{"kty": "EC", "crv": "P-256", "x": "AA", "y": "AA"}"#, "do not have 32 octets"),
    ] {
        let why = keys(text).unwrap_err();
        assert!(why.contains(words), "{text}: {why}");
    }
    let mixed = json!({ "keys": [{ "kty": "new" }, signer.jwk("k1")] });
    assert_eq!(keys(&mixed.to_string()).unwrap().keys.len(), 1);
}
