//! Builds of PTX with a program in the place of cargo and rustc (`stand_in.sh`): what is taken from an earlier build,
//! what is compiled again, and what a build script leaves for its program. `convergence.rs` compiles a kernel.
#![cfg(unix)]

use rungs_ptx::{BuildError, Options, Package, Ptx, Toolchain, build, build_all};
use std::collections::BTreeSet;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};
use tempfile::TempDir;

/// The PTX of a kernel by rustc, with the barrier at which threads meet so often.
fn ptx(arch: &str, kernel: &str, barriers: usize) -> String {
    let barriers = "\tbar.sync \t0;\n".repeat(barriers);
    format!(
        ".version 7.0\n.target {arch}\n.address_size 64\n\n\t// .globl\t{kernel}\n.visible .entry {kernel}()\n{{\n\
         \t.loc\t1 5 9\n{barriers}\tret;\n}}\n\t.file\t1 \"src/lib.rs\"\n\t.section\t.debug_macinfo\t{{\t}}\n"
    )
}

/// What becomes of it, with the lines of the source or without.
fn finished(arch: &str, kernel: &str, lines: bool) -> String {
    let version = if arch == "sm_80" { "7.4" } else { "8.0" };
    let (loc, file) = if lines { ("\t.loc\t1 5 9\n", "\t.file\t1 \"src/lib.rs\"\n") } else { ("", "") };
    format!(
        "// Compiled by rustc 1.95.0\n.version {version}\n.target {arch}\n.address_size 64\n\n\t// .globl\t{kernel}\n\
         .visible .entry {kernel}()\n{{\n{loc}\tbar.sync \t0;\n\tret;\n}}\n{file}"
    )
}

const CALL: &str = "  tail call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0), !dbg !1\n";
const LOCATIONS: &str = "!1 = !DILocation(line: 7, column: 5, scope: !2)\n!2 = !DISubprogram(file: !3)\n\
                         !3 = !DIFile(filename: \"k.rs\")\n";

/// LLVM's IR of a kernel with one barrier.
fn ir(kernel: &str) -> String {
    format!("define ptx_kernel void @{kernel}() {{\nstart:\n{CALL}  ret void\n}}\n{LOCATIONS}")
}

/// The same after LLVM copied the barrier into both arms of a branch.
fn copied_ir(kernel: &str) -> String {
    format!(
        "define ptx_kernel void @{kernel}() {{\nstart:\n  br i1 %c, label %a, label %b, !dbg !1\na:\n{CALL}  \
         ret void\nb:\n{CALL}  ret void\n}}\n{LOCATIONS}"
    )
}

/// A folder with a toolchain and a workspace of kernels.
struct World {
    root: PathBuf,
    _folder: TempDir,
}

impl World {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let world = Self { root: fs::canonicalize(folder.path()).unwrap(), _folder: folder };
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/stand_in.sh");
        for name in ["cargo", "rustc", "nvidia-smi"] {
            world.write(&format!("bin/{name}.version"), &format!("{name} 1.95.0 (stand-in)\n"));
            symlink(&script, world.root.join("bin").join(name)).unwrap();
        }
        world.write("bin/gpus", "");
        world.write("lib/rustlib/src/rust/library/core/Cargo.toml", "");
        for name in ["Cargo.toml", "Cargo.lock", "CACHEDIR.TAG"] {
            world.write(name, "");
        }
        world
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn read(&self, path: &str) -> String {
        fs::read_to_string(self.root.join(path)).unwrap_or_default()
    }

    fn remove(&self, path: &str) {
        fs::remove_file(self.root.join(path)).unwrap();
    }

    fn toolchain(&self, version: &str) -> Toolchain {
        let bin = self.root.join("bin");
        Toolchain { rustc: bin.join("rustc"), cargo: bin.join("cargo"), version: version.into() }
    }

    /// A package with one kernel, for this architecture.
    fn package(&self, name: &str, arch: &str, kernel: &str) -> Package {
        let files = [
            ("Cargo.toml", String::new()),
            ("src/lib.rs", "kernel\n".into()),
            ("says", String::new()),
            ("ptx", ptx(arch, kernel, 1)),
            ("ir", ir(kernel)),
            ("metadata", self.metadata(name)),
        ];
        files.iter().for_each(|(file, text)| self.write(&format!("{name}/{file}"), text));
        let manifest = self.root.join(name).join("Cargo.toml");
        let (workspace_root, target_dir) = (self.root.clone(), self.root.join("target"));
        let code = vec![self.root.join(name).join("src")];
        Package { name: name.into(), library: "kernels".into(), manifest, workspace_root, target_dir, code }
    }

    /// What `cargo metadata` says of a package.
    fn metadata(&self, name: &str) -> String {
        let root = self.root.display();
        format!(
            r#"{{"packages": [{{"name": "{name}", "manifest_path": "{root}/{name}/Cargo.toml",
                "targets": [{{"kind": ["lib"], "name": "kernels"}}]}}],
                "workspace_root": "{root}", "target_directory": "{root}/target"}}"#
        )
    }

    fn options(&self, package: &Package, arch: &str) -> Options {
        let (package, target_dir) = (package.clone(), package.target_dir.clone());
        Options { arch: arch.parse().unwrap(), checked: false, lines: false, package, target_dir }
    }

    /// How often a package was compiled.
    fn calls(&self, package: &str) -> usize {
        self.read(&format!("{package}/calls")).matches("call in ").count()
    }

    fn paths(&self, names: &[&str]) -> BTreeSet<PathBuf> {
        names.iter().map(|name| self.root.join(name)).collect()
    }

    /// What this test does if it is run by [`World::embed`], which it is then told: it is a build script.
    fn is_build_script() -> bool {
        let Some(kernels) = env::var_os("STAND_IN_KERNELS") else { return false };
        if env::var_os("STAND_IN_PACKED").is_some() {
            rungs_ptx::embed_packed_from_build_script(kernels);
        } else {
            rungs_ptx::embed_from_build_script(kernels);
        }
        true
    }

    /// Runs a test of this file as the build script of the program `my-app`, with these variables. Returns what it says
    /// to cargo, but for when to run it again, and the files for the program.
    fn embed(&self, test: &str, variables: &[(&str, &str)]) -> (Vec<String>, Vec<(String, String)>) {
        let (said, files) = self.embed_with_rerun(test, variables);
        (said.into_iter().filter(|line| !line.starts_with("cargo::rerun")).collect(), files)
    }

    fn embed_with_rerun(&self, test: &str, variables: &[(&str, &str)]) -> (Vec<String>, Vec<(String, String)>) {
        let out = self.root.join("out");
        let _ = fs::remove_dir_all(&out);
        fs::create_dir_all(&out).unwrap();
        let mut path = vec![self.root.join("bin")];
        path.extend(env::split_paths(&env::var_os("PATH").unwrap()));
        let mut command = Command::new(env::current_exe().unwrap());
        command.args(["--exact", test, "--quiet", "--nocapture"]);
        for name in ["RUNGS_ARCHES", "RUNGS_LINE_INFO", "MY_APP_PTX_DIR"] {
            command.env_remove(name);
        }
        command
            .env("STAND_IN_KERNELS", self.root.join("kernels"))
            .env("PATH", env::join_paths(path).unwrap())
            .env("RUSTC", self.root.join("bin/rustc"))
            .env("CARGO", self.root.join("bin/cargo"))
            .env("OUT_DIR", &out)
            .env("TARGET", "x86_64-unknown-linux-gnu")
            .env("CARGO_PKG_NAME", "my-app")
            .env("PROFILE", "debug")
            .envs(variables.iter().copied());
        let output = command.output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let said = String::from_utf8(output.stdout).unwrap();
        let root = self.root.display().to_string();
        let said = said.lines().filter_map(|line| Some(line[line.find("cargo::")?..].replace(&root, "ROOT")));
        let read = |path: PathBuf| {
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            let bytes = fs::read(path).unwrap();
            let text =
                if name.ends_with(".zst") { rungs_ptx::unpack(&[&bytes]) } else { String::from_utf8(bytes).unwrap() };
            (name, text)
        };
        let mut files: Vec<_> = fs::read_dir(&out).unwrap().map(|entry| read(entry.unwrap().path())).collect();
        files.sort();
        (said.collect(), files)
    }
}

/// The sources of a package's kernel.
const SOURCES: [&str; 4] = ["kernels/src/lib.rs", "kernels/Cargo.toml", "Cargo.toml", "Cargo.lock"];

#[test]
fn kernels_are_compiled_again_if_a_source_changed_and_only_then() {
    let world = World::new();
    let package = world.package("kernels", "sm_80", "first");
    let options = world.options(&package, "sm_80");
    let build = |options: &Options| build(&world.toolchain("1.95.0"), options).unwrap();
    world.write("kernels/says", "warning: unused\n");
    let expected = |warnings: &str| (finished("sm_80", "first", false), warnings.to_string(), world.paths(&SOURCES));
    let parts = |ptx: Ptx| (ptx.text, ptx.warnings, ptx.sources);
    assert_eq!(parts(build(&options)), expected("warning: unused"));
    assert_eq!(world.calls("kernels"), 1);
    let again = build(&options);
    assert_eq!((&*again.name, again.arch.to_string()), ("sm_80", "sm_80".into()));
    assert_eq!(parts(again), expected(""));
    assert_eq!(world.calls("kernels"), 1, "it is kept");
    // The lines are another text.
    let lines = Options { lines: true, ..options.clone() };
    assert_eq!(build(&lines).text, finished("sm_80", "first", true));
    assert_eq!(world.calls("kernels"), 2);
    assert_eq!((build(&options).text, build(&lines).text), (expected("").0, finished("sm_80", "first", true)));
    assert_eq!(world.calls("kernels"), 2);
    for (i, source) in SOURCES.into_iter().enumerate() {
        world.write(source, "changed");
        build(&options);
        build(&options);
        assert_eq!(world.calls("kernels"), 3 + i, "{source}");
    }
    world.write("kernels/ptx", &ptx("sm_80", "second", 1));
    world.write("kernels/ir", &ir("second"));
    world.write("kernels/src/lib.rs", "second kernel\n");
    assert_eq!(build(&options).text, finished("sm_80", "second", false));
}

/// Two packages whose libraries have one name, two compilers, two architectures, with checks and without: each has its
/// own PTX, whatever was compiled before.
#[test]
fn no_build_takes_the_ptx_of_another() {
    let world = World::new();
    let packages = [world.package("kernels", "sm_80", "one"), world.package("twin", "sm_80", "two")];
    let kernel = |package: &Package, version: &str, arch: &str, checked: bool| {
        let options = Options { checked, ..world.options(package, arch) };
        let ptx = build(&world.toolchain(version), &options).unwrap();
        let name = rungs_ptx::ptx::entries(&ptx.text)[0].name.clone();
        let compiler = rungs_ptx::ptx::compiler(&ptx.text).unwrap().to_owned();
        (name, compiler, ptx.name)
    };
    let of = |name: &str, compiler: &str, named: &str| (name.into(), compiler.into(), named.into());
    for round in 0..2 {
        assert_eq!(kernel(&packages[0], "1.95.0", "sm_80", false), of("one", "rustc 1.95.0", "sm_80"));
        assert_eq!(kernel(&packages[1], "1.95.0", "sm_80", false), of("two", "rustc 1.95.0", "sm_80"));
        assert_eq!(kernel(&packages[0], "1.96.0", "sm_80", false), of("one", "rustc 1.96.0", "sm_80"));
        assert_eq!(kernel(&packages[0], "1.95.0", "sm_86", false), of("one", "rustc 1.95.0", "sm_86"));
        assert_eq!(kernel(&packages[0], "1.95.0", "sm_80", true), of("one", "rustc 1.95.0", "sm_80-checked"));
        assert_eq!((world.calls("kernels"), world.calls("twin")), (4, 1), "round {round}");
    }
}

/// With the folder of the test and the name of the assembly, which has a hash, left out.
#[test]
fn cargo_is_called_with_everything_that_decides_on_the_code() {
    let world = World::new();
    let package = world.package("kernels", "sm_90a", "first");
    let call = |options: &Options| {
        build(&world.toolchain("1.95.0"), options).unwrap();
        let calls = world.read("kernels/calls");
        world.remove("kernels/calls");
        let assembly = calls.split("kernels-").nth(1).unwrap().split(".s,").next().unwrap();
        assert_eq!(assembly.len(), 16, "{calls}");
        calls.replace(assembly, "HASH").replace(&world.root.display().to_string(), "ROOT")
    };
    let expected = |name: &str, options: &[&str]| {
        let options: String = options.iter().map(|option| format!("  {option}\n")).collect();
        format!(
            "call in ROOT/kernels\n  rustc\n  --quiet\n  --release\n  --lib\n  --crate-type\n  cdylib\n  \
             --manifest-path\n  ROOT/kernels/Cargo.toml\n  -Zbuild-std=core\n  --target\n  nvptx64-nvidia-cuda\n  \
             --target-dir\n  ROOT/target/device/{name}\n{options}  --config\n  profile.release.lto=\"fat\"\n  \
             --config\n  profile.release.codegen-units=1\n  --config\n  profile.release.panic=\"abort\"\n  --config\n  \
             profile.release.opt-level=3\n  --config\n  profile.release.package.\"*\".opt-level=3\n  --config\n  \
             profile.release.debug=\"line-directives-only\"\n  --config\n  \
             profile.release.debug-assertions=false\n  --config\n  profile.release.overflow-checks=false\n  \
             --config\n  profile.release.incremental=false\n  --\n  -Clinker=true\n  \
             --emit=asm=ROOT/target/device/{name}/kernels-HASH.s,\
             llvm-ir=ROOT/target/device/{name}/kernels-HASH.ll\n"
        )
    };
    let options = world.options(&package, "sm_90a");
    assert_eq!(call(&options), expected("sm_90a", &["--locked"]));
    let flags = "CARGO_ENCODED_RUSTFLAGS=-Ctarget-cpu=sm_90a\x1f-Zunstable-options\x1f-Cpanic=immediate-abort\x1f\
                 -Zmir-enable-passes=-JumpThreading\x1f--cfg\x1fsm_90\x1f--cfg\x1fsm_90a\x1f\
                 -Cllvm-args=-force-attribute=convergent";
    let environment = world.read("kernels/environment");
    for line in [flags, "RUSTC_BOOTSTRAP=1", "RUSTC_WRAPPER=", "RUSTC_WORKSPACE_WRAPPER="] {
        assert!(environment.lines().any(|set| set == line), "{line}: {environment}");
    }
    assert!(environment.contains(&format!("\nRUSTC={}/bin/rustc\n", world.root.display())), "{environment}");
    let checked = Options { checked: true, ..options.clone() };
    assert_eq!(call(&checked), expected("sm_90a-checked", &["--locked", "--features", "simt/checked"]));
    // A package that was never built has no lock file.
    world.remove("Cargo.lock");
    assert_eq!(call(&options), expected("sm_90a", &[]));
    // PTX needs no linker; cargo compiles again where the file of one is missing.
    assert!(world.root.join("target/device/sm_90a/nvptx64-nvidia-cuda/release/deps/kernels.ptx").is_file());
}

/// A build script's cargo sets variables that are not for another cargo; a person sets some for the host's code.
#[test]
fn cargo_has_no_variables_of_the_cargo_around_it() {
    const NAMES: [&str; 14] = [
        "CARGO",
        "CARGO_PKG_NAME",
        "CARGO_BUILD_TARGET",
        "CARGO_TARGET_DIR",
        "CARGO_MAKEFLAGS",
        "CARGO_HOME",
        "CARGO_HTTP_TIMEOUT",
        "CARGO_NET_OFFLINE",
        "CARGO_REGISTRIES_MY_INDEX",
        "CARGO_SOURCE_X",
        "RUSTFLAGS",
        "RUSTDOC",
        "RUSTUP_TOOLCHAIN",
        "CARGOLESS",
    ];
    let world = World::new();
    let variables = NAMES.map(|name| (name, if name == "CARGO" { "cargo" } else { "set" }));
    if env::var_os("STAND_IN_KERNELS").is_some() {
        let root = PathBuf::from(env::var_os("STAND_IN_KERNELS").unwrap());
        let _ = fs::remove_file(root.join("calls"));
        let manifest = root.join("Cargo.toml");
        let workspace_root = root.parent().unwrap().to_owned();
        let target_dir = workspace_root.join("target");
        let (rustc, cargo) = (workspace_root.join("bin/rustc"), workspace_root.join("bin/cargo"));
        let (name, library, code) = ("kernels".to_string(), "kernels".to_string(), vec![root.join("src")]);
        let package = Package { name, library, manifest, workspace_root, target_dir, code };
        let options = world.options(&package, "sm_80");
        build(&Toolchain { rustc, cargo, version: "1.95.0".into() }, &options).unwrap();
        return;
    }
    world.package("kernels", "sm_80", "first");
    world.embed("cargo_has_no_variables_of_the_cargo_around_it", &variables);
    let environment = world.read("kernels/environment");
    let passed = NAMES.into_iter().filter(|name| environment.lines().any(|line| line.starts_with(&format!("{name}="))));
    let kept = [
        "CARGO_MAKEFLAGS",
        "CARGO_HOME",
        "CARGO_HTTP_TIMEOUT",
        "CARGO_NET_OFFLINE",
        "CARGO_REGISTRIES_MY_INDEX",
        "CARGO_SOURCE_X",
        "RUSTUP_TOOLCHAIN",
        "CARGOLESS",
    ];
    assert_eq!(passed.collect::<Vec<_>>(), kept);
}

#[test]
fn a_failed_build_says_whose_fault_it_is_and_leaves_nothing() {
    let world = World::new();
    let package = world.package("kernels", "sm_80", "first");
    let options = world.options(&package, "sm_80");
    let fails = || {
        let why = build(&world.toolchain("1.95.0"), &options).unwrap_err();
        let of_kernels = matches!(why, BuildError::Kernels(_));
        let said = why.to_string().replace(&world.root.display().to_string(), "ROOT");
        let hash = said.split("/kernels-").nth(1).and_then(|rest| rest.split('.').next()).unwrap_or("-").to_owned();
        (of_kernels, said.replace(&hash, "HASH"))
    };
    let kernels = |why: &str| (true, format!("the kernels do not compile for a GPU:\n{why}"));
    let toolchain = |why: &str| (false, format!("the compiler for the GPU did not run:\n{why}"));
    world.write("kernels/fails", "");
    world.write("kernels/says", "error: could not compile `kernels`\n");
    assert_eq!(fails(), kernels("error: could not compile `kernels`"));
    world.write("kernels/says", "error: no network\n");
    assert_eq!(fails(), toolchain("error: no network"));
    world.remove("kernels/fails");
    // Cargo has nothing to compile, and nothing was checked.
    world.remove("kernels/ir");
    let no_such_file = "No such file or directory (os error 2)";
    assert_eq!(fails(), toolchain(&format!("ROOT/target/device/sm_80/kernels-HASH.ll: {no_such_file}")));
    // A barrier on both arms of a branch, however often it is built.
    world.write("kernels/ptx", &ptx("sm_80", "first", 2));
    world.write("kernels/ir", &copied_ir("first"));
    let copied = "sm_80: the compiler copied code at which threads meet into several branches, where they would \
                  not:\n  first: barrier.cta.sync.aligned.all at k.rs:7:5 was copied into the blocks %a and %b, and a \
                  thread comes to one of them; they part at k.rs:7:5";
    assert_eq!([fails(), fails()], [kernels(copied), kernels(copied)]);
    world.remove("kernels/ir");
    assert_eq!(fails(), kernels(copied), "the IR of a kernel that was refused stays");
    // A text that is no kernel's.
    world.write("kernels/ptx", "//.rungs.bounds other 32 0 0 0\n");
    world.write("kernels/ir", "");
    let bounds = "sm_80: launch bounds are given for other, which is not a kernel in the PTX";
    assert_eq!(fails(), kernels(bounds));
    // What was checked, and has no new IR, needs no check.
    world.remove("kernels/ir");
    world.write("kernels/ptx", &ptx("sm_80", "first", 1));
    let built = build(&world.toolchain("1.95.0"), &options).unwrap();
    assert_eq!(built.text, finished("sm_80", "first", false));
    // New IR is checked, even if former IR was.
    world.write("kernels/ir", &copied_ir("first"));
    world.write("kernels/ptx", &ptx("sm_80", "first", 2));
    world.write("kernels/src/lib.rs", "changed");
    assert_eq!(fails(), kernels(copied));

    let nowhere = Toolchain { cargo: "/no-such-cargo".into(), ..world.toolchain("1.95.0") };
    let why = build(&nowhere, &options).unwrap_err().to_string();
    let said = format!("/no-such-cargo did not start: {no_such_file}");
    assert_eq!(why, toolchain(&said).1);
}

#[test]
fn ptx_that_cargo_left_out_is_missed() {
    let world = World::new();
    let package = world.package("kernels", "sm_80", "first");
    world.remove("kernels/ptx");
    let why = build(&world.toolchain("1.95.0"), &world.options(&package, "sm_80")).unwrap_err();
    let (BuildError::Toolchain(why), folder) = (why, world.root.join("target/device/sm_80")) else { panic!() };
    let begin = format!("cargo left no PTX in {}/kernels-", folder.display());
    let end = format!(".s (No such file or directory (os error 2)); remove {} and build again", folder.display());
    assert!(why.starts_with(&begin) && why.ends_with(&end), "{why}");
}

#[test]
fn a_folder_that_cannot_be_written_to_is_named() {
    let world = World::new();
    let package = world.package("kernels", "sm_80", "first");
    world.write("target/device/sm_80/nvptx64-nvidia-cuda/release/deps", "a file");
    let why = build(&world.toolchain("1.95.0"), &world.options(&package, "sm_80")).unwrap_err().to_string();
    let folder = world.root.join("target/device/sm_80");
    let said = format!("{}: Not a directory (os error 20)", folder.display());
    assert_eq!(why, format!("the compiler for the GPU did not run:\n{said}"));
}

#[test]
fn packages_are_joined_for_each_architecture() {
    let world = World::new();
    let packages = [world.package("kernels", "sm_80", "one"), world.package("other", "sm_80", "two")];
    world.write("kernels/says", "warning: of both\n");
    world.write("other/says", "warning: of both\n");
    let all: Vec<_> = ["sm_80", "sm_86"]
        .into_iter()
        .flat_map(|arch| packages.each_ref().map(|package| world.options(package, arch)))
        .collect();
    let built = build_all(&world.toolchain("1.95.0"), &all).unwrap();
    let text = finished("sm_80", "one", false) + finished("sm_80", "two", false).split("size 64\n").nth(1).unwrap();
    let sources = world.paths(&[&SOURCES[..], &["other/Cargo.toml", "other/src/lib.rs"]].concat());
    let of = |ptx: &Ptx| {
        let Ptx { name, arch, text, warnings, sources, ends: _ } = ptx.clone();
        (name, arch.to_string(), text, warnings, sources)
    };
    let expected =
        |arch: &str| (arch.to_string(), arch.to_string(), text.clone(), "warning: of both".into(), sources.clone());
    assert_eq!(built.iter().map(of).collect::<Vec<_>>(), [expected("sm_80"), expected("sm_86")]);
    // One kernel in two packages.
    world.package("other", "sm_80", "one");
    world.write("other/src/lib.rs", "changed");
    let why = build_all(&world.toolchain("1.95.0"), &all).unwrap_err();
    assert_eq!(why.to_string(), "the kernels do not compile for a GPU:\none is in two packages; rename one");
}

#[test]
fn a_package_without_code_for_sm_90a_is_compiled_once_for_hopper() {
    let world = World::new();
    let packages = [world.package("kernels", "sm_90", "one"), world.package("other", "sm_90a", "two")];
    world.write("other/src/lib.rs", "#[kernel(sm_90a)]\n");
    let [one, two] = &packages;
    let all = [world.options(one, "sm_90"), world.options(one, "sm_90a"), world.options(two, "sm_90a")];
    let built = build_all(&world.toolchain("1.95.0"), &all).unwrap();
    let second = finished("sm_90a", "two", false);
    let texts = [
        ("sm_90".into(), finished("sm_90", "one", false)),
        ("sm_90a".into(), finished("sm_90a", "one", false) + second.split("size 64\n").nth(1).unwrap()),
    ];
    let found: Vec<_> = built.iter().map(|ptx| (ptx.arch.to_string(), ptx.text.clone())).collect();
    assert_eq!((found, world.calls("kernels"), world.calls("other")), (texts.to_vec(), 1, 1));
    // From what is there already, and for sm_90a itself if there is nothing.
    let again = build_all(&world.toolchain("1.95.0"), &all[1..]).unwrap();
    assert_eq!((&*again[0].text, world.calls("kernels")), (&*texts[1].1, 1));
    world.write("kernels/src/lib.rs", "changed");
    world.write("kernels/ptx", &ptx("sm_90a", "one", 1));
    let alone = build_all(&world.toolchain("1.95.0"), &all[1..]).unwrap();
    assert_eq!((&*alone[0].text, world.calls("kernels")), (&*texts[1].1, 2));
    assert!(world.root.join("target/device/sm_90a").exists());
}

/// The code for a program with these texts, each as the expression for it.
fn code(list: &str, toolchain: &str, missing: &str) -> String {
    format!(
        "/// The kernels: architecture and PTX, oldest architecture first.\npub static PTX: {list};\n\
         /// The compiler that made them; empty if there are none.\npub static PTX_TOOLCHAIN: &str = {toolchain:?};\n\
         /// The reason why there are none; empty if there are.\npub static PTX_MISSING: &str = {missing:?};\n"
    )
}

fn plain(names: &[&str]) -> String {
    let line = |name: &&str| format!("    ({name:?}, include_str!(concat!(env!(\"OUT_DIR\"), \"/{name}.ptx\"))),\n");
    format!("&[(&str, &str)] = &[\n{}]", names.iter().map(line).collect::<String>())
}

#[test]
fn a_program_without_ptx_says_why() {
    if World::is_build_script() {
        return;
    }
    let world = World::new();
    let embed = |variables: &[(&str, &str)]| world.embed("a_program_without_ptx_says_why", variables);
    let none = |missing: &str| vec![("ptx.rs".to_string(), code(&plain(&[]), "", missing))];
    let warning = |missing: &str| vec![format!("cargo::warning=built without PTX, for the simulator only: {missing}")];
    let asked = ("RUNGS_ARCHES", "none");
    assert_eq!(embed(&[asked]), (vec![], none("RUNGS_ARCHES=none")));
    assert_eq!(embed(&[asked, ("PROFILE", "release")]), (warning("RUNGS_ARCHES=none"), none("RUNGS_ARCHES=none")));
    let lazy = "std::sync::LazyLock<Vec<(&'static str, &'static str)>> = std::sync::LazyLock::new(Vec::new)";
    let packed = vec![("ptx.rs".into(), code(lazy, "", "RUNGS_ARCHES=none"))];
    assert_eq!(embed(&[asked, ("STAND_IN_PACKED", "1")]), (vec![], packed));
    let debug = "a debug build has PTX for the GPUs of the machine that builds it, and it has none; build with \
                 --release, or set RUNGS_ARCHES=sm_90a, for example";
    assert_eq!(embed(&[]), (vec![], none(debug)));
    // For the GPU itself the build script does nothing.
    assert_eq!(embed(&[asked, ("TARGET", "nvptx64-nvidia-cuda")]), (vec![], vec![]));
    // A compiler that does not get to the kernels leaves a program for the simulator.
    world.package("kernels", "sm_80", "first");
    world.write("kernels/fails", "");
    world.write("kernels/says", "error: no network\n\n  caused by this\n");
    let build = [("RUNGS_ARCHES", "sm_80"), ("PROFILE", "release")];
    let why = "rustc 1.95.0 did not get to the kernels: error: no network; caused by this";
    let (said, files) = world.embed_with_rerun("a_program_without_ptx_says_why", &build);
    let again = "cargo::rerun-if-changed=ROOT/target/device/try-again".to_string();
    assert!(said.contains(&again.replace("ROOT/target", "ROOT")) && files == none(why), "{said:?} {files:?}");
    assert!(said.contains(&warning(why)[0]), "{said:?}");
    // Kernels that are wrong fail the build.
    world.write("kernels/says", "error: bad\nerror: could not compile `kernels`\n");
    let lines = ["the kernels do not compile for a GPU:", "error: bad", "error: could not compile `kernels`"];
    assert_eq!(embed(&build), (lines.map(|line| format!("cargo::error={line}")).to_vec(), vec![]));
}

#[test]
fn a_program_has_the_ptx_that_was_compiled_for_it() {
    if World::is_build_script() {
        return;
    }
    let world = World::new();
    let test = "a_program_has_the_ptx_that_was_compiled_for_it";
    world.package("kernels", "sm_80", "first");
    let asked = ("RUNGS_ARCHES", "sm_80");
    let text = |lines| finished("sm_80", "first", lines);
    let files = |lines| {
        let code = code(&plain(&["sm_80"]), "rustc 1.95.0", "");
        vec![("ptx.rs".to_string(), code), ("sm_80.ptx".to_string(), text(lines))]
    };
    let (said, left) = world.embed_with_rerun(test, &[asked]);
    let rerun = [
        "env-changed=MY_APP_PTX_DIR",
        "env-changed=RUNGS_ARCHES",
        "env-changed=RUNGS_LINE_INFO",
        "changed=ROOT/Cargo.lock",
        "changed=ROOT/Cargo.toml",
        "changed=ROOT/kernels/Cargo.toml",
        "changed=ROOT/kernels/src/lib.rs",
    ];
    assert_eq!((said, left), (rerun.map(|line| format!("cargo::rerun-if-{line}")).to_vec(), files(false)));
    // In the folder that cargo marked as its own.
    assert!(world.root.join("device/sm_80").is_dir());
    assert_eq!(world.embed(test, &[asked, ("RUNGS_LINE_INFO", "1")]), (vec![], files(true)));
    assert_eq!(world.embed(test, &[asked, ("RUNGS_LINE_INFO", "0")]), (vec![], files(false)));
    // Head and kernels apart: a part that stays is not compressed again.
    let (said, files) = world.embed(test, &[asked, ("STAND_IN_PACKED", "1")]);
    let of = |name: &str| &*files.iter().find(|file| file.0 == name).unwrap().1;
    let parts: Vec<_> = of("ptx.rs").split("\"/").skip(1).map(|rest| rest.split('"').next().unwrap()).collect();
    let bytes = |name: &&str| format!("include_bytes!(concat!(env!(\"OUT_DIR\"), \"/{name}\"))");
    let bytes = parts.iter().map(bytes).collect::<Vec<_>>().join(", ");
    let packed = format!(
        "std::sync::LazyLock<Vec<(&'static str, &'static str)>> = std::sync::LazyLock::new(|| vec![\n    \
         (\"sm_80\", &*rungs_ptx::unpack(&[{bytes}]).leak()),\n])"
    );
    assert_eq!(of("ptx.rs"), code(&packed, "rustc 1.95.0", ""));
    assert_eq!(parts.iter().map(|name| of(name)).collect::<String>(), text(false));
    assert_eq!((said, files.len(), parts.len()), (vec![], 3, 2));
}

/// By the driver's program: PTX for an older GPU where rustc has no name for a newer one.
#[test]
fn a_program_has_ptx_for_the_gpus_at_hand() {
    if World::is_build_script() {
        return;
    }
    let world = World::new();
    world.package("kernels", "sm_80", "first");
    let names = |gpus: &str| {
        world.write("bin/gpus", gpus);
        let (_, files) = world.embed("a_program_has_ptx_for_the_gpus_at_hand", &[("PROFILE", "release")]);
        files.into_iter().map(|file| file.0).collect::<Vec<_>>()
    };
    assert_eq!(names("9.0\n8.0\n8.0\n[N/A]\n"), ["ptx.rs", "sm_80.ptx", "sm_90a.ptx"]);
    assert_eq!(names("8.9\n10.0\n"), ["ptx.rs", "sm_89.ptx", "sm_90.ptx"]);
    assert_eq!(names(""), ["ptx.rs", "sm_80.ptx", "sm_90a.ptx"], "a release build without a GPU");
}

#[test]
fn a_program_takes_the_ptx_of_a_folder_that_is_named() {
    if World::is_build_script() {
        return;
    }
    let world = World::new();
    let folder = world.root.join("made").display().to_string();
    let test = "a_program_takes_the_ptx_of_a_folder_that_is_named";
    let embed = || world.embed_with_rerun(test, &[("MY_APP_PTX_DIR", &folder), ("RUNGS_ARCHES", "none")]);
    let rerun =
        vec!["cargo::rerun-if-env-changed=MY_APP_PTX_DIR".to_string(), "cargo::rerun-if-changed=ROOT/made".into()];
    let fails = |why: &str| {
        let (said, files) = embed();
        assert_eq!(files, []);
        let error = said.iter().find_map(|line| line.strip_prefix("cargo::error=")).unwrap_or_default();
        assert_eq!(error, why, "{said:?}");
    };
    fails(&format!("MY_APP_PTX_DIR={folder}: No such file or directory (os error 2)").replace(&root(&world), "ROOT"));
    world.write("made/notes.ptx", "no PTX");
    world.write("made/sm_80.txt", "no PTX");
    fails("MY_APP_PTX_DIR=ROOT/made: there is no sm_*.ptx in it");
    let of = |compiler: &str, arch: &str| finished(arch, "first", false).replace("rustc 1.95.0", compiler);
    let texts = [("sm_100", of("b", "sm_100")), ("sm_80", of("a", "sm_80")), ("sm_90", of("b", "sm_90"))];
    texts.iter().for_each(|(name, text)| world.write(&format!("made/{name}.ptx"), text));
    let code = code(&plain(&["sm_80", "sm_90", "sm_100"]), "a and b (from MY_APP_PTX_DIR)", "");
    let mut files = vec![("ptx.rs".to_string(), code)];
    files.extend(texts.map(|(name, text)| (format!("{name}.ptx"), text)));
    assert_eq!(embed(), (rerun, files));
    world.write("made/sm_80.ptx", "// Compiled by a\n");
    fails("ROOT/made/sm_80.ptx has no kernels in it");
}

fn root(world: &World) -> String {
    world.root.display().to_string()
}

/// Each toolchain lacks something else. In a build script's environment, where `$RUSTC` is the first that is asked.
#[test]
fn a_toolchain_is_whole_or_not_taken() {
    let world = World::new();
    if let Some(folder) = env::var_os("STAND_IN_KERNELS") {
        match Toolchain::find(Path::new(&folder)) {
            Ok(Toolchain { rustc, cargo, version }) => {
                println!("cargo::{} {} {version}", rustc.display(), cargo.display());
            }
            Err(missing) => println!("cargo::{}", missing.looked.join("; ")),
        }
        return;
    }
    fs::create_dir(world.root.join("kernels")).unwrap();
    // No other compiler is in PATH.
    let found = || {
        let path = format!("{}:/usr/bin:/bin", world.root.join("bin").display());
        let (said, _) = world.embed("a_toolchain_is_whole_or_not_taken", &[("PATH", &path)]);
        let [said] = &said[..] else { panic!("{said:?}") };
        let said = said.strip_prefix("cargo::").unwrap().split("; ").next().unwrap().to_owned();
        said.replace("ROOT/bin/rustc: ", "")
    };
    assert_eq!(found(), "ROOT/bin/rustc ROOT/bin/cargo 1.95.0");
    // Debian's compiler is taken where this one is not.
    if Path::new("/usr/bin/rustc").exists() {
        return;
    }
    world.write("bin/cargo.version", "cargo 1.96.0\n");
    assert_eq!(found(), "is version 1.95.0, but its cargo (ROOT/bin/cargo) is 1.96.0");
    world.write("bin/cargo.version", "");
    assert_eq!(found(), "has no cargo with it");
    world.write("bin/cargo.version", "cargo 1.95.1\n");
    assert_eq!(found(), "ROOT/bin/rustc ROOT/bin/cargo 1.95.0");
    world.write("lib/rustlib/src/rust/src/version", "1.94.0\n");
    assert_eq!(found(), "is version 1.95.0, but its library source is 1.94.0");
    world.write("lib/rustlib/src/rust/src/version", "1.95.0\n");
    assert_eq!(found(), "ROOT/bin/rustc ROOT/bin/cargo 1.95.0");
    let needed = env!("CARGO_PKG_RUST_VERSION");
    world.write("bin/rustc.version", "rustc 1.63.0\n");
    assert_eq!(found(), format!("is version 1.63.0, and {needed} or later is needed"));
    world.write("bin/rustc.version", "");
    assert_eq!(found(), "does not tell its version");
    world.write("bin/rustc.version", "rustc 1.95.0\n");
    world.remove("lib/rustlib/src/rust/library/core/Cargo.toml");
    assert_eq!(found(), "has no library source (ROOT/lib/rustlib/src/rust/library is not there)");
    // Whatever a program that fails says.
    world.write("bin/broken", "");
    assert_eq!(found(), "there is no such compiler, or it does not run");
    world.remove("bin/rustc");
    assert_eq!(found(), "there is no such compiler, or it does not run");
}
