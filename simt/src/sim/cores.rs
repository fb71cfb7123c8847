//! How many threads of the host can run at once.

use std::sync::OnceLock;

/// The cores of the host that this process may use, as the system said at the first launch: it takes longer to say so
/// than to simulate a small launch.
pub fn cores() -> u32 {
    static CORES: OnceLock<u32> = OnceLock::new();
    *CORES.get_or_init(|| std::thread::available_parallelism().map_or(1, |cores| cores.get() as u32))
}
