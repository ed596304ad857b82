// SPDX-License-Identifier: GPL-2.0
//! Pictures as SVG. All coordinates are integers, of tenths of a pixel, so that one run always has
//! one picture.

mod axis;
pub mod heatmap;
pub mod line;
pub mod scatter;

use std::fmt::Write;

use crate::terminal;
pub use axis::{elapsed, ticks};

/// Width of a picture, in tenths of a pixel.
const WIDTH: u64 = 8000;
/// Where the plot begins.
const LEFT: u64 = 760;
/// Where it ends.
const RIGHT: u64 = 7840;
/// Where it begins from above, below title and legend.
const TOP: u64 = 300;
/// Below it are the times.
const BELOW: u64 = 260;

/// A picture that is being drawn.
pub struct Svg {
    text: String,
    /// Height of the plot, in tenths of a pixel.
    height: u64,
}

/// How wide a letter is taken to be, so that no text runs into another.
const LETTER: u64 = 66;

impl Svg {
    /// A picture with a title, what it is of in a sentence, and a plot of this height in pixels.
    /// `id` is its own on the page.
    pub fn new(id: &str, title: &str, description: &str, height: u64) -> Self {
        let height = height * 10;
        let mut text = String::new();
        let (width, all) = (px(WIDTH), px(TOP + height + BELOW));
        let (id, title, description) = (escaped(id), escaped(title), escaped(description));
        let _ = write!(
            text,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {all}\" role=\"img\" \
             id=\"{id}\" aria-labelledby=\"{id}-t {id}-d\"><title id=\"{id}-t\">{title}</title>\
             <desc id=\"{id}-d\">{description}</desc>\
             <text class=\"title\" x=\"{}\" y=\"16\">{title}</text>",
            px(LEFT),
        );
        Svg { text, height }
    }

    /// Draws the legend, to the right of the title: a class and a name each.
    pub fn legend(&mut self, items: &[(&str, &str)]) {
        let mut x = RIGHT;
        for (class, name) in items.iter().rev() {
            x = x.saturating_sub(name.chars().count() as u64 * LETTER);
            let _ = write!(
                self.text,
                "<text x=\"{}\" y=\"16\">{}</text><path class=\"key {class}\" d=\"M{} 12h14\"/>",
                px(x),
                escaped(name),
                px(x - 200)
            );
            x = x.saturating_sub(360);
        }
    }

    /// Writes what is drawn where there is nothing to draw.
    pub fn say(&mut self, text: &str) {
        self.label((LEFT + RIGHT) / 2, TOP + self.height / 2, "mid", text);
    }

    fn label(&mut self, x: u64, y: u64, class: &str, text: &str) {
        let _ = write!(
            self.text,
            "<text class=\"{class}\" x=\"{}\" y=\"{}\">{}</text>",
            px(x),
            px(y),
            escaped(text)
        );
    }

    fn path(&mut self, class: &str, d: &str) {
        if !d.is_empty() {
            let _ = write!(self.text, "<path class=\"{class}\" d=\"{d}\"/>");
        }
    }

    /// Returns the picture. One that stands alone brings its colours.
    pub fn end(mut self, style: Option<&str>) -> String {
        if let Some(style) = style {
            let at = self.text.find('>').map_or(0, |at| at + 1);
            self.text.insert_str(at, &format!("<style>{style}</style>"));
        }
        self.text += "</svg>";
        self.text
    }
}

/// Where times lie in a picture.
#[derive(Clone, Copy, Debug)]
pub struct Span {
    /// How long the axis is, in ns.
    pub ns: u64,
}

impl Span {
    fn x(self, at: u64) -> u64 {
        LEFT + scale(at, self.ns, RIGHT - LEFT)
    }
}

/// Returns `part / whole` of a length, the whole at most.
fn scale(part: u64, whole: u64, length: u64) -> u64 {
    let wanted = u128::from(part.min(whole)) * u128::from(length);
    u64::try_from(wanted / u128::from(whole.max(1))).unwrap_or(length)
}

/// Writes tenths of a pixel.
fn px(tenths: u64) -> String {
    match tenths % 10 {
        0 => (tenths / 10).to_string(),
        rest => format!("{}.{rest}", tenths / 10),
    }
}

/// Returns a text that is nothing but a text in HTML and XML, whatever is in it.
pub fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in terminal::line(text).chars() {
        match c {
            '&' => safe += "&amp;",
            '<' => safe += "&lt;",
            '>' => safe += "&gt;",
            '"' => safe += "&quot;",
            '\'' => safe += "&#39;",
            // No character to XML.
            '\u{fffe}' | '\u{ffff}' => safe += "?",
            c => safe.push(c),
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_text_is_markup() {
        assert_eq!(
            escaped("</title><script>'\"&\n\u{202e}"),
            "&lt;/title&gt;&lt;script&gt;&#39;&quot;&amp;\\u000a\\u202e"
        );
    }

    #[test]
    fn what_is_beyond_the_scale_is_at_its_end() {
        assert_eq!(scale(u64::MAX, u64::MAX, 100), 100);
        assert_eq!(scale(5, 0, 100), 0);
        assert_eq!(scale(7, 5, 100), 100);
        assert_eq!((px(120), px(123)), ("12".to_owned(), "12.3".to_owned()));
    }
}
