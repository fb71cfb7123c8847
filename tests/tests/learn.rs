//! The commands to learn with, as their users meet them: `lab`, `ladder`, `explain`. On the simulator.

use assert_cmd::Command;
use serde_json::Value;
use std::path::PathBuf;

/// The program, that in `RUNGS_BIN` or the one beside the test programs, on the simulator.
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
    for family in rungs::algorithms::FAMILIES.iter() {
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
            assert!(over || row["skipped"].is_null(), "{row}");
            assert_eq!(row["verified"] == true, row["skipped"].is_null(), "{row}");
            // A simulator has no bandwidth to take a share of.
            assert!(row["limit"].is_null(), "{row}");
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
    let family = rungs::algorithms::family("scan").unwrap();
    let smallest = family.rungs.iter().filter_map(|r| r.capacity).min().unwrap();
    for row in report["results"].as_array().unwrap() {
        assert_eq!((&row["n"], &row["verified"]), (&smallest.into(), &true.into()), "{row}");
    }
    let (code, out, _) = outcome(&["ladder", "scan", "--n", "5000"], &[]);
    let text = String::from_utf8(out).unwrap();
    assert!(code == 0 && text.contains("takes at most 1024 elements"), "{text}");
}

#[test]
fn explain_prints_the_head_of_the_source() {
    for family in rungs::algorithms::FAMILIES.iter() {
        let (code, out, _) = outcome(&["explain", family.name], &[]);
        let text = String::from_utf8(out).unwrap();
        assert_eq!(code, 0);
        let mut rest = text.as_str();
        for rung in family.rungs.iter().copied() {
            // In teaching order, each with its six parts.
            for words in [&rung.path(), "Idea", "Changed from", "Bottleneck", "Cost", "Threads", "Limits", "Source"] {
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
