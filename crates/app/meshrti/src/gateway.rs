//! `meshrti gateway`: passes what a policy names between two networks.

use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::Duration;

use clap::ValueHint;
use console::exit::{Failure, Outcome, Status, say};
use console::table::Table;
use console::{password, trust};
use federate::{Options, bearer_token, kerberos_token, plain_text_password};
use gateway::Side;
use gateway::passes::Names;
use gateway::policy::{Federation, Policy, Server};
use gateway::run::Passage;
use hla::fom::{Fdd, Limits, Module, edition_for};
use tokio::sync::watch;
use tokio::task::LocalSet;

use crate::fom::octets_of;
use crate::server::no_ticket;
use crate::signals::Signals;

/// How long the gateway may take to delete its objects and to resign when it is told to stop.
const FAREWELL: Duration = Duration::from_secs(5);

/// Pass named federations and classes between two networks, and nothing else.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  meshrti gateway gateway.toml --check     which classes and attributes pass
  meshrti gateway gateway.toml             pass them, until Ctrl-C

The gateway is a federate of both networks. gateway.toml:
  name = \"Norfolk\"
  [inside]
  server = \"tls://rti.norfolk.example\"
  authority = \"authority.pem\"
  [outside]
  server = \"tls://rti.partner.example\"
  authority = \"partner.pem\"
  password-file = \"secret\"                 # or token-file, kerberos, certificate
  [[federation]]
  name = \"Range\"
  fom = [\"range.xml\"]
  out = [\"HLAobjectRoot.Aircraft: Position, Type\", \"HLAinteractionRoot.Fire\"]
  in = [\"HLAobjectRoot.Ship\"]

A class stands for all classes below it; the most specific entry counts, and `CLASS: nothing` takes one out.")]
pub(crate) struct Args {
    /// The policy
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    policy: PathBuf,
    /// Only say what passes
    #[arg(long)]
    check: bool,
}

pub(crate) fn run(args: &Args) -> Outcome {
    let policy = Policy::read(&args.policy).map_err(Failure::wrong_use)?;
    let names: Result<Vec<_>, Failure> =
        policy.federations.iter().map(|federation| names(&args.policy, federation)).collect();
    let names = names?;
    if args.check {
        for (federation, names) in policy.federations.iter().zip(&names) {
            print(federation, names);
        }
        return Ok(Status::Done);
    }
    // Before anything begins: files that cannot be used are wrong use, and not news about a server.
    for side in Side::BOTH {
        options(server(&policy, side))?;
    }
    serve(policy, names)
}

/// The classes that pass in each direction, by the FOM modules of a federation execution.
fn names(policy: &Path, federation: &Federation) -> Result<[Names; 2], Failure> {
    let model = model(&federation.fom).map_err(|text| Failure::wrong_use(text.trim_end()))?;
    let of = |side| {
        Names::of(federation.from(side), &model).map_err(|why| {
            Failure::wrong_use(format_args!(
                "{}: [[federation]] `{}`: {why}",
                policy.display(),
                federation.name
            ))
        })
    };
    Ok([of(Side::Inside)?, of(Side::Outside)?])
}

fn model(files: &[PathBuf]) -> Result<Fdd, String> {
    let limits = Limits::default();
    let mut modules = Vec::new();
    for file in files {
        let name = file.display().to_string();
        let octets = octets_of(file, &name).map_err(|error| error.to_string())?;
        modules.push(Module::read(&name, &octets, &limits).map_err(|error| error.to_string())?.0);
    }
    let (model, _) =
        Fdd::standard(edition_for(&modules)).extend(&modules).map_err(|error| error.to_string())?;
    Ok(model)
}

fn print(federation: &Federation, names: &[Names; 2]) {
    for (side, names) in Side::BOTH.into_iter().zip(names) {
        let (here, there) = (federation.name_on(side), federation.name_on(side.other()));
        say(format_args!("from {side} (`{here}`) to {} (`{there}`)", side.other()));
        let mut table = Table::new(["class", "attributes or parameters"]);
        for (class, parts) in names.objects.iter().chain(&names.interactions) {
            table.line([class.clone(), parts.join(" ")]);
        }
        say(match names.objects.is_empty() && names.interactions.is_empty() {
            true => "nothing\n".to_owned(),
            false => table.text(),
        });
    }
}

fn server(policy: &Policy, side: Side) -> &Server {
    match side {
        Side::Inside => &policy.inside,
        Side::Outside => &policy.outside,
    }
}

/// The options of a connection. Files are read anew for each, so that they may be replaced, and a
/// Kerberos token counts once.
fn options(server: &Server) -> Result<Options, Failure> {
    let mut options = Options::new(server.server.as_str());
    let authority = server.authority.as_deref();
    options.tls = match (authority, &server.certificate) {
        (None, Some(_)) => return Err(Failure::wrong_use("`certificate` needs `authority`")),
        (authority, certificate) => {
            authority.map(|authority| trust::client(authority, certificate.as_deref())).transpose()?
        }
    };
    options.credentials = if let Some(service) = &server.kerberos {
        Some(kerberos_token(service).map_err(|error| no_ticket(&error))?)
    } else if let Some(file) = &server.token_file {
        password::line(file, "token")?.map(|token| bearer_token(&token))
    } else if let Some(file) = &server.password_file {
        let password = password::line(file, "password")?.map(|password| plain_text_password(&password));
        password.transpose().map_err(Failure::wrong_use)?
    } else {
        None
    };
    Ok(options)
}

fn serve(policy: Policy, names: Vec<[Names; 2]>) -> Outcome {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::bad_news(format_args!("the system gives no event queue: {error}")))?;
    let local = LocalSet::new();
    let (stop, stopped) = watch::channel(false);
    let policy = Rc::new(policy);
    let passages: Vec<_> = names
        .into_iter()
        .enumerate()
        .map(|(at, names)| {
            let (policy, stopped) = (Rc::clone(&policy), stopped.clone());
            local.spawn_local(async move {
                let passage = Passage { gateway: &policy.name, federation: &policy.federations[at], names };
                let options = |side| {
                    options(server(&policy, side))
                        .map_err(|failure| failure.to_string().trim_end().to_owned())
                };
                passage.run(options, stopped).await;
            })
        })
        .collect();
    local.block_on(&runtime, async {
        let mut signals = Signals::listen();
        signals.next().await;
        tracing::info!("the gateway deletes what it has registered, and resigns");
        // Every passage hears it, or has ended.
        let _ = stop.send(true);
        let farewell = async {
            for passage in passages {
                let _ = passage.await;
            }
        };
        tokio::select! {
            () = farewell => {}
            () = tokio::time::sleep(FAREWELL) => {
                tracing::warn!("a side did not answer in time; its server deletes the objects");
            }
            () = signals.next() => {}
        }
        Ok(Status::Done)
    })
}
