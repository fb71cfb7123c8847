//! Frames of local memory that nothing uses.
//!
//! libnvvm declares a frame, and the registers that address it, before it finds that all values fit into registers.
//! Sometimes the declaration stays, without a load or a store. ptxas then reserves the bytes for each thread.

use super::{function_begun, without_these};
use std::collections::BTreeSet;

/// The registers that hold a frame's address: a generic one, and one within local memory. The name of the first begins
/// that of the second.
const FRAME: &str = "%SP";

/// A function's frame.
struct Frame<'a> {
    name: &'a str,
    /// The lines that declare it, and that load its address.
    lines: Vec<usize>,
    is_used: bool,
}

/// The text without frames that no instruction uses.
pub(super) fn without_unused(text: &str) -> String {
    let (mut frame, mut unused) = (None::<Frame>, BTreeSet::new());
    let mut end = |frame: Option<Frame>| {
        unused.extend(frame.filter(|frame| !frame.is_used).into_iter().flat_map(|frame| frame.lines))
    };
    for (i, line) in text.lines().enumerate() {
        let code = line.split("//").next().unwrap_or_default();
        if let Some(name) = declared(code) {
            // Two frames of a function have the same registers: both stay.
            frame = Some(Frame { name, lines: vec![i], is_used: frame.is_some() });
        } else if function_begun(code).is_some() {
            end(frame.take());
        } else if let Some(frame) = frame.as_mut().filter(|frame| code.contains(FRAME) || code.contains(frame.name)) {
            frame.lines.push(i);
            frame.is_used |= !is_of_frame(code, frame.name);
        }
    }
    end(frame);
    without_these(text, &unused)
}

/// The name of the frame that a line declares: `.local .align 8 .b8 __local_depot7[16];`.
fn declared(code: &str) -> Option<&str> {
    let words = code.trim().strip_prefix(".local ")?;
    words.split_whitespace().last()?.split_once('[').map(|name| name.0)
}

/// Whether the line declares a frame's registers, or loads its address within local memory.
fn is_of_frame(code: &str, name: &str) -> bool {
    let words: Vec<_> = code.split_whitespace().collect();
    match words[..] {
        [".reg", ".b64", "%SP;" | "%SPL;"] => true,
        ["mov.u64", "%SPL,", from] => from.strip_suffix(';') == Some(name),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DECLARED: &str = "\t.local .align 8 .b8 \t__local_depot7[16];\n\t.reg .b64 \t%SP;\n\t.reg .b64 \t%SPL;\n";
    const ADDRESS: &str = "\tmov.u64 \t%SPL, __local_depot7;\n";

    /// Two kernels; the first has a frame, and `code`.
    fn kernels(frame: [&str; 2], code: &str) -> String {
        let [declared, address] = frame;
        let one = format!(".entry one()\n{{\n{declared}\t.reg .b32 \t%r<3>;\n{address}{code}\tret;\n}}\n");
        format!("{one}.entry two()\n{{\n\tret;\n}}\n")
    }

    #[test]
    fn a_frame_without_a_use_is_left_out() {
        let code = "\tmov.u32 \t%r1, %tid.x;\n";
        assert_eq!(without_unused(&kernels([DECLARED, ADDRESS], code)), kernels(["", ""], code));
        let without = kernels(["", ""], code);
        assert_eq!(without_unused(&without), without);
    }

    #[test]
    fn a_frame_whose_address_is_taken_stays() {
        for code in [
            "\tcvta.local.u64 \t%SP, %SPL;\n",
            "\tadd.u64 \t%rd1, %SPL, 0;\n\tst.local.u32 \t[%rd1], %r1;\n",
            "\tst.local.u32 \t[__local_depot7+4], %r1;\n",
            "\tmov.u64 \t%rd1, __local_depot7;\n",
        ] {
            let text = kernels([DECLARED, ADDRESS], code);
            assert_eq!(without_unused(&text), text, "{code}");
        }
    }

    #[test]
    fn each_function_has_its_own() {
        let used = kernels([DECLARED, ADDRESS], "\tadd.u64 \t%rd1, %SPL, 0;\n");
        let (unused, without) = (kernels([DECLARED, ADDRESS], ""), kernels(["", ""], ""));
        assert_eq!(without_unused(&format!("{used}{unused}")), format!("{used}{without}"));
        assert_eq!(without_unused(&format!("{unused}{used}")), format!("{without}{used}"));
    }
}
