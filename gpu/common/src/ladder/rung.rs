//! A rung as data, and the head of its source file.

use super::{Ask, Entry, Failed, Result};
use std::string::{String, ToString};
use std::vec::Vec;

/// One step of a ladder: a source file with its kernels.
#[derive(Clone, Copy)]
pub struct Rung {
    /// Its name on the command line: the stem of its file without the number, if it has one, with dashes.
    pub name: &'static str,
    /// The text of its file; of a folder, of the folder's `mod.rs`.
    pub text: &'static str,
    /// The names of its kernels in the PTX, by function.
    pub kernels: &'static [&'static [&'static str]],
    /// Most elements that it takes, if it has a limit.
    pub capacity: Option<u64>,
    /// Sizes of its tiles, blocks or windows: around these lengths tests look for off-by-one errors.
    pub tiles: &'static [u64],
    /// Why it cannot serve a request that its family can.
    pub refuses: fn(&Ask) -> Option<String>,
    /// The file that declares the rung, and the name of the file of [`Rung::text`], in the same folder.
    pub place: (&'static str, &'static str),
}

/// Makes a [`Rung`]: `rung!("r1_global_step.rs", [bitonic_global_step])`, with the file of the head and the kernels, in
/// that file or in its folder. The rung has the name of the module, without its number.
#[macro_export]
macro_rules! rung {
    ($text:literal, [$($kernel:ident),+ $(,)?]) => {{
        const NAME: [u8; $crate::ladder::stem_len(module_path!())] = $crate::ladder::dashed(module_path!());
        $crate::ladder::Rung {
            name: match core::str::from_utf8(&NAME) {
                Ok(name) => name,
                Err(_) => panic!("a module's name is not UTF-8"),
            },
            text: include_str!($text),
            kernels: &[$(<$kernel as $crate::ladder::Instances>::NAMES),+],
            capacity: None,
            tiles: &[],
            refuses: |_| None,
            place: (file!(), $text),
        }
    }};
}

/// Begin and end of the rung's name in the path of a module: the segment `rN_name` without its number, or, in the
/// library, whose modules have no numbers, the crate's module.
const fn stem(path: &[u8]) -> (usize, usize) {
    let (mut start, mut module) = (0, (0, 0));
    while start < path.len() {
        let mut end = start;
        while end < path.len() && path[end] != b':' {
            end += 1;
        }
        if start > 0 && module.1 == 0 {
            module = (start, end);
        }
        let mut name = start + 1;
        while name < end && path[name].is_ascii_digit() {
            name += 1;
        }
        if path[start] == b'r' && name > start + 1 && name < end && path[name] == b'_' {
            return (name + 1, end);
        }
        start = end + 2;
    }
    assert!(module.1 > 0, "a rung stands in a module of its crate");
    module
}

/// Length in bytes of the name of the rung to which the module with this path belongs.
pub const fn stem_len(path: &str) -> usize {
    let (start, end) = stem(path.as_bytes());
    end - start
}

/// The name, with dashes, of the rung to which the module with this path belongs.
pub const fn dashed<const N: usize>(path: &str) -> [u8; N] {
    let (path, (start, _)) = (path.as_bytes(), stem(path.as_bytes()));
    let (mut name, mut i) = ([0; N], 0);
    while i < N {
        name[i] = if path[start + i] == b'_' { b'-' } else { path[start + i] };
        i += 1;
    }
    name
}

impl Rung {
    /// The same rung with a limit on its input.
    pub const fn with_capacity(self, capacity: u64) -> Self {
        Self { capacity: Some(capacity), ..self }
    }

    /// The same rung with the sizes of its tiles.
    pub const fn with_tiles(self, tiles: &'static [u64]) -> Self {
        Self { tiles, ..self }
    }

    /// The same rung, which refuses some requests that its family takes, or some devices.
    pub const fn refusing(self, refuses: fn(&Ask) -> Option<String>) -> Self {
        Self { refuses, ..self }
    }

    /// The rung with its launches.
    pub const fn run_by<K>(self, run: K) -> Entry<K> {
        Entry { rung: self, run }
    }

    /// Why it cannot serve the request, if so: its capacity, or [`Rung::refuses`].
    pub fn refusal(&self, ask: &Ask) -> Option<String> {
        let (name, n) = (self.name, ask.n);
        let beyond = |capacity| std::format!("{name} takes at most {capacity} elements, not {n}");
        self.capacity.filter(|&capacity| n > capacity).map(beyond).or_else(|| (self.refuses)(ask))
    }

    /// Refuses a request that the rung cannot serve.
    ///
    /// # Errors
    /// [`Failed::Unsuitable`] with [`Rung::refusal`].
    pub fn check(&self, ask: &Ask) -> Result {
        self.refusal(ask).map_or(Ok(()), |why| Err(Failed::Unsuitable(why)))
    }

    /// Its source file, from the root of the project.
    pub fn path(&self) -> String {
        let (file, text) = self.place;
        let folder = file.rfind(['/', '\\']).map_or("", |slash| &file[..=slash]);
        std::format!("{folder}{text}").replace('\\', "/")
    }

    /// The names of all its kernels in the PTX.
    pub fn kernel_names(&self) -> impl Iterator<Item = &'static str> {
        self.kernels.iter().copied().flatten().copied()
    }

    /// The head of the file, at its top. Lines of a part are joined; paragraphs stay apart.
    pub fn head(&self) -> Head {
        // A link of the docs is plain code elsewhere.
        let plain = self.text.replace("[`", "`").replace("`]", "`");
        let lines = plain.lines().map_while(|line| line.strip_prefix("//!")).map(str::trim);
        let mut head = Head { title: String::new(), parts: Vec::new() };
        for line in lines {
            if let Some(title) = line.strip_prefix("# ") {
                head.title = title.to_string();
            } else if let Some((name, text)) = line.strip_prefix("**").and_then(|rest| rest.split_once(".**")) {
                head.parts.push((name.to_string(), text.trim().to_string()));
            } else if let Some((_, text)) = head.parts.last_mut() {
                let gap = if line.is_empty() || text.is_empty() || text.ends_with('\n') { "" } else { " " };
                text.push_str(gap);
                text.push_str(if line.is_empty() { "\n" } else { line });
            }
        }
        for (_, text) in &mut head.parts {
            text.truncate(text.trim_end().len());
        }
        head
    }

    /// The source of the rung: the last part of its head.
    pub fn source(&self) -> String {
        self.head().part("Source").replace('\n', " ")
    }
}

/// The head of a rung's file, in its parts.
pub struct Head {
    /// The first line.
    pub title: String,
    /// Name and text of each part: Idea, Changed from the rung before, Bottleneck, Cost, Threads, Limits, Source.
    pub parts: Vec<(String, String)>,
}

impl Head {
    /// The text of a part; empty if no part has that name.
    pub fn part(&self, name: &str) -> &str {
        self.parts.iter().find(|(part, _)| part == name).map_or("", |(_, text)| text)
    }

    /// The idea in a few words: the title after its first comma.
    pub fn idea(&self) -> &str {
        self.title.split_once(", ").map_or(&*self.title, |(_, idea)| idea)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rung_is_named_by_its_module() {
        assert_eq!(dashed_text("rungs_bitonic::r1_global_step::launches"), "global-step");
        assert_eq!(dashed_text("rungs_sorts::msd_skewed::launches"), "msd-skewed");
        assert_eq!(dashed_text("rungs_sorts::either"), "either");
    }

    fn dashed_text(path: &str) -> String {
        let (start, end) = stem(path.as_bytes());
        path[start..end].replace('_', "-")
    }
}
