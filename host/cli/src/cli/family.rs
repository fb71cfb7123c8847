//! `rungs FAMILY`: one rung of a family, on drawn or given input.

use super::{Common, check_argument, gpus, sweep};
use crate::algorithms::fp8::{Eight, Fp8Problem};
use crate::algorithms::segmented_sort::Lengths;
use crate::algorithms::{Extra, Family, Kind, Operation, Parameters, Prepared, Problem, Rung, Size, Workload};
use crate::data::{
    Data, Distribution, Dtype, Format, Output, Place, Size as Count, read_keys, read_matrix, read_values,
};
use crate::measure::{GPU_RUNS, Number, Row, checked, time};
use crate::report;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use rungs::engine::Engine;
use rungs::error::{Error, Result};
use rungs_kernels::ladder::matmul::Precision;
use rungs_oracles::inputs;
use std::ffi::OsString;

/// The subcommand of a family, with the options that it has.
pub(super) fn command(family: &'static Family) -> Command {
    let dtypes: Vec<String> = family.dtypes.iter().map(|d| d.to_string()).collect();
    let rungs: Vec<&str> = family.rungs.iter().map(|r| r.name).collect();
    let product = matches!(family.sizes.simulator, Size::Product { .. });
    let input = Arg::new("input")
        .long("input")
        .value_name("FILE")
        .help("Elements from an .npy or a raw little-endian file (with --dtype), or - for standard input")
        .value_parser(value_parser!(OsString));
    // The sides of raw matrices have to be given.
    let input = if product { input } else { input.conflicts_with("n") };
    let mut command = Command::new(family.name).about(format!("Run a rung: {}", family.about));
    if family.kind == Kind::Sort {
        command = command.after_help(
            "Floats are sorted in the total order of IEEE 754: -NaN first, -0 before +0, +NaN last. `rungs sort` has \
             other orders.",
        );
    }
    command = command.args([
        Arg::new("rung").long("rung").value_name("RUNG").help(format!(
            "Which rung: {} [default: {}]",
            rungs.join(", "),
            family.default.name
        )),
        Arg::new("n")
            .long("n")
            .value_name("N")
            .help("How many elements: 1000, 64Ki, 2^20, 1e6")
            .value_parser(value_parser!(Count)),
        Arg::new("dtype")
            .long("dtype")
            .value_name("TYPE")
            .help(format!("Element type: {}", dtypes.join(", ")))
            .value_parser(value_parser!(Dtype)),
        keys_argument(),
        input,
        output_argument(),
        check_argument(),
    ]);
    if product {
        command = command
            .mut_arg("n", |n| n.help("Side of the matrices, or columns of B and C with --m and --k"))
            .mut_arg("input", |i| {
                let help = "A, then B, and with --beta C if it is not to be drawn: two-dimensional .npy files, or raw \
                            ones with --dtype, --m, --n and --k";
                i.help(help).num_args(2..=3).value_names(["A", "B", "C"])
            })
            .mut_arg("keys", |k| k.hide(true))
            .mut_arg("dtype", |dtype| {
                let names = dtypes.join(", ");
                let help =
                    format!("Element type: {names}, e4m3, or e5m2 (A; B is of e4m3). Products of fp8 are of f32");
                let parse = |text: &str| {
                    let floats = family.dtypes.iter().map(|dtype| (dtype.name(), *dtype));
                    // Elements of fp8 are read as the bytes that they are.
                    let all: Vec<_> = floats.chain(Eight::ALL.map(|eight| (eight.name(), Dtype::U8))).collect();
                    let names: Vec<_> = all.iter().map(|(name, _)| *name).collect();
                    let found = names.iter().position(|name| *name == text);
                    found.map(|i| all[i].1).ok_or_else(|| Error::unknown("type of matrices", text, &names))
                };
                dtype.help(help).value_parser(parse)
            })
            .args([
                Arg::new("m").long("m").value_name("M").help("Rows of A and C").value_parser(value_parser!(Count)),
                Arg::new("k")
                    .long("k")
                    .value_name("K")
                    .help("Columns of A, rows of B")
                    .value_parser(value_parser!(Count)),
            ]);
    }
    if sweep::has_report(family) {
        let help = "Print the source's report of a run, and explain its figures";
        command = command.arg(
            Arg::new("report")
                .long("report")
                .help(help)
                .action(ArgAction::SetTrue)
                .conflicts_with_all(["dtype", "keys", "input", "output", "check"]),
        );
    }
    if gpus::suits(family) {
        command = command.args(gpus::arguments());
    }
    let own = |extra: &&Extra| **extra != Extra::Values;
    command = family.extras.iter().filter(own).fold(command, |command, extra| command.arg(extra_argument(*extra)));
    if family.extras.contains(&Extra::Values) { command.args(values_arguments()) } else { command }
}

pub(super) fn keys_argument() -> Arg {
    Arg::new("keys")
        .long("keys")
        .value_name("DISTRIBUTION")
        .help("Distribution of drawn elements: uniform, normal, range=K, timestamps, sorted, few, zipf, …")
        .value_parser(value_parser!(Distribution))
}

pub(super) fn output_argument() -> Arg {
    Arg::new("output")
        .long("output")
        .value_name("FILE")
        .help("Write the result there as .npy or raw little-endian, or - for standard output")
        .value_parser(value_parser!(OsString))
}

/// Options for values that move with keys: given or made, and their output.
pub(super) fn values_arguments() -> [Arg; 2] {
    [
        Arg::new("values")
            .long("values")
            .value_name("FILE")
            .num_args(0..=1)
            .help(
                "Move a value of 4 bytes with each key: those of an .npy or raw file (with --input), or without FILE \
                 each key's place in the input",
            )
            .value_parser(value_parser!(OsString)),
        Arg::new("output-values")
            .long("output-values")
            .value_name("FILE")
            .help("Write the values there as --output writes the keys")
            .value_parser(value_parser!(OsString))
            .requires("values"),
    ]
}

/// Whether values move with the keys.
pub(super) fn given_values(matches: &ArgMatches) -> bool {
    matches.ids().any(|id| id == "values") && matches.value_source("values") == Some(ValueSource::CommandLine)
}

/// A number from 1 to 2^32 - 1, written as a size is.
fn positive(text: &str) -> Result<u32> {
    let Count(number) = text.parse()?;
    let number = u32::try_from(number).ok().filter(|&number| number > 0);
    number.ok_or_else(|| Error::Usage(format!("{text} is not from 1 to {}", u32::MAX)))
}

pub(super) fn extra_argument(extra: Extra) -> Arg {
    let number = |name: &'static str, help: &'static str| {
        Arg::new(name).long(name).value_name("NUMBER").help(help).value_parser(positive)
    };
    let factor = |name: &'static str, help: &'static str| {
        let argument = Arg::new(name).long(name).value_name("FACTOR").help(help);
        argument.allow_hyphen_values(true).value_parser(value_parser!(f64))
    };
    match extra {
        Extra::Columns => number("columns", "Columns that the keys are sorted in, a power of two from 8 to 1024"),
        Extra::Threads => number("threads", "Threads per block"),
        Extra::Blocks => number("blocks", "Blocks of the grid"),
        Extra::Bins => number("bins", "Bins of the histogram, up to 4096"),
        Extra::K => number("k", "How many of the largest keys [default: 10]"),
        Extra::Keep => Arg::new("keep")
            .long("keep")
            .value_name("FRACTION")
            .help("Draw items of which such a fraction is below the pivot, 0 to 1 [default: about a half]")
            .value_parser(|text: &str| match text.parse::<f64>() {
                Ok(fraction) if (0.0..=1.0).contains(&fraction) => Ok(fraction),
                _ => Err("a fraction is a number from 0 to 1"),
            }),
        Extra::RunLength => number("run-length", "Mean length of the drawn runs of equal items [default: 8]"),
        Extra::Segments => Arg::new("segments")
            .long("segments")
            .value_name("LENGTHS")
            .help(
                "How long segments are: uniform=1..64, fixed=1000, power-law, empty=90 (per cent; others 1..64), one \
                 [default: uniform=1..64]",
            )
            .value_parser(value_parser!(Lengths)),
        Extra::Operation => Arg::new("op")
            .long("op")
            .value_name("OPERATION")
            .help("Operation that combines elements: sum, min or max")
            .value_parser(PossibleValuesParser::new(Operation::ALL.map(Operation::name)).map(|name| {
                let named = |operation: &Operation| operation.name() == name;
                Operation::ALL.into_iter().find(named).unwrap_or_default()
            })),
        Extra::Exclusive => Arg::new("exclusive")
            .long("exclusive")
            .help("Leave each element out of its own result")
            .action(ArgAction::SetTrue),
        Extra::Alpha => factor("alpha", "Factor of the product [default: 1]"),
        Extra::Beta => factor("beta", "Factor of what is in C before, to which the product is added [default: 0]"),
        Extra::Transpose => Arg::new("transpose")
            .long("transpose")
            .value_name("AB")
            .help("For A and for B, n if it is stored by rows and t if by columns: nn, nt, tn or tt [default: nn]")
            .value_parser(
                PossibleValuesParser::new(["nn", "nt", "tn", "tt"]).map(|of| [of.starts_with('t'), of.ends_with('t')]),
            ),
        Extra::Precision => Arg::new("precision")
            .long("precision")
            .value_name("PRECISION")
            .help(
                "Precision of products of f32: f32, three-tf32 (about as precise, on the tensor cores), mixed (the \
                 same, faster if k is large) or tf32 (10 mantissa bits) [default: f32, or that of --rung]; of sums of \
                 fp8: promoted (to f32 every 128 of k) or hardware (about 14 bits) [default: promoted]",
            )
            .value_parser({
                let all = || Precision::ALL.into_iter().chain(Precision::OF_EIGHT_BITS);
                PossibleValuesParser::new(all().map(Precision::name))
                    .map(move |name| all().find(|precision| precision.name() == name).unwrap_or(Precision::F32))
            }),
        Extra::Batch => number(
            "batch",
            "Products of one shape in one call; each file then has its matrices one below the other [default: 1]",
        ),
        Extra::LowHalf => Arg::new("low-half")
            .long("low-half")
            .help("Sort by the low 16 bits alone, the largest first: an order in which many keys are equivalent")
            .action(ArgAction::SetTrue),
        Extra::Values => Arg::new("values")
            .long("values")
            .help("Give each key a value of 32 bits that moves with it: its place in the input")
            .action(ArgAction::SetTrue),
    }
}

/// The [`Parameters`] from the command line.
pub(super) fn parameters(extras: &[Extra], matches: &ArgMatches) -> Parameters {
    let mut parameters = Parameters::default();
    for extra in extras {
        let number = |name: &str| matches.get_one::<u32>(name).copied();
        match extra {
            Extra::Columns => parameters.columns = number("columns"),
            Extra::Threads => parameters.threads = number("threads"),
            Extra::Blocks => parameters.blocks = number("blocks"),
            Extra::Bins => parameters.bins = number("bins"),
            Extra::K => parameters.k = number("k"),
            Extra::Keep => parameters.keep = matches.get_one("keep").copied(),
            Extra::RunLength => parameters.run_length = number("run-length"),
            Extra::Segments => parameters.segments = matches.get_one("segments").copied(),
            Extra::Operation => parameters.operation = matches.get_one("op").copied().unwrap_or_default(),
            Extra::Exclusive => parameters.exclusive = matches.get_flag("exclusive"),
            Extra::Alpha => parameters.alpha = matches.get_one("alpha").copied(),
            Extra::Beta => parameters.beta = matches.get_one("beta").copied(),
            Extra::Transpose => parameters.transpose = matches.get_one("transpose").copied().unwrap_or_default(),
            Extra::Precision => parameters.precision = matches.get_one("precision").copied(),
            Extra::Batch => parameters.batch = number("batch"),
            Extra::LowHalf => parameters.low_half = matches.get_flag("low-half"),
            // A switch if input can only be drawn, an option with a file if input can be given.
            Extra::Values => {
                parameters.values = matches.value_source("values") == Some(ValueSource::CommandLine);
            }
        }
    }
    parameters
}

/// The type of 8 bits of this name.
fn eight_of(name: &str) -> Option<Eight> {
    Eight::ALL.into_iter().find(|eight| eight.name() == name)
}

/// Why a file is refused, without the advice to turn numbers into bytes: bits of fp8 are needed.
fn advice_for_eight(of_a: Eight, why: String) -> String {
    let Some((what, _)) = why.split_once("and u8 is needed") else { return why };
    let (of_a, of_b) = (of_a.numpy(), Eight::E4m3.numpy());
    format!(
        "{what}and fp8 is needed; save A.astype(ml_dtypes.{of_a}).view('u1') and \
         B.astype(ml_dtypes.{of_b}).view('u1') instead"
    )
}

/// A product of fp8: by the library's kernels, with the matrices as they are for rungs.
fn run_eight(of_a: Eight, family: &'static Family, matches: &ArgMatches, common: &Common) -> Result<()> {
    super::refuse_unused(matches, &["rung"], "the library's kernels of fp8 are no rungs; --precision chooses them")?;
    let shape = "the program multiplies one A by one B of fp8, both by rows, on one device, and adds nothing";
    super::refuse_unused(matches, &["gpus", "transpose", "beta", "batch"], shape)?;
    let parameters = parameters(family.extras, matches);
    if let Some(other) = parameters.precision.filter(|precision| !Precision::OF_EIGHT_BITS.contains(precision)) {
        let names = Precision::OF_EIGHT_BITS.map(Precision::name).join(" or ");
        return Err(Error::Usage(format!("the precision of sums of {} is {names}, not {}", of_a.name(), other.name())));
    }
    if super::given(matches, "input") {
        super::refuse_unused(matches, &["keys", "seed"], "the elements come from a file")?;
    }
    let given = Given::read(family, matches, &parameters).map_err(|error| match error {
        Error::Read { path, what } => Error::Read { path, what: advice_for_eight(of_a, what) },
        other => other,
    })?;
    let outputs = Places::of(matches).open(given.format.unwrap_or(Format::usual(Dtype::F32)))?;
    let engine = common.engine()?;
    let size = given.size.unwrap_or(family.sizes.on(&engine));
    let problem = Fp8Problem::new(of_a, workload(family, matches, common, (size, Dtype::U8), given.data, parameters))?;
    let row = Row::new(&engine, family, problem.rung(), &problem, Dtype::U8);
    finish(common, &engine, (problem.rung(), &problem), Row { dtype: of_a.name(), ..row }, outputs, size)
}

pub(super) fn run(family: &'static Family, matches: &ArgMatches, common: &Common) -> Result<()> {
    let dtype = matches.get_raw("dtype").and_then(|mut given| given.next()?.to_str());
    if let Some(eight) = dtype.and_then(eight_of) {
        return run_eight(eight, family, matches, common);
    }
    if let Some(gpus) = gpus::asked(matches) {
        return gpus::run_family(family, gpus[0], matches, common);
    }
    let outputs = Places::of(matches);
    let named = matches.get_one::<String>("rung").map(|name| family.rung(name)).transpose()?;
    if matches!(matches.try_get_one::<bool>("report"), Ok(Some(true))) {
        let n = matches.get_one::<Count>("n").map(|n| n.0);
        return sweep::report(family, named, n, parameters(family.extras, matches), common);
    }
    let parameters = parameters(family.extras, matches);
    matches.get_one::<Dtype>("dtype").map_or(Ok(()), |dtype| family.check_dtype(*dtype))?;
    if super::given(matches, "input") {
        super::refuse_unused(matches, &["keys", "seed"], "the elements come from a file")?;
    }
    let given = Given::read(family, matches, &parameters)?;
    let (size, format) = (given.size, given.format);
    let dtype = match (&given.data, matches.get_one::<Dtype>("dtype")) {
        (Some(data), _) => data[0].dtype(),
        (None, Some(dtype)) => *dtype,
        (None, None) => family.dtypes[0],
    };
    // Before the work, so that an output that cannot be written is refused at once.
    let outputs = outputs.open(format.unwrap_or(Format::usual(dtype)))?;
    outputs.result.as_ref().map_or(Ok(()), |output| output.check(dtype))?;
    let engine = common.engine()?;
    let rung =
        named.unwrap_or_else(|| family.choose(size.unwrap_or(Size::Elements(0)), dtype, &parameters, engine.device()));
    if let Some(option) = family.unused(rung, &parameters, engine.device()) {
        return Err(Error::Usage(format!("--{option} does nothing here: {} has no use for it", rung.name)));
    }
    let size = size.unwrap_or_else(|| family.default_size(&engine, rung));
    let problem = family.make(workload(family, matches, common, (size, dtype), given.data, parameters))?;
    let row = Row::new(&engine, family, rung, &*problem, dtype);
    // The results of a batch go to the file one below the other.
    let of_all = match size {
        Size::Product { m, n, k } => Size::Product { m: m * u64::from(parameters.batch.unwrap_or(1)), n, k },
        elements => elements,
    };
    finish(common, &engine, (rung, &*problem), row, outputs, of_all)
}

/// The problem that the options ask for.
fn workload(
    family: &Family,
    matches: &ArgMatches,
    common: &Common,
    (size, dtype): (Size, Dtype),
    input: Option<Vec<Data>>,
    parameters: Parameters,
) -> Workload {
    let distribution = matches.get_one("keys").cloned().unwrap_or(family.input);
    Workload { size, dtype, distribution, seed: common.seed, input, parameters }
}

/// Checks, verifies and times a rung, and writes its output, of this size, and the report, which begins as `row`.
fn finish(
    common: &Common,
    engine: &Engine,
    (rung, problem): (&'static Rung, &dyn Problem),
    row: Row,
    outputs: Outputs,
    size: Size,
) -> Result<()> {
    let row = row.judged(checked(engine, problem, rung)?);
    if row.error.is_some() {
        return common.refuse(engine, &row);
    }
    let mut prepared = problem.prepare(engine, rung)?;
    let mut row = row.timed(problem, time(engine, &mut *prepared, GPU_RUNS))?;
    common.refuse(engine, &row)?;
    let left_out = problem.left_out();
    if left_out > 0 {
        let are = if left_out == 1 { "is" } else { "are" };
        common.note(&format!("{left_out} of {} keys {are} in none of the bins, and not counted", row.n));
        row.left_out = Some(left_out);
    }
    if problem.makes_one_value() {
        // Machines differ in the sign of a NaN that they make, as of ∞ - ∞.
        let value = prepared.output()?.show(0);
        row.value = Some(Number(if value == "-NaN" { "NaN".into() } else { value }));
    }
    outputs.write(&mut *prepared, size)?.report(common, engine, row)
}

/// The outputs from the command line.
pub(super) struct Places {
    result: Option<Place>,
    values: Option<Place>,
    /// Whether a format of the report was asked for.
    reports: bool,
}

/// Outputs that can be written.
pub(super) struct Outputs {
    /// Whether each NaN that a sort puts first goes to the end.
    pub nan_last: bool,
    result: Option<Output>,
    values: Option<Output>,
    to_standard: bool,
}

/// Reports the outputs that were written.
pub(super) struct Written {
    to_standard: bool,
}

impl Places {
    pub(super) fn of(matches: &ArgMatches) -> Self {
        let place = |name: &str| {
            let given = matches.try_get_one::<OsString>(name).ok().flatten();
            given.map(|name| Place::from(name.as_os_str()))
        };
        Self { result: place("output"), values: place("output-values"), reports: super::given(matches, "format") }
    }

    /// `format` is that of the standard output.
    pub(super) fn open(self, format: Format) -> Result<Outputs> {
        let open = |place: Option<Place>| place.map(|place| Output::open(&place, format)).transpose();
        let (result, values) = (open(self.result)?, open(self.values)?);
        if let (Some(result), Some(values)) = (&result, &values) {
            result.refuse_same(values)?;
        }
        let to_standard = [&result, &values].into_iter().flatten().any(Output::is_standard);
        if to_standard && self.reports {
            let why = "--format does nothing here: the elements go to standard output, and no report does";
            return Err(Error::Usage(why.into()));
        }
        Ok(Outputs { nan_last: false, result, values, to_standard })
    }
}

impl Outputs {
    /// Writes the output of the last run.
    pub(super) fn write(self, prepared: &mut dyn Prepared, size: Size) -> Result<Written> {
        let first = if self.nan_last { prepared.output()?.leading_nans() } else { 0 };
        let turned = |data: Data| match first {
            0 => data,
            first => inputs::turned(data, first),
        };
        if let Some(file) = self.result {
            let data = turned(prepared.output()?);
            match size {
                Size::Product { m, n, .. } => file.write_matrix(&data, m as usize, n as usize)?,
                Size::Elements(_) => file.write(&data)?,
            }
        }
        if let (Some(file), Some(values)) = (self.values, prepared.values()?) {
            file.write(&turned(values))?;
        }
        Ok(Written { to_standard: self.to_standard })
    }
}

impl Written {
    pub(super) fn report(self, common: &Common, engine: &Engine, row: Row) -> Result<()> {
        if self.to_standard {
            // The data goes to standard output, so the report goes to standard error.
            common.note(&format!("{} {}: {} elements, verified, on the {}", row.family, row.rung, row.n, row.device));
            return Ok(());
        }
        report::runs(common.format, engine.info(), common.seed, &[row])
    }
}

/// The input from the command line.
pub(super) struct Given {
    /// The input, if it is from a file.
    pub data: Option<Vec<Data>>,
    /// Its size, from the file or from `--n`, if either was given.
    pub size: Option<Size>,
    /// The format of the input, if there is one, which is also that of data on standard output.
    pub format: Option<Format>,
}

impl Given {
    fn read(family: &Family, matches: &ArgMatches, parameters: &Parameters) -> Result<Self> {
        let number = |name| matches.try_get_one::<Count>(name).ok().flatten().map(|c| c.0);
        let product = matches!(family.sizes.simulator, Size::Product { .. });
        let values = matches.try_get_one::<OsString>("values").ok().flatten();
        let types = types(family.dtypes, matches, parameters);
        let places: Vec<Place> =
            matches.get_many::<OsString>("input").into_iter().flatten().map(|name| name.as_os_str().into()).collect();
        let asked = match (product, number("m"), number("n"), number("k")) {
            (_, None, None, None) => None,
            (true, m, n, k) => {
                let side = n.or(m).or(k).unwrap_or(0);
                Some(Size::Product { m: m.unwrap_or(side), n: n.unwrap_or(side), k: k.unwrap_or(side) })
            }
            (false, _, n, _) => n.map(Size::Elements),
        };
        match &places[..] {
            [] if values.is_some() => {
                Err(Error::Usage("values of a file go with keys of a file: name it with --input".into()))
            }
            [] => Ok(Self { data: None, size: asked, format: None }),
            [keys] => Self::keys(keys, &types, values, false),
            [_, _, ..] if places.iter().filter(|place| **place == Place::Standard).count() > 1 => {
                Err(Error::Usage("two matrices cannot both come from standard input; name files".into()))
            }
            [a, b, rest @ ..] => {
                let count = parameters.batch.unwrap_or(1) as usize;
                // What a file calls a row is a column of a matrix that is stored by columns.
                let turned =
                    |(rows, columns): (usize, usize), turn: bool| if turn { (columns, rows) } else { (rows, columns) };
                let shapes = match asked {
                    Some(Size::Product { m, n, k }) => {
                        let [m, n, k] = [m, n, k].map(|side| usize::try_from(side).unwrap_or(usize::MAX));
                        let [a, b] = parameters.transpose;
                        let all = |(rows, columns): (usize, usize)| Some((rows.saturating_mul(count), columns));
                        [turned((m, k), a), turned((k, n), b), (m, n)].map(all)
                    }
                    _ => [None; 3],
                };
                let read = |place, matrix: usize| -> Result<_> {
                    let all = read_matrix(place, &types, shapes[matrix])?;
                    if all.rows % count == 0 {
                        return Ok(((all.rows / count, all.columns), all.data, all.format));
                    }
                    let (name, rows) = (["A", "B", "C"][matrix], all.rows);
                    let why = format!("the file of {name} has {rows} rows, which is no multiple of --batch {count}");
                    Err(Error::Usage(why))
                };
                let ((a, of_a, format), (b, of_b, _)) = (read(a, 0)?, read(b, 1)?);
                let ((m, k), (rows, n)) = (turned(a, parameters.transpose[0]), turned(b, parameters.transpose[1]));
                if k != rows {
                    return Err(Error::Usage(format!("A has {k} columns and B has {rows} rows; they must be equal")));
                }
                let mut data = vec![of_a, of_b];
                if let Some(c) = rest.first() {
                    let ((rows, columns), of_c, _) = read(c, 2)?;
                    if parameters.beta.is_none() {
                        return Err(Error::Usage("a file for C needs --beta, the factor of its elements".into()));
                    }
                    if (rows, columns) != (m, n) {
                        let why = format!("C is {rows} x {columns}, and the product of A and B is {m} x {n}");
                        return Err(Error::Usage(why));
                    }
                    // As in BLAS: by the factor 0, NaN and infinities of C do not come into the product.
                    if parameters.beta != Some(0.0) {
                        data.push(of_c);
                    }
                }
                let size = Size::Product { m: m as u64, n: n as u64, k: k as u64 };
                Ok(Self { data: Some(data), size: Some(size), format: Some(format) })
            }
        }
    }

    /// Keys, and their values if there are any.
    ///
    /// `wide`: whether values may have 8 bytes.
    pub(super) fn keys(place: &Place, types: &[Dtype], values: Option<&OsString>, wide: bool) -> Result<Self> {
        let values = values.map(|name| Place::from(name.as_os_str()));
        if values.as_ref() == Some(place) && *place == Place::Standard {
            return Err(Error::Usage("keys and values cannot both come from standard input; name a file".into()));
        }
        let keys = read_keys(place, types)?;
        let size = Size::Elements(keys.data.len() as u64);
        let values = values.map(|place| read_values(&place, wide.then_some(keys.data.len()))).transpose()?;
        let data = std::iter::once(keys.data).chain(values).collect();
        Ok(Self { data: Some(data), size: Some(size), format: Some(keys.format) })
    }
}

/// The types of the input: the one that `--dtype` names, or those of `known` that can be taken.
pub(super) fn types(known: &[Dtype], matches: &ArgMatches, parameters: &Parameters) -> Vec<Dtype> {
    if let Some(dtype) = matches.get_one::<Dtype>("dtype") {
        return vec![*dtype];
    }
    // Values go with keys of as many bytes.
    known.iter().copied().filter(|dtype| !parameters.values || dtype.size() == 4).collect()
}
