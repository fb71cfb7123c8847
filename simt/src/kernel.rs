//! Kernels as a launch sees them: name, bounds, types of the arguments.

use crate::global::Global;
#[cfg(not(feature = "rust-cuda"))]
use crate::live;
use crate::scalar::Scalar;
use core::ffi::c_void;

/// A kernel as the host sees it; implemented by `#[kernel]`.
///
/// The simulator calls [`Kernel::thread`] once per thread; CUDA looks [`Kernel::NAME`] up in the module.
///
/// # Safety
/// Launching a kernel is safe, so the implementation has to guarantee:
/// - The entry called [`Kernel::NAME`] has the parameters that [`Arguments::parameters`] makes of [`Kernel::Args`], in
///   that order and of those types; blocks of [`Kernel::MAX_THREADS`] threads can be launched.
/// - The entry does what [`Kernel::thread`] does. Neither accesses memory except through its views, and both use them
///   as the docs of this crate allow.
///
/// ```compile_fail,E0200
/// #[derive(Clone, Copy)]
/// struct Forged;
/// impl simt::Kernel for Forged {
///     const NAME: &'static str = "an_entry_with_other_parameters";
///     const MAX_THREADS: u32 = 0;
///     const CLUSTER: u32 = 0;
///     type Args = (u64,);
///     fn thread(_: Self::Args) {}
/// }
/// ```
pub unsafe trait Kernel: Copy + Send + Sync + 'static {
    /// The entry's name in the PTX.
    const NAME: &'static str;
    /// Most threads per block that the kernel is compiled for; 0 if it sets no bound.
    const MAX_THREADS: u32;
    /// Blocks of a cluster, along x; 0 if the kernel has no clusters.
    const CLUSTER: u32;
    /// The parameters, as a tuple.
    type Args: Arguments;
    /// Runs one thread.
    fn thread(args: Self::Args);
}

/// The entries that `#[kernel]` made of one function: of a generic function one per instance. Implemented for the
/// function's handle; for a generic function, for the handle without its types.
pub trait Instances {
    /// Their names in the PTX.
    const NAMES: &'static [&'static str];
}

/// A type that a kernel can take as a parameter. A struct of numbers (a functor, say) becomes one with
/// [`#[argument]`](crate::argument).
///
/// # Safety
/// - [`Argument::append`] pushes the parameters that `#[kernel]` makes of this type: for a type passed by its bytes,
///   the value itself, which has the same layout on device and host.
/// - A value of a type passed by its bytes consists of plain numbers: the device follows no pointer in it.
///
/// ```compile_fail,E0200
/// #[derive(Clone, Copy)]
/// struct Forged(&'static u32);
/// impl simt::Argument for Forged {}
/// ```
///
/// ```compile_fail,E0277
/// #[simt::argument]
/// #[derive(Clone, Copy)]
/// struct Reference {
///     to: &'static u32,
/// }
/// ```
///
/// ```compile_fail,E0080
/// #[simt::argument]
/// #[derive(Clone, Copy)]
/// struct View {
///     data: simt::Global<u32>,
/// }
/// ```
///
/// ```
/// #[simt::argument]
/// #[derive(Clone, Copy)]
/// struct Line {
///     slope: f32,
///     offset: f32,
/// }
///
/// #[simt::argument]
/// #[derive(Clone, Copy)]
/// struct Lines(Line, Line, u8, f64);
///
/// fn takes<T: simt::Argument>() {}
/// takes::<Lines>();
/// ```
pub unsafe trait Argument: Copy + Send + Sync + 'static {
    /// Whether the entry has one parameter for the argument, the value by its bytes.
    const BY_ITS_BYTES: bool = true;

    /// Appends the address of each of the entry's parameters that this argument becomes.
    fn append(&self, parameters: &mut Parameters) {
        parameters.push(self);
    }
}

macro_rules! plain_arguments {
    ($($t:ty)*) => {$(
        // SAFETY: a number, of one size and alignment on both sides.
        unsafe impl Argument for $t {}
    )*};
}
plain_arguments!(u8 u16 u32 i32 f32 u64 i64 f64);

// SAFETY: `#[kernel]` makes two parameters of a view, the pointer and the length.
unsafe impl<T: Scalar> Argument for Global<T> {
    const BY_ITS_BYTES: bool = false;

    /// A view is flattened into pointer and length: a pointer inside a struct would lose its address space.
    fn append(&self, parameters: &mut Parameters) {
        parameters.push(&(self.as_ptr() as u64));
        parameters.push(&self.len());
        let (at, bytes) = (parameters.own_views().len(), self.len() as u64 * size_of::<T>() as u64);
        parameters.views.insert(at, (self.as_ptr() as u64, bytes));
        parameters.marks.insert(at, self.live());
    }
}

/// The parameters of one launch in the form that the driver wants: copies of the values, and their addresses.
///
/// Values are stored in 8-byte words; [`Parameters::pointers`] is computed at the end, when they no longer move.
pub struct Parameters {
    words: Vec<u64>,
    starts: Vec<usize>,
    views: Vec<(u64, u64)>,
    /// Of each of them the number of its memory's mark.
    marks: Vec<u64>,
    /// How many of the views are no arguments of their own, but behind a tensor map: the last.
    mapped: usize,
}

impl Default for Parameters {
    /// None yet. There is room for those of nearly every kernel: growing step by step takes longer than all else that a
    /// launch does here, and a short sort waits for its launches.
    fn default() -> Self {
        Self {
            words: Vec::with_capacity(48),
            starts: Vec::with_capacity(24),
            views: Vec::with_capacity(12),
            marks: Vec::with_capacity(12),
            mapped: 0,
        }
    }
}

impl Parameters {
    /// Appends one parameter by its bytes.
    pub fn push<T: Copy>(&mut self, value: &T) {
        const { assert!(align_of::<T>() <= 8, "a parameter is aligned to at most 8 bytes") };
        let start = self.words.len();
        self.starts.push(start);
        self.words.resize(start + size_of::<T>().div_ceil(8).max(1), 0);
        // SAFETY: the words just appended have room for a T, are aligned for it, and do not overlap it. The pointer is
        // that of all words: one made of the first alone may not be written through beyond it.
        unsafe { self.words.as_mut_ptr().add(start).cast::<T>().write(*value) }
    }

    /// Address and bytes of each view among the arguments, in order, and behind these of the matrix of each tensor map.
    pub fn views(&self) -> &[(u64, u64)] {
        &self.views
    }

    /// Those of the views alone.
    pub(crate) fn own_views(&self) -> &[(u64, u64)] {
        &self.views[..self.views.len() - self.mapped]
    }

    /// Adds the matrix of a tensor map: its memory, and the number of the mark.
    pub(crate) fn mapped(&mut self, memory: (u64, u64), mark: u64) {
        self.views.push(memory);
        self.marks.push(mark);
        self.mapped += 1;
    }

    /// Why a launch is refused, if this thread of the host does not keep the memory of all views. An empty view needs
    /// no memory.
    #[cfg(not(feature = "rust-cuda"))] // where there is no simulator, which asks
    pub(crate) fn refusal(&self) -> Option<String> {
        let gone = |(&(_, bytes), &mark): (&(u64, u64), &u64)| bytes > 0 && !live::is_live(mark);
        let i = self.views.iter().zip(&self.marks).position(gone)?;
        let own = self.own_views().len();
        let what =
            if i < own { format!("view number {}", i + 1) } else { format!("tensor map number {}", i - own + 1) };
        Some(format!("{what} is of {}", live::GONE))
    }

    /// The address of each parameter, valid until `self` changes.
    pub fn pointers(&mut self) -> Vec<*mut c_void> {
        let base = self.words.as_mut_ptr();
        self.starts.iter().map(|&start| base.wrapping_add(start).cast()).collect()
    }
}

/// The parameters of a kernel: a tuple of [`Argument`]s.
pub trait Arguments: Copy + Send + Sync + 'static {
    /// All of them in the driver's form.
    fn parameters(&self) -> Parameters;
}

macro_rules! tuples {
    ($($name:ident)*) => {
        impl<$($name: Argument),*> Arguments for ($($name,)*) {
            #[allow(non_snake_case)]
            fn parameters(&self) -> Parameters {
                #[allow(unused_mut)]
                let mut parameters = Parameters::default();
                let ($($name,)*) = self;
                $( $name.append(&mut parameters); )*
                parameters
            }
        }
    };
}
tuples!();
tuples!(A);
tuples!(A B);
tuples!(A B C);
tuples!(A B C D);
tuples!(A B C D E);
tuples!(A B C D E F);
tuples!(A B C D E F G);
tuples!(A B C D E F G H);
tuples!(A B C D E F G H I);
tuples!(A B C D E F G H I J);
tuples!(A B C D E F G H I J K);
tuples!(A B C D E F G H I J K L);
tuples!(A B C D E F G H I J K L M);
tuples!(A B C D E F G H I J K L M N);
