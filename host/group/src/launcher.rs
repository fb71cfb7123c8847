//! One process for each GPU: what a launcher says of a process, in its environment.
//!
//! | launcher | rank and size | GPU of the host | name of the job |
//! | --- | --- | --- | --- |
//! | torchrun and its like | `RANK`, `WORLD_SIZE` | `LOCAL_RANK` | `TORCHELASTIC_RUN_ID` |
//! | Open MPI's mpirun | `OMPI_COMM_WORLD_RANK`, `…_SIZE` | `OMPI_COMM_WORLD_LOCAL_RANK` | `PMIX_NAMESPACE` |
//! | Slurm's srun | `SLURM_PROCID`, `SLURM_STEP_NUM_TASKS` | `SLURM_LOCALID` | `SLURM_JOB_ID`, `SLURM_STEP_ID` |
//!
//! Rank 0 listens at port `RUNGS_PORT` of host `MASTER_ADDR`; by default at the port after `MASTER_PORT`, which
//! torchrun uses itself. Without `MASTER_ADDR` all processes are on one host. `RUNGS_LISTEN` names another address to
//! listen at, and `RUNGS_SECRET` is what all ranks know.

use super::{Group, Meeting, Nccl, Processes, Rendezvous, Settings, Tcp, Transport, share};
use rungs::engine::{DeviceChoice, Engine, cuda};
use rungs::error::{Error, Result};
use std::env;
use std::ffi::OsString;

/// The names of rank, size and number on the host, by launcher, and those that together name the job. A launcher's own
/// alone: all of its processes have the same, which is not so for those of a launcher that started it. Slurm's size is
/// that of the step, which srun starts: a batch script has a rank and `SLURM_NTASKS`, and is one process.
const NAMES: [([&str; 3], &[&str]); 3] = [
    (["RANK", "WORLD_SIZE", "LOCAL_RANK"], &["TORCHELASTIC_RUN_ID"]),
    (["OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK"], &["PMIX_NAMESPACE"]),
    (["SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID"], &["SLURM_JOB_ID", "SLURM_STEP_ID"]),
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
    /// The variables that say rank and size.
    pub variables: [&'static str; 2],
}

impl Place {
    /// What the launcher says of this process; nothing if no launcher started it.
    ///
    /// # Errors
    /// [`Error::Usage`] for a variable that is not UTF-8, is no number, or is out of range.
    pub fn of_process() -> Result<Option<Self>> {
        Self::from(|name| env::var_os(name))
    }

    /// What an environment says.
    fn from(environment: impl Fn(&str) -> Option<OsString>) -> Result<Option<Self>> {
        // A secret that was passed over would let in everybody.
        let variable = |name: &str| {
            let value = environment(name).filter(|value| !value.is_empty());
            let not_text = |_| Error::Usage(format!("the variable {name} is not text in UTF-8"));
            value.map(OsString::into_string).transpose().map_err(not_text)
        };
        let number = |name: &str, least: u16| match variable(name)? {
            None => Ok(None),
            Some(text) => match text.trim().parse::<u16>() {
                Ok(number) if number >= least => Ok(Some(number)),
                _ => {
                    let (text, most) = (text.escape_debug(), u16::MAX);
                    Err(Error::Usage(format!(
                        "the variable {name} is '{text}', which is no number from {least} to {most}"
                    )))
                }
            },
        };
        for ([rank_name, size_name, local], job) in NAMES {
            let (Some(rank), Some(size)) = (number(rank_name, 0)?, number(size_name, 1)?) else { continue };
            let after = number("MASTER_PORT", 1)?.map(|port| port.wrapping_add(1).max(1024));
            let named = job.iter().filter_map(|name| variable(name).transpose()).collect::<Result<Vec<_>>>()?;
            let at = Rendezvous {
                host: variable("MASTER_ADDR")?.unwrap_or_else(|| "127.0.0.1".into()),
                port: number("RUNGS_PORT", 1)?.or(after).unwrap_or(PORT),
                job: named.join("."),
                secret: variable("RUNGS_SECRET")?.unwrap_or_default().into(),
                listen: variable("RUNGS_LISTEN")?,
            };
            let local = number(local, 0)?.unwrap_or(rank).into();
            let variables = [rank_name, size_name];
            return Ok(Some(Self { rank: rank.into(), size: size.into(), local, at, variables }));
        }
        Ok(None)
    }

    /// What the variables say, for messages: a shell may have some that are out of date.
    pub fn said(&self) -> String {
        let [rank, size] = self.variables;
        format!("{rank} and {size} say that {} processes were launched", self.size)
    }

    /// The process's GPU among those that it is shown.
    fn device(&self, shown: u32) -> DeviceChoice {
        DeviceChoice::Cuda(if shown == 0 { self.local } else { self.local % shown })
    }

    /// Runs `work` as this process's rank: on its own GPU, or on a simulator if `device` is one. Processes of one host
    /// read each other's memory; others, or where that cannot be, move data by NCCL.
    ///
    /// # Errors
    /// Those of `work`; as for [`Tcp::new`], [`Engine::open`], [`Processes::join`] and [`Nccl::new`].
    pub fn run<R>(
        &self,
        device: DeviceChoice,
        settings: Settings,
        work: impl FnOnce(&dyn Group, &Engine) -> Result<R>,
    ) -> Result<R> {
        let meeting = Tcp::new(self.rank, self.size, &self.at, settings.timeout).map_err(|error| match error {
            Error::Group(why) => Error::Group(format!("{why} ({})", self.said())),
            error => error,
        })?;
        // A launcher may show each process its own GPU alone.
        let shown = cuda::devices().map_or(0, |gpus| gpus.len() as u32);
        let is_simulator = matches!(device, DeviceChoice::Simulator | DeviceChoice::SimulatorOf(_));
        let engine = match Engine::open(if is_simulator { device } else { self.device(shown) }) {
            Ok(engine) => engine,
            Err(error) => {
                meeting.fail(&error.to_string());
                return Err(error);
            }
        };
        let group = join(share(meeting)?, &engine, settings.transport)?;
        work(&*group, &engine).inspect_err(|error| group.abort(&error.to_string()))
    }
}

/// The group of the ranks that meet.
fn join(meeting: Box<dyn Meeting>, engine: &Engine, transport: Transport) -> Result<Box<dyn Group>> {
    if transport == Transport::Nccl {
        return Ok(Box::new(Nccl::new(meeting, engine)?));
    }
    let (meeting, why) = match Processes::join(meeting, engine, transport)? {
        Ok(group) => return Ok(Box::new(group)),
        Err(apart) => apart,
    };
    let why = format!("data moves by NCCL, because {why}");
    match Nccl::new(meeting, engine) {
        Ok(group) => Ok(Box::new(group.because(why))),
        Err(Error::NoDevice(none)) => Err(Error::NoDevice(format!("{none}; {why}"))),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(variables: &[(&str, &str)]) -> Result<Option<Place>> {
        Place::from(|name| variables.iter().find(|(own, _)| *own == name).map(|(_, value)| value.into()))
    }

    fn slurm(names: [&'static str; 2], values: [&'static str; 2]) -> Vec<(&'static str, &'static str)> {
        let task = [("SLURM_PROCID", values[0]), ("SLURM_LOCALID", "0"), ("SLURM_JOB_ID", "77")];
        [&task[..], &[(names[0], values[1]), (names[1], "3")]].concat()
    }

    #[test]
    fn each_launcher_is_understood() {
        assert_eq!(place(&[("PATH", "/bin"), ("RANK", "3")]).unwrap(), None);
        let at =
            |host: &str, port, job: &str| Rendezvous { host: host.into(), port, job: job.into(), ..Default::default() };
        let torchrun = [
            ("RANK", "3"),
            ("WORLD_SIZE", "8"),
            ("LOCAL_RANK", "1"),
            ("MASTER_ADDR", "first"),
            ("MASTER_PORT", "29500"),
            ("TORCHELASTIC_RUN_ID", "mine"),
        ];
        let within = [&torchrun[..], &slurm(["SLURM_STEP_NUM_TASKS", "SLURM_STEP_ID"], ["0", "2"])].concat();
        let variables = ["RANK", "WORLD_SIZE"];
        let want = Place { rank: 3, size: 8, local: 1, at: at("first", 29_501, "mine"), variables };
        assert_eq!(want.said(), "RANK and WORLD_SIZE say that 8 processes were launched");
        assert_eq!(place(&within).unwrap(), Some(want));
        let mut step = slurm(["SLURM_STEP_NUM_TASKS", "SLURM_STEP_ID"], ["1", "2"]);
        step.extend([("RUNGS_PORT", "4000"), ("RUNGS_SECRET", "hush"), ("RUNGS_LISTEN", "10.0.0.1")]);
        let listen = Some("10.0.0.1".into());
        let at_step = Rendezvous { secret: "hush".to_string().into(), listen, ..at("127.0.0.1", 4000, "77.3") };
        let variables = ["SLURM_PROCID", "SLURM_STEP_NUM_TASKS"];
        let want = Place { rank: 1, size: 2, local: 0, at: at_step, variables };
        assert!(!format!("{want:?}").contains("hush"), "a secret is shown");
        assert_eq!(place(&step).unwrap(), Some(want));
        let mpi = [("OMPI_COMM_WORLD_RANK", "1"), ("OMPI_COMM_WORLD_SIZE", "2")];
        let variables = ["OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"];
        let want = Place { rank: 1, size: 2, local: 1, at: at("127.0.0.1", PORT, ""), variables };
        assert_eq!(place(&mpi).unwrap(), Some(want));
        let named = [&mpi[..], &[("PMIX_NAMESPACE", "prterun-4@1")]].concat();
        assert_eq!(place(&named).unwrap().unwrap().at.job, "prterun-4@1");
    }

    #[test]
    fn what_is_no_number_of_its_range_is_refused_by_name() {
        let two = [("RANK", "0"), ("WORLD_SIZE", "2")];
        for (name, value, least) in [
            ("MASTER_PORT", "x", 1),
            ("MASTER_PORT", "-1", 1),
            ("MASTER_PORT", "99999", 1),
            ("RUNGS_PORT", "0", 1),
            ("RANK", "\x1b", 0),
            ("WORLD_SIZE", "0", 1),
        ] {
            let error = place(&[&[(name, value)], &two[..]].concat()).unwrap_err();
            let value = value.escape_debug();
            let want = format!("the variable {name} is '{value}', which is no number from {least} to 65535");
            assert_eq!((error.to_string(), error.exit_code()), (want, 2));
        }
        let last = place(&[&[("MASTER_PORT", "65535")], &two[..]].concat()).unwrap();
        assert_eq!(last.unwrap().at.port, 1024);
    }

    /// Not passed over: without its secret, rank 0 would let in everybody.
    #[cfg(unix)]
    #[test]
    fn what_is_not_text_is_refused_by_name() {
        use std::os::unix::ffi::OsStringExt;
        for bad in ["RANK", "MASTER_ADDR", "RUNGS_SECRET", "RUNGS_LISTEN", "RUNGS_PORT", "TORCHELASTIC_RUN_ID"] {
            let value = |name: &str| match name {
                name if name == bad => Some(OsString::from_vec(vec![0xff])),
                "RANK" | "WORLD_SIZE" => Some("1".into()),
                _ => None,
            };
            let error = Place::from(value).unwrap_err();
            assert_eq!((error.to_string(), error.exit_code()), (format!("the variable {bad} is not text in UTF-8"), 2));
        }
    }

    /// As in `sbatch -n 4`, without srun.
    #[test]
    fn a_batch_script_of_slurm_is_no_group() {
        assert_eq!(place(&slurm(["SLURM_NTASKS", "SLURM_NPROCS"], ["0", "4"])).unwrap(), None);
    }

    #[test]
    fn each_process_of_a_host_takes_its_own_gpu() {
        let taken = |shown| {
            let of =
                |local| Place { rank: 9, size: 16, local, at: Rendezvous::default(), variables: [""; 2] }.device(shown);
            [0, 1, 5].map(of)
        };
        assert_eq!(taken(8), [0, 1, 5].map(DeviceChoice::Cuda));
        // Fewer GPUs than processes, each process's own alone, and a driver that tells none.
        assert_eq!(taken(4), [0, 1, 1].map(DeviceChoice::Cuda));
        assert_eq!(taken(1), [0, 0, 0].map(DeviceChoice::Cuda));
        assert_eq!(taken(0), [0, 1, 5].map(DeviceChoice::Cuda));
    }
}
