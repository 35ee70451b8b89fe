//! Random numbers, the same in every run.

/// Knuth's MMIX generator (The Art of Computer Programming 2, section 3.3.4).
pub(crate) struct Random(u64);

impl Default for Random {
    fn default() -> Self {
        Self(1)
    }
}

impl Random {
    /// The upper bits, which are random.
    pub(crate) fn draw(&mut self) -> u32 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 32) as u32
    }

    pub(crate) fn shuffle<T>(&mut self, items: &mut [T]) {
        for i in (1..items.len()).rev() {
            items.swap(i, self.draw() as usize % (i + 1));
        }
    }
}
