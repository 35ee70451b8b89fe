//! For each file, the files that it names in the `use` items and paths of production code.
//!
//! A path leads to the file of the module that is its longest prefix. If this file imports the next
//! name of the path by a `use`, the path also leads to the file that the `use` names: `crate::Pool`
//! leads to `src/lib.rs` and `src/pool/mod.rs`. A glob leads only to its module, and not to the
//! files of the names that it imports.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use proc_macro2::{TokenStream, TokenTree};
use syn::{
    Attribute, ItemMod, ItemUse, Macro, UseTree, Visibility,
    visit::{self, Visit},
};

use super::production::Source;

/// All code in this folder is for tests, even if the module's declaration has no attribute for
/// tests.
pub(super) const CHECK: &str = "src/pool/check/";
/// The largest number of `use` items to follow for one name. A name with more `use` items leads in
/// a circle.
const HANDS: usize = 8;

/// The names of a path, without generics.
pub(super) type Path = Vec<String>;

/// Pairs of files. The first file names the second one. Each pair has the paths that do this.
pub(super) type Arrows = BTreeMap<(String, String), BTreeSet<String>>;

struct Module {
    file: String,
    /// The names that the module imports by `use`, with their paths.
    names: HashMap<String, Vec<Path>>,
}

/// A path in a module.
struct Mention {
    module: Path,
    path: Path,
}

/// The files of a crate, and the files that each of them names.
#[derive(Default)]
pub(super) struct Crate {
    /// The files of production code.
    pub(super) sources: BTreeMap<String, Source>,
    modules: HashMap<Path, Module>,
    mentions: Vec<Mention>,
}

/// `src/pool/trace/svg.rs` is `pool::trace::svg`.
fn module(root: &str, file: &str) -> Path {
    let inside =
        file.strip_prefix(root).and_then(|file| file.strip_prefix('/')).expect("a file of the crate");
    let mut path: Path = inside.trim_end_matches(".rs").split('/').map(str::to_string).collect();
    if path.last().is_some_and(|last| last == "mod") || path == ["lib"] || path == ["main"] {
        path.pop();
    }
    path
}

impl Crate {
    /// Reads a crate from the texts of its files. `root` is the folder of its first file.
    pub(super) fn new(root: &str, files: &BTreeMap<String, String>) -> Self {
        let mut this = Self::default();
        let mut of_tests = HashSet::new();
        for (file, text) in files {
            let parsed = syn::parse_file(text).unwrap_or_else(|error| panic!("{file}: {error}"));
            let module = module(root, file);
            let source = Source::new(module.clone(), text, &parsed);
            of_tests.extend(source.of_tests.iter().cloned());
            if file.starts_with(CHECK) {
                of_tests.insert(module.clone());
            }
            this.modules.insert(module, Module { file: file.clone(), names: HashMap::new() });
            this.sources.insert(file.clone(), source);
        }
        this.sources.retain(|file, _| {
            let module = module(root, file);
            !(0..=module.len()).any(|len| of_tests.contains(&module[..len]))
        });
        let read: Vec<_> =
            this.sources.iter().map(|(file, source)| (file.clone(), source.text.clone())).collect();
        for (file, text) in read {
            let parsed = syn::parse_file(&text).unwrap_or_else(|error| panic!("{file}: {error}"));
            Reader { module: module(root, &file), file, of: &mut this }.visit_file(&parsed);
        }
        this
    }

    fn file(&self, mention: &Mention) -> &str {
        &self.modules[&mention.module].file
    }

    /// The paths that are written in a file.
    pub(super) fn paths<'a>(&'a self, file: &'a str) -> impl Iterator<Item = &'a Path> {
        self.mentions.iter().filter(move |mention| self.file(mention) == file).map(|mention| &mention.path)
    }

    pub(super) fn arrows(&self) -> Arrows {
        let mut arrows = Arrows::new();
        for mention in &self.mentions {
            let mut found = BTreeSet::new();
            self.follow(&mention.module, &mention.path, HANDS, &mut found);
            found.remove(self.file(mention));
            for to in found {
                let arrow = (self.file(mention).to_string(), to.to_string());
                arrows.entry(arrow).or_default().insert(mention.path.join("::"));
            }
        }
        arrows
    }

    /// Finds the files that a path leads through.
    fn follow<'a>(&'a self, from: &[String], path: &[String], hands: usize, found: &mut BTreeSet<&'a str>) {
        let mut at = from.to_vec();
        let mut rest = path;
        while let Some((first, others)) = rest.split_first() {
            match &**first {
                "crate" => at.clear(),
                "self" => {}
                "super" => _ = at.pop(),
                name => {
                    at.push(name.to_string());
                    if !self.modules.contains_key(&at) {
                        at.pop();
                        break;
                    }
                }
            }
            rest = others;
        }
        let here = &self.modules[&at];
        found.insert(&here.file);
        if let Some((name, others)) = rest.split_first()
            && hands > 0
        {
            for target in here.names.get(name).into_iter().flatten() {
                self.follow(&at, &[target.as_slice(), others].concat(), hands - 1, found);
            }
        }
    }
}

/// Notes the paths in a file.
struct Reader<'a> {
    file: String,
    module: Path,
    of: &'a mut Crate,
}

impl Reader<'_> {
    fn mention(&mut self, path: Path) {
        self.of.mentions.push(Mention { module: self.module.clone(), path });
    }

    /// Skips single names: a `use` has imported them, or the module defines them.
    fn mention_if_long(&mut self, path: Path) {
        if path.len() > 1 {
            self.mention(path);
        }
    }
}

impl<'ast> Visit<'ast> for Reader<'_> {
    fn visit_item_mod(&mut self, item: &'ast ItemMod) {
        if item.content.is_some() {
            self.module.push(item.ident.to_string());
            let module = Module { file: self.file.clone(), names: HashMap::new() };
            self.of.modules.insert(self.module.clone(), module);
            visit::visit_item_mod(self, item);
            self.module.pop();
        }
    }

    fn visit_item_use(&mut self, item: &'ast ItemUse) {
        if item.leading_colon.is_some() {
            return;
        }
        for (path, name) in leaves(&item.tree, &[]) {
            if let (Some(name), Some(module)) = (name, self.of.modules.get_mut(&self.module)) {
                module.names.entry(name).or_default().push(path.clone());
            }
            self.mention(path);
        }
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        if path.leading_colon.is_none() {
            self.mention_if_long(path.segments.iter().map(|segment| segment.ident.to_string()).collect());
        }
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, of: &'ast Macro) {
        self.visit_path(&of.path);
        for path in paths(of.tokens.clone()) {
            self.mention_if_long(path);
        }
    }

    fn visit_attribute(&mut self, _: &'ast Attribute) {}

    fn visit_visibility(&mut self, _: &'ast Visibility) {}
}

/// The paths of a `use`, each with its local name. A glob has none.
fn leaves(tree: &UseTree, before: &[String]) -> Vec<(Path, Option<String>)> {
    let joined = |name: &syn::Ident| {
        let further = (name != "self").then(|| name.to_string());
        before.iter().cloned().chain(further).collect::<Path>()
    };
    match tree {
        UseTree::Path(path) if before.is_empty() => leaves(&path.tree, &[path.ident.to_string()]),
        UseTree::Path(path) => leaves(&path.tree, &joined(&path.ident)),
        UseTree::Group(group) => group.items.iter().flat_map(|tree| leaves(tree, before)).collect(),
        UseTree::Glob(_) => vec![(before.to_vec(), None)],
        UseTree::Name(name) => vec![(joined(&name.ident), joined(&name.ident).pop())],
        UseTree::Rename(name) => vec![(joined(&name.ident), Some(name.rename.to_string()))],
    }
}

/// The paths among the tokens of a macro.
fn paths(tokens: TokenStream) -> Vec<Path> {
    let mut found: Vec<Path> = Vec::new();
    let mut colons = 0;
    for tree in tokens {
        match tree {
            TokenTree::Punct(punct) if punct.as_char() == ':' => {
                colons += 1;
                continue;
            }
            TokenTree::Ident(name) => match found.last_mut() {
                Some(path) if colons == 2 => path.push(name.to_string()),
                _ => found.push(vec![name.to_string()]),
            },
            TokenTree::Group(group) => found.extend(paths(group.stream())),
            _ => {}
        }
        colons = 0;
    }
    found
}
