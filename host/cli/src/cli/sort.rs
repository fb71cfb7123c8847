//! `rungs sort`: sorts the keys of a file by the rung that [`DeviceVec`](rungs::vec::DeviceVec) chooses for them.

use super::family::{Given, Places, output_argument, types, values_arguments};
use super::{Common, gpus};
use crate::algorithms::keys::KEY_TYPES;
use crate::algorithms::{FAMILIES, Family, Kind, Parameters, Rung, Size, Workload, along};
use crate::data::{Dtype, Format};
use crate::measure::{Row, checked, time};
use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use rungs::error::{Error, Result};
use rungs::vec::choice::{PAIR_SORTS, SORTS, choose};
use rungs_group::sort::SortRung;
use std::ffi::OsString;

/// Bytes of a place, and of the keys and values that a rung moves together.
const PLACE: usize = size_of::<u32>();

pub(super) fn command() -> Command {
    Command::new("sort")
        .about("Sort the keys of a file by the rung that suits their type, their number and the device")
        .after_help(
            "The result is checked, and written where --output says. Floats are in the total order of IEEE 754: -NaN \
             first, -0 before +0, +NaN last. To choose the rung yourself, see `rungs radix --input`.",
        )
        .args([
            Arg::new("input")
                .value_name("FILE")
                .required_unless_present("values")
                .help("Keys: an .npy or a raw little-endian file (with --dtype), or - for standard input")
                .value_parser(value_parser!(OsString)),
            Arg::new("dtype")
                .long("dtype")
                .value_name("TYPE")
                .help("Type of the keys: u32, i32, f32, u64, i64 or f64")
                .value_parser(value_parser!(Dtype)),
            Arg::new("descending")
                .long("descending")
                .help("The largest key first; equal keys keep their order, and their values with them")
                .action(ArgAction::SetTrue),
            Arg::new("nan")
                .long("nan")
                .value_name("PLACE")
                .help("Where each NaN goes: by its sign (total), or behind all numbers as numpy has it (last)")
                .default_value("total")
                .value_parser(["total", "last"]),
            output_argument(),
            super::check_argument(),
        ])
        .args(values_arguments())
        .args(gpus::arguments())
        .mut_arg("values", |values| {
            values.help(
                "Move a value of 4 or 8 bytes with each key: those of an .npy or raw file, or without FILE each key's \
                 place in the input",
            )
        })
}

pub(super) fn run(matches: &ArgMatches, common: &Common) -> Result<()> {
    if let (Some(gpus), Some(input)) = (gpus::asked(matches), matches.get_one::<OsString>("input")) {
        gpus::refuse(matches, &["descending", "nan", "check"])?;
        let types = types(KEY_TYPES, matches, &Parameters::default());
        if let Some(dtype) = types.iter().find(|dtype| !KEY_TYPES.contains(dtype)) {
            return Err(Error::Usage(format!("sort does not take {dtype}; it takes {}", names(KEY_TYPES))));
        }
        let family = FAMILIES.iter().find(|family| gpus::suits(family) && family.kind == Kind::Sort);
        let family = family.ok_or_else(|| Error::Usage("no family sorts on several devices".into()))?;
        return gpus::sort_file(family, gpus[0], (input, &types), SortRung::default(), matches, common);
    }
    let outputs = Places::of(matches);
    let parameters = Parameters {
        values: matches.value_source("values") == Some(ValueSource::CommandLine),
        descending: matches.get_flag("descending"),
        ..Parameters::default()
    };
    let Some(input) = matches.get_one::<OsString>("input") else {
        let taken = matches.get_one::<OsString>("values").map_or("", |name| name.to_str().unwrap_or("the file"));
        let why = format!("FILE with the keys is missing: --values took {taken}. Write: rungs sort FILE --values");
        return Err(Error::Usage(why));
    };
    // Values go with keys of any width here.
    let types = types(KEY_TYPES, matches, &Parameters::default());
    if let Some(dtype) = types.iter().find(|dtype| !KEY_TYPES.contains(dtype)) {
        return Err(Error::Usage(format!("sort does not take {dtype}; it takes {}", names(KEY_TYPES))));
    }
    let given = Given::keys(&input.as_os_str().into(), &types, matches.get_one::<OsString>("values"), true)?;
    let data = given.data.unwrap_or_default();
    let (dtype, n) = data.first().map_or((KEY_TYPES[0], 0), |keys| (keys.dtype(), keys.len()));
    let mut outputs = outputs.open(given.format.unwrap_or(Format::Npy))?;
    outputs.nan_last = matches.get_one::<String>("nan").is_some_and(|nan| nan == "last");
    if outputs.nan_last && !dtype.is_float() {
        return Err(Error::Usage(format!("--nan is for floats: {dtype} has no NaN")));
    }
    let engine = common.engine()?;
    let by_places = parameters.values && data.iter().any(|data| data.dtype().size() != PLACE);
    let (sorts, bytes) = if parameters.values { (PAIR_SORTS, PLACE) } else { (SORTS, dtype.size()) };
    let rung = &choose(sorts, &engine, bytes, n)?.rung;
    let family = family_of(rung)?;
    let size = Size::Elements(n as u64);
    let (distribution, seed, input) = (family.input, common.seed, Some(data));
    let workload = Workload { size, dtype, distribution, seed, input, parameters };
    let problem = if by_places { along::problem(workload)? } else { family.make(workload)? };
    let row = Row::new(&engine, family, rung, &*problem, dtype).judged(checked(&engine, &*problem, rung)?);
    common.refuse(&engine, &row)?;
    let mut prepared = problem.prepare(&engine, rung)?;
    let ms = time(&engine, &mut *prepared, 0)?;
    let row = row.timed(&*problem, Ok(ms))?;
    outputs.write(&mut *prepared, size)?.report(common, &engine, row)
}

fn names(dtypes: &[Dtype]) -> String {
    dtypes.iter().map(|dtype| dtype.name()).collect::<Vec<_>>().join(", ")
}

fn family_of(rung: &Rung) -> Result<&'static Family> {
    let has = |family: &&Family| family.rungs.iter().any(|own| std::ptr::eq(*own, rung));
    FAMILIES.iter().find(has).ok_or_else(|| Error::Usage(format!("{} belongs to no family", rung.name)))
}
