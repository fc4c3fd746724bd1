use super::*;
use crate::password::hash_password;
use hla::encoding::encode_plain_text_password;

fn policy(more: &str) -> Policy {
    let hash = |password| hash_password(password, [3; 16]).unwrap();
    Policy::read(&format!(
        "{more}\n[accounts.crew]\npassword = \"{}\"\n[accounts.viewer]\npassword = \"{}\"\n\
         [accounts.sim]\ncertificate = \"sim-host\"\n[accounts.guest]\ncertificate = \"guest-host\"",
        hash("open sesame"),
        hash("look:here"),
    ))
    .unwrap()
}

/// Within the life of the tokens.
const NOW: u64 = 1_800_000_000;

fn password(text: &str) -> Option<Credentials> {
    let data = encode_plain_text_password(text).unwrap();
    Some(Credentials { r#type: PLAIN_TEXT_PASSWORD.to_owned(), data })
}

fn named(name: &str) -> Peer {
    Peer { names: vec![name.to_owned()], is_readable: false }
}

/// The name of the account, or the exception; and whether a password had to be verified.
fn outcome(
    policy: &mut Policy,
    credentials: Option<&Credentials>,
    peer: &Peer,
) -> (Result<String, RtiError>, bool) {
    match policy.identify(credentials, peer) {
        Ok(Identity::Known(account)) => (Ok(account.name().to_owned()), false),
        Ok(Identity::Unverified(check)) => {
            let admitted = policy.admit(check.run(NOW)).map_err(|refusal| refusal.error);
            (admitted.map(|account| account.name().to_owned()), true)
        }
        Err(error) => (Err(error), false),
    }
}

#[test]
fn a_password_names_its_account_or_is_that_of_the_default_account() {
    let mut policy = policy("default-account = \"crew\"");
    let mut who = |text| outcome(&mut policy, password(text).as_ref(), &Peer::default());
    assert_eq!(who("crew:open sesame"), (Ok("crew".to_owned()), true));
    assert_eq!(who("open sesame"), (Ok("crew".to_owned()), false), "it is recognized");
    assert_eq!(who("viewer:look:here"), (Ok("viewer".to_owned()), true));
    for wrong in
        ["look:here", "crew:look:here", "viewer:open sesame", "sim:open sesame", "nobody:x", "", "crew:"]
    {
        assert_eq!(who(wrong), (Err(wrong_password()), true), "{wrong}");
    }
    let long = "x".repeat(PASSWORD_BYTES_MAX + 1);
    assert_eq!(who(&long), (Err(wrong_password()), false));
}

#[test]
fn a_certificate_needs_no_credentials_and_gives_way_to_them() {
    let mut policy = policy("");
    assert_eq!(outcome(&mut policy, None, &named("sim-host")).0, Ok("sim".to_owned()));
    let crew = password("crew:open sesame");
    assert_eq!(outcome(&mut policy, crew.as_ref(), &named("sim-host")).0, Ok("crew".to_owned()));
    let other = outcome(&mut policy, None, &named("other")).0.unwrap_err();
    assert!(other.details.contains("no account has this certificate"), "{other}");
    let nothing = outcome(&mut policy, None, &Peer::default()).0.unwrap_err();
    assert_eq!(nothing.exception, Exception::Unauthorized);
    assert!(nothing.details.contains("asks for credentials or a certificate"), "{nothing}");
}

#[test]
fn federates_without_credentials_may_have_an_account() {
    let mut policy = policy("without-credentials = \"guest\"");
    let none = Credentials { r#type: NO_CREDENTIALS.to_owned(), data: Vec::new().into() };
    for credentials in [None, Some(&none)] {
        assert_eq!(outcome(&mut policy, credentials, &Peer::default()).0, Ok("guest".to_owned()));
    }
}

#[test]
fn malformed_credentials_are_invalid() {
    let mut policy = policy("");
    for (r#type, data) in [
        (NO_CREDENTIALS, &b"x"[..]),
        (PLAIN_TEXT_PASSWORD, b""),
        (PLAIN_TEXT_PASSWORD, b"p\xc3\xa4ssword"),
        (PLAIN_TEXT_PASSWORD, &[0, 0, 0, 1, 0xd8, 0]),
        (KERBEROS_TOKEN, b"\x60\x0a\x06\x06\x2b\x06\x01\x05\x05\x02\x60\x00"),
        (KERBEROS_TOKEN, b""),
        ("Badge", b"7"),
    ] {
        let credentials = Credentials { r#type: r#type.to_owned(), data: data.to_vec().into() };
        let error = outcome(&mut policy, Some(&credentials), &Peer::default()).0.unwrap_err();
        assert_eq!(error.exception, Exception::InvalidCredentials, "{type} {data:?}");
        assert_eq!(check_form(Some(&credentials)), Err(error));
    }
}

#[test]
fn a_password_that_others_can_read_is_not_looked_at() {
    let readable = Peer { is_readable: true, ..Peer::default() };
    let right = password("crew:open sesame");
    let (error, verified) = outcome(&mut policy(""), right.as_ref(), &readable);
    assert!(error.unwrap_err().details.contains("must come encrypted") && !verified);
    let mut allowing = policy("").with_unencrypted_passwords(true);
    assert_eq!(outcome(&mut allowing, right.as_ref(), &readable).0, Ok("crew".to_owned()));
}

#[test]
fn a_password_that_was_changed_meanwhile_is_wrong() {
    let old = policy("");
    let Ok(Identity::Unverified(check)) =
        old.identify(password("crew:open sesame").as_ref(), &Peer::default())
    else {
        panic!("it takes long");
    };
    let mut new = Policy::of_password(&hash_password("new", [1; 16]).unwrap()).unwrap();
    assert_eq!(new.admit(check.run(NOW)), Err(wrong_password().into()));
}

#[test]
fn a_token_is_of_the_account_that_asks_for_its_claims() {
    use crate::token::tests::{Signer, claims};

    let signer = Signer::new();
    let token =
        |text: &str| Credentials { r#type: BEARER_TOKEN.to_owned(), data: text.as_bytes().to_vec().into() };
    let text = signer.sign(&serde_json::json!({ "alg": "ES256" }), &claims());
    let good = token(&text);
    let mut without = policy("");
    let (error, verified) = outcome(&mut without, Some(&good), &Peer::default());
    assert!(error.unwrap_err().details.contains("takes no tokens") && !verified);
    let with = |accounts: &str| policy(accounts).with_token_keys(Some(signer.keys()));
    let account = |name: &str, claims: &str| format!("[accounts.{name}]\ntoken = {claims}\n");
    let crew = account("by-role", "{ roles = \"crew\" }");
    let mut one = with(&(crew.clone() + &account("bob", "{ sub = \"bob\" }")));
    assert_eq!(outcome(&mut one, Some(&good), &Peer::default()), (Ok("by-role".to_owned()), true));
    let refused = |policy: &mut Policy, credentials: &Credentials, peer: &Peer, words: &str| {
        let error = outcome(policy, Some(credentials), peer).0.unwrap_err();
        assert!(error.exception == Exception::Unauthorized && error.details.contains(words), "{error}");
    };
    refused(&mut with(""), &good, &Peer::default(), "no account has the claims");
    let mut both = with(&(crew + &account("alice", "{ sub = \"alice\" }")));
    refused(
        &mut both,
        &good,
        &Peer::default(),
        "several accounts have the claims of this token: alice, by-role",
    );
    refused(&mut one, &token("a.b.c"), &Peer::default(), "the token is refused: its header");
    let readable = Peer { is_readable: true, ..Peer::default() };
    refused(&mut one, &good, &readable, "must come encrypted");
    let error = outcome(&mut one, Some(&token("ä")), &Peer::default()).0.unwrap_err();
    assert_eq!(error.exception, Exception::InvalidCredentials);
}

/// Takes a token of which the body is a principal.
#[derive(Debug)]
struct Tickets;

impl crate::KerberosVerifier for Tickets {
    fn verify(&self, token: &[u8]) -> Result<String, String> {
        let name = String::from_utf8_lossy(&token[15..]).into_owned();
        if name.contains('@') { Ok(name) } else { Err("Ticket expired".to_owned()) }
    }
}

#[test]
fn a_kerberos_token_is_of_the_account_with_its_principal() {
    use crate::kerberos::tests::context_token;

    let token = |body: &str| Credentials {
        r#type: KERBEROS_TOKEN.to_owned(),
        data: context_token(body.as_bytes()).into(),
    };
    let accounts = "[accounts.alice]\nprincipal = \"alice@R\"\n\
                    [accounts.sims]\nprincipal = [\"sim/a@R\", \"sim/b@R\"]";
    let mut without = policy(accounts);
    let (error, verified) = outcome(&mut without, Some(&token("alice@R")), &Peer::default());
    assert!(error.unwrap_err().details.contains("takes no Kerberos tokens") && !verified);
    let mut policy = without.with_kerberos(Some(Arc::new(Tickets)));
    for (name, account) in [("alice@R", "alice"), ("sim/a@R", "sims"), ("sim/b@R", "sims")] {
        let known = outcome(&mut policy, Some(&token(name)), &Peer::default());
        assert_eq!(known, (Ok(account.to_owned()), true));
    }
    for (body, why) in [
        ("alice@S", "no account has the principal alice@S"),
        ("Alice@R", "no account has the principal Alice@R"),
        ("alice", "Ticket expired"),
    ] {
        let Ok(Identity::Unverified(check)) = policy.identify(Some(&token(body)), &Peer::default()) else {
            panic!("it is verified elsewhere");
        };
        let refusal = policy.admit(check.run(NOW)).unwrap_err();
        assert_eq!(refusal.error, unauthorized("the Kerberos token is refused"), "it is not told why");
        assert_eq!(refusal.reason, Some(format!("the Kerberos token is refused: {why}")));
    }
    let readable = Peer { is_readable: true, ..Peer::default() };
    let (error, verified) = outcome(&mut policy, Some(&token("alice@R")), &readable);
    assert!(error.unwrap_err().details.contains("must come encrypted") && !verified);
}
