//! Keys and matrices in files and on the standard streams.
//!
//! Input is not trusted: memory is allocated as the bytes arrive, never because a header announces them. Output appears
//! whole or not at all: it goes to a new file next to the old one, which the new file then replaces.

use super::npy::{Found, Head, MAGIC, descr_of, no_type};
use super::{Data, Dtype, Element, for_dtype, memory_check};
use crate::streams;
use rungs::{Error, Result};
use serde::{Deserialize, Serialize};
use std::ffi::{OsStr, OsString};
use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, IsTerminal, Read, Seek, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::{fmt, process, str::FromStr};

/// Where keys come from or go: a file, or `-` for the standard stream. (A file of that name is `./-`.)
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// Standard input or output.
    Standard,
    /// A file.
    File(PathBuf),
}

impl From<&OsStr> for Place {
    fn from(name: &OsStr) -> Self {
        if name == "-" { Self::Standard } else { Self::File(name.into()) }
    }
}

impl From<OsString> for Place {
    fn from(name: OsString) -> Self {
        name.as_os_str().into()
    }
}

impl From<&str> for Place {
    fn from(name: &str) -> Self {
        OsStr::new(name).into()
    }
}

impl Place {
    /// Whether the name ends in `.npy`.
    fn is_named_npy(&self) -> bool {
        self.is_named("npy")
    }

    /// Whether the name ends so, behind a dot.
    fn is_named(&self, ending: &str) -> bool {
        matches!(self, Self::File(path) if path.extension().is_some_and(|end| end.eq_ignore_ascii_case(ending)))
    }

    fn name(&self, standard: &str) -> String {
        match self {
            Self::Standard => standard.into(),
            Self::File(path) if path.as_os_str().is_empty() => "''".into(),
            // For messages, without control characters.
            Self::File(path) => path.to_string_lossy().chars().flat_map(safe).collect(),
        }
    }
}

/// A character as it can be printed: control characters escaped, all others themselves.
fn safe(c: char) -> impl Iterator<Item = char> {
    let (escaped, plain) = if c.is_control() { (Some(c.escape_default()), None) } else { (None, Some(c)) };
    escaped.into_iter().flatten().chain(plain)
}

/// The format of keys in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Format {
    /// numpy's format, C order, little-endian. Written as version 1.0, byte for byte as numpy does.
    Npy,
    /// The elements in sequence, little-endian, nothing else.
    Raw,
}

impl Format {
    /// The format of a type on the standard output where none was given: [`Format::Npy`] if numpy has the type.
    pub fn usual(dtype: Dtype) -> Self {
        if descr_of(dtype).is_some() { Self::Npy } else { Self::Raw }
    }

    /// The format to write: by the file's name where `place` is a file (`.npy`, or raw), and `otherwise` on the
    /// standard output, which should be the format that the input had, or [`Format::Npy`].
    pub fn of(place: &Place, otherwise: Self) -> Self {
        match place {
            Place::Standard => otherwise,
            file if file.is_named_npy() => Self::Npy,
            Place::File(_) => Self::Raw,
        }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Npy => "npy",
            Self::Raw => "raw",
        })
    }
}

impl FromStr for Format {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        match name {
            "npy" => Ok(Self::Npy),
            "raw" => Ok(Self::Raw),
            _ => Err(Error::unknown("file format", name, &["npy", "raw"])),
        }
    }
}

/// Takes a piece of what is written.
pub type Pass<'a> = dyn FnMut(&[u8]) -> Result<()> + 'a;

/// Keys that were read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Input {
    /// The keys.
    pub data: Data,
    /// The format of the file.
    pub format: Format,
}

/// A matrix that was read, row after row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MatrixInput {
    /// Its elements, `rows * columns` of them.
    pub data: Data,
    /// The format of the file.
    pub format: Format,
    /// Number of rows.
    pub rows: usize,
    /// Number of columns.
    pub columns: usize,
}

/// Reads keys: one dimension, one of `types`.
///
/// The file is `.npy` if it begins as such; everything else is raw, which is read if `types` is a single one. A file
/// that is *named* `.npy` and does not begin so is refused, and so is an `.npy` file of another type.
///
/// # Errors
/// [`Error::Read`] if the file cannot be read or is refused, with advice on what to save instead; [`Error::Usage`] for
/// a raw file whose type is open; [`Error::OutOfMemory`] if the keys do not fit in free memory.
pub fn read_keys(place: &Place, types: &[Dtype]) -> Result<Input> {
    Source::open(place)?.keys(types)
}

/// Types of values: those of 4 bytes, then those of 8.
const VALUE_TYPES: [Dtype; 6] = [Dtype::U32, Dtype::I32, Dtype::F32, Dtype::U64, Dtype::I64, Dtype::F64];

/// Reads values that go with keys: one dimension, of 4 bytes, or of 4 or 8 if the number of `keys` is given. In a raw
/// file they are taken as `u32` or `u64`, because only their bits matter: as whichever makes them as many as the keys.
///
/// # Errors
/// As for [`read_keys`].
pub fn read_values(place: &Place, keys: Option<usize>) -> Result<Data> {
    let source = Source { raw: Some(Dtype::U32), ..Source::open(place)? };
    let input = source.keys(if keys.is_some() { &VALUE_TYPES } else { &VALUE_TYPES[..3] })?;
    match (input.data, keys) {
        (Data::U32(halves), Some(n)) if input.format == Format::Raw && n > 0 && halves.len() == 2 * n => {
            Ok(Data::U64(bytemuck::allocation::pod_collect_to_vec(&halves)))
        }
        (data, _) => Ok(data),
    }
}

/// [`read_keys`] from any stream; `name` is its name in messages.
///
/// # Errors
/// As for [`read_keys`].
pub fn keys_from(stream: impl Read, name: &str, types: &[Dtype]) -> Result<Input> {
    Source::of(stream, name).keys(types)
}

/// Reads a matrix in C order. As [`read_keys`], but of two dimensions; a raw file needs `shape` (rows, columns) too,
/// and an `.npy` file must have it if it is given.
///
/// # Errors
/// As for [`read_keys`].
pub fn read_matrix(place: &Place, types: &[Dtype], shape: Option<(usize, usize)>) -> Result<MatrixInput> {
    Source::open(place)?.matrix(types, shape)
}

/// [`read_matrix`] from any stream; `name` is its name in messages.
///
/// # Errors
/// As for [`read_keys`].
pub fn matrix_from(
    stream: impl Read,
    name: &str,
    types: &[Dtype],
    shape: Option<(usize, usize)>,
) -> Result<MatrixInput> {
    Source::of(stream, name).matrix(types, shape)
}

/// A file of keys of which several readers read parts.
#[derive(Debug)]
pub struct KeyFile {
    path: PathBuf,
    name: String,
    /// The type of the keys.
    pub dtype: Dtype,
    /// How many there are.
    pub count: u64,
    /// The format of the file.
    pub format: Format,
    /// The bytes before the first one.
    head: u64,
}

impl KeyFile {
    /// Looks at a file, which is one that [`read_keys`] reads, and no stream.
    ///
    /// # Errors
    /// As for [`read_keys`]; [`Error::Usage`] for what is no regular file.
    pub fn open(place: &Place, types: &[Dtype]) -> Result<Self> {
        Self::look(place, types, &|_| if let &[dtype] = types { Some(dtype) } else { None })
    }

    /// Looks at a file of values for this number of keys, as [`read_values`] takes them.
    ///
    /// # Errors
    /// As for [`KeyFile::open`]; [`Error::Usage`] if there are not as many values as keys.
    pub fn of_values(place: &Place, keys: u64) -> Result<Self> {
        let is_wide = |length: u64| length > 0 && keys.checked_mul(8) == Some(length);
        let raw = |length| Some(if is_wide(length) { Dtype::U64 } else { Dtype::U32 });
        let values = Self::look(place, &VALUE_TYPES, &raw)?;
        if values.count != keys {
            let count = values.count;
            return Err(Error::Usage(format!("{keys} keys cannot take {count} values along; there must be as many")));
        }
        Ok(values)
    }

    /// Looks at a file. A raw one has elements of the type that `raw` gives for its length.
    fn look(place: &Place, types: &[Dtype], raw: &dyn Fn(u64) -> Option<Dtype>) -> Result<Self> {
        let name = place.name("standard input");
        let stream = || Error::Usage(format!("{name} is no file: several devices each read a part of it"));
        let Place::File(path) = place else { return Err(stream()) };
        let failed = |error: io::Error| Error::reading(&name, &error);
        let refuse = |what: String| Error::Read { path: name.clone(), what };
        let mut file = File::open(path).map_err(failed)?;
        let about = file.metadata().map_err(failed)?;
        if !about.is_file() {
            return Err(stream());
        }
        let mut start = [0; START];
        let got = read_full(&mut file, &mut start).map_err(failed)?;
        if place.is_named("npz") || is_npz(&start[..got]) {
            return Err(refuse("it is an .npz archive of several arrays; save one of them by numpy.save".into()));
        }
        let (length, path) = (about.len(), path.clone());
        if place.is_named_npy() || start[..got].starts_with(MAGIC) {
            file.rewind().map_err(failed)?;
            let found = Found::read(&mut file).map_err(failed)?;
            let Head { dtype, shape } = found.and_then(|found| found.accept(types, 1)).map_err(refuse)?;
            let (head, count) = (file.stream_position().map_err(failed)?, shape[0]);
            if count.checked_mul(dtype.size() as u64).and_then(|bytes| bytes.checked_add(head)) != Some(length) {
                let follow = length - head;
                let what = format!("its header announces {count} elements of {dtype}, and {follow} bytes follow");
                return Err(refuse(what));
            }
            return Ok(Self { path, name, dtype, count, format: Format::Npy, head });
        }
        let Some(dtype) = raw(length) else {
            let names: Vec<&str> = types.iter().map(|dtype| dtype.name()).collect();
            let names = names.join("|");
            return Err(Error::Usage(format!(
                "{name} is not an .npy file, so its type must be given: --dtype {names}"
            )));
        };
        let size = dtype.size() as u64;
        if !length.is_multiple_of(size) {
            let what = format!("its {length} bytes are not a whole number of {dtype} ({size} bytes each)");
            return Err(refuse(what));
        }
        Ok(Self { path, name, dtype, count: length / size, format: Format::Raw, head: 0 })
    }

    /// Reads some keys, piece by piece: `take` is called with each piece and the number of its first key.
    ///
    /// # Errors
    /// [`Error::Read`] if the file cannot be read, or is shorter now; the errors of `take`.
    pub fn read<T: Element>(&self, part: Range<u64>, take: &mut dyn FnMut(u64, &[T]) -> Result<()>) -> Result<()> {
        const PIECE: u64 = 64 << 20;
        let failed = |error: io::Error| Error::reading(&self.name, &error);
        let (mut file, size) = (File::open(&self.path).map_err(failed)?, size_of::<T>() as u64);
        file.seek(io::SeekFrom::Start(self.head + part.start * size)).map_err(failed)?;
        let mut keys = vec![T::zeroed(); (PIECE / size).min(part.end - part.start) as usize];
        let mut at = part.start;
        while at < part.end {
            let len = (part.end - at).min(keys.len() as u64) as usize;
            file.read_exact(bytemuck::cast_slice_mut(&mut keys[..len])).map_err(failed)?;
            take(at, &keys[..len])?;
            at += len as u64;
        }
        Ok(())
    }
}

/// A stream that is being read.
struct Source<'a> {
    stream: Box<dyn Read + 'a>,
    name: String,
    is_named_npy: bool,
    is_named_npz: bool,
    /// Its length, where the system knows it.
    length: Option<u64>,
    /// The type of raw elements, where several are taken.
    raw: Option<Dtype>,
}

impl<'a> Source<'a> {
    fn of(stream: impl Read + 'a, name: &str) -> Self {
        Self {
            stream: Box::new(stream),
            name: name.into(),
            is_named_npy: false,
            is_named_npz: false,
            length: None,
            raw: None,
        }
    }

    fn open(place: &Place) -> Result<Self> {
        let name = place.name("standard input");
        let (stream, length): (Box<dyn Read>, _) = match place {
            Place::Standard => (Box::new(streams::input().map_err(|error| Error::reading(&name, &error))?), None),
            Place::File(path) => {
                let open = || {
                    let file = File::open(path)?;
                    let about = file.metadata()?;
                    if about.is_dir() {
                        return Err(io::ErrorKind::IsADirectory.into());
                    }
                    // Some files of /proc and /sys say 0 and hold more.
                    let length = (about.is_file() && about.len() > 0).then_some(about.len());
                    Ok((file, length))
                };
                let (file, length) = open().map_err(|error| Error::reading(&name, &error))?;
                (Box::new(file), length)
            }
        };
        let (is_named_npy, is_named_npz) = (place.is_named_npy(), place.is_named("npz"));
        Ok(Self { stream, name, is_named_npy, is_named_npz, length, raw: None })
    }

    fn keys(self, types: &[Dtype]) -> Result<Input> {
        self.read(types, None).map(|(data, format, _)| Input { data, format })
    }

    fn matrix(self, types: &[Dtype], shape: Option<(usize, usize)>) -> Result<MatrixInput> {
        let (data, format, shape) = self.read(types, Some(shape))?;
        // Both fit: the elements are in memory, and a side past it can only belong to a matrix without elements.
        let side = |i: usize| usize::try_from(shape[i]).unwrap_or(usize::MAX);
        Ok(MatrixInput { data, format, rows: side(0), columns: side(1) })
    }

    fn refuse<T>(&self, what: impl Into<String>) -> Result<T> {
        Err(Error::Read { path: self.name.clone(), what: what.into() })
    }

    fn failed(&self, error: &io::Error) -> Error {
        Error::reading(&self.name, error)
    }

    /// Reads all. `matrix` is there for a matrix, and holds the shape if that is known beforehand.
    fn read(mut self, types: &[Dtype], matrix: Option<Option<(usize, usize)>>) -> Result<(Data, Format, Vec<u64>)> {
        let mut start = [0; START];
        let got = read_full(&mut self.stream, &mut start).map_err(|error| self.failed(&error))?;
        let start = start[..got].to_vec();
        if self.is_named_npz || is_npz(&start) {
            return self.refuse("it is an .npz archive of several arrays; save one of them by numpy.save");
        }
        let is_npy = self.is_named_npy || start.starts_with(MAGIC);
        self.stream = Box::new(io::Cursor::new(start).chain(self.stream));
        let wanted = matrix.flatten().map(|(rows, columns)| [rows as u64, columns as u64]);
        if is_npy {
            let (data, shape) = self.read_npy(types, if matrix.is_some() { 2 } else { 1 })?;
            if let Some(wanted) = wanted.filter(|wanted| shape != wanted) {
                let (shape, wanted) = (Head::shape_text(&shape), Head::shape_text(&wanted));
                return self.refuse(format!("its shape is {shape}, and {wanted} was asked for"));
            }
            return Ok((data, Format::Npy, shape));
        }
        let only = if let &[dtype] = types { Some(dtype) } else { None };
        let Some(dtype) = only.or(self.raw) else {
            let names: Vec<&str> = types.iter().map(|dtype| dtype.name()).collect();
            return Err(Error::Usage(format!(
                "{} is not an .npy file, so its type must be given: --dtype {}",
                self.name,
                names.join("|")
            )));
        };
        if matrix == Some(None) {
            return Err(Error::Usage(format!(
                "{} is not an .npy file, so its shape must be given: --m, --n and --k",
                self.name
            )));
        }
        let data = self.read_raw(dtype)?;
        let shape = wanted.map_or(vec![data.len() as u64], Vec::from);
        if Head::count(&Head { dtype, shape: shape.clone() }) != Some(data.len() as u64) {
            let shape = Head::shape_text(&shape);
            return self.refuse(format!("it holds {} elements, which do not make the shape {shape}", data.len()));
        }
        Ok((data, Format::Raw, shape))
    }

    fn read_npy(&mut self, types: &[Dtype], dimensions: usize) -> Result<(Data, Vec<u64>)> {
        let found = Found::read(&mut self.stream).map_err(|error| self.failed(&error))?;
        let head = found.and_then(|found| found.accept(types, dimensions)).or_else(|what| self.refuse(what))?;
        let Some(count) = head.count() else {
            return self.refuse(format!("its shape {} has 2^64 elements or more", Head::shape_text(&head.shape)));
        };
        let (data, bytes) = for_dtype!(head.dtype, T => self.elements::<T>(Some(count)).map(|(v, b)| (T::wrap(v), b)))?;
        let Head { dtype, shape } = head;
        if (data.len() as u64) < count {
            return self.refuse(format!(
                "it is cut off: its header announces {count} elements of {dtype}, and {bytes} bytes follow"
            ));
        }
        if read_full(&mut self.stream, &mut [0]).map_err(|error| self.failed(&error))? > 0 {
            return self.refuse(format!("bytes follow its {count} elements of {dtype}; save one array in a file"));
        }
        Ok((data, shape))
    }

    fn read_raw(&mut self, dtype: Dtype) -> Result<Data> {
        let (data, bytes) = for_dtype!(dtype, T => self.elements::<T>(None).map(|(v, b)| (T::wrap(v), b)))?;
        if bytes != data.as_bytes().len() as u64 {
            let size = dtype.size();
            return self.refuse(format!("its {bytes} bytes are not a whole number of {dtype} ({size} bytes each)"));
        }
        Ok(data)
    }

    /// Elements up to `count` or to the end, and the bytes that were read.
    fn elements<T: Element>(&mut self, count: Option<u64>) -> Result<(Vec<T>, u64)> {
        /// Elements for which memory is allocated at once if only a header announces more.
        const STEP: usize = (1 << 20) / size_of::<u64>();
        /// Elements that are zeroed at once.
        const ZEROES: usize = 1 << 10;
        let limit = count.unwrap_or(u64::MAX);
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        // A file's length says what will come, header included: enough to take the memory at once. One element more, so
        // that the end of a raw file is found without growing.
        let expected = self.length.map(|length| (length / size_of::<T>() as u64).min(limit as u64));
        if let Some(expected) = expected {
            memory_check(&format!("elements of {} in {}", T::DTYPE, self.name), expected, size_of::<T>())?;
        }
        let mut step = expected.map_or(STEP, |expected| expected as usize + 1);
        let mut elements = Vec::<T>::new();
        let mut read = 0;
        while elements.len() < limit {
            let step_now = step.min(limit - elements.len());
            let old = elements.len();
            let refused = || Error::OutOfMemory {
                what: format!("elements of {} in {}", T::DTYPE, self.name),
                asked: (old as u64 + step_now as u64).saturating_mul(size_of::<T>() as u64),
                have: None,
            };
            if old > 0 {
                memory_check(
                    &format!("more elements of {} in {}", T::DTYPE, self.name),
                    step_now as u64,
                    size_of::<T>(),
                )?;
            }
            elements.try_reserve_exact(step_now).map_err(|_| refused())?;
            // By copies of memory: `resize` is a loop over elements, which would not be optimised here.
            let zeroes = [T::zeroed(); ZEROES];
            while elements.len() < old + step_now {
                let more = (old + step_now - elements.len()).min(ZEROES);
                elements.extend_from_slice(&zeroes[..more]);
            }
            let space = bytemuck::cast_slice_mut(&mut elements[old..]);
            let got = read_full(&mut self.stream, space).map_err(|error| self.failed(&error))?;
            let wanted = space.len();
            read += got as u64;
            elements.truncate(old + got / size_of::<T>());
            if got < wanted {
                break;
            }
            step = elements.len().max(STEP);
        }
        Ok((elements, read))
    }
}

/// Bytes that are looked at before the rest is read.
const START: usize = 256;

/// Whether a file that begins so is an archive whose first file is an array, as numpy.savez makes them. Keys may begin
/// with the same four bytes as any archive.
fn is_npz(start: &[u8]) -> bool {
    const HEAD: usize = 30;
    let name = start.get(HEAD..).filter(|_| start.starts_with(b"PK\x03\x04"));
    let length = |name: &[u8]| usize::from(u16::from_le_bytes([start[26], start[27]])).min(name.len());
    name.is_some_and(|name| name[..length(name)].ends_with(b".npy"))
}

/// Fills `space` from `stream` up to its end, and returns the number of bytes read.
fn read_full(stream: &mut dyn Read, space: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while filled < space.len() {
        match stream.read(&mut space[filled..]) {
            Ok(0) => break,
            Ok(count) => filled += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}

/// An output that is known to be writable before the work begins.
///
/// A file that exists keeps its content until [`write`](Self::write) has succeeded, because a new file then replaces
/// it; a link stays a link. The new file has the permissions of the old one, and its owner where the process may give
/// files away; other hard links keep the old content. What cannot be replaced is written in place, so that a failure
/// loses the old content: a file that is mounted by itself, as into a container, and one whose folder is not writable.
/// Devices, pipes and the standard output are written directly.
///
/// Until it replaces the old file, the new one has no name, so a signal leaves nothing behind. Where the file system
/// has no such files (NFS has none), one named `.rungs-PID-N.tmp` exists while the output is written.
#[derive(Debug)]
pub struct Output {
    name: String,
    sink: Sink,
    format: Format,
}

#[derive(Debug)]
enum Sink {
    Standard,
    /// A file that is written in place: no regular file, or one that cannot be replaced.
    Direct(File),
    Beside(Box<Beside>),
}

/// A new file next to the one that it will replace.
#[derive(Debug)]
struct Beside {
    /// Without a name; none where the file system has no such files.
    new: Option<File>,
    folder: PathBuf,
    target: PathBuf,
    /// What it replaces, open for writing.
    old: Option<(File, Metadata)>,
}

/// A name that is removed again.
struct Temporary(PathBuf);

impl Drop for Temporary {
    fn drop(&mut self) {
        // After the renaming there is nothing under this name any more.
        let _ = fs::remove_file(&self.0);
    }
}

/// Refuses a stream that is a terminal: the output is binary, and a terminal would interpret it.
///
/// # Errors
/// [`Error::Usage`] if it is a terminal, with other places for the output.
pub fn refuse_terminal(stream: &impl IsTerminal, name: &str) -> Result<()> {
    if !stream.is_terminal() {
        return Ok(());
    }
    Err(Error::Usage(format!(
        "{name} is a terminal, and the output is binary: send it to a file (> sorted.bin, --output sorted.npy) or \
         a pipe (| xxd)"
    )))
}

impl Output {
    /// Prepares an output. `otherwise` is the format on the standard output, see [`Format::of`].
    ///
    /// # Errors
    /// [`Error::Write`] if the file or its folder cannot be written; [`Error::Usage`] if the stream is a terminal.
    pub fn open(place: &Place, otherwise: Format) -> Result<Self> {
        // Opened by these names, a file that standard output was appended to would be written from its begin.
        let is_standard = |path: &Path| ["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"].iter().any(|own| path == *own);
        let place = match place {
            Place::File(path) if is_standard(path) => &Place::Standard,
            place => place,
        };
        let name = place.name("standard output");
        let format = Format::of(place, otherwise);
        let sink = match place {
            Place::Standard => streams::output().map(|_| Sink::Standard),
            Place::File(path) => Sink::open(path),
        };
        let sink = sink.map_err(|error| Error::writing(&name, &error))?;
        match &sink {
            Sink::Standard => refuse_terminal(&io::stdout(), &name)?,
            // As /dev/tty is.
            Sink::Direct(file) => refuse_terminal(file, &name)?,
            Sink::Beside(_) => {}
        }
        Ok(Self { name, sink, format })
    }

    /// Whether this is the standard output.
    pub fn is_standard(&self) -> bool {
        matches!(self.sink, Sink::Standard)
    }

    /// Whether both would write to one file, whatever its names.
    pub fn is_same(&self, other: &Self) -> bool {
        let (identity, others) = (self.sink.identity(), other.sink.identity());
        match (&self.sink, &other.sink) {
            (Sink::Standard, Sink::Standard) => true,
            (Sink::Beside(one), Sink::Beside(another)) if one.target == another.target => true,
            _ => identity.is_some() && identity == others,
        }
    }

    /// Refuses an output of values that is that of their keys, too.
    ///
    /// # Errors
    /// [`Error::Usage`] if both would write to one file.
    pub fn refuse_same(&self, values: &Self) -> Result<()> {
        let why = "keys and values cannot go to the same place; name another for one of them";
        if self.is_same(values) { Err(Error::Usage(why.into())) } else { Ok(()) }
    }

    /// Refuses elements of a type that the format does not have.
    ///
    /// # Errors
    /// [`Error::Usage`] for an `.npy` file of a type that numpy does not have.
    pub fn check(&self, dtype: Dtype) -> Result<()> {
        if self.format == Format::Npy && descr_of(dtype).is_none() {
            return Err(Error::Usage(format!("{}: {}", self.name, no_type(dtype))));
        }
        Ok(())
    }

    /// Writes keys, one dimension.
    ///
    /// # Errors
    /// [`Error::Write`] if the system refuses, for example because the disk is full; [`Error::ClosedPipe`] if the
    /// reader of a stream has gone; [`Error::Usage`] as for [`Output::check`].
    pub fn write(self, data: &Data) -> Result<()> {
        let shape = vec![data.len() as u64];
        self.write_shape(data, shape)
    }

    /// Writes a matrix, row after row.
    ///
    /// # Errors
    /// As for [`Output::write`].
    ///
    /// # Panics
    /// If `rows * columns` is not the number of elements.
    pub fn write_matrix(self, data: &Data, rows: usize, columns: usize) -> Result<()> {
        assert_eq!(rows.checked_mul(columns), Some(data.len()), "a matrix has rows * columns elements");
        self.write_shape(data, vec![rows as u64, columns as u64])
    }

    /// Writes `count` keys that come piece by piece: `pieces` passes their bytes on, each piece once.
    ///
    /// # Errors
    /// As for [`Output::write`]; the errors of `pieces`.
    pub fn write_pieces(
        self,
        dtype: Dtype,
        count: u64,
        pieces: &mut dyn FnMut(&mut Pass<'_>) -> Result<()>,
    ) -> Result<()> {
        let (head, mut failed) = (self.head(dtype, vec![count])?, None);
        let fill = &mut |stream: &mut dyn Write| {
            stream.write_all(&head)?;
            let mut refused = None;
            let mut pass = |bytes: &[u8]| {
                stream.write_all(bytes).map_err(|error| {
                    let said = Error::writing(&self.name, &error);
                    refused = Some(error);
                    said
                })
            };
            let passed = pieces(&mut pass);
            match (refused, passed) {
                (Some(error), _) => Err(error),
                (None, Err(error)) => {
                    failed = Some(error);
                    Err(io::ErrorKind::Other.into())
                }
                (None, Ok(())) => stream.flush(),
            }
        };
        let written = self.sink.write_by(fill, |from, to| fs::rename(from, to));
        match (written, failed) {
            (_, Some(error)) => Err(error),
            (written, None) => written.map_err(|error| Error::writing(&self.name, &error)),
        }
    }

    /// What comes before elements of a type.
    fn head(&self, dtype: Dtype, shape: Vec<u64>) -> Result<Vec<u8>> {
        match self.format {
            Format::Npy => {
                let refused = |why| Error::Usage(format!("{}: {why}", self.name));
                Head { dtype, shape }.to_bytes().map_err(refused)
            }
            Format::Raw => Ok(vec![]),
        }
    }

    fn write_shape(self, data: &Data, shape: Vec<u64>) -> Result<()> {
        let head = self.head(data.dtype(), shape)?;
        let parts = [&head[..], data.as_bytes()];
        self.sink.write(parts, |from, to| fs::rename(from, to)).map_err(|error| Error::writing(&self.name, &error))
    }
}

/// Writes all.
fn all(stream: &mut dyn Write, parts: [&[u8]; 2]) -> io::Result<()> {
    parts.iter().try_for_each(|part| stream.write_all(part))?;
    stream.flush()
}

/// Writes to a stream.
type Fill<'a> = dyn FnMut(&mut dyn Write) -> io::Result<()> + 'a;

/// Writes all to a file in place.
fn in_place(mut file: File, fill: &mut Fill<'_>) -> io::Result<()> {
    let is_regular = file.metadata()?.is_file();
    if is_regular {
        file.set_len(0)?;
    }
    fill(&mut file)?;
    if is_regular { file.sync_all() } else { Ok(()) }
}

impl Sink {
    fn open(path: &Path) -> io::Result<Self> {
        let (old, target) = match fs::metadata(path) {
            Ok(about) if about.is_dir() => return Err(io::ErrorKind::IsADirectory.into()),
            Ok(about) => {
                // Opened without truncating. Of a regular file this asks only whether it may be written: a file that is
                // protected must not be replaced because its folder is not.
                let file = OpenOptions::new().write(true).open(path)?;
                if !about.is_file() {
                    return Ok(Self::Direct(file));
                }
                (Some((file, about)), fs::canonicalize(path)?)
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => (None, follow(path)?),
            Err(error) => return Err(error),
        };
        let folder = match target.parent() {
            Some(folder) if folder.as_os_str().is_empty() => Path::new("."),
            Some(folder) => folder,
            None => return Err(io::ErrorKind::NotFound.into()),
        };
        let is_folder = path.as_os_str().as_encoded_bytes().ends_with(b"/");
        let Some(name) = target.file_name().filter(|_| !is_folder) else {
            return Err(io::ErrorKind::IsADirectory.into());
        };
        let folder = fs::canonicalize(folder)?;
        let new = unnamed(&folder).map(Some).or_else(|_| {
            // Made and removed again, to know whether it can be made.
            named(&folder, |path| OpenOptions::new().write(true).create_new(true).open(path)).map(|_| None)
        });
        match (new, old) {
            (Ok(new), old) => Ok(Self::Beside(Box::new(Beside { new, target: folder.join(name), folder, old }))),
            (Err(_), Some((file, _))) => Ok(Self::Direct(file)),
            (Err(error), None) => Err(error),
        }
    }

    /// Device and inode of the file that is written or replaced; none for a device, where two outputs do no harm.
    #[cfg(unix)]
    fn identity(&self) -> Option<(u64, u64)> {
        use std::os::{fd::AsFd, unix::fs::FileTypeExt, unix::fs::MetadataExt};
        let about = match self {
            Self::Standard => File::from(io::stdout().as_fd().try_clone_to_owned().ok()?).metadata().ok()?,
            Self::Direct(file) => file.metadata().ok()?,
            Self::Beside(beside) => beside.old.as_ref()?.1.clone(),
        };
        (!about.file_type().is_char_device()).then(|| (about.dev(), about.ino()))
    }

    #[cfg(not(unix))]
    fn identity(&self) -> Option<(u64, u64)> {
        None
    }

    /// Writes all; `rename` is that of the system.
    fn write(self, parts: [&[u8]; 2], rename: fn(&Path, &Path) -> io::Result<()>) -> io::Result<()> {
        self.write_by(&mut |stream| all(stream, parts), rename)
    }

    /// Writes what `fill` writes, which is called once; `rename` is that of the system.
    fn write_by(self, fill: &mut Fill<'_>, rename: fn(&Path, &Path) -> io::Result<()>) -> io::Result<()> {
        let Beside { new, folder, target, old } = *match self {
            Self::Standard => return fill(&mut streams::output()?),
            Self::Direct(file) => return in_place(file, fill),
            Self::Beside(beside) => beside,
        };
        let (mut file, name) = match new {
            Some(file) => (file, None),
            None => {
                let new = named(&folder, |path| OpenOptions::new().write(true).create_new(true).open(path))?;
                (new.0, Some(new.1))
            }
        };
        if let Some((_, about)) = &old {
            give(&file, about);
            file.set_permissions(about.permissions())?;
        }
        fill(&mut file)?;
        // Some file systems report a full disk only here, and the old file must not be gone by then.
        file.sync_all()?;
        let name = name.map_or_else(|| named(&folder, |path| link(&file, path)).map(|((), name)| name), Ok)?;
        use io::ErrorKind::{CrossesDevices, PermissionDenied, ResourceBusy};
        match (rename(&name.0, &target), old) {
            // A file that is mounted by itself, or that belongs to another user in a folder as /tmp.
            (Err(error), Some((old, _)))
                if matches!(error.kind(), ResourceBusy | CrossesDevices | PermissionDenied) =>
            {
                let mut new = File::open(&name.0)?;
                in_place(old, &mut |stream| io::copy(&mut new, stream).map(|_| ()))
            }
            (renamed, _) => renamed,
        }
    }
}

/// The file that `path`, which does not exist, would create: links may lead there.
fn follow(path: &Path) -> io::Result<PathBuf> {
    /// What Linux allows.
    const LINKS: usize = 40;
    let mut path = path.to_path_buf();
    for _ in 0..LINKS {
        match fs::read_link(&path) {
            Ok(next) => path = path.parent().unwrap_or(Path::new("")).join(next),
            Err(_) => return Ok(path),
        }
    }
    Err(io::Error::other("its links go round in a circle"))
}

/// What `make` makes in `folder`, under a name that nothing else has.
fn named<T>(folder: &Path, make: impl Fn(&Path) -> io::Result<T>) -> io::Result<(T, Temporary)> {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    loop {
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let path = folder.join(format!(".rungs-{}-{number}.tmp", process::id()));
        match make(&path) {
            Ok(made) => return Ok((made, Temporary(path))),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
}

/// A new file in `folder` without a name, which is gone when it is closed.
#[cfg(target_os = "linux")]
fn unnamed(folder: &Path) -> io::Result<File> {
    use std::os::unix::fs::OpenOptionsExt;
    let file = OpenOptions::new().write(true).custom_flags(libc::O_TMPFILE).open(folder)?;
    // By this path it gets its name.
    fs::metadata(descriptor(&file)).map(|_| file)
}

#[cfg(target_os = "linux")]
fn descriptor(file: &File) -> String {
    use std::os::fd::AsRawFd;
    format!("/proc/self/fd/{}", file.as_raw_fd())
}

/// Gives a file without a name one.
#[cfg(target_os = "linux")]
fn link(file: &File, path: &Path) -> io::Result<()> {
    use std::ffi::CString;
    let from = CString::new(descriptor(file))?;
    let to = CString::new(path.as_os_str().as_encoded_bytes())?;
    // SAFETY: both are C strings that live until the call returns.
    let linked =
        unsafe { libc::linkat(libc::AT_FDCWD, from.as_ptr(), libc::AT_FDCWD, to.as_ptr(), libc::AT_SYMLINK_FOLLOW) };
    if linked == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

#[cfg(not(target_os = "linux"))]
fn unnamed(_: &Path) -> io::Result<File> {
    Err(io::ErrorKind::Unsupported.into())
}

#[cfg(not(target_os = "linux"))]
fn link(_: &File, _: &Path) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Gives a file the owner and the group of another, where the process may do that.
#[cfg(unix)]
fn give(file: &File, about: &Metadata) {
    use std::os::unix::fs::{MetadataExt, fchown};
    let _ = fchown(file, Some(about.uid()), Some(about.gid()));
}

#[cfg(not(unix))]
fn give(_: &File, _: &Metadata) {}

#[cfg(test)]
#[path = "file_tests.rs"]
mod tests;
