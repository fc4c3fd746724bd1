//! Passwords and tokens for a server, which never stand on a command line: other users of a machine can
//! read those.

use std::path::{Path, PathBuf};

use crate::exit::Failure;

/// The environment variable with the password, for commands and their processes.
pub const VARIABLE: &str = "MESHRTI_PASSWORD";
/// The environment variable with the token.
const TOKEN: &str = "MESHRTI_TOKEN";
/// The environment variable with the service for which a Kerberos ticket is shown.
const SERVICE: &str = "MESHRTI_KERBEROS_SERVICE";

/// The option for the password of a server.
#[derive(clap::Args, Clone, Debug)]
pub struct PasswordFlag {
    /// File with the server's password; else it is in MESHRTI_PASSWORD
    #[arg(long, value_name = "FILE")]
    password_file: Option<PathBuf>,
}

impl PasswordFlag {
    /// The password, if there is one: the content of the file without the end of its last line, or
    /// the variable.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn read(&self) -> Result<Option<String>, Failure> {
        self.password_file.as_deref().map_or_else(|| Ok(of_environment()), |path| line(path, "password"))
    }
}

/// The option for a token that says who is connecting.
#[derive(clap::Args, Clone, Debug)]
pub struct TokenFlag {
    /// File with a JSON Web Token for the server; else it is in MESHRTI_TOKEN
    #[arg(long, value_name = "FILE", conflicts_with = "password_file")]
    token_file: Option<PathBuf>,
}

impl TokenFlag {
    /// The token, if there is one: the content of the file without the end of its last line, or the
    /// variable.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn read(&self) -> Result<Option<String>, Failure> {
        self.token_file.as_deref().map_or_else(|| Ok(token_of_environment()), |path| line(path, "token"))
    }
}

/// The line in a file, without its end. `what` it is stands in the error.
///
/// # Errors
/// The file cannot be read.
pub fn line(path: &Path, what: &str) -> Result<Option<String>, Failure> {
    let text = std::fs::read_to_string(path).map_err(|error| {
        Failure::wrong_use(format_args!("{}: the {what} cannot be read: {error}", path.display()))
    })?;
    let line = text.strip_suffix('\n').unwrap_or(&text);
    Ok(Some(line.strip_suffix('\r').unwrap_or(line).to_owned()))
}

/// Reads a password: a line of the standard input. A terminal shows `prompt`, and does not show the
/// password.
///
/// # Errors
/// The standard input cannot be read, or is at its end.
pub fn ask(prompt: &str) -> Result<String, Failure> {
    use std::io::{BufRead as _, Write as _};
    let fail =
        |error: std::io::Error| Failure::bad_news(format_args!("the password cannot be read: {error}"));
    let mut terminal = std::io::stderr();
    // Without a terminal there is nobody to be told.
    let _ = terminal.write_all(prompt.as_bytes()).and_then(|()| terminal.flush());
    let hidden = Hidden::new();
    let mut line = String::new();
    let count = std::io::stdin().lock().read_line(&mut line).map_err(fail)?;
    if hidden.is_some() {
        let _ = terminal.write_all(b"\n");
    }
    if count == 0 {
        return Err(fail(std::io::ErrorKind::UnexpectedEof.into()));
    }
    Ok(line.trim_end_matches(['\n', '\r']).to_owned())
}

/// A terminal that does not show what is typed until this is dropped.
struct Hidden {
    #[cfg(unix)]
    before: rustix::termios::Termios,
}

impl Hidden {
    /// `None` if the standard input is no terminal.
    #[cfg(unix)]
    fn new() -> Option<Self> {
        use rustix::termios::{LocalModes, OptionalActions, tcgetattr, tcsetattr};
        let before = tcgetattr(std::io::stdin()).ok()?;
        let mut silent = before.clone();
        silent.local_modes -= LocalModes::ECHO;
        tcsetattr(std::io::stdin(), OptionalActions::Flush, &silent).ok()?;
        Some(Self { before })
    }

    #[cfg(not(unix))]
    fn new() -> Option<Self> {
        None
    }
}

#[cfg(unix)]
impl Drop for Hidden {
    fn drop(&mut self) {
        use rustix::termios::{OptionalActions, tcsetattr};
        // Nothing more can be done.
        let _ = tcsetattr(std::io::stdin(), OptionalActions::Flush, &self.before);
    }
}

/// The token in the environment, if there is one.
pub fn token_of_environment() -> Option<String> {
    std::env::var(TOKEN).ok()
}

/// The service in the environment for which a Kerberos ticket is shown, if there is one.
pub fn service_of_environment() -> Option<String> {
    std::env::var(SERVICE).ok()
}

/// The password in the environment, if there is one.
pub fn of_environment() -> Option<String> {
    std::env::var(VARIABLE).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_may_end_with_a_line_end_or_not() {
        let path = std::env::temp_dir().join(format!("meshrti-password-{}", std::process::id()));
        for (content, password) in [("open sesame\n", "open sesame"), (" a \r\n", " a "), ("x", "x")] {
            std::fs::write(&path, content).unwrap();
            let flag = PasswordFlag { password_file: Some(path.clone()) };
            assert_eq!(flag.read().unwrap().as_deref(), Some(password));
        }
        std::fs::remove_file(&path).unwrap();
        let flag = PasswordFlag { password_file: Some(path.clone()) };
        assert!(flag.read().unwrap_err().to_string().contains("the password cannot be read"));
        let flag = TokenFlag { token_file: Some(path) };
        assert!(flag.read().unwrap_err().to_string().contains("the token cannot be read"));
    }
}
