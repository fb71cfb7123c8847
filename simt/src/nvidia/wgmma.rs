//! Products by four warps together, as PTX.
//!
//! LLVM has no intrinsics for these. All that the sums must not be touched between, from the fence to the wait, is one
//! text: a register that the compiler moved in there would make ptxas finish each instruction before the next. If LLVM
//! copied a text into two branches, the PTX builder's check of collectives would fail; it knows the texts by the fence
//! and by the wait for all products.

use super::assembly::asm;
use crate::machine::Sum;
use crate::scalar::{Eight, Lies, Operand, Seen};

/// What a descriptor of a tile says besides its address: rows of 128 bytes, swizzled, eight rows after 1024 bytes.
const TILE: u64 = 1 << 62 | (1024 >> 4) << 32 | 1 << 16;

/// The descriptor of the tile at an address of shared memory. What one instruction takes along K is 32 bytes: 2 of its
/// units.
#[inline(always)]
fn tile(address: u32) -> u64 {
    TILE | (address as u64 & 0x3FFFF) >> 4
}

/// The same of a tile whose rows are columns of the operand, one per k: 64 of them, and the next 64 columns of the tile
/// after 8192 bytes. What one instruction takes along K is 16 rows, 2048 bytes: 128 units.
const ACROSS: u64 = 1 << 62 | (1024 >> 4) << 32 | (8192 >> 4) << 16;

/// The descriptor of the tile at an address, which lies so.
#[inline(always)]
fn lying<L: Lies>(address: u32) -> u64 {
    (if L::ACROSS { ACROSS } else { TILE }) | (address as u64 & 0x3FFFF) >> 4
}

/// `{0}, {1}, …`, one operand per sum.
macro_rules! sums {
    (($first:literal $($i:literal)*)) => { concat!("{", $first, "}" $(, ", {", $i, "}")*) };
}

/// `t0, t1, …`, one register of the text's own per sum.
macro_rules! parts {
    (($first:literal $($i:literal)*)) => { concat!("t", $first $(, ", t", $i)*) };
}

/// Adds them to the sums.
macro_rules! add_parts {
    (($($i:literal)*)) => { concat!($("add.rn.f32 {", $i, "}, {", $i, "}, t", $i, ";"),*) };
}

/// The instruction for 32 bytes along K of the descriptors `x` and `y`; `$adds` is the predicate by which it adds to
/// the sums. Operands of 16 bits could lie the other way, so the instruction is told that they do not.
macro_rules! products {
    (Tf32 $columns:literal, $adds:literal, $to:expr) => { products!($columns, "k8.f32.tf32.tf32", $adds, $to, "") };
    (Bf16 $columns:literal, $adds:literal, $to:expr) => {
        products!($columns, "k16.f32.bf16.bf16", $adds, $to, ", 0, 0")
    };
    (F16 $columns:literal, $adds:literal, $to:expr) => { products!($columns, "k16.f32.f16.f16", $adds, $to, ", 0, 0") };
    ($columns:literal, $types:literal, $adds:literal, $to:expr, $lie:literal) => {
        concat!(
            "wgmma.mma_async.sync.aligned.m64n", $columns, $types, " {{", $to, "}}, x, y, ", $adds, ", 1, 1", $lie, ";"
        )
    };
}

/// The instructions for all k of two tiles.
macro_rules! steps {
    ($seen:ident $columns:literal, $first:literal, $a:literal, $b:literal, $to:expr) => {
        concat!(
            "mov.b64 x, ", $a, "; mov.b64 y, ", $b, ";", products!($seen $columns, $first, $to),
            "add.s64 x, x, 2; add.s64 y, y, 2;", products!($seen $columns, "adds", $to),
            "add.s64 x, x, 2; add.s64 y, y, 2;", products!($seen $columns, "adds", $to),
            "add.s64 x, x, 2; add.s64 y, y, 2;", products!($seen $columns, "adds", $to)
        )
    };
}

/// All products of two tiles, added to `$sums`.
macro_rules! add {
    ($seen:ident $columns:literal, ($($i:literal)*), $a:ident, $b:ident, $sums:ident) => {
        asm!(
            "{{ .reg .b64 x, y; .reg .pred adds; setp.eq.u32 adds, 0, 0;",
            "wgmma.fence.sync.aligned;",
            steps!($seen $columns, "adds", "{a}", "{b}", sums!(($($i)*))),
            "wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0; }}",
            $(inout(reg32) $sums[$i],)*
            a = in(reg64) tile($a), b = in(reg64) tile($b), options(nostack)
        )
    };
}

/// All products of two pairs of tiles, summed by themselves and then added to `$sums`.
macro_rules! add_split {
    ($seen:ident $count:literal, $columns:literal, ($($i:literal)*), $a:ident, $b:ident, $sums:ident) => {
        asm!(
            "{{ .reg .b64 x, y; .reg .pred adds, begins; setp.eq.u32 adds, 0, 0;",
            concat!("setp.ne.u32 begins, 0, 0; .reg .f32 t<", $count, ">; wgmma.fence.sync.aligned;"),
            steps!($seen $columns, "begins", "{rest_a}", "{b}", parts!(($($i)*))),
            steps!($seen $columns, "adds", "{a}", "{rest_b}", parts!(($($i)*))),
            steps!($seen $columns, "adds", "{a}", "{b}", parts!(($($i)*))),
            "wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;",
            // Here, because elsewhere the compiler would put them off, and keep both in registers.
            add_parts!(($($i)*)),
            "}}",
            $(inout(reg32) $sums[$i],)*
            a = in(reg64) tile($a[0]), rest_a = in(reg64) tile($a[1]),
            b = in(reg64) tile($b[0]), rest_b = in(reg64) tile($b[1]), options(nostack)
        )
    };
}

/// All products of two tiles of `bf16` and of two of `f32`, summed by themselves and then added to `$sums`.
macro_rules! add_mixed {
    ($count:literal, $columns:literal, ($($i:literal)*), $small:ident, $large:ident, $sums:ident) => {
        asm!(
            "{{ .reg .b64 x, y; .reg .pred adds, begins; setp.eq.u32 adds, 0, 0;",
            concat!("setp.ne.u32 begins, 0, 0; .reg .f32 t<", $count, ">; wgmma.fence.sync.aligned;"),
            steps!(Bf16 $columns, "begins", "{small_a}", "{small_b}", parts!(($($i)*))),
            // Only instructions of one shape are in order with each other if they add to the same registers; those
            // that follow have another.
            "wgmma.fence.sync.aligned;",
            steps!(Tf32 $columns, "adds", "{a}", "{b}", parts!(($($i)*))),
            "wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;",
            // Here, for the reason given in `add_split`.
            add_parts!(($($i)*)),
            "}}",
            $(inout(reg32) $sums[$i],)*
            a = in(reg64) tile($large[0]), b = in(reg64) tile($large[1]),
            small_a = in(reg64) tile($small[0]), small_b = in(reg64) tile($small[1]), options(nostack)
        )
    };
}

/// Moves a descriptor on, in its low word alone: with a carry, ptxas has six instructions between two products.
macro_rules! on {
    ($descriptor:literal, $units:literal) => {
        concat!(
            "mov.b64 {{low, high}}, ", $descriptor, "; add.u32 low, low, ", $units, ";",
            "mov.b64 ", $descriptor, ", {{low, high}};"
        )
    };
}

/// The instruction for the next k.
macro_rules! further {
    ($types:literal $columns:literal, $lie:literal, $x:literal, $y:literal, $to:expr) => {
        concat!(on!("x", $x), on!("y", $y), products!($columns, $types, "adds", $to, $lie))
    };
}

/// All products of two tiles of 16 bits, to be added to `$sums` while the threads go on; those begun before are added.
/// `$lie`: the bits that say which tiles are MN-major, and `$x`, `$y`: what their descriptors have per instruction.
macro_rules! begin {
    ($types:literal $columns:literal, $lie:literal, $x:literal, $y:literal, ($($i:literal)*), $a:expr, $b:expr,
     $sums:ident) => {
        asm!(
            "{{ .reg .b64 x, y; .reg .b32 low, high; .reg .pred adds; setp.eq.u32 adds, 0, 0;",
            "wgmma.fence.sync.aligned;",
            concat!("mov.b64 x, {a}; mov.b64 y, {b};", products!($columns, $types, "adds", sums!(($($i)*)), $lie)),
            further!($types $columns, $lie, $x, $y, sums!(($($i)*))),
            further!($types $columns, $lie, $x, $y, sums!(($($i)*))),
            further!($types $columns, $lie, $x, $y, sums!(($($i)*))),
            "wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 1; }}",
            $(inout(reg32) $sums[$i],)*
            a = in(reg64) $a, b = in(reg64) $b, options(nostack)
        )
    };
}

/// [`begin`] for two tiles as they lie.
macro_rules! begin_lying {
    ($types:literal $columns:literal, ($A:ident, $B:ident), $list:tt, $a:expr, $b:expr, $sums:ident) => {
        match ($A::ACROSS, $B::ACROSS) {
            (false, false) => begin!($types $columns, ", 0, 0", "2", "2", $list, $a, $b, $sums),
            (false, true) => begin!($types $columns, ", 0, 1", "2", "128", $list, $a, $b, $sums),
            (true, false) => begin!($types $columns, ", 1, 0", "128", "2", $list, $a, $b, $sums),
            (true, true) => begin!($types $columns, ", 1, 1", "128", "128", $list, $a, $b, $sums),
        }
    };
}

/// All products of two tiles of 8 bits, summed in registers of the text's own; `y` is B's descriptor.
macro_rules! eight_steps {
    ($types:literal $columns:literal, $parts:tt) => {
        concat!(
            "wgmma.fence.sync.aligned; mov.b64 x, {a};",
            products!($columns, $types, "begins", parts!($parts), ""),
            further!($types $columns, "", "2", "2", parts!($parts)),
            further!($types $columns, "", "2", "2", parts!($parts)),
            further!($types $columns, "", "2", "2", parts!($parts)),
            "wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;"
        )
    };
}

/// Adds these registers times a factor to the sums: two of a row, two of the row 8 further down.
macro_rules! add_scaled_parts {
    (($($p:literal $q:literal $r:literal $s:literal)*), $above:literal, $below:literal,
     ($($i:literal $j:literal $k:literal $l:literal)*)) => {
        concat!($(
            "fma.rn.f32 {", $i, "}, t", $p, ", ", $above, ", {", $i, "};",
            "fma.rn.f32 {", $j, "}, t", $q, ", ", $above, ", {", $j, "};",
            "fma.rn.f32 {", $k, "}, t", $r, ", ", $below, ", {", $k, "};",
            "fma.rn.f32 {", $l, "}, t", $s, ", ", $below, ", {", $l, "};"
        ),*)
    };
}

/// The products with the next 128 columns of B, 16384 bytes further on: in a second step, so that the sums of 128
/// columns alone take registers of the text's own.
macro_rules! second_half {
    ($types:literal $columns:literal, $parts:tt, ()) => {
        ""
    };
    ($types:literal $columns:literal, $parts:tt, $list:tt) => {
        concat!(
            "mov.b64 y, {b};", on!("y", "1024"),
            eight_steps!($types $columns, $parts),
            add_scaled_parts!($parts, "{above_1}", "{below_1}", $list)
        )
    };
}

/// All products of two tiles of 8 bits, summed by themselves, and times their factors added to `$sums`. `$columns` are
/// those of one step.
macro_rules! add_scaled {
    ($types:literal $columns:literal, ($($i:literal)*), ($($j:literal)*), $a:ident, $b:ident, $factors:ident,
     $sums:ident) => {
        asm!(
            "{{ .reg .b64 x, y; .reg .pred adds, begins; setp.eq.u32 adds, 0, 0; setp.ne.u32 begins, 0, 0;",
            ".reg .f32 t<64>; .reg .b32 low, high; mov.b64 y, {b};",
            eight_steps!($types $columns, ($($i)*)),
            // Here, for the reason given in `add_split`.
            add_scaled_parts!(($($i)*), "{above_0}", "{below_0}", ($($i)*)),
            second_half!($types $columns, ($($i)*), ($($j)*)),
            // The last factors are named in every text.
            "}} // {above_1} {below_1}",
            $(inout(reg32) $sums[$i],)* $(inout(reg32) $sums[$j],)*
            a = in(reg64) tile($a), b = in(reg64) tile($b),
            above_0 = in(reg32) $factors[0][0], below_0 = in(reg32) $factors[0][1],
            above_1 = in(reg32) $factors[1][0], below_1 = in(reg32) $factors[1][1], options(nostack)
        )
    };
}

/// The instruction for eight k of a fragment, of the registers `$a`, and the descriptor `y`; `$adds` as for `products`.
macro_rules! held {
    ($columns:literal, $a:literal, $adds:literal, $to:expr) => {
        concat!(
            "wgmma.mma_async.sync.aligned.m64n", $columns, "k8.f32.tf32.tf32 {{", $to, "}}, {{", $a,
            "}}, y, ", $adds, ", 1, 1;"
        )
    };
}

/// The instructions for all k of four fragments, of the registers `$a`, and a tile.
macro_rules! held_steps {
    ($columns:literal, ($a:literal $($more:literal)*), $first:literal, $b:literal, $to:expr) => {
        concat!(
            "mov.b64 y, ", $b, ";", held!($columns, $a, $first, $to),
            $("add.s64 y, y, 2;", held!($columns, $more, "adds", $to)),*
        )
    };
}

/// All products of two pairs, fragments and a tile, summed by themselves and then added to `$sums`.
macro_rules! add_split_held {
    ($count:literal, $columns:literal, ($($i:literal)*), $a:ident, $b:ident, $sums:ident) => {
        asm!(
            "{{ .reg .b64 y; .reg .pred adds, begins; setp.eq.u32 adds, 0, 0;",
            concat!("setp.ne.u32 begins, 0, 0; .reg .f32 t<", $count, ">; wgmma.fence.sync.aligned;"),
            held_steps!(
                $columns,
                ("{r0}, {r1}, {r2}, {r3}" "{r4}, {r5}, {r6}, {r7}" "{r8}, {r9}, {r10}, {r11}"
                 "{r12}, {r13}, {r14}, {r15}"),
                "begins", "{b}", parts!(($($i)*))
            ),
            held_steps!(
                $columns,
                ("{a0}, {a1}, {a2}, {a3}" "{a4}, {a5}, {a6}, {a7}" "{a8}, {a9}, {a10}, {a11}"
                 "{a12}, {a13}, {a14}, {a15}"),
                "adds", "{rest_b}", parts!(($($i)*))
            ),
            held_steps!(
                $columns,
                ("{a0}, {a1}, {a2}, {a3}" "{a4}, {a5}, {a6}, {a7}" "{a8}, {a9}, {a10}, {a11}"
                 "{a12}, {a13}, {a14}, {a15}"),
                "adds", "{b}", parts!(($($i)*))
            ),
            "wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;",
            add_parts!(($($i)*)),
            "}}",
            $(inout(reg32) $sums[$i],)*
            a0 = in(reg32) $a[0][0][0], a1 = in(reg32) $a[0][0][1],
            a2 = in(reg32) $a[0][0][2], a3 = in(reg32) $a[0][0][3],
            a4 = in(reg32) $a[0][1][0], a5 = in(reg32) $a[0][1][1],
            a6 = in(reg32) $a[0][1][2], a7 = in(reg32) $a[0][1][3],
            a8 = in(reg32) $a[0][2][0], a9 = in(reg32) $a[0][2][1],
            a10 = in(reg32) $a[0][2][2], a11 = in(reg32) $a[0][2][3],
            a12 = in(reg32) $a[0][3][0], a13 = in(reg32) $a[0][3][1],
            a14 = in(reg32) $a[0][3][2], a15 = in(reg32) $a[0][3][3],
            r0 = in(reg32) $a[1][0][0], r1 = in(reg32) $a[1][0][1],
            r2 = in(reg32) $a[1][0][2], r3 = in(reg32) $a[1][0][3],
            r4 = in(reg32) $a[1][1][0], r5 = in(reg32) $a[1][1][1],
            r6 = in(reg32) $a[1][1][2], r7 = in(reg32) $a[1][1][3],
            r8 = in(reg32) $a[1][2][0], r9 = in(reg32) $a[1][2][1],
            r10 = in(reg32) $a[1][2][2], r11 = in(reg32) $a[1][2][3],
            r12 = in(reg32) $a[1][3][0], r13 = in(reg32) $a[1][3][1],
            r14 = in(reg32) $a[1][3][2], r15 = in(reg32) $a[1][3][3],
            b = in(reg64) tile($b[0]), rest_b = in(reg64) tile($b[1]), options(nostack)
        )
    };
}

/// All products of two fragments and half a tile of `f32`, to be added to `$sums` while the threads go on; those begun
/// before are added, and the registers of their fragments are the compiler's again.
macro_rules! begin_held {
    ($columns:literal, ($($i:literal)*), $a:ident, $b:expr, $sums:ident) => {
        asm!(
            "{{ .reg .b64 y; .reg .pred adds; setp.eq.u32 adds, 0, 0; mov.b64 y, {b};",
            "wgmma.fence.sync.aligned;",
            held!($columns, "{a0}, {a1}, {a2}, {a3}", "adds", sums!(($($i)*))),
            "add.s64 y, y, 2;",
            held!($columns, "{a4}, {a5}, {a6}, {a7}", "adds", sums!(($($i)*))),
            "wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 1; }}",
            $(inout(reg32) $sums[$i],)*
            a0 = in(reg32) $a[0][0], a1 = in(reg32) $a[0][1], a2 = in(reg32) $a[0][2], a3 = in(reg32) $a[0][3],
            a4 = in(reg32) $a[1][0], a5 = in(reg32) $a[1][1], a6 = in(reg32) $a[1][2], a7 = in(reg32) $a[1][3],
            b = in(reg64) $b, options(nostack)
        )
    };
}

/// Waits for all products.
macro_rules! finish {
    (($($i:literal)*), $sums:ident) => {
        // The comment names the operands: from here on their registers are the compiler's again.
        asm!(
            concat!("wgmma.wait_group.sync.aligned 0; // ", sums!(($($i)*))),
            $(inout(reg32) $sums[$i],)* options(nostack)
        )
    };
}

macro_rules! widths {
    ($($count:literal, $columns:literal, ($($i:literal)*);)*) => {
        /// # Safety
        /// `a` and `b` are the addresses of tiles in the block's shared memory, multiples of 1024: of 64 rows, and of
        /// two for each sum. The four warps call together.
        #[inline(always)]
        pub(crate) unsafe fn multiply_add<T: Operand, const SUMS: usize>(
            a: u32,
            b: u32,
            mut sums: [f32; SUMS],
        ) -> [f32; SUMS] {
            $(
                if SUMS == $count {
                    // SAFETY: the caller's promise is the instructions' condition.
                    unsafe {
                        match T::SEEN {
                            Seen::Tf32 => add!(Tf32 $columns, ($($i)*), a, b, sums),
                            Seen::Bf16 => add!(Bf16 $columns, ($($i)*), a, b, sums),
                            Seen::F16 => add!(F16 $columns, ($($i)*), a, b, sums),
                            Seen::E4m3 | Seen::E5m2 => super::assembly::trap(),
                        }
                    }
                }
            )*
            sums
        }

        /// # Safety
        /// As for `multiply_add`, for each of the two pairs of tiles.
        #[inline(always)]
        pub(crate) unsafe fn multiply_add_split<T: Operand, const SUMS: usize>(
            a: [u32; 2],
            b: [u32; 2],
            mut sums: [f32; SUMS],
        ) -> [f32; SUMS] {
            $(
                if SUMS == $count {
                    // SAFETY: the caller's promise is the instructions' condition.
                    unsafe {
                        match T::SEEN {
                            Seen::Tf32 => add_split!(Tf32 $count, $columns, ($($i)*), a, b, sums),
                            Seen::Bf16 => add_split!(Bf16 $count, $columns, ($($i)*), a, b, sums),
                            Seen::F16 => add_split!(F16 $count, $columns, ($($i)*), a, b, sums),
                            Seen::E4m3 | Seen::E5m2 => super::assembly::trap(),
                        }
                    }
                }
            )*
            sums
        }

        /// # Safety
        /// As for `multiply_add`, for the two tiles `b`.
        #[inline(always)]
        pub(crate) unsafe fn multiply_add_split_held<const SUMS: usize>(
            a: [[[u32; 4]; 4]; 2],
            b: [u32; 2],
            mut sums: [f32; SUMS],
        ) -> [f32; SUMS] {
            $(
                if SUMS == $count {
                    // SAFETY: the caller's promise is the instructions' condition.
                    unsafe { add_split_held!($count, $columns, ($($i)*), a, b, sums) }
                }
            )*
            sums
        }

        /// # Safety
        /// As for `multiply_add`, for the two tiles of `bf16` and for the two of `f32`.
        #[inline(always)]
        pub(crate) unsafe fn multiply_add_mixed<const SUMS: usize>(
            small: [u32; 2],
            large: [u32; 2],
            mut sums: [f32; SUMS],
        ) -> [f32; SUMS] {
            $(
                if SUMS == $count {
                    // SAFETY: the caller's promise is the instructions' condition.
                    unsafe { add_mixed!($count, $columns, ($($i)*), small, large, sums) }
                }
            )*
            sums
        }

        /// # Safety
        /// As for `multiply_add`, of 16 bits; nothing touches the sums before `finish`.
        #[inline(always)]
        pub(crate) unsafe fn begin<T: Operand, A: Lies, B: Lies, const SUMS: usize>(
            a: u32,
            b: u32,
            mut sums: [Sum; SUMS],
        ) -> [Sum; SUMS] {
            let (a, b) = (lying::<A>(a), lying::<B>(b));
            $(
                if SUMS == $count {
                    // SAFETY: the caller's promise is the instructions' condition.
                    unsafe {
                        match T::SEEN {
                            Seen::Tf32 | Seen::E4m3 | Seen::E5m2 => super::assembly::trap(),
                            Seen::Bf16 => {
                                begin_lying!("k16.f32.bf16.bf16" $columns, (A, B), ($($i)*), a, b, sums)
                            }
                            Seen::F16 => begin_lying!("k16.f32.f16.f16" $columns, (A, B), ($($i)*), a, b, sums),
                        }
                    }
                }
            )*
            sums
        }

        /// # Safety
        /// As for `multiply_add`, of `f32`; `half` is 0 or 1. Nothing touches the sums before `finish`.
        #[inline(always)]
        pub(crate) unsafe fn begin_held<const SUMS: usize>(
            a: [[u32; 4]; 2],
            b: u32,
            half: u32,
            mut sums: [Sum; SUMS],
        ) -> [Sum; SUMS] {
            // Half a row is 64 bytes.
            let b = tile(b + half * 64);
            $(
                if SUMS == $count {
                    // SAFETY: the caller's promise is the instructions' condition.
                    unsafe { begin_held!($columns, ($($i)*), a, b, sums) }
                }
            )*
            sums
        }

        #[inline(always)]
        pub(crate) fn finish<const SUMS: usize>(mut sums: [Sum; SUMS]) -> [f32; SUMS] {
            $(
                if SUMS == $count {
                    // SAFETY: waiting has no conditions.
                    unsafe { finish!(($($i)*), sums) }
                }
            )*
            // SAFETY: both have as many numbers of 32 bits.
            unsafe { core::mem::transmute_copy(&sums) }
        }
    };
}
widths! {
    32, "64", (0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31);
    64, "128", (
        0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31
        32 33 34 35 36 37 38 39 40 41 42 43 44 45 46 47 48 49 50 51 52 53 54 55 56 57 58 59 60 61 62 63
    );
    128, "256", (
        0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31
        32 33 34 35 36 37 38 39 40 41 42 43 44 45 46 47 48 49 50 51 52 53 54 55 56 57 58 59 60 61 62 63
        64 65 66 67 68 69 70 71 72 73 74 75 76 77 78 79 80 81 82 83 84 85 86 87 88 89 90 91 92 93 94 95
        96 97 98 99 100 101 102 103 104 105 106 107 108 109 110 111 112 113 114 115 116 117 118 119 120 121 122
        123 124 125 126 127
    );
}

macro_rules! eights {
    ($($count:literal, $columns:literal, $step:literal, ($($i:literal)*), ($($j:literal)*);)*) => {
        /// # Safety
        /// As for `multiply_add`, of 8 bits; nothing touches the sums before `finish`.
        #[inline(always)]
        pub(crate) unsafe fn begin_eight<S: Eight, T: Eight, const SUMS: usize>(
            a: u32,
            b: u32,
            mut sums: [Sum; SUMS],
        ) -> [Sum; SUMS] {
            let (a, b) = (tile(a), tile(b));
            $(
                if SUMS == $count {
                    // SAFETY: the caller's promise is the instructions' condition.
                    unsafe {
                        match (S::SEEN, T::SEEN) {
                            (Seen::E4m3, Seen::E4m3) => {
                                begin!("k32.f32.e4m3.e4m3" $columns, "", "2", "2", ($($i)* $($j)*), a, b, sums)
                            }
                            (Seen::E4m3, Seen::E5m2) => {
                                begin!("k32.f32.e4m3.e5m2" $columns, "", "2", "2", ($($i)* $($j)*), a, b, sums)
                            }
                            (Seen::E5m2, Seen::E4m3) => {
                                begin!("k32.f32.e5m2.e4m3" $columns, "", "2", "2", ($($i)* $($j)*), a, b, sums)
                            }
                            (Seen::E5m2, Seen::E5m2) => {
                                begin!("k32.f32.e5m2.e5m2" $columns, "", "2", "2", ($($i)* $($j)*), a, b, sums)
                            }
                            _ => super::assembly::trap(),
                        }
                    }
                }
            )*
            sums
        }

        /// # Safety
        /// As for `multiply_add`, of 8 bits.
        #[inline(always)]
        pub(crate) unsafe fn add_scaled<S: Eight, T: Eight, const SUMS: usize>(
            a: u32,
            b: u32,
            factors: [[f32; 2]; 2],
            mut sums: [f32; SUMS],
        ) -> [f32; SUMS] {
            $(
                if SUMS == $count {
                    // SAFETY: the caller's promise is the instructions' condition.
                    unsafe {
                        match (S::SEEN, T::SEEN) {
                            (Seen::E4m3, Seen::E4m3) => {
                                add_scaled!("k32.f32.e4m3.e4m3" $step, ($($i)*), ($($j)*), a, b, factors, sums)
                            }
                            (Seen::E4m3, Seen::E5m2) => {
                                add_scaled!("k32.f32.e4m3.e5m2" $step, ($($i)*), ($($j)*), a, b, factors, sums)
                            }
                            (Seen::E5m2, Seen::E4m3) => {
                                add_scaled!("k32.f32.e5m2.e4m3" $step, ($($i)*), ($($j)*), a, b, factors, sums)
                            }
                            (Seen::E5m2, Seen::E5m2) => {
                                add_scaled!("k32.f32.e5m2.e5m2" $step, ($($i)*), ($($j)*), a, b, factors, sums)
                            }
                            _ => super::assembly::trap(),
                        }
                    }
                }
            )*
            sums
        }
    };
}
// The columns of all sums, those of one step of `add_scaled`, and the sums of the first step and of a second.
eights! {
    32, "64", "64", (0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31), ();
    64, "128", "128", (
        0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31
        32 33 34 35 36 37 38 39 40 41 42 43 44 45 46 47 48 49 50 51 52 53 54 55 56 57 58 59 60 61 62 63
    ), ();
    128, "256", "128", (
        0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31
        32 33 34 35 36 37 38 39 40 41 42 43 44 45 46 47 48 49 50 51 52 53 54 55 56 57 58 59 60 61 62 63
    ), (
        64 65 66 67 68 69 70 71 72 73 74 75 76 77 78 79 80 81 82 83 84 85 86 87 88 89 90 91 92 93 94 95
        96 97 98 99 100 101 102 103 104 105 106 107 108 109 110 111 112 113 114 115 116 117 118 119 120 121 122
        123 124 125 126 127
    );
}
