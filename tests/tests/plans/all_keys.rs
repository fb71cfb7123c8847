//! Plans for keys of every width, with data for them. Keys of 8 and 16 bits are copied to words and back.

use super::jobs::{Array, Job, Jobs, POISON, add, pointer, words};
use libtest_mimic::Failed;
use rungs::Operation;
use rungs::plan::{
    Argsort, FirstPlace, HistogramByEdges, HistogramEven, Merge, MergeWith, MinMax, Partition, PartitionFlagged, Plan,
    Reduce, ReduceByKey, RunLengths, SORT_ALIGN, ScanByKey, Search, SegmentedArgsort, SegmentedSort,
    SegmentedSortPairs, Select, SelectFlagged, Sort, SortPairs, TopK, TopKPairs,
};
use rungs::vec::histogram::{Divide, MAX_BINS};
use rungs::vec::operators::{ExtremeWord, Factor};
use rungs::vec::ordered::OrderedWord;
use rungs::vec::places::PlaceWord;
use rungs::vec::segments::SegmentPlaces;
use rungs::vec::select::{Combines, SelectWord};
use rungs::vec::sorts::{SortKey, Wide};
use rungs_kernels::keys::{FLOAT, UNSIGNED};
use rungs_kernels::selections::operators::launches::ByKeys;
use rungs_kernels::selections::operators::{Compose, Operator, compose_u32};
use rungs_kernels::selections::sampled::Selects;
use rungs_tests::{real, whole};
use simt::{Pair, Scalar, bf16, f16};
use std::any::type_name;
use std::ffi::c_void;
use std::ops::Range;

/// Keys of all bits; by seed also few, and both zeros and NaN of both signs.
fn keys<T: Scalar>(n: usize, seed: u64) -> Vec<T> {
    let sign = 1 << (8 * size_of::<T>() - 1);
    let special = [0, sign, sign - 1, sign | (sign - 1)];
    let bits = |word: u64| match seed % 3 {
        0 => word,
        1 => word % 5,
        _ => special[word as usize % 4],
    };
    words(n, seed).map(|word| T::from_bits_64(bits(word))).collect()
}

/// The word that sorts among unsigned ones as a key does among keys.
fn ordered<T: SortKey>(key: T) -> u64 {
    let (bits, sign) = (key.to_bits_64(), 1u64 << (8 * size_of::<T>() - 1));
    match T::ORDER {
        UNSIGNED => bits,
        FLOAT if bits & sign != 0 => !bits & (sign | (sign - 1)),
        _ => bits ^ sign,
    }
}

/// The places of keys in order; equal keys keep theirs.
fn places<T: SortKey>(keys: &[T], descending: bool) -> Vec<usize> {
    let words = keys.iter().map(|&key| if descending { !ordered(key) } else { ordered(key) });
    places_of_words(&words.collect::<Vec<u64>>())
}

/// Of no type, so that one sort is compiled for all.
fn places_of_words(words: &[u64]) -> Vec<usize> {
    let mut places: Vec<usize> = (0..words.len()).collect();
    places.sort_by_key(|&i| words[i]);
    places
}

fn at<T: Copy>(elements: &[T], places: &[usize]) -> Vec<T> {
    places.iter().map(|&i| elements[i]).collect()
}

/// What a word of copies has that no kernel wrote: zeros; where keys are no copies, the output is as it was.
fn behind<T>() -> u8 {
    if size_of::<T>() < 4 { 0 } else { POISON }
}

/// Room for `n` elements, of which some are written.
fn first_of<T: Scalar>(n: usize, written: &[T], behind: u8) -> Array {
    let mut array = Array::output(written);
    array.before.resize(n * size_of::<T>(), POISON);
    array.after.resize(n * size_of::<T>(), behind);
    array
}

impl Jobs<'_> {
    pub fn sorts<T: SortKey>(&mut self) -> Result<(), Failed>
    where
        Wide<T>: PlaceWord,
    {
        let (on, n, name) = (self.engine, self.n, type_name::<T>());
        for descending in [false, true] {
            let make = if descending { Plan::<Sort<T>>::sort_descending } else { Plan::<Sort<T>>::sort };
            let what = format!("sort of {name}, descending: {descending}");
            add!(self, what, make(on, n), [0]; move |seed| {
                let keys = keys::<T>(n, seed);
                vec![Array::new(&keys, &at(&keys, &places(&keys, descending)))]
            });
            let make = if descending { Plan::<Argsort<T>>::argsort_descending } else { Plan::<Argsort<T>>::argsort };
            let what = format!("places of {name} in order, descending: {descending}");
            add!(self, what, make(on, n), [0, 1]; move |seed| {
                let keys = keys::<T>(n, seed);
                let places: Vec<u32> = places(&keys, descending).into_iter().map(|place| place as u32).collect();
                // A run loads 16 bytes of places at once.
                vec![Array::input(&keys), Array { align: SORT_ALIGN, ..Array::output(&places) }]
            });
        }
        Ok(())
    }

    pub fn pairs<K: SortKey, V: Scalar>(&mut self) -> Result<(), Failed>
    where
        Wide<K>: PlaceWord,
    {
        let (on, n, name) = (self.engine, self.n, type_name::<(K, V)>());
        for descending in [false, true] {
            type Pairs<K, V> = Plan<SortPairs<K, V>>;
            let make = if descending { Pairs::<K, V>::sort_pairs_descending } else { Pairs::<K, V>::sort_pairs };
            let what = format!("sort of pairs of {name}, descending: {descending}");
            add!(self, what, make(on, n), [0, 1]; move |seed| {
                let (keys, values) = (keys::<K>(n, seed), keys::<V>(n, 3 * seed));
                let places = places(&keys, descending);
                vec![Array::new(&keys, &at(&keys, &places)), Array::new(&values, &at(&values, &places))]
            });
            type Top<K, V> = Plan<TopKPairs<K, V>>;
            let make = if descending { Top::<K, V>::top_k_pairs } else { Top::<K, V>::bottom_k_pairs };
            let k = n.min(77);
            let what = format!("{k} pairs of {name}, the largest: {descending}");
            add!(self, what, make(on, n, k), [0, 1, 2, 3]; move |seed| {
                let (keys, values) = (keys::<K>(n, seed), keys::<V>(n, 3 * seed));
                let (mut first, inputs) = (places(&keys, descending), [Array::input(&keys), Array::input(&values)]);
                first.truncate(k);
                let outputs = [Array::output(&at(&keys, &first)), Array::output(&at(&values, &first))];
                inputs.into_iter().chain(outputs).collect()
            });
        }
        Ok(())
    }

    /// Selections and partitions; those by flags, and of a half that only the device knows, too.
    pub fn selections<T: SortKey>(&mut self) -> Result<(), Failed>
    where
        Wide<T>: SelectWord,
    {
        let (on, n, name) = (self.engine, self.n, type_name::<T>());
        let sign = 1u64 << (8 * size_of::<T>() - 1);
        let (a, b) = (T::from_bits_64(sign | 1), T::from_bits_64(sign >> 1));
        let (low, high) = if ordered(a) < ordered(b) { (a, b) } else { (b, a) };
        let is_in = move |key: &T| (ordered(low)..=ordered(high)).contains(&ordered(*key));
        let outputs = move |kept: &[T], behind| [first_of(n, kept, behind), Array::output(&[kept.len() as u32])];
        let plan = || Plan::<Select<T>>::select_between(on, n, low..=high);
        let what = format!("half of {name} in a range");
        add!(self, what, plan(), [0, 1, 2, 3]; move |seed| {
            let keys = keys::<T>(n, seed);
            let kept: Vec<T> = keys[..n / 2].iter().copied().filter(is_in).collect();
            let limit = Array { is_needed: false, ..Array::input(&[n as u32 / 2]) };
            let inputs = [Array::input(&keys), limit];
            inputs.into_iter().chain(outputs(&kept, behind::<T>())).collect()
        });
        let plan = || Plan::<Select<T>>::unique(on, n);
        let what = format!("first {name} of runs");
        add!(self, what, plan(), [0, null, 1, 2]; move |seed| {
            let keys = keys::<T>(n, seed);
            let mut firsts = keys.clone();
            firsts.dedup_by_key(|key| key.to_bits_64());
            [Array::input(&keys)].into_iter().chain(outputs(&firsts, POISON)).collect()
        });
        let parted = move |keys: Vec<T>, is_kept: &dyn Fn(usize) -> bool, behind| {
            let (kept, rest): (Vec<usize>, Vec<usize>) = (0..n).partition(|&i| is_kept(i));
            outputs(&at(&keys, &kept), behind).into_iter().chain(outputs(&at(&keys, &rest), behind))
        };
        let plan = || Plan::<Partition<T>>::partition_between(on, n, low..=high);
        let what = format!("{name} in a range and others");
        add!(self, what, plan(), [0, null, 1, 2, 3, 4]; move |seed| {
            let keys = keys::<T>(n, seed);
            let parts = parted(keys.clone(), &|i| is_in(&keys[i]), behind::<T>());
            [Array::input(&keys)].into_iter().chain(parts).collect()
        });
        let flags = move |seed| keys::<u8>(n, 3 * seed + 1);
        let plan = || Plan::<SelectFlagged<T>>::select_flagged(on, n);
        let what = format!("{name} with a flag");
        add!(self, what, plan(), [0, 1, null, 2, 3]; move |seed| {
            let (keys, flags) = (keys::<T>(n, seed), flags(seed));
            let kept: Vec<T> = keys.iter().zip(&flags).filter(|(_, flag)| **flag != 0).map(|(&key, _)| key).collect();
            [Array::input(&keys), Array::input(&flags)].into_iter().chain(outputs(&kept, POISON)).collect()
        });
        let plan = || Plan::<PartitionFlagged<T>>::partition_flagged(on, n);
        let what = format!("{name} with a flag and others");
        add!(self, what, plan(), [0, 1, null, 2, 3, 4, 5]; move |seed| {
            let (keys, flags) = (keys::<T>(n, seed), flags(seed));
            let parts = parted(keys.clone(), &|i| flags[i] != 0, POISON);
            [Array::input(&keys), Array::input(&flags)].into_iter().chain(parts).collect()
        });
        Ok(())
    }

    /// Runs of keys, whose values are combined.
    pub fn runs<K: SortKey>(&mut self) -> Result<(), Failed>
    where
        Wide<K>: SelectWord + Combines<i64> + Combines<u32>,
        compose_u32::Kernels: ByKeys<Wide<K>, Element = Pair<u32, u32>>,
    {
        let (on, n, name) = (self.engine, self.n, type_name::<K>());
        let few = move |seed: u64| keys::<K>(n, 3 * seed + 2);
        let values = move |seed: u64| keys::<i64>(n, 3 * seed);
        // Where each run begins, and the end.
        let starts = |keys: &[K]| -> Vec<usize> {
            let begins = |&i: &usize| i == 0 || i == keys.len() || keys[i].to_bits_64() != keys[i - 1].to_bits_64();
            if keys.is_empty() { vec![0] } else { (0..=keys.len()).filter(begins).collect() }
        };
        /// The outputs of runs: keys, what belongs to them, their number.
        fn outputs<K: Scalar, V: Scalar>(n: usize, firsts: &[K], results: &[V]) -> Vec<Array> {
            let count = Array::output(&[firsts.len() as u32]);
            vec![first_of(n, firsts, behind::<K>()), first_of(n, results, POISON), count]
        }
        let plan = || Plan::<RunLengths<K>>::run_lengths(on, n);
        let what = format!("lengths of runs of {name}");
        add!(self, what, plan(), [0, null, 1, 2, 3]; move |seed| {
            let (keys, starts) = (few(seed), starts(&few(seed)));
            let lengths: Vec<u32> = starts.windows(2).map(|run| (run[1] - run[0]) as u32).collect();
            let firsts = at(&keys, &starts[..lengths.len()]);
            [Array::input(&keys)].into_iter().chain(outputs(n, &firsts, &lengths)).collect()
        });
        let plan = || Plan::<ReduceByKey<K, i64>>::reduce_by_key(on, n, Operation::Sum);
        let what = format!("sums by {name}");
        add!(self, what, plan(), [0, 1, null, 2, 3, 4]; move |seed| {
            let (keys, values, starts) = (few(seed), values(seed), starts(&few(seed)));
            let sum = |run: &[usize]| values[run[0]..run[1]].iter().fold(0i64, |a, &b| a.wrapping_add(b));
            let sums: Vec<i64> = starts.windows(2).map(sum).collect();
            let inputs = [Array::input(&keys), Array::input(&values)];
            inputs.into_iter().chain(outputs(n, &at(&keys, &starts[..sums.len()]), &sums)).collect()
        });
        let plan = || Plan::<ReduceByKey<K, _>>::reduce_by_key_with(on, n, compose_u32::Kernels);
        let what = format!("compositions by {name}");
        add!(self, what, plan(), [0, 1, null, 2, 3, 4]; move |seed| {
            let (keys, maps, starts) = (few(seed), self::keys::<Pair<u32, u32>>(n, 3 * seed), starts(&few(seed)));
            let compose = |of: &[usize]| maps[of[0]..of[1]].iter().copied().fold(Compose::IDENTITY, Compose::combine);
            let results: Vec<_> = starts.windows(2).map(compose).collect();
            let inputs = [Array::input(&keys), Array::input(&maps)];
            inputs.into_iter().chain(outputs(n, &at(&keys, &starts[..results.len()]), &results)).collect()
        });
        let plan = || Plan::<ReduceByKey<K, i64>>::unique_by_key(on, n);
        let what = format!("first values by {name}");
        add!(self, what, plan(), [0, 1, null, 2, 3, 4]; move |seed| {
            let (keys, values, mut starts) = (few(seed), values(seed), starts(&few(seed)));
            starts.truncate(starts.len() - 1);
            // Behind the results are those of the places that were there before.
            let all = [&at(&values, &starts), &values[starts.len()..]].concat();
            let inputs = [Array::input(&keys), Array::input(&values)];
            let mut outputs = outputs(n, &at(&keys, &starts), &at(&values, &starts));
            outputs[1].after = Array::output(&all).after;
            inputs.into_iter().chain(outputs).collect()
        });
        let plan = || Plan::<ScanByKey<K, i64>>::scan_by_key(on, n, Operation::Sum, false);
        let what = format!("scan of values by {name}");
        add!(self, what, plan(), [0, 1, 2]; move |seed| {
            let (keys, mut running) = (few(seed), values(seed));
            let inputs = [Array::input(&keys), Array::input(&running)];
            for i in 1..n {
                if keys[i].to_bits_64() == keys[i - 1].to_bits_64() {
                    running[i] = running[i].wrapping_add(running[i - 1]);
                }
            }
            inputs.into_iter().chain([Array::output(&running)]).collect()
        });
        Ok(())
    }

    /// The largest, the smallest, and where they are.
    pub fn largest<T: SortKey>(&mut self) -> Result<(), Failed>
    where
        Wide<T>: Selects + ExtremeWord,
    {
        let (on, n, name) = (self.engine, self.n, type_name::<T>());
        for largest in [false, true] {
            let make = if largest { Plan::<TopK<T>>::top_k } else { Plan::<TopK<T>>::bottom_k };
            let what = format!("one {name}, the largest: {largest}");
            let first = move |keys: &[T]| places(keys, largest).first().copied();
            add!(self, what, make(on, n, n.min(1)), [0, 1]; move |seed| {
                let keys = keys::<T>(n, seed);
                let one: Vec<T> = first(&keys).into_iter().map(|i| keys[i]).collect();
                vec![Array::input(&keys), Array::output(&one)]
            });
            let make = if largest { Plan::<FirstPlace<T>>::arg_max } else { Plan::<FirstPlace<T>>::arg_min };
            let what = format!("place of one {name}, the largest: {largest}");
            add!(self, what, make(on, n), [0, 1]; move |seed| {
                let keys = keys::<T>(n, seed);
                vec![Array::input(&keys), Array::output(&[first(&keys).map_or(u32::MAX, |i| i as u32)])]
            });
        }
        for i in [n / 3, n.saturating_sub(1)].into_iter().filter(|&i| i < n) {
            let plan = || Plan::<TopK<T>>::nth_element(on, n, i);
            add!(self, format!("{name} at place {i}"), plan(), [0, 1]; move |seed| {
                let keys = keys::<T>(n, seed);
                vec![Array::input(&keys), Array::output(&[keys[places(&keys, false)[i]]])]
            });
        }
        let plan = || Plan::<MinMax<T>>::min_max(on, n);
        add!(self, format!("both ends of {name}"), plan(), [0, 1]; move |seed| {
            let keys = keys::<T>(n, seed);
            let places = places(&keys, false);
            let ends: Vec<T> = places.first().into_iter().chain(places.last()).map(|&i| keys[i]).collect();
            vec![Array::input(&keys), first_of(2, &ends, POISON)]
        });
        Ok(())
    }

    /// A merge of a third of the elements with the others, and a search for the others.
    pub fn merges<T: SortKey>(&mut self) -> Result<(), Failed>
    where
        Wide<T>: OrderedWord,
    {
        let (on, n, name) = (self.engine, self.n, type_name::<T>());
        let sorted = |keys: &[T]| at(keys, &places(keys, false));
        let plan = || Plan::<Merge<T>>::merge(on, n / 3, n - n / 3);
        add!(self, format!("merge of {name}"), plan(), [0, 1, 2]; move |seed| {
            let all = keys::<T>(n, seed);
            let inputs = [&all[..n / 3], &all[n / 3..]].map(|keys| Array::input(&sorted(keys)));
            inputs.into_iter().chain([Array::output(&sorted(&all))]).collect()
        });
        for upper in [false, true] {
            let make = if upper { Plan::<Search<T>>::upper_bound } else { Plan::<Search<T>>::lower_bound };
            let what = format!("search of {name}, the last place: {upper}");
            add!(self, what, make(on, n, n / 2 + 1), [0, 1, 2]; move |seed| {
                let (sorted, needles) = (sorted(&keys::<T>(n, seed)), keys::<T>(n / 2 + 1, seed));
                let before = |key: u64, needle: u64| key < needle || (upper && key == needle);
                let place = |&needle: &T| {
                    sorted.partition_point(|&key| before(ordered(key), ordered(needle))) as u32
                };
                let places: Vec<u32> = needles.iter().map(place).collect();
                vec![Array::input(&sorted), Array::input(&needles), Array::output(&places)]
            });
        }
        Ok(())
    }

    /// The same with values, which tell equal keys apart.
    pub fn merges_with<K: SortKey, V: Scalar>(&mut self) -> Result<(), Failed>
    where
        Wide<K>: OrderedWord,
    {
        let (on, n, name) = (self.engine, self.n, type_name::<(K, V)>());
        let plan = || Plan::<MergeWith<K, V>>::merge_with(on, n / 3, n - n / 3);
        add!(self, format!("merge of pairs of {name}"), plan(), [0, 1, 2, 3, 4, 5]; move |seed| {
            let (mut all, values) = (keys::<K>(n, seed), keys::<V>(n, 3 * seed));
            for part in [0..n / 3, n / 3..n] {
                let sorted = at(&all[part.clone()], &places(&all[part.clone()], false));
                all[part].copy_from_slice(&sorted);
            }
            let order = places(&all, false);
            let inputs = [0..n / 3, n / 3..n].map(|of| [Array::input(&all[of.clone()]), Array::input(&values[of])]);
            let outputs = [Array::output(&at(&all, &order)), Array::output(&at(&values, &order))];
            inputs.into_iter().flatten().chain(outputs).collect()
        });
        Ok(())
    }

    /// Three segments, one of them empty, between the first key and the last one, which are in none.
    pub fn segments<T: SortKey>(&mut self) -> Result<(), Failed>
    where
        Wide<T>: SegmentPlaces,
    {
        let (on, n, name) = (self.engine, self.n, type_name::<T>());
        for descending in [false, true] {
            type Of<T> = Plan<SegmentedSort<T>>;
            let make = if descending { Of::<T>::segmented_sort_descending } else { Of::<T>::segmented_sort };
            let what = format!("segments of {name}, descending: {descending}");
            add!(self, what, make(on, n, 3), [0, 1]; move |seed| {
                let keys = keys::<T>(n, seed);
                let sorted = at(&keys, &places_in_segments(&keys, descending));
                vec![Array::new(&keys, &sorted), Array::input(&offsets(n).map(|offset| offset as u32))]
            });
            type Places<T> = Plan<SegmentedArgsort<T>>;
            let ascending = Places::<T>::segmented_argsort;
            let make = if descending { Places::<T>::segmented_argsort_descending } else { ascending };
            let what = format!("places of {name} in segments, descending: {descending}");
            add!(self, what, make(on, n, 3), [0, 1, 2]; move |seed| {
                let keys = keys::<T>(n, seed);
                let places = places_in_segments(&keys, descending).into_iter().map(|place| place as u32);
                let offsets = Array::input(&offsets(n).map(|offset| offset as u32));
                vec![Array::input(&keys), offsets, Array::output(&places.collect::<Vec<u32>>())]
            });
        }
        Ok(())
    }

    pub fn segmented_pairs<K: SortKey, V: Scalar>(&mut self) -> Result<(), Failed>
    where
        Wide<K>: SegmentPlaces,
    {
        let (on, n, name) = (self.engine, self.n, type_name::<(K, V)>());
        for descending in [false, true] {
            type Of<K, V> = Plan<SegmentedSortPairs<K, V>>;
            let ascending = Of::<K, V>::segmented_sort_pairs;
            let make = if descending { Of::<K, V>::segmented_sort_pairs_descending } else { ascending };
            let what = format!("segments of pairs of {name}, descending: {descending}");
            add!(self, what, make(on, n, 3), [0, 1, 2, 3]; move |seed| {
                let (keys, values) = (keys::<K>(n, seed), keys::<V>(n, 3 * seed));
                let places = places_in_segments(&keys, descending);
                let mut moved = Array::output(&at(&values, &places));
                if size_of::<K>() <= 4 && size_of::<V>() == 4 {
                    // The values of keys in no segment are not written.
                    let [start, .., end] = offsets(n);
                    moved.after[..4 * start].fill(POISON);
                    moved.after[4 * end..].fill(POISON);
                }
                let offsets = Array::input(&offsets(n).map(|offset| offset as u32));
                vec![Array::new(&keys, &at(&keys, &places)), Array::input(&values), moved, offsets]
            });
        }
        Ok(())
    }

    pub fn products<T: Factor>(&mut self, one: T, multiply: fn(T, T) -> T) -> Result<(), Failed> {
        let (on, n, name) = (self.engine, self.n, type_name::<T>());
        let plan = || Plan::<Reduce<T>>::product(on, n);
        add!(self, format!("product of {name}"), plan(), [0, 1]; move |seed| {
            // Odd ones, of which no product is 0.
            let odd = |word: u64| T::from_bits_64(word | 1);
            let factors: Vec<T> = words(n, seed).map(odd).collect();
            vec![Array::input(&factors), Array::output(&[factors.iter().fold(one, |a, &b| multiply(a, b))])]
        });
        Ok(())
    }

    pub fn edges(&mut self) -> Result<(), Failed> {
        let (on, n) = (self.engine, self.n);
        let plan = || Plan::<HistogramByEdges<f32>>::histogram_by_edges(on, n, 3);
        add!(self, "counts between edges", plan(), [0, 1, 2]; move |seed| {
            let (keys, edges) = (keys::<f32>(n, seed), [-1e9f32, 0.0, 1e-40, 1e9]);
            let counts = Array::output(&counted(&keys, &edges));
            vec![Array::input(&keys), Array::input(&edges), counts]
        });
        Ok(())
    }

    /// Counts in equal parts of a range. `edge`: from the beginning and the end, edge i of a number of parts.
    pub fn parts<T>(&mut self, range: Range<T>, edge: fn(T, T, usize, usize) -> T) -> Result<(), Failed>
    where
        T: Divide + Scalar,
    {
        let (on, n, name) = (self.engine, self.n, type_name::<T>());
        for parts in [1, MAX_BINS] {
            let plan = || Plan::<HistogramEven<T>>::histogram_even(on, n, parts, range.clone());
            let edges: Vec<T> = (0..=parts).map(|i| edge(range.start, range.end, i, parts)).collect();
            add!(self, format!("{name} in {parts} equal parts"), plan(), [0, 1]; move |seed| {
                let keys = keys::<T>(n, seed);
                vec![Array::input(&keys), Array::output(&counted(&keys, &edges))]
            });
        }
        Ok(())
    }
}

/// How many keys are between each edge and the next, below all, above all, and NaN.
fn counted<T: Scalar>(keys: &[T], edges: &[T]) -> Vec<u32> {
    let bins = edges.len() - 1;
    let mut counts = vec![0; bins + 3];
    for key in keys {
        counts[match edges.partition_point(|edge| edge <= key) {
            _ if key.partial_cmp(key).is_none() => bins + 2,
            0 => bins,
            place if place > bins => bins + 1,
            place => place - 1,
        }] += 1;
    }
    counts
}

/// Where the segments begin, and the end of the last one.
fn offsets(n: usize) -> [usize; 4] {
    let (start, end) = (n.min(1), n.saturating_sub(1).max(n.min(1)));
    [start, n / 3, n / 3, end].map(|offset| offset.clamp(start, end))
}

fn places_in_segments<T: SortKey>(keys: &[T], descending: bool) -> Vec<usize> {
    let mut all: Vec<usize> = (0..keys.len()).collect();
    for pair in offsets(keys.len()).windows(2) {
        let sorted = places(&keys[pair[0]..pair[1]], descending).into_iter().map(|place| pair[0] + place);
        all.splice(pair[0]..pair[1], sorted);
    }
    all
}

/// Every plan that takes keys of 8 and 16 bits, for these; some also for wide keys.
pub fn jobs(to: &mut Jobs) -> Result<(), Failed> {
    macro_rules! each {
        ($name:ident: $($T:ty),*) => { $(to.$name::<$T>()?;)* };
    }
    each!(sorts: u8, i8, u16, i16, f16, bf16);
    each!(selections: u8, i8, u16, i16, f16, bf16, u32, i32, f32, u64, i64, f64);
    each!(largest: u8, i8, u16, i16, f16, bf16, u32, i32, f32, u64, i64, f64);
    each!(runs: u8, f16, u32, f64);
    each!(merges: i8, bf16, f32, i64);
    each!(segments: u8, f16, i32, f64);
    to.pairs::<u8, u8>()?;
    to.pairs::<bf16, u64>()?;
    to.pairs::<i32, f64>()?;
    to.pairs::<f64, u16>()?;
    to.merges_with::<u8, u8>()?;
    to.merges_with::<bf16, u64>()?;
    to.merges_with::<f32, i32>()?;
    to.merges_with::<f64, u16>()?;
    to.segmented_pairs::<u8, u16>()?;
    to.segmented_pairs::<f16, u32>()?;
    to.segmented_pairs::<f32, i32>()?;
    to.segmented_pairs::<i32, f64>()?;
    to.segmented_pairs::<u64, u32>()?;
    to.segmented_pairs::<f64, u8>()?;
    to.products::<u32>(1, u32::wrapping_mul)?;
    to.products::<i64>(1, i64::wrapping_mul)?;
    to.edges()?;
    to.parts::<u32>(1 << 20..3 << 30, |low, high, i, parts| whole(low, high, i, parts) as u32)?;
    to.parts::<i32>(-3..i32::MAX, |low, high, i, parts| whole(low, high, i, parts) as i32)?;
    to.parts::<u64>(0..u64::MAX, |low, high, i, parts| whole(low, high, i, parts) as u64)?;
    to.parts::<i64>(i64::MIN..i64::MAX, |low, high, i, parts| whole(low, high, i, parts) as i64)?;
    to.parts::<f32>(-1e9..f32::MAX, |low, high, i, parts| real(low, high, i, parts) as f32)?;
    to.parts::<f64>(-1e300..0.0, real)
}
