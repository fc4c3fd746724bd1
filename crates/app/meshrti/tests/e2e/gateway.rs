//! `meshrti gateway` between two networks of real processes.

use std::path::Path;
use std::process::{Child, Stdio};
use std::sync::{Arc, Mutex};

use federate::hla::handle::ObjectInstanceHandle;
use federate::{Callback, Federate, Options, plain_text_password};

use crate::access::hash;
use crate::common::certificates::Certificates;
use crate::common::federates::{RANGE, tag};
use crate::common::server::{Folder, collect, meshrti, signal, wait};
use crate::common::{Member, Server, create_and_join, eventually, member_of, soon};

/// The rules of most of these tests: identifiers of aircraft and fire leave, radar enters.
const RULES: &str = r#"
out = ["HLAobjectRoot.BaseEntity.Aircraft: EntityIdentifier", "HLAinteractionRoot.WeaponFire"]
in = ["HLAinteractionRoot.RadarSweep", "HLAobjectRoot.BaseEntity.GroundVehicle"]
"#;

const PASSES: &str = "what the policy names passes now";

/// A running `meshrti gateway`, killed when this is dropped.
struct Gateway {
    child: Child,
    log: Arc<Mutex<String>>,
    _folder: Folder,
}

impl Gateway {
    fn start(name: &str, inside: &str, outside: &str, rules: &str) -> Self {
        let folder = Folder::new();
        let policy = write(&folder, name, inside, outside, rules);
        let mut child = meshrti()
            .arg("gateway")
            .arg(&policy)
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("it starts");
        let log = Arc::default();
        collect(child.stderr.take().expect("it is piped"), Arc::clone(&log));
        Self { child, log, _folder: folder }
    }

    fn log(&self) -> String {
        self.log.lock().expect("nobody panics with the log").clone()
    }

    async fn says(&self, text: &str) {
        eventually(text, || self.log().contains(text)).await;
    }

    /// Stops it, and lets it take its leave.
    fn stop(&mut self) {
        signal(self.child.id(), "INT");
        assert!(wait(&mut self.child).success());
    }
}

impl Drop for Gateway {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        if std::thread::panicking() {
            eprintln!("--- log of the gateway ---\n{}", self.log());
        }
    }
}

fn write(folder: &Folder, name: &str, inside: &str, outside: &str, rules: &str) -> std::path::PathBuf {
    folder.write("range.xml", RANGE);
    let text = format!(
        "name = \"{name}\"\n[inside]\nserver = \"{inside}\"\n[outside]\nserver = \"{outside}\"\n\
         [[federation]]\nname = \"Range\"\nfom = [\"range.xml\"]\n{rules}"
    );
    folder.write("gateway.toml", text)
}

/// Two networks without a link, a federate in each, and a gateway.
struct World {
    inside: Server,
    outside: Server,
    near: Member,
    far: Member,
    gateway: Gateway,
}

impl World {
    async fn new(rules: &str) -> Self {
        let (inside, outside) = (Server::start(), Server::start());
        let near = member_of(&inside, "Range", "Near").await;
        let far = member_of(&outside, "Range", "Far").await;
        let gateway = Gateway::start("Norfolk", inside.address(), outside.address(), rules);
        gateway.says(PASSES).await;
        Self { inside, outside, near, far, gateway }
    }
}

async fn registers_named(member: &Member, name: &str) -> ObjectInstanceHandle {
    soon(member.federate.reserve_object_instance_name(name)).await.expect("it is free");
    let register = || member.federate.register_object_instance_with_name(member.model.aircraft, name);
    loop {
        // The name is reserved by a callback, which is left for the tests to drop.
        if let Ok(object) = soon(register()).await {
            return object;
        }
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
}

async fn sweep(member: &Member, n: u32) {
    let values = [(member.model.echo, tag(n))];
    soon(member.federate.send_interaction(member.model.sweep, values, tag(n)))
        .await
        .expect("it is published");
}

#[tokio::test]
async fn what_the_policy_names_passes_and_nothing_else() {
    let World { inside, outside, mut near, mut far, mut gateway } = World::new(RULES).await;
    // Another federation execution of the inside, of which the outside learns nothing.
    let _hidden = create_and_join(crate::common::options(inside.address()), "Plans", "Staff").await;

    let eagle = registers_named(&near, "Eagle").await;
    near.update(eagle, 7).await;
    let (mirror, name) = far.discovers().await;
    assert_eq!(name, "Eagle");
    // The values are there, whether the update came before the mirror or the gateway has asked for them.
    let values = far
        .until("values", |callback| match callback {
            Callback::ReflectAttributeValues(r) if r.object_instance == Some(mirror) => r.attribute_values,
            Callback::ProvideAttributeValueUpdate(_) => None,
            _ => None,
        })
        .await;
    assert_eq!(values.attribute_handle_value.len(), 1);

    // The position stays inside, also when it comes together with the identifier.
    let both = [(near.model.identifier, tag(8)), (near.model.spatial, tag(8))];
    soon(near.federate.update_attribute_values(eagle, both, tag(8))).await.expect("it owns both");
    near.update(eagle, 9).await;
    loop {
        let (n, parts) = far
            .until("update", |callback| match callback {
                Callback::ReflectAttributeValues(r) if r.object_instance == Some(mirror) => {
                    let values = r.attribute_values.unwrap_or_default().attribute_handle_value;
                    Some((r.user_supplied_tag, values))
                }
                _ => None,
            })
            .await;
        assert!(parts.iter().all(|part| part.attribute_handle == Some(far.model.identifier)), "{parts:?}");
        if n == tag(9) {
            break;
        }
    }

    // Fire leaves and does not enter; radar enters and does not leave.
    far.fire(1).await;
    sweep(&near, 2).await;
    sweep(&far, 3).await;
    assert_eq!(near.receives().await, 3, "the radar of the outside, and not its fire");
    near.fire(4).await;
    assert_eq!(far.receives().await, 4, "the fire of the inside, and not its radar");

    // Aircraft do not enter.
    let _hawk = registers_named(&far, "Hawk").await;
    sweep(&far, 5).await;
    let discovered = near
        .until("radar", |callback| match callback {
            Callback::DiscoverObjectInstance(found) => Some(Some(found.object_instance_name)),
            Callback::ReceiveInteraction(_) => Some(None),
            _ => None,
        })
        .await;
    assert_eq!(discovered, None);

    // A request for values reaches the owner.
    soon(far.federate.request_instance_attribute_value_update(mirror, [far.model.identifier], tag(0)))
        .await
        .expect("it knows the instance");
    let asked = near
        .until("request", |callback| match callback {
            Callback::ProvideAttributeValueUpdate(asked) => asked.object_instance,
            _ => None,
        })
        .await;
    assert_eq!(asked, eagle);

    assert_eq!(federations(&outside).await, ["Range"]);
    // When the gateway goes, so does what it has brought.
    gateway.stop();
    far.sees_removal(mirror).await;
    assert_eq!(inside.members().len(), 2, "the gateway has resigned: {:?}", inside.members());
}

async fn federations(server: &Server) -> Vec<String> {
    let (federate, mut callbacks) =
        soon(Federate::connect(crate::common::options(server.address()))).await.expect("it takes federates");
    soon(federate.list_federation_executions()).await.expect("it lists");
    let listed = soon(callbacks.recv()).await;
    let Some(Callback::ReportFederationExecutions(report)) = listed else { panic!("{listed:?}") };
    let all = report.report.unwrap_or_default().federation_execution_information;
    all.into_iter().map(|one| one.federation_execution_name).collect()
}

#[tokio::test]
async fn a_side_that_is_lost_takes_its_objects_with_it() {
    let World { inside: _inside, mut outside, mut near, mut far, gateway } = World::new(RULES).await;
    let eagle = registers_named(&near, "Eagle").await;
    let (mirror, _) = far.discovers().await;
    soon(near.federate.delete_object_instance(eagle, tag(0))).await.expect("it owns it");
    far.sees_removal(mirror).await;

    let vehicle =
        soon(far.federate.get_object_class_handle("BaseEntity.GroundVehicle")).await.expect("a class");
    for member in [&near, &far] {
        let attributes = [member.model.identifier];
        soon(member.federate.publish_object_class_attributes(vehicle, attributes)).await.expect("it may");
        soon(member.federate.subscribe_object_class_attributes(vehicle, attributes)).await.expect("it may");
    }
    soon(far.federate.register_object_instance(vehicle)).await.expect("it is published");
    let (entered, _) = near.discovers().await;
    let address = format!("tcp://{}", outside.address());
    outside.kill();
    let again = Server::with("", &["--listen", &address]);
    gateway.says("nothing passes for now").await;
    near.sees_removal(entered).await;
    // It waits for the federation execution, and then passes what there is by then.
    registers_named(&near, "Hawk").await;
    let mut far = member_of(&again, "Range", "Far").await;
    let (_, name) = far.discovers().await;
    assert_eq!(name, "Hawk");
}

/// Each would pass on for ever what the other has brought.
#[tokio::test]
async fn two_gateways_make_no_circle() {
    let rules = "out = [\"HLAobjectRoot.BaseEntity\", \"HLAinteractionRoot\"]\n\
                 in = [\"HLAobjectRoot.BaseEntity\", \"HLAinteractionRoot\"]\n";
    let World { inside, outside, mut near, mut far, gateway: _gateway } = World::new(rules).await;
    let second = Gateway::start("Other", inside.address(), outside.address(), rules);
    second.says(PASSES).await;
    // Without a name of its own, nothing tells a mirror from another object.
    let object = near.registers().await;
    near.update(object, 1).await;
    far.discovers().await;
    far.discovers().await;
    near.fire(1).await;
    near.fire(2).await;
    let mut received = Vec::new();
    while received.len() < 4 {
        received.push(far.receives().await);
    }
    received.sort_unstable();
    assert_eq!(received, [1, 1, 2, 2], "once by each gateway");
    // Everything that went round would have come by now: it is behind this on every way.
    sweep(&near, 9).await;
    let mut others = 0;
    far.until("the last", |callback| match callback {
        Callback::DiscoverObjectInstance(_) | Callback::ReceiveInteraction(_) => {
            let is_last =
                matches!(&callback, Callback::ReceiveInteraction(r) if r.user_supplied_tag == tag(9));
            others += usize::from(!is_last);
            is_last.then_some(())
        }
        _ => None,
    })
    .await;
    assert_eq!(others, 0, "nothing goes in circles");
    let mut came_back = 0;
    while let Some(callback) = near.callbacks.try_recv() {
        let is_back =
            matches!(callback, Callback::DiscoverObjectInstance(_) | Callback::ReceiveInteraction(_));
        came_back += usize::from(is_back);
    }
    assert_eq!(came_back, 0, "nor does it come back");
}

/// The account of the gateway has to have the rights that it uses, and the carrier protects its password.
#[tokio::test]
async fn both_networks_decide_about_the_gateway_as_about_any_federate() {
    let certificates = Certificates::new();
    let folder = Folder::new();
    let accounts = format!(
        "[accounts.partner]\npassword = \"{}\"\nmay = [\"join Range as meshrti-gateway:*\", \
         \"publish HLAobjectRoot.BaseEntity.Aircraft\", \"publish HLAinteractionRoot.WeaponFire\"]\n\
         [accounts.far]\npassword = \"{}\"\nmay = [\"do anything\"]\n",
        hash("gate"),
        hash("far"),
    );
    let accounts = folder.write("access.toml", accounts);
    let settings = format!("{}\n[access]\npolicy = {accounts:?}\n", certificates.settings());
    let outside = Server::with(&settings, &["--listen", "tls://127.0.0.1:0"]);
    let inside = Server::start();
    let near = member_of(&inside, "Range", "Near").await;
    let mut options = Options::new(outside.address());
    options.tls = Some(certificates.trust());
    options.credentials = Some(plain_text_password("far:far").expect("it can be encoded"));
    let mut far = create_and_join(options, "Range", "Far").await;
    far.declare_all().await;
    folder.write("secret", "partner:gate\n");
    let shown = |password: &Path| {
        format!(
            "{}\"\nauthority = {:?}\npassword-file = {password:?}\n#\"",
            outside.address(),
            certificates.authority
        )
    };
    let password = folder.path().join("secret");
    // It may not publish radar, and says so.
    let all = "out = [\"HLAobjectRoot.BaseEntity.Aircraft\", \"HLAinteractionRoot.RadarSweep\"]\n";
    let refused = Gateway::start("Norfolk", inside.address(), &shown(&password), all);
    refused.says("account `partner` may not publish HLAinteractionRoot.RadarSweep in Range").await;
    drop(refused);
    let rules = "out = [\"HLAobjectRoot.BaseEntity.Aircraft\", \"HLAinteractionRoot.WeaponFire\"]\n";
    let gateway = Gateway::start("Norfolk 2", inside.address(), &shown(&password), rules);
    gateway.says(PASSES).await;
    near.fire(5).await;
    assert_eq!(far.receives().await, 5);
}

#[test]
fn a_policy_is_checked_before_anything_begins() {
    let folder = Folder::new();
    let policy = write(&folder, "Norfolk", "localhost", "localhost", RULES);
    let checked = meshrti().arg("gateway").arg(&policy).arg("--check").output().expect("it starts");
    assert!(checked.status.success());
    let text = String::from_utf8(checked.stdout).expect("it is UTF-8");
    for line in [
        "from inside (`Range`) to outside (`Range`)",
        "HLAobjectRoot.BaseEntity.Aircraft",
        "HLAobjectRoot.BaseEntity.GroundVehicle",
    ] {
        assert!(text.contains(line), "{line}: {text}");
    }
    for (rules, why) in [
        (
            "out = [\"HLAobjectRoot.Boat\"]\n",
            "[[federation]] `Range`: the FOM modules have no class HLAobjectRoot.Boat",
        ),
        (
            "out = [\"HLAobjectRoot.BaseEntity: Colour\"]\n",
            "neither HLAobjectRoot.BaseEntity nor a class below it has `Colour`",
        ),
        ("in = [\"HLAobjectRoot.HLAmanager\"]\n", "never passes"),
        ("into = []\n", "unknown field `into`"),
        ("", "neither `out` nor `in` names a class"),
    ] {
        let policy = write(&folder, "Norfolk", "localhost", "localhost", rules);
        let refused = meshrti().arg("gateway").arg(&policy).output().expect("it starts");
        let text = String::from_utf8(refused.stderr).expect("it is UTF-8");
        assert_eq!(refused.status.code(), Some(2), "{text}");
        assert!(text.contains(why), "{why}: {text}");
    }
}
