//! What a thread does with its sums. Made for each type by a macro, as in `output.rs`.

use super::super::{Element, Output};
use super::Sums;
use simt::warp::{self, FULL};
use simt::{bf16, f16, four, opaque, thread, unroll};

/// A type of elements of C.
pub trait Stored: Element<Sum = f32> {
    /// Writes the thread's elements of C; (`row`, `column`) is the first of the group's.
    fn store<const SUMS: usize, const WIDE: usize>(c: Output<Self>, row: u32, column: u32, sums: &Sums<SUMS, WIDE>);
}

macro_rules! stored {
    ($($t:ident: $side:ident;)*) => {$(
        impl Stored for $t {
            #[simt::device]
            fn store<const SUMS: usize, const WIDE: usize>(
                c: Output<$t>,
                row: u32,
                column: u32,
                sums: &Sums<SUMS, WIDE>,
            ) {
                let lane = warp::lane_id();
                let (g, t) = (lane / 4, lane % 4);
                // Of two lanes side by side the even one has four columns of row g, the odd one four of row g + 8.
                let row = row + thread::thread_idx_x() / 32 % 4 * 16 + g + t % 2 * 8;
                let column = column + t / 2 * 4;
                let packs = c.matrix.has_packs();
                let odd = t % 2 == 1;
                $side(c, row, column, &sums[0], odd, packs);
                if WIDE == 2 {
                    $side(c, row, column + 2 * SUMS as u32, &sums[1], odd, packs);
                }
            }
        }

        /// [`Stored::store`] for the columns of one call.
        #[simt::device]
        fn $side<const SUMS: usize>(
            c: Output<$t>,
            row: u32,
            column: u32,
            sums: &[f32; SUMS],
            odd: bool,
            packs: bool,
        ) {
            let whole = packs && column + 2 * SUMS as u32 <= c.columns() + column % 8;
            if warp::all(FULL, whole && c.beta == 0.0) {
                unroll::<32>(|j| {
                    if 4 * j < SUMS {
                        c.set_4_inside(row, column + 8 * j as u32, exchange(sums, j, odd));
                    }
                });
            } else {
                unroll::<32>(|j| {
                    if 4 * j < SUMS {
                        c.set_4(row, opaque(column) + 8 * j as u32, exchange(sums, j, odd), packs);
                    }
                });
            }
        }
    )*};
}
stored! {
    f32: side;
    bf16: side_bf16;
    f16: side_f16;
}

/// Sums of group `j` of eight columns: a lane and its neighbour have two of row g and two of row g + 8 each, and give
/// each other what makes four of a row.
#[simt::device]
fn exchange<const SUMS: usize>(sums: &[f32; SUMS], j: usize, odd: bool) -> [f32; 4] {
    let [a0, a1, b0, b1] = four(move |i| sums[4 * j + i]);
    let give = if odd { [a0, a1] } else { [b0, b1] };
    let [x0, x1] = give.map(|sum| warp::shuffle_xor(FULL, sum, 1));
    if odd { [x0, x1, b0, b1] } else { [a0, a1, x0, x1] }
}
