//! The libraries that rungs are measured next to, through the C functions of `bench/peers/peers.h`.

use crate::algorithms::upload::Changed;
use crate::algorithms::{Extra, Family, Kind, OpenProblem, Parameters, Prepared, Rung, Size};
use crate::algorithms::{histogram, segmented_sort, sift, top_k};
use crate::data::{Data, Dtype};
use libloading::Library;
use rungs::engine::{AnyBuffer, Buffer, Engine};
use rungs::error::{Error, Result};
use rungs_kernels::radix::columns;
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::path::{Path, PathBuf};
use std::rc::Rc;

/// The library's file.
const FILE: &str = "libpeers.so";

/// The environment variable with its path.
const VARIABLE: &str = "RUNGS_PEERS";

/// `RungsPeer`.
#[repr(C)]
struct RawPeer {
    name: *const c_char,
    family: *const c_char,
    what: *const c_char,
    dtype: *const c_char,
    in_place: c_int,
}

type About = unsafe extern "C" fn() -> *const c_char;
type List = unsafe extern "C" fn(*mut *const RawPeer) -> c_int;
type Bytes = unsafe extern "C" fn(*const c_char, *const usize, usize, *mut usize, *mut usize) -> c_int;
type Run = unsafe extern "C" fn(
    *const c_char,
    *const c_void,
    *mut c_void,
    *mut c_void,
    *mut usize,
    *const usize,
    usize,
    *mut c_void,
) -> c_int;
type LastError = unsafe extern "C" fn() -> *const c_char;

/// The functions of peers.h.
#[derive(Clone, Copy)]
struct Functions {
    about: About,
    list: List,
    bytes: Bytes,
    run: Run,
    error: LastError,
}

/// An open library of peers.
pub struct Peers {
    /// The name of its file.
    file: String,
    /// Its own description of its parts.
    about: String,
    /// Its peers.
    pub list: Vec<Peer>,
    functions: Functions,
    // Last, because the functions are in it.
    _library: Option<Library>,
}

/// One peer, as the library describes it.
#[derive(Clone, Debug)]
pub struct Peer {
    /// Its name, for example `cub_radix_sort_keys_u32`.
    pub name: String,
    /// Its kind of problem: a family, or `sort` for all sorting families.
    pub family: String,
    /// The call, in one line.
    pub what: String,
    /// The type of its elements.
    pub dtype: String,
    in_place: bool,
    symbol: CString,
}

/// The relation of a peer to a family.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relation {
    /// The library function that the family is compared with.
    Reference,
    /// The same by the fastest of the library's algorithms, which its first call finds by timing them.
    Tuned,
    /// The CUDA C++ twin of this rung: the same algorithm, launches and threads.
    Twin(&'static str),
    /// The algorithm of the source that this rung comes from.
    Source(&'static str),
    /// Another peer that computes the same.
    Other,
}

/// The path of the library: from the command line, from the environment variable, or next to the program.
///
/// # Errors
/// [`Error::Read`] if it is in none of these places.
pub fn find(given: Option<&Path>) -> Result<PathBuf> {
    let variable = std::env::var_os(VARIABLE).filter(|path| !path.is_empty()).map(PathBuf::from);
    if let Some(path) = given.map(Path::to_path_buf).or(variable) {
        return Ok(path);
    }
    let folder = std::env::current_exe().ok().and_then(|program| Some(program.parent()?.to_path_buf()));
    let folder = folder.unwrap_or_default();
    // Beside the program, or in the folder of the peers' sources in a packed distribution.
    let places = [folder.join(FILE), folder.join("../peers").join(FILE)];
    places.into_iter().find(|path| path.is_file()).ok_or_else(|| Error::Read {
        path: FILE.into(),
        what: format!(
            "it is not next to the program; build it as bench/peers/peers.h says and name it by --peers=PATH or \
             {VARIABLE}"
        ),
    })
}

impl Peers {
    /// Opens a library.
    ///
    /// # Errors
    /// [`Error::Read`] if it cannot be loaded or is another library.
    pub fn open(path: &Path) -> Result<Self> {
        let refused = |e: libloading::Error| Error::Read { path: path.display().to_string(), what: e.to_string() };
        // SAFETY: the library is the one whose functions peers.h declares; loading it runs the constructors of the
        // CUDA libraries that it links, which expect nothing of us.
        let library = unsafe { Library::new(path) }.map_err(refused)?;
        // SAFETY: the types are those of peers.h, and the functions are not used after the library is closed.
        let functions = unsafe {
            Functions {
                about: *library.get(b"rungs_peers_about\0").map_err(refused)?,
                list: *library.get(b"rungs_peers_list\0").map_err(refused)?,
                bytes: *library.get(b"rungs_peer_bytes\0").map_err(refused)?,
                run: *library.get(b"rungs_peer_run\0").map_err(refused)?,
                error: *library.get(b"rungs_peer_error\0").map_err(refused)?,
            }
        };
        Ok(Self::new(path, functions, Some(library)))
    }

    fn new(path: &Path, functions: Functions, library: Option<Library>) -> Self {
        let mut first = std::ptr::null();
        // SAFETY: the function writes one pointer, to as many entries as it returns.
        let entries = unsafe {
            let count = (functions.list)(&mut first);
            if count > 0 { std::slice::from_raw_parts(first, count as usize) } else { &[] }
        };
        // SAFETY: the strings live as long as the library and end with a zero; they are copied here.
        let text = |text: *const c_char| unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned();
        let peer = |raw: &RawPeer| Peer {
            name: text(raw.name),
            family: text(raw.family),
            what: text(raw.what),
            dtype: text(raw.dtype),
            in_place: raw.in_place != 0,
            // SAFETY: as above.
            symbol: unsafe { CStr::from_ptr(raw.name) }.to_owned(),
        };
        let list = entries.iter().map(peer).collect();
        let file = path.file_name().map_or(FILE.into(), |name| name.to_string_lossy().into_owned());
        // SAFETY: the function has no conditions.
        let about = text(unsafe { (functions.about)() });
        Self { file, about, list, functions, _library: library }
    }

    /// The library for a report: its file, without the folders of this machine, and what it was made of.
    pub fn description(&self) -> String {
        format!("{}: {}", self.file, self.about)
    }

    /// The peers of a family for elements of this type, each with its relation to the family. Twins and sources of
    /// `rungs` only.
    pub fn of<'p>(
        &'p self,
        family: &'static Family,
        rungs: &'p [&'static Rung],
        dtype: Dtype,
        parameters: &'p Parameters,
    ) -> impl Iterator<Item = (&'p Peer, Relation)> {
        self.list.iter().filter_map(move |peer| Some((peer, relation(peer, family, rungs, dtype, parameters)?)))
    }

    /// Puts a peer on an engine.
    ///
    /// # Errors
    /// [`Error::Usage`] with the library's message if it refuses the problem; [`Error::OutOfMemory`] if its buffers do
    /// not fit on the engine.
    pub fn prepare<'p>(
        &'p self,
        peer: &'p Peer,
        engine: &Engine,
        family: &Family,
        problem: &'p dyn OpenProblem,
        size: Size,
        parameters: &Parameters,
    ) -> Result<Box<dyn Prepared + 'p>> {
        let shape = shape(peer, size, parameters);
        let (mut input_bytes, mut output_bytes) = (0, 0);
        // SAFETY: the arguments are as peers.h says.
        let code = unsafe {
            (self.functions.bytes)(
                peer.symbol.as_ptr(),
                shape.as_ptr(),
                shape.len(),
                &mut input_bytes,
                &mut output_bytes,
            )
        };
        let refused = |e: Error| Error::Usage(e.to_string());
        self.told(peer, code).map_err(refused)?;
        let input = problem.input(engine)?;
        if input.bytes() != input_bytes {
            let name = &peer.name;
            return Err(Error::Cuda(
                format!("{name} expects {input_bytes} bytes of input, not {}", input.bytes()).into(),
            ));
        }
        // Our sorts find their input as a copy leaves it in the caches, so peers that sort must too. The other families
        // read the same shared input.
        let sorts = matches!(family.kind, Kind::Sort | Kind::SegmentedSort);
        let own = if sorts && !peer.in_place { Some(engine.alloc(input_bytes)?) } else { None };
        let mut prepared = PreparedPeer {
            peers: self,
            peer,
            problem,
            engine: engine.clone(),
            shape,
            input,
            own,
            output: Changed::new(engine, output_bytes)?,
            scratch: engine.alloc(1)?,
        };
        prepared.scratch = engine.alloc(prepared.scratch_bytes().map_err(refused)?.max(1))?;
        Ok(Box::new(prepared))
    }

    /// Runs a peer on the engine's stream.
    ///
    /// # Safety
    /// The addresses are null, or of memory on the engine of the sizes that the library named for this shape.
    unsafe fn call(
        &self,
        peer: &Peer,
        engine: &Engine,
        shape: &[usize],
        (input, output): (*const c_void, *mut c_void),
        (scratch, scratch_bytes): (*mut c_void, &mut usize),
    ) -> Result<()> {
        let stream = engine.as_cuda().map_or(std::ptr::null_mut(), |cuda| cuda.stream_handle());
        let name = peer.symbol.as_ptr();
        // SAFETY: as the caller says; the stream is the engine's and its context is current on this thread, because
        // opening the engine made it so.
        let code = unsafe {
            (self.functions.run)(name, input, output, scratch, scratch_bytes, shape.as_ptr(), shape.len(), stream)
        };
        self.told(peer, code)
    }

    /// Turns the result of a call into an error.
    fn told(&self, peer: &Peer, code: c_int) -> Result<()> {
        if code == 0 {
            return Ok(());
        }
        // SAFETY: the function returns a string that ends with a zero.
        let text = unsafe { CStr::from_ptr((self.functions.error)()) }.to_string_lossy().into_owned();
        Err(Error::Cuda(format!("the peer {} failed with {code}: {text}", peer.name).into()))
    }
}

/// CUB's radix sort of keys, for shares of a group. It keeps its scratch memory from one sort to the next.
pub struct KeySort<'p> {
    peers: &'p Peers,
    peer: &'p Peer,
    /// The number of keys that there is scratch memory for.
    len: usize,
    scratch: Option<Buffer<u8>>,
}

impl Peers {
    /// CUB's sort of keys of this type, which are whole numbers: to CUB the two zeros of a float are equal, and to a
    /// group's search for the places where shares are cut they are not.
    ///
    /// # Errors
    /// [`Error::Usage`] for floats, or if the library has no such sort.
    pub fn key_sort(&self, dtype: Dtype) -> Result<KeySort<'_>> {
        if !matches!(dtype, Dtype::U32 | Dtype::I32 | Dtype::U64 | Dtype::I64) {
            return Err(Error::Usage(format!("on several devices CUB is measured with whole numbers, not {dtype}")));
        }
        let name = format!("cub_radix_sort_keys_{dtype}");
        let peer = self.list.iter().find(|peer| peer.name == name && !peer.in_place);
        let peer = peer.ok_or_else(|| Error::Usage(format!("the library of peers has no {name}")))?;
        Ok(KeySort { peers: self, peer, len: 0, scratch: None })
    }
}

impl KeySort<'_> {
    /// Sorts the keys of `from`, of which there are `len`, to the beginning of `to`. What is in `from` afterwards is
    /// unspecified. Both are memory of one engine, and the sort is enqueued on its stream.
    ///
    /// # Errors
    /// [`Error::Usage`] if memory is too small, or one for both; [`Error::Cuda`] with the library's message if it
    /// refuses the call; [`Error::OutOfMemory`] if its scratch memory does not fit.
    pub fn sort(&mut self, from: &dyn AnyBuffer, to: &dyn AnyBuffer, len: usize) -> Result<()> {
        if len == 0 {
            return Ok(());
        }
        let (shape, engine, mut bytes) = ([len], from.engine(), [0; 2]);
        let [input, output] = &mut bytes;
        // SAFETY: the arguments are as peers.h says.
        let code = unsafe { (self.peers.functions.bytes)(self.peer.symbol.as_ptr(), shape.as_ptr(), 1, input, output) };
        self.peers.told(self.peer, code)?;
        let apart = from.address() != to.address() && engine.is(to.engine());
        if from.bytes() < bytes[0] || to.bytes() < bytes[1] || !apart {
            return Err(Error::Usage(
                "CUB sorts from one buffer to another, of one engine and both large enough".into(),
            ));
        }
        let call = |from: *const c_void, to: *mut c_void, scratch: *mut c_void, scratch_bytes: &mut usize| {
            // SAFETY: the addresses are null, or of memory of the size that the library named.
            unsafe { self.peers.call(self.peer, engine, &shape, (from, to), (scratch, scratch_bytes)) }
        };
        let kept = self.scratch.take().filter(|kept| self.len == len && kept.engine().is(engine));
        let scratch = match kept {
            Some(kept) => kept,
            None => {
                let mut needed = 0;
                call(std::ptr::null(), std::ptr::null_mut(), std::ptr::null_mut(), &mut needed)?;
                engine.alloc(needed.max(1))?
            }
        };
        let mut size = scratch.len();
        call(from.address().cast(), to.address().cast(), scratch.address().cast(), &mut size)?;
        (self.len, self.scratch) = (len, Some(scratch));
        Ok(())
    }
}

/// The numbers that describe a problem to a peer, as peers.h lists them by family.
fn shape(peer: &Peer, size: Size, parameters: &Parameters) -> Vec<usize> {
    match (size, peer.family.as_str()) {
        (Size::Product { m, n, k }, _) => vec![m as usize, n as usize, k as usize],
        (Size::Elements(n), "radix") => vec![n as usize, parameters.columns.unwrap_or(columns::COLUMNS) as usize],
        (Size::Elements(n), "histogram") => {
            vec![n as usize, parameters.bins.unwrap_or(histogram::DEFAULT_BINS) as usize]
        }
        (Size::Elements(n), "top-k") => vec![n as usize, top_k::k_of(parameters, n as usize)],
        (Size::Elements(n), "segmented-sort") => {
            let offsets = segmented_sort::lengths_of(parameters).offsets(n as u32);
            vec![n as usize, offsets.len() - 1]
        }
        (Size::Elements(n), _) => vec![n as usize],
    }
}

/// A relation to the rung of this name.
type ToRung = fn(&'static str) -> Relation;

/// Peers that belong to one rung each: the prefix of their names, and their relation to the rung.
const OF_RUNGS: [(&str, ToRung); 2] = [("twin_", Relation::Twin), ("source_", Relation::Source)];

/// Whether the peers that belong to rungs can compute this. Their shape has the number of columns or bins; everything
/// else is fixed: inclusive sums, keys alone, the rungs' own grids.
fn is_as_written(parameters: &Parameters) -> bool {
    let own = Parameters { columns: parameters.columns, bins: parameters.bins, ..Parameters::default() };
    *parameters == own
}

/// The relation of a peer to a family, if anything.
fn relation(
    peer: &Peer,
    family: &Family,
    rungs: &[&'static Rung],
    dtype: Dtype,
    parameters: &Parameters,
) -> Option<Relation> {
    if peer.dtype != dtype.name() {
        return None;
    }
    for (prefix, of) in OF_RUNGS {
        let Some(symbol) = peer.name.strip_prefix(prefix) else { continue };
        let symbol = symbol.strip_suffix(&format!("_{dtype}")).unwrap_or(symbol);
        let is = |rung: &&&Rung| symbol == format!("{}_{}", family.name.replace('-', "_"), rung.name.replace('-', "_"));
        return rungs.iter().find(is).filter(|_| is_as_written(parameters)).map(|rung| of(rung.name));
    }
    match reference(family, dtype, parameters) {
        Some(name) if name == peer.name => return Some(Relation::Reference),
        Some(name) if tuned(&name) == peer.name => return Some(Relation::Tuned),
        _ => {}
    }
    // Other peers compute the same only if family and type alone determine the problem.
    let same = match family.kind {
        Kind::Sort if parameters.low_half => peer.family == "sort-by-low-half",
        Kind::Sort => peer.family == "sort" && peer.name.contains("_pairs_") == parameters.values,
        Kind::Matmul | Kind::SegmentedSort => peer.family == family.name,
        _ => false,
    };
    same.then_some(Relation::Other)
}

/// The name of the peer that runs the fastest of the library's algorithms for what a function of cuBLAS computes; other
/// libraries choose theirs alone.
pub(super) fn tuned(function: &str) -> String {
    format!("{}_best", function.replace("cublas_", "cublaslt_"))
}

/// The name of the library function that a family is compared with. A sort that takes any order is compared with one
/// that does.
fn reference(family: &Family, dtype: Dtype, parameters: &Parameters) -> Option<String> {
    let operation = parameters.operation.name();
    let kind = if parameters.exclusive { "exclusive" } else { "inclusive" };
    match family.kind {
        Kind::Sort if parameters.low_half => Some(format!("cub_merge_sort_keys_low_half_{dtype}")),
        Kind::Sort if parameters.values => Some(format!("cub_radix_sort_pairs_{dtype}")),
        Kind::Sort if family.name == rungs_kernels::ladders::MERGE.family => {
            Some(format!("cub_merge_sort_keys_{dtype}"))
        }
        Kind::Sort => Some(format!("cub_radix_sort_keys_{dtype}")),
        Kind::Scan => Some(format!("cub_{kind}_{operation}_{dtype}")),
        Kind::Reduce => Some(format!("cub_reduce_{operation}_{dtype}")),
        Kind::Select => Some(format!("cub_select_if_{dtype}")),
        Kind::Sift => Some(format!("cub_{}_{dtype}", family.name.replace('-', "_"))),
        Kind::TopK => Some(format!("cub_top_k_{dtype}")),
        Kind::SegmentedSort => Some(format!("cub_segmented_sort_{dtype}")),
        Kind::Histogram => Some(format!("cub_histogram_{dtype}")),
        Kind::Matmul => Some(
            match dtype {
                Dtype::F64 => "cublas_dgemm",
                Dtype::F16 => "cublas_gemm_f16_f16",
                Dtype::Bf16 => "cublas_gemm_bf16_bf16",
                _ => "cublas_sgemm_pedantic",
            }
            .into(),
        ),
        _ => None,
    }
}

/// The text of [`Parameters::low_half`].
const LOW_HALF: &str = "low-half";

/// The peer that a rung is compared with in place of its family's: the stable sort, if the keys show whether equivalent
/// ones keep their order, as those of a rung that sorts by the low half do.
pub(super) fn stable_peer(family: &Family, rung: &Rung, row: &bench_report::Row) -> Option<String> {
    let ladder = &rungs_kernels::ladders::MERGE;
    let stable = || ladder.get(rung.name)?.run.low_half;
    let shows = family.name == ladder.family && row.parameters == LOW_HALF && stable().is_some();
    shows.then(|| format!("cub_stable_sort_keys_low_half_{}", row.dtype))
}

/// The parameters that a family uses, as text: `op=sum`, `bins=256`.
pub fn parameter_text(family: &Family, parameters: &Parameters) -> String {
    let number = |name: &str, value: Option<u32>| value.map(|value| format!("{name}={value}"));
    let factor = |name: &str, value: Option<f64>| value.map(|value| format!("{name}={value}"));
    let text = |extra: &Extra| match extra {
        Extra::Columns => number("columns", parameters.columns),
        Extra::Threads => number("threads", parameters.threads),
        Extra::Blocks => number("blocks", parameters.blocks),
        Extra::Bins => number("bins", Some(parameters.bins.unwrap_or(histogram::DEFAULT_BINS))),
        Extra::K => number("k", Some(parameters.k.unwrap_or(top_k::DEFAULT_K))),
        Extra::Keep => factor("keep", parameters.keep),
        Extra::RunLength => number("run-length", Some(parameters.run_length.unwrap_or(sift::DEFAULT_RUN_LENGTH))),
        Extra::Segments => Some(segmented_sort::lengths_of(parameters).to_string()),
        Extra::Operation => Some(parameters.operation.name().into()),
        Extra::Exclusive => Some(if parameters.exclusive { "exclusive" } else { "inclusive" }.into()),
        Extra::Values => parameters.values.then(|| "values".into()),
        Extra::LowHalf => parameters.low_half.then(|| LOW_HALF.into()),
        Extra::Alpha => factor("alpha", parameters.alpha),
        Extra::Beta => factor("beta", parameters.beta),
        Extra::Transpose => {
            let letters = parameters.transpose.map(|by_columns| if by_columns { "t" } else { "n" }).concat();
            (letters != "nn").then_some(letters)
        }
        // A rung's own, which its name says.
        Extra::Precision => None,
        Extra::Batch => number("batch", parameters.batch),
    };
    family.extras.iter().filter_map(text).collect::<Vec<_>>().join(" ")
}

/// A peer with its memory.
struct PreparedPeer<'p> {
    peers: &'p Peers,
    peer: &'p Peer,
    problem: &'p dyn OpenProblem,
    engine: Engine,
    shape: Vec<usize>,
    /// The problem's input, which is never written.
    input: Rc<dyn AnyBuffer>,
    /// A copy of it that is rewritten before each run.
    own: Option<Buffer<u8>>,
    output: Changed<u8>,
    scratch: Buffer<u8>,
}

impl PreparedPeer<'_> {
    fn scratch_bytes(&self) -> Result<usize> {
        let mut bytes = 0;
        // SAFETY: without scratch memory the call only writes the size that it needs.
        unsafe { self.call(std::ptr::null(), std::ptr::null_mut(), std::ptr::null_mut(), &mut bytes)? };
        Ok(bytes)
    }

    /// # Safety
    /// The addresses are null, or of memory on the engine of the size that the library named.
    unsafe fn call(
        &self,
        input: *const c_void,
        output: *mut c_void,
        scratch: *mut c_void,
        scratch_bytes: &mut usize,
    ) -> Result<()> {
        // SAFETY: as the caller says.
        unsafe { self.peers.call(self.peer, &self.engine, &self.shape, (input, output), (scratch, scratch_bytes)) }
    }
}

impl Prepared for PreparedPeer<'_> {
    fn restore(&mut self) -> Result<()> {
        self.restore_for(1)
    }

    fn restore_for(&mut self, calls: usize) -> Result<()> {
        if self.peer.in_place {
            return self.output.restore_for(calls, &*self.input);
        }
        // As a float it is NaN, which differs from every result; as an integer the largest, which is rare.
        self.output.last().fill(0xFF)?;
        self.own.as_ref().map_or(Ok(()), |own| own.copy_bytes(&*self.input))
    }

    fn run(&mut self) -> Result<()> {
        let output = if self.peer.in_place { self.output.for_next() } else { self.output.last() }.address();
        let input = match &self.own {
            _ if self.peer.in_place => output,
            Some(own) => own.address(),
            None => self.input.address(),
        };
        let mut bytes = self.scratch.len();
        // SAFETY: input, output and scratch have the sizes that the library named for this shape.
        unsafe { self.call(input.cast(), output.cast(), self.scratch.address().cast(), &mut bytes)? };
        Ok(())
    }

    fn scratch_bytes(&self) -> u64 {
        self.scratch.len() as u64
    }

    fn verify(&mut self) -> Result<()> {
        self.problem.check(&self.peer.name, self.output.last())
    }

    fn output(&mut self) -> Result<Data> {
        Ok(Data::U8(self.output.last().download()?))
    }
}

#[cfg(test)]
#[path = "peers_tests.rs"]
mod tests;
