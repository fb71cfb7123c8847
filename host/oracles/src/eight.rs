//! Elements of 8 bits, and the operands of their products.

use simt::{F8E4M3, F8E5M2};

/// The type of A; B is of e4m3.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Eight {
    /// 4 bits of exponent and 3 of mantissa.
    E4m3,
    /// 5 bits of exponent and 2 of mantissa.
    E5m2,
}

impl Eight {
    /// Both.
    pub const ALL: [Self; 2] = [Self::E4m3, Self::E5m2];

    /// The name in the program and in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::E4m3 => "e4m3",
            Self::E5m2 => "e5m2",
        }
    }

    /// The name in Python's ml_dtypes, an extension of numpy.
    pub const fn numpy(self) -> &'static str {
        match self {
            Self::E4m3 => "float8_e4m3fn",
            Self::E5m2 => "float8_e5m2",
        }
    }

    /// The bits of the nearest numbers.
    pub fn bits(self, of: &[f32]) -> Vec<u8> {
        match self {
            Self::E4m3 => of.iter().map(|&x| F8E4M3::from_f32(x).to_bits()).collect(),
            Self::E5m2 => of.iter().map(|&x| F8E5M2::from_f32(x).to_bits()).collect(),
        }
    }

    /// The numbers of these bits.
    pub fn numbers(self, of: &[u8]) -> Vec<f32> {
        match self {
            Self::E4m3 => of.iter().map(|&bits| F8E4M3::from_bits(bits).to_f32()).collect(),
            Self::E5m2 => of.iter().map(|&bits| F8E5M2::from_bits(bits).to_f32()).collect(),
        }
    }
}

/// A, of `m` rows, by rows, and then B, of `n` columns, by columns, in runs of `stride` bytes; both are given by rows.
pub fn stored(a: &[u8], b: &[u8], (m, n, k): (usize, usize, usize), stride: usize) -> Vec<u8> {
    let mut stored = vec![0; (m + n) * stride];
    let (runs_of_a, runs_of_b) = stored.split_at_mut(m * stride);
    for e in 0..k {
        (0..m).for_each(|row| runs_of_a[row * stride + e] = a[row * k + e]);
        (0..n).for_each(|column| runs_of_b[column * stride + e] = b[e * n + column]);
    }
    stored
}
