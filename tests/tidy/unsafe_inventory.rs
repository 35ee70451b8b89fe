//! `src/pool/UNSAFE.md` lists every `unsafe` of `src/` with its argument. After a run with
//! coverage, another test checks that every block was executed.
//!
//! `UPDATE_UNSAFE=1 cargo test -p rangesteal-tidy unsafe` writes the list again.
//!
//! `COVERAGE=one.json:other.json cargo test -p rangesteal-tidy unsafe_inventory` reads the output
//! of `llvm-cov export` for each program that ran. `.ci/long` runs this command.

use std::{collections::BTreeMap, env, fmt::Write, fs, mem, ops::Range, path::Path};

use proc_macro2::{LineColumn, Span, TokenStream, TokenTree};
use syn::{
    Attribute, Block, Expr, ExprClosure, ExprConst, ExprUnsafe, ImplItemConst, ImplItemFn, ItemConst, ItemFn,
    ItemForeignMod, ItemImpl, ItemMod, ItemStatic, ItemTrait, Lit, Meta, Safety, TraitItemConst, TraitItemFn,
    Type, spanned::Spanned, visit,
};

use crate::top;

const INVENTORY: &str = "src/pool/UNSAFE.md";
/// The text above this line is written by hand.
const BY_PROGRAM: &str =
    "<!-- The rest is written by `UPDATE_UNSAFE=1 cargo test -p rangesteal-tidy unsafe`. -->\n";
/// The names of the promises, as comments cite them: `*once*`.
const PROMISES: [&str; 9] = ["once", "inside", "wait", "whole", "own", "room", "slot", "seat", "alive"];
/// A row has at most this many characters of code.
const LONGEST: usize = 80;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Block,
    Function,
    /// An implementation of a trait, or a declaration of foreign functions.
    Implementation,
}

/// One `unsafe` of the sources.
#[derive(Debug)]
struct Site {
    file: String,
    /// The function, with its type if the function belongs to a type. For code outside of
    /// functions, only the type.
    place: String,
    kind: Kind,
    /// The text of the code. For functions and implementations, only the beginning of the text.
    code: String,
    /// The SAFETY comment of the code, or the section *Safety* of a function.
    argument: String,
    /// The position of the code that a program can execute.
    runs: Option<Range<LineColumn>>,
}

impl Site {
    /// A row of the inventory.
    fn row(&self) -> String {
        let mut code: String = self.code.chars().take(LONGEST).collect();
        if code.len() < self.code.len() {
            code.push('…');
        }
        let cell = |text: &str| text.replace('|', "\\|");
        format!("| `{}` | `{}` | {} |", cell(&self.place), cell(&code), cell(&self.argument))
    }

    fn cites(&self, promise: &str) -> bool {
        self.argument.to_lowercase().contains(&format!("*{promise}*"))
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

/// All tokens, also those inside brackets.
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

/// The source text of a node.
pub(super) fn text(of: &impl Spanned) -> String {
    of.span().source_text().expect("the text of what was parsed")
}

fn squeezed(text: &str) -> String {
    text.split_whitespace().collect()
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The last SAFETY comment in these lines, which end at an `unsafe`.
fn comment(lines: &[&str]) -> Option<String> {
    let start = lines.iter().rposition(|line| line.contains("// SAFETY:"))?;
    let comment = lines[start..].iter().map_while(|line| Some(line.split_once("//")?.1));
    let text = one_line(&comment.collect::<Vec<_>>().join(" "));
    Some(text.trim_start_matches("SAFETY:").trim_start().to_string())
}

/// The section *Safety* of a doc comment.
fn section(attributes: &[Attribute]) -> Option<String> {
    let mut lines = Vec::new();
    for attribute in attributes.iter().filter(|attribute| attribute.path().is_ident("doc")) {
        if let Meta::NameValue(doc) = &attribute.meta
            && let Expr::Lit(text) = &doc.value
            && let Lit::Str(text) = &text.lit
        {
            lines.push(text.value().trim().to_string());
        }
    }
    let start = lines.iter().position(|line| line == "# Safety")?;
    Some(without_links(&one_line(&lines[start + 1..].join(" "))))
}

/// Collects the sites of a file.
struct Finder<'a> {
    file: String,
    text: Vec<&'a str>,
    places: Vec<String>,
    /// Whether the compiler evaluates the code: the value of a static or of a constant.
    is_evaluated: bool,
    sites: Vec<Site>,
}

impl Finder<'_> {
    fn note(&mut self, kind: Kind, code: &str, argument: String, runs: Option<Span>) {
        self.sites.push(Site {
            file: self.file.clone(),
            place: self.places.join("::"),
            kind,
            code: one_line(code),
            argument,
            runs: runs.filter(|_| !self.is_evaluated).map(|span| span.start()..span.end()),
        });
    }

    /// The argument of an `unsafe` at `span`.
    fn argument(&self, span: Span) -> String {
        comment(&self.text[..span.start().line]).unwrap_or_default()
    }

    fn within(&mut self, place: String, visit: impl FnOnce(&mut Self)) {
        self.places.push(place);
        visit(self);
        self.places.pop();
    }

    /// `evaluated` says of the code that `visit` visits whether the compiler evaluates it.
    fn inside(&mut self, evaluated: bool, visit: impl FnOnce(&mut Self)) {
        let around = mem::replace(&mut self.is_evaluated, evaluated);
        visit(self);
        self.is_evaluated = around;
    }

    fn function(
        &mut self,
        name: &impl ToString,
        attributes: &[Attribute],
        safety: &Safety,
        body: Option<&Block>,
    ) {
        self.within(name.to_string(), |this| {
            this.inside(false, |this| {
                if matches!(safety, Safety::Unsafe(_)) {
                    let argument = section(attributes).unwrap_or_else(|| "as its trait says".to_string());
                    this.note(Kind::Function, "unsafe fn", argument, body.map(Block::span));
                }
                if let Some(body) = body {
                    visit::visit_block(this, body);
                }
            });
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

impl<'ast> visit::Visit<'ast> for Finder<'_> {
    fn visit_expr_unsafe(&mut self, block: &'ast ExprUnsafe) {
        let argument = self.argument(block.unsafe_token.span);
        self.note(Kind::Block, &text(block), argument, Some(block.block.span()));
        visit::visit_expr_unsafe(self, block);
    }

    fn visit_expr_closure(&mut self, closure: &'ast ExprClosure) {
        self.inside(false, |this| visit::visit_expr_closure(this, closure)); // runs when it is called
    }

    fn visit_expr_const(&mut self, block: &'ast ExprConst) {
        self.inside(true, |this| visit::visit_expr_const(this, block));
    }

    fn visit_item_const(&mut self, item: &'ast ItemConst) {
        self.inside(true, |this| visit::visit_item_const(this, item));
    }

    fn visit_impl_item_const(&mut self, item: &'ast ImplItemConst) {
        self.inside(true, |this| visit::visit_impl_item_const(this, item));
    }

    fn visit_trait_item_const(&mut self, item: &'ast TraitItemConst) {
        self.inside(true, |this| visit::visit_trait_item_const(this, item));
    }

    fn visit_item_static(&mut self, item: &'ast ItemStatic) {
        self.inside(true, |this| visit::visit_item_static(this, item));
    }

    fn visit_item_fn(&mut self, item: &'ast ItemFn) {
        self.function(&item.sig.ident, &item.attrs, &item.sig.safety, Some(&item.block));
    }

    fn visit_impl_item_fn(&mut self, item: &'ast ImplItemFn) {
        self.function(&item.sig.ident, &item.attrs, &item.sig.safety, Some(&item.block));
    }

    fn visit_trait_item_fn(&mut self, item: &'ast TraitItemFn) {
        self.function(&item.sig.ident, &item.attrs, &item.sig.safety, item.default.as_ref());
    }

    fn visit_item_impl(&mut self, item: &'ast ItemImpl) {
        self.within(name(&item.self_ty), |this| {
            if let Some(keyword) = &item.unsafety {
                let (of, _) = item.trait_.as_ref().expect("only traits are unsafe to implement");
                let argument = this.argument(keyword.span);
                this.note(Kind::Implementation, &format!("unsafe impl {}", text(of)), argument, None);
            }
            visit::visit_item_impl(this, item);
        });
    }

    fn visit_item_trait(&mut self, item: &'ast ItemTrait) {
        self.within(item.ident.to_string(), |this| {
            if item.unsafety.is_some() {
                let argument = section(&item.attrs).unwrap_or_default();
                this.note(Kind::Implementation, "unsafe trait", argument, None);
            }
            visit::visit_item_trait(this, item);
        });
    }

    fn visit_item_mod(&mut self, item: &'ast ItemMod) {
        self.within(item.ident.to_string(), |this| visit::visit_item_mod(this, item));
    }

    fn visit_item_foreign_mod(&mut self, item: &'ast ItemForeignMod) {
        if item.unsafety.is_some() {
            let argument = "as the system declares them".to_string();
            self.note(Kind::Implementation, "unsafe extern", argument, None);
        }
    }
}

/// Every `unsafe` of a file.
fn sites_of(file: &str, text: &str) -> Vec<Site> {
    let parsed = syn::parse_file(text).unwrap_or_else(|error| panic!("{file}: {error}"));
    let (file, text) = (file.to_string(), text.lines().collect());
    let mut finder = Finder { file, text, places: Vec::new(), is_evaluated: false, sites: Vec::new() };
    visit::Visit::visit_file(&mut finder, &parsed);
    finder.sites
}

/// Every `unsafe` of `src/`.
fn sites() -> Vec<Site> {
    let mut all = Vec::new();
    for file in sources("src") {
        let mut sites = sites_of(&file, &read(&file));
        let is_unsafe = |tree: &TokenTree| matches!(tree, TokenTree::Ident(ident) if ident == "unsafe");
        let said = flat(tokens(&file)).iter().filter(|tree| is_unsafe(tree)).count();
        assert_eq!(said, sites.len(), "{file}: an `unsafe` that is not found: in a macro?");
        all.append(&mut sites);
    }
    all
}

/// The texts between backticks.
fn quoted(text: &str) -> Vec<&str> {
    text.split('`').skip(1).step_by(2).collect()
}

/// The part of the inventory that a program writes.
fn inventory(sites: &[Site]) -> String {
    let files: Vec<_> = sites.chunk_by(|one, next| one.file == next.file).collect();
    let mut text =
        "\n| file | blocks | functions | implementations | promises it cites |\n|---|---|---|---|---|\n"
            .to_string();
    for sites in &files {
        let count = |kind| sites.iter().filter(|site| site.kind == kind).count();
        let cited = PROMISES.iter().filter(|promise| sites.iter().any(|site| site.cites(promise)));
        let [blocks, functions, implementations] =
            [Kind::Block, Kind::Function, Kind::Implementation].map(count);
        let promises = cited.copied().collect::<Vec<_>>().join(", ");
        let file = &sites[0].file;
        writeln!(text, "| `{file}` | {blocks} | {functions} | {implementations} | {promises} |").unwrap();
    }
    for sites in &files {
        write!(text, "\n## `{}`\n\n| where | what | argument |\n|---|---|---|\n", sites[0].file).unwrap();
        for site in *sites {
            writeln!(text, "{}", site.row()).unwrap();
        }
    }
    text
}

/// `[text](address)` and `[text]` become `text`.
fn without_links(text: &str) -> String {
    let mut left = String::new();
    let mut rest = text;
    while let Some((before, behind)) = rest.split_once('[') {
        left.push_str(before);
        let Some((inner, behind)) = behind.split_once(']') else {
            left.push('[');
            rest = behind;
            continue;
        };
        let address = behind.strip_prefix('(').and_then(|address| address.split_once(')'));
        if before.ends_with(|letter: char| letter.is_alphanumeric() || letter == '#') {
            write!(left, "[{inner}]").unwrap(); // an index or an attribute
            rest = behind;
        } else {
            left.push_str(inner);
            rest = address.map_or(behind, |(_, behind)| behind);
        }
    }
    left + rest
}

#[test]
fn every_unsafe_is_listed_with_its_argument() {
    let sites = sites();
    let silent: Vec<_> = sites.iter().filter(|site| site.argument.is_empty()).collect();
    assert!(silent.is_empty(), "without an argument: {silent:#?}");
    let there = read(INVENTORY);
    let (by_hand, listed) = there.split_once(BY_PROGRAM).expect("the line where the program begins");
    let inventory = inventory(&sites);
    if env::var_os("UPDATE_UNSAFE").is_some() {
        fs::write(top().join(INVENTORY), format!("{by_hand}{BY_PROGRAM}{inventory}")).expect("a file");
        return;
    }
    let differ = |one: &str, other: &str| -> Vec<String> {
        one.lines().filter(|line| !other.lines().any(|row| row == *line)).map(str::to_string).collect()
    };
    let (missing, stale) = (differ(&inventory, listed), differ(listed, &inventory));
    assert!(
        inventory == listed,
        "{INVENTORY} is not up to date: see its comment.\nmissing:\n{}\nstale:\n{}",
        missing.join("\n"),
        stale.join("\n")
    );
}

#[test]
fn arguments_are_found_above_what_they_are_of() {
    let text = "    // SAFETY: one,\n    // two.\n    let x = 1;\n    f(unsafe { g() }); // Other.";
    assert_eq!(comment(&text.lines().collect::<Vec<_>>()).unwrap(), "one, two.");
    assert_eq!(comment(&["// Other.", "unsafe { g() }"]), None);
    let function: ItemFn = syn::parse_quote!(
        #[doc = " What."]
        #[doc = " # Safety"]
        #[doc = " *Once*:"]
        #[doc = "  [a](b)."]
        unsafe fn f() {}
    );
    assert_eq!(section(&function.attrs).unwrap(), "*Once*: a.");
    assert_eq!(section(&[]), None);
}

/// No program executes what the compiler evaluates: the values of statics and constants, but for
/// the closures and functions in them.
#[test]
fn code_that_the_compiler_evaluates_is_not_expected_to_run() {
    let text = "
        static A: u8 = unsafe { a() };
        static B: Lazy = Lazy::new(|| unsafe { b() });
        const C: u8 = { unsafe fn c() {} unsafe { d() } };
        impl T { const E: u8 = unsafe { e() }; fn f() { unsafe { f() } } }
        trait U { const G: u8 = unsafe { g() }; }
        fn h() { const { unsafe { h() } }; unsafe { i() } }
    ";
    let runs = |site: &Site| site.runs.is_some().then(|| site.code.clone());
    assert_eq!(
        sites_of("some.rs", text).iter().filter_map(runs).collect::<Vec<_>>(),
        ["unsafe { b() }", "unsafe fn", "unsafe { f() }", "unsafe { i() }"]
    );
}

/// The execution counts of a file: the position and the count of each segment, in order.
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

/// Whether any code in `range` has been executed. Dereferences and additions have no counter. For
/// such code, the last counter up to its line decides.
fn executed(segments: &Segments, range: &Range<LineColumn>) -> bool {
    let counted = || segments.iter().filter_map(|(at, count)| count.map(|count| (at, count)));
    let mut inside = counted().filter(|(at, _)| range.contains(at)).peekable();
    if inside.peek().is_some() {
        return inside.any(|(_, count)| count > 0);
    }
    counted().take_while(|(at, _)| at.line <= range.end.line).last().is_some_and(|(_, count)| count > 0)
}

/// The inventory lists files that a build with coverage does not contain, in the form `* `file`:
/// why`. These files are exempt, and so is code that the compiler evaluates.
#[test]
fn every_unsafe_block_is_executed() {
    let Some(exports) = env::var_os("COVERAGE") else {
        eprintln!("SKIPPED: no export of llvm-cov in COVERAGE");
        return;
    };
    let export = |path| segments(&fs::read_to_string(path).expect("an export"));
    let programs: Vec<_> = env::split_paths(&exports).map(export).collect();
    let inventory = read(INVENTORY);
    let elsewhere: Vec<&str> =
        inventory.lines().filter(|line| line.starts_with("* `")).map(|line| quoted(line)[0]).collect();
    let mut idle = Vec::new();
    for site in sites() {
        if let Some(range) = &site.runs
            && !elsewhere.contains(&&*site.file)
            && !programs
                .iter()
                .any(|files| files.get(&site.file).is_some_and(|segments| executed(segments, range)))
        {
            idle.push(format!("{}:{}: {} {}", site.file, range.start.line, site.place, site.code));
        }
    }
    assert!(idle.is_empty(), "never executed:\n{}", idle.join("\n"));
}
