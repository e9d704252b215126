//! Files that are there as a whole or not at all.

use std::fs::{self, File};
use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};

/// A file under a temporary name that appears under its own name when it is finished, or not at
/// all.
pub(crate) struct Output {
    path: PathBuf,
    temporary: PathBuf,
    file: io::BufWriter<File>,
    /// Where the next byte goes.
    pub(crate) position: u64,
    finished: bool,
}

impl Output {
    pub(crate) fn create(path: &Path) -> Result<Self> {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let temporary = path.with_file_name(format!(".{name}.tmp-{}", std::process::id()));
        let failed = |action| {
            move |source| Error::Io {
                action,
                path: path.to_owned(),
                source,
            }
        };
        fs::create_dir_all(directory(path)).map_err(failed("create the directory of"))?;
        let file = File::create(&temporary).map_err(failed("create"))?;
        Ok(Self {
            path: path.to_owned(),
            temporary,
            file: io::BufWriter::with_capacity(1 << 18, file),
            position: 0,
            finished: false,
        })
    }
    fn failed(&self, action: &'static str) -> impl FnOnce(io::Error) -> Error {
        let path = self.path.clone();
        move |source| Error::Io {
            action,
            path,
            source,
        }
    }
    pub(crate) fn seek(&mut self, position: u64) -> Result<()> {
        self.position = position;
        let done = self.file.seek(SeekFrom::Start(position));
        done.map(drop).map_err(self.failed("write"))
    }
    pub(crate) fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.position += bytes.len() as u64;
        let done = self.file.write_all(bytes);
        done.map_err(self.failed("write"))
    }
    /// Drops everything from `position` on.
    pub(crate) fn cut(&mut self, position: u64) -> Result<()> {
        self.seek(position)?;
        let done = self.file.get_ref().set_len(position);
        done.map_err(self.failed("write"))
    }
    /// Gives the file its name, when all of it is on disk.
    pub(crate) fn finish(mut self) -> Result<()> {
        let path = &self.path;
        let done = self
            .file
            .flush()
            .and_then(|()| self.file.get_ref().sync_all())
            .and_then(|()| fs::rename(&self.temporary, path))
            .and_then(|()| File::open(directory(path))?.sync_all());
        done.map_err(self.failed("write"))?;
        self.finished = true;
        Ok(())
    }
}

impl Drop for Output {
    fn drop(&mut self) {
        if !self.finished {
            // Best effort: the name alone says that the file is no table.
            let _ = fs::remove_file(&self.temporary);
        }
    }
}

/// The directory of a file.
fn directory(path: &Path) -> &Path {
    match path.parent() {
        Some(d) if !d.as_os_str().is_empty() => d,
        _ => Path::new("."),
    }
}
