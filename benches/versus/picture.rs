//! The table as an SVG, for people.

use std::{
    env,
    fmt::{self, Write},
    fs, io,
    path::{Path, PathBuf},
};

use crate::{
    results,
    row::{Row, Unit},
    table::{Reference, Table},
    who::Who,
};

// Okabe and Ito's blue and vermilion, which colour-blind readers can tell apart.
const BETTER: &str = "#0072B2";
const WORSE: &str = "#D55E00";
const INK: &str = "#222222";
const PALE: &str = "#666666";
const FAINT: &str = "#DDDDDD";

const HEAD: f64 = 70.0;
const LINE: f64 = 30.0;
const NAMES: f64 = 20.0;
/// Room for the name of a group.
const GROUP: f64 = 76.0;
const REFERENCE: f64 = 600.0;
const BAR: f64 = 740.0;
const FIRST: f64 = 760.0;
const CELL: f64 = 142.0;
/// The part of a cell for its bar. The number stands to the right of this part.
const SCALE: f64 = 72.0;

/// Writes the picture of `table` and returns its path.
pub(crate) fn draw(table: &Table) -> io::Result<PathBuf> {
    let path = results::folder().join(format!("{}.svg", table.host.file()));
    let mut svg = String::new();
    write_svg(&mut svg, table).map_err(io::Error::other)?;
    fs::create_dir_all(results::folder())?;
    fs::write(&path, svg)?;
    Ok(path)
}

fn write_svg(svg: &mut String, table: &Table) -> fmt::Result {
    let width = FIRST + CELL * table.columns.len() as f64 + 10.0;
    let foot = HEAD + LINE * table.rows.len() as f64 + 24.0;
    let height = foot + 68.0;
    writeln!(
        svg,
        r#"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" font-family="DejaVu Sans, Verdana, sans-serif" font-size="12" fill="{INK}">"#
    )?;
    writeln!(svg, r##"<rect width="{width}" height="{height}" rx="8" fill="#FFFFFF"/>"##)?;
    text(
        svg,
        NAMES,
        24.0,
        "start",
        15,
        &format!(
            "Time relative to {}: less is better. Below: CPU time likewise, and context switches a call (c)",
            table.reference.said()
        ),
    )?;
    text(svg, REFERENCE, 56.0, "end", 12, table.reference.name())?;
    text(svg, BAR, 56.0, "end", 12, "bar")?;
    for (i, who) in table.columns.iter().enumerate() {
        text(svg, FIRST + CELL * i as f64, 56.0, "start", 13, who.name())?;
    }
    legend(svg, table.reference, width)?;
    let mut last = "";
    for (i, (group, row)) in table.rows.iter().enumerate() {
        let y = HEAD + LINE * i as f64;
        if *group != last {
            last = group;
            writeln!(svg, r#"<path d="M{NAMES} {y}H{:.0}" stroke="{FAINT}"/>"#, width - 20.0)?;
            text(svg, NAMES, y + 15.0, "start", 12, group)?;
        }
        text(svg, NAMES + GROUP, y + 15.0, "start", 12, &row.name)?;
        text(svg, REFERENCE, y + 15.0, "end", 12, &row.reference)?;
        if let Some(bar) = row.bar {
            let verdict = table.verdict(group, row, "✓", "✗").unwrap_or_default();
            text(svg, BAR, y + 15.0, "end", 12, &format!("{} {verdict}", row.unit.write(bar)))?;
        }
        for (i, who) in table.columns.iter().enumerate() {
            cell(svg, table.reference, row, *who, FIRST + CELL * i as f64, y)?;
        }
    }
    text(svg, NAMES, foot, "start", 11, &table.host.said())?;
    text(svg, NAMES, foot + 20.0, "start", 11, &table.control())?;
    text(svg, NAMES, foot + 40.0, "start", 11, &versions(table).join(", "))?;
    writeln!(svg, "</svg>")
}

fn legend(svg: &mut String, reference: Reference, width: f64) -> fmt::Result {
    let worse = match reference {
        Reference::Plain => "worse than plain (or than the bar)",
        Reference::Bound => "worse than the bar",
    };
    for (x, colour, meaning) in [(330.0, BETTER, "better"), (250.0, WORSE, worse)] {
        writeln!(svg, r#"<rect x="{}" y="15" width="12" height="10" fill="{colour}"/>"#, width - x)?;
        text(svg, width - x + 17.0, 24.0, "start", 11, meaning)?;
    }
    Ok(())
}

/// A bar as long as the figure, a line across it for the row's target, and the figure.
fn cell(svg: &mut String, reference: Reference, row: &Row, who: Who, x: f64, y: f64) -> fmt::Result {
    let Some(cell) = row.cell(who) else { return Ok(()) };
    // Ratios to the plain loop all have one scale. Other figures are scaled to their target.
    let (full, limit) = match (row.unit, row.bar) {
        (Unit::Ratio, _) if reference == Reference::Plain => (1.5, 1.0),
        (Unit::Ratio, None) => (2.0, f64::INFINITY),
        (_, Some(bar)) => (2.0 * bar, bar),
        (_, None) => (2.0 * cell.figure, cell.figure),
    };
    let length = SCALE * (cell.figure / full).clamp(0.0, 1.0);
    let colour = if row.unit.reaches(cell.figure, limit) { BETTER } else { WORSE };
    writeln!(svg, r#"<rect x="{x}" y="{}" width="{length:.1}" height="10" fill="{colour}"/>"#, y + 6.0)?;
    if cell.figure > full {
        let (tip, top) = (x + SCALE, y + 6.0);
        writeln!(svg, r#"<path d="M{tip} {top}l6 5l-6 5z" fill="{colour}"/>"#)?;
    }
    if let Some(bar) = row.bar.filter(|bar| *bar <= full) {
        let (x, top) = (x + SCALE * bar / full, y + 3.0);
        writeln!(svg, r#"<path d="M{x:.1} {top}v16" stroke="{INK}" stroke-width="1.5"/>"#)?;
    }
    text(svg, x + SCALE + 9.0, y + 15.0, "start", 11, &row.unit.write(cell.figure))?;
    if let Some((cpu, switches)) = cell.cost {
        small(svg, x, y, &format!("CPU {}, {switches:.1} c", row.unit.write(cpu)))?;
    } else if cell.is_computed() {
        small(svg, x, y, "computed")?;
    }
    Ok(())
}

/// The text below a figure.
fn small(svg: &mut String, x: f64, y: f64, text: &str) -> fmt::Result {
    writeln!(svg, r#"<text x="{x}" y="{}" font-size="9" fill="{PALE}">{text}</text>"#, y + 26.0)
}

fn text(svg: &mut String, x: f64, y: f64, anchor: &str, size: u32, text: &str) -> fmt::Result {
    let text = text.replace('&', "&amp;").replace('<', "&lt;");
    writeln!(svg, r#"<text x="{x}" y="{y}" text-anchor="{anchor}" font-size="{size}">{text}</text>"#)
}

/// Names and versions of all executors. The versions of crates come from Cargo.lock.
fn versions(table: &Table) -> Vec<String> {
    let lock =
        fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../Cargo.lock")).unwrap_or_default();
    let version = |name: &str| {
        let package =
            lock.split("[[package]]").find(|package| package.contains(&format!("name = \"{name}\"\n")));
        package?
            .lines()
            .find_map(|line| line.strip_prefix("version = "))
            .map(|version| version.replace('"', ""))
    };
    let known = |name: &str| table.foreign.iter().find(|(foreign, _)| *foreign == name);
    let one = |who: &Who| {
        let name = who.name();
        let version = known(name).map(|(_, version)| version.clone()).or_else(|| version(name));
        format!("{name} {}", version.unwrap_or_default())
    };
    let is_no_crate = |who: &&Who| matches!(who, Who::Control | Who::On | Who::Plain | Who::Threads);
    table.columns.iter().filter(|who| !is_no_crate(who)).map(one).collect()
}
