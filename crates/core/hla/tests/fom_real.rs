//! Fielded object models. Set `MESHRTI_FOMS` to a folder with the sub-folders `rpr2`, `rpr3`,
//! `spacefom`, `netn-hla4`, `hperf` and `mim`; without it these tests report that they skip.
#![allow(clippy::print_stdout)] // a skipped test must say so

use std::path::{Path, PathBuf};

use hla::fom::{Edition, Fdd, Limits, Module, edition_for, render, summary};

fn folder() -> Option<PathBuf> {
    let folder = std::env::var_os("MESHRTI_FOMS").map(PathBuf::from);
    if folder.is_none() {
        println!("skipped: MESHRTI_FOMS is not set");
    }
    folder
}

fn read(path: &Path) -> Module {
    let octets = std::fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let name = path.file_name().unwrap().to_string_lossy().into_owned();
    match Module::read(&name, &octets, &Limits::default()) {
        Ok((module, warnings)) => {
            print!("{}", render(&warnings));
            module
        }
        Err(error) => panic!("{}", render(&error.diagnostics)),
    }
}

fn read_all(folder: &Path) -> Vec<Module> {
    let entries = std::fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|ext| ext == "xml"));
    paths.sort();
    paths.iter().map(|path| read(path)).collect()
}

fn merge(edition: Edition, modules: &[Module]) -> Fdd {
    match Fdd::standard(edition).extend(modules) {
        Ok((fdd, warnings)) => {
            print!("{}", render(&warnings));
            println!("{}: {}", edition.year(), summary(&fdd));
            fdd
        }
        Err(error) => panic!("{}", render(&error.diagnostics)),
    }
}

/// The names in the model with their details, so that models can be compared.
fn names(fdd: &Fdd) -> Vec<String> {
    let mut all = Vec::new();
    for class in fdd.object_classes() {
        let attributes = class.attributes.iter().map(|&a| fdd.attribute(a).unwrap());
        let mut attributes: Vec<String> = attributes
            .map(|a| format!("{}:{}:{:?}:{:?}", a.name, a.datatype, a.transportation, a.order))
            .collect();
        attributes.sort();
        all.push(format!("{} {attributes:?}", class.name));
    }
    for class in fdd.interaction_classes() {
        let parameters = class.parameters.iter().map(|&p| fdd.parameter(p).unwrap());
        let mut parameters: Vec<String> = parameters.map(|p| format!("{}:{}", p.name, p.datatype)).collect();
        parameters.sort();
        all.push(format!("{} {parameters:?} {:?} {:?}", class.name, class.transportation, class.order));
    }
    all.sort();
    all
}

fn check(folder_name: &str, count: usize) {
    let Some(folder) = folder() else { return };
    let modules = read_all(&folder.join(folder_name));
    assert_eq!(modules.len(), count);
    let editions = [Edition::Hla2025, edition_for(&modules)];
    for edition in editions {
        let fdd = merge(edition, &modules);
        let mut reversed = modules.clone();
        reversed.reverse();
        assert_eq!(names(&merge(edition, &reversed)), names(&fdd));
        let one_by_one = modules
            .iter()
            .fold(Fdd::standard(edition), |fdd, module| fdd.extend(std::slice::from_ref(module)).unwrap().0);
        assert_eq!(names(&one_by_one), names(&fdd));
        let xml = fdd.to_xml();
        let (again, _) = Module::read("merged", xml.as_bytes(), &Limits::default()).unwrap();
        let again = Fdd::with_mim(&again).unwrap_or_else(|error| panic!("{}", render(&error.diagnostics)));
        assert_eq!(names(&again), names(&fdd));
    }
}

#[test]
fn rpr_2() {
    check("rpr2", 14);
}

#[test]
fn rpr_3() {
    check("rpr3", 15);
}

#[test]
fn space_fom() {
    check("spacefom", 6);
}

#[test]
fn netn_4() {
    let Some(folder) = folder() else { return };
    let mut modules = read_all(&folder.join("netn-hla4"));
    assert_eq!(modules.len(), 14);
    modules.extend(read_all(&folder.join("rpr3")));
    let forward = merge(Edition::Hla2025, &modules);
    modules.reverse();
    assert_eq!(names(&merge(Edition::Hla2025, &modules)), names(&forward));
}

/// The built-in MIM of 2010 has the same content as the published one.
#[test]
fn standard_mim_of_2010() {
    let Some(folder) = folder() else { return };
    let published = read(&folder.join("mim/HLAstandardMIM-2010.xml"));
    let published = match Fdd::with_mim(&published) {
        Ok(fdd) => fdd,
        Err(error) => panic!("{}", render(&error.diagnostics)),
    };
    let built_in = Fdd::standard(Edition::Hla2010);
    assert_eq!(names(&published), names(&built_in));
    assert_eq!(summary(&published), summary(&built_in));
    let kinds = |fdd: &Fdd| fdd.datatypes().map(|d| format!("{d:?}")).collect::<Vec<_>>();
    assert_eq!(kinds(&published), kinds(&built_in));
    // As a FOM module it does not clash with the built-in MIM either.
    let (_, warnings) = built_in.extend(&[read(&folder.join("mim/HLAstandardMIM-2010.xml"))]).unwrap();
    assert_eq!(render(&warnings), "");
}

#[test]
fn hperf() {
    check("hperf", 1);
}

#[test]
fn fielded_models_are_far_below_the_limits() {
    let Some(folder) = folder() else { return };
    let limits = Limits::default();
    for set in ["rpr2", "rpr3", "spacefom", "netn-hla4", "hperf"] {
        let modules = read_all(&folder.join(set));
        let bytes: usize = modules.iter().map(|module| module.text().len()).sum();
        let nodes: u32 = modules.iter().map(|module| module.cost().nodes).sum();
        let lookups: u64 = modules.iter().map(|module| module.cost().lookups).sum();
        println!("{set}: {} modules, {bytes} bytes, {nodes} nodes, {lookups} look-ups", modules.len());
        assert!(modules.len() * 2 <= limits.call_modules && bytes * 10 <= limits.call_bytes, "{set}");
        assert!(nodes * 10 <= limits.nodes && lookups * 10 <= limits.lookups, "{set}");
    }
}
