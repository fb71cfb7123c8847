//! Reads litmus tests in the form in which the field writes those for PTX.
//!
//! ```text
//! PTX name
//! "What it shows"
//! {
//! x=0; shared s=0; P1:r0=0;
//! }
//!  P0@cta 0,gpu 0         | P1@cta 1,gpu 0,warp 2  ;
//!  st.weak x, 1           | ld.acquire.gpu r0, y   ;
//!  st.release.gpu y, 1    | ld.weak r1, x          ;
//! exists (P1:r0 == 1 /\ P1:r1 == 0)
//! ```
//!
//! Two words are ours: `shared` before a location, and `warp` behind a thread's block. Without it, each thread of a
//! block has a warp of its own.

use crate::test::{Asks, Change, Condition, How, Location, Operand, Question, Step, Term, Test, Thread, Variable};
use rungs_litmus_kernel::{LOCATIONS, REGISTERS};
use simt::atomic::{Order, Scope};
use std::collections::BTreeMap;

type Result<T> = std::result::Result<T, String>;

/// The tests of a text.
///
/// # Errors
/// A test that cannot be read, and why.
pub fn tests(text: &str) -> Result<Vec<Test>> {
    let lines: Vec<&str> = text.lines().map(|line| line.split("//").next().unwrap_or("")).collect();
    let begins: Vec<usize> = (0..lines.len()).filter(|&i| name(lines[i]).is_some()).collect();
    if begins.is_empty() {
        return Err("no test begins here: its first line is PTX and a name".into());
    }
    let ends = begins.iter().skip(1).copied().chain([lines.len()]);
    begins
        .iter()
        .zip(ends)
        .map(|(&begin, end)| test(name(lines[begin]).unwrap_or(""), &lines[begin + 1..end]))
        .collect()
}

fn name(line: &str) -> Option<&str> {
    line.strip_prefix("PTX ").or(line.strip_prefix("ptx ")).map(str::trim)
}

fn test(name: &str, lines: &[&str]) -> Result<Test> {
    one(name, &lines.join("\n")).map_err(|why| format!("{name}: {why}"))
}

fn one(name: &str, text: &str) -> Result<Test> {
    let (head, rest) = text.split_once('{').ok_or("no { before what memory holds at first")?;
    let (first, rest) = rest.split_once('}').ok_or("no } behind what memory holds at first")?;
    let asked = ["~exists", "exists", "forall"].into_iter().find_map(|word| Some((rest.find(word)?, word)));
    let (at, word) = asked.ok_or("no exists, ~exists or forall")?;
    let (program, condition) = (&rest[..at], &rest[at + word.len()..]);
    let about = head.split('"').nth(1).unwrap_or("").split_whitespace().collect::<Vec<_>>().join(" ");
    let mut reader = Reader::default();
    reader.threads(program)?;
    reader.first(first)?;
    reader.code(program)?;
    let asks = match word {
        "exists" => Asks::Exists,
        "forall" => Asks::Always,
        _ => Asks::Never,
    };
    let mut words = Words::of(condition);
    let condition = words.any(&mut reader)?;
    if let Some(word) = words.next() {
        return Err(format!("'{word}' behind the condition"));
    }
    let Reader { locations, threads } = reader;
    Ok(Test { name: name.into(), about, locations, threads, question: Question { asks, condition } })
}

/// A test as far as it has been read.
#[derive(Default)]
struct Reader {
    locations: Vec<Location>,
    threads: Vec<Thread>,
}

fn rows(program: &str) -> impl Iterator<Item = impl Iterator<Item = &str>> {
    program.split(';').filter(|row| !row.trim().is_empty()).map(|row| row.split('|').map(str::trim))
}

fn number(word: &str) -> Option<u32> {
    word.parse::<i64>().ok().map(|number| number as u32)
}

impl Reader {
    /// The first row: the threads' places.
    fn threads(&mut self, program: &str) -> Result<()> {
        let mut warps: BTreeMap<u32, u32> = BTreeMap::new();
        for (i, place) in rows(program).next().into_iter().flatten().enumerate() {
            let (name, place) = place.split_once('@').ok_or(format!("'{place}' says no place: P0@cta 0,gpu 0"))?;
            if name.trim() != format!("P{i}") {
                return Err(format!("thread {i} is called {name}, not P{i}"));
            }
            let (mut thread, mut warp) = (Thread::default(), None);
            for part in place.split(',').map(str::trim) {
                let (unit, n) = part.split_once(' ').ok_or(format!("'{part}' is no place"))?;
                let n = number(n.trim()).ok_or(format!("'{n}' is no number"))?;
                match unit {
                    "gpu" => thread.gpu = n,
                    "cta" => thread.block = n,
                    "warp" => warp = Some(n),
                    _ => return Err(format!("'{unit}' is no gpu, cta or warp")),
                }
            }
            let next = warps.entry(thread.block).or_default();
            thread.warp = warp.unwrap_or(*next);
            *next = (*next).max(thread.warp) + u32::from(warp.is_none());
            self.threads.push(thread);
        }
        Ok(())
    }

    /// What memory and registers hold at first.
    fn first(&mut self, text: &str) -> Result<()> {
        for part in text.split(';').map(str::trim).filter(|part| !part.is_empty()) {
            let (name, value) = part.split_once('=').ok_or(format!("'{part}' is no name = value"))?;
            let (name, value) = (name.trim(), value.trim());
            let value = number(value).ok_or(format!("'{value}' is no number"))?;
            match name.split_once(':') {
                Some((thread, register)) => {
                    let (thread, register) = self.register_of(thread, register)?;
                    self.threads[thread].first[register] = value;
                }
                None => {
                    let shared = name.strip_prefix("shared ");
                    let at = self.location(shared.unwrap_or(name).trim())?;
                    (self.locations[at].first, self.locations[at].shared) = (value, shared.is_some());
                }
            }
        }
        Ok(())
    }

    fn location(&mut self, name: &str) -> Result<usize> {
        let is_name =
            name.starts_with(|c: char| c.is_alphabetic()) && name.chars().all(|c| c.is_alphanumeric() || c == '_');
        if !is_name {
            return Err(format!("'{name}' is no location"));
        }
        let known = self.locations.iter().position(|location| location.name == name);
        let at = known.unwrap_or(self.locations.len());
        if known.is_none() {
            self.locations.push(Location { name: name.into(), first: 0, shared: false });
        }
        if at < LOCATIONS as usize { Ok(at) } else { Err(format!("more than {LOCATIONS} locations")) }
    }

    fn register_of(&mut self, thread: &str, register: &str) -> Result<(usize, usize)> {
        let number = number(thread.trim().trim_start_matches('P')).map(|n| n as usize);
        let thread = number.filter(|&n| n < self.threads.len()).ok_or(format!("there is no thread {thread}"))?;
        Ok((thread, self.register(thread, register.trim())?))
    }

    fn register(&mut self, thread: usize, name: &str) -> Result<usize> {
        if name.strip_prefix('r').and_then(number).is_none() {
            return Err(format!("'{name}' is no register: r and a number"));
        }
        let thread = &mut self.threads[thread];
        let known = thread.registers.iter().position(|known| known == name);
        let at = known.unwrap_or(thread.registers.len());
        if known.is_none() {
            thread.registers.push(name.into());
            thread.first.push(0);
        }
        if at < REGISTERS as usize { Ok(at) } else { Err(format!("more than {REGISTERS} registers of a thread")) }
    }

    fn operand(&mut self, thread: usize, word: &str) -> Result<Operand> {
        match number(word) {
            Some(number) => Ok(Operand::Number(number)),
            None => Ok(Operand::Register(self.register(thread, word)? as u32)),
        }
    }

    /// The rows behind the first.
    fn code(&mut self, program: &str) -> Result<()> {
        let mut columns = vec![Vec::new(); self.threads.len()];
        for row in rows(program).skip(1) {
            for (i, cell) in row.enumerate().filter(|(_, cell)| !cell.is_empty()) {
                columns.get_mut(i).ok_or(format!("'{cell}' stands under no thread"))?.push(cell);
            }
        }
        for (thread, cells) in columns.into_iter().enumerate() {
            let mut places = BTreeMap::new();
            let mut code = Vec::new();
            for cell in cells {
                match cell.strip_suffix(':') {
                    Some(label) => _ = places.insert(label, code.len()),
                    None => code.push(cell),
                }
            }
            self.threads[thread].code = code
                .into_iter()
                .map(|cell| self.step(thread, cell, &places).map_err(|why| format!("'{cell}': {why}")))
                .collect::<Result<_>>()?;
        }
        Ok(())
    }

    fn step(&mut self, thread: usize, cell: &str, places: &BTreeMap<&str, usize>) -> Result<Step> {
        let (instruction, rest) = cell.split_once(char::is_whitespace).unwrap_or((cell, ""));
        let operands: Vec<&str> = rest.split(',').map(str::trim).filter(|word| !word.is_empty()).collect();
        let parts: Vec<&str> = instruction.split('.').collect();
        let target = |label: &&str| places.get(label).copied().ok_or(format!("there is no label {label}"));
        Ok(match (&parts[..], &operands[..]) {
            (["goto"], [label]) => Step::Jump { of: [Operand::Number(0); 2], equal: true, target: target(label)? },
            (["beq" | "bne"], [a, b, label]) => Step::Jump {
                of: [self.operand(thread, a)?, self.operand(thread, b)?],
                equal: parts[0] == "beq",
                target: target(label)?,
            },
            (["ld"], [to, value]) => {
                Step::Sum { to: self.register(thread, to)?, of: [self.operand(thread, value)?, Operand::Number(0)] }
            }
            (["add"], [to, a, b]) => {
                Step::Sum { to: self.register(thread, to)?, of: [self.operand(thread, a)?, self.operand(thread, b)?] }
            }
            (["ld", how @ ..], [to, at]) => {
                let how = orders(how, &[Order::Relaxed, Order::Acquire])?;
                Step::Load { to: self.register(thread, to)?, at: self.location(at)?, how }
            }
            (["st", how @ ..], [at, value]) => {
                let how = orders(how, &[Order::Relaxed, Order::Release])?;
                Step::Store { at: self.location(at)?, value: self.operand(thread, value)?, how }
            }
            (["atom", how @ .., change], [to, at, values @ ..]) => {
                let to = Some(self.register(thread, to)?);
                self.update(thread, (to, at), (how, change), values)?
            }
            (["red", how @ .., change], [at, values @ ..]) => self.update(thread, (None, at), (how, change), values)?,
            (["fence", order @ ("acq_rel" | "sc"), scope], []) => {
                Step::Fence { sc: *order == "sc", scope: scope_of(scope)? }
            }
            (["bar", "cta", "sync"], []) => Step::BlockBarrier(0),
            (["bar", "cta", "sync"], [id]) => {
                Step::BlockBarrier(number(id).ok_or(format!("'{id}' is no barrier's number"))?)
            }
            (["bar", "warp", "sync"], []) => Step::WarpBarrier,
            _ => return Err("no instruction of a litmus test".into()),
        })
    }

    fn update(
        &mut self,
        thread: usize,
        (to, at): (Option<usize>, &str),
        (how, change): (&[&str], &str),
        values: &[&str],
    ) -> Result<Step> {
        let how = orders(how, &[Order::Relaxed, Order::Acquire, Order::Release, Order::AcqRel])?;
        if how.order.is_none() {
            return Err("an atomic operation has an order".into());
        }
        let at = self.location(at)?;
        let mut values = values.iter().map(|word| self.operand(thread, word)).collect::<Result<Vec<_>>>()?.into_iter();
        let value = match values.next().ok_or("no operand")? {
            Operand::Number(number) if change == "sub" => Operand::Number(number.wrapping_neg()),
            Operand::Register(_) if change == "sub" => return Err("sub takes a number".into()),
            value => value,
        };
        let change = match (change, values.next()) {
            ("cas", Some(other)) => Change::CompareExchange(other),
            ("add" | "sub", None) => Change::Add,
            ("and", None) => Change::And,
            ("or", None) => Change::Or,
            ("xor", None) => Change::Xor,
            ("exch", None) => Change::Exchange,
            _ => return Err(format!("'{change}' is no operation on this number of operands")),
        };
        Ok(Step::Update { to, at, change, value, how })
    }
}

/// `weak`, or an order and a scope.
fn orders(parts: &[&str], allowed: &[Order]) -> Result<How> {
    let order = match parts {
        ["weak"] => return Ok(How { order: None, scope: Scope::System }),
        ["relaxed", _] => Order::Relaxed,
        ["acquire", _] => Order::Acquire,
        ["release", _] => Order::Release,
        ["acq_rel", _] => Order::AcqRel,
        _ => return Err("neither weak nor an order and a scope".into()),
    };
    if !allowed.contains(&order) {
        return Err(format!("the instruction cannot be {}", parts[0]));
    }
    Ok(How { order: Some(order), scope: scope_of(parts[1])? })
}

fn scope_of(word: &str) -> Result<Scope> {
    Ok(match word {
        "cta" => Scope::Block,
        "gpu" => Scope::Device,
        "sys" => Scope::System,
        _ => return Err(format!("'{word}' is no scope")),
    })
}

/// The words of a condition.
struct Words<'a>(std::iter::Peekable<std::vec::IntoIter<&'a str>>);

impl<'a> Words<'a> {
    fn of(text: &'a str) -> Self {
        let (mut words, mut rest) = (Vec::new(), text.trim_start());
        while !rest.is_empty() {
            let sign = ["/\\", "\\/", "==", "!=", "=", "(", ")", "~"].into_iter().find(|sign| rest.starts_with(sign));
            let end = || rest.find(|c: char| !(c.is_alphanumeric() || "_:-".contains(c))).unwrap_or(rest.len());
            let (word, behind) = rest.split_at(sign.map_or_else(|| end().max(1), str::len));
            words.push(word);
            rest = behind.trim_start();
        }
        Self(words.into_iter().peekable())
    }

    fn next(&mut self) -> Option<&'a str> {
        self.0.next()
    }

    fn any(&mut self, reader: &mut Reader) -> Result<Condition> {
        let mut parts = vec![self.all(reader)?];
        while self.0.next_if_eq(&"\\/").is_some() {
            parts.push(self.all(reader)?);
        }
        Ok(if parts.len() == 1 { parts.remove(0) } else { Condition::Any(parts) })
    }

    fn all(&mut self, reader: &mut Reader) -> Result<Condition> {
        let mut parts = vec![self.part(reader)?];
        while self.0.next_if_eq(&"/\\").is_some() {
            parts.push(self.part(reader)?);
        }
        Ok(if parts.len() == 1 { parts.remove(0) } else { Condition::All(parts) })
    }

    fn part(&mut self, reader: &mut Reader) -> Result<Condition> {
        if self.0.next_if_eq(&"~").is_some() {
            return Ok(Condition::Not(Box::new(self.part(reader)?)));
        }
        if self.0.next_if_eq(&"(").is_some() {
            let inner = self.any(reader)?;
            return if self.next() == Some(")") { Ok(inner) } else { Err("a ( without )".into()) };
        }
        let a = self.term(reader)?;
        let equal = match self.next() {
            Some("==" | "=") => true,
            Some("!=") => false,
            _ => return Err("a condition compares by == or !=".into()),
        };
        Ok(Condition::Compare(a, equal, self.term(reader)?))
    }

    fn term(&mut self, reader: &mut Reader) -> Result<Term> {
        let word = self.next().ok_or("the condition ends too early")?;
        if let Some(number) = number(word) {
            return Ok(Term::Number(number));
        }
        Ok(Term::Variable(match word.split_once(':') {
            Some((thread, register)) => {
                let (thread, register) = reader.register_of(thread, register)?;
                Variable::Register(thread, register)
            }
            None => Variable::Location(reader.location(word)?),
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PASSING: &str = "PTX passing\n\"Two threads\npass a message\"\n{ x=0; shared s=3; P1:r1=9; }\n\
        P0@cta 0,gpu 0 | P1@cta 1,gpu 0,warp 2 ; // places\n\
        st.weak x, 1 | LC0: ;\n st.release.gpu y, 1 | ld.acquire.sys r0, y ;\n | bne r0, 1, LC0 ;\n\
        red.relaxed.cta.add x, r5 | atom.acq_rel.gpu.cas r2, x, 1, r1 ;\n\
        fence.sc.gpu | bar.cta.sync 0;\n exists (P1:r0 == 1 /\\ (x = 2 \\/ ~ y != -1))\n";

    #[test]
    fn a_test_is_read() {
        let tests = tests(&format!("{PASSING}\n{}", PASSING.replace("passing", "again"))).unwrap();
        assert_eq!(tests.iter().map(|test| &*test.name).collect::<Vec<_>>(), ["passing", "again"]);
        let test = &tests[0];
        assert_eq!(test.about, "Two threads pass a message");
        let locations: Vec<_> = test.locations.iter().map(|l| (&*l.name, l.first, l.shared)).collect();
        assert_eq!(locations, [("x", 0, false), ("s", 3, true), ("y", 0, false)]);
        let [p0, p1] = &test.threads[..] else { panic!("two threads") };
        assert_eq!((p0.block, p0.warp, p1.block, p1.warp), (0, 0, 1, 2));
        assert_eq!((&p1.registers[..], &p1.first[..]), (&["r1", "r0", "r2"].map(String::from)[..], &[9, 0, 0][..]));
        let how = |order, scope| How { order, scope };
        assert_eq!(p0.code[0], Step::Store { at: 0, value: Operand::Number(1), how: how(None, Scope::System) });
        assert_eq!(
            p0.code[2],
            Step::Update {
                to: None,
                at: 0,
                change: Change::Add,
                value: Operand::Register(0),
                how: how(Some(Order::Relaxed), Scope::Block)
            }
        );
        assert_eq!(p0.code[3], Step::Fence { sc: true, scope: Scope::Device });
        assert_eq!(p1.code[0], Step::Load { to: 1, at: 2, how: how(Some(Order::Acquire), Scope::System) });
        assert_eq!(p1.code[1], Step::Jump { of: [Operand::Register(1), Operand::Number(1)], equal: false, target: 0 });
        assert_eq!(p1.code[3], Step::BlockBarrier(0));
        assert_eq!(test.question.asks, Asks::Exists);
        assert_eq!(test.observed().iter().map(|&v| test.name_of(v)).collect::<Vec<_>>(), ["P1:r0", "x", "y"]);
        assert!(test.holds(&[1, 2, 0]) && test.holds(&[1, 0, u32::MAX]) && !test.holds(&[1, 0, 0]));
        assert_eq!(test.words(&[1, 2, 0]), "P1:r0=1 x=2 y=0");
    }

    #[test]
    fn threads_of_a_block_have_warps_of_their_own() {
        let text = "PTX t\n{}\nP0@cta 0,gpu 0|P1@cta 0,gpu 0|P2@cta 1,gpu 0;\nst.weak x,1|;\nexists x=1";
        let warps: Vec<_> = tests(text).unwrap()[0].threads.iter().map(|t| (t.block, t.warp)).collect();
        assert_eq!(warps, [(0, 0), (0, 1), (1, 0)]);
    }

    #[test]
    fn what_cannot_be_read_is_named() {
        let refused = |from: &str, to: &str, why: &str| {
            let text = PASSING.replace(from, to);
            assert_ne!(text, PASSING, "{from}");
            let error = tests(&text).unwrap_err();
            assert!(error.contains("passing") && error.contains(why), "{error}");
        };
        refused("st.weak x, 1", "st.acquire.gpu x, 1", "cannot be acquire");
        refused("st.weak x, 1", "st.weak.gpu x, 1", "neither weak");
        refused("st.weak x, 1", "mov r1, 2", "no instruction");
        refused("fence.sc.gpu", "fence.sc.warp", "no scope");
        refused("cas r2, x, 1, r1", "cas r2, x, 1", "this number of operands");
        refused(", LC0 ;", ", LC9 ;", "no label LC9");
        refused("P1@cta 1", "P7@cta 1", "not P1");
        refused("(P1:r0", "(P3:r0", "no thread P3");
        refused("exists", "perhaps", "no exists");
        assert!(tests("").unwrap_err().contains("PTX and a name"));
    }
}
