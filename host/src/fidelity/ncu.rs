//! The profiler: how it is started, and what it writes.

use super::{Profiled, Quantity};
use crate::error::{Error, Result};
use std::ffi::OsStr;
use std::process::Command;

/// The counters of Nsight Compute, and what each counts. Several of one quantity are added up.
const COUNTERS: &[(Quantity, &str)] = &[
    (Quantity::LoadRequests, "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum"),
    (Quantity::LoadSectors, "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum"),
    (Quantity::StoreRequests, "l1tex__t_requests_pipe_lsu_mem_global_op_st.sum"),
    (Quantity::StoreSectors, "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum"),
    (Quantity::AtomicRequests, "l1tex__t_requests_pipe_lsu_mem_global_op_atom.sum"),
    (Quantity::AtomicRequests, "l1tex__t_requests_pipe_lsu_mem_global_op_red.sum"),
    (Quantity::AtomicSectors, "l1tex__t_sectors_pipe_lsu_mem_global_op_atom.sum"),
    (Quantity::AtomicSectors, "l1tex__t_sectors_pipe_lsu_mem_global_op_red.sum"),
    (Quantity::SharedLoadRequests, "smsp__inst_executed_op_shared_ld.sum"),
    (Quantity::SharedLoadWavefronts, "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum"),
    (Quantity::SharedLoadConflicts, "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum"),
    (Quantity::SharedStoreRequests, "smsp__inst_executed_op_shared_st.sum"),
    (Quantity::SharedStoreWavefronts, "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum"),
    (Quantity::SharedStoreConflicts, "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum"),
    (Quantity::SharedAtomicRequests, "smsp__inst_executed_op_shared_atom.sum"),
    (Quantity::SharedAtomicWavefronts, "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_atom.sum"),
];

/// The counter of the GPU's multiprocessors, on which grids depend.
const MULTIPROCESSORS: &str = "device__attribute_multiprocessor_count";

/// The call of the profiler that writes its report of `program` with these arguments as CSV to standard output.
pub fn command(ncu: &OsStr, program: &OsStr, arguments: &[&str]) -> Command {
    let counters: Vec<&str> = std::iter::once(MULTIPROCESSORS).chain(COUNTERS.iter().map(|(_, name)| *name)).collect();
    let mut command = Command::new(ncu);
    // Clocks and caches do not change what is counted; leaving them alone is faster.
    command.args(["--csv", "--page", "raw", "--clock-control", "none", "--cache-control", "none"]);
    command.args(["--metrics", &counters.join(",")]).arg(program).args(arguments);
    command
}

/// The launches in a report of the profiler, in order.
///
/// # Errors
/// [`Error::Usage`] if the text is no such report.
pub fn parse(report: &str) -> Result<Vec<Profiled>> {
    let usage = |what: String| Error::Usage(format!("the profiler's report cannot be read: {what}"));
    // Lines of the profiler itself and of the program precede the table.
    let table = report.find("\"ID\"").ok_or_else(|| {
        let last = report.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("it is empty");
        usage(format!("it has no table; its last line is: {last}"))
    })?;
    let mut reader = csv::ReaderBuilder::new().flexible(true).from_reader(&report.as_bytes()[table..]);
    let header = reader.headers().map_err(|e| usage(e.to_string()))?.clone();
    let column = |name: &str| header.iter().position(|column| column == name);
    let (Some(id), Some(kernel)) = (column("ID"), column("Kernel Name")) else {
        return Err(usage("it has no column Kernel Name".into()));
    };
    let mut launches = vec![];
    for record in reader.records() {
        let record = record.map_err(|e| usage(e.to_string()))?;
        // The second line has the units.
        if record.get(id).is_none_or(|id| id.parse::<u64>().is_err()) {
            continue;
        }
        let number = |name: &str| -> Option<u64> {
            let text = record.get(column(name)?)?.replace(',', "");
            text.parse::<f64>().ok().map(|value| value as u64)
        };
        let value = |quantity: Quantity| -> Option<u64> {
            COUNTERS.iter().filter(|(q, _)| *q == quantity).map(|(_, name)| number(name)).sum()
        };
        let name = record.get(kernel).unwrap_or("");
        launches.push(Profiled {
            kernel: name.split(['(', '<']).next().unwrap_or(name).trim().to_string(),
            multiprocessors: number(MULTIPROCESSORS).map_or(1, |n| n as u32),
            values: Quantity::ALL.map(value),
        });
    }
    Ok(launches)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_are_read() {
        let report = "==PROF== Connected\nresult\n\"ID\",\"Kernel Name\",\"Grid Size\",\
            \"device__attribute_multiprocessor_count\",\
            \"l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum\",\
            \"l1tex__t_sectors_pipe_lsu_mem_global_op_atom.sum\",\
            \"l1tex__t_sectors_pipe_lsu_mem_global_op_red.sum\"\n\
            \"\",\"\",\"\",\"\",\"request\",\"sector\",\"sector\"\n\
            \"0\",\"first(unsigned int *)\",\"(1, 1, 1)\",\"132\",\"1,024\",\"3\",\"4\"\n\
            \"1\",\"second\",\"(2, 1, 1)\",\"132\",\"7\",\"0\",\"0\"\n";
        let launches = parse(report).unwrap();
        let names: Vec<_> = launches.iter().map(|l| (&*l.kernel, l.multiprocessors)).collect();
        assert_eq!(names, [("first", 132), ("second", 132)]);
        let of = |l: &Profiled, q: Quantity| l.values[Quantity::ALL.iter().position(|&other| other == q).unwrap()];
        assert_eq!(of(&launches[0], Quantity::LoadRequests), Some(1024));
        assert_eq!(of(&launches[0], Quantity::AtomicSectors), Some(7));
        assert_eq!(of(&launches[1], Quantity::StoreSectors), None, "there is no such column");
        let error = parse("==ERROR== No permission\n").unwrap_err().to_string();
        assert!(error.contains("==ERROR== No permission"), "{error}");
    }
}
