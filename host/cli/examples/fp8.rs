//! Speed of fp8 products next to their error: ours, and cuBLASLt's with and without fast accumulation.
//!
//!     cargo run --release -p rungs-cli --example fp8 [normal|unit [M,N,K ...]]
//!
//! Elements are of e4m3: normal numbers, or numbers in [0, 1). The library of peers is the one that RUNGS_PEERS names.
//! The error is that of 64 rows of C against sums in double precision, relative to these: the root of the sum of all
//! squares. Times are medians; each round begins with another product. Before each measurement the GPU is kept busy
//! while the host launches, so that small products are not timed at the host's pace.

use rayon::iter::{IntoParallelIterator, ParallelIterator};
use rungs::data::{Data, Distribution};
use rungs::engine::{AnyBuffer, Buffer, DeviceChoice, Engine};
use rungs::error::{Error, Result};
use rungs_cli::algorithms::{self, OpenProblem, Parameters, Prepared, Size};
use rungs_cli::bench::peers::{self, Peers};
use rungs_kernels::ladder::Sequence;
use rungs_kernels::ladder::matmul::Matrix;
use rungs_kernels::products::fp8::launches::{Adding, OfC, Product, Times, sequence};
use simt::{F8E4M3, bf16};
use std::rc::Rc;

/// Rounds, and the milliseconds of back-to-back calls that a measurement lasts at least.
const ROUNDS: usize = 15;
const LASTING_MS: f64 = 2.0;
/// The product that keeps a GPU busy, and how often it is made: about two milliseconds.
const BUSY: Sides = (4096, 4096, 4096);
const BUSY_CALLS: usize = 20;
/// Rows whose error is computed.
const SAMPLE: usize = 64;

type Element = F8E4M3;
type Sides = (usize, usize, usize);

/// Elements, the same in every run. Normal ones are of pairs of uniform ones, by Box and Muller.
fn elements(count: usize, normal: bool) -> Result<Vec<Element>> {
    let uniform = Distribution::Uniform.keys::<f64>(count.next_multiple_of(2) as u64, 1)?;
    let pair = |u: &[f64]| {
        let (length, angle) = ((-2.0 * u[0].abs().max(1e-300).ln()).sqrt(), std::f64::consts::PI * u[1]);
        if normal { [length * angle.cos(), length * angle.sin()] } else { [u[0].abs(), u[1].abs()] }
    };
    Ok(uniform.chunks(2).flat_map(pair).take(count).map(Element::from_f64).collect())
}

/// Some rows of a product, in double precision. A is m × k; behind it is B, n × k.
fn rows(ab: &[Element], (m, _, k): Sides) -> Vec<(usize, Vec<f64>)> {
    let (many, (a, b)) = (SAMPLE.min(m), ab.split_at(m * k));
    let row = |i: usize| {
        let row = i * (m - 1) / (many - 1).max(1);
        let a: Vec<f64> = a[row * k..][..k].iter().map(|x| x.to_f64()).collect();
        let sum = |b: &[Element]| a.iter().zip(b).map(|(x, y)| x * y.to_f64()).sum();
        (row, b.chunks(k).map(sum).collect())
    };
    (0..many).into_par_iter().map(row).collect()
}

/// The error of a product.
fn error(c: &[f32], rows: &[(usize, Vec<f64>)]) -> f64 {
    let (mut squares, mut of_right) = (0.0f64, 0.0f64);
    for (row, sums) in rows {
        for (&got, want) in c[row * sums.len()..].iter().zip(sums) {
            let error = f64::from(got) - want;
            (squares, of_right) = (squares + error * error, of_right + want * want);
        }
    }
    (squares / of_right).sqrt()
}

/// Our product, on an engine.
struct Ours<C> {
    ab: Rc<Buffer<Element>>,
    c: Buffer<C>,
    sides: Sides,
    adding: Adding,
    sequence: Sequence<Product<Element, Element, C>>,
}

impl<C: OfC> Ours<C>
where
    Element: Times<Element, C>,
{
    fn new(engine: &Engine, ab: &Rc<Buffer<Element>>, sides: Sides, adding: Adding) -> Result<Self> {
        let (c, sequence) = (engine.alloc(sides.0 * sides.1)?, sequence(engine)?);
        Ok(Self { ab: ab.clone(), c, sides, adding, sequence })
    }
}

impl<C: OfC> Prepared for Ours<C>
where
    Data: From<Vec<C>>,
{
    fn restore(&mut self) -> Result<()> {
        Ok(())
    }

    fn run(&mut self) -> Result<()> {
        let ((m, n, k), adding) = (self.sides, self.adding);
        let [rows, columns, deep] = [m, n, k].map(|side| side as u32);
        let a = Matrix::new(self.ab.slice(0, m * k), rows, deep, deep);
        let b = Matrix { transposed: true, ..Matrix::new(self.ab.slice(m * k, n * k), deep, columns, deep) };
        let c = Matrix::new(self.c.view(), rows, columns, columns);
        let product = Product { a, b, c, alpha: 1.0, beta: 0.0, adding };
        Ok(self.sequence.run(self.ab.engine(), product)?)
    }

    fn scratch_bytes(&self) -> u64 {
        16
    }

    fn verify(&mut self) -> Result<()> {
        Ok(())
    }

    fn output(&mut self) -> Result<Data> {
        Ok(Data::from(self.c.download()?))
    }
}

/// What a library is given.
struct Operands(Rc<Buffer<Element>>);

impl OpenProblem for Operands {
    fn input(&self, _: &Engine) -> Result<Rc<dyn AnyBuffer>> {
        Ok(self.0.clone())
    }

    fn check(&self, _: &str, _: &dyn AnyBuffer) -> Result<()> {
        Ok(())
    }
}

/// C as `f32`: bytes are those of `f32` or of `bf16`.
fn widened(c: Data, elements: usize) -> Result<Vec<f32>> {
    let wide = |c: &[bf16]| c.iter().map(|x| x.to_f32()).collect();
    match c {
        Data::F32(c) => Ok(c),
        Data::Bf16(c) => Ok(wide(&c)),
        Data::U8(bytes) if bytes.len() == 4 * elements => {
            Ok(bytes.chunks_exact(4).map(|b| f32::from_ne_bytes([b[0], b[1], b[2], b[3]])).collect())
        }
        Data::U8(bytes) => {
            let c: Vec<_> = bytes.chunks_exact(2).map(|b| bf16::from_bits(u16::from_ne_bytes([b[0], b[1]]))).collect();
            Ok(wide(&c))
        }
        _ => Err(Error::Usage("a product of floats".into())),
    }
}

fn main() -> Result<()> {
    let engine = Engine::open(DeviceChoice::Auto)?;
    let mut arguments = std::env::args().skip(1);
    let normal = match arguments.next().as_deref() {
        None | Some("normal") => true,
        Some("unit") => false,
        Some(other) => return Err(Error::Usage(format!("elements are normal or unit, not {other}"))),
    };
    let mut sizes: Vec<String> = arguments.collect();
    if sizes.is_empty() {
        sizes = vec!["512,512,512".into()];
    }
    let family = algorithms::family("matmul").ok_or_else(|| Error::Usage("there is no family matmul".into()))?;
    let (peers, parameters) = (peers::find(None).and_then(|path| Peers::open(&path)).ok(), Parameters::default());
    let zeros = Rc::new(engine.upload(&vec![Element::from_f32(0.0); 2 * BUSY.0 * BUSY.2])?);
    let mut busy = Ours::<bf16>::new(&engine, &zeros, BUSY, Adding::OnTensorCores)?;
    let busy_calls = if engine.as_cuda().is_some() { BUSY_CALLS } else { 0 };
    for size in sizes {
        let sides: Vec<usize> = size.split(',').filter_map(|side| side.parse().ok()).collect();
        let [m, n, k] = sides[..] else { return Err(Error::Usage(format!("{size} is not M,N,K"))) };
        let (sides, product) = ((m, n, k), Size::Product { m: m as u64, n: n as u64, k: k as u64 });
        let ab = elements((m + n) * k, normal)?;
        let rows = rows(&ab, sides);
        let ab = Rc::new(engine.upload(&ab)?);
        let operands = Operands(ab.clone());
        let mut all: Vec<(String, Box<dyn Prepared + '_>)> = vec![];
        for (what, adding) in [("fast", Adding::OnTensorCores), ("promoted", Adding::Promoted)] {
            all.push((what.into(), Box::new(Ours::<f32>::new(&engine, &ab, sides, adding)?)));
            all.push((format!("{what}, bf16"), Box::new(Ours::<bf16>::new(&engine, &ab, sides, adding)?)));
        }
        for peer in peers.iter().flat_map(|peers| &peers.list).filter(|peer| peer.family == "matmul-fp8") {
            let Some(peers) = &peers else { continue };
            match peers.prepare(peer, &engine, family, &operands, product, &parameters) {
                Ok(prepared) => all.push((peer.name.clone(), prepared)),
                Err(why) => println!("{}: {why}", peer.name),
            }
        }
        let (mut times, mut calls) = (vec![vec![]; all.len()], vec![1; all.len()]);
        for round in 0..ROUNDS + 2 {
            for i in 0..all.len() {
                let i = (i + round) % all.len();
                let (_, prepared) = &mut all[i];
                (0..busy_calls).try_for_each(|_| busy.run())?;
                let (_, ms) = engine.time(|| (0..calls[i]).try_for_each(|_| prepared.run()))?;
                match round {
                    0 | 1 => calls[i] = (LASTING_MS * calls[i] as f64 / ms).ceil().clamp(1.0, 100.0) as usize,
                    _ => times[i].push(ms / calls[i] as f64),
                }
            }
        }
        println!("{m} x {n} x {k}");
        for ((name, prepared), times) in all.iter_mut().zip(&mut times) {
            let error = error(&widened(prepared.output()?, m * n)?, &rows);
            times.sort_by(f64::total_cmp);
            let ms = times[times.len() / 2];
            let speed = 2.0 * m as f64 * n as f64 * k as f64 / ms / 1e9;
            println!("  {name:36} {ms:9.4} ms {speed:7.1} TFLOP/s   error {error:.2e}");
        }
    }
    Ok(())
}
