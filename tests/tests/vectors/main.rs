//! Vectors, `rungs::vec`, and the examples of their pages.

mod book;
mod choice;
mod from_thrust;
mod narrow;
mod operators;
mod ordered;
mod plans;
mod segments;
mod select;
mod services;
mod slices;
mod top_k;
mod vec;

/// Fails unless the page has the lines that stand between `// begin` and `// end` in a test's source.
fn assert_page_has(page: &str, source: &str) {
    let (_, lines) = source.split_once("// begin\n").unwrap();
    let lines: Vec<&str> = lines.lines().take_while(|line| line.trim() != "// end").collect();
    let indent = lines[0].len() - lines[0].trim_start().len();
    let code: Vec<&str> = lines.iter().map(|line| line.get(indent..).unwrap_or_default()).collect();
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs").join(page);
    let text = std::fs::read_to_string(path).unwrap();
    assert!(text.contains(&format!("```rust\n{}\n```", code.join("\n").trim_end())), "docs/{page} differs");
}
