//! Views of shared memory: an array of riri's, known by its name, and a place in it.

use crate::atomic::{Order, Scope};
use crate::{THREAD, here, not_expressible};
use std::marker::PhantomData;

pub struct Shared<T> {
    name: &'static str,
    total: u32,
    start: u32,
    len: u32,
    element: PhantomData<T>,
}

impl<T> Clone for Shared<T> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T> Copy for Shared<T> {}

impl<T> Shared<T> {
    pub const fn named(name: &'static str, len: u32) -> Self {
        Self { name, total: len, start: 0, len, element: PhantomData }
    }

    /// Words of the launch's dynamic shared memory, `offset` bytes from its start.
    #[track_caller]
    pub fn dynamic(offset: u32, len: u32) -> Self {
        let total = THREAD.get().1 / 4;
        assert!(offset / 4 + len <= total, "{len} words {offset} bytes into {total} words of dynamic shared memory");
        Self { start: offset / 4, len, ..Self::named("dynamic", total) }
    }

    #[track_caller]
    pub fn slice(self, start: u32, len: u32) -> Self {
        assert!(start <= self.len && len <= self.len - start, "a slice beyond its view");
        Self { start: self.start + start, len, ..self }
    }

    pub fn cast<U>(self) -> Shared<U> {
        not_expressible("a view of other elements")
    }
}

impl Shared<u32> {
    #[track_caller]
    pub fn get(self, i: u32) -> u32 {
        here().shared::<u32>(self.name, self.total as usize).read(here(), (self.start + i) as usize)
    }

    #[track_caller]
    pub fn set(self, i: u32, value: u32) {
        here().shared::<u32>(self.name, self.total as usize).write(here(), (self.start + i) as usize, value);
    }

    pub fn fetch_add(self, _: u32, _: u32, _: Order, _: Scope) -> u32 {
        not_expressible("atomics in shared memory")
    }

    pub fn fetch_min(self, _: u32, _: u32, _: Order, _: Scope) -> u32 {
        not_expressible("atomics in shared memory")
    }

    pub fn load(self, _: u32, _: Order, _: Scope) -> u32 {
        not_expressible("atomics in shared memory")
    }

    pub fn store(self, _: u32, _: u32, _: Order, _: Scope) {
        not_expressible("atomics in shared memory")
    }
}

impl Shared<u8> {
    pub fn set(self, _: u32, _: u8) {
        not_expressible("bytes beside words")
    }
}
