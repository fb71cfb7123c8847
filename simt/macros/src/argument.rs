//! `#[argument]`: a struct that the host and the device lay out alike.

use proc_macro2::TokenStream as Tokens;
use quote::{ToTokens, quote};
use syn::{Attribute, ItemStruct};

pub(crate) fn expand(item: ItemStruct) -> syn::Result<Tokens> {
    if !item.generics.params.is_empty() {
        return Err(syn::Error::new_spanned(&item.generics, "an argument of a kernel has no parameters of its own"));
    }
    let repr = |a: &&Attribute| a.path().is_ident("repr");
    if let Some(other) = item.attrs.iter().filter(repr).find(|a| a.meta.to_token_stream().to_string() != "repr (C)") {
        return Err(syn::Error::new_spanned(other, "host and device agree on the layout of a #[repr(C)] struct only"));
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

        // SAFETY: the struct is #[repr(C)], and so laid out by the types of its fields, which were checked above: they
        // are numbers or such structs.
        #[cfg(not(target_os = "cuda"))]
        unsafe impl simt::Argument for #name {}
    })
}
