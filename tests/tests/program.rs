//! The program as its users meet it: reports, files in and out, wrong input, exit codes. Everything runs on the
//! simulator, so that the tests pass on any machine.

use assert_cmd::Command;
use rungs_cli::data::{Data, Distribution, Dtype, Format, Output, Place, read_keys, sorted, stable_sorted};
use serde_json::Value;
use simt::{F8E4M3, F8E5M2, bf16, f16};
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use tempfile::TempDir;

#[cfg(target_os = "linux")]
#[path = "program/hostile.rs"]
mod hostile;

/// The program on the simulator.
fn rungs(arguments: &[&str]) -> Command {
    let mut command = Command::from_std(raw(arguments));
    command.timeout(std::time::Duration::from_secs(120));
    command
}

/// The program: that in `RUNGS_BIN`, or the one next to the test programs.
fn raw(arguments: &[&str]) -> std::process::Command {
    let path = std::env::var_os("RUNGS_BIN").map(PathBuf::from).unwrap_or_else(|| {
        let folder = std::env::current_exe().unwrap();
        folder.ancestors().nth(2).unwrap().join("rungs")
    });
    let mut command = std::process::Command::new(&path);
    command.args(arguments).env("NO_COLOR", "1");
    if !arguments.contains(&"--device") {
        command.args(["--device", "sim"]);
    }
    command
}

/// Runs, and gives exit code, standard output and standard error.
fn outcome(arguments: &[&str]) -> (i32, String, String) {
    let output = rungs(arguments).output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code().expect("ended by a signal"), text(&output.stdout), text(&output.stderr))
}

/// Expects an error: this exit code, nothing on standard output, a message of one or two lines with these words.
fn refused(arguments: &[&str], code: i32, words: &[&str]) {
    let (got, out, err) = outcome(arguments);
    assert_eq!(got, code, "{arguments:?}: {err}");
    assert_eq!(out, "", "{arguments:?} printed to standard output");
    for word in words {
        assert!(err.contains(word), "{arguments:?}: '{word}' is not in: {err}");
    }
    assert!(!err.contains("panicked"), "{err}");
}

/// [`refused`], for errors that are ours and not the command-line parser's, which prints the usage too.
fn refused_in_short(arguments: &[&str], code: i32, words: &[&str]) {
    refused(arguments, code, words);
    let (_, _, err) = outcome(arguments);
    assert!(err.lines().count() <= 2, "{arguments:?}: {err}");
}

fn path(folder: &TempDir, name: &str) -> String {
    folder.path().join(name).to_string_lossy().into_owned()
}

fn write(name: &str, data: &Data) {
    Output::open(&Place::from(name), Format::Npy).unwrap().write(data).unwrap();
}

#[test]
fn all_reports_every_rung_as_json_and_nothing_else() {
    let (code, out, _) = outcome(&["all", "--n", "200", "--format", "json", "--seed", "5"]);
    assert_eq!(code, 0);
    let report: Value = serde_json::from_str(&out).expect("one JSON object");
    assert_eq!((&report["schema"], &report["seed"]), (&1.into(), &5.into()));
    assert_eq!(report["device"]["kind"], "simulator");
    let results = report["results"].as_array().unwrap();
    let rungs: usize = rungs_cli::algorithms::FAMILIES.iter().map(|f| f.rungs.len()).sum();
    assert_eq!(results.len(), rungs);
    for row in results {
        assert!(row["verified"] == true || row["skipped"].is_string(), "{row}");
        for key in ["family", "rung", "device", "n", "dtype", "time_ms", "rate", "rate_unit"] {
            assert!(row.get(key).is_some(), "{key} is missing in {row}");
        }
        if row["family"] == "matmul" {
            assert_eq!((&row["m"], &row["n"], &row["k"]), (&200.into(), &200.into(), &200.into()));
        }
    }
}

#[test]
fn list_names_every_rung_with_its_kernels_and_source() {
    let (code, out, err) = outcome(&["list", "--format", "json"]);
    assert_eq!((code, err.as_str()), (0, ""));
    let list: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(list["schema"], 1);
    for rung in list["families"].as_array().unwrap().iter().flat_map(|f| f["rungs"].as_array().unwrap()) {
        assert!(!rung["kernels"].as_array().unwrap().is_empty());
        assert!(["source", "summary", "rung"].iter().all(|key| rung[key].as_str().is_some_and(|s| !s.is_empty())));
    }
}

#[test]
fn doctor_and_devices_work_on_a_bare_machine() {
    for command in ["doctor", "devices"] {
        assert_eq!(outcome(&[command]).0, 0);
        let (code, out, _) = outcome(&[command, "--format", "json"]);
        assert_eq!((code, serde_json::from_str::<Value>(&out).unwrap()["schema"].as_u64()), (0, Some(1)));
    }
}

#[test]
fn keys_from_npy_come_back_sorted_for_every_type() {
    let folder = TempDir::new().unwrap();
    let (input, output) = (path(&folder, "keys.npy"), path(&folder, "sorted.npy"));
    for dtype in [Dtype::U32, Dtype::I32, Dtype::F32, Dtype::U64, Dtype::I64, Dtype::F64] {
        for n in (0..=70).step_by(7).chain([1, 70, 1025]) {
            let keys = Distribution::Special.generate(dtype, n, n).unwrap();
            write(&input, &keys);
            let (code, _, err) = outcome(&["bitonic", "--input", &input, "--output", &output]);
            assert_eq!(code, 0, "{err}");
            assert_eq!(read_keys(&Place::from(&*output), &Dtype::ALL).unwrap().data, sorted(&keys), "{dtype}, n = {n}");
        }
    }
}

#[test]
fn parts_and_runs_of_a_file() {
    let folder = TempDir::new().unwrap();
    let (input, output) = (path(&folder, "items.npy"), path(&folder, "found.npy"));
    let found = |command: &str| {
        let (code, _, err) = outcome(&[command, "--input", &input, "--output", &output]);
        assert_eq!(code, 0, "{err}");
        read_keys(&Place::from(&*output), &Dtype::ALL).unwrap().data
    };
    write(&input, &Data::from(vec![7_i32, 7, -2, 5, 5, 5, 7, -2]));
    // The item in the middle, which is 5, is the pivot: -2 twice, then the others.
    assert_eq!(found("partition"), Data::from(vec![-2_i32, -2, 7, 7, 5, 5, 5, 7]));
    assert_eq!(found("select"), Data::from(vec![-2_i32, -2]));
    assert_eq!(found("unique"), Data::from(vec![7_i32, -2, 5, 7, -2]));
    assert_eq!(found("run-lengths"), Data::from(vec![2_u32, 1, 3, 1, 1]));
    write(&input, &Data::from(vec![0.0_f64, -0.0, f64::NAN, f64::NAN]));
    assert_eq!(found("unique"), Data::from(vec![0.0_f64, -0.0, f64::NAN]));
    write(&input, &Data::from(Vec::<u64>::new()));
    for command in ["partition", "unique", "run-lengths", "reduce-by-key"] {
        assert_eq!(found(command).len(), 0, "{command}");
    }
    write(&input, &Data::from(vec![1_u32, 2]));
    refused_in_short(&["unique", "--input", &input, "--run-length", "3"], 2, &["--run-length is of drawn items"]);
    refused_in_short(&["partition", "--input", &input, "--keep", "0.5"], 2, &["--keep is of drawn items"]);
    refused(&["select", "--keep", "1.5"], 2, &["a fraction is a number from 0 to 1"]);
    // Drawn items of which a tenth is below the pivot, and runs of 50 on average.
    let (_, out, err) = outcome(&["select", "--n", "10000", "--keep", "0.1", "--output", &output, "--format", "json"]);
    assert!(out.contains("\"verified\":true") || out.contains("\"verified\": true"), "{out}{err}");
    assert_eq!(read_keys(&Place::from(&*output), &Dtype::ALL).unwrap().data.len(), 1000);
    outcome(&["unique", "--n", "10000", "--run-length", "50", "--output", &output]);
    let runs = read_keys(&Place::from(&*output), &Dtype::ALL).unwrap().data.len();
    assert!((140..=270).contains(&runs), "{runs} runs");
}

#[test]
fn keys_through_the_standard_streams() {
    let keys: Vec<u8> = [5u32, 1, u32::MAX, 0, 5].iter().flat_map(|k| k.to_le_bytes()).collect();
    let output =
        rungs(&["bitonic", "--input", "-", "--dtype", "u32", "--output", "-", "-q"]).write_stdin(keys).output();
    let output = output.unwrap();
    let want: Vec<u8> = [0u32, 1, 5, 5, u32::MAX].iter().flat_map(|k| k.to_le_bytes()).collect();
    assert_eq!((output.status.code(), output.stdout, output.stderr), (Some(0), want, vec![]));
}

/// If no rung is named, one that takes values is chosen; the output is the stable order of the keys.
#[test]
fn keys_and_the_places_that_they_come_from() {
    let folder = TempDir::new().unwrap();
    let (input, output, places) = (path(&folder, "keys.npy"), path(&folder, "sorted.npy"), path(&folder, "places.npy"));
    let read = |name: &str| read_keys(&Place::from(name), &Dtype::ALL).unwrap().data;
    for (dtype, n) in [(Dtype::U32, 0), (Dtype::U32, 1), (Dtype::I32, 1009), (Dtype::F32, 8193)] {
        let keys = Distribution::Special.generate(dtype, n, 3).unwrap();
        write(&input, &keys);
        let call = [
            "radix",
            "--values",
            "--input",
            &input,
            "--output",
            &output,
            "--output-values",
            &places,
            "--format",
            "json",
        ];
        let (code, out, err) = outcome(&call);
        assert_eq!(code, 0, "{err}");
        let (want, places_from) = stable_sorted(&keys);
        let row = &serde_json::from_str::<Value>(&out).unwrap()["results"][0];
        assert_eq!(
            (&row["rung"], &row["values"], &row["verified"]),
            (&"msd-pairs".into(), &"u32".into(), &true.into())
        );
        assert_eq!(row["dtype"], dtype.name());
        assert_eq!((read(&output), read(&places)), (want, Data::from(places_from)), "{dtype}, n = {n}");
    }
    let call = ["radix", "--rung", "onesweep", "--values", "--n", "100"];
    let (_, text, _) = outcome(&call);
    assert!(text.contains("u32 with u32"), "{text}");
    let (_, csv, _) = outcome(&[&call[..], &["--format", "csv"]].concat());
    assert!(csv.contains("dtype,values,") && csv.contains(",u32,u32,"), "{csv}");
    let (_, keys_only, _) = outcome(&["radix", "--n", "100", "--format", "json"]);
    assert!(!keys_only.contains("values"), "{keys_only}");
}

/// Arguments that contradict values of a file are refused before any work.
#[test]
fn values_of_ones_own() {
    let folder = TempDir::new().unwrap();
    let [keys, heights, output, moved] = ["keys.npy", "heights.npy", "out.npy", "moved.npy"].map(|n| path(&folder, n));
    let read = |name: &str| read_keys(&Place::from(name), &Dtype::ALL).unwrap().data;
    write(&keys, &Data::from(vec![1991_i32, 1968, 2004, 1968]));
    write(&heights, &Data::from(vec![1.73_f32, 1.80, 1.66, 1.59]));
    let raw = path(&folder, "heights.bin");
    write(&raw, &Data::from(vec![1.73_f32, 1.80, 1.66, 1.59]));
    for (command, input) in [("radix", &["--input", &keys][..]), ("sort", &[&keys])] {
        let call = [&[command][..], input, &["--output", &output, "--output-values", &moved, "--values"]].concat();
        let (code, _, err) = outcome(&[&call[..], &[&heights]].concat());
        assert_eq!(code, 0, "{err}");
        assert_eq!(read(&output), Data::from(vec![1968, 1968, 1991, 2004]));
        assert_eq!(read(&moved), Data::from(vec![1.80_f32, 1.59, 1.73, 1.66]));
        assert_eq!(outcome(&[&call[..], &[&raw]].concat()).0, 0);
        assert_eq!(read(&moved), Data::from([1.80_f32, 1.59, 1.73, 1.66].map(f32::to_bits).to_vec()), "bits alone");
        assert_eq!(outcome(&call).0, 0, "without a file the values are the places");
        assert_eq!(read(&moved), Data::from(vec![1_u32, 3, 0, 2]));

        write(&path(&folder, "few.npy"), &Data::from(vec![1_u32, 2]));
        refused_in_short(&[&call[..], &[&path(&folder, "few.npy")]].concat(), 2, &["4 keys", "2 values"]);
    }
    // The rungs move values with keys of 32 bits alone; `rungs sort` has the library, which moves all.
    let call = ["radix", "--input", &keys, "--output", &output, "--output-values", &moved, "--values"];
    write(&path(&folder, "wide.npy"), &Data::from(vec![1_i64, 2, 3, 4]));
    refused_in_short(&[&call[..], &[&path(&folder, "wide.npy")]].concat(), 4, &["wide.npy", "i64", "u32, i32, f32"]);
    write(&keys, &Data::from(vec![3_u64, 1, 2, 0]));
    refused_in_short(&call, 4, &["keys.npy", "u64, and u32, i32, f32 are taken"]);
    refused_in_short(&["radix", "--n", "4", "--values", &heights], 2, &["--input"]);
    refused_in_short(&["sort", "-", "--dtype", "u32", "--values", "-"], 2, &["standard input"]);
}

#[test]
fn sort_takes_a_file_and_chooses_the_rung() {
    let folder = TempDir::new().unwrap();
    let (input, output) = (path(&folder, "keys.npy"), path(&folder, "sorted.npy"));
    for dtype in [Dtype::U32, Dtype::I32, Dtype::F32, Dtype::U64, Dtype::I64, Dtype::F64] {
        for n in [0, 1, 1025] {
            let keys = Distribution::Special.generate(dtype, n, n).unwrap();
            write(&input, &keys);
            let (code, out, err) = outcome(&["sort", &input, "--output", &output, "--format", "json"]);
            assert_eq!(code, 0, "{err}");
            let row = &serde_json::from_str::<Value>(&out).unwrap()["results"][0];
            assert_eq!((&row["verified"], &row["dtype"], &row["n"]), (&true.into(), &dtype.name().into(), &n.into()));
            assert_eq!(read_keys(&Place::from(&*output), &[dtype]).unwrap().data, sorted(&keys), "{dtype}, n = {n}");
        }
    }
    let raw: Vec<u8> = [-5_i32, 7, -6].iter().flat_map(|key| key.to_le_bytes()).collect();
    let piped = rungs(&["sort", "-", "--dtype", "i32", "--output", "-", "-q"]).write_stdin(raw).output().unwrap();
    let want: Vec<u8> = [-6_i32, -5, 7].iter().flat_map(|key| key.to_le_bytes()).collect();
    assert_eq!((piped.status.code(), piped.stdout, piped.stderr), (Some(0), want, vec![]));

    refused(&["sort"], 2, &["FILE"]);
    refused_in_short(&["sort", &path(&folder, "none.npy")], 4, &["none.npy"]);
    refused_in_short(&["sort", &input, "--dtype", "u8"], 2, &["u8", "u32"]);
    write(&input, &Data::from(vec![3_u8, 1]));
    refused_in_short(&["sort", &input], 4, &["elements are u8", "array.astype('<u4')"]);
}

#[test]
fn a_single_value_is_printed() {
    let folder = TempDir::new().unwrap();
    let input = path(&folder, "a.npy");
    let value = |call: &[&str]| {
        let (code, out, err) = outcome(&[call, &["--format", "json"]].concat());
        assert_eq!(code, 0, "{err}");
        serde_json::from_str::<Value>(&out).unwrap()["results"][0]["value"].clone()
    };
    write(&input, &Data::from(vec![7_u64, u64::MAX - 10, 2]));
    assert_eq!(value(&["reduce", "--input", &input]), u64::MAX - 1);
    assert_eq!(value(&["reduce", "--input", &input, "--op", "min"]), 2);
    let (_, text, _) = outcome(&["reduce", "--input", &input]);
    assert!(text.contains("value") && text.contains("18446744073709551614"), "{text}");
    let (_, csv, _) = outcome(&["reduce", "--input", &input, "--format", "csv"]);
    assert!(
        csv.lines().next().unwrap().ends_with(",value") && csv.trim_end().ends_with(",18446744073709551614"),
        "{csv}"
    );
    write(&input, &Data::from(vec![0.5_f32, 0.1]));
    assert_eq!(value(&["reduce", "--input", &input]), 0.6);
    write(&input, &Data::from(vec![f32::INFINITY, 0.1]));
    assert_eq!(value(&["reduce", "--input", &input]), "inf");
    write(&input, &Data::from(vec![f32::INFINITY, f32::NEG_INFINITY]));
    assert_eq!(value(&["reduce", "--input", &input]), "NaN", "with the sign that x86 sets");
    assert!(value(&["cubes", "--n", "100"]).is_u64());
    assert!(!outcome(&["bitonic", "--n", "1"]).1.contains("value"), "a sort of one key makes no value");
}

/// The controlling side of a new terminal is one itself.
#[cfg(target_os = "linux")]
#[test]
fn binary_never_goes_to_a_terminal() {
    let terminal = || fs::OpenOptions::new().read(true).write(true).open("/dev/ptmx").unwrap();
    for call in [
        &["bitonic", "--n", "8", "--output", "-"][..],
        &["bitonic", "--n", "8", "--output", "/dev/stdout"],
        &["radix", "--n", "8", "--values", "--output-values", "-"],
        &["sort", "-", "--dtype", "u32", "--output", "-"],
        &["lab"],
    ] {
        let output = raw(call).stdin(Stdio::null()).stdout(terminal()).stderr(Stdio::piped()).output().unwrap();
        let err = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{call:?}: {err}");
        assert!(err.contains("is a terminal") && err.contains("--output sorted.npy"), "{call:?}: {err}");
    }
}

#[test]
fn matrices_from_npy() {
    let folder = TempDir::new().unwrap();
    let (a, b, c) = (path(&folder, "a.npy"), path(&folder, "b.npy"), path(&folder, "c.npy"));
    let matrix = |name: &str, values: Vec<f32>, rows, columns| {
        Output::open(&Place::from(name), Format::Npy)
            .unwrap()
            .write_matrix(&Data::from(values), rows, columns)
            .unwrap();
    };
    matrix(&a, vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0], 2, 3);
    matrix(&b, vec![1.0, 0.0, 0.5, 2.0, -1.0, 1.0], 3, 2);
    assert_eq!(outcome(&["matmul", "--input", &a, &b, "--output", &c]).0, 0);
    let product = rungs_cli::data::read_matrix(&Place::from(&*c), &[Dtype::F32], None).unwrap();
    assert_eq!((product.rows, product.columns), (2, 2));
    assert_eq!(product.data, Data::from(vec![-1.0f32, 7.0, 0.5, 16.0]));
    refused_in_short(&["matmul", "--input", &a, &a], 2, &["3 columns", "2 rows"]);
    // A shape that is asked for is the file's.
    assert_eq!(outcome(&["matmul", "--input", &a, &b, "--m", "2", "--n", "2", "--k", "3"]).0, 0);
    refused_in_short(&["matmul", "--input", &a, &b, "--m", "2", "--n", "2", "--k", "4"], 4, &["(2, 4) was asked for"]);
}

/// Matrices of every type that a rung multiplies, from files and into them: `.npy` where numpy has the type, raw in any
/// case. Sums are exact, and those of 16 bits are rounded once.
#[test]
fn matrices_of_every_type() {
    let folder = TempDir::new().unwrap();
    let (rows, inner, columns) = (5usize, 7usize, 3usize);
    let at = |i: usize| (i * 37 % 101) as f64 - 50.0;
    let term = |row: usize, column: usize, e: usize| at(row * inner + e) * at(1000 + e * columns + column);
    let sums: Vec<f64> =
        (0..rows * columns).map(|i| (0..inner).map(|e| term(i / columns, i % columns, e)).sum()).collect();
    let of = |values: Vec<f64>, dtype: Dtype| match dtype {
        Dtype::F32 => Data::from(values.into_iter().map(|x| x as f32).collect::<Vec<_>>()),
        Dtype::F64 => Data::from(values),
        Dtype::F16 => Data::from(values.into_iter().map(f16::from_f64).collect::<Vec<_>>()),
        _ => Data::from(values.into_iter().map(bf16::from_f64).collect::<Vec<_>>()),
    };
    for dtype in [Dtype::F32, Dtype::F64, Dtype::F16, Dtype::Bf16] {
        let name = dtype.name();
        let (left, right) = ((0..rows * inner).map(at).collect(), (0..inner * columns).map(|i| at(1000 + i)).collect());
        let want = of(sums.clone(), dtype);
        for ending in ["npy", "bin"] {
            if (dtype, ending) == (Dtype::Bf16, "npy") {
                continue;
            }
            let [a, b, c] = ["a", "b", "c"].map(|matrix| path(&folder, &format!("{matrix}-{name}.{ending}")));
            let write = |file: &str, values: Vec<f64>, rows, columns| {
                let output = Output::open(&Place::from(file), Format::Raw).unwrap();
                output.write_matrix(&of(values, dtype), rows, columns).unwrap();
            };
            let (left, right): (Vec<f64>, Vec<f64>) = (Vec::clone(&left), Vec::clone(&right));
            write(&a, left, rows, inner);
            write(&b, right, inner, columns);
            let sides = ["--dtype", name, "--m", "5", "--n", "3", "--k", "7"];
            // An .npy file says all this itself.
            let sides = if ending == "npy" { &sides[..0] } else { &sides[..] };
            let (code, _, err) = outcome(&[&["matmul", "--input", &a, &b, "--output", &c], sides].concat());
            assert_eq!(code, 0, "{name}: {err}");
            let shape = Some((rows, columns));
            let product = rungs_cli::data::read_matrix(&Place::from(&*c), &[dtype], shape).unwrap();
            assert_eq!(product.data, want, "{name} {ending}");
        }
        // Drawn ones; and what goes to standard output is raw where numpy does not have the type.
        assert_eq!(outcome(&["matmul", "--dtype", name, "--n", "33", "--keys", "uniform"]).0, 0, "{name}");
        let output = raw(&["matmul", "--dtype", name, "--n", "9", "--output", "-"]).output().unwrap();
        assert_eq!((output.status.code(), output.stdout.starts_with(b"\x93NUMPY")), (Some(0), dtype != Dtype::Bf16));
    }
    let [a, b] = ["a-bf16.bin", "b-bf16.bin"].map(|name| path(&folder, name));
    let npy = path(&folder, "c.npy");
    let sides = ["--dtype", "bf16", "--m", "5", "--n", "3", "--k", "7"];
    refused_in_short(
        &[&["matmul", "--input", &a, &b, "--output", &npy], &sides[..]].concat(),
        2,
        &["numpy has no bf16"],
    );
    refused_in_short(&["matmul", "--input", &a, &b, "--dtype", "bf16"], 2, &["--m, --n and --k"]);
    refused_in_short(&["matmul", "--input", &a, &b], 2, &["--dtype f32|f64|f16|bf16"]);
    refused_in_short(
        &["matmul", "--n", "9", "--dtype", "f64", "--rung", "warp-tile"],
        2,
        &["warp-tile does not multiply f64"],
    );
    refused_in_short(
        &["matmul", "--n", "9", "--dtype", "f16", "--precision", "tf32"],
        2,
        &["products of f32, not of f16"],
    );
}

/// Whole numbers of fp8, from raw files and from `.npy` as ml_dtypes and as bytes: all sums are exact. B is not square,
/// no side is a multiple of 16, and k has more than one step of 128.
#[test]
fn matrices_of_fp8() {
    let folder = TempDir::new().unwrap();
    let (rows, inner, columns) = (5usize, 135usize, 3usize);
    let at = |i: usize| (i * 37 % 9) as f64 - 4.0;
    let (a, b): (Vec<f64>, Vec<f64>) =
        ((0..rows * inner).map(at).collect(), (0..inner * columns).map(|i| at(i / 5 + 3)).collect());
    let sum = |i: usize| -> f64 {
        let (row, column) = (i / columns, i % columns);
        (0..inner).map(|e| a[row * inner + e] * b[e * columns + column]).sum()
    };
    let want = Data::from((0..rows * columns).map(|i| -2.0 * sum(i) as f32).collect::<Vec<_>>());
    let e4m3 = |of: &[f64]| of.iter().map(|&x| F8E4M3::from_f64(x).to_bits()).collect::<Vec<u8>>();
    let e5m2 = |of: &[f64]| of.iter().map(|&x| F8E5M2::from_f64(x).to_bits()).collect::<Vec<u8>>();
    let of_b = e4m3(&b);
    for (name, of_a) in [("e4m3", e4m3(&a)), ("e5m2", e5m2(&a))] {
        for descr in ["", "|u1", "<V1", "|V1"] {
            let write = |matrix: &str, bytes: &[u8], [rows, columns]: [usize; 2]| {
                let ending = if descr.is_empty() { "bin" } else { "npy" };
                let file = path(&folder, &format!("{matrix}-{name}.{ending}"));
                let head = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': ({rows}, {columns}), }}\n");
                let magic = [&b"\x93NUMPY\x01\x00"[..], &(head.len() as u16).to_le_bytes()].concat();
                let head = if descr.is_empty() { vec![] } else { [&magic, head.as_bytes()].concat() };
                fs::write(&file, [&head, bytes].concat()).unwrap();
                file
            };
            let (a, b) = (write("a", &of_a, [rows, inner]), write("b", &of_b, [inner, columns]));
            let sides = ["--m", "5", "--n", "3", "--k", "135"];
            let sides = if descr.is_empty() { &sides[..] } else { &[] };
            for (precision, ending) in [("promoted", "npy"), ("hardware", "bin")] {
                let c = path(&folder, &format!("c.{ending}"));
                let call = ["matmul", "--dtype", name, "--precision", precision, "--alpha", "-2", "--output", &c];
                let (code, _, err) = outcome(&[&call[..], &["--input", &a, &b], sides].concat());
                assert_eq!(code, 0, "{name} {descr} {precision}: {err}");
                let product = rungs_cli::data::read_matrix(&Place::from(&*c), &[Dtype::F32], Some((rows, columns)));
                assert_eq!(product.unwrap().data, want, "{name} {descr} {precision}");
            }
        }
    }
    let raw = |name: &str| path(&folder, &format!("{name}-e4m3.bin"));
    let (a, b) = (raw("a"), raw("b"));
    let of_files = ["matmul", "--dtype", "e4m3", "--input", &a, &b];
    refused_in_short(&of_files, 2, &["a-e4m3.bin", "--m, --n and --k"]);
    refused_in_short(&[&of_files[..], &["--m", "5", "--n", "4", "--k", "135"]].concat(), 4, &["b-e4m3.bin"]);
    refused_in_short(&[&of_files[..], &["--m", "5", "--n", "3", "--k", "134"]].concat(), 4, &["a-e4m3.bin"]);
    refused_in_short(&[&of_files[..], &["--m", "5", "--n", "3", "--k", "135", "--seed", "2"]].concat(), 2, &["--seed"]);
    // As ml_dtypes names e5m2, whose bits would be other numbers in B.
    let eighths = path(&folder, "eighths.npy");
    let head = "{'descr': '<f1', 'fortran_order': False, 'shape': (1, 1), }\n";
    let magic = [&b"\x93NUMPY\x01\x00"[..], &(head.len() as u16).to_le_bytes()].concat();
    fs::write(&eighths, [&magic, head.as_bytes(), &[0]].concat()).unwrap();
    refused_in_short(
        &["matmul", "--dtype", "e4m3", "--input", &eighths, &eighths],
        4,
        &["its elements are '<f1', and fp8 is needed", "B.astype(ml_dtypes.float8_e4m3fn).view('u1')"],
    );
    let floats = path(&folder, "floats.npy");
    let output = Output::open(&Place::from(&*floats), Format::Npy).unwrap();
    output.write_matrix(&Data::from(vec![1.0f32; 9]), 3, 3).unwrap();
    let advice = "A.astype(ml_dtypes.float8_e5m2).view('u1') and B.astype(ml_dtypes.float8_e4m3fn).view('u1')";
    refused_in_short(
        &["matmul", "--dtype", "e5m2", "--input", &floats, &floats],
        4,
        &["its elements are f32, and fp8 is needed", advice],
    );
}

/// Drawn elements, whose sums round: around the tiles of 64 columns and the steps of 32 and 128 k, both types, both
/// sums, checked for races; and the reports.
#[test]
fn drawn_matrices_of_fp8() {
    for dtype in ["e4m3", "e5m2"] {
        for precision in ["promoted", "hardware"] {
            for [m, n, k] in [[1, 1, 1], [31, 33, 129], [129, 63, 31], [3, 65, 257], [127, 20, 2100], [4, 5, 0]] {
                let [m, n, k] = [m, n, k].map(|side: u32| side.to_string());
                let sides = ["--m", &m, "--n", &n, "--k", &k, "--keys", "uniform", "--check=1"];
                let call = [&["matmul", "--dtype", dtype, "--precision", precision, "--format", "json"], &sides[..]];
                let (code, out, err) = outcome(&call.concat());
                assert_eq!(code, 0, "{dtype} {precision} {m} {n} {k}: {err}");
                let row = &serde_json::from_str::<Value>(&out).unwrap()["results"][0];
                let names = [&row["family"], &row["rung"], &row["dtype"]].map(|name| name.as_str().unwrap());
                assert_eq!(names, ["matmul", &format!("fp8-{precision}"), dtype]);
                assert_eq!((&row["verified"], row["m"].to_string(), row["k"].to_string()), (&Value::Bool(true), m, k));
            }
        }
    }
    let (code, out, err) = outcome(&["matmul", "--dtype", "e4m3", "--n", "33", "--format", "csv"]);
    assert_eq!(code, 0, "{err}");
    assert!(out.lines().nth(1).unwrap().starts_with("matmul,fp8-promoted,simulator,33,33,33,e4m3,"), "{out}");
    let seeds = ["1", "2"].map(|seed| {
        let call = raw(&["matmul", "--dtype", "e5m2", "--n", "9", "--seed", seed, "--output", "-"]).output().unwrap();
        assert!(call.stdout.starts_with(b"\x93NUMPY"));
        call.stdout
    });
    assert_ne!(seeds[0], seeds[1]);
}

#[test]
fn options_that_fp8_has_no_use_for() {
    for (option, value, words) in [
        ("--rung", "fp32", "--rung does nothing here"),
        ("--gpus", "2", "--gpus does nothing here"),
        ("--transpose", "nt", "--transpose does nothing here"),
        ("--beta", "1", "--beta does nothing here"),
        ("--batch", "2", "--batch does nothing here"),
        ("--precision", "tf32", "promoted or hardware, not tf32"),
        ("--alpha", "1e39", "--alpha 1e39 is beyond the type of sums of f32"),
        ("--m", "2^31", "A would have 2147483648 x 16 elements"),
    ] {
        refused_in_short(&["matmul", "--dtype", "e4m3", "--n", "9", option, value], 2, &[words]);
    }
    for precision in ["promoted", "hardware"] {
        for dtype in ["f32", "f16"] {
            let call = ["matmul", "--n", "9", "--dtype", dtype, "--precision", precision];
            refused_in_short(&call, 2, &[precision, "--dtype e4m3 or e5m2"]);
        }
    }
    refused(&["matmul", "--n", "9", "--dtype", "e4m2"], 2, &["did you mean e4m3"]);
    refused(&["matmul", "--n", "9", "--dtype", "u8"], 2, &["f32, f64, f16, bf16, e4m3, e5m2"]);
}

#[test]
fn unusable_calls() {
    refused_in_short(&["bitonic", "--rung", "globl-step"], 2, &["global-step"]);
    refused(&["bitonik"], 2, &["bitonic"]);
    refused(&["bitonic", "--n", "12x"], 2, &["12x"]);
    refused(&["bitonic", "--n", "-5"], 2, &["-5"]);
    refused(&["bitonic", "--n", "99999999999999999999999"], 2, &["99999999999999999999999"]);
    refused_in_short(&["bitonic", "--n", "2^50"], 2, &["fewer elements"]);
    refused_in_short(&["matmul", "--n", "2^31"], 2, &["fewer elements"]);
    refused_in_short(&["bitonic", "--dtype", "u8"], 2, &["u8", "u32"]);
    refused_in_short(&["radix", "--rung", "columns-tree", "--columns", "12"], 2, &["power of two"]);
    refused_in_short(&["radix", "--rung", "columns-tree", "--n", "1M"], 2, &["at most"]);
    for rung in ["columns-tree", "lsd-blocks", "lsd-ballot", "msd-buckets", "msd-skewed", "learned", "either"] {
        refused_in_short(
            &["radix", "--rung", rung, "--values", "--n", "100"],
            2,
            &["without values", "onesweep and msd-pairs move both"],
        );
    }
    for dtype in ["u64", "i64", "f64"] {
        refused_in_short(&["radix", "--values", "--n", "100", "--dtype", dtype], 2, &["keys of 32 bits", dtype]);
    }
    let other_precision = ["matmul", "--n", "9", "--rung", "naive", "--precision", "tf32"];
    refused_in_short(&other_precision, 2, &["naive multiplies in f32, not in tf32"]);
    refused(&["bitonic", "--values"], 2, &["--values"]);
    refused(&["radix", "--n", "100", "--output-values", "places.npy"], 2, &["--values"]);
    refused_in_short(
        &["radix", "--values", "--n", "100", "--output", "-", "--output-values", "-"],
        2,
        &["the same place"],
    );
    refused(&[], 2, &[]);
}

#[test]
fn a_device_that_is_not_there() {
    refused_in_short(&["bitonic", "--n", "8", "--device", "cuda:99"], 3, &[]);
    refused(&["bitonic", "--device", "tpu"], 2, &["tpu"]);
    refused(&["bitonic", "--device", "sim:4097"], 2, &["'4097' is not a number of SMs from 1 to 4096"]);
    for command in ["reduce", "histogram", "segmented-sort"] {
        let (code, _, err) = outcome(&[command, "--n", "300", "--device", "sim:4096"]);
        assert_eq!(code, 0, "{command}: {err}");
    }
}

#[test]
fn files_that_cannot_be_read() {
    let folder = TempDir::new().unwrap();
    refused_in_short(&["bitonic", "--input", &path(&folder, "none.npy")], 4, &["none.npy"]);
    refused_in_short(&["bitonic", "--input", folder.path().to_str().unwrap()], 4, &["folder"]);
    let keys = path(&folder, "keys.npy");
    write(&keys, &Distribution::Uniform.generate(Dtype::U32, 100, 1).unwrap());
    let whole = fs::read(&keys).unwrap();
    for (name, bytes, words) in [
        ("truncated.npy", whole[..whole.len() - 3].to_vec(), &["truncated.npy"][..]),
        ("header.npy", whole[..40].to_vec(), &["header.npy"][..]),
        ("empty.npy", vec![], &["empty.npy"][..]),
        ("text.npy", b"hello, world".to_vec(), &["text.npy"][..]),
        ("type.npy", replaced(&whole, b"<u4", b"<c8"), &["type.npy"][..]),
        ("order.npy", replaced(&whole, b"False", b"True "), &["order.npy"][..]),
        ("endian.npy", replaced(&whole, b"<u4", b">u4"), &["endian.npy", "array.astype('<u4')"][..]),
        ("half.npy", replaced(&whole, b"<u4", b"<f2"), &["half.npy", "array.astype('<f4')"][..]),
        ("short.npy", replaced(&whole, b"<u4", b"<i2"), &["short.npy", "array.astype('<i4')"][..]),
        ("huge.npy", replaced(&whole, b"(100,)", b"(9e9,)"), &["huge.npy"][..]),
    ] {
        let file = path(&folder, name);
        fs::write(&file, bytes).unwrap();
        refused_in_short(&["bitonic", "--input", &file], 4, words);
    }
    let raw = path(&folder, "raw.bin");
    fs::write(&raw, [0; 7]).unwrap();
    refused_in_short(&["bitonic", "--input", &raw, "--dtype", "u32"], 4, &["raw.bin"]);
}

fn replaced(bytes: &[u8], from: &[u8], to: &[u8]) -> Vec<u8> {
    assert_eq!(from.len(), to.len());
    let at = bytes.windows(from.len()).position(|w| w == from).expect("the header has it");
    [&bytes[..at], to, &bytes[at + to.len()..]].concat()
}

#[test]
fn an_output_that_cannot_be_written_leaves_the_old_file() {
    let folder = TempDir::new().unwrap();
    let file = path(&folder, "keys.npy");
    let missing = Path::new(&file).join("below.npy");
    fs::write(&file, "old").unwrap();
    let (code, out, err) = outcome(&["bitonic", "--n", "10", "--output", missing.to_str().unwrap()]);
    assert_eq!((code, out.as_str()), (4, ""), "{err}");
    assert_eq!(fs::read(&file).unwrap(), b"old");
    // A wrong input is found before the output is opened.
    assert_eq!(outcome(&["bitonic", "--input", "none.npy", "--output", &file]).0, 4);
    assert_eq!(fs::read(&file).unwrap(), b"old");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "something was left behind");
}

#[test]
fn a_closed_pipe_is_no_panic() {
    let mut child = raw(&["list"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert!(!String::from_utf8_lossy(&output.stderr).contains("panicked"));
    assert!(output.status.code().is_some(), "ended by a signal");
}

#[test]
fn a_closed_input_is_an_error() {
    let mut child = raw(&["bitonic", "--input", "-", "--dtype", "u32"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(&[1, 2, 3]).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(4), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn checks_are_reported() {
    let report = |arguments: &[&str]| -> Value {
        let (code, out, err) = outcome(arguments);
        assert_eq!(code, 0, "{err}");
        serde_json::from_str(&out).expect("one JSON object")
    };
    let page = report(&["check", "scan", "--n", "300", "--schedules", "2", "--format", "json"]);
    let rows = page["results"].as_array().unwrap();
    assert_eq!((&page["schema"], rows.len()), (&1.into(), rungs_cli::algorithms::family("scan").unwrap().rungs.len()));
    for row in rows {
        let checked = &row["checked"];
        assert_eq!((&checked["schedules"], &checked["findings"]), (&2.into(), &Value::Array(vec![])), "{row}");
        assert!(row["verified"] == true && checked["accesses"].as_u64() > Some(1000), "{row}");
    }
    // The other commands that run rungs check them on request: each as often as it is asked to.
    for (arguments, schedules) in [
        (&["reduce", "--check", "--n", "1000"][..], 8),
        (&["all", "--check=1", "--n", "40"], 1),
        (&["ladder", "scan", "--check=3", "--n", "40"], 3),
    ] {
        let page = report(&[arguments, &["--format", "json"]].concat());
        for row in page["results"].as_array().unwrap().iter().filter(|row| row["skipped"].is_null()) {
            assert_eq!(row["checked"]["schedules"], schedules, "{arguments:?}: {row}");
        }
        let (_, text, _) = outcome(arguments);
        assert!(text.contains("yes, and checked"), "{text}");
    }
    refused_in_short(&["reduce", "--check", "--device", "cuda"], 2, &["--check requires --device sim"]);
    let unknown = page["not_modelled"].as_str().unwrap();
    let (_, text, _) = outcome(&["check", "scan", "--rung", "look-back", "--n", "9"]);
    assert!(unknown.contains("compiler") && text.contains(&format!("\nnot modelled: {unknown}")), "{text}");
}

/// Commands whose reports have no place for it say on standard error what a check found.
#[test]
fn a_check_of_other_commands_is_told_in_a_note() {
    for arguments in [
        &["trace", "bubble", "--n", "8", "--check=2"][..],
        &["trace", "matmul", "--n", "2", "--check=2"],
        &["profile", "scan", "--n", "300", "--device", "sim", "--check=2"],
    ] {
        let (code, with, note) = outcome(arguments);
        assert!(code == 0 && note.contains("nothing found under 2 schedules, "), "{arguments:?}: {note}");
        if arguments[0] == "trace" {
            assert_eq!(outcome(&arguments[..arguments.len() - 1]).1, with, "{arguments:?}");
        }
    }
    for (arguments, other) in [
        (&["bench", "reduce", "--check"][..], "rungs ladder FAMILY --check"),
        (&["sweep", "bubble", "--check"], "rungs check FAMILY"),
        (&["fidelity", "--check"], "rungs check all"),
        (&["explain", "scan", "--check"], "rungs check FAMILY --stats"),
    ] {
        refused_in_short(arguments, 2, &[other]);
    }
}

#[test]
fn several_devices_solve_every_problem_of_theirs() {
    let (code, out, err) = outcome(&["all", "--gpus", "2", "--n", "300", "--format", "json"]);
    assert_eq!(code, 0, "{err}");
    let report: Value = serde_json::from_str(&out).unwrap();
    let results = report["results"].as_array().unwrap();
    let of = |row: &Value| format!("{} {}", row["family"].as_str().unwrap(), row["rung"].as_str().unwrap());
    // So few keys that their top bits do not tell the shares apart well: then the second rung is the first.
    let names: Vec<_> = results.iter().map(of).collect();
    assert_eq!(names.len(), 6, "{names:?}");
    for name in ["radix exchange-whole", "reduce shares", "scan shares", "histogram shares", "matmul shares"] {
        assert!(names.iter().any(|own| own == name), "{name} is not in {names:?}");
    }
    assert!(results.iter().all(|row| row["gpus"] == 2 && row["verified"] == true && row["n"] == 300), "{out}");
}

#[test]
fn several_numbers_of_devices_are_compared() {
    let (code, out, err) =
        outcome(&["bench", "reduce", "--gpus", "1,2", "--n", "5000", "--runs", "2", "--format", "json"]);
    assert_eq!(code, 0, "{err}");
    let report: Value = serde_json::from_str(&out).unwrap();
    let [one, two] = &report["results"].as_array().unwrap()[..] else { panic!("{out}") };
    assert!(one["speedup"].is_null() && one["exchange_gbs"].is_null(), "{one}");
    let [speedup, efficiency] = ["speedup", "efficiency"].map(|name| two[name].as_f64().unwrap());
    assert!((speedup / 2.0 - efficiency).abs() < 1e-9 && two["exchange_gbs"].as_f64().unwrap() > 0.0, "{two}");
}

#[test]
fn a_profile_is_of_the_keys_and_the_type_that_are_named() {
    for (keys, rung) in [("equal", "exchange-counted"), ("uniform", "exchange-ranges")] {
        let call = ["profile", "radix", "--gpus", "2", "--n", "9001", "--keys", keys, "--format", "json"];
        let (code, out, err) = outcome(&call);
        assert_eq!(code, 0, "{err}");
        assert_eq!(serde_json::from_str::<Value>(&out).unwrap()["rung"], rung, "{keys}");
    }
    let (code, out, err) = outcome(&["profile", "reduce", "--n", "300", "--dtype", "f64", "--keys", "equal"]);
    assert!(code == 0 && out.contains("_f64") && !out.contains("_u32"), "{out}{err}");
    refused_in_short(&["profile", "reduce", "--n", "300", "--dtype", "bf16"], 2, &["reduce does not take bf16"]);
    refused_in_short(&["profile", "radix", "--gpus", "2", "--dtype", "bf16"], 2, &["radix does not take bf16"]);
}

#[test]
fn several_devices_sort_drawn_keys_with_their_places() {
    for (call, rows) in [(&["radix", "--gpus", "3"][..], 1), (&["bench", "radix", "--gpus", "1,2"], 2)] {
        let call = [call, &["--n", "5003", "--values", "--keys", "few", "--format", "json"]].concat();
        let (code, out, err) = outcome(&call);
        assert_eq!(code, 0, "{err}");
        let report: Value = serde_json::from_str(&out).unwrap();
        let results = report["results"].as_array().unwrap();
        assert_eq!(results.len(), rows, "{out}");
        for row in results {
            assert_eq!((&row["rung"], &row["values"]), (&"exchange-whole".into(), &"u32".into()), "{row}");
            assert!(row["verified"] == true && row["time_ms"].as_f64().unwrap() > 0.0, "{row}");
        }
    }
}

/// The saved report is one that tables are made of, and has all that was printed.
#[test]
fn a_bench_of_several_devices_is_saved() {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("new/report.json");
    let call =
        ["bench", "reduce", "matmul", "--gpus", "1,2", "--n", "100", "--runs", "3", "--format", "json", "--save"];
    let (code, out, err) = outcome(&[&call[..], &[file.to_str().unwrap()]].concat());
    assert_eq!(code, 0, "{err}");
    let printed: Value = serde_json::from_str(&out).unwrap();
    let text = fs::read_to_string(&file).unwrap();
    let report: rungs_cli::bench::Report = serde_json::from_str(&text).unwrap();
    assert_eq!((report.schema, report.device.kind.as_str(), report.seed), (rungs_cli::bench::SCHEMA, "simulator", 1));
    assert!(report.limits.copy_gbs > 0.0 && report.command.contains(" --save report.json"), "{text}");
    assert_eq!(report.results.len(), 4);
    for (row, line) in report.results.iter().zip(printed["results"].as_array().unwrap()) {
        let (group, call) = (row.group.as_ref().unwrap(), row.call.unwrap());
        assert!(row.verified && row.error.is_none() && call.runs == 3, "{row:?}");
        assert_eq!((&*row.family, &*row.name), (line["family"].as_str().unwrap(), line["rung"].as_str().unwrap()));
        // The work of all devices together: 100 words, or a product of 100 x 100 x 100.
        let work = if row.family == "matmul" { 2e6 } else { 400.0 };
        let of_all = row.rate.unwrap() * call.median_ms * 1e6 / work;
        assert!((of_all - 1.0).abs() < 0.01, "{row:?}");
        assert_eq!(
            (row.n, row.m, row.k),
            if row.family == "matmul" { (100, Some(100), Some(100)) } else { (100, None, None) }
        );
        assert_eq!((group.gpus as u64, &*group.transport), (line["gpus"].as_u64().unwrap(), "memory of the host"));
        let is_near = |a: Option<f64>, b: &Value| match (a, b.as_f64()) {
            (Some(a), Some(b)) => (a - b).abs() <= 1e-4 * b.abs(),
            (a, b) => a.is_none() && b.is_none(),
        };
        assert!(is_near(Some(call.median_ms), &line["time_ms"]) && is_near(row.rate, &line["rate"]), "{row:?} {line}");
        assert!(is_near(group.speedup, &line["speedup"]) && is_near(group.efficiency, &line["efficiency"]), "{line}");
        assert!(is_near(group.exchange_gbs, &line["exchange_gbs"]), "{row:?} {line}");
        assert_eq!(group.exchange_gbs.is_some(), group.gpus == 2);
    }
    assert_eq!(report.results.iter().map(|row| &*row.parameters).collect::<Vec<_>>(), ["sum", "", "sum", ""]);
    // What groups do not do is refused, and not left out of the report.
    for command in [&["bench", "radix"][..], &["radix"]] {
        let call = [command, &["--gpus", "2", "--values", "--rung", "exchange-ranges"]].concat();
        refused_in_short(&call, 2, &["exchange-ranges does not move values"]);
    }
    refused_in_short(&["radix", "--gpus", "2", "--values", "v.npy"], 2, &["name it with --input"]);
    refused_in_short(&["radix", "--gpus", "2", "--values", "--output-values", "v.npy"], 2, &["name it with --input"]);
    let no_folder = ["bench", "reduce", "--gpus", "2", "--n", "100", "--save", "/dev/null/report.json"];
    refused_in_short(&no_folder, 4, &["/dev/null"]);
}

#[test]
fn calls_for_several_devices_that_cannot_be() {
    refused_in_short(&["radix", "--gpus", "2", "--transport", "nccl"], 3, &["a simulator has no NCCL"]);
    refused_in_short(&["radix", "--gpus", "2", "--input", "no-such.npy"], 4, &["no-such.npy"]);
    refused_in_short(&["radix", "--gpus", "2", "--input", "-"], 2, &["standard input is no file"]);
    refused_in_short(&["radix", "--gpus", "2", "--output", "out.npy"], 2, &["name it with --input"]);
    refused_in_short(&["reduce", "--gpus", "2", "--input", "keys.npy"], 2, &["for radix alone"]);
    refused_in_short(
        &["sort", "keys.npy", "--gpus", "2", "--descending"],
        2,
        &["--descending does not go with --gpus"],
    );
    refused_in_short(&["reduce", "--gpus", "2", "--rung", "shuffle"], 2, &["leave out --rung"]);
    refused_in_short(&["radix", "--gpus", "2", "--rung", "exchange-rages"], 2, &["did you mean exchange-ranges?"]);
    refused(&["radix", "--patience", "3"], 2, &["--gpus"]);
    refused(&["cubes", "--gpus", "2"], 2, &["unexpected argument"]);
    let unsuited = "several devices do not solve bitonic; they do radix, reduce, scan, histogram, matmul";
    refused_in_short(&["profile", "bitonic", "--gpus", "2"], 2, &[unsuited]);
    refused_in_short(&["profile", "radix", "--gpus", "2", "--check"], 2, &["--check does not go with --gpus"]);
    refused_in_short(
        &["profile", "radix", "--gpus", "2", "--rung", "columns"],
        2,
        &["exchange-whole, exchange-ranges"],
    );
    refused_in_short(&["profile", "scan", "--gpus", "2", "--rung", "look-back"], 2, &["leave out --rung"]);
    refused(&["profile", "radix", "--gpus", "0"], 2, &["--gpus"]);
    refused(&["profile", "radix", "--transport", "nccl"], 2, &["--gpus"]);
    // More than any host has; without a driver there is none.
    refused(&["profile", "reduce", "--gpus", "99", "--device", "cuda", "--n", "9"], 3, &["rungs: "]);
    let launched = |arguments: &[&str], rank: &str, variable: (&str, &str)| {
        let mut call = rungs(arguments);
        let output = call.env("RANK", rank).env("WORLD_SIZE", "2").env(variable.0, variable.1).output().unwrap();
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let said = "RANK and WORLD_SIZE say that 2 processes were launched";
    let (code, err) = launched(&["radix", "--gpus", "3"], "0", ("LOCAL_RANK", "0"));
    assert!(code == Some(2) && err.contains(&format!("{said}, and --gpus asks for 3")), "{err}");
    let (code, err) = launched(&["radix", "--gpus", "2"], "1", ("MASTER_PORT", "99999"));
    assert!(code == Some(2) && err.contains("MASTER_PORT is '99999', which is no number from 1 to 65535"), "{err}");
    let alone = ["radix", "--gpus", "2", "--device", "auto", "--patience", "0.2"];
    let (code, err) = launched(&alone, "0", ("RUNGS_LISTEN", "192.0.2.7"));
    assert!(code == Some(5) && err.contains("cannot listen at 192.0.2.7") && err.contains(said), "{err}");
}

/// Each device reads its share of a file, and the sorted whole is written.
#[test]
fn several_devices_sort_files() {
    let folder = TempDir::new().unwrap();
    for (n, gpus) in [(0, "2"), (1, "3"), (20_011, "2"), (5003, "5")] {
        let keys = Data::F32(Distribution::Special.keys(n, 3).unwrap());
        let (input, output) = (path(&folder, "keys.npy"), path(&folder, "sorted.npy"));
        write(&input, &keys);
        let call = ["radix", "--gpus", gpus, "--input", &input, "--output", &output, "--format", "json"];
        let (code, out, err) = outcome(&call);
        assert_eq!(code, 0, "{n}: {err}");
        let report: Value = serde_json::from_str(&out).unwrap();
        let row = &report["results"][0];
        assert!(row["verified"] == true && row["n"] == n && row["keys"] == "file", "{out}");
        let got = read_keys(&Place::from(&*output), &[Dtype::F32]).unwrap().data;
        assert!(got.first_difference(&sorted(&keys)).is_none() && got.len() as u64 == n, "{n} on {gpus}");
    }
    // Raw keys of 8 bytes, over the input itself.
    let keys: Vec<u64> = Distribution::Zipf.keys(3001, 5).unwrap();
    let file = path(&folder, "keys.bin");
    fs::write(&file, bytes_of(&keys)).unwrap();
    refused_in_short(&["sort", &file, "--gpus", "2"], 2, &["--dtype u32|i32|f32|u64|i64|f64"]);
    let (code, _, err) = outcome(&["sort", &file, "--gpus", "3", "--dtype", "u64", "--output", &file]);
    assert_eq!(code, 0, "{err}");
    let mut want = keys;
    want.sort_unstable();
    assert!(fs::read(&file).unwrap() == bytes_of(&want));
    fs::write(&file, [1; 9]).unwrap();
    refused_in_short(&["sort", &file, "--gpus", "2", "--dtype", "u64"], 4, &["not a whole number of u64"]);
    refused_in_short(&["sort", &file, "--gpus", "2", "--dtype", "u8"], 2, &["sort does not take u8"]);
    let nowhere = path(&folder, "no/such/folder/out.bin");
    fs::write(&file, [1; 8]).unwrap();
    refused_in_short(&["sort", &file, "--gpus", "2", "--dtype", "u64", "--output", &nowhere], 4, &["out.bin"]);
}

/// Values of 8 bytes and of 4 move with keys of files, and equal keys keep their order.
#[test]
fn several_devices_move_the_values_of_files() {
    let folder = TempDir::new().unwrap();
    let [input, along, output, moved] =
        ["keys.npy", "values.npy", "sorted.npy", "moved.npy"].map(|name| path(&folder, name));
    let read = |file: &str, dtype| read_keys(&Place::from(file), &[dtype]).unwrap().data;
    for (n, gpus) in [(0, "2"), (1, "3"), (33, "2"), (5003, "3")] {
        let keys = Data::I32(Distribution::Few.keys(n, 3).unwrap());
        let (values, places) = (Data::F64(Distribution::Uniform.keys(n, 4).unwrap()), keys.sorted_places(false));
        write(&input, &keys);
        write(&along, &values);
        let call = ["sort", &input, "--gpus", gpus, "--output", &output, "--output-values", &moved, "--values", &along];
        let (code, _, err) = outcome(&call);
        assert_eq!(code, 0, "{n}: {err}");
        assert_eq!((read(&output, Dtype::I32), read(&moved, Dtype::F64)), (keys.at(&places), values.at(&places)));
        // Without a file the values are the places.
        let call = ["radix", "--gpus", gpus, "--input", &input, "--output-values", &moved, "--values"];
        assert_eq!(outcome(&call).0, 0);
        assert_eq!(read(&moved, Dtype::U32), Data::U32(places));
    }
    let raw = path(&folder, "values.bin");
    fs::write(&raw, vec![7; 8 * 5003]).unwrap();
    let call = |values: &str, to: &str| {
        let call = ["sort", &input, "--gpus", "2", "--output", &output, "--output-values", to, "--values", values];
        outcome(&call)
    };
    assert_eq!(call(&raw, &raw).0, 0);
    assert_eq!(fs::read(&raw).unwrap(), [7; 8 * 5003]);
    let (code, _, err) = call(&raw, &output);
    assert!(code == 2 && err.contains("cannot go to the same place"), "{err}");
    fs::write(&raw, [7; 12]).unwrap();
    let (code, _, err) = call(&raw, &moved);
    assert!(code == 2 && err.contains("5003 keys cannot take 3 values along"), "{err}");
}

fn bytes_of(keys: &[u64]) -> Vec<u8> {
    keys.iter().flat_map(|key| key.to_le_bytes()).collect()
}

/// Two processes with a simulator each, as torchrun starts them.
#[test]
fn processes_share_a_file() {
    let folder = TempDir::new().unwrap();
    let keys = Data::U32(Distribution::Uniform.keys(20_011, 3).unwrap());
    let (input, output) = (path(&folder, "keys.npy"), path(&folder, "sorted.npy"));
    write(&input, &keys);
    let port = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap().local_addr().unwrap().port().to_string();
    let call = ["radix", "--gpus", "2", "--input", &input, "--output", &output, "--format", "csv"];
    let ranks = ["0", "1"].map(|rank| {
        let mut process = raw(&call);
        process.envs([("RANK", rank), ("WORLD_SIZE", "2"), ("RUNGS_PORT", &port)]);
        process.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    });
    let [first, second] = ranks.map(|rank| rank.wait_with_output().unwrap());
    for ended in [&first, &second] {
        assert_eq!(ended.status.code(), Some(0), "{}", String::from_utf8_lossy(&ended.stderr));
    }
    let out = String::from_utf8_lossy(&first.stdout);
    assert!(out.contains(",memory of the host,20011,u32,file,") && second.stdout.is_empty(), "{out}");
    let got = read_keys(&Place::from(&*output), &[Dtype::U32]).unwrap().data;
    assert!(got.first_difference(&sorted(&keys)).is_none());
}

/// What Slurm says in a batch script, which is one process.
#[test]
fn a_batch_script_is_one_process() {
    let mut call = rungs(&["reduce", "--gpus", "2", "--n", "100", "--format", "csv"]);
    let batch = [("SLURM_JOB_ID", "7"), ("SLURM_PROCID", "0"), ("SLURM_LOCALID", "0"), ("SLURM_NTASKS", "4")];
    let output = call.envs(batch).output().unwrap();
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert_eq!(output.status.code(), Some(0), "{err}");
    // The names are those of the JSON report, and of other reports.
    let [head, row] = out.lines().collect::<Vec<_>>()[..] else { panic!("{out}") };
    let columns =
        "family,rung,gpus,transport,n,dtype,keys,time_ms,best_ms,rate,rate_unit,speedup,efficiency,exchange_gbs";
    assert_eq!(head, format!("{columns},verified,error"));
    assert!(row.starts_with("reduce,shares,2,memory of the host,100,") && row.ends_with(",true,"), "{row}");
}
