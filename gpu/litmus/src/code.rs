//! Instructions as the kernel reads them: a pack of four words.

use crate::REGISTERS;
use simt::atomic::{Order, Scope};

/// The kinds of instructions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u32)]
pub enum Operation {
    /// The end of the list.
    End,
    /// A load.
    Load,
    /// A store of the first operand.
    Store,
    /// An atomic sum with the first operand; the next ones likewise.
    Add,
    /// Bits that both have.
    And,
    /// Bits that either has.
    Or,
    /// Bits that one of them has.
    Xor,
    /// An atomic exchange for the first operand.
    Exchange,
    /// An atomic exchange for the second operand, if the word is equal to the first.
    CompareExchange,
    /// A fence.
    Fence,
    /// A sequentially consistent fence.
    FenceSc,
    /// The barrier of the block.
    BlockBarrier,
    /// The barrier of the warp, of all 32 lanes.
    WarpBarrier,
    /// The sum of both operands.
    Sum,
    /// A jump if both operands are equal.
    IfEqual,
    /// A jump if they are not.
    IfDifferent,
}

/// An operand.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Operand {
    /// A number.
    Number(u32),
    /// The content of a register.
    Register(u32),
}

/// No register: the result of an instruction is dropped.
pub const NOWHERE: u32 = 31;

/// An instruction. The second word of its pack has, from the lowest bit on: the location (8 bits), the register of the
/// result (5), order (2), scope (2), whether the access is weak, whether it is of shared memory, and for each operand
/// whether it is a register. Of a jump it is the place to go on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Word {
    /// The [`Operation`].
    pub operation: u32,
    how: u32,
    operands: [u32; 2],
}

const RESULT: u32 = 8;
const ORDER: u32 = 13;
const SCOPE: u32 = 15;
const WEAK: u32 = 17;
const SHARED: u32 = 18;
const REGISTER: u32 = 19;
const TARGET: u32 = 21;

impl Word {
    /// An instruction without operands, the result of which is dropped.
    pub const fn new(operation: Operation) -> Self {
        Self { operation: operation as u32, how: NOWHERE << RESULT, operands: [0; 2] }
    }

    /// The same with operands.
    pub fn with(mut self, operands: [Operand; 2]) -> Self {
        for (i, operand) in operands.into_iter().enumerate() {
            self.operands[i] = match operand {
                Operand::Number(number) => number,
                Operand::Register(register) => {
                    self.how |= 1 << (REGISTER + i as u32);
                    register
                }
            };
        }
        self
    }

    /// The same with its result in a register.
    pub const fn to(mut self, register: u32) -> Self {
        self.how = self.how & !(31 << RESULT) | register << RESULT;
        self
    }

    /// The same for a location, of shared memory or of global memory.
    pub const fn at(mut self, location: u32, shared: bool) -> Self {
        self.how |= location | (shared as u32) << SHARED;
        self
    }

    /// The same with an order and a scope; a weak access has neither.
    pub const fn ordered(mut self, order: Option<Order>, scope: Scope) -> Self {
        self.how |= (scope as u32) << SCOPE;
        self.how |= match order {
            Some(order) => (order as u32) << ORDER,
            None => 1 << WEAK,
        };
        self
    }

    /// A jump to instruction number `target`, below 2048.
    pub const fn jumping(mut self, target: u32) -> Self {
        self.how |= target << TARGET;
        self
    }

    /// The pack.
    pub const fn pack(self) -> [u32; 4] {
        [self.operation, self.how, self.operands[0], self.operands[1]]
    }

    /// The instruction of a pack.
    #[simt::device]
    pub const fn of([operation, how, a, b]: [u32; 4]) -> Self {
        Self { operation, how, operands: [a, b] }
    }

    /// Both operands' values.
    #[simt::device]
    pub fn operands(self, registers: &[u32; REGISTERS as usize]) -> [u32; 2] {
        let mut values = self.operands;
        for (i, value) in values.iter_mut().enumerate() {
            if self.how >> (REGISTER + i as u32) & 1 == 1 {
                *value = registers[*value as usize % REGISTERS as usize];
            }
        }
        values
    }

    /// The register of the result; [`REGISTERS`] or more for none.
    #[simt::device]
    pub const fn result(self) -> u32 {
        self.how >> RESULT & 31
    }

    /// The location.
    #[simt::device]
    pub const fn location(self) -> u32 {
        self.how & 255
    }

    /// The place where a jump goes on.
    #[simt::device]
    pub const fn target(self) -> u32 {
        self.how >> TARGET
    }

    /// The order.
    #[simt::device]
    pub const fn order(self) -> Order {
        match self.how >> ORDER & 3 {
            0 => Order::Relaxed,
            1 => Order::Acquire,
            2 => Order::Release,
            _ => Order::AcqRel,
        }
    }

    /// The scope.
    #[simt::device]
    pub const fn scope(self) -> Scope {
        match self.how >> SCOPE & 3 {
            0 => Scope::Block,
            1 => Scope::Device,
            _ => Scope::System,
        }
    }

    /// Whether it is a plain access.
    #[simt::device]
    pub const fn is_weak(self) -> bool {
        self.how >> WEAK & 1 == 1
    }

    /// Whether it accesses shared memory.
    #[simt::device]
    pub const fn is_shared(self) -> bool {
        self.how >> SHARED & 1 == 1
    }
}

#[cfg(all(test, not(target_os = "cuda")))]
mod tests {
    use super::*;

    #[test]
    fn a_pack_says_what_the_word_says() {
        let operands = [Operand::Number(7), Operand::Register(3)];
        let word = Word::new(Operation::CompareExchange)
            .with(operands)
            .to(5)
            .at(6, true)
            .ordered(Some(Order::Release), Scope::Device);
        let read = Word::of(word.pack());
        assert_eq!(read, word);
        assert_eq!(read.operands(&[10, 11, 12, 13, 14, 15, 16, 17]), [7, 13]);
        assert_eq!((read.result(), read.location(), read.is_shared(), read.is_weak()), (5, 6, true, false));
        assert_eq!((read.order(), read.scope()), (Order::Release, Scope::Device));
        let weak = Word::new(Operation::Store).at(2, false).ordered(None, Scope::System);
        assert!(weak.is_weak() && !weak.is_shared() && weak.result() >= REGISTERS);
        assert_eq!(Word::new(Operation::IfEqual).jumping(2047).target(), 2047);
    }
}
