//! Listings: items cut out of the files that compile.
//!
//! By the item's name, not by `ANCHOR` comments: the kernel files stay free of marks for the book, and a name that is
//! gone is an error, where mdBook would print an empty listing and say nothing.

use anyhow::{Context, Result, ensure};
use std::ops::RangeInclusive;
use syn::spanned::Spanned;
use syn::{File, ImplItem, Item};

/// The lines of these items, with their comments and attributes, in the order in which they are named.
///
/// An item has the name that it declares; a macro's call (`shared! { … }`) has the names that stand in it.
pub fn listing(text: &str, items: &[String]) -> Result<String> {
    let file: File = syn::parse_file(text).context("not a Rust file")?;
    let lines: Vec<&str> = text.lines().collect();
    let mut parts = vec![];
    for name in items {
        let found = find(&file.items, name).with_context(|| format!("no item is called {name}"))?;
        let part = &lines[found.start() - 1..*found.end()];
        let depth = part.first().map_or(0, |line| line.len() - line.trim_start().len());
        let part: Vec<&str> = part.iter().map(|line| line.get(depth..).unwrap_or("")).collect();
        ensure!(!parts.contains(&part), "{name} is in the listing twice");
        parts.push(part);
    }
    Ok(parts.iter().map(|part| part.join("\n") + "\n").collect::<Vec<_>>().join("\n"))
}

/// The first and last line of an item, from 1.
fn find(items: &[Item], name: &str) -> Option<RangeInclusive<usize>> {
    items.iter().find_map(|item| {
        let declared = match item {
            Item::Const(item) => &item.ident,
            Item::Enum(item) => &item.ident,
            Item::Fn(item) => &item.sig.ident,
            Item::Static(item) => &item.ident,
            Item::Struct(item) => &item.ident,
            Item::Trait(item) => &item.ident,
            Item::Type(item) => &item.ident,
            Item::Macro(item) => return names(item.mac.tokens.clone(), name).then(|| lines(item.span())),
            Item::Mod(item) => return item.content.as_ref().and_then(|(_, items)| find(items, name)),
            Item::Impl(item) => {
                return item.items.iter().find_map(|item| match item {
                    ImplItem::Fn(method) if method.sig.ident == name => Some(lines(item.span())),
                    _ => None,
                });
            }
            _ => return None,
        };
        (declared == name).then(|| lines(item.span()))
    })
}

/// Whether a name stands in a macro's call, outside of its brackets.
fn names(tokens: proc_macro2::TokenStream, name: &str) -> bool {
    tokens.into_iter().any(|token| matches!(token, proc_macro2::TokenTree::Ident(ident) if ident == name))
}

fn lines(span: proc_macro2::Span) -> RangeInclusive<usize> {
    span.start().line..=span.end().line
}

/// One part of a rung's head, without its name, in one line per paragraph.
pub fn head_part(text: &str, part: &str) -> Result<String> {
    let head: Vec<&str> = text.lines().map_while(|line| line.strip_prefix("//!")).map(str::trim).collect();
    let begin = format!("**{part}.** ");
    let start = head.iter().position(|line| line.starts_with(&begin));
    let start = start.with_context(|| format!("the head has no part {part}"))?;
    // A table below the last part belongs to no part.
    let next = |line: &&&str| line.starts_with('|') || line.starts_with("**") && line.contains(".**");
    let length = head[start + 1..].iter().take_while(|line| !next(line)).count();
    let part = head[start..=start + length].join("\n");
    Ok(part[begin.len()..].trim().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "//! # T, idea\n//!\n//! **Idea.** A\n//! b.\n//!\n//! **Cost.** 1 of\n//! c.\n\nuse a::b;\n\n\
                        /// Keys.\npub const KEYS: u32 = 4;\n\nshared! {\n    /// A tile.\n    TILE: [u32; 4]\n}\n\n\
                        /// Does it.\n#[kernel]\npub fn f() {\n    g();\n}\n\n\
                        mod inside {\n    fn g() {\n        h();\n    }\n}\n";

    #[test]
    fn items_are_cut_out_with_their_comments() {
        let of = |items: &[&str]| listing(TEXT, &items.iter().map(|i| i.to_string()).collect::<Vec<_>>());
        assert_eq!(of(&["KEYS"]).unwrap(), "/// Keys.\npub const KEYS: u32 = 4;\n");
        assert_eq!(
            of(&["f", "TILE"]).unwrap(),
            "/// Does it.\n#[kernel]\npub fn f() {\n    g();\n}\n\nshared! {\n    /// A tile.\n    TILE: [u32; 4]\n}\n"
        );
        assert_eq!(of(&["g"]).unwrap(), "fn g() {\n    h();\n}\n");
        assert!(of(&["gone"]).is_err() && of(&["f", "f"]).is_err());
    }

    #[test]
    fn parts_of_the_head_are_found() {
        assert_eq!(head_part(TEXT, "Idea").unwrap(), "A\nb.");
        assert_eq!(head_part(TEXT, "Cost").unwrap(), "1 of\nc.");
        assert!(head_part(TEXT, "Limits").is_err());
    }
}
