//! The bodies of the closures, as text that a macro puts into each closure. A compiler could inline
//! a shared function into one entrant and not into another.

/// Rounds of shift, xor, add on an integer: five instructions each.
macro_rules! rounds {
    ($x:expr, $rounds:literal) => {{
        let mut x: u32 = $x;
        for _ in 0..$rounds {
            x ^= x << 13;
            x ^= x >> 17;
            x = x.wrapping_add(0x9E37_79B9);
        }
        x
    }};
}

/// Rounds of xor, shift, multiply on a wide integer: three instructions each, in a chain.
macro_rules! mix {
    ($x:expr, $rounds:literal) => {{
        let mut x: u64 = $x;
        for _ in 0..$rounds {
            x = (x ^ x >> 29).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        }
        x
    }};
}

/// A polynomial of this degree, by Horner's rule.
macro_rules! polynomial {
    ($x:expr, $degree:literal) => {{
        let x: f32 = $x;
        let mut y = 1.0;
        for power in 0..$degree {
            y = y * x + 1.0 / (power + 1) as f32;
        }
        y
    }};
}

/// The square of the distance to the nearest of some centres, and the index of that centre.
macro_rules! nearest {
    ($point:expr, $centres:expr) => {{
        let point: &[f32; 4] = $point;
        let mut best = (f32::INFINITY, 0);
        for (i, centre) in $centres.iter().enumerate() {
            let distance = centre.iter().zip(point).map(|(a, b)| (a - b) * (a - b)).sum::<f32>();
            if distance < best.0 {
                best = (distance, i);
            }
        }
        best
    }};
}

/// RGB to YUV, in the integers of BT.601.
macro_rules! yuv {
    ($pixel:expr) => {{
        let [r, g, b]: [i32; 3] = $pixel.map(i32::from);
        let y = (66 * r + 129 * g + 25 * b + 128 >> 8) + 16;
        let u = (-38 * r - 74 * g + 112 * b + 128 >> 8) + 128;
        let v = (112 * r - 94 * g - 18 * b + 128 >> 8) + 128;
        [y as u8, u as u8, v as u8]
    }};
}

/// The weighted mean of a pixel and its eight neighbours. The index is that of the upper left
/// pixel.
macro_rules! blurred {
    ($image:expr, $at:expr) => {{
        let (image, at): (&[f32], usize) = ($image, $at);
        let row = |at: usize| image[at] + 2.0 * image[at + 1] + image[at + 2];
        (row(at) + 2.0 * row(at + crate::data::WIDTH) + row(at + 2 * crate::data::WIDTH)) / 16.0
    }};
}
