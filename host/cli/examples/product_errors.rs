//! Speed of matrix products beside their error: every rung from some rung on, and NVIDIA's library, on the same normal
//! data.
//!
//!     cargo run --release -p rungs-cli --example product_errors [FROM [M,N,K ...]]
//!
//! The library of peers is the one that RUNGS_PEERS names. The error is that of 64 rows of C against sums in double
//! precision: the root of the sum of all squares, relative to that of the right values; and the largest of an element
//! relative to the sum of its terms' magnitudes, in units of 2⁻²⁴. Times are medians; each round begins
//! with another.

use rayon::iter::{IntoParallelIterator, ParallelIterator};
use rungs::data::{Data, Distribution, Dtype};
use rungs::engine::{DeviceChoice, Engine};
use rungs::error::{Error, Result};
use rungs_cli::algorithms::{self, Parameters, Prepared, Size, Workload};
use rungs_cli::bench::peers::{self, Peers};

/// Rounds, and the milliseconds of back-to-back calls that a measurement lasts at least.
const ROUNDS: usize = 15;
const LASTING_MS: f64 = 2.0;
/// Rows whose error is computed.
const SAMPLE: usize = 64;

/// Normal numbers, the same in every run: pairs of uniform ones by Box and Muller.
fn normal(elements: usize, seed: u64) -> Result<Vec<f32>> {
    let uniform = Distribution::Uniform.keys::<f64>(elements.next_multiple_of(2) as u64, seed)?;
    let pair = |u: &[f64]| {
        let (length, angle) = ((-2.0 * u[0].abs().max(1e-300).ln()).sqrt(), std::f64::consts::PI * u[1]);
        [(length * angle.cos()) as f32, (length * angle.sin()) as f32]
    };
    Ok(uniform.chunks(2).flat_map(pair).take(elements).collect())
}

/// A row of C, its elements in double precision, and the sums of the magnitudes of their terms.
type Row = (usize, Vec<f64>, Vec<f64>);

/// Some rows of a product.
fn rows(a: &[f32], b: &[f32], (m, n, k): (usize, usize, usize)) -> Vec<Row> {
    let many = SAMPLE.min(m);
    let row = |i: usize| {
        let row = i * (m - 1) / (many - 1).max(1);
        let (mut sums, mut sizes) = (vec![0.0f64; n], vec![0.0f64; n]);
        for (e, &x) in a[row * k..][..k].iter().enumerate() {
            for ((sum, size), &y) in sums.iter_mut().zip(&mut sizes).zip(&b[e * n..][..n]) {
                let product = f64::from(x) * f64::from(y);
                *sum += product;
                *size += product.abs();
            }
        }
        (row, sums, sizes)
    };
    (0..many).into_par_iter().map(row).collect()
}

/// The two errors of a product.
fn errors(c: &[f32], rows: &[Row]) -> (f64, f64) {
    let (mut squares, mut of_right, mut largest) = (0.0f64, 0.0f64, 0.0f64);
    for (row, sums, sizes) in rows {
        for ((&got, want), size) in c[row * sums.len()..].iter().zip(sums).zip(sizes) {
            let error = (f64::from(got) - want).abs();
            (squares, of_right) = (squares + error * error, of_right + want * want);
            largest = largest.max(error / size);
        }
    }
    ((squares / of_right).sqrt(), largest * f64::from(1 << 24))
}

fn main() -> Result<()> {
    let engine = Engine::open(DeviceChoice::Auto)?;
    let mut arguments = std::env::args().skip(1);
    let from = arguments.next().unwrap_or("fp32".into());
    let mut sizes: Vec<String> = arguments.collect();
    if sizes.is_empty() {
        sizes = vec!["512,512,512".into()];
    }
    let family = algorithms::family("matmul").ok_or_else(|| Error::Usage("there is no family matmul".into()))?;
    let first = family.rungs.iter().position(|rung| rung.name == from).unwrap_or(0);
    let peers = peers::find(None).and_then(|path| Peers::open(&path)).ok();
    for size in sizes {
        let sides: Vec<usize> = size.split(',').filter_map(|side| side.parse().ok()).collect();
        let [m, n, k] = sides[..] else { return Err(Error::Usage(format!("{size} is not M,N,K"))) };
        let (a, b) = (normal(m * k, 1)?, normal(k * n, 2)?);
        let rows = rows(&a, &b, (m, n, k));
        let size = Size::Product { m: m as u64, n: n as u64, k: k as u64 };
        let parameters = Parameters::default();
        let problem = family.make(Workload {
            size,
            dtype: Dtype::F32,
            distribution: Distribution::Uniform,
            seed: 0,
            input: Some(vec![Data::F32(a.clone()), Data::F32(b.clone())]),
            parameters,
        })?;
        let mut all: Vec<(&str, Box<dyn Prepared + '_>)> = vec![];
        for rung in &family.rungs[first..] {
            match problem.prepare(&engine, rung) {
                Ok(prepared) => all.push((rung.name, prepared)),
                Err(why) => println!("{}: {why}", rung.name),
            }
        }
        if let (Some(peers), Some(open)) = (&peers, problem.open()) {
            for (peer, _) in peers.of(family, &family.rungs, Dtype::F32, &parameters) {
                if peer.name.starts_with("cublas") {
                    let prepared = peers.prepare(peer, &engine, family, open, size, &parameters)?;
                    all.push((&peer.name, prepared));
                }
            }
        }
        let mut times = vec![vec![]; all.len()];
        let mut calls = vec![1; all.len()];
        for round in 0..ROUNDS + 2 {
            for i in 0..all.len() {
                let i = (i + round) % all.len();
                let (_, prepared) = &mut all[i];
                let (_, ms) = engine.time(|| (0..calls[i]).try_for_each(|_| prepared.run()))?;
                match round {
                    0 | 1 => calls[i] = (LASTING_MS * calls[i] as f64 / ms).ceil().clamp(1.0, 100.0) as usize,
                    _ => times[i].push(ms / calls[i] as f64),
                }
            }
        }
        println!("{m} x {n} x {k}");
        for ((name, prepared), times) in all.iter_mut().zip(&mut times) {
            let c: Vec<f32> = match prepared.output()? {
                Data::F32(c) => c,
                Data::U8(bytes) => {
                    bytes.chunks_exact(4).map(|b| f32::from_ne_bytes([b[0], b[1], b[2], b[3]])).collect()
                }
                _ => return Err(Error::Usage("a product of floats".into())),
            };
            let (root, largest) = errors(&c, &rows);
            times.sort_by(f64::total_cmp);
            let ms = times[times.len() / 2];
            let speed = 2.0 * m as f64 * n as f64 * k as f64 / ms / 1e9;
            println!("  {name:24} {ms:9.4} ms {speed:7.1} TFLOP/s   error {root:.2e}   largest {largest:6.2}");
        }
    }
    Ok(())
}
