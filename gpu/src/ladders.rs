//! The ladders of the program: the course's rungs, then the library's rows.

use rungs_common::ladder::select::Select;
use rungs_common::ladder::sort::Sort;
use rungs_common::ladder::top_k::TopK;
use rungs_common::ladder::{Entry, Failed, Ladder, Launcher, Launches, Result};
use rungs_matmul::ladder::{self as course, Multiply};
use rungs_products::ladder::{
    Batch, Element, Matmul, Matrix, Multiplies, MultipliesOf, Precision, Product, Real, Sizes,
};
use simt::bf16;
use std::boxed::Box;
use std::sync::LazyLock;
use std::vec::Vec;

type Rows<K> = &'static [&'static Entry<K>];

/// Sorts by digits.
pub static RADIX: Ladder<Sort> = Ladder {
    family: rungs_radix::LADDER.family,
    about: rungs_radix::LADDER.about,
    rungs: &joined::<_, { rungs_radix::LADDER.rungs.len() + rungs_sorts::BY_DIGITS.len() }>(
        rungs_radix::LADDER.rungs,
        rungs_sorts::BY_DIGITS,
    ),
    default: &rungs_sorts::either::launches::RUNG,
};

/// Sorts that compare.
pub static MERGE: Ladder<Sort> = Ladder {
    family: rungs_merge::LADDER.family,
    about: rungs_merge::LADDER.about,
    rungs: &joined::<_, { rungs_merge::LADDER.rungs.len() + rungs_sorts::BY_COMPARISONS.len() }>(
        rungs_merge::LADDER.rungs,
        rungs_sorts::BY_COMPARISONS,
    ),
    default: rungs_merge::LADDER.default,
};

/// Selections by a pivot.
pub static SELECT: Ladder<&dyn Select> = Ladder {
    family: rungs_select::LADDER.family,
    about: rungs_select::LADDER.about,
    rungs: &joined::<_, { rungs_select::LADDER.rungs.len() + rungs_selections::SELECTIONS.len() }>(
        rungs_select::LADDER.rungs,
        rungs_selections::SELECTIONS,
    ),
    default: &rungs_selections::look_ahead::launches::SELECT,
};

/// The largest keys.
pub static TOP_K: Ladder<&dyn TopK> = Ladder {
    family: rungs_top_k::LADDER.family,
    about: rungs_top_k::LADDER.about,
    rungs: &joined::<_, { rungs_top_k::LADDER.rungs.len() + rungs_selections::TOP_K.len() }>(
        rungs_top_k::LADDER.rungs,
        rungs_selections::TOP_K,
    ),
    default: &rungs_selections::sampled::RUNG,
};

/// The rows of the first list, then those of the second.
const fn joined<K, const N: usize>(first: Rows<K>, second: Rows<K>) -> [&'static Entry<K>; N] {
    let (mut rows, mut i) = ([first[0]; N], 0);
    while i < N {
        rows[i] = if i < first.len() { first[i] } else { second[i - first.len()] };
        i += 1;
    }
    rows
}

/// The products: the course's, which multiply row-major matrices and nothing else, and the library's.
pub static MATMUL: LazyLock<Ladder<Matmul>> = LazyLock::new(|| {
    let library = &rungs_products::LADDER;
    let rungs = rungs_matmul::LADDER.rungs.iter().map(|entry| {
        let run: Matmul = Box::leak(Box::new(Plain(entry.run)));
        &*Box::leak(Box::new(Entry { rung: entry.rung, run }))
    });
    let rungs: Vec<_> = rungs.chain(library.rungs.iter().copied()).collect();
    Ladder { family: library.family, about: library.about, rungs: rungs.leak(), default: library.default }
});

/// A rung of the course as one of the library's kind.
struct Plain(Multiply);

impl Multiplies for Plain {
    fn is_plain(&self) -> bool {
        true
    }

    fn f32(&self) -> bool {
        matches!(self.0, Multiply::F32(_) | Multiply::Tf32(_))
    }

    fn precision(&self) -> Precision {
        if matches!(self.0, Multiply::Tf32(_)) { Precision::Tf32 } else { Precision::F32 }
    }

    fn launches(&self, _: &dyn Launcher, _: Sizes) -> Result<Launches<Product>> {
        match self.0 {
            Multiply::F32(multiply) | Multiply::Tf32(multiply) => Ok(launches(multiply)),
            _ => Err(other_type()),
        }
    }

    fn bf16(&self) -> Option<&dyn MultipliesOf<bf16>> {
        matches!(self.0, Multiply::Bf16(_)).then_some(self)
    }

    fn f64(&self) -> Option<&dyn MultipliesOf<f64>> {
        matches!(self.0, Multiply::F64(_)).then_some(self)
    }
}

impl MultipliesOf<bf16> for Plain {
    fn launches_of(&self, _: &dyn Launcher, _: Sizes) -> Result<Launches<Product<bf16>>> {
        match self.0 {
            Multiply::Bf16(multiply) => Ok(launches(multiply)),
            _ => Err(other_type()),
        }
    }
}

impl MultipliesOf<f64> for Plain {
    fn launches_of(&self, _: &dyn Launcher, _: Sizes) -> Result<Launches<Product<f64>>> {
        match self.0 {
            Multiply::F64(multiply) => Ok(launches(multiply)),
            _ => Err(other_type()),
        }
    }
}

fn other_type() -> Failed {
    Failed::Unsuitable("this rung multiplies matrices of another type".into())
}

/// The launches of a course's product.
fn launches<T: Element>(multiply: fn(&dyn Launcher, course::Product<T>) -> Result) -> Launches<Product<T>> {
    Box::new(move |on, product| multiply(on, plain(product)?))
}

/// A product of the course's kind.
fn plain<T: Element>(product: Product<T>) -> Result<course::Product<T>> {
    let Product { a, b, c, alpha, beta, batch } = product;
    let is_plain = |matrix: &Matrix<T>| !matrix.transposed && (matrix.stride == matrix.columns || matrix.rows <= 1);
    let factors: [f64; 2] = [alpha.into(), beta.into()];
    if factors != [T::Sum::ONE.into(), 0.0] || batch.count != Batch::ONE.count || ![a, b, c].iter().all(is_plain) {
        let why = "rungs of the course multiply row-major matrices without gaps, factors or batches; the library's \
                   products (fp32, for example) take them";
        return Err(Failed::Unsuitable(why.into()));
    }
    Ok(course::Product { a: a.data, b: b.data, c: c.data, m: c.rows, n: c.columns, k: a.columns })
}
