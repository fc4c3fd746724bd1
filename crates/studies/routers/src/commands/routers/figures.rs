//! `meshrti sim router-figures`: the statements of the router paper on its figures 13 to 19, beside
//! what comes out in each reading.

use base::Seed;
use console::exit::{Outcome, Status};
use console::report::{JsonFlag, Report};
use experiment::sheet::{FilesFlag, Sheet, publish};
use experiment::{RunFlags, SeedFlag, Settings, interrupt};
use serde_json::json;
use std::num::NonZeroUsize;

use super::claims::{CLAIMS, Ours, Runs};
use super::file::Scenario;
use super::reading::Reading;
use super::{failed, output, work};

/// The name of the subcommand.
const NAME: &str = "router-figures";

/// Options of router-figures.
#[derive(clap::Args)]
pub struct FiguresArgs {
    /// The readings that are compared
    #[arg(long, value_name = "NAME,...", value_delimiter = ',', default_value = "tcp,rti,alone,per-byte")]
    readings: Vec<Reading>,
    #[command(flatten)]
    seed: SeedFlag,
    /// Threads [default: one per core]
    #[arg(long, value_name = "N")]
    jobs: Option<NonZeroUsize>,
    #[command(flatten)]
    files: FilesFlag,
    #[command(flatten)]
    json: JsonFlag,
}

/// A reading, with the finding on each statement that it has runs for.
type OfReading = (Reading, Vec<Option<Ours>>);

impl FiguresArgs {
    /// Simulates all readings, and reports.
    ///
    /// # Errors
    /// A network that breaks down, files that cannot be written, or an interruption.
    pub(in crate::commands) fn run(&self) -> Outcome {
        let flags = RunFlags { seed: self.seed, replications: 1, jobs: self.jobs };
        let settings = Settings::new(NAME, flags, &self.json).with_files(&self.files);
        interrupt::watch();
        let (mut ours, mut events): (Vec<OfReading>, u64) = (Vec::new(), 0);
        for reading in Reading::ALL.into_iter().filter(|reading| self.readings.contains(reading)) {
            let scenario = Scenario::parse(reading.text()).map_err(|why| settings.wrong(why))?;
            let points = scenario.points().map_err(|why| settings.wrong(why))?;
            let done = work::run_all(points, Seed(settings.seed), 1, settings.jobs)
                .map_err(|error| failed(reading.name(), &error))?;
            if interrupt::is_stopped() {
                break;
            }
            events += done.iter().flat_map(|done| &done.outcomes).map(|outcome| outcome.events).sum::<u64>();
            let runs = Runs { scenario: &scenario, results: &output::results(&scenario, &done) };
            ours.push((reading, CLAIMS.iter().map(|claim| (claim.ours)(&runs)).collect()));
        }
        let mut report = Report::new("sim router-figures", 1);
        report.seed(settings.seed);
        let held =
            |index: usize| ours.iter().any(|(_, all)| all[index].as_ref().is_some_and(|ours| ours.holds));
        let nowhere = (0..CLAIMS.len()).filter(|index| !held(*index)).count();
        report.summary(json!({
            "scenario": NAME, "claims": CLAIMS.len(), "claims_that_hold_nowhere": nowhere, "events": events,
        }));
        publish(&settings, &mut report, &[figures(&ours), reasons()], &[], &notes(&ours))?;
        Ok(if interrupt::is_stopped() { interrupt::status() } else { Status::Done })
    }
}

/// The statements, with a line for each reading that has the runs for them.
fn figures(ours: &[OfReading]) -> Sheet {
    let columns = [
        ("claim", "no."),
        ("figure", "figure"),
        ("measure", "measure"),
        ("paper", "paper"),
        ("reading", "reading"),
        ("ours", "ours"),
        ("holds", "as the paper says"),
    ];
    let mut sheet = Sheet::new("figures", "The paper's figures 13 to 19 in several readings", &columns);
    for (index, claim) in CLAIMS.iter().enumerate() {
        for (reading, all) in ours {
            let Some(ours) = &all[index] else { continue };
            sheet.row(vec![
                (index + 1).to_string().into(),
                claim.figure.into(),
                claim.measure.into(),
                claim.paper.into(),
                reading.name().into(),
                ours.text.clone().into(),
                if ours.holds { "yes" } else { "no" }.into(),
            ]);
        }
    }
    sheet
}

/// The statements in words, and why they come out or not.
fn reasons() -> Sheet {
    let columns = [("claim", "no."), ("says", "the paper says"), ("why", "why it comes out so")];
    let mut sheet = Sheet::new("reasons", "The statements", &columns);
    for (index, claim) in CLAIMS.iter().enumerate() {
        sheet.row(vec![(index + 1).to_string().into(), claim.says.into(), claim.why.into()]);
    }
    sheet
}

fn notes(ours: &[OfReading]) -> Vec<String> {
    let mut notes = vec![
        "readings: tcp charges federates a TCP connection; rti 200 µs more for a message [fitted]; alone is one pair at a time, in pieces of \
         4 KiB; per-byte charges federates 0.2 µs for a byte [fitted]. `meshrti sim router-tree-vs-mesh --reading NAME --show` prints each"
            .to_owned(),
        "the paper gives words for most of these; \"as the paper says\" uses our limits for them (docs/simulator.md)".to_owned(),
    ];
    for (reading, all) in ours {
        let known: Vec<&Ours> = all.iter().flatten().collect();
        let held = known.iter().filter(|ours| ours.holds).count();
        notes.push(format!("{}: {held} of {} statements come out", reading.name(), known.len()));
    }
    notes
}
