//! The launches of selections and of runs, with their scratch memory, as vectors and plans make them. Keys of 8 and 16
//! bits are copied to words that kernels take and back.

use super::moves::by_size;
use super::places::gather;
use super::sorts::{SortKey, Wide, Widened};
use crate::Operation;
use crate::keys::KeyWord;
use rungs_kernels::ladder::{Launches, Lengths, expect_len};
use rungs_kernels::places::{self, places_own};
use rungs_kernels::selections::compact::unique_compact;
use rungs_kernels::selections::kernels::*;
use rungs_kernels::selections::operators::launches::ByKeys;
use rungs_kernels::selections::pass::{Bounds, Pass, Rest, Selection, Selects, Views};
use rungs_kernels::selections::runs::{self, Combines, CountsRuns, Grouping};
use rungs_kernels::transform::Functor;
use simt::launcher::{self, Launcher};
use simt::{Argument, Global, Kernel, Scalar};

/// A word as which elements are compared.
#[diagnostic::on_unimplemented(
    message = "elements that are stored in `{Self}` are not selected by bounds or runs",
    note = "u32, i32, f32, u64, i64 and f64 are"
)]
pub trait SelectWord: KeyWord + Selects + CountsRuns {}

impl<W: KeyWord + Selects + CountsRuns> SelectWord for W {}

/// What a selection or a partition reads and writes.
pub struct Kept<T> {
    pub(crate) views: Views<T>,
    /// A flag for each element; empty if something else decides.
    pub(crate) flags: Global<u8>,
    /// The other elements, if they are written.
    pub(crate) rest: Rest<T>,
}

impl<T: Scalar> Lengths for Kept<T> {
    fn check(&self, n: u32) -> launcher::Result {
        expect_len("elements", self.views.input, n)?;
        expect_len("elements of output", self.views.output, n)
    }
}

/// Takes the memory for launches that select from up to `n` elements.
type Made<T> = launcher::Result<Launches<Kept<T>>>;

fn words<T: Scalar, W: Scalar>(v: Views<T>) -> Views<W> {
    Views { input: v.input.cast(), limit: v.limit, output: v.output.cast(), count: v.count }
}

/// Launches that keep the elements between two bounds.
pub(crate) fn between<T>(on: &dyn Launcher, n: u32, pass: Pass, bounds: Bounds<Wide<T>>) -> Made<T>
where
    T: SortKey,
    Wide<T>: SelectWord,
{
    let (input, kept) = (Widened::<T::Word>::new(on, n)?, Widened::<T::Word>::new(on, n)?);
    let scratch = Selection::by(on, n, pass)?;
    Ok(Box::new(move |on, of: Kept<T>| {
        let Views { input: from, limit, output: to, count } = words(of.views);
        let views = Views { input: input.widen(on, from)?, limit, output: kept.zeroed(on, to)?, count };
        Wide::<T>::between(on, &scratch, views, bounds)?;
        kept.narrow(on, to)
    }))
}

/// Launches that keep the elements between two bounds, and write the others.
pub(crate) fn parted_by_bounds<T>(on: &dyn Launcher, n: u32, bounds: Bounds<Wide<T>>) -> Made<T>
where
    T: SortKey,
    Wide<T>: SelectWord,
{
    let widened = || Widened::<T::Word>::new(on, n);
    let (input, kept, rest, scratch) = (widened()?, widened()?, widened()?, Selection::new(on, n)?);
    Ok(Box::new(move |on, of: Kept<T>| {
        let Views { input: from, limit, output: to, count } = words(of.views);
        let others = of.rest.0.cast();
        let views = Views { input: input.widen(on, from)?, limit, output: kept.zeroed(on, to)?, count };
        Wide::<T>::parted(on, &scratch, views, (rest.zeroed(on, others)?, of.rest.1), bounds)?;
        kept.narrow(on, to)?;
        rest.narrow(on, others)
    }))
}

/// Launches that keep the elements for which a functor is true; `kernel` is the functor's.
pub(crate) fn by_functor<T: Scalar, F, K>(on: &dyn Launcher, n: u32, kernel: K, test: F) -> Made<T>
where
    F: Functor<T, Out = bool> + Argument,
    K: Kernel<Args = (Global<T>, Global<u32>, Global<T>, Global<u32>, Global<u64>, F)>,
{
    let scratch = Selection::<T>::new(on, n)?;
    Ok(Box::new(move |on, Kept { views: v, .. }| {
        let (geometry, workspace) = scratch.for_look_back(on)?;
        on.launch(kernel, geometry, (v.input, v.limit, v.output, v.count, workspace, test))
    }))
}

/// Launches that keep the elements for which a functor is true, and write the others.
#[rustfmt::skip]
pub(crate) fn parted_by_functor<T: Scalar, F, K>(on: &dyn Launcher, n: u32, kernel: K, test: F) -> Made<T>
where
    F: Functor<T, Out = bool> + Argument,
    K: Kernel<Args = (Global<T>, Global<u32>, Global<T>, Global<u32>, Global<T>, Global<u32>, Global<u64>, F)>,
{
    let scratch = Selection::<T>::new(on, n)?;
    Ok(Box::new(move |on, Kept { views: v, rest, .. }| {
        let (geometry, workspace) = scratch.for_look_back(on)?;
        on.launch(kernel, geometry, (v.input, v.limit, v.output, v.count, rest.0, rest.1, workspace, test))
    }))
}

/// Launches that keep the elements whose flags are not zero.
pub(crate) fn flagged<T: Scalar>(on: &dyn Launcher, n: u32) -> Made<T> {
    fn of<W: Scalar, T: Scalar>(on: &dyn Launcher, n: u32) -> Made<T>
    where
        select_flagged<W>: Kernel<Args = (Global<W>, Global<u32>, Global<W>, Global<u32>, Global<u64>, Global<u8>)>,
    {
        let scratch = Selection::<W>::new(on, n)?;
        Ok(Box::new(move |on, Kept { views, flags, .. }| {
            let ((geometry, workspace), v) = (scratch.for_look_back(on)?, words(views));
            let args = (v.input, v.limit, v.output, v.count, workspace, flags);
            on.launch(select_flagged::<W>::default(), geometry, args)
        }))
    }
    by_size!(T, of(on, n))
}

/// Launches that keep the elements whose flags are not zero, and write the others.
pub(crate) fn parted_by_flags<T: Scalar>(on: &dyn Launcher, n: u32) -> Made<T> {
    #[rustfmt::skip]
    fn of<W: Scalar, T: Scalar>(on: &dyn Launcher, n: u32) -> Made<T>
    where
        partition_flagged<W>: Kernel<Args = (
            Global<W>, Global<u32>, Global<W>, Global<u32>, Global<W>, Global<u32>, Global<u64>, Global<u8>,
        )>,
    {
        let scratch = Selection::<W>::new(on, n)?;
        Ok(Box::new(move |on, Kept { views, flags, rest }| {
            let ((geometry, workspace), v) = (scratch.for_look_back(on)?, words(views));
            let args = (v.input, v.limit, v.output, v.count, rest.0.cast(), rest.1, workspace, flags);
            on.launch(partition_flagged::<W>::default(), geometry, args)
        }))
    }
    by_size!(T, of(on, n))
}

/// Launches that keep the first of each run of elements with the same bits.
pub(crate) fn unique<T: Scalar>(on: &dyn Launcher, n: u32, pass: Pass) -> Made<T> {
    fn narrow<W: Scalar, T: Scalar>(on: &dyn Launcher, n: u32) -> Made<T>
    where
        unique_compact<W>: Kernel<Args = (Global<W>, Global<u32>, Global<W>, Global<u32>, Global<u64>)>,
    {
        let scratch = Selection::<W>::new(on, n)?;
        Ok(Box::new(move |on, of| {
            let ((geometry, workspace), v) = (scratch.for_look_back(on)?, words(of.views));
            on.launch(unique_compact::<W>::default(), geometry, (v.input, v.limit, v.output, v.count, workspace))
        }))
    }
    fn wide<W: Selects + Scalar, T: Scalar>(on: &dyn Launcher, n: u32, pass: Pass) -> Made<T> {
        let scratch = Selection::by(on, n, pass)?;
        Ok(Box::new(move |on, of| W::firsts(on, &scratch, words(of.views))))
    }
    match size_of::<T>() {
        1 => narrow::<u8, T>(on, n),
        2 => narrow::<u16, T>(on, n),
        4 => wide::<u32, T>(on, n, pass),
        _ => wide::<u64, T>(on, n, pass),
    }
}

/// Launches that write the key of each run among up to `n` keys, and what `launch` makes of its values.
fn by_runs<K: SortKey, V: Scalar>(
    on: &dyn Launcher,
    n: u32,
    pass: Pass,
    launch: impl Fn(&dyn Launcher, &Grouping<Wide<K>, V>, runs::Views<Wide<K>, V>) -> launcher::Result + 'static,
) -> launcher::Result<Launches<runs::Views<K, V>>> {
    let scratch = Grouping::by(on, n, pass)?;
    with_words(on, n, Box::new(move |on, v| launch(on, &scratch, v)))
}

/// Launches for words as launches for the keys.
fn with_words<K: SortKey, V: Scalar>(
    on: &dyn Launcher,
    n: u32,
    mut launches: Launches<runs::Views<Wide<K>, V>>,
) -> launcher::Result<Launches<runs::Views<K, V>>> {
    let (from, firsts) = (Widened::<K::Word>::new(on, n)?, Widened::<K::Word>::new(on, n)?);
    Ok(Box::new(move |on, v: runs::Views<K, V>| {
        let (keys, to) = (from.widen(on, v.keys.cast())?, v.unique.cast());
        let runs::Views { values, limit, results, count, .. } = v;
        launches(on, runs::Views { keys, values, limit, unique: firsts.zeroed(on, to)?, results, count })?;
        firsts.narrow(on, to)
    }))
}

/// Launches that write the key of each run, and its length.
pub(crate) fn run_lengths<K: SortKey>(
    on: &dyn Launcher,
    n: u32,
    pass: Pass,
) -> launcher::Result<Launches<runs::Views<K, u32>>>
where
    Wide<K>: SelectWord,
{
    by_runs::<K, u32>(on, n, pass, Wide::<K>::run_lengths)
}

/// Launches that write the key of each run, and its values combined.
pub(crate) fn reduce_by_key<K: SortKey, V: Scalar>(
    on: &dyn Launcher,
    n: u32,
    operation: Operation,
    pass: Pass,
) -> launcher::Result<Launches<runs::Views<K, V>>>
where
    Wide<K>: Combines<V>,
{
    by_runs(on, n, pass, move |on, scratch, v| Wide::<K>::reduce_by_key(on, scratch, operation, v))
}

/// Launches that write the key of each run, and its values combined by an operator whose kernels `S` names.
pub(crate) fn reduce_by_key_with<K: SortKey, S: ByKeys<Wide<K>>>(
    on: &dyn Launcher,
    n: u32,
    pass: Pass,
) -> launcher::Result<Launches<runs::Views<K, S::Element>>> {
    by_runs(on, n, pass, |on, scratch, v| S::reduce_by_key(on, scratch, v))
}

/// Launches that write the key of each run, and the first of its values: those are found by their places, the least of
/// each run.
pub(crate) fn unique_by_key<K: SortKey, V: Scalar>(
    on: &dyn Launcher,
    n: u32,
) -> launcher::Result<Launches<runs::Views<K, V>>>
where
    Wide<K>: Combines<u32>,
{
    let (scratch, places, firsts) = (Grouping::new(on, n)?, on.scratch::<u32>(n)?, on.scratch::<u32>(n)?);
    let launches = move |on: &dyn Launcher, v: runs::Views<Wide<K>, V>| {
        // Behind the results, too, there are places of values.
        for places in [&places, &firsts] {
            on.launch(places_own, places::geometry(n), (places.view(),))?;
        }
        let (values, results) = (places.view(), firsts.view());
        let runs::Views { keys, limit, unique, count, .. } = v;
        let views = runs::Views { keys, values, limit, unique, results, count };
        Wide::<K>::reduce_by_key(on, &scratch, Operation::Min, views)?;
        gather(on, v.values, results, v.results)
    };
    with_words(on, n, Box::new(launches))
}
