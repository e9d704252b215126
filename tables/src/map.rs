//! Memory maps: the only unsafe code of this crate.

use std::fs::File;
use std::io;

/// A file as bytes.
#[derive(Debug)]
pub(crate) struct Map(memmap2::Mmap);

impl Map {
    /// Maps a whole file. Tables are replaced by renaming a finished file over them, never
    /// written in place, so the bytes of an open table stay as they are.
    pub(crate) fn of(file: &File) -> io::Result<Self> {
        // SAFETY: the map is read-only and outlives no borrow of its bytes. What the compiler
        // must be able to rely on is that nobody changes the file meanwhile: this program only
        // renames finished files into place, and the documentation of `Table::open` passes the
        // condition on to whoever owns the directory. Every block is checked by its checksum
        // after it is read, so that a change from outside is noticed; `Table::read` is there for
        // files that cannot be trusted to stay.
        #[allow(unsafe_code)]
        let map = unsafe { memmap2::Mmap::map(file) }?;
        Ok(Self(map))
    }
}

impl AsRef<[u8]> for Map {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}
