//! Chores of the workspace: `cargo xtask gen`.

mod generate;

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match args.first().map(String::as_str) {
        Some("gen") => generate::run(args.iter().any(|a| a == "--check")),
        _ => {
            eprintln!("usage: cargo xtask gen [--check]");
            std::process::exit(2);
        }
    }
}
