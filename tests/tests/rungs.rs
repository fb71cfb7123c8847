//! Every rung of the registry, on the simulator and on the GPU, by one set of checks.
//!
//! A rung's trial runs all its sizes, element types and distributions; each result is compared whole with an oracle
//! that the host computes from the input. Where there is no GPU, the GPU's trials are reported as ignored. A third
//! trial per rung runs it under the simulator's checks.

#[path = "rungs/checks.rs"]
mod checks;

use libtest_mimic::{Arguments, Failed, Trial};
use rungs::data::Distribution::{Uniform, Zipf};
use rungs::data::{Distribution, Dtype};
use rungs::engine::{DeviceChoice, Engine};
use rungs_cli::algorithms::segmented_sort::Lengths;
use rungs_cli::algorithms::{Extra, FAMILIES, Family, Operation, Parameters, Rung, Size, Workload};

/// Sizes that every rung is run at: around a warp, around blocks, around common tiles, and primes.
const SIZES: &[u64] = &[0, 1, 2, 3, 31, 32, 33, 255, 256, 257, 1009, 1023, 1024, 1025, 4099];

/// Sides of matrix products: m, n, k.
const PRODUCTS: &[[u64; 3]] = &[
    [0, 0, 0],
    [0, 3, 2],
    [3, 0, 2],
    [3, 2, 0],
    [1, 1, 1],
    [1, 17, 1],
    [15, 16, 17],
    [16, 16, 16],
    [33, 7, 65],
    [31, 64, 1],
    [64, 48, 32],
    [101, 67, 43],
    TALL,
];

/// More rows of 16 × 16 tiles than a grid has blocks along y.
const TALL: [u64; 3] = [16 * 65_535 + 1, 1, 2];

/// The rungs with at most 16 rows per block. Blocks of the others have more, and a product that has too many of those
/// takes the simulator minutes.
const SHORT_BLOCKS: &[&str] = &["naive", "coalesced", "shared-tile"];

fn main() {
    let arguments = Arguments::from_args();
    let gpu = Engine::open(DeviceChoice::Cuda(0));
    let why = gpu.as_ref().err().map(|e| e.to_string());
    if let Some(why) = &why {
        eprintln!("tests on a GPU are ignored: {why}");
    }
    let mut trials = vec![];
    for family in FAMILIES.iter() {
        for rung in family.rungs.iter().copied() {
            let name = |engine: &str| format!("{engine}::{}::{}", family.name, rung.name);
            let simulator = Trial::test(name("simulator"), move || check(&Engine::simulator(), family, rung));
            trials.push(simulator);
            let on_gpu = Trial::test(name("gpu"), move || {
                check(&Engine::open(DeviceChoice::Cuda(0)).map_err(|e| e.to_string())?, family, rung)
            });
            trials.push(on_gpu.with_ignored_flag(why.is_some()));
            trials.push(Trial::test(name("checked"), move || checks::check(family, rung)));
        }
    }
    trials.push(Trial::test("checked::radix::many-keys", checks::many_keys));
    // The families that take longest come late in the registry: begun last, one trial would keep the others' core idle.
    trials.reverse();
    libtest_mimic::run(&arguments, trials).exit();
}

/// All inputs of a rung on an engine: every size, and a larger input of every type and distribution. Each variant of a
/// family is tried at every size, with one larger input each; keys with values with every type and distribution too.
fn check(engine: &Engine, family: &'static Family, rung: &'static Rung) -> Result<(), Failed> {
    if let Size::Product { .. } = family.sizes.simulator {
        let takes_minutes = |sides| engine.is_simulator() && sides == TALL && !SHORT_BLOCKS.contains(&rung.name);
        for &[m, n, k] in PRODUCTS.iter().filter(|&&sides| !takes_minutes(sides)) {
            for &dtype in family.dtypes {
                run(engine, family, rung, Case { dtype, ..Case::new(family, Size::Product { m, n, k }) })?;
            }
        }
        // With sums that are rounded.
        for (&dtype, distribution) in family.dtypes.iter().flat_map(|dtype| [(dtype, Uniform), (dtype, Zipf)]) {
            let size = Size::Product { m: 101, n: 67, k: 143 };
            run(engine, family, rung, Case { dtype, distribution, ..Case::new(family, size) })?;
        }
        return Ok(());
    }
    let large = large(engine, family);
    for parameters in variants(family) {
        let tiles = rung.tiles.iter().flat_map(|&t| [t - 1, t, t + 1, 2 * t + 1]);
        for n in SIZES.iter().copied().chain(tiles).chain([large]) {
            run(engine, family, rung, Case { parameters, ..Case::new(family, Size::Elements(n)) })?;
        }
    }
    for &dtype in family.dtypes {
        for distribution in distributions() {
            let case = Case { dtype, distribution, ..Case::new(family, Size::Elements(large)) };
            run(engine, family, rung, case)?;
            if family.extras.contains(&Extra::Values) && dtype.size() == 4 {
                let parameters = Parameters { values: true, ..case.parameters };
                run(engine, family, rung, Case { parameters, ..case })?;
                // Equal keys within a tile and across its end.
                let around_tiles = rung.tiles.iter().flat_map(|&t| [t - 1, t, t + 1]);
                for size in around_tiles.chain(by_buckets(engine, rung)).map(Size::Elements) {
                    run(engine, family, rung, Case { parameters, size, ..case })?;
                }
            }
        }
    }
    Ok(())
}

/// The size of the larger inputs, a prime. Quadratic algorithms get a size that takes them a moment.
fn large(engine: &Engine, family: &Family) -> u64 {
    match (engine.is_simulator(), family.name) {
        (true, "bubble" | "odd-even" | "radix") => 1499,
        (true, _) => 6007,
        (false, "bubble") => 50_021,
        (false, _) => 1_000_003,
    }
}

/// A size at which `msd-pairs` has other kernels on this GPU: from three tiles of 2^13 per SM on, pairs go to buckets.
fn by_buckets(engine: &Engine, rung: &Rung) -> Option<u64> {
    let least = 3 * 8192 * u64::from(engine.device().multiprocessors);
    (rung.name == "msd-pairs" && !engine.is_simulator()).then_some(least + 4099)
}

/// Uniform, ordered, few distinct, all equal, the largest keys, corner values such as NaN and -0.0, skewed bits.
fn distributions() -> Vec<Distribution> {
    use Distribution::{Entropy, Equal, Few, HighBits, LowBits, Reversed, Sorted, Special, Two};
    vec![Uniform, Sorted, Reversed, Equal, Few, Two, Special, Entropy(3), LowBits(8), HighBits(5), Zipf]
}

/// The variants of a family: each operation, inclusive and exclusive, some numbers of columns and bins.
fn variants(family: &Family) -> Vec<Parameters> {
    let mut variants = vec![Parameters::default()];
    let mut multiply = |f: &dyn Fn(Parameters) -> Vec<Parameters>| {
        variants = variants.iter().flat_map(|p| f(*p)).collect();
    };
    for extra in family.extras {
        match extra {
            Extra::Operation => multiply(&|p| Operation::ALL.map(|operation| Parameters { operation, ..p }).to_vec()),
            Extra::Exclusive => {
                multiply(&|p| [false, true].map(|exclusive| Parameters { exclusive, ..p }).to_vec());
            }
            Extra::Columns => {
                multiply(&|p| [None, Some(8), Some(32), Some(1024)].map(|columns| Parameters { columns, ..p }).to_vec())
            }
            Extra::Bins => {
                multiply(&|p| [None, Some(1), Some(37), Some(4096)].map(|bins| Parameters { bins, ..p }).to_vec());
            }
            Extra::LowHalf => multiply(&|p| [false, true].map(|low_half| Parameters { low_half, ..p }).to_vec()),
            Extra::Values => multiply(&|p| [false, true].map(|values| Parameters { values, ..p }).to_vec()),
            // Of a product: gpu/tests has every combination of these.
            Extra::Alpha | Extra::Beta | Extra::Transpose | Extra::Precision | Extra::Batch => {}
            // gpu/top_k has several k for every size.
            Extra::K => {}
            Extra::Keep => multiply(&|p| [None, Some(0.1)].map(|keep| Parameters { keep, ..p }).to_vec()),
            Extra::RunLength => {
                multiply(&|p| [None, Some(1), Some(3000)].map(|run_length| Parameters { run_length, ..p }).to_vec());
            }
            Extra::Segments => {
                let lengths = [Lengths::default(), Lengths::Uniform(0, 3), Lengths::PowerLaw, Lengths::One];
                multiply(&|p| lengths.map(|segments| Parameters { segments: Some(segments), ..p }).to_vec());
            }
            Extra::Threads | Extra::Blocks => {}
        }
    }
    // The rungs that have columns take no values.
    variants.retain(|p| !(p.values && p.columns.is_some()));
    variants
}

/// One input.
#[derive(Clone, Copy, Debug)]
struct Case {
    size: Size,
    dtype: Dtype,
    distribution: Distribution,
    parameters: Parameters,
}

impl Case {
    fn new(family: &Family, size: Size) -> Self {
        let (dtype, distribution) = (family.dtypes[0], family.input);
        Self { size, dtype, distribution, parameters: Parameters::default() }
    }
}

/// Runs one input twice (the second run must not depend on data of the first), and compares both.
fn run(engine: &Engine, family: &'static Family, rung: &'static Rung, case: Case) -> Result<(), Failed> {
    let Case { size, dtype, distribution, parameters } = case;
    let size = match (size, rung.capacity) {
        (Size::Elements(n), Some(capacity)) => Size::Elements(n.min(capacity)),
        _ => size,
    };
    let failed = |e: rungs::Error| Failed::from(format!("{case:?}: {e}"));
    let workload = Workload { size, dtype, distribution, seed: 7, input: None, parameters };
    let problem = family.make(workload).map_err(failed)?;
    if let Some(why) = family.refusal(rung, size, dtype, &parameters, engine.device()) {
        // A rung refuses with a usage error, and does not run wrongly.
        return match problem.prepare(engine, rung) {
            Err(rungs::Error::Usage(_)) => Ok(()),
            Ok(_) => Err(format!("{case:?} should be refused ({why}) and is not").into()),
            Err(e) => Err(failed(e)),
        };
    }
    let mut prepared = problem.prepare(engine, rung).map_err(failed)?;
    for _ in 0..2 {
        prepared.restore().map_err(failed)?;
        prepared.run().map_err(failed)?;
        prepared.verify().map_err(failed)?;
    }
    Ok(())
}
