//! Shadow memory: for each word of simulated memory who wrote it last, and who has read it since.
//!
//! A word has one cell of 32 bytes as long as it is accessed whole; from the first smaller access to a page on, each
//! byte of the page has its own, so that threads which write neighbouring bytes are not taken for a race. Cells are
//! made page by page when a kernel first touches them.

use super::super::map::Map;
use super::clock::Numbers;

/// Bytes of simulated memory per page.
const PAGE: u64 = 4096;

/// The writer of memory that nobody wrote, and that of memory which the host wrote or which was there before.
pub(super) const NOBODY: u32 = u32::MAX;
pub(super) const HOST: u32 = u32::MAX - 1;

/// The writer of what a kernel has written by atomic operations alone: they stand in the entries.
pub(super) const ATOMIC: u32 = u32::MAX - 2;

/// The kind of an access that is remembered next to the last write.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u32)]
pub(in super::super) enum Way {
    Read = 0,
    /// An atomic load.
    Load = 1,
    /// An atomic operation that may write.
    Modify = 2,
}

impl Way {
    /// What is done, for a finding.
    pub(super) fn words(self) -> &'static str {
        match self {
            Self::Read => "reads",
            Self::Load => "loads atomically",
            Self::Modify => "modifies atomically",
        }
    }
}

/// Accesses by lanes of one warp, in one way, at one time.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    /// Agents / 32, and a bit per agent.
    pub(super) warp: u32,
    pub(super) mask: u32,
    pub(super) time: u32,
    /// The site below [`Entry::SITES`], the way, whether it is an atomic access of 8 bytes, and whether the scope is
    /// the block.
    site: u32,
}

impl Entry {
    /// Sites that an entry can name.
    pub(super) const SITES: u32 = 1 << 28;
    const WIDE: u32 = 1 << 30;
    const BLOCK_SCOPE: u32 = 1 << 31;

    pub(super) fn new(agent: u32, time: u32, site: u32, way: Way, block_scope: bool) -> Self {
        let scope = if block_scope { Self::BLOCK_SCOPE } else { 0 };
        Self { warp: agent / 32, mask: 1 << (agent % 32), time, site: site | (way as u32) << 28 | scope }
    }

    /// The same as an access of this many bytes, which matters for atomic ones.
    #[inline(always)]
    pub(super) fn of_bytes(self, bytes: u32) -> Self {
        let wide = if bytes > 4 && self.way() != Way::Read { Self::WIDE } else { 0 };
        Self { site: self.site | wide, ..self }
    }

    /// Whether it is an atomic access of 8 bytes.
    pub(super) fn wide(self) -> bool {
        self.site & Self::WIDE != 0
    }

    pub(super) fn site(self) -> u32 {
        self.site % Self::SITES
    }

    pub(super) fn way(self) -> Way {
        match self.site >> 28 & 3 {
            0 => Way::Read,
            1 => Way::Load,
            _ => Way::Modify,
        }
    }

    pub(super) fn block_scope(self) -> bool {
        self.site & Self::BLOCK_SCOPE != 0
    }

    /// Whether the two are of one warp, way, size and scope.
    fn of_the_same(self, other: Self) -> bool {
        self.warp == other.warp && self.site >> 28 == other.site >> 28
    }

    /// The bit that stands for the entry's way; atomics for a block alone, and those of 8 bytes or of 4, have bits of
    /// their own too.
    pub(super) fn bit(self) -> u32 {
        let scope = if self.block_scope() { NARROW } else { 0 };
        match self.way() {
            Way::Read => READS,
            way => 1 << way as u32 | scope | if self.wide() { WIDE } else { WORDS },
        }
    }

    /// Whether all that stands against an earlier access stands against this one, too: no later access is in conflict
    /// with that one alone.
    pub(super) fn stands_for(self, earlier: Self) -> bool {
        let as_narrow = self.block_scope() || !earlier.block_scope();
        match (self.way(), earlier.way()) {
            (Way::Read, way) => way != Way::Modify,
            (Way::Load, way) => way == Way::Load && self.wide() == earlier.wide() && as_narrow,
            (Way::Modify, way) => way != Way::Read && self.wide() == earlier.wide() && as_narrow,
        }
    }

    /// Whether it is of that agent alone.
    #[inline]
    pub(super) fn is_of(self, agent: u32) -> bool {
        self.warp == agent / 32 && self.mask == 1 << (agent % 32)
    }

    /// The accesses by other lanes than these.
    pub(super) fn without(self, lanes: u32) -> Self {
        Self { mask: self.mask & !lanes, ..self }
    }

    pub(super) fn agents(self) -> impl Iterator<Item = u32> {
        (0..32).filter(move |lane| self.mask >> lane & 1 == 1).map(move |lane| self.warp * 32 + lane)
    }
}

/// The bits of the ways, as [`Entry::bit`] gives them.
pub(super) const READS: u32 = 1 << Way::Read as u32;
pub(super) const LOADS: u32 = 1 << Way::Load as u32;
pub(super) const MODIFIES: u32 = 1 << Way::Modify as u32;
pub(super) const NARROW: u32 = 1 << 3;
pub(super) const WIDE: u32 = 1 << 4;
pub(super) const WORDS: u32 = 1 << 5;

/// What is known of one word or byte.
#[derive(Clone, Copy)]
pub(super) struct Cell {
    /// The last plain write: agent, time, site.
    pub(super) writer: u32,
    pub(super) time: u32,
    pub(super) site: u32,
    /// The first of the accesses since then; its mask is 0 where there is none.
    first: Entry,
    /// The number of the list of the others, counted from 1; 0 where there are none.
    more: u32,
}

impl Cell {
    pub(super) const fn by(writer: u32) -> Self {
        Self { writer, time: 0, site: 0, first: Entry { warp: 0, mask: 0, time: 0, site: 0 }, more: 0 }
    }

    /// A plain write by the thread, at `site`, if its numbers tell that it knows all that others did to the word.
    /// Otherwise nothing happens.
    ///
    /// Here and in the next the first entry is read and written field by field: as a whole it would be read soon after
    /// a part of it was written, for which a processor waits.
    #[inline(always)]
    pub(super) fn write_in_order(&mut self, by: Numbers, site: u32) -> InOrder {
        let first = &self.first;
        let alone = first.warp == by.agent / 32 && first.mask == 1 << (by.agent % 32);
        let after = (self.writer == by.agent || by.know(self.writer, self.time))
            && (first.mask == 0 || alone || by.know(first.warp * 32, first.time));
        match (after, self.more) {
            (false, _) => InOrder::No,
            (true, 0) => {
                (self.writer, self.time, self.site, self.first.mask) = (by.agent, by.own, site, 0);
                InOrder::Yes
            }
            (true, _) => InOrder::WithFirst,
        }
    }

    /// A plain read likewise, of a word that somebody wrote; `near` says that it is one of shared memory, which other
    /// blocks do not access.
    #[inline(always)]
    pub(super) fn read_in_order(&mut self, by: Numbers, site: u32, near: bool) -> InOrder {
        if self.writer == NOBODY || self.writer != by.agent && !by.know(self.writer, self.time) {
            return InOrder::No;
        }
        let first = &mut self.first;
        let (warp, mask, reads) = (by.agent / 32, 1 << (by.agent % 32), first.site >> 28 == Way::Read as u32);
        if self.more != 0 {
            return if first.mask == 0 || reads { InOrder::WithFirst } else { InOrder::No };
        }
        // As `Entry::stands_for` says.
        let stands_for = near || first.site >> 28 & 3 != Way::Modify as u32 || by.launch_knows(first.time);
        if first.mask == 0 || stands_for && by.block_knows(first.warp * 32, first.time) {
            (first.warp, first.mask, first.time, first.site) = (warp, mask, by.own, site);
            InOrder::Yes
        } else if reads && (first.warp, first.time) == (warp, by.own) {
            (first.mask, first.site) = (first.mask | mask, site);
            InOrder::Yes
        } else if reads {
            InOrder::WithFirst
        } else {
            InOrder::No
        }
    }
}

/// What is known of the order between an access and the earlier ones to a cell.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum InOrder {
    /// It is in order with all, and noted.
    Yes,
    /// It is in order with the last write and the first entry. The list of the others has to be looked at.
    WithFirst,
    No,
}

/// The other entries of a cell, and a bit for each way of access among them.
#[derive(Default)]
struct List {
    entries: Vec<Entry>,
    ways: u32,
}

/// The lists of cells with more than one entry.
#[derive(Default)]
pub(super) struct Lists {
    lists: Vec<List>,
    free: Vec<u32>,
    /// Entries in all lists.
    entries: usize,
    /// Entries that were not kept because there were too many.
    pub(super) lost: u64,
}

/// Entries kept at most, all lists together. With the vectors that hold them they take less than 1 GiB.
const ENTRIES: usize = 1 << 23;

/// Entries of a list that are looked through at each access; a longer list is looked through when its length is a power
/// of two.
const SHORT: usize = 64;

impl Lists {
    fn of(&self, cell: &Cell) -> &[Entry] {
        match cell.more {
            0 => &[],
            n => &self.lists[n as usize - 1].entries,
        }
    }

    /// The entries of a cell that may stand against an access: `against` has a bit ([`Entry::bit`]) for each way that
    /// does.
    #[inline]
    pub(super) fn entries<'a>(&'a self, cell: &'a Cell, against: u32) -> impl Iterator<Item = Entry> + 'a {
        let others = if self.others(cell, against) { self.of(cell) } else { &[] };
        self.first(cell, against).into_iter().chain(others.iter().copied().filter(move |e| e.bit() & against != 0))
    }

    /// The first entry of a cell, if it may stand against such an access.
    #[inline]
    pub(super) fn first(&self, cell: &Cell, against: u32) -> Option<Entry> {
        (cell.first.mask != 0 && cell.first.bit() & against != 0).then_some(cell.first)
    }

    /// Whether another entry of a cell may.
    #[inline]
    pub(super) fn others(&self, cell: &Cell, against: u32) -> bool {
        cell.more != 0 && self.lists[cell.more as usize - 1].ways & against != 0
    }

    /// Whether the numbers tell of all entries of a cell but the first.
    pub(super) fn are_known(&self, cell: &Cell, to: Numbers) -> bool {
        self.of(cell).iter().all(|e| to.know(e.warp * 32, e.time))
    }

    /// Adds an entry. Entries that `obsolete` names, which every agent that knows the new one knows too, are dropped
    /// when one is added; so are the same agent's earlier accesses of the same way.
    #[inline]
    pub(super) fn add(&mut self, cell: &mut Cell, new: Entry, obsolete: impl Fn(Entry) -> bool) {
        let first = &mut cell.first;
        if first.mask != 0 && first.of_the_same(new) {
            if first.time == new.time {
                *first = Entry { mask: first.mask | new.mask, ..new };
                return;
            }
            first.mask &= !new.mask;
        }
        if cell.more == 0 && (first.mask == 0 || obsolete(*first)) {
            *first = new;
            return;
        }
        self.add_to_list(cell, (new.warp, new.mask), (new.time, new.site), obsolete);
    }

    /// Adds an entry, given in parts: they stay in registers. An entry as a whole would be written to the stack in
    /// parts and read from there at once, for each access.
    #[inline(never)]
    fn add_to_list(
        &mut self,
        cell: &mut Cell,
        (warp, mask): (u32, u32),
        (time, site): (u32, u32),
        obsolete: impl Fn(Entry) -> bool,
    ) {
        let new = Entry { warp, mask, time, site };
        if cell.more == 0 {
            if self.entries >= ENTRIES {
                self.lost += 1;
                return;
            }
            cell.more = self.free.pop().unwrap_or_else(|| {
                self.lists.push(List::default());
                self.lists.len() as u32
            });
        }
        let list = &mut self.lists[cell.more as usize - 1];
        let before = list.entries.len();
        let whole = before <= SHORT || before.is_power_of_two();
        let from = if whole { 0 } else { before - SHORT };
        let mut merged = false;
        for old in list.entries[from..].iter_mut().filter(|old| old.of_the_same(new)) {
            if old.time == new.time {
                old.mask |= new.mask;
                merged = true;
            } else {
                old.mask &= !new.mask;
            }
        }
        if merged {
            return;
        }
        if whole {
            list.entries.retain(|e| e.mask != 0 && !obsolete(*e));
        }
        if self.entries >= ENTRIES {
            self.lost += 1;
        } else {
            list.entries.push(new);
            list.ways |= new.bit();
        }
        self.entries = self.entries + list.entries.len() - before;
    }

    /// Forgets a cell's entries: a write that follows them all has been checked against them.
    #[inline]
    pub(super) fn clear(&mut self, cell: &mut Cell) {
        cell.first.mask = 0;
        if cell.more != 0 {
            let list = &mut self.lists[cell.more as usize - 1];
            self.entries -= list.entries.len();
            list.entries.clear();
            list.ways = 0;
            self.free.push(cell.more);
            cell.more = 0;
        }
    }
}

struct Page {
    cells: Vec<Cell>,
    /// The logarithm of the bytes per cell, 4 or 1.
    grain: u32,
}

impl Page {
    /// Gives each byte its own cell.
    fn split(&mut self, lists: &mut Lists) {
        let words = std::mem::take(&mut self.cells);
        self.cells = Vec::with_capacity(words.len() * 4);
        for cell in words {
            for byte in 0..4 {
                let mut copy = Cell { more: 0, ..cell };
                if byte == 0 {
                    copy.more = cell.more;
                } else {
                    for i in 0..lists.of(&cell).len() {
                        let entry = lists.of(&cell)[i];
                        lists.add(&mut copy, entry, |_| false);
                    }
                }
                self.cells.push(copy);
            }
        }
        self.grain = 0;
    }
}

/// Cells of one memory at most: 2.5 GiB. What has no cells is not judged.
const CELLS: usize = (5 << 29) / size_of::<Cell>();

/// The cells of one memory.
pub(super) struct Shadow {
    pages: Vec<Page>,
    /// Cells of all pages.
    held: usize,
    /// Stand for all cells that there is no room for, one access at a time.
    unjudged: [Cell; 16],
    /// Indices into `pages`, by page number.
    numbers: Map<u64, u32>,
    /// Numbers of pages found lately, each plus 1, and their indices.
    recent: [(u64, u32); RECENT],
}

/// Pages found lately: a kernel goes back and forth between a few arrays.
const RECENT: usize = 32;

impl Default for Shadow {
    fn default() -> Self {
        Self {
            pages: Vec::new(),
            held: 0,
            unjudged: [Cell::by(HOST); 16],
            numbers: Map::default(),
            recent: [(0, 0); RECENT],
        }
    }
}

impl Shadow {
    /// The cell of the word at `address`, if its page was found lately and has one cell per word.
    #[inline(always)]
    pub(super) fn word(&mut self, address: u64) -> Option<&mut Cell> {
        let number = address / PAGE;
        let (known, index) = self.recent[number as usize % RECENT];
        let page = (known == number + 1).then(|| &mut self.pages[index as usize])?;
        (page.grain == 2).then(|| &mut page.cells[(address % PAGE) as usize >> 2])
    }

    /// The cells of `bytes` bytes from `address` on, within one page. `fresh` says who wrote each word of a new page.
    #[inline]
    pub(super) fn cells(
        &mut self,
        address: u64,
        bytes: u64,
        lists: &mut Lists,
        fresh: impl Fn(u64) -> u32,
    ) -> &mut [Cell] {
        let number = address / PAGE;
        let index = match self.recent[number as usize % RECENT] {
            (known, index) if known == number + 1 => index,
            _ => match self.find(number, fresh) {
                Some(index) => index,
                None => return self.unjudged(bytes, lists),
            },
        };
        if self.pages[index as usize].grain > 0 && bytes < 4 {
            let more = 3 * self.pages[index as usize].cells.len();
            if self.held + more > CELLS {
                return self.unjudged(bytes, lists);
            }
            self.held += more;
            self.pages[index as usize].split(lists);
        }
        let page = &mut self.pages[index as usize];
        let at = address % PAGE;
        let (from, to) = (at >> page.grain, (at + bytes + (1 << page.grain) - 1) >> page.grain);
        &mut page.cells[from as usize..to as usize]
    }

    /// The index of a page, which is made if there is room for it.
    fn find(&mut self, number: u64, fresh: impl Fn(u64) -> u32) -> Option<u32> {
        let index = match self.numbers.get(&number) {
            Some(&index) => index,
            None => {
                if self.held + PAGE as usize / 4 > CELLS {
                    return None;
                }
                let cells: Vec<_> = (0..PAGE / 4).map(|word| Cell::by(fresh(number * PAGE + word * 4))).collect();
                self.held += cells.len();
                self.pages.push(Page { cells, grain: 2 });
                let index = self.pages.len() as u32 - 1;
                self.numbers.insert(number, index);
                index
            }
        };
        self.recent[number as usize % RECENT] = (number + 1, index);
        Some(index)
    }

    /// Cells without a past, for an access that is not judged.
    #[cold]
    fn unjudged(&mut self, bytes: u64, lists: &mut Lists) -> &mut [Cell] {
        lists.lost += 1;
        let cells = &mut self.unjudged[..bytes.div_ceil(4) as usize];
        for cell in &mut *cells {
            lists.clear(cell);
            *cell = Cell::by(HOST);
        }
        cells
    }

    /// Says that `writer` wrote all of `bytes` bytes from `address` on, and that nobody has read them; pages that no
    /// kernel has touched stay as they are.
    pub(super) fn overwrite(&mut self, address: u64, bytes: u64, writer: u32, lists: &mut Lists) {
        for number in address / PAGE..(address + bytes).div_ceil(PAGE) {
            let Some(&index) = self.numbers.get(&number) else { continue };
            let page = &mut self.pages[index as usize];
            let (from, to) = (address.max(number * PAGE), (address + bytes).min((number + 1) * PAGE));
            let cells = ((from % PAGE) >> page.grain)..(to - number * PAGE).div_ceil(1 << page.grain);
            for cell in &mut page.cells[cells.start as usize..cells.end as usize] {
                lists.clear(cell);
                *cell = Cell::by(writer);
            }
        }
    }

    /// Forgets everything, but keeps the pages: each word is one that nobody wrote.
    pub(super) fn reset(&mut self, lists: &mut Lists) {
        for page in &mut self.pages {
            for cell in &mut page.cells {
                lists.clear(cell);
                *cell = Cell::by(NOBODY);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn masks(lists: &Lists, cell: &Cell) -> Vec<(u32, u32, u32)> {
        lists.entries(cell, u32::MAX).map(|e| (e.warp, e.mask, e.time)).collect()
    }

    #[test]
    fn a_cell_is_32_bytes() {
        assert_eq!(size_of::<Cell>(), 32);
    }

    #[test]
    fn lanes_of_a_warp_share_an_entry() {
        let (mut lists, mut shadow) = (Lists::default(), Shadow::default());
        let cell = &mut shadow.cells(64, 4, &mut lists, |_| NOBODY)[0];
        let mut read = |agent, time| lists.add(cell, Entry::new(agent, time, 7, Way::Read, false), |e| e.time < time);
        read(0, 1);
        read(5, 1);
        read(40, 1);
        assert_eq!(masks(&lists, cell), [(0, 0b100001, 1), (1, 1 << 8, 1)]);
        lists.clear(cell);
        assert_eq!(masks(&lists, cell), []);
    }

    #[test]
    fn entries_that_no_one_needs_are_dropped() {
        let (mut lists, mut cell) = (Lists::default(), Cell::by(HOST));
        for time in 1..50 {
            lists.add(&mut cell, Entry::new(time % 3 * 32, time, 7, Way::Read, false), |e| e.time + 3 < time);
        }
        assert!(lists.entries(&cell, u32::MAX).count() <= 6, "{:?}", masks(&lists, &cell));
    }

    #[test]
    fn bytes_have_their_own_cells_once_one_is_accessed_alone() {
        let (mut lists, mut shadow) = (Lists::default(), Shadow::default());
        shadow.cells(8, 4, &mut lists, |_| NOBODY)[0].writer = 5;
        assert_eq!(shadow.cells(9, 1, &mut lists, |_| NOBODY).len(), 1);
        assert_eq!(shadow.cells(8, 4, &mut lists, |_| NOBODY).len(), 4);
        shadow.cells(9, 1, &mut lists, |_| NOBODY)[0].writer = 6;
        let writers: Vec<u32> = shadow.cells(8, 4, &mut lists, |_| NOBODY).iter().map(|c| c.writer).collect();
        assert_eq!(writers, [5, 6, 5, 5]);
        shadow.overwrite(0, 4096, HOST, &mut lists);
        assert!(shadow.cells(0, 4096, &mut lists, |_| NOBODY).iter().all(|c| c.writer == HOST));
    }
}
