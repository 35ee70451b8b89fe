use std::{cmp::Reverse, sync::atomic::Ordering::Relaxed};

use clap::ValueEnum;
use rangesteal::Cancelled;

use super::*;
use crate::{cli::Way, server::latency};

const LATENCY: Duration = Duration::from_millis(5);

type AnyResult<T = ()> = Result<T, Box<dyn Error>>;

fn server(pages: usize) -> AnyResult<Server> {
    Ok(Server::start((0..pages).map(pages::text).collect(), LATENCY)?)
}

fn limits(threads: usize, in_flight: usize) -> Limits {
    Limits { threads, in_flight, deadline: None }
}

fn failure(result: AnyResult<Sum>) -> Failure {
    *result.expect_err("a page fails").downcast().expect("a failure")
}

/// Two pages that the server does not have: one with a late answer, and one with an early answer.
fn late_and_soon() -> [usize; 2] {
    let numbers = || 1000..2000;
    let late = numbers().max_by_key(|page| latency(*page, LATENCY));
    let soon = numbers().max_by_key(|page| Reverse(latency(*page, LATENCY)));
    [late, soon].map(|page| page.expect("there are numbers"))
}

#[test]
fn all_ways_find_the_same() -> AnyResult {
    let server = server(30)?;
    for count in [0, 1, 30] {
        // Links in no order, some of them more than once.
        let links: Vec<_> = (0..count).map(|i| i * i % 29).collect();
        let sums = links.iter().map(|page| parse(*page, &pages::text(*page)));
        let expected = total(&sums.collect::<Result<Vec<_>, _>>()?);
        for threads in 1..4 {
            for way in Way::value_variants() {
                let sum = way.run(server.address(), &links, limits(threads, 8), &mut RunReport::default())?;
                assert_eq!(sum, expected, "{way:?}, {count} links, {threads} threads");
            }
        }
    }
    Ok(())
}

#[test]
fn the_first_page_that_fails_ends_a_loop() -> AnyResult {
    let server = server(20)?;
    let mut links: Vec<_> = (0..200).map(|i| i % 20).collect();
    let [late, soon] = late_and_soon();
    (links[10], links[11]) = (late, soon);
    for way in Way::value_variants() {
        let asked = server.counts().asked.load(Relaxed);
        let found = failure(way.run(server.address(), &links, limits(2, 8), &mut RunReport::default()));
        let asked = server.counts().asked.load(Relaxed) - asked;
        assert_eq!(found.why, "404 Not Found");
        match way {
            Way::Plain | Way::Rangesteal => assert_eq!(found.page, late, "{way:?}"),
            Way::Rayon | Way::RayonWide | Way::Tokio => assert!([late, soon].contains(&found.page)),
        }
        assert!(asked < links.len(), "{way:?} has asked for {asked} pages");
    }
    Ok(())
}

#[test]
fn a_page_that_cannot_be_read_ends_a_loop() -> AnyResult {
    let texts = ["1.00,1.00\n", "1.00,2.00\n", "1.00,1.00\n"].map(str::to_owned);
    let server = Server::start(texts.into(), LATENCY)?;
    for way in Way::value_variants() {
        let run = |links: &[usize]| way.run(server.address(), links, limits(2, 2), &mut RunReport::default());
        assert_eq!(failure(run(&[0, 1, 2])), Failure::new(1, "line 1: the total is wrong"), "{way:?}");
        assert_eq!(run(&[0, 2])?.to_string(), "2.00 of 2 numbers");
    }
    Ok(())
}

#[test]
fn no_more_pages_are_in_flight_than_may_be() -> AnyResult {
    for limit in [1, 2, 7] {
        for threads in 1..4 {
            for way in [Way::Tokio, Way::Rangesteal] {
                let server = Server::start(vec!["1.00,1.00".to_owned(); 15], LATENCY)?;
                let links: Vec<_> = (0..15).collect();
                way.run(server.address(), &links, limits(threads, limit), &mut RunReport::default())?;
                let peak = server.counts().peak.load(Relaxed);
                assert!(peak <= limit, "{way:?}: {peak} of {limit}");
                assert!(limit == 1 || peak > 1, "{way:?}: one after the other");
            }
        }
    }
    Ok(())
}

#[test]
fn a_deadline_ends_a_loop_that_waits() -> AnyResult {
    let server = Server::start(vec![pages::text(0)], Duration::from_secs(1000))?;
    for threads in 1..4 {
        let limits = Limits { deadline: Some(Duration::from_millis(50)), ..limits(threads, 8) };
        let result = Fetch::new(server.address(), limits)?.sum(&[0; 100], &mut RunReport::default());
        assert_eq!(result.expect_err("it is cancelled").downcast_ref(), Some(&Cancelled));
    }
    Ok(())
}

#[test]
fn all_dead_links_are_found() -> AnyResult {
    let server = server(20)?;
    let mut links: Vec<_> = (0..50).map(|i| i % 20).collect();
    links[7] = 1234;
    links[33] = 1000;
    for threads in 1..4 {
        let dead = Fetch::new(server.address(), limits(threads, 8))?.dead(&links);
        assert_eq!(dead, [1234, 1000].map(|page| Failure::new(page, "404 Not Found")));
    }
    Ok(())
}

#[test]
fn progress_and_report_count_pages() -> AnyResult {
    let server = server(20)?;
    let fetch = Fetch::new(server.address(), limits(2, 8))?;
    let mut report = RunReport::default();
    fetch.sum(&[3; 25], &mut report)?;
    assert_eq!((report.items(), fetch.progress.done()), (25, 25));
    Ok(())
}

#[test]
fn pages_take_their_time() {
    let times = || (0..1000).map(|page| latency(page, Duration::from_millis(50)));
    assert_eq!(times().min(), Some(Duration::from_millis(20)));
    assert_eq!(times().max(), Some(Duration::from_millis(80)));
    let mean = times().sum::<Duration>() / 1000;
    assert!((45..55).contains(&mean.as_millis()), "{mean:?}");
}
