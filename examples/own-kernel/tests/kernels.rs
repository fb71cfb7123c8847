//! The kernels on the simulator, and what their PTX holds.

use own_kernel::{expected, open, ptx, smooth_and_scale};
use rungs::engine::DeviceChoice;

#[test]
fn every_length_around_a_block_is_right() {
    let engine = open(DeviceChoice::Simulator).unwrap();
    for n in [0, 1, 2, 255, 256, 257, 511, 512, 513, 5000] {
        let data: Vec<f32> = (0..n).map(|i| (i * 7 % 100) as f32).collect();
        assert_eq!(smooth_and_scale(&engine, &data, 0.5).unwrap(), expected(&data, 0.5), "{n} elements");
    }
}

/// Our kernels with their launch bounds, and no kernel of the crates that they use functions of.
#[test]
fn ptx_has_our_kernels_alone() {
    for (arch, text) in ptx::PTX {
        let heads: Vec<_> = text.split(".entry ").skip(1).map(|rest| rest.split('{').next().unwrap()).collect();
        let name = |head: &&str| head.split('(').next().unwrap().to_owned();
        let mut names: Vec<_> = heads.iter().map(name).collect();
        names.sort();
        assert_eq!(names, ["scale", "smooth"], "{arch}");
        assert!(heads.iter().all(|head| head.contains(".maxntid 256")), "{arch}: {heads:?}");
    }
}
