//! `src/pool/UNSAFE.md` lists every `unsafe` of `src/` and tests that exist; and, after a run with
//! coverage, every block was executed.
//!
//! `COVERAGE=export.json cargo test -p rangesteal-tidy unsafe_inventory` looks at what `llvm-cov
//! export` has written (`.ci/long` does).

use std::{
    collections::{BTreeMap, HashSet},
    env, fs,
    ops::Range,
    path::Path,
};

use proc_macro2::{LineColumn, Span, TokenStream, TokenTree};
use syn::{
    Block, ExprUnsafe, ImplItemFn, ItemFn, ItemForeignMod, ItemImpl, ItemMod, ItemTrait, Safety, TraitItemFn,
    Type, spanned::Spanned, visit,
};

use crate::top;

const INVENTORY: &str = "src/pool/UNSAFE.md";

/// One `unsafe` of the sources.
#[derive(Debug)]
struct Site {
    file: String,
    /// The function, behind the type it belongs to; or the type.
    place: String,
    /// Its text without spaces; of functions and implementations the beginning.
    code: String,
    /// Where what can be executed lies.
    runs: Option<Range<LineColumn>>,
}

impl Site {
    /// As a line of the inventory, to be completed.
    fn row(&self) -> String {
        format!("{}: | `{}` | `{}` | ? | ? |", self.file, self.place, self.code)
    }
}

/// The Rust files below `folder`, by their path in the repository.
pub(super) fn sources(folder: &str) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir(top().join(folder)).expect("a folder of sources") {
        let entry = entry.expect("a file");
        let name = format!("{folder}/{}", entry.file_name().to_str().expect("UTF-8"));
        match entry.file_type().expect("a type") {
            kind if kind.is_dir() => found.append(&mut sources(&name)),
            _ if name.to_lowercase().ends_with(".rs") => found.push(name),
            _ => {}
        }
    }
    found.sort();
    found
}

pub(super) fn read(file: &str) -> String {
    fs::read_to_string(top().join(file)).unwrap_or_else(|error| panic!("{file}: {error}"))
}

fn tokens(file: &str) -> TokenStream {
    read(file).parse().unwrap_or_else(|error| panic!("{file}: {error}"))
}

/// All tokens, those inside brackets too.
pub(super) fn flat(tokens: TokenStream) -> Vec<TokenTree> {
    let inside = |tree| match tree {
        TokenTree::Group(group) => {
            let mut trees = vec![TokenTree::Group(group.clone())];
            trees.append(&mut flat(group.stream()));
            trees
        }
        tree => vec![tree],
    };
    tokens.into_iter().flat_map(inside).collect()
}

/// The source itself.
pub(super) fn text(of: &impl Spanned) -> String {
    of.span().source_text().expect("the text of what was parsed")
}

fn squeezed(text: &str) -> String {
    text.split_whitespace().collect()
}

/// Collects the sites of a file.
struct Finder {
    file: String,
    places: Vec<String>,
    sites: Vec<Site>,
}

impl Finder {
    fn note(&mut self, code: &str, runs: Option<Span>) {
        self.sites.push(Site {
            file: self.file.clone(),
            place: self.places.join("::"),
            code: squeezed(code),
            runs: runs.map(|span| span.start()..span.end()),
        });
    }

    fn within(&mut self, place: String, visit: impl FnOnce(&mut Self)) {
        self.places.push(place);
        visit(self);
        self.places.pop();
    }

    fn function(&mut self, name: String, safety: &Safety, body: Option<&Block>) {
        self.within(name, |this| {
            if matches!(safety, Safety::Unsafe(_)) {
                this.note("unsafe fn", body.map(Block::span));
            }
            if let Some(body) = body {
                visit::visit_block(this, body);
            }
        });
    }
}

/// The name of a type without its parameters.
fn name(of: &Type) -> String {
    match of {
        Type::Path(path) => path.path.segments.last().expect("a name").ident.to_string(),
        Type::Reference(reference) => format!("&{}", name(&reference.elem)),
        other => squeezed(&text(other)),
    }
}

impl<'ast> visit::Visit<'ast> for Finder {
    fn visit_expr_unsafe(&mut self, block: &'ast ExprUnsafe) {
        self.note(&text(block), Some(block.block.span()));
        visit::visit_expr_unsafe(self, block);
    }

    fn visit_item_fn(&mut self, item: &'ast ItemFn) {
        self.function(item.sig.ident.to_string(), &item.sig.safety, Some(&item.block));
    }

    fn visit_impl_item_fn(&mut self, item: &'ast ImplItemFn) {
        self.function(item.sig.ident.to_string(), &item.sig.safety, Some(&item.block));
    }

    fn visit_trait_item_fn(&mut self, item: &'ast TraitItemFn) {
        self.function(item.sig.ident.to_string(), &item.sig.safety, item.default.as_ref());
    }

    fn visit_item_impl(&mut self, item: &'ast ItemImpl) {
        self.within(name(&item.self_ty), |this| {
            if item.unsafety.is_some() {
                let (of, _) = item.trait_.as_ref().expect("only traits are unsafe to implement");
                this.note(&format!("unsafe impl {}", text(of)), None);
            }
            visit::visit_item_impl(this, item);
        });
    }

    fn visit_item_trait(&mut self, item: &'ast ItemTrait) {
        self.within(item.ident.to_string(), |this| {
            if item.unsafety.is_some() {
                this.note("unsafe trait", None);
            }
            visit::visit_item_trait(this, item);
        });
    }

    fn visit_item_mod(&mut self, item: &'ast ItemMod) {
        self.within(item.ident.to_string(), |this| visit::visit_item_mod(this, item));
    }

    fn visit_item_foreign_mod(&mut self, item: &'ast ItemForeignMod) {
        if item.unsafety.is_some() {
            self.note("unsafe extern", None);
        }
    }
}

/// Every `unsafe` of `src/`.
fn sites() -> Vec<Site> {
    let mut all = Vec::new();
    for file in sources("src") {
        let parsed = syn::parse_file(&read(&file)).unwrap_or_else(|error| panic!("{file}: {error}"));
        let mut finder = Finder { file, places: Vec::new(), sites: Vec::new() };
        visit::Visit::visit_file(&mut finder, &parsed);
        let is_unsafe = |tree: &TokenTree| matches!(tree, TokenTree::Ident(ident) if ident == "unsafe");
        let said = flat(tokens(&finder.file)).iter().filter(|tree| is_unsafe(tree)).count();
        assert_eq!(said, finder.sites.len(), "{}: an `unsafe` that is not found: in a macro?", finder.file);
        all.append(&mut finder.sites);
    }
    all
}

/// The tests there are, as the inventory names them: `verbs::name` is in `tests/verbs.rs`,
/// `pool::verbs::merge::name` in `src/pool/verbs/merge.rs`.
fn tests() -> HashSet<String> {
    let mut names = HashSet::new();
    for file in sources("tests").into_iter().chain(sources("src")) {
        let (_, module) = file.trim_end_matches(".rs").split_once('/').expect("a folder");
        let module = module.replace('/', "::");
        let mut awaited = false;
        let trees = flat(tokens(&file));
        for pair in trees.windows(2) {
            awaited |= matches!(&pair[1], TokenTree::Group(group) if group.stream().to_string() == "test");
            if let [TokenTree::Ident(keyword), TokenTree::Ident(name)] = pair
                && keyword == "fn"
                && awaited
            {
                names.insert(format!("{module}::{name}"));
                awaited = false;
            }
        }
    }
    names
}

/// What stands between backquotes.
fn quoted(text: &str) -> Vec<&str> {
    text.split('`').skip(1).step_by(2).collect()
}

/// A line of a table of the inventory.
struct Row<'a> {
    file: String,
    place: &'a str,
    /// May end in `…`.
    code: String,
    line: &'a str,
    tests: Vec<&'a str>,
}

impl<'a> Row<'a> {
    fn new(file: &str, line: &'a str) -> Self {
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        let [place, code, invariant, tests] = cells[..] else { panic!("four cells: {line}") };
        assert!(invariant.len() > 10, "an invariant is missing: {line}");
        Self {
            file: file.to_string(),
            place: place.trim_matches('`'),
            code: squeezed(code.trim_matches('`')),
            line,
            tests: quoted(tests),
        }
    }

    fn is_about(&self, site: &Site) -> bool {
        let same_code = match self.code.strip_suffix('…') {
            Some(beginning) => site.code.starts_with(beginning),
            None => site.code == self.code,
        };
        self.file == site.file && self.place == site.place && same_code
    }
}

/// The tables of the inventory; each is below a heading that is the name of a file.
fn rows(inventory: &str) -> Vec<Row<'_>> {
    let mut file = String::new();
    let mut rows = Vec::new();
    for line in inventory.lines() {
        if let Some(heading) = line.strip_prefix("## ") {
            file = heading.trim_matches('`').to_string();
        } else if line.starts_with("| `") {
            rows.push(Row::new(&file, line));
        }
    }
    rows
}

#[test]
fn every_unsafe_is_listed_with_tests_that_exist() {
    let inventory = read(INVENTORY);
    let mut rows = rows(&inventory);
    let mut wrong = Vec::new();
    for site in sites() {
        match rows.iter().position(|row| row.is_about(&site)) {
            Some(listed) => _ = rows.remove(listed),
            None => wrong.push(format!("not listed: {}", site.row())),
        }
    }
    wrong.extend(rows.iter().map(|row| format!("not in the sources: {}: {}", row.file, row.line)));
    let there = tests();
    for row in self::rows(&inventory) {
        if row.tests.is_empty() {
            wrong.push(format!("no test is named: {}", row.line));
        }
        let missing = row.tests.iter().filter(|test| !there.contains(**test));
        wrong.extend(missing.map(|test| format!("no such test: {test}")));
    }
    assert!(wrong.is_empty(), "{INVENTORY}:\n{}", wrong.join("\n"));
}

/// How often each place of a file has been executed: line, column and count of each segment, in
/// order.
type Segments = Vec<(LineColumn, Option<u64>)>;

/// Reads an export of llvm-cov.
fn segments(export: &str) -> BTreeMap<String, Segments> {
    let export: serde_json::Value = serde_json::from_str(export).expect("JSON");
    let number = |value: &serde_json::Value| value.as_u64().expect("a number");
    let at = |value: &serde_json::Value| usize::try_from(number(value)).expect("a small number");
    let segment = |segment: &serde_json::Value| {
        let place = LineColumn { line: at(&segment[0]), column: at(&segment[1]) - 1 };
        (place, segment[3].as_bool().expect("whether it is counted").then(|| number(&segment[2])))
    };
    let files = export["data"][0]["files"].as_array().expect("files");
    files
        .iter()
        .map(|file| {
            let name = file["filename"].as_str().expect("a name");
            let name = Path::new(name);
            let name = name.strip_prefix(top()).unwrap_or(name).to_str().expect("UTF-8");
            let segments = file["segments"].as_array().expect("segments").iter().map(segment).collect();
            (name.to_string(), segments)
        })
        .collect()
}

/// Whether anything in `range` has been executed. Dereferences and additions have no counter: then
/// what is counted before them.
fn executed(segments: &Segments, range: &Range<LineColumn>) -> bool {
    let counted = || segments.iter().filter_map(|(at, count)| count.map(|count| (at, count)));
    let mut inside = counted().filter(|(at, _)| range.contains(at)).peekable();
    if inside.peek().is_some() {
        return inside.any(|(_, count)| count > 0);
    }
    counted().take_while(|(at, _)| at.line <= range.end.line).last().is_some_and(|(_, count)| count > 0)
}

/// But for the files that the inventory says are not in such a build: `* `file`: why`.
#[test]
fn every_unsafe_block_is_executed() {
    let Some(export) = env::var_os("COVERAGE") else {
        eprintln!("SKIPPED: no export of llvm-cov in COVERAGE");
        return;
    };
    let segments = segments(&fs::read_to_string(export).expect("an export"));
    let inventory = read(INVENTORY);
    let elsewhere: Vec<&str> =
        inventory.lines().filter(|line| line.starts_with("* `")).map(|line| quoted(line)[0]).collect();
    let mut idle = Vec::new();
    for site in sites() {
        if let Some(range) = &site.runs
            && !elsewhere.contains(&&*site.file)
            && !segments.get(&site.file).is_some_and(|segments| executed(segments, range))
        {
            idle.push(format!("{}:{}: {} {}", site.file, range.start.line, site.place, site.code));
        }
    }
    assert!(idle.is_empty(), "never executed:\n{}", idle.join("\n"));
}
