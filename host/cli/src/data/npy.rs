//! The head of an `.npy` file (numpy's format, versions 1.0 to 3.0).
//!
//! ```text
//! \x93NUMPY  major minor  length of the text (u16, from version 2.0 on u32)
//! {'descr': '<u4', 'fortran_order': False, 'shape': (3,), }      padded with spaces to a multiple of 64, then \n
//! ```
//!
//! The text is a Python literal; the three keys may come in any order. Its parser here has no recursion and a limit on
//! the length, because the text is not trusted. The tests compare the parser with the crate npyz 0.9, which is not used
//! here: it panics where the sides' product overflows, allocates up to 4 GiB because a header announces them, and
//! writes `(3, )` where numpy writes `(3,)`.

use super::Dtype;
use std::io::{self, Read};

/// The first bytes of every file.
pub const MAGIC: &[u8; 6] = b"\x93NUMPY";

/// numpy itself writes longer texts only for structures, which are refused here.
const LONGEST_TEXT: u32 = 1 << 16;

/// The head of an array that is accepted.
#[derive(Debug, PartialEq, Eq)]
pub struct Head {
    /// The type of the elements.
    pub dtype: Dtype,
    /// The lengths of the dimensions. Their product is not checked against anything.
    pub shape: Vec<u64>,
}

/// A head, accepted or not.
#[derive(Debug, PartialEq, Eq)]
pub struct Found {
    /// numpy's name of the type, whatever that may be.
    descr: String,
    fortran: bool,
    shape: Vec<u64>,
}

impl Head {
    /// The number of elements, or `None` if that is past `u64`.
    pub fn count(&self) -> Option<u64> {
        // A zero anywhere makes it zero, whatever the others are.
        if self.shape.contains(&0) {
            return Some(0);
        }
        self.shape.iter().try_fold(1_u64, |product, &side| product.checked_mul(side))
    }

    /// The shape as Python writes it.
    pub fn shape_text(shape: &[u64]) -> String {
        match shape {
            [side] => format!("({side},)"),
            sides => {
                // Enough for a message; what is written has one or two.
                const SHOWN: usize = 4;
                let more = if sides.len() > SHOWN { ", …" } else { "" };
                let sides: Vec<_> = sides.iter().take(SHOWN).map(u64::to_string).collect();
                format!("({}{more})", sides.join(", "))
            }
        }
    }

    /// The head as numpy writes it.
    ///
    /// # Errors
    /// Why not, if numpy has no such type.
    pub fn to_bytes(&self) -> Result<Vec<u8>, String> {
        let descr = descr_of(self.dtype).ok_or_else(|| no_type(self.dtype))?;
        let shape = Self::shape_text(&self.shape);
        let mut text = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}");
        let before = MAGIC.len() + 2 + 2;
        let length = (before + text.len() + 1).next_multiple_of(64) - before;
        text.extend(std::iter::repeat_n(' ', length - 1 - text.len()));
        text.push('\n');
        let mut bytes = MAGIC.to_vec();
        bytes.extend([1, 0]);
        bytes.extend((length as u16).to_le_bytes());
        bytes.extend(text.as_bytes());
        Ok(bytes)
    }
}

impl Found {
    /// Reads the head, the magic included.
    ///
    /// # Errors
    /// The outer error is the stream's; the inner one says why the head is refused.
    pub fn read(stream: &mut dyn Read) -> io::Result<Result<Self, String>> {
        let cut = |error: io::Error| match error.kind() {
            io::ErrorKind::UnexpectedEof => Ok(Err("it is cut off within its .npy header; copy it again".to_string())),
            _ => Err(error),
        };
        let mut start = [0; 8];
        if let Err(error) = stream.read_exact(&mut start) {
            return cut(error);
        }
        if !start.starts_with(MAGIC) {
            return Ok(Err(
                "it is not an .npy file (its first bytes are others); a raw file must not be named .npy".into()
            ));
        }
        let mut length = [0; 4];
        let width = match start[6] {
            1 => 2,
            2 | 3 => 4,
            major => return Ok(Err(format!("its .npy version {major}.{} is unknown; there are 1.0 to 3.0", start[7]))),
        };
        if let Err(error) = stream.read_exact(&mut length[..width]) {
            return cut(error);
        }
        let length = u32::from_le_bytes(length);
        if length > LONGEST_TEXT {
            return Ok(Err(format!("its .npy header claims {length} bytes; an array of numbers has a shorter one")));
        }
        let mut text = vec![0; length as usize];
        if let Err(error) = stream.read_exact(&mut text) {
            return cut(error);
        }
        Ok(String::from_utf8(text).map_err(|_| "its .npy header is not text".into()).and_then(|text| parse(&text)))
    }

    /// The head, if its elements are of one of `types` and it has that number of `dimensions`: one for keys, two for a
    /// matrix.
    ///
    /// # Errors
    /// All reasons for the refusal, and the numpy expression whose result would be accepted.
    pub fn accept(self, types: &[Dtype], dimensions: usize) -> Result<Head, String> {
        if let Some(&strange) = types.first().filter(|_| types.iter().all(|dtype| descr_of(*dtype).is_none())) {
            return Err(no_type(strange));
        }
        let Self { mut descr, fortran, shape } = self;
        // Bytes of no type: numpy has no fp8, and ml_dtypes saves e4m3 so.
        if types == [Dtype::U8] && ["<V1", "|V1"].contains(&&*descr) {
            descr = "|u1".into();
        }
        let (mut wrong, mut array) = (vec![], "array".to_string());
        let reshaped = shape.len() != dimensions;
        if reshaped {
            let (what, how) = match dimensions {
                1 => ("keys have one dimension", ".ravel()"),
                _ => ("a matrix has two dimensions", ".reshape(rows, columns)"),
            };
            wrong.push(format!("its shape is {}, and {what}", Head::shape_text(&shape)));
            array += how;
        }
        let number = Number::of(&descr);
        let dtype = number.and_then(Number::dtype);
        if let Some(dtype) = dtype.filter(|dtype| types.contains(dtype)) {
            if fortran {
                wrong.push("it is in Fortran order".into());
                // The result of ravel is in C order; the other two may leave the order as it is.
                if !(reshaped && dimensions == 1) {
                    array = format!("numpy.ascontiguousarray({array})");
                }
            }
            return match &wrong[..] {
                [] => Ok(Head { dtype, shape }),
                wrong => Err(format!("{}; save {array} instead", wrong.join(", and "))),
            };
        }
        let names: Vec<&str> = types.iter().map(|dtype| dtype.name()).collect();
        let shown: String = descr.chars().take(20).collect();
        let shown = dtype.map_or_else(|| format!("'{}'", shown.escape_debug()), |dtype| dtype.to_string());
        wrong.push(match number {
            Some(Number { order: Order::Big, .. }) => format!("its elements are big-endian ({shown})"),
            Some(Number { order: Order::Unclear, .. }) => {
                format!("the byte order of its elements ({shown}) is unclear")
            }
            _ if names.len() == 1 => format!("its elements are {shown}, and {} is needed", names[0]),
            _ => format!("its elements are {shown}, and {} are taken", names.join(", ")),
        });
        let wrong = wrong.join(", and ");
        let Some((to, exact)) = number.and_then(|number| number.fits(types)) else {
            return Err(format!("{wrong}; save an array of {}", names.join(" or ")));
        };
        let order = if fortran && !(reshaped && dimensions == 1) { ", order='C'" } else { "" };
        let rounds = if exact { "" } else { ", if the numbers fit" };
        Err(format!("{wrong}; save {array}.astype('{to}'{order}) instead{rounds}"))
    }
}

/// Reads the dictionary.
fn parse(text: &str) -> Result<Found, String> {
    let mut reader = Reader { rest: text };
    let (mut descr, mut fortran, mut shape) = (None, None, None);
    reader.expect('{')?;
    while !reader.accept('}') {
        let key = reader.string()?;
        reader.expect(':')?;
        let repeated = match key {
            "descr" => descr.replace(reader.descr()?).is_some(),
            "fortran_order" => fortran.replace(reader.boolean()?).is_some(),
            "shape" => shape.replace(reader.shape()?).is_some(),
            _ => return Err(format!("its .npy header has the unknown key '{}'", key.escape_debug())),
        };
        if repeated {
            return Err(format!("its .npy header has '{key}' twice"));
        }
        if !reader.accept(',') {
            reader.expect('}')?;
            break;
        }
    }
    if !reader.rest.trim().is_empty() {
        return Err("its .npy header goes on after its end".into());
    }
    let missing = |key| format!("its .npy header lacks '{key}'");
    let descr = descr.ok_or_else(|| missing("descr"))?;
    let fortran = fortran.ok_or_else(|| missing("fortran_order"))?;
    let shape = shape.ok_or_else(|| missing("shape"))?;
    Ok(Found { descr: descr.into(), fortran, shape })
}

/// numpy's name of a type, if it has one.
pub(super) fn descr_of(dtype: Dtype) -> Option<&'static str> {
    match dtype {
        Dtype::U8 => Some("|u1"),
        Dtype::U32 => Some("<u4"),
        Dtype::I32 => Some("<i4"),
        Dtype::F32 => Some("<f4"),
        Dtype::U64 => Some("<u8"),
        Dtype::I64 => Some("<i8"),
        Dtype::F64 => Some("<f8"),
        Dtype::F16 => Some("<f2"),
        Dtype::Bf16 => None,
    }
}

/// Why an `.npy` file has no elements of this type.
pub(super) fn no_type(dtype: Dtype) -> String {
    format!("numpy has no {dtype}, and so no .npy file has; take a raw file, whose name does not end in .npy")
}

/// In what order the bytes of a number lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Order {
    Little,
    Big,
    Unclear,
}

/// A type of numbers in numpy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Number {
    order: Order,
    /// `u`, `i` or `f`; truth values count as `u`.
    kind: char,
    /// Bytes.
    size: usize,
    is_bool: bool,
}

impl Number {
    /// The type that numpy's name for it stands for, if it is one of numbers.
    fn of(descr: &str) -> Option<Self> {
        let mut letters = descr.chars();
        let (order, kind) = (letters.next()?, letters.next()?);
        let size = match letters.as_str() {
            "1" => 1,
            "2" => 2,
            "4" => 4,
            "8" => 8,
            "16" => 16,
            _ => return None,
        };
        let order = match order {
            '<' => Order::Little,
            '|' | '>' if size == 1 => Order::Little,
            '>' => Order::Big,
            _ => Order::Unclear,
        };
        match kind {
            'u' | 'i' | 'f' => Some(Self { order, kind, size, is_bool: false }),
            'b' if size == 1 => Some(Self { order, kind: 'u', size, is_bool: true }),
            _ => None,
        }
    }

    /// The same type of ours, if there is one and the bytes lie as they should.
    fn dtype(self) -> Option<Dtype> {
        let name = |dtype: &Dtype| descr_of(*dtype).and_then(Self::of) == Some(self);
        Dtype::ALL.into_iter().find(name)
    }

    /// The one of `types` to convert to, and whether it holds every number of this type: of those that do, one of the
    /// same kind if possible, and the shortest. If only one type is taken, it is the one to convert to in any case.
    fn fits(self, types: &[Dtype]) -> Option<(&'static str, bool)> {
        // Bits that hold whole numbers, the sign not counted.
        let bits = |kind: char, size: usize| match (kind, size) {
            ('u', size) => 8 * size,
            ('i', size) => 8 * size - 1,
            (_, 2) => 11,
            (_, 4) => 24,
            (_, 8) => 53,
            _ => 113,
        };
        let holds = |to: &Self| {
            let wide = bits(to.kind, to.size) >= bits(self.kind, self.size);
            wide && (to.kind == self.kind || self.kind == 'u' || to.kind == 'f' && self.kind == 'i')
        };
        let names = || types.iter().filter_map(|dtype| descr_of(*dtype));
        let exact = names().filter_map(|name| Some((name, Self::of(name)?)));
        let best = exact.filter(|(_, to)| holds(to)).min_by_key(|(_, to)| (to.kind != self.kind, to.size));
        match (best, types) {
            (Some((name, _)), _) => Some((name, true)),
            (None, [_]) => names().next().map(|name| (name, false)),
            _ => None,
        }
    }
}

/// Reads a Python literal from the front of `rest`.
struct Reader<'a> {
    rest: &'a str,
}

impl<'a> Reader<'a> {
    fn accept(&mut self, token: char) -> bool {
        self.rest = self.rest.trim_start();
        let rest = self.rest.strip_prefix(token);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    fn expect(&mut self, token: char) -> Result<(), String> {
        if self.accept(token) {
            return Ok(());
        }
        let found: String = self.rest.chars().take(12).collect();
        Err(format!("its .npy header has '{}' where '{token}' belongs", found.escape_debug()))
    }

    fn string(&mut self) -> Result<&'a str, String> {
        let quote = if self.accept('"') {
            '"'
        } else {
            self.expect('\'')?;
            '\''
        };
        let (string, rest) = self.rest.split_once(quote).ok_or("its .npy header has a string without an end")?;
        self.rest = rest;
        Ok(string)
    }

    fn descr(&mut self) -> Result<&'a str, String> {
        if self.rest.trim_start().starts_with(['[', '(']) {
            return Err("its elements are structures; save one field of them, which is an array of numbers".into());
        }
        self.string()
    }

    fn boolean(&mut self) -> Result<bool, String> {
        self.rest = self.rest.trim_start();
        for (word, value) in [("True", true), ("False", false)] {
            if let Some(rest) = self.rest.strip_prefix(word) {
                self.rest = rest;
                return Ok(value);
            }
        }
        Err("its .npy header has no True or False for 'fortran_order'".into())
    }

    fn shape(&mut self) -> Result<Vec<u64>, String> {
        let mut shape = Vec::new();
        self.expect('(')?;
        while !self.accept(')') {
            self.rest = self.rest.trim_start();
            let end = self.rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(self.rest.len());
            let (digits, rest) = self.rest.split_at(end);
            let side =
                digits.parse().map_err(|_| "its .npy header has a shape that is not of whole numbers below 2^64")?;
            shape.push(side);
            // Python 2 wrote its long integers with an L.
            self.rest = rest.strip_prefix('L').unwrap_or(rest);
            if !self.accept(',') {
                self.expect(')')?;
                break;
            }
        }
        Ok(shape)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEYS: [Dtype; 6] = [Dtype::U32, Dtype::I32, Dtype::F32, Dtype::U64, Dtype::I64, Dtype::F64];

    fn head(text: &str) -> Result<Head, String> {
        parse(text)?.accept(&Dtype::ALL, 1)
    }

    fn found(descr: &str, fortran: bool, shape: &[u64]) -> Found {
        Found { descr: descr.into(), fortran, shape: shape.into() }
    }

    #[test]
    fn any_spelling_of_the_dictionary() {
        let want = found("<f4", false, &[2, 3]);
        for text in [
            "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }",
            "{\"shape\":(2,3),\"descr\":\"<f4\",\"fortran_order\":False}",
            "{'fortran_order': False, 'shape': (2L, 3L), 'descr': '<f4'}   \n",
        ] {
            assert_eq!(parse(text).unwrap(), want);
        }
        assert!(parse("{'descr': '|u1', 'fortran_order': False, 'shape': ()}").unwrap().shape.is_empty());
    }

    /// The advice of a message leads to an array that is accepted.
    #[test]
    fn advice_is_right_the_first_time() {
        for (found, types, dimensions, want) in [
            (found("<f8", true, &[2, 3]), &KEYS[..], 1, "array.ravel()"),
            (found("<f8", true, &[6]), &KEYS, 1, "numpy.ascontiguousarray(array)"),
            (found("<f4", true, &[2, 3]), &[Dtype::F32], 2, "numpy.ascontiguousarray(array)"),
            (found("<f4", true, &[2, 3, 1]), &[Dtype::F32], 2, "numpy.ascontiguousarray(array.reshape(rows, columns))"),
            (found("<f8", true, &[2, 3]), &[Dtype::F32], 2, "array.astype('<f4', order='C')"),
            (found("<f2", true, &[2, 3]), &KEYS, 1, "array.ravel().astype('<f4')"),
            (found("<f2", false, &[6]), &KEYS, 1, "array.astype('<f4')"),
            (found("<f8", false, &[2, 3]), &[Dtype::F16], 2, "array.astype('<f2')"),
            (found(">f2", false, &[6]), &[Dtype::F64, Dtype::F16, Dtype::Bf16], 1, "array.astype('<f2')"),
            (found("<i2", false, &[6]), &KEYS, 1, "array.astype('<i4')"),
            (found("|i1", false, &[6]), &Dtype::ALL, 1, "array.astype('<i4')"),
            (found("<u2", false, &[6]), &KEYS, 1, "array.astype('<u4')"),
            (found("|b1", false, &[6]), &Dtype::ALL, 1, "array.astype('|u1')"),
            (found("|u1", false, &[6]), &KEYS, 1, "array.astype('<u4')"),
            (found("<u4", false, &[6]), &[Dtype::I64, Dtype::F64], 1, "array.astype('<i8')"),
            (found(">u4", false, &[6]), &KEYS, 1, "array.astype('<u4')"),
            (found("=u4", false, &[6]), &KEYS, 1, "array.astype('<u4')"),
            (found("<i8", false, &[6]), &[Dtype::F32], 1, "array.astype('<f4')"),
        ] {
            let error = found.accept(types, dimensions).unwrap_err();
            assert!(error.contains(&format!("; save {want} instead")), "{error}");
        }
        let error = found("<u8", false, &[6]).accept(&KEYS[..3], 1).unwrap_err();
        assert_eq!(error, "its elements are u64, and u32, i32, f32 are taken; save an array of u32 or i32 or f32");
        let error = found("<f8", false, &[6]).accept(&[Dtype::F32], 1).unwrap_err();
        assert!(error.ends_with("array.astype('<f4') instead, if the numbers fit"), "{error}");
    }

    /// The crate npyz reads the files that are written here, and its files are read here: two independent readers.
    #[test]
    fn npyz_agrees() {
        use npyz::WriterBuilder;
        let known = Dtype::ALL.into_iter().filter(|dtype| descr_of(*dtype).is_some());
        for (dtype, shape) in known.flat_map(|dtype| [(dtype, vec![7_u64]), (dtype, vec![3, 0])]) {
            let ours = Head { dtype, shape: shape.clone() }.to_bytes().unwrap();
            let theirs = npyz::NpyHeader::from_reader(&ours[..]).unwrap();
            let name = npyz::DType::Plain(descr_of(dtype).unwrap().parse().unwrap());
            assert_eq!((theirs.dtype(), theirs.shape()), (name.clone(), &shape[..]));
            assert_eq!(theirs.order(), npyz::Order::C);
            let options = npyz::WriteOptions::new_header_only().dtype(name).shape(&shape).writer(Vec::new());
            let mut theirs = &options.write_header_only().unwrap()[..];
            let head = Found::read(&mut theirs).unwrap().unwrap().accept(&[dtype], shape.len()).unwrap();
            assert_eq!((head, theirs), (Head { dtype, shape }, &b""[..]));
        }
    }

    #[test]
    fn what_is_wrong_is_said() {
        let with = |descr: &str, shape: &str| {
            head(&format!("{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}}}")).unwrap_err()
        };
        assert!(with("'>u4'", "(2,)").contains("big-endian"));
        assert!(with("'<f1'", "(2,)").contains("'<f1'"));
        assert!(found("|V2", false, &[2]).accept(&[Dtype::Bf16], 1).unwrap_err().contains("numpy has no bf16"));
        assert!(Head { dtype: Dtype::Bf16, shape: vec![2] }.to_bytes().unwrap_err().contains("numpy has no bf16"));
        assert!(with("'|b1'", "(2,)").contains("'|b1'"));
        assert!(with("''", "(2,)").contains("''"));
        assert!(with("'é'", "(2,)").contains("'é'"));
        assert!(with("[('a', '<u4')]", "(2,)").contains("structures"));
        assert!(with("'<u4'", "(-2,)").contains("shape"));
        assert!(with("'<u4'", "(18446744073709551616,)").contains("shape"));
        assert!(with("'<u4'", "(2 3)").contains("'3)}'"));
        assert!(with("'<u4'", "(2,").contains("shape"));
        assert!(with("'<u4'", "((((((2,)").contains("shape"));
        for (text, word) in [
            ("", "'{'"),
            ("{", "'''"),
            ("{'descr': '<u4', 'shape': (2,)}", "lacks 'fortran_order'"),
            ("{'descr': '<u4', 'descr': '<u4'}", "twice"),
            ("{'descr': '<u4', 'more': 1}", "unknown key"),
            ("{'descr': '<u4', 'fortran_order': True, 'shape': (2, 2)}", "one dimension"),
            ("{'descr': '<u4', 'fortran_order': True, 'shape': (2,)}", "Fortran order"),
            ("{'descr': '<u4', 'fortran_order': 0, 'shape': (2, 2)}", "True or False"),
            ("{'descr': '<u4', 'fortran_order': False, 'shape': (2,)} {", "after its end"),
            ("{'descr", "without an end"),
        ] {
            let error = head(text).unwrap_err();
            assert!(error.contains(word), "{text}: {error}");
        }
    }

    #[test]
    fn counts() {
        let count = |shape: &[u64]| Head { dtype: Dtype::U8, shape: shape.to_vec() }.count();
        assert_eq!(count(&[2, 3]), Some(6));
        assert_eq!(count(&[1 << 40, 1 << 40, 0]), Some(0));
        assert_eq!(count(&[1 << 40, 1 << 40]), None);
    }
}
