//! Tests that the page on rayon has a row for each name of rayon. The names come from the sources
//! of the version of rayon that this test is built with.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use serde_json::Value;
use syn::{Attribute, File, ImplItem, Item, TraitItem, Type, UseTree, Visibility};

use crate::guide::{Row, methods, own_methods, spans};

const PAGE: &str = "src/guide/from_rayon.rs";
/// The part of the page with a row for each name.
const PART: &str = "Every name";
/// If the test finds fewer names, its reading of the sources is wrong.
const AT_LEAST: usize = 240;

/// All modules of a crate.
struct Sources {
    modules: Vec<Module>,
}

struct Module {
    /// The path from the root of the crate, such as `collections::hash_map`.
    path: String,
    /// Whether other crates can name the module.
    is_public: bool,
    items: Vec<Item>,
}

/// The folders of rayon and rayon-core, as cargo resolves them for this workspace.
fn folders() -> [PathBuf; 2] {
    let rustc = Command::new("rustc").arg("-vV").output().expect("rustc");
    let said = String::from_utf8_lossy(&rustc.stdout);
    let host = said.lines().find_map(|line| line.strip_prefix("host: ")).expect("rustc -vV names the host");
    // The list is filtered by host, because packages for other systems need not be downloaded. The
    // option `--offline` would fail: cargo needs the packages of all members, but the default build
    // has not downloaded all of them.
    let metadata = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--filter-platform", host])
        .current_dir(crate::top())
        .output()
        .expect("cargo");
    assert!(metadata.status.success(), "cargo metadata: {}", String::from_utf8_lossy(&metadata.stderr));
    let metadata: Value = serde_json::from_slice(&metadata.stdout).expect("cargo metadata writes JSON");
    let own = package(&metadata, "name", "rangesteal");
    let rayon = dependency(&metadata, &own["id"], "rayon");
    let core = dependency(&metadata, &rayon["id"], "rayon_core");
    [rayon, core].map(|package| {
        let manifest = Path::new(package["manifest_path"].as_str().expect("a path"));
        manifest.parent().expect("a folder").join("src")
    })
}

fn package<'a>(metadata: &'a Value, key: &str, value: &str) -> &'a Value {
    let mut packages = metadata["packages"].as_array().expect("packages").iter();
    packages.find(|package| package[key] == value).unwrap_or_else(|| panic!("cargo knows no {value}"))
}

/// The package of this name on which `of` depends.
fn dependency<'a>(metadata: &'a Value, of: &Value, name: &str) -> &'a Value {
    let mut nodes = metadata["resolve"]["nodes"].as_array().expect("nodes").iter();
    let node = nodes.find(|node| node["id"] == *of).expect("a node of each package");
    let mut dependencies = node["deps"].as_array().expect("dependencies").iter();
    let found = dependencies.find(|dependency| dependency["name"] == name);
    let id = found.unwrap_or_else(|| panic!("{of} has no dependency {name}"))["pkg"].as_str();
    package(metadata, "id", id.expect("an id"))
}

impl Sources {
    fn read(folder: &Path) -> Self {
        let mut sources = Self { modules: Vec::new() };
        sources.add(String::new(), true, parsed(&folder.join("lib.rs")).items, folder);
        sources
    }

    /// Adds a module. The files of its inner modules lie in `folder`.
    fn add(&mut self, path: String, is_public: bool, items: Vec<Item>, folder: &Path) {
        for item in &items {
            let Item::Mod(inner) = item else { continue };
            let name = inner.ident.to_string();
            // `plumbing` is for other libraries. The other modules are tests, or must not compile.
            if ["plumbing", "compile_fail", "test", "tests"].contains(&name.as_str()) {
                continue;
            }
            let is_public = is_public && is_shown(&inner.vis, &inner.attrs);
            let folder = folder.join(&name);
            let items = if let Some((_, items)) = &inner.content {
                items.clone()
            } else {
                let files = [folder.with_extension("rs"), folder.join("mod.rs")];
                parsed(files.iter().find(|file| file.exists()).expect("a file of each module")).items
            };
            let path = if path.is_empty() { name } else { format!("{path}::{name}") };
            self.add(path, is_public, items, &folder);
        }
        self.modules.push(Module { path, is_public, items });
    }

    /// The items that a user of `rayon` can name, each with the path of its module. `reexported`
    /// has the items that public modules of rayon re-export.
    fn shown<'a>(
        &'a self,
        reexported: &'a BTreeMap<String, String>,
        is_core: bool,
    ) -> Vec<(String, &'a Item)> {
        let mut found = Vec::new();
        for module in &self.modules {
            for item in &module.items {
                let (name, visibility, attributes) = match item {
                    Item::Fn(item) => (&item.sig.ident, &item.vis, &item.attrs),
                    Item::Struct(item) => (&item.ident, &item.vis, &item.attrs),
                    Item::Enum(item) => (&item.ident, &item.vis, &item.attrs),
                    Item::Trait(item) => (&item.ident, &item.vis, &item.attrs),
                    _ => continue,
                };
                let is_here = module.is_public && !is_core;
                let path = if is_here { Some(&module.path) } else { reexported.get(&name.to_string()) };
                found.extend(
                    path.filter(|_| is_shown(visibility, attributes)).map(|path| (path.clone(), item)),
                );
            }
        }
        found
    }
}

fn parsed(file: &Path) -> File {
    let text = fs::read_to_string(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    syn::parse_file(&text).unwrap_or_else(|error| panic!("{}: {error}", file.display()))
}

fn is_shown(visibility: &Visibility, attributes: &[Attribute]) -> bool {
    matches!(visibility, Visibility::Public(_)) && !is_hidden(attributes)
}

fn is_hidden(attributes: &[Attribute]) -> bool {
    attributes.iter().filter(|attribute| attribute.path().is_ident("doc")).any(|attribute| {
        let mut hidden = false;
        // `#[doc = ".."]` has no nested items.
        let _ = attribute.parse_nested_meta(|inner| {
            hidden |= inner.path.is_ident("hidden");
            Ok(())
        });
        hidden
    })
}

/// Notes the items that a `use` in the module `path` re-exports.
fn note_used(tree: &UseTree, path: &str, shown: &mut BTreeMap<String, String>) {
    match tree {
        UseTree::Path(inner) => note_used(&inner.tree, path, shown),
        UseTree::Name(name) => drop(shown.insert(name.ident.to_string(), path.to_owned())),
        UseTree::Group(group) => group.items.iter().for_each(|tree| note_used(tree, path, shown)),
        UseTree::Rename(_) | UseTree::Glob(_) => panic!("rayon shows things in a way that is not read here"),
    }
}

/// The names that a user of rayon can write. Methods of traits stand without the trait (`map`),
/// methods of types with the type (`ThreadPool::install`), and functions and modules with their
/// path (`rayon::join`, `iter::empty`). The list also has the traits, the types of the pool, and
/// the environment variables.
///
/// The types of iterators are left out, because users rarely name the types that methods return.
fn names() -> BTreeSet<String> {
    let folders = folders();
    let [rayon, core] = folders.each_ref().map(|folder| Sources::read(folder));
    let (mut from_core, mut from_rayon) = (BTreeMap::new(), BTreeMap::new());
    let mut names = BTreeSet::new();
    for module in rayon.modules.iter().filter(|module| module.is_public && !module.path.is_empty()) {
        names.insert(module.path.clone());
    }
    for module in rayon.modules.iter().filter(|module| module.is_public) {
        for item in &module.items {
            if let Item::Use(used) = item
                && is_shown(&used.vis, &used.attrs)
                && let UseTree::Path(from) = &used.tree
            {
                match from.ident.to_string().as_str() {
                    "rayon_core" => note_used(&from.tree, &module.path, &mut from_core),
                    "crate" if module.path == "prelude" => {}
                    "either" => drop(names.insert("Either".to_owned())),
                    _ => note_used(&from.tree, &module.path, &mut from_rayon),
                }
            }
        }
    }
    for (sources, shown, is_core) in
        [(&rayon, rayon.shown(&from_rayon, false), false), (&core, core.shown(&from_core, true), true)]
    {
        let mut types = BTreeSet::new();
        for (path, item) in shown {
            match item {
                Item::Fn(function) => {
                    let place = if path.is_empty() { "rayon" } else { &path };
                    names.insert(format!("{place}::{}", function.sig.ident));
                }
                Item::Trait(item) => {
                    names.insert(item.ident.to_string());
                    names.extend(item.items.iter().filter_map(method));
                }
                Item::Struct(syn::ItemStruct { ident, .. }) | Item::Enum(syn::ItemEnum { ident, .. }) => {
                    types.insert(ident.to_string());
                }
                _ => {}
            }
        }
        for item in sources.modules.iter().flat_map(|module| &module.items) {
            if let Item::Impl(item) = item
                && item.trait_.is_none()
                && let Type::Path(of) = &*item.self_ty
                && let of = of.path.segments.last().expect("a name").ident.to_string()
                && types.contains(&of)
            {
                names.extend(item.items.iter().filter_map(|item| match item {
                    ImplItem::Fn(method) if is_shown(&method.vis, &method.attrs) => {
                        Some(format!("{of}::{}", method.sig.ident))
                    }
                    _ => None,
                }));
            }
        }
        if is_core {
            names.append(&mut types);
        }
    }
    names.extend(variables(&folders[1]));
    names
}

fn method(item: &TraitItem) -> Option<String> {
    match item {
        TraitItem::Fn(method) if !is_hidden(&method.attrs) => Some(method.sig.ident.to_string()),
        _ => None,
    }
}

/// The environment variables that the library reads.
fn variables(folder: &Path) -> BTreeSet<String> {
    let text = fs::read_to_string(folder.join("lib.rs")).expect("it has been read before");
    let is_variable = |word: &&str| {
        word.starts_with("RAYON_") && word.chars().all(|letter| letter.is_ascii_uppercase() || letter == '_')
    };
    text.split('"').filter(is_variable).map(str::to_owned).collect()
}

/// The rows of the tables of rayon's names. All these rows must be in the part `PART`.
fn rows() -> Vec<Row> {
    let rows: Vec<_> = crate::guide::rows(PAGE).into_iter().filter(|row| row.title == "rayon").collect();
    let elsewhere = rows.iter().find(|row| row.part != PART);
    assert!(elsewhere.is_none(), "a row of rayon's names that no test reads: {elsewhere:?}");
    rows
}

#[test]
fn each_name_of_rayon_has_a_row() {
    let names = names();
    assert!(names.len() >= AT_LEAST, "{} names only: {names:?}", names.len());
    for known in ["map", "par_sort", "ThreadPool::install", "rayon::join", "iter::split", "RAYON_NUM_THREADS"]
    {
        assert!(names.contains(known), "{known} is a name of rayon, and is not found");
    }
    println!("{} names", names.len());
    let rows = rows();
    let told: BTreeSet<_> = rows.iter().flat_map(|row| spans(&row.there)).collect();
    let missing: Vec<_> = names.iter().filter(|name| !told.contains(name.as_str())).collect();
    assert!(missing.is_empty(), "{} names of rayon have no row in {PAGE}: {missing:?}", missing.len());
    let unknown: Vec<_> = told.iter().filter(|name| !names.contains(**name)).collect();
    assert!(unknown.is_empty(), "rayon has no {unknown:?}, but {PAGE} has rows of these");
}

/// If a row says "the same", a stage, an end or a builder's method has the name of the row. The
/// methods that a row calls on a pool or a chain exist. A row that says "none" gives a reason.
#[test]
fn what_the_rows_say_is_here_is_here() {
    let (on, pool, builder) = (own_methods("On"), own_methods("Pool"), own_methods("PoolBuilder"));
    let mut counts = [0; 3];
    for row in rows() {
        if row.here.starts_with("the same") {
            for name in spans(&row.there) {
                let name = name.rsplit("::").next().expect("a name");
                let is_there = [&on, &pool, &builder].iter().any(|methods| methods.contains(name));
                assert!(is_there, "{name} is not the same here: {row:?}");
                counts[0] += 1;
            }
        }
        if row.here.starts_with("none") {
            let reason = row.here.strip_prefix("none: ");
            assert!(reason.is_some_and(|reason| reason.len() > 10), "no reason: {row:?}");
            counts[1] += 1;
        }
        for (method, of) in spans(&row.here).into_iter().flat_map(methods) {
            if of.ends_with("pool") {
                assert!(pool.contains(method), "a pool has no {method}: {row:?}");
                counts[2] += 1;
            }
            // `.find(p)` stands behind `pool.on(..)`.
            if of.is_empty() {
                assert!(on.contains(method), "a chain has no {method}: {row:?}");
                counts[2] += 1;
            }
        }
    }
    let [same, none, called] = counts;
    assert!(same > 20 && none > 5 && called > 40, "{counts:?}");
}
