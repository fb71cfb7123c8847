//! Small arrays on the device, in memory that is kept from one sort to the next. Memory that GPUs map for each other is
//! allocated and freed slowly, and for all GPUs of a process in sequence. Together this took longer than a small sort.

use rungs::engine::{Buffer, Engine};
use rungs::error::Result;
use simt::{Global, Scalar};

/// Words that are allocated at once, at least.
const CHUNK: usize = 1 << 17;

/// Words of 128 bytes: arrays begin at a multiple.
const LINE: usize = 16;

/// Memory for small arrays, which is given out in sequence.
#[derive(Default)]
pub(super) struct Small {
    chunks: Vec<Buffer<u64>>,
    /// The chunk that is given out, and its words that are taken.
    taken: (usize, usize),
}

/// A small array.
#[derive(Clone, Copy)]
pub(super) struct Array<T> {
    pub view: Global<T>,
    chunk: usize,
    start: usize,
}

/// Words that hold these many elements.
fn words<T>(len: usize) -> usize {
    (len * size_of::<T>()).div_ceil(size_of::<u64>())
}

impl Small {
    /// Takes all arrays back. What was asked of the engine before may still use them.
    pub fn clear(&mut self) {
        self.taken = (0, 0);
    }

    /// An array of any content.
    pub fn alloc<T: Scalar>(&mut self, engine: &Engine, len: usize) -> Result<Array<T>> {
        let words = words::<T>(len).next_multiple_of(LINE);
        loop {
            let (chunk, start) = self.taken;
            match self.chunks.get(chunk) {
                Some(buffer) if start + words <= buffer.len() => {
                    self.taken.1 += words;
                    return Ok(Array {
                        view: buffer.slice(start, words).cast::<T>().slice(0, len as u32),
                        chunk,
                        start,
                    });
                }
                Some(_) => self.taken = (chunk + 1, 0),
                None => self.chunks.push(engine.alloc(words.max(CHUNK))?),
            }
        }
    }

    /// A copy of `data`.
    pub fn upload<T: Scalar>(&mut self, engine: &Engine, data: &[T]) -> Result<Array<T>> {
        let array = self.alloc(engine, data.len())?;
        let bits = 8 * size_of::<T>() as u32;
        let word = |part: &[T]| part.iter().rev().fold(0, |word: u64, x| word.unbounded_shl(bits) | x.to_bits_64());
        let packed: Vec<u64> = data.chunks(size_of::<u64>() / size_of::<T>()).map(word).collect();
        self.chunks[array.chunk].write_at(array.start, &packed)?;
        Ok(array)
    }

    /// The elements, once everything asked of the engine before is done.
    pub fn download<T: Scalar>(&self, array: Array<T>) -> Result<Vec<T>> {
        let len = array.view.len() as usize;
        let mut packed = vec![0; words::<T>(len)];
        self.chunks[array.chunk].read_from(array.start, &mut packed)?;
        let bits = 8 * size_of::<T>() as u32;
        let element = |i: usize| {
            let (word, at) = (i * size_of::<T>() / size_of::<u64>(), i * size_of::<T>() % size_of::<u64>());
            T::from_bits_64(packed[word] >> (8 * at) & (u64::MAX >> (64 - bits)))
        };
        Ok((0..len).map(element).collect())
    }

    /// The elements of `of` at these places. The memory for that is taken back.
    pub fn elements_at<T: Scalar>(&mut self, engine: &Engine, of: Global<T>, places: &[u64]) -> Result<Vec<T>> {
        if places.is_empty() {
            return Ok(vec![]);
        }
        let taken = self.taken;
        let places: Vec<u32> = places.iter().map(|&place| place as u32).collect();
        let (places, found) = (self.upload(engine, &places)?, self.alloc::<T>(engine, places.len())?);
        rungs::vec::places::gather(engine, of, places.view, found.view)?;
        let found = self.download(found);
        self.taken = taken;
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rungs::engine::DeviceChoice;

    fn comes_back<T: Scalar + std::fmt::Debug>(small: &mut Small, engine: &Engine, n: usize, element: fn(u64) -> T) {
        let data: Vec<T> = (0..n as u64).map(element).collect();
        let array = small.upload(engine, &data).unwrap();
        let next = small.upload(engine, &[element(!0); 33]).unwrap();
        assert!(small.download(array).unwrap() == data && array.view.len() as usize == n, "{n}");
        assert!(small.download(next).unwrap() == vec![element(!0); 33], "{n}");
    }

    #[test]
    fn arrays_come_back_and_lie_apart() {
        let engine = Engine::open(DeviceChoice::Simulator).unwrap();
        let mut small = Small::default();
        for _ in 0..2 {
            for n in [0, 1, 2, 3, 7, 8, 9, 31, 33, 1000, CHUNK, 2 * CHUNK + 5] {
                comes_back::<u8>(&mut small, &engine, n, |i| (i as u8).wrapping_mul(37));
                comes_back::<u32>(&mut small, &engine, n, |i| (i as u32).wrapping_mul(0x9E37_79B9));
                comes_back::<u64>(&mut small, &engine, n, |i| i.wrapping_mul(0x9E37_79B9_7F4A_7C15));
                comes_back::<f64>(&mut small, &engine, n, |i| i as f64 / 3.0);
            }
            let chunks = small.chunks.len();
            small.clear();
            assert!(chunks > 1 && small.taken == (0, 0));
        }
    }

    #[test]
    fn a_second_sort_allocates_nothing() {
        let engine = Engine::open(DeviceChoice::Simulator).unwrap();
        let mut small = Small::default();
        let sort = |small: &mut Small| {
            small.clear();
            let array = small.upload(&engine, &[5u32, 6, 7, 8, 9]).unwrap();
            assert_eq!(small.elements_at(&engine, array.view, &[4, 0, 2]).unwrap(), [9, 5, 7]);
            let big = small.alloc::<u64>(&engine, CHUNK + 1).unwrap();
            assert_eq!(small.download(array).unwrap(), [5, 6, 7, 8, 9]);
            (big.chunk, small.chunks.iter().map(|chunk| chunk.as_ptr() as u64).collect::<Vec<_>>())
        };
        let first = sort(&mut small);
        assert_eq!((first.0, first.1.len()), (1, 2));
        assert_eq!(sort(&mut small), first);
    }
}
