// SPDX-License-Identifier: GPL-2.0
//! Tables of a page.

use super::svg::escaped;

/// A table: heads, and rows of as many cells. The first cell of a row is its head.
#[derive(Clone, Debug, Default)]
pub struct Table {
    /// The heads.
    pub heads: Vec<String>,
    /// The rows.
    pub rows: Vec<Vec<String>>,
}

impl Table {
    /// A table without rows.
    pub fn new(heads: &[&str]) -> Self {
        Table {
            heads: heads.iter().map(|head| (*head).to_owned()).collect(),
            rows: Vec::new(),
        }
    }

    /// Returns it in HTML.
    pub fn html(&self) -> String {
        let mut html = "<div class=\"wide\"><table><thead><tr>".to_owned();
        for head in &self.heads {
            html += &format!("<th scope=\"col\">{}</th>", escaped(head));
        }
        html += "</tr></thead><tbody>";
        for row in &self.rows {
            html += "<tr>";
            for (column, cell) in row.iter().enumerate() {
                html += &match column {
                    0 => format!("<th scope=\"row\">{}</th>", escaped(cell)),
                    _ => format!("<td>{}</td>", escaped(cell)),
                };
            }
            html += "</tr>\n";
        }
        html + "</tbody></table></div>"
    }
}
