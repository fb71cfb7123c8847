//! The commands to learn with, as their users meet them: `lab`, `ladder`, `explain`. On the simulator.

use assert_cmd::Command;
use serde_json::Value;
use std::path::PathBuf;

/// The program, that in `RUNGS_BIN` or the one next to the test programs, on the simulator.
fn rungs(arguments: &[&str]) -> Command {
    let path = std::env::var_os("RUNGS_BIN").map(PathBuf::from).unwrap_or_else(|| {
        let folder = std::env::current_exe().unwrap();
        folder.ancestors().nth(2).unwrap().join("rungs")
    });
    let mut command = Command::new(path);
    command.args(arguments).args(["--device", "sim"]).timeout(std::time::Duration::from_secs(120));
    command
}

/// Exit code, standard output and standard error.
fn outcome(arguments: &[&str], input: &[u8]) -> (i32, Vec<u8>, String) {
    let output = rungs(arguments).write_stdin(input).output().unwrap();
    (output.status.code().expect("ended by a signal"), output.stdout, String::from_utf8(output.stderr).unwrap())
}

/// The laboratory's stream.
fn stream(count: i32, keys: &[i32]) -> Vec<u8> {
    std::iter::once(&count).chain(keys).flat_map(|word| word.to_le_bytes()).collect()
}

/// Numbers that look random, of both signs.
fn keys(n: i32) -> Vec<i32> {
    (0..n).map(|i| (i ^ (i >> 7)).wrapping_mul(-1_640_531_527)).collect()
}

#[test]
fn lab_sorts_the_stream() {
    for n in [0, 1, 2, 1023, 1024, 1025, 8191, 8193, 50_021] {
        let mut sorted = [keys(n), vec![i32::MAX, i32::MIN, 0, 0, -1]].concat();
        let input = stream(sorted.len() as i32, &sorted);
        sorted.sort_unstable();
        let want: Vec<u8> = sorted.iter().flat_map(|key| key.to_le_bytes()).collect();
        assert_eq!(outcome(&["lab", "-q"], &input), (0, want, String::new()), "n = {n}");
    }
    assert_eq!(outcome(&["lab", "-q"], &stream(0, &[])), (0, vec![], String::new()));
}

#[test]
fn lab_writes_nothing_for_a_wrong_count() {
    let whole = stream(3, &[5, -6, 7]);
    for (input, words) in [
        (vec![], "after 0 bytes"),
        (whole[..3].to_vec(), "after 3 bytes"),
        (whole[..12].to_vec(), "only 2 integers follow"),
        (whole[..15].to_vec(), "only 2 integers and 3 bytes follow"),
        ([&whole[..], &[0]].concat(), "more bytes follow"),
        ([&whole[..], &whole].concat(), "more bytes follow"),
        (stream(-3, &[5, -6, 7]), "-3, which is negative"),
    ] {
        let (code, out, err) = outcome(&["lab"], &input);
        assert_eq!((code, out), (4, vec![]), "{err}");
        assert!(err.contains(words) && err.lines().count() == 1, "'{words}' is not in: {err}");
    }
}

#[test]
fn ladders_have_every_rung_in_order() {
    for family in rungs_cli::algorithms::FAMILIES.iter() {
        let n = if family.name == "matmul" { "33x17x20" } else { "1500" };
        let (code, out, err) = outcome(&["ladder", family.name, "--n", n, "--format", "json"], &[]);
        assert_eq!(code, 0, "{}: {err}", family.name);
        let report: Value = serde_json::from_slice(&out).unwrap();
        let results = report["results"].as_array().unwrap();
        let names: Vec<&str> = results.iter().map(|r| r["rung"].as_str().unwrap()).collect();
        assert_eq!(names, family.rungs.iter().map(|r| r.name).collect::<Vec<_>>());
        let mut before = None;
        for (row, rung) in results.iter().zip(&family.rungs) {
            let over = rung.capacity.is_some_and(|capacity| capacity < 1500);
            let needs_others = family.usual(rung).values || family.usual_dtype(rung) != family.dtypes[0];
            assert_eq!(over || needs_others, !row["skipped"].is_null(), "{row}");
            assert_eq!(row["verified"] == true, row["skipped"].is_null(), "{row}");
            // A simulator has no bandwidth to take a share of; it counts instead.
            assert!(row["limit"].is_null(), "{row}");
            assert_eq!(row["counters"]["launches"].as_u64().is_some_and(|n| n > 0), row["skipped"].is_null(), "{row}");
            let Some(ms) = row["time_ms"].as_f64() else { continue };
            let speedup = row["speedup"].as_f64();
            assert_eq!(speedup.is_some(), before.is_some(), "{row}");
            if let (Some(speedup), Some(before)) = (speedup, before) {
                let right: f64 = before / ms;
                assert!((speedup / right - 1.0).abs() < 1e-9, "{row}");
            }
            before = Some(ms);
        }
    }
}

#[test]
fn ladders_without_a_size_take_what_every_rung_takes() {
    let (code, out, err) = outcome(&["ladder", "scan", "--op", "max", "--exclusive", "--format", "json"], &[]);
    assert_eq!(code, 0, "{err}");
    let report: Value = serde_json::from_slice(&out).unwrap();
    let family = rungs_cli::algorithms::family("scan").unwrap();
    let smallest = family.rungs.iter().filter_map(|r| r.capacity).min().unwrap();
    for row in report["results"].as_array().unwrap() {
        assert_eq!((&row["n"], &row["verified"]), (&smallest.into(), &true.into()), "{row}");
    }
    let (code, out, _) = outcome(&["ladder", "scan", "--n", "5000"], &[]);
    let text = String::from_utf8(out).unwrap();
    assert!(code == 0 && text.contains("takes at most 1024 elements"), "{text}");
    assert!(text.contains("sectors/request") && !text.contains("time  "), "{text}");
}

#[test]
fn explain_prints_the_head_of_the_source() {
    for family in rungs_cli::algorithms::FAMILIES.iter() {
        let (code, out, _) = outcome(&["explain", family.name], &[]);
        let text = String::from_utf8(out).unwrap();
        assert_eq!(code, 0);
        let mut rest = text.as_str();
        for rung in family.rungs.iter().copied() {
            // In teaching order, each with its parts. Rows of the library have no rung before.
            let path = rung.path();
            let parts = ["Idea", "Changed from", "Bottleneck", "Cost", "Threads", "Limits", "Source"];
            let parts = parts.into_iter().filter(|part| *part != "Changed from" || !path.starts_with("gpu/library/"));
            for words in [&*path].into_iter().chain(parts) {
                let at =
                    rest.find(words).unwrap_or_else(|| panic!("{} lacks '{words}' for {}", family.name, rung.name));
                rest = &rest[at..];
            }
        }
    }
    let (code, out, _) = outcome(&["explain", "matmul", "--rung", "naive", "--format", "json"], &[]);
    let report: Value = serde_json::from_slice(&out).unwrap();
    assert_eq!((code, report["rungs"].as_array().unwrap().len()), (0, 1));
    assert_eq!(report["rungs"][0]["parts"].as_array().unwrap().len(), 7);
}

/// Counters of a coalesced copy, line by line, and as pictures.
#[test]
fn explain_counts_on_the_simulator() {
    let (code, out, err) =
        outcome(&["explain", "saxpy", "--rung", "kernel", "--stats", "--n", "64", "--format", "json"], &[]);
    assert_eq!(code, 0, "{err}");
    let report: Value = serde_json::from_slice(&out).unwrap();
    let kernel = &report["rungs"][0]["counters"]["kernels"][0];
    let lines = kernel["lines"].as_array().unwrap();
    let all: Vec<_> =
        lines.iter().map(|l| (l["instruction"].as_str().unwrap(), &l["requests"], &l["sectors"])).collect();
    // x and y are read and y is written: two warps of 128 bytes each.
    let want = |what| (what, Value::from(2), Value::from(8));
    let want = [want("global load"), want("global load"), want("global store")];
    assert!(all.iter().all(|(what, r, s)| want.contains(&(*what, (*r).clone(), (*s).clone()))), "{all:?}");
    assert_eq!((all.len(), &kernel["bytes_in"], &kernel["bytes_out"]), (3, &512.into(), &256.into()));
    assert!(
        lines
            .iter()
            .all(|l| l["source"].as_str().unwrap().contains("get") || l["source"].as_str().unwrap().contains("set"))
    );
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().to_str().unwrap();
    let (code, out, err) =
        outcome(&["explain", "saxpy", "--rung", "kernel", "--stats", "--n", "64", "--svg", place], &[]);
    let text = String::from_utf8(out).unwrap();
    assert!(code == 0 && text.contains("4.00 sectors") && text.contains("global store, 4 B"), "{err}{text}");
    let pictures: Vec<_> = std::fs::read_dir(folder.path()).unwrap().map(|file| file.unwrap().path()).collect();
    assert_eq!(pictures.len(), 4, "one of the kernel and one of each access");
    for picture in pictures {
        let svg = std::fs::read_to_string(&picture).unwrap();
        assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>\n"), "{}", picture.display());
    }
}

/// Every rung of every family has a trace, which ends with the verified output.
#[test]
fn every_rung_can_be_traced() {
    for family in rungs_cli::algorithms::FAMILIES.iter() {
        for rung in &family.rungs {
            let n = if family.name == "matmul" { "5" } else { "37" };
            let call = ["trace", family.name, "--rung", rung.name, "--n", n, "--format", "json"];
            let (code, out, err) = outcome(&call, &[]);
            assert_eq!(code, 0, "{call:?}: {err}");
            let trace: Value = serde_json::from_slice(&out).unwrap();
            let steps = trace["steps"].as_array().unwrap();
            assert!(!steps.is_empty(), "{call:?}");
            let last = steps.last().unwrap();
            let Some(arrays) = trace["arrays"].as_array() else {
                assert_eq!(last["values"], trace["output"], "{call:?}");
                continue;
            };
            assert!(arrays.len() >= 2, "{call:?}: operands and output");
            for (array, cells) in arrays.iter().zip(last["arrays"].as_array().unwrap()) {
                let n = array["rows"].as_u64().unwrap() * array["columns"].as_u64().unwrap();
                assert_eq!(cells["values"].as_array().unwrap().len() as u64, n, "{call:?}");
            }
        }
    }
    // A tree: 8 threads combine 16 elements, then 4, 2, 1.
    let (_, out, _) =
        outcome(&["trace", "reduce", "--rung", "sequential", "--values", "1,2,3,4", "--format", "json"], &[]);
    let trace: Value = serde_json::from_slice(&out).unwrap();
    let names: Vec<_> = trace["arrays"].as_array().unwrap().iter().map(|a| a["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["elements", "result", "shared memory of block 0"]);
    let pairs = |step: &Value| step["arrays"][2]["pairs"].as_array().unwrap().len();
    assert_eq!(
        trace["steps"].as_array().unwrap().iter().map(pairs).collect::<Vec<_>>(),
        [0, 128, 64, 32, 16, 8, 4, 2, 1]
    );
    assert_eq!(trace["steps"][8]["arrays"][1]["values"][0], 10);
    // Who loads what: each element of A and B by one thread of the block; who computes what: one thread each.
    let (_, out, _) = outcome(&["trace", "matmul", "--rung", "shared-tile", "--n", "6", "--format", "json"], &[]);
    let trace: Value = serde_json::from_slice(&out).unwrap();
    let names: Vec<_> = trace["arrays"].as_array().unwrap().iter().map(|a| a["name"].as_str().unwrap()).collect();
    assert_eq!(names[..3], ["A", "B", "C"]);
    let read = |k: usize| trace["steps"][0]["arrays"][k]["readers"].as_array().unwrap().iter().all(|r| r.is_object());
    assert!(read(0) && read(1), "{trace}");
    let steps = trace["steps"].as_array().unwrap();
    let written = steps.last().unwrap()["arrays"][2]["writers"].as_array().unwrap();
    let threads: std::collections::BTreeSet<_> = written.iter().map(|w| w["thread"].as_u64().unwrap()).collect();
    assert_eq!(threads.len(), 36);
    assert_eq!(steps.last().unwrap()["arrays"][2]["values"], trace["output"]);
}

/// What the profiler reports is compared launch by launch; a report of another program is refused.
#[test]
fn fidelity_compares_reports() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("ncu.csv");
    let place = file.to_str().unwrap();
    let header = "\"ID\",\"Kernel Name\",\"launch__sm_count\",\"l1tex__t_requests_pipe_lsu_mem_global_op_st.sum\"\n";
    let rows = |kernels: &[&str]| {
        let row = |(i, kernel): (usize, &&str)| format!("\"{i}\",\"{kernel}\",\"132\",\"7\"\n");
        header.to_string() + &kernels.iter().enumerate().map(row).collect::<String>()
    };
    let kernels = ["saxpy_kernel"; 3].into_iter().chain(["saxpy_transform"; 3]).collect::<Vec<_>>();
    std::fs::write(&file, rows(&kernels)).unwrap();
    let (code, out, err) = outcome(&["fidelity", "saxpy", "--from", place, "--format", "json"], &[]);
    assert_eq!(code, 0, "{err}");
    let report: Value = serde_json::from_slice(&out).unwrap();
    let first = &report["results"][0];
    assert_eq!((&first["rung"], &first["n"], &first["launches"]), (&"kernel".into(), &1000.into(), &1.into()));
    assert_eq!(first["quantities"], serde_json::json!([["store-requests", 32, 7]]));
    // A saved report names the case of each launch; what it lacks is said, and not looked for among other rungs.
    let saved = folder.path().join("saved.csv");
    let saved = saved.to_str().unwrap();
    let (code, _, err) = outcome(&["fidelity", "saxpy", "--from", place, "--save", saved], &[]);
    assert_eq!(code, 0, "{err}");
    let named = std::fs::read_to_string(saved).unwrap();
    assert!(named.contains("\"saxpy kernel 1000\""), "{named}");
    let without = |case: &str| named.lines().filter(|line| !line.contains(case)).map(|l| format!("{l}\n")).collect();
    let renamed = named.replace("saxpy_transform", "saxpy_kernel");
    std::fs::write(&file, without("saxpy kernel")).unwrap();
    let (code, out, err) = outcome(&["fidelity", "saxpy", "--from", place, "--format", "json"], &[]);
    assert!(code == 0 && err.contains("kernel"), "{err}");
    let report: Value = serde_json::from_slice(&out).unwrap();
    assert_eq!(report["results"][0]["rung"], "transform");
    for (report, words) in [
        (rows(&kernels[1..]), "saxpy_transform"),
        (rows(&["other"; 6]), "other"),
        (without("saxpy transform 1000"), "transform"),
        (renamed, "saxpy_kernel"),
        ("".into(), "no table"),
    ] {
        std::fs::write(&file, report).unwrap();
        let (code, _, err) = outcome(&["fidelity", "saxpy", "--from", place], &[]);
        assert!(code == 2 && err.contains(words), "{err}");
    }
}

#[test]
fn unusable_calls() {
    for (arguments, word) in [
        (&["explain", "bitonik"][..], "bitonic"),
        (&["explain", "bitonic", "--rung", "globl-step"], "global-step"),
        (&["ladder", "bitonik"], "bitonic"),
        (&["ladder"], "FAMILY"),
        (&["ladder", "bitonic", "--n", "3x4x5"], "3x4x5"),
        (&["ladder", "bitonic", "--dtype", "u8"], "u8"),
        (&["ladder", "bitonic", "--n", "2^50"], "fewer elements"),
    ] {
        let (code, out, err) = outcome(arguments, &[]);
        assert_eq!((code, out.len()), (2, 0), "{arguments:?}: {err}");
        assert!(err.contains(word) && !err.contains("panicked"), "{arguments:?}: {err}");
    }
}
