//! Fielded object models keep their handles across a snapshot. Set `MESHRTI_FOMS` to a folder with
//! the sub-folders `rpr2`, `rpr3`, `spacefom` and `netn-hla4`. Without it these tests report that
//! they are skipped.
#![allow(clippy::print_stdout)] // a skipped test must say so

use super::*;
use std::path::PathBuf;

fn modules_of(folder: &str) -> Option<Vec<ModuleText>> {
    let Some(foms) = std::env::var_os("MESHRTI_FOMS").map(PathBuf::from) else {
        println!("skipped: MESHRTI_FOMS is not set");
        return None;
    };
    let entries = std::fs::read_dir(foms.join(folder)).expect("the folder of an object model");
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
    paths.retain(|path| path.extension().is_some_and(|ext| ext == "xml"));
    paths.sort();
    let read = |path: &PathBuf| ModuleText {
        designator: path.file_name().expect("a file").to_string_lossy().into_owned(),
        text: std::fs::read(path).expect("a file").into(),
    };
    Some(paths.iter().map(read).collect())
}

/// Everything that has a handle, in the order of handles.
fn handles(model: &Fdd) -> Vec<String> {
    let classes = model.object_classes().map(|class| {
        format!("{:?} {} {:?} {:?}", class.handle, class.name, class.attributes, class.dimensions)
    });
    let attributes =
        model.attributes().map(|a| format!("{:?} {} {:?} {:?}", a.handle, a.name, a.class, a.order));
    let interactions = model.interaction_classes().map(|class| {
        format!("{:?} {} {:?} {:?}", class.handle, class.name, class.parameters, class.transportation)
    });
    let parameters = model.parameters().map(|p| format!("{:?} {} {:?}", p.handle, p.name, p.class));
    let dimensions = model.dimensions().map(|d| format!("{:?} {} {}", d.handle, d.name, d.upper_bound));
    let types = model.transportations().map(|t| format!("{:?} {}", t.handle, t.name));
    let all = classes.chain(attributes).chain(interactions).chain(parameters);
    all.chain(dimensions).chain(types).collect()
}

/// Creates a federation with some modules and lets federates add the others: in pairs, then one by
/// one, then backwards.
fn check(folder: &str) {
    let Some(mut modules) = modules_of(folder) else { return };
    let later = modules.split_off(modules.len() / 2);
    let (federation, time) = ("F".to_owned(), String::new());
    let mut plane = plane();
    plane
        .apply(Command::Create { federation, mim: None, modules, time, directive: ResignAction::NoAction })
        .unwrap();
    let (twos, ones) = later.split_at(later.len() / 2);
    let batches = twos.chunks(2).chain(ones.rchunks(1)).map(<[ModuleText]>::to_vec);
    let mut versions = vec![plane.snapshot()];
    for modules in batches {
        let federation = "F".to_owned();
        let joined = plane.apply(Command::Join {
            federation,
            name: None,
            federate_type: String::new(),
            modules,
            known: None,
            node: NodeId(1),
            host: String::new(),
            designators: Vec::new(),
        });
        if let Err(error) = joined {
            // Modules that require another one cannot come before it.
            println!("{folder}: {error}");
        }
        versions.push(plane.snapshot());
    }
    let model = |plane: &ControlPlane| handles(&plane.federation("F").unwrap().model);
    let snapshot = plane.snapshot();
    let mut restored = restore(&snapshot, &ControlPlane::default()).unwrap();
    assert_eq!(model(&restored), model(&plane));
    assert_eq!(restored.snapshot(), snapshot);
    // Step by step, from older states of the same history.
    restored = ControlPlane::default();
    for version in &versions {
        restored = restore(version, &restored).unwrap();
    }
    assert_eq!(model(&restored), model(&plane));
    let count = plane.federation("F").unwrap().model_version();
    println!("{folder}: {} octets, {count} extensions", snapshot.len());
}

#[test]
fn rpr_2() {
    check("rpr2");
}

#[test]
fn rpr_3() {
    check("rpr3");
}

#[test]
fn space_fom() {
    check("spacefom");
}

#[test]
fn netn_4() {
    check("netn-hla4");
}
