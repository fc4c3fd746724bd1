//! Arbitrary credentials of a connect call, which are read before anybody is known.
//!
//! Input: a control byte, and the data of the credentials. The control byte chooses their type. Passwords
//! are not verified, because that is slow; tokens are, those of Kerberos only for their form. Nothing but the right password or a signed token
//! is an account, and the keys of the server sign none here.
#![no_main]

use access::{Identity, KERBEROS_BYTES_MAX, KerberosVerifier, Peer, Policy, TokenKeys};
use hla::api::Credentials;
use hla::encoding::{BEARER_TOKEN, KERBEROS_TOKEN, NO_CREDENTIALS, PLAIN_TEXT_PASSWORD};
use libfuzzer_sys::fuzz_target;
use std::sync::Arc;

/// One key of each kind: the examples of RFC 7515, A.3 and RFC 8037, A.
const KEYS: &str = r#"{"keys":[
    {"kty":"EC","crv":"P-256","x":"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU",
     "y":"x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"},
    {"kty":"OKP","crv":"Ed25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}]}"#;

const POLICY: &str = "[accounts.crew]\n\
    password = \"$argon2id$v=19$m=65536,t=2,p=1$c29tZXNhbHQ$CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc\"\n\
    [accounts.token]\ntoken = { sub = \"alice\" }\n";

/// Stands for the library, which is to see nothing else than first tokens of Kerberos 5.
#[derive(Debug)]
struct NoKeys;

impl KerberosVerifier for NoKeys {
    fn verify(&self, token: &[u8]) -> Result<String, String> {
        let mechanism = b"\x06\x09\x2a\x86\x48\x86\xf7\x12\x01\x02\x02\x01\x00";
        let head =
            token.windows(mechanism.len()).position(|part| part == mechanism).expect("it has the form");
        assert!(token[0] == 0x60 && head <= 6 && token.len() <= KERBEROS_BYTES_MAX);
        Err("there is no key".to_owned())
    }
}

/// 2026, in seconds since 1970.
const NOW: u64 = 1_790_000_000;

fuzz_target!(|data: &[u8]| {
    let Some((control, data)) = data.split_first() else { return };
    let keys = TokenKeys::read(KEYS, "range".to_owned(), None).expect("they are keys");
    let mut policy = Policy::read(POLICY).expect("it is a policy").with_token_keys(Some(keys));
    policy = policy.with_kerberos(Some(Arc::new(NoKeys)));
    let kind = [BEARER_TOKEN, PLAIN_TEXT_PASSWORD, NO_CREDENTIALS, "other", KERBEROS_TOKEN]
        [usize::from(control % 5)];
    let credentials = Credentials { r#type: kind.to_owned(), data: data.to_vec().into() };
    match policy.identify(Some(&credentials), &Peer::default()) {
        Ok(Identity::Known(account)) => panic!("{kind} is {}", account.name()),
        Ok(Identity::Unverified(check)) if kind == BEARER_TOKEN || kind == KERBEROS_TOKEN => {
            assert!(policy.admit(check.run(NOW)).is_err(), "it proves nothing");
        }
        Ok(Identity::Unverified(_)) | Err(_) => {}
    }
});
