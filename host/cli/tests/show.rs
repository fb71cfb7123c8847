//! The commands that show things: `trace`, `profile`, `sweep` and the reports of S0 and S1, on the simulator.

use rayon::iter::{IntoParallelIterator, ParallelIterator};
use rungs::engine::Engine;
use rungs_cli::algorithms::{Extra, FAMILIES, Family, Kind, Parameters, Rung, family};
use rungs_cli::trace::{Step, Trace, trace};
use serde_json::Value;
use std::process::Command;

/// Runs the program; gives its exit code, standard output and standard error.
fn rungs(arguments: &str) -> (i32, String, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_rungs"));
    let output = command.args(arguments.split_whitespace()).args(["--device", "sim"]).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code().expect("ended by a signal"), text(output.stdout), text(output.stderr))
}

/// The standard output of a successful run.
fn printed(arguments: &str) -> String {
    let (code, out, err) = rungs(arguments);
    assert_eq!(code, 0, "{arguments}: {err}");
    out
}

fn json(arguments: &str) -> Value {
    serde_json::from_str(&printed(&format!("{arguments} --format json"))).unwrap()
}

/// Header and rows.
fn csv(arguments: &str) -> (Vec<String>, Vec<Vec<String>>) {
    let text = printed(&format!("{arguments} --format csv"));
    let mut lines = text.lines().map(|l| l.split(',').map(str::to_string).collect::<Vec<_>>());
    (lines.next().unwrap(), lines.collect())
}

#[test]
fn grids_and_counters_are_those_of_the_device_that_is_named() {
    let barriers = |device: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_rungs"));
        command.args("explain cubes --rung many-blocks --stats --n 100000 --format json --device".split_whitespace());
        let output = command.arg(device).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let explained: Value = serde_json::from_slice(&output.stdout).unwrap();
        explained["rungs"][0]["counters"]["kernels"][0]["barriers"].as_u64().unwrap()
    };
    // A barrier per block, and blocks as many as fill the device.
    assert_eq!(barriers("sim:6"), 2 * barriers("sim:3"));
    for device in ["sim:0", "sim:x"] {
        let output = Command::new(env!("CARGO_BIN_EXE_rungs")).args(["list", "--device", device]).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{device}");
    }
}

/// The steps of a rung on these numbers.
fn steps(name: &str, rung: &str, input: &[u32], parameters: Parameters) -> Trace {
    let family = family(name).unwrap();
    trace(&Engine::simulator(), family, family.rung(rung).unwrap(), input.to_vec(), parameters).unwrap()
}

fn values(step: &Step) -> Vec<u32> {
    step.values.iter().map(|v| v.expect("every element is known")).collect()
}

#[test]
fn the_worked_example_of_s0_line_for_line() {
    let text = printed("trace bubble --values 9,5,8,4,7,6,3,2,6,8,7,4,3,2,1,0 --block 4");
    // The first three and the last are printed in S0; the others follow from its rule.
    let want = [
        "     9584 7632 6874 3210",
        "(1a) 4589 2367 4678 0123",
        "(1b) 45 2389 4667 0178 23",
        "(2a) 2345 4689 0167 2378",
        "(2b) 23 4456 0189 2367 78",
        "(3a) 2344 0156 2389 6778",
        "(3b) 23 0144 2356 6789 78",
        "(4a) 0123 2344 5667 7889",
        "(4b) 01 2233 4456 6778 89",
    ];
    assert_eq!(text.lines().collect::<Vec<_>>(), want);
}

#[test]
fn one_block_shows_each_phase_of_odd_even_transposition() {
    let trace = steps("bubble", "one-block", &[4, 3, 2, 1], Parameters::default());
    let seen: Vec<_> = trace.steps.iter().map(|s| (&s.label[..], values(s), s.pairs.len())).collect();
    let want = [
        ("in", vec![4, 3, 2, 1], 0),
        ("1a", vec![3, 4, 1, 2], 2),
        ("1b", vec![3, 1, 4, 2], 1),
        ("2a", vec![1, 3, 2, 4], 2),
        ("2b", vec![1, 2, 3, 4], 1),
        ("out", vec![1, 2, 3, 4], 0),
    ];
    assert_eq!(seen, want);
    // Keys of more than one digit stand apart.
    assert!(printed("trace bubble --values 10,2").starts_with("      10  2\n(in)  10  2\n"));
}

#[test]
fn steps_without_an_exchange_are_shown_too() {
    let trace = steps("bubble", "one-block", &[1, 2, 3, 4], Parameters::default());
    assert_eq!(trace.steps.iter().map(|s| &s.label[..]).collect::<Vec<_>>(), ["in", "1a", "1b", "2a", "2b", "out"]);
    assert!(trace.steps.iter().flat_map(|s| &s.pairs).all(|p| !p.changed));
}

#[test]
fn a_tree_scan_goes_up_and_down() {
    let trace = steps("scan", "blelloch", &[3, 1, 7, 0, 4, 1, 6, 3], Parameters::default());
    let seen: Vec<_> = trace.steps.iter().map(values).collect();
    let want: [[u32; 8]; 9] = [
        [3, 1, 7, 0, 4, 1, 6, 3],
        // Up: sums of 2, 4, 8.
        [3, 4, 7, 7, 4, 5, 6, 9],
        [3, 4, 7, 11, 4, 5, 6, 14],
        [3, 4, 7, 11, 4, 5, 6, 25],
        // Down: the sum before the root is 0; then by 4, 2, 1.
        [3, 4, 7, 11, 4, 5, 6, 0],
        [3, 4, 7, 0, 4, 5, 6, 11],
        [3, 0, 7, 4, 4, 11, 6, 16],
        [0, 3, 4, 11, 11, 15, 16, 22],
        // Each element added to the sum before it.
        [3, 4, 11, 11, 15, 16, 22, 25],
    ];
    assert_eq!(seen, want);
    let pairs: Vec<_> = trace.steps.iter().map(|s| s.pairs.len()).collect();
    assert_eq!(pairs, [0, 4, 2, 1, 0, 1, 2, 4, 0]);
    // Hillis-Steele: each step doubles the reach, and one thread fewer by that reach has a neighbour.
    let trace = steps("scan", "hillis-steele", &[1; 8], Parameters::default());
    let seen: Vec<_> = trace.steps.iter().map(values).collect();
    let reach = |most: u32| (1..=8).map(|i| i.min(most)).collect::<Vec<u32>>();
    assert_eq!(seen, [reach(1), reach(2), reach(4), reach(8), reach(8)]);
    assert_eq!(trace.steps.iter().map(|s| s.pairs.len()).collect::<Vec<_>>(), [0, 7, 6, 4, 0]);
}

/// Every rung whose steps can be drawn.
fn drawable() -> Vec<(&'static Family, &'static Rung)> {
    let families = FAMILIES.iter().filter(|family| matches!(family.kind, Kind::Sort | Kind::Scan));
    families.flat_map(|family| family.rungs.iter().map(move |rung| (family, *rung))).collect()
}

/// Numbers in no order, some of them equal.
fn numbers(n: u32) -> Vec<u32> {
    (0..n).map(|i| i.wrapping_mul(0x9E37_79B1) >> 26).collect()
}

#[test]
fn every_rung_ends_with_its_output_and_its_pairs_explain_each_step() {
    let rungs = drawable();
    assert!(rungs.len() >= 10, "{} rungs", rungs.len());
    rungs.into_par_iter().for_each(|(family, rung)| {
        for n in [0, 1, 2, 3, 7, 16, 33, 100] {
            let input = numbers(n);
            let columns = family.extras.contains(&Extra::Columns).then_some(8);
            let trace =
                trace(&Engine::simulator(), family, rung, input.clone(), Parameters { columns, ..family.usual(rung) })
                    .unwrap();
            let name = format!("{} {} of {n}", family.name, rung.name);
            let want: Vec<u32> = if family.name == "scan" {
                input
                    .iter()
                    .scan(0, |sum, v| {
                        *sum += v;
                        Some(*sum)
                    })
                    .collect()
            } else {
                let mut sorted = input.clone();
                sorted.sort_unstable();
                sorted
            };
            assert_eq!(trace.output, want, "{name}");
            if let Some(last) = trace.steps.last() {
                assert_eq!(values(last), want, "{name}: the last step");
            }
            assert!(n < 2 || !trace.steps.is_empty(), "{name} has no steps");
            let mut before = input.clone();
            for step in &trace.steps {
                assert_eq!(step.values.len(), n as usize);
                // A merge fills its output from the front: the rest is not known yet.
                let Some(now) = step.values.iter().copied().collect::<Option<Vec<u32>>>() else { continue };
                if family.name != "scan" && !step.pairs.is_empty() {
                    step.pairs.iter().filter(|p| p.changed).for_each(|p| before.swap(p.a, p.b));
                    assert_eq!(now, before, "{name}: exchanging the pairs of step {}", step.label);
                }
                before = now;
            }
        }
    });
}

#[test]
fn a_network_shows_every_comparison() {
    let trace = steps("bitonic", "global-step", &numbers(16), Parameters::default());
    // log2(16) * (log2(16) + 1) / 2 steps of 8 comparisons each.
    assert_eq!(trace.steps.len(), 10);
    assert!(trace.steps.iter().all(|s| s.pairs.len() == 8));
    let report = json("trace bitonic --rung global-step --n 16");
    assert_eq!(report["steps"].as_array().unwrap().len(), 10);
    assert_eq!(report["steps"][9]["values"], report["output"]);
    assert_eq!(report["steps"][0]["kernel"], "bitonic_global_step");
    let (head, rows) = csv("trace bitonic --rung global-step --n 16");
    assert_eq!(head, ["step", "launch", "kernel", "data", "note"]);
    assert_eq!(rows.len(), 11);
    let notes = printed("trace bitonic --rung global-step --n 16 --notes");
    assert!(notes.lines().nth(1).unwrap().contains("8 pairs, 1 apart, "), "{notes}");
}

#[test]
fn trace_says_what_it_cannot_do() {
    for (arguments, code, words) in [
        ("trace bubbel", 2, "there is no family"),
        ("trace bubble --rung shared", 2, "shared"),
        ("trace bubble --rung one-block --block 4", 2, "--block is for bubble shared-block"),
        ("trace bitonic --block 4", 2, "--block is for bubble shared-block"),
        ("trace bubble --block 5", 2, "even number"),
        ("trace bubble --block 1026", 2, "2 to 1024"),
        ("trace bubble --n 513", 2, "512 are the limit"),
        ("trace bubble --values 1,x", 2, "invalid value"),
        ("trace bubble --n 4 --values 1", 2, "cannot be used with"),
        ("trace bitonic --columns 8", 2, "has no columns"),
        ("trace bubble --n 4 --html /nonexistent/page.html", 4, "/nonexistent/page.html"),
    ] {
        let (got, _, err) = rungs(arguments);
        assert_eq!(got, code, "{arguments}: {err}");
        assert!(err.contains(words), "{arguments}: {err}");
        assert!(!err.contains("panicked"), "{arguments}: {err}");
    }
}

#[test]
fn the_page_holds_the_trace_and_asks_for_nothing_else() {
    let page = printed("trace bubble --values 3,1,2 --html -");
    assert!(page.starts_with("<!doctype html>"));
    assert!(!page.contains("/*TRACE*/") && page.contains("\"input\":[3,1,2]"));
    for reference in ["src=", "href=\"http", "url(", "import(", "fetch(", "@import"] {
        assert!(!page.contains(reference), "the page has {reference}");
    }
}

#[test]
fn a_profile_has_every_copy_and_launch() {
    let report = json("profile bitonic --rung global-step --n 16");
    let trace = report["trace"].as_array().unwrap();
    let names: Vec<_> = trace.iter().map(|e| e["name"].as_str().unwrap()).collect();
    let mut want = vec!["[HtoD]", "[DtoD]"];
    want.extend(["bitonic_global_step"; 10]);
    want.push("[DtoH]");
    assert_eq!(names, want);
    assert_eq!(trace[0]["size"], 64);
    assert_eq!(trace[2]["dynamic_shared"], 0);
    assert!(trace[2]["block"][0].as_u64().unwrap() > 0);
    assert!(trace[2]["registers"].is_null(), "the simulator has no registers to count");
    let starts: Vec<f64> = trace.iter().map(|e| e["start_ms"].as_f64().unwrap()).collect();
    assert!(starts.is_sorted() && starts[0] >= 0.0, "{starts:?}");
    let summary = report["summary"].as_array().unwrap();
    let kernel = summary.iter().find(|t| t["name"] == "bitonic_global_step").unwrap();
    assert_eq!(kernel["calls"], 10);
    let sum = |key: &str| summary.iter().map(|t| t[key].as_f64().unwrap()).sum::<f64>();
    assert!((sum("percent") - 100.0).abs() < 1e-6);
    let durations: f64 = trace.iter().map(|e| e["duration_ms"].as_f64().unwrap()).sum();
    assert!((sum("time_ms") - durations).abs() < 1e-9);

    let text = printed("profile bitonic --rung global-step --n 16");
    assert!(text.contains("\nsummary\n") && text.contains("\ntrace\n"), "{text}");
    let launch = text.lines().rfind(|l| l.ends_with("bitonic_global_step")).unwrap();
    assert_eq!(
        launch.matches(" -").count(),
        6,
        "registers, static memory, size, throughput, context, stream: {launch}"
    );
    let (head, rows) = csv("profile bitonic --rung global-step --n 16");
    assert_eq!((head.len(), rows.len()), (13, 13));
    let (head, rows) = csv("profile bitonic --rung global-step --n 16 --view summary");
    assert_eq!((head[0].as_str(), rows.len()), ("time_percent", 4));
    assert_eq!(rungs("profile bitonic --format csv --view both").0, 2);
    assert_eq!(rungs("profile nothing").0, 2);
}

#[test]
fn a_profile_of_several_devices_has_their_exchanges() {
    let call = "profile radix --gpus 2 --rung exchange-whole --n 4096";
    let report = json(call);
    assert_eq!((&report["gpus"], &report["transport"]), (&2.into(), &"memory of the host".into()));
    assert_eq!((&report["rung"], &report["n"]), (&"exchange-whole".into(), &4096.into()));
    assert!(report["time_ms"].as_f64().unwrap() > 0.0);
    assert_eq!(report["ranks"].as_array().unwrap().len(), 2);
    let tracks = report["tracks"].as_array().unwrap();
    let of = |track: &Value| (track["rank"].as_u64().unwrap(), track["name"].as_str().unwrap().to_string());
    let names = (0..2).flat_map(|rank| ["host", "stream 1", "stream 2"].map(|name| (rank, name.to_string())));
    assert!(tracks.iter().map(of).eq(names));
    // About half of the keys change place, and what one rank sends the other one receives.
    let exchange = |rank: usize| {
        let host = tracks[3 * rank]["trace"].as_array().unwrap();
        let found = host.iter().find(|entry| entry["name"] == "[exchange]").unwrap();
        [&found["sent"], &found["size"]].map(|bytes| bytes.as_u64().unwrap())
    };
    let [sent, received] = exchange(0);
    assert_eq!(exchange(1), [received, sent]);
    assert!((3000..5000).contains(&sent) && sent == received, "{sent} of 8192 bytes");
    let of_rank: usize = tracks.iter().map(|track| track["trace"].as_array().unwrap().len()).sum();

    let text = printed(call);
    assert!(
        text.starts_with("radix exchange-whole, n = 4096, on 2 devices by memory of the host; a run that"),
        "{text}"
    );
    assert!(text.contains("\nsummary\n") && text.contains("\ntrace\n") && text.contains("clock within"), "{text}");
    assert!(text.lines().any(|line| line.contains("rank 1, stream 2") && line.ends_with("[PtoP]")), "{text}");
    assert!(!printed(&format!("{call} --view summary")).contains("\ntrace\n"));
    let pulled = printed(&format!("{call} --transport kernel"));
    assert!(pulled.contains("on 2 devices by pull kernels; "), "{pulled}");
    assert!(pulled.lines().any(|line| line.contains("rank 1, stream 2") && line.ends_with("[pull]")), "{pulled}");
    // Tables have as many rows as the report has entries. A grid is one cell.
    let (head, rows) = csv(call);
    assert_eq!((head.len(), rows.len()), (16, of_rank));
    assert_eq!([&*head[0], &head[9], &head[10], &head[15]], ["track", "sent_bytes", "from_rank", "name"]);
    let (head, _) = csv(&format!("{call} --view summary"));
    assert_eq!(head[0], "track");

    // The timeline: a process per rank, and a thread per track.
    let timeline: Value = serde_json::from_str(&printed(&format!("{call} --timeline -"))).unwrap();
    let events = timeline["traceEvents"].as_array().unwrap();
    let meta = |kind: &str| -> Vec<(u64, String)> {
        let named = events.iter().filter(|e| e["ph"] == "M" && e["name"] == kind);
        named.map(|e| (e["pid"].as_u64().unwrap(), e["args"]["name"].as_str().unwrap().to_string())).collect()
    };
    assert_eq!(meta("process_name"), [0, 1].map(|rank| (rank, format!("rank {rank}: simulator"))));
    assert_eq!(meta("thread_name"), tracks.iter().map(of).collect::<Vec<_>>());
    let done: Vec<_> = events.iter().filter(|e| e["ph"] == "X").collect();
    assert_eq!(done.len(), of_rank);
    let copy = done.iter().find(|e| e["name"] == "[PtoP]").unwrap();
    assert_eq!((&copy["cat"], &copy["pid"], &copy["args"]["peer"]), (&"exchange".into(), &0.into(), &1.into()));
    assert_eq!(copy["args"]["size"], received);
    assert!(done.iter().all(|e| e["dur"].as_f64() >= Some(0.0) && e["args"]["name"].is_null()), "{timeline}");
}

#[test]
fn the_timeline_of_one_device_is_its_profile() {
    let timeline: Value =
        serde_json::from_str(&printed("profile bitonic --rung global-step --n 16 --timeline -")).unwrap();
    let events = timeline["traceEvents"].as_array().unwrap();
    let kinds = |kind: &str| events.iter().filter(|e| e["cat"] == kind).count();
    assert_eq!((kinds("kernel"), kinds("copy"), kinds("exchange"), events.len()), (10, 3, 0, 15));
    assert_eq!(events[0]["args"]["name"], "simulator");
    assert!(events[5]["args"]["grid"].is_array(), "{timeline}");
    assert_eq!(rungs("profile bitonic --n 16 --timeline /nonexistent/line.json").0, 4);
}

#[test]
fn the_sweep_of_bubble_has_s0s_lines_beside_ours() {
    let report = json("sweep bubble --sizes 256,1024");
    let results = report["results"].as_array().unwrap();
    assert_eq!(results.iter().map(|r| r["n"].as_u64().unwrap()).collect::<Vec<_>>(), [256, 1024]);
    for r in results {
        let ratio = r["host_ms"].as_f64().unwrap() / r["gpu_ms"].as_f64().unwrap();
        assert!((r["ratio"].as_f64().unwrap() - ratio).abs() <= ratio * 1e-9);
    }
    assert_eq!(report["history"].as_array().unwrap().len(), 9);
    let text = printed("sweep bubble --host-limit 0 --rung warp-registers --sizes 64");
    assert!(text.contains("8800 GTX Ultra  Q6600"), "{text}");
    let ours = text.lines().find(|l| l.contains("rungs")).unwrap();
    assert!(ours.trim_end().ends_with("-      -"), "the host was left out: {ours}");
}

#[test]
fn the_report_of_bubble_estimates_the_multiprocessors() {
    let f = json("bubble --report --n 3000");
    let number = |key: &str| f[key].as_f64().unwrap_or_else(|| panic!("{key}: {f}"));
    assert_eq!((number("num"), number("grid"), number("block")), (3000.0, 3.0, 512.0));
    assert_eq!((&f["gpu_pass"], &f["host_pass"]), (&Value::Bool(true), &Value::Bool(true)));
    let ratio = number("host_ms") / number("gpu_ms");
    assert!((number("ratio") - ratio).abs() <= ratio * 1e-9);
    let blocks = 2.0 * number("ratio") / number("r1");
    assert!((number("blocks_at_a_time") - blocks).abs() <= blocks * 1e-9);
    let text = printed("bubble --report --n 1024");
    for line in
        ["NUM", "GRID", "BLOCK", "GPU", "host", "ratio host / GPU", "R1 of this machine", "cores of the simulator"]
    {
        assert!(text.lines().any(|l| l.starts_with(line)), "{line}: {text}");
    }
    let (head, rows) = csv("bubble --report --n 1024");
    assert_eq!((head, rows.len()), (vec!["property".to_string(), "value".into()], 13));
    let (code, _, err) = rungs("bubble --report --rung one-block");
    assert_eq!(code, 2, "{err}");
}

#[test]
fn the_sweep_of_cubes_marks_the_best_shape() {
    let folder = std::env::temp_dir().join(format!("rungs-heat-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let plot = folder.join("heat.svg");
    let report = json(&format!("sweep cubes --n 5000 --threads 32,64 --blocks 1,2,3 --plot {}", plot.display()));
    let results = report["results"].as_array().unwrap();
    let shape = |r: &Value| (r["blocks"].as_u64().unwrap(), r["threads"].as_u64().unwrap());
    let shapes: Vec<_> = results.iter().map(shape).collect();
    assert_eq!(shapes, [(1, 32), (1, 64), (2, 32), (2, 64), (3, 32), (3, 64)]);
    let best: Vec<_> = results.iter().filter(|r| r["best"] == true).collect();
    let least = results.iter().map(|r| r["time_ms"].as_f64().unwrap()).fold(f64::INFINITY, f64::min);
    assert_eq!(best.len(), 1);
    assert_eq!(best[0]["time_ms"].as_f64().unwrap(), least);
    let svg = std::fs::read_to_string(&plot).unwrap();
    std::fs::remove_dir_all(&folder).unwrap();
    assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>\n"));
    // A background, one rectangle per cell, a frame around the best.
    assert_eq!(svg.matches("<rect ").count(), 1 + 6 + 1);
    assert_eq!((svg.matches("class=\"best\"").count(), svg.matches("★ ").count()), (1, 2));
    let text = printed("sweep cubes --n 5000 --threads 32,64 --blocks 1,2");
    assert_eq!(text.matches('*').count(), 2, "the best cell and what the star means: {text}");
    assert_eq!(rungs("sweep cubes --n 100 --threads 2000 --blocks 1").0, 2);
    assert_eq!(rungs("sweep cubes --n 100 --threads 0 --blocks 1").0, 2);
}

#[test]
fn the_report_of_cubes_has_every_clock() {
    let report = json("cubes --report --n 10000");
    let results = report["results"].as_array().unwrap();
    let names: Vec<_> = results.iter().map(|r| r["rung"].as_str().unwrap()).collect();
    let all: Vec<_> = family("cubes").unwrap().rungs.iter().map(|r| r.name).collect();
    assert_eq!(names, all);
    for r in results {
        assert_eq!(r["verified"], true, "{r}");
        let (clocks, longest) = (r["clocks"].as_u64().unwrap(), r["longest_block_clocks"].as_u64().unwrap());
        assert!(0 < longest && longest <= clocks, "on one clock no block is longer than all: {r}");
        let rate = 40_000.0 / r["event_ms"].as_f64().unwrap() * 1e-6;
        assert!((r["event_gbs"].as_f64().unwrap() - rate).abs() <= rate * 1e-9);
        assert!(r["bandwidth_percent"].is_null());
    }
    assert!(report["why"].as_str().unwrap().contains("SM has a clock counter of its own"));
    let one = json("cubes --report --n 1000 --rung many-blocks --blocks 3 --threads 32");
    assert_eq!((one["results"].as_array().unwrap().len(), &one["results"][0]["blocks"]), (1, &Value::from(3)));
    assert!(printed("cubes --report --n 1000").contains("3488971 clocks = 4.378 ms at 797 MHz"));
}

#[test]
fn the_sweep_of_radix_is_s4s_table() {
    let report = json("sweep radix --n 300");
    let results = report["results"].as_array().unwrap();
    assert_eq!(results.len(), 5 * 5);
    let cell = |method: &str, columns: u64| {
        results.iter().find(|c| c["method"] == method && c["columns"] == columns).unwrap_or_else(|| panic!("{method}"))
    };
    assert_eq!(cell("3: pairwise", 64)["source_seconds"], 0.004930);
    assert_eq!(cell("2: atomicMin", 128)["source_h200_seconds"], 0.00035);
    assert!(cell("2: atomicMin", 16)["source_h200_seconds"].is_null());
    assert!(results.iter().all(|c| c["seconds"].as_f64().unwrap() > 0.0));
    let (_, rows) = csv("sweep radix --n 100 --columns 8,256");
    assert_eq!(rows.len(), 10);
    assert_eq!(rungs("sweep radix --n 100 --columns 12").0, 2);
    assert_eq!(rungs("sweep radix --n 1000000 --columns 8").0, 2);
    let text = printed("sweep radix --n 100");
    assert!(text.lines().any(|l| l.starts_with(" 4: groups of 8") && l.contains("0.001868")), "{text}");
}
