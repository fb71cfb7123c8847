//! The parameters that a launch passes to the driver: the bytes of each at its own address.

use simt::{Arguments, Global, Scalar};

#[simt::argument]
#[derive(Clone, Copy)]
struct Mixed {
    byte: u8,
    wide: f64,
    word: u32,
}

#[test]
fn parameters_are_copies_at_addresses_that_stay() {
    let mut words = [1u32, 2, 3];
    // SAFETY: the view is not accessed.
    let view = unsafe { Global::from_raw(words.as_mut_ptr(), 3) };
    let mixed = Mixed { byte: 7, wide: 0.5, word: 9 };
    let mut parameters = (view, 5u8, mixed, -1i64).parameters();
    let pointers = parameters.pointers();
    assert_eq!(pointers.len(), 5, "a view is two parameters");
    // SAFETY: each points at a value of the type that was pushed, as long as `parameters` is not changed.
    unsafe {
        assert_eq!(pointers[0].cast::<u64>().read(), words.as_ptr() as u64);
        assert_eq!(pointers[1].cast::<u32>().read(), 3);
        assert_eq!(pointers[2].cast::<u8>().read(), 5);
        let Mixed { byte, wide, word } = pointers[3].cast::<Mixed>().read();
        assert_eq!((byte, wide, word), (7, 0.5, 9));
        assert_eq!(pointers[4].cast::<i64>().read(), -1);
    }
    assert!(pointers.iter().all(|p| p.addr().is_multiple_of(8)));
}

#[test]
fn a_scalar_and_its_bits() {
    fn there_and_back<T: Scalar + std::fmt::Debug>(values: impl IntoIterator<Item = (T, u64)>) {
        for (value, bits) in values {
            assert_eq!(
                (value.to_bits_64(), T::from_bits_64(bits | u64::MAX << (8 * size_of::<T>() - 1) << 1)),
                (bits, value)
            );
        }
    }
    there_and_back([(0x81u8, 0x81)]);
    there_and_back([(0x8001u16, 0x8001)]);
    there_and_back([(u32::MAX, 0xffff_ffff)]);
    there_and_back([(-2i32, 0xffff_fffe)]);
    there_and_back([(-0.5f32, 0xbf00_0000)]);
    there_and_back([(-2i64, u64::MAX - 1)]);
    there_and_back([(-0.5f64, 0xbfe0_0000_0000_0000)]);
}

/// `#[repr(C)]` written out is what the attribute would add.
#[simt::argument]
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
struct WrittenOut {
    small: u8,
    large: f64,
}

#[test]
fn a_layout_that_is_written_out_is_taken() {
    fn is_argument<T: simt::Argument>(_: T) -> bool {
        T::BY_ITS_BYTES
    }
    let value = WrittenOut { small: 3, large: 0.5 };
    assert!(is_argument(value));
    assert_eq!((value.small, value.large, std::mem::offset_of!(WrittenOut, large)), (3, 0.5, 8));
}
