//! Rights: sentences that describe operations.
//!
//! ```text
//! do anything
//! connect
//! see status
//! create FEDERATION
//! destroy FEDERATION
//! join FEDERATION [as NAME] [of type TYPE]
//! publish CLASS [in FEDERATION]
//! subscribe CLASS [in FEDERATION]
//! regulate time [in FEDERATION]
//! ```

use crate::operation::{Operation, Topic};
use crate::pattern::Pattern;
use crate::words::{Word, words};
use std::str::FromStr;

/// The roots of all classes (IEEE 1516.1-2025, 5.1).
const ROOTS: [&str; 2] = ["HLAobjectRoot", "HLAinteractionRoot"];

/// The forms of sentences, for messages.
const FORMS: &str = "`do anything`, `connect`, `see status`, `create FEDERATION`, `destroy FEDERATION`, \
    `join FEDERATION [as NAME] [of type TYPE]`, `publish CLASS [in FEDERATION]`, \
    `subscribe CLASS [in FEDERATION]` or `regulate time [in FEDERATION]`";

/// A description of operations.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Right {
    pub(crate) scope: Scope,
}

/// The operations that a right describes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Scope {
    Anything,
    Connect,
    SeeStatus,
    Create(Pattern),
    Destroy(Pattern),
    Join {
        federation: Pattern,
        name: Pattern,
        federate_type: Pattern,
    },
    /// The class and all below it; `*` for all classes.
    Publish {
        class: String,
        federation: Pattern,
    },
    Subscribe {
        class: String,
        federation: Pattern,
    },
    RegulateTime(Pattern),
}

impl Right {
    /// Whether the right describes `operation`.
    pub(crate) fn covers(&self, operation: &Operation<'_>) -> bool {
        match (&self.scope, *operation) {
            (Scope::Anything, _)
            | (Scope::Connect, Operation::Connect)
            | (Scope::SeeStatus, Operation::SeeStatus) => true,
            (Scope::Create(pattern), Operation::Create { federation })
            | (Scope::Destroy(pattern), Operation::Destroy { federation })
            | (Scope::RegulateTime(pattern), Operation::Within { federation, topic: Topic::RegulateTime }) => {
                pattern.matches(federation)
            }
            (Scope::Join { .. }, Operation::Join { federation, name, federate_type }) => {
                let patterns = self.names();
                patterns.iter().zip([federation, name, federate_type]).all(|(pattern, n)| pattern.matches(n))
            }
            (
                Scope::Publish { class, federation: pattern },
                Operation::Within { federation, topic: Topic::Publish(name) },
            )
            | (
                Scope::Subscribe { class, federation: pattern },
                Operation::Within { federation, topic: Topic::Subscribe(name) },
            ) => pattern.matches(federation) && includes(class, name),
            _ => false,
        }
    }

    /// The patterns of the names of federation executions, federates and their types.
    pub(crate) fn names(&self) -> [Pattern; 3] {
        let any = Pattern::any;
        match &self.scope {
            Scope::Anything | Scope::Connect | Scope::SeeStatus => [any(), any(), any()],
            Scope::Join { federation, name, federate_type } => {
                [federation.clone(), name.clone(), federate_type.clone()]
            }
            Scope::Create(federation)
            | Scope::Destroy(federation)
            | Scope::Publish { federation, .. }
            | Scope::Subscribe { federation, .. }
            | Scope::RegulateTime(federation) => [federation.clone(), any(), any()],
        }
    }
}

/// Whether the class `name` is `class` or lies below it.
fn includes(class: &str, name: &str) -> bool {
    class == "*" || name.strip_prefix(class).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

/// A sentence while it is read.
struct Reader<'a> {
    words: std::vec::IntoIter<Word<'a>>,
}

impl<'a> Reader<'a> {
    fn next(&mut self, what: &str) -> Result<Word<'a>, String> {
        self.words.next().ok_or_else(|| format!("{what} is missing; expected {FORMS}"))
    }

    /// Takes these keywords if they come next.
    fn takes(&mut self, keywords: &[&str]) -> bool {
        let rest = self.words.as_slice();
        let is_next =
            rest.len() >= keywords.len() && rest.iter().zip(keywords).all(|(word, key)| word.is(key));
        if is_next {
            self.words.by_ref().take(keywords.len()).for_each(drop);
        }
        is_next
    }

    fn pattern(&mut self, what: &str) -> Result<Pattern, String> {
        self.next(what).map(|word| Pattern::new(word.text))
    }

    /// The pattern after these keywords, if they come next; else that of all names.
    fn pattern_after(&mut self, keywords: &[&str], what: &str) -> Result<Pattern, String> {
        if self.takes(keywords) { self.pattern(what) } else { Ok(Pattern::any()) }
    }

    fn federation(&mut self) -> Result<Pattern, String> {
        self.pattern_after(&["in"], "the name of a federation execution")
    }

    fn class(&mut self) -> Result<String, String> {
        let class = self.next("the name of a class")?.text;
        let root = class.split('.').next().unwrap_or_default();
        if class != "*" && (!ROOTS.contains(&root) || class.contains('*') || class.ends_with('.')) {
            return Err(format!(
                "`{class}` is no class: give its full name from HLAobjectRoot or HLAinteractionRoot on, which \
                 includes all classes below it, or `*` for all classes"
            ));
        }
        Ok(class.to_owned())
    }

    fn scope(&mut self) -> Result<Scope, String> {
        let federation = "the name of a federation execution";
        let verb = self.next("the operation")?;
        Ok(match verb.text {
            "do" if self.takes(&["anything"]) => Scope::Anything,
            "connect" => Scope::Connect,
            "see" if self.takes(&["status"]) => Scope::SeeStatus,
            "create" => Scope::Create(self.pattern(federation)?),
            "destroy" => Scope::Destroy(self.pattern(federation)?),
            "join" => Scope::Join {
                federation: self.pattern(federation)?,
                name: self.pattern_after(&["as"], "the name of a federate")?,
                federate_type: self.pattern_after(&["of", "type"], "the type of a federate")?,
            },
            "publish" => Scope::Publish { class: self.class()?, federation: self.federation()? },
            "subscribe" => Scope::Subscribe { class: self.class()?, federation: self.federation()? },
            "regulate" if self.takes(&["time"]) => Scope::RegulateTime(self.federation()?),
            other => return Err(format!("`{other}` begins no operation; expected {FORMS}")),
        })
    }
}

impl FromStr for Right {
    type Err = String;

    fn from_str(sentence: &str) -> Result<Self, String> {
        let mut reader = Reader { words: words(sentence)?.into_iter() };
        let scope = reader.scope()?;
        match reader.words.next() {
            None => Ok(Right { scope }),
            Some(word) => Err(format!("`{}` does not belong there; expected {FORMS}", word.text)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn covers(right: &str, operation: &str) -> bool {
        let right: Right = right.parse().unwrap();
        Operation::read(operation, |operation| right.covers(&operation)).unwrap()
    }

    #[test]
    fn rights_cover_the_operations_that_they_describe() {
        for (right, operation) in [
            ("do anything", "join Range as Boss of type Chief"),
            ("connect", "connect"),
            ("see status", "see status"),
            ("create Range*", "create 'Range North'"),
            ("destroy *", "destroy X"),
            ("join Range*", "join Range"),
            ("join Range* as Viewer*", "join Range as Viewer-1 of type Viewer"),
            ("join * of type Viewer", "join Range as X of type Viewer"),
            ("publish HLAobjectRoot.A", "publish HLAobjectRoot.A.B in Range"),
            ("publish * in Range", "publish HLAinteractionRoot.Fire in Range"),
            ("subscribe HLAobjectRoot.A", "subscribe HLAobjectRoot.A"),
            ("regulate time in R*", "regulate time in Range"),
        ] {
            assert!(covers(right, operation), "{right}: {operation}");
        }
        for (right, operation) in [
            ("connect", "see status"),
            ("create Range", "destroy Range"),
            ("create Range", "create Range2"),
            ("join Range as Viewer*", "join Range"),
            ("join Range as Viewer*", "join Range as Boss"),
            ("join Range of type Viewer", "join Range as Viewer"),
            ("publish HLAobjectRoot.A", "publish HLAobjectRoot.AB"),
            ("publish HLAobjectRoot.A.B", "publish HLAobjectRoot.A"),
            ("publish HLAobjectRoot.A", "subscribe HLAobjectRoot.A"),
            ("subscribe * in Range", "subscribe HLAobjectRoot.A in Other"),
            ("regulate time in Range", "regulate time in Other"),
        ] {
            assert!(!covers(right, operation), "{right}: {operation}");
        }
    }

    #[test]
    fn a_wrong_sentence_is_explained() {
        for (sentence, words) in [
            ("", "the operation is missing"),
            ("fly", "`fly` begins no operation"),
            ("do something", "`do` begins no operation"),
            ("join", "the name of a federation execution is missing"),
            ("join Range as", "the name of a federate is missing"),
            ("join Range of type A as B", "`as` does not belong there"),
            ("publish Aircraft", "from HLAobjectRoot or HLAinteractionRoot on"),
            ("publish HLAobjectRoot.*", "`*` for all classes"),
            ("subscribe HLAobjectRoot.", "is no class"),
            ("join 'Range", "not closed"),
        ] {
            let error = sentence.parse::<Right>().unwrap_err();
            assert!(error.contains(words), "{sentence}: {error}");
        }
        assert!(Operation::read("join R*", |_| ()).unwrap_err().contains("without `*`"));
        assert!(Operation::read("do anything", |_| ()).unwrap_err().contains("name one operation"));
    }

    #[test]
    fn an_operation_reads_as_it_is_written() {
        for sentence in [
            "connect",
            "see status",
            "create Range",
            "join 'Range North' as 'Viewer 1' of type Viewer",
            "publish HLAobjectRoot.A in Range",
            "subscribe HLAinteractionRoot.Fire",
            "regulate time in Range",
        ] {
            let written = Operation::read(sentence, |operation| operation.to_string()).unwrap();
            assert_eq!(written, sentence);
        }
    }
}
