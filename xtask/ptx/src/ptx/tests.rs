use super::*;

const TWO_KERNELS: &str = "\
.version 7.0
.target sm_80
.address_size 64

// begin inline asm
//.rungs.bounds second 256 2 16 2
//.rungs.bounds first 0 0 0 0
// end inline asm

	// .globl	first
.visible .entry first()
{
	ret;
}
	// .globl	second
.visible .entry second(
	.param .u64 .ptr .align 1 second_param_0,
	.param .align 8 .b8 second_param_1[16]
)
{
	.reg .b32 	%r<2>;
	ret;
}
";

fn arch(name: &str) -> Arch {
    name.parse().unwrap()
}

#[test]
fn bounds_come_between_parameters_and_body() {
    let text = finish(TWO_KERNELS, &arch("sm_80"), "rustc 1").unwrap();
    assert!(
        text.contains("second_param_1[16]\n)\n.maxntid 256, 1, 1\n.minnctapersm 2\n.reqnctapercluster 2, 1, 1\n{\n"),
        "{text}"
    );
    assert!(text.contains(".visible .entry first()\n{"), "{text}");
    let entry = |name: &str, max_threads, min_blocks| Entry {
        name: name.into(),
        max_threads,
        min_blocks,
        waits_for_previous: false,
    };
    assert_eq!(entries(&text), [entry("first", None, None), entry("second", Some(256), Some(2))]);
}

#[test]
fn a_kernel_alone_has_what_all_kernels_share() {
    let body = "{\n\t// a brace in a comment: }\n\t{ // of an asm\n\t}\n\tret; }\n";
    let text = TWO_KERNELS.replacen("{\n\tret;\n}\n", body, 1) + ".global .align 4 .b8 table[4];\n";
    let both = finish(&text, &arch("sm_80"), "rustc 1").unwrap();
    let apart = Apart::of(&both);
    for (this, other) in [("first", "second"), ("second", "first")] {
        let alone = apart.alone(this).unwrap();
        assert_eq!(entries(&alone), entries(&both).into_iter().filter(|e| e.name == this).collect::<Vec<_>>());
        assert!(!alone.contains(&format!(".entry {other}")), "{alone}");
        let braces = |brace| alone.lines().map(|l| l.split("//").next().unwrap().matches(brace).count()).sum::<usize>();
        assert_eq!(braces('{'), braces('}'), "{alone}");
        assert!(alone.contains(".target sm_80") && alone.contains("table[4];"), "{alone}");
    }
    let (begin, end) = (both.find(".visible .entry first").unwrap(), both.find("\n\t// .globl\tsecond").unwrap());
    assert_eq!(apart.alone("second").unwrap(), both[..begin].to_owned() + &both[end..]);
    let changed = both.replacen("ret;", "exit;", 1);
    let without = |of: &Apart, other: &Apart| of.only(|name, text| !other.has(name, text));
    assert_eq!(without(&Apart::of(&changed), &apart), Apart::of(&changed).alone("first").unwrap());
    assert!(entries(&without(&apart, &apart)).is_empty());
    assert_eq!(without(&apart, &Apart::default()), both);
    assert_eq!(apart.kernels().filter(|(name, text)| both.contains(text) && text.contains(name)).count(), 2);
    assert_eq!(apart.alone("third"), None);
    assert_eq!(apart.alone("fir"), None);
}

#[test]
fn bounds_of_threads_alone_are_enough() {
    let text = finish(&TWO_KERNELS.replace("first 0 0 0 0", "first 1024 0 0 0"), &arch("sm_80"), "rustc 1").unwrap();
    assert!(text.contains(".entry first()\n.maxntid 1024, 1, 1\n{"), "{text}");
}

#[test]
fn bounds_that_cannot_be_are_refused_with_the_kernel_s_name() {
    for (bounds, says) in [
        ("third 32 0 0 0", "third, which is not a kernel"),
        ("first 0 2 0 0", "first declares min_blocks"),
        ("first 0 0 8 0", "first declares max_spills"),
        ("first many 2 0 0", "first: `many`"),
        ("first 32 2 0", "is not `kernel threads blocks spills cluster`"),
    ] {
        let text = TWO_KERNELS.replace("first 0 0 0 0", bounds);
        let why = format!("{:#}", finish(&text, &arch("sm_80"), "rustc 1").unwrap_err());
        assert!(why.contains(says), "{why}");
    }
}

#[test]
fn spills_are_those_that_kernels_allow() {
    assert_eq!(max_spills(TWO_KERNELS).unwrap(), BTreeMap::from([("second", 16)]));
    assert!(max_spills(&TWO_KERNELS.replace("first 0 0", "first 0")).is_err());
}

#[test]
fn a_name_that_begins_like_another_is_not_taken_for_it() {
    let text = TWO_KERNELS.replace("entry first", "entry secondary");
    let text = finish(&text.replace("bounds first", "bounds secondary"), &arch("sm_80"), "rustc 1").unwrap();
    assert!(text.contains(".entry secondary()\n{"), "{text}");
}

#[test]
fn the_version_is_the_oldest_that_serves() {
    for (version, arch_name, becomes) in [
        ("7.0", "sm_80", "7.4"),
        ("9.0", "sm_86", "7.4"),
        ("9.0", "sm_89", "7.8"),
        ("7.8", "sm_90", "8.0"),
        ("9.0", "sm_90a", "8.0"),
        ("8.6", "sm_100", "8.6"),
        ("9.0", "sm_120", "9.0"),
    ] {
        let text = TWO_KERNELS.replace(".version 7.0", &format!(".version {version}"));
        let text = finish(&text, &arch(arch_name), "rustc 1").unwrap();
        assert!(text.contains(&format!("\n.version {becomes}\n")), "{version} for {arch_name}: {text}");
    }
    assert!(finish(".target sm_90\n", &arch("sm_90"), "rustc 1").is_err());
}

#[test]
fn the_compiler_is_named() {
    let text = finish(TWO_KERNELS, &arch("sm_80"), "rust-cuda, some nightly").unwrap();
    assert_eq!((compiler(&text), compiler(TWO_KERNELS)), (Some("rust-cuda, some nightly"), None));
}

#[test]
fn good_code_has_no_findings() {
    assert_eq!(findings(TWO_KERNELS), []);
}

#[test]
fn local_memory_and_calls_are_found() {
    let text = "\
.extern .func printf ( .param .b32 a );
.visible .entry bad()
{
	.local .align 16 .b8 	__local_depot0[256];
	{ // callseq 0, 0
	@%p1 call.uni (retval0),
	helper,
	(
	param0
	);
	} // callseq 0
	// a comment with call and .local in it
}
.func  (.param .b32 func_retval0) helper(
	.param .b32 helper_param_0
)
{
	call other, (param0);
}
.local .b8 loose[4];
";
    let are_local: Vec<_> = findings(text).iter().map(Finding::is_local).collect();
    assert_eq!(are_local, [true, false, false, true]);
    let found: Vec<_> = findings(text).into_iter().map(|f| (f.function, f.line, f.what)).collect();
    let expected = [
        ("bad", 4, "memory outside of registers: .local .align 16 .b8 \t__local_depot0[256];"),
        ("bad", 6, "a call: @%p1 call.uni (retval0), helper, ( param0 )"),
        ("helper", 18, "a call: call other, (param0)"),
        ("", 20, "memory outside of registers: .local .b8 loose[4];"),
    ];
    assert_eq!(found, expected.map(|(f, line, what)| (f.to_string(), line, what.to_string())));
}

#[test]
fn each_kernel_is_asked_whether_it_waits_for_the_grid_before() {
    let waits = |at: usize| {
        let (before, after) = TWO_KERNELS.split_at(TWO_KERNELS.match_indices("ret;").nth(at).unwrap().0);
        let text = format!("{before}griddepcontrol.wait;\n\t{after}");
        entries(&text).iter().map(|entry| entry.waits_for_previous).collect::<Vec<_>>()
    };
    assert_eq!((waits(0), waits(1)), (vec![true, false], vec![false, true]));
}

#[test]
fn nothing_is_left_of_line_tables_unless_they_are_kept() {
    let bare = TWO_KERNELS.replace("\tret;\n", "$L__BB0_1:\n\tret;\n");
    let begun = bare.replace("\tret;\n", "$L__tmp12:\n\t.loc\t2 55 5\n\tret;\n$L__func_end0:\n");
    let text = format!("{begun}\t.section\t.debug_macinfo\t{{\t}}\n\t.file\t2 \"/w/lib.rs\"");
    assert_eq!(without_lines(&text), bare);
    let kept = bare.replace("\tret;\n", "\t.loc\t2 55 5\n\tret;\n") + "\t.file\t2 \"/w/lib.rs\"\n";
    assert_eq!(with_lines(&text), kept);
}

#[test]
fn joined_line_tables_name_the_files_that_they_named() {
    let with = |kernel: &str, locs: &str, files: &str| {
        one_kernel(kernel, &format!("TILE_{kernel}")).replace("\tret;\n", &format!("{locs}\tret;\n")) + files
    };
    let locs = "\t.local .align 4 .b8 kept[8];\n\t.loc\t1 5 9\n\t.loc\t2 6 1\n";
    let a = with("a", locs, "\t.file\t1 \"/w/a.rs\"\n\t.file\t2 \"/w/both.rs\"\n");
    let b = with("b", "\t.loc\t1 7 1\n\t.loc\t2 8 2\n", "\t.file\t1 \"/w/both.rs\"\n\t.file\t2 \"/w/b c.rs\"\n");
    assert_eq!(join([&*a].into_iter()).unwrap().0, a);
    let (joined, ends) = join([&*a, &*b].into_iter()).unwrap();
    assert_eq!((ends.len(), ends.last()), (4, Some(&joined.len())), "head, two texts, names of files");
    let lines: Vec<_> = joined.lines().filter(|line| line.contains("\t.loc\t") || line.contains(FILE)).collect();
    let locs = ["\t.loc\t1 5 9", "\t.loc\t2 6 1", "\t.loc\t2 7 1", "\t.loc\t3 8 2"];
    let files = ["\t.file\t1 \"/w/a.rs\"", "\t.file\t2 \"/w/both.rs\"", "\t.file\t3 \"/w/b c.rs\""];
    assert_eq!(lines, [&locs[..], &files].concat());
    let unnamed = join([&*a.replace("\t.file\t2", "\t.file\t3")].into_iter()).unwrap_err().to_string();
    assert!(unnamed.contains("lines of no file 2"), "{unnamed}");
}

#[test]
fn tensor_maps_are_aligned() {
    let with_map = TWO_KERNELS.replace("second_param_1[16]", "second_param_1[128]");
    assert!(finish(&with_map, &arch("sm_90a"), "rustc 1").unwrap().contains(".align 8 .b8 second_param_1[128]"));
    let asked = with_map.replace(".reg .b32", "mov.b64 %rd1, second_param_1;\n\t.reg .b32");
    assert!(finish(&asked, &arch("sm_90a"), "rustc 1").unwrap().contains(".align 64 .b8 second_param_1[128]"));
    let other = TWO_KERNELS.replace(".reg .b32", "mov.b64 %rd1, second_param_1;\n\t.reg .b32");
    let refused = finish(&other, &arch("sm_90a"), "rustc 1").unwrap_err().to_string();
    assert!(refused.contains("second_param_1 is no parameter of 128 bytes"), "{refused}");
}

/// A finished text with one kernel, which uses static and dynamic shared memory.
fn one_kernel(kernel: &str, array: &str) -> String {
    format!(
        "// Compiled by rustc 1\n.version 7.4\n.target sm_80\n.address_size 64\n\n{DYNAMIC}\n\
         .shared .align 16 .b8 {array}[64];\n.visible .entry {kernel}()\n{{\n\tret;\n}}\n"
    )
}

#[test]
fn joined_texts_have_one_head_and_all_kernels() {
    let (a, b) = (one_kernel("a", "TILE_1"), one_kernel("b", "TILE_2"));
    let (joined, ends) = join([&*a, &*b].into_iter()).unwrap();
    assert_eq!(entries(&joined).into_iter().map(|entry| entry.name).collect::<Vec<_>>(), ["a", "b"]);
    for once in [".version", ".target", ".address_size", DYNAMIC, "TILE_1", "TILE_2", COMPILED_BY] {
        assert_eq!(joined.matches(once).count(), 1, "{once}");
    }
    let after_head = b.split_once(&format!("{DYNAMIC}\n")).unwrap().1;
    assert_eq!(joined, format!("{a}\n{after_head}"));
    // The parts: the head, and what each text gives.
    let head = a.find(DYNAMIC).unwrap() - "\n".len();
    assert_eq!(ends, [head, a.len(), joined.len()]);
    assert_eq!(join([&*a].into_iter()).unwrap().0, a);
    let shared = one_kernel("c", "TILE_1");
    assert_eq!(join([&*a, &*shared].into_iter()).unwrap().0.matches("TILE_1").count(), 1);
}

#[test]
fn libnvvm_s_hints_of_used_bytes_are_left_out() {
    let hint = "\t.pragma \"used_bytes_mask 4095\";\n";
    let with_hint = TWO_KERNELS.replace("\tret;\n", &format!("{hint}\tret;\n"));
    let [plain, hinted] = [TWO_KERNELS, &with_hint].map(|text| finish(text, &arch("sm_80"), RUST_CUDA).unwrap());
    assert!(with_hint.contains(hint));
    assert_eq!(hinted, plain);
    // Another pragma is of use.
    let unroll = TWO_KERNELS.replace("\tret;\n", "\t.pragma \"nounroll\";\n\tret;\n");
    assert!(finish(&unroll, &arch("sm_80"), RUST_CUDA).unwrap().contains("nounroll"));
}

#[test]
fn texts_that_do_not_go_together_are_not_joined() {
    let a = one_kernel("a", "TILE_1");
    for (other, why) in [
        (one_kernel("a", "TILE_2"), "a is in two packages"),
        (one_kernel("b", "TILE_1").replace("[64]", "[32]"), "TILE_1 is in two packages"),
        (one_kernel("b", "TILE_2").replace("sm_80", "sm_90"), "different compilers or architectures"),
        ("nothing".into(), "no line `.address_size`"),
    ] {
        let said = join([&*a, &*other].into_iter()).unwrap_err().to_string();
        assert!(said.contains(why), "{said}");
    }
    assert!(join([].into_iter()).is_err());
}

#[test]
fn the_target_is_that_of_the_text() {
    assert_eq!(target("//\n.version 8.0\n.target sm_90a, debug\n"), Some("sm_90a"));
    assert_eq!(target(".target sm_80\n"), Some("sm_80"));
    assert_eq!(target("no PTX"), None);
}
