//! The project's folders.

use std::env;
use std::path::{Path, PathBuf};

/// The folder of the workspace.
pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask is a folder of the workspace")
}

/// Cargo's target folder: the one that this program was built in.
pub fn target() -> PathBuf {
    let above = |program: PathBuf| rungs_ptx::target_dir_above(&program);
    env::current_exe().ok().and_then(above).unwrap_or_else(|| root().join("target"))
}

/// The folder of finished PTX.
pub fn ptx() -> PathBuf {
    target().join("ptx")
}

/// The folder of tools that setup installs for this project alone.
pub fn tools() -> PathBuf {
    target().join("tools")
}

/// A path relative to the workspace's folder.
pub fn short(path: &Path) -> String {
    path.strip_prefix(root()).unwrap_or(path).display().to_string()
}
