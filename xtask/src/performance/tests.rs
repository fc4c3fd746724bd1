//! Pages that agree with a list, and pages with each fault.

use super::page::Fault;
use super::*;

fn two() -> Vec<Measurement> {
    let entry = |name: &str| format!("[[measurement]]\nname = '{name}'\ncommand = 'bench {name}'\n");
    list::parse(&(entry("ping") + &entry("floor"))).unwrap()
}

fn block(name: &str) -> String {
    format!("`meshrti bench {name}`\n\n2026-11-28\n\n```text\n{name} 1\n```\n")
}

fn marked(name: &str, content: &str) -> String {
    format!("<!-- begin {name} -->\n{content}<!-- end {name} -->\n")
}

/// A page with a block for each of [`two`].
fn page() -> String {
    format!("# Page\n\n{}\ntext\n{}", marked("ping", &block("ping")), marked("floor", &block("floor")))
}

fn faults(text: &str) -> Vec<Fault> {
    Page::parse(PAGE, text).faults(PAGE, LIST, &two())
}

#[test]
fn a_page_that_agrees_has_no_differences() {
    assert_eq!(differences_of(&page(), &two()), [""; 0]);
    assert_eq!(differences_of(&(page() + "<!-- a comment -->\n`<!-- begin NAME -->`\n"), &two()), [""; 0]);
}

#[test]
fn a_block_is_replaced_and_nothing_else() {
    let text = page();
    let replaced = Page::parse(PAGE, &text).replaced("ping", "new\n").unwrap();
    assert_eq!(replaced, text.replace(&block("ping"), "new\n"));
    assert_eq!(Page::parse(PAGE, &text).replaced("pong", "new\n"), None);
    let empty = text.replace(&block("floor"), "");
    assert_eq!(Page::parse(PAGE, &empty).replaced("floor", &block("floor")).unwrap(), text);
}

#[test]
fn each_fault_is_named_with_its_line() {
    let at = |line: usize| format!("{PAGE}:{line}: ");
    let (begin, end) = ("<!-- begin ping -->\n", "<!-- end ping -->\n");
    let twice = page() + &marked("ping", "");
    let missing = format!("{PAGE}: block `ping` is missing, which {LIST} has: `<!-- begin ping -->`");
    for (text, name, told) in [
        (page().replace(begin, "").replace(end, ""), Some("ping"), missing),
        (twice, Some("ping"), at(23) + "block `ping` begins again, after line 3"),
        (
            page().replace(end, ""),
            Some("ping"),
            at(3) + "block `ping` is not closed before `floor` begins in line 13",
        ),
        (page().replace("<!-- end floor -->\n", ""), Some("floor"), at(14) + "block `floor` is not closed"),
        (page().replace(begin, ""), Some("ping"), at(10) + "block `ping` ends, but is not open"),
        (
            page() + &marked("pong", ""),
            Some("pong"),
            at(23) + "block `pong` is no measurement of docs/performance.toml",
        ),
        (
            page() + "<!-- begin -->\n",
            None,
            at(23) + "`<!-- begin -->` is no marker: `<!-- begin NAME -->` or `<!-- end NAME -->`",
        ),
        (
            page() + "<!-- end-->\n",
            None,
            at(23) + "`<!-- end-->` is no marker: `<!-- begin NAME -->` or `<!-- end NAME -->`",
        ),
    ] {
        let expected = Fault { name: name.map(str::to_owned), message: told };
        assert_eq!(faults(&text), [expected], "{text}");
        if let Some(name) = name.filter(|name| *name != "pong") {
            assert_eq!(
                Page::parse(PAGE, &text).replaced(name, "new\n"),
                None,
                "a block with a fault is left"
            );
        }
        assert!(differences_of(&text, &two()).iter().any(|told| *told == faults(&text)[0].message));
    }
}

#[test]
fn a_fault_leaves_the_other_blocks_as_good_as_they_are() {
    let open = page().replace("<!-- end ping -->\n", "");
    let replaced = Page::parse(PAGE, &open).replaced("floor", "new\n").unwrap();
    assert_eq!(replaced, open.replace(&block("floor"), "new\n"));
}

#[test]
fn a_block_of_another_command_or_without_tables_is_stale() {
    let of = |from: &str, to: &str| differences_of(&page().replace(from, to), &two());
    let repair = "`cargo xtask performance --only ping` writes it";
    assert_eq!(
        of("`meshrti bench ping`", "`meshrti bench ping --size 1`"),
        [format!(
            "{PAGE}:3: block `ping` begins with \"`meshrti bench ping --size 1`\" in place of \"`meshrti bench ping`\"; {repair}"
        )]
    );
    let no_tables = format!("{PAGE}:3: block `ping` has no tables; {repair}");
    assert_eq!(of("```text\nping 1\n```\n", ""), [&no_tables[..]]);
    assert_eq!(of("ping 1\n", "\n"), [&no_tables[..]]);
    assert_eq!(of(&block("ping"), "").len(), 1);
}

#[test]
fn a_failure_leaves_its_block_and_the_others_are_written() {
    let folder = std::env::temp_dir().join(format!("meshrti-performance-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join("page.md");
    std::fs::write(&path, page()).unwrap();
    let failures = each(&two(), |measurement| {
        ensure!(measurement.name != "ping", "it ended with exit status: 1");
        store(&path, &measurement.name, "new\n")
    });
    assert_eq!(failures, ["ping: `meshrti bench ping`: it ended with exit status: 1"]);
    assert_eq!(std::fs::read_to_string(&path).unwrap(), page().replace(&block("floor"), "new\n"));
    let error = store(&path, "pong", "new\n").unwrap_err().to_string();
    assert_eq!(error, format!("{PAGE} has lost the block `pong` meanwhile"));
    let left: Vec<_> = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["page.md"], "nothing temporary is left");
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn a_page_that_cannot_be_written_is_left_as_it_was() {
    let folder = std::env::temp_dir().join(format!("meshrti-performance-whole-{}", std::process::id()));
    let path = folder.join("page.md");
    // Where the new page would be written there is a folder.
    std::fs::create_dir_all(path.with_extension("md.new")).unwrap();
    std::fs::write(&path, page()).unwrap();
    assert!(store(&path, "ping", "new\n").unwrap_err().to_string().contains("cannot write"));
    assert_eq!(std::fs::read_to_string(&path).unwrap(), page());
    std::fs::remove_dir_all(&folder).unwrap();
}
