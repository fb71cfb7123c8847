//! What builds, checks and packs the project.
fn main() {}
