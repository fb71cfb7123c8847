//! What becomes of the sums of [`Mapped`]: one group's are added to the other's where both have the same tile, and
//! boxes of C go out by TMA.

use super::MULTIPLIERS;
use super::mapped::{BOX, BOXES, Half, Mapped, SIDE, STORED};
use simt::tensor_map::TensorMap;
use simt::warp::{self, FULL};
use simt::warpgroup::{self, Lies, Tile, store_fragments};
use simt::{Shared, bulk, thread, unroll};

/// The barrier of the groups that multiply.
const GIVEN: u32 = 1;

impl<T: Half, A: Lies, B: Lies, const SUMS: usize, const STAGES: u32, const BLOCKS: u32, const TURNS: u32>
    Mapped<T, A, B, SUMS, STAGES, BLOCKS, TURNS>
{
    /// Where the second group leaves its sums for the first: those of a number side by side, one per thread.
    #[simt::device]
    fn given_sums() -> Shared<f32> {
        let first = Self::RING.bytes_of_stages() + Self::BOXES_BYTES;
        Tile::<f32>::dynamic(first, Self::GIVEN_BYTES / warpgroup::ROW).elements()
    }

    /// Adds the sums of the second group to those of the first. Both make the call.
    #[simt::device]
    pub(super) fn join(sums: &mut [f32; SUMS], is_first: bool) {
        let (given, t) = (Self::given_sums(), thread::thread_idx_x() % 128);
        if !is_first {
            each::<SUMS>(|i| given.set(i as u32 * 128 + t, sums[i]));
        }
        thread::barrier(GIVEN, MULTIPLIERS); // all sums are there before they are added
        if is_first {
            each::<SUMS>(|i| sums[i] += given.get(i as u32 * 128 + t));
        }
        thread::barrier(GIVEN, MULTIPLIERS); // all have been added before those of the next tile replace them
    }

    /// Has TMA write the warp's rows of C, box by box; (`row`, `column`) is the first of the group's.
    #[simt::device]
    pub(super) fn store<const N: usize>(map: TensorMap<T>, row: u32, column: u32, sums: &[f32; N], alpha: f32) {
        let (warp, lane) = (thread::thread_idx_x() / 32, warp::lane_id());
        let first = Self::RING.bytes_of_stages() + warp * BOXES * BOX;
        let columns = 2 * N as u32;
        unroll::<4>(|i| {
            let chunk = i as u32;
            if chunk < columns / SIDE {
                let to = Tile::<T>::dynamic(first + chunk % BOXES * BOX, STORED);
                if lane == 0 {
                    // The box has been read that was here before: with one box per tile that is the last one. A tile of
                    // several boxes never follows one of a single box.
                    if columns == SIDE { bulk::wait_read::<0>() } else { bulk::wait_read::<1>() }
                }
                warp::sync_warp(FULL); // all lanes may write
                unroll::<4>(|q| {
                    let sum = |e: usize| alpha * sums[32 * i + 8 * q + e];
                    let two = |e: usize| T::nearest_two(sum(e), sum(e + 1));
                    let at = Tile::<T>::place(lane % STORED, (2 * q as u32 + lane / STORED) * T::PACK);
                    store_fragments(to.elements().slice(at, T::PACK), [two(0), two(2), two(4), two(6)]);
                });
                bulk::fence(); // the copy engine sees what the lanes wrote …
                warp::sync_warp(FULL); // … all of them
                if lane == 0 {
                    map.store(row + warp % 4 * STORED, column + chunk * SIDE, to);
                    bulk::commit();
                }
            }
        });
    }
}

/// Calls `f` with the number of each sum.
#[simt::device]
pub(super) fn each<const SUMS: usize>(mut f: impl FnMut(usize)) {
    unroll::<32>(|j| {
        if 4 * j < SUMS {
            unroll::<4>(|e| f(4 * j + e));
        }
    });
}
