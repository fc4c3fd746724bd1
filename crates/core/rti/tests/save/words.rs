//! The names of the object model that random calls use, and how a draw picks one.

/// A set of attributes: bit i for `ATTRIBUTES[i]`.
pub(crate) type Mask = u8;

pub(crate) const CLASSES: [&str; 3] = ["C", "C.S", "E"];
pub(crate) const INTERACTIONS: [&str; 3] = ["I", "I.J", "B"];
pub(crate) const DIRECTED: [&str; 2] = ["D", "D.K"];
pub(crate) const RATES: [&str; 3] = ["", "Low", "High"];
/// Attributes, with the classes that have them.
const ATTRIBUTES: [(&str, [bool; 3]); 6] = [
    ("a", [true, true, false]),
    ("b", [true, true, false]),
    ("t", [true, true, false]),
    ("c", [false, true, false]),
    ("e", [false, false, true]),
    ("privilege", [true, true, true]),
];

/// Those attributes of a mask that a class has, or the first that it has.
pub(crate) fn attributes(class: usize, mask: Mask) -> Vec<&'static str> {
    let of_class = ATTRIBUTES.iter().enumerate().filter(|(_, (_, classes))| classes[class]);
    let drawn = of_class.clone().filter(|(at, _)| mask >> at & 1 == 1).map(|(_, (name, _))| *name);
    let drawn: Vec<_> = drawn.collect();
    if drawn.is_empty() { of_class.map(|(_, (name, _))| *name).take(1).collect() } else { drawn }
}

/// Values for attributes, or parameters, like `a=1 b=1`.
pub(crate) fn values(names: &[&str], value: usize) -> String {
    let given = names.iter().filter(|name| **name != "privilege");
    given.map(|name| format!("{name}={value}")).collect::<Vec<_>>().join(" ")
}

/// The parameters of an interaction class.
pub(crate) fn parameters(class: &str) -> &'static [&'static str] {
    match class {
        "I" => &["p"],
        "I.J" => &["p", "q"],
        "B" => &["r"],
        "D" => &["x"],
        "D.K" => &["x", "y"],
        _ => &[],
    }
}

pub(crate) fn transportation(reliable: bool) -> &'static str {
    if reliable { "reliable" } else { "bestEffort" }
}

/// The element that a number picks.
pub(crate) fn pick<T>(all: &[T], number: usize) -> Option<&T> {
    (!all.is_empty()).then(|| &all[number % all.len()])
}
