//! `meshrti sim router-table1`: the numbers of links that messages cross, counted by the routers,
//! beside Table 1 of the paper.

use crate::routers::{Run, Shape, Start, run};
use base::Seed;
use serde_json::json;

use super::file::Scenario;
use crate::commands::built_in::TREE_VS_MESH;
use console::exit::{Failure, Outcome, Status};
use console::report::Report;
use experiment::Settings;

use experiment::sheet::{Sheet, publish};

/// The name of the subcommand.
const NAME: &str = "router-table1";

/// The paper's table: links of a message between federates 0, 1, 2 and 3 hops apart.
const PAPER: [(Shape, [u8; 4]); 2] = [(Shape::Tree, [2, 4, 6, 8]), (Shape::Mesh, [2, 3, 3, 3])];

/// Sends a message and its answer for each cell of the table, and compares the numbers of links.
pub(in crate::commands) fn run_table1(settings: &Settings) -> Outcome {
    let wrong = |why: String| Failure::bad_news(format_args!("{}: {why}", NAME));
    let scenario = Scenario::parse(TREE_VS_MESH).map_err(wrong)?;
    let points = scenario.points().map_err(wrong)?;
    let any = points.first().ok_or_else(|| wrong("there is no study".to_owned()))?;
    let columns = [
        ("topology", "routers"),
        ("hops", "hops"),
        ("links", "links"),
        ("paper_links", "paper"),
        ("equal", "equal"),
    ];
    let mut sheet = Sheet::new("links", "Links between processes that a message crosses", &columns);
    let mut passed = true;
    for (shape, paper) in PAPER {
        for (hops, expected) in paper.into_iter().enumerate() {
            let (sizes, start) = (vec![1], Start::default());
            let one =
                Run { shape, hops, sizes, start, exchanges: 1, seed: Seed(settings.seed), ..any.run.clone() };
            let outcome =
                run(&one).map_err(|error| wrong(format!("{}, {hops} hops: {error}", shape.name())))?;
            let equal = outcome.links == expected;
            passed &= equal;
            let cells = vec![
                shape.name().into(),
                hops.into(),
                outcome.links.into(),
                expected.into(),
                if equal { "yes" } else { "NO" }.into(),
            ];
            sheet.row(cells);
        }
    }
    let notes = [
        format!(
            "each of 48 pairs sent a message there and back; the routers count links in the message itself, those of federates included, and \
             all messages of a row crossed as many: {}",
            if passed { "as in Table 1 of the paper" } else { "NOT as in Table 1 of the paper" }
        ),
        "the paper did not measure 1 hop, but lists it".to_owned(),
    ];
    let mut report = Report::new("sim router-table1", 1);
    report.seed(settings.seed);
    report.summary(json!({ "scenario": NAME, "passed": passed }));
    publish(settings, &mut report, &[sheet], &[], &notes)?;
    Ok(if passed { Status::Done } else { Status::BadNews })
}
