//! Tables for keeping and sending: one side to move only, in large chunks; and back.
//!
//! Of two slices of win, loss and draw an archive has the one that takes fewer bytes. The other
//! follows by one ply of search, because every move of a position leads to the other side to move
//! or to a smaller material. [`unpack`] does that in the order of solving, and the counts in the
//! headers, which an archive has of both sides, must come out.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use dambase_rules::{Ruleset, Side, Variant, WithRuleset};
use dambase_tables::{
    Codec, Header, Index, Material, Metric, Table, WldArray, WriteOptions, table_path,
    write_archive, write_wld,
};

use crate::control::Control;
use crate::error::Error;
use crate::plan::children;
use crate::store::{Solved, Store};
use crate::verify::listing::Listing;
use crate::verify::prove;

/// What was done with one table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Done {
    /// The material.
    pub material: Material,
    /// What it says.
    pub metric: Metric,
    /// Bytes of the file that was there.
    pub before: u64,
    /// Bytes of the file that was written.
    pub after: u64,
}

/// From where to where.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// The code.
    pub variant: Variant,
    /// The directory of the tables that are there.
    pub from: &'a Path,
    /// The directory to write to; tables of the same name there are replaced.
    pub to: &'a Path,
}

/// Tables of a code in the order of solving, and where they go.
fn tables(request: &Request<'_>) -> Result<Vec<(Material, Vec<Metric>)>, Error> {
    let Request { variant, from, to } = *request;
    let listing = Listing::read(from, variant)?;
    let inside = to.join(variant.name());
    std::fs::create_dir_all(&inside).map_err(|source| Error::Io {
        action: "create",
        path: inside.clone(),
        source,
    })?;
    let canonical = |path: &Path| std::fs::canonicalize(path).ok();
    if canonical(&inside) == canonical(&from.join(variant.name())) {
        return Err(Error::SameDirectory { path: inside });
    }
    Ok(listing.tables.into_iter().collect())
}

fn open(request: &Request<'_>, material: Material, metric: Metric) -> Result<Table, Error> {
    let table = Table::open_in(request.from, request.variant, material, metric)?;
    table.verify_checksums()?;
    Ok(table)
}

fn target(request: &Request<'_>, material: Material, metric: Metric) -> PathBuf {
    table_path(request.to, request.variant, material, metric)
}

/// Writes the archive of every table of a code. What was done is given to `watch`, in order.
///
/// # Errors
/// [`Error::Table`] for damaged tables and where writing fails; [`Error::SameDirectory`];
/// [`Error::Interrupted`].
pub fn pack(
    request: &Request<'_>,
    control: &Control,
    watch: &mut dyn FnMut(Done),
) -> Result<(), Error> {
    for (material, metrics) in tables(request)? {
        for metric in metrics {
            control.check()?;
            let table = open(request, material, metric)?;
            let header = write_archive(target(request, material, metric), &table)?;
            watch(Done {
                material,
                metric,
                before: table.header().file_bytes,
                after: header.file_bytes,
            });
        }
    }
    Ok(())
}

/// Writes the tables of which `request.from` has the archives, with both sides to move and chunks
/// for look-ups. What was done is given to `watch`, in order. Takes 2 bits of memory per position, for
/// both sides to move, of the table in hand and of the smaller ones on which later tables rest.
///
/// # Errors
/// As [`pack`]; [`Error::MissingTable`] if captures or crownings lead to a material that the archive
/// does not have; [`Error::Counts`] if the values do not agree with the counts in the header.
pub fn unpack(
    request: &Request<'_>,
    control: &Control,
    watch: &mut dyn FnMut(Done),
) -> Result<(), Error> {
    let all = tables(request)?;
    let mut store = Store::new();
    for (k, (material, metrics)) in all.iter().enumerate() {
        let material = *material;
        for &metric in metrics {
            control.check()?;
            let table = open(request, material, metric)?;
            let path = target(request, material, metric);
            let header = if metric == Metric::Wld && !table.header().king_run {
                let solved = rebuild(request.variant, &table, &store, control)?;
                let header = write(&path, table.header(), &solved)?;
                store.insert(solved);
                header
            } else {
                // Such tables are archived as they are.
                write_archive(&path, &table)?
            };
            watch(Done {
                material,
                metric,
                before: table.header().file_bytes,
                after: header.file_bytes,
            });
        }
        // What no later material rests on may go.
        let later: BTreeSet<Material> = all[k + 1..]
            .iter()
            .flat_map(|(m, _)| children(request.variant, *m))
            .collect();
        for m in store.materials() {
            if !later.contains(&m) {
                store.remove(m);
            }
        }
    }
    Ok(())
}

/// The true values of both sides to move.
fn rebuild(
    variant: Variant,
    table: &Table,
    store: &Store,
    control: &Control,
) -> Result<Solved, Error> {
    struct Derive<'a>(&'a mut Solved, Option<Side>, &'a Store, &'a Control);
    impl WithRuleset for Derive<'_> {
        type Output = Result<(), Error>;
        fn run<R: Ruleset>(self) -> Self::Output {
            let Self(solved, side, store, control) = self;
            prove::resolve::<R>(solved, store, control)?;
            side.map_or(Ok(()), |side| {
                prove::derive::<R>(solved, side, store, control)
            })
        }
    }
    let header = table.header();
    let material = header.material;
    let positions = Index::<u128>::new(variant.rules().geometry, material)?.positions();
    let mut omitted = None;
    let mut wld = Vec::new();
    for slice in &header.slices {
        wld.push(if slice.codec == Codec::Omitted {
            omitted = Some(slice.side);
            WldArray::new(positions)
        } else {
            table.read_wld(slice.side)?
        });
    }
    let mut solved = Solved {
        material,
        wld,
        dtw: None,
    };
    variant.with(Derive(&mut solved, omitted, store, control))?;
    Ok(solved)
}

/// Writes a table whose header says of itself what that of the archive says, or none at all.
fn write(path: &Path, archive: &Header, solved: &Solved) -> Result<Header, Error> {
    struct Write<'a>(&'a Path, &'a Solved, WriteOptions);
    impl WithRuleset for Write<'_> {
        type Output = Result<Header, dambase_tables::Error>;
        fn run<R: Ruleset>(self) -> Self::Output {
            let Self(path, solved, options) = self;
            let slices: Vec<_> = solved.wld.iter().collect();
            write_wld::<R>(path, solved.material, &slices, &options)
        }
    }
    let options = WriteOptions {
        verified: archive.verified,
        on_unverified: archive.on_unverified,
        generator: archive.generator.clone(),
        verifier: archive.verifier.clone(),
        ..WriteOptions::default()
    };
    let header = archive.variant.with(Write(path, solved, options))?;
    let counts = |h: &Header| h.slices.iter().map(|s| s.stats).collect::<Vec<_>>();
    if counts(&header) != counts(archive) {
        let material = solved.material;
        // A table with wrong values must not stay.
        let removed = std::fs::remove_file(path);
        removed.map_err(|source| Error::Io {
            action: "remove",
            path: path.to_owned(),
            source,
        })?;
        return Err(Error::Counts(material));
    }
    Ok(header)
}
