//! `meshrti fom`: checks FOM modules and merges them.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use clap::{Subcommand, ValueEnum};
use hla::api::ResignAction;
use hla::fom::{self, Diagnostic, Edition, Fdd, FomError, FomErrorKind, Limits, Module, Severity, Summary};
use serde_json::json;

use console::exit::{Failure, Outcome, Status, say};
use console::report::{JsonFlag, Report};

/// Check and merge FOM modules.
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Say what is wrong with FOM modules, each by itself and all together
    #[command(after_help = "\
Examples:
  meshrti fom check RPR-*.xml
  meshrti fom check --edition 2010 my.xml base.zip
  meshrti fom check *.xml --json findings.json

Exit status: 0 they can be used together (there may be warnings), 1 they cannot.")]
    Check(CheckArgs),
    /// Write FOM modules and the MIM as one object model
    #[command(after_help = "\
Examples:
  meshrti fom merge RPR-*.xml -o RPR-merged.xml
  meshrti fom merge a.xml b.xml -o - | less

Exit status: 0 written, 1 the modules cannot be used together.")]
    Merge(MergeArgs),
}

#[derive(clap::Args)]
struct CheckArgs {
    #[command(flatten)]
    modules: Modules,
    #[command(flatten)]
    json: JsonFlag,
}

#[derive(clap::Args)]
struct MergeArgs {
    #[command(flatten)]
    modules: Modules,
    /// The file to write; `-` is the standard output
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
}

#[derive(clap::Args)]
struct Modules {
    /// FOM modules: XML files, or ZIP archives with one XML file each
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// A MIM to use instead of the built-in standard one
    #[arg(long, value_name = "FILE")]
    mim: Option<PathBuf>,
    /// The edition of the built-in MIM, whose rules hold [default: 2010 if all modules are, else 2025]
    #[arg(long, value_enum, conflicts_with = "mim")]
    edition: Option<EditionName>,
}

#[derive(Clone, Copy, ValueEnum)]
enum EditionName {
    #[value(name = "2010")]
    Hla2010,
    #[value(name = "2025")]
    Hla2025,
}

impl From<EditionName> for Edition {
    fn from(name: EditionName) -> Self {
        match name {
            EditionName::Hla2010 => Edition::Hla2010,
            EditionName::Hla2025 => Edition::Hla2025,
        }
    }
}

pub(crate) fn run(args: &Args) -> Outcome {
    match &args.command {
        Command::Check(args) => check(args),
        Command::Merge(args) => merge(args),
    }
}

/// The result of reading and merging: the findings, and the model if there is one.
struct Checked {
    findings: Vec<Diagnostic>,
    model: Option<Fdd>,
}

impl Checked {
    fn count(&self, severity: Severity) -> usize {
        self.findings.iter().filter(|finding| finding.severity == severity).count()
    }

    fn status(&self) -> Status {
        if self.model.is_some() { Status::Done } else { Status::BadNews }
    }

    /// A hint at valid parts of the model that may still surprise.
    fn hint(&self) -> Option<&'static str> {
        let action = self.model.as_ref()?.switches().automatic_resign_action;
        (action == ResignAction::NoAction).then_some(
            "hint: automaticResignAction is NoAction (the default): objects of a federate that is lost stay for ever, \
             without an owner. DeleteObjectsThenDivest in the switches table of the first module removes them",
        )
    }

    fn verdict(&self) -> String {
        let number = |severity, word: &str| match self.count(severity) {
            1 => format!("1 {word}"),
            many => format!("{many} {word}s"),
        };
        format!("{}, {}", number(Severity::Error, "error"), number(Severity::Warning, "warning"))
    }
}

impl Modules {
    /// Reads every file and merges them, as far as each can be read, so that all findings are
    /// reported at once. There is a model only if nothing is wrong.
    fn check(&self) -> Checked {
        let mut findings = Vec::new();
        let mut is_sound = true;
        let mut modules = Vec::new();
        for file in &self.files {
            let (module, found) = read(file);
            is_sound &= found.is_ok();
            kept(found.map(|warnings| ((), warnings)), &mut findings);
            modules.extend(module);
        }
        let base = match &self.mim {
            None => {
                let edition = self.edition.map_or_else(|| fom::edition_for(&modules), Edition::from);
                Some(Fdd::standard(edition))
            }
            Some(file) => {
                let (mim, found) = read(file);
                let found = found.map_err(FomError::as_mim);
                let sound = kept(found.map(|warnings| ((), warnings)), &mut findings);
                mim.filter(|_| sound.is_some())
                    .and_then(|mim| kept(Fdd::with_mim(&mim).map(|fdd| (fdd, Vec::new())), &mut findings))
            }
        };
        let model = base.and_then(|base| kept(base.extend(&modules), &mut findings));
        Checked { findings, model: model.filter(|_| is_sound) }
    }
}

/// Adds the findings of a step, and returns its result if there is one.
fn kept<T>(step: Result<(T, Vec<Diagnostic>), FomError>, findings: &mut Vec<Diagnostic>) -> Option<T> {
    match step {
        Ok((result, warnings)) => {
            findings.extend(warnings);
            Some(result)
        }
        Err(error) => {
            findings.extend(error.diagnostics);
            None
        }
    }
}

/// Reads a module as far as it can be read, with what is wrong.
fn read(file: &Path) -> (Option<Module>, Result<Vec<Diagnostic>, FomError>) {
    let name = file.display().to_string();
    match octets_of(file, &name) {
        Ok(octets) => Module::check(&name, &octets, &Limits::default()),
        Err(error) => (None, Err(error)),
    }
}

/// The octets of a FOM module, which may be in a ZIP archive.
///
/// # Errors
/// The file cannot be read, or unpacked.
pub(crate) fn octets_of(file: &Path, name: &str) -> Result<Vec<u8>, FomError> {
    let mut octets = std::fs::read(file).map_err(|error| {
        FomError::of_file(FomErrorKind::CouldNotOpen, name, format!("cannot be read: {error}"))
    })?;
    if octets.starts_with(b"PK\x03\x04") {
        let unpacked = fom::unpack(&octets, &Limits::default()).map_err(|mut error| {
            error.diagnostics.iter_mut().for_each(|finding| name.clone_into(&mut finding.file));
            error
        });
        (_, octets) = unpacked?;
    }
    Ok(octets)
}

fn check(args: &CheckArgs) -> Outcome {
    let mut report = Report::new("fom check", 1);
    let checked = args.modules.check();
    let summary = checked.model.as_ref().map(fom::summary);
    let hint = checked.hint();
    if !args.json.takes_stdout() {
        for finding in &checked.findings {
            say(finding);
        }
        match &summary {
            Some(summary) => say(format_args!("{}; {summary}", checked.verdict())),
            None => say(format_args!("{}; the modules cannot be used together", checked.verdict())),
        }
        hint.iter().for_each(say);
    }
    for finding in &checked.findings {
        report.row(json!({
            "file": finding.file,
            "line": finding.line,
            "column": finding.column,
            "severity": finding.severity.to_string(),
            "message": finding.message,
            "expected": finding.expected,
        }));
    }
    if let Some(summary) = &summary {
        report.summary(summary_value(summary));
    }
    report.note(checked.verdict());
    hint.iter().for_each(|hint| report.note(*hint));
    args.json.write(&report)?;
    Ok(checked.status())
}

fn summary_value(summary: &Summary) -> serde_json::Value {
    json!({
        "modules": summary.modules,
        "object_classes": summary.object_classes,
        "attributes": summary.attributes,
        "interaction_classes": summary.interaction_classes,
        "parameters": summary.parameters,
        "datatypes": summary.datatypes,
        "dimensions": summary.dimensions,
        "transportations": summary.transportations,
        "update_rates": summary.update_rates,
    })
}

fn merge(args: &MergeArgs) -> Outcome {
    let checked = args.modules.check();
    let mut stderr = std::io::stderr().lock();
    // A failure is ignored: with the standard error closed, no output can report it.
    let _ = stderr.write_all(fom::render(&checked.findings).as_bytes());
    let Some(model) = &checked.model else {
        return Err(Failure::bad_news(format_args!("{}; nothing was written", checked.verdict())));
    };
    let text = model.to_xml();
    if args.output == Path::new("-") {
        // A closed pipe is no reason to fail.
        let _ = std::io::stdout().lock().write_all(text.as_bytes());
        return Ok(Status::Done);
    }
    std::fs::write(&args.output, text).map_err(|error| {
        Failure::bad_news(format_args!("{}: the model cannot be written: {error}", args.output.display()))
    })?;
    say(format_args!("{}: {}", args.output.display(), fom::summary(model)));
    Ok(Status::Done)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn modules(files: &[PathBuf]) -> Modules {
        Modules { files: files.to_vec(), mim: None, edition: Some(EditionName::Hla2025) }
    }

    fn folder(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("meshrti-fom-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        folder
    }

    #[test]
    fn all_files_are_told_of_at_once() {
        let folder = folder("told");
        let bad = folder.join("bad.xml");
        std::fs::write(&bad, "<objectModel>\n<oops>").unwrap();
        let checked = modules(&[folder.join("missing.xml"), bad.clone()]).check();
        assert_eq!((checked.count(Severity::Error), checked.status()), (2, Status::BadNews));
        assert!(checked.findings[0].message.starts_with("cannot be read"));
        assert_eq!((checked.findings[1].line, &checked.findings[1].file), (2, &bad.display().to_string()));
        std::fs::remove_dir_all(folder).unwrap();
    }

    /// One run tells of what breaks a rule in a module, of what clashes between modules, and of names
    /// that no module defines.
    #[test]
    fn all_kinds_of_mistakes_are_told_of_in_one_run() {
        let folder = folder("kinds");
        let write = |name: &str, attributes: &str| {
            let text = format!(
                "<objectModel xmlns=\"http://standards.ieee.org/IEEE1516-2025\"><objects><objectClass>\
                 <name>HLAobjectRoot</name><objectClass><name>A</name>{attributes}</objectClass></objectClass>\
                 </objects></objectModel>"
            );
            let file = folder.join(name);
            std::fs::write(&file, text).unwrap();
            file
        };
        let a = write("a.xml", "<attribute><name>x</name><dataType>Missing</dataType></attribute>");
        let b = write(
            "b.xml",
            "<attribute><name>x</name><dataType>HLAbyte</dataType></attribute>\
             <attribute><name>y</name><order>Later</order></attribute><attribute/>",
        );
        let checked = modules(&[a, b]).check();
        let said: Vec<&str> = checked.findings.iter().map(|finding| finding.message.as_str()).collect();
        for expected in
            ["`Later` is no order", "without a name", "data type `HLAbyte`", "`Missing`, which no"]
        {
            assert!(said.iter().any(|message| message.contains(expected)), "{expected}: {said:#?}");
        }
        assert_eq!(checked.status(), Status::BadNews);
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn that_objects_of_the_lost_stay_is_hinted_at() {
        let folder = folder("hint");
        let hint_with = |switches: &str| {
            let file = folder.join("switches.xml");
            let text = format!(
                "<objectModel xmlns=\"http://standards.ieee.org/IEEE1516-2025\">{switches}</objectModel>"
            );
            std::fs::write(&file, text).unwrap();
            modules(&[file]).check().hint()
        };
        let action = |of| format!("<switches><automaticResignAction resignAction=\"{of}\"/></switches>");
        assert!(hint_with("").is_some_and(|hint| hint.contains("automaticResignAction is NoAction")));
        assert!(hint_with(&action("NoAction")).is_some());
        assert_eq!(hint_with(&action("DeleteObjectsThenDivest")), None);
        assert_eq!(hint_with("<oops>"), None, "there is no model");
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn merged_modules_can_be_checked_again() {
        let folder = folder("merged");
        let (small, merged) = (folder.join("small.xml"), folder.join("merged.xml"));
        let text = "<objectModel xmlns=\"http://standards.ieee.org/IEEE1516-2025\"><objects><objectClass>\
                    <name>HLAobjectRoot</name><objectClass><name>A</name></objectClass></objectClass></objects></objectModel>";
        std::fs::write(&small, text).unwrap();
        let args = MergeArgs { modules: modules(&[small]), output: merged.clone() };
        assert_eq!(merge(&args).unwrap(), Status::Done);
        let again = modules(&[merged]).check();
        assert_eq!(again.verdict(), "0 errors, 0 warnings");
        assert!(again.model.unwrap().object_class_by_name("A").is_some());
        std::fs::remove_dir_all(folder).unwrap();
    }
}
