//! Arbitrary credentials of a connect call, which are read before anybody is known.
//!
//! Input: a control byte, and the data of the credentials. The control byte chooses their type. Passwords
//! are not verified, because that is slow; tokens are. Nothing but the right password or a signed token
//! is an account, and the keys of the server sign none here.
#![no_main]

use access::{Identity, Peer, Policy, TokenKeys};
use hla::api::Credentials;
use hla::encoding::{BEARER_TOKEN, NO_CREDENTIALS, PLAIN_TEXT_PASSWORD};
use libfuzzer_sys::fuzz_target;

/// One key of each kind: the examples of RFC 7515, A.3 and RFC 8037, A.
const KEYS: &str = r#"{"keys":[
    {"kty":"EC","crv":"P-256","x":"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU",
     "y":"x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"},
    {"kty":"OKP","crv":"Ed25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}]}"#;

const POLICY: &str = "[accounts.crew]\n\
    password = \"$argon2id$v=19$m=65536,t=2,p=1$c29tZXNhbHQ$CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc\"\n\
    [accounts.token]\ntoken = { sub = \"alice\" }\n";

/// 2026, in seconds since 1970.
const NOW: u64 = 1_790_000_000;

fuzz_target!(|data: &[u8]| {
    let Some((control, data)) = data.split_first() else { return };
    let keys = TokenKeys::read(KEYS, "range".to_owned(), None).expect("they are keys");
    let mut policy = Policy::read(POLICY).expect("it is a policy").with_token_keys(Some(keys));
    let kind = [BEARER_TOKEN, PLAIN_TEXT_PASSWORD, NO_CREDENTIALS, "other"][usize::from(control % 4)];
    let credentials = Credentials { r#type: kind.to_owned(), data: data.to_vec().into() };
    match policy.identify(Some(&credentials), &Peer::default()) {
        Ok(Identity::Known(account)) => panic!("{kind} is {}", account.name()),
        Ok(Identity::Unverified(check)) if kind == BEARER_TOKEN => {
            assert!(policy.admit(check.run(NOW)).is_err(), "nobody has signed it");
        }
        Ok(Identity::Unverified(_)) | Err(_) => {}
    }
});
