//! Tests that need no GPU; the rungs' own tests run the rest on every GPU.

use super::launches::{check, may_start_early};
use super::*;
use crate::engine::Geometry;
use cuda_driver::Function;

fn h200() -> Properties {
    Properties {
        compute_capability: (9, 0),
        max_threads_per_block: 1024,
        max_block: [1024, 1024, 64],
        max_grid: [i32::MAX as u32, 65535, 65535],
        shared_per_block_optin: 232_448,
        ..Properties::default()
    }
}

fn kernel(max_threads: u32, static_shared: u32) -> Loaded {
    // SAFETY: never launched.
    let function = unsafe { Function::from_raw(std::ptr::null_mut()) };
    Loaded { function, max_threads, static_shared, dynamic_limit: 0, waits_for_previous: false }
}

fn refusal(geometry: Geometry) -> String {
    check(&h200(), &kernel(1024, 1024), &geometry).unwrap_err()
}

#[test]
fn the_latest_ptx_that_runs_is_chosen() {
    let ptx = [("sm_90", "hopper"), ("sm_80", "ampere"), ("sm_90a", "hopper alone"), ("sm_100f", "blackwell")];
    let chosen = |cc| choose(&ptx, cc).map(|(_, text)| text);
    assert_eq!(chosen((7, 5)), None);
    assert_eq!(chosen((8, 0)), Some("ampere"));
    assert_eq!(chosen((8, 9)), Some("ampere"));
    assert_eq!(chosen((9, 0)), Some("hopper alone"));
    assert_eq!(chosen((10, 3)), Some("blackwell"));
    assert_eq!(chosen((12, 0)), Some("hopper"));
    assert_eq!(choose(&[], (9, 0)), None);
    assert_eq!(choose(&[("sm_", ""), ("compute_80", ""), ("sm_80x", ""), ("sm_90af", "")], (9, 0)), None);
}

/// For the H100 of a node with a driver for CUDA 11.8, the PTX for sm_80 is older and loads.
#[test]
fn the_driver_is_new_enough_for_the_ptx_that_is_taken() {
    let ptx = [
        ("sm_80", "//\n.version 7.4\n.target sm_80"),
        ("sm_90", "//\n.version 8.0\n.target sm_90"),
        ("sm_100", ".version 8.7\n"),
    ];
    let on = |compute_capability, driver: &str| {
        let properties = Properties { compute_capability, driver_version: driver.into(), ..h200() };
        (taken(&ptx, &properties).map(|(arch, _)| arch), suited(&ptx, &properties).err().map(|e| e.to_string()))
    };
    assert_eq!(on((9, 0), "13.0"), (Some("sm_90"), None));
    assert_eq!(on((9, 0), "12.0"), (Some("sm_90"), None));
    assert_eq!(on((9, 0), "11.8"), (Some("sm_80"), None));
    assert_eq!(on((10, 0), "12.7"), (Some("sm_90"), None));
    assert_eq!(on((10, 0), "12.8"), (Some("sm_100"), None));
    let (none, why) = on((9, 0), "11.0");
    assert_eq!(none, None);
    let want = "the driver is one for CUDA 11.0, and the PTX for sm_80 needs one for CUDA 11.4 or later";
    assert!(why.as_ref().is_some_and(|why| why.starts_with(want) && why.contains("--device sim")), "{why:?}");
    assert!(on((7, 5), "13.0").1.unwrap().starts_with("no PTX for compute capability 7.5"));
    let least = |version: &str| least_driver(&format!(".version {version}\n"));
    assert_eq!(
        ["6.5", "7.8", "8.5", "8.6", "8.8", "9.1"].map(least),
        [None, Some((11, 8)), Some((12, 5)), Some((12, 7)), Some((12, 9)), Some((13, 1))]
    );
    assert_eq!(least_driver("no PTX"), None);
    let old = CudaError::OldDriver { driver: "11.0".into(), arch: "sm_80".into(), least: (11, 4) };
    assert_eq!(crate::Error::from(old).exit_code(), 3, "and `auto` takes the simulator");
}

#[test]
fn a_driver_that_does_not_start_is_explained() {
    for (code, word) in [(802, "fabricmanager"), (803, "two versions"), (804, "LD_LIBRARY_PATH"), (999, "nvidia-smi")] {
        let text = CudaError::NotStarted { status: Status::from_code(code) }.to_string();
        assert!(text.contains(word) && text.contains("--device sim"), "{text}");
    }
    let ptx =
        |code| CudaError::Ptx { arch: "sm_80".into(), status: Status::from_code(code), log: String::new() }.to_string();
    assert!(ptx(222).contains("update it") && ptx(222).contains("--device sim") && !ptx(218).contains("update"));
}

#[test]
fn a_launch_that_fits_is_not_refused() {
    let fits = |geometry| check(&h200(), &kernel(1024, 1024), &geometry);
    assert_eq!(fits(Geometry::linear(i32::MAX as u32, 1024)), Ok(()));
    assert_eq!(fits(Geometry::linear(1, 1).shared(232_448 - 1024)), Ok(()));
    assert_eq!(fits(Geometry::plane((6, 4), (32, 32))), Ok(()));
}

#[test]
fn a_refusal_names_the_limit() {
    assert_eq!(refusal(Geometry::linear(0, 1)), "a grid of 0 in x cannot be launched; the limit is 1 to 2147483647");
    let tall = Geometry::plane((1, 65536), (1, 1));
    assert_eq!(refusal(tall), "a grid of 65536 in y cannot be launched; the limit is 1 to 65535");
    let wide = Geometry::plane((1, 1), (64, 32));
    assert_eq!(refusal(wide), "a block of 2048 threads cannot be launched; the device's limit is 1024");
    let deep = Geometry { block: [1, 1, 65], ..Geometry::linear(1, 1) };
    assert_eq!(refusal(deep), "a block of 65 in z cannot be launched; the limit is 1 to 64");
    let shared = Geometry::linear(1, 1).shared(232_448);
    let why = "233472 bytes of shared memory per block (1024 static, 232448 dynamic) are too many; the device's \
               limit is 232448";
    assert_eq!(refusal(shared), why);

    let bounded = check(&h200(), &kernel(256, 0), &Geometry::linear(1, 512)).unwrap_err();
    assert_eq!(bounded, "a block of 512 threads cannot be launched; the kernel's own limit is 256");
}

/// What a program with older PTX alone has on a newer device.
#[test]
fn an_architecture_has_a_compute_capability() {
    assert_eq!(version("sm_80"), Some(((8, 0), "")));
    assert_eq!(version("sm_90a"), Some(((9, 0), "a")));
    assert_eq!(version("sm_120f"), Some(((12, 0), "f")));
    assert_eq!([version("sm_"), version("compute_80")], [None, None]);
}

#[test]
fn ptx_is_named_with_its_compiler() {
    let named = |text| crate::engine::named_ptx(&("sm_90", text));
    assert_eq!(named("// Compiled by rust-cuda, a nightly\n.version 8.0\n"), "sm_90 by rust-cuda, a nightly");
    assert_eq!(named(".version 8.0\n"), "sm_90 by an unnamed compiler");
}

#[test]
fn ranges_are_inside_one_allocation() {
    let allocations = BTreeMap::from([(1024, 256), (1280, 256)]);
    let inside = |address, bytes| within(&allocations, address, bytes);
    assert!(inside(1024, 256) && inside(1100, 100) && inside(1279, 1) && inside(1280, 256));
    assert!(!inside(1023, 1) && !inside(1024, 257) && !inside(1535, 2) && !inside(1536, 1) && !inside(u64::MAX, 1));
    assert!(!inside(1100, usize::MAX));
}

#[test]
fn errors_say_what_to_do() {
    let no_device = |ordinal, count| CudaError::NoDevice { ordinal, count }.to_string();
    assert_eq!(no_device(0, 0), "there is no CUDA device 0: the driver knows of none");
    assert_eq!(no_device(4, 1), "there is no CUDA device 4: the driver knows of one, device 0");
    assert_eq!(no_device(4, 2), "there is no CUDA device 4: the driver knows of 2, 0 to 1");

    let no_ptx = CudaError::NoPtx { compute_capability: (7, 5), have: vec!["sm_80".into(), "sm_90".into()] };
    let said = "no PTX for compute capability 7.5: this program carries sm_80, sm_90; `cargo xtask build-ptx --arch \
                sm_75` makes it";
    assert_eq!(no_ptx.to_string(), said);

    let fault = |launches| CudaError::Fault { kernel: "bubble", launches, status: Status::from_code(700) }.to_string();
    assert!(fault(1).starts_with("bubble went wrong on the GPU: "), "{}", fault(1));
    assert!(fault(3).starts_with("one of the last 3 kernels, the last of them bubble, went wrong"), "{}", fault(3));
}

/// On a machine without a driver this is the error that `--device auto` falls back from.
#[test]
fn opening_without_a_driver_or_ptx_is_an_error() {
    match Cuda::open(0, &[]) {
        Err(CudaError::NoDriver(_) | CudaError::NoDevice { ordinal: 0, count: 0 } | CudaError::NoPtx { .. }) => {}
        Err(other) => panic!("{other}"),
        Ok(_) => panic!("opened without PTX"),
    }
}

#[test]
fn handles_go_between_threads() {
    fn sent_and_shared<T: Send + Sync>() {}
    sent_and_shared::<Cuda>();
    sent_and_shared::<Mark>();
}

/// PTX of kernels that do nothing, or wait for the grid before.
fn text(kernels: &[(&str, bool)]) -> String {
    let wait = |waits: bool| if waits { "griddepcontrol.wait;" } else { "" };
    kernels.iter().map(|(name, waits)| format!(".visible .entry {name}()\n{{\n{}\nret;\n}}\n", wait(*waits))).collect()
}

#[test]
fn a_name_that_is_there_is_not_added() {
    let ours = Declared::of(&text(&[("sort", false), ("scan", false)]));
    let both = ours.with(Declared::of(&text(&[("smooth", false)]))).map_err(|e| e.to_string()).unwrap();
    for (kernels, doubled) in [([("smooth", false)], "smooth"), ([("scan", true)], "scan")] {
        let why = both.with(Declared::of(&text(&kernels))).map(drop).unwrap_err().to_string();
        assert!(why.starts_with(&format!("there is a kernel {doubled} already")), "{why}");
    }
    assert!(ours.with(Declared::of(&text(&[("smooth", false)]))).is_ok());
}

/// On an H100, sm_80 PTX has no waiting instruction: its kernels must not start early, although the device could.
#[test]
fn a_kernel_starts_early_only_where_it_waits_itself() {
    let declared = Declared::of(&text(&[("waits", true), ("does_not", false)]));
    let early = |name: &str, geometry| {
        let waits_for_previous = declared.waits_for_previous(name);
        may_start_early(&Loaded { waits_for_previous, ..kernel(1024, 0) }, &geometry)
    };
    let plain = Geometry::linear(1, 32);
    assert!(early("waits", plain.overlapping()));
    assert!(
        !early("waits", plain) && !early("does_not", plain.overlapping()) && !early("unknown", plain.overlapping())
    );
}
