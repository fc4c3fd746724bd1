//! The pictures of the README, each for light and for dark pages: the table of a real run of the
//! demo, and the idea.

mod idea;
mod svg;
mod terminal;

use crate::cargo::output;
use crate::workspace::root;
use anyhow::{Context, ensure};
use svg::{DARK, LIGHT, Theme};

const FOLDER: &str = "docs/pictures";
/// Long enough for the visiting flight of the demo to come.
const SECONDS: &str = "12";
const THEMES: [(&str, Theme); 2] = [("light", LIGHT), ("dark", DARK)];

/// Runs the demo, and writes all pictures.
pub(crate) fn write() -> anyhow::Result<()> {
    std::fs::create_dir_all(root().join(FOLDER)).with_context(|| format!("cannot make {FOLDER}"))?;
    let run =
        ["run", "--quiet", "--profile=demo", "--package=meshrti", "--no-default-features", "--locked", "--"];
    let printed = output(&[&run[..], &["demo", "--seconds", SECONDS]].concat())?;
    let table = terminal::last_table(&printed).context("the demo printed no table")?;
    for (name, theme) in &THEMES {
        store(&format!("demo-{name}.svg"), &terminal::draw("cargo demo", &table, theme))?;
        store(&format!("idea-{name}.svg"), &idea::draw(theme))?;
    }
    Ok(())
}

fn store(name: &str, text: &str) -> anyhow::Result<()> {
    let path = root().join(FOLDER).join(name);
    std::fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
    println!("{FOLDER}/{name}");
    Ok(())
}

/// Fails when a picture that is the same in each run is not the one that would be written.
pub(crate) fn check() -> anyhow::Result<()> {
    for (name, theme) in &THEMES {
        let path = format!("{FOLDER}/idea-{name}.svg");
        let kept =
            std::fs::read_to_string(root().join(&path)).with_context(|| format!("cannot read {path}"))?;
        ensure!(kept == idea::draw(theme), "{path} is out of date: `cargo xtask pictures` writes it");
    }
    Ok(())
}
