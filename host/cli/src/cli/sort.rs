//! `rungs sort`: sorts the keys of a file by the rung that [`DeviceVec`](rungs::vec::DeviceVec) chooses for them.

use super::Common;
use super::family::{Given, Places, output_argument, types, values_arguments};
use crate::algorithms::keys::KEY_TYPES;
use crate::algorithms::{FAMILIES, Family, Parameters, Rung, Size, Workload};
use crate::data::{Dtype, Format, Place};
use crate::measure::{Row, checked, timed};
use clap::parser::ValueSource;
use clap::{Arg, ArgMatches, Command, value_parser};
use rungs::error::{Error, Result};
use rungs::vec::choice::{PAIR_SORTS, SORTS, choose};
use std::ffi::OsString;

pub(super) fn command() -> Command {
    Command::new("sort")
        .about("Sort the keys of a file by the rung that suits their type, their number and the device")
        .after_help(
            "The result is checked, and written where --output says; floats are in the total order of IEEE 754. A rung \
             of one's own choice: see `rungs radix --input`.",
        )
        .args([
            Arg::new("input")
                .value_name("FILE")
                .required(true)
                .help("Keys: an .npy or a raw little-endian file (with --dtype), or - for standard input")
                .value_parser(value_parser!(OsString)),
            Arg::new("dtype")
                .long("dtype")
                .value_name("TYPE")
                .help("Type of the keys: u32, i32, f32, u64, i64 or f64")
                .value_parser(value_parser!(Dtype)),
            output_argument(),
            super::check_argument(),
        ])
        .args(values_arguments())
}

pub(super) fn run(matches: &ArgMatches, common: &Common) -> Result<()> {
    let outputs = Places::of(matches);
    let parameters = Parameters {
        values: matches.value_source("values") == Some(ValueSource::CommandLine),
        ..Parameters::default()
    };
    let types = types(KEY_TYPES, matches, &parameters);
    if let Some(dtype) = types.iter().find(|dtype| !KEY_TYPES.contains(dtype)) {
        return Err(Error::Usage(format!("sort does not take {dtype}; it takes {}", names(KEY_TYPES))));
    }
    let input = matches.get_one::<OsString>("input").map_or(Place::Standard, |name| name.as_os_str().into());
    let given = Given::keys(&input, &types, matches.get_one::<OsString>("values"))?;
    let data = given.data.unwrap_or_default();
    let (dtype, n) = data.first().map_or((KEY_TYPES[0], 0), |keys| (keys.dtype(), keys.len()));
    let outputs = outputs.open(given.format.unwrap_or(Format::Npy))?;
    let engine = common.engine()?;
    let rung = &choose(if parameters.values { PAIR_SORTS } else { SORTS }, &engine, dtype.size(), n)?.rung;
    let family = family_of(rung)?;
    let size = Size::Elements(n as u64);
    let (distribution, seed, input) = (family.input, common.seed, Some(data));
    let problem = family.make(Workload { size, dtype, distribution, seed, input, parameters })?;
    let row = Row::new(&engine, family, rung, &*problem, dtype).judged(checked(&engine, &*problem, rung)?);
    common.refuse(&engine, &row)?;
    let mut prepared = problem.prepare(&engine, rung)?;
    let ms = timed(&engine, &mut *prepared)?;
    prepared.verify()?;
    let rate = problem.work().rate(ms);
    let row = Row { verified: true, time_ms: Some(ms), rate: Some(rate), ..row };
    outputs.write(&mut *prepared, size)?.report(common, &engine, row)
}

fn names(dtypes: &[Dtype]) -> String {
    dtypes.iter().map(|dtype| dtype.name()).collect::<Vec<_>>().join(", ")
}

fn family_of(rung: &Rung) -> Result<&'static Family> {
    let has = |family: &&Family| family.rungs.iter().any(|own| std::ptr::eq(*own, rung));
    FAMILIES.iter().find(has).ok_or_else(|| Error::Usage(format!("{} belongs to no family", rung.name)))
}
