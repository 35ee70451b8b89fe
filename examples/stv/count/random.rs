//! Random numbers that are the same on every platform.

/// `SplitMix64`: G. L. Steele, D. Lea, C. H. Flood, "Fast Splittable Pseudorandom Number
/// Generators", OOPSLA 2014, <https://doi.org/10.1145/2660193.2660195>, figure 17, with the mixing
/// constants of S. Vigna's public domain <https://prng.di.unimi.it/splitmix64.c>.
#[derive(Debug, Clone)]
pub struct SplitMix64(u64);

impl SplitMix64 {
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `bound`: the upper half of a product. Its bias is less than `bound` / 2^64.
    pub fn below(&mut self, bound: usize) -> usize {
        let product = u128::from(self.next()) * bound as u128;
        usize::try_from(product >> 64).expect("a number below a usize")
    }

    /// Moves a random choice of the items to the front, in random order.
    pub fn choose<T>(&mut self, items: &mut [T], number: usize) {
        for place in 0..number {
            let chosen = place + self.below(items.len() - place);
            items.swap(place, chosen);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first numbers that splitmix64.c gives for this seed.
    #[test]
    fn agrees_with_the_published_generator() {
        let mut random = SplitMix64::new(1_234_567);
        let numbers = [random.next(), random.next(), random.next()];
        assert_eq!(
            numbers,
            [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423]
        );
    }

    #[test]
    fn below_reaches_all_numbers_and_no_other() {
        let mut random = SplitMix64::new(0);
        let mut seen = [0; 5];
        (0..500).for_each(|_| seen[random.below(5)] += 1);
        assert!(seen.iter().all(|&times| times > 50), "{seen:?}");
    }
}
