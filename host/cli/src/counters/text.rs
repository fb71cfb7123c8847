//! Counters as text.

use super::{Kernel, Line, Totals};
use crate::report::{Grid, count};
use simt::sim::plural;

/// Most characters of a source line in a table.
const SOURCE: usize = 60;

/// What the columns of that table are.
pub const LEGEND: &str = "\
requests: instructions of a warp that access global memory; sectors: of 32 bytes; moved: their bytes, and those of bulk
copies; wavefronts, conflicts: of shared memory; atomic turns: lanes that wait for each other at one address; barriers:
once per block; lanes: per request. Times of the simulator say nothing about a GPU and are left out.";

/// Columns of the table with one row per rung.
pub fn totals_columns() -> [&'static str; 8] {
    ["requests", "sectors/request", "moved", "wavefronts", "conflicts", "atomic turns", "barriers", "lanes"]
}

/// The cells of those columns.
pub fn totals_row(totals: &Totals) -> [String; 8] {
    [
        count(totals.global_requests),
        ratio(totals.global_sectors, totals.global_requests),
        bytes(totals.bytes_moved),
        count(totals.shared_wavefronts),
        count(totals.bank_conflicts),
        count(totals.atomic_turns),
        count(totals.barriers),
        format!("{:.1}", totals.lanes_per_request),
    ]
}

/// A kernel's table, with the lines of the source.
pub fn kernel_text(kernel: &Kernel) -> String {
    let columns = ["line", "does", "requests", "lanes", "per request", "conflicts", "turns", "source"];
    let mut grid = Grid::new(&columns, &[2, 3, 5, 6]);
    let mut file = "";
    for line in &kernel.lines {
        if line.file != file {
            file = &line.file;
            grid.row([file.to_string()]);
        }
        grid.row(cells(line));
    }
    let Totals { bytes_in, bytes_out, bytes_moved, barriers, .. } = kernel.totals;
    format!(
        "{}, {} {}: {} in, {} out, {} moved, {} {}\n\n{}\n",
        kernel.name,
        kernel.launches,
        plural(kernel.launches as u64, "launch"),
        bytes(bytes_in),
        bytes(bytes_out),
        bytes(bytes_moved),
        count(barriers),
        plural(barriers, "barrier"),
        grid.text()
    )
}

fn cells(line: &Line) -> [String; 8] {
    let c = &line.counts;
    let nothing = || "-".to_string();
    let per_request = match line.kind {
        kind if kind.moves_sectors() => format!("{} sectors", ratio(c.sectors, c.requests)),
        kind if kind.is_shared() => format!("{} wavefronts", ratio(c.wavefronts, c.requests)),
        _ if c.bytes > 0 => bytes(c.bytes / c.requests),
        _ => nothing(),
    };
    let what = match line.bytes_per_lane {
        0 => line.instruction.to_string(),
        bytes => format!("{}, {bytes} B", line.instruction),
    };
    let source: String = line.source.chars().take(SOURCE).collect();
    [
        format!("{:>5}:{}", line.line, line.column),
        what,
        count(c.requests),
        format!("{:.1}", c.lanes as f64 / c.requests.max(1) as f64),
        per_request,
        if line.kind.is_shared() { count(c.bank_conflicts) } else { nothing() },
        if line.kind.is_read_modify_write() { count(c.turns) } else { nothing() },
        source,
    ]
}

fn ratio(a: u64, b: u64) -> String {
    if b == 0 { "-".into() } else { format!("{:.2}", a as f64 / b as f64) }
}

/// Bytes, with a suitable unit.
fn bytes(bytes: u64) -> String {
    match bytes {
        b if b >= 10 << 20 => format!("{:.1} MiB", b as f64 / (1 << 20) as f64),
        b if b >= 10 << 10 => format!("{:.1} KiB", b as f64 / 1024.0),
        b => format!("{b} B"),
    }
}
