//! The glossary: each of its words has an anchor, and every page but the one that explains a word links it there at the
//! first use.

use super::pages;

/// The glossary's page.
pub const GLOSSARY: &str = "a5-glossary.md";

/// Words that also have an everyday meaning: a link at that one would mislead.
const EVERYDAY: &[&str] =
    &["bin", "digit", "event", "key", "mark", "pass", "phase", "prefix", "run", "scope", "stage", "step"];

/// A word with its anchor and the page that explains it.
struct Word {
    word: String,
    anchor: String,
    page: String,
}

/// The words of the glossary.
pub struct Glossary(Vec<Word>);

/// The words in the first cell of a row, the anchor, and the rest.
fn row(line: &str) -> Option<(Vec<&str>, String, &str)> {
    let (words, rest) = line.strip_prefix("| ")?.split_once(" |")?;
    let is_row = rest.contains("](");
    let words: Vec<&str> = words.split(", ").collect();
    let anchor = words[0].to_lowercase().split_whitespace().collect::<Vec<_>>().join("-");
    is_row.then_some((words, anchor, rest))
}

impl Glossary {
    /// Reads the glossary's page.
    pub fn new(text: &str) -> Self {
        let mut all = vec![];
        for (words, anchor, rest) in text.lines().filter_map(row) {
            let page = rest.split_once("](").map_or("", |(_, link)| link);
            let page = page.split(['#', ')']).next().unwrap_or_default();
            for word in words.into_iter().filter(|word| !EVERYDAY.contains(word)) {
                all.push(Word { word: word.into(), anchor: anchor.clone(), page: page.into() });
            }
        }
        // "bank conflict" before "bank".
        all.sort_by_key(|word| std::cmp::Reverse(word.word.len()));
        Self(all)
    }

    /// The glossary's page with an anchor in each row.
    pub fn anchored(text: &str) -> String {
        let line = |line: &str| match row(line) {
            Some((_, anchor, _)) => format!("| <a id=\"{anchor}\"></a>{}\n", &line[2..]),
            None => format!("{line}\n"),
        };
        text.lines().map(line).collect()
    }

    /// A page's text with a link at the first use of each word whose explaining page is asked for.
    pub fn linked(&self, text: &str, is_linked: impl Fn(&str) -> bool) -> String {
        let mut text = text.to_string();
        for Word { word, anchor, page } in &self.0 {
            if !is_linked(page) {
                continue;
            }
            let prose = prose(&text);
            let found = text.match_indices(word.as_str()).find(|&(at, _)| {
                let is_edge = |c: Option<char>| c.is_none_or(|c| !c.is_alphanumeric() && !matches!(c, '_' | '-'));
                let after = &text[at + word.len()..];
                let ends = is_edge(after.chars().next()) || after.starts_with('s') && is_edge(after.chars().nth(1));
                ends && is_edge(text[..at].chars().next_back()) && prose[at] != Place::Other
            });
            // A page that explains the word itself says so by emphasis.
            if let Some((at, _)) = found.filter(|&(at, _)| prose[at] == Place::Prose) {
                let plural = usize::from(text[at + word.len()..].starts_with('s'));
                let end = at + word.len() + plural;
                text = format!("{}[{}]({GLOSSARY}#{anchor}){}", &text[..at], &text[at..end], &text[end..]);
            }
        }
        text
    }
}

/// What a byte of a page belongs to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Prose,
    Emphasis,
    /// Code, links, headings, tables, directives, HTML.
    Other,
}

fn prose(text: &str) -> Vec<Place> {
    let mut places = Vec::with_capacity(text.len() + 1);
    let (mut code, mut emphasis, mut link) = (false, false, 0);
    for (_, line, fenced) in pages::lines(text) {
        let whole = fenced || line.starts_with(['#', '|', '<', '{', '>', '!']) || line.starts_with("    ");
        // No span goes over an empty line.
        if line.is_empty() {
            (code, emphasis, link) = (false, false, 0);
        }
        for (at, c) in line.char_indices() {
            match c {
                _ if whole => {}
                '`' => code = !code,
                '[' if !code => link = 1,
                '(' if !code && link > 0 => link = 2,
                // The text of a link ends before its target; brackets without a target are none.
                ']' if link == 1 && !line[at + 1..].starts_with('(') => link = 0,
                ')' if link == 2 => link = 0,
                '*' if !code => emphasis = !emphasis,
                _ => {}
            }
            let place = match () {
                () if whole || code || link > 0 => Place::Other,
                () if emphasis => Place::Emphasis,
                () => Place::Prose,
            };
            places.extend(std::iter::repeat_n(place, c.len_utf8()));
        }
        places.push(Place::Other);
    }
    places
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "# Glossary\n\n| word | what | chapter |\n| --- | --- | --- |\n\
                        | bank | a column | [5](5.md) |\n| bank conflict | a turn | [5](5.md#x) |\n\
                        | TMA, box copy | a unit | [9](9.md) |\n| run | keys | [9](9.md) |\n";

    #[test]
    fn words_of_other_pages_are_linked_once() {
        let glossary = Glossary::new(TEXT);
        let linked = |text: &str| glossary.linked(text, |page| page != "1.md");
        assert_eq!(
            linked("# A bank\n\nA `bank`, bank conflicts, banks and a bank.\n"),
            "# A bank\n\nA `bank`, [bank conflicts](a5-glossary.md#bank-conflict), [banks](a5-glossary.md#bank) and a \
             bank.\n"
        );
        assert_eq!(linked("The TMA runs."), "The [TMA](a5-glossary.md#tma) runs.");
        for same in [
            "*TMA* is a unit. TMA copies.\n",
            "[a TMA\ncopy](x.md)\n",
            "```text\nTMA\n```\n",
            "| TMA |\n",
            "{{#run TMA}}\n",
            "A run, TMAx, embankment, bank-private.\n",
        ] {
            assert_eq!(linked(same), same);
        }
        assert_eq!(glossary.linked("TMA", |_| false), "TMA");
    }

    #[test]
    fn rows_have_anchors() {
        let text = Glossary::anchored(TEXT);
        assert!(text.contains("| <a id=\"tma\"></a>TMA, box copy | a unit |"), "{text}");
        assert!(text.contains("| <a id=\"bank-conflict\"></a>bank conflict |"), "{text}");
        assert!(text.starts_with("# Glossary\n\n| word | what | chapter |\n| --- |"), "{text}");
    }
}
