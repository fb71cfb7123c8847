//! A trace as one still picture, in SVG: a row for each step, so that it can be read in print too.

use anyhow::{Context, Result, ensure};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fmt::Write;

/// The most elements that a picture of the book has.
const MOST_ELEMENTS: usize = 64;

/// The most steps.
const MOST_STEPS: usize = 40;

/// An array with this many rows has all of them drawn.
const FEW: usize = 6;

/// Sizes in pixels: a cell, the room for the labels at the left, the edge.
const CELL: (usize, usize) = (30, 20);
const LABELS: usize = 52;
const EDGE: usize = 8;

/// Between the cells of one step and the bows of the next; a bow is that much above another.
const GAP: usize = 12;
const BOW: usize = 6;

/// Colours of blocks in turn, and of what was only read; pale, because text stands on them.
const BLOCKS: [&str; 4] = ["#bcdcf2", "#f8d3b0", "#b9e3d2", "#eccfe0"];
const READ: &str = "#ececec";
const UNTOUCHED: &str = "#ffffff";

/// Bows of pairs that changed, and that did not.
const CHANGED: &str = "#d55e00";
const KEPT: &str = "#999999";

/// The output of `rungs trace --format json`, as far as it is drawn: elements in a line, or several arrays.
#[derive(Deserialize)]
#[serde(untagged)]
enum Trace {
    Line { input: Vec<f64>, steps: Vec<Step> },
    Arrays { arrays: Vec<Array>, steps: Vec<Frame> },
}

#[derive(Deserialize)]
struct Step {
    label: String,
    note: String,
    values: Vec<Option<f64>>,
    workers: Vec<Option<Worker>>,
    pairs: Vec<Pair>,
}

#[derive(Deserialize)]
struct Worker {
    block: usize,
}

#[derive(Deserialize)]
struct Pair {
    a: usize,
    b: usize,
    changed: bool,
}

#[derive(Deserialize)]
struct Array {
    name: String,
    rows: usize,
    columns: usize,
}

#[derive(Deserialize)]
struct Frame {
    label: String,
    kernel: String,
    note: String,
    arrays: Vec<Cells>,
}

#[derive(Deserialize)]
struct Cells {
    values: Vec<Option<f64>>,
    readers: Vec<Option<Worker>>,
    writers: Vec<Option<Worker>>,
}

/// Whether any step touched array `i`.
fn touched(steps: &[Frame], i: usize) -> bool {
    steps.iter().any(|step| step.arrays.get(i).is_some_and(Cells::touched))
}

impl Cells {
    /// Whether the step read or wrote any of them.
    fn touched(&self) -> bool {
        self.readers.iter().chain(&self.writers).any(Option::is_some)
    }

    /// Whether a row holds anything but zeros.
    fn is_used(&self, row: usize, array: &Array) -> bool {
        let row = self.values.iter().skip(row * array.columns).take(array.columns);
        row.flatten().any(|value| *value != 0.0)
    }
}

/// The picture of a trace in JSON, without the array of one name.
pub fn svg(json: &str, title: &str, without: Option<&str>) -> Result<String> {
    let trace = serde_json::from_str(json).context("not a trace of rungs trace --format json")?;
    let mut picture = Picture::default();
    match trace {
        Trace::Line { input, steps } => {
            limits(input.len(), steps.len())?;
            picture.line(&input, &steps);
        }
        Trace::Arrays { mut arrays, steps } => {
            if let Some(name) = without {
                let array = arrays.iter_mut().find(|array| array.name == name);
                array.with_context(|| format!("there is no array {name}"))?.rows = 0;
            }
            limits(0, steps.len())?;
            for (i, array) in arrays.iter().enumerate().filter(|(i, array)| array.rows > 0 && touched(&steps, *i)) {
                limits(array.columns, steps.len()).with_context(|| format!("array {i}, {}", array.name))?;
            }
            picture.arrays(&arrays, &steps);
        }
    }
    Ok(picture.finish(title))
}

fn limits(elements: usize, steps: usize) -> Result<()> {
    ensure!(elements <= MOST_ELEMENTS, "{elements} elements in a row; a picture has {MOST_ELEMENTS} at most");
    ensure!(steps <= MOST_STEPS, "{steps} steps; a picture has {MOST_STEPS} at most");
    Ok(())
}

/// What is drawn so far, and how far it reaches.
#[derive(Default)]
struct Picture {
    body: String,
    width: usize,
    height: usize,
}

impl Picture {
    /// The input and, for each step, the elements with bows between those that one thread worked on.
    fn line(&mut self, input: &[f64], steps: &[Step]) {
        let many = steps.iter().flat_map(|step| step.workers.iter().flatten()).any(|worker| worker.block > 0);
        self.label("input", "");
        let cells = input.iter().map(|value| (text(Some(*value)), UNTOUCHED, false));
        self.row(cells.collect(), LABELS);
        let mut before: Vec<Option<f64>> = input.iter().copied().map(Some).collect();
        for step in steps {
            let levels = levels(&step.pairs);
            let high = levels.iter().max().map_or(0, |most| (most + 1) * BOW);
            self.height += GAP + high;
            for (pair, level) in step.pairs.iter().zip(levels) {
                self.bow(pair, (level + 1) * BOW);
            }
            let note = if many { step.note.as_str() } else { "" };
            self.label(&step.label, note);
            let cell = |i: usize, value: &Option<f64>| {
                let fill =
                    step.workers.get(i).and_then(Option::as_ref).map_or(UNTOUCHED, |w| BLOCKS[w.block % BLOCKS.len()]);
                (text(*value), fill, value.is_some() && before.get(i) != Some(value))
            };
            self.row(step.values.iter().enumerate().map(|(i, value)| cell(i, value)).collect(), LABELS);
            before = step.values.clone();
        }
    }

    /// For each step that changes something the arrays that it touched, each with its name above.
    fn arrays(&mut self, arrays: &[Array], steps: &[Frame]) {
        let mut before: Option<&Frame> = None;
        for step in steps {
            // A step that changes nothing is left out: for example one that adds what stands for "no element".
            let changes = |(i, cells): (usize, &Cells)| {
                arrays[i].rows > 0 && before.is_none_or(|before| before.arrays[i].values != cells.values)
            };
            if !step.arrays.iter().enumerate().any(changes) {
                continue;
            }
            before = Some(step);
            self.words(EDGE, self.height + 16, &format!("{} {}: {}", step.label, step.kernel, step.note), "#000000");
            self.height += 22;
            for (array, cells) in arrays.iter().zip(&step.arrays) {
                // Of shared memory that is larger than the data, what holds nothing but zeros is left out.
                let rows: Vec<usize> =
                    (0..array.rows).filter(|row| array.rows <= FEW || cells.is_used(*row, array)).collect();
                if !cells.touched() || rows.is_empty() {
                    continue;
                }
                self.words(EDGE, self.height + 12, &array.name, "#444444");
                self.height += 16;
                for row in rows {
                    let cell = |i: usize| {
                        let worker = |all: &[Option<Worker>]| all.get(i)?.as_ref().map(|worker| worker.block);
                        let fill = match (worker(&cells.writers), worker(&cells.readers)) {
                            (Some(block), _) => BLOCKS[block % BLOCKS.len()],
                            (None, Some(_)) => READ,
                            (None, None) => UNTOUCHED,
                        };
                        (text(cells.values.get(i).copied().flatten()), fill, worker(&cells.writers).is_some())
                    };
                    let numbers = row * array.columns..(row + 1) * array.columns;
                    self.row(numbers.map(cell).collect(), EDGE);
                }
                self.height += 6;
            }
            self.height += 8;
        }
    }

    /// A row of cells: text, fill, and whether the text is bold. Cells of one fill are one path: files stay small.
    fn row(&mut self, cells: Vec<(String, &str, bool)>, left: usize) {
        let y = self.height;
        let mut paths: BTreeMap<&str, String> = BTreeMap::new();
        for (i, (_, fill, _)) in cells.iter().enumerate() {
            let x = left + i * CELL.0;
            *paths.entry(fill).or_default() += &format!("M{x} {y}h{}v{}h-{}z", CELL.0, CELL.1, CELL.0);
        }
        self.body += "<g stroke=\"#888\" stroke-width=\".5\">\n";
        for (fill, path) in paths {
            // Writing to a string cannot fail, here and below.
            let _ = writeln!(self.body, "<path fill=\"{fill}\" d=\"{path}\"/>");
        }
        self.body += "</g>\n<g text-anchor=\"middle\">\n";
        for (i, (text, _, bold)) in cells.iter().enumerate() {
            let weight = if *bold { " font-weight=\"bold\"" } else { "" };
            let size = if text.len() > 4 { " font-size=\"8\"" } else { "" };
            let (x, y) = (left + i * CELL.0 + CELL.0 / 2, y + 14);
            let _ = writeln!(self.body, "<text x=\"{x}\" y=\"{y}\"{weight}{size}>{text}</text>");
        }
        self.body += "</g>\n";
        self.width = self.width.max(left + cells.len() * CELL.0);
        self.height += CELL.1;
    }

    /// The name of the row that comes next, and a note as its tooltip.
    fn label(&mut self, label: &str, note: &str) {
        let y = self.height + 14;
        let tip = if note.is_empty() { String::new() } else { format!("<title>{}</title>", escaped(note)) };
        let _ = writeln!(
            self.body,
            "<text x=\"{}\" y=\"{y}\" text-anchor=\"end\" fill=\"#444444\">{}{tip}</text>",
            LABELS - 8,
            escaped(label)
        );
    }

    fn words(&mut self, x: usize, y: usize, text: &str, fill: &str) {
        let _ = writeln!(self.body, "<text x=\"{x}\" y=\"{y}\" fill=\"{fill}\">{}</text>", escaped(text));
        self.width = self.width.max(x + text.chars().count() * 7);
    }

    /// A bow above the row that comes next, from one element to the other.
    fn bow(&mut self, pair: &Pair, high: usize) {
        let middle = |i: usize| LABELS + i * CELL.0 + CELL.0 / 2;
        let (x, to, y) = (middle(pair.a), middle(pair.b), self.height - 1);
        let colour = if pair.changed { CHANGED } else { KEPT };
        let _ = writeln!(
            self.body,
            "<path d=\"M{x} {y}V{}H{to}V{y}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"1.4\"/>",
            y - high
        );
    }

    fn finish(self, title: &str) -> String {
        let (width, height) = (self.width + 2 * EDGE, self.height + 2 * EDGE);
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" \
             height=\"{height}\" font-family=\"system-ui, sans-serif\" font-size=\"12\">\n<title>{}</title>\n\
             <rect width=\"{width}\" height=\"{height}\" fill=\"#ffffff\"/>\n\
             <g transform=\"translate({EDGE} {EDGE})\">\n{}</g>\n</svg>\n",
            escaped(title),
            self.body
        )
    }
}

/// How high each bow is, so that none lies on another: the lowest level that is free over its whole width.
fn levels(pairs: &[Pair]) -> Vec<usize> {
    let mut taken: Vec<Vec<(usize, usize)>> = vec![];
    let level = |pair: &Pair| {
        let (low, high) = (pair.a.min(pair.b), pair.a.max(pair.b));
        let free = |level: &Vec<(usize, usize)>| level.iter().all(|&(l, h)| high < l || h < low);
        let level = taken.iter().position(free).unwrap_or_else(|| {
            taken.push(vec![]);
            taken.len() - 1
        });
        taken[level].push((low, high));
        level
    };
    pairs.iter().map(level).collect()
}

/// A value in a cell.
fn text(value: Option<f64>) -> String {
    match value {
        None => "·".into(),
        Some(value) if value.fract() == 0.0 => format!("{value:.0}"),
        Some(value) => format!("{value:.2}"),
    }
}

/// Text inside of SVG.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: &str = r#"{"input":[2,1,3],"steps":[{"label":"1a","note":"a < b","values":[1,2,3],
        "workers":[{"block":0},{"block":0},{"block":1}],"pairs":[{"a":0,"b":1,"changed":true}]}]}"#;

    const ARRAYS: &str = r#"{"arrays":[{"name":"x","rows":1,"columns":2},{"name":"y","rows":2,"columns":1}],
        "steps":[{"label":"1","kernel":"k","note":"n","arrays":[
        {"values":[1,2.5],"readers":[{"block":0},null],"writers":[null,null]},
        {"values":[null,7],"readers":[null,null],"writers":[null,null]}]}]}"#;

    #[test]
    fn a_line_has_a_row_per_step_and_a_bow_per_pair() {
        let svg = svg(LINE, "t", None).unwrap();
        assert_eq!(svg.matches("h30v20h-30z").count(), 6, "{svg}");
        assert_eq!(svg.matches(CHANGED).count(), 1, "{svg}");
        assert_eq!(svg.matches("font-weight=\"bold\"").count(), 2, "{svg}");
        assert!(svg.contains("<title>a &lt; b</title>"), "{svg}");
    }

    #[test]
    fn of_several_arrays_those_that_were_touched_are_drawn() {
        let picture = svg(ARRAYS, "t", None).unwrap();
        assert_eq!(picture.matches("h30v20h-30z").count(), 2, "{picture}");
        assert!(picture.contains(">2.50<") && picture.contains(READ) && !picture.contains(">y<"), "{picture}");
        let step = &ARRAYS[ARRAYS.find("{\"label").unwrap()..ARRAYS.len() - 2];
        let twice = ARRAYS.replace(step, &format!("{step},{}", step.replace("\"1\"", "\"again\"")));
        assert!(!svg(&twice, "t", None).unwrap().contains("again"));
        assert!(svg(&twice.replacen("2.5", "3", 1), "t", None).unwrap().contains("again"));
        assert_eq!(svg(ARRAYS, "t", Some("x")).unwrap().matches("h30v20h-30z").count(), 0);
        assert!(svg(ARRAYS, "t", Some("z")).is_err());
    }

    #[test]
    fn what_is_too_large_to_read_is_refused() {
        let many = LINE.replace("[2,1,3]", &format!("{:?}", vec![1; 65]));
        assert!(svg(&many, "t", None).unwrap_err().to_string().contains("65 elements"));
        assert!(svg("{}", "t", None).is_err());
    }

    #[test]
    fn bows_that_would_cross_have_levels() {
        let pair = |a, b| Pair { a, b, changed: false };
        assert_eq!(levels(&[pair(0, 4), pair(1, 5), pair(6, 7), pair(2, 3)]), [0, 1, 0, 2]);
    }
}
