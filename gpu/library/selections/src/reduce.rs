//! # Reduction in order
//!
//! Combines all elements into one, in their order, so that the operator need not be commutative. What a thread combines
//! is a [`Carry`]: a value ([`Combined`]), a key with its place, or the smallest and the largest key.
//!
//! Each warp has consecutive turns of [`ROWS`] rows of 32 packs of 16 bytes, which it loads all together. A lane
//! combines the elements of a pack. To keep the order, lanes are combined before rows. The rows share the steps: lanes
//! that differ in one bit exchange halves of their rows, so that each goes on with half as many (`combine_rows`); 12
//! shuffles per word take the place of 40. Warps and then blocks are combined in order; the block with the last ticket
//! combines the blocks, as in the last rung of the course's reductions.
//!
//! Which elements are combined first depends on their number, the alignment of the first one and the number of SMs, not
//! on timing: the same call gives the same bits in every run, also of floats and of operators that are not associative.
//!
//! **Bottleneck.** Memory for large inputs, which are read once. Each warp reads its own part of the input.

use crate::look_back::{Carry, Combined, MOST_WORDS, halves, whole};
use crate::{BLOCK, WARPS};
use rungs_common::aligned::Aligned;
use rungs_common::keys::{Key, Word};
use rungs_common::operator::Operator;
use rungs_common::state;
use simt::atomic::{Order, Scope};
use simt::warp::{WARP, lane_id};
use simt::{Global, Scalar, Shared, kernel, thread, unroll};

/// Multiplication: of integers modulo 2³² or 2⁶⁴, of floats rounded at each step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Product;

macro_rules! product {
    ($($T:ty: $one:expr, $times:expr;)*) => {$(
        impl Operator<$T> for Product {
            const IDENTITY: $T = $one;

            #[simt::device]
            fn combine(a: $T, b: $T) -> $T {
                $times(a, b)
            }
        }
    )*};
}
product! {
    u32: 1, u32::wrapping_mul;
    i32: 1, i32::wrapping_mul;
    u64: 1, u64::wrapping_mul;
    i64: 1, i64::wrapping_mul;
    f32: 1.0, core::ops::Mul::mul;
    f64: 1.0, core::ops::Mul::mul;
}

/// Loads of 16 bytes that a thread has in flight.
pub const ROWS: usize = 8;

/// Steps that combine the rows while halving them.
const HALVINGS: usize = ROWS.ilog2() as usize;

/// Blocks that an SM holds at once, which leaves 80 registers per thread.
pub const RESIDENT: u32 = 3;

/// Blocks of a large input for each block that can run at once: a block that ends early makes room for a waiting one.
const WAVES: u32 = 4;

/// Turns that a warp should have before the grid has more blocks than can run at once.
const TURNS: u32 = 4;

/// Packs of a turn.
const TURN: u32 = WARP * ROWS as u32;

/// Where the blocks' values begin in the workspace: 128 bytes after the ticket, which all blocks increment.
const VALUES: u32 = 32;

/// Blocks for `n` elements on a device with the given number of SMs. For no elements one block, which writes the
/// identity.
pub const fn grid<T: Scalar>(n: u32, sms: u32) -> u32 {
    let turns = n.div_ceil(T::PACK * TURN);
    let (one_each, long) = (turns.div_ceil(WARPS as u32), turns / (WARPS as u32 * TURNS));
    let (resident, most) = (sms * RESIDENT, sms * RESIDENT * WAVES);
    let few = if one_each < resident { one_each } else { resident };
    let many = if long < most { long } else { most };
    let blocks = if many > few { many } else { few };
    if blocks > 0 { blocks } else { 1 }
}

/// Words of the workspace for `blocks` blocks. The first is zero before a launch, and again after it.
pub const fn workspace(blocks: u32) -> u32 {
    VALUES + blocks * MOST_WORDS as u32
}

/// Bytes of dynamic shared memory: a value for each warp.
pub const SHARED_BYTES: u32 = 4 * WARPS as u32 * MOST_WORDS as u32;

/// Combines all elements by an operator, in their order, and writes the result to `output[0]`.
#[simt::device]
pub fn reduce<T: Scalar, O: Operator<T>>(input: Global<T>, output: Global<T>, workspace: Global<u32>) {
    if let Some(all) = combine(input, |x, _| Combined::<T, O>::new(x), workspace) {
        output.set(0, all.value);
    }
}

/// Multiplies all elements.
#[kernel(max_threads = BLOCK, min_blocks = RESIDENT, instances(
    product_u32: <u32>, product_i32: <i32>, product_f32: <f32>,
    product_u64: <u64>, product_i64: <i64>, product_f64: <f64>,
))]
pub fn product<T: Scalar>(input: Global<T>, output: Global<T>, workspace: Global<u32>)
where
    Product: Operator<T>,
{
    reduce::<T, Product>(input, output, workspace)
}

/// The place of the first key, in the order `order` (see [`rungs_common::keys`]), to `output[0]`; of equal keys, that
/// of the first. Without keys it is `u32::MAX`.
#[kernel(max_threads = BLOCK, min_blocks = RESIDENT, instances(first_place_u32: <u32>, first_place_u64: <u64>))]
pub fn first_place<W: Word + Key>(input: Global<W>, output: Global<u32>, workspace: Global<u32>, order: u32) {
    let item = |key: W, place| Placed { key: key.encode(order), place };
    if let Some(first) = combine(input, item, workspace) {
        output.set(0, first.place);
    }
}

/// The first and the last key in the order `order` to `output[0]` and `output[1]`. There is a key.
#[kernel(max_threads = BLOCK, min_blocks = RESIDENT, instances(extremes_u32: <u32>, extremes_u64: <u64>))]
pub fn extremes<W: Word + Key>(input: Global<W>, output: Global<W>, workspace: Global<u32>, order: u32) {
    let item = |key: W, _| Extremes { low: key.encode(order), high: key.encode(order) };
    if let Some(Extremes { low, high }) = combine(input, item, workspace) {
        output.set(0, low.decode(order));
        output.set(1, high.decode(order));
    }
}

/// A key and its place.
#[derive(Clone, Copy)]
struct Placed<W> {
    key: W,
    place: u32,
}

/// The place of no key: there are at most 2³² - 1, so the last place is below.
const NOWHERE: u32 = u32::MAX;

impl<W: Word + Key> Carry for Placed<W> {
    const WORDS: u32 = 1 + state::words::<W>();
    const NOTHING: Self = Self { key: W::LAST, place: NOWHERE };

    #[simt::device]
    fn then(self, next: Self) -> Self {
        // Of equal keys `self` stays: it comes first.
        if next.key < self.key || self.place == NOWHERE { next } else { self }
    }

    #[simt::device]
    fn to_words(self) -> [u32; MOST_WORDS] {
        let [low, high] = halves(self.key);
        [self.place, low, high, 0]
    }

    #[simt::device]
    fn from_words(words: [u32; MOST_WORDS]) -> Self {
        Self { key: whole(words[1], words[2]), place: words[0] }
    }
}

/// The smallest and the largest key.
#[derive(Clone, Copy)]
struct Extremes<W> {
    low: W,
    high: W,
}

impl<W: Word + Key> Carry for Extremes<W> {
    const WORDS: u32 = 2 * state::words::<W>();
    const NOTHING: Self = Self { low: W::LAST, high: W::FIRST };

    #[simt::device]
    fn then(self, next: Self) -> Self {
        Self { low: self.low.min(next.low), high: self.high.max(next.high) }
    }

    #[simt::device]
    fn to_words(self) -> [u32; MOST_WORDS] {
        let ([a, b], [c, d]) = (halves(self.low), halves(self.high));
        if state::words::<W>() == 1 { [a, c, 0, 0] } else { [a, b, c, d] }
    }

    #[simt::device]
    fn from_words([a, b, c, d]: [u32; MOST_WORDS]) -> Self {
        if state::words::<W>() == 1 {
            Self { low: whole(a, 0), high: whole(b, 0) }
        } else {
            Self { low: whole(a, b), high: whole(c, d) }
        }
    }
}

/// Combines all elements of `input`, of each what `item` makes of it and its place. One thread of the grid gets the
/// result.
#[simt::device]
fn combine<T: Scalar, C: Carry>(input: Global<T>, item: impl Fn(T, u32) -> C, workspace: Global<u32>) -> Option<C> {
    let (t, blocks) = (thread::thread_idx_x(), thread::grid_dim_x());
    let (aligned, n) = (Aligned::new(input), input.len());
    let (head, packs) = (aligned.head(), aligned.packs());
    let (warp, warps) = (thread::block_idx_x() * WARPS as u32 + t / WARP, blocks * WARPS as u32);
    // Consecutive turns for each warp, as many for each as possible.
    let turns = packs.div_ceil(TURN);
    let first_turn = |warp: u32| (turns as u64 * warp as u64 / warps as u64) as u32;
    let mut all = C::NOTHING;
    // The elements before the packs and behind them are fewer than 16 each: a whole warp combines them.
    let few = |all: C, from: u32, to: u32| (from..to).fold(all, |all, i| all.then(item(input.get(i), i)));
    if warp == 0 {
        all = few(all, 0, head);
    }
    for turn in first_turn(warp)..first_turn(warp + 1) {
        let at = |r: usize| turn * TURN + r as u32 * WARP + lane_id();
        let mut loaded = [T::Pack::default(); ROWS];
        unroll::<ROWS>(|r| {
            loaded[r] = aligned.body().get_pack_read_only_or(at(r), at(r) < packs, T::Pack::default());
        });
        let mut rows = [C::NOTHING; ROWS];
        unroll::<ROWS>(|r| {
            let mut row = C::NOTHING;
            unroll::<16>(|e| {
                if (e as u32) < T::PACK {
                    let next = item(loaded[r].as_ref()[e], head + at(r) * T::PACK + e as u32);
                    row = if e == 0 { next } else { row.then(next) };
                }
            });
            if at(r) < packs {
                rows[r] = row;
            }
        });
        all = all.then(combine_rows(rows));
    }
    if warp == warps - 1 {
        all = few(all, head + packs * T::PACK, n);
    }
    let all = combine_block(all);
    if blocks == 1 {
        return (t == 0).then_some(all);
    }
    let values = workspace.slice(VALUES, blocks * C::WORDS);
    // The `or` gives thread 0's answer to all threads. The barrier lets all of them see what thread 0 acquired, and
    // frees the shared memory.
    if !thread::sync_threads_or(t == 0 && is_last(values, all, workspace)) {
        return None;
    }
    // Consecutive blocks for each thread.
    let (share, mut all) = (blocks.div_ceil(BLOCK), C::NOTHING);
    for block in (t * share).min(blocks)..((t + 1) * share).min(blocks) {
        all = all.then(C::of_each(|i| values.get(block * C::WORDS + i as u32)));
    }
    unroll::<5>(|step| all = meet(all, all, 1 << step));
    let all = combine_block(all);
    if t == 0 {
        workspace.set(0, 0); // for the next launch
    }
    (t == 0).then_some(all)
}

/// Sends a value to the lane that differs in the bit `bit`, and combines the one received with `keep`; that of the
/// lower lane comes first.
#[simt::device]
fn meet<C: Carry>(keep: C, send: C, bit: u32) -> C {
    let received = send.at_lane(lane_id() ^ bit);
    let (first, second) = if lane_id() & bit == 0 { (keep, received) } else { (received, keep) };
    first.then(second)
}

/// Combines rows of values, each lane's in every row; rows in sequence. All lanes get the result.
#[simt::device]
fn combine_rows<C: Carry>(mut rows: [C; ROWS]) -> C {
    // Lanes that differ in one bit: the lower keeps the first half of the rows, the upper the second.
    unroll::<HALVINGS>(|step| {
        let (bit, half) = (1 << step, ROWS >> (step + 1));
        let lower = lane_id() & bit == 0;
        unroll::<{ ROWS / 2 }>(|r| {
            if r < half {
                let (keep, send) = if lower { (rows[r], rows[r + half]) } else { (rows[r + half], rows[r]) };
                rows[r] = meet(keep, send, bit);
            }
        });
    });
    // One row is left: each lane has one of the rows; these are groups of the warp's lanes.
    let mut all = rows[0];
    unroll::<5>(|step| {
        if step >= HALVINGS {
            all = meet(all, all, 1 << step);
        }
    });
    // The first step cut the rows into halves, the last into neighbours.
    unroll::<HALVINGS>(|step| all = meet(all, all, 1 << (HALVINGS - 1 - step)));
    all
}

/// Combines the values of the block's warps, of each that of its first lane. All threads get the result.
#[simt::device]
fn combine_block<C: Carry>(own: C) -> C {
    let warps = Shared::<u32>::dynamic(0, WARPS as u32 * C::WORDS);
    if lane_id() == 0 {
        own.for_each(|i, word| warps.set(thread::thread_idx_x() / WARP * C::WORDS + i, word));
    }
    thread::sync_threads(); // every warp's value is there before it is read
    let mut all = C::NOTHING;
    unroll::<WARPS>(|w| all = all.then(C::of_each(|i| warps.get(w as u32 * C::WORDS + i as u32))));
    all
}

/// Hands in the block's value; returns whether all other blocks of the grid have handed in theirs.
#[simt::device]
fn is_last<C: Carry>(values: Global<u32>, own: C, ticket: Global<u32>) -> bool {
    own.for_each(|i, word| values.set(thread::block_idx_x() * C::WORDS + i, word));
    // Release: a block that sees this ticket taken also sees the value. Acquire: the last block sees all values.
    ticket.fetch_add(0, 1, Order::AcqRel, Scope::Device) == thread::grid_dim_x() - 1
}

/// The kernels here, for the list of kernels that belong to no rung.
#[cfg(not(target_os = "cuda"))]
pub const KERNELS: &[&[&str]] = &[
    <product as simt::Instances>::NAMES,
    <first_place as simt::Instances>::NAMES,
    <extremes as simt::Instances>::NAMES,
];

#[cfg(not(target_os = "cuda"))]
pub mod launches {
    //! What the host launches, and the memory that it needs.

    use super::{BLOCK, SHARED_BYTES, grid, workspace};
    use rungs_common::ladder::*;

    /// The geometry of a reduction, and its workspace, ready for any number of launches.
    pub struct Prepared {
        /// Of the kernel.
        pub geometry: Geometry,
        workspace: Scratch<u32>,
    }

    impl Prepared {
        /// For `n` elements of type `T`.
        ///
        /// # Errors
        /// [`Failed::Machine`] if there is no memory.
        pub fn new<T: Scalar>(on: &dyn Launcher, n: u32) -> Result<Self> {
            let blocks = grid::<T>(n, on.device().multiprocessors);
            let geometry = Geometry::linear(blocks, BLOCK).shared(SHARED_BYTES);
            // Cleared once: every launch sets the ticket back to zero.
            Ok(Self { geometry, workspace: on.zeros(workspace(blocks))? })
        }

        /// The kernel's workspace.
        pub fn workspace(&self) -> Global<u32> {
            self.workspace.view()
        }
    }
}
