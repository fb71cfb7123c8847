//! One run of an answer: its memory, its launches, and what it put out.

use crate::machine::Machine;
use simt::launcher::{Failed, Launcher, Memory, Result};
use simt::sim::{HostMemory, POISON, expect_written};
use simt::{Geometry, Global, Kernel, Scalar};
use std::cell::{Cell, RefCell};
use std::fmt::Debug;
use std::marker::PhantomData;
use std::rc::Rc;

/// Bytes before and behind each buffer that no kernel may write. As many as the simulator aligns memory to, so that
/// buffers are aligned too.
const GUARD: usize = 256;

/// What the bytes of a guard are.
const CANARY: u8 = 0xC3;

/// A run with input of one size and seed.
pub struct Run<'a> {
    /// How many elements the input has.
    pub n: u32,
    /// What the input's values follow from.
    pub seed: u64,
    machine: &'a dyn Machine,
    buffers: RefCell<Vec<Rc<Stored>>>,
    different: RefCell<Option<Different>>,
    failed: RefCell<Option<Failed>>,
    /// What the input is besides its size, in words.
    shape: RefCell<String>,
}

/// Memory with its guards.
struct Stored {
    name: &'static str,
    memory: Box<dyn Memory>,
    bytes: usize,
    /// What it has to hold at the end, if no kernel may change it.
    constant: Option<Vec<u8>>,
    /// Its first elements as they are printed, if they are few.
    content: Vec<String>,
    is_output: Cell<bool>,
    /// Elements of a row, if it is a matrix.
    columns: Cell<Option<u32>>,
}

/// Memory of the machine.
pub struct Buffer<T> {
    stored: Rc<Stored>,
    element: PhantomData<T>,
}

/// Where a buffer is not what it should be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Different {
    /// What is wrong, in words.
    pub text: String,
    /// The input's elements and those next to the one that is wrong, as lines.
    pub shown: String,
    /// The address of the element, if it is one.
    pub address: Option<u64>,
    /// What it is.
    pub place: Place,
}

/// What differs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// A byte outside of the buffer.
    Outside,
    /// An element that no kernel seems to have written: it holds what fresh memory is filled with.
    Unwritten,
    /// An element, or a sum of elements.
    Inside,
}

impl<T: Scalar> Buffer<T> {
    /// How many elements it has.
    pub fn len(&self) -> u32 {
        (self.stored.bytes / size_of::<T>()) as u32
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.stored.bytes == 0
    }

    /// The same as a matrix of rows of the given number of elements: one that differs is told with its row and column.
    pub fn in_rows_of(self, columns: u32) -> Self {
        self.stored.columns.set(Some(columns));
        self
    }

    /// All elements, as a kernel's argument.
    pub fn view(&self) -> Global<T> {
        // SAFETY: the memory has room for the elements between the guards, is aligned to 256 bytes as the guard is
        // long, and the run keeps it until its launches have ended.
        unsafe { Global::from_raw(self.stored.begin().cast(), self.len()) }
    }
}

impl Stored {
    /// An element as the reader may know it.
    fn element(&self, i: usize) -> String {
        match self.columns.get().map(|columns| columns as usize) {
            Some(columns) => format!("{}[{i}], row {} and column {},", self.name, i / columns, i % columns),
            None => format!("{}[{i}]", self.name),
        }
    }

    /// Printed elements, as a matrix if it is one.
    fn rows(&self, elements: &[String]) -> String {
        let columns = self.columns.get().map_or(elements.len(), |columns| columns as usize).max(1);
        elements.chunks(columns).map(row).collect::<Vec<_>>().join(" ")
    }

    /// Its name as that of an input.
    fn label_before(&self) -> String {
        if self.constant.is_some() { self.name.into() } else { format!("{} before", self.name) }
    }

    fn begin(&self) -> *mut u8 {
        // SAFETY: the guard lies in the memory.
        unsafe { self.memory.address().add(GUARD) }
    }

    /// What is wrong with the guards, or with input: `all` is the memory with its guards.
    fn guards_and_constants(&self, all: &[u8]) -> Option<Different> {
        let (inside, behind) = all[GUARD..].split_at(self.bytes);
        for (what, offset, guard) in [("before", 0, &all[..GUARD]), ("behind", GUARD + self.bytes, behind)] {
            if let Some(at) = guard.iter().position(|&byte| byte != CANARY) {
                let text = format!("{}: a byte {what} the buffer was written", self.name);
                let address = Some(self.memory.address() as u64 + (offset + at) as u64);
                return Some(Different { text, shown: String::new(), address, place: Place::Outside });
            }
        }
        let at = inside.iter().zip(self.constant.as_ref()?).position(|(got, want)| got != want)?;
        let text = format!("{}: byte {at} was changed; this buffer is input alone", self.name);
        let address = Some(self.begin() as u64 + at as u64);
        Some(Different { text, shown: String::new(), address, place: Place::Inside })
    }
}

/// Elements that are printed whole, and twice those that are printed around one of more.
pub(crate) const SHOWN: usize = 16;

/// Values as they are printed, if they are few.
fn printed<T: Debug>(values: &[T]) -> Vec<String> {
    if values.len() <= SHOWN { values.iter().map(|value| format!("{value:?}")).collect() } else { vec![] }
}

/// A row of printed elements.
fn row(elements: &[String]) -> String {
    format!("[{}]", elements.join(", "))
}

/// The bytes of values.
fn bytes_of<T: Scalar>(values: &[T]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_bits_64().to_le_bytes().into_iter().take(size_of::<T>())).collect()
}

/// The values of bytes.
fn values_of<T: Scalar>(bytes: &[u8]) -> Vec<T> {
    let word = |bytes: &[u8]| bytes.iter().rev().fold(0, |word, &byte| word << 8 | u64::from(byte));
    bytes.chunks_exact(size_of::<T>()).map(|bytes| T::from_bits_64(word(bytes))).collect()
}

impl<'a> Run<'a> {
    /// A run with `n` elements.
    pub fn new(n: u32, seed: u64, machine: &'a dyn Machine) -> Self {
        let (buffers, different, failed, shape) = Default::default();
        Self { n, seed, machine, buffers, different, failed, shape }
    }

    /// Says what the input is where its size does not say it.
    pub fn say(&self, shape: String) {
        self.shape.replace(shape);
    }

    /// The input in words.
    pub(crate) fn input_in_words(&self) -> String {
        let (Self { n, seed, .. }, shape) = (self, self.shape.borrow());
        match shape.as_str() {
            "" => format!("n = {n}, seed {seed}"),
            shape => format!("{shape}, seed {seed}"),
        }
    }

    /// The GPU, for answers that launch their kernels themselves.
    pub fn gpu(&self) -> &'a dyn Launcher {
        self.machine
    }

    /// `n` numbers below `11 + 37 * n`, no two of them the same, in no order.
    pub fn numbers(&self, n: u32) -> Vec<u32> {
        let mut numbers: Vec<u32> = (0..n).map(|i| 11 + 37 * i).collect();
        let mut random = self.random();
        for i in (1..numbers.len()).rev() {
            numbers.swap(i, (random() % (i as u64 + 1)) as usize);
        }
        numbers
    }

    /// Random words that follow from the seed: SplitMix64.
    pub fn random(&self) -> impl FnMut() -> u64 + use<> {
        let mut state = self.seed;
        move || {
            state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut word = state;
            word = (word ^ word >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            word = (word ^ word >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
            word ^ word >> 31
        }
    }

    /// A buffer of `bytes` bytes: those of `content`, or bytes that nobody has written.
    fn buffer<T>(
        &self,
        name: &'static str,
        bytes: usize,
        (content, printed): (Option<&[u8]>, Vec<String>),
        is_constant: bool,
    ) -> Buffer<T> {
        let mut all = vec![CANARY; bytes + 2 * GUARD];
        let inside = GUARD..GUARD + bytes;
        match content {
            Some(content) => all[inside.clone()].copy_from_slice(content),
            None => all[inside.clone()].fill(POISON),
        }
        // All is written, up to the end.
        let unwritten = if content.is_some() { all.len()..all.len() } else { inside };
        let memory = self.machine.memory(&all, unwritten).unwrap_or_else(|failed| {
            self.note(failed);
            // A check cannot stop here. The run has failed, and launches refuse what is not the machine's own.
            Box::new(HostMemory::new(all.len()))
        });
        let constant = content.filter(|_| is_constant).map(<[u8]>::to_vec);
        let (is_output, columns) = Default::default();
        let stored = Rc::new(Stored { name, memory, bytes, constant, content: printed, is_output, columns });
        self.buffers.borrow_mut().push(Rc::clone(&stored));
        Buffer { stored, element: PhantomData }
    }

    /// Keeps the first failure that a check is not told of.
    fn note(&self, failed: Failed) {
        self.failed.borrow_mut().get_or_insert(failed);
    }

    /// The bytes of a buffer, with its guards; none once the run has failed.
    fn bytes(&self, stored: &Stored) -> Option<Vec<u8>> {
        if self.failed.borrow().is_some() {
            return None;
        }
        let mut all = vec![0; stored.bytes + 2 * GUARD];
        // SAFETY: the memory has this many bytes, and lives as long as `stored`.
        let read = unsafe { self.machine.read(stored.memory.address(), &mut all) };
        read.map_err(|failed| self.note(failed)).ok().map(|()| all)
    }

    /// The values of a buffer.
    fn values<T: Scalar>(&self, stored: &Stored) -> Option<Vec<T>> {
        Some(values_of(&self.bytes(stored)?[GUARD..GUARD + stored.bytes]))
    }

    /// A buffer with these values, which no kernel may change.
    pub fn input<T: Scalar + Debug>(&self, name: &'static str, values: &[T]) -> Buffer<T> {
        let bytes = bytes_of(values);
        self.buffer(name, bytes.len(), (Some(&bytes), printed(values)), true)
    }

    /// A buffer with these values, which kernels change.
    pub fn in_place<T: Scalar + Debug>(&self, name: &'static str, values: &[T]) -> Buffer<T> {
        let bytes = bytes_of(values);
        self.buffer(name, bytes.len(), (Some(&bytes), printed(values)), false)
    }

    /// A buffer that nobody has written.
    pub fn scratch<T: Scalar>(&self, name: &'static str, len: u32) -> Buffer<T> {
        self.buffer(name, len as usize * size_of::<T>(), (None, vec![]), false)
    }

    /// A buffer that nobody has written, and of which the kernels have to write every element.
    pub fn output<T: Scalar>(&self, name: &'static str, len: u32) -> Buffer<T> {
        let buffer = self.scratch(name, len);
        buffer.stored.is_output.set(true);
        buffer
    }

    /// Launches a kernel.
    ///
    /// # Errors
    /// Those of the machine: a refused launch, a fault.
    pub fn launch<K: Kernel>(&self, kernel: K, geometry: Geometry, args: K::Args) -> Result {
        self.gpu().launch(kernel, geometry, args)
    }

    /// Compares a buffer with what it should hold.
    pub fn expect<T: Scalar + Debug>(&self, buffer: &Buffer<T>, want: impl IntoIterator<Item = T>) {
        let stored = &buffer.stored;
        if stored.is_output.get() {
            expect_written(buffer.view());
        }
        let Some(got) = self.values::<T>(stored) else { return };
        let want: Vec<T> = want.into_iter().collect();
        assert_eq!(got.len(), want.len(), "a check expects as many elements as {} has", stored.name);
        let differs = |i: &usize| got[*i].to_bits_64() != want[*i].to_bits_64();
        let unwritten = |i: &usize| stored.is_output.get() && is_poison(got[*i]);
        let mut different = (0..got.len()).filter(differs);
        let Some(first) = different.clone().next() else { return };
        let (i, place, text) = match different.find(unwritten) {
            Some(i) => {
                let text = format!("{} was not written and should be {:?}", stored.element(i), want[i]);
                (i, Place::Unwritten, text)
            }
            None => {
                let (got, want) = (got[first], want[first]);
                (first, Place::Inside, format!("{} is {got:?} and should be {want:?}", stored.element(first)))
            }
        };
        let address = Some(stored.begin() as u64 + (i * size_of::<T>()) as u64);
        let shown = self.shown(stored, &got, &want, i);
        self.different.borrow_mut().get_or_insert(Different { text, shown, address, place });
    }

    /// Compares the sum of a buffer's elements with what it should be, where any share for each will do.
    pub fn expect_sum(&self, buffer: &Buffer<u32>, want: u32) {
        let stored = &buffer.stored;
        expect_written(buffer.view());
        let Some(got) = self.values::<u32>(stored) else { return };
        let sum = got.iter().copied().fold(0, u32::wrapping_add);
        if sum == want {
            return;
        }
        let (place, text) = match got.iter().position(|&share| is_poison(share)) {
            Some(i) => (Place::Unwritten, format!("{}[{i}] was not written", stored.name)),
            None => {
                (Place::Inside, format!("the elements of {} add up to {sum} and should add up to {want}", stored.name))
            }
        };
        let shown = String::new();
        self.different.borrow_mut().get_or_insert(Different { text, shown, address: None, place });
    }

    /// A wrong output next to the expected one, as lines: all of it behind the input if it is small, otherwise the
    /// elements next to element `at`.
    fn shown<T: Scalar + Debug>(&self, stored: &Stored, got: &[T], want: &[T], at: usize) -> String {
        let columns = stored.columns.get().map_or(got.len(), |columns| columns as usize);
        let (mut lines, part, label);
        if got.len() <= SHOWN {
            let buffers = self.buffers.borrow();
            let inputs = buffers.iter().filter(|input| !input.content.is_empty());
            lines = inputs.map(|input| (input.label_before(), input.rows(&input.content))).collect::<Vec<_>>();
            (part, label) = (0..got.len(), stored.name.to_string());
        } else {
            // Of a matrix, elements of one row.
            let (row, half) = (at / columns * columns, SHOWN / 4);
            part = row.max(at.saturating_sub(half - 1))..(row + columns).min(at + half + 1).min(got.len());
            (lines, label) = (vec![], format!("{}[{}..{}]", stored.name, part.start, part.end));
        }
        let element = |value: &T| match stored.is_output.get() && is_poison(*value) {
            true => "unwritten".into(),
            false => format!("{value:?}"),
        };
        let [got, want] = [got, want].map(|values| values[part.clone()].iter().map(element).collect::<Vec<_>>());
        let rows = |elements: &[String]| if part.len() > columns { stored.rows(elements) } else { row(elements) };
        lines.extend([(label, rows(&got)), ("expected".into(), rows(&want))]);
        let width = lines.iter().map(|(label, _)| label.len()).max().unwrap_or(0);
        lines.into_iter().map(|(label, elements)| format!("\n      {label:<width$}  {elements}")).collect()
    }

    /// The first failure so far that a check was not told of.
    pub(crate) fn failure(&self) -> Result {
        self.failed.take().map_or(Ok(()), Err)
    }

    /// The first difference of this run, a guard before others.
    pub(crate) fn ended(&self) -> Option<Different> {
        let buffers = self.buffers.borrow();
        let kept: Vec<_> =
            buffers.iter().filter_map(|stored| stored.guards_and_constants(&self.bytes(stored)?)).collect();
        let outside = kept.iter().find(|different| different.place == Place::Outside).cloned();
        outside.or_else(|| self.different.borrow().clone()).or_else(|| kept.first().cloned())
    }
}

/// Whether all bytes are those that fresh memory is filled with.
fn is_poison<T: Scalar>(value: T) -> bool {
    value.to_bits_64().to_le_bytes()[..size_of::<T>()].iter().all(|&byte| byte == POISON)
}
