//! Runs of equal keys by look-ahead: their lengths, their values combined, and scans inside them.
//!
//! The mechanism is that of selections: the first key of a run is kept. Values lie behind the keys in a stage of the
//! ring, in a second tile with room in front of it. A tile hands on how many runs begin in it and the values since the
//! last began ([`Runs`]). A key that begins a run ends the one before, whose values are then known. They take the place
//! of the key among the kept ones, but leave one place further to the front. So values are compacted as keys are, and
//! one bulk copy stores each. Nobody follows the last run: the copier writes its values with the number of runs.
//!
//! A scan by key keeps nothing. Its results replace the values in the stage.
//!
//! **Threads.** A thread has 28 keys and values of 4 bytes, 14 of 8 bytes, 18 keys of 8 bytes with values of 4, and 20
//! keys of 4 bytes with values of 8: a stage has 28 to 32 KiB, and the ring 7 or 8 stages.
//!
//! **Limits.** Keys and values of 4 and 8 bytes; lengths, sums, and operators of your own. The others are those of
//! [`crate::look_ahead`].

use super::ring::{Part, Staged, load_end, start_load, store};
use super::{BLOCK, FRONT, Items, Job, Known, SQUAD, Shape, each, is_kept, place, run};
use crate::compact::FirstOfRun;
use crate::look_back::{Carry, Runs};
use core::marker::PhantomData;
use rungs_common::operator::{Operator, Sum};
use rungs_common::state;
use simt::mbarrier::Mbarrier;
use simt::{Global, Scalar, Shared, kernel, unroll};

/// Packs of keys per thread and tile.
const fn vectors<K, V>() -> usize {
    match (size_of::<K>(), size_of::<V>()) {
        (4, 8) => 5,
        (8, 4) => 9,
        _ => 7,
    }
}

/// Bytes of a value for each key, and the room in front of them.
const fn behind<K: Scalar, V>(vectors: usize) -> u32 {
    FRONT + SQUAD * vectors as u32 * K::PACK * size_of::<V>() as u32
}

/// How runs of keys of type `K`, with values of type `V`, divide items and memory.
pub const fn shape<K: Scalar, V>() -> Shape {
    let (vectors, words) = (vectors::<K, V>(), state::words::<V>());
    let shape = Shape::new::<K>(vectors, behind::<K, V>(vectors), 1 + words, words);
    assert!(shape.tile <= u16::MAX as u32, "a state has 16 bits for a tile's runs");
    shape
}

/// Whether keys and values of these types run by looking ahead where the device can.
pub const fn ahead<K, V>() -> bool {
    size_of::<K>() >= 4 && size_of::<V>() >= 4
}

/// [`reduce_by_key`](crate::by_key::reduce_by_key) for keys and values that begin on multiples of 16 bytes.
#[kernel(sm_90, max_threads = BLOCK, min_blocks = 1, instances([u32, u64] * [u32, f32, u64, f64] * [Sum]))]
pub fn reduce_by_key_look_ahead<K: Scalar, V: Scalar, O: Operator<V>>(
    keys: Global<K>,
    values: Global<V>,
    limit: Global<u32>,
    unique: Global<K>,
    sums: Global<V>,
    count: Global<u32>,
    workspace: Global<u64>,
) {
    reduce::<K, V, O>(keys, values, limit, (unique, sums, count), workspace)
}

/// [`lengths_by_key`](crate::by_key::lengths_by_key), likewise.
#[kernel(sm_90, max_threads = BLOCK, min_blocks = 1, instances(
    lengths_by_key_look_ahead_u32: <u32>, lengths_by_key_look_ahead_u64: <u64>,
))]
pub fn lengths_by_key_look_ahead<K: Scalar>(
    keys: Global<K>,
    limit: Global<u32>,
    unique: Global<K>,
    lengths: Global<u32>,
    count: Global<u32>,
    workspace: Global<u64>,
) {
    let output = Reduced { unique, sums: lengths, count };
    by_vectors(keys, limit, workspace, ByKey::<_, Sum, _, true> { values: lengths, output, operator: PhantomData })
}

/// [`scan_by_key`](crate::by_key::scan_by_key), likewise.
#[kernel(sm_90, max_threads = BLOCK, min_blocks = 1, instances([u32, u64] * [u32, f32, u64, f64] * [Sum]))]
pub fn scan_by_key_look_ahead<K: Scalar, V: Scalar, O: Operator<V>>(
    keys: Global<K>,
    values: Global<V>,
    output: Global<V>,
    workspace: Global<u64>,
    exclusive: u32,
) {
    let (output, operator) = (Scanned { output, is_exclusive: exclusive != 0 }, PhantomData::<O>);
    // A view without elements: there is no limit.
    let limit = keys.slice(0, 0).cast();
    by_vectors(keys, limit, workspace, ByKey::<_, O, _, false> { values, output, operator })
}

/// Writes the key of each run, its values, combined, and the number of runs to the three outputs. With keys or values
/// of less than 4 bytes nothing is launched.
#[simt::device]
pub fn reduce<K: Scalar, V: Scalar, O: Operator<V>>(
    keys: Global<K>,
    values: Global<V>,
    limit: Global<u32>,
    (unique, sums, count): (Global<K>, Global<V>, Global<u32>),
    workspace: Global<u64>,
) {
    let (output, operator) = (Reduced { unique, sums, count }, PhantomData::<O>);
    if const { ahead::<K, V>() } {
        by_vectors(keys, limit, workspace, ByKey::<_, O, _, false> { values, output, operator });
    }
}

#[simt::device]
fn by_vectors<K: Scalar, V: Scalar, O: Operator<V>, W: Output<K, V, O>, const LENGTHS: bool>(
    keys: Global<K>,
    limit: Global<u32>,
    workspace: Global<u64>,
    job: ByKey<V, O, W, LENGTHS>,
) {
    match const { vectors::<K, V>() } {
        5 => run::<K, _, 5>(keys, limit, workspace, job),
        7 => run::<K, _, 7>(keys, limit, workspace, job),
        _ => run::<K, _, 9>(keys, limit, workspace, job),
    }
}

/// Combines values by key; with `LENGTHS` there are no values, each is 1.
struct ByKey<V, O, W, const LENGTHS: bool> {
    values: Global<V>,
    output: W,
    operator: PhantomData<O>,
}

impl<V, O, W: Copy, const LENGTHS: bool> Clone for ByKey<V, O, W, LENGTHS> {
    #[simt::device]
    fn clone(&self) -> Self {
        *self
    }
}

impl<V, O, W: Copy, const LENGTHS: bool> Copy for ByKey<V, O, W, LENGTHS> {}

/// Where the results go.
trait Output<K: Scalar, V: Scalar, O: Operator<V>>: Copy {
    /// As [`Job::put`].
    fn put<const VECTORS: usize>(
        self,
        tile: Staged<K>,
        items: Items<'_, K, Values<V, VECTORS>, VECTORS>,
        known: Known<Runs<V, O>>,
        t: u32,
    );
    /// As [`Job::store`].
    fn store(self, tile: Staged<K>, before: u32, here: u32);
    /// As [`Job::finish`].
    fn finish(self, all: Runs<V, O>);
}

/// A thread's values: up to 4 for each pack of keys.
type Values<V, const VECTORS: usize> = [[V; 4]; VECTORS];

impl<K, V, O, W, const LENGTHS: bool, const VECTORS: usize> Job<K, VECTORS> for ByKey<V, O, W, LENGTHS>
where
    K: Scalar,
    V: Scalar,
    O: Operator<V>,
    W: Output<K, V, O>,
{
    type Keep = FirstOfRun;
    type Hands = Runs<V, O>;
    type Beside = Values<V, VECTORS>;
    const BEHIND: u32 = behind::<K, V>(VECTORS);

    #[simt::device]
    fn keep(self) -> FirstOfRun {
        FirstOfRun
    }

    /// The values; identities where there is no key, or ones everywhere.
    #[simt::device]
    fn beside(self, tile: Staged<K>, t: u32) -> Values<V, VECTORS> {
        if LENGTHS {
            return [[V::from_bits_64(1); 4]; VECTORS];
        }
        let (mut values, staged) = ([[O::IDENTITY; 4]; VECTORS], staged::<K, V>(tile));
        if tile.is_whole() {
            packed::<K, V, VECTORS>(t, |v, at, first, len| {
                if len == 2 && V::PACK == 4 {
                    let both = staged.cast::<u64>().get(at);
                    (values[v][0], values[v][1]) =
                        (V::from_bits_64(both & u32::MAX as u64), V::from_bits_64(both >> 32));
                } else {
                    let pack = staged.get_pack(at);
                    unroll::<4>(|j| {
                        if j < len {
                            values[v][first + j] = pack.as_ref()[j];
                        }
                    });
                }
            });
        } else {
            each::<K, VECTORS>(|v, j| {
                let i = place::<K, VECTORS>(t, v, j);
                if i < tile.len {
                    values[v][j] = staged.get(i);
                }
            });
        }
        values
    }

    #[simt::device]
    fn own(self, tile: Staged<K>, kept: [u32; 2], values: &Values<V, VECTORS>, t: u32) -> Runs<V, O> {
        let mut sum = O::IDENTITY;
        each::<K, VECTORS>(|v, j| {
            sum = if is_kept(kept, v, j) { values[v][j] } else { O::combine(sum, values[v][j]) };
        });
        if LENGTHS {
            // The keys that are not there, which are the last ones and begin no run, have been counted too.
            let there = tile.len.saturating_sub(place::<K, VECTORS>(t, 0, 0)).min(VECTORS as u32 * K::PACK);
            sum = V::from_bits_64(sum.to_bits_64() - (VECTORS as u32 * K::PACK - there) as u64);
        }
        Runs::new(kept[0].count_ones() + kept[1].count_ones(), sum)
    }

    #[simt::device]
    fn put(self, tile: Staged<K>, items: Items<'_, K, Values<V, VECTORS>, VECTORS>, known: Known<Runs<V, O>>, t: u32) {
        self.output.put(tile, items, known, t);
    }

    #[simt::device]
    fn load(self, tile: Staged<K>, input: Global<K>, front: u32, full: Mbarrier) {
        let keys = tile.copied(input, front);
        let mut bytes = keys.0.len() * size_of::<K>() as u32;
        if LENGTHS {
            full.arrive_expecting(bytes);
        } else {
            let values = load_end(staged(tile), self.values.slice(tile.start(), tile.len));
            bytes += values.0.len() * size_of::<V>() as u32;
            full.arrive_expecting(bytes);
            start_load(values, full);
        }
        start_load(keys, full);
    }

    #[simt::device]
    fn store(self, tile: Staged<K>, before: Runs<V, O>, here: Runs<V, O>) {
        self.output.store(tile, before.count, here.count);
    }

    #[simt::device]
    fn finish(self, all: Runs<V, O>, _: u32) {
        self.output.finish(all);
    }
}

/// The places of a tile's values.
#[simt::device]
fn staged<K: Scalar, V: Scalar>(tile: Staged<K>) -> Shared<V> {
    let room = tile.beside::<V>();
    room.slice(V::PACK, room.len() - V::PACK)
}

/// Calls `f` for the vector accesses to a thread's values: the pack of keys, which access in units of its size, the
/// first value that it moves of those of the pack, and how many it moves. Two values of 4 bytes are 8 bytes; otherwise
/// an access is a pack.
#[simt::device]
fn packed<K: Scalar, V: Scalar, const VECTORS: usize>(t: u32, mut f: impl FnMut(usize, u32, usize, usize)) {
    let len = K::PACK.min(V::PACK) as usize;
    unroll::<VECTORS>(|v| {
        unroll::<2>(|half| {
            let accesses = K::PACK as usize / len;
            if half < accesses {
                f(v, (t * VECTORS as u32 + v as u32) * accesses as u32 + half as u32, half * len, len);
            }
        });
    });
}

/// The key of each run, and its values, combined.
struct Reduced<K, V> {
    unique: Global<K>,
    sums: Global<V>,
    count: Global<u32>,
}

impl<K, V> Clone for Reduced<K, V> {
    #[simt::device]
    fn clone(&self) -> Self {
        *self
    }
}

impl<K, V> Copy for Reduced<K, V> {}

impl<K: Scalar, V: Scalar> Reduced<K, V> {
    /// The keys that begin a run in a tile, and the values of the runs that end there: `here` of them, with `before` in
    /// the tiles before.
    #[simt::device]
    fn parts(before: u32, here: u32) -> (Part, Part) {
        // The first run of all ends none.
        let ends = u32::from(before > 0);
        let values = Part { first: place_of_end::<V>(before) + 1 - ends, to: before - ends, len: here + ends - 1 };
        (Part { first: before % K::PACK, to: before, len: here }, values)
    }
}

/// Where in the stage the values stand that end with the first run to begin in a tile, with `before` runs before.
#[simt::device]
fn place_of_end<V: Scalar>(before: u32) -> u32 {
    before.wrapping_sub(1) % V::PACK
}

impl<K: Scalar, V: Scalar, O: Operator<V>> Output<K, V, O> for Reduced<K, V> {
    #[simt::device]
    fn put<const VECTORS: usize>(
        self,
        tile: Staged<K>,
        items: Items<'_, K, Values<V, VECTORS>, VECTORS>,
        known: Known<Runs<V, O>>,
        _: u32,
    ) {
        let (before, room) = (known.before.count, tile.beside::<V>());
        let mut next = before % K::PACK + known.own.count;
        let mut next_end = place_of_end::<V>(before) + known.own.count;
        let mut sum = known.before.then(known.own).sum;
        each::<K, VECTORS>(|v, j| {
            let value = items.beside[v][j];
            if items.is_kept(v, j) {
                tile.room.set(next, items.get(v, j));
                room.set(next_end, sum);
                (next, next_end, sum) = (next + 1, next_end + 1, value);
            } else {
                sum = O::combine(sum, value);
            }
        });
    }

    #[simt::device]
    fn store(self, tile: Staged<K>, before: u32, here: u32) {
        let (keys, values) = Self::parts(before, here);
        store(tile.room, keys, self.unique);
        store(tile.beside::<V>(), values, self.sums);
    }

    #[simt::device]
    fn finish(self, all: Runs<V, O>) {
        self.count.set(0, all.count);
        if all.count > 0 {
            self.sums.set(all.count - 1, all.sum);
        }
    }
}

/// Results in the places of the values.
#[derive(Clone, Copy)]
struct Scanned<V> {
    output: Global<V>,
    is_exclusive: bool,
}

impl<K: Scalar, V: Scalar, O: Operator<V>> Output<K, V, O> for Scanned<V> {
    #[simt::device]
    fn put<const VECTORS: usize>(
        self,
        tile: Staged<K>,
        items: Items<'_, K, Values<V, VECTORS>, VECTORS>,
        known: Known<Runs<V, O>>,
        t: u32,
    ) {
        let (mut sum, mut results) = (known.before.then(known.own).sum, [[O::IDENTITY; 4]; VECTORS]);
        each::<K, VECTORS>(|v, j| {
            let (value, is_head) = (items.beside[v][j], items.is_kept(v, j));
            let before = if is_head { O::IDENTITY } else { sum };
            sum = if is_head { value } else { O::combine(sum, value) };
            results[v][j] = if self.is_exclusive { before } else { sum };
        });
        // Places behind the last key are in the stage, too; nothing there is stored.
        let staged = staged::<K, V>(tile);
        packed::<K, V, VECTORS>(t, |v, at, first, len| {
            if len == 2 && V::PACK == 4 {
                staged.cast::<u64>().set(at, results[v][1].to_bits_64() << 32 | results[v][0].to_bits_64());
            } else {
                let mut pack = V::Pack::default();
                unroll::<4>(|j| {
                    if j < len {
                        pack.as_mut()[j] = results[v][first + j];
                    }
                });
                staged.set_pack(at, pack);
            }
        });
    }

    #[simt::device]
    fn store(self, tile: Staged<K>, _: u32, _: u32) {
        store(tile.beside::<V>(), Part { first: V::PACK, to: tile.start(), len: tile.len }, self.output);
    }

    #[simt::device]
    fn finish(self, _: Runs<V, O>) {}
}
