//! Tests drawn at random: the simulator shows nothing that the model forbids, and its checker accuses no test without a
//! race and misses none with one.

use rungs_litmus::{Asks, Condition, allowed, simulated};
use rungs_litmus::{Change, How, Location, Operand, Question, Step, Term, Test, Thread, Variable};
use simt::atomic::{Order, Scope};

/// Tests that are drawn; of 6000 none was wrong.
const TESTS: u64 = 600;

/// SplitMix64.
struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ z >> 31) % n
    }

    fn of<T: Copy>(&mut self, items: &[T]) -> T {
        items[self.below(items.len() as u64) as usize]
    }

    /// Mostly wide enough.
    fn scope(&mut self) -> Scope {
        self.of(&[Scope::Device, Scope::Device, Scope::Device, Scope::System, Scope::Block])
    }

    fn how(&mut self, orders: &[Option<Order>]) -> How {
        How { order: self.of(orders), scope: self.scope() }
    }

    fn step(&mut self, to: usize, value: u32, weak: bool) -> Step {
        use Order::{AcqRel, Acquire, Relaxed, Release};
        let at = self.below(2) as usize;
        let plain = if weak { None } else { Some(Relaxed) };
        match self.below(12) {
            0..4 => Step::Load { to, at, how: self.how(&[plain, Some(Relaxed), Some(Acquire), Some(Acquire)]) },
            4..8 => {
                let how = self.how(&[plain, Some(Relaxed), Some(Release), Some(Release)]);
                Step::Store { at, value: Operand::Number(value), how }
            }
            8..10 => {
                let how = self.how(&[Some(Relaxed), Some(Acquire), Some(Release), Some(AcqRel)]);
                let change = self.of(&[Change::Exchange, Change::Add, Change::CompareExchange(Operand::Number(value))]);
                let value = if matches!(change, Change::CompareExchange(_)) { 0 } else { value };
                Step::Update { to: Some(to), at, change, value: Operand::Number(value), how }
            }
            _ => Step::Fence { sc: self.below(2) == 0, scope: self.scope() },
        }
    }

    /// Two or three threads of two or three instructions, the later ones now and then only if the first read a value.
    fn test(&mut self) -> Test {
        let weak = self.below(3) > 0;
        let mut value = 0;
        let threads = (0..2 + self.below(2))
            .map(|_| {
                let steps = 2 + self.below(2) as usize;
                let mut code: Vec<Step> = Vec::new();
                for to in 0..steps {
                    value += 1;
                    code.push(self.step(to, value, weak));
                }
                let reads = matches!(code[0], Step::Load { .. } | Step::Update { .. });
                if reads && self.below(2) == 0 {
                    let of = [Operand::Register(0), Operand::Number(self.below(u64::from(value)) as u32)];
                    code.insert(1, Step::Jump { of, equal: self.below(2) == 0, target: steps + 1 });
                }
                let (first, registers) = (vec![0; steps], (0..steps).map(|r| format!("r{r}")).collect());
                Thread { block: self.below(2) as u32, warp: self.below(2) as u32, first, registers, code, gpu: 0 }
            })
            .collect::<Vec<_>>();
        let locations = ["x", "y"].map(|name| Location { name: name.into(), first: 0, shared: false }).to_vec();
        // Asks for all registers and locations.
        let registers = |(t, thread): (usize, &Thread)| {
            (0..thread.registers.len()).map(move |r| Variable::Register(t, r)).collect::<Vec<_>>()
        };
        let all = threads.iter().enumerate().flat_map(registers).chain([0, 1].map(Variable::Location));
        let compare = |variable| Condition::Compare(Term::Variable(variable), true, Term::Number(0));
        let condition = Condition::All(all.map(compare).collect());
        let question = Question { asks: Asks::Exists, condition };
        Test { name: "random".into(), about: String::new(), locations, threads, question }
    }
}

#[test]
fn the_simulator_keeps_to_the_model() {
    let (mut judged, mut races, mut missed, mut weak, mut outcomes) = (0, 0, 0, 0, 0);
    for seed in 0..TESTS {
        let test = Random(seed).test();
        // Sums of sums may be too many for the model.
        let Ok(allowed) = allowed(&test) else { continue };
        judged += 1;
        let shown = simulated(&test, 32).unwrap();
        let told = || shown.findings.iter().map(|finding| format!("{finding}\n")).collect::<String>();
        for outcome in shown.outcomes.keys() {
            let Some(sequential) = allowed.outcomes.get(outcome) else {
                panic!("seed {seed} forbids {}:\n{test}", test.words(outcome));
            };
            weak += u64::from(!sequential);
        }
        outcomes += shown.outcomes.len() as u64;
        assert!(allowed.race || shown.findings.is_empty(), "seed {seed} has no race: {}\n{test}", told());
        races += u64::from(allowed.race);
        missed += u64::from(allowed.race && shown.findings.is_empty());
    }
    println!("{judged} tests, {races} with a race, {missed} of them missed; {outcomes} outcomes, {weak} weak");
    assert_eq!(missed, 0, "no schedule of 32 showed a race that the model sees");
    assert!(judged > TESTS * 9 / 10 && races > TESTS / 4 && races < TESTS * 3 / 4 && weak > 20, "of every sort some");
}
