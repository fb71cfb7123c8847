//! The pages of `rungs trace --html` and `rungs check --html` in a real browser. Reported as ignored if there is none;
//! `cargo xtask test --all` installs Chromium if possible.

use libtest_mimic::{Arguments, Trial};
use serde_json::Value;
use std::path::Path;
use std::process::Command;

fn main() {
    let missing = Command::new(chromium()).arg("--version").output().err();
    if let Some(why) = &missing {
        eprintln!("the test in a browser is ignored: {} does not start: {why}", chromium());
    }
    let tests: [(&str, fn()); 2] = [
        ("the_page_steps_to_the_output_without_an_error", the_page_steps_to_the_output_without_an_error),
        ("the_page_of_a_check_plays_its_run_without_an_error", the_page_of_a_check_plays_its_run_without_an_error),
    ];
    let trial = |(name, test): (&str, fn())| {
        let run = move || {
            test();
            Ok(())
        };
        Trial::test(name, run).with_ignored_flag(missing.is_some())
    };
    libtest_mimic::run(&Arguments::from_args(), tests.map(trial).into()).exit();
}

/// The browser: that in `RUNGS_CHROMIUM`, or Debian's.
fn chromium() -> String {
    std::env::var("RUNGS_CHROMIUM").unwrap_or_else(|_| "chromium".into())
}

/// Loads a page, lets it go through all steps, and returns its document and its console output.
fn load(page: &Path, profile: &Path) -> (String, Vec<String>) {
    let mut command = Command::new(chromium());
    command.args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"]);
    command.args(["--disable-background-networking", "--disable-component-update", "--disable-sync"]);
    command.args(["--virtual-time-budget=10000", "--enable-logging=stderr", "--v=0", "--dump-dom"]);
    command.arg(format!("--user-data-dir={}", profile.display())).arg(format!("file://{}#test", page.display()));
    let output = command.output().unwrap_or_else(|e| panic!("{} does not start: {e}", chromium()));
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    // Chromium writes the page's console as "[…:CONSOLE(line)] …" or, since 2024, "[…:CONSOLE:line] …".
    let console = errors.lines().filter(|l| l.contains("CONSOLE")).map(str::to_string).collect();
    (String::from_utf8(output.stdout).unwrap(), console)
}

/// The value of an attribute of the body.
fn attribute<'d>(document: &'d str, name: &str) -> Option<&'d str> {
    let body = &document[document.find("<body")?..];
    let (_, rest) = body[..body.find('>')?].split_once(&format!("{name}=\""))?;
    rest.split_once('"').map(|(value, _)| value)
}

fn the_page_steps_to_the_output_without_an_error() {
    let folder = std::env::temp_dir().join(format!("rungs-page-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    for (i, arguments) in [
        "bubble --values 9,5,8,4,7,6,3,2,6,8,7,4,3,2,1,0 --block 4",
        "bubble --rung one-block --n 33",
        "bubble --n 0",
        "bitonic --n 16",
        "radix --rung columns-tree --n 16",
        "scan --rung blelloch --n 16",
        "bitonic --n 512",
        "reduce --rung sequential --n 16",
        "matmul --rung shared-tile --n 6",
        "histogram --rung shared-atomics --n 40",
    ]
    .into_iter()
    .enumerate()
    {
        let page = folder.join(format!("{i}.html"));
        let mut command = Command::new(env!("CARGO_BIN_EXE_rungs"));
        command.arg("trace").args(arguments.split_whitespace()).args(["--format", "json", "--html"]).arg(&page);
        let output = command.output().unwrap();
        assert!(output.status.success(), "{arguments}: {}", String::from_utf8_lossy(&output.stderr));
        let trace: Value = serde_json::from_slice(&output.stdout).unwrap();
        let words =
            |key: &str| trace[key].as_array().unwrap().iter().map(|v| v.to_string()).collect::<Vec<_>>().join(" ");
        let steps = trace["steps"].as_array().unwrap().len().to_string();

        let (document, console) = load(&page, &folder.join("profile"));
        assert_eq!(console, Vec::<String>::new(), "{arguments}");
        assert_eq!(attribute(&document, "data-steps"), Some(&steps[..]), "{arguments}");
        assert_eq!(attribute(&document, "data-final"), Some(&words("output")[..]), "{arguments}");
        // A bar for each element, or a cell for each element of each array.
        let cells = |array: &Value| array["rows"].as_u64().unwrap() * array["columns"].as_u64().unwrap();
        let n = trace["arrays"].as_array().map_or(trace["n"].as_u64().unwrap(), |all| all.iter().map(cells).sum());
        assert_eq!(document.matches("<rect ").count() as u64, n, "{arguments}");
        // What a GPU would do: a picture for each kernel at least.
        let kernels: std::collections::BTreeSet<_> =
            trace["steps"].as_array().unwrap().iter().map(|step| step["kernel"].as_str().unwrap()).collect();
        assert_eq!(document.matches("<details>").count(), kernels.len(), "{arguments}");
    }
    // The console is read: a page that fails is found.
    let broken = folder.join("broken.html");
    std::fs::write(&broken, "<!doctype html><script>nobody.defined = this;</script>").unwrap();
    assert!(!load(&broken, &folder.join("profile")).1.is_empty(), "an error on the console was not seen");
    std::fs::remove_dir_all(&folder).unwrap();
}

fn the_page_of_a_check_plays_its_run_without_an_error() {
    let folder = std::env::temp_dir().join(format!("rungs-run-page-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let run = |arguments: &str, page: &Path, code: i32| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_rungs"));
        let output = command.args(arguments.split_whitespace()).arg("--html").arg(page).output().unwrap();
        assert_eq!(output.status.code(), Some(code), "{arguments}: {}", String::from_utf8_lossy(&output.stderr));
        let (document, console) = load(page, &folder.join("profile"));
        assert_eq!(console, Vec::<String>::new(), "{arguments}");
        document
    };
    for arguments in ["check reduce --rung shuffle --n 600 --schedules 2", "check scan --rung look-back --n 3000"] {
        let document = run(arguments, &folder.join("clean.html"), 0);
        let events: usize = attribute(&document, "data-steps").unwrap().parse().unwrap();
        assert!(events > 100, "{arguments}");
        assert!(attribute(&document, "data-first").is_none(), "{arguments}: nothing was found");
        assert!(document.matches("<rect ").count() > 100, "{arguments}");
    }
    for (bug, memory) in [("left-neighbour", "shared byte"), ("local-index", "global byte")] {
        let document = run(&format!("bugs show {bug}"), &folder.join("bug.html"), 0);
        let (first, second) =
            (attribute(&document, "data-first").unwrap(), attribute(&document, "data-second").unwrap());
        for told in [first, second] {
            assert!(told.contains(memory) && told.contains("races.rs:"), "{bug}: {told}");
        }
        assert_ne!(first, second);
    }
    std::fs::remove_dir_all(&folder).unwrap();
}
