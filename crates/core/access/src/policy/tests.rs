use super::*;
use crate::operation::Operation;

const HASH: &str = "$argon2id$v=19$m=65536,t=2,p=1$c29tZXNhbHQ$CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc";

const RANGE: &str = r#"
without-credentials = "guest"
default-account = "crew"

[accounts.crew]
password = "HASH"
roles = ["viewer"]
may = ["join Range* as Crew*"]
limits = { sessions = 3 }

[accounts.sim]
certificate = ["sim-host", "sim-host.example"]
may = ["do anything"]
may-not = ["destroy *"]

[accounts.guest]
roles = ["viewer"]
may-not = ["subscribe HLAobjectRoot.Secret"]

[roles.viewer]
may = [
    "join Range of type Viewer",
    "subscribe HLAobjectRoot",
]
"#;

fn policy(text: &str) -> Result<Policy, PolicyError> {
    Policy::read(&text.replace("HASH", HASH))
}

fn decides(account: &str, operation: &str) -> (bool, Option<usize>) {
    let policy = policy(RANGE).unwrap();
    let account = policy.account(account).unwrap();
    Operation::read(operation, |operation| {
        let decision = account.decide(&operation);
        (decision.allowed, decision.rule.map(|rule| rule.line))
    })
    .unwrap()
}

#[test]
fn a_decision_names_the_line_that_gave_it() {
    assert_eq!(decides("crew", "join Range as Crew-1"), (true, Some(8)));
    assert_eq!(decides("crew", "join Range as X of type Viewer"), (true, Some(22)));
    assert_eq!(decides("crew", "join Range as X"), (false, None));
    assert_eq!(decides("crew", "connect"), (true, None));
    assert_eq!(decides("sim", "destroy Range"), (false, Some(14)));
    assert_eq!(decides("sim", "create Range"), (true, Some(13)));
    assert_eq!(decides("guest", "subscribe HLAobjectRoot.Secret.Plan in Range"), (false, Some(18)));
    assert_eq!(decides("guest", "subscribe HLAobjectRoot.Open in Range"), (true, Some(23)));
    assert_eq!(decides("guest", "publish HLAobjectRoot.Open in Range"), (false, None));
}

#[test]
fn a_refusal_says_why() {
    let policy = policy(RANGE).unwrap();
    let refusal = |account: &str, federation: &str| {
        policy.account(account).unwrap().refusal(&Operation::Destroy { federation })
    };
    assert_eq!(
        refusal("sim", "Range North").as_deref(),
        Some(
            "account `sim` may not destroy 'Range North': line 14, `may-not` of [accounts.sim]: destroy * forbids it"
        )
    );
    let none = "account `crew` may not destroy X: no line of the access policy allows it";
    assert_eq!(refusal("crew", "X").as_deref(), Some(none));
}

#[test]
fn limits_and_lines_of_accounts() {
    let policy = policy(RANGE).unwrap();
    let crew = policy.account("crew").unwrap();
    assert_eq!((crew.line(), crew.limits()), (5, Limits { sessions: Some(3), ..Limits::default() }));
    assert_eq!(policy.accounts().map(|account| account.name()).collect::<Vec<_>>(), ["crew", "guest", "sim"]);
}

#[test]
fn a_policy_that_makes_no_sense_is_refused_with_its_place() {
    let proved = "password = \"HASH\"";
    for (text, words, at) in [
        ("[accounts.a", "unclosed", None),
        ("colour = 1", "unknown field `colour`", Some("colour")),
        ("[accounts.a]\npasword = 1", "unknown field `pasword`", Some("pasword")),
        ("[accounts.a]\nmay = []", "nobody can be `a`", Some("a")),
        ("[accounts.a]\npassword = \"secret\"", "`meshrti access hash`", Some("\"secret\"")),
        ("without-credentials = \"b\"", "there is no account `b`", Some("\"b\"")),
        (
            "default-account = \"b\"\n[accounts.b]\ncertificate = \"x\"",
            "account `b` has no password",
            Some("\"b\""),
        ),
        (&format!("[accounts.a]\n{proved}\nroles = [\"x\"]"), "there is no role `x`", Some("\"x\"")),
        (&format!("[accounts.\"a:b\"]\n{proved}"), "account `a:b`: a name has letters", Some("\"a:b\"")),
        (&format!("[accounts.a]\n{proved}\nmay = [\"fly\"]"), "`fly` begins no operation", Some("\"fly\"")),
        (
            &format!("[accounts.a]\n{proved}\nmay = [\"connect\"]\nmay-not = [\"connect\"]"),
            "this contradicts line 3",
            Some("\"connect\""),
        ),
        ("[roles.r]\nmay = [\"create R\", \"create 'R'\"]", "this repeats line 2", Some("\"create 'R'\"")),
        ("[accounts.a]\ntoken = {}", "any token would do", Some("{}")),
        ("[accounts.a]\ncertificate = \"sha256:12:3G\"", "64 hexadecimal digits", Some("\"sha256:12:3G\"")),
        ("[accounts.a]\nprincipal = [\"alice\"]", "a principal has a realm", Some("[\"alice\"]")),
        (
            "[accounts.a]\nprincipal = \"x@R\"\n[accounts.b]\nprincipal = \"x@R\"",
            "the principal `x@R` has an account already",
            Some("b"),
        ),
        (
            "[accounts.a]\ncertificate = \"x\"\n[accounts.b]\ncertificate = [\"y\", \"x\"]",
            "the certificate of `x` has an account already",
            Some("b"),
        ),
    ] {
        let text = text.replace("HASH", HASH);
        let error = Policy::read(&text).unwrap_err();
        assert!(error.message.contains(words), "{text}: {error}");
        if let Some(at) = at {
            assert_eq!(error.span.map(|span| &text[span]), Some(at), "{text}");
        }
    }
}

#[test]
fn a_single_password_may_do_anything() {
    let policy = Policy::of_password(HASH).unwrap();
    let account = policy.account("federate").unwrap();
    assert!(account.decide(&Operation::Destroy { federation: "X" }).allowed);
    assert!(Policy::of_password("secret").unwrap_err().message.contains("no Argon2id hash"));
}

#[test]
fn limits_are_read_and_said() {
    let text =
        RANGE.replace("{ sessions = 3 }", "{ sessions = 1, objects = 500, bytes-per-second = 2_000_000 }");
    let limits = policy(&text).unwrap().account("crew").unwrap().limits();
    assert_eq!(limits.to_string(), "1 session, 500 objects each, 2000000 bytes/s each");
    assert_eq!(Limits::default().to_string(), "any number of sessions");
    let text = text.replace("2_000_000", "9_999");
    let error = policy(&text).unwrap_err();
    assert_eq!(error.message, "a session needs at least 10000 bytes per second");
    let at = error.span.map(|span| text.replace("HASH", HASH)[span].to_owned());
    assert_eq!(at.as_deref(), Some("9_999"));
}
