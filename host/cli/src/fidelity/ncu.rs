//! The profiler: how it is started, and what it writes.

use super::{Comparison, Profiled, Quantity};
use rungs::error::{Error, Result};
use std::ffi::OsStr;
use std::process::Command;

/// The counters of Nsight Compute, and what each counts.
const COUNTERS: [(Quantity, &str); Quantity::ALL.len()] = [
    (Quantity::LoadRequests, "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum"),
    (Quantity::LoadSectors, "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum"),
    (Quantity::StoreRequests, "l1tex__t_requests_pipe_lsu_mem_global_op_st.sum"),
    (Quantity::StoreSectors, "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum"),
    (Quantity::SharedLoadWavefronts, "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum"),
    (Quantity::SharedLoadConflicts, "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum"),
    (Quantity::SharedStoreWavefronts, "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum"),
    (Quantity::SharedStoreConflicts, "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum"),
];

/// The columns of each launch's number, of its kernel, and of the GPU's SMs, on which grids depend.
const ID: &str = "ID";
const KERNEL: &str = "Kernel Name";
const MULTIPROCESSORS: &str = "launch__sm_count";

/// The column that saved reports have next to the profiler's: the case of each launch.
const CASE: &str = "Case";

/// The call of the profiler that writes its report of `program` with these arguments as CSV to standard output.
pub fn command(ncu: &OsStr, program: &OsStr, arguments: &[&str]) -> Command {
    let counters = COUNTERS.map(|(_, name)| name);
    let mut command = Command::new(ncu);
    // Clocks and caches do not change what is counted; leaving them alone is faster.
    command.args(["--csv", "--page", "raw", "--clock-control", "none", "--cache-control", "none"]);
    command.args(["--metrics", &counters.join(",")]).arg(program).args(arguments);
    command
}

/// The table in a report of the profiler: its columns and its rows.
fn table(report: &str) -> Result<(csv::StringRecord, Vec<csv::StringRecord>)> {
    let usage = |what: String| Error::Usage(format!("the profiler's report cannot be read: {what}"));
    // Lines of the profiler itself and of the program precede the table.
    let start = report.find("\"ID\"").ok_or_else(|| {
        let last = report.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("it is empty");
        usage(format!("it has no table; its last line is: {last}"))
    })?;
    let mut reader = csv::ReaderBuilder::new().flexible(true).from_reader(&report.as_bytes()[start..]);
    let header = reader.headers().map_err(|e| usage(e.to_string()))?.clone();
    let rows = reader.records().collect::<std::result::Result<Vec<_>, _>>().map_err(|e| usage(e.to_string()))?;
    if !header.iter().any(|column| column == KERNEL) {
        return Err(usage(format!("it has no column {KERNEL}")));
    }
    Ok((header, rows))
}

/// The launches in a report of the profiler, in order.
///
/// # Errors
/// [`Error::Usage`] if the text is no such report.
pub fn parse(report: &str) -> Result<Vec<Profiled>> {
    let (header, rows) = table(report)?;
    let column = |name: &str| header.iter().position(|column| column == name);
    let launch = |row: &csv::StringRecord| {
        let text = |name: &str| column(name).and_then(|column| row.get(column));
        let number = |name: &str| text(name)?.replace(',', "").parse::<f64>().ok().map(|value| value as u64);
        // The line below the header has the units.
        number(ID)?;
        let name = text(KERNEL).unwrap_or("");
        Some(Profiled {
            kernel: name.split(['(', '<']).next().unwrap_or(name).trim().to_string(),
            multiprocessors: number(MULTIPROCESSORS).map_or(1, |n| n as u32),
            case: text(CASE).filter(|case| !case.is_empty()).map(str::to_string),
            values: COUNTERS.map(|(_, name)| number(name)),
        })
    };
    Ok(rows.iter().filter_map(launch).collect())
}

/// A report of the profiler without the columns that are not compared, and without lines before the table; each launch
/// with the case that it was compared in. Without comparisons, the launches keep the cases that the report says.
///
/// # Errors
/// [`Error::Usage`] if the text is no such report.
pub fn shortened(report: &str, comparisons: &[Comparison]) -> Result<String> {
    let (header, rows) = table(report)?;
    let wanted = |name: &str| {
        [ID, KERNEL, MULTIPROCESSORS].contains(&name) || COUNTERS.iter().any(|(_, counter)| *counter == name)
    };
    let columns: Vec<usize> = header.iter().enumerate().filter(|(_, name)| wanted(name)).map(|(i, _)| i).collect();
    let case = header.iter().position(|name| name == CASE);
    let mut names = comparisons.iter().flat_map(|c| std::iter::repeat_n(c.case(), c.launches));
    let mut writer = csv::WriterBuilder::new().quote_style(csv::QuoteStyle::Always).from_writer(vec![]);
    for (i, row) in std::iter::once(&header).chain(&rows).enumerate() {
        let is_launch = row.get(0).is_some_and(|id| id.parse::<u64>().is_ok());
        let case = match (i, is_launch) {
            (0, _) => CASE.into(),
            (_, true) => names.next().or_else(|| row.get(case?).map(str::to_string)).unwrap_or_default(),
            _ => String::new(),
        };
        let cells = columns.iter().map(|&i| row.get(i).unwrap_or(""));
        writer.write_record(cells.chain([&*case])).map_err(|e| Error::Usage(e.to_string()))?;
    }
    let bytes = writer.into_inner().map_err(|e| Error::Usage(e.to_string()))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_are_read() {
        let report = "==PROF== Connected\nresult\n\"ID\",\"Kernel Name\",\"Grid Size\",\"launch__sm_count\",\
            \"l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum\",\"l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum\"\n\
            \"\",\"\",\"\",\"SM\",\"request\",\"sector\"\n\
            \"0\",\"first(unsigned int *)\",\"(1, 1, 1)\",\"132\",\"1,024\",\"3\"\n\
            \"1\",\"second\",\"(2, 1, 1)\",\"132\",\"7\",\"0\"\n";
        let compared = |rung, launches| Comparison { family: "f", rung, n: 8, launches, quantities: vec![] };
        let short = shortened(report, &[compared("a", 1), compared("b", 1)]).unwrap();
        assert!(short.starts_with("\"ID\",\"Kernel Name\",\"launch__sm_count\""), "{short}");
        for report in [report, &short] {
            let launches = parse(report).unwrap();
            let names: Vec<_> = launches.iter().map(|l| (&*l.kernel, l.multiprocessors)).collect();
            assert_eq!(names, [("first", 132), ("second", 132)]);
            let of = |l: &Profiled, q: Quantity| l.values[Quantity::ALL.iter().position(|&other| other == q).unwrap()];
            assert_eq!(of(&launches[0], Quantity::LoadRequests), Some(1024));
            assert_eq!(of(&launches[1], Quantity::LoadSectors), Some(0));
            assert_eq!(of(&launches[1], Quantity::StoreSectors), None, "there is no such column");
        }
        for short in [&short, &shortened(&short, &[]).unwrap()] {
            let cases: Vec<_> = parse(short).unwrap().into_iter().map(|launch| launch.case).collect();
            assert_eq!(cases, [Some("f a 8".to_string()), Some("f b 8".to_string())]);
        }
        let error = parse("==ERROR== No permission\n").unwrap_err().to_string();
        assert!(error.contains("==ERROR== No permission"), "{error}");
    }
}
