//! A channel for one value. If the sender is dropped before it has sent, the receiver gets `None`.
//! (The channel of std adds 17 KB to a program.)

use std::sync::Arc;

use crate::sync::{Condvar, Mutex, lock, wait};

/// Both ends share this. The content is `None` until the sender has sent or was dropped;
/// `Some(Some(value))` after it has sent; `Some(None)` if it was dropped.
type Letter<T> = Arc<(Mutex<Option<Option<T>>>, Condvar)>;

/// Both ends of a channel for one value.
pub(crate) fn channel<T>() -> (Sender<T>, Receiver<T>) {
    let letter = Letter::default();
    (Sender(Some(Arc::clone(&letter))), Receiver(letter))
}

/// The end that sends. Empty after it has sent.
#[derive(Debug)]
pub(crate) struct Sender<T>(Option<Letter<T>>);

/// The end that waits.
#[derive(Debug)]
pub(crate) struct Receiver<T>(Letter<T>);

impl<T> Sender<T> {
    pub(crate) fn send(mut self, value: T) {
        self.post(Some(value));
    }

    /// Writes under the lock. The receiver checks under the same lock before it sleeps.
    fn post(&mut self, content: Option<T>) {
        if let Some(letter) = self.0.take() {
            *lock(&letter.0) = Some(content);
            letter.1.notify_one();
        }
    }
}

impl<T> Drop for Sender<T> {
    fn drop(&mut self) {
        self.post(None);
    }
}

impl<T> Receiver<T> {
    /// Waits for the value. Returns `None` if the sender was dropped.
    pub(crate) fn receive(self) -> Option<T> {
        let (letter, sent) = &*self.0;
        let mut letter = lock(letter);
        loop {
            match letter.take() {
                Some(content) => return content,
                None => letter = wait(sent, letter),
            }
        }
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use std::thread;

    use super::*;

    #[test]
    fn who_waits_is_told_of_a_value_and_of_none() {
        let (sender, receiver) = channel();
        thread::spawn(move || sender.send(7));
        assert_eq!(receiver.receive(), Some(7));
        let (sender, receiver) = channel::<u8>();
        thread::spawn(move || drop(sender));
        assert_eq!(receiver.receive(), None);
    }
}
