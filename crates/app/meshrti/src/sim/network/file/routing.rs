//! The tables `[routing]` and `[[faults]]`: routes that follow the network, and links that fail.

use netmodel::routing::{self, Rule};
use netmodel::units::Picos;
use serde::Deserialize;

use super::Time;

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Routing {
    #[serde(default)]
    rule: RuleName,
    #[serde(default)]
    detection: Time,
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum RuleName {
    #[default]
    Static,
    Shortest,
    Adaptive,
}

/// A failure of all cables between two switches.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Fault {
    between: [Switch; 2],
    from: Time,
    /// The default is never.
    until: Option<Time>,
}

/// A switch by its number, or a site by its name.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged, expecting = "expected the number of a switch, or the name of a site")]
enum Switch {
    Number(u32),
    Name(String),
}

impl Switch {
    fn number(&self, fault: usize, names: &[String]) -> Result<u32, String> {
        match self {
            Switch::Number(number) => Ok(*number),
            Switch::Name(name) => {
                let at = names.iter().position(|known| known == name);
                at.map(|at| at as u32).ok_or_else(|| match names {
                    [] => format!("[[faults]]: entry {fault}: switches have numbers here, and no names"),
                    _ => format!(
                        "[[faults]]: entry {fault}: there is no site `{name}` (there are: {})",
                        names.join(", ")
                    ),
                })
            }
        }
    }
}

impl Routing {
    /// The rule of routes with the failures of a network whose switches have these names, if any.
    ///
    /// # Errors
    /// A site that does not exist.
    pub(super) fn routing(&self, faults: &[Fault], names: &[String]) -> Result<routing::Routing, String> {
        let fault = |(number, fault): (usize, &Fault)| {
            let [one, other] = &fault.between;
            Ok(routing::Fault {
                between: (one.number(number, names)?, other.number(number, names)?),
                from: fault.from.0,
                until: fault.until.map_or(Picos::MAX, |until| until.0),
            })
        };
        Ok(routing::Routing {
            rule: match self.rule {
                RuleName::Static => Rule::Static,
                RuleName::Shortest => Rule::Shortest,
                RuleName::Adaptive => Rule::Adaptive,
            },
            detection: self.detection.0,
            faults: (1..).zip(faults).map(fault).collect::<Result<_, String>>()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};

    use netmodel::routing::{self, Rule};
    use netmodel::study::network::Network;
    use netmodel::units::Picos;

    use super::super::Scenario;

    fn example(name: &str) -> String {
        let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../examples/simulations").join(name);
        std::fs::read_to_string(path).expect("the example is in the repository")
    }

    fn network(text: &str) -> Result<Network, String> {
        Scenario::parse(text)?.network(1, Path::new(""))
    }

    #[test]
    fn rules_and_faults_are_read() {
        let adaptive = network(&example("adaptive-routing.toml")).unwrap().routing;
        let ms = Picos::from_millis;
        let fault = routing::Fault { between: (0, 6), from: ms(20), until: ms(40) };
        assert_eq!(
            (adaptive.rule, adaptive.detection, &adaptive.faults[..]),
            (Rule::Adaptive, ms(1), &[fault][..])
        );
        assert!(network(&example("fat-tree.toml")).unwrap().routing.is_static());
        let wan =
            example("juo-wan.toml") + "\n[[faults]]\nbetween = [\"NORFOLK\", \"MAUI\"]\nfrom = \"1s\"\n";
        let routing = network(&wan).unwrap().routing;
        assert_eq!((routing.rule, routing.faults[0].until), (Rule::Static, Picos::MAX));
        let say = |from: &str, to: &str, text: &str| network(&text.replacen(from, to, 1)).unwrap_err();
        let said = say("\"NORFOLK\", \"MAUI\"]\nfrom", "\"NORFOLK\", \"OAHU\"]\nfrom", &wan);
        assert!(said.starts_with("[[faults]]: entry 1: there is no site `OAHU` (there are: "), "{said}");
        let text = example("adaptive-routing.toml");
        for (from, to, why) in [
            ("[0, 6]", "[0, \"four\"]", "[[faults]]: entry 1: switches have numbers here, and no names"),
            ("[0, 6]", "[0, -4]", "expected the number of a switch, or the name of a site"),
            (
                "rule = \"adaptive\"",
                "rule = \"random\"",
                "unknown variant `random`, expected one of `static`, `shortest`, `adaptive`",
            ),
            ("from = \"20ms\"", "", "missing field `from`"),
        ] {
            let said = say(from, to, &text);
            assert!(said.contains(why), "{to}: {said}");
        }
    }
}
