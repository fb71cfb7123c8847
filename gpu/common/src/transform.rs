//! Functions applied to every element.
//!
//! A functor is a type with a function that runs on the device. The code that applies a functor is written once, here,
//! generic over the functor. A PTX entry has a name and cannot be generic, so each functor needs a kernel of its own:
//! three lines, in the crate of the functor.
//!
//! ```
//! use rungs_common::transform::{self, Functor};
//! use simt::{Global, kernel};
//!
//! /// Squares, times a factor.
//! #[simt::argument]
//! #[derive(Clone, Copy)]
//! pub struct ScaledSquare {
//!     pub factor: f32,
//! }
//!
//! impl Functor<f32> for ScaledSquare {
//!     type Out = f32;
//!
//!     #[simt::device]
//!     fn call(&self, x: f32) -> f32 {
//!         self.factor * x * x
//!     }
//! }
//!
//! #[kernel(max_threads = transform::BLOCK)]
//! pub fn scaled_square(input: Global<f32>, output: Global<f32>, functor: ScaledSquare) {
//!     transform::transform(input, output, functor)
//! }
//! # let mut x = [1.0f32, 2.0, 3.0];
//! # let view = unsafe { Global::from_raw(x.as_mut_ptr(), 3) };
//! # let args = (view, view, ScaledSquare { factor: 0.5 });
//! # simt::sim::launch(scaled_square, [1; 3], [transform::BLOCK, 1, 1], 0, args, Default::default()).unwrap();
//! # assert_eq!(x, [0.5, 2.0, 4.5]);
//! ```
//!
//! The host then writes `x.transform(scaled_square, ScaledSquare { factor: 0.5 })`, with `x` a `rungs::vec::DeviceVec`.
//! The simulator needs nothing else. For a GPU a build script compiles the crate to PTX with `rungs-ptx`, and
//! `engine.add_kernels(PTX)` adds its kernels to the engine; `docs/own-kernels.md` shows how.

use simt::{Global, Scalar, thread, unroll};

/// A function of an element that runs on the device; if `In` is a pair, of a pair of elements.
pub trait Functor<In> {
    /// The type of the result.
    type Out;

    /// The function itself.
    fn call(&self, x: In) -> Self::Out;
}

/// Threads per block.
pub const BLOCK: u32 = 256;

/// Elements per thread, and so loads in flight per thread and input.
const ITEMS: usize = 4;

/// Elements per block.
pub const TILE: u32 = BLOCK * ITEMS as u32;

/// Blocks for `n` elements.
pub const fn grid(n: u32) -> u32 {
    n.div_ceil(TILE)
}

/// Applies the functor to each element of `input` and writes the results to `output`, which may be `input`.
#[simt::device]
pub fn transform<A: Scalar, B: Scalar, F: Functor<A, Out = B>>(input: Global<A>, output: Global<B>, functor: F) {
    let (input, output) = (tile_of_block(input), tile_of_block(output));
    each(input.len(), |i| input.get(i), |i, x| output.set(i, functor.call(x)));
}

/// Applies the functor to each pair of an element of `left` and one of `right` and writes the results to `output`,
/// which may be either.
#[simt::device]
pub fn transform_pairs<A: Scalar, B: Scalar, C: Scalar, F: Functor<(A, B), Out = C>>(
    left: Global<A>,
    right: Global<B>,
    output: Global<C>,
    functor: F,
) {
    let (left, right, output) = (tile_of_block(left), tile_of_block(right), tile_of_block(output));
    each(left.len(), |i| (left.get(i), right.get(i)), |i, pair| output.set(i, functor.call(pair)));
}

/// The block's part of `data`.
#[simt::device]
fn tile_of_block<T: Scalar>(data: Global<T>) -> Global<T> {
    let first = thread::block_idx_x() * TILE;
    let left = data.len() - first;
    data.slice(first, if left < TILE { left } else { TILE })
}

/// Loads all elements of the thread, then passes them to `store`. A load after a store would wait for it: for the
/// compiler both might use the same memory.
#[simt::device]
fn each<X: Copy>(len: u32, load: impl Fn(u32) -> X, mut store: impl FnMut(u32, X)) {
    let place = |i: usize| thread::thread_idx_x() + i as u32 * BLOCK;
    let mut loaded = [None; ITEMS];
    unroll::<ITEMS>(|i| loaded[i] = (place(i) < len).then(|| load(place(i))));
    unroll::<ITEMS>(|i| {
        if let Some(x) = loaded[i] {
            store(place(i), x);
        }
    });
}
