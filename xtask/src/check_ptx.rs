//! `check-ptx`: assembles the PTX, reports its resources, and compares its kernels with the rungs.

use crate::ptxas::{Ptxas, Usage};
use crate::registry::{self, Kernels};
use crate::{project, table};
use anyhow::{Context, Result, ensure};
use rungs_ptx::{Arch, backends, ptx};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
use std::{fs, thread};

/// One file of PTX.
struct File {
    path: PathBuf,
    /// `sm_90`, `sm_90-checked`.
    name: String,
    arch: Arch,
    text: String,
}

/// The options of `check-ptx`.
#[derive(clap::Args, Default)]
pub struct Args {
    /// A folder with PTX of your own kernels, which are in no list of rungs [default: ptx in cargo's target folder]
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
    /// A folder with PTX of the same kernels by another compiler: barriers, reductions, atomic operations and others
    /// that a compiler may neither copy nor lose are counted and compared
    #[arg(long, value_name = "DIR")]
    compare: Option<PathBuf>,
}

/// Checks every file in the folder of finished PTX and prints a table; the error lists all objections.
pub fn run(args: &Args) -> Result<()> {
    // Both folders first: to assemble takes minutes.
    let files = files(&args.dir.clone().unwrap_or_else(project::ptx))?;
    let others = args.compare.as_deref().map(self::files).transpose()?;
    let ptxas = Ptxas::find()?;
    println!("ptxas of CUDA {}", ptxas.release);
    let (mut rows, mut wrong) = (vec![], vec![]);
    let texts: Vec<_> = files.iter().map(|file| ptx::Apart::of(&file.text)).collect();
    let place =
        |file: &File| args.dir.is_none().then(|| project::target().join("ptxas").join(file.name.clone() + ".json"));
    let before =
        |file, text| place(file).map_or_else(Before::default, |place| Before::read(&place, &ptxas.release, text));
    let before: Vec<_> = files.iter().zip(&texts).map(|(file, text)| before(file, text)).collect();
    // On its one thread, ptxas takes more than a minute per file.
    let assembled: Vec<_> = thread::scope(|scope| {
        let start = |i: usize| {
            let (file, text, before, ptxas) = (&files[i], &texts[i], &before[i], &ptxas);
            // Machine code for `sm_90` is for `sm_90a`, too.
            let older = older(&files, file).map(|i| &texts[i]);
            scope.spawn(move || {
                let is_new = |name: &str, text: &str| {
                    before.usage(name, text).is_none() && !older.is_some_and(|older| older.has(name, text))
                };
                let known = text.kernels().filter_map(|(name, text)| before.usage(name, text));
                let mut usages: Vec<_> = known.cloned().collect();
                if text.kernels().any(|(name, text)| is_new(name, text)) {
                    let path = project::target().join(format!("{}-new.ptx", file.name));
                    fs::write(&path, text.only(is_new)).with_context(|| project::short(&path))?;
                    usages.extend(ptxas.check(&path, &file.arch.to_string())?);
                    fs::remove_file(&path).ok();
                }
                anyhow::Ok(usages)
            })
        };
        let all: Vec<_> = (0..files.len()).map(start).collect();
        all.into_iter().map(|one| one.join().unwrap_or_else(|panic| resume_unwind(panic))).collect()
    });
    let mut reported: BTreeMap<&str, Vec<Usage>> = BTreeMap::new();
    for (i, (file, assembled)) in files.iter().zip(assembled).enumerate() {
        let short = project::short(&file.path);
        // ptxas says how much memory it is.
        let is_known =
            |finding: &ptx::Finding| finding.is_local() && backends::spills(&file.text, &finding.function) > 0;
        for finding in ptx::findings(&file.text).iter().filter(|finding| !is_known(finding)) {
            wrong.push(format!("{short}:{}: {}: {}", finding.line, finding.function, finding.what));
        }
        match assembled {
            Ok(mut usages) => {
                let own: BTreeSet<_> = usages.iter().map(|usage| usage.kernel.clone()).collect();
                let of_older = older(&files, file).and_then(|older| reported.get(&*files[older].name));
                usages.extend(of_older.into_iter().flatten().filter(|usage| !own.contains(&usage.kernel)).cloned());
                reported.insert(&file.name, usages.clone());
                if let Some(place) = place(file) {
                    Before::of(&ptxas.release, &texts[i], &usages).write(&place)?;
                }
                let allowed = ptx::max_spills(&file.text)?;
                for usage in &usages {
                    let declared = allowed.get(&*usage.kernel).copied().unwrap_or(0);
                    let allowed = declared.max(backends::spills(&file.text, &usage.kernel));
                    wrong.extend(objection(usage, allowed).map(|what| format!("{short}: {}: {what}", usage.kernel)));
                    rows.push(row(usage, &file.name));
                }
            }
            Err(error) => wrong.push(format!("{error:#}")),
        }
    }
    rows.sort();
    let head = ["kernel", "PTX", "registers", "spills", "stack", "shared bytes"];
    print!("{}", table::render(&head, &rows, 2));
    if args.dir.is_none() {
        let symbols: Vec<_> = files.iter().map(symbols).collect();
        wrong.extend(disagreements(&registry::kernels()?, &symbols));
    }
    if let Some(others) = &others {
        wrong.extend(compare(&files, others));
    }
    ensure!(wrong.is_empty(), "{} found in the PTX:\n  {}", count(wrong.len()), wrong.join("\n  "));
    Ok(())
}

/// The file for `sm_90` before one for `sm_90a`: the kernels that both have alike are assembled once.
fn older(files: &[File], file: &File) -> Option<usize> {
    let name = file.name.strip_prefix("sm_90a").map(|rest| format!("sm_90{rest}"))?;
    files.iter().position(|other| other.name == name)
}

/// What ptxas said of the kernels of a file in the last run. Those with the same text are not assembled again.
#[derive(Default, Serialize, Deserialize)]
struct Before {
    /// The release of ptxas, and the hash of what is in no kernel.
    of: (String, u64),
    /// By name: the hash of the kernel's text, and what it takes.
    kernels: BTreeMap<String, (u64, Usage)>,
}

impl Before {
    fn of(release: &str, text: &ptx::Apart, usages: &[Usage]) -> Self {
        let hashes: BTreeMap<_, _> = text.kernels().map(|(name, text)| (name, hash(text))).collect();
        let known = |usage: &Usage| Some((usage.kernel.clone(), (*hashes.get(&*usage.kernel)?, usage.clone())));
        Self { of: Self::outside(release, text), kernels: usages.iter().filter_map(known).collect() }
    }

    fn outside(release: &str, text: &ptx::Apart) -> (String, u64) {
        (release.into(), hash(&text.only(|_, _| false)))
    }

    /// What was written here, if it is of this release and of a text that is the same outside of its kernels.
    fn read(place: &Path, release: &str, text: &ptx::Apart) -> Self {
        let read: Option<Self> = fs::read(place).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok());
        read.filter(|read| read.of == Self::outside(release, text)).unwrap_or_default()
    }

    fn write(&self, place: &Path) -> Result<()> {
        fs::create_dir_all(place.parent().expect("it is in a folder")).with_context(|| project::short(place))?;
        fs::write(place, serde_json::to_vec(self)?).with_context(|| project::short(place))
    }

    fn usage(&self, kernel: &str, text: &str) -> Option<&Usage> {
        self.kernels.get(kernel).filter(|(known, _)| *known == hash(text)).map(|(_, usage)| usage)
    }
}

fn hash(text: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    hasher.finish()
}

/// The differences between files of the same name. A file that only one folder has is compared with nothing, which is
/// said; no common file is an error.
fn compare(files: &[File], others: &[File]) -> Vec<String> {
    let (mut wrong, mut compared) = (vec![], 0);
    for file in files {
        let Some(other) = others.iter().find(|other| other.name == file.name) else {
            println!("{} is in one of the two folders alone", file.name);
            continue;
        };
        compared += 1;
        let differences = backends::differences(&file.text, &other.text);
        wrong.extend(differences.into_iter().map(|what| format!("{}: {what}", file.name)));
    }
    if compared == 0 {
        wrong.push("the two folders have no PTX for the same architecture".into());
    } else {
        println!("compared the PTX of two compilers for {compared} architectures");
    }
    wrong
}

/// The finished PTX, in the order of its names.
fn files(folder: &Path) -> Result<Vec<File>> {
    let none = || format!("there is no PTX in {}; `cargo xtask build-ptx` makes it", project::short(folder));
    let mut files = vec![];
    for entry in fs::read_dir(folder).with_context(none)? {
        let path = entry?.path();
        let Some(name) = path.file_name().and_then(|n| n.to_str()).and_then(|n| n.strip_suffix(".ptx")) else {
            continue;
        };
        let (name, arch) = (name.to_string(), name.strip_suffix("-checked").unwrap_or(name).parse()?);
        let text = fs::read_to_string(&path).with_context(|| project::short(&path))?;
        files.push(File { path, name, arch, text });
    }
    ensure!(!files.is_empty(), none());
    files.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(files)
}

fn row(usage: &Usage, name: &str) -> Vec<String> {
    let spills = usage.spill_stores + usage.spill_loads;
    let numbers = [usage.registers, spills, usage.stack, usage.shared];
    [usage.kernel.clone(), name.to_string()].into_iter().chain(numbers.map(|n| n.to_string())).collect()
}

/// The objection to a kernel's local memory, if it has more than it declares. A spilled register takes its bytes of the
/// frame once, however often it is stored and loaded; whatever else is in local memory makes the frame larger too.
fn objection(usage: &Usage, max_spills: u32) -> Option<String> {
    let Usage { stack, spill_stores, spill_loads, .. } = usage;
    let more = *stack > max_spills || max_spills == 0 && spill_stores + spill_loads > 0;
    more.then(|| {
        format!(
            "{stack} bytes of local memory per thread, {spill_stores} bytes of spill stores, {spill_loads} of spill \
             loads; {max_spills} are allowed"
        )
    })
}

/// A file's name, what its architecture has, and its symbols.
struct Symbols {
    name: String,
    has: Has,
    kernels: BTreeSet<String>,
}

/// What kernels may need of an architecture, each more than the one before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Has {
    /// What all have.
    Common,
    /// What compute capability 9.0 brought.
    Hopper,
    /// What compute capability 9.0 alone has.
    HopperAlone,
}

fn symbols(file: &File) -> Symbols {
    let kernels = ptx::entries(&file.text).into_iter().map(|entry| entry.name).collect();
    let has = match (file.arch.has_sm_90(), file.arch.is_sm_90a()) {
        (_, true) => Has::HopperAlone,
        (true, _) => Has::Hopper,
        _ => Has::Common,
    };
    Symbols { name: file.name.clone(), has, kernels }
}

/// Symbols without a rung and rungs without a symbol. A kernel is missing from PTX that has less than all PTX in which
/// it is.
fn disagreements(registry: &Kernels, files: &[Symbols]) -> Vec<String> {
    let mut wrong = vec![];
    let needs = |kernel: &String| files.iter().filter(|file| file.kernels.contains(kernel)).map(|file| file.has).min();
    for file in files {
        for kernel in file.kernels.iter().filter(|&kernel| !registry.contains_key(kernel)) {
            wrong.push(format!("{}: no rung has the kernel {kernel}", file.name));
        }
        let absent = registry.iter().filter(|(kernel, _)| !file.kernels.contains(*kernel));
        for (kernel, owner) in absent.filter(|(kernel, _)| needs(kernel).is_none_or(|least| file.has >= least)) {
            wrong.push(format!("{}: the kernel {kernel} of {owner} is not in it", file.name));
        }
    }
    wrong
}

fn count(n: usize) -> String {
    if n == 1 { "1 fault".into() } else { format!("{n} faults") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(name: &str, has: Has, kernels: &[&str]) -> Symbols {
        Symbols { name: name.into(), has, kernels: kernels.iter().map(|k| k.to_string()).collect() }
    }

    fn registry() -> Kernels {
        [("step", "bitonic/step"), ("wgmma", "matmul/wgmma")].map(|(k, o)| (k.to_string(), o.to_string())).into()
    }

    #[test]
    fn folders_without_ptx_are_named_before_anything_is_assembled() {
        let (full, empty) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        fs::write(full.path().join("sm_80.ptx"), "no PTX").unwrap();
        let error = |dir: &Path, compare: &Path| {
            let args = Args { dir: Some(dir.into()), compare: Some(compare.into()) };
            run(&args).unwrap_err().to_string()
        };
        let none = |folder: &Path| format!("there is no PTX in {}; ", project::short(folder));
        let absent = empty.path().join("absent");
        for (dir, compare) in [(full.path(), empty.path()), (full.path(), &absent)] {
            assert!(error(dir, compare).starts_with(&none(compare)), "{}", error(dir, compare));
            assert!(error(compare, dir).starts_with(&none(compare)), "{}", error(compare, dir));
        }
    }

    #[test]
    fn only_what_is_the_same_is_known_from_before() {
        let text = |x: &str, head: &str| format!("{head}\n.entry step()\n{{\n{x};\n}}\n.entry other()\n{{\nret;\n}}\n");
        let usages = ["step", "other", "gone"].map(|kernel| Usage { kernel: kernel.into(), ..Usage::default() });
        let (old, folder) = (ptx::Apart::of(&text("ret", "// a")), tempfile::tempdir().unwrap());
        let place = folder.path().join("ptxas/sm_80.json");
        Before::of("13.0", &old, &usages).write(&place).unwrap();
        let known = |release: &str, text: &str| {
            let new = ptx::Apart::of(text);
            let before = Before::read(&place, release, &new);
            let mut known: Vec<_> = new.kernels().filter_map(|(name, text)| before.usage(name, text)).collect();
            known.sort_by(|a, b| a.kernel.cmp(&b.kernel));
            known.into_iter().map(|usage| usage.kernel.clone()).collect::<Vec<_>>()
        };
        assert_eq!(known("13.0", &text("ret", "// a")), ["other", "step"]);
        assert_eq!(known("13.0", &text("exit", "// a")), ["other"]);
        assert_eq!(known("13.0", &text("ret", "// b")), [""; 0]);
        assert_eq!(known("13.1", &text("ret", "// a")), [""; 0]);
        fs::write(&place, "no JSON").unwrap();
        assert_eq!(known("13.0", &text("ret", "// a")), [""; 0]);
    }

    #[test]
    fn a_hopper_kernel_may_be_absent_from_older_ptx() {
        let files = [file("sm_80", Has::Common, &["step"]), file("sm_90", Has::Hopper, &["step", "wgmma"])];
        assert_eq!(disagreements(&registry(), &files), [""; 0]);
    }

    #[test]
    fn a_symbol_without_a_rung_and_a_rung_without_a_symbol_are_named() {
        let files = [file("sm_80", Has::Common, &["step"]), file("sm_90", Has::Hopper, &["step", "stray"])];
        let expected = [
            "sm_80: the kernel wgmma of matmul/wgmma is not in it",
            "sm_90: no rung has the kernel stray",
            "sm_90: the kernel wgmma of matmul/wgmma is not in it",
        ];
        assert_eq!(disagreements(&registry(), &files), expected);
    }

    #[test]
    fn a_kernel_that_is_in_newer_ptx_alone_must_be_in_all_of_that() {
        let files = [file("sm_90", Has::Hopper, &["step", "wgmma"]), file("sm_100", Has::Hopper, &["step"])];
        assert_eq!(disagreements(&registry(), &files), ["sm_100: the kernel wgmma of matmul/wgmma is not in it"]);
    }

    #[test]
    fn a_kernel_of_one_architecture_may_be_absent_from_all_others() {
        let alone = file("sm_90a", Has::HopperAlone, &["step", "wgmma"]);
        let files = [file("sm_80", Has::Common, &["step"]), file("sm_90", Has::Hopper, &["step"]), alone];
        assert_eq!(disagreements(&registry(), &files), [""; 0]);
        let files = [file("sm_90", Has::Hopper, &["step"]), file("sm_90a", Has::HopperAlone, &["wgmma"])];
        assert_eq!(disagreements(&registry(), &files), ["sm_90a: the kernel step of bitonic/step is not in it"]);
    }

    #[test]
    fn files_of_one_name_are_compared() {
        let of = |name: &str, barriers: usize| File {
            path: name.into(),
            name: name.into(),
            arch: "sm_80".parse().unwrap(),
            text: format!("// Compiled by a\n.entry step()\n{{\n{}\n}}\n", "bar.sync 0;\n".repeat(barriers)),
        };
        assert_eq!(compare(&[of("sm_80", 2), of("sm_90", 1)], &[of("sm_80", 2)]), [""; 0]);
        let wrong = compare(&[of("sm_80", 2), of("sm_90", 1)], &[of("sm_80", 3), of("sm_90", 1)]);
        assert_eq!(wrong, ["sm_80: step: 2 block barriers by a, 3 by a"]);
        assert_eq!(compare(&[of("sm_80", 2)], &[of("sm_90", 2)]).len(), 1);
    }

    #[test]
    fn local_memory_beyond_what_the_kernel_declares_is_objected_to() {
        let usage = Usage { spill_loads: 8, stack: 16, registers: 255, ..Usage::default() };
        let says = objection(&usage, 0).unwrap();
        assert!(says.starts_with("16 bytes of local memory per thread"), "{says}");
        assert!(objection(&usage, 12).is_some());
        assert_eq!(objection(&usage, 16), None);
        assert!(objection(&Usage { spill_stores: 4, ..Usage::default() }, 0).is_some());
        assert_eq!(objection(&Usage { registers: 40, ..Usage::default() }, 0), None);
    }
}
