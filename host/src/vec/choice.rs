//! Which rung does what a vector or a matrix is asked to do: a table per task.
//!
//! A row names a rung, the size of its elements, the machine, and the largest number of elements. The first row that
//! fits, and whose rung does not refuse the device, is taken. [`Row::basis`] says where a row comes from: a
//! measurement, or, until there is one, the order of the ladder.

use crate::engine::Engine;
use crate::error::{Error, Result};
use rungs_kernels::ladder::matmul::{Matmul, Multiplied, Precision};
use rungs_kernels::ladder::reduce::Reduce;
use rungs_kernels::ladder::scan::Scan;
use rungs_kernels::ladder::sort::Sort;
use rungs_kernels::ladder::{Ask, Device, Entry, Ladder, Options};
use rungs_kernels::{bitonic, ladders, products, reduce, scan, sorts};

/// A kind of machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Machine {
    /// The simulator, where a choice is about how long one waits for it.
    Simulator,
    /// A GPU of this compute capability or a later one.
    Cuda(u32, u32),
}

/// Why a row says what it says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Basis {
    /// Measured: where and how.
    Measured(&'static str),
    /// Not measured yet: the last rung of the ladder that takes the type and the size.
    Ladder,
}

/// One choice.
#[derive(Clone, Copy)]
pub struct Row<K: 'static> {
    /// Bytes of an element.
    pub bytes: usize,
    /// On what.
    pub machine: Machine,
    /// Up to how many elements; of a matrix product, elements of C.
    pub up_to: u64,
    /// The ladder of the rung.
    pub ladder: &'static Ladder<K>,
    /// The rung's name.
    pub rung: &'static str,
    /// Why.
    pub basis: Basis,
}

const ANY: u64 = u32::MAX as u64;
const SIM: Machine = Machine::Simulator;
const CUDA_8: Machine = Machine::Cuda(8, 0);
const CUDA_9: Machine = Machine::Cuda(9, 0);

/// How the simulator's rows were measured.
const SIMULATED: Basis = Basis::Measured("rungs ladder --device sim on two cores, 2026-11-21 and 2026-11-22");
/// How the rows of GPUs were measured.
const H100: Basis = Basis::Measured("rungs bench on an H100, bench/results/h100/h100-2026-11-22-*.json");
const H100_F64: Basis = Basis::Measured("rungs bench on an H100, bench/results/h100/h100-2026-11-27-matmul-f64.json");
const H200: Basis = Basis::Measured("rungs bench on an H200, bench/results/h200-2026-11-2*.json");

const fn row<K>(
    bytes: usize,
    machine: Machine,
    up_to: u64,
    ladder: &'static Ladder<K>,
    rung: &'static str,
    basis: Basis,
) -> Row<K> {
    Row { bytes, machine, up_to, ladder, rung, basis }
}

/// Elements that `either` takes, at most.
const MSD_MOST: u64 = sorts::buckets::MAX_KEYS as u64;

/// Sorting keys.
pub static SORTS: &[Row<Sort>] = &[
    row(4, SIM, ANY, &bitonic::LADDER, "register-step", SIMULATED),
    row(8, SIM, ANY, &bitonic::LADDER, "register-step", SIMULATED),
    row(4, CUDA_9, MSD_MOST, &ladders::RADIX, "either", H200),
    row(8, CUDA_9, MSD_MOST, &ladders::RADIX, "either", H200),
    row(4, CUDA_8, MSD_MOST, &ladders::RADIX, "either", Basis::Ladder),
    row(8, CUDA_8, MSD_MOST, &ladders::RADIX, "either", Basis::Ladder),
    row(4, CUDA_8, ANY, &ladders::RADIX, "onesweep", Basis::Ladder),
    row(8, CUDA_8, ANY, &ladders::RADIX, "onesweep", Basis::Ladder),
];

/// Sorting keys that have a value each, see [`DeviceVec::sort_with`](super::DeviceVec::sort_with).
pub static PAIR_SORTS: &[Row<Sort>] = &[
    row(4, SIM, ANY, &ladders::RADIX, "onesweep", Basis::Ladder),
    row(4, CUDA_9, ANY, &ladders::RADIX, "msd-pairs", H200),
    row(4, CUDA_8, ANY, &ladders::RADIX, "msd-pairs", Basis::Ladder),
    // Devices whose blocks have too little shared memory for that.
    row(4, CUDA_8, ANY, &ladders::RADIX, "onesweep", Basis::Ladder),
];

/// Reducing.
pub static REDUCTIONS: &[Row<&dyn Reduce>] = &[
    row(4, SIM, ANY, &reduce::LADDER, "single-launch", SIMULATED),
    row(8, SIM, ANY, &reduce::LADDER, "single-launch", SIMULATED),
    row(4, CUDA_9, ANY, &reduce::LADDER, "single-launch", H200),
    row(4, CUDA_8, ANY, &reduce::LADDER, "single-launch", Basis::Ladder),
    row(8, CUDA_8, ANY, &reduce::LADDER, "single-launch", Basis::Ladder),
];

/// Scanning.
pub static SCANS: &[Row<&dyn Scan>] = &[
    row(4, SIM, ANY, &scan::LADDER, "look-ahead", SIMULATED),
    row(8, SIM, ANY, &scan::LADDER, "look-ahead", SIMULATED),
    row(4, CUDA_9, ANY, &scan::LADDER, "look-ahead", H200),
    row(8, CUDA_9, ANY, &scan::LADDER, "look-ahead", H100),
    row(4, CUDA_8, ANY, &scan::LADDER, "look-back", Basis::Ladder),
    row(8, CUDA_8, ANY, &scan::LADDER, "look-back", Basis::Ladder),
];

/// Multiplying matrices. A row is for the precision of its rung; elements of 2 and of 8 bytes have one each.
pub static PRODUCTS: &[Row<Matmul>] = &[
    row(4, SIM, ANY, &products::LADDER, "any-type", SIMULATED),
    row(4, SIM, ANY, &products::LADDER, "three-tf32", Basis::Ladder),
    row(4, SIM, ANY, &products::LADDER, "mixed", Basis::Ladder),
    row(4, SIM, ANY, &products::LADDER, "tf32", Basis::Ladder),
    row(4, CUDA_9, ANY, &products::LADDER, "fp32-hopper", H200),
    row(4, CUDA_8, ANY, &products::LADDER, "fp32", Basis::Ladder),
    row(4, CUDA_9, ANY, &products::LADDER, "three-tf32-group", H200),
    row(4, CUDA_9, ANY, &products::LADDER, "mixed", H200),
    row(4, CUDA_9, ANY, &products::LADDER, "tensor-registers", H200),
    row(4, CUDA_8, ANY, &products::LADDER, "three-tf32", Basis::Ladder),
    row(4, CUDA_8, ANY, &products::LADDER, "tf32", Basis::Ladder),
    row(8, SIM, ANY, &products::LADDER, "any-type", Basis::Ladder),
    row(8, CUDA_9, ANY, &products::LADDER, "fp64-hopper", H100_F64),
    row(8, CUDA_8, ANY, &products::LADDER, "fp64", Basis::Ladder),
    row(2, SIM, ANY, &products::LADDER, "half-hopper", Basis::Ladder),
    row(2, CUDA_9, ANY, &products::LADDER, "half-cluster", H200),
];

/// The rung that multiplies matrices of `T`, those of `f32` with this precision, for a product of `n` elements on an
/// engine.
///
/// # Errors
/// [`Error::Usage`] if the device has none.
pub fn choose_product<T: Multiplied>(
    engine: &Engine,
    precision: Precision,
    n: usize,
) -> Result<&'static Entry<Matmul>> {
    choose(&of_precision::<T>(precision), engine, size_of::<T>(), n)
}

fn of_precision<T: Multiplied>(precision: Precision) -> Vec<Row<Matmul>> {
    let is_f32 = |row: &Row<Matmul>| row.bytes == size_of::<f32>();
    let own = |row: &Row<Matmul>| row.ladder.get(row.rung).and_then(|entry| T::precision(entry.run));
    let has = |row: &&Row<Matmul>| own(row).is_some_and(|own| !is_f32(row) || own.asked_for() == precision);
    PRODUCTS.iter().filter(|row| row.bytes == size_of::<T>()).filter(has).copied().collect()
}

/// The rung of a table for `n` elements of this many bytes on an engine.
///
/// # Errors
/// [`Error::Usage`] if the table has none.
pub fn choose<K>(rows: &[Row<K>], engine: &Engine, bytes: usize, n: usize) -> Result<&'static Entry<K>> {
    pick(rows, engine.is_simulator(), engine.device(), bytes, n as u64).ok_or_else(|| {
        let device = &engine.info().name;
        Error::Usage(format!("there is no choice for {n} elements of {bytes} bytes on {device}"))
    })
}

/// The first rung that fits and that does not refuse.
pub(crate) fn pick<K>(
    rows: &[Row<K>],
    simulator: bool,
    device: Device,
    bytes: usize,
    n: u64,
) -> Option<&'static Entry<K>> {
    let there = |machine| match machine {
        Machine::Simulator => simulator,
        Machine::Cuda(major, minor) => !simulator && device.compute_capability >= (major, minor),
    };
    let ask = Ask { n, element_bytes: bytes as u32, options: Options::default(), device };
    let fits = |row: &&Row<K>| row.bytes == bytes && n <= row.up_to && there(row.machine);
    let entries = rows.iter().filter(fits).filter_map(|row| row.ladder.get(row.rung));
    entries.into_iter().find(|entry| entry.rung.refusal(&ask).is_none())
}

#[cfg(test)]
mod tests {
    use super::*;
    use simt::launcher::{KNOWN_DEVICES, MAX_SHARED};
    use simt::{bf16, f16};

    /// A name for each entry that a table chooses at some sizes around its limits, on every kind of device.
    fn check<K>(rows: &[Row<K>], widths: &[usize]) {
        for row in rows {
            let entry = row.ladder.get(row.rung).unwrap_or_else(|| panic!("no rung {}", row.rung));
            assert!(entry.rung.capacity.is_none_or(|capacity| row.up_to <= capacity), "{}", row.rung);
        }
        for &(compute_capability, shared_per_block) in &KNOWN_DEVICES {
            let device = Device { multiprocessors: 100, shared_per_block, compute_capability };
            for &bytes in widths {
                for n in [0, 1, 1 << 16, 1 << 27, (1 << 27) + 1, ANY - 0xffff, ANY] {
                    let found = pick(rows, false, device, bytes, n);
                    assert!(found.is_some(), "{n} elements of {bytes} bytes on {device:?}");
                }
            }
        }
        for &bytes in widths {
            let device = Device { multiprocessors: 2, shared_per_block: MAX_SHARED, compute_capability: (9, 0) };
            assert!(pick(rows, true, device, bytes, ANY).is_some(), "{bytes} bytes on the simulator");
            assert!(pick(rows, true, device, 3, 5).is_none());
        }
    }

    #[test]
    fn every_table_has_a_rung_for_every_size_on_every_device() {
        check(SORTS, &[4, 8]);
        check(PAIR_SORTS, &[4]);
        check(REDUCTIONS, &[4, 8]);
        check(SCANS, &[4, 8]);
        for precision in Precision::ALL.into_iter().filter(|precision| *precision != Precision::Mixed) {
            check(&of_precision::<f32>(precision), &[4]);
        }
        check(&of_precision::<f64>(Precision::F32), &[8]);
    }

    /// Elements of 16 bits are multiplied on Hopper alone, and so are those of `f32` in mixed precision.
    #[test]
    fn products_on_hopper_alone() {
        for (rows, bytes, name) in [
            (of_precision::<bf16>(Precision::F32), 2, "half-cluster"),
            (of_precision::<f16>(Precision::F32), 2, "half-cluster"),
            (of_precision::<f32>(Precision::Mixed), 4, "mixed"),
        ] {
            for &(compute_capability, shared_per_block) in &KNOWN_DEVICES {
                let device = Device { multiprocessors: 100, shared_per_block, compute_capability };
                let found = pick(&rows, false, device, bytes, 1000).map(|entry| entry.rung.name);
                assert_eq!(found, (compute_capability == (9, 0)).then_some(name), "{device:?}");
            }
            let simulated = Device { multiprocessors: 2, shared_per_block: MAX_SHARED, compute_capability: (9, 0) };
            assert!(pick(&rows, true, simulated, bytes, ANY).is_some());
        }
    }

    #[test]
    fn a_rung_that_the_device_cannot_run_is_passed_over() {
        let on = |compute_capability, shared_per_block| {
            let device = Device { multiprocessors: 100, shared_per_block, compute_capability };
            pick(SCANS, false, device, 4, 1000).map(|entry| entry.rung.name)
        };
        assert_eq!(on((9, 0), 227 << 10), Some("look-ahead"));
        assert_eq!(on((12, 0), 99 << 10), Some("look-back"));
        assert_eq!(on((8, 0), 163 << 10), Some("look-back"));
        assert_eq!(on((7, 5), 64 << 10), None);
        let on = |shared_per_block| {
            let device = Device { multiprocessors: 100, shared_per_block, compute_capability: (9, 0) };
            pick(PAIR_SORTS, false, device, 4, 1000).map(|entry| entry.rung.name)
        };
        assert_eq!([227 << 10, 99 << 10].map(on), [Some("msd-pairs"), Some("onesweep")]);
    }

    #[test]
    fn choices_depend_on_element_machine_and_size() {
        let engine = Engine::simulator();
        let rows = [
            row(4, CUDA_8, ANY, &reduce::LADDER, "shuffle", Basis::Ladder),
            row(8, SIM, ANY, &reduce::LADDER, "sequential", Basis::Ladder),
            row(4, SIM, 10, &reduce::LADDER, "first-add", Basis::Ladder),
            row(4, SIM, 20, &reduce::LADDER, "interleaved", Basis::Ladder),
        ];
        let name = |n| choose(&rows, &engine, 4, n).ok().map(|entry| entry.rung.name);
        let (small, large) = (Some("first-add"), Some("interleaved"));
        assert_eq!([0, 10, 11, 20, 21].map(name), [small, small, large, large, None]);
        assert_eq!(choose(SORTS, &engine, 8, 5).unwrap().rung.name, "register-step");
        assert!(choose(SORTS, &engine, 2, 5).is_err());
    }
}
