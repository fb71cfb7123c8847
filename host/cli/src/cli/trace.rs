//! `rungs trace`: the data after each step of a rung.

use super::{Common, family_named};
use crate::algorithms::{Draws, Extra, Family, Parameters, Rung, Size};
use crate::data::{Distribution, Place, Size as Count};
use crate::report::{self, Format, Grid};
use crate::trace::{self, ArrayTrace, Trace, Value};
use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use rungs::error::{Error, Result};
use serde::Serialize;
use std::ffi::OsString;

/// Default number of elements.
const ELEMENTS: u64 = 16;

/// Default number of bins of a histogram.
const BINS: u32 = 16;

pub(super) fn command() -> Command {
    Command::new("trace").about("Show the data after each step of a rung, on the simulator").args([
        Arg::new("family").value_name("FAMILY").help("Which family").required(true),
        Arg::new("rung").long("rung").value_name("RUNG").help("Which rung [default: the first]"),
        Arg::new("n")
            .long("n")
            .value_name("N")
            .help("How many elements, or the side of the matrices; drawn [default: 16]")
            .value_parser(value_parser!(Count))
            .conflicts_with("values"),
        Arg::new("values")
            .long("values")
            .value_name("LIST")
            .help("The elements, as 9,5,8,4")
            .value_delimiter(',')
            .allow_hyphen_values(true)
            .value_parser(value_parser!(u32)),
        Arg::new("block")
            .long("block")
            .value_name("KEYS")
            .help("Keys per block, for bubble shared-block: two per thread")
            .value_parser(value_parser!(u32).range(2..)),
        Arg::new("columns")
            .long("columns")
            .value_name("NUMBER")
            .help("Columns of the radix sorts in columns [default: as many as make rows of two keys, 8 at least]")
            .value_parser(value_parser!(u32)),
        Arg::new("bins")
            .long("bins")
            .value_name("NUMBER")
            .help("Bins of a histogram [default: 16]")
            .value_parser(value_parser!(u32).range(1..=256)),
        Arg::new("notes").long("notes").help("Describe each step").action(ArgAction::SetTrue),
        Arg::new("html")
            .long("html")
            .value_name("FILE")
            .help("Also write an HTML page that plays the steps")
            .value_parser(value_parser!(OsString)),
        super::check_argument(),
    ])
}

pub(super) fn run(matches: &ArgMatches, common: &Common) -> Result<()> {
    common.on_simulator("trace")?;
    if super::given(matches, "values") {
        super::refuse_unused(matches, &["seed"], "--values names the elements")?;
    }
    if let Some(page) = matches.get_one::<OsString>("html") {
        report::writable(&page.as_os_str().into())?;
        if page == "-" {
            super::refuse_unused(matches, &["format", "notes"], "the page goes to standard output, and nothing else")?;
        }
    }
    let family = family_named(matches.get_one::<String>("family").map_or("", |name| name))?;
    let block = matches.get_one::<u32>("block").copied();
    let rung = rung(family, matches.get_one::<String>("rung").map(String::as_str), block)?;
    if let Draws::Arrays { .. } = family.draws {
        return run_arrays(matches, common, family, rung);
    }
    super::refuse_unused(matches, &["bins"], &format!("{} has no bins", family.name))?;
    let input = match matches.get_many::<u32>("values") {
        Some(values) => values.copied().collect(),
        None => draw(matches.get_one::<Count>("n").map_or(ELEMENTS, |n| n.0), common.seed)?,
    };
    let page = matches.get_one::<OsString>("html").map(|name| Place::from(name.as_os_str()));
    let parameters = parameters((family, rung), block, matches.get_one::<u32>("columns").copied(), input.len())?;
    let engine = common.simulator();
    common.vet(|| trace::trace(&engine, family, rung, input.clone(), parameters).map(drop))?;
    let trace = trace::trace(&engine, family, rung, input, parameters)?;
    if let Some(place) = page {
        report::write_text(&place, &trace::page(&trace)?)?;
        if place == Place::Standard {
            return Ok(());
        }
    }
    print(&trace, common.format, matches.get_flag("notes"))
}

/// Families that draw several arrays.
fn run_arrays(matches: &ArgMatches, common: &Common, family: &'static Family, rung: &'static Rung) -> Result<()> {
    let values: Option<Vec<u32>> = matches.get_many::<u32>("values").map(|values| values.copied().collect());
    let asked = matches.get_one::<Count>("n").map_or(ELEMENTS, |n| n.0);
    let size = match (family.sizes.simulator, &values) {
        (Size::Product { .. }, Some(_)) => {
            return Err(Error::Usage(format!("{} takes two matrices: --n, not --values", family.name)));
        }
        (Size::Product { .. }, None) => Size::Product { m: asked, n: asked, k: asked },
        (Size::Elements(_), Some(values)) => Size::Elements(values.len() as u64),
        (Size::Elements(_), None) => Size::Elements(asked),
    };
    let takes = |extra| family.extras.contains(&extra);
    let bins = matches.get_one::<u32>("bins").copied();
    if bins.is_some() && !takes(Extra::Bins) {
        return Err(Error::Usage(format!("{} has no bins", family.name)));
    }
    let mut parameters = parameters((family, rung), None, matches.get_one::<u32>("columns").copied(), 0)?;
    parameters.bins = takes(Extra::Bins).then(|| bins.unwrap_or(BINS));
    let engine = common.simulator();
    let run = |values| trace::trace_arrays(&engine, family, rung, (size, values), common.seed, parameters);
    common.vet(|| run(values.clone()).map(drop))?;
    let trace = run(values)?;
    if let Some(name) = matches.get_one::<OsString>("html") {
        let place = Place::from(name.as_os_str());
        report::write_text(&place, &trace::array_page(&trace)?)?;
        if place == Place::Standard {
            return Ok(());
        }
    }
    match common.format {
        Format::Json => report::json(&ArrayReport { schema: report::SCHEMA, trace: &trace }),
        Format::Csv => {
            let mut grid = Grid::new(&["step", "launch", "kernel", "array", "data", "note"], &[]);
            for step in &trace.steps {
                for (array, cells) in trace.arrays.iter().zip(&step.arrays) {
                    let cell = |v: &Option<Value>| v.map_or(String::new(), |v| v.to_string());
                    let data = cells.values.iter().map(cell).collect::<Vec<_>>().join(" ");
                    let launch = step.launch.to_string();
                    let (label, kernel, note) = (step.label.clone(), step.kernel.to_string(), step.note.clone());
                    grid.row([label, launch, kernel, array.name.clone(), data, note]);
                }
            }
            grid.print_csv()
        }
        Format::Text => {
            let lines = trace::array_lines(&trace);
            let width = lines.iter().map(|(label, _)| label.len()).max().unwrap_or(0);
            let mut text: String = lines.iter().map(|(label, line)| format!("{label:width$} {line}\n")).collect();
            if trace.steps.is_empty() {
                text += "nothing is launched for this input\n";
            }
            report::print(&text)
        }
    }
}

/// The rung with this name, or the first; for a number of keys in a block the one that takes it.
fn rung(family: &'static Family, name: Option<&str>, block: Option<u32>) -> Result<&'static Rung> {
    const TAKES_BLOCK: (&str, &str) = ("bubble", "shared-block");
    let rung = match (name, block) {
        (Some(name), _) => family.rung(name)?,
        (None, Some(_)) if family.name == TAKES_BLOCK.0 => family.rung(TAKES_BLOCK.1)?,
        (None, _) => family.rungs.first().ok_or_else(|| Error::Usage(format!("{} has no rungs", family.name)))?,
    };
    if block.is_some() && (family.name, rung.name) != TAKES_BLOCK {
        return Err(Error::Usage(format!(
            "--block is for {} {}: the blocks of {} {} are as large as its file says",
            TAKES_BLOCK.0, TAKES_BLOCK.1, family.name, rung.name
        )));
    }
    Ok(rung)
}

fn parameters(
    (family, rung): (&Family, &Rung),
    block: Option<u32>,
    columns: Option<u32>,
    n: usize,
) -> Result<Parameters> {
    let mut parameters = family.usual(rung);
    if let Some(keys) = block {
        if !keys.is_multiple_of(2) {
            return Err(Error::Usage(format!(
                "a block of {keys} keys is not possible: it has an even number of keys, two per thread"
            )));
        }
        parameters.threads = Some(keys / 2);
    }
    let takes_columns = family.extras.contains(&crate::algorithms::Extra::Columns);
    match columns {
        Some(_) if !takes_columns => return Err(Error::Usage(format!("{} has no columns", family.name))),
        Some(columns) => parameters.columns = Some(columns),
        None if takes_columns => {
            let (least, most) =
                (rungs_kernels::radix::columns::MIN_COLUMNS, rungs_kernels::radix::columns::MAX_COLUMNS);
            parameters.columns = Some((n as u32 / 2).next_power_of_two().clamp(least, most));
        }
        None => {}
    }
    Ok(parameters)
}

/// `n` numbers of one or two digits.
fn draw(n: u64, seed: u64) -> Result<Vec<u32>> {
    if n > trace::MAX_ELEMENTS as u64 {
        return Err(Error::Usage(format!("{n} elements are too many to draw; {} are the limit", trace::MAX_ELEMENTS)));
    }
    let keys = Distribution::Uniform.keys::<u32>(n, seed)?;
    Ok(keys.into_iter().map(|key| ((u64::from(key) * 100) >> 32) as u32).collect())
}

#[derive(Serialize)]
struct ArrayReport<'a> {
    schema: u32,
    #[serde(flatten)]
    trace: &'a ArrayTrace,
}

#[derive(Serialize)]
struct Report<'a> {
    schema: u32,
    #[serde(flatten)]
    trace: &'a Trace,
}

fn print(trace: &Trace, format: Format, notes: bool) -> Result<()> {
    let lines = trace::lines(trace);
    match format {
        Format::Json => report::json(&Report { schema: report::SCHEMA, trace }),
        Format::Csv => {
            let mut grid = Grid::new(&["step", "launch", "kernel", "data", "note"], &[]);
            let input = trace.input.iter().map(u32::to_string).collect::<Vec<_>>().join(" ");
            grid.row(["".to_string(), "".into(), "".into(), input, "input".into()]);
            for step in &trace.steps {
                let cell = |v: &Option<u32>| v.map_or(String::new(), |v| v.to_string());
                let data = step.values.iter().map(cell).collect::<Vec<_>>().join(" ");
                grid.row([
                    step.label.clone(),
                    step.launch.to_string(),
                    step.kernel.to_string(),
                    data,
                    step.note.clone(),
                ]);
            }
            grid.print_csv()
        }
        Format::Text => {
            let label = lines.iter().map(|(label, _)| label.len()).max().unwrap_or(0);
            let width = lines.iter().map(|(_, line)| line.chars().count()).max().unwrap_or(0);
            let remarks = std::iter::once("").chain(trace.steps.iter().map(|s| &s.note[..]));
            let mut text = String::new();
            for ((name, line), note) in lines.iter().zip(remarks) {
                let line = match notes {
                    true => format!("{name:label$} {line:width$}  {note}"),
                    false => format!("{name:label$} {line}"),
                };
                text += &format!("{}\n", line.trim_end());
            }
            if trace.steps.is_empty() {
                text += "nothing is launched for this input\n";
            }
            report::print(&text)
        }
    }
}
