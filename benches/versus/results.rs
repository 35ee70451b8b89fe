//! The figures, as text for programs: a file for each host in `benches/results/`, beside its
//! picture.

use std::{
    collections::HashMap,
    fmt::Write,
    fs, io,
    path::{Path, PathBuf},
};

use crate::{host::Host, row::Row, who::Who};

pub(crate) fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("results")
}

/// Writes a line for each row, with its group. A line that begins with # is a comment.
pub(crate) fn write(path: &Path, host: &Host, control: &str, rows: &[(&str, Row)]) -> io::Result<()> {
    let mut text = format!("# {}\n# {control}\n", host.said());
    text.push_str("group\tname\tunit\tplain\tnanos\tfigure\tcontrol\tbar\tswitches\trayon\topenmp\tmet\n");
    for (group, row) in rows {
        let Some(ours) = row.cell(Who::Rangesteal) else { continue };
        let figure = |figure: Option<f64>| figure.map_or(String::new(), |figure| format!("{figure:.4}"));
        let control = row.cell(Who::Control).map(|cell| cell.figure);
        let switches = ours.cost.map(|(_, switches)| switches);
        let nanos_of = |who| figure(row.cell(who).and_then(|cell| cell.nanos));
        let met = row.met().map_or("", |met| if met { "met" } else { "missed" });
        let _ = writeln!(
            text,
            "{group}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{met}",
            row.key(),
            row.unit.name(),
            row.reference,
            figure(ours.nanos),
            figure(Some(ours.figure)),
            figure(control),
            figure(row.bar),
            figure(switches),
            nanos_of(Who::Rayon),
            nanos_of(Who::OpenMp),
        );
    }
    fs::write(path, text)
}

/// The rows that met their target, for each of some hosts.
pub(crate) struct Results(Vec<HashMap<(String, String), bool>>);

impl Results {
    pub(crate) fn of_other_hosts(host: &Host) -> Self {
        let (own, files) = (format!("{}.tsv", host.file()), fs::read_dir(folder()));
        let paths = files.into_iter().flatten().flatten().map(|file| file.path());
        let is_other = |path: &PathBuf| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            name.starts_with(&host.files()) && name.ends_with(".tsv") && name != own
        };
        Self(
            paths
                .filter(is_other)
                .filter_map(|path| fs::read_to_string(path).ok())
                .map(|text| read(&text))
                .collect(),
        )
    }

    /// The number of hosts on which the row met its target, and the number of hosts that have the
    /// row.
    pub(crate) fn met(&self, group: &str, key: &str) -> (usize, usize) {
        let row = (group.to_owned(), key.to_owned());
        let found: Vec<bool> = self.0.iter().filter_map(|rows| rows.get(&row).copied()).collect();
        (found.iter().filter(|met| **met).count(), found.len())
    }
}

fn read(text: &str) -> HashMap<(String, String), bool> {
    let row = |line: &str| {
        let fields: Vec<&str> = line.split('\t').collect();
        let met = match *fields.last()? {
            "met" => true,
            "missed" => false,
            _ => return None,
        };
        Some((((*fields.first()?).to_owned(), (*fields.get(1)?).to_owned()), met))
    };
    text.lines().filter_map(row).collect()
}
