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
    let switches: String = switches.iter().map(|name| format!("<{name} isEnabled=\"true\"/>")).collect();
    module(&format!(
        "<objects><objectClass><name>HLAobjectRoot</name>{classes}</objectClass></objects>\
         <interactions><interactionClass><name>HLAinteractionRoot</name>{}</interactionClass></interactions>\
         <dimensions>\
         <dimension><name>X</name><dataType>HLAnormalizedFederateHandle</dataType><upperBound>100</upperBound></dimension>\
         <dimension><name>Y</name><dataType>HLAnormalizedFederateHandle</dataType><upperBound>50</upperBound></dimension>\
         </dimensions>\
         <switches>{switches}</switches>\
         <updateRates>\
         <updateRate><name>Low</name><rate>1</rate></updateRate><updateRate><name>High</name><rate>10</rate></updateRate>\
         </updateRates>",
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
