use super::*;

/// The IR by rustc 1.95 of `tests/planted` without the flag that prevents the copy: the barrier of a function that is
/// called between two `if`s of one condition, once in each arm of one branch.
const PLANTED: &str = include_str!("planted.ll");
const PLANTED_PTX: &str = include_str!("planted.ptx");

#[test]
fn the_planted_copy_is_found_with_both_its_blocks_and_the_branch() {
    let found = check(PLANTED, PLANTED_PTX);
    let [copied] = &found[..] else { panic!("{found:?}") };
    assert_eq!(copied.function, "planted");
    for said in
        ["barrier.cta.sync.aligned.all at ", "called at src/lib.rs:8:5", "%bb4.i and %bb8.critedge.i", "part at"]
    {
        assert!(copied.what.contains(said), "{}: {said}", copied.what);
    }
}

/// A function whose blocks are given as `label: barriers -> labels`, each barrier by its metadata.
fn ir(blocks: &[(&str, &[u32], &[&str])], metadata: &str) -> String {
    let mut text = "define ptx_kernel void @k(ptr %p) {\n".to_string();
    for (label, barriers, after) in blocks {
        text += &format!("{label}:   ; preds = %somewhere\n");
        for barrier in *barriers {
            text += &format!("  tail call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0), !dbg !{barrier}\n");
        }
        text += &match after {
            [] => "  ret void\n".to_string(),
            [next] => format!("  br label %{next}, !dbg !9\n"),
            [yes, no] => format!("  br i1 %c, label %{yes}, label %{no}, !dbg !9\n"),
            more => {
                let cases: String = more[1..].iter().map(|label| format!("    i32 1, label %{label}\n")).collect();
                format!("  switch i32 %x, label %{} [\n{cases}  ], !dbg !9\n", more[0])
            }
        };
    }
    text + "}\n" + metadata
}

/// 1 and 2 say the same, 3 was inlined at another place, 4 is another column.
const METADATA: &str = "\
!1 = !DILocation(line: 7, column: 5, scope: !10, inlinedAt: !5)
!2 = !DILocation(line: 7, column: 5, scope: !10, inlinedAt: !6)
!3 = !DILocation(line: 7, column: 5, scope: !10, inlinedAt: !7)
!4 = !DILocation(line: 7, column: 9, scope: !10, inlinedAt: !5)
!5 = distinct !DILocation(line: 20, column: 1, scope: !11)
!6 = distinct !DILocation(line: 20, column: 1, scope: !11)
!7 = distinct !DILocation(line: 21, column: 1, scope: !11)
!9 = !DILocation(line: 30, column: 1, scope: !11)
!10 = distinct !DISubprogram(name: \"sync\", scope: !11, file: !12, line: 6)
!11 = distinct !DISubprogram(name: \"k\", file: !12, line: 19)
!12 = !DIFile(filename: \"k.rs\", directory: \"\")
";

fn found(blocks: &[(&str, &[u32], &[&str])]) -> Vec<String> {
    let barriers: usize = blocks.iter().map(|block| block.1.len()).sum();
    let ptx = format!(".visible .entry k()\n{{\n{}\tret;\n}}\n", "\tbar.sync \t0;\n".repeat(barriers));
    check(&ir(blocks, METADATA), &ptx).iter().map(Copied::to_string).collect()
}

#[test]
fn copies_in_both_arms_of_a_branch_are_found() {
    let arms: &[(&str, &[u32], &[&str])] =
        &[("start", &[], &["a", "b"]), ("a", &[1], &["end"]), ("b", &[2], &["end"]), ("end", &[], &[])];
    let said = "k: barrier.cta.sync.aligned.all at k.rs:7:5, called at k.rs:20:1 was copied into the blocks %a and %b, \
                and a thread comes to one of them; they part at k.rs:30:1";
    assert_eq!(found(arms), [said]);
    // Of more copies the first two are named.
    let three: &[(&str, &[u32], &[&str])] =
        &[("start", &[], &["a", "b", "c"]), ("a", &[1], &[]), ("b", &[1], &[]), ("c", &[2], &[])];
    assert_eq!(found(three).len(), 1);
}

/// They are `asm!`, which is convergent nowhere.
#[test]
fn copies_of_collectives_in_asm_are_found() {
    let both = [("a", &[][..], &["b", "c"][..]), ("b", &[1], &["d"]), ("c", &[2], &["d"]), ("d", &[], &[])];
    let one = [("a", &[1][..], &["b", "c"][..]), ("b", &[], &["c"]), ("c", &[], &[])];
    let texts = [
        "wgmma.fence.sync.aligned; wgmma.mma_async;",
        "wgmma.wait_group.sync.aligned 0; // $0",
        "stmatrix.sync.aligned.m8n8.x4.shared.b16 [$0], {$1, $2, $3, $4};",
    ];
    for ((blocks, copies), text) in [(&both[..], 1), (&one, 0)].into_iter().flat_map(|x| texts.map(|text| (x, text))) {
        let call = format!("call {{ float, float }} asm sideeffect \"{text}\", \"=r,=r\"()");
        let ir = ir(blocks, METADATA).replace("tail call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)", &call);
        let line = format!("\t{{ .reg .b64 x; {text}\n");
        let ptx = |lines: usize| format!(".visible .entry k()\n{{\n{}\tret;\n}}\n", line.repeat(lines));
        assert_eq!(check(&ir, &ptx(blocks.iter().map(|block| block.1.len()).sum())).len(), copies);
        assert_eq!(check(&ir, &ptx(3)).len(), copies + 1, "copies in PTX alone");
    }
}

#[test]
fn copies_one_after_the_other_are_those_of_an_unrolled_loop() {
    assert_eq!(found(&[("start", &[1, 1, 2], &[])]), [""; 0]);
    let peeled: &[(&str, &[u32], &[&str])] =
        &[("start", &[1], &["loop", "end"]), ("loop", &[2], &["loop", "end"]), ("end", &[], &[])];
    assert_eq!(found(peeled), [""; 0]);
}

/// `for … { if … { sync } }`, unrolled twice, in a loop that is not: neither copy dominates the other, and both are
/// passed.
#[test]
fn conditional_copies_one_after_the_other_are_too() {
    let unrolled: &[(&str, &[u32], &[&str])] = &[
        ("start", &[], &["first"]),
        ("first", &[], &["a", "second"]),
        ("a", &[1], &["second"]),
        ("second", &[], &["b", "again"]),
        ("b", &[2], &["again"]),
        ("again", &[], &["first", "end"]),
        ("end", &[], &[]),
    ];
    assert_eq!(found(unrolled), [""; 0]);
}

/// The loop leads from each arm to the other, by the branch at which they part.
#[test]
fn copies_in_both_arms_are_found_in_a_loop_too() {
    let arms: &[(&str, &[u32], &[&str])] = &[
        ("start", &[], &["loop"]),
        ("loop", &[], &["a", "b"]),
        ("a", &[1], &["again"]),
        ("b", &[2], &["again"]),
        ("again", &[], &["loop", "end"]),
        ("end", &[], &[]),
    ];
    assert_eq!(found(arms).len(), 1);
}

#[test]
fn calls_at_other_places_are_other_collectives() {
    for other in [3, 4] {
        let arms: &[(&str, &[u32], &[&str])] = &[("start", &[], &["a", "b"]), ("a", &[1], &[]), ("b", &[other], &[])];
        assert_eq!(found(arms), [""; 0], "{other}");
    }
}

#[test]
fn a_collective_that_is_in_ptx_alone_is_found() {
    let text = ir(&[("start", &[1], &[])], METADATA);
    let ptx =
        ".visible .entry k()\n{\n\tbar.sync \t0;\n\t@%p1 bar.sync 0; // bar.sync\n\tmbarrier.init x;\n\tret;\n}\n";
    let found = check(&text, ptx);
    assert!(found.len() == 1 && found[0].what.starts_with("2 collectives in PTX and 1 in LLVM's IR"), "{found:?}");
    assert_eq!(check(&text, &ptx.replace("@%p1 bar.sync 0;", "{bar.sync 0;}")), found, "behind a brace");
}

#[test]
fn labels_are_read_as_llvm_writes_them() {
    assert_eq!(label("bb4.i:          ; preds = %start"), Some("bb4.i"));
    assert_eq!(label("\"a: label\":"), Some("a: label"));
    assert_eq!((label("; a comment: no label"), label("")), (None, None));
    assert_eq!(
        (reference("bb4.i, label %x"), reference("\"a: label\" ["), reference("12")),
        ("bb4.i", "a: label", "12")
    );
}
