//! A pass by one digit: every key, and value, to its place.
//!
//! It is the pass of `onesweep`, opened up for launches that do something else if keys spread, that do all passes, or
//! that load the next tile while one is written out.

use crate::digits::{AGGREGATE, BITS, DIGITS, PREFIX, look_back, state};
use crate::steps::{Digits, block_scan};
use core::marker::PhantomData;
use rungs_common::keys::UNSIGNED;
use rungs_radix::r7_onesweep::ranks::rank_rows;
pub use rungs_radix::r7_onesweep::{Digit, KeysOnly, Payload, WithValues};
use rungs_radix::{count_of_digit, place_digit};
use simt::atomic::{Order::Relaxed, Scope};
use simt::{Global, Scalar, Shared, grid, opaque, shared, thread, unroll, warp};

/// Threads per block.
pub const PASS_THREADS: u32 = 512;

const WARPS: u32 = PASS_THREADS / warp::WARP;

/// Keys of 4 bytes per thread; half as many of 8.
pub(crate) const ITEMS: usize = 16;

/// Keys per thread.
const fn items<W>() -> u32 {
    (ITEMS * 4 / size_of::<W>()) as u32
}

/// Keys per tile.
pub const fn pass_tile<W: Scalar>() -> u32 {
    PASS_THREADS * items::<W>()
}

/// Bytes of dynamic shared memory: the tile in order. Before that, the same bytes hold a counter and a set of lanes for
/// each warp and digit.
pub const PASS_SHARED: u32 = PASS_THREADS * ITEMS as u32 * 4;
const _: () = assert!(2 * WARPS * DIGITS * 4 <= PASS_SHARED);

shared!(TILE: [u32; 1]);
shared!(OFFSETS: [u32; DIGITS]);
shared!(SUMS: [u32; WARPS]);

/// Added to an order (see [`rungs_common::keys`]): keys are mapped to codes too, or back.
pub(crate) const CODED: u32 = 1 << 3;

/// What stands for the words of keys while passes move them.
pub(crate) trait Coding<W>: Copy {
    /// Whether orders may be [`CODED`].
    const CODES: bool;
    /// The code of a word.
    fn code(self, word: W) -> W;
    /// The word of a code.
    fn word(self, code: W) -> W;
    /// Where the value of this thread starts in a byte of the codes.
    fn start(self, byte: u32) -> u32;
}

/// Nothing stands for words.
#[derive(Clone, Copy)]
pub(crate) struct NoCodes;

impl<W> Coding<W> for NoCodes {
    const CODES: bool = false;

    #[simt::device]
    fn code(self, word: W) -> W {
        word
    }

    #[simt::device]
    fn word(self, code: W) -> W {
        code
    }

    #[simt::device]
    fn start(self, _: u32) -> u32 {
        0
    }
}

/// Moves each key of a tile to its place in `output` by a digit, and its value with it. `starts`: where each value of
/// this digit starts. `ticket`: zero. `states`: 256 words per tile. `go_on` is called once the grid before has ended;
/// if it returns false, the same for all threads of a block, nothing is moved.
#[simt::device]
#[track_caller]
#[allow(clippy::too_many_arguments)]
#[rustfmt::skip]
pub(in crate) fn pass<W: Digits, P: Payload>(
    input: Global<W>, output: Global<W>, [values_in, values_out]: [Global<u32>; 2], digit: Digit,
    starts: Global<u32>, ticket: Global<u32>, states: Global<u64>, go_on: impl FnOnce() -> bool,
) {
    grid::let_next_start();
    clear_pass();
    grid::wait_for_previous(); // keys, starts and the ticket
    if !go_on() {
        return;
    }
    let (start, values) = (|| starts.get(thread::thread_idx_x()), || [values_in, values_out]);
    let tile = take_tile(ticket);
    let mine = load_tile(tile, input, digit.encode, NoCodes);
    pass_loaded::<W, P>(tile, mine, || [input, output], values, || digit, start, states, Nothing, NoCodes);
}

/// The number of the tile that the block takes, once it has [cleared](clear_pass) its counters. Tiles are taken in
/// order, so that those which a block waits for have been taken by running blocks.
#[simt::device]
#[track_caller]
pub(crate) fn take_tile(ticket: Global<u32>) -> u32 {
    if thread::thread_idx_x() == 0 {
        TILE::view().set(0, ticket.fetch_add(0, 1, Relaxed, Scope::Device));
    }
    thread::sync_threads(); // the tile is known, and the warp's counters are zero
    TILE::view().get(0)
}

/// The counters of this warp, one for each digit, and its sets of lanes.
#[simt::device]
fn of_warp() -> [Shared<u32>; 2] {
    let w = thread::thread_idx_x() / warp::WARP;
    [w, WARPS + w].map(|row| Shared::<u32>::dynamic(row * DIGITS * 4, DIGITS))
}

/// The keys of this thread in a tile.
#[simt::device]
pub(crate) fn load_tile<W: Digits>(number: u32, input: Global<W>, order: u32, coding: impl Coding<W>) -> [W; ITEMS] {
    Tile::<W>::new(number, input.len()).load(input, order, coding)
}

/// Writes the words of this thread to where [`load_tile`] reads them.
#[simt::device]
pub(crate) fn store_tile<W: Digits>(number: u32, output: Global<W>, words: &[W; ITEMS]) {
    let tile = Tile::<W>::new(number, output.len());
    // Addresses made for each tile, not kept in registers.
    let (mine, first) = (output.slice(tile.begin, tile.count), opaque(tile.first));
    rows::<W>(|i| {
        let at = first + i as u32 * warp::WARP;
        if at < tile.count {
            mine.set(at, words[i]);
        }
    });
}

/// Moves the keys of a tile, of which each thread has `mine`, see [`load_tile`], once the warp's counters are
/// [cleared](clear_pass). Returns the thread's keys of the next tile, which `ahead` loads. Tiles are begun in the order
/// of their numbers: the block waits for those before. `start_of`: where the digit of the thread starts; threads from
/// [`DIGITS`] on do not ask. `keys`, `values` and `digit` are asked for again after barriers, so that they take no
/// registers in between where they come from shared memory. `coding`: of keys whose order is [`CODED`].
#[simt::device]
#[track_caller]
#[allow(clippy::too_many_arguments)]
#[rustfmt::skip]
pub(in crate) fn pass_loaded<W: Digits, P: Payload>(
    number: u32, mine: [W; ITEMS], keys: impl Fn() -> [Global<W>; 2], values: impl Fn() -> [Global<u32>; 2],
    digit: impl Fn() -> Digit, start_of: impl FnOnce() -> u32, states: Global<u64>, ahead: impl Ahead<W>,
    coding: impl Coding<W>,
) -> [W; ITEMS] {
    let t = thread::thread_idx_x();
    let (counters, [own, lanes]) = (Shared::<u32>::dynamic(0, WARPS * DIGITS), of_warp());
    let tile = Tile::<W>::new(number, keys()[0].len());

    let mut ranks = rank_rows(&mine, items::<W>(), digit().shift, own, lanes);
    thread::sync_threads(); // every warp has counted its keys before the counts are added up

    let total = publish_own(counters, states, tile.number, digit().epoch);
    let drawn = ahead.draw(); // on its way until it is told
    let start = start_digits(counters, total);
    thread::sync_threads(); // every warp and digit knows its place in the tile
    let shift = digit().shift;
    rows::<W>(|i| ranks[i] += own.get(mine[i].digit(shift, BITS)));
    thread::sync_threads(); // all have read the counters before keys overwrite them
    let sorted = Shared::<W>::dynamic(0, pass_tile::<W>());
    rows::<W>(|i| sorted.set(ranks[i], mine[i]));
    if t < DIGITS {
        // The start is on its way while the block looks back.
        let (epoch, start_of_all) = (digit().epoch, start_of());
        let before = look_back(states, tile.number, tile.number, epoch);
        if tile.number > 0 {
            let state = state(epoch, PREFIX, before + total);
            states.store(tile.number * DIGITS + t, state, Relaxed, Scope::Device);
        }
        // The difference between the places in the output and in the tile; it may be below zero, and wraps.
        OFFSETS::view().set(t, (start_of_all + before).wrapping_sub(start));
    }
    ahead.tell(drawn);
    thread::sync_threads(); // the tile is in order, the offsets and the next tile are known before keys are written out

    let (Digit { shift, decode, .. }, [_, output]) = (digit(), keys());
    let next = ahead.load(); // on their way while these are written out
    // With values, places are made again and not kept from before: registers are few.
    let t = if P::VALUES { opaque(t) } else { t };
    let digits = tile.store::<P, _>(t, sorted, output, |key| key.digit(shift, BITS), decode, coding);
    if P::VALUES {
        let [values_in, values_out] = values();
        tile.move_values(sorted.cast(), values_in, values_out, &ranks, digits);
    }
    next
}

/// Zeroes the counters and the sets of lanes of this warp. What the block had in shared memory must be done with.
#[simt::device]
pub(crate) fn clear_pass() {
    let [own, lanes] = of_warp();
    let lane = warp::lane_id();
    unroll::<{ (DIGITS / warp::WARP) as usize }>(|i| {
        own.set(i as u32 * warp::WARP + lane, 0);
        lanes.set(i as u32 * warp::WARP + lane, 0);
    });
}

/// The keys of a block: `count` of the input, from key `begin` on.
struct Tile<W> {
    number: u32,
    begin: u32,
    count: u32,
    /// Where the first row of this thread's warp has the thread's key.
    first: u32,
    word: PhantomData<W>,
}

impl<W: Digits> Tile<W> {
    #[simt::device]
    fn new(number: u32, n: u32) -> Self {
        let (t, lane) = (thread::thread_idx_x(), warp::lane_id());
        let begin = number * pass_tile::<W>();
        let first = t / warp::WARP * (items::<W>() * warp::WARP) + lane;
        Self { number, begin, count: (n - begin).min(pass_tile::<W>()), first, word: PhantomData }
    }

    /// The keys of this thread. One past the end counts as the largest: it is the last of its digit, and is not stored.
    #[simt::device]
    #[rustfmt::skip]
    fn load<C: Coding<W>>(&self, input: Global<W>, order: u32, coding: C) -> [W; ITEMS] {
        let &Self { begin, count, first, .. } = self;
        let mut keys = [W::LARGEST; ITEMS];
        let mine = input.slice(begin, count);
        if count == pass_tile::<W>() {
            let mine = mine.slice(first, count - first);
            rows::<W>(|i| keys[i] = mine.get_streaming(i as u32 * warp::WARP));
        } else {
            rows::<W>(|i| if first + i as u32 * warp::WARP < count {
                keys[i] = mine.get_streaming(first + i as u32 * warp::WARP);
            });
        }
        if C::CODES && order & CODED != 0 {
            rows::<W>(|i| if first + i as u32 * warp::WARP < count {
                keys[i] = coding.code(keys[i].encode(order ^ CODED));
            });
        } else if order != UNSIGNED {
            rows::<W>(|i| if first + i as u32 * warp::WARP < count {
                keys[i] = keys[i].encode(order);
            });
        }
        keys
    }

    /// Writes the `sorted` keys out, in thread `t`. Returns the digits that this thread wrote, four per word: they say
    /// where values go.
    #[simt::device]
    #[rustfmt::skip]
    fn store<P: Payload, C: Coding<W>>(
        &self, t: u32, sorted: Shared<W>, output: Global<W>, digit: impl Fn(W) -> u32, order: u32, coding: C,
    ) -> [u32; ITEMS / 4] {
        if P::VALUES && order == UNSIGNED {
            return self.store_as(t, sorted, output, digit, |key| key);
        }
        if C::CODES {
            return self.store_as(t, sorted, output, digit, |code| coding.word(code).decode(order ^ CODED));
        }
        self.store_as(t, sorted, output, digit, |key| if order == UNSIGNED { key } else { key.decode(order) })
    }

    /// [`Tile::store`] of keys that `as_key` maps.
    #[simt::device]
    #[rustfmt::skip]
    fn store_as(
        &self, t: u32, sorted: Shared<W>, output: Global<W>, digit: impl Fn(W) -> u32, as_key: impl Fn(W) -> W,
    ) -> [u32; ITEMS / 4] {
        let mut digits = [0; ITEMS / 4];
        rows::<W>(|i| {
            let place = i as u32 * PASS_THREADS + t;
            let key = sorted.get(place);
            digits[i / 4] |= digit(key) << (i % 4 * 8);
            if place < self.count {
                let to = OFFSETS::view().get(digit(key)).wrapping_add(place);
                output.set(to, as_key(key));
            }
        });
        digits
    }

    /// Moves the values the way that the keys have gone.
    #[simt::device]
    #[track_caller]
    #[rustfmt::skip]
    fn move_values(
        &self, sorted: Shared<u32>, input: Global<u32>, output: Global<u32>, ranks: &[u32; ITEMS],
        digits: [u32; ITEMS / 4],
    ) {
        let &Self { begin, count, .. } = self;
        let mine = input.slice(begin, count);
        // Bounds checks made again, not kept from before.
        let (mut values, first, t) = ([0; ITEMS], opaque(self.first), opaque(thread::thread_idx_x()));
        rows::<W>(|i| if first + i as u32 * warp::WARP < count {
            values[i] = mine.get_streaming(first + i as u32 * warp::WARP);
        });
        thread::sync_threads(); // the keys have been read before values overwrite them
        rows::<W>(|i| sorted.set(ranks[i], values[i]));
        thread::sync_threads(); // the values are in order before they are written out
        rows::<W>(|i| {
            let place = i as u32 * PASS_THREADS + t;
            if place < count {
                let digit = digits[i / 4] >> (i % 4 * 8) & (DIGITS - 1);
                output.set(OFFSETS::view().get(digit).wrapping_add(place), sorted.get(place));
            }
        });
    }
}

/// Thread t adds up the keys of digit t, and tells the tiles behind this one as early as it can. Returns the sum.
#[simt::device]
fn publish_own(counters: Shared<u32>, states: Global<u64>, tile: u32, epoch: u32) -> u32 {
    let (mut total, t) = (0, thread::thread_idx_x());
    if t < DIGITS {
        total = count_of_digit::<{ WARPS as usize }>(counters, t);
        let kind = if tile == 0 { PREFIX } else { AGGREGATE };
        states.store(tile * DIGITS + t, state(epoch, kind, total), Relaxed, Scope::Device);
    }
    total
}

/// Turns the counts of the tile into places in it, digit by digit and within a digit warp by warp. Returns where the
/// digit of this thread starts.
#[simt::device]
#[track_caller]
fn start_digits(counters: Shared<u32>, total: u32) -> u32 {
    let t = thread::thread_idx_x();
    let (start, _) = block_scan::<WARPS>(total, SUMS::view());
    if t < DIGITS {
        place_digit::<{ WARPS as usize }>(counters, t, start);
    }
    start
}

/// Calls `f` with the index of each row.
#[simt::device]
fn rows<W>(mut f: impl FnMut(usize)) {
    unroll::<ITEMS>(|i| {
        if (i as u32) < items::<W>() {
            f(i);
        }
    });
}

/// What a block prepares for its next tile while it moves one.
pub(crate) trait Ahead<W> {
    /// Draws the number of the next tile, in one thread.
    fn draw(&self) -> u32;
    /// Tells the block the number that the thread has drawn; a barrier follows.
    fn tell(&self, number: u32);
    /// The keys of this thread in the next tile.
    fn load(&self) -> [W; ITEMS];
}

/// There is no next tile.
pub(crate) struct Nothing;

impl<W: Digits> Ahead<W> for Nothing {
    #[simt::device]
    fn draw(&self) -> u32 {
        0
    }

    #[simt::device]
    fn tell(&self, _: u32) {}

    #[simt::device]
    fn load(&self) -> [W; ITEMS] {
        [W::LARGEST; ITEMS]
    }
}
