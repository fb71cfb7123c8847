//! The text of source files: of this project's kernels and the gallery from the program itself, of others from the
//! disk.

use rungs_gallery::TOPICS;
use std::borrow::Cow;

// `SOURCES`: path from the root of the project, and text, of each file of the kernels.
include!(concat!(env!("OUT_DIR"), "/sources.rs"));

/// The text of a file.
pub fn text(file: &str) -> Option<Cow<'static, str>> {
    let file = file.replace('\\', "/");
    let gallery = TOPICS.iter().map(|topic| (topic.file, topic.text));
    match SOURCES.iter().copied().chain(gallery).find(|(path, _)| file.ends_with(path)) {
        Some((_, text)) => Some(Cow::Borrowed(text)),
        None => std::fs::read_to_string(&file).ok().map(Cow::Owned),
    }
}

/// The text of a line, counted from 1, without the spaces around it.
pub(super) fn line(file: &str, line: u32) -> Option<String> {
    text(file)?.lines().nth(line as usize - 1).map(|line| line.trim().to_string())
}
