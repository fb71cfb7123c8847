//! A little SVG: enough for a plot with two axes, lines and a legend. The same input gives the same bytes.

use std::fmt::Write;

/// Colours that can be told apart, also by most who are colour-blind (after Okabe and Ito).
pub const COLOURS: [&str; 8] = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#b8860b", "#000000", "#7f7f7f"];

/// Width and height of a drawing, and what the axes leave at its sides.
const WIDTH: f64 = 900.0;
const HEIGHT: f64 = 460.0;
const LEFT: f64 = 74.0;
const RIGHT: f64 = 290.0;
const TOP: f64 = 44.0;
const BOTTOM: f64 = 56.0;

/// One line of a plot.
pub struct Line {
    /// What the legend calls it.
    pub name: String,
    /// Its points; x rises.
    pub points: Vec<(f64, f64)>,
    /// Drawn with dashes: a library's, or a limit.
    pub dashed: bool,
    /// Whether its points are marked; limits have none.
    pub marked: bool,
}

/// An axis.
pub struct Axis {
    /// What is along it.
    pub name: String,
    /// From where to where.
    pub range: (f64, f64),
    /// Values with their names.
    pub ticks: Vec<(f64, String)>,
    /// Whether equal ratios take equal space.
    pub logarithmic: bool,
}

impl Axis {
    /// Where a value is between 0 and 1.
    fn place(&self, value: f64) -> f64 {
        let scale = |v: f64| if self.logarithmic { v.max(f64::MIN_POSITIVE).log2() } else { v };
        let (from, to) = (scale(self.range.0), scale(self.range.1));
        if to > from { (scale(value) - from) / (to - from) } else { 0.5 }
    }

    /// From 0 to a round number above `most`, with about five ticks.
    pub fn linear(name: &str, most: f64) -> Self {
        let rough = (most / 5.0).max(f64::MIN_POSITIVE);
        let power = 10f64.powf(rough.log10().floor());
        let step = power * [1.0, 2.0, 5.0, 10.0].into_iter().find(|m| rough <= power * m).unwrap_or(10.0);
        let steps = (most / step).ceil().max(1.0) as usize;
        let decimals = (-step.log10()).ceil().max(0.0) as usize;
        let ticks = (0..=steps).map(|i| (i as f64 * step, format!("{:.decimals$}", i as f64 * step))).collect();
        Self { name: name.into(), range: (0.0, steps as f64 * step), ticks, logarithmic: false }
    }

    /// Powers of two from `least` to `most`, named by their exponents, no more than fit.
    pub fn powers(name: &str, least: f64, most: f64) -> Self {
        let (from, to) = (least.log2().floor() as i32, most.log2().ceil() as i32);
        let every = ((to - from) / 12 + 1).max(1);
        let ticks = (from..=to).filter(|e| (e - from) % every == 0);
        let ticks = ticks.map(|e| (2f64.powi(e), format!("2{}", superscript(e)))).collect();
        Self { name: name.into(), range: (2f64.powi(from), 2f64.powi(to)), ticks, logarithmic: true }
    }

    /// Powers of ten around `least` and `most`.
    pub fn decades(name: &str, least: f64, most: f64) -> Self {
        let (from, to) =
            (least.log10().floor() as i32, (most.log10().ceil() as i32).max(least.log10().floor() as i32 + 1));
        let ticks = (from..=to).map(|e| (10f64.powi(e), decade(e))).collect();
        Self { name: name.into(), range: (10f64.powi(from), 10f64.powi(to)), ticks, logarithmic: true }
    }
}

fn decade(exponent: i32) -> String {
    match exponent {
        -3..=4 => {
            let decimals = (-exponent).max(0) as usize;
            format!("{:.decimals$}", 10f64.powi(exponent))
        }
        _ => format!("10{}", superscript(exponent)),
    }
}

fn superscript(number: i32) -> String {
    number
        .to_string()
        .chars()
        .map(|c| match c.to_digit(10) {
            Some(digit) => ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'][digit as usize],
            None => '⁻',
        })
        .collect()
}

/// Text as it may stand in XML.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// A plot with a legend at its right. `notes` stand below the title.
pub fn plot(title: &str, x: &Axis, y: &Axis, lines: &[Line]) -> String {
    let (width, height) = (WIDTH - LEFT - RIGHT, HEIGHT - TOP - BOTTOM);
    let at_x = |value: f64| LEFT + width * x.place(value);
    let at_y = |value: f64| TOP + height * (1.0 - y.place(value));
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" width=\"{WIDTH}\" height=\"{HEIGHT}\" \
         font-family=\"Helvetica, Arial, sans-serif\" font-size=\"12\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n"
    );
    let mut text = |x: f64, y: f64, anchor: &str, more: &str, what: &str| {
        let what = escaped(what);
        writeln!(svg, "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\" fill=\"#222222\"{more}>{what}</text>")
            .expect("a string takes all text");
    };
    text(LEFT, 24.0, "start", " font-size=\"15\" font-weight=\"bold\"", title);
    text(LEFT + width / 2.0, HEIGHT - 14.0, "middle", "", &x.name);
    let middle = TOP + height / 2.0;
    text(18.0, middle, "middle", &format!(" transform=\"rotate(-90 18 {middle:.1})\""), &y.name);
    x.ticks.iter().for_each(|(value, name)| text(at_x(*value), TOP + height + 20.0, "middle", "", name));
    y.ticks.iter().for_each(|(value, name)| text(LEFT - 8.0, at_y(*value) + 4.0, "end", "", name));
    let mut line = |from: (f64, f64), to: (f64, f64), colour: &str, more: &str| {
        let ((x1, y1), (x2, y2)) = (from, to);
        writeln!(svg, "<line x1=\"{x1:.1}\" y1=\"{y1:.1}\" x2=\"{x2:.1}\" y2=\"{y2:.1}\" stroke=\"{colour}\"{more}/>")
            .expect("a string takes all text");
    };
    for (value, _) in &x.ticks {
        line((at_x(*value), TOP), (at_x(*value), TOP + height), "#e6e6e6", "");
    }
    for (value, _) in &y.ticks {
        line((LEFT, at_y(*value)), (LEFT + width, at_y(*value)), "#e6e6e6", "");
    }
    line((LEFT, TOP), (LEFT, TOP + height), "#222222", "");
    line((LEFT, TOP + height), (LEFT + width, TOP + height), "#222222", "");
    for (i, drawn) in lines.iter().enumerate() {
        // Colours begin anew for dashed lines, so that there are twice as many before two lines look alike.
        let alike = lines[..i].iter().filter(|other| other.dashed == drawn.dashed).count();
        let colour = COLOURS[alike % COLOURS.len()];
        let dashes = if drawn.dashed { " stroke-dasharray=\"6 4\"" } else { "" };
        let points: Vec<String> =
            drawn.points.iter().map(|(x, y)| format!("{:.1},{:.1}", at_x(*x), at_y(*y))).collect();
        if points.len() > 1 {
            let points = points.join(" ");
            writeln!(
                svg,
                "<polyline points=\"{points}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"{dashes}/>"
            )
            .expect("a string takes all text");
        }
        for point in points.iter().filter(|_| drawn.marked || points.len() == 1) {
            let (x, y) = point.split_once(',').expect("made above");
            writeln!(svg, "<circle cx=\"{x}\" cy=\"{y}\" r=\"3\" fill=\"{colour}\"/>")
                .expect("a string takes all text");
        }
        let (legend_x, legend_y) = (LEFT + width + 14.0, TOP + 8.0 + 19.0 * i as f64);
        writeln!(
            svg,
            "<line x1=\"{legend_x:.1}\" y1=\"{legend_y:.1}\" x2=\"{:.1}\" y2=\"{legend_y:.1}\" stroke=\"{colour}\" \
             stroke-width=\"2\"{dashes}/>\n<text x=\"{:.1}\" y=\"{:.1}\" fill=\"#222222\">{}</text>",
            legend_x + 24.0,
            legend_x + 30.0,
            legend_y + 4.0,
            escaped(&drawn.name)
        )
        .expect("a string takes all text");
    }
    svg + "</svg>\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_have_round_ticks() {
        let names = |axis: Axis| axis.ticks.into_iter().map(|(_, name)| name).collect::<Vec<_>>();
        assert_eq!(names(Axis::linear("", 43.0)), ["0", "10", "20", "30", "40", "50"]);
        assert_eq!(names(Axis::linear("", 0.7)), ["0.0", "0.2", "0.4", "0.6", "0.8"]);
        assert_eq!(names(Axis::powers("", 4096.0, 16384.0)), ["2¹²", "2¹³", "2¹⁴"]);
        assert_eq!(names(Axis::decades("", 0.02, 30.0)), ["0.01", "0.1", "1", "10", "100"]);
        assert_eq!(names(Axis::decades("", 10.0, 10.0)), ["10", "100"]);
    }

    #[test]
    fn a_plot_is_well_formed_and_inside_its_frame() {
        let line = Line { name: "a < b & c".into(), points: vec![(1.0, 1.0), (4.0, 3.0)], dashed: true, marked: true };
        let svg = plot("t", &Axis::powers("n", 1.0, 4.0), &Axis::linear("rate", 3.0), &[line]);
        assert!(svg.contains("a &lt; b &amp; c") && svg.starts_with("<svg ") && svg.ends_with("</svg>\n"));
        assert!(svg.contains(&format!("points=\"{LEFT:.1},")) && !svg.contains("NaN"), "{svg}");
        let opened = svg.matches("<text").count();
        assert_eq!(opened, svg.matches("</text>").count());
    }
}
