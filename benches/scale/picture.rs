//! The figures as a picture: a line for each, over the numbers of objects.

use std::fmt::Write;

/// Of the whole picture, in pixels.
const WIDTH: f64 = 1000.0;
const HEIGHT: f64 = 470.0;
/// What a line of text takes.
const LINE: f64 = 14.0;
/// Colors that are told apart by eyes of all kinds, on light and on dark ground.
const COLORS: [&str; 8] =
    ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#7f7f7f", "#b09000"];
const STYLE: &str = "text { font: 11px sans-serif; fill: #333 } .title { font-weight: bold }
.grid { stroke: #ccc; stroke-width: 1 } .line { fill: none; stroke-width: 2 }
@media (prefers-color-scheme: dark) { text { fill: #ddd } .grid { stroke: #555 } }";

/// One diagram of the picture.
pub(crate) struct Panel {
    pub(crate) title: &'static str,
    /// Left, top, width of the diagram without its names, and height.
    pub(crate) place: [f64; 4],
    /// By name, a figure for each size.
    pub(crate) lines: Vec<(String, Vec<f64>)>,
}

/// An SVG of all panels, over these sizes.
pub(crate) fn svg(title: &str, sizes: &[u64], panels: &[Panel]) -> String {
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\">\n\
         <title>{title}</title>\n<style>{STYLE}</style>\n"
    );
    panels.iter().for_each(|panel| panel.draw(&mut svg, sizes));
    svg.push_str("</svg>\n");
    svg
}

impl Panel {
    fn draw(&self, svg: &mut String, sizes: &[u64]) {
        let [left, top, width, height] = self.place;
        let scale = Scale::of(self.lines.iter().flat_map(|(_, figures)| figures.iter().copied()));
        let x = |n: usize| left + width * n as f64 / (sizes.len().max(2) - 1) as f64;
        let y = |figure: f64| top + height * (1.0 - scale.share(figure));
        text(svg, (left, top - 12.0), "title", self.title);
        for mark in scale.marks() {
            let at = y(mark);
            let right = left + width;
            put(svg, format_args!("<path class=\"grid\" d=\"M{left:.0} {at:.1}H{right:.0}\"/>\n"));
            let digits = mark.to_string();
            text(svg, (left - 7.0 - 6.5 * digits.len() as f64, at + 4.0), "mark", &digits);
        }
        for (n, size) in sizes.iter().enumerate() {
            let millions = format!("{:.2}", *size as f64 / 1e6);
            let millions = millions.trim_end_matches('0').trim_end_matches('.');
            text(svg, (x(n) - 10.0, top + height + 16.0), "mark", &format!("{millions} M"));
        }
        let ends = self.lines.iter().map(|(_, figures)| figures.last().map_or(top, |last| y(*last)));
        let names = apart(&ends.collect::<Vec<_>>());
        for (n, (name, figures)) in self.lines.iter().enumerate() {
            let color = COLORS[n % COLORS.len()];
            let points = figures.iter().enumerate();
            let points: Vec<_> = points.map(|(n, figure)| format!("{:.1},{:.1}", x(n), y(*figure))).collect();
            let points = points.join(" ");
            put(svg, format_args!("<polyline class=\"line\" stroke=\"{color}\" points=\"{points}\"/>\n"));
            let (at, beside) = (names[n], left + width + 8.0);
            put(svg, format_args!("<circle cx=\"{beside:.0}\" cy=\"{at:.1}\" r=\"3\" fill=\"{color}\"/>\n"));
            text(svg, (beside + 7.0, at + 4.0), "name", name);
        }
    }
}

/// A logarithmic scale between whole marks.
struct Scale {
    least: f64,
    most: f64,
}

impl Scale {
    /// One on which all of these are.
    fn of(figures: impl Iterator<Item = f64>) -> Self {
        let figures: Vec<f64> = figures.filter(|figure| *figure > 0.0).collect();
        let least = figures.iter().copied().fold(f64::INFINITY, f64::min);
        let most = figures.iter().copied().fold(0.0, f64::max);
        let below = MARKS.iter().rfind(|mark| **mark <= least).copied().unwrap_or(MARKS[0]);
        let above = MARKS.iter().find(|mark| **mark >= most && **mark > below).copied();
        Scale { least: below, most: above.unwrap_or(f64::MAX) }
    }

    /// Where a figure is, from 0 to 1.
    fn share(&self, figure: f64) -> f64 {
        (figure.max(self.least) / self.least).ln() / (self.most / self.least).ln()
    }

    fn marks(&self) -> impl Iterator<Item = f64> {
        MARKS.into_iter().filter(|mark| (self.least..=self.most).contains(mark))
    }
}

/// What may stand beside a scale.
const MARKS: [f64; 20] = [
    0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0, 1000.0, 2000.0, 5000.0,
    10_000.0, 20_000.0, 50_000.0, 100_000.0,
];

/// Where names can be written that belong to these heights, so that none covers another.
fn apart(heights: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..heights.len()).collect();
    order.sort_by(|one, other| heights[*one].total_cmp(&heights[*other]));
    let (mut places, mut free) = (heights.to_vec(), f64::NEG_INFINITY);
    for n in order {
        places[n] = heights[n].max(free);
        free = places[n] + LINE;
    }
    places
}

fn text(svg: &mut String, (x, y): (f64, f64), class: &str, text: &str) {
    put(svg, format_args!("<text class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\">{text}</text>\n"));
}

fn put(svg: &mut String, arguments: std::fmt::Arguments<'_>) {
    svg.write_fmt(arguments).expect("a text takes what is written");
}
