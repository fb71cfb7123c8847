//! The memory that this process may still allocate.

use crate::{Error, Result};
use std::fs;

/// Bytes of memory that are free for this process: the least of what the machine has available and what the process's
/// control group leaves. `None` if the system does not tell.
pub fn available() -> Option<u64> {
    let number = |path: &str| fs::read_to_string(path).ok()?.trim().parse::<u64>().ok();
    // Of the group's memory, only anonymous memory counts as used: the page cache can be dropped.
    let taken = || {
        let text = fs::read_to_string("/sys/fs/cgroup/memory.stat").ok()?;
        text.lines().find_map(|line| line.strip_prefix("anon "))?.trim().parse::<u64>().ok()
    };
    let group = || Some(number("/sys/fs/cgroup/memory.max")?.saturating_sub(taken()?));
    let machine = || {
        let text = fs::read_to_string("/proc/meminfo").ok()?;
        let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
        line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
    };
    match (machine(), group()) {
        (Some(machine), Some(group)) => Some(machine.min(group)),
        (machine, group) => machine.or(group),
    }
}

/// Refuses `count` elements of `size` bytes if that is more than is free. Without this a system that promises more
/// memory than it has would end the process midway. `what` names the elements, as "keys of u32".
///
/// # Errors
/// [`Error::OutOfMemory`] if they do not fit in free memory.
pub fn check(what: &str, count: u64, size: usize) -> Result<()> {
    let asked = count.saturating_mul(size as u64);
    match available() {
        Some(have) if asked > have => Err(Error::OutOfMemory { what: format!("{count} {what}"), asked, have }),
        None if asked > isize::MAX as u64 => {
            Err(Error::OutOfMemory { what: format!("{count} {what}"), asked, have: isize::MAX as u64 })
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn too_much_is_refused() {
        assert!(check("keys of u64", 1000, 8).is_ok());
        for count in [1 << 55, u64::MAX] {
            let error = check("keys of u64", count, 8).unwrap_err();
            assert!(matches!(error, Error::OutOfMemory { .. }), "{error}");
        }
    }
}
