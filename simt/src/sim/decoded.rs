//! The operands of a product by four warps, and the sums that the tensor cores make of them.

/// Rows of A per warp.
pub(super) const ROWS: u32 = 16;
/// Elements of 8 bits along K that one instruction takes.
const EIGHT: usize = 32;

/// The operands of a product as the tensor cores see them: decoded once, by the last lane of a warp that comes to it.
#[derive(Default)]
pub(super) struct Decoded {
    /// Elements along K.
    depth: usize,
    /// The warp's rows of A.
    a: Vec<f64>,
    /// Columns of B, two by two: for each k the elements of both.
    b: Vec<f64>,
}

impl Decoded {
    pub(super) fn decode(
        &mut self,
        depth: usize,
        columns: usize,
        of_a: impl Fn(usize, usize) -> f64,
        of_b: impl Fn(usize, usize) -> f64,
    ) {
        self.depth = depth;
        self.a.resize(ROWS as usize * depth, 0.0);
        for (row, elements) in self.a.chunks_exact_mut(depth).enumerate() {
            elements.iter_mut().enumerate().for_each(|(k, element)| *element = of_a(row, k));
        }
        self.b.resize(columns * depth, 0.0);
        for (pair, elements) in self.b.chunks_exact_mut(2 * depth).enumerate() {
            for (k, both) in elements.chunks_exact_mut(2).enumerate() {
                (both[0], both[1]) = (of_b(2 * pair, k), of_b(2 * pair + 1, k));
            }
        }
    }

    /// Adds the products of a lane's rows and columns to its sums, so many along K at once.
    pub(super) fn add(&self, lane: usize, step: usize, sums: &mut [f32]) {
        let depth = self.depth;
        let [upper, lower] = [0, 8].map(|down| &self.a[(lane / 4 + down) * depth..][..depth]);
        for (columns, sums) in sums.chunks_exact_mut(4).enumerate() {
            let b = &self.b[(columns * 4 + lane % 4) * 2 * depth..][..2 * depth];
            for ((upper, lower), b) in
                upper.chunks_exact(step).zip(lower.chunks_exact(step)).zip(b.chunks_exact(2 * step))
            {
                if step == EIGHT {
                    for along in 0..2 {
                        let b: [f64; EIGHT] = std::array::from_fn(|k| b[2 * k + along]);
                        sums[along] = add_aligned(sums[along], upper, &b);
                        sums[2 + along] = add_aligned(sums[2 + along], lower, &b);
                    }
                    continue;
                }
                // As `Iterator::sum` begins.
                let mut products = [-0.0f64; 4];
                for ((upper, lower), b) in upper.iter().zip(lower).zip(b.chunks_exact(2)) {
                    products[0] += upper * b[0];
                    products[1] += upper * b[1];
                    products[2] += lower * b[0];
                    products[3] += lower * b[1];
                }
                for (sum, products) in sums.iter_mut().zip(products) {
                    *sum = towards_zero(f64::from(*sum) + products);
                }
            }
        }
    }
}

/// Bits behind the binary point that terms keep next to the largest.
const KEPT: i32 = 13;

/// A sum and the products of two rows of elements of 8 bits. The products and the sum are shifted to the largest
/// exponent among them, and cut off [`KEPT`] bits behind the point; the result has as many. NVIDIA does not say so: the
/// model gives the errors that we measured on an H100 for k from 128 to 8192, of normal numbers and of numbers in [0,
/// 1), with 13 bits and not with 12 or 14. How many products the hardware aligns at once (32 here) does not show in
/// these errors.
fn add_aligned(sum: f32, a: &[f64], b: &[f64]) -> f32 {
    let terms = || a.iter().zip(b);
    let total = f64::from(sum) + terms().map(|(a, b)| a * b).sum::<f64>();
    if !total.is_finite() {
        return total as f32;
    }
    // That of zero is no number's.
    let exponent = |x: f64| if x == 0.0 { i32::MIN / 2 } else { (x.to_bits() >> 52 & 0x7FF) as i32 - 1023 };
    let largest = terms().map(|(&a, &b)| exponent(a) + exponent(b)).fold(exponent(sum.into()), i32::max);
    if largest < exponent(f64::MIN_POSITIVE) {
        return sum; // all are zero
    }
    let power = |exponent: i32| f64::from_bits(((exponent + 1023) as u64) << 52);
    let cut = |term: f64| (term * power(KEPT - largest)).trunc();
    let units = cut(sum.into()) + terms().map(|(a, b)| cut(a * b)).sum::<f64>();
    let cut_off = f32::MANTISSA_DIGITS - 1 - KEPT as u32;
    f32::from_bits(towards_zero(units * power(largest - KEPT)).to_bits() >> cut_off << cut_off)
}

/// The `f32` next to `x` towards zero.
pub(super) fn towards_zero(x: f64) -> f32 {
    let nearest = x as f32;
    if f64::from(nearest).abs() > x.abs() { f32::from_bits(nearest.to_bits() - 1) } else { nearest }
}
