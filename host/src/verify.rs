//! Results checked: with an oracle on the host, or, sorts and scans, on the device, where the host would need seconds;
//! see [`rungs_kernels::verify`].

use crate::Operation;
use crate::data::{Data, Difference};
use crate::engine::{AnyBuffer, Engine};
use crate::error::{Error, Result};
use rungs_kernels::keys::Word;
use rungs_kernels::operator::{Max, Min, Sum};
use rungs_kernels::verify::{self, verify_keys, verify_pairs, verify_scan};
use simt::{Geometry, Global, Kernel, Scalar};

/// Compares an output with its oracle, bit by bit.
///
/// # Errors
/// [`Error::Mismatch`] at the first difference.
pub fn compare(family: &str, rung: &str, got: &Data, want: &Data) -> Result<()> {
    verdict(family, rung, want.len(), got.first_difference(want))
}

/// Turns the first difference between a result (left) and its oracle (right) into an error, for `n` elements.
///
/// # Errors
/// [`Error::Mismatch`] if there is one.
pub fn verdict(family: &str, rung: &str, n: usize, first: Option<Difference>) -> Result<()> {
    let Some(Difference { index, left: got, right: want }) = first else { return Ok(()) };
    Err(Error::Mismatch { family: family.into(), rung: rung.into(), n: n as u64, index: index as u64, want, got })
}

/// The result of a pass over keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Found {
    /// Keys that are less than the one before them.
    pub descents: u64,
    /// The keys' checksum, whatever their order.
    pub checksum: u64,
}

/// Counts descents among keys and computes their checksum; the keys are ordered as `order` of [`rungs_kernels::keys`]
/// says; `zeros_equal`: -0 and +0 in any order.
///
/// # Errors
/// [`Error::Launch`] or [`Error::Cuda`] if the check, or a kernel launched
/// before it, fails; [`Error::OutOfMemory`] if two words do not fit on the engine.
pub fn keys<T: Word>(keys: &dyn AnyBuffer, order: u32, zeros_equal: bool) -> Result<Found>
where
    verify_keys<T>: Kernel<Args = (Global<T>, u32, u32, Global<u64>)>,
{
    let (engine, keys) = (keys.engine(), keys.view_as::<T>());
    let [descents, checksum] = found(engine, keys.len(), |geometry, found| {
        engine.launch(verify_keys::<T>::default(), geometry, (keys, order, zeros_equal as u32, found))
    })?;
    Ok(Found { descents, checksum })
}

/// The number of places that are wrong in sorted pairs, whose values are the places of the keys in `input`. The pairs
/// are all keys and then all values.
///
/// # Errors
/// As for [`keys`].
pub fn pairs(input: Global<u32>, pairs: &dyn AnyBuffer, order: u32) -> Result<u64> {
    let (engine, n, pairs) = (pairs.engine(), input.len(), pairs.view_as::<u32>());
    let (keys, values) = (pairs.slice(0, n), pairs.slice(n, n));
    let [wrong, _] =
        found(engine, n, |geometry, found| engine.launch(verify_pairs, geometry, (input, keys, values, order, found)))?;
    Ok(wrong)
}

/// The number of results of a scan that are wrong, given the results before them.
///
/// # Errors
/// As for [`keys`].
pub fn scan<T: Scalar>(
    input: &dyn AnyBuffer,
    output: &dyn AnyBuffer,
    operation: Operation,
    exclusive: bool,
) -> Result<u64>
where
    verify_scan<T, Sum>: Kernel<Args = (Global<T>, Global<T>, u32, Global<u64>)>,
    verify_scan<T, Min>: Kernel<Args = (Global<T>, Global<T>, u32, Global<u64>)>,
    verify_scan<T, Max>: Kernel<Args = (Global<T>, Global<T>, u32, Global<u64>)>,
{
    let (engine, exclusive) = (input.engine(), exclusive as u32);
    let (input, output) = (input.view_as::<T>(), output.view_as::<T>());
    let [wrong, _] = found(engine, output.len(), |geometry, found| {
        let args = (input, output, exclusive, found);
        match operation {
            Operation::Sum => engine.launch(verify_scan::<T, Sum>::default(), geometry, args),
            Operation::Min => engine.launch(verify_scan::<T, Min>::default(), geometry, args),
            Operation::Max => engine.launch(verify_scan::<T, Max>::default(), geometry, args),
        }
    })?;
    Ok(wrong)
}

/// Runs a launch over `n` elements and returns the two words that it adds to.
fn found(
    engine: &Engine,
    n: u32,
    launch: impl FnOnce(Geometry, Global<u64>) -> Result<()>,
) -> Result<[u64; verify::FOUND as usize]> {
    let words = engine.upload(&[0u64; verify::FOUND as usize])?;
    launch(Geometry::linear(verify::grid(n, engine.multiprocessors()), verify::BLOCK), words.view())?;
    let mut found = [0; verify::FOUND as usize];
    words.read(&mut found)?;
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{self, Distribution, Dtype};
    use crate::keys::order_of;

    fn look(keys: &[u32], order: u32, zeros_equal: bool) -> Found {
        let buffer = Engine::simulator().upload(keys).unwrap();
        super::keys::<u32>(&buffer, order, zeros_equal).unwrap()
    }

    #[test]
    fn sorted_keys_pass_and_every_fault_is_seen() {
        let input: Vec<u32> = Distribution::Uniform.keys(5001, 3).unwrap();
        let data = data::sorted(&data::Data::from(input.clone()));
        let sorted = data.as_slice::<u32>().unwrap().to_vec();
        let want = Found { descents: 0, checksum: look(&input, 0, false).checksum };
        assert_eq!(look(&sorted, 0, false), want);
        let mut swapped = sorted.clone();
        swapped.swap(4999, 5000);
        assert_eq!(look(&swapped, 0, false), Found { descents: 1, ..want });
        for (at, value) in [(0, 0), (5000, u32::MAX), (77, sorted[78]), (78, sorted[77])] {
            let mut changed = sorted.clone();
            changed[at] = value;
            assert_ne!(look(&changed, 0, false), want, "key {at}");
        }
        assert_eq!(look(&[], 0, false), Found { descents: 0, checksum: 0 });
    }

    #[test]
    fn sorted_pairs_pass_and_every_fault_is_seen() {
        let engine = Engine::simulator();
        for (dtype, distribution) in [(Dtype::U32, Distribution::Few), (Dtype::F32, Distribution::Special)] {
            let (input, order) = (distribution.generate(dtype, 5001, 3).unwrap(), order_of(dtype));
            let bits = |data: &data::Data| bytemuck::cast_slice::<u8, u32>(data.as_bytes()).to_vec();
            let (keys, values) = data::stable_sorted(&input);
            let (input, keys) = (engine.upload(&bits(&input)).unwrap(), bits(&keys));
            let wrong = |keys: &[u32], values: &[u32]| {
                pairs(input.view(), &engine.upload(&[keys, values].concat()).unwrap(), order).unwrap()
            };
            assert_eq!(wrong(&keys, &values), 0);
            let equal = (0..5000).find(|&i| keys[i] == keys[i + 1]).unwrap();
            let less = (0..5000).find(|&i| keys[i] != keys[i + 1]).unwrap();
            for (i, what) in [(equal, "not stable"), (less, "not sorted")] {
                let (mut keys, mut values) = (keys.clone(), values.clone());
                keys.swap(i, i + 1);
                values.swap(i, i + 1);
                assert_eq!(wrong(&keys, &values), 1, "{dtype}: {what}");
            }
            for (at, value) in
                [(0, u32::MAX), (5000, 5001), (17, values[18]), (18, values[17]), (equal, values[less + 1])]
            {
                let mut changed = values.clone();
                changed[at] = value;
                assert!(wrong(&keys, &changed) > 0, "{dtype}: value {at}");
                let mut changed = keys.clone();
                changed[at] ^= 1;
                assert!(wrong(&changed, &values) > 0, "{dtype}: key {at}");
            }
            let nothing = engine.upload::<u32>(&[]).unwrap();
            assert_eq!(pairs(nothing.view(), &nothing, order).unwrap(), 0);
        }
    }

    #[test]
    fn floats_and_signed_numbers_have_their_order() {
        for dtype in [Dtype::I32, Dtype::F32, Dtype::I64, Dtype::F64] {
            let data = data::sorted(&Distribution::Special.generate(dtype, 3000, 1).unwrap());
            let order = order_of(dtype);
            let engine = Engine::simulator();
            let descents = match data.to_bits() {
                data::Words::U32(words) => super::keys::<u32>(&engine.upload(&words).unwrap(), order, false),
                data::Words::U64(words) => super::keys::<u64>(&engine.upload(&words).unwrap(), order, false),
            };
            assert_eq!(descents.unwrap().descents, 0, "{dtype}");
        }
        let zeros = [-1.0f32, 0.0, -0.0, 0.0, 1.0].map(f32::to_bits);
        assert_eq!(look(&zeros, rungs_kernels::keys::FLOAT, false).descents, 1);
        assert_eq!(look(&zeros, rungs_kernels::keys::FLOAT, true).descents, 0);
        assert_eq!(look(&[0.0f32, -1.0].map(f32::to_bits), rungs_kernels::keys::FLOAT, true).descents, 1);
    }

    #[test]
    fn scans_are_right_or_not() {
        let engine = Engine::simulator();
        let input: Vec<u64> = Distribution::Uniform.keys(4000, 3).unwrap();
        let mut sum = 0u64;
        let mut sums: Vec<u64> = input
            .iter()
            .map(|x| {
                sum = sum.wrapping_add(*x);
                sum
            })
            .collect();
        let input = engine.upload(&input).unwrap();
        let wrong = |sums: &[u64], exclusive| {
            super::scan::<u64>(&input, &engine.upload(sums).unwrap(), Operation::Sum, exclusive).unwrap()
        };
        assert_eq!(wrong(&sums, false), 0);
        assert!(wrong(&sums, true) > 0);
        sums[3999] += 1;
        assert_eq!(wrong(&sums, false), 1);
        sums.insert(0, 0);
        assert_eq!(wrong(&sums[..4000], true), 0);
        sums[0] = 5;
        assert_eq!(wrong(&sums[..4000], true), 2);
    }
}
