//! A macro for each kind of loop makes a cell. The cell has the three functions that a user would
//! write, and a dispatch on the entrant. Each function contains the text of the same closures.

/// The cell of a loop that reads a slice and returns a result. `let` declares the variables that
/// its closures borrow.
macro_rules! reading {
    (
        $verb:literal, $body:literal, $items:ident: $T:ty, let ($($own:ident: $Own:ty)?) -> $R:ty,
        $pool:ident, $plain:expr, $ours:expr, $rayon:expr
    ) => {{
        use rayon::prelude::*;
        #[inline(never)]
        fn plain($items: &[$T] $(, $own: &$Own)?) -> $R {
            $plain
        }
        #[inline(never)]
        fn ours($pool: &rangesteal::Pool, $items: &[$T] $(, $own: &$Own)?) -> $R {
            $ours
        }
        #[inline(never)]
        fn rayon(pool: &rayon::ThreadPool, $items: &[$T] $(, $own: &$Own)?) -> $R {
            pool.install(|| $rayon)
        }
        crate::cell::Cell {
            verb: $verb,
            body: $body,
            run: |by, data, see| {
                let items = &data.$items[..];
                $(let $own = &data.$own;)?
                match by {
                    crate::cell::By::Plain => see(&plain(items $(, $own)?)),
                    crate::cell::By::Ours(pool) => see(&ours(pool, items $(, $own)?)),
                    crate::cell::By::Rayon(pool) => see(&rayon(pool, items $(, $own)?)),
                    crate::cell::By::Halves(pool) => {
                        let (front, back) = items.split_at(items.len() / 2);
                        let front = || plain(front $(, $own)?);
                        see(&pool.install(|| rayon::join(front, || plain(back $(, $own)?))));
                    }
                }
            },
        }
    }};
}

macro_rules! map_reduce {
    ($body:literal, $items:ident: $T:ty, let ($($own:tt)*) -> $R:ty, $zero:expr, $map:expr, $reduce:expr) => {
        reading!(
            "map_reduce", $body, $items: $T, let ($($own)*) -> $R, pool,
            $items.iter().map($map).fold($zero, $reduce),
            pool.map_reduce($items, $map, $reduce).unwrap_or($zero),
            $items.par_iter().map($map).reduce(|| $zero, $reduce)
        )
    };
}

macro_rules! fold_reduce {
    ($body:literal, $items:ident: $T:ty, let ($($own:tt)*) -> $R:ty, $init:expr, $fold:expr, $reduce:expr) => {
        reading!(
            "fold_reduce", $body, $items: $T, let ($($own)*) -> $R, pool,
            $items.iter().fold(($init)(), $fold),
            pool.fold_reduce($items, $init, $fold, $reduce),
            $items.par_iter().fold($init, $fold).reduce($init, $reduce)
        )
    };
}

macro_rules! try_map_reduce {
    ($body:literal, $items:ident: $T:ty, let ($($own:tt)*) -> $R:ty, $zero:expr, $map:expr, $reduce:expr) => {
        reading!(
            "try_map_reduce", $body, $items: $T, let ($($own)*) -> Result<$R, u64>, pool,
            $items.iter().map($map).try_fold($zero, |a, b| b.map(|b| ($reduce)(a, b))),
            Ok(pool.on($items).map($map).try_reduce($reduce)?.unwrap_or($zero)),
            $items.par_iter().map($map).try_reduce(|| $zero, |a, b| Ok(($reduce)(a, b)))
        )
    };
}

macro_rules! map_collect {
    ($body:literal, $items:ident: $T:ty, let ($($own:tt)*) -> $R:ty, $map:expr) => {
        reading!(
            "map_collect", $body, $items: $T, let ($($own)*) -> Vec<$R>, pool,
            $items.iter().map($map).collect(),
            pool.map_collect($items, $map),
            $items.par_iter().map($map).collect()
        )
    };
}

macro_rules! filter_collect {
    ($body:literal, $items:ident: $T:ty, let ($($own:tt)*), $keep:expr) => {
        reading!(
            "filter_collect", $body, $items: $T, let ($($own)*) -> Vec<$T>, pool,
            $items.iter().copied().filter($keep).collect(),
            pool.on($items).copied().filter($keep).collect(),
            $items.par_iter().copied().filter($keep).collect()
        )
    };
}

macro_rules! any {
    ($body:literal, $items:ident: $T:ty, let ($($own:tt)*), $test:expr) => {
        reading!(
            "any", $body, $items: $T, let ($($own)*) -> bool, pool,
            $items.iter().any($test),
            pool.on($items).any($test),
            $items.par_iter().any($test)
        )
    };
}

macro_rules! for_each {
    ($body:literal, $items:ident: $T:ty, let ($($own:tt)*), $f:expr) => {
        reading!(
            "for_each", $body, $items: $T, let ($($own)*) -> (), pool,
            $items.iter().for_each($f),
            pool.for_each($items, $f),
            $items.par_iter().for_each($f)
        )
    };
}

/// The cell of a loop that reads a slice and writes another one of the same length.
macro_rules! writing {
    (
        $verb:literal, $body:literal, $items:ident: $T:ty, $out:ident: $R:ty, let ($($own:ident: $Own:ty)?),
        $pool:ident, $plain:expr, $ours:expr, $rayon:expr
    ) => {{
        use rayon::prelude::*;
        #[inline(never)]
        fn plain($items: &[$T], $out: &mut [$R] $(, $own: &$Own)?) {
            $plain
        }
        #[inline(never)]
        fn ours($pool: &rangesteal::Pool, $items: &[$T], $out: &mut [$R] $(, $own: &$Own)?) {
            $ours
        }
        #[inline(never)]
        fn rayon(pool: &rayon::ThreadPool, $items: &[$T], $out: &mut [$R] $(, $own: &$Own)?) {
            pool.install(|| $rayon)
        }
        crate::cell::Cell {
            verb: $verb,
            body: $body,
            run: |by, data, see| {
                let (items, out) = (&data.$items[..], &mut data.$out[..]);
                $(let $own = &data.$own;)?
                match by {
                    crate::cell::By::Plain => plain(items, out $(, $own)?),
                    crate::cell::By::Ours(pool) => ours(pool, items, out $(, $own)?),
                    crate::cell::By::Rayon(pool) => rayon(pool, items, out $(, $own)?),
                    crate::cell::By::Halves(pool) => {
                        let middle = items.len() / 2;
                        let ((a, b), (c, d)) = (items.split_at(middle), out.split_at_mut(middle));
                        let front = || plain(a, c $(, $own)?);
                        pool.install(|| rayon::join(front, || plain(b, d $(, $own)?)));
                    }
                }
                see(&data.$out);
            },
        }
    }};
}

macro_rules! map_into {
    ($body:literal, $items:ident: $T:ty, $out:ident: $R:ty, let ($($own:tt)*), $map:expr) => {
        writing!(
            "map_into", $body, $items: $T, $out: $R, let ($($own)*), pool,
            $out.iter_mut().zip($items.iter().map($map)).for_each(|(place, result)| *place = result),
            pool.on($items).map($map).zip($out).for_each(|(result, place)| *place = result),
            $items.par_iter().map($map).zip($out).for_each(|(result, place)| *place = result)
        )
    };
}

macro_rules! for_each_zip {
    ($body:literal, $items:ident: $T:ty, $out:ident: $R:ty, let ($($own:tt)*), $f:expr) => {
        writing!(
            "for_each", $body, $items: $T, $out: $R, let ($($own)*), pool,
            $out.iter_mut().zip($items).for_each($f),
            pool.on($out).zip($items).for_each($f),
            $out.par_iter_mut().zip($items).for_each($f)
        )
    };
}

/// The cell of a loop that changes the items of a slice.
macro_rules! for_each_mut {
    ($body:literal, $items:ident: $T:ty, $f:expr) => {{
        use rayon::prelude::*;
        #[inline(never)]
        fn plain($items: &mut [$T]) {
            $items.iter_mut().for_each($f);
        }
        #[inline(never)]
        fn ours(pool: &rangesteal::Pool, $items: &mut [$T]) {
            pool.for_each_mut($items, $f);
        }
        #[inline(never)]
        fn rayon(pool: &rayon::ThreadPool, $items: &mut [$T]) {
            pool.install(|| $items.par_iter_mut().for_each($f));
        }
        crate::cell::Cell {
            verb: "for_each_mut",
            body: $body,
            run: |by, data, see| {
                let items = &mut data.$items[..];
                match by {
                    crate::cell::By::Plain => plain(items),
                    crate::cell::By::Ours(pool) => ours(pool, items),
                    crate::cell::By::Rayon(pool) => rayon(pool, items),
                    crate::cell::By::Halves(pool) => {
                        let (front, back) = items.split_at_mut(items.len() / 2);
                        pool.install(|| rayon::join(|| plain(front), || plain(back)));
                    }
                }
                see(&data.$items);
            },
        }
    }};
}
