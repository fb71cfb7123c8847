//! Writes a test as parse.rs reads it.

use crate::test::{Change, Condition, How, Operand, Step, Term, Test, Thread};
use simt::atomic::{Order, Scope};
use std::collections::BTreeSet;
use std::fmt;

impl fmt::Display for Test {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "PTX {}\n\"{}\"\n{{", self.name, self.about)?;
        for location in &self.locations {
            let shared = if location.shared { "shared " } else { "" };
            write!(f, " {shared}{}={};", location.name, location.first)?;
        }
        for (t, thread) in self.threads.iter().enumerate() {
            for (register, first) in thread.registers.iter().zip(&thread.first).filter(|(_, first)| **first != 0) {
                write!(f, " P{t}:{register}={first};")?;
            }
        }
        writeln!(f, "\n}}")?;
        let columns: Vec<Vec<String>> = (0..self.threads.len()).map(|t| self.column(t)).collect();
        for row in 0..columns.iter().map(Vec::len).max().unwrap_or(0) {
            let cell = |column: &Vec<String>| {
                let width = column.iter().map(String::len).max().unwrap_or(0);
                format!("{:width$}", column.get(row).map_or("", String::as_str))
            };
            writeln!(f, " {} ;", columns.iter().map(cell).collect::<Vec<_>>().join(" | "))?;
        }
        write!(f, "{} {}", self.question.asks, self.condition(&self.question.condition))
    }
}

impl Test {
    fn column(&self, t: usize) -> Vec<String> {
        let thread = &self.threads[t];
        let jumps = thread.code.iter().filter_map(|step| match step {
            Step::Jump { target, .. } => Some(*target),
            _ => None,
        });
        let targets: BTreeSet<usize> = jumps.collect();
        let mut column = vec![format!("P{t}@cta {},gpu {},warp {}", thread.block, thread.gpu, thread.warp)];
        for i in 0..=thread.code.len() {
            if targets.contains(&i) {
                column.push(format!("LC{i}:"));
            }
            column.extend(thread.code.get(i).map(|step| self.step(thread, *step)));
        }
        column
    }

    fn step(&self, thread: &Thread, step: Step) -> String {
        let register = |r: usize| &*thread.registers[r];
        let location = |at: usize| &*self.locations[at].name;
        let operand = |operand: Operand| match operand {
            Operand::Number(number) => number.to_string(),
            Operand::Register(r) => register(r as usize).to_string(),
        };
        match step {
            Step::Load { to, at, how } => format!("ld.{how} {}, {}", register(to), location(at)),
            Step::Store { at, value, how } => format!("st.{how} {}, {}", location(at), operand(value)),
            Step::Update { to, at, change, value, how } => {
                let (name, other) = match change {
                    Change::Add => ("add", None),
                    Change::And => ("and", None),
                    Change::Or => ("or", None),
                    Change::Xor => ("xor", None),
                    Change::Exchange => ("exch", None),
                    Change::CompareExchange(other) => ("cas", Some(other)),
                };
                let start = match to {
                    Some(to) => format!("atom.{how}.{name} {}, ", register(to)),
                    None => format!("red.{how}.{name} "),
                };
                let other = other.map_or(String::new(), |other| format!(", {}", operand(other)));
                format!("{start}{}, {}{other}", location(at), operand(value))
            }
            Step::Fence { sc, scope } => format!("fence.{}.{}", if sc { "sc" } else { "acq_rel" }, scope_name(scope)),
            Step::BlockBarrier(id) => format!("bar.cta.sync {id}"),
            Step::WarpBarrier => "bar.warp.sync".into(),
            Step::Sum { to, of: [a, b] } => format!("add {}, {}, {}", register(to), operand(a), operand(b)),
            Step::Jump { of: [a, b], equal, target } => {
                format!("{} {}, {}, LC{target}", if equal { "beq" } else { "bne" }, operand(a), operand(b))
            }
        }
    }

    fn condition(&self, condition: &Condition) -> String {
        let term = |term: &Term| match *term {
            Term::Number(number) => number.to_string(),
            Term::Variable(variable) => self.name_of(variable),
        };
        let parts = |parts: &[Condition], sign: &str| {
            let parts: Vec<String> = parts.iter().map(|part| self.condition(part)).collect();
            format!("({})", parts.join(sign))
        };
        match condition {
            Condition::Compare(a, equal, b) => format!("{} {} {}", term(a), if *equal { "==" } else { "!=" }, term(b)),
            Condition::All(all) => parts(all, " /\\ "),
            Condition::Any(any) => parts(any, " \\/ "),
            Condition::Not(part) => format!("~({})", self.condition(part)),
        }
    }
}

fn scope_name(scope: Scope) -> &'static str {
    match scope {
        Scope::Block => "cta",
        Scope::Device => "gpu",
        Scope::System => "sys",
    }
}

impl fmt::Display for How {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let order = match self.order {
            None => return f.write_str("weak"),
            Some(Order::Relaxed) => "relaxed",
            Some(Order::Acquire) => "acquire",
            Some(Order::Release) => "release",
            Some(Order::AcqRel) => "acq_rel",
        };
        write!(f, "{order}.{}", scope_name(self.scope))
    }
}

#[cfg(test)]
mod tests {
    use crate::{SETS, tests};

    #[test]
    fn what_is_written_is_read_as_the_same() {
        for test in SETS.iter().flat_map(|(_, text)| tests(text).unwrap()) {
            let written = test.to_string();
            let again = tests(&written).unwrap_or_else(|why| panic!("{why}:\n{written}")).remove(0);
            assert_eq!(again.to_string(), written);
            for (a, b) in test.threads.iter().zip(&again.threads) {
                assert_eq!((a.block, a.warp, &a.code.len()), (b.block, b.warp, &b.code.len()), "{written}");
            }
        }
    }
}
