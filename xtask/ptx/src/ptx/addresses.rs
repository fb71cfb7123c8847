//! Addresses of elements behind a branch.
//!
//! For `sm_90`, ptxas of CUDA 13.0 and 13.5 makes a wrong load of `i += 1; if i < n { x = array[i] }`: it finds the
//! address from the old `i`, as one element more, after the new `i` has taken the register of the old one. So it loads
//! `array[i + 1]`. With LLVM 7 it did so in four kernels, and their loops did not end. In front of the branch the
//! address is right.

use super::{function_begun, operands};
use std::collections::HashMap;

/// The text with such addresses in front of the comparison that the branch is by.
pub(super) fn before_branches(text: &str) -> String {
    let lines: Vec<_> = text.split_inclusive('\n').collect();
    let mut moved: Vec<&str> = Vec::with_capacity(lines.len());
    for function in lines.chunk_by(|_, next| function_begun(next).is_none()) {
        let mut named: HashMap<&str, u32> = HashMap::new();
        function.iter().flat_map(|line| registers(line)).for_each(|name| *named.entry(name).or_default() += 1);
        let mut i = 0;
        while i < function.len() {
            let address = function.get(i..i + 2).and_then(|pair| Address::of([pair[0], pair[1]]));
            // Named twice, where they are assigned and where they are read: the branch's other arm has no use for them.
            let address = address.filter(|address| address.sets.iter().all(|register| named.get(register) == Some(&2)));
            if let Some(comparison) = address.and_then(|address| address.comparison(&moved)) {
                moved.splice(comparison..comparison, function[i..i + 2].iter().copied());
                i += 2;
            } else {
                moved.push(function[i]);
                i += 1;
            }
        }
    }
    moved.concat()
}

/// The registers that a line names.
fn registers(line: &str) -> impl Iterator<Item = &str> {
    let is_in_name = |c: char| c.is_ascii_alphanumeric() || c == '%';
    line.split(move |c| !is_in_name(c)).filter(|word| word.starts_with('%'))
}

/// `shl` and `add` of an index: the address of an element.
struct Address<'a> {
    index: &'a str,
    array: &'a str,
    /// What the two lines assign.
    sets: [&'a str; 2],
}

impl<'a> Address<'a> {
    fn of([shift, sum]: [&'a str; 2]) -> Option<Self> {
        let ((offset, shifted), (address, summed)) = (operands(shift.trim()), operands(sum.trim()));
        let (index, _) = shifted.split_once(", ").filter(|_| shift.trim_start().starts_with("shl.b32"))?;
        let (first, array) = summed.split_once(", ").filter(|_| sum.trim_start().starts_with("add.s32"))?;
        (first == offset).then_some(Self { index, array, sets: [offset, address] })
    }

    /// The last comparison of these lines, if it is of the index and followed by a branch and by copies alone that
    /// assign neither the index nor the array.
    fn comparison(&self, lines: &[&str]) -> Option<usize> {
        let mut back = lines.iter().enumerate().rev().filter(|(_, line)| !line.trim().is_empty());
        let branch = back.next()?.1.trim();
        let predicate = branch.strip_prefix('@').filter(|_| branch.contains("bra"))?.split_whitespace().next()?;
        let is_copy = |line: &str| {
            let to = operands(line).0;
            line.starts_with("mov.u32") && to != self.index && to != self.array
        };
        let (at, line) = back.find(|(_, line)| !is_copy(line.trim()))?;
        let (to, from) = operands(line.trim());
        let compares = line.trim_start().starts_with("setp.") && from.split(", ").next() == Some(self.index);
        (compares && to == predicate).then_some(at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ADDRESS: &str = "\tshl.b32 \t%r5, %r1, 2;\n\tadd.s32 \t%r6, %r5, %r9;\n";
    const BRANCH: &str = "\tsetp.ge.u32 \t%p1, %r1, %r2;\n\tmov.u32 \t%r7, -1;\n\t@%p1 bra \t$L__BB0_2;\n\n";

    /// A kernel with these lines in front of the load, and these behind it.
    fn kernel(before: &str, after: &str) -> String {
        format!(".entry k()\n{{\n\tadd.s32 \t%r1, %r1, 1;\n{before}\tld.shared.b32 %r7, [%r6];\n{after}}}\n")
    }

    #[test]
    fn an_address_comes_before_the_comparison() {
        // The second kernel's registers are others.
        let other = kernel("", ADDRESS);
        let text = kernel(&(BRANCH.to_string() + ADDRESS), "") + &other;
        assert_eq!(before_branches(&text), kernel(&(ADDRESS.to_string() + BRANCH), "") + &other);
    }

    #[test]
    fn any_other_address_stays() {
        for (before, after) in [
            (format!("{BRANCH}$L__BB0_1:\n{ADDRESS}"), ""),
            (BRANCH.replace("%r1,", "%r3,") + ADDRESS, ""),
            (BRANCH.replace("@%p1", "@%p2") + ADDRESS, ""),
            (BRANCH.replace("%r7, -1", "%r1, -1") + ADDRESS, ""),
            (BRANCH.replace("%r7, -1", "%r9, -1") + ADDRESS, ""),
            (BRANCH.to_string() + &ADDRESS.replace("%r6, %r5", "%r6, %r4"), ""),
            (BRANCH.to_string() + ADDRESS, "\tmov.u32 \t%r6, 0;\n"),
            (BRANCH.to_string() + ADDRESS, "\tld.shared.v2.b32 {%r4, %r5}, [%r9];\n"),
        ] {
            let text = kernel(&before, after);
            assert_eq!(before_branches(&text), text);
        }
    }
}
