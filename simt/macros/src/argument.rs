//! `#[argument]`: a struct that the host and the device lay out alike.

use proc_macro2::TokenStream as Tokens;
use quote::{ToTokens, quote};
use syn::{Attribute, ItemStruct};

pub(crate) fn expand(item: ItemStruct) -> syn::Result<Tokens> {
    if !item.generics.params.is_empty() {
        return Err(syn::Error::new_spanned(&item.generics, "an argument of a kernel has no parameters of its own"));
    }
    let repr = |a: &&Attribute| a.path().is_ident("repr");
    // The tokens print with a space between them or without, depending on the compiler.
    let is_c = |a: &&Attribute| a.meta.to_token_stream().to_string().replace(' ', "") == "repr(C)";
    if let Some(other) = item.attrs.iter().filter(repr).find(|a| !is_c(a)) {
        let rule = "#[argument] lays the struct out as #[repr(C)]: remove this, or write #[repr(C)]";
        return Err(syn::Error::new_spanned(other, rule));
    }
    let layout = item.attrs.iter().find(repr).is_none().then(|| quote!(#[repr(C)]));
    let (name, fields) = (&item.ident, item.fields.iter().map(|f| &f.ty));
    Ok(quote! {
        #layout
        #item

        #[cfg(not(target_os = "cuda"))]
        const _: () = {
            const fn goes_by_its_bytes<T: simt::Argument>() {
                assert!(T::BY_ITS_BYTES, "a view is a parameter of its own: it cannot be in a struct");
            }
            #( goes_by_its_bytes::<#fields>(); )*
        };

        // SAFETY: the struct is #[repr(C)], so the types of its fields decide its layout; the check above has shown
        // that they are numbers or such structs.
        #[cfg(not(target_os = "cuda"))]
        unsafe impl simt::Argument for #name {}
    })
}
