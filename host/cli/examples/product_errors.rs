//! Speed of matrix products next to their error: every rung from some rung on, and NVIDIA's library, on the same normal
//! data.
//!
//!     cargo run --release -p rungs-cli --example product_errors [TYPE [FROM [M,N,K ...]]]
//!
//! TYPE is f32, f64, f16 or bf16; the data is rounded to it before. The library of peers is the one that RUNGS_PEERS
//! names. The error is that of 64 rows of C against sums of about twice the precision of f64: the root of the sum of
//! all squares, relative to that of the right values; and the largest of an element relative to the sum of its terms'
//! magnitudes, in units of 2⁻²⁴. Times are medians; each round begins with another.

use rayon::iter::{IntoParallelIterator, ParallelIterator};
use rungs::data::{Data, Distribution, Dtype};
use rungs::engine::{DeviceChoice, Engine};
use rungs::error::{Error, Result};
use rungs_cli::algorithms::{self, Parameters, Prepared, Size, Workload};
use rungs_cli::bench::peers::{self, Peers};
use simt::{bf16, f16};

/// Rounds, and the milliseconds of back-to-back calls that a measurement lasts at least.
const ROUNDS: usize = 15;
const LASTING_MS: f64 = 2.0;
/// Rows whose error is computed.
const SAMPLE: usize = 64;

/// Normal numbers of a type, the same in every run: pairs of uniform ones by Box and Muller.
fn normal(dtype: Dtype, elements: usize, seed: u64) -> Result<Data> {
    let uniform = Distribution::Uniform.keys::<f64>(elements.next_multiple_of(2) as u64, seed)?;
    let pair = |u: &[f64]| {
        let (length, angle) = ((-2.0 * u[0].abs().max(1e-300).ln()).sqrt(), std::f64::consts::PI * u[1]);
        [length * angle.cos(), length * angle.sin()]
    };
    let all = uniform.chunks(2).flat_map(pair).take(elements);
    match dtype {
        Dtype::F32 => Ok(Data::F32(all.map(|x| x as f32).collect())),
        Dtype::F64 => Ok(Data::F64(all.collect())),
        Dtype::F16 => Ok(Data::F16(all.map(f16::from_f64).collect())),
        Dtype::Bf16 => Ok(Data::Bf16(all.map(bf16::from_f64).collect())),
        _ => Err(Error::Usage(format!("{dtype} is not a type of floats"))),
    }
}

/// The numbers of one of these types; of a library's bytes, so many.
fn wide(data: &Data, dtype: Dtype, elements: usize) -> Result<Vec<f64>> {
    let half = |bits: &[u8]| u16::from_ne_bytes([bits[0], bits[1]]);
    match data {
        Data::F32(all) => Ok(all.iter().map(|&x| x.into()).collect()),
        Data::F64(all) => Ok(all.clone()),
        Data::F16(all) => Ok(all.iter().map(|x| x.to_f64()).collect()),
        Data::Bf16(all) => Ok(all.iter().map(|x| x.to_f64()).collect()),
        Data::U8(bytes) => {
            let of = |bits: &[u8]| match (bits, dtype) {
                (&[a, b, c, d], _) => f32::from_ne_bytes([a, b, c, d]).into(),
                (&[a, b, c, d, e, f, g, h], _) => f64::from_ne_bytes([a, b, c, d, e, f, g, h]),
                (bits, Dtype::F16) => f16::from_bits(half(bits)).to_f64(),
                (bits, _) => bf16::from_bits(half(bits)).to_f64(),
            };
            Ok(bytes.chunks_exact(bytes.len() / elements).map(of).collect())
        }
        _ => Err(Error::Usage("a product of floats".into())),
    }
}

/// A row of C, its elements in double precision, and the sums of the magnitudes of their terms.
type Row = (usize, Vec<f64>, Vec<f64>);

/// Some rows of a product.
fn rows(a: &[f64], b: &[f64], (m, n, k): (usize, usize, usize)) -> Vec<Row> {
    let many = SAMPLE.min(m);
    let row = |i: usize| {
        let row = i * (m - 1) / (many - 1).max(1);
        let (mut sums, mut rests, mut sizes) = (vec![0.0f64; n], vec![0.0f64; n], vec![0.0f64; n]);
        for (e, &x) in a[row * k..][..k].iter().enumerate() {
            let of_row = sums.iter_mut().zip(&mut rests).zip(&mut sizes);
            for (((sum, rest), size), &y) in of_row.zip(&b[e * n..][..n]) {
                // What rounding takes from the product and from the sum is exact, and goes into the rest.
                let product = x * y;
                let new = *sum + product;
                let of_product = new - *sum;
                *rest += x.mul_add(y, -product) + ((*sum - (new - of_product)) + (product - of_product));
                (*sum, *size) = (new, *size + product.abs());
            }
        }
        sums.iter_mut().zip(&rests).for_each(|(sum, rest)| *sum += rest);
        (row, sums, sizes)
    };
    (0..many).into_par_iter().map(row).collect()
}

/// The two errors of a product.
fn errors(c: &[f64], rows: &[Row]) -> (f64, f64) {
    let (mut squares, mut of_right, mut largest) = (0.0f64, 0.0f64, 0.0f64);
    for (row, sums, sizes) in rows {
        for ((&got, want), size) in c[row * sums.len()..].iter().zip(sums).zip(sizes) {
            let error = (got - want).abs();
            (squares, of_right) = (squares + error * error, of_right + want * want);
            largest = largest.max(error / size);
        }
    }
    ((squares / of_right).sqrt(), largest * f64::from(1 << 24))
}

fn main() -> Result<()> {
    let engine = Engine::open(DeviceChoice::Auto)?;
    let mut arguments = std::env::args().skip(1);
    let dtype: Dtype = arguments.next().as_deref().unwrap_or("f32").parse()?;
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
        let (a, b) = (normal(dtype, m * k, 1)?, normal(dtype, k * n, 2)?);
        let rows = rows(&wide(&a, dtype, m * k)?, &wide(&b, dtype, k * n)?, (m, n, k));
        let size = Size::Product { m: m as u64, n: n as u64, k: k as u64 };
        let parameters = Parameters::default();
        let problem = family.make(Workload {
            size,
            dtype,
            distribution: Distribution::Uniform,
            seed: 0,
            input: Some(vec![a, b]),
            parameters,
        })?;
        let mut all: Vec<(&str, Box<dyn Prepared + '_>)> = vec![];
        for rung in &family.rungs[first..] {
            match problem.prepare(&engine, rung) {
                Ok(prepared) => all.push((rung.name, prepared)),
                Err(why) => eprintln!("{}: {why}", rung.name),
            }
        }
        if let (Some(peers), Some(open)) = (&peers, problem.open()) {
            for (peer, _) in peers.of(family, &family.rungs, dtype, &parameters) {
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
            let c = wide(&prepared.output()?, dtype, m * n)?;
            let (root, largest) = errors(&c, &rows);
            times.sort_by(f64::total_cmp);
            let ms = times[times.len() / 2];
            let speed = 2.0 * m as f64 * n as f64 * k as f64 / ms / 1e9;
            println!("  {name:24} {ms:9.4} ms {speed:7.1} TFLOP/s   error {root:.2e}   largest {largest:.2e}");
        }
    }
    Ok(())
}
