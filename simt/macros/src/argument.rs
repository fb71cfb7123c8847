//! `#[argument]`: a struct that the host and the device lay out alike.

use proc_macro2::TokenStream as Tokens;
use quote::{ToTokens, quote};
use syn::{Attribute, GenericParam, ItemStruct};

pub(crate) fn expand(item: ItemStruct) -> syn::Result<Tokens> {
    let is_type = |p: &GenericParam| matches!(p, GenericParam::Type(_));
    if let Some(other) = item.generics.params.iter().find(|p| !is_type(p)) {
        return Err(syn::Error::new_spanned(other, "an argument of a kernel has types as its only parameters"));
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
    let mut generics = item.generics.clone();
    for parameter in generics.type_params_mut() {
        parameter.bounds.push(syn::parse_quote!(simt::Argument));
    }
    let (bounded, names, where_clause) = generics.split_for_impl();
    let check = quote! {{
        const fn goes_by_its_bytes<T: simt::Argument>() {
            assert!(T::BY_ITS_BYTES, "a view is a parameter of its own: it cannot be in a struct");
        }
        #( goes_by_its_bytes::<#fields>(); )*
    }};
    // Of a generic struct the fields are known where it is used.
    let check_here =
        item.generics.params.is_empty().then(|| quote!(#[cfg(not(target_os = "cuda"))] const _: () = #check;));
    Ok(quote! {
        #layout
        #item

        #check_here

        // SAFETY: the struct is #[repr(C)], so the types of its fields decide its layout; the check shows that they are
        // numbers or such structs.
        #[cfg(not(target_os = "cuda"))]
        unsafe impl #bounded simt::Argument for #name #names #where_clause {
            fn append(&self, parameters: &mut simt::Parameters) {
                const { #check }
                // An entry has no parameter for a type without content.
                if size_of::<Self>() != 0 {
                    parameters.push(self);
                }
            }
        }
    })
}
