//! A table of times as a picture: SVG, cells coloured by the logarithm of the time, the best one marked.

use std::fmt::Write;

/// Width and height of a cell, and the room for titles.
const CELL: (usize, usize) = (72, 34);
const LEFT: usize = 90;
const TOP: usize = 70;

/// Width of the picture at least: the title fits.
const WIDTH: usize = 460;

/// The picture of `times[row][column]` in milliseconds.
pub(super) fn map(
    title: &str,
    rows: (&str, &[u64]),
    columns: (&str, &[u64]),
    times: &[Vec<f64>],
    best: (usize, usize),
) -> String {
    let all = || times.iter().flatten().copied().filter(|t| *t > 0.0).map(f64::ln);
    let (low, high) = (all().fold(f64::INFINITY, f64::min), all().fold(f64::NEG_INFINITY, f64::max));
    let (width, height) = ((LEFT + columns.1.len() * CELL.0 + 20).max(WIDTH), TOP + rows.1.len() * CELL.1 + 50);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
         viewBox=\"0 0 {width} {height}\" font-family=\"system-ui, sans-serif\" font-size=\"12\">\n\
         <title>{title}</title>\n\
         <rect width=\"{width}\" height=\"{height}\" fill=\"#ffffff\"/>\n\
         <text x=\"10\" y=\"20\" font-size=\"14\">{title}</text>\n"
    );
    let centre = LEFT + columns.1.len() * CELL.0 / 2;
    // Writing to a string cannot fail.
    let _ = writeln!(svg, "<text x=\"{centre}\" y=\"42\" text-anchor=\"middle\">{}</text>", columns.0);
    let _ = writeln!(svg, "<text x=\"10\" y=\"{}\">{}</text>", TOP - 8, rows.0);
    for (c, value) in columns.1.iter().enumerate() {
        let x = LEFT + c * CELL.0 + CELL.0 / 2;
        let _ = writeln!(svg, "<text x=\"{x}\" y=\"{}\" text-anchor=\"middle\">{value}</text>", TOP - 8);
    }
    for (r, value) in rows.1.iter().enumerate() {
        let y = TOP + r * CELL.1;
        let _ = writeln!(svg, "<text x=\"{}\" y=\"{}\" text-anchor=\"end\">{value}</text>", LEFT - 8, y + 21);
        for (c, &ms) in times[r].iter().enumerate() {
            let x = LEFT + c * CELL.0;
            let share = if high > low { (ms.ln() - low) / (high - low) } else { 0.0 };
            let (fill, ink) = colour(share);
            let (w, h) = CELL;
            let _ = writeln!(svg, "<rect x=\"{x}\" y=\"{y}\" width=\"{w}\" height=\"{h}\" fill=\"{fill}\"/>");
            let star = if (r, c) == best { "★ " } else { "" };
            let text = crate::report::time(ms);
            let (tx, ty) = (x + w / 2, y + 21);
            let _ = writeln!(
                svg,
                "<text x=\"{tx}\" y=\"{ty}\" text-anchor=\"middle\" font-size=\"11\" fill=\"{ink}\">{star}{text}</text>"
            );
        }
    }
    let (x, y) = (LEFT + best.1 * CELL.0, TOP + best.0 * CELL.1);
    let _ = writeln!(
        svg,
        "<rect class=\"best\" x=\"{x}\" y=\"{y}\" width=\"{}\" height=\"{}\" fill=\"none\" \
         stroke=\"#000000\" stroke-width=\"3\"/>",
        CELL.0, CELL.1
    );
    let _ = writeln!(
        svg,
        "<text x=\"10\" y=\"{}\">light: fast, dark: slow, by the logarithm; ★ the best</text>",
        height - 16
    );
    svg + "</svg>\n"
}

/// From light yellow to dark blue: lightness alone tells the order, for any colour vision. Also returns the colour of
/// the text.
fn colour(share: f64) -> (String, &'static str) {
    const STOPS: [[f64; 3]; 4] =
        [[253.0, 231.0, 160.0], [122.0, 190.0, 170.0], [50.0, 110.0, 150.0], [20.0, 30.0, 80.0]];
    let place = share.clamp(0.0, 1.0) * (STOPS.len() - 1) as f64;
    let i = (place as usize).min(STOPS.len() - 2);
    let part = place - i as f64;
    let [r, g, b] = std::array::from_fn(|k| (STOPS[i][k] + (STOPS[i + 1][k] - STOPS[i][k]) * part).round() as u8);
    (format!("#{r:02x}{g:02x}{b:02x}"), if share > 0.5 { "#ffffff" } else { "#000000" })
}
