//! Addresses of arrays in shared memory.
//!
//! rust-cuda's kernels get such an address as a generic one, and convert it back by `asm!` (`simt/src/rust_cuda`).
//! ptxas keeps both conversions, and reads two special registers for each. The array's name is the address, too.

use super::{function_begun, operands, shared_arrays};
use std::collections::HashMap;

const TO_GENERIC: &str = "cvta.shared.u64";
const FROM_GENERIC: &str = "cvta.to.shared.u64";

/// The text with the names of arrays where their addresses are converted back.
pub(super) fn by_name(text: &str) -> String {
    let arrays = shared_arrays(text);
    let mut named = String::with_capacity(text.len());
    let lines: Vec<_> = text.split_inclusive('\n').collect();
    for function in lines.chunk_by(|_, next| function_begun(next).is_none()) {
        // What assigns a register, and from what; nothing if there are several assignments.
        let mut assigned: HashMap<&str, Option<(&str, &str)>> = HashMap::new();
        for code in function.iter().map(|line| line.trim()) {
            let (name, (to, from)) = (code.split_whitespace().next().unwrap_or_default(), operands(code));
            assigned.entry(to).and_modify(|all| *all = None).or_insert(Some((name, from)));
        }
        let source = |to: &str, by: &str| (*assigned.get(to)?).filter(|(name, _)| *name == by).map(|(_, from)| from);
        for line in function {
            let (to, from) = operands(line.trim());
            let array = || source(source(from, TO_GENERIC)?, "mov.u64").filter(|array| arrays.contains(array));
            match array().filter(|_| line.trim_start().starts_with(FROM_GENERIC)) {
                Some(array) => named += &format!("mov.u64 {to}, {array};\n"),
                None => named += line,
            }
        }
    }
    named
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two kernels that take an address twice; `code` is in the first, behind the first time.
    fn kernels(name: &str, taken: [&str; 2], code: &str) -> String {
        let [first, second] = taken;
        format!(
            ".shared .align 16 .b8 SUMS[16];\n.entry one()\n{{\n\tmov.u64 \t%rd1, {name};\n\
             \tcvta.shared.u64 \t%rd2, %rd1;\n{first}{code}{second}}}\n.entry two()\n{{\n{second}}}\n"
        )
    }

    const CONVERTED: &str = "{\n.reg .u64 shared;\ncvta.to.shared.u64 shared, %rd2;\ncvt.u32.u64 %r1, shared;\n}\n";
    const NAMED: &str = "{\n.reg .u64 shared;\nmov.u64 shared, SUMS;\ncvt.u32.u64 %r1, shared;\n}\n";

    #[test]
    fn a_converted_address_is_the_array_s_name() {
        let text = kernels("SUMS", [CONVERTED; 2], "");
        let (one, two) = text.split_at(text.find(".entry two").unwrap());
        // The second kernel's registers are others.
        assert_eq!(by_name(&text), one.replace(CONVERTED, NAMED) + two);
    }

    #[test]
    fn any_other_address_stays_converted() {
        for (name, code) in [
            ("OTHER", ""),
            ("SUMS", "\tmov.u64 \t%rd1, OTHER;\n"),
            ("SUMS", "\tcvta.shared.u64 \t%rd2, %rd3;\n"),
            ("SUMS", "\tadd.s64 \t%rd2, %rd2, 8;\n"),
        ] {
            let text = kernels(name, [CONVERTED; 2], code);
            assert_eq!(by_name(&text), text, "{name} {code}");
        }
    }
}
