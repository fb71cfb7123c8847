//! Sizes as people write them on a command line.

use crate::{Error, Result};
use serde::Serialize;
use std::{fmt, str::FromStr};

/// A number of elements.
///
/// | written | is |
/// | --- | --- |
/// | `1000003`, `1_000_003` | itself |
/// | `64k`, `16M`, `2G`, `1T` (`K` too) | times 10³, 10⁶, 10⁹, 10¹² |
/// | `64Ki`, `16Mi`, `2Gi`, `1Ti` | times 2¹⁰, 2²⁰, 2³⁰, 2⁴⁰ |
/// | `2^24` | a power |
/// | `1e6` | 1 times 10⁶ |
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct Size(pub u64);

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The error for a refused text, with the reason.
fn refused(text: &str, why: &str) -> Error {
    let text: String = text.chars().take(60).flat_map(char::escape_debug).collect();
    Error::Usage(format!("the size '{text}' {why}"))
}

/// Whether these are plain digits with single underscores between them.
fn is_number(text: &str) -> bool {
    text.split('_').all(|part| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit()))
}

impl FromStr for Size {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        const HELP: &str = "is not a number; write it as 1000003, 64k, 64Ki, 2^24 or 1e6";
        let overflow = || refused(text, "is past 2^64");
        let number = |part: &str| match is_number(part) {
            true => part.replace('_', "").parse::<u64>().map_err(|_| overflow()),
            false => Err(refused(text, HELP)),
        };
        let trimmed = text.trim();
        if trimmed.is_empty() {
            return Err(Error::Usage("a size is empty; write it as 1000003, 64k, 64Ki, 2^24 or 1e6".into()));
        }
        if trimmed.strip_prefix('-').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit())) {
            return Err(refused(text, "is negative; a size is 0 or more"));
        }
        let power = |base: u64, exponent: u64| match base {
            0 | 1 => base.checked_pow(exponent.min(1) as u32),
            _ => base.checked_pow(exponent.try_into().ok()?),
        };
        let value = if let Some((base, exponent)) = trimmed.split_once('^') {
            power(number(base)?, number(exponent)?)
        } else if let Some((mantissa, exponent)) = trimmed.split_once(['e', 'E']) {
            match (number(mantissa)?, number(exponent)?) {
                (0, _) => Some(0),
                (mantissa, exponent) => power(10, exponent).and_then(|scale| mantissa.checked_mul(scale)),
            }
        } else {
            const UNITS: [(&str, u64); 10] = [
                ("Ki", 1 << 10),
                ("Mi", 1 << 20),
                ("Gi", 1 << 30),
                ("Ti", 1 << 40),
                ("k", 1000),
                ("K", 1000),
                ("M", 1_000_000),
                ("G", 1_000_000_000),
                ("T", 1_000_000_000_000),
                ("", 1),
            ];
            let split = UNITS.iter().find_map(|(unit, scale)| Some((trimmed.strip_suffix(unit)?, scale)));
            let (mantissa, scale) = split.expect("the last unit is a suffix of everything");
            number(mantissa)?.checked_mul(*scale)
        };
        value.map(Self).ok_or_else(overflow)
    }
}

/// The sides of a matrix product: `m` x `k` times `k` x `n`. Written as `MxNxK` (as BLAS orders them), or as one side
/// for three equal ones; each as a [`Size`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[allow(missing_docs, reason = "the letters are explained above")]
pub struct MatrixSize {
    pub m: u64,
    pub n: u64,
    pub k: u64,
}

impl MatrixSize {
    /// Three equal sides.
    pub const fn cube(side: u64) -> Self {
        Self { m: side, n: side, k: side }
    }

    /// The side, if the three are equal: a number of elements is written so, too.
    pub const fn one(self) -> Option<u64> {
        if self.m == self.n && self.n == self.k { Some(self.n) } else { None }
    }
}

impl fmt::Display for MatrixSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self { m, n, k } if m == n && n == k => f.pad(&m.to_string()),
            Self { m, n, k } => f.pad(&format!("{m}x{n}x{k}")),
        }
    }
}

impl FromStr for MatrixSize {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let sides = text.split(['x', '×']).map(|side| side.parse::<Size>().map(|side| side.0));
        match sides.take(4).collect::<Result<Vec<_>>>()?[..] {
            [side] => Ok(Self::cube(side)),
            [m, n, k] => Ok(Self { m, n, k }),
            _ => Err(refused(text, "is not the size of a product; write MxNxK, or one side for three equal ones")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes() {
        for (text, want) in [
            ("0", 0),
            ("1000003", 1_000_003),
            ("1_000_003", 1_000_003),
            (" 7 ", 7),
            ("64k", 64_000),
            ("64K", 64_000),
            ("64Ki", 65_536),
            ("16M", 16_000_000),
            ("1Gi", 1 << 30),
            ("1T", 1_000_000_000_000),
            ("2^24", 1 << 24),
            ("2^63", 1 << 63),
            ("3^2", 9),
            ("0^0", 1),
            ("1^18446744073709551615", 1),
            ("1e6", 1_000_000),
            ("0e99", 0),
            ("18446744073709551615", u64::MAX),
        ] {
            assert_eq!(text.parse::<Size>().unwrap().0, want, "{text}");
        }
        for (text, word) in [
            ("", "empty"),
            (" ", "empty"),
            ("-1", "negative"),
            ("18446744073709551616", "past 2^64"),
            ("2^64", "past 2^64"),
            ("10^4294967297", "past 2^64"),
            ("1e20", "past 2^64"),
            ("17000000Ti", "past 2^64"),
            ("k", "is not a number"),
            ("1.5M", "is not a number"),
            ("0x10", "is not a number"),
            ("1__0", "is not a number"),
            ("_1", "is not a number"),
            ("1e", "is not a number"),
            ("^3", "is not a number"),
            ("2^-1", "is not a number"),
            ("１", "is not a number"),
            ("+1", "is not a number"),
        ] {
            let error = text.parse::<Size>().unwrap_err();
            assert_eq!(error.exit_code(), 2);
            assert!(error.to_string().contains(word), "{text}: {error}");
        }
    }

    #[test]
    fn matrix_sizes() {
        assert_eq!("2^10".parse::<MatrixSize>().unwrap(), MatrixSize::cube(1024));
        assert_eq!("3x1kx5".parse::<MatrixSize>().unwrap(), MatrixSize { m: 3, n: 1000, k: 5 });
        assert_eq!(MatrixSize { m: 3, n: 4, k: 5 }.to_string(), "3x4x5");
        for text in ["", "3x4", "1x2x3x4", "x", "3x-4x5"] {
            assert!(text.parse::<MatrixSize>().is_err(), "{text}");
        }
    }
}
