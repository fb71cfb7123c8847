//! Places in the source, as numbers.

use super::super::finding::Site;
use std::collections::HashMap;
use std::panic::Location;

/// Places in the source, numbered.
pub(super) struct Sites {
    list: Vec<&'static Location<'static>>,
    numbers: HashMap<(&'static str, u32, u32), u32>,
    /// The numbers found last, by address of the place.
    cache: Box<[(usize, u32); Self::CACHE]>,
}

impl Default for Sites {
    fn default() -> Self {
        Self { list: Vec::new(), numbers: HashMap::new(), cache: Box::new([(0, 0); Self::CACHE]) }
    }
}

impl Sites {
    const CACHE: usize = 1024;

    #[inline]
    pub(super) fn number(&mut self, place: &'static Location<'static>) -> u32 {
        let key = std::ptr::from_ref(place) as usize;
        let slot = (key >> 3) % Self::CACHE;
        if self.cache[slot].0 == key {
            return self.cache[slot].1;
        }
        self.look_up(place, slot)
    }

    #[cold]
    fn look_up(&mut self, place: &'static Location<'static>, slot: usize) -> u32 {
        let key = std::ptr::from_ref(place) as usize;
        // One place can have several addresses.
        let (list, next) = (&mut self.list, self.numbers.len() as u32);
        let number = *self.numbers.entry((place.file(), place.line(), place.column())).or_insert_with(|| {
            list.push(place);
            next
        });
        self.cache[slot] = (key, number);
        number
    }

    pub(super) fn site(&self, number: u32) -> Site {
        self.list[number as usize].into()
    }
}
