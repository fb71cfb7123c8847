//! Matrices in global memory as the copy engine knows them: copies of boxes, past the threads (compute capability 9.0).
//!
//! A launch that copies boxes of a matrix takes a view of the matrix too, or of memory around it: nothing else keeps
//! the memory, and the simulator refuses boxes of matrices that lie in no view of the launch.
//!
//! A tensor map tells where a row-major matrix is, how many rows and columns it has, how far apart its rows are, and
//! how many rows a box has. A box is [`Tile::DEPTH`] columns wide, 128 bytes. It becomes a [`Tile`] in shared memory,
//! row by row, in the order of packs that the tensor cores take; a product then reads the tile's rows as rows of an
//! operand, or its columns ([`crate::warpgroup::Lies`]). What of a box lies outside of the matrix is zero when it is
//! loaded, and left alone when it is stored.
//!
//! A map is 128 bytes whose form is the driver's own. The host asks for them ([`Described`]), a kernel writes them to
//! global memory ([`TensorMap::write`]), and a launch behind that one reads them there: the instructions take a map's
//! address. Copies are started by one thread, as those of [`crate::bulk`]; that module's groups, waits and fences are
//! for boxes, too.

use crate::global::checked;
use crate::machine::Machine;
use crate::mbarrier::Mbarrier;
use crate::scalar::Operand;
use crate::warpgroup::Tile;
use crate::{Backend, Global};
use core::marker::PhantomData;
#[cfg(not(any(target_os = "cuda", feature = "rust-cuda")))]
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};

#[cfg(not(target_os = "cuda"))]
pub use host::Described;

/// Words of a map.
pub const WORDS: usize = 16;
/// What the address of a map is a multiple of, in bytes.
const ALIGNMENT: u32 = 64;

/// A map, as a kernel's argument: 16 words. The host has them from [`Described`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Words(pub [u64; WORDS]);

// SAFETY: the struct is #[repr(C)] and consists of numbers. What the words say is between host and copy engine; a
// kernel follows no pointer in them, and the simulator none that leads out of the launch's views.
#[cfg(not(target_os = "cuda"))]
unsafe impl crate::Argument for Words {}

/// A map in global memory.
pub struct TensorMap<T>(Global<u64>, PhantomData<T>);

impl<T> Clone for TensorMap<T> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}
impl<T> Copy for TensorMap<T> {}

impl<T: Operand> TensorMap<T> {
    /// Map `i` of those that follow each other in `words`, which begin on a multiple of 64 bytes.
    #[inline(always)]
    #[track_caller]
    pub fn at(words: Global<u64>, i: u32) -> Self {
        let map = words.slice(i * WORDS as u32, WORDS as u32);
        if checked() && !(map.as_ptr() as u64).is_multiple_of(ALIGNMENT.into()) {
            Backend::misaligned("tensor map", map.as_ptr() as u64, ALIGNMENT);
        }
        Self(map, PhantomData)
    }

    /// Writes the map, for launches that begin when this one has ended.
    #[inline(always)]
    #[track_caller]
    pub fn write(self, words: Words) {
        crate::unroll::<WORDS>(|i| self.0.set(i as u32, words.0[i]));
        // The copy engine reads maps past the threads' caches.
        Backend::publish_map();
    }

    /// Makes a map that an earlier launch wrote known to the copy engine, which begins to fetch it. One thread of each
    /// block makes the call, and the block waits at a barrier before any thread uses the map.
    #[inline(always)]
    #[track_caller]
    pub fn acquire(self) {
        // SAFETY: `at` checked that there are 128 bytes, aligned to 64.
        unsafe { Backend::acquire_map(self.0.as_ptr()) }
    }

    /// Starts to copy the box from (`row`, `column`) of the matrix on to `to`, of as many rows. All bytes of `to` are
    /// counted at `barrier`, where they have been announced.
    #[inline(always)]
    #[track_caller]
    pub fn load(self, to: Tile<T>, row: u32, column: u32, barrier: Mbarrier) {
        #[cfg(not(any(target_os = "cuda", feature = "rust-cuda")))]
        self.refuse_other(to);
        // SAFETY: the maker of the map promised the matrix, `Tile` the shared memory.
        unsafe { Backend::box_load(to.elements().address(), self.0.as_ptr(), [column, row], barrier.address()) }
    }

    /// [`TensorMap::load`] to several blocks of the cluster, those whose bits `ranks` has: the box is read once, and goes
    /// to the same address in each. At its end each block counts its bytes at its own barrier, at the same address as
    /// `barrier`.
    #[inline(always)]
    #[track_caller]
    pub fn load_multicast(self, to: Tile<T>, row: u32, column: u32, barrier: Mbarrier, ranks: u16) {
        #[cfg(not(any(target_os = "cuda", feature = "rust-cuda")))]
        self.refuse_other(to);
        let (to, place) = (to.elements().address(), [column, row]);
        // SAFETY: as for `load`; blocks of a cluster have the same shared memory, and that they are there is the
        // kernel's to ensure, as `crate::cluster` says.
        unsafe { Backend::box_load_multicast(to, self.0.as_ptr(), place, barrier.address(), ranks) }
    }

    /// Starts to copy `from` to the box from (`row`, `column`) of the matrix on, as part of the thread's current group
    /// ([`crate::bulk::commit`]).
    #[inline(always)]
    #[track_caller]
    pub fn store(self, row: u32, column: u32, from: Tile<T>) {
        #[cfg(not(any(target_os = "cuda", feature = "rust-cuda")))]
        self.refuse_other(from);
        // SAFETY: as for `load`.
        unsafe { Backend::box_store(self.0.as_ptr(), [column, row], from.elements().address()) }
    }

    /// On the simulator, ends the kernel with an error if a tile is no box of the map: a GPU cannot tell.
    #[cfg(not(any(target_os = "cuda", feature = "rust-cuda")))]
    #[track_caller]
    fn refuse_other(self, tile: Tile<T>) {
        // Other threads may write there.
        // SAFETY: `at` checked that there are so many words, aligned to 64, which kernels may write.
        let word = |i| unsafe { AtomicU64::from_ptr(self.0.as_ptr().add(i)) }.load(Relaxed);
        // What is no map is refused where the box is copied.
        let Some(map) = Described::of_words(core::array::from_fn(word)) else { return };
        let (seen, wanted) = (map.seen(), T::SEEN);
        assert!(seen == wanted, "the tensor map is of elements {seen:?}, and the tile's are {wanted:?}");
        let ([columns, rows], elements) = (map.box_extents(), tile.elements().len());
        assert!(
            elements == rows * columns,
            "a box of the tensor map has {rows} rows, and the tile {} of as many elements",
            elements / columns
        );
    }
}

#[cfg(not(target_os = "cuda"))]
mod host {
    use super::{WORDS, Words};
    use crate::Global;
    use crate::scalar::{Operand, Seen};

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
    }

    /// Most rows of a box.
    const MOST_ROWS: u32 = 256;
    /// What addresses and strides are multiples of, in bytes; strides are less than the limit.
    const ALIGNMENT: u64 = 16;
    const STRIDE_LIMIT: u64 = 1 << 40;
    /// The last word of a map of the simulator's: no driver writes it.
    const SIMULATED: u64 = u64::from_le_bytes(*b"simulatd");

    impl Described {
        /// The row-major matrix of `rows` × `columns` at the start of a view, whose rows are `stride` elements apart,
        /// for boxes of so many rows; none if the copy engine cannot take it: if it is empty, if its address or its
        /// stride is no multiple of 16 bytes, or if rows overlap.
        ///
        /// # Panics
        /// If the view has less, or a box has no rows or more than 256.
        pub fn of<T: Operand>(data: Global<T>, [rows, columns]: [u32; 2], stride: u32, box_rows: u32) -> Option<Self> {
            assert!((1..=MOST_ROWS).contains(&box_rows), "a box of {box_rows} rows");
            let (address, bytes) = (data.as_ptr() as u64, u64::from(stride) * size_of::<T>() as u64);
            let all = Self { address, seen: T::SEEN, rows, columns, stride: bytes, box_rows };
            let [_, needed] = all.range()?;
            let there = u64::from(data.len()) * size_of::<T>() as u64;
            assert!(needed <= there, "{rows} x {columns}, {stride} apart, in {} elements", data.len());
            Some(all)
        }

        /// The first address of the matrix, and the bytes from there to its end; none if the copy engine cannot take
        /// it.
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
            [crate::warpgroup::ROW / self.element().1, self.box_rows]
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
            words[..7].copy_from_slice(&[
                self.address,
                columns,
                rows,
                self.stride,
                box_columns.into(),
                box_rows.into(),
                self.element().0.into(),
            ]);
            words[WORDS - 1] = SIMULATED;
            Words(words)
        }

        /// What words of memory say, if they are a map of the simulator's: they may be anything.
        #[cfg(not(feature = "rust-cuda"))]
        pub(crate) fn of_words(words: [u64; WORDS]) -> Option<Self> {
            let [address, columns, rows, stride, _, box_rows, ..] = words;
            let (rows, columns) = (u32::try_from(rows).ok()?, u32::try_from(columns).ok()?);
            let box_rows = u32::try_from(box_rows).ok().filter(|rows| (1..=MOST_ROWS).contains(rows))?;
            let of = |seen| Self { address, seen, rows, columns, stride, box_rows };
            let mut types = [Seen::Tf32, Seen::Bf16, Seen::F16].into_iter().map(of);
            types.find(|described| described.simulated().0 == words && described.range().is_some())
        }
    }
}
