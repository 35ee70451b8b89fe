//! Errors of the compiler. A user's mistake gives one error. This error says what to write instead.

use crate::users::Program;

/// An expression, the number of errors, and the texts that the errors contain.
const MISTAKES: [(&str, usize, &[&str]); 12] = [
    ("pool.on(v.iter()).map(|x| x + 1).count()", 1, &["no loop runs over", "not `v.iter()`"]),
    ("pool.on(&map).for_each(|_| ())", 1, &["no loop runs over `&HashMap", "collected into a `Vec` first"]),
    (
        "pool.on(&v).zip(pool.on(&v)).map(|(a, b)| a * b).count()",
        1,
        &["no loop runs over `On<", "`source(&v)` and stages, not `pool.on(&v)`"],
    ),
    // The second error is about the end of the chain.
    ("pool.on(&cells).for_each(|_| ())", 2, &["cannot be shared between threads safely", "`Sync`"]),
    ("pool.on(&v).find_first(|x| **x > 2)", 1, &["`find_first` is called `find`"]),
    ("pool.on(&v).position_first(|x| *x > 2)", 1, &["`position_first` is called `position`"]),
    ("pool.on(&v).copied().reduce_with(|a, b| a + b)", 1, &["`reduce_with` is called `reduce`"]),
    ("pool.on(&v).flat_map_iter(|x| 0..*x).count()", 1, &["`flat_map_iter` is called `flat_map`"]),
    ("pool.on(&v).zip_eq(&v).count()", 1, &["`zip_eq` is called `zip`"]),
    ("pool.on(&v).with_min_len(10).count()", 1, &["`with_min_len` and `with_max_len` are not needed"]),
    ("pool.on(&v).with(|_| 1).map(|s, x| x + *s).count()", 1, &["accept a tuple instead"]),
    ("pool.on(&v).copied().collect::<std::rc::Rc<[u32]>>()", 1, &["cannot be collected into", "`Vec`"]),
];

#[test]
#[ignore = "compiles a dozen programs"]
fn a_mistake_is_one_error_that_tells_what_to_write() {
    for (number, (expression, errors, said)) in MISTAKES.into_iter().enumerate() {
        let source = format!(
            "fn main() {{
                let (pool, v) = (rangesteal::Pool::new().unwrap(), vec![1_u32, 2, 3]);
                let map = std::collections::HashMap::from([(1, 2)]);
                let cells = vec![std::cell::Cell::new(1)];
                let _ = {expression};
                let _ = (pool, v, map, cells);
            }}"
        );
        let refusal = Program::new(&format!("mistake-{number}"), &source).refusal();
        let there = refusal.lines().filter(|line| line.starts_with("error[")).count();
        assert_eq!(there, errors, "{expression}:\n{refusal}");
        for said in said {
            assert!(refusal.contains(said), "{expression}: not {said:?} in\n{refusal}");
        }
    }
}
