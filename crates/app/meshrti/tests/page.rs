//! The page of `meshrti bench report`, looked at in a browser: it is drawn, it fits, nothing goes wrong, and
//! nothing is asked of the network.

#![allow(clippy::print_stderr)] // a skipped test says so

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

/// `required`: without Chromium the test fails; `skip`: it is not run.
const REQUIREMENT: &str = "MESHRTI_CHROMIUM";
const PROGRAMS: [&str; 2] = ["chromium", "chromium-browser"];

/// The browser, if there is one for a test.
fn browser() -> Option<PathBuf> {
    let requirement = std::env::var(REQUIREMENT).unwrap_or_default();
    assert!(["", "required", "skip"].contains(&requirement.as_str()), "{REQUIREMENT}={requirement}");
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut files = std::env::split_paths(&path).flat_map(|folder| PROGRAMS.map(|name| folder.join(name)));
    let found = files.find(|file| file.is_file()).filter(|_| requirement != "skip");
    if found.is_none() {
        assert_ne!(requirement, "required", "no Chromium found (Debian: apt-get install chromium)");
        eprintln!("SKIPPED, the page of results is NOT looked at: no Chromium, or {REQUIREMENT} is `skip`");
    }
    found
}

/// Measures of one case of each test of the suite, small.
const MATRIX: &str = r#"
title = "A page <to> look at"
[[cells]]
test = "ping"
samples = 10
warm_up = 1
runs = 2
sizes = ["16", "1k"]
[[cells]]
test = "latency"
samples = 10
warm_up = 1
runs = 2
sizes = ["16", "1k"]
ddm = ["off", "one-region"]
[[cells]]
test = "mass"
samples = 10
warm_up = 1
runs = 2
objects = [5, 20]
ddm = ["off", "region-per-object"]
"#;

/// Looks at the page from a frame: after it is loaded, the text of the body is what was found.
const LOOK: &str = r#"<!doctype html><title>look</title><body><iframe id="page" width="1000" height="800"></iframe>
<script>
const frame = document.getElementById("page");
frame.onload = () => {
  const page = frame.contentDocument;
  const size = (element) => { const box = element.getBoundingClientRect(); return [box.width, box.height]; };
  const texts = [...page.querySelectorAll("svg")].map((svg) => {
    const all = svg.getBoundingClientRect();
    return [...svg.querySelectorAll("text")].filter((text) => {
      const box = text.getBoundingClientRect();
      return box.left < all.left - 1 || box.right > all.right + 1 || box.top < all.top - 1 || box.bottom > all.bottom + 1;
    }).map((text) => text.textContent);
  });
  const view = page.scrollingElement;
  document.body.textContent = "FOUND" + JSON.stringify({
    title: page.title,
    headings: [...page.querySelectorAll("h1, h2")].map((heading) => heading.textContent),
    plots: [...page.querySelectorAll("svg")].map(size),
    cut: texts.flat(),
    rows: page.querySelectorAll("tr").length,
    wide: view.scrollWidth - view.clientWidth,
    loads: frame.contentWindow.performance.getEntriesByType("resource").map((load) => load.name),
  }) + "END";
};
frame.src = "report.html";
</script>"#;

/// Runs the browser on a page without a window. Returns what it printed, and whether the page wrote to its
/// console, as it does for errors and for what could not be loaded.
fn look(browser: &Path, folder: &Path, what: &str, page: &str) -> (String, bool) {
    let profile = folder.join("profile");
    let output = Command::new(browser)
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"])
        .args(["--disable-background-networking", "--disable-component-update", "--disable-sync"])
        .args(["--disable-dev-shm-usage", "--allow-file-access-from-files", "--enable-logging=stderr"])
        // The browser itself asks hosts of its maker. Nothing listens on this port.
        .args(["--proxy-server=http://127.0.0.1:1", "--proxy-bypass-list=<-loopback>"])
        .args(["--window-size=1000,1400", "--hide-scrollbars", "--timeout=20000"])
        .arg(format!("--user-data-dir={}", profile.display()))
        .arg(what)
        .arg(format!("file://{}", folder.join(page).display()))
        .env("HOME", folder)
        .output()
        .expect("the browser starts");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{what}: {said}");
    (String::from_utf8_lossy(&output.stdout).into_owned(), said.contains(":CONSOLE"))
}

/// The findings of [`LOOK`] on `report.html` in a folder, and whether something was written to the console.
fn found(browser: &Path, folder: &Path) -> (Value, bool) {
    std::fs::write(folder.join("look.html"), LOOK).expect("the folder is there");
    let (seen, has_spoken) = look(browser, folder, "--dump-dom", "look.html");
    let found = seen.split_once("FOUND").and_then(|(_, rest)| rest.split_once("END"));
    let found = found.unwrap_or_else(|| panic!("the page is not there: {seen}")).0;
    // A browser writes some characters of a text as entities.
    let found = found.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&");
    (serde_json::from_str(&found).unwrap_or_else(|error| panic!("{error}: {found}")), has_spoken)
}

/// An empty folder.
fn folder(name: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_dir_all(&folder); // of an earlier run
    std::fs::create_dir_all(&folder).expect("the folder can be made");
    folder
}

#[test]
fn the_page_of_results_is_drawn_without_errors_and_without_a_network() {
    let Some(browser) = browser() else { return };
    let folder = folder("bench-page");
    std::fs::write(folder.join("page.toml"), MATRIX).expect("the folder is there");
    let measured = Command::new(env!("CARGO_BIN_EXE_meshrti"))
        .args(["bench", "matrix", "page.toml", "-o", "."])
        .current_dir(&folder)
        .output()
        .expect("the program starts");
    assert!(measured.status.success(), "{}", String::from_utf8_lossy(&measured.stderr));
    let (found, has_spoken) = found(&browser, &folder);
    assert_eq!(found["headings"][0], "A page <to> look at", "{found}");
    let plots = found["plots"].as_array().expect("a list");
    assert!(plots.len() >= 3, "a plot for each test: {found}");
    for plot in plots {
        let [width, height] = [0, 1].map(|at| plot[at].as_f64().unwrap_or_default());
        assert!(width > 100.0 && height > 100.0, "it is drawn: {found}");
    }
    assert_eq!(found["cut"], serde_json::json!([]), "no text of a plot is cut off");
    assert!(found["rows"].as_u64().unwrap_or_default() >= 8, "{found}");
    assert_eq!(found["wide"], 0, "nothing is wider than the page");
    assert_eq!(found["loads"], serde_json::json!([]), "everything is in the page");
    assert!(!has_spoken, "no error");

    for (what, file, start) in
        [("screenshot", "page.png", &b"\x89PNG"[..]), ("print-to-pdf", "page.pdf", b"%PDF")]
    {
        let file = folder.join(file);
        look(&browser, &folder, &format!("--{what}={}", file.display()), "report.html");
        let octets = std::fs::read(&file).expect("it was written");
        assert!(octets.starts_with(start) && octets.len() > 20_000, "{}: {}", file.display(), octets.len());
    }
}

/// The test above can fail.
#[test]
fn a_page_that_is_wrong_is_noticed() {
    let Some(browser) = browser() else { return };
    let folder = folder("bench-wrong-page");
    let page = "<!doctype html><title>x</title><h1>x</h1><p style='width: 3000px'>wide</p>\
        <img src='http://127.0.0.1:1/x.png'><svg width='300' height='200'><text x='280' y='20'>cut off</text></svg>\
        <script>undefined_function();</script>";
    std::fs::write(folder.join("report.html"), page).expect("the folder is there");
    let (found, has_spoken) = found(&browser, &folder);
    assert!(has_spoken);
    assert_eq!(found["loads"], serde_json::json!(["http://127.0.0.1:1/x.png"]));
    assert_eq!(found["cut"], serde_json::json!(["cut off"]));
    assert!(found["wide"].as_u64().unwrap_or_default() > 1000, "{found}");
}
