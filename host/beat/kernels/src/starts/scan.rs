//! # Beat a scan
//!
//! Your own running sums of all elements, modulo 2³². What stands here is right and slow: launch after launch adds to
//! each element the one at twice the distance, so each element is read and written as often as n has bits.
//! `cargo learn beat scan/look-ahead` compiles this file for the GPU, checks it on the simulator and on the GPU, and
//! lets it compete with that rung, each time on new input.
//!
//! Kernels have names of their own, and none of the project's.

use simt::{Global, kernel, thread};

/// Threads per block.
pub const BLOCK: u32 = 256;

/// Adds to each element the one that lies `distance` before it.
#[kernel(max_threads = BLOCK)]
pub fn own_scan_step(from: Global<u32>, to: Global<u32>, distance: u32) {
    let i = thread::index_1d();
    if i < from.len() {
        let before = if i >= distance { from.get(i - distance) } else { 0 };
        to.set(i, from.get(i).wrapping_add(before));
    }
}

#[cfg(not(target_os = "cuda"))]
pub mod launches {
    //! What the host launches.

    use super::*;
    use rungs_kernels::ladder::Answer;
    use rungs_kernels::ladder::scan::*;
    use rungs_kernels::operator::Operation;

    /// What competes.
    pub static ANSWER: Answer = Answer::Scan(&Own);

    struct Own;

    impl Scans<u32> for Own {
        // Scratch memory is taken here, once; the closure is what is timed. The operation is always the sum, and each
        // result includes its own element.
        fn launches(&self, on: &dyn Launcher, n: u32, _: Operation) -> Result<Launches<Elements<u32>>> {
            let spare = [on.scratch::<u32>(n)?, on.scratch::<u32>(n)?];
            let geometry = Geometry::linear(n.div_ceil(BLOCK), BLOCK);
            // At least one, which copies a single element.
            let steps = n.next_power_of_two().ilog2().max(1);
            Ok(Box::new(move |on, Elements { input, output, .. }| {
                let mut from = input;
                for step in 0..steps {
                    let to = if step + 1 == steps { output } else { spare[step as usize % 2].view() };
                    on.launch(own_scan_step, geometry, (from, to, 1 << step))?;
                    from = to;
                }
                Ok(())
            }))
        }
    }
}
