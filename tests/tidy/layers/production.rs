//! Production code. Code for tests is blanked out in a file, so that later checks need not know
//! about tests.

use std::ops::Range;

use proc_macro2::TokenStream;
use syn::{
    Arm, Attribute, Block, Field, FieldPat, FieldValue, File, ForeignItem, ImplItem, ImplItemFn, Item,
    ItemFn, Meta, Stmt, Token, TraitItem, TraitItemFn, Variant,
    parse::{ParseStream, Parser},
    punctuated::Punctuated,
    spanned::Spanned,
    visit::{self, Visit},
};

use super::arrows::Path;
use crate::unsafe_inventory::text;

/// Only builds of this repository set these conditions.
const ONLY_TESTS: [&str; 5] = ["test", "planted", "loom", "shuttle", "doctest"];

/// Whether a condition holds in builds without tests. `None` if the answer depends on the build.
fn holds(condition: &Meta) -> Option<bool> {
    match condition {
        Meta::Path(path) if ONLY_TESTS.iter().any(|name| path.is_ident(name)) => Some(false),
        Meta::List(list) => {
            let inner = list.parse_args_with(Punctuated::<Meta, Token![,]>::parse_terminated);
            let inner: Vec<_> = inner.expect("conditions").iter().map(holds).collect();
            if list.path.is_ident("not") {
                return inner[0].map(|holds| !holds);
            }
            let decisive = list.path.is_ident("any");
            match () {
                () if inner.contains(&Some(decisive)) => Some(decisive),
                () if inner.contains(&None) => None,
                () => Some(!decisive),
            }
        }
        _ => None,
    }
}

/// Whether the attributes exclude an item from all builds without tests.
fn leave_out(attributes: &[Attribute]) -> bool {
    let mut conditions = attributes.iter().filter(|attribute| attribute.path().is_ident("cfg"));
    conditions.any(|cfg| cfg.parse_args().is_ok_and(|condition| holds(&condition) == Some(false)))
}

/// Whether a node's own attributes exclude it from all builds without tests.
fn is_of_tests(node: &impl Spanned) -> bool {
    let attributes = |input: ParseStream<'_>| {
        let attributes = input.call(Attribute::parse_outer)?;
        input.parse::<TokenStream>().map(|_| attributes)
    };
    let text = text(node);
    text.starts_with(['#', '/']) && leave_out(&attributes.parse_str(&text).expect("attributes"))
}

/// A file without its tests.
pub(super) struct Source {
    /// The text of the file, with blanks in the place of code for tests.
    pub(super) text: String,
    pub(super) functions: Vec<Function>,
    /// Modules for tests, in this file or in others.
    pub(super) of_tests: Vec<Path>,
}

/// A function of production code.
pub(super) struct Function {
    pub(super) line: usize,
    pub(super) name: String,
    /// The body, including code for tests.
    pub(super) body: String,
}

impl Source {
    pub(super) fn new(module: Path, text: &str, parsed: &File) -> Self {
        let mut cutter =
            Cutter { text, module, cuts: Vec::new(), of_tests: Vec::new(), functions: Vec::new() };
        cutter.visit_file(parsed);
        if leave_out(&parsed.attrs) {
            cutter.of_tests.push(cutter.module);
        }
        let Cutter { cuts, of_tests, functions, .. } = cutter;
        Self { text: blanked(text, &cuts), functions, of_tests }
    }
}

/// Finds code for tests.
struct Cutter<'a> {
    text: &'a str,
    module: Path,
    cuts: Vec<Range<usize>>,
    of_tests: Vec<Path>,
    functions: Vec<Function>,
}

impl Cutter<'_> {
    /// If a node is for tests, notes its range, with the comma behind the node. Returns whether the
    /// node is for tests.
    fn cut(&mut self, node: &impl Spanned) -> bool {
        let is_cut = is_of_tests(node);
        if is_cut {
            let range = node.span().byte_range();
            let behind = &self.text[range.end..];
            let comma = behind.trim_start().strip_prefix(',');
            self.cuts.push(range.start..self.text.len() - comma.unwrap_or(behind).len());
        }
        is_cut
    }

    fn function(&mut self, name: &impl ToString, body: Option<&Block>) {
        let function =
            |of: &Block| Function { line: of.span().start().line, name: name.to_string(), body: text(of) };
        self.functions.extend(body.map(function));
    }
}

macro_rules! cut_if_of_tests {
    ($($visit:ident: $node:ty),*) => { $(
        fn $visit(&mut self, node: &'ast $node) {
            if !self.cut(node) {
                visit::$visit(self, node);
            }
        }
    )* };
}

impl<'ast> Visit<'ast> for Cutter<'_> {
    cut_if_of_tests!(visit_stmt: Stmt, visit_arm: Arm, visit_field: Field, visit_variant: Variant);
    cut_if_of_tests!(visit_field_value: FieldValue, visit_field_pat: FieldPat);
    cut_if_of_tests!(visit_impl_item: ImplItem, visit_trait_item: TraitItem, visit_foreign_item: ForeignItem);

    fn visit_item(&mut self, item: &'ast Item) {
        if let Item::Mod(module) = item {
            self.module.push(module.ident.to_string());
        }
        if !self.cut(item) {
            visit::visit_item(self, item);
        } else if matches!(item, Item::Mod(_)) {
            self.of_tests.push(self.module.clone());
        }
        if matches!(item, Item::Mod(_)) {
            self.module.pop();
        }
    }

    fn visit_item_fn(&mut self, item: &'ast ItemFn) {
        self.function(&item.sig.ident, Some(&item.block));
        visit::visit_item_fn(self, item);
    }

    fn visit_impl_item_fn(&mut self, item: &'ast ImplItemFn) {
        self.function(&item.sig.ident, Some(&item.block));
        visit::visit_impl_item_fn(self, item);
    }

    fn visit_trait_item_fn(&mut self, item: &'ast TraitItemFn) {
        self.function(&item.sig.ident, item.default.as_ref());
        visit::visit_trait_item_fn(self, item);
    }
}

/// The text with blanks in `ranges`.
fn blanked(text: &str, ranges: &[Range<usize>]) -> String {
    let is_cut = |at: usize| ranges.iter().any(|range| range.contains(&at));
    let blank = |(at, letter): (usize, char)| match letter {
        '\n' => letter.to_string(),
        _ if is_cut(at) => " ".repeat(letter.len_utf8()),
        _ => letter.to_string(),
    };
    text.char_indices().map(blank).collect()
}
