use super::*;
use crate::ptx::findings;
use std::sync::LazyLock;

/// One kernel, `kernel.rs`, by both compilers, for sm_80. As the default backend made it:
const RUSTC: &str = include_str!("rustc.ptx");

/// As libnvvm of CUDA 13.0 printed `kernel.ll`, and then finished.
static RUST_CUDA: LazyLock<String> = LazyLock::new(|| finished(PRINTED));
const PRINTED: &str = include_str!("rust_cuda.ptx");

fn finished(printed: &str) -> String {
    crate::ptx::finish(printed, &"sm_80".parse().unwrap(), rust_cuda::COMPILER).unwrap()
}

/// The recorded text with a part of it replaced.
fn with(text: &str, part: &str, by: &str) -> String {
    assert!(text.contains(part), "{part} is not in the recorded text");
    text.replacen(part, by, 1)
}

#[test]
fn instructions_are_counted_by_kind() {
    let expected = [("block barriers", 2), ("clocks", 2), ("warp reductions", 1)];
    for text in [RUSTC, &RUST_CUDA] {
        assert_eq!(counts(text)["meets"], Counts::from(expected));
    }
}

#[test]
fn every_kind_is_known_by_its_text() {
    for (text, kind) in [
        ("bar.sync 0;", "block barriers"),
        ("@%p1 bar.red.popc.u32 %r1, 0, %p2;", "block barriers"),
        ("barrier.sync 3, 64;", "block barriers"),
        ("bar.warp.sync %r1;", "warp barriers"),
        ("{ .reg .pred p; redux.sync.min.s32 %r1, %r2, %r3; }", "warp reductions"),
        ("shfl.sync.bfly.b32 \t%r1, %r2, 1, 31, -1;", "shuffles"),
        ("vote.sync.ballot.b32 %r1, %p1, -1;", "votes"),
        ("match.any.sync.b32 %r1, %r2, %r3;", "matches"),
        ("fence.acq_rel.gpu;", "fences"),
        ("fence.proxy.async.shared::cta;", "fences"),
        ("mbarrier.init.shared.b64 [%r1], 1;", "mbarrier operations"),
        ("cp.async.bulk.commit_group;", "asynchronous copies"),
        ("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%f1}, {%r1}, {%r2}, {%f2};", "matrix products"),
        ("wgmma.wait_group.sync.aligned 1; }", "products by four warps"),
        ("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%r1], {%r2, %r3, %r4, %r5};", "stores of fragments"),
        ("setmaxnreg.inc.sync.aligned.u32 232;", "claims of registers"),
        ("barrier.cluster.wait.acquire;", "cluster barriers"),
        ("griddepcontrol.wait;", "grid dependencies"),
        ("atom.add.relaxed.gpu.global.u32 %r1, [%rd1], 1;", "atomic operations"),
        ("red.shared.add.u32 [%r1], 1;", "atomic operations"),
        ("mov.u64 %rd1, %globaltimer;", "clocks"),
    ] {
        assert_eq!(counts_of(text), Counts::from([(kind, 1)]), "{text}");
    }
    for text in ["// bar.sync 0;", "bra $L1;", "$L1:", "mov.u32 %r1, %tid.x;", ".reg .b32 %clocks<2>;", "ret;"] {
        assert_eq!(counts_of(text), Counts::new(), "{text}");
    }
}

#[test]
fn the_recorded_backends_agree() {
    assert_eq!(differences(RUSTC, &RUST_CUDA), [""; 0]);
    assert_eq!(differences(&RUST_CUDA, RUSTC), [""; 0]);
    assert_eq!(differences(RUSTC, RUSTC), [""; 0]);
    for text in [RUSTC, &RUST_CUDA] {
        assert_eq!(findings(text), []);
        for part in [".version 7.4\n", "\n.maxntid 128, 1, 1\n", ".align 128 .b8 RUNGS_DYNAMIC_SHARED[];"] {
            assert!(text.contains(part), "{part} is not in {text}");
        }
    }
}

/// What LLVM 7 did to kernels without the backend's fixes.
#[test]
fn a_copy_and_a_loss_are_differences() {
    let reduction = "redux.sync.add.u32 %r7, %r5, %r9;";
    let by = |what: &str| format!("meets: {what} by {}", rust_cuda::COMPILER);
    let rustc = compiler(RUSTC).unwrap();
    // Copied into both arms of a branch.
    let copied = with(&RUST_CUDA, reduction, &format!("{reduction}\n{reduction}"));
    assert_eq!(differences(RUSTC, &copied), [by(&format!("1 warp reductions by {rustc}, 2"))]);
    let copied = with(&RUST_CUDA, "bar.sync \t0;", "bar.sync 0; bar.sync 0;");
    assert_eq!(differences(RUSTC, &copied), [by(&format!("2 block barriers by {rustc}, 3"))]);
    // Two reads of the clock become one.
    let merged = with(&RUST_CUDA, "mov.u64 %rd13, %clock64;", "mov.u64 %rd13, %rd5;");
    assert_eq!(differences(RUSTC, &merged), [by(&format!("2 clocks by {rustc}, 1"))]);
}

/// The code generator of rust-cuda left all counts out of 24 kernels. How often zeros are counted does not matter.
#[test]
fn leading_zeros_that_one_compiler_does_not_count_are_a_difference() {
    let count = |text: &str, times: usize| {
        with(text, "bar.sync \t0;", &format!("{}bar.sync 0;", "clz.b64 %r9, %rd1;\n".repeat(times)))
    };
    let rustc = with(RUSTC, "bar.sync", "@%p1 clz.b32 %r9, %r8;\nbar.sync");
    let by = |compiler: &str| [format!("meets: leading zeros are counted by {compiler} alone")];
    assert_eq!(differences(&rustc, &RUST_CUDA), by(compiler(RUSTC).unwrap()));
    assert_eq!(differences(RUSTC, &count(&RUST_CUDA, 1)), by(rust_cuda::COMPILER));
    assert_eq!(differences(&rustc, &count(&RUST_CUDA, 2)), [""; 0]);
}

/// Unrolling leaves copies in a row; a copy on another arm of a branch is a fault, even if both compilers have as many.
#[test]
fn a_meeting_on_both_arms_of_a_branch_is_a_difference() {
    let barrier = "bar.sync \t0;";
    let both = |between: &str| with(&RUST_CUDA, barrier, &format!("{barrier}\n{between}\n{barrier}\n"));
    let row = differences(RUSTC, &both(""));
    let arms = differences(RUSTC, &both("bra.uni $END;\n$OTHER:\n"));
    let rustc = compiler(RUSTC).unwrap();
    let copied = format!("meets: 2 block barriers by {rustc}, 3 by {}", rust_cuda::COMPILER);
    assert_eq!(row, std::slice::from_ref(&copied));
    assert_eq!(arms[0], copied);
    let on_arms = format!("meets: block barriers on 1 arms of branches by {rustc}, on 2 by {}", rust_cuda::COMPILER);
    assert!(arms.contains(&on_arms), "{arms:?}");
}

#[test]
fn a_colon_within_an_instruction_ends_no_label() {
    let (pieces, labels) = arms::pieces("cp.async.bulk.shared::cluster.global [%r1], [%rd1];\n$A:\nret;", |_| None);
    assert_eq!((pieces.len(), labels), (3, [("$A".to_string(), 1)].into()));
}

/// A known copy on another arm is a fault where threads of one block may take different arms.
#[test]
fn a_known_copy_must_be_behind_a_branch_that_all_threads_take_alike() {
    let name = "radix_either_one_block";
    assert_eq!(known::of(Llvm::Seven).why(name, "votes", [4, 5]), Some(Why::OnBothArms));
    let (barrier, vote) = ("bar.sync \t0;", "vote.sync.any.pred %p8, %p7, -1;");
    let by = |text: &str, code: &str| with(text, barrier, &format!("{barrier}\n{code}\n")).replace("meets", name);
    let rustc = by(RUSTC, &vote.repeat(4));
    let copied = |decided: &str| {
        let all = vote.repeat(3);
        let code = format!("{all}\n{decided}\n@%p9 bra $ARM;\n{vote}\nbra.uni $END;\n$ARM:\n{vote}\n$END:");
        differences(&rustc, &by(&RUST_CUDA, &code))
    };
    assert_eq!(copied("ld.param.u32 %r98, [order];\nsetp.eq.s32 %p9, %r98, 0;"), [""; 0]);
    let on_both = format!("{name}: votes on both arms of a branch by %p9, by {}", rust_cuda::COMPILER);
    assert_eq!(copied("mov.u32 %r98, %tid.x;\nsetp.eq.s32 %p9, %r98, 0;"), [on_both]);
}

/// Where no thread waits for one that does not come, a copy may be behind any branch; in other kernels it may not.
#[test]
fn a_barrier_of_each_thread_for_itself_may_be_on_both_arms() {
    let (barrier, copied) = ("bar.sync \t0;", "barrier.cluster.arrive.release;\nbarrier.cluster.wait.acquire;");
    let of = |name: &str, text: &str, code: &str| {
        with(text, barrier, &format!("{barrier}\n{code}\n")).replace("meets", name)
    };
    let by_thread = format!(
        "mov.u32 %r98, %tid.x;\nsetp.eq.s32 %p9, %r98, 0;\n@%p9 bra $ARM;\n{copied}\nbra.uni $END;\n$ARM:\n{copied}\n\
         $END:\n{copied}"
    );
    let compared = |name| differences(&of(name, RUSTC, &copied.repeat(2)), &of(name, &RUST_CUDA, &by_thread));
    assert_eq!(compared("matmul_tensor_cluster"), [""; 0]);
    assert_eq!(compared("matmul_tensor_map").len(), 2);
}

/// Where one compiler tests a value once and the other twice, what is on two arms by the first follows each other by
/// the second. A copy is a fault there too.
#[test]
fn what_the_source_has_on_two_arms_may_follow_each_other_but_have_no_copy() {
    let name = "radix_msd_pairs_oversized";
    assert_eq!(known::of(Llvm::Seven).why(name, "votes", [2, 2]), Some(Why::TestedOnce));
    let (barrier, vote) = ("bar.sync \t0;", "vote.sync.any.pred %p8, %p7, -1;");
    let by = |text: &str, code: &str| with(text, barrier, &format!("{barrier}\n{code}\n")).replace("meets", name);
    let row = format!("{vote}\n@%p9 bra $END;\n{vote}\n$END:");
    let arms = format!("@%p9 bra $ARM;\n{vote}\nbra.uni $END;\n$ARM:\n{vote}\n$END:");
    assert_eq!(differences(&by(RUSTC, &row), &by(&RUST_CUDA, &arms)), [""; 0]);
    assert_eq!(differences(&by(&RUST_CUDA, &arms), &by(RUSTC, &row)), [""; 0]);
    let (rustc, rust_cuda) = (compiler(RUSTC).unwrap(), rust_cuda::COMPILER);
    let fewer = format!("{name}: votes on 2 arms of branches by {rustc}, on 1 by {rust_cuda}");
    assert_eq!(differences(&by(RUSTC, &arms), &by(&RUST_CUDA, &row)), [fewer]);
    let three = differences(&by(RUSTC, &row), &by(&RUST_CUDA, &format!("{arms}\n{vote}")));
    let [copied, ..] = &three[..] else { panic!("no difference") };
    assert_eq!(*copied, format!("{name}: 2 votes by {rustc}, 3 by {rust_cuda}"));
}

/// rust-cuda's LLVM 19 does that, too, the other way round.
#[test]
fn two_arms_may_follow_each_other_by_llvm_19() {
    let (name, barrier) = ("radix_msd_skewed_split", "bar.sync \t0;");
    // With the first of an arm and the second one of the recorded text they are 27.
    let many = barrier.repeat(25);
    let by = |text: &str, code: &str| {
        with(text, barrier, code).replace("meets", name).replace(".target sm_80", ".target sm_100")
    };
    let row = format!("{barrier}\n@%p9 bra $END;\n{many}\n$END:");
    let arms = format!("@%p9 bra $ARM;\n{barrier}\nbra.uni $END;\n$ARM:\n{many}\n$END:");
    assert_eq!(known::of(Llvm::Nineteen).why(name, "block barriers", [27, 27]), Some(Why::InARow));
    assert_eq!(differences(&by(RUSTC, &arms), &by(&RUST_CUDA, &row)), [""; 0]);
    assert_eq!(differences(&by(RUSTC, &row), &by(&RUST_CUDA, &arms)).len(), 1);
}

/// Rounds of the loop in which one thread fills a ring may be other numbers, and nothing else of it.
#[test]
fn rounds_of_a_ring_s_loop_are_known_by_the_kernel() {
    let name = "product_half_hopper_small_nn_bf16";
    assert_eq!(known::of(Llvm::Seven).rounds(name), Some([3, 1]));
    assert_eq!(known::of(Llvm::Seven).rounds("product_half_hopper_nn_bf16"), None);
    let round = "mbarrier.try_wait.parity.shared::cta.b64 %p8, [%r1], %r2;\n\
                 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r1], %r3;\n\
                 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r4], [%rd1], %r5, [%r1];\n";
    let by = |text: &str, name: &str, code: &str| {
        let barrier = "bar.sync \t0;";
        with(text, barrier, &format!("{barrier}\n{code}\n")).replace("meets", name)
    };
    let (rustc, one) = (round.repeat(3), round);
    assert_eq!(differences(&by(RUSTC, name, &rustc), &by(&RUST_CUDA, name, one)), [""; 0]);
    assert_eq!(differences(&by(&RUST_CUDA, name, one), &by(RUSTC, name, &rustc)), [""; 0]);
    // The other way round, two rounds, another kernel, and a copy more.
    assert_eq!(differences(&by(RUSTC, name, one), &by(&RUST_CUDA, name, &rustc)).len(), 2);
    assert_eq!(differences(&by(RUSTC, name, &rustc), &by(&RUST_CUDA, name, &round.repeat(2))).len(), 2);
    assert_eq!(differences(&by(RUSTC, "other", &rustc), &by(&RUST_CUDA, "other", one)).len(), 2);
    let copy = round.lines().last().unwrap();
    let wrong = differences(&by(RUSTC, name, &rustc), &by(&RUST_CUDA, name, &format!("{one}{copy}")));
    let (rustc, rust_cuda) = (compiler(RUSTC).unwrap(), rust_cuda::COMPILER);
    assert_eq!(wrong, [format!("{name}: 3 asynchronous copies by {rustc}, 2 by {rust_cuda}")]);
}

/// More copies are those of a loop only if the other compiler has one.
#[test]
fn an_unrolled_loop_is_one_by_the_other_compiler() {
    let (name, barrier) = ("bubble_shared_block", "bar.sync \t0;");
    let named = |text: &str, code: &str| with(text, barrier, code).replace("meets", name);
    let unrolled = named(&RUST_CUDA, &barrier.repeat(9));
    let in_loop = named(RUSTC, &format!("$LOOP:\n{barrier}\n@%p9 bra $LOOP;"));
    assert_eq!(differences(&in_loop, &unrolled), [""; 0]);
    let rustc = compiler(RUSTC).unwrap();
    let in_no_loop = format!("{name}: block barriers in no loop by {rustc}, which has fewer of them");
    assert_eq!(differences(&named(RUSTC, barrier), &unrolled), [in_no_loop]);
}

/// The last of three calls is on an arm that no thread takes.
#[test]
fn an_arm_that_one_compiler_removed_is_known_by_its_counts() {
    let name = "segmented_sort_by_length_sort_u64";
    assert_eq!(known::of(Llvm::Nineteen).why(name, "shuffles", [320, 384]), Some(Why::DeadArm));
    let shuffle = "shfl.sync.bfly.b32 %r1, %r2, 1, 31, -1;\n";
    let barrier = "bar.sync \t0;";
    let for_19 = RUST_CUDA.replace(".target sm_80", ".target sm_100");
    let by = |text: &str, code: &str| with(text, barrier, &format!("{barrier}\n{code}\n")).replace("meets", name);
    let arms = |n: usize| {
        let begin = shuffle.repeat(320);
        format!("@%p9 bra $ARM;\n{begin}bra.uni $END;\n$ARM:\n{}$END:", shuffle.repeat(n))
    };
    let rustc = by(RUSTC, &shuffle.repeat(320));
    assert_eq!(differences(&rustc, &by(&for_19, &arms(64))), [""; 0]);
    assert_eq!(differences(&rustc, &by(&for_19, &arms(65))).len(), 2);
    // LLVM 7 has none such.
    assert_eq!(differences(&rustc, &by(&RUST_CUDA, &arms(64))).len(), 2);
}

#[test]
fn a_known_name_without_a_kernel_is_stale() {
    let lists = [Llvm::Seven, Llvm::Nineteen].map(known::of);
    let mut kernels: Vec<_> =
        lists.iter().flat_map(|list| list.names()).map(|name| name.trim_end_matches('*')).collect();
    assert_eq!(stale(&kernels), [""; 0]);
    kernels.retain(|kernel| *kernel != "bubble_ring" && !kernel.starts_with("product_tensor_registers_"));
    // Both lists have the first.
    assert_eq!(stale(&kernels), ["bubble_ring", "product_tensor_registers_*", "bubble_ring"]);
}

#[test]
fn a_known_difference_is_none_until_its_counts_change() {
    let (kernel, kind) = ("bubble_shared_block", "block barriers");
    assert_eq!(known::of(Llvm::Seven).why(kernel, kind, [2, 10]), Some(Why::Unrolled));
    assert_eq!(known::of(Llvm::Seven).why(kernel, kind, [10, 2]), None);
    assert_eq!(known::of(Llvm::Seven).why(kernel, "votes", [2, 10]), None);
    assert_eq!(known::of(Llvm::Seven).why("bubble", kind, [2, 10]), None);
}

#[test]
fn a_kernel_that_one_compiler_lost_is_named() {
    let other = with(&RUST_CUDA, ".entry meets(", ".entry leaves(");
    let rustc = compiler(RUSTC).unwrap();
    let expected =
        [format!("leaves: not in the PTX by {rustc}"), format!("meets: not in the PTX by {}", rust_cuda::COMPILER)];
    assert_eq!(differences(RUSTC, &other), expected);
}

/// As libnvvm printed `kernel.ll` with the array of one `i128`.
#[test]
fn dynamic_shared_memory_of_a_fixed_size_is_found() {
    let text = with(&RUST_CUDA, "RUNGS_DYNAMIC_SHARED[];", "RUNGS_DYNAMIC_SHARED[16];");
    let [finding] = &findings(&text)[..] else { panic!("{:?}", findings(&text)) };
    assert!(finding.what.contains("of a fixed size") && finding.what.contains("[16]"), "{finding:?}");
}

/// As libnvvm printed `kernel.ll` with the pointer to the static array in `asm`, which is in the address space
/// `shared`.
#[test]
fn an_unconverted_address_of_shared_memory_is_found() {
    let converted = "\tmov.u64 \t%rd12, SUMS;\n\tcvta.shared.u64 \t%rd11, %rd12;\n";
    let text = finished(&with(PRINTED, converted, "\tmov.u64 \t%rd11, SUMS;\n"));
    let [finding] = &findings(&text)[..] else { panic!("{:?}", findings(&text)) };
    assert_eq!((&*finding.function, finding.what.contains("taken for a generic one")), ("meets", true), "{finding:?}");
}

#[test]
fn local_memory_is_known_of_one_compiler() {
    let kernel = "product_fp64";
    assert!(spills(&RUST_CUDA, kernel) > 0);
    assert_eq!(spills(RUSTC, kernel), 0);
    assert_eq!(spills(&RUST_CUDA, "matmul_thread"), 0);
}
