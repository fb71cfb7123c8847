//! The head of an `.npy` file (numpy's format, versions 1.0 to 3.0).
//!
//! ```text
//! \x93NUMPY  major minor  length of the text (u16, from version 2.0 on u32)
//! {'descr': '<u4', 'fortran_order': False, 'shape': (3,), }      padded with spaces to a multiple of 64, then \n
//! ```
//!
//! The text is a Python literal; the three keys may come in any order. It is read by a reader of its own, without
//! recursion and with a limit on its length, because it comes from whoever made the file.

use super::Dtype;
use std::io::{self, Read};

/// What every file begins with.
pub const MAGIC: &[u8; 6] = b"\x93NUMPY";

/// numpy itself writes longer texts only for structures, which are refused here.
const LONGEST_TEXT: u32 = 1 << 16;

/// What the head says.
#[derive(Debug, PartialEq, Eq)]
pub struct Head {
    /// The type of the elements.
    pub dtype: Dtype,
    /// The lengths of the dimensions. Their product is not checked against anything.
    pub shape: Vec<u64>,
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
            sides => format!("({})", sides.iter().map(u64::to_string).collect::<Vec<_>>().join(", ")),
        }
    }

    /// The head as numpy writes it.
    pub fn to_bytes(&self) -> Vec<u8> {
        let descr = match self.dtype {
            Dtype::U8 => "|u1",
            Dtype::U32 => "<u4",
            Dtype::I32 => "<i4",
            Dtype::F32 => "<f4",
            Dtype::U64 => "<u8",
            Dtype::I64 => "<i8",
            Dtype::F64 => "<f8",
        };
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
        bytes
    }

    /// Reads the head, the magic included. The outer error is the stream's, the inner one says what is wrong with the
    /// head.
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
            return Ok(
                Err("it is no .npy file (its first bytes are others); a raw file must not be named .npy".into()),
            );
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
            return Ok(Err(format!("its .npy header claims {length} bytes; that is no header of an array of numbers")));
        }
        let mut text = vec![0; length as usize];
        if let Err(error) = stream.read_exact(&mut text) {
            return cut(error);
        }
        Ok(String::from_utf8(text).map_err(|_| "its .npy header is no text".into()).and_then(|text| parse(&text)))
    }
}

/// Reads the dictionary.
fn parse(text: &str) -> Result<Head, String> {
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
    let dtype = dtype(descr)?;
    if fortran {
        return Err("its array is in Fortran order; save numpy.ascontiguousarray(array) instead".into());
    }
    Ok(Head { dtype, shape })
}

/// The type that numpy's name for it stands for.
fn dtype(descr: &str) -> Result<Dtype, String> {
    let (order, name) = descr.split_at_checked(1).unwrap_or(("", descr));
    let found = match name {
        "u1" => Dtype::U8,
        "u4" => Dtype::U32,
        "i4" => Dtype::I32,
        "f4" => Dtype::F32,
        "u8" => Dtype::U64,
        "i8" => Dtype::I64,
        "f8" => Dtype::F64,
        _ => {
            let descr: String = descr.chars().take(20).collect();
            return Err(format!(
                "its elements are '{}'; convert them to u1, u4, i4, f4, u8, i8 or f8 with array.astype",
                descr.escape_debug()
            ));
        }
    };
    match order {
        "<" => Ok(found),
        "|" if found == Dtype::U8 => Ok(found),
        ">" if found == Dtype::U8 => Ok(found),
        ">" => Err(format!("its elements are big-endian ('{descr}'); save array.astype('<{name}') instead")),
        _ => Err(format!("its elements are '{}', whose byte order is unclear", descr.escape_debug())),
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

    fn head(text: &str) -> Result<Head, String> {
        parse(text)
    }

    #[test]
    fn any_spelling_of_the_dictionary() {
        let want = Head { dtype: Dtype::F32, shape: vec![2, 3] };
        for text in [
            "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }",
            "{\"shape\":(2,3),\"descr\":\"<f4\",\"fortran_order\":False}",
            "{'fortran_order': False, 'shape': (2L, 3L), 'descr': '<f4'}   \n",
        ] {
            assert_eq!(head(text).unwrap(), want);
        }
        assert!(head("{'descr': '|u1', 'fortran_order': False, 'shape': ()}").unwrap().shape.is_empty());
    }

    #[test]
    fn what_is_wrong_is_said() {
        let with = |descr: &str, shape: &str| {
            head(&format!("{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}}}")).unwrap_err()
        };
        assert!(with("'>u4'", "(2,)").contains("big-endian"));
        assert!(with("'<f2'", "(2,)").contains("'<f2'"));
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
            ("{'descr': '<u4', 'fortran_order': True, 'shape': (2, 2)}", "Fortran order"),
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
