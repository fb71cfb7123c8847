//! `rungs FAMILY`: one rung of a family, on drawn or given input.

use super::{Common, all, sweep};
use crate::algorithms::{Extra, Family, Operation, Parameters, Size, Workload};
use crate::data::{Data, Distribution, Dtype, Format, Output, Place, Size as Count, read_keys, read_matrix};
use crate::error::{Error, Result};
use crate::measure::measure_and_keep;
use crate::report;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use std::ffi::OsString;

/// The subcommand of a family, with the options that it has.
pub(super) fn command(family: &'static Family) -> Command {
    let dtypes: Vec<String> = family.dtypes.iter().map(|d| d.to_string()).collect();
    let rungs: Vec<&str> = family.rungs.iter().map(|r| r.name).collect();
    let product = matches!(family.sizes.simulator, Size::Product { .. });
    let mut command = Command::new(family.name).about(format!("Run a rung: {}", family.about)).args([
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
        Arg::new("keys")
            .long("keys")
            .value_name("DISTRIBUTION")
            .help("How elements are drawn: uniform, sorted, reversed, equal, few, entropy=K, low-bits=K, …")
            .value_parser(value_parser!(Distribution)),
        Arg::new("input")
            .long("input")
            .value_name("FILE")
            .help("Elements from an .npy or a raw little-endian file (with --dtype), or - for standard input")
            .value_parser(value_parser!(OsString))
            .conflicts_with("n"),
        Arg::new("output")
            .long("output")
            .value_name("FILE")
            .help("Write the result there as .npy or raw little-endian, or - for standard output")
            .value_parser(value_parser!(OsString)),
    ]);
    if product {
        command = command
            .mut_arg("n", |n| n.help("Side of the matrices, or columns of B and C with --m and --k"))
            .mut_arg("input", |i| {
                i.help("A and then B, two-dimensional .npy files").num_args(2).value_names(["A", "B"])
            })
            .mut_arg("keys", |k| k.hide(true))
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
        let help = "Print what the source prints of a run, and what its figures mean";
        command = command.arg(
            Arg::new("report")
                .long("report")
                .help(help)
                .action(ArgAction::SetTrue)
                .conflicts_with_all(["dtype", "keys", "input", "output"]),
        );
    }
    if family.extras.contains(&Extra::Values) {
        command = command.arg(
            Arg::new("output-values")
                .long("output-values")
                .value_name("FILE")
                .help("Write the values there as --output writes the keys: where each key stood in the input")
                .value_parser(value_parser!(OsString))
                .requires("values"),
        );
    }
    family.extras.iter().fold(command, |command, extra| command.arg(extra_argument(*extra)))
}

pub(super) fn extra_argument(extra: Extra) -> Arg {
    let number = |name: &'static str, help: &'static str| {
        Arg::new(name).long(name).value_name("NUMBER").help(help).value_parser(value_parser!(u32).range(1..))
    };
    match extra {
        Extra::Columns => number("columns", "Columns that the keys are sorted in, a power of two from 8 to 1024"),
        Extra::Threads => number("threads", "Threads of a block"),
        Extra::Blocks => number("blocks", "Blocks of the grid"),
        Extra::Bins => number("bins", "Bins of the histogram, up to 4096"),
        Extra::Operation => Arg::new("op")
            .long("op")
            .value_name("OPERATION")
            .help("What to combine elements with: sum, min or max")
            .value_parser(PossibleValuesParser::new(Operation::ALL.map(Operation::name)).map(|name| {
                let named = |operation: &Operation| operation.name() == name;
                Operation::ALL.into_iter().find(named).unwrap_or_default()
            })),
        Extra::Exclusive => Arg::new("exclusive")
            .long("exclusive")
            .help("Leave each element out of its own result")
            .action(ArgAction::SetTrue),
        Extra::Values => Arg::new("values")
            .long("values")
            .help("Give each key a value of 32 bits that moves with it: its place in the input")
            .action(ArgAction::SetTrue),
    }
}

/// What of [`Parameters`] was given.
pub(super) fn parameters(extras: &[Extra], matches: &ArgMatches) -> Parameters {
    let mut parameters = Parameters::default();
    for extra in extras {
        let number = |name: &str| matches.get_one::<u32>(name).copied();
        match extra {
            Extra::Columns => parameters.columns = number("columns"),
            Extra::Threads => parameters.threads = number("threads"),
            Extra::Blocks => parameters.blocks = number("blocks"),
            Extra::Bins => parameters.bins = number("bins"),
            Extra::Operation => parameters.operation = matches.get_one("op").copied().unwrap_or_default(),
            Extra::Exclusive => parameters.exclusive = matches.get_flag("exclusive"),
            Extra::Values => parameters.values = matches.get_flag("values"),
        }
    }
    parameters
}

pub(super) fn run(family: &'static Family, matches: &ArgMatches, common: &Common) -> Result<()> {
    let place = |name: &str| {
        let given = matches.try_get_one::<OsString>(name).ok().flatten();
        given.map(|name| Place::from(name.as_os_str()))
    };
    let (output, output_values) = (place("output"), place("output-values"));
    if output.is_some() && output == output_values {
        return Err(Error::Usage("keys and values cannot go to the same place; name another for one of them".into()));
    }
    let named = matches.get_one::<String>("rung").map(|name| family.rung(name)).transpose()?;
    if matches!(matches.try_get_one::<bool>("report"), Ok(Some(true))) {
        let n = matches.get_one::<Count>("n").map(|n| n.0);
        return sweep::report(family, named, n, parameters(family.extras, matches), common);
    }
    let given = Given::read(family, matches)?;
    let (size, format) = (given.size, given.format);
    let dtype = match (&given.data, matches.get_one::<Dtype>("dtype")) {
        (Some(data), _) => data[0].dtype(),
        (None, Some(dtype)) => *dtype,
        (None, None) => family.dtypes[0],
    };
    family.check_dtype(dtype)?;
    // Before the work: an output that cannot be written is known at once.
    let open = |place: &Option<Place>| place.as_ref().map(|place| Output::open(place, format)).transpose();
    let (file, values_file) = (open(&output)?, open(&output_values)?);
    let engine = common.engine()?;
    let parameters = parameters(family.extras, matches);
    let rung =
        named.unwrap_or_else(|| family.choose(size.unwrap_or(Size::Elements(0)), dtype, &parameters, engine.device()));
    let size = size.unwrap_or_else(|| family.default_size(&engine, rung));
    let problem = family.make(Workload {
        size,
        dtype,
        distribution: matches.get_one("keys").cloned().unwrap_or(family.input),
        seed: common.seed,
        input: given.data,
        parameters,
    })?;
    let (row, prepared) = measure_and_keep(&engine, family, rung, &*problem, dtype)?;
    all::verdict(std::slice::from_ref(&row))?;
    if let Some(mut prepared) = prepared {
        if let Some(file) = file {
            let data = prepared.output()?;
            match size {
                Size::Product { m, n, .. } => file.write_matrix(&data, m as usize, n as usize)?,
                Size::Elements(_) => file.write(&data)?,
            }
        }
        if let (Some(file), Some(values)) = (values_file, prepared.values()?) {
            file.write(&values)?;
        }
    }
    if [output, output_values].contains(&Some(Place::Standard)) {
        // Standard output holds the data; the report goes where people look.
        common.note(&format!("{} {}: {} elements, verified, on the {}", row.family, row.rung, row.n, row.device));
        return Ok(());
    }
    report::runs(common.format, engine.info(), common.seed, &[row])
}

/// What the call says of the input.
struct Given {
    /// The input, where a file holds it.
    data: Option<Vec<Data>>,
    /// Its size, from the file or from `--n`, where either was given.
    size: Option<Size>,
    /// The format of the input; what goes to standard output has it too.
    format: Format,
}

impl Given {
    fn read(family: &Family, matches: &ArgMatches) -> Result<Self> {
        let number = |name| matches.try_get_one::<Count>(name).ok().flatten().map(|c| c.0);
        let product = matches!(family.sizes.simulator, Size::Product { .. });
        let dtype = matches.get_one::<Dtype>("dtype").copied();
        let places: Vec<Place> =
            matches.get_many::<OsString>("input").into_iter().flatten().map(|name| name.as_os_str().into()).collect();
        match &places[..] {
            [] => {
                let size = match (product, number("m"), number("n"), number("k")) {
                    (_, None, None, None) => None,
                    (true, m, n, k) => {
                        let side = n.or(m).or(k).unwrap_or(0);
                        Some(Size::Product { m: m.unwrap_or(side), n: n.unwrap_or(side), k: k.unwrap_or(side) })
                    }
                    (false, _, n, _) => n.map(Size::Elements),
                };
                Ok(Self { data: None, size, format: Format::Npy })
            }
            [place] => {
                let input = read_keys(place, dtype)?;
                let size = Size::Elements(input.data.len() as u64);
                Ok(Self { data: Some(vec![input.data]), size: Some(size), format: input.format })
            }
            [a, b, ..] => {
                let (a, b) = (read_matrix(a, dtype, None)?, read_matrix(b, dtype, None)?);
                if a.columns != b.rows {
                    return Err(Error::Usage(format!(
                        "A has {} columns and B has {} rows; they must be equal",
                        a.columns, b.rows
                    )));
                }
                let size = Size::Product { m: a.rows as u64, n: b.columns as u64, k: a.columns as u64 };
                Ok(Self { data: Some(vec![a.data, b.data]), size: Some(size), format: a.format })
            }
        }
    }
}
