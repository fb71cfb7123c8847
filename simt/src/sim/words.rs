//! Words for people.

/// The name of `n` things of which one is called `one`.
///
/// ```
/// use simt::sim::plural;
///
/// assert_eq!([1, 2, 0].map(|n| format!("{n} {}", plural(n, "launch"))), ["1 launch", "2 launches", "0 launches"]);
/// assert_eq!((plural(1, "barrier"), plural(3, "access")), ("barrier".into(), "accesses".into()));
/// ```
pub fn plural(n: u64, one: &str) -> String {
    match n {
        1 => one.into(),
        _ if one.ends_with("ch") || one.ends_with('s') => format!("{one}es"),
        _ => format!("{one}s"),
    }
}
