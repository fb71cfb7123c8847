//! Atomics as PTX: `asm!` with the order and the scope written out, because LLVM drops the order of a
//! read-modify-write for this target.
//!
//! Order and scope are constants where kernels call, so each `match` below is decided at compile time.

use super::assembly::{asm, trap};
use crate::machine::{Operation, Order, Scope};
use crate::scalar::{AtomicScalar, Kind, from_bits, to_bits};

/// One instruction of the form `atom.<order>.<scope>.<space>.<op> d, [a], v;` for every order and scope.
macro_rules! rmw {
    (
        $space:literal, $op:literal, $class:ident, $t:ty, $address_class:ident, $a:expr, $v:expr,
        $order:expr, $scope:expr
    ) => {{
        let d: $t;
        macro_rules! one {
            ($qualifier:literal) => {
                asm!(
                    concat!("atom.", $qualifier, ".", $space, ".", $op, " {0}, [{1}], {2};"),
                    out($class) d, in($address_class) $a, in($class) $v as $t, options(nostack)
                )
            };
        }
        each_qualifier!(one, $order, $scope);
        d as u64
    }};
}

/// `atom.….cas.b32/b64 d, [a], current, new;`
macro_rules! cas {
    (
        $space:literal, $op:literal, $class:ident, $t:ty, $address_class:ident, $a:expr, $c:expr, $n:expr,
        $order:expr, $scope:expr
    ) => {{
        let d: $t;
        macro_rules! one {
            ($qualifier:literal) => {
                asm!(
                    concat!("atom.", $qualifier, ".", $space, ".", $op, " {0}, [{1}], {2}, {3};"),
                    out($class) d, in($address_class) $a, in($class) $c as $t, in($class) $n as $t, options(nostack)
                )
            };
        }
        each_qualifier!(one, $order, $scope);
        d as u64
    }};
}

/// `ld.<order>.<scope>.<space>.b32/b64 d, [a];` A release load does not exist; it is taken as acquire.
macro_rules! load {
    ($space:literal, $op:literal, $class:ident, $t:ty, $address_class:ident, $a:expr, $order:expr, $scope:expr) => {{
        let d: $t;
        macro_rules! one {
            ($qualifier:literal) => {
                asm!(
                    concat!("ld.", $qualifier, ".", $space, ".", $op, " {0}, [{1}];"),
                    out($class) d, in($address_class) $a, options(nostack)
                )
            };
        }
        match ($order, $scope) {
            (Order::Relaxed, Scope::Block) => one!("relaxed.cta"),
            (Order::Relaxed, Scope::Device) => one!("relaxed.gpu"),
            (Order::Relaxed, Scope::System) => one!("relaxed.sys"),
            (_, Scope::Block) => one!("acquire.cta"),
            (_, Scope::Device) => one!("acquire.gpu"),
            (_, Scope::System) => one!("acquire.sys"),
        }
        d as u64
    }};
}

/// `st.<order>.<scope>.<space>.b32/b64 [a], v;` An acquire store does not exist; it is taken as release.
macro_rules! store {
    (
        $space:literal, $op:literal, $class:ident, $t:ty, $address_class:ident, $a:expr, $v:expr,
        $order:expr, $scope:expr
    ) => {{
        macro_rules! one {
            ($qualifier:literal) => {
                asm!(
                    concat!("st.", $qualifier, ".", $space, ".", $op, " [{0}], {1};"),
                    in($address_class) $a, in($class) $v as $t, options(nostack)
                )
            };
        }
        match ($order, $scope) {
            (Order::Relaxed, Scope::Block) => one!("relaxed.cta"),
            (Order::Relaxed, Scope::Device) => one!("relaxed.gpu"),
            (Order::Relaxed, Scope::System) => one!("relaxed.sys"),
            (_, Scope::Block) => one!("release.cta"),
            (_, Scope::Device) => one!("release.gpu"),
            (_, Scope::System) => one!("release.sys"),
        }
        0u64
    }};
}

macro_rules! each_qualifier {
    ($one:ident, $order:expr, $scope:expr) => {
        match ($order, $scope) {
            (Order::Relaxed, Scope::Block) => $one!("relaxed.cta"),
            (Order::Relaxed, Scope::Device) => $one!("relaxed.gpu"),
            (Order::Relaxed, Scope::System) => $one!("relaxed.sys"),
            (Order::Acquire, Scope::Block) => $one!("acquire.cta"),
            (Order::Acquire, Scope::Device) => $one!("acquire.gpu"),
            (Order::Acquire, Scope::System) => $one!("acquire.sys"),
            (Order::Release, Scope::Block) => $one!("release.cta"),
            (Order::Release, Scope::Device) => $one!("release.gpu"),
            (Order::Release, Scope::System) => $one!("release.sys"),
            (Order::AcqRel, Scope::Block) => $one!("acq_rel.cta"),
            (Order::AcqRel, Scope::Device) => $one!("acq_rel.gpu"),
            (Order::AcqRel, Scope::System) => $one!("acq_rel.sys"),
        }
    };
}

/// All operations on all kinds for one address space.
macro_rules! operations {
    ($space:literal, $address_class:ident, $op:expr, $kind:expr, $a:expr, $order:expr, $scope:expr) => {{
        use Operation as Op;
        let (op, kind) = ($op, $kind);
        macro_rules! b32 {
            ($name:literal, $v:expr) => {
                rmw!($space, $name, reg32, u32, $address_class, $a, $v, $order, $scope)
            };
        }
        macro_rules! b64 {
            ($name:literal, $v:expr) => {
                rmw!($space, $name, reg64, u64, $address_class, $a, $v, $order, $scope)
            };
        }
        let wide = matches!(kind, Kind::U64 | Kind::I64 | Kind::F64);
        match op {
            Op::Load if wide => load!($space, "b64", reg64, u64, $address_class, $a, $order, $scope),
            Op::Load => load!($space, "b32", reg32, u32, $address_class, $a, $order, $scope),
            Op::Store(v) if wide => store!($space, "b64", reg64, u64, $address_class, $a, v, $order, $scope),
            Op::Store(v) => store!($space, "b32", reg32, u32, $address_class, $a, v, $order, $scope),
            Op::Add(v) => match kind {
                Kind::U32 | Kind::I32 => b32!("add.u32", v),
                Kind::F32 => {
                    let d: f32;
                    let x = f32::from_bits(v as u32);
                    macro_rules! one {
                        ($qualifier:literal) => {
                            asm!(
                                concat!("atom.", $qualifier, ".", $space, ".add.f32 {0}, [{1}], {2};"),
                                out(reg32) d, in($address_class) $a, in(reg32) x, options(nostack)
                            )
                        };
                    }
                    each_qualifier!(one, $order, $scope);
                    d.to_bits() as u64
                }
                Kind::U64 | Kind::I64 => b64!("add.u64", v),
                Kind::F64 => {
                    let d: f64;
                    let x = f64::from_bits(v);
                    macro_rules! one {
                        ($qualifier:literal) => {
                            asm!(
                                concat!("atom.", $qualifier, ".", $space, ".add.f64 {0}, [{1}], {2};"),
                                out(reg64) d, in($address_class) $a, in(reg64) x, options(nostack)
                            )
                        };
                    }
                    each_qualifier!(one, $order, $scope);
                    d.to_bits()
                }
            },
            Op::Min(v) => match kind {
                Kind::U32 => b32!("min.u32", v),
                Kind::I32 => b32!("min.s32", v),
                Kind::U64 => b64!("min.u64", v),
                Kind::I64 => b64!("min.s64", v),
                Kind::F32 | Kind::F64 => trap(),
            },
            Op::Max(v) => match kind {
                Kind::U32 => b32!("max.u32", v),
                Kind::I32 => b32!("max.s32", v),
                Kind::U64 => b64!("max.u64", v),
                Kind::I64 => b64!("max.s64", v),
                Kind::F32 | Kind::F64 => trap(),
            },
            Op::And(v) if wide => b64!("and.b64", v),
            Op::And(v) => b32!("and.b32", v),
            Op::Or(v) if wide => b64!("or.b64", v),
            Op::Or(v) => b32!("or.b32", v),
            Op::Xor(v) if wide => b64!("xor.b64", v),
            Op::Xor(v) => b32!("xor.b32", v),
            Op::Exchange(v) if wide => b64!("exch.b64", v),
            Op::Exchange(v) => b32!("exch.b32", v),
            Op::CompareExchange { current, new } if wide => {
                cas!($space, "cas.b64", reg64, u64, $address_class, $a, current, new, $order, $scope)
            }
            Op::CompareExchange { current, new } => {
                cas!($space, "cas.b32", reg32, u32, $address_class, $a, current, new, $order, $scope)
            }
        }
    }};
}

/// The operation with its operands as bits.
#[inline(always)]
fn bits<T: AtomicScalar>(op: Operation<T>) -> Operation<u64> {
    use Operation::*;
    match op {
        Load => Load,
        Store(v) => Store(to_bits(v)),
        Add(v) => Add(to_bits(v)),
        Min(v) => Min(to_bits(v)),
        Max(v) => Max(to_bits(v)),
        And(v) => And(to_bits(v)),
        Or(v) => Or(to_bits(v)),
        Xor(v) => Xor(to_bits(v)),
        Exchange(v) => Exchange(to_bits(v)),
        CompareExchange { current, new } => CompareExchange { current: to_bits(current), new: to_bits(new) },
    }
}

/// # Safety
/// `p` is valid for reads and writes of a `T` and aligned for it.
#[inline(always)]
pub(crate) unsafe fn global<T: AtomicScalar>(op: Operation<T>, p: *mut T, order: Order, scope: Scope) -> T {
    // SAFETY: the caller's promise is the instruction's condition.
    unsafe { from_bits(operations!("global", reg64, bits(op), T::KIND, p, order, scope)) }
}

/// # Safety
/// `address` lies in the block's shared memory, with room for a `T`, and is aligned for it.
#[inline(always)]
pub(crate) unsafe fn shared<T: AtomicScalar>(op: Operation<T>, address: u32, order: Order) -> T {
    // SAFETY: the caller's promise is the instruction's condition.
    unsafe { from_bits(operations!("shared", reg32, bits(op), T::KIND, address, order, Scope::Block)) }
}

/// A fence. PTX has `acq_rel` and `sc`; the weaker orders are served by `acq_rel`, and a relaxed fence by none.
#[inline(always)]
pub(crate) fn fence(order: Order, scope: Scope) {
    // SAFETY: a fence has no conditions.
    unsafe {
        match (order, scope) {
            (Order::Relaxed, _) => {}
            (_, Scope::Block) => asm!("fence.acq_rel.cta;", options(nostack)),
            (_, Scope::Device) => asm!("fence.acq_rel.gpu;", options(nostack)),
            (_, Scope::System) => asm!("fence.acq_rel.sys;", options(nostack)),
        }
    }
}

#[inline(always)]
pub(crate) fn fence_sc(scope: Scope) {
    // SAFETY: a fence has no conditions.
    unsafe {
        match scope {
            Scope::Block => asm!("fence.sc.cta;", options(nostack)),
            Scope::Device => asm!("fence.sc.gpu;", options(nostack)),
            Scope::System => asm!("fence.sc.sys;", options(nostack)),
        }
    }
}
