//! One-sided tables for keeping and sending.

use std::path::Path;

use dambase_rules::{Ruleset, WithRuleset};

use crate::codec::context;
use crate::error::{Error, Result};
use crate::format::Metric;
use crate::format::header::{Codec, Header, Section, SliceHeader};
use crate::output::Output;
use crate::reader::Table;

use super::finish;
use super::slice::section;

/// How a slice goes into an archive.
enum Form {
    /// As it stands in the table.
    Same,
    /// Encoded anew, in large chunks.
    Encoded(context::Encoded),
}

impl Form {
    fn bytes(&self, slice: &SliceHeader) -> u64 {
        match self {
            Self::Same => slice.bytes(),
            Self::Encoded(e) => e.bytes(),
        }
    }
}

/// Writes the archive form of a table. Of two slices with win, loss and draw the one that takes
/// more bytes is left out ([`Codec::Omitted`]): its values follow from those of the other one and
/// of smaller materials by one ply of search. The other is stored in chunks too large for
/// look-ups. Other tables, and those with king runs, are copied. All that headers say of a slice
/// is kept. Work is spread over the rayon pool in which this is called; the bytes do not depend on
/// it.
///
/// # Errors
/// What [`Table::read_wld`] refuses; [`Error::Io`]. No file is left behind then.
pub fn write_archive(path: impl AsRef<Path>, table: &Table) -> Result<Header> {
    let path = path.as_ref();
    let mut header = table.header().clone();
    let mut forms = Vec::new();
    for slice in &header.slices {
        let anew = header.metric == Metric::Wld
            && !header.king_run
            && !matches!(slice.codec, Codec::Constant | Codec::Omitted);
        let encoded = if anew {
            header.variant.with(Encode(table, slice)).transpose()?
        } else {
            None
        };
        forms.push(match encoded {
            Some(e) if e.bytes() < slice.bytes() => Form::Encoded(e),
            _ => Form::Same,
        });
    }
    let mut out = Output::create(path)?;
    out.seek(Header::BYTES as u64)?;
    let sizes: Vec<u64> = header
        .slices
        .iter()
        .zip(&forms)
        .map(|(s, f)| f.bytes(s))
        .collect();
    let whole = header.slices.iter().all(|s| s.codec != Codec::Omitted);
    let omitted = match (&sizes[..], header.metric, header.king_run) {
        (&[a, b], Metric::Wld, false) if whole && a.max(b) > 0 => Some(usize::from(b > a)),
        _ => None,
    };
    for (k, form) in forms.iter().enumerate() {
        let slice = &mut header.slices[k];
        if omitted == Some(k) {
            let nowhere = Section {
                offset: out.position,
                ..Section::default()
            };
            slice.codec = Codec::Omitted;
            slice.block_positions = 0;
            (slice.model, slice.table, slice.blocks) = (nowhere, nowhere, nowhere);
            continue;
        }
        let mut place = |bytes: &[u8]| {
            let offset = out.position;
            out.write(bytes)?;
            Ok::<_, Error>(section(offset, bytes))
        };
        match form {
            Form::Same => {
                for part in [&mut slice.model, &mut slice.table, &mut slice.blocks] {
                    let offset = place(table.part(part)?)?.offset;
                    part.offset = offset;
                }
            }
            Form::Encoded(e) => {
                slice.codec = Codec::Context;
                slice.block_positions = 0;
                slice.model = place(&e.model)?;
                slice.table = place(&e.directory)?;
                slice.blocks = place(&e.groups)?;
                slice.blocks.checksum = 0;
            }
        }
    }
    finish(path, header, out)
}

struct Encode<'a>(&'a Table, &'a SliceHeader);

impl WithRuleset for Encode<'_> {
    type Output = Option<Result<context::Encoded>>;
    fn run<R: Ruleset>(self) -> Self::Output {
        let Self(table, slice) = self;
        let material = table.header().material;
        match table.read_wld(slice.side) {
            Ok(values) => {
                context::encode::<R>(material, slice.side, &values, context::Limits::archive())
                    .map(Ok)
            }
            Err(e) => Some(Err(e)),
        }
    }
}
