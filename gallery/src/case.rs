//! Cases as data, and the list of all.

use crate::machine::Trial;
use simt::launcher::Result;
use std::format;
use std::string::String;
use std::vec::Vec;

/// What names a bug: a finding of the simulator's checker, by its name there, or one of the last three.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // They stand in simt::sim::Kind.
pub enum Kind {
    SharedRace,
    GlobalRace,
    SameValueWrite,
    MixedAtomic,
    ScopeTooSmall,
    UninitialisedShared,
    UninitialisedGlobal,
    OutOfBounds,
    Misaligned,
    DivergentBarrier,
    MissedBarrier,
    WarpMask,
    ShuffleOutsideMask,
    Unwritten,
    Deadlock,
    EndlessSpin,
    CopyInFlight,
    MissingProxyFence,
    BeforeWait,
    Fault,
    /// No access is undefined; the output differs from what the input demands, under some schedule at least.
    WrongResult,
    /// The output is right; the statistics show more sectors of global memory than the clean twin's.
    MoreSectors,
    /// The output is right; the statistics show more wavefronts of shared memory than the clean twin's.
    MoreWavefronts,
}

impl Kind {
    /// All kinds.
    pub const ALL: [Self; 23] = [
        Self::SharedRace,
        Self::GlobalRace,
        Self::SameValueWrite,
        Self::MixedAtomic,
        Self::ScopeTooSmall,
        Self::UninitialisedShared,
        Self::UninitialisedGlobal,
        Self::OutOfBounds,
        Self::Misaligned,
        Self::DivergentBarrier,
        Self::MissedBarrier,
        Self::WarpMask,
        Self::ShuffleOutsideMask,
        Self::Unwritten,
        Self::Deadlock,
        Self::EndlessSpin,
        Self::CopyInFlight,
        Self::MissingProxyFence,
        Self::BeforeWait,
        Self::Fault,
        Self::WrongResult,
        Self::MoreSectors,
        Self::MoreWavefronts,
    ];
}

/// A planted bug.
pub struct Case {
    /// Its name on the command line; the kernel's name has underscores for the hyphens.
    pub name: &'static str,
    /// The bug.
    pub bug: &'static str,
    /// Its effect on a GPU.
    pub effect: &'static str,
    /// The fix in the clean twin.
    pub fix: &'static str,
    /// The finding that names the bug, and further findings that follow from it.
    pub finds: &'static [Kind],
    /// Launches the version that the trial asks for.
    pub run: fn(&Trial) -> Result<Ended>,
}

/// Cases of one kind, in one file.
pub struct Topic {
    /// Its name on the command line.
    pub name: &'static str,
    /// What its cases have in common.
    pub about: &'static str,
    /// The file, from the root of the project.
    pub file: &'static str,
    /// The file's text.
    pub text: &'static str,
    /// The cases.
    pub cases: &'static [Case],
}

/// The output of a run that ended, and what it should be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ended {
    /// The words that the kernels left.
    pub got: Vec<u32>,
    /// The words that the input demands.
    pub want: Vec<u32>,
}

impl Ended {
    /// The first word that is wrong.
    pub fn difference(&self) -> Option<String> {
        let at = self.got.iter().zip(&self.want).position(|(got, want)| got != want)?;
        Some(format!("element {at}: got {}, expected {}", self.got[at], self.want[at]))
    }
}

macro_rules! topics {
    ($($module:ident: $about:literal;)*) => {
        /// All topics, in teaching order.
        pub static TOPICS: &[Topic] = &[$(
            Topic {
                name: stringify!($module),
                about: $about,
                file: concat!("gallery/src/", stringify!($module), ".rs"),
                text: include_str!(concat!(stringify!($module), ".rs")),
                cases: crate::$module::CASES,
            },
        )*];
    };
}

topics! {
    bounds: "accesses that are out of bounds or misaligned";
    outputs: "defined behaviour, but wrong or slow: guards, strides, indices";
    shared_races: "races in shared memory between threads of a block";
    uninitialised: "reads of uninitialised memory";
    barriers: "block barriers that not all threads reach";
    warps: "warp operations and their masks";
    global_races: "races between threads of several blocks";
    orders: "atomics whose order or scope is too weak";
    spins: "threads that wait for an event that never happens";
    copies: "copies by TMA, and the mbarriers that track them";
    own_copies: "asynchronous copies that a thread starts itself";
    dependent: "programmatic dependent launches: kernels that start before their predecessor ends";
    source_s4: "mistakes of a published sort, restored one at a time";
}

/// Every case, with its topic.
pub fn all() -> impl Iterator<Item = (&'static Topic, &'static Case)> {
    TOPICS.iter().flat_map(|topic| topic.cases.iter().map(move |case| (topic, case)))
}

/// The case of that name.
pub fn named(name: &str) -> Option<(&'static Topic, &'static Case)> {
    all().find(|(_, case)| case.name == name)
}

impl Topic {
    /// The source of a case: its kernels, the functions of which have names that begin with the case's, and the
    /// helpers that they call.
    pub fn kernels(&self, case: &Case) -> Vec<&'static str> {
        let name = case.name.replace('-', "_");
        let of_case = |function: &str| {
            function.strip_prefix(name.as_str()).is_some_and(|rest| !rest.starts_with(char::is_alphanumeric))
        };
        let functions: Vec<(&str, &'static str)> = self.functions().collect();
        let kernels: Vec<_> = functions.iter().filter(|(function, _)| of_case(function)).collect();
        let called = |function: &str| {
            [format!("{function}("), format!("{function}::<")].iter().any(|call| {
                kernels.iter().any(|(_, text)| {
                    text.match_indices(call.as_str()).any(|(at, _)| !text[..at].ends_with(['.', '_', ':', 'n']))
                })
            })
        };
        let helpers = functions
            .iter()
            .filter(|(function, text)| !text.contains("#[kernel") && !text.contains("#[cfg") && called(function));
        helpers.chain(kernels.iter().copied()).map(|(_, text)| *text).collect()
    }

    /// The file's functions, with their names: attributes and comments above, down to the brace in the first column.
    fn functions(&self) -> impl Iterator<Item = (&'static str, &'static str)> {
        let text = self.text;
        text.split("\n\n").filter_map(move |first| {
            let line = first.lines().find(|line| line.starts_with("pub fn ") || line.starts_with("fn "))?;
            let name = line.trim_start_matches("pub ").trim_start_matches("fn ");
            let name = &name[..name.find(['<', '('])?];
            let from = first.as_ptr() as usize - text.as_ptr() as usize;
            let end = text[from..].find("\n}").map_or(text.len(), |end| from + end + 2);
            Some((name, text[from..end].trim_start_matches('\n')))
        })
    }

    /// The source of a case's launches.
    pub fn launches(&self, case: &Case) -> &'static str {
        let Some(at) = self.text.find(&format!("name: \"{}\"", case.name)) else { return "" };
        let Some(from) = self.text[at..].find("        run: ").map(|from| at + from) else { return "" };
        let end = self.text[from..].find("\n    },").map_or(self.text.len(), |end| from + end);
        self.text[from..end].trim_start().trim_start_matches("run: ").trim_end_matches(',')
    }
}
