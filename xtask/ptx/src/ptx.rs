//! Reads PTX text and finishes what rustc leaves open.

mod addresses;
mod frames;
mod guards;
mod shared;

use crate::Arch;
use anyhow::{Context, Result, bail, ensure};
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::iter;
use std::ops::Range;

/// The begin of the comment in which `#[kernel]` passes a kernel's launch bounds through the compiler:
/// `//.rungs.bounds <kernel> <max_threads> <min_blocks> <max_spills> <cluster>`, 0 for one that is not given.
const BOUNDS: &str = "//.rungs.bounds ";

/// The version of PTX that has loads that leave the L1 cache alone.
const LEAST_VERSION: (u32, u32) = (7, 4);

/// The version of PTX that knows the architecture 8.9.
const ADA_VERSION: (u32, u32) = (7, 8);

/// How libnvvm's hint begins that names the bytes which are used of the next load.
const USED_BYTES: &str = ".pragma \"used_bytes_mask";

/// The version of PTX that has the bulk copies of Hopper.
const HOPPER_VERSION: (u32, u32) = (8, 0);

/// The declaration of dynamic shared memory by each backend. An array of `u128` has the type's alignment; kernels
/// expect more of the first byte.
const DYNAMIC: &str = ".extern .shared .align 128 .b8 RUNGS_DYNAMIC_SHARED[];";
const DYNAMIC_BY_RUST_CUDA: &str = ".extern .shared .align 16 .b8 RUNGS_DYNAMIC_SHARED[];";

/// The begin of the last line of a text's head.
const ADDRESS_SIZE: &str = ".address_size";

/// The name of rust-cuda in the PTX that it makes.
pub const RUST_CUDA: &str = "rust-cuda, nightly-2026-04-02";

/// The begin of the first line, which names the compiler.
const COMPILED_BY: &str = "// Compiled by ";

/// A kernel as the PTX declares it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Its symbol.
    pub name: String,
    /// The most threads per block, if declared.
    pub max_threads: Option<u32>,
    /// The fewest blocks per SM, if declared.
    pub min_blocks: Option<u32>,
    /// Whether it waits for the preceding grid (`griddepcontrol.wait`), so that it may be launched before that grid
    /// ends.
    pub waits_for_previous: bool,
}

/// Slow code that a well-compiled kernel does not contain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Its kernel or function; empty outside of both.
    pub function: String,
    /// Line number, from 1.
    pub line: usize,
    /// The description, with the offending text.
    pub what: String,
}

impl Finding {
    /// Whether it is local memory, whose bytes per kernel ptxas tells.
    pub fn is_local(&self) -> bool {
        self.what.starts_with(LOCAL)
    }
}

/// What the description of local memory begins with.
const LOCAL: &str = "memory outside of registers";

/// The text without the directives that map instructions to lines of the source.
#[cfg(feature = "compile")]
pub(crate) fn without_lines(text: &str) -> String {
    without(text, &[LOC, FILE, ".section"])
}

/// The text with these directives, and without what only a debugger reads.
#[cfg(feature = "compile")]
pub(crate) fn with_lines(text: &str) -> String {
    without(text, &[".section"])
}

/// The text without these directives, and without the labels of debug information.
#[cfg(feature = "compile")]
fn without(text: &str, directives: &[&str]) -> String {
    const LABELS: &[&str] = &["$L__tmp", "$L__func_begin", "$L__func_end"];
    let is_left_out = |line: &str| {
        let line = line.trim_ascii_start();
        // Few lines do, and to look for the words of all takes a while without optimisation.
        if !line.starts_with(['.', '$']) {
            return false;
        }
        let word = line.split_whitespace().next().unwrap_or_default();
        directives.contains(&word) || word.ends_with(':') && LABELS.iter().any(|label| word.starts_with(label))
    };
    text.lines().filter(|line| !is_left_out(line)).flat_map(|line| [line, "\n"]).collect()
}

/// The directive that maps the next instructions to a line: `.loc 2 55 5`, with the number of a file.
const LOC: &str = ".loc";

/// The directive that gives a file its number: `.file 2 "src/lib.rs"`.
const FILE: &str = ".file";

/// The number of the file in such a directive, and what follows it.
fn numbered<'a>(line: &'a str, directive: &str) -> Option<(&'a str, &'a str)> {
    let rest = line.trim_ascii().strip_prefix(directive)?;
    rest.starts_with([' ', '\t']).then(|| rest.trim_ascii_start().split_once(' '))?
}

/// The text without frames of local memory that nothing uses, with launch bounds, with the PTX version that has all the
/// instructions used, and with the compiler's name. rust-cuda's loses the barriers that guard an instruction from LLVM
/// and libnvvm's hints, names arrays in shared memory, and has addresses in front of branches.
///
/// # Errors
/// If the text has no `.version` line, a comment with launch bounds is malformed, its kernel is not in the text, or the
/// address of a parameter is asked for that is no tensor map.
pub fn finish(text: &str, arch: &Arch, compiler: &str) -> Result<String> {
    let text = frames::without_unused(text);
    let text = if compiler == RUST_CUDA { of_rust_cuda(&text) } else { text };
    let text = set_version(&align_maps(&add_bounds(&text)?)?, arch)?.replace(DYNAMIC_BY_RUST_CUDA, DYNAMIC);
    Ok(format!("{COMPILED_BY}{compiler}\n{text}"))
}

/// The text as rust-cuda's kernels need it beyond the others.
fn of_rust_cuda(text: &str) -> String {
    addresses::before_branches(&shared::by_name(&guards::without(&without_hints(text))))
}

/// Finished text that is for `arch`, too, with the name of that.
#[cfg(feature = "compile")]
pub(crate) fn retarget(text: &str, arch: &Arch) -> String {
    let from = target(text).unwrap_or_default();
    text.replacen(&format!(".target {from}"), &format!(".target {arch}"), 1)
}

/// The text without libnvvm's hints which bytes of a load are used: they need PTX 8.3, and [`set_version`] writes an
/// older version.
fn without_hints(text: &str) -> String {
    let hints = text.lines().enumerate().filter(|(_, line)| line.trim_start().starts_with(USED_BYTES));
    without_these(text, &hints.map(|(i, _)| i).collect())
}

/// The text without the lines of these numbers, from 0.
fn without_these(text: &str, lines: &BTreeSet<usize>) -> String {
    let kept = text.lines().enumerate().filter(|(i, _)| !lines.contains(i));
    kept.flat_map(|(_, line)| [line, "\n"]).collect()
}

/// Finished texts for one architecture as one: the head of the first, then the declarations and kernels of all. Arrays
/// in shared memory that two texts declare alike are declared once: a package has those of the packages that it uses.
/// The files of line tables get new numbers, because each text numbers its own from 1. Also the places at which
/// the parts end: the head, what each text gives, and the files' names if there are any.
///
/// # Errors
/// If there is no text, the heads differ, two texts have a kernel of the same name, or different arrays, or a text
/// that names files has a line of another.
pub fn join<'a>(texts: impl Iterator<Item = &'a str>) -> Result<(String, Vec<usize>)> {
    let (mut joined, mut ends) = (String::new(), vec![]);
    let (mut first, mut names, mut arrays) = (None, BTreeSet::new(), BTreeMap::new());
    let mut files: Vec<&str> = vec![];
    for text in texts {
        let end = text.find(ADDRESS_SIZE).map(|at| text[at..].find('\n').map_or(text.len(), |line| at + line + 1));
        let (head, rest) = text.split_at(end.context("the PTX has no line `.address_size`")?);
        match first {
            None => {
                joined += head;
                ends.push(joined.len());
            }
            Some(first) => ensure!(first == head, "PTX of different compilers or architectures is not joined"),
        }
        first = Some(head);
        for Kernel { name, .. } in kernels(rest) {
            ensure!(names.insert(name), "{name} is in two packages; rename one");
        }
        let (outside, bodies): (Vec<_>, Vec<_>) = around_kernels(rest).into_iter().unzip();
        let mut numbers = HashMap::new();
        for (number, path) in outside.iter().flat_map(|text| text.lines()).filter_map(|line| numbered(line, FILE)) {
            let known = files.iter().position(|known| *known == path);
            let at = known.unwrap_or_else(|| {
                files.push(path);
                files.len() - 1
            });
            numbers.insert(number, at + 1);
        }
        let renumbered = |line: &'a str| -> Result<Cow<'a, str>> {
            let Some((number, place)) = numbered(line, LOC) else { return Ok(line.into()) };
            let number = numbers.get(number).with_context(|| format!("the PTX has lines of no file {number}"))?;
            Ok(format!("\t{LOC}\t{number} {place}\n").into())
        };
        for (outside, kernel) in outside.into_iter().zip(bodies) {
            for line in outside.split_inclusive('\n').filter(|line| numbered(line, FILE).is_none()) {
                let before = shared_array(line).and_then(|name| Some((name, arrays.insert(name, line.trim())?)));
                if let Some((name, before)) = before {
                    ensure!(before == line.trim(), "{name} is in two packages; rename one");
                } else {
                    joined += &renumbered(line)?;
                }
            }
            if numbers.is_empty() {
                joined += kernel;
            } else {
                kernel.split_inclusive('\n').try_for_each(|line| renumbered(line).map(|line| joined += &line))?;
            }
        }
        ends.push(joined.len());
    }
    ensure!(first.is_some(), "there is no PTX to join");
    if !files.is_empty() {
        files.iter().enumerate().for_each(|(i, path)| joined += &format!("\t{FILE}\t{} {path}\n", i + 1));
        ends.push(joined.len());
    }
    Ok((joined, ends))
}

/// The compiler of a text that was [finished](finish).
pub fn compiler(text: &str) -> Option<&str> {
    text.lines().next()?.strip_prefix(COMPILED_BY)
}

/// The architecture that a text is for.
pub fn target(text: &str) -> Option<&str> {
    text.lines().find_map(|line| line.strip_prefix(".target "))?.split([',', ' ']).next()
}

/// The kernels in their order.
pub fn entries(text: &str) -> Vec<Entry> {
    let entry = |kernel: Kernel| Entry {
        name: kernel.name.into(),
        max_threads: number_after(kernel.directives, ".maxntid"),
        min_blocks: number_after(kernel.directives, ".minnctapersm"),
        waits_for_previous: kernel.body.contains("griddepcontrol.wait"),
    };
    kernels(text).map(entry).collect()
}

/// PTX whose kernels can be compiled one by one: a driver takes a minute for some hundreds of kernels, and a program
/// launches few of them.
#[derive(Clone, Debug, Default)]
pub struct Apart {
    text: String,
    /// Where each kernel stands, from its declaration to its closing brace.
    kernels: HashMap<String, Range<usize>>,
}

impl Apart {
    /// The kernels of a text that was [finished](finish).
    pub fn of(text: &str) -> Self {
        let kernels = kernels(text).map(|kernel| (kernel.name.to_owned(), kernel.begin..kernel.end));
        Self { kernels: kernels.collect(), text: text.to_owned() }
    }

    /// The text without the kernels other than this one; nothing if it is not there. Arrays in global memory are then
    /// each kernel's own, so they have to be constants.
    pub fn alone(&self, kernel: &str) -> Option<String> {
        self.kernels.contains_key(kernel).then(|| self.only(|name, _| name == kernel))
    }

    /// Whether it has a kernel of this name and text.
    pub fn has(&self, kernel: &str, text: &str) -> bool {
        self.kernels.get(kernel).is_some_and(|range| self.text[range.clone()] == *text)
    }

    /// The name of each kernel, and its text.
    pub fn kernels(&self) -> impl Iterator<Item = (&str, &str)> {
        self.kernels.iter().map(|(name, range)| (&**name, &self.text[range.clone()]))
    }

    /// The text with only those kernels whose name and text are `kept`.
    pub fn only(&self, kept: impl Fn(&str, &str) -> bool) -> String {
        let left_out = self.kernels.iter().filter(|(name, range)| !kept(name, &self.text[(*range).clone()]));
        let mut left_out: Vec<_> = left_out.map(|(_, range)| range).collect();
        left_out.sort_by_key(|range| range.start);
        let (mut only, mut done) = (String::new(), 0);
        for range in left_out {
            only += &self.text[done..range.start];
            done = range.end;
        }
        only + &self.text[done..]
    }
}

/// All local memory (`.local`), all calls of functions, and shared memory whose addresses are wrong: dynamic memory of
/// a fixed size, which the static arrays lie behind and therefore in; the address of an array within shared memory that
/// is converted as if it were a generic one.
pub fn findings(text: &str) -> Vec<Finding> {
    let (mut function, mut depth) = (String::new(), 0_i32);
    let mut found = vec![];
    let shared = shared_arrays(text);
    // Registers that hold the address of a shared array, by the kernel's last assignment.
    let mut addresses = BTreeSet::new();
    for (i, line) in text.lines().enumerate() {
        let code = line.split("//").next().unwrap_or_default().trim();
        if let Some(name) = function_begun(code) {
            function = name.into();
            addresses.clear();
        }
        // The text of an `asm!` may have braces of its own.
        let braces = |brace: char| code.matches(brace).count() as i32;
        let before = depth;
        depth += braces('{') - braces('}');
        if before > 0 && depth == 0 {
            function.clear();
        }
        let first = code.split(|c: char| c.is_whitespace() || c == ';').find(|word| !word.starts_with('@'));
        let what = match first.unwrap_or_default() {
            ".local" => format!("{LOCAL}: {code}"),
            ".extern" if code.contains(".shared ") && !code.contains("[]") => {
                format!("dynamic shared memory of a fixed size, behind which static arrays begin: {code}")
            }
            "mov.u64" | "mov.b64" => {
                let (to, from) = operands(code);
                if shared.contains(from) {
                    addresses.insert(to)
                } else {
                    addresses.remove(to)
                };
                continue;
            }
            "cvta.to.shared.u64" if addresses.contains(operands(code).1) => {
                format!("an address within shared memory is taken for a generic one: {code}")
            }
            word if word == "call" || word.starts_with("call.") => {
                // The name of the function may stand on one of the next lines.
                let call: String = text.lines().skip(i).flat_map(|line| [line, " "]).collect();
                let call = call.split(';').next().unwrap_or_default();
                format!("a call: {}", call.split_whitespace().collect::<Vec<_>>().join(" "))
            }
            _ => continue,
        };
        found.push(Finding { function: function.clone(), line: i + 1, what });
    }
    found
}

/// The names of the arrays in shared memory.
fn shared_arrays(text: &str) -> BTreeSet<&str> {
    text.lines().filter_map(shared_array).collect()
}

/// The name of the array in shared memory that a line declares.
fn shared_array(line: &str) -> Option<&str> {
    let declared = line.contains(".shared ").then(|| line.split_once(".b8 "))??.1;
    declared.split(['[', ';']).next().map(str::trim)
}

/// Destination and source of an instruction with one of each.
fn operands(code: &str) -> (&str, &str) {
    let operands = code.split_once(char::is_whitespace).map_or("", |(_, rest)| rest.trim_end_matches([';', ' ']));
    operands.split_once(',').map_or(("", ""), |(to, from)| (to.trim(), from.trim()))
}

/// What a comment says of a kernel's launch.
struct Bounds<'a> {
    name: &'a str,
    threads: u32,
    blocks: u32,
    spills: u32,
    cluster: u32,
}

impl<'a> Bounds<'a> {
    /// Reads what follows [`BOUNDS`].
    fn parse(line: &'a str) -> Result<Self> {
        let words: Vec<_> = line.split_whitespace().collect();
        let [name, numbers @ ..] = &words[..] else { bail!("`{BOUNDS}` names no kernel") };
        let number = |word: &&str| word.parse::<u32>().with_context(|| format!("launch bounds of {name}: `{word}`"));
        let numbers = numbers.iter().map(number).collect::<Result<Vec<_>>>()?;
        let [threads, blocks, spills, cluster] = numbers[..] else {
            bail!("`{BOUNDS}{line}` is not `kernel threads blocks spills cluster`")
        };
        Ok(Self { name, threads, blocks, spills, cluster })
    }
}

/// The bytes per thread of spilled registers that kernels allow for their launch bounds. Kernels that allow none are
/// left out.
///
/// # Errors
/// If a comment with launch bounds is malformed.
pub fn max_spills(text: &str) -> Result<BTreeMap<&str, u32>> {
    let comments = text.lines().filter_map(|line| line.trim().strip_prefix(BOUNDS)).map(Bounds::parse);
    let allowed = comments.map(|bounds| bounds.map(|b| (b.name, b.spills)));
    allowed.filter(|one| !matches!(one, Ok((_, 0)))).collect()
}

/// Puts the bounds that comments name into the entries that they name.
fn add_bounds(text: &str) -> Result<String> {
    let mut inserts = vec![];
    let places: HashMap<_, _> = kernels(text).map(|kernel| (kernel.name, kernel.behind_parameters)).collect();
    for line in text.lines().filter_map(|line| line.trim().strip_prefix(BOUNDS)) {
        let Bounds { name, threads, blocks, spills, cluster } = Bounds::parse(line)?;
        let at = places
            .get(name)
            .copied()
            .with_context(|| format!("launch bounds are given for {name}, which is not a kernel in the PTX"))?;
        ensure!(threads > 0 || blocks == 0, "{name} declares min_blocks, which means nothing without max_threads");
        ensure!(threads > 0 || spills == 0, "{name} declares max_spills, which means nothing without max_threads");
        let mut directives = String::new();
        if threads > 0 {
            directives += &format!("\n.maxntid {threads}, 1, 1");
        }
        if blocks > 0 {
            directives += &format!("\n.minnctapersm {blocks}");
        }
        if cluster > 0 {
            // A launch that names no cluster then has this one.
            directives += &format!("\n.reqnctapercluster {cluster}, 1, 1");
        }
        inserts.push((at, directives));
    }
    inserts.sort();
    let mut finished = String::with_capacity(text.len() + 64 * inserts.len());
    let mut done = 0;
    for (at, directives) in inserts {
        finished += &text[done..at];
        finished += &directives;
        done = at;
    }
    Ok(finished + &text[done..])
}

/// The instruction by which `#[kernel]` asks for the address of a parameter, which is a tensor map then.
const ADDRESS: &str = "mov.b64 ";
/// How each backend declares such a parameter, and how the copy engine wants it aligned.
const DECLARED: &str = ".param .align 8 .b8 ";
const ALIGNED: &str = ".param .align 64 .b8 ";

/// Aligns the parameters that are tensor maps. rustc passes nothing that is aligned to more than 16 bytes.
fn align_maps(text: &str) -> Result<String> {
    let addressed = text.lines().map(str::trim).filter(|line| line.starts_with(ADDRESS)).map(operands);
    let mut maps: BTreeSet<_> = addressed.map(|(_, from)| from).filter(|from| from.contains("_param_")).collect();
    let mut aligned = String::with_capacity(text.len() + maps.len());
    for line in text.split_inclusive('\n') {
        let declared = line.split_once(DECLARED).filter(|(_, rest)| {
            let name = rest.split_once("[128]").map_or("", |(name, _)| name);
            maps.remove(name)
        });
        match declared {
            Some((before, rest)) => aligned.extend([before, ALIGNED, rest]),
            None => aligned += line,
        }
    }
    if let Some(missing) = maps.first() {
        bail!("{missing} is no parameter of 128 bytes, and its address is asked for");
    }
    Ok(aligned)
}

/// Makes `.version` the oldest that has the architecture and the instructions that kernels use. libnvvm writes its own
/// newest one, which older drivers refuse. For architectures newer than Hopper it stays, if it is not too old.
fn set_version(text: &str, arch: &Arch) -> Result<String> {
    let line = text.lines().find(|line| line.starts_with(".version "));
    let version = line.and_then(|line| line[".version ".len()..].trim().split_once('.'));
    let version = version.and_then(|(major, minor)| Some((major.parse::<u32>().ok()?, minor.parse::<u32>().ok()?)));
    let (Some(line), Some(version)) = (line, version) else { bail!("the PTX has no line `.version N.N`") };
    let (major, minor) = match arch.number() {
        ..89 => LEAST_VERSION,
        89 => ADA_VERSION,
        90 => HOPPER_VERSION,
        _ => version.max(HOPPER_VERSION),
    };
    Ok(text.replacen(line, &format!(".version {major}.{minor}"), 1))
}

/// A kernel in a text, with the places at which its parts begin and end.
pub(crate) struct Kernel<'a> {
    pub name: &'a str,
    /// What stands between parameters and body.
    directives: &'a str,
    /// From there to the closing brace.
    pub body: &'a str,
    /// The line of the declaration.
    begin: usize,
    behind_parameters: usize,
    /// Behind the closing brace.
    end: usize,
}

/// The kernels in their order. The search goes on behind each body: without optimisation, as a build script has it, to
/// look at every byte of all kernels takes seconds.
pub(crate) fn kernels(text: &str) -> impl Iterator<Item = Kernel<'_>> {
    const ENTRY: &str = ".entry ";
    let mut done = 0;
    let next = move || loop {
        let at = done + text[done..].find(ENTRY)?;
        done = at + ENTRY.len();
        let begin = begin_of_line(text, at);
        if !["", ".visible", ".weak"].contains(&text[begin..at].trim()) {
            continue;
        }
        let open = done + text[done..].find('(')?;
        let behind_parameters = open + text[open..].find(')')? + 1; // no parameter has parentheses in it
        let body = behind_parameters + text[behind_parameters..].find('{')?;
        let name = text[done..open].trim();
        done = end_of_body(text, body);
        let (directives, body) = (&text[behind_parameters..body], &text[body..done]);
        return Some(Kernel { name, directives, body, begin, behind_parameters, end: done });
    };
    iter::from_fn(next)
}

/// Each kernel with the text between it and the one before, and what follows the last with none.
fn around_kernels(text: &str) -> Vec<(&str, &str)> {
    let mut done = 0;
    let mut all: Vec<_> = kernels(text)
        .map(|kernel| {
            let outside = &text[done..kernel.begin];
            done = kernel.end;
            (outside, &text[kernel.begin..kernel.end])
        })
        .collect();
    all.push((&text[done..], ""));
    all
}

/// Where the line begins that a place is in.
fn begin_of_line(text: &str, at: usize) -> usize {
    text[..at].rfind('\n').map_or(0, |end| end + 1)
}

/// The place behind the brace that closes the first one from `at` on. Comments may have braces of their own.
fn end_of_body(text: &str, at: usize) -> usize {
    let is_code = |brace: &usize| !text[begin_of_line(text, *brace)..*brace].contains("//");
    let (mut depth, mut done) = (0, at);
    while let Some(close) = text[done..].find('}').map(|found| done + found) {
        depth += text[done..close].match_indices('{').filter(|(i, _)| is_code(&(done + i))).count();
        done = close + 1;
        if is_code(&close) {
            if depth <= 1 {
                return done;
            }
            depth -= 1;
        }
    }
    text.len()
}

/// The name of the kernel or function whose head this line begins.
pub(crate) fn function_begun(code: &str) -> Option<&str> {
    // Few lines begin with a directive, and two searches in each of the others would take seconds.
    if !code.trim_ascii_start().starts_with('.') {
        return None;
    }
    let (before, after) = code.split_once(".entry ").or_else(|| code.split_once(".func "))?;
    if before.contains(".extern") {
        return None;
    }
    // A function's results stand in parentheses before its name.
    let after = after.trim_start().strip_prefix('(').map_or(after, |a| a.split_once(')').map_or("", |s| s.1));
    Some(after.split('(').next().unwrap_or_default().trim())
}

/// The number that follows a directive.
fn number_after(directives: &str, name: &str) -> Option<u32> {
    let rest = directives.split(name).nth(1)?;
    rest.split(|c: char| !c.is_ascii_digit()).find(|digits| !digits.is_empty())?.parse().ok()
}

#[cfg(test)]
mod tests;
