//! Charts in one style, drawn by `plotters` through its SVG backend. The same input gives the same bytes.
//!
//! In one chart no colour means two things. What a colour says, a marker says too, and libraries have dashed lines and
//! hollow markers: a chart that is printed in grey can still be read.

use crate::table::times_as_fast;
use plotters::coord::Shift;
use plotters::coord::ranged1d::{KeyPointHint, NoDefaultFormatting, Ranged, ValueFormatter};
use plotters::element::DashedPathElement;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};
use std::error::Error;
use std::ops::Range;

/// Size of a drawing in pixels: about twice the size at which a page shows it, because plotters rounds to pixels.
const SIZE: (i32, i32) = (1600, 800);

/// The margins of the frame: above for the title, right for the names of the lines, left and below for the axes.
const TOP: i32 = 92;
const RIGHT: i32 = 500;
const RIGHT_OF_ROWS: i32 = 220;
const RIGHT_OF_ROOFLINE: i32 = 560;
const LEFT: i32 = 130;
const BOTTOM: i32 = 84;

/// Between the edge and the name of an axis.
const EDGE: i32 = 20;

/// Names on the left take more room than numbers.
const LEFT_OF_NAMES: i32 = 280;

/// plotters divides a font's size by this.
const FONT_SCALE: f64 = 1.24;
const FONT: &str = "Helvetica, Arial, sans-serif";
const SMALL: f64 = 24.0;
const LARGE: f64 = 30.0;

/// The least distance between two lines of text.
const LINE: i32 = 32;

/// Half of a marker.
const MARKER: i32 = 9;

const INK: RGBColor = RGBColor(34, 34, 34);
const GRID: RGBColor = RGBColor(228, 228, 228);

/// Colours that most people can tell apart, colour-blind or not (after Okabe and Ito, darkened for white paper). There
/// are no more lines in a chart than colours.
const COLOURS: [RGBColor; 10] = [
    RGBColor(0, 95, 160),
    RGBColor(205, 85, 0),
    RGBColor(0, 135, 95),
    RGBColor(180, 80, 140),
    RGBColor(130, 100, 0),
    RGBColor(60, 160, 210),
    RGBColor(110, 60, 160),
    RGBColor(140, 30, 30),
    RGBColor(120, 150, 30),
    RGBColor(120, 120, 120),
];

/// Corners of the markers, in parts of [`MARKER`]. The tenth line begins again, with another colour.
const MARKERS: [&[(f64, f64)]; 9] = [
    &[(1.0, 0.0), (0.7, 0.7), (0.0, 1.0), (-0.7, 0.7), (-1.0, 0.0), (-0.7, -0.7), (0.0, -1.0), (0.7, -0.7)],
    &[(-1.2, 0.0), (0.0, -1.2), (1.2, 0.0), (0.0, 1.2)],
    &[(-0.9, -0.9), (0.9, -0.9), (0.9, 0.9), (-0.9, 0.9)],
    &[(-1.1, 0.9), (0.0, -1.2), (1.1, 0.9)],
    &[(-1.1, -0.9), (0.0, 1.2), (1.1, -0.9)],
    &[(-1.2, -0.5), (1.2, -0.5), (1.2, 0.5), (-1.2, 0.5)],
    &[(-0.5, -1.2), (0.5, -1.2), (0.5, 1.2), (-0.5, 1.2)],
    &[(-1.2, -1.2), (1.2, 0.0), (-1.2, 1.2)],
    &[(1.2, -1.2), (-1.2, 0.0), (1.2, 1.2)],
];

/// A dash and the gap after it, for what is a library's and for the ceilings of a roofline.
const DASHES: (u32, u32) = (14, 8);
const CEILINGS: [Option<(u32, u32)>; 3] = [None, Some((20, 10)), Some((4, 8))];

/// The owner of a line or a point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Whose {
    /// Ours: solid, filled.
    Ours,
    /// A library's: dashed, hollow.
    Library,
}

/// Values that belong together.
pub struct Line {
    /// The text next to it.
    pub name: String,
    /// Its points; x rises.
    pub points: Vec<(f64, f64)>,
    /// Its owner, which decides the style.
    pub whose: Whose,
}

/// The scale of an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Scale {
    /// Equal differences take equal space.
    Linear,
    /// Equal ratios take equal space.
    Logarithmic,
}

/// An axis.
#[derive(Clone, Debug)]
pub struct Axis {
    name: String,
    range: (f64, f64),
    /// Values with their names.
    ticks: Vec<(f64, String)>,
    scale: Scale,
}

impl Axis {
    /// From 0 to a round number that is not below `most`, with about five ticks.
    pub fn linear(name: &str, most: f64) -> Self {
        let rough = (most / 5.0).max(f64::MIN_POSITIVE);
        let power = 10f64.powf(rough.log10().floor());
        let step = power * [1.0, 2.0, 5.0, 10.0].into_iter().find(|m| rough <= power * m).unwrap_or(10.0);
        let steps = (most / step).ceil().max(1.0) as usize;
        let decimals = (-step.log10()).ceil().max(0.0) as usize;
        let ticks = (0..=steps).map(|i| (i as f64 * step, format!("{:.decimals$}", i as f64 * step))).collect();
        Self { name: name.into(), range: (0.0, steps as f64 * step), ticks, scale: Scale::Linear }
    }

    /// Powers of two from `least` to `most`, no more than fit.
    pub fn powers(name: &str, least: f64, most: f64) -> Self {
        let (from, to) = (least.log2().floor() as i32, most.log2().ceil() as i32);
        let every = ((to - from) / 12 + 1).max(1);
        let ticks = (from..=to).filter(|e| (e - from) % every == 0);
        let ticks = ticks.map(|e| (2f64.powi(e), format!("2{}", superscript(e)))).collect();
        Self { name: name.into(), range: (2f64.powi(from), 2f64.powi(to)), ticks, scale: Scale::Logarithmic }
    }

    /// From `least` to `most`, which are at least a decade apart, with the powers of ten between them.
    pub fn decades(name: &str, least: f64, most: f64) -> Self {
        let most = most.max(least * 10.0);
        let inside = least.log10().ceil() as i32..=most.log10().floor() as i32;
        let ticks = inside.map(|e| (10f64.powi(e), format!("10{}", superscript(e)))).collect();
        Self { name: name.into(), range: (least, most), ticks, scale: Scale::Logarithmic }
    }

    /// A line of names, the first on top; the i-th is at -i.
    fn names(names: &[String]) -> Self {
        let ticks = names.iter().enumerate().map(|(i, name)| (-(i as f64), name.clone())).collect();
        Self { name: String::new(), range: (0.5 - names.len() as f64, 0.5), ticks, scale: Scale::Linear }
    }

    /// The place of a value: from 0 at the beginning of the axis to 1 at its end.
    fn part(&self, value: f64) -> f64 {
        let scaled = |value: f64| match self.scale {
            Scale::Linear => value,
            Scale::Logarithmic => value.max(f64::MIN_POSITIVE).log2(),
        };
        let (from, to) = (scaled(self.range.0), scaled(self.range.1));
        if to > from { (scaled(value) - from) / (to - from) } else { 0.5 }
    }
}

/// plotters' own axes choose their ticks and name them in several forms; these have theirs.
impl Ranged for Axis {
    type FormatOption = NoDefaultFormatting;
    type ValueType = f64;

    fn map(&self, value: &f64, (from, to): (i32, i32)) -> i32 {
        from + (f64::from(to - from) * self.part(*value)).round() as i32
    }

    fn key_points<Hint: KeyPointHint>(&self, _: Hint) -> Vec<f64> {
        self.ticks.iter().map(|(value, _)| *value).collect()
    }

    fn range(&self) -> Range<f64> {
        self.range.0..self.range.1
    }
}

impl ValueFormatter<f64> for Axis {
    fn format_ext(&self, value: &f64) -> String {
        let tick = self.ticks.iter().find(|(tick, _)| tick == value);
        tick.map_or(String::new(), |(_, name)| name.clone())
    }
}

/// A whole number raised, as it stands after its base.
pub fn superscript(number: i32) -> String {
    let raised = |c: char| match c.to_digit(10) {
        Some(digit) => ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'][digit as usize],
        None => '⁻',
    };
    number.to_string().chars().map(raised).collect()
}

type Root<'a> = DrawingArea<SVGBackend<'a>, Shift>;
type Drawn = Result<(), Box<dyn Error>>;

/// The text of what `draw` draws.
fn svg(draw: impl FnOnce(&Root) -> Drawn) -> String {
    let mut text = String::new();
    {
        let root = SVGBackend::with_string(&mut text, (SIZE.0 as u32, SIZE.1 as u32)).into_drawing_area();
        root.fill(&WHITE).map_err(Into::into).and_then(|()| draw(&root)).expect("a string takes all that is drawn");
        root.present().expect("a string takes all that is drawn");
    }
    text.push('\n');
    text
}

/// Puts text at a place, aligned by its left, middle or right.
fn write(root: &Root, text: &str, (x, y): (i32, i32), horizontal: HPos, size: f64) -> Drawn {
    let style = (FONT, size * FONT_SCALE).into_font().color(&INK).pos(Pos::new(horizontal, VPos::Center));
    Ok(root.draw(&Text::new(text.to_string(), (x, y), style))?)
}

/// A line through pixels, dashed or not.
fn stroke(root: &Root, points: Vec<(i32, i32)>, colour: RGBColor, width: u32, dashes: Option<(u32, u32)>) -> Drawn {
    let style = colour.stroke_width(width);
    match dashes {
        None => root.draw(&PathElement::new(points, style))?,
        Some((dash, gap)) => root.draw(&DashedPathElement::new(points, dash, gap, style))?,
    }
    Ok(())
}

/// The i-th marker.
fn mark(root: &Root, (x, y): (i32, i32), i: usize, whose: Whose) -> Drawn {
    let at = |part: f64| (part * f64::from(MARKER)).round() as i32;
    let mut corners: Vec<(i32, i32)> =
        MARKERS[i % MARKERS.len()].iter().map(|&(dx, dy)| (x + at(dx), y + at(dy))).collect();
    let colour = COLOURS[i];
    let inside = if whose == Whose::Ours { colour } else { WHITE };
    root.draw(&Polygon::new(corners.clone(), inside))?;
    corners.push(corners[0]);
    stroke(root, corners, colour, 3, None)
}

/// Draws title, frame, grid and ticks. Returns the function that maps a point to pixels.
fn frame(
    root: &Root,
    title: &str,
    (x, y): (&Axis, &Axis),
    (left, right): (i32, i32),
) -> Result<impl Fn(f64, f64) -> (i32, i32), Box<dyn Error>> {
    write(root, title, (EDGE, TOP / 3), HPos::Left, LARGE)?;
    let mut chart = ChartBuilder::on(root)
        .margin_top(TOP)
        .margin_right(right)
        .margin_bottom(EDGE / 2)
        .margin_left(EDGE)
        .y_label_area_size(left)
        .x_label_area_size(BOTTOM)
        .build_cartesian_2d(x.clone(), y.clone())?;
    let style = (FONT, SMALL * FONT_SCALE).into_font().color(&INK);
    chart
        .configure_mesh()
        .light_line_style(TRANSPARENT)
        .bold_line_style(GRID.stroke_width(2))
        .axis_style(INK.stroke_width(2))
        .label_style(style.clone())
        .axis_desc_style(style)
        .x_desc(&x.name)
        .y_desc(&y.name)
        .draw()?;
    let area = chart.plotting_area().strip_coord_spec();
    let ((left, top), (width, height)) = (area.get_base_pixel(), area.dim_in_pixel());
    let (width, height) = (width as i32, height as i32);
    let (x, y) = (x.clone(), y.clone());
    Ok(move |a: f64, b: f64| (x.map(&a, (left, left + width)), y.map(&b, (top + height, top))))
}

/// Heights near the wanted ones, in the same order, at least [`LINE`] apart and inside the frame.
fn spread(wished: &[i32]) -> Vec<i32> {
    let mut order: Vec<usize> = (0..wished.len()).collect();
    order.sort_by_key(|&i| wished[i]);
    let mut heights = wished.to_vec();
    let mut least = TOP + LINE / 2;
    for &i in &order {
        heights[i] = heights[i].max(least);
        least = heights[i] + LINE;
    }
    let mut most = SIZE.1 - LINE;
    for &i in order.iter().rev() {
        heights[i] = heights[i].min(most);
        most = heights[i] - LINE;
    }
    heights
}

/// The legend at the right of the frame, `right` wide: a stroke as in the frame, and a name.
struct Legend<'r, 's> {
    root: &'r Root<'s>,
    right: i32,
}

impl Legend<'_, '_> {
    fn stroke(&self, height: i32, colour: RGBColor, width: u32, dashes: Option<(u32, u32)>) -> Drawn {
        let left = SIZE.0 - self.right + 24;
        stroke(self.root, vec![(left, height), (left + 56, height)], colour, width, dashes)
    }

    fn mark(&self, height: i32, i: usize, whose: Whose) -> Drawn {
        mark(self.root, (SIZE.0 - self.right + 52, height), i, whose)
    }

    fn name(&self, height: i32, name: &str) -> Drawn {
        write(self.root, name, (SIZE.0 - self.right + 94, height), HPos::Left, SMALL)
    }
}

/// No more lines than there are colours.
fn shown(lines: &[Line]) -> &[Line] {
    &lines[..lines.len().min(COLOURS.len())]
}

/// Lines, each with its name next to its end. `level` is a value with a name, drawn for comparison.
pub fn lines(title: &str, x: &Axis, y: &Axis, lines: &[Line], level: Option<(f64, &str)>) -> String {
    svg(|root| {
        let at = frame(root, title, (x, y), (LEFT, RIGHT))?;
        let (legend, lines) = (Legend { root, right: RIGHT }, shown(lines));
        let ends = lines.iter().map(|line| line.points.last().map_or(TOP, |&(a, b)| at(a, b).1));
        let ends: Vec<i32> = ends.chain(level.map(|(value, _)| at(x.range.1, value).1)).collect();
        let heights = spread(&ends);
        if let (Some((value, name)), Some(&height)) = (level, heights.last()) {
            stroke(root, vec![at(x.range.0, value), at(x.range.1, value)], INK, 2, None)?;
            legend.stroke(height, INK, 2, None)?;
            legend.name(height, name)?;
        }
        for (i, (line, height)) in lines.iter().zip(heights).enumerate() {
            let points: Vec<_> = line.points.iter().map(|&(x, y)| at(x, y)).collect();
            let dashes = (line.whose == Whose::Library).then_some(DASHES);
            stroke(root, points.clone(), COLOURS[i], 4, dashes)?;
            points.into_iter().try_for_each(|point| mark(root, point, i, line.whose))?;
            legend.stroke(height, COLOURS[i], 4, dashes)?;
            legend.mark(height, i, line.whose)?;
            legend.name(height, &line.name)?;
        }
        Ok(())
    })
}

/// Points in rows that have names: the x of a point is its value, its y the number of its row. `level` is as for
/// [`lines`].
pub fn rows(title: &str, names: &[String], x: &Axis, points: &[Line], level: (f64, &str)) -> String {
    svg(|root| {
        let y = Axis::names(names);
        let at = frame(root, title, (x, &y), (LEFT_OF_NAMES, RIGHT_OF_ROWS))?;
        let legend = Legend { root, right: RIGHT_OF_ROWS };
        let (value, name) = level;
        stroke(root, vec![at(value, y.range.0), at(value, y.range.1)], INK, 2, None)?;
        let (place, top) = at(value, y.range.1);
        write(root, name, (place, top - 18), HPos::Center, SMALL)?;
        for (i, line) in shown(points).iter().enumerate() {
            line.points.iter().try_for_each(|&(x, row)| mark(root, at(x, -row), i, line.whose))?;
            let height = TOP + LINE / 2 + LINE * i as i32;
            legend.mark(height, i, line.whose)?;
            legend.name(height, &line.name)?;
        }
        Ok(())
    })
}

/// Where bars begin, where the longest ends, and the height of their text. It is large: a phone shows a page at a
/// quarter of this size.
const BARS: (i32, i32) = (640, 1480);
const BAR_TEXT: f64 = 36.0;

/// Bars with names and values, and a line through all of them at `level`. Those that do not reach it have a colour of
/// their own.
pub fn bars(title: &str, bars: &[(&str, f64)], level: f64) -> String {
    let most = bars.iter().map(|bar| bar.1).fold(level, f64::max);
    let place = |value: f64| BARS.0 + (f64::from(BARS.1 - BARS.0) * value / most).round() as i32;
    let height = (SIZE.1 - TOP) / (bars.len() as i32).max(1);
    svg(|root| {
        write(root, title, (EDGE, TOP / 2), HPos::Left, BAR_TEXT)?;
        for (i, (name, value)) in bars.iter().enumerate() {
            let middle = TOP + height * i as i32 + height / 2;
            write(root, name, (BARS.0 - EDGE, middle), HPos::Right, BAR_TEXT)?;
            let corners = [(BARS.0, middle - height / 3), (place(*value), middle + height / 3)];
            root.draw(&Rectangle::new(corners, COLOURS[usize::from(*value < level)].filled()))?;
            let end = place(value.max(level)) + EDGE / 2;
            write(root, &times_as_fast(*value), (end, middle), HPos::Left, BAR_TEXT)?;
        }
        stroke(root, vec![(place(level), TOP), (place(level), SIZE.1 - EDGE / 2)], INK, 4, None)
    })
}

/// A point of a roofline.
pub struct Point {
    /// The text next to it.
    pub name: String,
    /// Operations per byte that must be moved, and 10⁹ operations per second.
    pub at: (f64, f64),
    /// Its owner.
    pub whose: Whose,
}

/// A ceiling of a roofline.
pub struct Ceiling {
    /// The text on it.
    pub name: String,
    /// 10⁹ operations per second.
    pub gflops: f64,
}

/// Points below what memory and arithmetic allow. Ours have one colour, libraries another, limits none.
pub fn roofline(title: &str, gbs: f64, ceilings: &[Ceiling], points: &[Point]) -> String {
    let ceilings = &ceilings[..ceilings.len().min(CEILINGS.len())];
    let highest = ceilings.iter().map(|c| c.gflops).fold(0.0, f64::max);
    let xs = || ceilings.iter().map(|c| c.gflops / gbs).chain(points.iter().map(|p| p.at.0));
    let (least, last) = (xs().fold(f64::INFINITY, f64::min) / 4.0, xs().fold(0.0, f64::max) * 1.5);
    let ys = || points.iter().map(|p| p.at.1).chain([highest]);
    let (lowest, top) = (ys().fold(least * gbs, f64::min) / 2.0, ys().fold(0.0, f64::max) * 1.5);
    let x = Axis::decades("floating-point operations per byte that must be moved", least, last);
    let y = Axis::decades("GFLOP/s", lowest, top);
    svg(|root| {
        let at = frame(root, title, (&x, &y), (LEFT, RIGHT_OF_ROOFLINE))?;
        let start = x.range.0.max(y.range.0 / gbs);
        stroke(root, vec![at(start, start * gbs), at(highest / gbs, highest)], INK, 3, None)?;
        // Right of the line, short of the first ceiling.
        let ridge = ceilings.iter().map(|c| c.gflops / gbs).fold(f64::INFINITY, f64::min);
        let beside = start.max(ridge / 32.0);
        let (left, height) = at(beside, beside * gbs);
        write(root, &format!("memory: a copy moves {gbs:.0} GB/s"), (left + 24, height + 8), HPos::Left, SMALL)?;
        let edge = SIZE.0 - RIGHT_OF_ROOFLINE;
        let name_height = |name: &str, height| write(root, name, (edge + 30, height), HPos::Left, SMALL);
        let places: Vec<(i32, i32)> = points.iter().map(|point| at(point.at.0, point.at.1)).collect();
        let (outside, inside): (Vec<usize>, Vec<usize>) =
            named(&places, points).into_iter().partition(|&i| places[i].0 > edge / 2);
        // Names that have no room inside stand at the right of the frame, with a line to their point.
        let ends: Vec<i32> = ceilings.iter().map(|ceiling| at(x.range.1, ceiling.gflops).1).collect();
        let wished: Vec<i32> = ends.iter().copied().chain(outside.iter().map(|&i| places[i].1)).collect();
        let heights = spread(&wished);
        for ((ceiling, dashes), (&end, &height)) in ceilings.iter().zip(CEILINGS).zip(ends.iter().zip(&heights)) {
            stroke(root, vec![at(ceiling.gflops / gbs, ceiling.gflops), (edge, end)], INK, 3, dashes)?;
            stroke(root, vec![(edge, end), (edge + 24, height)], INK, 1, None)?;
            name_height(&format!("{}: {:.0} TFLOP/s", ceiling.name, ceiling.gflops * 1e-3), height)?;
        }
        for (&i, &height) in outside.iter().zip(&heights[ends.len()..]) {
            stroke(root, vec![places[i], (edge, height), (edge + 24, height)], COLOURS[9], 1, None)?;
            name_height(&points[i].name, height)?;
        }
        for (point, &place) in points.iter().zip(&places) {
            mark(root, place, (point.whose == Whose::Library).into(), point.whose)?;
        }
        let heights = spread_labels(&inside.iter().map(|&i| places[i]).collect::<Vec<_>>());
        inside
            .iter()
            .zip(heights)
            .try_for_each(|(&i, height)| write(root, &points[i].name, (places[i].0 + 20, height), HPos::Left, SMALL))
    })
}

/// The points that have a name: at one intensity the fastest and the slowest of ours, and the library's fastest. All
/// names would not have room.
fn named(places: &[(i32, i32)], points: &[Point]) -> Vec<usize> {
    let mut named = vec![];
    for (i, (place, point)) in places.iter().zip(points).enumerate() {
        let same = (0..points.len()).filter(|&k| places[k].0 == place.0 && points[k].whose == point.whose);
        // The first of equal ones, so that no two names stand for one place.
        let fastest = same.clone().min_by_key(|&k| places[k].1);
        let slowest = same.rev().max_by_key(|&k| places[k].1).filter(|_| point.whose == Whose::Ours);
        if fastest == Some(i) || slowest == Some(i) {
            named.push(i);
        }
    }
    named
}

/// Heights of labels that stand next to points: those of one column are apart from each other.
fn spread_labels(places: &[(i32, i32)]) -> Vec<i32> {
    let mut heights: Vec<i32> = places.iter().map(|place| place.1).collect();
    let mut columns: Vec<i32> = places.iter().map(|place| place.0).collect();
    columns.sort();
    columns.dedup();
    for column in columns {
        let inside: Vec<usize> = (0..places.len()).filter(|&i| places[i].0 == column).collect();
        let wished: Vec<i32> = inside.iter().map(|&i| places[i].1).collect();
        inside.into_iter().zip(spread(&wished)).for_each(|(i, height)| heights[i] = height);
    }
    heights
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(name: &str, whose: Whose) -> Line {
        Line { name: name.into(), points: vec![(1.0, 1.0), (4.0, 3.0)], whose }
    }

    #[test]
    fn ticks_are_round_and_of_one_form() {
        let names = |axis: Axis| axis.ticks.into_iter().map(|(_, name)| name).collect::<Vec<_>>();
        assert_eq!(names(Axis::linear("", 43.0)), ["0", "10", "20", "30", "40", "50"]);
        assert_eq!(names(Axis::linear("", 0.7)), ["0.0", "0.2", "0.4", "0.6", "0.8"]);
        assert_eq!(names(Axis::powers("", 4096.0, 16384.0)), ["2¹²", "2¹³", "2¹⁴"]);
        assert_eq!(names(Axis::decades("", 0.02, 30.0)), ["10⁻¹", "10⁰", "10¹"]);
        assert_eq!(names(Axis::decades("", 10.0, 10.0)), ["10¹", "10²"]);
    }

    #[test]
    fn a_chart_is_well_formed_and_shows_whose_a_line_is() {
        let drawn = [line("a < b & c", Whose::Ours), line("peer", Whose::Library)];
        let (x, y) = (Axis::powers("n", 1.0, 4.0), Axis::linear("rate", 3.0));
        let text = lines("title", &x, &y, &drawn, Some((1.0, "equal")));
        assert!(text.contains("a &lt; b &amp; c") && text.contains("equal") && text.contains("title"), "{text}");
        assert!(text.trim_end().ends_with("</svg>") && !text.contains("NaN"));
        assert_eq!(text.matches("<text").count(), text.matches("</text>").count());
        // One marker for each point and one next to the name, ours filled, the library's white inside.
        let markers = |fill: &str| text.lines().filter(|l| l.contains("<polygon") && l.contains(fill)).count();
        assert_eq!((markers("fill=\"#005FA0\""), markers("fill=\"#FFFFFF\"")), (3, 3), "{text}");
    }

    #[test]
    fn a_bar_ends_at_its_value_and_shows_its_side_of_the_level() {
        let text = bars("title", &[("scan", 2.0), ("sort", 0.5)], 1.0);
        for part in ["title", "scan", "2.00", "sort", "0.50"] {
            assert!(text.contains(part), "{part}: {text}");
        }
        let bar = |width: i32, fill: &str| {
            let bar = text.lines().find(|line| line.starts_with("<rect") && line.contains(fill)).unwrap();
            assert!(bar.contains(&format!("width=\"{width}\"")), "{bar}");
        };
        bar(BARS.1 - BARS.0, "#005FA0");
        bar((f64::from(BARS.1 - BARS.0) / 4.0).round() as i32, "#CD5500");
    }

    #[test]
    fn no_two_lines_have_the_same_colour() {
        let many: Vec<Line> = (0..30).map(|i| line(&format!("line {i}."), Whose::Ours)).collect();
        let text = lines("t", &Axis::powers("n", 1.0, 4.0), &Axis::linear("rate", 3.0), &many, None);
        assert!(text.contains("line 9.") && !text.contains("line 10."), "{text}");
    }

    #[test]
    fn names_do_not_cover_each_other() {
        let heights = spread(&[300, 300, 310, SIZE.1]);
        assert_eq!(heights, [300, 332, 364, SIZE.1 - LINE]);
        assert_eq!(spread(&[SIZE.1, SIZE.1]), [SIZE.1 - 2 * LINE, SIZE.1 - LINE]);
        assert_eq!(spread_labels(&[(1, 300), (2, 300), (1, 301)]), [300, 300, 332]);
    }

    #[test]
    fn a_roofline_has_its_ceilings_and_points_by_name() {
        let ceilings = [("fp32", 6e4), ("TF32", 4e5)].map(|(name, gflops)| Ceiling { name: name.into(), gflops });
        let point = |name: &str, gflops, whose| Point { name: name.into(), at: (600.0, gflops), whose };
        let points = [
            point("naive", 5e3, Whose::Ours),
            point("tile", 1e4, Whose::Ours),
            point("wide", 2e4, Whose::Ours),
            point("cublas", 5e4, Whose::Library),
            point("slower", 4e4, Whose::Library),
        ];
        let text = roofline("title", 4000.0, &ceilings, &points);
        for part in ["fp32: 60 TFLOP/s", "TF32: 400 TFLOP/s", "naive", "wide", "cublas", "4000 GB/s", "10⁴", "10⁵"]
        {
            assert!(text.contains(part), "{part}: {text}");
        }
        assert!(!text.contains("tile") && !text.contains("slower"), "others have no room for a name: {text}");
    }
}
