//! Keys of the sorting problems: words of 32 or 64 bits, in the order of their type.

use super::{Extra, Family, Parameters, Rung};
use crate::data::Dtype;
use rungs_kernels::ladder::Ladder;
use rungs_kernels::ladder::sort::Sort;

/// The types that sorting rungs of any width take.
pub const KEY_TYPES: &[Dtype] = &[Dtype::U32, Dtype::I32, Dtype::F32, Dtype::U64, Dtype::I64, Dtype::F64];

/// The reason why a rung cannot sort such keys, if it cannot.
pub fn unable(ladder: &'static Ladder<Sort>, rung: &Rung, dtype: Dtype, parameters: &Parameters) -> Option<String> {
    let (name, run) = (rung.name, ladder.get(rung.name)?.run);
    if parameters.values && dtype.size() != 4 {
        return Some(format!("values go with keys of 32 bits, not with {dtype}"));
    }
    if parameters.values && run.pairs.is_none() {
        let moves = ladder.rungs.iter().filter(|entry| entry.run.pairs.is_some());
        let others: Vec<&str> = moves.map(|entry| entry.rung.name).collect();
        let others = match &others[..] {
            [] => String::new(),
            [one] => format!("; {one} moves both"),
            [first @ .., last] => format!("; {} and {last} move both", first.join(", ")),
        };
        return Some(format!("{name} sorts keys without values{others}"));
    }
    if parameters.low_half && run.low_half.is_none() {
        return Some(format!("{name} does not sort by the low half of keys"));
    }
    if parameters.low_half && dtype != Dtype::U32 {
        return Some(format!("--low-half is for keys of u32, not {dtype}"));
    }
    if !parameters.values && run.narrow.is_none() {
        return Some(format!("{name} sorts keys with values, not keys alone; --values gives each key its place"));
    }
    (dtype.size() == 8 && run.wide.is_none()).then(|| format!("{name} sorts keys of 32 bits, not {dtype}"))
}

impl Family {
    /// The parameters that a rung is tried with if nobody asks for others: the default ones, and values for a rung that
    /// sorts keys with values alone.
    pub fn usual(&self, rung: &Rung) -> Parameters {
        let usual = Parameters::default();
        let takes = |parameters: &Parameters| (self.unable)(rung, self.dtypes[0], parameters).is_none();
        let with_values = Parameters { values: true, ..usual };
        let needs_values = self.extras.contains(&Extra::Values) && !takes(&usual) && takes(&with_values);
        if needs_values { with_values } else { usual }
    }

    /// The type of elements that a rung is tried with if nobody asks for another: the family's first, unless the rung
    /// takes others alone.
    pub fn usual_dtype(&self, rung: &Rung) -> Dtype {
        let parameters = self.usual(rung);
        let takes = |dtype: &Dtype| (self.unable)(rung, *dtype, &parameters).is_none();
        self.dtypes.iter().copied().find(takes).unwrap_or(self.dtypes[0])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The docs and the compiler's messages name the types, each in its own file.
    #[test]
    fn the_types_are_named_where_others_are_refused() {
        let names: Vec<_> = KEY_TYPES.iter().map(|dtype| dtype.to_string()).collect();
        let (last, others) = names.split_last().unwrap();
        let note = format!("take {} and {last}", others.join(", "));
        let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap();
        let text = |path: &str| std::fs::read_to_string(root.join(path)).unwrap();
        let files = [("host/src/keys.rs", "sorts"), ("gpu/common/src/ladder/reduce.rs", "reductions")];
        for (path, who) in files.into_iter().chain([("gpu/common/src/ladder/scan.rs", "scans")]) {
            assert!(text(path).contains(&format!("    note = \"{who} {note}")), "{path}: {who} {note}");
        }
        let row = format!("`reduce`, `scan` | `{}` |", names.join("`, `"));
        assert!(text("host/src/vec/mod.rs").contains(&row), "{row}");
    }
}
