//! `#[kernel]`: one function, an entry of the PTX and a type on the host. `#[argument]`: a struct that a kernel takes.
//! `#[device]`: a function that kernels call.

mod argument;

use proc_macro::TokenStream;
use proc_macro2::{Ident, TokenStream as Tokens, TokenTree};
use quote::{ToTokens, format_ident, quote};
use syn::parse::{Parse, ParseStream};
use syn::punctuated::Punctuated;
use syn::{Expr, FnArg, GenericParam, ItemFn, Pat, Token, Type, bracketed, parenthesized, parse_macro_input, token};

/// Makes a function a kernel.
///
/// On the device it becomes a PTX entry. Every `Global` parameter is flattened into a pointer and a length there,
/// because a pointer inside a struct loses its address space on the way through LLVM. On the host it becomes a type
/// that implements `simt::Kernel`, so that the compiler checks the number and the types of a launch's arguments.
///
/// Parameters of the type `TensorMap` come before all others; the kernel gets their addresses.
///
/// - `#[kernel(max_threads = BLOCK, min_blocks = 2)]`: launch bounds, constant expressions; they become the entry's
///   `.maxntid` and `.minnctapersm`. They may depend on the types of an instance: `min_blocks = blocks::<T>()`.
/// - `#[kernel(max_threads = BLOCK, min_blocks = 3, max_spills = 32)]`: for those bounds the kernel's author accepts
///   that ptxas keeps up to 32 bytes per thread in local memory for want of registers. `cargo xtask check-ptx` refuses
///   more, and any at all in a kernel that does not say so.
/// - `#[kernel(sm_90, cluster = 2)]`: blocks run in clusters of two along x, which see each other's shared memory
///   (`simt::cluster`); `.reqnctapercluster`. The grid has whole clusters. Clusters need `sm_90` or `sm_90a`.
/// - `#[kernel(instances(sum_u32: <u32, Sum>, sum_f32: <f32, Sum>))]` on a generic function: one entry for each named
///   instance. On the host the function's name is then a generic type, `name::<u32, Sum>::default()`.
/// - `#[kernel(instances([u32, f32] * [Sum, Min]))]`: the same for all combinations of the types, a list for each
///   parameter of the function; the entries are called `function_sum_u32`, `function_min_u32`, … .
/// - `#[kernel(instance(by_age: <f32, Age>))]`: one entry, called `by_age_function`. It is for macros that declare
///   several functions, which cannot put names together.
/// - `#[kernel(sm_90)]`: the kernel needs compute capability 9.0 and exists only in PTX built for that.
/// - `#[kernel(sm_90a)]`: it needs what 9.0 alone has, and exists only in PTX for `sm_90a`.
#[proc_macro_attribute]
pub fn kernel(attribute: TokenStream, item: TokenStream) -> TokenStream {
    let options = parse_macro_input!(attribute as Options);
    let function = parse_macro_input!(item as ItemFn);
    expand(options, function).unwrap_or_else(|e| e.to_compile_error()).into()
}

/// Lets kernels take a struct of numbers as a parameter.
///
/// The struct is `Copy` and becomes `#[repr(C)]`, so that host and device lay it out alike. Its fields are numbers or
/// structs of the same kind; a `Global` is a parameter by itself.
#[proc_macro_attribute]
pub fn argument(attribute: TokenStream, item: TokenStream) -> TokenStream {
    parse_macro_input!(attribute as syn::parse::Nothing);
    argument::expand(parse_macro_input!(item)).unwrap_or_else(|e| e.to_compile_error()).into()
}

/// Makes a function part of each kernel that calls it.
///
/// On a GPU it is always inlined: a call would move arrays from registers to memory, and hide from the compiler which
/// threads meet. On the host, where kernels run on the simulator, the compiler decides: to inline all of them takes
/// twice as long to compile, and kernels run no faster.
#[proc_macro_attribute]
pub fn device(attribute: TokenStream, item: TokenStream) -> TokenStream {
    parse_macro_input!(attribute as syn::parse::Nothing);
    let function = Tokens::from(item);
    quote! {
        #[cfg_attr(target_os = "cuda", inline(always))]
        #[cfg_attr(not(target_os = "cuda"), inline)]
        #function
    }
    .into()
}

/// The options in the attribute's parentheses.
#[derive(Default)]
struct Options {
    max_threads: Option<Expr>,
    min_blocks: Option<Expr>,
    max_spills: Option<Expr>,
    cluster: Option<Expr>,
    sm_90: bool,
    sm_90a: bool,
    instances: Vec<Instance>,
    /// An instance whose name is the first part of the entry's.
    instance: Option<Instance>,
    /// For each type parameter the types that it takes, if all combinations are instances.
    each: Vec<Vec<Type>>,
}

/// `name: <types>`: one entry of a generic kernel.
struct Instance {
    name: Ident,
    types: Vec<Type>,
}

/// `[A, B]`: the types that a parameter takes.
struct Choices(Vec<Type>);

impl Parse for Choices {
    fn parse(input: ParseStream) -> syn::Result<Self> {
        let types;
        bracketed!(types in input);
        Ok(Self(Punctuated::<Type, Token![,]>::parse_terminated(&types)?.into_iter().collect()))
    }
}

impl Parse for Instance {
    fn parse(input: ParseStream) -> syn::Result<Self> {
        let name = input.parse()?;
        input.parse::<Token![:]>()?;
        input.parse::<Token![<]>()?;
        let mut types = vec![];
        while !input.peek(Token![>]) {
            types.push(input.parse()?);
            if !input.peek(Token![>]) {
                input.parse::<Token![,]>()?;
            }
        }
        input.parse::<Token![>]>()?;
        Ok(Self { name, types })
    }
}

impl Parse for Options {
    fn parse(input: ParseStream) -> syn::Result<Self> {
        let mut options = Self::default();
        while !input.is_empty() {
            let name: Ident = input.parse()?;
            if name == "sm_90" {
                options.sm_90 = true;
            } else if name == "instance" {
                let only;
                parenthesized!(only in input);
                options.instance = Some(only.parse()?);
            } else if name == "sm_90a" {
                options.sm_90a = true;
            } else if name == "instances" {
                let list;
                parenthesized!(list in input);
                if list.peek(token::Bracket) {
                    options.each = Punctuated::<Choices, Token![*]>::parse_separated_nonempty(&list)?
                        .into_iter()
                        .map(|choices| choices.0)
                        .collect();
                } else {
                    options.instances =
                        Punctuated::<Instance, Token![,]>::parse_terminated(&list)?.into_iter().collect();
                }
            } else {
                let known = "a kernel's options are max_threads, min_blocks, max_spills, cluster, instances, \
                             instance, sm_90 and sm_90a";
                let bound = match name.to_string().as_str() {
                    "max_threads" => &mut options.max_threads,
                    "min_blocks" => &mut options.min_blocks,
                    "max_spills" => &mut options.max_spills,
                    "cluster" => &mut options.cluster,
                    _ => return Err(syn::Error::new_spanned(name, known)),
                };
                input.parse::<Token![=]>()?;
                *bound = Some(input.parse()?);
            }
            if !input.is_empty() {
                input.parse::<Token![,]>()?;
            }
        }
        Ok(options)
    }
}

fn expand(mut options: Options, f: ItemFn) -> syn::Result<Tokens> {
    options.instances.append(&mut combinations(&options.each, &f.sig.ident));
    options.instances.extend(options.instance.take().map(|Instance { name, types }| {
        let name = format_ident!("{name}_{}", f.sig.ident);
        Instance { name, types }
    }));
    if let Some(output) = (!matches!(f.sig.output, syn::ReturnType::Default)).then_some(&f.sig.output) {
        return Err(syn::Error::new_spanned(output, "a kernel returns nothing; it writes to a view"));
    }
    let mut params = vec![];
    for arg in &f.sig.inputs {
        let FnArg::Typed(arg) = arg else { return Err(syn::Error::new_spanned(arg, "a kernel is a free function")) };
        let Pat::Ident(name) = &*arg.pat else { return Err(syn::Error::new_spanned(arg, "name the parameter")) };
        params.push((name.ident.clone(), (*arg.ty).clone()));
    }
    let mut generics = vec![];
    for param in &f.sig.generics.params {
        let GenericParam::Type(t) = param else {
            return Err(syn::Error::new_spanned(param, "a kernel is generic over types only"));
        };
        generics.push(t.ident.clone());
    }
    if generics.is_empty() != options.instances.is_empty() {
        let rule = "a generic kernel names its instances, and only a generic kernel does";
        return Err(syn::Error::new_spanned(&f.sig, rule));
    }
    for instance in &options.instances {
        if instance.types.len() != generics.len() {
            return Err(syn::Error::new_spanned(&instance.name, "as many types as the kernel has parameters"));
        }
    }
    if let Some(cluster) = options.cluster.as_ref().filter(|_| !options.sm_90 && !options.sm_90a) {
        return Err(syn::Error::new_spanned(cluster, "a kernel with clusters is sm_90 or sm_90a"));
    }
    // The names of their parameters in PTX count what stands before them, and a view is two.
    let maps = params.iter().take_while(|(_, ty)| is_tensor_map(ty)).count();
    if let Some((_, ty)) = params[maps..].iter().find(|(_, ty)| is_tensor_map(ty)) {
        return Err(syn::Error::new_spanned(ty, "a kernel's tensor maps are its first parameters"));
    }
    let body = body(&options, &f, &params);
    let (device, host) = (on_device(&options, &f, &params, &generics), on_host(&options, &f, &params, &generics));
    Ok(quote!(#body #device #host))
}

/// An instance for each combination of types. Its name is that of the function and of the types, from the last
/// parameter's to the first's.
fn combinations(each: &[Vec<Type>], function: &Ident) -> Vec<Instance> {
    let mut all = vec![vec![]];
    for choices in each {
        let longer = |types: &Vec<Type>, ty: &Type| [types.as_slice(), std::slice::from_ref(ty)].concat();
        all = all.iter().flat_map(|types| choices.iter().map(move |ty| longer(types, ty))).collect();
    }
    let name = |types: &[Type]| {
        types.iter().rev().fold(function.to_string(), |name, ty| {
            format!("{name}_{}", ty.to_token_stream().to_string().to_lowercase())
        })
    };
    let instance = |types: Vec<Type>| Instance { name: Ident::new(&name(&types), function.span()), types };
    if each.is_empty() { vec![] } else { all.into_iter().map(instance).collect() }
}

/// The kernel's body, as an ordinary function that both sides call.
fn body(options: &Options, f: &ItemFn, params: &[(Ident, Type)]) -> Tokens {
    let (name, body) = (body_name(f), &f.block);
    let (names, types): (Vec<_>, Vec<_>) = params.iter().cloned().unzip();
    let (generics, _, where_clause) = f.sig.generics.split_for_impl();
    let guard = options.guard();
    quote! {
        #[cfg(any(#guard, not(target_os = "cuda")))]
        #[inline(always)]
        #[allow(clippy::too_many_arguments)]
        fn #name #generics (#(#names: #types),*) #where_clause #body
    }
}

/// The PTX side: for each instance an entry, which rebuilds the views and calls the body.
fn on_device(options: &Options, f: &ItemFn, params: &[(Ident, Type)], generics: &[Ident]) -> Tokens {
    let (vis, attrs, body, guard) = (&f.vis, &f.attrs, body_name(f), options.guard());
    let entries = options.entries(f).into_iter().map(|(entry, concrete)| {
        let (mut flat, mut rebuilt) = (vec![], vec![]);
        for (i, (id, ty)) in params.iter().enumerate() {
            let ty = substitute(ty, generics, &concrete);
            if is_tensor_map(&ty) {
                flat.push(quote!(#id: simt::tensor_map::Words));
                rebuilt.push(map_of_parameter(&ty, id, &entry, i));
            } else if let Some(element) = element_of_global(&ty) {
                let (ptr, len) = (format_ident!("{id}_ptr"), format_ident!("{id}_len"));
                flat.push(quote!(#ptr: *mut #element, #len: u32));
                // SAFETY of the expansion: the host passes the address and the length of one allocation.
                rebuilt.push(quote!(unsafe { simt::Global::from_raw(#ptr, #len) }));
            } else if cfg!(feature = "rust-cuda") {
                let way = quote!(simt::expansion::Way<{ core::mem::size_of::<#ty>() == 0 }>);
                flat.push(quote!(#id: <#way as simt::expansion::Passing<#ty>>::Passed));
                rebuilt.push(quote!(<#way as simt::expansion::Passing<#ty>>::value(#id)));
            } else {
                flat.push(quote!(#id: #ty));
                rebuilt.push(quote!(#id));
            }
        }
        let of = turbofish(&concrete);
        let bounds = options.bounds().map(|tokens| substitute_tokens(tokens, generics, &concrete));
        if cfg!(feature = "rust-cuda") {
            let call = quote!(#body #of (#(#rebuilt),*));
            return rust_cuda_entry(options, f, &entry, &flat, &bounds, &call);
        }
        let (symbol, declared) = if is_primary_package() {
            let text = bounds_text(&entry);
            let declared = quote!(simt::expansion::global_asm!(#text, #(const #bounds),*););
            (quote!(#[unsafe(no_mangle)]), declared)
        } else {
            // No code reads the bounds; this keeps their parts from being reported as unused.
            (quote!(), quote!(const _: [u32; 4] = [#(#bounds),*];))
        };
        quote! {
            #[cfg(#guard)]
            #declared

            #(#attrs)*
            #[cfg(#guard)]
            #symbol
            #[allow(improper_ctypes_definitions, clippy::missing_safety_doc, clippy::too_many_arguments)]
            #vis unsafe extern "ptx-kernel" fn #entry(#(#flat),*) {
                #body #of (#(#rebuilt),*)
            }
        }
    });
    quote!(#(#entries)*)
}

/// The map in parameter `i` of an entry.
///
/// The copy engine takes the parameter's own address. The compiler would copy a parameter whose address is used to
/// memory of the thread, so the address is asked for by the parameter's name in PTX.
fn map_of_parameter(ty: &Type, id: &Ident, entry: &Ident, i: usize) -> Tokens {
    let text = format!("mov.b64 {{0}}, {entry}_param_{i};");
    quote! {{
        #[cfg(target_os = "cuda")]
        {
            let _ = #id;
            let address: u64;
            // SAFETY of the expansion: the parameter's bytes are those of a map, for as long as the kernel runs.
            unsafe {
                simt::expansion::asm!(
                    #text, "cvta.param.u64 {0}, {0};", out(reg64) address, options(pure, nomem, nostack)
                );
                <#ty>::of_parameter(address)
            }
        }
        // The feature `rust-cuda` is type-checked here.
        #[cfg(not(target_os = "cuda"))]
        {
            <#ty>::new(#id)
        }
    }}
}

/// Whether cargo compiles the requested package, not a dependency. PTX has the kernels of the requested package alone:
/// a crate that uses a function of `rungs-kernels` in a kernel does not get all of that crate's kernels.
fn is_primary_package() -> bool {
    std::env::var_os("CARGO_PRIMARY_PACKAGE").is_some()
}

/// The comment that passes [`Options::bounds`] through the compiler; `{}` for each.
fn bounds_text(entry: &Ident) -> String {
    format!("//.rungs.bounds {entry} {{}} {{}} {{}} {{}}")
}

/// The entry of [`device`] on rust-cuda: a function that cuda_std's `#[kernel]` turns into an entry.
///
/// Module-level assembly gets lost in libnvvm, so the comment with the launch bounds stands in the body. On the host
/// the function is there to be type-checked; the block keeps its name from meeting the handle's.
fn rust_cuda_entry(
    options: &Options,
    f: &ItemFn,
    entry: &Ident,
    flat: &[Tokens],
    bounds: &[Tokens; 4],
    call: &Tokens,
) -> Tokens {
    let (attrs, guard) = (&f.attrs, options.guard());
    let text = bounds_text(entry);
    quote! {
        #[cfg(any(#guard, not(target_os = "cuda")))]
        const _: () = {
            // The comment in the entry is for the device alone; by this the type check on the host sees the bounds too.
            const _: [u32; 4] = [#(#bounds),*];

            #(#attrs)*
            #[simt::expansion::cuda_kernel]
            #[allow(improper_ctypes_definitions, clippy::missing_safety_doc, clippy::too_many_arguments)]
            pub unsafe fn #entry(#(#flat),*) {
                #[cfg(target_os = "cuda")]
                unsafe {
                    simt::expansion::asm!(#text, #(const #bounds,)* options(nomem, nostack))
                }
                #call
            }
        };
    }
}

/// The host side: a type that implements `simt::Kernel`, once for each instance.
fn on_host(options: &Options, f: &ItemFn, params: &[(Ident, Type)], generics: &[Ident]) -> Tokens {
    let (name, vis, attrs, body) = (&f.sig.ident, &f.vis, &f.attrs, body_name(f));
    let (names, types): (Vec<_>, Vec<_>) = params.iter().cloned().unzip();
    let handle = if generics.is_empty() {
        quote! {
            #(#attrs)*
            #[cfg(not(target_os = "cuda"))]
            #[allow(non_camel_case_types)]
            #[derive(Clone, Copy, Debug, Default)]
            #vis struct #name;
        }
    } else {
        quote! {
            #(#attrs)*
            #[cfg(not(target_os = "cuda"))]
            #[allow(non_camel_case_types)]
            #vis struct #name<#(#generics = ()),*>(core::marker::PhantomData<fn() -> (#(#generics,)*)>);

            #[cfg(not(target_os = "cuda"))]
            impl<#(#generics),*> Clone for #name<#(#generics),*> {
                fn clone(&self) -> Self {
                    *self
                }
            }
            #[cfg(not(target_os = "cuda"))]
            impl<#(#generics),*> Copy for #name<#(#generics),*> {}
            #[cfg(not(target_os = "cuda"))]
            impl<#(#generics),*> Default for #name<#(#generics),*> {
                fn default() -> Self {
                    Self(core::marker::PhantomData)
                }
            }
        }
    };
    let kernels = options.entries(f).into_iter().map(|(entry, concrete)| {
        let types: Vec<Type> = types.iter().map(|t| substitute(t, generics, &concrete)).collect();
        let of = (!concrete.is_empty()).then(|| quote!(<#(#concrete),*>));
        let body_of = turbofish(&concrete);
        let [threads, blocks, spills, cluster] =
            options.bounds().map(|tokens| substitute_tokens(tokens, generics, &concrete));
        quote! {
            // These bounds take effect on the device; here they are only compiled.
            #[cfg(not(target_os = "cuda"))]
            const _: [u32; 2] = [#blocks, #spills];

            // SAFETY: the entry is made of the same function, with its name and parameters; `thread` calls its body.
            #[cfg(not(target_os = "cuda"))]
            unsafe impl simt::Kernel for #name #of {
                const NAME: &'static str = stringify!(#entry);
                const MAX_THREADS: u32 = #threads;
                const CLUSTER: u32 = #cluster;
                type Args = (#(#types,)*);
                fn thread((#(#names,)*): Self::Args) {
                    #body #body_of (#(#names),*)
                }
            }
        }
    });
    // A view is known by the name `Global`: one by another name would be two parameters here and one on the device.
    let by_bytes = options.entries(f).into_iter().flat_map(|(_, concrete)| {
        let types: Vec<Type> = types.iter().map(|t| substitute(t, generics, &concrete)).collect();
        let others = types.into_iter().filter(|t| element_of_global(t).is_none() && !is_tensor_map(t));
        others.map(|t| {
            quote! {
                #[cfg(not(target_os = "cuda"))]
                const _: () = assert!(<#t as simt::Argument>::BY_ITS_BYTES, "write the type of a view as Global<T>");
            }
        })
    });
    let entries: Vec<_> = options.entries(f).into_iter().map(|(entry, _)| entry.to_string()).collect();
    quote! {
        #handle
        #(#kernels)*
        #(#by_bytes)*

        #[cfg(not(target_os = "cuda"))]
        impl simt::Instances for #name {
            const NAMES: &'static [&'static str] = &[#(#entries),*];
        }
    }
}

impl Options {
    /// The condition under which the kernel is in the PTX.
    fn guard(&self) -> Tokens {
        match (self.sm_90a, self.sm_90) {
            (true, _) => quote!(all(target_os = "cuda", sm_90a)),
            (_, true) => quote!(all(target_os = "cuda", sm_90)),
            _ => quote!(target_os = "cuda"),
        }
    }

    /// The most threads per block, the fewest blocks per SM, the most bytes spilled and the blocks of a
    /// cluster, 0 for one not given.
    fn bounds(&self) -> [Tokens; 4] {
        let given = [&self.max_threads, &self.min_blocks, &self.max_spills, &self.cluster];
        given.map(|bound| bound.as_ref().map_or(quote!(0), |e| quote!(#e)))
    }

    /// Name and type arguments of each entry; a kernel that is not generic has one entry, with the function's name.
    fn entries(&self, f: &ItemFn) -> Vec<(Ident, Vec<Type>)> {
        if self.instances.is_empty() {
            return vec![(f.sig.ident.clone(), vec![])];
        }
        self.instances.iter().map(|i| (i.name.clone(), i.types.clone())).collect()
    }
}

fn body_name(f: &ItemFn) -> Ident {
    format_ident!("{}_body", f.sig.ident)
}

fn turbofish(types: &[Type]) -> Option<Tokens> {
    (!types.is_empty()).then(|| quote!(::<#(#types),*>))
}

/// `ty` with each generic parameter replaced by its concrete type.
fn substitute(ty: &Type, generics: &[Ident], concrete: &[Type]) -> Type {
    syn::parse2(substitute_tokens(ty.to_token_stream(), generics, concrete)).unwrap_or_else(|_| ty.clone())
}

/// As [`substitute`], for any piece of code.
fn substitute_tokens(tokens: Tokens, generics: &[Ident], concrete: &[Type]) -> Tokens {
    tokens
        .into_iter()
        .flat_map(|token| match token {
            TokenTree::Ident(id) => match generics.iter().position(|g| *g == id) {
                Some(i) if i < concrete.len() => concrete[i].to_token_stream(),
                _ => TokenTree::Ident(id).into(),
            },
            TokenTree::Group(group) => {
                let inner = substitute_tokens(group.stream(), generics, concrete);
                TokenTree::Group(proc_macro2::Group::new(group.delimiter(), inner)).into()
            }
            other => other.into(),
        })
        .collect()
}

/// Whether a type is `TensorMap<T>`, by the name of its last path segment.
fn is_tensor_map(ty: &Type) -> bool {
    matches!(ty, Type::Path(path) if path.path.segments.last().is_some_and(|last| last.ident == "TensorMap"))
}

/// The element type of a `Global<T>`, by the name of its last path segment.
fn element_of_global(ty: &Type) -> Option<&Type> {
    let Type::Path(path) = ty else { return None };
    let last = path.path.segments.last()?;
    let syn::PathArguments::AngleBracketed(args) = &last.arguments else { return None };
    match (last.ident == "Global", args.args.first()?) {
        (true, syn::GenericArgument::Type(element)) => Some(element),
        _ => None,
    }
}
