//! FOM modules: the ways in which they come, and bad ones.

use std::io::Write as _;

use federate::hla::Exception;
use federate::hla::api::{FomModule, fom_module};
use federate::{Federate, fom};
use zip::write::SimpleFileOptions;

use crate::common::server::Folder;
use crate::common::{RANGE, Server, connect, range, soon};

/// A module that adds a class below one of [`RANGE`].
const EXTRA: &str = r#"<objectModel xmlns="http://standards.ieee.org/IEEE1516-2025">
    <modelIdentification><name>Extra</name><type>FOM</type><version>1.0</version></modelIdentification>
    <objects><objectClass><name>HLAobjectRoot</name><objectClass><name>BaseEntity</name>
        <objectClass><name>Submarine</name><sharing>PublishSubscribe</sharing></objectClass>
    </objectClass></objectClass></objects>
</objectModel>"#;

/// Creates a federation of these modules and says what came of it.
async fn create(
    federate: &Federate,
    modules: impl IntoIterator<Item = FomModule>,
) -> Result<(), Option<Exception>> {
    let created = federate.create_federation_execution_with_modules("Modules", modules);
    let result = soon(created).await.map_err(|error| error.exception());
    if result.is_ok() {
        soon(federate.destroy_federation_execution("Modules")).await.expect("it was just created");
    }
    result
}

#[tokio::test]
async fn modules_come_as_files_as_archives_and_by_name() {
    let foms = Folder::new();
    foms.write("range.xml", RANGE);
    foms.write("extra.xml", EXTRA);
    let secret = Folder::new();
    let secret = secret.write("secret.xml", RANGE);
    let flags = ["--listen", "tcp://127.0.0.1:0", "--fom-dir", foms.path().to_str().unwrap()];
    let server = Server::with("", &flags);
    let (federate, _callbacks) = connect(&server).await;

    assert_eq!(create(&federate, [range()]).await, Ok(()));
    assert_eq!(create(&federate, [fom::compressed("range.xml", RANGE.as_bytes()).unwrap()]).await, Ok(()));
    assert_eq!(create(&federate, [fom::url("range.xml")]).await, Ok(()));
    let data_url = format!("data:text/xml,{}", RANGE.replace('%', "%25").replace('<', "%3c"));
    assert_eq!(create(&federate, [fom::url(data_url)]).await, Ok(()));
    // The order of modules is lost on the way with some clients: what depends on another may come first.
    assert_eq!(create(&federate, [fom::url("extra.xml"), range()]).await, Ok(()));

    let file_url = format!("file://{}", secret.display());
    for name in [
        "missing.xml",
        "../secret.xml",
        secret.to_str().unwrap(),
        &file_url,
        "",
        "http://[::1]/a.xml",
        "data:a",
    ] {
        let refused = create(&federate, [fom::url(name)]).await;
        assert_eq!(refused, Err(Some(Exception::CouldNotOpenFOM)), "{name}");
    }
    assert_eq!(create(&federate, [FomModule::default()]).await, Err(Some(Exception::CouldNotOpenFOM)));
}

#[tokio::test]
async fn a_federate_may_bring_modules_when_it_joins() {
    let server = Server::start();
    let (first, _first) = connect(&server).await;
    let (second, _second) = connect(&server).await;
    soon(first.create_federation_execution("Joining", range())).await.unwrap();
    soon(first.join_federation_execution("e2e", "Joining")).await.unwrap();
    let missing = soon(first.get_object_class_handle("BaseEntity.Submarine")).await.unwrap_err();
    assert!(missing.is(Exception::NameNotFound), "{missing}");

    let bad = [fom::content("bad.xml", "<objectModel>")];
    let refused =
        soon(second.join_federation_execution_with_modules("e2e", "Joining", bad)).await.unwrap_err();
    assert!(refused.is(Exception::ErrorReadingFOM), "{refused}");
    let modules = [fom::content("extra.xml", EXTRA), range()];
    soon(second.join_federation_execution_with_modules("e2e", "Joining", modules)).await.unwrap();
    for federate in [first, second] {
        let class =
            soon(federate.get_object_class_handle("HLAobjectRoot.BaseEntity.Submarine")).await.unwrap();
        let name = soon(federate.get_object_class_name(class)).await.unwrap();
        assert_eq!(name, "HLAobjectRoot.BaseEntity.Submarine");
    }
}

#[tokio::test]
async fn bad_modules_are_refused_by_name_and_harm_nobody() {
    let server = Server::start();
    let (federate, _callbacks) = connect(&server).await;
    let module = |text: &str| vec![fom::content("bad.xml", text.to_owned())];
    let clash = RANGE
        .replace("<name>Range</name>", "<name>Other</name>")
        .replace("<dataType>HLAunicodeString</dataType>", "<dataType>HLAopaqueData</dataType>");
    let cases = [
        ("nothing", module(""), Exception::ErrorReadingFOM),
        ("no XML", module("\0\u{1}\u{2}garbage"), Exception::ErrorReadingFOM),
        ("cut off", module(&RANGE[..RANGE.len() / 2]), Exception::ErrorReadingFOM),
        ("another document", module("<html/>"), Exception::ErrorReadingFOM),
        ("entities", module(&entity_bomb()), Exception::ErrorReadingFOM),
        ("deep", module(&deep()), Exception::InvalidFOM),
        ("no archive", archive(b"PK\x03\x04 and no more"), Exception::ErrorReadingFOM),
        ("zip bomb", archive(&zip_bomb()), Exception::ErrorReadingFOM),
        ("two entries", archive(&two_entries()), Exception::ErrorReadingFOM),
        ("no order type", module(&RANGE.replace(">Receive<", ">Sideways<")), Exception::InvalidFOM),
        ("clash", [module(&clash), module(RANGE)].concat(), Exception::InconsistentFOM),
    ];
    for (what, modules, exception) in cases {
        assert_eq!(create(&federate, modules).await, Err(Some(exception)), "{what}");
        assert_eq!(create(&federate, [range()]).await, Ok(()), "after {what}");
    }
}

#[tokio::test]
async fn bad_mims_and_times_are_refused_by_name() {
    let server = Server::start();
    let (federate, _callbacks) = connect(&server).await;
    for (mim, exception) in [
        (fom::url("HLAstandardMIM"), Exception::DesignatorIsHLAstandardMIM),
        (fom::url("no-such-mim.xml"), Exception::CouldNotOpenMIM),
        (fom::content("mim.xml", "<objectModel"), Exception::ErrorReadingMIM),
        (fom::content("mim.xml", RANGE), Exception::InvalidMIM),
    ] {
        let created = federate.create_federation_execution_with_mim("Mim", [range()], mim);
        let refused = soon(created).await.unwrap_err();
        assert!(refused.is(exception), "{refused} is no {exception}");
    }
    let created = federate.create_federation_execution_with_time("Time", range(), "SundialTime");
    let refused = soon(created).await.unwrap_err();
    assert!(refused.is(Exception::CouldNotCreateLogicalTimeFactory), "{refused}");
    for time in ["HLAinteger64Time", "HLAfloat64Time", ""] {
        soon(federate.create_federation_execution_with_time("Time", range(), time)).await.unwrap();
        soon(federate.destroy_federation_execution("Time")).await.unwrap();
    }
}

fn archive(octets: &[u8]) -> Vec<FomModule> {
    let module = fom_module::FomModule::CompressedModule(octets.to_vec().into());
    vec![FomModule { fom_module: Some(module) }]
}

/// Some kilobytes that unpack to more than any module may have.
fn zip_bomb() -> Vec<u8> {
    let chunk = vec![b' '; 1 << 20];
    packed(&[("bomb.xml", 80)], &chunk)
}

fn two_entries() -> Vec<u8> {
    packed(&[("a.xml", 1), ("b.xml", 1)], RANGE.as_bytes())
}

/// An archive of entries that repeat `chunk`.
fn packed(entries: &[(&str, usize)], chunk: &[u8]) -> Vec<u8> {
    let mut archive = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    for &(name, times) in entries {
        archive.start_file(name, SimpleFileOptions::default()).unwrap();
        for _ in 0..times {
            archive.write_all(chunk).unwrap();
        }
    }
    archive.finish().unwrap().into_inner()
}

/// A billion laughs.
fn entity_bomb() -> String {
    let mut text = String::from("<!DOCTYPE objectModel [<!ENTITY a0 \"ha\">");
    for level in 1..30 {
        let inner = format!("&a{};", level - 1).repeat(10);
        text += &format!("<!ENTITY a{level} \"{inner}\">");
    }
    text += "]><objectModel><modelIdentification><name>&a29;</name></modelIdentification></objectModel>";
    text
}

/// Classes in classes in classes.
fn deep() -> String {
    let (open, close) = ("<objectClass><name>C</name>".repeat(100_000), "</objectClass>".repeat(100_000));
    format!("<objectModel><objects>{open}{close}</objects></objectModel>")
}
