//! The tables, pages and links of the guide.

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    documents::{between, slug},
    unsafe_inventory::{read, sources},
};

/// The page that lists the other pages.
const LIST: &str = "src/guide.rs";

/// A row of a table with two columns.
#[derive(Debug)]
pub(crate) struct Row {
    /// The heading (`#`) above this row.
    pub(crate) part: String,
    /// The title of the first column of the table.
    pub(crate) title: String,
    pub(crate) there: String,
    pub(crate) here: String,
}

/// The rows of all tables in the comments of a file.
pub(crate) fn rows(file: &str) -> Vec<Row> {
    let text = read(file);
    let (mut part, mut title) = (String::new(), None);
    let (mut rows, mut is_code) = (Vec::new(), false);
    for line in text.lines().filter_map(|line| line.strip_prefix("//!")).map(str::trim) {
        is_code ^= line.starts_with("```");
        let Some(row) = line.strip_prefix("| ") else {
            if let Some(heading) = line.strip_prefix("# ").filter(|_| !is_code) {
                heading.clone_into(&mut part);
            }
            if !line.starts_with('|') {
                title = None;
            }
            continue;
        };
        let cells = row.strip_suffix(" |").unwrap_or_else(|| panic!("{file}: a row without an end: {line}"));
        let (there, here) = cells.split_once(" | ").unwrap_or_else(|| panic!("{file}: one column: {line}"));
        assert!(!here.contains(" | "), "{file}: three columns: {line}");
        let (there, here) = (there.to_owned(), here.to_owned());
        match &title {
            None => title = Some(there),
            Some(title) => rows.push(Row { part: part.clone(), title: title.clone(), there, here }),
        }
    }
    rows
}

/// The texts between backticks.
pub(crate) fn spans(cell: &str) -> Vec<&str> {
    assert!(cell.matches('`').count().is_multiple_of(2), "a backtick too many: {cell}");
    cell.split('`').skip(1).step_by(2).collect()
}

/// The methods that an expression calls, each with the text of its receiver.
pub(crate) fn methods(expression: &str) -> Vec<(&str, &str)> {
    let mut found = Vec::new();
    for (dot, _) in expression.match_indices('.') {
        let (before, behind) = (&expression[..dot], &expression[dot + 1..]);
        let end =
            behind.find(|letter: char| letter != '_' && !letter.is_alphanumeric()).unwrap_or(behind.len());
        let (name, rest) = behind.split_at(end);
        let is_name = name.starts_with(|letter: char| letter.is_alphabetic());
        if is_name && !before.ends_with('.') && (rest.starts_with('(') || rest.starts_with("::<")) {
            found.push((name, before));
        }
    }
    found
}

#[test]
fn methods_are_found_in_expressions() {
    let expression = "pool.on(0..n.min(2)).map(f).collect::<Vec<u8>>().0.len()";
    let found: Vec<_> = methods(expression).into_iter().map(|(name, _)| name).collect();
    assert_eq!(found, ["on", "min", "map", "collect", "len"]);
    assert_eq!(methods("pool.on(0..n(1))"), [("on", "pool")]);
    assert_eq!(spans("`a`, `b c`: d"), ["a", "b c"]);
}

/// The part of a line behind its leading generic arguments.
fn behind_generics(line: &str) -> Option<&str> {
    let mut depth = 0_usize;
    for (at, letter) in line.char_indices() {
        match letter {
            '<' => depth += 1,
            '>' => depth = depth.checked_sub(1)?,
            _ if depth == 0 => return Some(&line[at..]),
            _ => {}
        }
    }
    None
}

#[test]
fn generic_arguments_are_passed_by() {
    for line in ["::map(self)", "<C, P>::map(self)", "<C, OnPool<'p, E>>::map(self)"] {
        assert_eq!(behind_generics(line), Some("::map(self)"));
    }
    assert_eq!(behind_generics("<C, P"), None);
}

/// The methods of a type of this crate, as `tests/tidy/api.txt` lists them.
pub(crate) fn own_methods(of: &str) -> BTreeSet<String> {
    let surface = read("tests/tidy/api.txt");
    let lines = surface.lines().filter_map(|line| line.strip_prefix("pub fn rangesteal::")?.strip_prefix(of));
    // `On<C, rangesteal::options::OnPool<'p, E>>::fold<A>(self, ..)`
    let methods =
        lines.filter_map(|line| behind_generics(line)?.strip_prefix("::")?.split(['<', '(']).next());
    let methods: BTreeSet<_> = methods.map(str::to_owned).collect();
    assert!(!methods.is_empty(), "no method of {of} is listed");
    methods
}

/// The lines of a page that rustdoc shows.
fn shown(page: &str) -> Vec<String> {
    let text = read(page);
    let lines = text.lines().map_while(|line| line.strip_prefix("//!"));
    lines.map(|line| line.strip_prefix(' ').unwrap_or(line).to_owned()).collect()
}

/// For each page, by the name of its module: the names of its headings in links.
fn headings() -> BTreeMap<String, BTreeSet<String>> {
    let pages = sources("src/guide").into_iter().filter_map(|page| {
        let name = page.strip_prefix("src/guide/")?.strip_suffix(".rs")?.to_owned();
        let (mut is_code, mut found) = (false, BTreeSet::new());
        for line in shown(&page) {
            is_code ^= line.trim_start().starts_with("```");
            if line.starts_with('#') && !is_code {
                found.insert(slug(line.trim_start_matches('#')));
            }
        }
        Some((name, found))
    });
    pages.collect()
}

#[test]
fn each_page_is_listed_and_begins_with_an_example() {
    let list = shown(LIST);
    let listed = list.iter().filter_map(|line| line.strip_prefix("* [")?.split_once("](")?.1.split_once(')'));
    let listed: BTreeSet<_> = listed.map(|(page, _)| page.to_owned()).collect();
    let pages = headings().into_keys().collect::<BTreeSet<_>>();
    assert_eq!(listed, pages, "{LIST} lists the first, and the second are there");
    for page in &pages {
        let lines = shown(&format!("src/guide/{page}.rs"));
        let begins = lines[1].is_empty() && ["```", "```sh", "```toml"].contains(&&*lines[2]);
        assert!(begins, "{page}: one line, and then an example or commands");
    }
}

/// rustdoc checks the page that a link names, but not the heading.
#[test]
fn links_to_headings_of_the_guide_lead_somewhere() {
    let headings = headings();
    let mut count = 0;
    for file in sources("src") {
        let own = file.strip_prefix("src/guide/").and_then(|page| page.strip_suffix(".rs"));
        let text = read(&file);
        for link in between(&text, "](", ")") {
            let Some((path, heading)) = link.split_once('#') else { continue };
            let page = match (path.strip_prefix("crate::guide::"), path.strip_prefix("super::")) {
                (Some(page), _) => page,
                (None, Some(page)) if own.is_some() => page,
                (None, None) if path.is_empty() && own.is_some() => own.unwrap_or_default(),
                _ => continue,
            };
            let is_there = headings.get(page).is_some_and(|headings| headings.contains(heading));
            assert!(is_there, "{file}: {link}");
            count += 1;
        }
    }
    assert!(count > 10, "{count} links");
}
