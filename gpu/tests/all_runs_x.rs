mod common;
use common::{Random, Sorting, inputs, narrow};
use rungs_kernels::merge::r3_all_runs as r3;
#[test]
fn x_all_runs() {
    for n in [4353usize, 9000, 20_001, 65536, 100_003, 262144] {
        for (name, keys) in inputs(n) {
            Sorting::by(&r3::launches::RUNG).check_both(name, &narrow(&keys), &keys);
        }
    }
}
#[test]
fn x_all_runs_large() {
    for n in [262_145usize, 1 << 20] {
        let mut random = Random(7);
        let keys: Vec<u64> = (0..n).map(|_| random.next()).collect();
        Sorting::by(&r3::launches::RUNG).check_both("random", &narrow(&keys), &keys);
    }
}
