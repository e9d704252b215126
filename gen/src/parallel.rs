//! Work for the threads of the pool, handed over as `dyn` closures.
//!
//! What a closure of generic code captures makes it a type of its own for every code of draughts,
//! and the machinery of the thread pool would be compiled again for each of them. Behind these
//! functions it is compiled once for each type of result. The pieces are large, so one call
//! through a pointer for each of them costs nothing.

use rayon::prelude::*;

use crate::Error;

/// Runs `f` for `0..n`; the first error found stops what has not begun.
pub(crate) fn for_each(
    n: usize,
    f: &(dyn Fn(usize) -> Result<(), Error> + Sync),
) -> Result<(), Error> {
    (0..n).into_par_iter().try_for_each(f)
}

/// The results of `f` for `0..n`, in order.
pub(crate) fn collect<T: Send>(
    n: usize,
    f: &(dyn Fn(usize) -> Result<T, Error> + Sync),
) -> Result<Vec<T>, Error> {
    (0..n).into_par_iter().map(f).collect()
}

/// What [`chunks_mut`] does with the piece of a number.
pub(crate) type OnPiece<'a, T> = dyn Fn(usize, &mut [T]) -> Result<(), Error> + Sync + 'a;

/// Gives `f` the pieces of `size` elements (the last may be shorter) of a slice, with their
/// numbers.
///
/// # Panics
/// If `size` is 0.
pub(crate) fn chunks_mut<T: Send>(
    slice: &mut [T],
    size: usize,
    f: &OnPiece<'_, T>,
) -> Result<(), Error> {
    let chunks = slice.par_chunks_mut(size).enumerate();
    chunks.try_for_each(|(i, chunk)| f(i, chunk))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_piece_is_seen_once() {
        let mut numbers = vec![0usize; 1000];
        chunks_mut(&mut numbers, 7, &|i, chunk| {
            for (j, x) in chunk.iter_mut().enumerate() {
                *x += i * 7 + j;
            }
            Ok(())
        })
        .unwrap();
        assert!(numbers.iter().enumerate().all(|(i, &x)| i == x));
        assert_eq!(collect(100, &|i| Ok(i * i)).unwrap()[99], 9801);
    }

    #[test]
    fn errors_come_back() {
        let stop = |i| {
            if i == 50 {
                Err(Error::Interrupted)
            } else {
                Ok(())
            }
        };
        assert!(matches!(for_each(100, &stop), Err(Error::Interrupted)));
        assert!(matches!(collect(100, &stop), Err(Error::Interrupted)));
    }
}
