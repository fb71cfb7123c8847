//! Precision of matrix products.

/// How precise the elements of a product are. Errors are relative: to the sum of the magnitudes of an element's terms,
/// or to the root of the sum of their squares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Precision {
    /// Products and sums of `f32`.
    F32,
    /// Three products of TF32 numbers for one of `f32`; their sums over at most 32 k are cut off, the others rounded.
    ThreeTf32,
    /// [`Precision::ThreeTf32`], but the two small ones of the three products are of `bf16` numbers if k is large.
    /// The error is below that of an `f32` sum over the same k.
    Mixed,
    /// Products of elements that are rounded to TF32 before; all sums are cut off.
    Tf32,
    /// [`Precision::Tf32`], but one element of each product is cut off to TF32, which may be twice as far.
    CutTf32,
    /// Products and sums of `f64`.
    F64,
    /// Products of elements of 16 bits, whose sums are `f32` and cut off. Rounding the elements of C adds to this
    /// error.
    Sixteen,
    /// Products of elements of 8 bits. The tensor cores sum those of 128 k, and the sums of these are of `f32`.
    Promoted,
    /// Products of elements of 8 bits, all summed on the tensor cores, which keep about 14 bits of a sum.
    Hardware,
}

/// The unit of the last place of an `f32`.
const UNIT: f64 = f32::EPSILON as f64;
/// That of an `f64`.
const UNIT_F64: f64 = f64::EPSILON;
/// The largest error of a product of two elements rounded to TF32.
const UNIT_TF32: f64 = UNIT * 8192.0;
/// What the tensor cores cut off a term of a sum of products of 8 bits, relative to the largest term, at most.
const UNIT_EIGHT: f64 = 1.0 / (1 << 13) as f64;

impl Precision {
    /// The precisions of `f32` products, the most precise first.
    pub const ALL: [Self; 4] = [Self::F32, Self::ThreeTf32, Self::Mixed, Self::Tf32];

    /// The precisions of products of elements of 8 bits, the most precise first.
    pub const OF_EIGHT_BITS: [Self; 2] = [Self::Promoted, Self::Hardware];

    /// The largest error of 32 products of 8 bits that the tensor cores add to a sum, relative to the largest of these
    /// 33 terms and the result: each may be cut off by a unit, and six more are for an order that NVIDIA does not say.
    pub const CUT_OFF: f64 = 40.0 * UNIT_EIGHT;

    /// The name on a command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::F32 => "f32",
            Self::ThreeTf32 => "three-tf32",
            Self::Mixed => "mixed",
            Self::Tf32 | Self::CutTf32 => "tf32",
            Self::F64 => "f64",
            Self::Sixteen => "16 bits",
            Self::Promoted => "promoted",
            Self::Hardware => "hardware",
        }
    }

    /// The precision that a caller asks for to get this one.
    pub const fn asked_for(self) -> Self {
        match self {
            Self::CutTf32 => Self::Tf32,
            other => other,
        }
    }

    /// The largest error of an element that is the sum of `k` products, relative to the sum of their magnitudes.
    ///
    /// The tensor cores align eight products and a sum to the largest of them, and cut off what is below 24 bits: 10
    /// units at most. Three TF32 products leave out the smallest of four, 2 units, and a unit of each operand's last
    /// place; they are summed sixteen or 32 at a time, by two or four such additions, and their two small sums count
    /// little. Where those are of `bf16` numbers, each of the four factors is wrong by 2⁻⁸ of 2⁻¹¹ at most: 64 units
    /// together. Of elements of 16 bits sixteen products and a sum are added at once: 18 units. A sum of `f64` is
    /// compared with one that has been rounded as often. Of elements of 8 bits 32 products and a sum are added at once
    /// ([`Precision::CUT_OFF`]), of promoted sums in each of four steps.
    pub fn bound(self, k: usize) -> f64 {
        let k = k as f64;
        match self {
            Self::F32 => UNIT * (k + 2.0),
            Self::ThreeTf32 => UNIT * (k / 16.0 + 32.0).max(k / 32.0 + 52.0),
            Self::Mixed => UNIT * (k / 32.0 + 52.0 + 64.0),
            Self::Tf32 => UNIT_TF32 + UNIT * (10.0 * (k / 8.0).ceil() + 2.0),
            Self::CutTf32 => 1.5 * UNIT_TF32 + UNIT * (10.0 * (k / 8.0).ceil() + 4.0),
            Self::F64 => UNIT_F64 * (k + 2.0),
            Self::Sixteen => UNIT * (18.0 * (k / 16.0).ceil() + 2.0),
            Self::Promoted => Self::CUT_OFF * (k / 32.0).ceil().min(4.0) + UNIT * (k / 128.0 + 1.0),
            Self::Hardware => Self::CUT_OFF * (k / 32.0).ceil(),
        }
    }

    /// The error that is likely in a sum of elements of random signs, relative to the root of the sum of all terms'
    /// squares, for sums of `k` products.
    pub fn likely(self, k: usize) -> f64 {
        let of_sums = UNIT * (k as f64 + 1.0).sqrt();
        match self {
            Self::F32 | Self::ThreeTf32 | Self::Mixed | Self::Sixteen => of_sums,
            Self::F64 => UNIT_F64 * (k as f64 + 1.0).sqrt(),
            Self::Promoted | Self::Hardware => UNIT_EIGHT * (self.depth(k) as f64).sqrt() / 4.0,
            // In units of this, the root of the mean square of a product's error is 0.3, and 0.4 if one is cut off.
            Self::Tf32 | Self::CutTf32 => of_sums.max(UNIT_TF32),
        }
    }

    /// How many of `k` products the tensor cores add to one sum of less precision than `f32`.
    pub fn depth(self, k: usize) -> usize {
        match self {
            Self::Promoted => k.min(128),
            Self::Hardware => k,
            _ => 0,
        }
    }

    /// The error that is usual in an element whose terms have one sign, relative to the element: each addition cuts
    /// off the more, the larger the sum is. An H100 has an eighth of this at k = 128, and half of it at k = 8192.
    pub fn usual_cut_off(self, k: usize) -> f64 {
        UNIT_EIGHT * self.depth(k) as f64 / 4.0
    }

    /// The largest whole number of which all products are exact. (Elements of 16 bits are what they are.)
    pub const fn exact_to(self) -> f64 {
        match self {
            Self::F32 => (1 << 24) as f64,
            Self::ThreeTf32 | Self::Mixed | Self::Tf32 | Self::CutTf32 => (1 << 11) as f64,
            // 128 products of two of them are exact sums on the tensor cores.
            Self::Promoted => 8.0,
            Self::F64 | Self::Sixteen | Self::Hardware => self.exact_sums_to(),
        }
    }

    /// The largest whole number up to which all sums are exact.
    pub const fn exact_sums_to(self) -> f64 {
        match self {
            Self::F64 => (1u64 << 53) as f64,
            Self::Hardware => 1.0 / UNIT_EIGHT,
            _ => (1 << 24) as f64,
        }
    }
}
