//! One process for each GPU: what a launcher says of a process, in its environment.
//!
//! | launcher | rank and size | GPU of the host | name of the job |
//! | --- | --- | --- | --- |
//! | torchrun and its like | `RANK`, `WORLD_SIZE` | `LOCAL_RANK` | `TORCHELASTIC_RUN_ID` |
//! | Open MPI's mpirun | `OMPI_COMM_WORLD_RANK`, `…_SIZE` | `OMPI_COMM_WORLD_LOCAL_RANK` | `PMIX_NAMESPACE` |
//! | Slurm's srun | `SLURM_PROCID`, `SLURM_NTASKS` | `SLURM_LOCALID` | `SLURM_JOB_ID`, `SLURM_STEP_ID` |
//!
//! Rank 0 listens at port `RUNGS_PORT` of host `MASTER_ADDR`; by default at the port after `MASTER_PORT`, which
//! torchrun uses itself. Without `MASTER_ADDR` all processes are on one host.

use super::{Nccl, Rendezvous, Settings, Tcp};
use rungs::engine::{DeviceChoice, Engine, cuda};
use rungs::error::{Error, Result};
use std::env;

/// The names of rank, size and number on the host, by launcher, and those that together name the job. A launcher's own
/// alone: all of its processes have the same, which is not so for those of a launcher that started it.
const NAMES: [([&str; 3], &[&str]); 3] = [
    (["RANK", "WORLD_SIZE", "LOCAL_RANK"], &["TORCHELASTIC_RUN_ID"]),
    (["OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK"], &["PMIX_NAMESPACE"]),
    (["SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID"], &["SLURM_JOB_ID", "SLURM_STEP_ID"]),
];

/// The port where the environment names none.
const PORT: u16 = 29_601;

/// A process's place among those that were launched together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// Its rank.
    pub rank: usize,
    /// How many processes there are.
    pub size: usize,
    /// Its number on its host, which is that of its GPU, modulo the GPUs that the process is shown.
    pub local: u32,
    /// Where the processes find each other.
    pub at: Rendezvous,
}

impl Place {
    /// What the launcher says of this process; nothing if no launcher started it.
    ///
    /// # Errors
    /// [`Error::Usage`] for a variable that is no number.
    pub fn of_process() -> Result<Option<Self>> {
        Self::from(|name| env::var(name).ok())
    }

    /// What an environment says.
    fn from(variable: impl Fn(&str) -> Option<String>) -> Result<Option<Self>> {
        let number = |name: &str| match variable(name) {
            None => Ok(None),
            Some(text) => match text.trim().parse::<u16>() {
                Ok(number) => Ok(Some(number)),
                Err(_) => Err(Error::Usage(format!("the variable {name} is '{text}', which is no number"))),
            },
        };
        for ([rank, size, local], job) in NAMES {
            let (Some(rank), Some(size)) = (number(rank)?, number(size)?) else { continue };
            let after = number("MASTER_PORT")?.map(|port| port.wrapping_add(1).max(1024));
            let at = Rendezvous {
                host: variable("MASTER_ADDR").unwrap_or_else(|| "127.0.0.1".into()),
                port: number("RUNGS_PORT")?.or(after).unwrap_or(PORT),
                job: job.iter().filter_map(|name| variable(name)).collect::<Vec<_>>().join("."),
            };
            let local = number(local)?.unwrap_or(rank).into();
            return Ok(Some(Self { rank: rank.into(), size: size.into(), local, at }));
        }
        Ok(None)
    }

    /// Runs `work` as this process's rank, on its GPU.
    ///
    /// # Errors
    /// Those of `work`; as for [`Tcp::new`], [`Engine::open`] and [`Nccl::new`].
    pub fn run<R>(&self, settings: Settings, work: impl FnOnce(&dyn super::Group, &Engine) -> Result<R>) -> Result<R> {
        let meeting = Tcp::new(self.rank, self.size, &self.at, settings.timeout)?;
        // A launcher may show each process its own GPU alone.
        let shown = cuda::devices().map_or(0, |gpus| gpus.len() as u32);
        let ordinal = if shown == 0 { self.local } else { self.local % shown };
        let engine = match Engine::open(DeviceChoice::Cuda(ordinal)) {
            Ok(engine) => engine,
            Err(error) => {
                super::Meeting::fail(&meeting, &error.to_string());
                return Err(error);
            }
        };
        let group = Nccl::new(Box::new(meeting), &engine)?;
        work(&group, &engine).inspect_err(|error| super::Group::abort(&group, &error.to_string()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(variables: &[(&str, &str)]) -> Result<Option<Place>> {
        let value = |name: &str| variables.iter().find(|(own, _)| *own == name).map(|(_, value)| value.to_string());
        Place::from(value)
    }

    #[test]
    fn each_launcher_is_understood() {
        assert_eq!(place(&[("PATH", "/bin"), ("RANK", "3")]).unwrap(), None);
        let at = |host: &str, port, job: &str| Rendezvous { host: host.into(), port, job: job.into() };
        let torchrun = [
            ("RANK", "3"),
            ("WORLD_SIZE", "8"),
            ("LOCAL_RANK", "1"),
            ("MASTER_ADDR", "first"),
            ("MASTER_PORT", "29500"),
            ("TORCHELASTIC_RUN_ID", "mine"),
            ("SLURM_PROCID", "0"),
            ("SLURM_NTASKS", "2"),
            ("SLURM_JOB_ID", "77"),
        ];
        let want = Place { rank: 3, size: 8, local: 1, at: at("first", 29_501, "mine") };
        assert_eq!(place(&torchrun).unwrap(), Some(want));
        let slurm = [
            ("SLURM_PROCID", "1"),
            ("SLURM_NTASKS", "2"),
            ("SLURM_LOCALID", "0"),
            ("SLURM_JOB_ID", "77"),
            ("SLURM_STEP_ID", "3"),
            ("RUNGS_PORT", "4000"),
        ];
        let want = Place { rank: 1, size: 2, local: 0, at: at("127.0.0.1", 4000, "77.3") };
        assert_eq!(place(&slurm).unwrap(), Some(want));
        let mpi = [("OMPI_COMM_WORLD_RANK", "1"), ("OMPI_COMM_WORLD_SIZE", "2")];
        let want = Place { rank: 1, size: 2, local: 1, at: at("127.0.0.1", PORT, "") };
        assert_eq!(place(&mpi).unwrap(), Some(want));
        let named = [&mpi[..], &[("PMIX_NAMESPACE", "prterun-4@1")]].concat();
        assert_eq!(place(&named).unwrap().unwrap().at.job, "prterun-4@1");
        let error = place(&[("RANK", "x"), ("WORLD_SIZE", "2")]).unwrap_err();
        assert_eq!(error.to_string(), "the variable RANK is 'x', which is no number");
    }
}
