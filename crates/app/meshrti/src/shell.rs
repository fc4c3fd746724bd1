//! `meshrti completions` and `meshrti man`: what shells and manuals need to know of the command
//! line.

use std::io::Write as _;
use std::path::PathBuf;

use clap_complete::Shell;
use console::exit::{Failure, Outcome, Status};

/// Print the completions of a shell.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  meshrti completions bash > /etc/bash_completion.d/meshrti
  meshrti completions zsh > \"${fpath[1]}/_meshrti\"
  meshrti completions fish > ~/.config/fish/completions/meshrti.fish")]
pub(crate) struct CompletionsArgs {
    /// The shell
    #[arg(value_enum, value_name = "SHELL")]
    shell: Shell,
}

/// Write the manual pages into a folder: one of the program, and one of each subcommand.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  meshrti man man1                       meshrti.1, meshrti-serve.1, ...
  man -l man1/meshrti-serve.1            read one of them")]
pub(crate) struct ManArgs {
    /// The folder, which is made if it is missing
    #[arg(value_name = "FOLDER")]
    folder: PathBuf,
}

/// Prints the completions.
pub(crate) fn completions(args: &CompletionsArgs, mut program: clap::Command) -> Outcome {
    let name = program.get_name().to_owned();
    let mut text = Vec::new(); // the library panics when it writes to a closed pipe
    clap_complete::generate(args.shell, &mut program, name, &mut text);
    let _ = std::io::stdout().lock().write_all(&text);
    Ok(Status::Done)
}

/// Writes the pages.
pub(crate) fn man(args: &ManArgs, program: clap::Command) -> Outcome {
    let failure = |error: std::io::Error| {
        Failure::bad_news(format_args!("{}: pages cannot be written: {error}", args.folder.display()))
    };
    std::fs::create_dir_all(&args.folder).map_err(failure)?;
    clap_mangen::generate_to(program, &args.folder).map_err(failure)?;
    Ok(Status::Done)
}
