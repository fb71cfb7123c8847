//! The three backends have the same functions, in the sources as they stand: one that is compiled on no machine of ours
//! (a PTX function behind a wrong `cfg`, say) would escape the compiler.

use std::path::Path;
use syn::parse::{ParseStream, Parser};
use syn::{ImplItem, Item, Token, TraitItem, braced, parenthesized};

/// The file of each backend that implements the trait, and the type there.
const BACKENDS: [(&str, &str); 3] =
    [("ptx/mod.rs", "Ptx"), ("rust_cuda/mod.rs", "RustCuda"), ("sim/simulator.rs", "Simulator")];

fn parse(path: &str) -> Vec<Item> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("src").join(path);
    let text = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    syn::parse_file(&text).unwrap_or_else(|e| panic!("{}: {e}", path.display())).items
}

/// A function without what may differ between its declarations: the names of its arguments, and `mut`.
fn signature(s: &syn::Signature) -> String {
    use quote::ToTokens;
    let mut s = s.clone();
    for input in &mut s.inputs {
        if let syn::FnArg::Typed(argument) = input {
            *argument.pat = syn::parse_quote!(_);
        }
    }
    s.to_token_stream().to_string()
}

/// The functions of the trait.
fn machine() -> Vec<String> {
    let items = parse("machine.rs");
    let machine = items.iter().find_map(|item| match item {
        Item::Trait(t) if t.ident == "Machine" => Some(t),
        _ => None,
    });
    let items = &machine.expect("machine.rs has the trait Machine").items;
    items
        .iter()
        .map(|item| match item {
            // A default would let a backend do without.
            TraitItem::Fn(f) if f.default.is_none() => signature(&f.sig),
            _ => panic!("Machine has only functions, and none with a body"),
        })
        .collect()
}

/// The functions of a backend; those behind a `cfg` are refused.
fn backend(file: &str, name: &str) -> Vec<String> {
    let items = parse(file);
    let mut impls = items.iter().filter_map(|item| match item {
        Item::Impl(i) if i.trait_.as_ref().is_some_and(|t| t.1.is_ident("Machine")) => Some(i),
        _ => None,
    });
    let found = impls.next().unwrap_or_else(|| panic!("{file} has no `impl Machine`"));
    assert!(impls.next().is_none(), "{file} has a second `impl Machine`");
    let implementor = &found.self_ty;
    assert_eq!(quote::quote!(#implementor).to_string(), name, "{file} implements Machine for another type");
    let function = |item: &ImplItem| match item {
        ImplItem::Fn(f) => {
            assert!(!f.attrs.iter().any(|a| a.path().is_ident("cfg")), "{file}: {} is behind a cfg", f.sig.ident);
            vec![signature(&f.sig)]
        }
        ImplItem::Macro(m) if m.mac.path.segments.last().is_some_and(|name| name.ident == "forwards") => forwarded(),
        _ => panic!("{file}: `impl Machine` has only functions"),
    };
    found.items.iter().flat_map(function).collect()
}

/// The functions that both backends for NVIDIA's GPUs have by one macro.
fn forwarded() -> Vec<String> {
    let items = parse("nvidia/forwards.rs");
    let macros = items.iter().find_map(|item| match item {
        Item::Macro(m) if m.ident.as_ref().is_some_and(|name| name == "forwards") => Some(m.mac.tokens.clone()),
        _ => None,
    });
    // `() => { … };`
    let rule = |input: ParseStream| {
        let (nothing, body);
        parenthesized!(nothing in input);
        input.parse::<Token![=>]>()?;
        braced!(body in input);
        input.parse::<Option<Token![;]>>()?;
        let mut items: Vec<ImplItem> = vec![];
        while !(nothing.is_empty() && body.is_empty()) {
            items.push(body.parse()?);
        }
        Ok(items)
    };
    let items = rule.parse2(macros.expect("forwards.rs has the macro")).expect("one rule, of functions");
    let function = |item: &ImplItem| match item {
        ImplItem::Fn(f) if !f.attrs.iter().any(|a| a.path().is_ident("cfg")) => signature(&f.sig),
        _ => panic!("forwards.rs has only functions, and none behind a cfg"),
    };
    items.iter().map(function).collect()
}

#[test]
fn every_backend_has_every_function_of_the_trait_and_no_other() {
    let machine = machine();
    assert!(machine.len() > 20, "that is not the trait: {machine:?}");
    for (file, name) in BACKENDS {
        let backend = backend(file, name);
        let missing: Vec<_> = machine.iter().filter(|f| !backend.contains(f)).collect();
        let extra: Vec<_> = backend.iter().filter(|f| !machine.contains(f)).collect();
        assert!(missing.is_empty() && extra.is_empty(), "{file} lacks {missing:#?}\nand has {extra:#?}");
    }
}

/// Each backend is chosen once, and any two choices exclude each other.
#[test]
fn the_crate_chooses_one_backend() {
    let chosen: Vec<_> = parse("lib.rs")
        .iter()
        .filter_map(|item| match item {
            Item::Use(u) if quote::quote!(#u).to_string().ends_with("as Backend ;") => {
                Some(u.attrs.iter().map(|a| quote::quote!(#a).to_string()).collect::<Vec<_>>())
            }
            _ => None,
        })
        .collect();
    let expected = [
        "# [cfg (all (target_os = \"cuda\" , not (feature = \"rust-cuda\")))]",
        "# [cfg (feature = \"rust-cuda\")]",
        "# [cfg (not (any (target_os = \"cuda\" , feature = \"rust-cuda\")))]",
    ];
    assert_eq!(chosen, expected.map(|cfg| vec![cfg.to_string()]));
}

/// Macros that `shared!` is made of exist once in each backend, with the same patterns.
#[test]
fn shared_memory_is_declared_by_the_same_macros() {
    let patterns = |folder: &str| -> Vec<(String, String)> {
        let macros = parse(&format!("{folder}/shared.rs")).into_iter().filter_map(|item| match item {
            Item::Macro(m) => m.ident.map(|name| (name.to_string(), m.mac.tokens.to_string())),
            _ => None,
        });
        macros.map(|(name, rules)| (name, rules.split("=>").next().unwrap_or_default().to_string())).collect()
    };
    let ptx = patterns("ptx");
    assert_eq!(ptx.iter().map(|(name, _)| name).collect::<Vec<_>>(), ["shared_declaration", "shared_array_address"]);
    assert_eq!(ptx, patterns("rust_cuda"));
    assert_eq!(ptx, patterns("sim"));
}
