//! Matrices in global memory as TMA knows them: copies of boxes, past the threads (compute capability 9.0).
//!
//! A launch that copies boxes of a matrix takes a view of the matrix too, or of memory around it, so that the call says
//! what it works on: the simulator refuses boxes of matrices that lie in no view of the launch. A map of memory that is
//! gone is refused like a view of it.
//!
//! A tensor map tells where a row-major matrix is, how many rows and columns it has, how far apart its rows are, and
//! how many rows a box has. A box is [`Tile::DEPTH`] columns wide, 128 bytes, and becomes a [`Tile`] in shared memory,
//! row by row, in the order of packs that the tensor cores take; a product then reads the tile's rows as rows of an
//! operand, or its columns ([`crate::warpgroup::Lies`]). What of a box lies outside of the matrix is zero when it is
//! loaded, and left alone when it is stored.
//!
//! Threads that read the elements themselves have flat boxes instead ([`Described::flat`], [`TensorMap::load_flat`]):
//! of any width, and row after row as in memory.
//!
//! A map is 128 bytes whose form is the driver's own. The host asks for them ([`Described`]) and passes them as a
//! kernel's first parameters. The instructions take a map's address, which is that of the parameter: so a map needs no
//! memory, no launch that writes it and no fence before it is used. Copies are started by one thread, as those of
//! [`crate::bulk`]; that module's groups, waits and fences are for boxes, too.

use crate::machine::Machine;
use crate::mbarrier::Mbarrier;
use crate::scalar::Operand;
use crate::warpgroup::Tile;
use crate::{Backend, Shared};
use core::marker::PhantomData;

#[cfg(not(target_os = "cuda"))]
pub use host::Described;

/// Words of a map.
pub const WORDS: usize = 16;

/// A map, as the host has it from [`Described`]: 16 words. The parameter that a kernel gets them in is aligned as the
/// copy engine wants it: the PTX builder sees to that. On the host, the matrix too, whose memory a launch asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Words {
    words: [u64; WORDS],
    #[cfg(not(target_os = "cuda"))]
    memory: Memory,
}

/// The memory of a matrix: its address, its bytes, and the number of its mark.
#[cfg(not(target_os = "cuda"))]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Memory {
    address: u64,
    bytes: u64,
    live: u64,
}

/// What a kernel knows of a map: the address of its parameter.
#[cfg(target_os = "cuda")]
type Known = *const u64;
/// On the host, and so on the simulator, the parameter itself.
#[cfg(not(target_os = "cuda"))]
type Known = Words;

/// A map, as a kernel's parameter. A kernel has its maps before all other parameters.
pub struct TensorMap<T>(Known, PhantomData<fn() -> T>);

impl<T> Clone for TensorMap<T> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}
impl<T> Copy for TensorMap<T> {}

// SAFETY: the entry has one parameter of the bytes of `Words`; what the words say is between host and copy engine. A
// kernel follows no pointer in them, and the simulator none that leads out of the launch's views.
#[cfg(not(target_os = "cuda"))]
unsafe impl<T: Operand> crate::Argument for TensorMap<T> {
    const BY_ITS_BYTES: bool = false;

    fn append(&self, parameters: &mut crate::kernel::Parameters) {
        let Words { words, memory: Memory { address, bytes, live } } = &self.0;
        parameters.push(words);
        parameters.mapped((*address, *bytes), *live);
    }
}

#[cfg(not(target_os = "cuda"))]
impl<T> TensorMap<T> {
    /// The map of a matrix, for a launch.
    pub fn new(words: Words) -> Self {
        Self(words, PhantomData)
    }

    /// No map: for a kernel that does not use this one.
    pub fn none() -> Self {
        let memory = Memory { address: 0, bytes: 0, live: crate::live::UNMARKED };
        Self::new(Words { words: [0; WORDS], memory })
    }

    fn address(&self) -> *const u64 {
        self.0.words.as_ptr()
    }
}

#[cfg(target_os = "cuda")]
impl<T> TensorMap<T> {
    /// The map in a parameter of the kernel's entry. `#[kernel]` makes the calls.
    ///
    /// # Safety
    /// The generic address of 128 bytes that the host passed as [`Words`].
    #[doc(hidden)]
    #[inline(always)]
    pub unsafe fn of_parameter(address: u64) -> Self {
        Self(address as *const u64, PhantomData)
    }

    #[inline(always)]
    fn address(&self) -> *const u64 {
        self.0
    }
}

impl<T: Operand> TensorMap<T> {
    /// Has TMA fetch the map, which the first copy would wait for otherwise.
    #[inline(always)]
    pub fn prefetch(self) {
        // SAFETY: the address is that of a parameter of 128 bytes.
        unsafe { Backend::prefetch_map(self.address()) }
    }

    /// Starts to copy the box from (`row`, `column`) of the matrix on to `to`, of as many rows. All bytes of `to` are
    /// counted at `barrier`, where they have been announced.
    #[inline(always)]
    #[track_caller]
    pub fn load(self, to: Tile<T>, row: u32, column: u32, barrier: Mbarrier) {
        #[cfg(not(any(target_os = "cuda", feature = "rust-cuda")))]
        self.refuse_other(to.elements().len(), true);
        // SAFETY: the maker of the map promised the matrix, `Tile` the shared memory.
        unsafe { Backend::box_load(to.elements().address(), self.address(), [column, row], barrier.address()) }
    }

    /// [`TensorMap::load`] of a flat box, to `to`, which has as many elements and begins on a multiple of 128 bytes:
    /// row after row, without gaps.
    #[inline(always)]
    #[track_caller]
    pub fn load_flat(self, to: Shared<T>, row: u32, column: u32, barrier: Mbarrier) {
        #[cfg(not(any(target_os = "cuda", feature = "rust-cuda")))]
        self.refuse_other(to.len(), false);
        // SAFETY: the maker of the map promised the matrix, that of the view the shared memory.
        unsafe { Backend::box_load(to.address(), self.address(), [column, row], barrier.address()) }
    }

    /// [`TensorMap::load`] to several blocks of the cluster, those whose bits `ranks` has: the box is read once, and
    /// goes to the same address in each. At its end each block counts its bytes at its own barrier, at the same address
    /// as `barrier`.
    #[inline(always)]
    #[track_caller]
    pub fn load_multicast(self, to: Tile<T>, row: u32, column: u32, barrier: Mbarrier, ranks: u16) {
        #[cfg(not(any(target_os = "cuda", feature = "rust-cuda")))]
        self.refuse_other(to.elements().len(), true);
        let (to, place) = (to.elements().address(), [column, row]);
        // SAFETY: as for `load`; blocks of a cluster have the same shared memory, and that they are there is the
        // kernel's to ensure, as `crate::cluster` says.
        unsafe { Backend::box_load_multicast(to, self.address(), place, barrier.address(), ranks) }
    }

    /// Starts to copy `from` to the box from (`row`, `column`) of the matrix on, as part of the thread's current group
    /// ([`crate::bulk::commit`]).
    #[inline(always)]
    #[track_caller]
    pub fn store(self, row: u32, column: u32, from: Tile<T>) {
        #[cfg(not(any(target_os = "cuda", feature = "rust-cuda")))]
        self.refuse_other(from.elements().len(), true);
        // SAFETY: as for `load`.
        unsafe { Backend::box_store(self.address(), [column, row], from.elements().address()) }
    }

    /// On the simulator, ends the kernel with an error if this many elements, of a tile or not, are no box of the map:
    /// a GPU cannot tell.
    #[cfg(not(any(target_os = "cuda", feature = "rust-cuda")))]
    #[track_caller]
    fn refuse_other(self, elements: u32, tile: bool) {
        // What is no map is refused where the box is copied.
        let Some(map) = Described::of_words(self.0.words) else { return };
        let (seen, wanted) = (map.seen(), T::SEEN);
        assert!(seen == wanted, "the tensor map is of elements {seen:?}, and the tile's are {wanted:?}");
        let kind = |tile| if tile { "tiles" } else { "flat boxes" };
        let [made, asked] = [map.is_swizzled(), tile].map(kind);
        assert!(made == asked, "the tensor map is made for {made}, and the copy is of {asked}");
        let [columns, rows] = map.box_extents();
        assert!(
            elements == rows * columns,
            "a box of the tensor map has {rows} rows, and the tile {} of as many elements",
            elements / columns
        );
    }
}

#[cfg(not(target_os = "cuda"))]
mod host {
    use super::{Memory, WORDS, Words};
    use crate::Global;
    use crate::scalar::{Operand, Seen};
    use std::format;

    /// What a map says of a matrix. Two that are equal have one map.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Described {
        address: u64,
        seen: Seen,
        rows: u32,
        columns: u32,
        /// Bytes from one row to the next.
        stride: u64,
        box_rows: u32,
        /// Columns of a flat box; none of a box that becomes a tile.
        flat: Option<u32>,
        /// The number of the memory's mark.
        live: u64,
    }

    /// Most rows of a box, and most columns.
    const MOST_ROWS: u32 = 256;
    /// What addresses and strides are multiples of, in bytes; strides are less than the limit.
    const ALIGNMENT: u64 = 16;
    const STRIDE_LIMIT: u64 = 1 << 40;
    /// The last word of a map of the simulator's: no driver writes it.
    const SIMULATED: u64 = u64::from_le_bytes(*b"simulatd");

    impl Described {
        /// The row-major matrix of `rows` × `columns` at the start of a view, whose rows are `stride` elements apart,
        /// for boxes of this many rows; none if TMA cannot take it: if it is empty, if its address or its
        /// stride is no multiple of 16 bytes, or if rows overlap.
        ///
        /// # Panics
        /// If the view has less, or a box has no rows or more than 256.
        pub fn of<T: Operand>(data: Global<T>, [rows, columns]: [u32; 2], stride: u32, box_rows: u32) -> Option<Self> {
            Self::boxed(data, [rows, columns], stride, (box_rows, None))
        }

        /// The same for flat boxes of this many rows and columns, whose rows are a multiple of 16 bytes.
        ///
        /// # Panics
        /// If the view has less than the matrix, or a box has no rows or no columns, more than 256 of them, or rows of
        /// other lengths.
        pub fn flat<T: Operand>(
            data: Global<T>,
            [rows, columns]: [u32; 2],
            stride: u32,
            [box_rows, box_columns]: [u32; 2],
        ) -> Option<Self> {
            Self::boxed(data, [rows, columns], stride, (box_rows, Some(box_columns)))
        }

        fn boxed<T: Operand>(
            data: Global<T>,
            [rows, columns]: [u32; 2],
            stride: u32,
            (box_rows, flat): (u32, Option<u32>),
        ) -> Option<Self> {
            let (address, bytes) = (data.as_ptr() as u64, u64::from(stride) * size_of::<T>() as u64);
            let all = Self { address, seen: T::SEEN, rows, columns, stride: bytes, box_rows, flat, live: data.live() };
            assert!(
                all.has_boxes(),
                "a box of {box_rows} rows{}",
                flat.map_or("".into(), |n| format!(" x {n} columns"))
            );
            let [_, needed] = all.range()?;
            let there = u64::from(data.len()) * size_of::<T>() as u64;
            assert!(needed <= there, "{rows} x {columns}, {stride} apart, in {} elements", data.len());
            Some(all)
        }

        /// Whether TMA has boxes of that size.
        fn has_boxes(&self) -> bool {
            let counted = |number: &u32| (1..=MOST_ROWS).contains(number);
            let whole = |columns: &u32| u64::from(columns * self.element().1).is_multiple_of(ALIGNMENT);
            counted(&self.box_rows) && self.flat.as_ref().is_none_or(|columns| counted(columns) && whole(columns))
        }

        /// The first address of the matrix, and the bytes from there to its end; none if TMA cannot take it.
        pub(crate) fn range(&self) -> Option<[u64; 2]> {
            let &Self { address, rows, columns, stride, .. } = self;
            // Places are signed numbers; a box that begins inside ends before the last of them.
            let counted = |number: u32| (1..=i32::MAX as u32 - MOST_ROWS).contains(&number);
            let aligned = address.is_multiple_of(ALIGNMENT) && stride.is_multiple_of(ALIGNMENT);
            let row = u64::from(columns) * u64::from(self.element().1);
            if !counted(rows) || !counted(columns) || !aligned || stride < row || stride >= STRIDE_LIMIT {
                return None;
            }
            Some([address, u64::from(rows - 1).checked_mul(stride)?.checked_add(row)?])
        }

        /// The address of the matrix.
        pub fn address(&self) -> u64 {
            self.address
        }

        /// The number that CUDA's driver has for the type of the elements (`CUtensorMapDataType`), and their bytes.
        pub fn element(&self) -> (u32, u32) {
            match self.seen {
                Seen::E4m3 | Seen::E5m2 => (0, 1), // bytes: a copy does not look at what they say
                Seen::F16 => (6, 2),
                Seen::Tf32 => (7, 4),
                Seen::Bf16 => (9, 2),
            }
        }

        /// Columns and rows.
        pub fn extents(&self) -> [u64; 2] {
            [self.columns.into(), self.rows.into()]
        }

        /// Bytes from one row to the next.
        pub fn stride(&self) -> u64 {
            self.stride
        }

        /// Columns and rows of a box.
        pub fn box_extents(&self) -> [u32; 2] {
            [self.flat.unwrap_or(crate::warpgroup::ROW / self.element().1), self.box_rows]
        }

        /// Whether a box becomes a tile, whose packs are swizzled; a flat box is in shared memory as in global memory.
        pub fn is_swizzled(&self) -> bool {
            self.flat.is_none()
        }

        /// The type of the elements.
        #[cfg(not(feature = "rust-cuda"))] // where there is no simulator, which asks
        pub(crate) fn seen(&self) -> Seen {
            self.seen
        }

        /// The map for the simulator.
        pub fn simulated(&self) -> Words {
            let mut words = [0; WORDS];
            let ([columns, rows], [box_columns, box_rows]) = (self.extents(), self.box_extents());
            words[..8].copy_from_slice(&[
                self.address,
                columns,
                rows,
                self.stride,
                box_columns.into(),
                box_rows.into(),
                self.element().0.into(),
                (!self.is_swizzled()).into(),
            ]);
            // Both types of 8 bits have one number.
            words[8] = (self.seen == Seen::E5m2).into();
            words[WORDS - 1] = SIMULATED;
            self.with(words)
        }

        /// The map that a driver made.
        ///
        /// # Safety
        /// `words` are a map of what this describes, and of nothing else: a copy engine follows the address in it.
        pub unsafe fn words(&self, words: [u64; WORDS]) -> Words {
            self.with(words)
        }

        fn with(&self, words: [u64; WORDS]) -> Words {
            let [address, bytes] = self.range().unwrap_or_default();
            Words { words, memory: Memory { address, bytes, live: self.live } }
        }

        /// What words of memory say, if they are a map of the simulator's: they may be anything.
        #[cfg(not(feature = "rust-cuda"))]
        pub(crate) fn of_words(words: [u64; WORDS]) -> Option<Self> {
            let [address, columns, rows, stride, box_columns, box_rows, _, flat, ..] = words;
            let (rows, columns) = (u32::try_from(rows).ok()?, u32::try_from(columns).ok()?);
            // Any number over the limit will do for one that is: a product with it must not overflow.
            let side = |number: u64| number.min(u64::from(MOST_ROWS) + 1) as u32;
            let (box_rows, flat) = (side(box_rows), (flat != 0).then(|| side(box_columns)));
            let live = crate::live::UNMARKED; // the words do not say
            let of = |seen| Self { address, seen, rows, columns, stride, box_rows, flat, live };
            let mut types = [Seen::Tf32, Seen::Bf16, Seen::F16, Seen::E4m3, Seen::E5m2].into_iter().map(of);
            let is_map = |of: &Self| of.has_boxes() && of.simulated().words == words && of.range().is_some();
            types.find(is_map)
        }
    }
}
