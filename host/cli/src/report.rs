//! The program's reports: tables for people, JSON and CSV for programs.

use crate::checks::Checked;
use crate::data::{Data, Format::Raw, Output, Place};
use crate::measure::Row;
use crate::streams;
use comfy_table::{CellAlignment, ColumnConstraint, ContentArrangement, Table, presets};
use rungs::engine::DeviceInfo;
use rungs::error::{Error, Result};
use serde::Serialize;
use simt::sim::plural;
use std::io::Write;
use std::path::Path;
use std::str::FromStr;

/// The version of the JSON reports' schema.
pub const SCHEMA: u32 = 1;

/// The format of a report, from `--format`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Format {
    /// An aligned table.
    #[default]
    Text,
    /// One JSON object.
    Json,
    /// A header line and one line per row.
    Csv,
}

impl FromStr for Format {
    type Err = String;

    fn from_str(s: &str) -> std::result::Result<Self, String> {
        match s {
            "text" => Ok(Self::Text),
            "json" => Ok(Self::Json),
            "csv" => Ok(Self::Csv),
            _ => Err("a format is text, json or csv".into()),
        }
    }
}

/// The JSON report of runs.
#[derive(Serialize)]
struct Runs<'a> {
    schema: u32,
    device: &'a DeviceInfo,
    seed: u64,
    results: &'a [Row],
}

/// Writes the report of runs to standard output.
///
/// # Errors
/// As for [`print()`]; [`Error::Usage`] if a row cannot be written as JSON.
pub fn runs(format: Format, device: &DeviceInfo, seed: u64, rows: &[Row]) -> Result<()> {
    match format {
        Format::Json => json(&Runs { schema: SCHEMA, device, seed, results: rows }),
        Format::Text => {
            let columns = ["family", "rung", "device", "n", "type", "time", "rate", "verified"];
            // Last, and only if a rung has one: the output of most rungs has as many elements as the input.
            let value = rows.iter().any(|row| row.value.is_some()).then_some("value");
            let mut grid = Grid::new(&columns.into_iter().chain(value).collect::<Vec<_>>(), &[3, 5, 6, 8]);
            for row in rows {
                let shown = row.value.as_ref().map_or("-".into(), |value| value.0.clone());
                grid.row(cells(row).into_iter().chain(value.map(|_| shown)));
            }
            print(&format!("{}\n{}", grid.text(), mistakes(rows)))
        }
        Format::Csv => {
            let own = ["verified", "skipped", "error", "left_out", "value"];
            let mut grid = Grid::new(&[&CSV_COLUMNS[..], &own].concat(), &[]);
            for row in rows {
                let text = |text: &Option<String>| text.clone().unwrap_or_default();
                let value = row.value.as_ref().map_or(String::new(), |value| value.0.clone());
                let left_out = row.left_out.map_or(String::new(), |count| count.to_string());
                let (verified, skipped, error) = (row.verified.to_string(), text(&row.skipped), text(&row.error));
                grid.row(csv_cells(row).into_iter().chain([verified, skipped, error, left_out, value]));
            }
            grid.print_csv()
        }
    }
}

/// The first columns of every report's CSV.
pub const CSV_COLUMNS: [&str; 11] =
    ["family", "rung", "device", "m", "n", "k", "dtype", "values", "time_ms", "rate", "rate_unit"];

/// The cells of those columns.
pub fn csv_cells(row: &Row) -> [String; CSV_COLUMNS.len()] {
    fn or_nothing<T: ToString>(value: Option<T>) -> String {
        value.map_or(String::new(), |value| value.to_string())
    }
    [
        row.family.to_string(),
        row.rung.to_string(),
        row.device.to_string(),
        or_nothing(row.m),
        row.n.to_string(),
        or_nothing(row.k),
        row.dtype.to_string(),
        or_nothing(row.values),
        or_nothing(row.time_ms),
        or_nothing(row.rate),
        row.rate_unit.map_or("", |unit| unit.name()).to_string(),
    ]
}

/// The size of the row's problem, for the text report.
pub fn size(row: &Row) -> String {
    match (row.m, row.k) {
        (Some(m), Some(k)) if m != row.n || k != row.n => format!("{m}x{}x{k}", row.n),
        (Some(_), _) => format!("{0}³", row.n),
        _ => count(row.n),
    }
}

/// The type of the row's elements, and of their values, for the text report.
pub fn dtype(row: &Row) -> String {
    row.values.map_or(row.dtype.to_string(), |values| format!("{} with {values}", row.dtype))
}

/// What checks found in these rows, below a table: nothing, or a paragraph for each mistake.
pub fn mistakes<'r>(rows: impl IntoIterator<Item = &'r Row>) -> String {
    let found = |row: &'r Row| row.checked.as_ref().filter(|checked| !checked.is_clean()).map(|checked| (row, checked));
    let text = |(row, checked): (&Row, &Checked)| format!("\n{} {}: {}", row.family, row.rung, checked.text());
    rows.into_iter().filter_map(found).map(text).collect()
}

/// Whether the row's result is right, for the text report.
pub fn verdict(row: &Row) -> String {
    match (&row.skipped, &row.error) {
        (Some(why), _) => format!("skipped ({why})"),
        (_, Some(error)) if Error::is_mismatch(error) => format!("WRONG: {error}"),
        (_, Some(error)) => format!("FAILED: {error}"),
        _ if row.verified && row.checked.is_some() => "yes, and checked".into(),
        _ if row.verified
            && let Some(n) = row.left_out =>
        {
            format!("yes, without {n} {}", plural(n, "key"))
        }
        _ => if row.verified { "yes" } else { "no" }.to_string(),
    }
}

fn cells(row: &Row) -> [String; 8] {
    [
        row.family.to_string(),
        row.rung.to_string(),
        row.device.to_string(),
        size(row),
        dtype(row),
        row.time_ms.map_or("-".into(), time),
        rate_of(row).unwrap_or("-".into()),
        verdict(row),
    ]
}

/// A table that is being filled.
pub struct Grid {
    columns: Vec<String>,
    right: Vec<usize>,
    wraps: bool,
    rows: Vec<Vec<String>>,
}

impl Grid {
    /// A table with these columns, those numbered in `right` aligned to the right.
    pub fn new(columns: &[&str], right: &[usize]) -> Self {
        let columns = columns.iter().map(|c| c.to_string()).collect();
        Self { columns, right: right.to_vec(), wraps: false, rows: vec![] }
    }

    /// On a terminal, wraps the text of the last column at the terminal's width. Without a call, no row is wrapped.
    pub fn wrap_last(mut self) -> Self {
        self.wraps = true;
        self
    }

    /// Appends a row.
    pub fn row<S: Into<String>>(&mut self, cells: impl IntoIterator<Item = S>) {
        self.rows.push(cells.into_iter().map(Into::into).collect());
    }

    /// Writes it to standard output as text.
    ///
    /// # Errors
    /// As for the function [`print()`].
    pub fn print(&self) -> Result<()> {
        print(&format!("{}\n", self.text()))
    }

    /// As text.
    pub fn text(&self) -> String {
        self.text_in(None)
    }

    /// As text for a terminal of this width in characters. Without a width it is that of standard output, if that is a
    /// terminal.
    pub(crate) fn text_in(&self, width: Option<u16>) -> String {
        let mut table = Table::new();
        // Text in a pipe is not wrapped, nor are other tables: each row is then one line to search.
        let arrangement = if self.wraps { ContentArrangement::Dynamic } else { ContentArrangement::Disabled };
        table.load_style(presets::NOTHING).set_content_arrangement(arrangement);
        if let Some(width) = width {
            table.set_width(width);
        }
        table.set_header(&self.columns);
        table.add_rows(&self.rows);
        for i in 0..self.columns.len() - usize::from(self.wraps) {
            if let Some(column) = table.column_mut(i) {
                column.set_constraint(ColumnConstraint::ContentWidth);
            }
        }
        for &i in &self.right {
            if let Some(column) = table.column_mut(i) {
                column.set_cell_alignment(CellAlignment::Right);
            }
        }
        table.to_string().lines().map(str::trim_end).collect::<Vec<_>>().join("\n")
    }

    /// Writes it to standard output as CSV (RFC 4180).
    ///
    /// # Errors
    /// As for the function [`print()`].
    pub fn print_csv(&self) -> Result<()> {
        let quote = |cell: &String| match cell.contains([',', '"', '\n']) {
            true => format!("\"{}\"", cell.replace('"', "\"\"")),
            false => cell.clone(),
        };
        let line = |cells: &Vec<String>| cells.iter().map(quote).collect::<Vec<_>>().join(",") + "\n";
        print(&std::iter::once(&self.columns).chain(&self.rows).map(line).collect::<String>())
    }
}

/// Writes one JSON object to standard output.
///
/// # Errors
/// As for [`print()`]; [`Error::Usage`] if the value cannot be written as JSON.
pub fn json<T: Serialize>(value: &T) -> Result<()> {
    let text =
        serde_json::to_string_pretty(value).map_err(|e| Error::Usage(format!("cannot be written as JSON: {e}")))?;
    print(&(text + "\n"))
}

/// Writes text to standard output.
///
/// # Errors
/// [`Error::ClosedPipe`] if the reader has gone; [`Error::Write`] if the system refuses.
pub fn print(text: &str) -> Result<()> {
    let written = streams::output().and_then(|mut out| out.write_all(text.as_bytes()).and_then(|()| out.flush()));
    written.map_err(|e| Error::printing(&e))
}

/// Writes text to a file, or to standard output.
///
/// # Errors
/// [`Error::Write`] if the system refuses; [`Error::ClosedPipe`] if the reader of a stream has gone.
pub fn write_text(place: &Place, text: &str) -> Result<()> {
    match place {
        Place::Standard => print(text),
        Place::File(_) => Output::open(place, Raw)?.write(&Data::from(text.as_bytes().to_vec())),
    }
}

/// Refuses a file that [`write_text`] could not write, before the work of which it is to tell. A named pipe is not
/// tried: its reader would take the end of the trial for that of the text.
///
/// # Errors
/// As for [`Output::open`].
pub fn writable(place: &Place) -> Result<()> {
    match place {
        Place::Standard => Ok(()),
        Place::File(path) if is_pipe(path) => Ok(()),
        Place::File(_) => Output::open(place, Raw).map(drop),
    }
}

#[cfg(unix)]
fn is_pipe(path: &Path) -> bool {
    use std::os::unix::fs::FileTypeExt;
    path.metadata().is_ok_and(|about| about.file_type().is_fifo())
}

#[cfg(not(unix))]
fn is_pipe(_: &Path) -> bool {
    false
}

/// A duration, with a suitable unit.
pub fn time(ms: f64) -> String {
    match ms {
        ms if ms >= 1000.0 => format!("{:.2} s", ms / 1000.0),
        ms if ms >= 1.0 => format!("{ms:.3} ms"),
        ms => format!("{:.1} µs", ms * 1000.0),
    }
}

/// The rate of a row, if it has one.
pub fn rate_of(row: &Row) -> Option<String> {
    row.rate.zip(row.rate_unit).map(|(value, unit)| rate(value, unit.name()))
}

/// A rate with a decimal prefix where its unit has none yet.
pub fn rate(rate: f64, unit: &str) -> String {
    if unit != "keys/s" {
        return if rate < 1.0 { format!("{rate:.4} {unit}") } else { format!("{rate:.1} {unit}") };
    }
    let (scaled, prefix) = match rate {
        r if r >= 1e9 => (r / 1e9, "G"),
        r if r >= 1e6 => (r / 1e6, "M"),
        r => (r / 1e3, "k"),
    };
    format!("{scaled:.2} {prefix}{unit}")
}

/// A count with groups of three digits.
pub fn count(n: u64) -> String {
    let digits = n.to_string();
    let groups = digits.as_bytes().rchunks(3).rev().map(|g| String::from_utf8_lossy(g));
    groups.collect::<Vec<_>>().join(",")
}
