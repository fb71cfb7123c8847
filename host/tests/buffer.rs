//! Buffers on the simulator's memory, without a launch: all of it runs under Miri too (`cargo xtask miri`).

use rungs::engine::{AnyBuffer, DeviceChoice, Engine};

fn engine() -> Engine {
    Engine::open(DeviceChoice::Simulator).unwrap()
}

#[test]
fn what_is_written_is_read() {
    let engine = engine();
    for n in [0, 1, 2, 31, 33, 257] {
        let data: Vec<u32> = (0..n).collect();
        let buffer = engine.upload(&data).unwrap();
        assert_eq!((buffer.len(), buffer.is_empty()), (data.len(), n == 0));
        assert_eq!(buffer.download().unwrap(), data);
        buffer.write_at(data.len() / 2, &data[..data.len() / 2]).unwrap();
        let half = data.len() / 2;
        let want: Vec<u32> = data[..half].iter().chain(&data[..half]).chain(&data[2 * half..]).copied().collect();
        assert_eq!(buffer.download().unwrap(), want);
        let mut first = vec![7; half];
        buffer.read(&mut first).unwrap();
        assert_eq!(first, data[..half]);
    }
}

#[test]
fn buffers_are_copied_filled_and_viewed_as_other_types() {
    let engine = engine();
    let (from, to) = (engine.upload(&[1u64, 2, 3]).unwrap(), engine.upload(&[9u64; 5]).unwrap());
    to.copy_from(&from).unwrap();
    assert_eq!(to.download().unwrap(), [1, 2, 3, 9, 9]);
    to.copy_from(&to).unwrap();
    assert_eq!((&to as &dyn AnyBuffer).download_as::<u32>().unwrap(), [1, 0, 2, 0, 3, 0, 9, 0, 9, 0]);
    let view = (&to as &dyn AnyBuffer).view_as::<u32>();
    assert_eq!((view.len(), view.as_ptr().cast()), (10, to.as_ptr()));
    let slice = to.slice(2, 3);
    assert_eq!((slice.len(), slice.as_ptr()), (3, to.as_ptr().wrapping_add(2)));
    let mut bytes = [0; 8];
    // SAFETY: the buffer lives, and has so many bytes from its third element on.
    unsafe { engine.read_at(slice.as_ptr().cast(), &mut bytes).unwrap() };
    assert_eq!(u64::from_ne_bytes(bytes), 3);
    to.fill(0xff).unwrap();
    assert_eq!(to.download().unwrap(), [u64::MAX; 5]);
}

#[test]
fn a_buffer_of_another_engine_is_refused() {
    let (one, other) = (engine(), engine());
    let (to, from) = (one.upload(&[1u32]).unwrap(), other.upload(&[2u32]).unwrap());
    let error = to.copy_from(&from).unwrap_err().to_string();
    assert!(error.contains("between buffers of one engine"), "{error}");
    assert_eq!(to.download().unwrap(), [1]);
}
