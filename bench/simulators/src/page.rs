//! The generated parts of docs/bugs.md, from the recorded results.

use crate::bugs::{self, Report, TOOLS, Verdict};
use crate::speed;
use crate::tools::folder;
use anyhow::{Context, Result, ensure};
use std::fmt::Write;
use std::fs;

/// Writes the page's generated parts again.
///
/// # Errors
/// If a file is missing, or the page has no such part.
pub fn run() -> Result<()> {
    let root = folder().join("../..");
    let read = |name: &str| {
        let path = root.join(name);
        fs::read_to_string(&path).with_context(|| format!("{}", path.display()))
    };
    let report: Report = serde_json::from_str(&read("bench/simulators/results/bugs.json")?)?;
    let speed: speed::Report = serde_json::from_str(&read("bench/simulators/results/speed.json")?)?;
    let mut page = read("docs/bugs.md")?;
    replace(&mut page, "summary", &bugs::summary(&report))?;
    replace(&mut page, "matrix", &matrix(&report))?;
    replace(&mut page, "speed", &speed.page())?;
    fs::write(root.join("docs/bugs.md"), page)?;
    Ok(())
}

fn replace(page: &mut String, part: &str, text: &str) -> Result<()> {
    let (begin, end) = (format!("<!-- {part}: generated -->\n"), format!("<!-- {part}: end -->"));
    let (from, to) = (page.find(&begin).map(|at| at + begin.len()), page.find(&end));
    ensure!(from.is_some() && to >= from, "docs/bugs.md has no part {part}");
    page.replace_range(from.unwrap_or(0)..to.unwrap_or(0), text);
    Ok(())
}

fn matrix(report: &Report) -> String {
    let mut text = format!("| bug | found as | {} | alone on an H200 |\n", TOOLS.join(" | "));
    text += &format!("| --- | --- |{} --- |\n", " --- |".repeat(TOOLS.len()));
    let mut topic = "";
    for row in &report.cases {
        if topic != row.topic {
            topic = &row.topic;
            let _ = writeln!(text, "| **{}** |{}", topic.replace('_', " "), " |".repeat(TOOLS.len() + 2));
        }
        let _ = write!(text, "| {} | {} |", row.name, row.finding);
        for tool in TOOLS {
            let sign = match row.said.get(tool).map(|said| said.verdict) {
                Some(Verdict::Found) => "●",
                Some(Verdict::Missed) => "○",
                Some(Verdict::FalseAlarm) => "✗",
                Some(Verdict::Hangs) => "∞",
                None => "",
            };
            let _ = write!(text, " {sign} |");
        }
        let on_gpu = match row.on_gpu.as_str() {
            what if what.starts_with("the right output") => "right",
            what if what.starts_with("a wrong output") => "wrong",
            what if what.starts_with("an error") => "error",
            other => other,
        };
        let _ = writeln!(text, " {on_gpu} |");
    }
    text
}
