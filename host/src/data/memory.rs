//! The memory that this process may still allocate.

use crate::{Error, Result};
use std::fs;
use std::path::Path;

/// Memory that is free, and what bounds it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Room {
    /// Bytes.
    pub bytes: u64,
    /// What they are left of, as "the machine's memory".
    pub of: &'static str,
}

/// Memory that is free for this process: the least of what the machine has available, what the control groups above
/// the process leave (cgroup v1 and v2) and what its limits of address space and of data leave (`ulimit -v`, `-d`).
/// `None` if the system tells none of them.
pub fn available() -> Option<Room> {
    room(Path::new("/"))
}

/// [`available`], by the files of the system below `root`.
fn room(root: &Path) -> Option<Room> {
    let text = |path: &str| fs::read_to_string(root.join(path)).unwrap_or_default();
    let room = |bytes: Option<u64>, of| bytes.map(|bytes| Room { bytes, of });
    let (machine, status, limits) = (text("proc/meminfo"), text("proc/self/status"), text("proc/self/limits"));
    let limited = |limit, used| Some(value(&limits, limit)?.saturating_sub(kibibytes(&status, used)?));
    // Where the system promises no more than it has, what is promised counts, and not what is used.
    let promised = || {
        let strict = text("proc/sys/vm/overcommit_memory").trim() == "2";
        strict.then(|| Some(kibibytes(&machine, "CommitLimit:")?.saturating_sub(kibibytes(&machine, "Committed_AS:")?)))
    };
    let all = [
        room(kibibytes(&machine, "MemAvailable:"), "the machine's memory"),
        room(promised().flatten(), "the memory that the machine promises"),
        room(limited("Max address space", "VmSize:"), "the limit of address space (ulimit -v)"),
        room(limited("Max data size", "VmData:"), "the limit of data (ulimit -d)"),
        room(group(root, &text("proc/self/cgroup"), &text("proc/self/mountinfo")), "the control group's memory limit"),
    ];
    all.into_iter().flatten().min_by_key(|room| room.bytes)
}

/// The first number behind `name`, which begins a line of `text`. "unlimited" and "max" are none.
fn value(text: &str, name: &str) -> Option<u64> {
    text.lines().find_map(|line| line.strip_prefix(name))?.split_whitespace().next()?.parse().ok()
}

fn kibibytes(text: &str, name: &str) -> Option<u64> {
    value(text, name)?.checked_mul(1024)
}

/// The least that a control group leaves, on the way from the process's own up to the uppermost that can be seen: each
/// bounds all below it.
fn group(root: &Path, groups: &str, mounts: &str) -> Option<u64> {
    let mut least = None;
    for line in groups.lines() {
        let mut parts = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(path)) = (parts.next(), parts.next()) else { continue };
        // Only anonymous and shared memory count as used: the page cache can be dropped.
        let (kind, limit, used) = match controllers {
            "" => ("cgroup2", "memory.max", ["anon ", "shmem "]),
            names if names.split(',').any(|name| name == "memory") => {
                ("cgroup", "memory.limit_in_bytes", ["total_rss ", "total_shmem "])
            }
            _ => continue,
        };
        for mount in mounts.lines() {
            let Some((place, about)) = mount.split_once(" - ") else { continue };
            let mut about = about.split(' ');
            let (is_kind, options) = (about.next() == Some(kind), about.nth(1).unwrap_or(""));
            if !is_kind || (kind == "cgroup" && !options.split(',').any(|option| option == "memory")) {
                continue;
            }
            let mut place = place.split(' ').skip(3);
            let (Some(top), Some(mounted)) = (place.next(), place.next()) else { continue };
            let mounted = root.join(mounted.trim_start_matches('/'));
            // In a container, the mount often begins at the container's own group.
            let below = Path::new(path).strip_prefix(top).unwrap_or(Path::new(""));
            let own = mounted.join(below);
            for folder in own.ancestors().take_while(|folder| folder.starts_with(&mounted)) {
                let text = |name: &str| fs::read_to_string(folder.join(name)).unwrap_or_default();
                let Ok(limit) = text(limit).trim().parse::<u64>() else { continue };
                let stat = text("memory.stat");
                let used = used.iter().filter_map(|name| value(&stat, name)).fold(0, u64::saturating_add);
                let left = limit.saturating_sub(used);
                least = Some(least.map_or(left, |least: u64| least.min(left)));
            }
        }
    }
    least
}

/// Bytes that are not asked for: a process takes as much in passing, and the answer, which is in a dozen files, takes
/// longer than to fill them.
const IN_PASSING: u64 = 1 << 20;

/// Refuses `count` elements of `size` bytes if that is more than is free, and more than a MiB. Without this a system
/// that promises more memory than it has would end the process midway. `what` names the elements, as "keys of u32".
///
/// # Errors
/// [`Error::OutOfMemory`] if they do not fit in free memory.
pub fn check(what: &str, count: u64, size: usize) -> Result<()> {
    let asked = count.saturating_mul(size as u64);
    if asked <= IN_PASSING {
        return Ok(());
    }
    let have = available().unwrap_or(Room { bytes: isize::MAX as u64, of: "all addresses" });
    // A product of sides that has no such number is the largest one here.
    let what = || if count == u64::MAX { format!("2^64 - 1 or more {what}") } else { format!("{count} {what}") };
    if asked > have.bytes { Err(Error::OutOfMemory { what: what(), asked, have: Some(have) }) } else { Ok(()) }
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
            assert!(!error.to_string().contains("18446744073709551615"), "{error}");
        }
    }

    /// What [`room`] says of these files: bytes, and the first words of what bounds them.
    fn of(files: &[(&str, &str)]) -> Option<(u64, &'static str)> {
        let root =
            std::env::temp_dir().join(format!("rungs-memory-{}-{:?}", std::process::id(), std::thread::current().id()));
        let _ = fs::remove_dir_all(&root);
        for (path, text) in files {
            let path = root.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let found = room(&root);
        let _ = fs::remove_dir_all(&root);
        found.map(|room| (room.bytes, room.of))
    }

    const MACHINE: (&str, &str) =
        ("proc/meminfo", "MemTotal: 900 kB\nMemAvailable:  800 kB\nCommitLimit: 500 kB\nCommitted_AS: 99 kB\n");
    const V2: (&str, &str) = ("proc/self/mountinfo", "31 23 0:28 / /sys/fs/cgroup rw,relatime - cgroup2 cgroup2 rw\n");

    #[test]
    fn the_machine_bounds_where_nothing_else_does() {
        assert_eq!(of(&[]), None);
        assert_eq!(of(&[MACHINE]), Some((800 << 10, "the machine's memory")));
        let unlimited = "Limit  Soft Limit  Hard Limit  Units\nMax address space  unlimited  unlimited  bytes\n";
        let files = [MACHINE, ("proc/self/limits", unlimited), ("proc/self/status", "VmSize:  8 kB\n")];
        assert_eq!(of(&files), Some((800 << 10, "the machine's memory")));
    }

    #[test]
    fn limits_of_the_process_bound_it() {
        let status = ("proc/self/status", "VmPeak: 9 kB\nVmSize:\t     100 kB\nVmData:   60 kB\n");
        let both = "Max data size  300000  unlimited  bytes\nMax address space  204800  409600  bytes\n";
        let of_both = of(&[MACHINE, status, ("proc/self/limits", both)]);
        assert_eq!(of_both, Some((100 << 10, "the limit of address space (ulimit -v)")));
        let data = "Max data size  81920  unlimited  bytes\nMax address space  204800  409600  bytes\n";
        assert_eq!(
            of(&[MACHINE, status, ("proc/self/limits", data)]),
            Some((20 << 10, "the limit of data (ulimit -d)"))
        );
        let strict = ("proc/sys/vm/overcommit_memory", "2\n");
        assert_eq!(of(&[MACHINE, strict]), Some((401 << 10, "the memory that the machine promises")));
        let lax = ("proc/sys/vm/overcommit_memory", "0\n");
        assert_eq!(of(&[MACHINE, lax]), Some((800 << 10, "the machine's memory")));
    }

    /// The group of a job lies below the root: its own limit, that of a group above it, or neither may be the least.
    #[test]
    fn the_least_control_group_on_the_way_up_bounds() {
        let own = ("proc/self/cgroup", "0::/slurm/job7/step\n");
        let limit = |path: &'static str, text: &'static str| (path, text);
        let step = limit("sys/fs/cgroup/slurm/job7/step/memory.max", "max\n");
        let job = limit("sys/fs/cgroup/slurm/job7/memory.max", "5000\n");
        let used = limit("sys/fs/cgroup/slurm/job7/memory.stat", "anon 900\nfile 4000\nshmem 100\nanon_thp 7\n");
        let above = limit("sys/fs/cgroup/slurm/memory.max", "6000\n");
        let beside = limit("sys/fs/cgroup/slurm/job8/memory.max", "10\n");
        let group = "the control group's memory limit";
        assert_eq!(of(&[MACHINE, V2, own, step, job, used, above, beside]), Some((4000, group)));
        let full = limit("sys/fs/cgroup/slurm/memory.max", "3000\n");
        assert_eq!(of(&[MACHINE, V2, own, step, job, used, full]), Some((3000, group)));
        let tight = limit("sys/fs/cgroup/slurm/job7/step/memory.max", "2000\n");
        assert_eq!(of(&[MACHINE, V2, own, tight, job, used, above]), Some((2000, group)));
        let more_used = limit("sys/fs/cgroup/slurm/job7/memory.stat", "anon 9000\n");
        assert_eq!(of(&[MACHINE, V2, own, job, more_used]), Some((0, group)), "no more than nothing is left");
        let large = limit("sys/fs/cgroup/slurm/job7/memory.max", "999999999\n");
        assert_eq!(of(&[MACHINE, V2, own, large]), Some((800 << 10, "the machine's memory")));
    }

    #[test]
    fn version_1_and_containers() {
        let group = "the control group's memory limit";
        let mounts = "35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n\
                      36 31 0:33 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n";
        let v1 = ("proc/self/mountinfo", mounts);
        let own = ("proc/self/cgroup", "9:name=systemd:/x\n4:hugetlb,memory:/job/a:b\n2:cpu:/\n0::/\n");
        let limit = ("sys/fs/cgroup/memory/job/a:b/memory.limit_in_bytes", "7000\n");
        let used = ("sys/fs/cgroup/memory/job/a:b/memory.stat", "rss 1\ntotal_rss 600\ntotal_shmem 50\n");
        let no_limit = ("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
        assert_eq!(of(&[MACHINE, v1, own, limit, used, no_limit]), Some((6350, group)));
        let other = ("sys/fs/cgroup/cpu/job/a:b/memory.limit_in_bytes", "1\n");
        assert_eq!(of(&[MACHINE, v1, own, other]), Some((800 << 10, "the machine's memory")));
        // The mount begins at the container's group, whose path outside is the one that /proc tells.
        let mounts = "35 31 0:32 /docker/f00 /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n";
        let own = ("proc/self/cgroup", "4:memory:/docker/f00/inner\n");
        let at_top = ("sys/fs/cgroup/memory/memory.limit_in_bytes", "4000\n");
        assert_eq!(of(&[MACHINE, ("proc/self/mountinfo", mounts), own, at_top]), Some((4000, group)));
        let inner = ("sys/fs/cgroup/memory/inner/memory.limit_in_bytes", "2500\n");
        assert_eq!(of(&[MACHINE, ("proc/self/mountinfo", mounts), own, at_top, inner]), Some((2500, group)));
        // A process whose group lies next to what is mounted.
        let own = ("proc/self/cgroup", "0::/../other\n");
        let root = ("sys/fs/cgroup/memory.max", "3000\n");
        assert_eq!(of(&[MACHINE, V2, own, root]), Some((3000, group)));
    }
}
