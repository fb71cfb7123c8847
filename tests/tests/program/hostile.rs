//! Calls that go wrong around the work: streams that are full or closed, signals, two names of one file, options that
//! would do nothing.

use super::*;
use std::fs::File;
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::{MetadataExt, symlink};
use std::process::Output as Ended;
use std::time::{Duration, Instant};

/// Runs a line of the shell in which `"$0" "$@"` is a call of the program.
fn shell(line: &str, arguments: &[&str]) -> Ended {
    let program = raw(arguments);
    let mut shell = std::process::Command::new("sh");
    shell.args(["-c", line]).arg(program.get_program()).args(program.get_args());
    shell.output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn read(name: &str) -> Data {
    read_keys(&Place::from(name), &Dtype::ALL).unwrap().data
}

fn names(folder: &TempDir) -> Vec<String> {
    let mut names: Vec<_> =
        fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn a_note_that_cannot_be_written_ends_no_job() {
    let folder = TempDir::new().unwrap();
    let (input, output) = (path(&folder, "keys.npy"), path(&folder, "sorted.npy"));
    write(&input, &Data::from(vec![3_u32, 1, 2]));
    let full = || File::options().write(true).open("/dev/full").unwrap();
    let code = |arguments: &[&str]| raw(arguments).stderr(full()).stdout(Stdio::null()).status().unwrap().code();
    // Without a GPU, `auto` notes that it takes the simulator.
    assert_eq!(code(&["sort", &input, "--output", &output, "--device", "auto"]), Some(0));
    assert_eq!(read(&output), Data::from(vec![1_u32, 2, 3]));
    // What a check finds, errors of ours, of the parser of the command line, and of exercises.
    assert_eq!(code(&["trace", "bubble", "--n", "8", "--check=2"]), Some(0));
    assert_eq!(code(&["sort", "nosuch"]), Some(4));
    assert_eq!(code(&["bubble", "--n", "x"]), Some(2));
    assert_eq!(code(&["bench", "saxpy", "--n", "100"]), Some(0));
    // The reader of the notes has gone.
    let closed =
        shell("exec 3>&1; { sleep 0.2; \"$0\" \"$@\" 2>&1 >/dev/null; echo $? >&3; } | true", &["sort", "nosuch"]);
    assert_eq!(text(&closed.stdout), "4\n");
}

#[test]
fn streams_that_are_closed_or_full_are_errors() {
    let folder = TempDir::new().unwrap();
    let (input, output) = (path(&folder, "keys.npy"), path(&folder, "sorted.npy"));
    write(&input, &Data::from(vec![3_u32, 1, 2]));
    for call in [&["sort", &input, "--output", "-"][..], &["sort", &input, "--output", &output], &["list"], &["lab"]] {
        let ended = shell("exec \"$0\" \"$@\" >&-", call);
        assert_eq!(ended.status.code(), Some(4), "{call:?}");
        assert_eq!(text(&ended.stderr), "rungs: cannot write standard output: it is closed\n", "{call:?}");
    }
    assert_eq!(names(&folder), ["keys.npy"], "before the work, not after it");
    for call in [&["sort", "-", "--dtype", "u32"][..], &["lab"], &["radix", "--input", "-", "--dtype", "u32"]] {
        let ended = shell("exec \"$0\" \"$@\" <&-", call);
        assert_eq!(ended.status.code(), Some(4), "{call:?}");
        let want = "rungs: cannot read standard input: it is closed\n";
        assert!(text(&ended.stderr).ends_with(want), "{call:?}: {ended:?}");
    }
    // Without standard error there is nobody to tell, and with an empty input there is nothing to sort.
    assert_eq!(shell("exec \"$0\" \"$@\" 2>&-", &["sort", &input, "--output", &output]).status.code(), Some(0));
    assert_eq!(read(&output), Data::from(vec![1_u32, 2, 3]));
    assert_eq!(shell("exec \"$0\" \"$@\" </dev/null", &["sort", "-", "--dtype", "u32"]).status.code(), Some(0));
    for call in [&["--help"][..], &["--version"], &["sort", "--help"], &["list"]] {
        let ended = shell("exec \"$0\" \"$@\" >/dev/full", call);
        assert_eq!(ended.status.code(), Some(4), "{call:?}");
        assert!(text(&ended.stderr).contains("no space is left"), "{call:?}: {ended:?}");
    }
}

/// The data goes where standard output stands, and the report not between it.
#[test]
fn the_name_of_standard_output_is_standard_output() {
    let folder = TempDir::new().unwrap();
    let (input, output) = (path(&folder, "keys.bin"), path(&folder, "log"));
    fs::write(&input, [3_u32, 1, 2].map(u32::to_le_bytes).concat()).unwrap();
    fs::write(&output, "before").unwrap();
    let line = format!("exec \"$0\" \"$@\" >>{output}");
    let ended = shell(&line, &["sort", &input, "--dtype", "u32", "--output", "/dev/stdout"]);
    assert_eq!(ended.status.code(), Some(0), "{ended:?}");
    assert_eq!(fs::read(&output).unwrap(), [&b"before"[..], &[1_u32, 2, 3].map(u32::to_le_bytes).concat()].concat());
}

#[test]
fn two_outputs_are_two_files() {
    let folder = TempDir::new().unwrap();
    let [input, values, link, other, twin] =
        ["keys.npy", "v.npy", "link.npy", "other.npy", "twin.npy"].map(|name| path(&folder, name));
    write(&input, &Data::from(vec![3_u32, 1, 2]));
    write(&values, &Data::from(vec![7_u32, 8, 9]));
    symlink("v.npy", &link).unwrap();
    fs::hard_link(&values, &twin).unwrap();
    symlink(".", path(&folder, "here")).unwrap();
    let dotted = values.replace("/v.npy", "/./v.npy");
    let (new, round) = (path(&folder, "new.npy"), path(&folder, "here/new.npy"));
    let call = ["sort", &input, "--values", "--output"];
    for (keys, places) in [(&values, &dotted), (&values, &link), (&link, &values), (&values, &twin), (&new, &round)] {
        refused_in_short(&[&call[..], &[keys, "--output-values", places]].concat(), 2, &["the same place"]);
    }
    assert_eq!(read(&values), Data::from(vec![7_u32, 8, 9]), "as before");
    assert_eq!(names(&folder), ["here", "keys.npy", "link.npy", "twin.npy", "v.npy"]);
    assert_eq!(outcome(&[&call[..], &[&values, "--output-values", &other]].concat()).0, 0);
    // The same file by its name and as standard output.
    let line = format!("exec \"$0\" \"$@\" >{new}");
    let ended = shell(&line, &[&call[..], &["-", "--output-values", &new]].concat());
    assert_eq!(ended.status.code(), Some(2), "{ended:?}");
    // A device swallows both.
    assert_eq!(outcome(&[&call[..], &["/dev/null", "--output-values", "/dev/null"]].concat()).0, 0);
}

/// A long job is ended: what was there stays, and nothing else does.
/// Whether this process ignores a signal.
fn is_ignored(number: i32) -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:")).unwrap();
    u64::from_str_radix(mask.trim(), 16).unwrap() >> (number - 1) & 1 == 1
}

#[test]
fn a_signal_leaves_nothing_behind() {
    let folder = TempDir::new().unwrap();
    let output = path(&folder, "sorted.npy");
    for (signal, number) in [("INT", 2), ("TERM", 15), ("HUP", 1), ("KILL", 9)] {
        // A program that a shell starts behind `&` ignores SIGINT, and so does what it starts.
        if is_ignored(number) {
            continue;
        }
        fs::write(&output, "old").unwrap();
        let mut child = raw(&["bubble", "--n", "2^18", "--output", &output])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        // By then the output has been opened: with the last descriptor of the program.
        let (begun, open) = (Instant::now(), format!("/proc/{}/fd", child.id()));
        let is_open = || {
            let files = fs::read_dir(&open).into_iter().flatten().flatten();
            files.filter_map(|file| fs::read_link(file.path()).ok()).any(|file| file.starts_with(folder.path()))
        };
        while !is_open() {
            assert!(begun.elapsed() < Duration::from_secs(60), "the output is never opened");
            std::thread::sleep(Duration::from_millis(20));
        }
        let kill = format!("kill -{signal} {}", child.id());
        assert!(std::process::Command::new("sh").args(["-c", &kill]).status().unwrap().success());
        let ended = child.wait().unwrap();
        assert_eq!(std::os::unix::process::ExitStatusExt::signal(&ended), Some(number), "{signal}");
        assert_eq!(fs::read(&output).unwrap(), b"old", "{signal}");
        assert_eq!(names(&folder), ["sorted.npy"], "{signal}");
    }
    // The limit of file sizes, which is a signal too.
    write(&path(&folder, "keys.npy"), &Distribution::Uniform.generate(Dtype::U32, 5000, 1).unwrap());
    let ended = shell("ulimit -f 1; exec \"$0\" \"$@\"", &["sort", &path(&folder, "keys.npy"), "--output", &output]);
    assert!(!ended.status.success(), "{ended:?}");
    assert_eq!(
        (fs::read(&output).unwrap(), names(&folder)),
        (b"old".to_vec(), ["keys.npy", "sorted.npy"].map(String::from).to_vec())
    );
}

#[test]
fn an_old_report_outlives_a_failed_write() {
    let folder = TempDir::new().unwrap();
    let report = path(&folder, "save.json");
    let old = "x".repeat(3000);
    fs::write(&report, &old).unwrap();
    let inode = fs::metadata(&report).unwrap().ino();
    let call = ["bench", "saxpy", "--n", "100", "-q", "--save", &report];
    let ended = shell("ulimit -f 1; trap '' XFSZ; exec \"$0\" \"$@\"", &call);
    assert_eq!(ended.status.code(), Some(4), "{ended:?}");
    assert!(fs::read_to_string(&report).unwrap() == old, "the old report is gone");
    assert_eq!(names(&folder), ["save.json"]);
    assert_eq!(outcome(&call).0, 0);
    assert_ne!(fs::metadata(&report).unwrap().ino(), inode, "replaced, and not written over");
    let new = serde_json::from_str::<Value>(&fs::read_to_string(&report).unwrap()).unwrap();
    assert!(new["schema"].is_u64(), "{new}");
    // Places that cannot be written are refused before the work: these sizes would take minutes.
    let (nowhere, folder) = (path(&folder, "none/x"), folder.path().to_str().unwrap());
    let begun = Instant::now();
    refused_in_short(&["bench", "saxpy", "--n", "2^28", "--save", folder], 4, &["folder"]);
    refused_in_short(&["profile", "bubble", "--n", "2^20", "--timeline", &nowhere], 4, &["none/x"]);
    refused_in_short(&["trace", "bubble", "--n", "64", "--check=100000", "--html", &nowhere], 4, &["none/x"]);
    assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
}

#[test]
fn limits_of_memory_are_told_by_name() {
    let limited = |kibibytes: u64, call: &[&str]| {
        let ended = shell(&format!("ulimit -v {kibibytes}; exec \"$0\" \"$@\""), call);
        (ended.status.code(), text(&ended.stderr))
    };
    let (code, err) = limited(1_500_000, &["sort", "/dev/zero", "--dtype", "u32"]);
    assert!(code == Some(2) && err.contains("are free of the limit of address space (ulimit -v)"), "{err}");
    let (code, err) = limited(1_500_000, &["radix", "--n", "2^28"]);
    assert!(code == Some(2) && err.contains("ulimit -v"), "{err}");
    refused_in_short(&["matmul", "--n", "2^40"], 2, &["2^64 - 1 or more elements", "more than 16 EiB"]);
    // No thread can be made with so much stack. With one core none is needed.
    let call = ["saxpy", "--n", "2^22"];
    let ended = raw(&call).env("RUST_MIN_STACK", "100000000000000").output().unwrap();
    let err = text(&ended.stderr);
    let refused = ended.status.code() == Some(2) && err.contains("the host has no room for a thread");
    assert!(refused || ended.status.code() == Some(0), "{err}");
}

#[test]
fn an_archive_of_arrays_is_refused() {
    let folder = TempDir::new().unwrap();
    // The head of an entry, as numpy.savez writes it: times, checksum and sizes do not matter.
    let entry = |name: &str| {
        let mut head = b"PK\x03\x04\x14\0\0\0\0\0\0\0\x21\0".to_vec();
        head.extend([0; 12]);
        head.extend((name.len() as u16).to_le_bytes());
        head.extend([0, 0]);
        head.extend(name.bytes());
        head.resize(512, 0);
        head
    };
    let (named, other) = (path(&folder, "keys.npz"), path(&folder, "keys.bin"));
    fs::write(&named, b"not even an archive!").unwrap();
    fs::write(&other, entry("arr_0.npy")).unwrap();
    for file in [&named, &other] {
        for call in [&["sort", file, "--dtype", "u32"][..], &["sort", file], &["histogram", "--input", file]] {
            refused_in_short(call, 4, &["an .npz archive", "numpy.save"]);
        }
    }
    // Keys that begin as an archive does are keys.
    fs::write(&other, entry("arr_0.txt")).unwrap();
    assert_eq!(outcome(&["sort", &other, "--dtype", "u32"]).0, 0);
    fs::write(&other, b"PK\x03\x04").unwrap();
    assert_eq!(outcome(&["sort", &other, "--dtype", "u32"]).0, 0);
}

#[test]
fn options_that_would_do_nothing_are_refused() {
    let folder = TempDir::new().unwrap();
    let file = path(&folder, "keys.npy");
    write(&file, &Data::from(vec![3_u32, 1, 2]));
    for (call, words) in [
        (&["radix", "--rung", "either", "--columns", "8", "--n", "9"][..], ["--columns", "either"]),
        (&["cubes", "--rung", "one-thread", "--threads", "8", "--n", "9"], ["--threads", "one-thread"]),
        (&["cubes", "--rung", "one-thread", "--blocks", "8", "--n", "9"], ["--blocks", "one-thread"]),
        (&["cubes", "--rung", "one-block", "--blocks", "8", "--n", "9"], ["--blocks", "one-block"]),
        (&["radix", "--input", &file, "--keys", "sorted"], ["--keys", "from a file"]),
        (&["radix", "--input", &file, "--seed", "9"], ["--seed", "from a file"]),
        (&["sort", &file, "--seed", "9"], ["--seed", "draws no input"]),
        (&["lab", "--seed", "9"], ["--seed", "draws no input"]),
        (&["lab", "--format", "json"], ["--format", "no report"]),
        (&["list", "--device", "cuda:99"], ["--device", "nothing on a GPU"]),
        (&["devices", "--device", "cuda:7"], ["--device", "nothing on a GPU"]),
        (&["doctor", "--device", "cuda:7"], ["--device", "nothing on a GPU"]),
        (&["explain", "scan", "--device", "cuda"], ["--device", "nothing on a GPU"]),
        (&["explain", "scan", "--seed", "2"], ["--seed", "--stats"]),
        (&["trace", "scan", "--device", "cuda"], ["simulator", "--device"]),
        (&["trace", "bubble", "--values", "2,1", "--seed", "2"], ["--seed", "--values"]),
        (&["trace", "bubble", "--bins", "2"], ["--bins", "bubble"]),
        (&["profile", "scan", "--view", "trace", "--format", "json"], ["--view", "JSON"]),
        (&["trace", "bubble", "--html", "-", "--format", "json"], ["--format", "the page"]),
        (&["profile", "scan", "--timeline", "-", "--view", "trace"], ["--view", "the timeline"]),
        (&["bench", "reduce", "--bins", "7"], ["--bins", "reduce"]),
        (&["bugs", "--seed", "7"], ["--seed", "draws no input"]),
        (&["bugs", "show", "plain-sum", "--seed", "7"], ["--seed", "draws no input"]),
        (&["bugs", "run", "plain-sum", "--format", "json"], ["--format", "a line at a time"]),
        (&["learn", "list", "--format", "json"], ["--format", "text"]),
        (&["sort", &file, "--nan", "last"], ["--nan", "u32 has no NaN"]),
        (&["sort", &file, "--output", "-", "--format", "json"], ["--format", "standard output"]),
        (&["bench", "saxpy", "--n", "9", "--save", "-"], ["--save", "--format json"]),
    ] {
        refused_in_short(call, 2, &words);
    }
    refused(&["bench", "reduce", "--peer", "cub"], 2, &["--peers"]);
    refused(&["bench", "reduce", "--runs", "3", "--budget", "1"], 2, &["--budget"]);
    // Where no rung is named, one that has a use for the option is taken.
    let (code, out, err) = outcome(&["radix", "--columns", "8", "--n", "99", "--format", "json"]);
    assert_eq!(code, 0, "{err}");
    let rung = serde_json::from_str::<Value>(&out).unwrap()["results"][0]["rung"].clone();
    assert_eq!(rung, "columns-groups");
}

#[test]
fn every_format_is_one() {
    let csv = |call: &[&str]| {
        let (code, out, err) = outcome(&[call, &["--format", "csv"]].concat());
        assert_eq!(code, 0, "{call:?}: {err}");
        out
    };
    let shown = csv(&["bugs", "show", "plain-sum", "--schedules", "2"]);
    assert!(shown.starts_with("name,topic,file,bug,effect,fix,kernels,launches,without_checks,findings,"), "{shown}");
    assert!(csv(&["bugs"]).starts_with("topic,name,found_as,bug\n"));
    let doctor = csv(&["doctor"]);
    assert!(doctor.starts_with("what,found,detail,advice\n") && doctor.contains("\nsimulator,true,"), "{doctor}");
    let (code, out, err) = outcome(&["bugs", "check", "plain-sum", "--schedules", "4", "--format", "json"]);
    assert_eq!(code, 0, "{err}");
    let judged = &serde_json::from_str::<Value>(&out).unwrap()["results"][0];
    assert_eq!((&judged["bug"], &judged["verdict"]), (&"plain-sum".into(), &"found".into()));
}

#[test]
fn numbers_that_are_none_are_refused() {
    refused_in_short(&["matmul", "--n", "4", "--alpha", "1e39"], 2, &["--alpha 1e39", "f32"]);
    refused_in_short(&["matmul", "--n", "4", "--beta", "-1e39", "--dtype", "f16"], 2, &["--beta -1e39", "f16"]);
    assert_eq!(outcome(&["matmul", "--n", "4", "--alpha", "1e39", "--dtype", "f64"]).0, 0);
    assert_eq!(outcome(&["matmul", "--n", "4", "--alpha", "inf"]).0, 0, "asked for");
    assert_eq!(outcome(&["matmul", "--n", "4", "--beta", "-inf"]).0, 0, "asked for");
    refused(&["matmul", "--n", "4", "--alpha", "--n"], 2, &["--alpha"]);
    for seconds in ["nan", "inf", "-1", "1e300", "x", ""] {
        let (budget, limit) = (format!("--budget={seconds}"), format!("--limit={seconds}"));
        refused(&["bench", "saxpy", "--n", "9", &budget], 2, &["a number of seconds from 0 to 1e9"]);
        refused(&["all", "--n", "9", &limit], 2, &["a number of seconds from 0 to 1e9"]);
    }
    assert_eq!(outcome(&["ladder", "saxpy", "--n", "9", "--limit", "0.5"]).0, 0);
    assert_eq!(outcome(&["bench", "saxpy", "--n", "9", "--budget", "1e9"]).0, 0);
}

/// The table of the page and the list of `--help` say the same.
#[test]
fn exit_codes_are_those_of_the_page() {
    let page = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/program.md")).unwrap();
    let (_, help, _) = outcome(&["--help"]);
    let one_line = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let help = one_line(&help);
    let table = page.split("| exit code | meaning |").nth(1).unwrap();
    let rows: Vec<_> = table.lines().skip(2).map_while(|line| line.strip_prefix("| ")?.strip_suffix(" |")).collect();
    assert_eq!(rows.len(), 6);
    for (code, row) in rows.iter().enumerate() {
        let (number, meaning) = row.split_once(" | ").unwrap();
        assert_eq!(number, code.to_string());
        assert!(help.contains(&format!("{number} {meaning}")), "'{number} {meaning}' is not in {help}");
    }
}

#[test]
fn sort_by_other_orders() {
    let folder = TempDir::new().unwrap();
    let [keys, values, sorted, moved] = ["k.npy", "v.npy", "s.npy", "m.npy"].map(|name| path(&folder, name));
    let sort = |options: &[&str]| {
        let call = ["sort", &keys, "--output", &sorted, "--format", "json"];
        let (code, out, err) = outcome(&[&call[..], options].concat());
        assert_eq!(code, 0, "{options:?}: {err}");
        let row = serde_json::from_str::<Value>(&out).unwrap()["results"][0].clone();
        assert_eq!(row["verified"], true, "{options:?}");
        (read(&sorted), row)
    };
    for dtype in [Dtype::U32, Dtype::I32, Dtype::F32, Dtype::U64, Dtype::I64, Dtype::F64] {
        let data = Distribution::Special.generate(dtype, 1009, 3).unwrap();
        write(&keys, &data);
        let descending = data.at(&data.sorted_places(true));
        assert_eq!(sort(&["--descending"]).0, descending, "{dtype}");
        // Keys of any width carry values of any width, and equal keys keep the order of theirs.
        for width in [Dtype::U32, Dtype::F64] {
            write(&values, &Distribution::Uniform.generate(width, 1009, 4).unwrap());
            for order in [&[][..], &["--descending"]] {
                let call = [order, &["--output-values", &moved, "--values", &values]].concat();
                let (got, row) = sort(&call);
                let places = data.sorted_places(!order.is_empty());
                assert_eq!(got, data.at(&places), "{dtype} with {width}");
                assert_eq!(read(&moved), read(&values).at(&places), "{dtype} with {width}");
                assert_eq!(row["values"], width.name());
            }
        }
    }
    // A raw file has no types: values are as many as keys.
    let raw = path(&folder, "v.bin");
    write(&keys, &Data::from(vec![3_u64, 1, 2]));
    write(&raw, &Data::from(vec![30_u64, 10, 20]));
    sort(&["--output-values", &moved, "--values", &raw]);
    assert_eq!(read(&moved), Data::from(vec![10_u64, 20, 30]));
    sort(&["--output-values", &moved, "--values"]);
    assert_eq!(read(&moved), Data::from(vec![1_u32, 2, 0]), "places");
    refused_in_short(&["sort", "--values", &keys], 2, &["FILE", "--values took", "rungs sort FILE --values"]);

    let nan = f32::from_bits(0xffc0_0000);
    write(&keys, &Data::from(vec![f32::NAN, 2.0, nan, -1.0, f32::INFINITY, nan]));
    let total = Data::from(vec![nan, nan, -1.0, 2.0, f32::INFINITY, f32::NAN]);
    assert_eq!(sort(&[]).0, total);
    assert_eq!(sort(&["--nan", "total"]).0, total);
    let last = Data::from(vec![-1.0, 2.0, f32::INFINITY, f32::NAN, nan, nan]);
    assert_eq!(sort(&["--nan", "last", "--output-values", &moved, "--values"]).0, last);
    assert_eq!(read(&moved), Data::from(vec![3_u32, 1, 4, 0, 2, 5]));
    let last = Data::from(vec![f32::INFINITY, 2.0, -1.0, nan, nan, f32::NAN]);
    assert_eq!(sort(&["--nan", "last", "--descending"]).0, last);
    for command in ["sort", "radix", "bitonic"] {
        let (_, help, _) = outcome(&[command, "--help"]);
        assert!(help.split_whitespace().collect::<Vec<_>>().join(" ").contains("-NaN first"), "{help}");
    }
}

#[test]
fn what_a_result_leaves_out_is_said() {
    let folder = TempDir::new().unwrap();
    let file = path(&folder, "keys.npy");
    write(&file, &Data::from(vec![3_u32, 12, 11, 4_000_000_000]));
    let (code, out, err) = outcome(&["histogram", "--input", &file, "--bins", "12", "--format", "json"]);
    assert_eq!(code, 0, "{err}");
    assert_eq!(serde_json::from_str::<Value>(&out).unwrap()["results"][0]["left_out"], 2);
    assert!(err.contains("2 of 4 keys are in none of the bins"), "{err}");
    let (_, out, _) = outcome(&["histogram", "--input", &file, "--bins", "12", "-q"]);
    assert!(out.contains("yes, without 2 keys"), "{out}");
    let (_, out, _) = outcome(&["histogram", "--input", &file, "--bins", "12", "-q", "--format", "csv"]);
    assert!(out.contains(",error,left_out,value\n") && out.ends_with(",true,,,2,\n"), "{out}");
    let (_, out, err) = outcome(&["histogram", "--n", "100", "--bins", "12", "--format", "json"]);
    assert!(!out.contains("left_out") && err.is_empty(), "{out} {err}");
    // With the factor 0, C does not come into the product, whatever is in it.
    let [a, b, c, out] = ["a.npy", "b.npy", "c.npy", "out.npy"].map(|name| path(&folder, name));
    for (name, value) in [(&a, 2.0_f32), (&b, 3.0), (&c, f32::NAN)] {
        let output = Output::open(&Place::from(&**name), Format::Npy).unwrap();
        output.write_matrix(&Data::from(vec![value; 4]), 2, 2).unwrap();
    }
    let call = ["matmul", "--input", &a, &b, &c, "--output", &out];
    assert_eq!(outcome(&[&call[..], &["--beta", "0"]].concat()).0, 0);
    let product = rungs_cli::data::read_matrix(&Place::from(&*out), &[Dtype::F32], None).unwrap();
    assert_eq!(product.data, Data::from(vec![12.0_f32; 4]));
    refused_in_short(&call, 2, &["a file for C needs --beta"]);
    let (_, _, err) = rungs_lab(&[1, 7]);
    assert!(err.contains("1 integer sorted"), "{err}");
    let (_, _, err) = rungs_lab(&[2, 7, 5]);
    assert!(err.contains("2 integers sorted"), "{err}");
}

fn rungs_lab(words: &[i32]) -> (Option<i32>, Vec<u8>, String) {
    let input: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    let ended = rungs(&["lab"]).write_stdin(input).output().unwrap();
    (ended.status.code(), ended.stdout, text(&ended.stderr))
}

/// More connections than rank 0 may have open, whose owners say nothing. The ranks meet all the same; without GPUs they
/// end then.
#[test]
fn connections_without_words_end_no_group() {
    let port = TcpListener::bind(("127.0.0.1", 0)).unwrap().local_addr().unwrap().port();
    let rank = |rank: &str, line: &str| {
        let call = raw(&["reduce", "--gpus", "2", "--n", "100", "--device", "auto", "--patience", "30"]);
        let mut shell = std::process::Command::new("sh");
        shell.args(["-c", line]).arg(call.get_program()).args(call.get_args());
        shell.envs([("RANK", rank), ("WORLD_SIZE", "2"), ("RUNGS_PORT", &port.to_string())]);
        shell.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap()
    };
    let first = rank("0", "ulimit -n 64; exec \"$0\" \"$@\"");
    let start = Instant::now();
    let connect = || loop {
        match TcpStream::connect(("127.0.0.1", port)) {
            Ok(link) => return link,
            Err(e) => assert!(start.elapsed() < Duration::from_secs(20), "{e}"),
        }
    };
    let silent: Vec<_> = (0..120).map(|_| connect()).collect();
    let second = rank("1", "exec \"$0\" \"$@\"");
    for ended in [first, second] {
        let err = text(&ended.wait_with_output().unwrap().stderr);
        assert!(!err.contains("open files") && !err.contains("did not answer"), "{err}");
    }
    drop(silent);
}

/// The name of a file may be any bytes but 0 and /, on the command line too.
#[test]
fn names_of_files_need_not_be_text() {
    use std::os::unix::ffi::OsStrExt;
    let folder = TempDir::new().unwrap();
    let report = folder.path().join(std::ffi::OsStr::from_bytes(b"new\xff.json"));
    let mut call = raw(&["bench", "saxpy", "--n", "9", "-q", "--runs", "1"]);
    let ended = call.arg("--save").arg(&report).env("RUNGS_COMMIT", "a\x1b[31mb\n").output().unwrap();
    assert_eq!(ended.status.code(), Some(0), "{ended:?}");
    // A commit that is not one does not colour the terminal.
    assert!(text(&ended.stdout).contains("commit a\\u{1b}[31mb"), "{ended:?}");
    let saved = serde_json::from_str::<Value>(&fs::read_to_string(&report).unwrap()).unwrap();
    assert!(saved["command"].as_str().unwrap().ends_with(" --save 'new\u{fffd}.json'"), "{saved}");
}

/// It is opened once: its reader takes the first end for the only one. The check takes long enough for it to be seen.
#[test]
fn a_page_goes_through_a_named_pipe() {
    let folder = TempDir::new().unwrap();
    let (pipe, page) = (path(&folder, "pipe"), path(&folder, "page.html"));
    let line = format!("mkfifo {pipe}; cat {pipe} >{page} & timeout 20 \"$0\" \"$@\"; echo $?; wait");
    let ended = shell(&line, &["trace", "bubble", "--n", "16", "--check=64", "--html", &pipe]);
    assert!(text(&ended.stdout).ends_with("\n0\n"), "{ended:?}");
    let page = fs::read_to_string(page).unwrap();
    assert!(page.starts_with("<!doctype html>") && page.trim_end().ends_with("</html>"), "{page}");
}

/// Memory is taken for the bytes of a message that have come, and not for those that a stranger announces.
#[test]
fn a_message_that_is_only_announced_takes_no_memory() {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let call = raw(&["reduce", "--gpus", "2", "--n", "9", "--patience", "1"]);
    let mut rank = std::process::Command::new("sh");
    rank.args(["-c", "ulimit -v 900000; exec \"$0\" \"$@\""]).arg(call.get_program()).args(call.get_args());
    rank.envs([("RANK", "1"), ("WORLD_SIZE", "2")]);
    rank.env("RUNGS_PORT", listener.local_addr().unwrap().port().to_string());
    let rank = rank.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut link = listener.accept().unwrap().0;
    drop(listener);
    link.write_all(&[&[4][..], &(1u64 << 30).to_le_bytes(), &[7; 100]].concat()).unwrap();
    link.shutdown(std::net::Shutdown::Write).unwrap();
    let ended = rank.wait_with_output().unwrap();
    assert_eq!(ended.status.code(), Some(5), "{ended:?}");
}

/// Of memory for the stacks of threads.
#[test]
fn a_group_without_room_for_its_ranks_is_an_error() {
    let call = ["reduce", "--gpus", "200", "--n", "1000"];
    let ended = shell("ulimit -v 500000; exec \"$0\" \"$@\"", &call);
    let err = text(&ended.stderr);
    assert!(ended.status.code() == Some(2) && !err.contains("panicked"), "{:?}: {err}", ended.status);
}

/// The wrong value is named with the option that it was given to, and a list of names has an end.
#[test]
fn a_wrong_value_is_named_with_its_option() {
    let folder = TempDir::new().unwrap();
    let [keys, inside] = ["keys.npy", "keys.npy/sorted.npy"].map(|name| path(&folder, name));
    write(&keys, &Data::from(vec![3_u32, 1, 2]));
    let calls: [(&[&str], i32, &str); 16] = [
        (&["top-k", "--k", "-1"], 2, "'--k <NUMBER>'"),
        (&["reduce", "--n", "-5"], 2, "negative"),
        (&["reduce", "--seed", "-1"], 2, "'--seed <SEED>'"),
        (&["trace", "bubble", "--values", "-1,2"], 2, "'--values <LIST>'"),
        (&["cubes", "--rung", "many-blocks", "--blocks", "2^24", "--n", "9"], 2, "16777216 blocks of 256 threads"),
        (&["cubes", "--blocks", "2^31", "--threads", "1", "--n", "9"], 2, "2147483648 blocks of 1 threads"),
        (&["matmul", "--input", "-", "-"], 2, "two matrices cannot both come from standard input"),
        (&["bench", "radix", "--budget", "-1"], 2, "'--budget"),
        (&["top-k", "--k", "2^32", "--n", "10"], 2, "2^32 is not from 1 to 4294967295"),
        (&["histogram", "--bins", "0"], 2, "0 is not from 1 to 4294967295"),
        (&["top-k", "--k", "1Ki", "--n", "1000"], 2, "the 1024 largest of 1000 keys do not exist; --k is at most 1000"),
        (&["top-k", "--k", "3", "--n", "0"], 2, "the 3 largest of 0 keys do not exist\n"),
        (&["bugs", "show", "qqqqqq"], 2, " more\n"),
        (&["litmus", "qqqqqq"], 2, " more\n"),
        (&["sort", &keys, "--output", &inside], 4, "a part of its path is a file"),
        (&["trace", "select", "--n", "0"], 0, "nothing is launched for this input"),
    ];
    for (call, code, words) in calls {
        let (ended, output, errors) = outcome(call);
        assert!(ended == code && (output.clone() + &errors).contains(words), "{call:?}: {ended} {output} {errors}");
    }
    assert_eq!(outcome(&["top-k", "--k", "1e2", "--n", "1Ki"]).0, 0);
}
