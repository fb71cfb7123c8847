//! Barriers of the warp that rust-cuda's kernels have for LLVM alone.
//!
//! LLVM 7 copies `asm!` into both arms of a branch, and leaves a block with a barrier of the warp in one place. So
//! `simt/src/rust_cuda` has one in front of each reduction and each matrix product. These have their lanes meet by
//! themselves; at the barriers the lanes would wait once more, and ptxas would move no load across them.

use super::without_these;
use std::collections::BTreeSet;

const BARRIER: &str = "bar.warp.sync";
const GUARDED: [&str; 2] = ["redux.sync", "mma.sync"];

/// The text without these barriers. Only the last one in front of a guarded instruction is a guard: a barrier of the
/// kernel's own may come before it.
pub(super) fn without(text: &str) -> String {
    let (mut last, mut guards) = (None, BTreeSet::new());
    for (i, line) in text.lines().enumerate() {
        let code = line.trim_start();
        if code.starts_with(BARRIER) {
            last = Some(i);
        } else if GUARDED.iter().any(|name| code.starts_with(name)) {
            guards.extend(last.take());
        } else if code.trim_end().ends_with(':') {
            last = None; // the guard is in the same block as its instruction
        }
    }
    without_these(text, &guards)
}

#[cfg(test)]
mod tests {
    use super::*;

    const OWN: &str = "\tbar.warp.sync \t-1;\n";

    #[test]
    fn each_guarded_instruction_loses_one_barrier() {
        let mma = "\t// begin inline asm\n\tmma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%fd1}, {%fd2};\n";
        for code in [&format!("\tmov.u32 \t%r1, 7;\n{mma}"), "\tredux.sync.add.u32 %r1, %r2, %r3;\n", &mma.repeat(8)] {
            assert_eq!(without(&format!("{OWN}{code}").repeat(2)), code.repeat(2));
        }
    }

    #[test]
    fn the_kernel_s_own_barriers_stay() {
        let redux = "\tredux.sync.add.u32 %r1, %r2, %r3;\n";
        assert_eq!(without(&format!("{OWN}{OWN}{redux}{OWN}")), format!("{OWN}{redux}{OWN}"));
        let in_another_block = format!("{OWN}$L__BB0_1:\n{redux}");
        assert_eq!(without(&in_another_block), in_another_block);
        let of_another_kind = format!("{OWN}\tshfl.sync.bfly.b32 \t%r1, %r2, 1, 31, -1;\n");
        assert_eq!(without(&of_another_kind), of_another_kind);
    }
}
