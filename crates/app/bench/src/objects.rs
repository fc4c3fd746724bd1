//! Very many objects of one federate, and their effect on other federates.
//!
//! A canary exchanges round trips with an echo through the same server all the time. Meanwhile one
//! federate registers its objects, another one subscribes late and discovers all of them, the owner
//! resigns and deletes them, a second owner does the same and is then lost, and a third owner ceases
//! to publish them. The round trips of the canary show which of these steps held up others.

use std::cell::Cell;
use std::rc::Rc;
use std::time::{Duration, Instant};

use federate::Callback;
use hla::api::ResignAction;

use crate::canary::Canary;
use crate::error::BenchError;
use crate::member::{Member, received, register};
use crate::process::{Launcher, Process, orders, print_line};
use crate::role;
use crate::role::number;
use crate::server::{Server, federation_name};
use console::rounds::Rounds;

/// Time for which the canary is undisturbed at first.
const QUIET: Duration = Duration::from_secs(2);
/// The longest time that one phase may take.
const PHASE_MAX: Duration = Duration::from_secs(600);

/// One phase, and the round trips of the canary during it.
#[derive(Clone, Debug)]
pub struct Phase {
    /// Its name, for a table.
    pub name: &'static str,
    /// Number of objects in the phase.
    pub objects: usize,
    /// Duration of the phase.
    pub took: Duration,
    /// The round trips that began in it.
    pub canary: Rounds,
}

/// Measures with `objects` objects of each owner, on a server of its own. `progress` gets the name
/// of each phase.
///
/// # Errors
/// The server or the system fails or refuses a request.
pub async fn measure(
    launcher: &Launcher,
    objects: usize,
    progress: impl FnMut(&str),
) -> Result<Vec<Phase>, BenchError> {
    // The canary is a task beside the phases, on the same thread.
    tokio::task::LocalSet::new().run_until(run_phases(launcher, objects, progress)).await
}

async fn run_phases(
    launcher: &Launcher,
    objects: usize,
    mut progress: impl FnMut(&str),
) -> Result<Vec<Phase>, BenchError> {
    let server = Server::start(launcher).await?;
    let federation = federation_name("objects");
    let canary = Canary::start(launcher, &server, &federation).await?;
    let mut phases = Vec::new();
    progress("undisturbed");
    tokio::time::sleep(QUIET).await;
    phases.push(Phase { name: "undisturbed", objects: 0, took: QUIET, canary: canary.rounds().await });

    let owner = role::owner(server.address(), &federation);
    let mut first = launcher.start(&owner).await?.0;
    let mut phase = async |name, process: &mut Process, order: &str, word: &str| {
        progress(name);
        canary.begin();
        let begin = Instant::now();
        if !order.is_empty() {
            process.send_line(order).await?;
        }
        process.hear_within(word, PHASE_MAX).await?;
        let took = begin.elapsed();
        phases.push(Phase { name, objects, took, canary: canary.rounds().await });
        Ok::<(), BenchError>(())
    };
    let register = format!("register {objects}");
    phase("register", &mut first, &register, "registered").await?;
    let mut late = launcher.start(&role::late(server.address(), &federation)).await?.0;
    phase("discover late", &mut late, &format!("discover {objects}"), "discovered").await?;
    first.send_line(&format!("provide {objects}")).await?;
    first.hear_within("counting", PHASE_MAX).await?;
    late.send_line("request").await?;
    phase("request values", &mut first, "", "provided").await?;
    late.send_line(&format!("remove {objects}")).await?;
    first.send_line("resign").await?;
    phase("resign and delete", &mut late, "", "removed").await?;
    first.hear_within("resigned", PHASE_MAX).await?;

    let mut second = launcher.start(&owner).await?.0;
    late.send_line(&format!("discover {objects}")).await?;
    second.send_line(&register).await?;
    phase("register and discover", &mut late, "", "discovered").await?;
    late.send_line(&format!("remove {objects}")).await?;
    second.send_line("terminate").await?;
    phase("owner lost", &mut late, "", "removed").await?;

    let mut third = launcher.start(&owner).await?.0;
    late.send_line(&format!("discover {objects}")).await?;
    third.send_line(&register).await?;
    third.hear_within("registered", PHASE_MAX).await?;
    late.hear_within("discovered", PHASE_MAX).await?;
    phase("unpublish", &mut third, "unpublish", "unpublished").await?;
    canary.stop().await?;
    Ok(phases)
}

/// An owner of objects: `register COUNT`, `unpublish` and `resign` are answered when they are done,
/// and `provide COUNT` when the values of that many objects have been requested.
pub(crate) async fn play_owner(server: &str, federation: &str) -> Result<(), BenchError> {
    let mut orders = orders();
    let Member { federate, mut callbacks, .. } = Member::join(server, federation).await?;
    let class = federate.get_object_class_handle("HLAobjectRoot.Wide").await?;
    let attribute = federate.get_attribute_handle(class, "Value01").await?;
    federate.publish_object_class_attributes(class, [attribute]).await?;
    federate.set_automatic_resign_directive(ResignAction::DeleteObjects).await?;
    let left = Rc::new(Cell::new(0_usize));
    let requested = Rc::clone(&left);
    tokio::task::spawn_local(async move {
        while let Some(callback) = callbacks.recv().await {
            if requested.get() > 0 && matches!(callback, Callback::ProvideAttributeValueUpdate(_)) {
                requested.set(requested.get() - 1);
                if requested.get() == 0 {
                    print_line("provided");
                }
            }
        }
    });
    print_line("ready");
    while let Some(order) = orders.recv().await {
        match order.iter().map(String::as_str).collect::<Vec<_>>()[..] {
            ["register", count] => {
                register(&federate.updates(), class, number(count)?).await?;
                print_line("registered");
            }
            ["provide", count] => {
                left.set(number(count)?);
                print_line("counting");
            }
            ["resign"] => {
                federate.resign_federation_execution(ResignAction::DeleteObjects).await?;
                print_line("resigned");
            }
            ["unpublish"] => {
                federate.unpublish_object_class(class).await?;
                print_line("unpublished");
            }
            ["terminate"] => federate.terminate().await,
            _ => {}
        }
    }
    Ok(())
}

/// A late subscriber: `discover COUNT` and `remove COUNT` are answered when that many have been
/// discovered or removed. `request` requests the values of all of them.
pub(crate) async fn play_late(server: &str, federation: &str) -> Result<(), BenchError> {
    let mut orders = orders();
    let mut member = Member::join(server, federation).await?;
    let class = member.federate.get_object_class_handle("HLAobjectRoot.Wide").await?;
    let attribute = member.federate.get_attribute_handle(class, "Value01").await?;
    print_line("ready");
    let mut subscribed = false;
    while let Some(order) = orders.recv().await {
        let [what, count] = &order[..] else {
            member.federate.request_class_attribute_value_update(class, [attribute], "").await?;
            continue;
        };
        let discover = what == "discover";
        if discover && !std::mem::replace(&mut subscribed, true) {
            member.federate.subscribe_object_class_attributes(class, [attribute]).await?;
        }
        let mut left = number(count)?;
        while left > 0 {
            match received(member.callbacks.recv().await)? {
                Callback::DiscoverObjectInstance(_) if discover => left -= 1,
                Callback::RemoveObjectInstance(_) if !discover => left -= 1,
                _ => {}
            }
        }
        print_line(if discover { "discovered" } else { "removed" });
    }
    Ok(())
}
