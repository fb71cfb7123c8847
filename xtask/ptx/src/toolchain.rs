//! The Rust toolchain that can compile for a GPU.
//!
//! PTX needs `core` built from source, so it takes a compiler, a cargo and the library's source of one version.
//! Rustup has them as the component `rust-src`; Debian as the packages `rustc-web`, `cargo-web`, `rust-web-src`.

use std::env;
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Where a sysroot keeps the source of the standard library.
const LIBRARY: &str = "lib/rustlib/src/rust/library";

/// Debian's compiler, which is tried after the one in PATH.
const DEBIAN_RUSTC: &str = "/usr/bin/rustc";

/// A compiler with a cargo and the library source of the same version.
#[derive(Clone, Debug)]
pub struct Toolchain {
    /// The compiler itself, not rustup's proxy for it.
    pub rustc: PathBuf,
    /// The cargo of the same toolchain.
    pub cargo: PathBuf,
    /// Its version, such as `1.95.0`.
    pub version: String,
}

impl Toolchain {
    /// The first that can compile for a GPU of `$RUSTC`, the `rustc` in PATH, and Debian's.
    ///
    /// Asked in `folder`, so that rustup answers with the toolchain which is pinned there.
    ///
    /// # Errors
    /// [`Missing`] if none of them can.
    pub fn find(folder: &Path) -> Result<Self, Missing> {
        let mut missing = Missing { looked: vec![], sysroots: vec![] };
        let named = env::var_os("RUSTC").map(PathBuf::from);
        for rustc in named.into_iter().chain([PathBuf::from("rustc"), PathBuf::from(DEBIAN_RUSTC)]) {
            let Some(sysroot) = output(&rustc, &["--print", "sysroot"], folder).map(PathBuf::from) else {
                missing.looked.push(format!("{}: there is no such compiler, or it does not run", rustc.display()));
                continue;
            };
            if missing.sysroots.contains(&sysroot) {
                continue;
            }
            match Self::in_sysroot(&sysroot, &rustc, folder) {
                Ok(found) => return Ok(found),
                Err(why) => missing.looked.push(format!("{}: {why}", rustc.display())),
            }
            missing.sysroots.push(sysroot);
        }
        Err(missing)
    }

    /// The toolchain of a sysroot, or what it lacks.
    fn in_sysroot(sysroot: &Path, named: &Path, folder: &Path) -> Result<Self, String> {
        let library = sysroot.join(LIBRARY);
        if !library.join("core/Cargo.toml").is_file() {
            return Err(format!("has no library source ({} is not there)", library.display()));
        }
        let beside = |tool: &str, or: &Path| {
            let path = sysroot.join("bin").join(tool);
            if path.is_file() { path } else { or.to_path_buf() }
        };
        let rustc = beside("rustc", named);
        let cargo = beside("cargo", &env::var_os("CARGO").map_or_else(|| PathBuf::from("cargo"), PathBuf::from));
        let version = release(&rustc, folder).ok_or("does not tell its version")?;
        let needed = env!("CARGO_PKG_RUST_VERSION");
        if minor(&version) < minor(needed) {
            return Err(format!("is version {version}, and {needed} or later is needed"));
        }
        let cargo_version = release(&cargo, folder).ok_or("has no cargo with it")?;
        if minor(&cargo_version) != minor(&version) {
            return Err(format!("is version {version}, but its cargo ({}) is {cargo_version}", cargo.display()));
        }
        // Debian keeps this file next to the library; rustup's source is part of its toolchain and needs no check.
        if let Ok(source) = std::fs::read_to_string(library.with_file_name("src").join("version"))
            && source.trim() != version
        {
            return Err(format!("is version {version}, but its library source is {}", source.trim()));
        }
        Ok(Self { rustc, cargo, version })
    }
}

impl fmt::Display for Toolchain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "rustc {}", self.version)
    }
}

/// No toolchain was found; displays the places searched and the remedy.
#[derive(Clone, Debug)]
pub struct Missing {
    /// One line per compiler that was examined: its path and the missing part.
    pub looked: Vec<String>,
    /// The sysroots of those compilers that run.
    pub(crate) sysroots: Vec<PathBuf>,
}

impl Missing {
    /// The message in one line, without the places searched.
    pub fn one_line(&self) -> String {
        format!("{}; {}", Self::WHAT, Self::REMEDY)
    }

    const WHAT: &str = "no Rust toolchain here can compile kernels for a GPU";
    const REMEDY: &str = "rustup's component rust-src does (`rustup component add rust-src`), or Debian's packages \
                          rustc-web, cargo-web and rust-web-src; in a clone of Rungs `cargo xtask setup` installs it";
}

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", Self::WHAT)?;
        for line in &self.looked {
            writeln!(f, "  {line}")?;
        }
        f.write_str(Self::REMEDY)
    }
}

impl std::error::Error for Missing {}

/// The standard output of a tool, if it runs and succeeds.
fn output(tool: &Path, args: &[&str], folder: &Path) -> Option<String> {
    let output = Command::new(tool).args(args).current_dir(folder).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?.trim().to_string();
    (output.status.success() && !text.is_empty()).then_some(text)
}

/// The version of rustc or cargo: the second word of `rustc 1.95.0 (…)`.
fn release(tool: &Path, folder: &Path) -> Option<String> {
    Some(output(tool, &["--version"], folder)?.split_whitespace().nth(1)?.to_string())
}

/// `(1, 95)` of `1.95.0`, `1.95` and `1.95.0-nightly`.
fn minor(version: &str) -> Option<(u32, u32)> {
    let mut parts = version.split('.');
    Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_compare_by_their_first_two_numbers() {
        assert_eq!(minor("1.95.0-nightly"), minor("1.95"));
        assert!(minor("1.63.0") < minor("1.95"));
        assert!(minor("nonsense") < minor("1.0"));
    }

    #[test]
    fn a_sysroot_without_library_source_is_named() {
        let nowhere = Path::new("no-such-sysroot");
        let why = Toolchain::in_sysroot(nowhere, Path::new("rustc"), Path::new(".")).unwrap_err();
        assert!(why.contains("no-such-sysroot"), "{why}");
    }

    #[test]
    fn the_message_says_where_and_what_to_do() {
        let missing = Missing { looked: vec!["rustc: has no library source".into()], sysroots: vec![] };
        for text in [missing.to_string(), missing.one_line()] {
            assert!(text.contains("cargo xtask setup"), "{text}");
        }
        assert!(missing.to_string().contains("\n  rustc: has no library source\n"));
        assert!(!missing.one_line().contains('\n'));
    }
}
