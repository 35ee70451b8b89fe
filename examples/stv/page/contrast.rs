//! Checks the visibility of everything on the page: the WCAG 2 contrasts of the style sheet's
//! colours, on light and dark screens.

use super::{
    STYLE,
    order::{OTHERS, WINNERS},
};
use std::collections::HashMap;

const LEAST: f64 = 4.5;

/// The rules of the style sheet, each with condition, selector and declarations.
fn rules() -> Vec<(&'static str, &'static str, &'static str)> {
    let mut rules = Vec::new();
    let (mut condition, mut rest) = ("", STYLE);
    loop {
        rest = rest.trim_start();
        if let Some(after) = rest.strip_prefix("/*") {
            rest = after.split_once("*/").expect("a comment ends").1;
        } else if let Some(after) = rest.strip_prefix('}') {
            (condition, rest) = ("", after);
        } else if rest.is_empty() {
            return rules;
        } else {
            let (selector, after) = rest.split_once('{').expect("a rule");
            if selector.starts_with("@media") {
                (condition, rest) = (selector.trim(), after);
            } else {
                let (declarations, after) = after.split_once('}').expect("a rule ends");
                rules.push((condition, selector.trim(), declarations));
                rest = after;
            }
        }
    }
}

fn declarations(text: &str) -> impl Iterator<Item = (&str, &str)> {
    text.split(';').filter_map(|one| one.split_once(':')).map(|(name, value)| (name.trim(), value.trim()))
}

/// The colours of names such as `--c`, for each class, in one scheme.
fn colours(is_dark: bool) -> HashMap<(&'static str, &'static str), &'static str> {
    let mut colours = HashMap::new();
    for (condition, selector, text) in rules() {
        let is_of_scheme = condition.is_empty() || is_dark && condition.contains("dark");
        for (name, value) in declarations(text).filter(|(name, _)| is_of_scheme && name.starts_with("--")) {
            colours.insert((selector, name), value);
        }
    }
    colours
}

/// Relative luminance, 0 to 1, of `#rrggbb`.
fn luminance(colour: &str) -> f64 {
    let channel = |place: usize| {
        let value = u8::from_str_radix(&colour[place..place + 2], 16).expect("#rrggbb");
        let value = f64::from(value) / 255.0;
        if value <= 0.040_45 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) }
    };
    assert_eq!(colour.len(), 7, "{colour}");
    0.2126 * channel(1) + 0.7152 * channel(3) + 0.0722 * channel(5)
}

fn contrast(left: &str, right: &str) -> f64 {
    let (left, right) = (luminance(left), luminance(right));
    (left.max(right) + 0.05) / (left.min(right) + 0.05)
}

#[test]
fn known_contrasts() {
    assert!((contrast("#000000", "#ffffff") - 21.0).abs() < 1e-9);
    assert!((contrast("#777777", "#ffffff") - 4.48).abs() < 0.01);
}

#[test]
fn everything_can_be_seen_on_light_and_on_dark() {
    for is_dark in [false, true] {
        let colours = colours(is_dark);
        let root = |name: &'static str| colours[&(":root", name)];
        let (paper, accent) = (root("--paper"), root("--accent"));
        assert_eq!(luminance(paper) < 0.1, is_dark);
        for (name, foreground) in [("ink", root("--ink")), ("soft", root("--soft"))] {
            for background in [paper, accent] {
                let contrast = contrast(foreground, background);
                assert!(contrast >= LEAST, "{name} on {background}: {contrast:.2}");
            }
        }
        let quota = contrast(root("--quota"), paper);
        assert!(quota >= LEAST, "quota: {quota:.2}");
        let classes = (0..WINNERS).map(|place| format!(".w{place}"));
        let classes = classes.chain((0..OTHERS).map(|place| format!(".o{place}")));
        for class in classes.chain([".kx".to_owned()]) {
            for name in ["--c", "--d", "--e"] {
                let colour = colours.iter().find(|((selector, of), _)| *selector == class && *of == name);
                let colour = colour.unwrap_or_else(|| panic!("{class} has no {name}")).1;
                let colour = if *colour == "var(--none)" { root("--none") } else { colour };
                // The contrast of a mark with the paper, or of text in the paper's colour on the
                // mark.
                let on_paper = contrast(colour, paper);
                assert!(on_paper >= LEAST, "{class} {name}: {on_paper:.2}");
                // The contrast of swatches and of the edges of cards.
                let on_accent = contrast(colour, accent);
                assert!(name != "--c" || on_accent >= LEAST, "{class} {name}: {on_accent:.2}");
            }
        }
        // Neighbouring pieces of a bar must differ.
        for class in [".w0", ".o0"] {
            let [c, d, e] = ["--c", "--d", "--e"].map(|name| colours[&(class, name)]);
            assert!(contrast(c, d) > 1.25 && contrast(c, e) > 1.25 && contrast(d, e) > 1.25);
        }
    }
}

/// The test above checks all colours of the style sheet, and nothing makes them paler.
#[test]
fn no_other_colours_are_used() {
    const PAINT: [&str; 7] =
        ["color", "background", "fill", "stroke", "border", "border-left", "border-bottom"];
    for (_, selector, text) in rules() {
        for (name, value) in declarations(text) {
            if PAINT.contains(&name) {
                let of_palette = ["--paper", "--ink", "--soft", "--quota", "--accent", "--c", "--d", "--e"]
                    .iter()
                    .any(|colour| value.ends_with(&format!("var({colour})")));
                let is_none = ["none", "0", "url(#hatch)"].contains(&value);
                assert!(of_palette || is_none, "{selector}: {name}: {value}");
            }
            // Votes that stay in a lane are pale, between two lines that are not pale.
            let is_pale = name.contains("opacity");
            assert!(!is_pale || selector == ".s" && text.contains("stroke: var(--c)"), "{selector}");
        }
    }
    let drawn = [include_str!("bars.rs"), include_str!("flow.rs"), include_str!("flow/gap.rs")].concat();
    for attribute in ["opacity=", "fill=", "stroke="] {
        assert!(!drawn.contains(attribute), "{attribute}: colours are in the style sheet");
    }
}
