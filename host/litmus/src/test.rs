//! A litmus test: threads of a few instructions each, and a question about what they read.

use simt::atomic::{Order, Scope};
use std::fmt;

pub use rungs_litmus_kernel::code::Operand;

/// A litmus test.
#[derive(Clone, Debug)]
pub struct Test {
    /// Its name.
    pub name: String,
    /// What it shows, in a sentence or two.
    pub about: String,
    /// The words of memory that its threads access.
    pub locations: Vec<Location>,
    /// The threads.
    pub threads: Vec<Thread>,
    /// The question.
    pub question: Question,
}

/// A word of memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Location {
    /// Its name.
    pub name: String,
    /// What it holds at first.
    pub first: u32,
    /// Whether it is of shared memory.
    pub shared: bool,
}

/// A thread.
#[derive(Clone, Debug, Default)]
pub struct Thread {
    /// The number of its GPU.
    pub gpu: u32,
    /// The number of its block.
    pub block: u32,
    /// Its warp in the block.
    pub warp: u32,
    /// The names of its registers.
    pub registers: Vec<String>,
    /// What they hold at first.
    pub first: Vec<u32>,
    /// Its instructions.
    pub code: Vec<Step>,
}

/// The order and the scope of an access; a weak one has no order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct How {
    /// The order.
    pub order: Option<Order>,
    /// The scope.
    pub scope: Scope,
}

/// What a read-modify-write does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Change {
    /// Adds the operand; the next ones likewise.
    Add,
    /// Keeps the operand's bits.
    And,
    /// Sets them.
    Or,
    /// Flips them.
    Xor,
    /// Writes the operand.
    Exchange,
    /// Writes this, if the operand is what was there.
    CompareExchange(Operand),
}

impl Change {
    /// What it writes over `old`, if anything; the operands' values are given.
    pub(crate) fn of(self, old: u32, value: u32, other: u32) -> Option<u32> {
        match self {
            Self::Add => Some(old.wrapping_add(value)),
            Self::And => Some(old & value),
            Self::Or => Some(old | value),
            Self::Xor => Some(old ^ value),
            Self::Exchange => Some(value),
            Self::CompareExchange(_) => (old == value).then_some(other),
        }
    }
}

/// An instruction. Registers, locations and jumps are numbers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Step {
    /// A load.
    #[allow(missing_docs)]
    Load { to: usize, at: usize, how: How },
    /// A store.
    #[allow(missing_docs)]
    Store { at: usize, value: Operand, how: How },
    /// A read-modify-write, which may drop what was there.
    #[allow(missing_docs)]
    Update { to: Option<usize>, at: usize, change: Change, value: Operand, how: How },
    /// A fence, sequentially consistent or of both orders.
    #[allow(missing_docs)]
    Fence { sc: bool, scope: Scope },
    /// The barrier of the block, by its number in the test.
    BlockBarrier(u32),
    /// The barrier of the warp.
    WarpBarrier,
    /// A sum.
    #[allow(missing_docs)]
    Sum { to: usize, of: [Operand; 2] },
    /// A jump, if the operands are equal or if they are not.
    #[allow(missing_docs)]
    Jump { of: [Operand; 2], equal: bool, target: usize },
}

/// What is asked of the outcomes.
#[derive(Clone, Debug)]
pub struct Question {
    /// Whether it is about some outcome, none or all.
    pub asks: Asks,
    /// The condition.
    pub condition: Condition,
}

/// Whether a condition should hold somewhere, nowhere or everywhere.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Asks {
    /// Of some outcome.
    Exists,
    /// Of none.
    Never,
    /// Of all.
    Always,
}

/// A condition on an outcome.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Condition {
    /// Whether two values are equal, or not.
    Compare(Term, bool, Term),
    /// All of them.
    All(Vec<Condition>),
    /// One of them at least.
    Any(Vec<Condition>),
    /// Not that.
    Not(Box<Condition>),
}

/// A value in a condition.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Term {
    /// A number.
    Number(u32),
    /// What a variable holds at the end.
    Variable(Variable),
}

/// What an outcome tells of.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Variable {
    /// A register of a thread.
    Register(usize, usize),
    /// A location.
    Location(usize),
}

impl Condition {
    /// The variables in it.
    fn variables(&self, all: &mut Vec<Variable>) {
        match self {
            Self::Compare(a, _, b) => {
                for term in [a, b] {
                    if let Term::Variable(variable) = term {
                        all.push(*variable);
                    }
                }
            }
            Self::All(parts) | Self::Any(parts) => parts.iter().for_each(|part| part.variables(all)),
            Self::Not(part) => part.variables(all),
        }
    }

    /// Whether it holds where variables have these values.
    pub fn holds(&self, value: &impl Fn(Variable) -> u32) -> bool {
        let of = |term: &Term| match *term {
            Term::Number(number) => number,
            Term::Variable(variable) => value(variable),
        };
        match self {
            Self::Compare(a, equal, b) => (of(a) == of(b)) == *equal,
            Self::All(parts) => parts.iter().all(|part| part.holds(value)),
            Self::Any(parts) => parts.iter().any(|part| part.holds(value)),
            Self::Not(part) => !part.holds(value),
        }
    }
}

/// The values of a test's [`Test::observed`] variables, in their order.
pub type Outcome = Vec<u32>;

impl Test {
    /// The variables that the question is about, each once: an outcome is their values.
    pub fn observed(&self) -> Vec<Variable> {
        let mut all = Vec::new();
        self.question.condition.variables(&mut all);
        all.sort();
        all.dedup();
        all
    }

    /// Whether an outcome has the question's condition.
    pub fn holds(&self, outcome: &[u32]) -> bool {
        let observed = self.observed();
        let value = |variable| observed.iter().position(|&known| known == variable).map_or(0, |i| outcome[i]);
        self.question.condition.holds(&value)
    }

    /// Answers the question, by all outcomes.
    pub fn answer<'a>(&self, outcomes: impl IntoIterator<Item = &'a Outcome>) -> bool {
        let mut outcomes = outcomes.into_iter();
        match self.question.asks {
            Asks::Exists => outcomes.any(|outcome| self.holds(outcome)),
            Asks::Never => !outcomes.any(|outcome| self.holds(outcome)),
            Asks::Always => outcomes.all(|outcome| self.holds(outcome)),
        }
    }

    /// A variable's name, as a question writes it.
    pub fn name_of(&self, variable: Variable) -> String {
        match variable {
            Variable::Register(thread, register) => format!("P{thread}:{}", self.threads[thread].registers[register]),
            Variable::Location(location) => self.locations[location].name.clone(),
        }
    }

    /// An outcome in words.
    pub fn words(&self, outcome: &[u32]) -> String {
        let word = |(&variable, value): (&Variable, &u32)| format!("{}={value}", self.name_of(variable));
        self.observed().iter().zip(outcome).map(word).collect::<Vec<_>>().join(" ")
    }
}

impl fmt::Display for Asks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Exists => "exists",
            Self::Never => "~exists",
            Self::Always => "forall",
        })
    }
}
