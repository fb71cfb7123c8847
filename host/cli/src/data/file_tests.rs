use super::*;
use crate::data::{Distribution, sorted};

/// A folder of its own for a test, removed at its end.
struct Folder(PathBuf);

impl Folder {
    fn new(test: &str) -> Self {
        let path = std::env::temp_dir().join(format!("rungs-{test}-{}", process::id()));
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn place(&self, name: &str) -> Place {
        Place::File(self.0.join(name))
    }

    fn file(&self, name: &str, bytes: &[u8]) -> Place {
        fs::write(self.0.join(name), bytes).unwrap();
        self.place(name)
    }

    fn names(&self) -> Vec<String> {
        let mut names: Vec<_> =
            fs::read_dir(&self.0).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// A file as numpy 2.4.6 wrote it: `text` is its header up to the padding, which ended at byte 128.
fn numpy(text: &str, elements: &[u8]) -> Vec<u8> {
    let mut file = b"\x93NUMPY\x01\x00v\x00".to_vec();
    file.extend(text.bytes());
    file.resize(127, b' ');
    file.push(b'\n');
    file.extend(elements);
    file
}

fn one_dimension(descr: &str, elements: &[u8]) -> Vec<u8> {
    numpy(&format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': (3,), }}"), elements)
}

/// `numpy.save` of `numpy.array([3, 1, 2], dtype)` for every type.
fn fixtures() -> [(Vec<u8>, Data); 7] {
    [
        (one_dimension("|u1", b"\x03\x01\x02"), Data::U8(vec![3, 1, 2])),
        (one_dimension("<u4", b"\x03\0\0\0\x01\0\0\0\x02\0\0\0"), Data::U32(vec![3, 1, 2])),
        (one_dimension("<i4", b"\x03\0\0\0\x01\0\0\0\x02\0\0\0"), Data::I32(vec![3, 1, 2])),
        (one_dimension("<f4", b"\0\0@@\0\0\x80?\0\0\0@"), Data::F32(vec![3.0, 1.0, 2.0])),
        (one_dimension("<u8", b"\x03\0\0\0\0\0\0\0\x01\0\0\0\0\0\0\0\x02\0\0\0\0\0\0\0"), Data::U64(vec![3, 1, 2])),
        (one_dimension("<i8", b"\x03\0\0\0\0\0\0\0\x01\0\0\0\0\0\0\0\x02\0\0\0\0\0\0\0"), Data::I64(vec![3, 1, 2])),
        (one_dimension("<f8", b"\0\0\0\0\0\0\x08@\0\0\0\0\0\0\xf0?\0\0\0\0\0\0\0@"), Data::F64(vec![3.0, 1.0, 2.0])),
    ]
}

/// `numpy.save` of `numpy.arange(6, dtype='f4').reshape(2, 3)`.
fn matrix_fixture() -> Vec<u8> {
    numpy(
        "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }",
        b"\0\0\0\0\0\0\x80?\0\0\0@\0\0@@\0\0\x80@\0\0\xa0@",
    )
}

fn read_error(result: Result<Input>) -> String {
    let error = result.unwrap_err();
    assert!(matches!(error, Error::Read { .. }), "{error:?}");
    assert_eq!(error.exit_code(), 4);
    let message = error.to_string();
    assert!(message.lines().count() <= 2 && message.len() < 400, "{message}");
    message
}

#[test]
fn numpy_files_of_every_type_read_and_written() {
    let folder = Folder::new("every-type");
    for (bytes, data) in fixtures() {
        let place = folder.file("keys.npy", &bytes);
        let want = Input { data: data.clone(), format: Format::Npy };
        assert_eq!(read_keys(&place, &Dtype::ALL).unwrap(), want);
        assert_eq!(read_keys(&place, &[data.dtype()]).unwrap(), want);
        // The content decides, not the name.
        assert_eq!(read_keys(&folder.file("keys.bin", &bytes), &Dtype::ALL).unwrap(), want);
        let output = folder.place("out.npy");
        Output::open(&output, Format::Raw).unwrap().write(&data).unwrap();
        assert_eq!(fs::read(folder.0.join("out.npy")).unwrap(), bytes, "{} as numpy writes it", data.dtype());
    }
}

#[test]
fn numpy_matrix_read_and_written() {
    let folder = Folder::new("matrix");
    let place = folder.file("a.npy", &matrix_fixture());
    let read = read_matrix(&place, &[Dtype::F32], None).unwrap();
    assert_eq!((read.rows, read.columns, read.format), (2, 3, Format::Npy));
    assert_eq!(read.data, Data::F32(vec![0.0, 1.0, 2.0, 3.0, 4.0, 5.0]));
    let output = folder.place("out.npy");
    Output::open(&output, Format::Npy).unwrap().write_matrix(&read.data, 2, 3).unwrap();
    assert_eq!(fs::read(folder.0.join("out.npy")).unwrap(), matrix_fixture());

    assert!(read_matrix(&place, &Dtype::ALL, Some((2, 3))).is_ok());
    assert!(read_matrix(&place, &Dtype::ALL, Some((3, 2))).unwrap_err().to_string().contains("(3, 2) was asked for"));
    let raw = folder.file("a.bin", &matrix_fixture()[128..]);
    assert_eq!(read_matrix(&raw, &[Dtype::F32], Some((3, 2))).unwrap().rows, 3);
    assert_eq!(read_matrix(&raw, &[Dtype::F32], None).unwrap_err().exit_code(), 2);
    let error = read_matrix(&raw, &[Dtype::F32], Some((3, 3))).unwrap_err().to_string();
    assert!(error.contains("holds 6 elements") && error.contains("(3, 3)"), "{error}");
    let empty = numpy("{'descr': '<f4', 'fortran_order': False, 'shape': (0, 1099511627776), }", b"");
    assert!(read_matrix(&folder.file("e.npy", &empty), &Dtype::ALL, None).unwrap().data.is_empty());
}

#[test]
fn other_files_of_numpy() {
    let folder = Folder::new("other");
    // numpy.lib.format.write_array(…, version=(2, 0))
    let mut two = b"\x93NUMPY\x02\x00t\x00\x00\x00{'descr': '<u4', 'fortran_order': False, 'shape': (2,), }".to_vec();
    two.resize(127, b' ');
    two.extend(b"\n\x01\0\0\0\x02\0\0\0");
    assert_eq!(read_keys(&folder.file("a.npy", &two), &Dtype::ALL).unwrap().data, Data::U32(vec![1, 2]));
    let empty = numpy("{'descr': '<f8', 'fortran_order': False, 'shape': (0,), }", b"");
    assert_eq!(read_keys(&folder.file("a.npy", &empty), &Dtype::ALL).unwrap().data, Data::F64(vec![]));
}

#[test]
fn bad_numpy_files() {
    let folder = Folder::new("bad");
    let error = |bytes: &[u8]| read_error(read_keys(&folder.file("k.npy", bytes), &Dtype::ALL));
    let head = |text: &str| error(&numpy(text, &[0; 24]));
    for (text, word) in [
        ("{'descr': '<f4', 'fortran_order': True, 'shape': (2, 3), }", "save array.ravel() instead"),
        ("{'descr': '<f4', 'fortran_order': True, 'shape': (6,), }", "Fortran order"),
        ("{'descr': '>u4', 'fortran_order': False, 'shape': (6,), }", "big-endian"),
        ("{'descr': '<u4', 'fortran_order': False, 'shape': (), }", "one dimension"),
        ("{'descr': '<u4', 'fortran_order': False, 'shape': (2, 3), }", "one dimension"),
        ("{'descr': '<c8', 'fortran_order': False, 'shape': (3,), }", "'<c8'"),
        ("{'descr': [('a', '<u4'), ('b', '<f8')], 'fortran_order': False, 'shape': (1,), }", "structures"),
        ("{'descr': '<u4', 'fortran_order': False, 'shape': (5,), }", "bytes follow its 5 elements"),
        ("{'descr': '<u4', 'fortran_order': False, 'shape': (7,), }", "announces 7 elements of u32, and 24 bytes"),
        // Headers that promise what no memory holds: the file is refused for what it lacks.
        ("{'descr': '<u8', 'fortran_order': False, 'shape': (1152921504606846976,), }", "cut off"),
        ("{'descr': '<u8', 'fortran_order': False, 'shape': (18446744073709551615,), }", "cut off"),
        ("not a dictionary", "header has"),
    ] {
        let message = head(text);
        assert!(message.contains(word), "{text}: {message}");
    }
    let good = &fixtures()[1].0;
    for length in 0..good.len() {
        let message = error(&good[..length]);
        assert!(message.contains("cut off") || message.contains("is not an .npy file"), "{length}: {message}");
    }
    assert!(error(b"\x93NUMPY\x04\x00v\x00{}").contains("version 4.0"));
    assert!(error(b"\x93NUMPY\x02\x00\xff\xff\xff\xff{}").contains("4294967295 bytes"));
    assert!(error(&[b"\x93NUMPY\x01\x00\x02\x00".as_slice(), &[0xff; 2]].concat()).contains("is not text"));
    let mut deep = b"\x93NUMPY\x01\x00\xff\xff".to_vec();
    deep.resize(10 + 0xffff, b'(');
    assert!(error(&deep).contains("header has"));

    let bytes = &fixtures()[1].0;
    let message = read_error(read_keys(&folder.file("k.npy", bytes), &[Dtype::F32]));
    assert!(message.contains("its elements are u32, and f32 is needed"), "{message}");
    let matrix = read_matrix(&folder.file("k.npy", bytes), &Dtype::ALL, None).unwrap_err().to_string();
    assert!(matrix.contains("shape is (3,)") && matrix.contains("two dimensions"), "{matrix}");
    assert!(read_error(read_keys(&folder.place("none.npy"), &Dtype::ALL)).contains("no such file"));
    assert!(read_error(read_keys(&Place::File(folder.0.clone()), &Dtype::ALL)).contains("folder"));
    assert!(read_error(read_keys(&Place::from(""), &Dtype::ALL)).contains("no such file"));
}

/// A stream without a known length, as a pipe is.
fn piped(bytes: &[u8]) -> Source<'_> {
    Source::of(bytes, "standard input")
}

#[test]
fn streams_of_unknown_length() {
    // Long enough to take memory several times.
    let data = Distribution::Uniform.generate(Dtype::U64, 1_000_003, 1).unwrap();
    let (read, format, _) = piped(data.as_bytes()).read(&[Dtype::U64], None).unwrap();
    assert!(read == data && format == Format::Raw);
    let mut npy = Head { dtype: Dtype::U64, shape: vec![1_000_003] }.to_bytes().unwrap();
    npy.extend(data.as_bytes());
    let (read, format, _) = piped(&npy).read(&Dtype::ALL, None).unwrap();
    assert!(read == data && format == Format::Npy);

    let lie = numpy("{'descr': '<u8', 'fortran_order': False, 'shape': (1152921504606846976,), }", &[0; 24]);
    let error = piped(&lie).read(&Dtype::ALL, None).unwrap_err().to_string();
    assert!(error.contains("cut off") && error.contains("24 bytes"), "{error}");
    let lie = numpy("{'descr': '<u8', 'fortran_order': False, 'shape': (4294967296, 4294967296), }", &[0; 24]);
    assert!(piped(&lie).read(&Dtype::ALL, Some(None)).unwrap_err().to_string().contains("2^64 elements"));

    let error = piped(&[0; 8]).read(&Dtype::ALL, None).unwrap_err();
    assert!(error.exit_code() == 2 && error.to_string().contains("--dtype"), "{error}");
}

#[test]
fn raw_files() {
    let folder = Folder::new("raw");
    for dtype in Dtype::ALL {
        for n in [0, 1, 70] {
            let data = Distribution::Special.generate(dtype, n, n).unwrap();
            let place = folder.place("keys.bin");
            Output::open(&place, Format::Npy).unwrap().write(&data).unwrap();
            assert_eq!(fs::metadata(folder.0.join("keys.bin")).unwrap().len(), n * dtype.size() as u64);
            assert_eq!(read_keys(&place, &[dtype]).unwrap(), Input { data, format: Format::Raw });
        }
    }
    let place = folder.file("odd.bin", &[0; 7]);
    assert!(read_error(read_keys(&place, &[Dtype::U32])).contains("7 bytes are not a whole number of u32"));
    assert_eq!(read_keys(&place, &Dtype::ALL).unwrap_err().exit_code(), 2);
    assert!(read_error(read_keys(&folder.file("raw.npy", &[0; 8]), &[Dtype::U32])).contains("is not an .npy file"));
}

#[test]
fn an_output_appears_whole_or_not_at_all() {
    let folder = Folder::new("whole");
    let data = sorted(&Distribution::Uniform.generate(Dtype::U32, 10, 1).unwrap());
    let place = folder.file("old.npy", b"old");
    // Given up before it was written: the old file stays, and nothing else does.
    drop(Output::open(&place, Format::Npy).unwrap());
    assert_eq!(fs::read(folder.0.join("old.npy")).unwrap(), b"old");
    assert_eq!(folder.names(), ["old.npy"]);
    let output = Output::open(&place, Format::Npy).unwrap();
    assert_eq!(fs::read(folder.0.join("old.npy")).unwrap(), b"old", "not before it is written");
    output.write(&data).unwrap();
    assert_eq!(read_keys(&place, &Dtype::ALL).unwrap().data, data);
    assert_eq!(folder.names(), ["old.npy"]);

    for place in [Place::File(folder.0.clone()), folder.place("none/keys.npy"), folder.place("new/")] {
        let error = Output::open(&place, Format::Npy).unwrap_err();
        assert!(matches!(error, Error::Write { .. }), "{error:?}");
    }
    assert_eq!(folder.names(), ["old.npy"]);
}

#[cfg(unix)]
#[test]
fn permissions_links_and_devices() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let folder = Folder::new("unix");
    let data = Data::U32(vec![1, 2]);
    let write = |place: &Place| Output::open(place, Format::Raw).and_then(|output| output.write(&data));
    let file = folder.0.join("keys.npy");
    let place = folder.file("keys.npy", b"old");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).unwrap();
    symlink("keys.npy", folder.0.join("link.npy")).unwrap();
    write(&folder.place("link.npy")).unwrap();
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o640);
    assert!(fs::symlink_metadata(folder.0.join("link.npy")).unwrap().is_symlink());
    assert_eq!(read_keys(&place, &Dtype::ALL).unwrap().data, data);

    // A link to a file that is not there yet, and links that lead nowhere.
    symlink("new.npy", folder.0.join("ahead.npy")).unwrap();
    write(&folder.place("ahead.npy")).unwrap();
    assert_eq!(read_keys(&folder.place("new.npy"), &Dtype::ALL).unwrap().data, data);
    symlink("circle", folder.0.join("circle")).unwrap();
    assert!(matches!(write(&folder.place("circle")), Err(Error::Write { .. })));

    write(&Place::from("/dev/null")).unwrap();
    let error = write(&Place::from("/dev/full")).unwrap_err();
    assert!(error.to_string().contains("no space"), "{error}");
    assert_eq!(folder.names(), ["ahead.npy", "circle", "keys.npy", "link.npy", "new.npy"]);
}

/// A file that is mounted by itself cannot be replaced: it is written in place.
#[cfg(unix)]
#[test]
fn a_file_that_cannot_be_replaced_is_written_in_place() {
    use std::os::unix::fs::MetadataExt;
    let folder = Folder::new("in-place");
    let place = folder.file("mounted", b"something that is longer");
    let inode = || fs::metadata(folder.0.join("mounted")).unwrap().ino();
    let before = inode();
    // EBUSY, EXDEV, EACCES, EPERM.
    for code in [16, 18, 13, 1] {
        let refuse: fn(&Path, &Path) -> io::Result<()> = match code {
            16 => |_, _| Err(io::Error::from_raw_os_error(16)),
            18 => |_, _| Err(io::Error::from_raw_os_error(18)),
            13 => |_, _| Err(io::Error::from_raw_os_error(13)),
            _ => |_, _| Err(io::Error::from_raw_os_error(1)),
        };
        let Place::File(path) = &place else { panic!("a file") };
        Sink::open(path).unwrap().write([b"ab", b"cd"], refuse).unwrap();
        assert_eq!((fs::read(path).unwrap(), inode()), (b"abcd".to_vec(), before), "error {code}");
        // One that is not there yet cannot be, nor can a full disk be written.
        let new = Sink::open(&folder.0.join("new")).unwrap();
        assert_eq!(new.write([b"", b"x"], refuse).unwrap_err().raw_os_error(), Some(code));
        let full = |_: &Path, _: &Path| Err(io::Error::from_raw_os_error(28));
        assert_eq!(Sink::open(path).unwrap().write([b"", b"x"], full).unwrap_err().raw_os_error(), Some(28));
        assert_eq!(fs::read(path).unwrap(), b"abcd");
        assert_eq!(folder.names(), ["mounted"]);
    }
}

/// As on NFS, where no file can be made without a name.
#[test]
fn a_new_file_may_have_a_name_from_the_begin() {
    let folder = Folder::new("named");
    let place = folder.file("old", b"old");
    let Place::File(path) = &place else { panic!("a file") };
    let Sink::Beside(beside) = Sink::open(path).unwrap() else { panic!("a regular file") };
    assert_eq!(folder.names(), ["old"]);
    Sink::Beside(Box::new(Beside { new: None, ..*beside }))
        .write([b"", b"new"], |from, to| fs::rename(from, to))
        .unwrap();
    assert_eq!((fs::read(path).unwrap(), folder.names()), (b"new".to_vec(), vec!["old".to_string()]));
    let Sink::Beside(beside) = Sink::open(path).unwrap() else { panic!("a regular file") };
    let seen = |_: &Path, _: &Path| Err(io::Error::from_raw_os_error(28));
    Sink::Beside(Box::new(Beside { new: None, ..*beside })).write([b"", b"x"], seen).unwrap_err();
    assert_eq!((fs::read(path).unwrap(), folder.names()), (b"new".to_vec(), vec!["old".to_string()]));
}

/// Only root gives files away.
#[cfg(unix)]
#[test]
fn the_owner_stays_where_that_is_possible() {
    use std::os::unix::fs::{MetadataExt, chown};
    let folder = Folder::new("owner");
    let place = folder.file("keys", b"old");
    let path = folder.0.join("keys");
    let others = chown(&path, Some(65_534), Some(65_534)).is_ok();
    let owner = || fs::metadata(&path).map(|about| (about.uid(), about.gid())).unwrap();
    let before = owner();
    assert!(!others || before == (65_534, 65_534));
    Output::open(&place, Format::Raw).unwrap().write(&Data::U32(vec![1])).unwrap();
    assert_eq!(owner(), before);
}

#[test]
fn values_of_both_widths() {
    let folder = Folder::new("values");
    let raw = folder.file("v.bin", &[1, 0, 0, 0, 2, 0, 0, 0]);
    assert_eq!(read_values(&raw, None).unwrap(), Data::U32(vec![1, 2]));
    assert_eq!(read_values(&raw, Some(2)).unwrap(), Data::U32(vec![1, 2]));
    assert_eq!(read_values(&raw, Some(1)).unwrap(), Data::U64(vec![1 + (2 << 32)]));
    assert_eq!(read_values(&raw, Some(0)).unwrap(), Data::U32(vec![1, 2]), "too many, as is said later");
    let (bytes, data) = &fixtures()[4];
    let npy = folder.file("v.npy", bytes);
    assert_eq!(read_values(&npy, Some(3)).unwrap(), *data);
    assert!(matches!(read_values(&npy, None), Err(Error::Read { .. })));
}

#[test]
fn names_of_places() {
    assert_eq!(Place::from("-"), Place::Standard);
    assert_eq!(Place::from("./-"), Place::File("./-".into()));
    assert_eq!(Format::of(&Place::Standard, Format::Raw), Format::Raw);
    assert_eq!(Format::of(&Place::from("a.NPY"), Format::Raw), Format::Npy);
    assert_eq!(Format::of(&Place::from("a.u32"), Format::Npy), Format::Raw);
    assert_eq!(Place::from("a\x1b[31m\n.é").name(""), "a\\u{1b}[31m\\n.é");
}
