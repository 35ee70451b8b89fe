//! Web pages and the links between them.

use std::mem;

use crate::uniform::uniform;

const DAMPING: f64 = 0.85;
const LINKS_A_PAGE: usize = 10;

/// The links between pages.
pub(crate) struct Web {
    begins: Vec<usize>,
    sources: Vec<usize>,
    /// The number of links on each page.
    degrees: Vec<f64>,
}

impl Web {
    /// A page with a smaller number has more links to it.
    pub(crate) fn new(pages: usize) -> Self {
        let mut random = uniform();
        let mut to = vec![Vec::new(); pages];
        for source in 0..pages {
            for _ in 0..LINKS_A_PAGE {
                to[(random().powi(4) * pages as f64) as usize].push(source);
            }
        }
        let begins = to.iter().map(Vec::len).scan(0, |end, links| Some(mem::replace(end, *end + links)));
        let begins = begins.chain([pages * LINKS_A_PAGE]).collect();
        Self { begins, sources: to.concat(), degrees: vec![LINKS_A_PAGE as f64; pages] }
    }

    /// For each page, the index in [`sources`](Self::sources) of the first link to it; then the end
    /// of the last page's links.
    pub(crate) fn begins(&self) -> &[usize] {
        &self.begins
    }

    /// The page of each link, a number below [`pages`](Self::pages).
    pub(crate) fn sources(&self) -> &[usize] {
        &self.sources
    }

    pub(crate) fn degrees(&self) -> &[f64] {
        &self.degrees
    }

    pub(crate) fn pages(&self) -> usize {
        self.degrees.len()
    }

    /// The rank of a page: the sum of the ranks that pages pass on with their links to this page.
    #[inline(always)]
    pub(crate) fn rank(&self, page: usize, shares: &[f64]) -> f64 {
        let sources = &self.sources[self.begins[page]..self.begins[page + 1]];
        let passed_on: f64 = sources.iter().map(|&source| shares[source]).sum();
        (1.0 - DAMPING) / self.pages() as f64 + DAMPING * passed_on
    }
}
