//! One run of an answer: its memory, its launches, and what it put out.

use simt::launcher::{Launcher, Memory, Result};
use simt::sim::{Gpu, HostMemory, expect_written, host_wrote};
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
pub struct Run {
    /// How many elements the input has.
    pub n: u32,
    /// What the input's values follow from.
    pub seed: u64,
    gpu: Gpu,
    buffers: RefCell<Vec<Rc<Stored>>>,
    different: RefCell<Option<Different>>,
}

/// Memory with its guards.
struct Stored {
    name: &'static str,
    memory: HostMemory,
    bytes: usize,
    /// What it has to hold at the end, if no kernel may change it.
    constant: Option<Vec<u8>>,
    is_output: Cell<bool>,
}

/// Memory of the simulated GPU.
pub struct Buffer<T> {
    stored: Rc<Stored>,
    element: PhantomData<T>,
}

/// Where a buffer is not what it should be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Different {
    /// What is wrong, in words.
    pub text: String,
    /// The address of the element, if it is one.
    pub address: Option<u64>,
    /// Whether it lies outside of the buffer.
    pub outside: bool,
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

    /// All elements, as a kernel's argument.
    pub fn view(&self) -> Global<T> {
        // SAFETY: the memory has room for the elements between the guards, is aligned to 256 bytes as the guard is
        // long, and the run keeps it until its launches have ended.
        unsafe { Global::from_raw(self.stored.begin().cast(), self.len()) }
    }
}

impl Stored {
    fn begin(&self) -> *mut u8 {
        // SAFETY: the guard lies in the memory.
        unsafe { self.memory.address().add(GUARD) }
    }

    /// A copy of the bytes from `offset` on, counted from the beginning of the first guard.
    fn copy(&self, offset: usize, bytes: usize) -> Vec<u8> {
        assert!(offset + bytes <= self.bytes + 2 * GUARD);
        // SAFETY: the bytes lie in the memory, and no kernel runs.
        unsafe { std::slice::from_raw_parts(self.memory.address().add(offset), bytes).to_vec() }
    }

    fn write(&self, offset: usize, bytes: &[u8]) {
        assert!(offset + bytes.len() <= self.bytes + 2 * GUARD);
        // SAFETY: as above.
        let to = unsafe { self.memory.address().add(offset) };
        // SAFETY: as above; the source is other memory.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), to, bytes.len()) };
        host_wrote(to, bytes.len());
    }

    fn guards_and_constants(&self) -> Option<Different> {
        for (what, offset) in [("before", 0), ("behind", GUARD + self.bytes)] {
            if let Some(at) = self.copy(offset, GUARD).iter().position(|&byte| byte != CANARY) {
                let text = format!("{}: a byte {what} the buffer was written", self.name);
                return Some(Different {
                    text,
                    address: Some(self.memory.address() as u64 + (offset + at) as u64),
                    outside: true,
                });
            }
        }
        let want = self.constant.as_ref()?;
        let at = self.copy(GUARD, self.bytes).iter().zip(want).position(|(got, want)| got != want)?;
        let text = format!("{}: byte {at} was changed; this buffer is input alone", self.name);
        Some(Different { text, address: Some(self.begin() as u64 + at as u64), outside: false })
    }
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

impl Run {
    /// A run with `n` elements.
    pub fn new(n: u32, seed: u64) -> Self {
        Self { n, seed, gpu: Gpu::default(), buffers: RefCell::default(), different: RefCell::default() }
    }

    /// The GPU, for answers that launch their kernels themselves.
    pub fn gpu(&self) -> &dyn Launcher {
        &self.gpu
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

    fn buffer<T>(&self, name: &'static str, bytes: usize, constant: Option<Vec<u8>>) -> Buffer<T> {
        let memory = HostMemory::new(bytes + 2 * GUARD);
        let stored = Rc::new(Stored { name, memory, bytes, constant, is_output: Cell::new(false) });
        [0, GUARD + bytes].into_iter().for_each(|guard| stored.write(guard, &[CANARY; GUARD]));
        self.buffers.borrow_mut().push(Rc::clone(&stored));
        Buffer { stored, element: PhantomData }
    }

    /// A buffer with these values, which no kernel may change.
    pub fn input<T: Scalar>(&self, name: &'static str, values: &[T]) -> Buffer<T> {
        let bytes = bytes_of(values);
        let buffer = self.buffer(name, bytes.len(), Some(bytes.clone()));
        buffer.stored.write(GUARD, &bytes);
        buffer
    }

    /// A buffer with these values, which kernels change.
    pub fn in_place<T: Scalar>(&self, name: &'static str, values: &[T]) -> Buffer<T> {
        let bytes = bytes_of(values);
        let buffer = self.buffer(name, bytes.len(), None);
        buffer.stored.write(GUARD, &bytes);
        buffer
    }

    /// A buffer that nobody has written.
    pub fn scratch<T: Scalar>(&self, name: &'static str, len: u32) -> Buffer<T> {
        self.buffer(name, len as usize * size_of::<T>(), None)
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
    /// Those of the simulator: a refused launch, a fault.
    pub fn launch<K: Kernel>(&self, kernel: K, geometry: Geometry, args: K::Args) -> Result {
        self.gpu().launch(kernel, geometry, args)
    }

    /// Compares a buffer with what it should hold.
    pub fn expect<T: Scalar + Debug>(&self, buffer: &Buffer<T>, want: impl IntoIterator<Item = T>) {
        let stored = &buffer.stored;
        if stored.is_output.get() {
            expect_written(buffer.view());
        }
        let got = values_of::<T>(&stored.copy(GUARD, stored.bytes));
        let want: Vec<T> = want.into_iter().collect();
        assert_eq!(got.len(), want.len(), "a check expects as many elements as {} has", stored.name);
        let differs = |(got, want): (&T, &T)| got.to_bits_64() != want.to_bits_64();
        if let Some(i) = got.iter().zip(&want).position(differs) {
            let text = format!("{}[{i}] is {:?} and should be {:?}", stored.name, got[i], want[i]);
            let address = stored.begin() as u64 + (i * size_of::<T>()) as u64;
            self.different.borrow_mut().get_or_insert(Different { text, address: Some(address), outside: false });
        }
    }

    /// Compares the sum of a buffer's elements with what it should be, where any share for each will do.
    pub fn expect_sum(&self, buffer: &Buffer<u32>, want: u32) {
        let stored = &buffer.stored;
        expect_written(buffer.view());
        let got = values_of::<u32>(&stored.copy(GUARD, stored.bytes)).into_iter().fold(0, u32::wrapping_add);
        if got != want {
            let text = format!("the elements of {} add up to {got} and should to {want}", stored.name);
            self.different.borrow_mut().get_or_insert(Different { text, address: None, outside: false });
        }
    }

    /// The first difference of this run, a guard before others.
    pub(crate) fn ended(&self) -> Option<Different> {
        let kept: Vec<_> = self.buffers.borrow().iter().filter_map(|buffer| buffer.guards_and_constants()).collect();
        let outside = kept.iter().find(|different| different.outside);
        outside.cloned().or_else(|| self.different.borrow().clone()).or_else(|| kept.first().cloned())
    }
}
