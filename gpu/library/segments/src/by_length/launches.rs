//! What the host launches.

use super::digits::segmented_sort_by_length_digits as digits;
use super::items::{Items, Keys32, Keys64, Pairs32};
use super::short::segmented_sort_by_length_short as short;
use super::sort::segmented_sort_by_length_sort as sort;
use super::split::{cut_shared, segmented_sort_by_length_cut as cut, segmented_sort_by_length_plan as plan};
use super::work::{COUNTERS, control_len, lists_len, rooms_len};
use super::*;
use rungs_common::keys::{Key, Word};
use rungs_common::ladder::segmented_sort::*;
use std::boxed::Box;

/// The ladder of segmented sorts.
pub static LADDER: Ladder<&dyn SegmentedSort> =
    Ladder { family: "segmented-sort", about: "sort of each segment of a vector", rungs: &[&RUNG], default: &RUNG };

/// The sort.
pub static RUNG: Entry<&dyn SegmentedSort> = rung!("mod.rs", [short, plan, cut, sort, digits])
    .with_capacity(MAX_KEYS as u64)
    .with_tiles(&[IN_LANE as u64, SHORT as u64, 8192])
    .run_by(&ByLength);

struct ByLength;

impl SegmentedSort for ByLength {
    fn narrow(&self, on: &dyn Launcher, n: u32) -> Result<Launches<Segments<u32>>> {
        let launches = launches::<Keys32, _, _>(on, n)?;
        Ok(Box::new(move |on, Segments { keys, offsets, order }| {
            let none = keys.slice(0, 0);
            launches(on, Args { keys, order, values: none, moved: none, offsets })
        }))
    }

    fn wide(&self, on: &dyn Launcher, n: u32) -> Result<Launches<Segments<u64>>> {
        let launches = launches::<Keys64, _, _>(on, n)?;
        Ok(Box::new(move |on, Segments { keys, offsets, order }| {
            let none = offsets.slice(0, 0);
            launches(on, Args { keys, order, values: none, moved: none, offsets })
        }))
    }

    fn pairs(&self, on: &dyn Launcher, n: u32) -> Result<Launches<SegmentedPairs>> {
        let launches = launches::<Pairs32, _, _>(on, n)?;
        Ok(Box::new(move |on, SegmentedPairs { keys, values, moved, offsets, order }| {
            launches(on, Args { keys, order, values, moved, offsets })
        }))
    }
}

/// All views of a sort.
struct Args<P: Items> {
    keys: Global<P::Key>,
    order: u32,
    values: Global<u32>,
    moved: Global<u32>,
    offsets: Global<u32>,
}

/// What kernels after the first take.
type Rest<K, W> = (Global<K>, u32, Global<u32>, Global<u32>, Global<u32>, Global<u64>, Global<W>);

/// The launches for `n` keys, with their scratch memory.
fn launches<P: Items<Key = K, Word = W>, K: Scalar, W: Key + Word>(
    on: &dyn Launcher,
    n: u32,
) -> Result<impl Fn(&dyn Launcher, Args<P>) -> Result + use<P, K, W>>
where
    short<P, K, W>:
        Kernel<Args = (Global<K>, u32, Global<u32>, Global<u32>, Global<u32>, Global<u32>, Global<u64>, Global<W>)>,
    plan<P, K, W>: Kernel<Args = Rest<K, W>>,
    cut<P, K, W>: Kernel<Args = Rest<K, W>>,
    sort<P, K, W>: Kernel<Args = Rest<K, W>>,
    digits<P, K, W>: Kernel<Args = Rest<K, W>>,
{
    let multiprocessors = on.device().multiprocessors;
    let (has_lists, has_long) = (n > SHORT, n > in_block::<W>());
    let control = on.scratch::<u32>(control_len::<W>(n, multiprocessors))?;
    let lists = on.scratch::<u64>(lists_len::<W>(n))?;
    let rooms = on.scratch::<W>(rooms_len::<W>(n))?;
    Ok(move |on: &dyn Launcher, Args { keys, order, values, moved, offsets }: Args<P>| {
        let segments = offsets.len().saturating_sub(1);
        if segments == 0 || n == 0 {
            return Ok(());
        }
        let (control, lists, rooms) = (control.view(), lists.view(), rooms.view());
        let rest = (keys, order, values, moved, control, lists, rooms);
        on.clear(control.slice(0, COUNTERS))?;
        let all = Geometry::linear(segments.div_ceil(BLOCK), BLOCK);
        on.launch(short::<P, K, W>::default(), all, (keys, order, values, moved, offsets, control, lists, rooms))?;
        // Behind the first launch, which follows the clearing of the counters: each waits for the one before.
        let resident = |blocks: u32, threads: u32| Geometry::linear(blocks * multiprocessors, threads).overlapping();
        if has_long {
            on.launch(plan::<P, K, W>::default(), resident(2, BLOCK), rest)?;
            on.launch(cut::<P, K, W>::default(), resident(2, SPLIT_BLOCK).shared(cut_shared::<W>()), rest)?;
        }
        if has_lists {
            on.launch(sort::<P, K, W>::default(), resident(SORT_BLOCKS, BLOCK), rest)?;
        }
        if has_long {
            // Blocks wait for each other.
            on.launch(digits::<P, K, W>::default(), Geometry::linear(multiprocessors, SPLIT_BLOCK).together(), rest)?;
        }
        Ok(())
    })
}
