//! `rungs bench` as its users meet it, on the simulator; with a library of peers written in C if there is a compiler.
//! If not, the tests that need it are reported as ignored.

use assert_cmd::Command;
use libtest_mimic::{Arguments, Trial};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command as Process, Output};
use tempfile::TempDir;

/// A library with the functions of bench/peers/peers.h that works on the host's memory. Its reference is an insertion
/// sort; its stand-in for Thrust leaves the keys unsorted.
const LIBRARY: &str = r#"
#include <stddef.h>
#include <stdint.h>
#include <string.h>
typedef struct { const char *name, *family, *what, *dtype; int in_place; } Peer;
static const Peer PEERS[] = {
    {"cub_radix_sort_keys_u32", "sort", "an insertion sort", "u32", 0},
    {"thrust_sort_u32", "sort", "nothing", "u32", 1},
    {"cub_radix_sort_pairs_u32", "sort", "an insertion sort", "u32", 0},
};
int rungs_peers_list(const Peer** out) { *out = PEERS; return 3; }
int rungs_peer_bytes(const char* name, const size_t* shape, size_t len, size_t* in, size_t* out) {
    (void)len;
    *in = *out = shape[0] * (strcmp(name, "cub_radix_sort_pairs_u32") == 0 ? 8 : 4);
    return 0;
}
int rungs_peer_run(const char* name, const void* input, void* output, void* temp, size_t* bytes, const size_t* shape,
                   size_t len, void* stream) {
    (void)len; (void)stream;
    if (temp == NULL) { *bytes = 1; return 0; }
    if (strncmp(name, "cub", 3) != 0) return 0;
    int pairs = strcmp(name, "cub_radix_sort_pairs_u32") == 0;
    uint32_t *keys = output, *values = keys + shape[0];
    memcpy(keys, input, shape[0] * (pairs ? 8 : 4));
    for (size_t i = 1; i < shape[0]; i++) {
        uint32_t key = keys[i], value = pairs ? values[i] : 0;
        size_t at = i;
        for (; at > 0 && keys[at - 1] > key; at--) {
            keys[at] = keys[at - 1];
            if (pairs) values[at] = values[at - 1];
        }
        keys[at] = key;
        if (pairs) values[at] = value;
    }
    return 0;
}
const char* rungs_peer_error(void) { return ""; }
const char* rungs_peers_about(void) { return "written for a test"; }
"#;

/// The compiler of the library.
const COMPILER: &str = "cc";

/// The program: that in `RUNGS_BIN`, or the one next to the test programs.
fn bench(arguments: &[&str]) -> Output {
    let path = std::env::var_os("RUNGS_BIN").map(PathBuf::from).unwrap_or_else(|| {
        let folder = std::env::current_exe().unwrap();
        folder.ancestors().nth(2).unwrap().join("rungs")
    });
    let mut command = Command::from_std(Process::new(path));
    command.arg("bench").args(arguments).args(["--device", "sim", "-q"]).env_remove("RUNGS_PEERS");
    command.timeout(std::time::Duration::from_secs(120)).output().unwrap()
}

fn code(output: &Output) -> i32 {
    output.status.code().expect("ended by a signal")
}

fn json(text: &[u8]) -> Value {
    serde_json::from_slice(text).unwrap_or_else(|e| panic!("{e}: {}", String::from_utf8_lossy(text)))
}

/// The library, compiled.
fn library(folder: &Path) -> String {
    let (source, library) = (folder.join("peers.c"), folder.join("libpeers.so"));
    fs::write(&source, LIBRARY).unwrap();
    let built = Process::new(COMPILER).args(["-shared", "-fPIC", "-O1", "-o"]).arg(&library).arg(&source).status();
    assert!(built.unwrap().success(), "the made-up peers do not compile");
    library.to_string_lossy().into_owned()
}

/// The reason why there is no library here: a machine that only runs the tests may have no compiler.
fn no_compiler() -> Option<String> {
    let answer = Process::new(COMPILER).arg("--version").output();
    answer.err().map(|e| format!("the C compiler {COMPILER} does not start: {e}"))
}

fn main() {
    let arguments = Arguments::from_args();
    let why = no_compiler();
    if let Some(why) = &why {
        eprintln!("tests with a library of peers are ignored: {why}");
    }
    let test = |name: &str, run: fn()| {
        Trial::test(name, move || {
            run();
            Ok(())
        })
    };
    let with_library = |name: &str, run: fn()| test(name, run).with_ignored_flag(why.is_some());
    let trials = vec![
        test(
            "every_family_is_measured_and_says_that_it_is_the_simulator",
            every_family_is_measured_and_says_that_it_is_the_simulator,
        ),
        with_library(
            "a_library_of_peers_is_opened_and_who_is_wrong_is_called_so",
            a_library_of_peers_is_opened_and_who_is_wrong_is_called_so,
        ),
        with_library("a_report_names_no_folder_of_the_machine", a_report_names_no_folder_of_the_machine),
        with_library("cub_sorts_the_shares_of_a_group", cub_sorts_the_shares_of_a_group),
        with_library("values_beside_a_library_that_moves_values", values_beside_a_library_that_moves_values),
        test("csv_has_a_line_a_row", csv_has_a_line_a_row),
        test("unusable_calls", unusable_calls),
    ];
    libtest_mimic::run(&arguments, trials).exit();
}

fn every_family_is_measured_and_says_that_it_is_the_simulator() {
    let output = bench(&["--n", "64", "--format", "json"]);
    assert_eq!(code(&output), 0, "{}", String::from_utf8_lossy(&output.stderr));
    let report = json(&output.stdout);
    assert!(report["notes"][0].as_str().unwrap().contains("simulator"));
    let rows = report["results"].as_array().unwrap();
    for family in rungs_cli::algorithms::FAMILIES.iter() {
        let measured = rows.iter().filter(|row| row["family"] == family.name).count();
        // Not those that sort keys with values alone, or take other types alone.
        let first = |rung| family.usual_dtype(rung) == family.dtypes[0];
        let asked = family.rungs.iter().filter(|rung| !family.usual(rung).values && first(rung)).count();
        assert_eq!(measured, asked, "{}", family.name);
    }
    for row in rows.iter().filter(|row| row["skipped"].is_null()) {
        assert_eq!(row["verified"], true, "{row}");
        assert!(row["call"]["median_ms"].as_f64().unwrap() > 0.0 && row["rate"].as_f64().unwrap() > 0.0);
    }
}

fn a_library_of_peers_is_opened_and_who_is_wrong_is_called_so() {
    let folder = TempDir::new().unwrap();
    let library = library(folder.path());
    let plots = folder.path().join("plots");
    let save = folder.path().join("new/report.json");
    let (plots, save) = (plots.to_str().unwrap(), save.to_str().unwrap());
    let peers = format!("--peers={library}");
    let call = [
        "bitonic",
        "--rung",
        "global-step",
        "--n",
        "32,2^6",
        "--runs",
        "2",
        &peers,
        "--peers-on-host",
        "--plot",
        plots,
        "--save",
        save,
    ];
    let output = bench(&call);
    assert_eq!(code(&output), 1, "a wrong result is exit code 1");
    let report = json(&fs::read(save).unwrap());
    let rows = report["results"].as_array().unwrap();
    assert_eq!(rows.len(), 6);
    for row in rows {
        let wrong = row["name"] == "thrust_sort_u32";
        assert_eq!(
            (row["verified"] == true, row["error"].is_null(), row["call"].is_null()),
            (!wrong, !wrong, wrong),
            "{row}"
        );
        assert_eq!(row["kind"], if row["name"] == "global-step" { "rung" } else { "peer" });
        if row["name"] == "global-step" {
            assert_eq!(row["over_peer"]["of"], "cub_radix_sort_keys_u32");
            assert!(row["over_peer"]["call"].as_f64().unwrap() > 0.0 && row["back_to_back"]["runs"] == 2);
        }
        assert_eq!(row["scratch_bytes"], if row["name"] == "global-step" { 0 } else { 1 });
    }
    let mut names: Vec<_> =
        fs::read_dir(plots).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    assert_eq!(names, ["bitonic-u32-uniform-rate.svg", "bitonic-u32-uniform-ratio.svg"]);
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("2 of 6 results are wrong; the first: bitonic thrust_sort_u32 is wrong"), "{said}");
    assert!(said.contains(": got ") && said.contains(", expected "), "{said}");
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("WRONG: ") && text.contains("over peer"), "{text}");
}

fn a_report_names_no_folder_of_the_machine() {
    let folder = TempDir::new().unwrap();
    let peers = format!("--peers={}", library(folder.path()));
    let save = folder.path().join("report.json");
    let call = ["bitonic", "--rung", "global-step", "--n", "32", "--runs", "1", &peers, "--peers-on-host"];
    let peer = ["--peer", "reference", "--save", save.to_str().unwrap()];
    let output = bench(&[&call[..], &peer].concat());
    assert_eq!(code(&output), 0, "{}", String::from_utf8_lossy(&output.stderr));
    let text = fs::read_to_string(&save).unwrap();
    assert!(!text.contains(folder.path().to_str().unwrap()), "{text}");
    let report = json(text.as_bytes());
    assert_eq!(report["peers"], "libpeers.so: written for a test");
    let command = report["command"].as_str().unwrap();
    assert!(command.contains(" --peers=libpeers.so ") && command.contains(" --save report.json"), "{command}");
}

fn cub_sorts_the_shares_of_a_group() {
    let folder = TempDir::new().unwrap();
    let (library, saved) = (library(folder.path()), folder.path().join("report.json"));
    let peers = format!("--peers={library}");
    let call = |more: &[&str]| {
        let known = ["radix", "--n", "3000", "--rung", "exchange-whole", "--runs", "1", "--format", "json"];
        bench(&[&known[..], &["--peers-on-host", &peers], more].concat())
    };
    let output = call(&["--gpus", "1,3", "--save", saved.to_str().unwrap()]);
    assert_eq!(code(&output), 0, "{}", String::from_utf8_lossy(&output.stderr));
    let report = json(&output.stdout);
    let rows = report["results"].as_array().unwrap();
    let names: Vec<_> = rows.iter().map(|row| (row["gpus"].as_u64().unwrap(), row["rung"].as_str().unwrap())).collect();
    let both = |gpus| ["exchange-whole", "cub-exchange-whole"].map(|name| (gpus, name));
    assert_eq!(names, [both(1), both(3)].concat());
    assert!(rows.iter().all(|row| row["verified"] == true), "{rows:?}");
    // Each is compared with itself on one device.
    let speedup = |row: usize, base: usize| {
        let [rate, of_base] = [row, base].map(|row| rows[row]["rate"].as_f64().unwrap());
        assert!((rows[row]["speedup"].as_f64().unwrap() - rate / of_base).abs() < 1e-9, "{rows:?}");
    };
    speedup(2, 0);
    speedup(3, 1);
    let saved = json(&fs::read(saved).unwrap());
    assert_eq!(saved["peers"], "libpeers.so: written for a test");
    let kinds: Vec<_> = saved["results"].as_array().unwrap().iter().map(|row| row["kind"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["rung", "peer", "rung", "peer"]);
    // Keys that CUB would order in another way, or that the library cannot sort, are left out.
    for dtype in ["f32", "u64"] {
        let report = json(&call(&["--gpus", "2", "--dtype", dtype]).stdout);
        assert!(
            report["results"].as_array().unwrap().iter().all(|row| row["rung"] != "cub-exchange-whole"),
            "{report}"
        );
    }
    for call in [&["radix", &peers][..], &["reduce", &peers, "--peers-on-host"]] {
        let refused = bench(&[call, &["--n", "100", "--gpus", "2"]].concat());
        assert_eq!(code(&refused), 2, "{}", String::from_utf8_lossy(&refused.stderr));
    }
}

fn values_beside_a_library_that_moves_values() {
    let folder = TempDir::new().unwrap();
    let library = library(folder.path());
    let peers = format!("--peers={library}");
    let call = ["radix", "--values", "--n", "1000", "--keys", "few", "--runs", "2", &peers, "--peers-on-host"];
    let output = bench(&[&call[..], &["--format", "json"]].concat());
    assert_eq!(code(&output), 0, "{}", String::from_utf8_lossy(&output.stderr));
    let report = json(&output.stdout);
    let rows = report["results"].as_array().unwrap();
    let names: Vec<_> = rows.iter().map(|row| row["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["onesweep", "msd-pairs", "cub_radix_sort_pairs_u32"]);
    for row in rows {
        assert_eq!((&row["verified"], &row["parameters"]), (&true.into(), &"values".into()), "{row}");
    }
    assert_eq!(rows[0]["over_peer"]["of"], "cub_radix_sort_pairs_u32");
}

fn csv_has_a_line_a_row() {
    let output = bench(&["cubes", "--rung", "many-blocks,cubes/grid-atomic", "--n", "100", "--format", "csv"]);
    let text = String::from_utf8(output.stdout).unwrap();
    let lines: Vec<Vec<&str>> = text.lines().map(|line| line.split(',').collect()).collect();
    assert_eq!(lines.len(), 3, "{text}");
    assert!(lines.iter().all(|line| line.len() == lines[0].len()), "{text}");
    assert_eq!((lines[1][1], lines[2][1]), ("many-blocks", "grid-atomic"));
}

fn unusable_calls() {
    let folder = TempDir::new().unwrap();
    let nothing = format!("--peers={}", folder.path().join("libpeers.so").display());
    for (call, want, words) in [
        (&["bitonik"][..], 2, "bitonic"),
        (&["bitonic", "--rung", "globl-step"], 2, "global-step"),
        (&["bitonic", "--n", "2^5..2^3"], 2, "2^5..2^3"),
        (&["bitonic", "--dtype", "u8"], 2, "no rung"),
        (&["radix", "--values", "--dtype", "u64", "--n", "8"], 2, "keys of 32 bits"),
        (&["radix", "--rung", "msd-buckets", "--values", "--n", "8"], 2, "onesweep and msd-pairs move both"),
        (&["radix", "--rung", "msd-skewed", "--values", "--n", "8"], 2, "onesweep and msd-pairs move both"),
        (&["bitonic", "--budget=-1"], 2, "budget"),
        (&["bitonic", "--runs", "0"], 2, "runs"),
        (&["bitonic", "--n", "8", "--peers"], 2, "GPU"),
        (&["bitonic", "--n", "8", &nothing, "--peers-on-host"], 4, "libpeers.so"),
        (&["bitonic", "--n", "8", "--save", "/dev/null/report.json"], 4, "/dev/null"),
    ] {
        let output = bench(call);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(code(&output), want, "{call:?}: {said}");
        assert!(said.contains(words) && !said.contains("panicked"), "{call:?}: {said}");
        assert!(output.stdout.is_empty(), "{call:?}");
    }
}
