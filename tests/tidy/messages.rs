//! Errors of the compiler. A user's mistake gives one error. This error says what to write instead.

use crate::users::Program;

/// An expression, the number of errors, and the texts that the errors contain.
const MISTAKES: [(&str, usize, &[&str]); 64] = [
    ("pool.on(v.iter()).map(|x| x.pow(2)).count()", 1, &["write `&v`, not `v.iter()`"]),
    ("pool.on(v.iter_mut()).for_each(|x| *x = x.pow(2))", 1, &["write `&mut v`, not `v.iter_mut()`"]),
    ("pool.on(v.clone().into_iter()).map(|x| x.pow(2)).count()", 1, &["write `v`, not `v.into_iter()`"]),
    ("pool.on(v.drain(..)).map(|x| x.pow(2)).count()", 1, &["write `source::drain(&mut v, range)`"]),
    ("pool.on(v.chunks(2)).map(|x| x[0].pow(2)).count()", 1, &["write `pool.on(&v).chunks(n)`"]),
    ("pool.on(&v).zip(v.chunks(2)).count()", 1, &["inside `zip` `source(&v).chunks(n)`"]),
    ("pool.on(&v).filter(|x| **x > 2).collect::<Vec<u32>>().len()", 1, &["`copied()` or `cloned()`"]),
    ("pool.on(&v).zip(0..).map(|(x, y)| x.pow(2) + y).count()", 1, &["write `enumerate()` to number items"]),
    (
        "pool.on(\"text\".lines()).map(|x| x.len()).count()",
        1,
        &["no loop runs over `std::str::Lines<", "collected into a `Vec` first"],
    ),
    ("pool.on(&map).for_each(|_| ())", 1, &["no loop runs over `&HashMap", "collected into a `Vec` first"]),
    (
        "pool.on(&v).zip(pool.on(&v)).map(|(a, b)| a * b).count()",
        1,
        &["a chain with a pool is no source", "`source(&v)` and stages, not `pool.on(&v)`"],
    ),
    ("rangesteal::PerWorker::new(|| 1_u32)", 1, &["write `pool.per_worker(|_worker| state)`"]),
    // The second error is about the number of arguments.
    (
        "rangesteal::PerWorker::<u32>::new(2, |_| 1).into_vec()[0].pow(2)",
        2,
        &["write `pool.per_worker(|_worker| state)`"],
    ),
    // The second error is about the end of the chain.
    ("pool.on('a'..='z').for_each(|_| ())", 2, &["no loop runs over a range of `char`"]),
    ("pool.on(&cells).for_each(|_| ())", 2, &["cannot be shared between threads safely", "`Sync`"]),
    (
        "indexed(source(&v).filter(|x| **x > 2))",
        1,
        &["is not a source of items with an index", "a function returns `impl Chain`"],
    ),
    ("indexed(pool.on(&v).map(|x| *x))", 1, &["a function returns `source(..)` and stages"]),
    ("source(&v).map(|x| x + 1).sum::<u32>()", 1, &["write `pool.on(chain)`"]),
    ("source(&v).copied().for_each(|x| println!(\"{}\", x.pow(2)))", 1, &["write `pool.on(chain)`"]),
    ("{ let all: Vec<u32> = source(&v).map(|x| x + 1).collect(); all }", 1, &["write `pool.on(chain)`"]),
    ("pool.grow([1_u32]).map(|x| x.pow(2)).sum::<u32>()", 1, &["`for_each` and `fold_unordered`"]),
    ("pool.grow([1_u32]).sum::<u32>()", 1, &["`for_each` and `fold_unordered`"]),
    ("pool.on(&v).find_first(|x| **x > 2).unwrap().pow(2)", 1, &["`find_first` is called `find`"]),
    ("pool.on(&v).find_last(|x| x.pow(2) > 2)", 1, &["write `rev()` and `find`"]),
    ("pool.on(&v).find_map_first(|x| x.checked_sub(2))", 1, &["are called `find_map`"]),
    ("pool.on(&v).find_map_any(|x| x.checked_sub(2))", 1, &["are called `find_map`"]),
    ("pool.on(&v).find_map_last(|x| x.checked_sub(2))", 1, &["write `rev()` and `find_map`"]),
    ("pool.on(&v).position_first(|x| *x > 2)", 1, &["is called `position`"]),
    ("pool.on(&v).position_last(|x| *x > 2)", 1, &["`rev().position(..)` counts from the end"]),
    ("pool.on(&v).positions(|x| x.pow(2) > 2).count()", 1, &["`enumerate().filter_map("]),
    ("pool.on(&v).copied().reduce_with(|a, b| a + b)", 1, &["`reduce_with` is called `reduce`"]),
    (
        "pool.on(&v).map(|x| Some(*x)).try_reduce_with(|a, b| Some(a + b))",
        1,
        &["`reduce(|a, b| op(a?, b?))`"],
    ),
    (
        "pool.on(&v).flat_map_iter(|x| 0..*x).collect::<Vec<char>>()",
        1,
        &["`flat_map_iter` is called `flat_map`"],
    ),
    ("pool.on(&v).zip_eq(&v).map(|(a, b)| a.pow(2) + b).count()", 1, &["`zip_eq` is called `zip`"]),
    ("pool.on(&v).with_min_len(10).map(|x| x.pow(2)).count()", 1, &["are not needed"]),
    ("pool.on(&v).with_max_len(10).count()", 1, &["are not needed"]),
    (
        "pool.on(&v).copied().collect_into_vec(&mut v.clone())",
        1,
        &["write `out.clear()` and `collect_into(&mut out)`"],
    ),
    ("pool.on(&v).map_with(1_u32, |s, x| s.pow(2) + x).count()", 1, &["`with(|_worker| state)"]),
    ("pool.on(&v).map_init(|| 1_u32, |s, x| s.pow(2) + x).count()", 1, &["`with(|_worker| state)"]),
    ("pool.on(&v).for_each_init(|| 1_u32, |s, x| *s = x.pow(2))", 1, &["`with(|_worker| state)"]),
    ("pool.on(&v).fold_with(1_u32, |s, x| s + x.pow(2)).sum::<u32>()", 1, &["`fold(init, step, merge)`"]),
    (
        "pool.on(&v).try_fold_with(1_u32, |s, x| s.checked_add(x.pow(2))).count()",
        1,
        &["`try_fold(init, step, merge)`"],
    ),
    ("pool.on(&v).fold_chunks(3, || 1_u32, |s, x| s + x.pow(2)).count()", 1, &["`chunks(n).map("]),
    ("pool.on(&v).copied().update(|x| *x = x.pow(2)).count()", 1, &["`map(|mut x| { f(&mut x); x })`"]),
    ("pool.on(&v).chain(&v).map(|x| x.pow(2)).count()", 1, &["write two loops"]),
    ("pool.on(&v).interleave(&v).map(|x| x.pow(2)).count()", 1, &["`zip(b).flat_map("]),
    ("pool.on(&v).skip_while(|x| x.pow(2) < 2).count()", 1, &["find the `position` of the item"]),
    ("pool.on(&v).take_while(|x| x.pow(2) < 2).count()", 1, &["find the `position` of the item"]),
    ("pool.on(&v).skip_any_while(|x| x.pow(2) < 2).count()", 1, &["find the `position` of the item"]),
    ("pool.on(&v).take_any_while(|x| x.pow(2) < 2).count()", 1, &["find the `position` of the item"]),
    ("pool.on(&v).partition_map(|x| x.checked_sub(2).ok_or(x.pow(2)))", 1, &["two loops with `filter_map`"]),
    ("pool.on(&v).rchunks(2).count()", 1, &["`pool.on(v.rchunks(n).collect::<Vec<_>>())`"]),
    ("pool.on(&v).with(|_| 1).map(|s, x| x + *s).count()", 1, &["accept a tuple instead"]),
    ("pool.on(&v).copied().collect::<std::rc::Rc<[u32]>>()", 1, &["cannot be collected into", "`Vec`"]),
    ("pool.on(&v).filter(|x| **x > 2).zip(&v).map(|(a, b)| a * b).count()", 1, &["have no index: put this"]),
    ("pool.on(&v).flat_map(|x| 0..*x).chunks(2).map(|x| x.len()).count()", 1, &["have no index: put this"]),
    ("pool.on(&v).with(|_| 1).take(2).for_each(|(_, x)| _ = x.pow(2))", 1, &["have no index: put this"]),
    ("pool.on(&v).map(Some).flatten().skip(2).sum::<u32>()", 1, &["have no index: put this"]),
    (
        "pool.on(&v).filter(|x| **x > 2).enumerate().map(|(i, x)| i.pow(*x)).count()",
        1,
        &["have no index: put this"],
    ),
    ("pool.on(&v).flat_map(|x| 0..*x).rev().map(|x| x.pow(2)).count()", 1, &["have no index: put this"]),
    ("pool.on(&v).with(|_| 1).rev().for_each(|(_, x)| _ = x.pow(2))", 1, &["have no index: put this"]),
    (
        "pool.on(&v).filter_map(|x| x.checked_sub(2)).map(Ok::<_, ()>).located().count()",
        1,
        &["have no index: put this"],
    ),
    ("pool.on(&v).filter(|x| **x > 2).map(|x| x + 1).enumerate().count()", 1, &["have no index: put this"]),
    ("pool.on(&v).filter(|x| **x > 2).map(|x| x + 1).zip(&v).count()", 1, &["have no index: put this"]),
];

/// The compiler's errors for a program with this expression.
fn refusal(name: &str, expression: &str) -> String {
    let source = format!(
        "use rangesteal::source;
        fn indexed(_: impl source::Source) {{}}
        fn main() {{
            let (pool, mut v) = (rangesteal::Pool::new().unwrap(), vec![1_u32, 2, 3]);
            let map = std::collections::HashMap::from([(1, 2)]);
            let cells = vec![std::cell::Cell::new(1)];
            let _ = {expression};
            let _ = (pool, v, map, cells);
        }}"
    );
    Program::new(name, &source).refusal()
}

#[test]
#[ignore = "compiles 64 programs"]
fn a_mistake_is_one_error_that_tells_what_to_write() {
    for (number, (expression, errors, said)) in MISTAKES.into_iter().enumerate() {
        let refusal = refusal(&format!("mistake-{number}"), expression);
        let there = refusal.lines().filter(|line| line.starts_with("error[")).count();
        assert_eq!(there, errors, "{expression}:\n{refusal}");
        assert!(!refusal.contains("macro"), "{expression}: a macro is quoted in\n{refusal}");
        for said in said {
            assert!(refusal.contains(said), "{expression}: not {said:?} in\n{refusal}");
        }
    }
}

/// The rows of a matrix beside a result vector: the compiler lists no code of this crate but the
/// implementation that is missing.
#[test]
fn rows_of_a_matrix_in_zip_are_refused_in_few_lines() {
    for (number, (rows, said)) in [
        ("pool.on(&[1_u32; 6]).chunks(2)", "`source(&v)` and stages, not `pool.on(&v)`"),
        ("[1_u32; 6].chunks(2)", "inside `zip` `source(&v).chunks(n)`, not `v.chunks(n)`"),
    ]
    .into_iter()
    .enumerate()
    {
        let expression = format!("pool.on(&mut v).zip({rows}).for_each(|(x, row)| *x = row[0].pow(2))");
        let refusal = refusal(&format!("mistake-of-zip-{number}"), &expression);
        assert!(refusal.contains(said), "{refusal}");
        let lines = refusal.lines().count();
        assert!(lines <= 20, "{lines} lines:\n{refusal}");
    }
}
