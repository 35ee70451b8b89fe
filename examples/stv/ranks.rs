//! The messages between processes that count one election together, on several machines or on parts
//! of one machine. The processes are numbered from 0 and called ranks, as in MPI.
//!
//! All ranks do the same, each with its share of the ballots. All ranks send a message at the same
//! places of the program. If a rank ended early without a message, the other ranks would wait for
//! ever. So each message begins with a byte. The byte says whether the rest of the message is data,
//! or the reason why the rank has ended.

use std::{error::Error, fmt};

/// The processes that count together.
pub trait Ranks: Sync {
    /// The number of this rank, from 0.
    fn rank(&self) -> usize;

    /// The number of ranks.
    fn number(&self) -> usize;

    /// Waits until all ranks have sent their message. Returns all messages in the order of the
    /// ranks, the same list on every rank.
    fn gather(&self, said: &[u8]) -> Vec<Vec<u8>>;
}

/// A process that counts alone.
#[derive(Debug, Clone, Copy)]
pub struct Alone;

impl Ranks for Alone {
    fn rank(&self) -> usize {
        0
    }

    fn number(&self) -> usize {
        1
    }

    fn gather(&self, said: &[u8]) -> Vec<Vec<u8>> {
        vec![said.to_vec()]
    }
}

/// The reason why another rank has ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Elsewhere {
    pub(crate) rank: usize,
    pub(crate) reason: String,
}

impl fmt::Display for Elsewhere {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "rank {}: {}", self.rank, self.reason)
    }
}

impl Error for Elsewhere {}

impl Elsewhere {
    /// The error if the message of this rank does not come from this program.
    pub(crate) fn unreadable(rank: usize) -> Self {
        Self { rank, reason: "what it says cannot be read; start the same program everywhere".into() }
    }
}

/// Returns the messages of all ranks. If ranks have ended, returns the reason of the first of
/// these.
pub(crate) fn gather<E: fmt::Display + From<Elsewhere>>(
    ranks: &dyn Ranks,
    said: Result<Vec<u8>, E>,
) -> Result<Vec<Vec<u8>>, E> {
    if ranks.number() == 1 {
        return said.map(|said| vec![said]);
    }
    let message = match &said {
        Ok(said) => [&[0], &said[..]].concat(),
        Err(reason) => [&[1], reason.to_string().as_bytes()].concat(),
    };
    let mut heard = ranks.gather(&message);
    let ended = heard.iter().position(|message| message.first() != Some(&0));
    match (ended, said) {
        (Some(rank), Err(reason)) if rank == ranks.rank() => Err(reason),
        (Some(rank), _) => Err(match heard[rank].split_first() {
            Some((1, reason)) => Elsewhere { rank, reason: String::from_utf8_lossy(reason).into_owned() },
            _ => Elsewhere::unreadable(rank),
        }
        .into()),
        (None, _) => {
            for message in &mut heard {
                message.remove(0);
            }
            Ok(heard)
        }
    }
}

/// Ends all ranks unless all send the same message. `what` names the difference.
pub(crate) fn agree<E: fmt::Display + From<Elsewhere>>(
    ranks: &dyn Ranks,
    said: Result<Vec<u8>, E>,
    what: &str,
) -> Result<(), E> {
    let heard = gather(ranks, said)?;
    match heard.iter().position(|said| *said != heard[0]) {
        None => Ok(()),
        Some(rank) => Err(Elsewhere { rank, reason: format!("{what} than rank 0") }.into()),
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use std::{
        mem,
        sync::{Barrier, Mutex},
        thread,
    };

    /// Ranks that are threads of one process.
    struct Threads<'a> {
        rank: usize,
        said: &'a Mutex<Vec<Vec<u8>>>,
        barrier: &'a Barrier,
        number: usize,
    }

    impl Ranks for Threads<'_> {
        fn rank(&self) -> usize {
            self.rank
        }

        fn number(&self) -> usize {
            self.number
        }

        fn gather(&self, said: &[u8]) -> Vec<Vec<u8>> {
            self.said.lock().unwrap()[self.rank] = said.to_vec();
            self.barrier.wait();
            let heard = self.said.lock().unwrap().clone();
            self.barrier.wait();
            heard
        }
    }

    /// Runs `rank` on this many ranks together, and returns their results.
    pub(crate) fn together<T: Send>(number: usize, rank: impl Fn(&dyn Ranks) -> T + Sync) -> Vec<T> {
        let (said, barrier) = (Mutex::new(vec![Vec::new(); number]), Barrier::new(number));
        let (said, barrier, one) = (&said, &barrier, &rank);
        thread::scope(|scope| {
            let ranks =
                (0..number).map(|rank| scope.spawn(move || one(&Threads { rank, said, barrier, number })));
            let ranks: Vec<_> = ranks.collect();
            ranks.into_iter().map(|rank| rank.join().unwrap()).collect()
        })
    }

    #[test]
    fn all_hear_all() {
        for number in 1..5 {
            let heard = together(number, |ranks| {
                let said = u8::try_from(ranks.rank()).unwrap();
                gather::<Elsewhere>(ranks, Ok(vec![said; ranks.rank()])).unwrap()
            });
            let wanted: Vec<_> = (0..number).map(|rank| vec![u8::try_from(rank).unwrap(); rank]).collect();
            assert!(heard.iter().all(|heard| *heard == wanted), "{heard:?}");
        }
    }

    /// If two ranks have ended, every rank reports the reason of the lower rank. The lower rank
    /// reports its own reason, without a rank.
    #[test]
    fn the_first_that_has_ended_ends_all() {
        let ended = together(4, |ranks| {
            let reason = || Elsewhere { rank: 99, reason: format!("reason of {}", ranks.rank()) };
            let said = if ranks.rank() % 2 == 1 { Err(reason()) } else { Ok(vec![7]) };
            gather(ranks, said).unwrap_err()
        });
        let heard = Elsewhere { rank: 1, reason: "reason of 1".into() };
        let wanted = [heard.clone(), Elsewhere { rank: 99, ..heard.clone() }, heard.clone(), heard];
        // Rank 1 reports its own reason, not a reason from another rank.
        let wanted = wanted.map(|mut ended| {
            if ended.rank == 99 {
                ended.reason = "reason of 1".into();
            } else {
                ended.reason = "rank 99: reason of 1".into();
            }
            ended
        });
        assert_eq!(ended, wanted);
    }

    #[test]
    fn who_says_something_else_is_named() {
        let agreed = together(3, |ranks| {
            agree::<Elsewhere>(ranks, Ok(vec![u8::from(ranks.rank() == 2)]), "it has other options")
        });
        for agreed in agreed {
            assert_eq!(agreed.unwrap_err().to_string(), "rank 2: it has other options than rank 0");
        }
    }

    /// Messages of another program are refused.
    #[test]
    fn what_nobody_says_is_refused() {
        struct Odd;
        impl Ranks for Odd {
            fn rank(&self) -> usize {
                0
            }
            fn number(&self) -> usize {
                2
            }
            fn gather(&self, said: &[u8]) -> Vec<Vec<u8>> {
                vec![said.to_vec(), mem::take(&mut vec![2, 3])]
            }
        }
        assert_eq!(gather::<Elsewhere>(&Odd, Ok(Vec::new())), Err(Elsewhere::unreadable(1)));
    }
}
