//! What the host launches: shapes from matrices, and what several rungs need for that.

use super::*;
use crate::ladder::{Matrix as View, *};

/// The depth of a product, and its factor. As BLAS has it: with alpha = 0, A and B are not read. Without products, C is
/// its old value times beta: to the sign of a zero, because -0 is added to it and not +0.
pub(super) fn depth<R: Real>(k: u32, alpha: R, beta: R) -> (u32, R) {
    match (k == 0 || alpha == R::ZERO, beta == R::ZERO) {
        (false, _) => (k, alpha),
        (true, true) => (0, R::ONE),
        (true, false) => (0, -R::ONE),
    }
}

impl<R: Real> Shape<R> {
    /// The shape of a product whose matrices fit each other.
    pub(super) fn of<T: Element<Sum = R>>(product: &Product<T>) -> Self {
        let Product { a, b, c, alpha, beta, batch } = product;
        let (k, alpha) = depth(a.columns, *alpha, *beta);
        let steps = |matrix: &View<T>, of_batch| match matrix.transposed {
            false => Steps { row: matrix.stride, column: 1, batch: of_batch },
            true => Steps { row: 1, column: matrix.stride, batch: of_batch },
        };
        Self {
            m: c.rows,
            n: c.columns,
            k,
            batch: batch.count,
            a: steps(a, batch.a),
            b: steps(b, batch.b),
            c: steps(c, batch.c),
            alpha,
            beta: *beta,
        }
    }
}

/// Scratch memory for an operand's copy in tiles. It grows to what the largest product so far needed.
pub(super) struct Room<T = f32>(Option<Scratch<T>>);

impl<T> Default for Room<T> {
    fn default() -> Self {
        Self(None)
    }
}

impl<T: Scalar> Room<T> {
    /// A view of the given number of elements of it.
    pub(super) fn view(&mut self, on: &dyn Launcher, elements: u64) -> Result<Global<T>> {
        let len = u32::try_from(elements)
            .map_err(|_| Failed::Unsuitable(format!("a copy of {elements} elements is more than fits a view")))?;
        if self.0.as_ref().is_none_or(|have| have.view().len() < len) {
            self.0 = None; // freed before there is more, so that both need not fit
            self.0 = Some(on.scratch(len)?);
        }
        Ok(self.0.as_ref().map(|have| have.view().slice(0, len)).expect("it was made above"))
    }
}

/// Why a device cannot run kernels of compute capability 9.0 alone with `shared` bytes of shared memory per block.
pub(super) fn refuses_but_hopper(name: &str, ask: &Ask, shared: u32) -> Option<String> {
    let Device { compute_capability: (major, minor), shared_per_block, .. } = ask.device;
    if (major, minor) != (9, 0) {
        return Some(format!("{name} needs compute capability 9.0, not {major}.{minor}"));
    }
    let short = shared_per_block < shared;
    short.then(|| format!("{name} needs {shared} bytes of shared memory, not {shared_per_block}"))
}

/// Launches of a kernel whose blocks have `rows` × `columns` elements of C each, one kernel per product.
pub(super) fn by_tiles<T, K>(kernel: K, rows: u32, columns: u32, block: [u32; 3]) -> Result<Launches<Product<T>>>
where
    T: Element,
    K: Kernel<Args = (Global<T>, Global<T>, Global<T>, Shape<T::Sum>)>,
{
    by_tiles_with(kernel, rows, columns, block, 0)
}

/// [`by_tiles`] with the given number of bytes of dynamic shared memory.
pub(super) fn by_tiles_with<T, K>(
    kernel: K,
    rows: u32,
    columns: u32,
    block: [u32; 3],
    shared: u32,
) -> Result<Launches<Product<T>>>
where
    T: Element,
    K: Kernel<Args = (Global<T>, Global<T>, Global<T>, Shape<T::Sum>)>,
{
    Ok(Box::new(move |on, product: Product<T>| {
        let shape = Shape::of(&product);
        let geometry = Geometry { block, ..Geometry::linear(shape.tiles(rows, columns), 0) }.shared(shared);
        on.launch(kernel, geometry, (product.a.data, product.b.data, product.c.data, shape))
    }))
}

/// The ladder, from the textbook up.
pub static LADDER: Ladder<Matmul> = Ladder {
    family: "matmul",
    about: "matrix product C = alpha·A·B + beta·C of floats",
    rungs: &[
        &any_type::launches::RUNG,
        &fp64::launches::RUNG,
        &fp64_hopper::launches::RUNG,
        &fp32::launches::RUNG,
        &fp32_hopper::launches::RUNG,
        &tf32::launches::RUNG,
        &three_tf32::launches::RUNG,
        &packed::launches::RUNG,
        &three_tf32_group::launches::RUNG,
        &half_hopper::launches::RUNG,
        &tensor_registers::launches::RUNG,
        &half_cluster::launches::RUNG,
        &mixed::launches::RUNG,
    ],
    default: &fp32_hopper::launches::RUNG,
};
