//! The object model of the tests.
//!
//! Object classes `C{a,b,t} ⊃ C.S{c}` and `E{e}`, interactions `I{p} ⊃ I.J{q}`, `B{r}`, and the directed
//! interactions `D{x} ⊃ D.K{y}`: `D` may be directed at `C` and below, `D.K` at `C.S`.

/// An attribute with a transportation type and an order.
pub(crate) fn attribute(name: &str, transportation: &str, order: &str) -> String {
    format!(
        "<attribute><name>{name}</name><dataType>HLAcount</dataType>\
         <transportation>{transportation}</transportation><order>{order}</order></attribute>"
    )
}

/// The cell with the dimensions that a class, or an attribute of the 2010 edition, makes available.
pub(crate) fn available(names: &[&str]) -> String {
    let names: String = names.iter().map(|name| format!("<dimension>{name}</dimension>")).collect();
    format!("<dimensions>{names}</dimensions>")
}

fn interaction(name: &str, parameter: &str, transportation: &str, inner: &str) -> String {
    format!(
        "<interactionClass><name>{name}</name><transportation>{transportation}</transportation><order>Receive</order>\
         <parameter><name>{parameter}</name><dataType>HLAcount</dataType></parameter>{inner}</interactionClass>"
    )
}

/// A module with these tables.
pub(crate) fn module(tables: &str) -> String {
    format!("<objectModel xmlns=\"http://standards.ieee.org/IEEE1516-2025\">{tables}</objectModel>")
}

/// A module with these object classes below the root.
pub(crate) fn objects(classes: &str) -> String {
    module(&format!("<objects><objectClass><name>HLAobjectRoot</name>{classes}</objectClass></objects>"))
}

/// Per second: 1 for Low, 10 for High.
const UPDATE_RATES: &str = "<updateRates>\
    <updateRate><name>Low</name><rate>1</rate></updateRate>\
    <updateRate><name>High</name><rate>10</rate></updateRate></updateRates>";

/// The table in which these switches are on.
fn on(switches: &[&str]) -> String {
    let switches: String = switches.iter().map(|name| format!("<{name} isEnabled=\"true\"/>")).collect();
    format!("<switches>{switches}</switches>")
}

/// The main module. `switches` names the switches that are on.
pub(crate) fn main(switches: &[&str]) -> String {
    let reliable = |name| attribute(name, "HLAreliable", "Receive");
    let directed = |name| format!("<directedInteraction><name>{name}</name></directedInteraction>");
    let special = format!(
        "<objectClass><name>S</name>{}{}</objectClass>",
        directed("HLAinteractionRoot.D.K"),
        reliable("c")
    );
    let classes = format!(
        "<objectClass><name>C</name><dimensions><dimension>X</dimension></dimensions>{}{}{}{}{special}</objectClass>\
         <objectClass><name>E</name>{}</objectClass>",
        directed("HLAinteractionRoot.D"),
        reliable("a"),
        attribute("b", "HLAbestEffort", "Receive"),
        attribute("t", "HLAreliable", "TimeStamp"),
        reliable("e"),
    );
    let interactions = [
        interaction("I", "p", "HLAreliable", &interaction("J", "q", "HLAreliable", "")),
        interaction("B", "r", "HLAbestEffort", ""),
        interaction("D", "x", "HLAreliable", &interaction("K", "y", "HLAreliable", "")),
    ];
    let switches = on(switches);
    module(&format!(
        "<objects><objectClass><name>HLAobjectRoot</name>{classes}</objectClass></objects>\
         <interactions><interactionClass><name>HLAinteractionRoot</name>{}</interactionClass></interactions>\
         <dimensions>\
         <dimension><name>X</name><dataType>HLAnormalizedFederateHandle</dataType><upperBound>100</upperBound></dimension>\
         <dimension><name>Y</name><dataType>HLAnormalizedFederateHandle</dataType><upperBound>50</upperBound></dimension>\
         </dimensions>\
         {switches}{UPDATE_RATES}",
        interactions.concat()
    ))
}

/// A module that adds the class `C.Z{z}` and gives `C` one more attribute, `d`.
pub(crate) fn more() -> String {
    let d = attribute("d", "HLAbestEffort", "TimeStamp");
    let z = attribute("z", "HLAreliable", "Receive");
    let below = format!("<objectClass><name>Z</name>{z}</objectClass>");
    objects(&format!("<objectClass><name>C</name>{d}{below}</objectClass>"))
}

/// A dimension with a default range, or `Excluded`.
pub(crate) fn dimension(name: &str, upper_bound: u32, default: &str) -> String {
    format!(
        "<dimension><name>{name}</name><upperBound>{upper_bound}</upperBound><value>{default}</value></dimension>"
    )
}

/// The module of the tests with regions. `switches` names the switches that are on.
///
/// The dimensions are X below 100, Y below 50 and Z below 20; only Y has a default range, 0 to 10.
/// Object classes `C{a,b,t}` with X and Y ⊃ `C.S{c}` with Z too, `E{e}` with X and Z; interactions
/// `I{p}` with X and Y ⊃ `I.J{q}` with Z too, and `B{r}` without dimensions.
pub(crate) fn regions(switches: &[&str]) -> String {
    let reliable = |name| attribute(name, "HLAreliable", "Receive");
    let class = |name, dimensions, rest: &[String]| {
        format!("<objectClass><name>{name}</name>{}{}</objectClass>", available(dimensions), rest.concat())
    };
    let special = class("S", &["Z"], &[reliable("c")]);
    let others = [attribute("b", "HLAbestEffort", "Receive"), attribute("t", "HLAreliable", "TimeStamp")];
    let general = class("C", &["X", "Y"], &[reliable("a"), others.concat(), special]);
    let classes = general + &class("E", &["X", "Z"], &[reliable("e")]);
    let special = interaction("J", "q", "HLAreliable", &available(&["Z"]));
    let interactions = [
        interaction("I", "p", "HLAreliable", &(available(&["X", "Y"]) + &special)),
        interaction("B", "r", "HLAbestEffort", ""),
    ];
    let dimensions =
        [dimension("X", 100, "Excluded"), dimension("Y", 50, "[0..10)"), dimension("Z", 20, "Excluded")];
    module(&format!(
        "<objects><objectClass><name>HLAobjectRoot</name>{classes}</objectClass></objects>\
         <interactions><interactionClass><name>HLAinteractionRoot</name>{}</interactionClass></interactions>\
         <dimensions>{}</dimensions>{}{UPDATE_RATES}",
        interactions.concat(),
        dimensions.concat(),
        on(switches)
    ))
}

/// The module of the tests with everything at once: that with [`regions`], with the directed
/// interactions `D{x} ⊃ D.K{y}` of [`main`]. `t` and all interactions
/// but `B` have time-stamp order.
pub(crate) fn everything(switches: &[&str]) -> String {
    let reliable = |name| attribute(name, "HLAreliable", "Receive");
    let directed = |name| format!("<directedInteraction><name>{name}</name></directedInteraction>");
    let special = format!(
        "<objectClass><name>S</name>{}{}{}</objectClass>",
        available(&["Z"]),
        directed("HLAinteractionRoot.D.K"),
        reliable("c")
    );
    let classes = format!(
        "<objectClass><name>C</name>{}{}{}{}{}{special}</objectClass>\
         <objectClass><name>E</name>{}{}</objectClass>",
        available(&["X", "Y"]),
        directed("HLAinteractionRoot.D"),
        reliable("a"),
        attribute("b", "HLAbestEffort", "Receive"),
        attribute("t", "HLAreliable", "TimeStamp"),
        available(&["X", "Z"]),
        reliable("e"),
    );
    let special = interaction("J", "q", "HLAreliable", &available(&["Z"]));
    let timed = interaction("I", "p", "HLAreliable", &(available(&["X", "Y"]) + &special));
    let aimed = interaction("D", "x", "HLAreliable", &interaction("K", "y", "HLAreliable", ""));
    let timed = (timed + &aimed).replace("<order>Receive</order>", "<order>TimeStamp</order>");
    let interactions = [timed, interaction("B", "r", "HLAbestEffort", "")];
    let dimensions =
        [dimension("X", 100, "Excluded"), dimension("Y", 50, "[0..10)"), dimension("Z", 20, "Excluded")];
    module(&format!(
        "<objects><objectClass><name>HLAobjectRoot</name>{classes}</objectClass></objects>\
         <interactions><interactionClass><name>HLAinteractionRoot</name>{}</interactionClass></interactions>\
         <dimensions>{}</dimensions>{}{UPDATE_RATES}",
        interactions.concat(),
        dimensions.concat(),
        on(switches)
    ))
}

/// A module of the 2010 edition, in which dimensions belong to attributes: the class `C{a,b,n}` has X
/// for a, Y for b and none for n.
pub(crate) fn regions_of_2010() -> String {
    let attribute = |name, dimensions: &[&str]| {
        format!(
            "<attribute><name>{name}</name><dataType>HLAcount</dataType>{}\
             <transportation>HLAreliable</transportation><order>Receive</order></attribute>",
            available(dimensions)
        )
    };
    let attributes = [attribute("a", &["X"]), attribute("b", &["Y"]), attribute("n", &[])];
    format!(
        "<objectModel xmlns=\"http://standards.ieee.org/IEEE1516-2010\">\
         <objects><objectClass><name>HLAobjectRoot</name><objectClass><name>C</name>{}</objectClass></objectClass>\
         </objects><dimensions>{}{}</dimensions></objectModel>",
        attributes.concat(),
        dimension("X", 100, "Excluded"),
        dimension("Y", 50, "[0..10)")
    )
}
