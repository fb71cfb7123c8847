//! Names of GPU architectures.

use anyhow::{Error, bail};
use std::fmt;
use std::str::FromStr;

/// Compute capability 9.0, times ten.
const HOPPER: u32 = 90;

/// A GPU architecture as compilers name it: `sm_80`, `sm_90a`, `sm_100`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Arch {
    name: String,
    number: u32,
}

impl Arch {
    /// Compute capability 9.0, without what no later one has.
    #[cfg(feature = "compile")]
    pub(crate) fn sm_90() -> Self {
        Self { name: "sm_90".into(), number: HOPPER }
    }

    /// Compute capability times ten: 90 for `sm_90` and for `sm_90a`.
    pub fn number(&self) -> u32 {
        self.number
    }

    /// Whether it has the features of Hopper (compute capability 9.0).
    pub fn has_sm_90(&self) -> bool {
        self.number >= HOPPER
    }

    /// Whether it has what compute capability 9.0 has and no other.
    pub fn is_sm_90a(&self) -> bool {
        self.name == "sm_90a"
    }
}

impl FromStr for Arch {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self, Error> {
        let digits = name.strip_prefix("sm_").map(|rest| rest.strip_suffix(['a', 'f']).unwrap_or(rest));
        match digits.filter(|d| d.bytes().all(|b| b.is_ascii_digit())).and_then(|d| d.parse().ok()) {
            Some(number) => Ok(Self { name: name.into(), number }),
            None => bail!("`{name}` is not a GPU architecture; they are written sm_80, sm_90, sm_90a, sm_100"),
        }
    }
}

impl fmt::Display for Arch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::Arch;

    #[test]
    fn reads_names_with_and_without_a_suffix() {
        for (name, number) in [("sm_80", 80), ("sm_90a", 90), ("sm_100", 100), ("sm_120f", 120)] {
            let arch: Arch = name.parse().unwrap();
            assert_eq!((arch.number(), arch.to_string().as_str()), (number, name));
        }
    }

    #[test]
    fn refuses_other_names() {
        for name in ["", "sm_", "sm_a", "80", "compute_80", "sm_8x", "sm_90-checked", "sm_99999999999"] {
            assert!(name.parse::<Arch>().is_err(), "{name}");
        }
    }
}
