//! A sparse symmetric matrix.

use crate::uniform::uniform;

/// The entries beside the diagonal that a row adds. Each of them has a mirror image in another row.
const LINKS_A_ROW: usize = 3;

/// A positive definite matrix, row by row.
pub(crate) struct Matrix {
    begins: Vec<usize>,
    columns: Vec<usize>,
    values: Vec<f64>,
}

impl Matrix {
    /// Each row has a few entries near the diagonal, as in a mesh. The entry on the diagonal is
    /// larger than the sum of all others in the row, so the matrix is positive definite.
    pub(crate) fn new(rows: usize) -> Self {
        let mut random = uniform();
        let near = (rows as f64).sqrt();
        let mut all = vec![Vec::new(); rows];
        for row in 0..rows {
            for _ in 0..LINKS_A_ROW {
                let (column, weight) = ((row + 1 + (random() * near) as usize) % rows, random());
                all[row].push((column, -weight));
                all[column].push((row, -weight));
            }
        }
        for (row, entries) in all.iter_mut().enumerate() {
            let beside: f64 = entries.iter().map(|(_, value)| value).sum();
            entries.push((row, 1.0 - beside));
            entries.sort_by_key(|(column, _)| *column);
        }
        let mut begins = vec![0];
        begins.extend(all.iter().map(Vec::len).scan(0, |end, entries| {
            *end += entries;
            Some(*end)
        }));
        let (columns, values) = all.concat().into_iter().unzip();
        Self { begins, columns, values }
    }

    pub(crate) fn rows(&self) -> usize {
        self.begins.len() - 1
    }

    /// For each row, the index in [`columns`](Self::columns) and [`values`](Self::values) of its
    /// first entry; then the end of the last row's entries.
    pub(crate) fn begins(&self) -> &[usize] {
        &self.begins
    }

    /// The column of each entry, a number below [`rows`](Self::rows).
    pub(crate) fn columns(&self) -> &[usize] {
        &self.columns
    }

    pub(crate) fn values(&self) -> &[f64] {
        &self.values
    }

    /// The dot product of a row and a vector.
    #[inline(always)]
    pub(crate) fn times(&self, row: usize, vector: &[f64]) -> f64 {
        let entries = self.begins[row]..self.begins[row + 1];
        let entries = self.columns[entries.clone()].iter().zip(&self.values[entries]);
        entries.map(|(&column, value)| value * vector[column]).sum()
    }
}
