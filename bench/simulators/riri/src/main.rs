//! One case of the gallery on riri: `gallery-on-riri NAME planted|fixed SEEDS` prints what riri says over this many
//! seeds, one line per kind of diagnostic.

#[path = "../../../../gallery/src/barriers.rs"]
mod barriers;
#[path = "../../../../gallery/src/bounds.rs"]
mod bounds;
#[path = "../../../../gallery/src/case.rs"]
#[allow(dead_code)]
mod case;
#[path = "../../../../gallery/src/global_races.rs"]
mod global_races;
#[path = "../../../../gallery/src/machine.rs"]
mod machine;
#[path = "../../../../gallery/src/orders.rs"]
mod orders;
#[path = "../../../../gallery/src/outputs.rs"]
mod outputs;
#[path = "../../../../gallery/src/shared_races.rs"]
mod shared_races;
#[path = "../../../../gallery/src/source_s4.rs"]
mod source_s4;
#[path = "../../../../gallery/src/spins.rs"]
mod spins;
#[path = "../../../../gallery/src/uninitialised.rs"]
mod uninitialised;
#[path = "../../../../gallery/src/version.rs"]
mod version;
#[path = "../../../../gallery/src/warps.rs"]
mod warps;

/// riri has no copies by an engine.
mod copies {
    pub static CASES: &[crate::case::Case] = &[];
}

/// Nor copies that go on while their thread does.
mod own_copies {
    pub static CASES: &[crate::case::Case] = &[];
}

/// riri has no launches that overlap.
mod dependent {
    pub static CASES: &[crate::case::Case] = &[];
}

/// As in the gallery.
mod prelude {
    pub(crate) use crate::case::{Case, Kind::*};
    pub(crate) use crate::machine::launch;
    pub(crate) use crate::version::{Fixed, Planted, Version};
    pub(crate) use simt::Geometry;
    pub(crate) use simt::atomic::{Order::*, Scope, fence};
    pub(crate) use simt::thread::{block_dim_x, block_idx_x, index_1d, sync_threads, thread_idx_x};
    pub(crate) use simt::warp::{FULL, lane_id, sync_warp};
    pub(crate) use simt::{Global, Shared, kernel, shared, thread, warp};
    pub(crate) use std::vec::Vec;

    pub(crate) const BLOCK: u32 = 64;

    pub(crate) fn numbers(n: u32) -> Vec<u32> {
        (0..n).map(|i| (i + 1).wrapping_mul(0x9E37_79B9) >> 22).collect()
    }
}

use machine::{Machine, Trial};
use riri::{Diagnostic, LaunchConfig};
use simt::launcher::{Call, Device, Failed, Launcher, Memory, Result};
use simt::{Geometry, NOT_EXPRESSIBLE};
use std::cell::RefCell;
use std::collections::BTreeSet;

/// riri, with one seed.
struct Riri {
    seed: u64,
    said: RefCell<BTreeSet<String>>,
}

/// A buffer of riri's.
struct Buffer(*mut u8);

// SAFETY: kernels reach the words by the buffer's number alone.
unsafe impl Memory for Buffer {
    fn address(&self) -> *mut u8 {
        self.0
    }
}

impl Launcher for Riri {
    fn device(&self) -> Device {
        Device { multiprocessors: 2, shared_per_block: simt::launcher::MAX_SHARED, compute_capability: (9, 0) }
    }

    fn enqueue(&self, call: &dyn Call, geometry: Geometry) -> Result {
        let [grid, block] = [geometry.grid, geometry.block].map(|[x, y, z]| riri::Dim3::from((x, y, z)));
        let config = LaunchConfig::new(grid, block).seed(self.seed);
        let report = riri::launch(&config, |thread| simt::run(thread, geometry.shared_bytes, || call.thread()));
        let mut ended = false;
        for diagnostic in &report.diagnostics {
            let text = diagnostic.to_string();
            ended |= !matches!(diagnostic, Diagnostic::DataRace { .. } | Diagnostic::UninitRead { .. });
            let kind = match diagnostic {
                Diagnostic::KernelPanic { message, .. } if message.contains(NOT_EXPRESSIBLE) => message.clone(),
                Diagnostic::KernelPanic { message, .. } => format!("KernelPanic: {message}"),
                other => format!("{other:?}").split([' ', '{']).next().unwrap_or("").to_owned(),
            };
            self.said.borrow_mut().insert(format!("{kind}: {text}"));
        }
        if ended { Err(Failed::Unsuitable("riri ended the launch".into())) } else { Ok(()) }
    }

    fn allocate(&self, bytes: usize) -> Result<Box<dyn Memory>> {
        Ok(Box::new(Buffer(simt::new_buffer(Err(bytes / 4)))))
    }

    unsafe fn clear_bytes(&self, address: *mut u8, _: usize) -> Result {
        simt::clear(address);
        Ok(())
    }
}

// SAFETY: as many words as are uploaded are in the buffer.
unsafe impl Machine for Riri {
    fn upload(&self, words: &[u32]) -> Result<Box<dyn Memory>> {
        Ok(Box::new(Buffer(simt::new_buffer(Ok(words.to_vec())))))
    }

    unsafe fn download(&self, address: *const u8, words: &mut [u32]) -> Result {
        words.copy_from_slice(&simt::buffer(address).to_vec());
        Ok(())
    }
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, name, version, seeds] = &arguments[..] else { panic!("NAME planted|fixed SEEDS") };
    let (_, case) = case::named(name).expect("a case of the gallery that riri can have");
    std::panic::set_hook(Box::new(|_| ()));
    let (mut said, mut wrong) = (BTreeSet::new(), None);
    for seed in 0..seeds.parse().expect("a number of seeds") {
        let riri = Riri { seed, said: RefCell::default() };
        if let Ok(ended) = (case.run)(&Trial::new(&riri, version == "fixed")) {
            wrong = wrong.or(ended.difference());
        }
        said.extend(riri.said.into_inner());
    }
    let kinds: BTreeSet<&str> = said.iter().filter_map(|line| line.split(':').next()).collect();
    for kind in kinds {
        println!("{}", said.iter().find(|line| line.starts_with(kind)).map_or("", |line| line));
    }
    wrong.iter().for_each(|what| println!("wrong result: {what}"));
}
