//! The idea: data goes only to nodes with a subscriber.

use super::svg::{Theme, document, escaped};
use std::fmt::Write as _;

const WIDTH: u32 = 760;
const HEIGHT: u32 = 300;
/// Sizes of the box of a node, and of a federate.
const NODE: (u32, u32) = (130, 54);
const FEDERATE: (u32, u32) = (150, 38);

struct Node {
    name: &'static str,
    centre: (u32, u32),
}

/// Nodes of a federation: `Paris` and `Oslo` at the sides, a hub between, and a site without interest.
const NODES: [Node; 4] = [
    Node { name: "node PARIS", centre: (275, 90) },
    Node { name: "node HUB", centre: (380, 180) },
    Node { name: "node OSLO", centre: (485, 90) },
    Node { name: "node ROME", centre: (485, 250) },
];

struct Federate {
    does: &'static str,
    node: usize,
    centre: (u32, u32),
    /// Whether the data comes from it or goes to it.
    takes_part: bool,
}

const FEDERATES: [Federate; 4] = [
    Federate { does: "publishes Aircraft", node: 0, centre: (100, 90), takes_part: true },
    Federate { does: "subscribes Aircraft", node: 2, centre: (660, 65), takes_part: true },
    Federate { does: "subscribes Aircraft", node: 2, centre: (660, 115), takes_part: true },
    Federate { does: "subscribes Tank", node: 3, centre: (660, 250), takes_part: false },
];

/// Links between nodes, and whether an update of an aircraft crosses them.
const LINKS: [(usize, usize, bool); 3] = [(0, 1, true), (1, 2, true), (1, 3, false)];

pub(super) fn draw(theme: &Theme) -> String {
    let mut body = format!(
        "<defs><marker id=\"tip\" markerWidth=\"8\" markerHeight=\"8\" refX=\"7\" refY=\"4\" orient=\"auto\">\
         <path d=\"M0 0 L8 4 L0 8 z\" fill=\"{}\"/></marker></defs>\n\
         <g font-family=\"system-ui, sans-serif\" font-size=\"14\" text-anchor=\"middle\">\n",
        theme.accent
    );
    for (from, to, carries) in LINKS {
        line(&mut body, NODES[from].centre, NODES[to].centre, carries, theme);
    }
    for federate in &FEDERATES {
        let (node, there) = (NODES[federate.node].centre, federate.centre);
        // Data flows from a publisher to its node, and from a node to a subscriber.
        let (from, to) = if federate.does.starts_with("publishes") { (there, node) } else { (node, there) };
        line(&mut body, edge(from, to), edge(to, from), federate.takes_part, theme);
    }
    for Node { name, centre } in &NODES {
        block(&mut body, *centre, NODE, 6, name, theme);
    }
    for Federate { does, centre, .. } in &FEDERATES {
        block(&mut body, *centre, FEDERATE, 19, does, theme);
    }
    let note = "An update crosses each link once, and only links that lead to a subscriber.";
    let _ = writeln!(body, "<text x=\"{}\" y=\"36\" fill=\"{}\">{note}</text>", WIDTH / 2, theme.faint);
    body.push_str("</g>\n");
    document(WIDTH, HEIGHT, "Data goes only to nodes with a subscriber", theme, &body)
}

/// The place where a horizontal line from the box at `from` leaves it towards `to`.
fn edge(from: (u32, u32), to: (u32, u32)) -> (u32, u32) {
    let is_node = NODES.iter().any(|node| node.centre == from);
    let half = if is_node { NODE.0 } else { FEDERATE.0 } / 2;
    if from.0 < to.0 { (from.0 + half, from.1) } else { (from.0 - half, from.1) }
}

fn line(body: &mut String, from: (u32, u32), to: (u32, u32), carries: bool, theme: &Theme) {
    let style = if carries {
        format!("stroke=\"{}\" stroke-width=\"2.5\" marker-end=\"url(#tip)\"", theme.accent)
    } else {
        format!("stroke=\"{}\" stroke-width=\"1.5\" stroke-dasharray=\"5 4\"", theme.faint)
    };
    let ((x1, y1), (x2, y2)) = (from, to);
    let _ = writeln!(body, "<line x1=\"{x1}\" y1=\"{y1}\" x2=\"{x2}\" y2=\"{y2}\" {style}/>");
}

/// A box with a text in its middle.
fn block(
    body: &mut String,
    (x, y): (u32, u32),
    (width, height): (u32, u32),
    round: u32,
    text: &str,
    theme: &Theme,
) {
    let Theme { background, frame, text: colour, .. } = theme;
    let _ = writeln!(
        body,
        "<rect x=\"{}\" y=\"{}\" width=\"{width}\" height=\"{height}\" rx=\"{round}\" fill=\"{background}\" \
         stroke=\"{frame}\" stroke-width=\"1.5\"/>\n<text x=\"{x}\" y=\"{}\" fill=\"{colour}\">{}</text>",
        x - width / 2,
        y - height / 2,
        y + 5,
        escaped(text)
    );
}

#[cfg(test)]
mod tests {
    use super::super::svg::{DARK, LIGHT};
    use super::*;

    #[test]
    fn only_links_to_subscribers_carry_data() {
        let drawn = draw(&LIGHT);
        let carrying = LINKS.iter().filter(|link| link.2).count()
            + FEDERATES.iter().filter(|federate| federate.takes_part).count();
        assert_eq!(drawn.matches("url(#tip)").count(), carrying);
        assert_eq!(drawn.matches("<line ").count(), LINKS.len() + FEDERATES.len());
        assert_ne!(drawn, draw(&DARK));
    }

    #[test]
    fn every_box_lies_on_the_page() {
        let all = NODES.iter().map(|node| (node.centre, NODE));
        for ((x, y), (width, height)) in all.chain(FEDERATES.iter().map(|it| (it.centre, FEDERATE))) {
            assert!(x >= width / 2 && x + width / 2 < WIDTH && y >= height / 2 && y + height / 2 < HEIGHT);
        }
    }
}
