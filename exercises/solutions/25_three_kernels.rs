//! # 25 · A scan of many tiles
//!
//! A block can scan only as many elements as it holds, its tile. Longer inputs take three launches: the first scans
//! each tile separately and writes the tile's sum; the second scans these sums, in one block, so that each tile knows
//! what comes before it; the third adds that to each of the tile's elements. All blocks wait for each other only at the
//! end of a launch.
//!
//! `scan_tiles` is given, and does the first two. Write the kernel of the third launch, and the second and third
//! launch. The first tile has nothing before it.
//!
//! **Rung.** gpu/scan/src/r4_three_kernels.rs

use simt::launcher::{Launcher, Result};
use simt::{Geometry, Global, kernel, shared, thread};

/// Threads per block, and elements of a tile.
pub const TILE: u32 = 64;

shared!(SUMS: [u32; TILE]);

/// Writes the running sums of each tile of `input` to `output`, and the sum of each tile to `sums`.
#[kernel]
pub fn scan_tiles(input: Global<u32>, output: Global<u32>, sums: Global<u32>) {
    let (i, t, shared) = (thread::index_1d(), thread::thread_idx_x(), SUMS::view());
    let mut sum = if i < input.len() { input.get(i) } else { 0 };
    let mut distance = 1;
    while distance < TILE {
        shared.set(t, sum);
        thread::sync_threads(); // all sums of this step are stored
        sum += if t >= distance { shared.get(t - distance) } else { 0 };
        thread::sync_threads(); // all sums are read before the next step overwrites them
        distance *= 2;
    }
    if i < output.len() {
        output.set(i, sum);
    }
    if t == TILE - 1 {
        sums.set(thread::block_idx_x(), sum);
    }
}

/// Adds to each element of `output` the sum of all tiles before its own. `running` has the running sums of the tiles.
#[kernel]
pub fn add_before(output: Global<u32>, running: Global<u32>) {
    let (i, tile) = (thread::index_1d(), thread::block_idx_x());
    //[
    //| // Write this part.
    if i < output.len() && tile > 0 {
        output.set(i, output.get(i) + running.get(tile - 1));
    }
    //]
}

/// Writes the running sums of `input` to `output`, of up to `TILE` tiles.
///
/// # Errors
/// Those of the launches.
pub fn launches(on: &dyn Launcher, input: Global<u32>, output: Global<u32>) -> Result {
    let tiles = input.len().div_ceil(TILE);
    let each = Geometry::linear(tiles, TILE);
    // Memory for the sum of each tile, for their running sums, and for the sum of all.
    let (sums, running, all) = (on.scratch::<u32>(tiles)?, on.scratch::<u32>(tiles)?, on.scratch::<u32>(1)?);
    on.launch(scan_tiles, each, (input, output, sums.view()))?;
    //[
    //| // Write this part.
    on.launch(scan_tiles, Geometry::linear(1, TILE), (sums.view(), running.view(), all.view()))?;
    on.launch(add_before, each, (output, running.view()))?;
    //]
    Ok(())
}

//? The running sum of tile k is the sum of tiles 0 to k. Whose running sum comes before tile k?
//? The second launch scans the sums of all tiles, by one block. The third adds to each element the running sum of the
//?   tile before its own; the first tile has none before it.
//? `if i < output.len() && tile > 0 { output.set(i, output.get(i) + running.get(tile - 1)); }`;
//?   `on.launch(scan_tiles, Geometry::linear(1, TILE), (sums.view(), running.view(), all.view()))?;` and
//?   `on.launch(add_before, each, (output, running.view()))?;`.
