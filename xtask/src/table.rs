//! Tables of text.

/// Rows under a head, columns aligned: the first `left` columns to the left, all others, which are numbers, to the
/// right.
pub fn render(head: &[&str], rows: &[Vec<String>], left: usize) -> String {
    let head = head.iter().map(|cell| cell.to_string()).collect();
    let lines: Vec<&Vec<String>> = [&head].into_iter().chain(rows).collect();
    let width = |column: usize| lines.iter().map(|line| line[column].len()).max().unwrap_or(0);
    let widths: Vec<_> = (0..head.len()).map(width).collect();
    let mut text = String::new();
    for line in lines {
        let cells = line.iter().zip(&widths).enumerate().map(|(column, (cell, &width))| {
            if column < left { format!("{cell:<width$}") } else { format!("{cell:>width$}") }
        });
        text += cells.collect::<Vec<_>>().join("  ").trim_end();
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        let rows = [vec!["a".into(), "7".into()], vec!["longer".into(), "1234".into()]];
        assert_eq!(super::render(&["name", "n"], &rows, 1), "name       n\na          7\nlonger  1234\n");
    }
}
