//! Where large arrays are: in memory, or in work files that are mapped into it.
//!
//! A work file has a name only until it is open: it is removed from its directory at once and its
//! blocks are free again when the array is dropped or the process ends, however it ends. All its
//! blocks are reserved before it is mapped. So a full disk is an error of [`LargeArray::zeroed`] and
//! not a signal in the middle of the work.

use std::alloc::{Layout, handle_alloc_error};
use std::fmt;
use std::fs::{self, File};
use std::io::{self, Write};
use std::ops::{Deref, DerefMut};
use std::path::{Path, PathBuf};
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU16, AtomicU64, Ordering};

use fs4::FileExt;
use zerocopy::{FromBytes, IntoBytes};

use crate::error::{Error, Result};

/// How the name of a work file begins, as long as it has one; a number of a process follows, and one
/// of the file.
pub const WORK_FILE_PREFIX: &str = ".work-";

/// Where arrays are to be. Clones mean the same place.
#[derive(Clone, Debug, Default)]
pub struct Backing(Option<Arc<WorkFiles>>);

/// The work files of a directory.
#[derive(Debug)]
struct WorkFiles {
    dir: PathBuf,
    /// Files made so far.
    made: AtomicU64,
    /// Bytes of those that are there, and the most that there have been.
    bytes: AtomicU64,
    peak: AtomicU64,
}

impl Backing {
    /// Plain memory.
    #[must_use]
    pub const fn memory() -> Self {
        Self(None)
    }
    /// Work files in a directory, which must be there when the first array is made.
    #[must_use]
    pub fn work_files(dir: PathBuf) -> Self {
        Self(Some(Arc::new(WorkFiles {
            dir,
            made: AtomicU64::new(0),
            bytes: AtomicU64::new(0),
            peak: AtomicU64::new(0),
        })))
    }
    /// Whether this is plain memory.
    #[must_use]
    pub const fn is_memory(&self) -> bool {
        self.0.is_none()
    }
    /// Bytes of the work files that are there now, and the most that there have been.
    #[must_use]
    pub fn work_file_bytes(&self) -> (u64, u64) {
        self.0.as_ref().map_or((0, 0), |files| {
            let load = |n: &AtomicU64| n.load(Ordering::Relaxed);
            (load(&files.bytes), load(&files.peak))
        })
    }
}

impl WorkFiles {
    /// A new file without a name whose bytes are zeros and have their blocks.
    fn create(&self, bytes: u64) -> io::Result<File> {
        let number = self.made.fetch_add(1, Ordering::Relaxed);
        let name = format!("{WORK_FILE_PREFIX}{}-{number}", std::process::id());
        let path = self.dir.join(name);
        let file = File::options()
            .read(true)
            .write(true)
            .create_new(true)
            .open(&path)?;
        fs::remove_file(&path)?;
        reserve(&file, bytes)?;
        Ok(file)
    }
    fn failed(&self, bytes: u64) -> impl FnOnce(io::Error) -> Error {
        let dir = self.dir.clone();
        move |source| Error::WorkFile { dir, bytes, source }
    }
}

/// Gives an empty file its length and all its blocks.
fn reserve(mut file: &File, bytes: u64) -> io::Result<()> {
    use io::ErrorKind::{FileTooLarge, QuotaExceeded, StorageFull};
    // Where there is no such call its implementation only sets the length.
    let known = cfg!(any(
        target_os = "linux",
        target_os = "android",
        target_os = "freebsd",
        target_vendor = "apple",
        windows
    ));
    if known {
        match FileExt::allocate(file, bytes) {
            Ok(()) => return file.set_len(bytes),
            Err(e) if matches!(e.kind(), StorageFull | QuotaExceeded | FileTooLarge) => {
                return Err(e);
            }
            // A file system that cannot: what is written has blocks.
            Err(_) => {}
        }
    }
    let zeros = [0; 1 << 16];
    let mut rest = bytes;
    while rest > 0 {
        let now = rest.min(zeros.len() as u64);
        #[allow(clippy::cast_possible_truncation)] // at most the length of an array
        file.write_all(&zeros[..now as usize])?;
        rest -= now;
    }
    file.flush()
}

/// What a [`LargeArray`] can hold: numbers for which all bytes make sense.
pub trait Element: FromBytes + IntoBytes + Send + Sync + sealed::Sealed + 'static {}

mod sealed {
    /// Keeps the list of elements closed.
    pub trait Sealed {}
}

macro_rules! elements {
    ($($element:ty)*) => {
        $(impl sealed::Sealed for $element {}
        impl Element for $element {})*
    };
}
elements!(u8 u16 u32 u64 u128 i16 AtomicU8 AtomicU16);

/// A long array of numbers, in memory or in a work file. Used as a slice, which costs the same for
/// both.
pub struct LargeArray<T> {
    start: NonNull<T>,
    len: usize,
    owner: Owner<T>,
}

/// Keeps the numbers; they are reached through the pointer only.
enum Owner<T> {
    Memory(Vec<T>),
    File(#[allow(dead_code)] memmap2::MmapMut, Accounted),
}

/// Bytes of a work file that is there.
struct Accounted(Arc<WorkFiles>, u64);

impl Drop for Accounted {
    fn drop(&mut self) {
        self.0.bytes.fetch_sub(self.1, Ordering::Relaxed);
    }
}

// SAFETY: the array owns its numbers, alone; `T` can be sent.
#[allow(unsafe_code)]
unsafe impl<T: Element> Send for LargeArray<T> {}
// SAFETY: a shared array gives shared slices only; `T` can be shared.
#[allow(unsafe_code)]
unsafe impl<T: Element> Sync for LargeArray<T> {}

impl<T: Element> LargeArray<T> {
    /// `len` zeros.
    ///
    /// # Errors
    /// [`Error::WorkFile`] if the directory or the disk does not take the file.
    ///
    /// # Panics
    /// For more than the address space has.
    pub fn zeroed(backing: &Backing, len: u64) -> Result<Self> {
        let n = usize::try_from(len).expect("an array larger than the address space");
        let bytes = len.saturating_mul(size_of::<T>() as u64);
        match &backing.0 {
            Some(files) if bytes > 0 => {
                let map = files
                    .create(bytes)
                    .and_then(|file| map(&file))
                    .map_err(files.failed(bytes))?;
                Ok(Self::mapped(map, n, files, bytes))
            }
            _ => match T::new_vec_zeroed(n) {
                Ok(v) => Ok(v.into()),
                // As any vector does.
                Err(_) => handle_alloc_error(Layout::array::<T>(n).expect("address space")),
            },
        }
    }
    fn mapped(mut map: memmap2::MmapMut, len: usize, files: &Arc<WorkFiles>, bytes: u64) -> Self {
        assert!(map.len() / size_of::<T>() >= len);
        let start = NonNull::new(map.as_mut_ptr()).expect("a map that begins somewhere");
        assert!(start.cast::<T>().is_aligned());
        let now = files.bytes.fetch_add(bytes, Ordering::Relaxed) + bytes;
        files.peak.fetch_max(now, Ordering::Relaxed);
        Self {
            start: start.cast(),
            len,
            owner: Owner::File(map, Accounted(Arc::clone(files), bytes)),
        }
    }
    /// The array, copied if it is to be in a work file and is not.
    ///
    /// # Errors
    /// As [`Self::zeroed`].
    pub fn moved_to(self, backing: &Backing) -> Result<Self>
    where
        T: Copy,
    {
        if backing.is_memory() || self.is_in_file() {
            return Ok(self);
        }
        let mut moved = Self::zeroed(backing, self.len as u64)?;
        moved.copy_from_slice(&self);
        Ok(moved)
    }
    /// Whether the numbers are in a work file.
    #[must_use]
    pub const fn is_in_file(&self) -> bool {
        matches!(self.owner, Owner::File(..))
    }
    /// Where the numbers begin. Nobody else reaches them but through the array.
    #[must_use]
    pub fn as_mut_ptr(&mut self) -> *mut T {
        self.start.as_ptr()
    }
    /// The array, where it is, with each number replaced by another one of as many bytes.
    ///
    /// # Panics
    /// If the numbers do not have as many bytes.
    #[must_use]
    pub fn map<U: Element>(self, f: impl Fn(T) -> U) -> LargeArray<U> {
        assert!(size_of::<T>() == size_of::<U>() && align_of::<T>() == align_of::<U>());
        let Self { start, len, owner } = self;
        match owner {
            // In place, for the sizes are the same.
            Owner::Memory(v) => v.into_iter().map(f).collect::<Vec<_>>().into(),
            Owner::File(map, accounted) => {
                let start = start.cast::<U>();
                for i in 0..len {
                    // SAFETY: the range is inside the map, which is ours alone and aligned for
                    // both. All bytes make a `T` and a `U`, none of which has anything to drop.
                    #[allow(unsafe_code)]
                    unsafe {
                        let at = start.add(i);
                        at.write(f(at.cast::<T>().read()));
                    }
                }
                LargeArray {
                    start,
                    len,
                    owner: Owner::File(map, accounted),
                }
            }
        }
    }
}

/// Maps a work file.
fn map(file: &File) -> io::Result<memmap2::MmapMut> {
    // SAFETY: the file has no name, so no other process can open it, and this one has only this
    // map of it. It has its length, and all its blocks, before it is mapped.
    #[allow(unsafe_code)]
    unsafe {
        memmap2::MmapMut::map_mut(file)
    }
}

impl<T> From<Vec<T>> for LargeArray<T> {
    fn from(mut v: Vec<T>) -> Self {
        Self {
            start: NonNull::new(v.as_mut_ptr()).unwrap_or(NonNull::dangling()),
            len: v.len(),
            owner: Owner::Memory(v),
        }
    }
}

impl<T> FromIterator<T> for LargeArray<T> {
    fn from_iter<I: IntoIterator<Item = T>>(iter: I) -> Self {
        iter.into_iter().collect::<Vec<_>>().into()
    }
}

impl<T> Deref for LargeArray<T> {
    type Target = [T];
    #[inline(always)]
    fn deref(&self) -> &[T] {
        // SAFETY: so many numbers are there as long as their owner is; whoever could write them
        // needs the array itself.
        #[allow(unsafe_code)]
        unsafe {
            std::slice::from_raw_parts(self.start.as_ptr(), self.len)
        }
    }
}

impl<T> DerefMut for LargeArray<T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: as above, and the array is borrowed by the result alone.
        #[allow(unsafe_code)]
        unsafe {
            std::slice::from_raw_parts_mut(self.start.as_ptr(), self.len)
        }
    }
}

impl<T> Default for LargeArray<T> {
    fn default() -> Self {
        Vec::new().into()
    }
}

/// The clone is in memory.
impl<T: Clone> Clone for LargeArray<T> {
    fn clone(&self) -> Self {
        self.to_vec().into()
    }
}

impl<T: PartialEq> PartialEq for LargeArray<T> {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl<T: Eq> Eq for LargeArray<T> {}

impl<T: fmt::Debug> fmt::Debug for LargeArray<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

/// Whether a file name is one that a work file has for a moment, and keeps if the process is killed in
/// that moment.
#[must_use]
pub fn is_work_file(path: &Path) -> bool {
    let name = path.file_name().and_then(|n| n.to_str()).unwrap_or("");
    let numbers = name.strip_prefix(WORK_FILE_PREFIX);
    numbers.and_then(|n| n.split_once('-')).is_some_and(|n| {
        let digits = |s: &str| !s.is_empty() && s.bytes().all(|b| b.is_ascii_digit());
        digits(n.0) && digits(n.1)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_read_and_written_as_memory_is() {
        let dir = tempfile::tempdir().unwrap();
        let files = Backing::work_files(dir.path().to_owned());
        for backing in [Backing::memory(), files.clone()] {
            let mut array = LargeArray::<u16>::zeroed(&backing, 100_000).unwrap();
            assert!(array.iter().all(|&c| c == 0));
            for (i, c) in array.iter_mut().enumerate() {
                *c = (i % 65_521) as u16;
            }
            let wanted: Vec<u16> = (0..100_000).map(|i| (i % 65_521) as u16).collect();
            assert_eq!(array[..], wanted);
            assert_eq!(array.clone()[..], wanted);
            let shared = array.map(AtomicU16::new);
            std::thread::scope(|s| {
                for part in shared.chunks(25_000) {
                    s.spawn(move || {
                        for c in part {
                            c.fetch_add(1, Ordering::Relaxed);
                        }
                    });
                }
            });
            let array = shared.map(|c| c.into_inner().wrapping_sub(1) as i16);
            assert!(array.iter().zip(&wanted).all(|(&a, &b)| a == b as i16));
        }
        assert_eq!(files.work_file_bytes(), (0, 200_000));
    }

    #[test]
    fn files_have_no_name_and_all_blocks() {
        let dir = tempfile::tempdir().unwrap();
        let files = Backing::work_files(dir.path().to_owned());
        let before = fs4::available_space(dir.path()).unwrap();
        let array = LargeArray::<u64>::zeroed(&files, 8 << 20).unwrap();
        assert!(array.is_in_file());
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
        assert_eq!(files.work_file_bytes(), (64 << 20, 64 << 20));
        // Others write, too; not so much.
        assert!(before.saturating_sub(fs4::available_space(dir.path()).unwrap()) > 32 << 20);
        drop(array);
        assert_eq!(files.work_file_bytes(), (0, 64 << 20));
    }

    #[test]
    fn what_the_disk_does_not_take_is_an_error() {
        let dir = tempfile::tempdir().unwrap();
        let files = Backing::work_files(dir.path().to_owned());
        let error = LargeArray::<u8>::zeroed(&files, 1 << 60).unwrap_err();
        assert!(matches!(error, Error::WorkFile { bytes, .. } if bytes == 1 << 60));
        let gone = Backing::work_files(dir.path().join("gone"));
        let error = LargeArray::<u8>::zeroed(&gone, 1).unwrap_err();
        assert!(error.to_string().contains("gone"), "{error}");
    }

    #[test]
    fn names_of_work_files() {
        assert!(is_work_file(Path::new("a/.work-12-0")));
        for other in [".work-12", ".work--1", "work-1-2", ".work-1-2x"] {
            assert!(!is_work_file(Path::new(other)), "{other}");
        }
    }
}
