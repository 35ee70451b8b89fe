//! Tests that a name stands for one thing. No two files of `src/pool` have the same name, or define
//! types or constants of the same name.
//!
//! Some types, constants and files may share a name. These are types and constants of tests; types
//! and constants inside functions, traits and implementations; the traits of modules `sealed`,
//! which seal other traits; files called `mod.rs`; and a file of `check/models` together with the
//! file whose code it explores. Other files of `check` must have names of their own, because tests
//! and messages name files without their folder.

use std::collections::{BTreeMap, BTreeSet};

use syn::Item;

use crate::{
    layers::production,
    unsafe_inventory::{read, sources},
};

const MODELS: &str = "src/pool/check/models/";

/// For each name, the files that define it.
type Defined = BTreeMap<String, BTreeSet<String>>;

/// Notes the types and constants of `items`, and of the modules inside them.
fn define(file: &str, items: Vec<Item>, types: &mut Defined, constants: &mut Defined) {
    for item in items {
        let (of, name) = match item {
            Item::Struct(item) => (&mut *types, item.ident),
            Item::Enum(item) => (&mut *types, item.ident),
            Item::Union(item) => (&mut *types, item.ident),
            Item::Trait(item) => (&mut *types, item.ident),
            Item::Type(item) => (&mut *types, item.ident),
            Item::Const(item) => (&mut *constants, item.ident),
            Item::Static(item) => (&mut *constants, item.ident),
            Item::Mod(module) if module.ident == "sealed" => continue,
            Item::Mod(module) => {
                let items = module.content.map_or(Vec::new(), |(_, items)| items);
                define(file, items, types, constants);
                continue;
            }
            _ => continue,
        };
        if name != "_" {
            of.entry(name.to_string()).or_default().insert(file.to_string());
        }
    }
}

/// The names of types and of constants that several of these production files define.
fn defined_twice(code: &BTreeMap<String, String>) -> Vec<String> {
    let (mut types, mut constants) = (Defined::new(), Defined::new());
    for (file, text) in code {
        let parsed = syn::parse_file(text).unwrap_or_else(|error| panic!("{file}: {error}"));
        define(file, parsed.items, &mut types, &mut constants);
    }
    [("type", types), ("constant", constants)].into_iter().flat_map(|(what, of)| several(what, of)).collect()
}

/// The names that several files have.
fn named_twice<'a>(files: impl Iterator<Item = &'a str>) -> Vec<String> {
    let mut names = Defined::new();
    for file in files.filter(|file| !file.starts_with(MODELS)) {
        let name = file.rsplit('/').next().expect("a name");
        if name != "mod.rs" {
            names.entry(name.to_string()).or_default().insert(file.to_string());
        }
    }
    several("file", names)
}

fn several(what: &str, of: Defined) -> Vec<String> {
    let line = |(name, files): (String, BTreeSet<String>)| {
        let files: Vec<_> = files.iter().map(String::as_str).collect();
        format!("{what} {name}: {}", files.join(", "))
    };
    of.into_iter().filter(|(_, files)| files.len() > 1).map(line).collect()
}

#[test]
fn names_are_of_one_thing_each() {
    let files = sources("src");
    let mut code = production(&files.iter().map(|file| (file.clone(), read(file))).collect());
    code.retain(|file, _| file.starts_with("src/pool/"));
    assert!(code.len() > 30, "{} files", code.len());
    let mut wrong = defined_twice(&code);
    wrong.extend(named_twice(files.iter().map(String::as_str).filter(|file| file.starts_with("src/pool/"))));
    assert!(wrong.is_empty(), "{} names of several things:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn names_are_found_where_they_are_defined_for_a_whole_file() {
    let twice = |a: &str, b: &str| {
        let code = [("a.rs", a), ("b.rs", b)].map(|(file, text)| (file.to_string(), text.to_string()));
        defined_twice(&code.into()).len()
    };
    for item in ["struct A;", "enum A {}", "union A { a: u8 }", "trait A {}", "type A = u8;"] {
        assert_eq!(twice(item, "pub(crate) struct A<T>(T);"), 1, "{item}");
    }
    assert_eq!(twice("const A: u8 = 1;", "mod inner { static A: u8 = 1; }"), 1);
    let apart = [
        ("struct A;", "const A: u8 = 1;"),
        ("struct A; mod inner { struct A; }", ""),
        ("const A: u8 = 1;", "fn f() { const A: u8 = 1; }"),
        ("struct A;", "impl T for B { type A = u8; const A: u8 = 1; }"),
        ("struct A;", "trait B { type A; const A: u8; }"),
        ("const _: () = ();", "const _: () = ();"),
        ("mod sealed { trait Sealed {} }", "mod sealed { trait Sealed {} }"),
    ];
    for (a, b) in apart {
        assert_eq!(twice(a, b), 0, "{a} {b}");
    }
    let files = ["x/mod.rs", "y/mod.rs", "x/a.rs", "y/a.rs", "src/pool/check/models/a.rs", "y/b.rs"];
    assert_eq!(named_twice(files.into_iter()), ["file a.rs: x/a.rs, y/a.rs"]);
}
