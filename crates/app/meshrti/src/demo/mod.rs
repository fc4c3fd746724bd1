//! `meshrti demo`: an RTI and federates that move and shoot, as a live table.

mod actors;
mod model;
mod motion;
mod screen;
mod stamp;
mod viewer;
mod world;

use std::io::IsTerminal as _;
use std::time::Duration;

use node::config::ListenAddress;
use tokio::task::JoinSet;
use tokio::time::Instant;

use actors::Fleet;
use model::{DemoError, FEDERATION, Member};
use screen::Screen;
use stamp::Stamps;
use viewer::Viewer;

use console::exit::{Failure, Outcome, Status, say};

/// The intervals at which the table is drawn on a terminal, and printed elsewhere.
const REDRAW: Duration = Duration::from_millis(500);
const REPRINT: Duration = Duration::from_secs(5);

/// The length of the demo where nobody can press Ctrl-C.
const UNATTENDED: Duration = Duration::from_secs(30);

/// Show an RTI at work: embedded server, a few federates, a live table.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  meshrti demo
  meshrti demo --seconds 10
  meshrti demo --port 15164        where other federates expect an RTI

On a terminal it runs until Ctrl-C and draws the table in place; elsewhere it runs for 30 seconds and prints the table \
every 5. --seconds decides otherwise. With --quiet only the summary at the end is printed.")]
pub(crate) struct Args {
    /// How long it runs
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..))]
    seconds: Option<u32>,
    /// The port of the RTI, on loopback; 0 lets the system choose
    #[arg(long, default_value_t = 0)]
    port: u16,
}

pub(crate) fn run(args: &Args, quiet: bool) -> Outcome {
    let loopback =
        ListenAddress { host: "127.0.0.1".to_owned(), port: args.port, ..ListenAddress::default() };
    let config = node::Config { listen: vec![loopback], ..node::Config::default() };
    let node = node::start(config).map_err(|error| {
        Failure::bad_news(error).hint("`--port 0` lets the system choose a port that is free")
    })?;
    let server = node.addresses()[0].to_string();
    let terminal = std::io::stdout().is_terminal();
    let length = match args.seconds {
        Some(seconds) => Some(Duration::from_secs(seconds.into())),
        None => (!terminal).then_some(UNATTENDED),
    };
    if !quiet {
        let program = std::env::args().next().unwrap_or_else(|| "meshrti".to_owned());
        say(screen::introduction(&server, &program));
        if length.is_none() {
            say("Ctrl-C ends it.\n");
        }
    }
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|e| Failure::bad_news(format_args!("the system gives no event queue: {e}")))?;
    let outcome = runtime.block_on(Box::pin(play(&server, length, Show { terminal, quiet })));
    drop(runtime); // the federates end before the RTI
    drop(node);
    outcome
}

/// The output settings of the demo.
#[derive(Clone, Copy)]
struct Show {
    terminal: bool,
    quiet: bool,
}

async fn play(server: &str, length: Option<Duration>, show: Show) -> Outcome {
    let key = u64::from(std::process::id()) << 32 | 0x6d65_7368;
    let stamps = Stamps::new(key);
    let mut viewer = Viewer::new(Member::join(server, "Watcher", stamps, true).await?).await?;
    let mut actors = JoinSet::new();
    actors.spawn(Fleet::air().play(server.to_owned(), stamps, None));
    actors.spawn(Fleet::ground().play(server.to_owned(), stamps, None));
    actors.spawn(actors::launch(server.to_owned(), stamps));
    actors.spawn(actors::visit(server.to_owned(), stamps));
    let status = tokio::select! {
        watched = watch(&mut viewer, length, show) => watched?,
        Some(ended) = actors.join_next() => return Err(early(ended)),
        _ = tokio::signal::ctrl_c() => Status::Interrupted,
    };
    actors.shutdown().await;
    say(screen::summary(&viewer.view));
    end(viewer).await;
    Ok(status)
}

/// Shows the viewer's data until the time is up.
async fn watch(viewer: &mut Viewer, length: Option<Duration>, show: Show) -> Result<Status, Failure> {
    let begun = Instant::now();
    let mut screen = Screen::new(show.terminal);
    let pause = if show.terminal { REDRAW } else { REPRINT };
    loop {
        let left = length.map(|length| length.saturating_sub(begun.elapsed()));
        if left.is_some_and(|left| left.is_zero()) {
            return Ok(Status::Done);
        }
        let pause = left.map_or(pause, |left| left.min(pause));
        if !viewer.watch_until(Instant::now() + pause).await {
            return Err(Failure::bad_news("the demo: the RTI has gone"));
        }
        viewer.view.count();
        if !show.quiet {
            screen.show(&screen::table(&viewer.view));
        }
        viewer.view.recent = console::rounds::Rounds::new(0);
    }
}

/// The reason why an actor that should play for ever has ended.
fn early(ended: Result<Result<(), DemoError>, tokio::task::JoinError>) -> Failure {
    match ended {
        Ok(Ok(())) => Failure::bad_news("the demo: a federate has ended early"),
        Ok(Err(error)) => error.into(),
        Err(error) => Failure::bad_news(format_args!("the demo: a federate has ended early: {error}")),
    }
}

/// Leaves in order. The answer of the RTI no longer matters.
async fn end(viewer: Viewer) {
    let leave = async {
        let federate = viewer.member.federate.clone();
        viewer.member.leave().await?;
        drop(federate);
        Ok::<_, DemoError>(())
    };
    if let Ok(Err(error)) = tokio::time::timeout(Duration::from_secs(1), leave).await {
        tracing::debug!(?error, federation = FEDERATION, "the watcher left without the RTI's consent");
    }
}
