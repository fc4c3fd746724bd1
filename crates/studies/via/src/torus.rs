//! The cluster of 1024 hosts, in one reading or in all of them.

use std::io::Write as _;
use std::path::Path;

use base::Seed;
use clap::ValueEnum;
use netmodel::arrivals::Gaps;
use netmodel::fluid;
use netmodel::host::StageUse;
use netmodel::packet::Switching;
use netmodel::simulation::{Model, PacketModel};
use netmodel::stage::{fixed, via_cluster};
use netmodel::study::network::memory_bytes;
use netmodel::study::torus::{self as study, Study, set_up};
use netmodel::topology::Shape;
use netmodel::traffic::Delivered;
use netmodel::units::Picos;
use serde_json::{Value, json};

use console::exit::{Failure, Outcome, say};
use console::report::Report;
use console::table::{Table, figure};
use experiment::course::Plan;
use experiment::parallel::{Ticker, in_parallel, threads};
use experiment::ran::{Recorded, Runs, Wanted, finish, growth_note, run_to_the_end, steps_of, warm_up_note};
use experiment::usage::{refuse_too_large, thread_cpu_s};
use experiment::{Settings, interrupt, seed_of, stages};

use crate::options::{Direction, Flags, HostModel, Sharing, Sides, Subqueue};

/// The paper's results: mean and standard deviation of the latency in µs, and the utilisation of
/// links between switches.
const PAPER: (f64, f64, f64) = (410.0, 130.0, 0.12);
/// Simulated messages per second of processing in the paper: 870,400 in 3 h 55 min.
const PAPER_MESSAGES_PER_S: f64 = 61.7;

/// The variants of [`Sharing`] that are readings of the paper: its Table 1 shows that a message
/// alone pays one serialisation.
const END_TO_END: [Sharing; 2] = [Sharing::MinShare, Sharing::MaxMin];

/// A reading and the results of its replications.
struct Done {
    study: Study,
    runs: Runs,
}

/// Simulates and compares.
pub(crate) fn run(settings: &Settings, flags: &Flags) -> Outcome {
    if flags.subqueue_buffer.is_some() && flags.sharing != Some(Sharing::HopByHop) {
        return Err(Failure::wrong_use(
            "--subqueue-buffer: backlogs wait at switches with --sharing hop-by-hop only",
        ));
    }
    let studies = studies(flags);
    let all = studies.len() * usize::from(settings.replications);
    let shape = Shape::Torus(studies[0].torus.clone());
    refuse_too_large(memory_bytes(&shape, studies[0].model), threads(settings.jobs, all))?;
    // Checks that the study is possible. Each run builds its own network.
    drop(
        set_up(studies.last().unwrap_or(&studies[0]), Seed(settings.seed))
            .map_err(|why| wrong_study(&why))?,
    );
    let (hosts, switches, links) = shape.parts();
    let replications = usize::from(settings.replications);
    if flags.messages.is_some() && studies.len() * replications > 1 {
        return Err(Failure::wrong_use("--messages: only one run can be written"));
    }
    interrupt::watch();
    let wanted = studies.len() * replications;
    let steps =
        steps_of(studies[0].gaps.expected(u32::try_from(hosts).unwrap_or(u32::MAX), studies[0].window));
    let recorded = in_parallel(settings.jobs, wanted, steps, |index, ticker| {
        let (study, replication) = (&studies[index / replications], index % replications);
        simulate(
            study,
            seed_of(settings, replication),
            flags.messages.as_deref(),
            ticker,
            &Wanted::of(settings, index),
        )
    })?;
    let (runs, more) = finish(settings, &title(&studies[0], settings), wanted, recorded)?;
    let mut runs = runs.into_iter();
    let done = studies
        .into_iter()
        .map(|study| Done { study, runs: Runs(runs.by_ref().take(replications).collect()) });
    // A stopped run has no figures of the later readings.
    let done: Vec<Done> = done.filter(|done| !done.runs.0.is_empty()).collect();
    let mut report = Report::new("sim via-torus", 1);
    report.seed(settings.seed);
    done.iter().for_each(|done| report.row(done.to_value()));
    let mut notes = notes(&done[0].study, (hosts, switches));
    notes.extend(hidden(&done));
    notes.extend(done.iter().find_map(|done| growth_note(&done.runs.pooled())));
    notes.extend(warm_up_note(&done[0].runs.0[0].0));
    notes.extend(more);
    if !settings.json.takes_stdout() {
        say(text(&done));
        for done in done.iter().filter(|done| !done.stages().is_empty()) {
            say(format_args!("\n{}\n", stages::text(done.stages(), window(&done.study))));
        }
        notes.iter().for_each(say);
    }
    notes.into_iter().for_each(|note| report.note(note));
    report.summary(json!({
        "paper_mean_us": PAPER.0, "paper_std_us": PAPER.1, "paper_utilisation": PAPER.2,
        "paper_messages_per_s": PAPER_MESSAGES_PER_S,
        "hosts": hosts, "switches": switches, "links": links,
    }));
    settings.json.write(&report)?;
    Ok(interrupt::status())
}

/// The failure that names the wrong option.
fn wrong_study(why: &study::StudyError) -> Failure {
    let option = match why {
        study::StudyError::Topology(_) => "--torus",
        study::StudyError::Ports => "--subqueue port",
    };
    Failure::wrong_use(format_args!("{option}: {why}"))
}

/// The settings, for charts.
fn title(study: &Study, settings: &Settings) -> String {
    let sides: Vec<String> = study.torus.sides.iter().map(u32::to_string).collect();
    format!(
        "torus {} with {} hosts at each switch; {} bytes, {} messages/s a host, {} hops; seed {}",
        sides.join("x"),
        study.torus.hosts_per_switch,
        study.bytes,
        figure(study.gaps.per_s()),
        study.hops,
        settings.seed
    )
}

/// The requested readings.
fn studies(flags: &Flags) -> Vec<Study> {
    let mut base = Study { host_links_shared: !flags.private_host_links, ..Study::default() };
    if let Some(Sides(sides)) = &flags.torus {
        base.torus.sides.clone_from(sides);
    }
    base.torus.hosts_per_switch = flags.hosts_per_switch.unwrap_or(base.torus.hosts_per_switch);
    base.hops = flags.hops.unwrap_or(base.hops);
    base.bytes = flags.message_size.unwrap_or(base.bytes);
    base.window.1 = flags.until.unwrap_or(base.window.1);
    if let Some(per_s) = flags.messages_per_s {
        base.gaps = Gaps::Poisson(Picos((1e12 / per_s).round() as u64));
    }
    if !flags.readings {
        let direction = flags.direction.unwrap_or(Direction::Slot);
        let constant = reading(&base, model(flags), direction, flags.subqueue.unwrap_or(Subqueue::Flow));
        let stages = Study { hosts: study::HostModel::Stages, ..constant.clone() };
        return match flags.host_model {
            None | Some(HostModel::Constant) => vec![constant],
            // Only one run can be written.
            Some(HostModel::Stages) if flags.messages.is_some() => vec![stages],
            Some(HostModel::Stages) => vec![constant, stages],
        };
    }
    let mut all = Vec::new();
    for sharing in END_TO_END {
        for direction in Direction::value_variants() {
            for subqueue in Subqueue::value_variants() {
                all.push(reading(&base, fluid_model(sharing, None), *direction, *subqueue));
            }
        }
    }
    all
}

/// The model that the options choose.
fn model(flags: &Flags) -> Model {
    let Some(bytes) = flags.packets else {
        return fluid_model(flags.sharing.unwrap_or(Sharing::MinShare), flags.subqueue_buffer);
    };
    Model::Packets(PacketModel {
        switching: flags.cut_through.map_or(Switching::StoreAndForward, |header| Switching::CutThrough {
            header: header.min(bytes.into()),
        }),
        ..PacketModel::new(bytes)
    })
}

fn fluid_model(sharing: Sharing, buffer: Option<u64>) -> Model {
    match sharing {
        Sharing::MinShare => Model::Fluid(fluid::Sharing::MinShare),
        Sharing::MaxMin => Model::Fluid(fluid::Sharing::MaxMin),
        Sharing::HopByHop => Model::HopByHop { buffer },
        Sharing::StoreAndForward => Model::StoreAndForward,
    }
}

fn reading(base: &Study, model: Model, direction: Direction, subqueue: Subqueue) -> Study {
    Study {
        model,
        direction: match direction {
            Direction::Slot => study::Direction::Slot,
            Direction::Host => study::Direction::Host,
            Direction::Message => study::Direction::Message,
        },
        subqueue: match subqueue {
            Subqueue::Flow => fluid::lanes::Subqueue::Flow,
            Subqueue::Message => fluid::lanes::Subqueue::Message,
            Subqueue::Port => fluid::lanes::Subqueue::Port,
        },
        ..base.clone()
    }
}

/// One run and its processor time.
fn simulate(
    study: &Study,
    seed: Seed,
    messages: Option<&Path>,
    ticker: &Ticker,
    wanted: &Wanted,
) -> Result<Recorded, Failure> {
    let begun = thread_cpu_s();
    let mut simulation = set_up(study, seed).map_err(|why| wrong_study(&why))?;
    let plan = Plan { sides: study.torus.flat(), names: Vec::new() };
    let Some(path) = messages else {
        return Ok(run_to_the_end(begun, &mut simulation, ticker, wanted, &plan, |_, _| ()));
    };
    let failure = |why: std::io::Error| {
        Failure::bad_news(format_args!("{}: messages cannot be written: {why}", path.display()))
    };
    let mut file = MessageFile::create(path).map_err(failure)?;
    let recorded = run_to_the_end(begun, &mut simulation, ticker, wanted, &plan, |message, latency| {
        file.add(message, latency);
    });
    file.finish().map_err(failure)?;
    Ok(recorded)
}

/// A file with every message that has ended. Times are in picoseconds.
struct MessageFile {
    file: std::io::BufWriter<std::fs::File>,
    failed: Option<std::io::Error>,
}

impl MessageFile {
    fn create(path: &Path) -> std::io::Result<Self> {
        let mut file = std::io::BufWriter::new(std::fs::File::create(path)?);
        writeln!(file, "number,source,destination,bytes,born_ps,latency_ps")?;
        Ok(Self { file, failed: None })
    }

    fn add(&mut self, message: &Delivered, latency: Picos) {
        let (to, bytes) = (message.parcel.destination, message.parcel.bytes);
        let line = writeln!(
            self.file,
            "{},{},{to},{bytes},{},{}",
            message.number, message.source, message.born.0, latency.0
        );
        self.failed = self.failed.take().or(line.err());
    }

    fn finish(mut self) -> std::io::Result<()> {
        self.failed.map_or_else(|| self.file.flush(), Err)
    }
}

/// The name of the model of hosts.
fn host_model(study: &Study) -> &'static str {
    match study.hosts {
        study::HostModel::Constant => "constant",
        study::HostModel::Stages => "stages",
    }
}

fn window(study: &Study) -> Picos {
    study.window.1.since(study.window.0)
}

impl Done {
    /// The use of stages in the first run.
    fn stages(&self) -> &[StageUse] {
        self.runs.0.first().map_or(&[], |(ran, _)| &ran.stages)
    }

    fn words(&self) -> [&'static str; 3] {
        let study = &self.study;
        [
            match study.model {
                Model::Packets(_) => "packets",
                Model::Fluid(fluid::Sharing::MinShare) => "min-share",
                Model::Fluid(fluid::Sharing::MaxMin) => "max-min",
                Model::HopByHop { .. } => "hop-by-hop",
                Model::StoreAndForward => "store-and-forward",
            },
            match study.direction {
                study::Direction::Slot => "slot",
                study::Direction::Host => "host",
                study::Direction::Message => "message",
            },
            match study.subqueue {
                _ if study.model.is_packets() => "link",
                fluid::lanes::Subqueue::Flow => "flow",
                fluid::lanes::Subqueue::Message => "message",
                fluid::lanes::Subqueue::Port => "port",
            },
        ]
    }

    fn to_value(&self) -> Value {
        let [sharing, direction, subqueue] = self.words();
        let own = json!({
            "sharing": sharing,
            "direction": direction,
            "subqueue": subqueue,
            "host_links_shared": self.study.host_links_shared,
            "host_model": host_model(&self.study),
            "stages": stages::values(self.stages(), window(&self.study)),
            "simulated_s": self.study.window.1.as_secs(),
            "packet_bytes": packets_of(&self.study).map(|packets| packets.bytes),
            "subqueue_buffer_bytes": match self.study.model {
                Model::HopByHop { buffer } => buffer,
                _ => None,
            },
            "unloaded_us": (unloaded_us(&self.study) * 1e3).round() / 1e3,
        });
        self.runs.row(own)
    }
}

fn packets_of(study: &Study) -> Option<PacketModel> {
    match study.model {
        Model::Packets(packets) => Some(packets),
        _ => None,
    }
}

/// The latency of a message alone, in µs. All links of its path have the same rate. Each link after
/// the first adds the time of the bytes that must arrive before forwarding begins: a packet, a
/// header, or the whole message.
fn unloaded_us(study: &Study) -> f64 {
    let again = match study.model {
        Model::Fluid(_) | Model::HopByHop { .. } => 0,
        Model::StoreAndForward => study.bytes,
        Model::Packets(packets) => match packets.switching {
            Switching::StoreAndForward => u64::from(packets.bytes).min(study.bytes),
            Switching::CutThrough { header } => header.min(study.bytes),
        },
    };
    let links = u64::from(study.hops) + 1;
    (fixed(&via_cluster()) + study.rate.time_of(study.bytes + links * again)).as_micros()
}

fn text(done: &[Done]) -> String {
    let mut table = Table::new([
        "sharing",
        "direction",
        "subqueue",
        "hosts",
        "messages",
        "mean µs",
        "±95 %",
        "std",
        "p50",
        "p99",
        "p99.9",
        "utilised %",
        "busiest %",
        "CPU s",
        "messages/CPU s",
    ]);
    let dash = || "-".to_owned();
    for done in done {
        let (ran, [sharing, direction, subqueue]) = (done.runs.pooled(), done.words());
        let (summary, quantile) = (ran.latency.summary, |share| ran.latency.histogram.quantile(share) * 1e-6);
        table.line([
            sharing.to_owned(),
            direction.to_owned(),
            subqueue.to_owned(),
            host_model(&done.study).to_owned(),
            figure(summary.count() as f64),
            format!("{:.1}", summary.mean_us()),
            done.runs.ci95_us().map_or_else(dash, |half| format!("{half:.1}")),
            format!("{:.1}", summary.std_us()),
            format!("{:.1}", quantile(0.5)),
            format!("{:.1}", quantile(0.99)),
            format!("{:.1}", quantile(0.999)),
            format!("{:.2}", 100.0 * ran.utilisation),
            format!("{:.2}", 100.0 * ran.utilisation_max),
            done.runs.cpu_s().map_or_else(dash, |s| format!("{s:.3}")),
            done.runs.cpu_s().map_or_else(dash, |s| figure(summary.count() as f64 / s)),
        ]);
    }
    let mut paper = [const { String::new() }; 15].map(|_| dash());
    paper[..3].clone_from_slice(&["paper".to_owned(), "uniform".to_owned(), "?".to_owned()]);
    (paper[5], paper[7], paper[11]) = (figure(PAPER.0), figure(PAPER.1), "12".to_owned());
    paper[14] = format!("{PAPER_MESSAGES_PER_S}");
    table.line(paper);
    table.text()
}

/// A note on the time that a constant in place of stages hides.
fn hidden(done: &[Done]) -> Option<String> {
    let of = |model| done.iter().find(|done| done.study.hosts == model).map(|done| done.runs.pooled());
    let (constant, stages) = of(study::HostModel::Constant).zip(of(study::HostModel::Stages))?;
    let [before, after] = [&constant, &stages].map(|ran| ran.latency.summary.mean_us());
    let waits: f64 = stages.stages.iter().map(StageUse::mean_wait_us).sum();
    Some(format!(
        "the constant hides {:.1} µs of the mean: {waits:.1} µs of waiting for stages, and what messages take longer on the buses of \
         hosts, which the messages of a host share both ways",
        after - before
    ))
}

/// A description of the simulation, and values that follow from the settings without it.
fn notes(study: &Study, (hosts, switches): (u64, u64)) -> Vec<String> {
    let cables = study.torus.cables() as f64;
    let sides: Vec<String> = study.torus.sides.iter().map(u32::to_string).collect();
    let per_s = study.gaps.per_s();
    let host_mbit = per_s * study.bytes as f64 * 8e-6;
    let link_mbit = host_mbit * hosts as f64 * f64::from(study.hops) / cables;
    let rate_mbit = study.rate.bits_per_s() as f64 * 1e-6;
    let mut notes = vec![
        format!(
            "torus {} of {} switches, {} hosts, {} directed links to hosts and {cables} between switches, diameter {}, \
             bisection {} links; all {}",
            sides.join("x"),
            switches,
            hosts,
            2 * hosts,
            study.torus.diameter(),
            study.torus.bisection(),
            study.rate,
        ),
        format!(
            "{} bytes a message, {per_s} messages per second and host from {} to {}: {host_mbit:.2} Mbit/s a host; {} switches on: \
             {link_mbit:.2} Mbit/s on the mean link between switches, {:.2} % of it; a message alone takes {:.2} µs",
            study.bytes,
            study.window.0,
            study.window.1,
            study.hops,
            100.0 * link_mbit / rate_mbit,
            unloaded_us(study),
        ),
    ];
    for (what, load) in
        [("a host", host_mbit / rate_mbit), ("the mean link between switches", link_mbit / rate_mbit)]
    {
        if load >= 1.0 {
            notes.push(format!(
                "warning: the load of {what} is {load:.2}. From 1 on queues grow without end, and the figures say how long the run was"
            ));
        }
    }
    notes
}
