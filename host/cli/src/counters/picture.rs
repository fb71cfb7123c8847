//! Counters as pictures, in SVG: which lane asks for what in one request, and which lines of a kernel cost most.

use super::{Access, Kernel, Line, SECTOR};
use simt::sim::plural;
use std::collections::BTreeMap;
use std::fmt::Write;

/// Lanes of a warp, and banks of shared memory.
const LANES: usize = 32;

/// Width of the column of a lane.
const COLUMN: usize = 28;

/// Room at the left and at the right.
const MARGIN: usize = 20;

/// Width of a letter, at most.
const LETTER: f64 = 7.0;

/// Colours of the lines: told apart with any kind of colour vision (Okabe and Ito).
const COLOURS: [&str; 4] = ["#0072b2", "#d55e00", "#009e73", "#cc79a7"];

/// Text inside of SVG.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// The begin of a picture. Its ground is white also on a dark page.
fn begin(width: usize, height: usize, title: &str) -> String {
    let title = escaped(title);
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" \
         height=\"{height}\" font-family=\"system-ui, sans-serif\" font-size=\"11\">\n<title>{title}</title>\n\
         <path d=\"M0 0h{width}v{height}h-{width}z\" fill=\"#ffffff\"/>\n\
         <text x=\"{MARGIN}\" y=\"20\" font-size=\"13\" fill=\"#000000\">{title}</text>\n"
    )
}

/// A rectangle; a path, because the bars of a trace's page are counted by their element.
fn bar(svg: &mut String, (x, y): (f64, f64), (w, h): (f64, f64), fill: &str) {
    // Writing to a string cannot fail, here and below.
    let _ = writeln!(
        svg,
        "<path d=\"M{x:.1} {y:.1}h{w:.1}v{h:.1}h-{w:.1}z\" fill=\"{fill}\" stroke=\"#444444\" stroke-width=\"0.5\"/>"
    );
}

fn label(svg: &mut String, (x, y): (f64, f64), text: &str) {
    let text = escaped(text);
    let _ = writeln!(svg, "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"middle\" fill=\"#000000\">{text}</text>");
}

/// The costliest request of a line: lanes above, and below them the sectors of global memory, or the banks of shared
/// memory, each with a line from the lane. `None` for lines that access no memory.
pub fn access(line: &Line) -> Option<String> {
    let worst = line.worst.as_ref()?;
    let place = format!("{}:{}, block {}, warp {}", line.line, line.column, worst.block, worst.warp);
    Some(if line.kind.is_shared() { banks(line, worst, &place) } else { sectors(line, worst, &place) })
}

/// Where the middle of each lane's column is.
fn middle(i: usize) -> f64 {
    (MARGIN + i * COLUMN + COLUMN / 2) as f64
}

/// The row of the lanes.
fn lanes(svg: &mut String, access: &Access, y: f64) {
    for (i, address) in access.addresses.iter().enumerate() {
        let fill = if address.is_some() { "#dbe9f6" } else { "#f4f4f4" };
        bar(svg, (middle(i) - COLUMN as f64 / 2.0 + 2.0, y), (COLUMN as f64 - 4.0, 20.0), fill);
        label(svg, (middle(i), y + 14.0), &i.to_string());
    }
}

fn wire(svg: &mut String, from: (f64, f64), to: (f64, f64), colour: &str) {
    let ((x, y), (u, v)) = (from, to);
    let half = (v - y) / 2.0;
    let _ = writeln!(
        svg,
        "<path d=\"M{x:.1} {y:.1}C{x:.1} {:.1} {u:.1} {:.1} {u:.1} {v:.1}\" fill=\"none\" stroke=\"{colour}\" \
         stroke-width=\"1.2\" opacity=\"0.8\"/>",
        y + half,
        v - half
    );
}

fn sectors(line: &Line, worst: &Access, place: &str) -> String {
    let mut used: BTreeMap<u64, u64> = BTreeMap::new();
    for address in worst.addresses.iter().flatten() {
        *used.entry(address / SECTOR).or_default() += u64::from(line.bytes_per_lane);
    }
    let width = 2 * MARGIN + LANES * COLUMN;
    let n = used.len().max(1);
    let title = format!("{place}: {} of {} bytes, {}", line.instruction, line.bytes_per_lane, sectors_text(used.len()));
    let mut svg = begin(width, 250, &title);
    label(&mut svg, (middle(1), 44.0), "lanes");
    lanes(&mut svg, worst, 50.0);
    let wide = (width - 2 * MARGIN) as f64 / n as f64;
    let x = |k: usize| MARGIN as f64 + (k as f64 + 0.5) * wide;
    let number: BTreeMap<u64, usize> = used.keys().enumerate().map(|(k, &sector)| (sector, k)).collect();
    for (i, address) in worst.addresses.iter().enumerate() {
        let Some(address) = address else { continue };
        let k = number[&(address / SECTOR)];
        let inside = (address % SECTOR) as f64 / SECTOR as f64 * (wide - 6.0);
        let left = x(k) - wide / 2.0 + 3.0;
        wire(&mut svg, (middle(i), 70.0), (left + inside + 1.0, 180.0), COLOURS[k % COLOURS.len()]);
    }
    for (&sector, &k) in &number {
        // The part of the sector that was asked for is filled.
        let share = (used[&sector].min(SECTOR)) as f64 / SECTOR as f64;
        bar(&mut svg, (x(k) - wide / 2.0 + 2.0, 180.0), (wide - 4.0, 24.0), "#ffffff");
        bar(&mut svg, (x(k) - wide / 2.0 + 2.0, 180.0 + 24.0 * (1.0 - share)), (wide - 4.0, 24.0 * share), "#9ecae1");
        // As many labels as have room next to each other.
        let text = format!("+{}", sector * SECTOR);
        if k % (LETTER * (text.len() + 1) as f64 / wide).ceil() as usize == 0 {
            label(&mut svg, (x(k), 218.0), &text);
        }
    }
    let _ = writeln!(
        svg,
        "<text x=\"{MARGIN}\" y=\"240\" fill=\"#444444\">sectors of 32 bytes, by address from the first; filled: the \
         share that was asked for</text>"
    );
    svg + "</svg>\n"
}

fn sectors_text(n: usize) -> String {
    format!("{n} {}", plural(n as u64, "sector"))
}

fn banks(line: &Line, worst: &Access, place: &str) -> String {
    // The words of each bank, and who wants them.
    let mut words: Vec<Vec<u64>> = vec![vec![]; LANES];
    let per_lane = u64::from(line.bytes_per_lane.div_ceil(4));
    let mut wires = vec![];
    for (i, address) in worst.addresses.iter().enumerate() {
        let Some(address) = address else { continue };
        for word in address / 4..address / 4 + per_lane {
            let bank = word as usize % LANES;
            if !words[bank].contains(&word) {
                words[bank].push(word);
            }
            wires.push((i, bank, words[bank].iter().position(|&w| w == word).unwrap_or(0)));
        }
    }
    let deep = words.iter().map(Vec::len).max().unwrap_or(1).max(1);
    let tall = if deep > 8 { 8.0 } else { 18.0 };
    let (width, top) = (2 * MARGIN + LANES * COLUMN, 170.0);
    let height = top + tall * deep as f64 + 50.0;
    let n = worst.cost;
    let turns = plural(n.into(), "wavefront");
    let title = format!("{place}: {} of {} bytes, {n} {turns}", line.instruction, line.bytes_per_lane);
    let mut svg = begin(width, height as usize, &title);
    label(&mut svg, (middle(1), 44.0), "lanes");
    lanes(&mut svg, worst, 50.0);
    for (lane, bank, turn) in wires {
        wire(&mut svg, (middle(lane), 70.0), (middle(bank), top), COLOURS[turn % COLOURS.len()]);
    }
    for (bank, words) in words.iter().enumerate() {
        for (turn, word) in words.iter().enumerate() {
            let at = (middle(bank) - COLUMN as f64 / 2.0 + 2.0, top + tall * turn as f64);
            bar(&mut svg, at, (COLUMN as f64 - 4.0, tall - 1.0), if turn == 0 { "#c7e9c0" } else { "#fdae6b" });
            if deep <= 8 {
                label(&mut svg, (middle(bank), at.1 + 13.0), &word.to_string());
            }
        }
        label(&mut svg, (middle(bank), top + tall * deep as f64 + 14.0), &bank.to_string());
    }
    let _ = writeln!(
        svg,
        "<text x=\"{MARGIN}\" y=\"{:.1}\" fill=\"#444444\">banks, with the 4-byte words requested from each: \
         two or more (orange) conflict, one for several lanes is a broadcast</text>",
        height - 12.0
    );
    svg + "</svg>\n"
}

/// The lines of a kernel with what each costs: sectors of global memory and wavefronts of shared memory, as a bar and
/// as a colour.
pub fn heat(kernel: &Kernel) -> String {
    const ROW: usize = 20;
    const BAR: f64 = 150.0;
    // Several calls in one line are one row.
    let mut rows: BTreeMap<(&str, u32), (u64, u64, &str)> = BTreeMap::new();
    for line in &kernel.lines {
        let row = rows.entry((&line.file, line.line)).or_insert((0, 0, &line.source));
        if line.kind.is_shared() {
            row.1 += line.counts.wavefronts;
        } else {
            row.0 += line.counts.sectors;
        }
    }
    let file = |path: &str| path.rsplit('/').next().unwrap_or("").to_string();
    let name = rows.keys().map(|(path, _)| file(path).chars().count()).max().unwrap_or(0);
    let most = rows.values().map(|row| row.0 + row.1).max().unwrap_or(1).max(1);
    let widest = rows.values().map(|row| row.2.chars().count()).max().unwrap_or(0);
    let (text, width) = (300.0, 330 + (widest.max(40) + name + 8) * 7);
    let height = 70 + rows.len() * ROW;
    let title = format!("{}: sectors of global memory (blue), wavefronts of shared memory (orange)", kernel.name);
    let mut svg = begin(width, height, &title);
    for (i, ((path, number), (global, shared, source))) in rows.into_iter().enumerate() {
        let y = (36 + i * ROW) as f64;
        let share = |n: u64| n as f64 / most as f64;
        let warm = (255.0 - 110.0 * share(global + shared)) as u8;
        bar(&mut svg, (text - 8.0, y), (width as f64 - text, ROW as f64), &format!("#ff{warm:02x}{warm:02x}"));
        let (blue, orange) = (BAR * share(global), BAR * share(shared));
        if global > 0 {
            bar(&mut svg, (130.0, y + 3.0), (blue, ROW as f64 - 6.0), "#4292c6");
        }
        if shared > 0 {
            bar(&mut svg, (130.0 + blue, y + 3.0), (orange, ROW as f64 - 6.0), "#fd8d3c");
        }
        let count = crate::report::count(global + shared);
        let _ = writeln!(
            svg,
            "<text x=\"120\" y=\"{0:.1}\" text-anchor=\"end\">{count}</text><text x=\"{text}\" y=\"{0:.1}\" \
             font-family=\"ui-monospace, monospace\" xml:space=\"preserve\">{2:name$}:{number:<4} {1}</text>",
            y + 14.0,
            escaped(source),
            escaped(&file(path))
        );
    }
    let _ = writeln!(svg, "<text x=\"{MARGIN}\" y=\"{}\" fill=\"#444444\">all launches together</text>", height - 12);
    svg + "</svg>\n"
}
