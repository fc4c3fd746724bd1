//! The policy of a gateway: a strict TOML file.

use serde::Deserialize;
use std::path::{Path, PathBuf};

use crate::Side;

/// The policy of a gateway. Relative paths in it are relative to its folder.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Policy {
    /// The name of the gateway. Its federates are called [`FEDERATE_NAME_START`] and this.
    pub name: String,
    /// How to reach the network of those who keep the policy.
    pub inside: Server,
    /// How to reach the partner's network.
    pub outside: Server,
    /// The federation executions of which something passes.
    #[serde(rename = "federation")]
    pub federations: Vec<Federation>,
}

/// The start of the names of all federates that are gateways.
pub const FEDERATE_NAME_START: &str = "meshrti-gateway:";

/// A server of the Federate Protocol, and what the gateway shows to it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Server {
    /// Its address: `HOST:PORT`, or a URL with `tcp`, `tls`, `ws` or `wss`.
    pub server: String,
    /// PEM file with the authorities to trust.
    pub authority: Option<PathBuf>,
    /// PEM file with a certificate to show, and its private key.
    pub certificate: Option<PathBuf>,
    /// File with a password.
    pub password_file: Option<PathBuf>,
    /// File with a JSON Web Token.
    pub token_file: Option<PathBuf>,
    /// Service for which a Kerberos ticket is shown.
    pub kerberos: Option<String>,
}

/// A federation execution of which something passes.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Federation {
    /// Its name inside.
    pub name: String,
    /// Its name outside, if that differs.
    pub outside_name: Option<String>,
    /// Its FOM modules, which name the classes. The server of neither side is asked for them.
    pub fom: Vec<PathBuf>,
    /// The classes that may leave, each with all classes below it.
    #[serde(default)]
    pub out: Vec<Entry>,
    /// The classes that may enter.
    #[serde(default, rename = "in")]
    pub enter: Vec<Entry>,
    /// The object instances that the gateway has registered on a side, at most.
    #[serde(default = "objects_max")]
    pub objects_max: usize,
}

/// Enough for a large exercise, and about 10 MB at the gateway.
const fn objects_max() -> usize {
    20_000
}

impl Federation {
    /// Its name on a side.
    pub fn name_on(&self, side: Side) -> &str {
        match (side, &self.outside_name) {
            (Side::Outside, Some(name)) => name,
            _ => &self.name,
        }
    }

    /// The classes that may pass from a side to the other.
    pub fn from(&self, side: Side) -> &[Entry] {
        match side {
            Side::Inside => &self.out,
            Side::Outside => &self.enter,
        }
    }
}

/// A class that may pass with all classes below it: `CLASS`, or `CLASS: ATTRIBUTE, ATTRIBUTE`, or
/// `CLASS: nothing`. Of several entries for a class the most specific one counts.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
#[serde(try_from = "String")]
pub struct Entry {
    /// The full name of the class.
    pub class: String,
    /// The attributes or parameters that may pass; `None`: all.
    pub parts: Option<Vec<String>>,
}

impl TryFrom<String> for Entry {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let (class, parts) = match text.split_once(':') {
            None => (text.trim(), None),
            Some((class, parts)) => (class.trim(), Some(parts.trim())),
        };
        let root = class.split('.').next().unwrap_or_default();
        if ![hla::fom::OBJECT_ROOT, hla::fom::INTERACTION_ROOT].contains(&root) {
            return Err(format!(
                "`{class}` is no class: give its full name from HLAobjectRoot or HLAinteractionRoot on, which \
                 includes all classes below it, and perhaps `: ATTRIBUTE, ATTRIBUTE` or `: nothing`"
            ));
        }
        let parts = match parts {
            None => None,
            Some("nothing") => Some(Vec::new()),
            Some(list) => {
                let parts: Vec<String> = list.split(',').map(|part| part.trim().to_owned()).collect();
                if parts.iter().any(String::is_empty) {
                    return Err(format!("`{text}`: a name is missing beside a comma or after the colon"));
                }
                Some(parts)
            }
        };
        Ok(Self { class: class.to_owned(), parts })
    }
}

/// A policy that cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("{}: {why}", file.display())]
pub struct PolicyError {
    /// The file with the fault.
    pub file: PathBuf,
    /// The fault.
    pub why: String,
}

impl Policy {
    /// Reads a policy.
    ///
    /// # Errors
    /// The file cannot be read, has unknown keys, or contradicts itself.
    pub fn read(file: &Path) -> Result<Self, PolicyError> {
        let fail = |why: String| PolicyError { file: file.to_owned(), why };
        let text = std::fs::read_to_string(file).map_err(|error| fail(error.to_string()))?;
        let folder = file.parent().unwrap_or(Path::new(""));
        Self::parse(&text, folder).map_err(fail)
    }

    /// Reads the text of a policy in a folder.
    ///
    /// # Errors
    /// As for [`Policy::read`].
    pub fn parse(text: &str, folder: &Path) -> Result<Self, String> {
        let mut policy: Policy = toml::from_str(text).map_err(|error| error.to_string())?;
        policy.check()?;
        for server in [&mut policy.inside, &mut policy.outside] {
            let files = [
                &mut server.authority,
                &mut server.certificate,
                &mut server.password_file,
                &mut server.token_file,
            ];
            files.into_iter().flatten().for_each(|file| *file = folder.join(&*file));
        }
        for federation in &mut policy.federations {
            federation.fom.iter_mut().for_each(|file| *file = folder.join(&*file));
        }
        Ok(policy)
    }

    fn check(&self) -> Result<(), String> {
        if self.name.is_empty() {
            return Err("`name` is empty".to_owned());
        }
        for (side, server) in [(Side::Inside, &self.inside), (Side::Outside, &self.outside)] {
            let shown =
                [server.password_file.is_some(), server.token_file.is_some(), server.kerberos.is_some()];
            if shown.into_iter().filter(|shown| *shown).count() > 1 {
                return Err(format!(
                    "[{side}]: only one of `password-file`, `token-file` and `kerberos` can be shown"
                ));
            }
        }
        if self.federations.is_empty() {
            return Err("no [[federation]] is named, so nothing could pass".to_owned());
        }
        for (at, federation) in self.federations.iter().enumerate() {
            let name = &federation.name;
            if federation.out.is_empty() && federation.enter.is_empty() {
                return Err(format!("[[federation]] `{name}`: neither `out` nor `in` names a class"));
            }
            for side in Side::BOTH {
                let on_side = federation.name_on(side);
                if self.federations.iter().take(at).any(|other| other.name_on(side) == on_side) {
                    return Err(format!("two [[federation]] have the name `{on_side}` {side}"));
                }
                for (at, entry) in federation.from(side).iter().enumerate() {
                    if federation.from(side).iter().take(at).any(|other| other.class == entry.class) {
                        let key = if side == Side::Inside { "out" } else { "in" };
                        return Err(format!("[[federation]] `{name}`: `{key}` names {} twice", entry.class));
                    }
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = r#"
        name = "Norfolk-Partner"
        [inside]
        server = "tls://rti"
        authority = "authority.pem"
        [outside]
        server = "tls://partner.example"
        password-file = "secret"
        [[federation]]
        name = "Range"
        outside-name = "Joint Range"
        fom = ["range.xml"]
        out = ["HLAobjectRoot.Aircraft: Position, Type", "HLAobjectRoot.Aircraft.Secret: nothing"]
        in = ["HLAinteractionRoot.Fire"]
    "#;

    fn refused(from: &str, to: &str) -> String {
        assert!(GOOD.contains(from));
        Policy::parse(&GOOD.replace(from, to), Path::new("")).unwrap_err()
    }

    #[test]
    fn a_policy_reads_like_a_table() {
        let policy = Policy::parse(GOOD, Path::new("/etc/gateway")).unwrap();
        assert_eq!(policy.inside.authority.as_deref(), Some(Path::new("/etc/gateway/authority.pem")));
        let [federation] = &policy.federations[..] else { panic!("one federation") };
        assert_eq!(federation.fom, [Path::new("/etc/gateway/range.xml")]);
        assert_eq!(
            (federation.name_on(Side::Inside), federation.name_on(Side::Outside)),
            ("Range", "Joint Range")
        );
        let parts = federation.out.iter().map(|entry| entry.parts.as_ref().map(Vec::len));
        assert_eq!(parts.collect::<Vec<_>>(), [Some(2), Some(0)]);
        assert_eq!(federation.enter[0].parts, None);
    }

    #[test]
    fn contradictions_are_named() {
        assert!(refused("fom =", "foms =").contains("unknown field `foms`"));
        assert!(refused("\"HLAinteractionRoot.Fire\"", "\"Fire\"").contains("`Fire` is no class"));
        assert!(refused("Position, Type", "Position,").contains("a name is missing"));
        assert!(refused("Aircraft.Secret", "Aircraft").contains("`out` names HLAobjectRoot.Aircraft twice"));
        assert!(refused("password-file", "kerberos = \"HLA@x\"\npassword-file").contains("only one of"));
        let twice = refused(
            "[[federation]]",
            "[[federation]]\nname = \"Range\"\nfom = []\nin = [\"HLAobjectRoot\"]\n[[federation]]",
        );
        assert_eq!(twice, "two [[federation]] have the name `Range` inside");
        let none = GOOD.split("out =").next().unwrap();
        assert!(Policy::parse(none, Path::new("")).unwrap_err().contains("neither `out` nor `in`"));
    }
}
