//! The kernel of an exchange on the simulator, against the host's copies.

use rungs_exchange::{BLOCKS, LOADS, PIECES, THREADS, exchange_pull, pull};
use rungs_testing::{Buffer, launch, random};
use simt::Geometry;
use simt::sim::{Check, check};

/// A piece: words that it has, and by how many words both ends are off a multiple of 16 bytes.
type Shape = (usize, [usize; 2]);

/// Words that a block copies without a second look.
const STEP: usize = LOADS * 4 * THREADS as usize;

/// What peers sent, and memory that receives it, with words between the pieces that nobody may write.
struct Case {
    sent: Vec<Buffer<u32>>,
    starts: Vec<usize>,
    received: Buffer<u32>,
    want: Vec<u32>,
}

impl Case {
    fn new(shapes: &[Shape]) -> Self {
        let words = |piece: usize, n: usize| (0..n).map(|i| random((piece << 32 | i) as u64) as u32).collect();
        let sources: Vec<Vec<u32>> = shapes.iter().enumerate().map(|(piece, (n, _))| words(piece, *n)).collect();
        let sent = sources.iter().zip(shapes).map(|(words, (_, [off, _]))| Buffer::new(words, *off)).collect();
        let (mut starts, mut end) = (vec![], 3);
        for (n, [_, off]) in shapes {
            // At least three words lie between two pieces.
            starts.push((end + 3_usize).next_multiple_of(4) + off);
            end = starts[starts.len() - 1] + n;
        }
        let mut received = Buffer::poisoned(end + 5, 0);
        let mut want = received.slice().to_vec();
        for (words, start) in sources.iter().zip(&starts) {
            want[*start..start + words.len()].copy_from_slice(words);
        }
        Self { sent, starts, received, want }
    }

    /// Copies all pieces by one launch of so many blocks, or as many as suit them.
    fn run(mut self, blocks: Option<u32>) {
        let to = self.received.view();
        let piece = |(sent, start): (&mut Buffer<u32>, &usize)| {
            let from = sent.view();
            (from, to.slice(*start as u32, from.len()))
        };
        let pieces: Vec<_> = self.sent.iter_mut().zip(&self.starts).map(piece).collect();
        let (suited, args) = pull(&pieces);
        assert!(suited.grid[0] <= BLOCKS && suited.block[0] == THREADS);
        launch(exchange_pull, blocks.map_or(suited, |blocks| Geometry::linear(blocks, THREADS)), args);
        let wrong = self.received.slice().iter().zip(&self.want).position(|(got, want)| got != want);
        assert_eq!(wrong, None, "of {} words, in {blocks:?} blocks, pieces from {:?} on", self.want.len(), self.starts);
        self.received.check_guards("received");
        self.sent.iter().for_each(|sent| sent.check_guards("sent"));
    }
}

#[test]
fn every_length_and_place_of_one_piece() {
    for n in [0, 1, 2, 3, 4, 5, 7, 8, 31, 4095, 4096, 4097, STEP - 1, STEP, STEP + 1, 2 * STEP + 4099] {
        for off in 0..16 {
            // Long pieces in blocks that loop, and in more than have work.
            for blocks in [None, Some(1), Some(if n < 100 { 5 } else { 2 })] {
                Case::new(&[(n, [off / 4, off % 4])]).run(blocks);
            }
        }
    }
}

/// Pieces of many lengths, some of them empty, wherever they lie.
fn shapes(pieces: usize, seed: u64) -> Vec<Shape> {
    let shape = |piece: usize| {
        let bits = random(seed << 8 | piece as u64);
        let lengths = [0, 1, 6, 4093, 40_000, STEP + 13, 3 * STEP + 1];
        let n = lengths[(bits % 7) as usize];
        (if n == 0 { 0 } else { n + (bits >> 8) as usize % 5 }, [bits >> 16, bits >> 18])
    };
    (0..pieces).map(shape).map(|(n, off)| (n, off.map(|off| off as usize % 4))).collect()
}

#[test]
fn up_to_seven_pieces_at_once() {
    for pieces in 1..=PIECES {
        for seed in 0..6 {
            let shapes = shapes(pieces, seed);
            for blocks in [None, Some(1), Some(4)] {
                Case::new(&shapes).run(blocks);
            }
        }
    }
    // As an exchange sends them: alike, and in the same place within 128 bytes.
    Case::new(&[(70_001, [3, 3]); 3]).run(Some(BLOCKS));
    Case::new(&[(0, [0, 0]); PIECES]).run(Some(2));
}

#[test]
fn checker_is_silent() {
    let checked = check(Check { schedules: 4, ..Check::default() }, || {
        Case::new(&[(9001, [1, 1]), (0, [0, 0]), (6000, [2, 3]), (5, [3, 0])]).run(Some(3));
    });
    let findings: Vec<_> = checked.report.findings.iter().map(ToString::to_string).collect();
    assert!(findings.is_empty(), "{findings:#?}");
}

#[test]
fn fewer_blocks_for_fewer_words() {
    let mut words = vec![0; 3 * 4096 + 1];
    let view = rungs_testing::view(&mut words);
    let blocks = |n: u32| pull(&[(view.slice(0, n), view.slice(0, n))]).0.grid[0];
    assert_eq!([0, 1, 4096, 4097, 3 * 4096 + 1].map(blocks), [0, 1, 1, 2, 4]);
}

#[test]
#[should_panic(expected = "8 pieces are too many")]
fn eight_pieces_are_refused() {
    let mut words = [0; 4];
    let view = rungs_testing::view(&mut words);
    pull(&[(view, view); PIECES + 1]);
}

#[test]
#[should_panic(expected = "as many words at both ends")]
fn ends_of_different_lengths_are_refused() {
    let mut words = [0; 4];
    let view = rungs_testing::view(&mut words);
    pull(&[(view, view.slice(0, 3))]);
}
