//! `meshrti bench site`.

use bench::site::{Carrier, Plan, Site, measure};
use serde_json::{Value, json};

use super::{failure, launcher, size};
use console::exit::{Outcome, Status, say};
use console::progress::Progress;
use console::report::{JsonFlag, Report};
use console::table::{Table, figure, or_dash};

/// Nodes of one site: reliable updates over links, and through a multicast group that loses datagrams.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  meshrti bench site
  meshrti bench site --nodes 10 --rate 1000 --loss 0,1%,5%

A federate at the first node updates an object, federates at all other nodes hear it; nodes and listeners are processes of \
their own. The first line is a full mesh of links (TCP, which loses nothing here); the others share a multicast group on the \
loopback interface, and each node loses that share of what comes to it. Bytes are those that the first node sends for \
an update; `sent again` are its frames that the group was given again, `recovered` frames that nodes had from the group \
after all, and `asked for` messages that nodes had to ask for over links.")]
pub(super) struct Args {
    /// Nodes
    #[arg(long, default_value_t = 6, value_parser = clap::value_parser!(u16).range(2..=64))]
    nodes: u16,
    /// Payload
    #[arg(long, value_name = "BYTES", value_parser = size::parse, default_value = "250")]
    size: usize,
    /// Updates
    #[arg(long, default_value_t = 5_000, value_parser = clap::value_parser!(u64).range(1..))]
    updates: u64,
    /// Updates in a second
    #[arg(long, default_value_t = 500, value_parser = clap::value_parser!(u32).range(1..))]
    rate: u32,
    /// Loss in the group
    #[arg(long, value_delimiter = ',', value_parser = share, default_values = ["0", "1%", "5%"])]
    loss: Vec<f64>,
    #[command(flatten)]
    json: JsonFlag,
}

/// Parses a share, from 0 to 50 %.
fn share(text: &str) -> Result<f64, String> {
    let number: f64 = text.strip_suffix('%').unwrap_or(text).parse().map_err(|_| "no share, such as 5%")?;
    let share = if text.ends_with('%') { number / 100.0 } else { number };
    if (0.0..=0.5).contains(&share) { Ok(share) } else { Err("not from 0 to 50%".to_owned()) }
}

pub(super) async fn run(args: &Args) -> Outcome {
    let mut report = Report::new("bench site", 1);
    let launcher = launcher()?;
    let plan =
        Plan { nodes: args.nodes.into(), size: args.size, updates: args.updates, rate: f64::from(args.rate) };
    let groups = args.loss.iter().map(|&loss| Carrier::Group { loss });
    let mut sites = Vec::new();
    for carrier in std::iter::once(Carrier::Links).chain(groups) {
        let mut progress = Progress::new("site");
        let site = Box::pin(measure(&launcher, &plan, carrier, |done, all| progress.at(done, all)));
        sites.push(site.await.map_err(failure)?);
    }
    if !args.json.takes_stdout() {
        say(table(&sites));
    }
    sites.iter().for_each(|site| report.row(row(&plan, site)));
    report.note("nodes and federates on this machine, one process each, over loopback; delays by its clock");
    args.json.write(&report)?;
    Ok(Status::Done)
}

fn name(carrier: Carrier) -> (&'static str, Option<f64>) {
    match carrier {
        Carrier::Links => ("links", None),
        Carrier::Group { loss } => ("group", Some(loss)),
    }
}

fn row(plan: &Plan, site: &Site) -> Value {
    let (carrier, loss) = name(site.carrier);
    let mut row = json!({
        "carrier": carrier,
        "loss": loss,
        "nodes": plan.nodes,
        "updates": plan.updates,
        "rate_per_s": plan.rate,
        "sent_bytes_per_update": site.sent_bytes,
        "repaired_frames": site.repaired,
        "recovered_frames": site.recovered,
        "asked_again": site.asked_again,
        "cpu_us_per_update": site.cpu_s.map(|seconds| seconds * 1e6),
    });
    if let (Some(row), Some(delays)) = (row.as_object_mut(), site.delays.row(None).as_object()) {
        row.extend(delays.iter().map(|(key, value)| (key.clone(), value.clone())));
    }
    row
}

fn table(sites: &[Site]) -> String {
    let mut table = Table::new([
        "carried by",
        "loss",
        "p50 ms",
        "p99 ms",
        "p99.9 ms",
        "max ms",
        "bytes/update",
        "sent again",
        "recovered",
        "asked for",
        "CPU µs/update",
    ]);
    for site in sites {
        let (carrier, loss) = name(site.carrier);
        let millis = |quantile| figure(site.delays.quantile_us(quantile) / 1e3);
        table.line([
            carrier.to_owned(),
            loss.map_or_else(|| "-".to_owned(), |loss| format!("{} %", figure(loss * 100.0))),
            millis(0.5),
            millis(0.99),
            millis(0.999),
            figure(site.delays.max_us() / 1e3),
            figure(site.sent_bytes),
            site.repaired.to_string(),
            site.recovered.to_string(),
            site.asked_again.to_string(),
            or_dash(site.cpu_s.map(|seconds| seconds * 1e6)),
        ]);
    }
    table.text()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_read() {
        assert_eq!((share("5%"), share("0.25"), share("0")), (Ok(0.05), Ok(0.25), Ok(0.0)));
        assert!(share("60%").is_err() && share("-1%").is_err() && share("NaN").is_err());
        assert_eq!(share("much").unwrap_err(), "no share, such as 5%");
    }
}
