//! The kernel in `planted`, compiled as all kernels are: its barrier stays one barrier.
//!
//! The compiler's output without the flag that marks functions convergent is recorded next to the check that finds the
//! copy (`src/convergence/planted.ll`); this test shows that the flag works with the installed compiler. The kernel is
//! also compiled with the lines of its source.

use rungs_ptx::{Arch, Options, Package, Toolchain, build};
use std::path::Path;
use std::process::Command;
use std::{env, fs};

#[test]
fn a_barrier_in_a_function_stays_one_barrier_and_its_lines_are_known() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let from = folder.join("tests/planted");
    // Away from the sources, because its Cargo.lock is made here: from the workspace's, so that no network is needed.
    let [to, twin] = ["planted", "twin"].map(|name| {
        let to = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        fs::create_dir_all(to.join("src")).unwrap();
        fs::copy(from.join("src/lib.rs"), to.join("src/lib.rs")).unwrap();
        let root = folder.ancestors().nth(2).unwrap();
        let manifest = fs::read_to_string(from.join("Cargo.toml")).unwrap();
        fs::write(to.join("Cargo.toml"), manifest.replace("../../../..", &root.display().to_string())).unwrap();
        fs::copy(root.join("Cargo.lock"), to.join("Cargo.lock")).unwrap();
        let mut cargo = Command::new(env::var_os("CARGO").unwrap());
        cargo.args(["update", "--quiet", "--offline", "--workspace"]).current_dir(&to);
        assert!(cargo.status().unwrap().success());
        to
    });

    let toolchain = Toolchain::find(folder).expect("`cargo xtask setup` installs it");
    let package = Package::at(&to).unwrap();
    let arch: Arch = "sm_80".parse().unwrap();
    let options = Options { arch, checked: false, lines: false, target_dir: to.join("target"), package };
    let built = build(&toolchain, &options).unwrap();
    assert_eq!(built.text.matches("bar.sync").count(), 1, "{}", built.text);
    assert!(built.text.contains(".entry planted("), "{}", built.text);
    for left in [".loc", ".file", ".section", "$L__tmp"] {
        assert!(!built.text.contains(left), "{left} of the line tables is in the PTX");
    }
    // Without a change nothing is compiled again.
    let entries = || fs::read_dir(to.join("target/device/sm_80")).unwrap().map(|entry| entry.unwrap());
    let assembly = || entries().find(|entry| entry.path().extension().is_some_and(|end| end == "s")).unwrap();
    let written = || assembly().metadata().unwrap().modified().unwrap();
    let first = written();
    assert_eq!((build(&toolchain, &options).unwrap().text, written()), (built.text.clone(), first));

    // Lines are of the same compilation, and of the same code.
    let with = build(&toolchain, &Options { lines: true, ..options.clone() }).unwrap().text;
    assert_eq!(written(), first);
    let is_of_lines = |line: &&str| [".loc", ".file"].iter().any(|word| line.trim().starts_with(word));
    let code: String = with.lines().filter(|line| !is_of_lines(line)).flat_map(|line| [line, "\n"]).collect();
    assert_eq!(code, built.text);
    let source = fs::canonicalize(to.join("src/lib.rs")).unwrap();
    let file =
        with.lines().find(|line| line.ends_with(&format!("\"{}\"", source.display()))).expect("the file is named");
    let number = file.split_whitespace().nth(1).unwrap();
    let source = fs::read_to_string(source).unwrap();
    for sum in ["data.get(i) + 1", "data.get(i) + 3"] {
        let line = 1 + source.lines().position(|line| line.contains(sum)).unwrap();
        assert!(with.contains(&format!("\t.loc\t{number} {line} ")), "{sum}: {with}");
    }

    // The files of a package are known after one of the same name, from another folder, was compiled.
    let of_twin = Options { package: Package::at(&twin).unwrap(), ..options.clone() };
    for (folder, options) in [(&twin, &of_twin), (&to, &options)] {
        let sources = build(&toolchain, options).unwrap().sources;
        assert!(["src/lib.rs", "Cargo.toml", "Cargo.lock"].iter().all(|name| sources.contains(&folder.join(name))));
        assert!(!sources.iter().any(|path| path.starts_with(if folder == &to { &twin } else { &to })), "{sources:?}");
    }
}
