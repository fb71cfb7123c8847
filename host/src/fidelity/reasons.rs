//! Why the simulator and a GPU count differently, where they do.

/// The reasons that were found in the generated code: family, rung, the measures, and why.
const REASONS: &[(&str, &str, &[&str], &str)] = &[(
    "bubble",
    "one-block",
    &["conflicts of shared loads", "conflicts of shared stores"],
    "the compiler merges neighbouring accesses of 4 bytes into one of 8 where it knows that they are aligned",
)];

/// The reason why a measure of a rung differs.
pub(super) fn of(family: &str, rung: &str, measure: &str) -> Option<&'static str> {
    let fits =
        |(f, r, measures, _): &&(&str, &str, &[&str], &str)| *f == family && *r == rung && measures.contains(&measure);
    REASONS.iter().find(fits).map(|(.., why)| *why)
}
