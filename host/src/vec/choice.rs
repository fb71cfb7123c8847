//! Which rung does what a vector is asked to do: a table.
//!
//! A row says what is done, for elements of how many bytes, on what kind of device, up to how many elements, and by
//! which rung. The first row that fits is taken. [`Row::basis`] says where it comes from: a measurement, or, until there
//! is one, the order of the ladder.

use crate::algorithms::{Rung, family};
use crate::engine::Engine;
use crate::error::{Error, Result};

/// What a vector can be asked to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "each is the method of that name")]
pub enum Task {
    Sort,
    /// Sorting keys that have a value each, see [`DeviceVec::sort_with`](super::DeviceVec::sort_with).
    SortPairs,
    Reduce,
    Scan,
}

/// A kind of device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Device {
    /// The simulator, where a choice is about how long one waits for it.
    Simulator,
    /// A GPU of this compute capability or a later one.
    Cuda(u32, u32),
}

impl Device {
    fn fits(self, engine: &Engine) -> bool {
        match (self, engine.as_cuda()) {
            (Self::Simulator, None) => true,
            (Self::Cuda(major, minor), Some(cuda)) => cuda.properties().compute_capability >= (major, minor),
            _ => false,
        }
    }
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
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// What is done.
    pub task: Task,
    /// Bytes of an element.
    pub bytes: usize,
    /// On what.
    pub device: Device,
    /// Up to how many elements.
    pub up_to: u64,
    /// The family and the rung that does it.
    pub rung: (&'static str, &'static str),
    /// Why.
    pub basis: Basis,
}

const ANY: u64 = u32::MAX as u64;

/// Most elements that `msd-skewed` takes.
const MSD_MOST: u64 = rungs_kernels::radix::r8_msd_buckets::MAX_KEYS as u64;

const fn row(
    task: Task,
    bytes: usize,
    device: Device,
    up_to: u64,
    rung: (&'static str, &'static str),
    basis: Basis,
) -> Row {
    Row { task, bytes, device, up_to, rung, basis }
}

/// How the simulator's rows were measured.
const SIMULATED: Basis = Basis::Measured("rungs ladder --device sim on two cores, 2026-11-21");

/// How the rows of a GPU were measured.
const H200: Basis = Basis::Measured("rungs bench on an H200, bench/results/h200-2026-11-21-*.json");

const REGISTER_STEP: (&str, &str) = ("bitonic", "register-step");
const ONESWEEP: (&str, &str) = ("radix", "onesweep");
const MSD_SKEWED: (&str, &str) = ("radix", "msd-skewed");
const SINGLE_LAUNCH: (&str, &str) = ("reduce", "single-launch");
const LOOK_BACK: (&str, &str) = ("scan", "look-back");
const LOOK_AHEAD: (&str, &str) = ("scan", "look-ahead");

/// The choices, by task, size of element and device; of these by rising `up_to`.
pub static ROWS: &[Row] = &[
    row(Task::Sort, 4, Device::Simulator, ANY, REGISTER_STEP, SIMULATED),
    row(Task::Sort, 8, Device::Simulator, ANY, REGISTER_STEP, SIMULATED),
    row(Task::Sort, 4, Device::Cuda(9, 0), MSD_MOST, MSD_SKEWED, H200),
    row(Task::Sort, 4, Device::Cuda(9, 0), ANY, ONESWEEP, Basis::Ladder),
    row(Task::Sort, 8, Device::Cuda(9, 0), MSD_MOST, MSD_SKEWED, H200),
    row(Task::Sort, 8, Device::Cuda(9, 0), ANY, ONESWEEP, Basis::Ladder),
    row(Task::Sort, 4, Device::Cuda(8, 0), MSD_MOST, MSD_SKEWED, Basis::Ladder),
    row(Task::Sort, 4, Device::Cuda(8, 0), ANY, ONESWEEP, Basis::Ladder),
    row(Task::Sort, 8, Device::Cuda(8, 0), MSD_MOST, MSD_SKEWED, Basis::Ladder),
    row(Task::Sort, 8, Device::Cuda(8, 0), ANY, ONESWEEP, Basis::Ladder),
    row(Task::SortPairs, 4, Device::Simulator, ANY, ONESWEEP, Basis::Ladder),
    row(Task::SortPairs, 4, Device::Cuda(9, 0), ANY, ONESWEEP, H200),
    row(Task::SortPairs, 4, Device::Cuda(8, 0), ANY, ONESWEEP, Basis::Ladder),
    row(Task::Reduce, 4, Device::Simulator, ANY, SINGLE_LAUNCH, SIMULATED),
    row(Task::Reduce, 8, Device::Simulator, ANY, SINGLE_LAUNCH, SIMULATED),
    row(Task::Reduce, 4, Device::Cuda(9, 0), ANY, SINGLE_LAUNCH, H200),
    row(Task::Reduce, 4, Device::Cuda(8, 0), ANY, SINGLE_LAUNCH, Basis::Ladder),
    row(Task::Reduce, 8, Device::Cuda(8, 0), ANY, SINGLE_LAUNCH, Basis::Ladder),
    row(Task::Scan, 4, Device::Simulator, ANY, LOOK_AHEAD, SIMULATED),
    row(Task::Scan, 8, Device::Simulator, ANY, LOOK_AHEAD, SIMULATED),
    row(Task::Scan, 4, Device::Cuda(9, 0), ANY, LOOK_AHEAD, H200),
    row(Task::Scan, 8, Device::Cuda(9, 0), ANY, LOOK_AHEAD, Basis::Ladder),
    row(Task::Scan, 4, Device::Cuda(8, 0), ANY, LOOK_BACK, Basis::Ladder),
    row(Task::Scan, 8, Device::Cuda(8, 0), ANY, LOOK_BACK, Basis::Ladder),
];

/// The rung for a task on elements of so many bytes.
///
/// # Errors
/// [`Error::Usage`] if the table has none.
pub fn choose(engine: &Engine, task: Task, bytes: usize, n: usize) -> Result<&'static Rung> {
    let row = pick(ROWS, engine, task, bytes, n);
    let found = row.and_then(|row| family(row.rung.0)?.rungs.iter().find(|rung| rung.name == row.rung.1));
    found.ok_or_else(|| {
        let device = &engine.info().name;
        Error::Usage(format!("there is no choice for {task:?} of {n} elements of {bytes} bytes on {device}"))
    })
}

/// The first row that fits.
fn pick<'a>(rows: &'a [Row], engine: &Engine, task: Task, bytes: usize, n: usize) -> Option<&'a Row> {
    let fits = |row: &&Row| row.task == task && row.bytes == bytes && n as u64 <= row.up_to && row.device.fits(engine);
    rows.iter().find(fits)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algorithms::{Implementation, Parameters, Size};
    use crate::data::Dtype;

    /// Every row names a rung that does the task at every size that it may be asked for, and for each task, size of
    /// element and device there is a row for any n.
    #[test]
    fn rows_name_rungs_that_can_do_it() {
        for row in ROWS {
            let rung = family(row.rung.0).unwrap().rung(row.rung.1).unwrap();
            assert!(rung.capacity.is_none_or(|capacity| row.up_to <= capacity), "{row:?}");
            assert!(row.device != Device::Simulator || rung.gpu_only.is_none(), "{row:?}");
            let does_it = match rung.implementation {
                Implementation::Sort(_) => matches!(row.task, Task::Sort | Task::SortPairs),
                Implementation::Reduce(_) => row.task == Task::Reduce,
                Implementation::Scan(_) => row.task == Task::Scan,
                _ => false,
            };
            assert!(does_it, "{row:?}");
            let pairs = Parameters { values: row.task == Task::SortPairs, ..Parameters::default() };
            let dtype = if row.bytes == 4 { Dtype::U32 } else { Dtype::U64 };
            assert_eq!(rung.refuses(&Size::Elements(0), dtype, &pairs), None, "{row:?}");
        }
        let widths = [Task::Sort, Task::Reduce, Task::Scan].map(|task| (task, &[4, 8][..]));
        for (task, widths) in widths.into_iter().chain([(Task::SortPairs, &[4][..])]) {
            for &bytes in widths {
                for device in [Device::Simulator, Device::Cuda(8, 0)] {
                    let any = |row: &&Row| (row.task, row.bytes, row.device, row.up_to) == (task, bytes, device, ANY);
                    assert!(ROWS.iter().any(|row| any(&row)), "{task:?} of {bytes} bytes on {device:?}");
                }
            }
        }
    }

    /// The first row that fits is meant to be the one with the least limit.
    #[test]
    fn rows_of_one_kind_rise() {
        for pair in ROWS.windows(2) {
            let same = (pair[0].task, pair[0].bytes, pair[0].device) == (pair[1].task, pair[1].bytes, pair[1].device);
            assert!(!same || pair[0].up_to < pair[1].up_to, "{pair:?}");
        }
    }

    #[test]
    fn choices_depend_on_task_element_device_and_size() {
        let engine = Engine::simulator();
        let rows = [
            row(Task::Reduce, 4, Device::Cuda(8, 0), ANY, ("a", "gpu"), Basis::Ladder),
            row(Task::Scan, 4, Device::Simulator, ANY, ("a", "other task"), Basis::Ladder),
            row(Task::Reduce, 8, Device::Simulator, ANY, ("a", "other element"), Basis::Ladder),
            row(Task::Reduce, 4, Device::Simulator, 10, ("a", "small"), Basis::Ladder),
            row(Task::Reduce, 4, Device::Simulator, 20, ("a", "large"), Basis::Ladder),
        ];
        let name = |n| pick(&rows, &engine, Task::Reduce, 4, n).map(|row| row.rung.1);
        assert_eq!([0, 10, 11, 20, 21].map(name), [Some("small"), Some("small"), Some("large"), Some("large"), None]);
        assert_eq!(choose(&engine, Task::Sort, 8, 5).unwrap().name, "register-step");
        assert!(choose(&engine, Task::Sort, 2, 5).is_err());
    }
}
