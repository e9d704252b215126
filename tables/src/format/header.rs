//! The checked header: what a table holds, how it was built, and where its bytes are.

use std::path::Path;

use dambase_rules::{Side, Variant};
use xxhash_rust::xxh3::xxh3_64;
use zerocopy::{FromBytes, FromZeros, IntoBytes};

use crate::codec::{Coding, Packing};
use crate::error::{Error, Result};
use crate::format::raw::{
    CHECKED_BYTES, FLAGS, HEADER_BYTES, KING_RUN, MAGIC, NO_INDEX, NO_PLIES, ON_UNVERIFIED,
    RawHeader, RawSection, RawSlice, VERIFIED,
};
use crate::format::{Metric, VERSION};
use crate::kingrun::RunIndex;
use crate::material::Material;
use crate::narrow::{to_u8, to_u16};
use crate::value::{Dtw, Wld};

/// How the blocks of a slice are compressed. The numbers are those of the file format.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[repr(u8)]
pub enum Codec {
    /// No blocks: all positions that are not captures have one value.
    Constant = 0,
    /// Packed values as they are.
    Raw = 1,
    /// zstd frames, with a dictionary if the slice has one.
    Zstd = 2,
    /// Chunks of the context codec ([`crate::codec::context`]); only win, loss and draw.
    Context = 3,
    /// Nothing: the slice of an archive that follows from the other one by one ply of search.
    Omitted = 4,
    /// Chunks of the distance codec (docs/format-distance.md); only with distances.
    Distance = 6,
}

impl Codec {
    /// The name shown to users.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Constant => "constant",
            Self::Raw => "raw",
            Self::Zstd => "zstd",
            Self::Context => "context",
            Self::Omitted => "omitted",
            Self::Distance => "distance",
        }
    }
    /// Whether values lie in chunks that follow the pieces and not the index.
    #[must_use]
    pub const fn in_chunks(self) -> bool {
        matches!(self, Self::Context | Self::Distance)
    }
    const fn from_id(id: u8) -> Option<Self> {
        match id {
            0 => Some(Self::Constant),
            1 => Some(Self::Raw),
            2 => Some(Self::Zstd),
            3 => Some(Self::Context),
            4 => Some(Self::Omitted),
            // 5 was an earlier distance codec.
            6 => Some(Self::Distance),
            _ => None,
        }
    }
}

/// A position that takes longest.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Longest {
    /// Plies to the end.
    pub plies: Dtw,
    /// The lowest index of such a position.
    pub index: u64,
}

impl Longest {
    /// Keeps the longer of two, of two as long that with the lower index.
    pub fn keep(longest: &mut Option<Self>, other: Option<Self>) {
        if let Some(o) = other
            && longest.is_none_or(|l| (o.plies, l.index) > (l.plies, o.index))
        {
            *longest = other;
        }
    }
}

/// Counts of one slice, over all its positions, captures included, for the side to move.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct SliceStats {
    /// All positions.
    pub positions: u64,
    /// Won; in a DTZ table won under the draw limits too.
    pub wins: u64,
    /// Won with endless play but drawn under the draw limits; 0 but in DTZ tables.
    pub cursed_wins: u64,
    /// Drawn.
    pub draws: u64,
    /// Lost with endless play but drawn under the draw limits; 0 but in DTZ tables.
    pub blessed_losses: u64,
    /// Lost; in a DTZ table lost under the draw limits too.
    pub losses: u64,
    /// Positions in which the side to move must capture, those decided by the material excepted.
    pub captures: u64,
    /// Positions in which the game is over by the material alone.
    pub decided: u64,
    /// The longest win; nothing in WLD tables and where there is none.
    pub longest_win: Option<Longest>,
    /// The longest loss; nothing in WLD tables and where there is none.
    pub longest_loss: Option<Longest>,
    /// Counts of the positions without a pending king run; nothing where positions have no runs.
    pub no_runs: Option<NoRuns>,
}

/// Counts of the positions of a slice in which no king run is pending.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct NoRuns {
    /// All of them.
    pub positions: u64,
    /// Won by the side to move.
    pub wins: u64,
    /// Lost by the side to move.
    pub losses: u64,
}

impl NoRuns {
    /// Counts one more position.
    pub const fn add(&mut self, value: Wld) {
        self.positions += 1;
        match value {
            Wld::Win => self.wins += 1,
            Wld::Loss => self.losses += 1,
            Wld::Draw => {}
        }
    }
    /// Adds the counts of other positions.
    pub const fn merge(&mut self, others: Self) {
        self.positions += others.positions;
        self.wins += others.wins;
        self.losses += others.losses;
    }
    /// Drawn.
    #[must_use]
    pub const fn draws(&self) -> u64 {
        self.positions - self.wins - self.losses
    }
}

impl SliceStats {
    /// Adds the counts of another part of the slice.
    pub fn merge(&mut self, o: &Self) {
        self.positions += o.positions;
        self.wins += o.wins;
        self.cursed_wins += o.cursed_wins;
        self.draws += o.draws;
        self.blessed_losses += o.blessed_losses;
        self.losses += o.losses;
        self.captures += o.captures;
        self.decided += o.decided;
        Longest::keep(&mut self.longest_win, o.longest_win);
        Longest::keep(&mut self.longest_loss, o.longest_loss);
        if let Some(n) = o.no_runs {
            self.no_runs.get_or_insert_default().merge(n);
        }
    }
    /// Positions whose values are stored: neither captures nor decided.
    #[must_use]
    pub const fn stored(&self) -> u64 {
        self.positions - self.captures - self.decided
    }
}

/// A part of a file.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Section {
    /// First byte, from the start of the file.
    pub offset: u64,
    /// Length in bytes.
    pub bytes: u64,
    /// The xxh3 of the section; 0 for the blocks, each of which has its own.
    pub checksum: u64,
}

/// One slice of a table.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct SliceHeader {
    /// The side to move.
    pub side: Side,
    /// Counts.
    pub stats: SliceStats,
    /// How the blocks are compressed.
    pub codec: Codec,
    /// Positions in a block; the last block may have fewer.
    pub block_positions: u32,
    /// The dictionary or model of the codec; empty if there is none.
    pub model: Section,
    /// Lengths and checksums of the blocks.
    pub table: Section,
    /// The blocks.
    pub blocks: Section,
    pub(crate) coding: Coding,
    pub(crate) constant: u16,
}

impl SliceHeader {
    /// Number of blocks; 0 for slices that have none of equal size.
    #[must_use]
    pub const fn block_count(&self) -> u64 {
        match self.codec {
            Codec::Constant | Codec::Context | Codec::Distance | Codec::Omitted => 0,
            _ => self.stats.positions.div_ceil(self.block_positions as u64),
        }
    }
    /// Bytes of all sections together.
    #[must_use]
    pub const fn bytes(&self) -> u64 {
        self.model.bytes + self.table.bytes + self.blocks.bytes
    }
    /// The bits in the file for each position of the slice, captures counted, header not counted.
    #[must_use]
    pub fn bits_per_position(&self) -> f64 {
        self.bytes() as f64 * 8.0 / self.stats.positions.max(1) as f64
    }
}

/// What a table says of itself, checked.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Header {
    /// The code of draughts.
    pub variant: Variant,
    /// What stands on the board.
    pub material: Material,
    /// What the values say.
    pub metric: Metric,
    /// The fingerprint of the rules.
    pub rules_hash: u64,
    /// The fingerprint of the draw limits; 0 in tables that know none.
    pub limits_hash: u64,
    /// Whether every value was proved from its successors.
    pub verified: bool,
    /// Whether the Frisian king run is part of the positions.
    pub king_run: bool,
    /// Whether the table was built from tables that were not verified.
    pub on_unverified: bool,
    /// Version of the program that built the table.
    pub generator: String,
    /// Version of the program that verified it; empty if none did.
    pub verifier: String,
    /// Length of the file in bytes.
    pub file_bytes: u64,
    /// The slices, in the order of [`Material::sides`].
    pub slices: Vec<SliceHeader>,
    /// The lists of what positions need where several clocks run at once; empty in other tables.
    pub needs: Section,
}

impl Header {
    /// Bytes at the start of every file.
    pub const BYTES: usize = HEADER_BYTES;

    /// The stored slice with `side` to move.
    #[must_use]
    pub fn slice(&self, side: Side) -> Option<&SliceHeader> {
        self.slices.iter().find(|s| s.side == side)
    }
    /// Positions of all stored slices.
    #[must_use]
    pub fn positions(&self) -> u64 {
        self.slices.iter().map(|s| s.stats.positions).sum()
    }
    /// The bits in the file for each position, everything counted.
    #[must_use]
    pub fn bits_per_position(&self) -> f64 {
        self.file_bytes as f64 * 8.0 / self.positions().max(1) as f64
    }
    /// True if the code limits the moves of one king in a row and the table does not know it
    /// (Frisian).
    #[must_use]
    pub const fn lacks_king_run(&self) -> bool {
        self.variant.rules().king_run.is_some() && !self.king_run
    }

    /// Reads and checks the first bytes of a file of `file_bytes` bytes. `path` is for messages.
    pub(crate) fn parse(path: &Path, bytes: &[u8], file_bytes: u64) -> Result<Self> {
        let at = || path.to_owned();
        let magic = bytes.get(..MAGIC.len());
        if magic.is_some_and(|m| m != MAGIC) || (magic.is_none() && !MAGIC.starts_with(bytes)) {
            return Err(Error::NotATable { path: at() });
        }
        let short = Error::Length {
            path: at(),
            found: file_bytes,
            wanted: HEADER_BYTES as u64,
        };
        let version = match bytes.get(8..10) {
            Some(v) => u16::from_le_bytes([v[0], v[1]]),
            None => return Err(short),
        };
        if version != VERSION {
            return Err(Error::Version {
                path: at(),
                found: version,
                known: VERSION,
            });
        }
        let Ok((raw, _)) = RawHeader::ref_from_prefix(bytes) else {
            return Err(short);
        };
        if xxh3_64(&raw.as_bytes()[..CHECKED_BYTES]) != raw.checksum.get() {
            return Err(Error::HeaderChecksum { path: at() });
        }
        let header = Self::try_from(raw).map_err(|flaw| flaw.at(path))?;
        if header.file_bytes != file_bytes {
            return Err(Error::Length {
                path: at(),
                found: file_bytes,
                wanted: header.file_bytes,
            });
        }
        let rules_hash = header.variant.rules().fingerprint();
        if header.rules_hash != rules_hash {
            return Err(Error::OtherRules {
                path: at(),
                variant: header.variant,
                found: header.rules_hash,
                wanted: rules_hash,
            });
        }
        Ok(header)
    }

    /// The header as it stands in the file, with its checksum.
    pub(crate) fn to_bytes(&self) -> [u8; HEADER_BYTES] {
        let mut raw = RawHeader::new_zeroed();
        raw.magic = MAGIC;
        raw.version.set(VERSION);
        raw.header_bytes.set(to_u16(HEADER_BYTES));
        raw.variant = self.variant.id();
        raw.metric = self.metric as u8;
        raw.slice_count = to_u8(self.slices.len());
        raw.rules.set(self.rules_hash);
        raw.limits.set(self.limits_hash);
        raw.flags.set(
            u32::from(self.verified) * VERIFIED
                + u32::from(self.king_run) * KING_RUN
                + u32::from(self.on_unverified) * ON_UNVERIFIED,
        );
        let m = self.material;
        raw.material = [m.kings[0], m.men[0], m.kings[1], m.men[1]];
        raw.file_bytes.set(self.file_bytes);
        raw.generator = padded(&self.generator);
        raw.verifier = padded(&self.verifier);
        raw.needs_bytes.set(self.needs.bytes);
        raw.needs_checksum.set(self.needs.checksum);
        for (raw, slice) in raw.slices.iter_mut().zip(&self.slices) {
            *raw = slice.into();
        }
        let checksum = xxh3_64(&raw.as_bytes()[..CHECKED_BYTES]);
        raw.checksum.set(checksum);
        zerocopy::transmute!(raw)
    }
}

/// Cuts a text to what a field holds, at a character boundary.
fn padded(text: &str) -> [u8; 32] {
    let mut end = text.len().min(32);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let mut out = [0; 32];
    out[..end].copy_from_slice(&text.as_bytes()[..end]);
    out
}

fn text(field: &[u8; 32]) -> std::result::Result<String, Flaw> {
    let end = field.iter().position(|&b| b == 0).unwrap_or(32);
    let text = str::from_utf8(&field[..end]).map_err(|_| Flaw::Senseless("a text is not UTF-8"))?;
    if field[end..].iter().any(|&b| b != 0) {
        return Err(Flaw::Senseless("bytes after the end of a text"));
    }
    Ok(text.to_owned())
}

/// What is wrong with a raw header, without the name of the file.
pub(crate) enum Flaw {
    Unknown(&'static str, u8),
    Senseless(&'static str),
}

impl Flaw {
    fn at(self, path: &Path) -> Error {
        let path = path.to_owned();
        match self {
            Self::Unknown(field, found) => Error::Unknown { path, field, found },
            Self::Senseless(what) => Error::Header { path, what },
        }
    }
}

impl TryFrom<&RawHeader> for Header {
    type Error = Flaw;

    fn try_from(raw: &RawHeader) -> std::result::Result<Self, Flaw> {
        let ensure = |good: bool, what| {
            if good {
                Ok(())
            } else {
                Err(Flaw::Senseless(what))
            }
        };
        let variant = Variant::from_id(raw.variant).ok_or(Flaw::Unknown("variant", raw.variant))?;
        let metric = Metric::from_id(raw.metric).ok_or(Flaw::Unknown("metric", raw.metric))?;
        let flags = raw.flags.get();
        ensure(
            usize::from(raw.header_bytes.get()) == HEADER_BYTES,
            "length of the header",
        )?;
        ensure(flags & !FLAGS == 0, "unknown flags")?;
        ensure(
            raw.zero == 0 && raw.reserved_end == [0; 8],
            "reserved bytes are not zero",
        )?;
        let [wk, wm, bk, bm] = raw.material;
        ensure(
            raw.material.into_iter().all(|n| n <= 16) && wk + wm > 0 && bk + bm > 0,
            "numbers of pieces",
        )?;
        let material = Material::new(wk, wm, bk, bm);
        ensure(material.is_canonical(), "the material is a mirrored one")?;
        let sides = material.sides();
        ensure(
            usize::from(raw.slice_count) == sides.len(),
            "number of slices",
        )?;
        let rules = variant.rules();
        let king_run = flags & KING_RUN != 0;
        ensure(
            !king_run || rules.king_run.is_some(),
            "a king run in a code without one",
        )?;
        let scope = rules.king_run.filter(|_| king_run);
        let index = RunIndex::<u128>::new(rules.geometry, scope, material)
            .map_err(|_| Flaw::Senseless("more positions than can be numbered"))?;
        let positions = index.positions();
        let mut slices = Vec::with_capacity(2);
        let mut end = HEADER_BYTES as u64;
        for (&side, raw) in sides.iter().zip(&raw.slices) {
            let boards = king_run.then(|| index.boards().positions());
            let slice = SliceHeader::checked(side, raw, metric, boards)?;
            ensure(slice.stats.positions == positions, "number of positions")?;
            for section in [slice.model, slice.table, slice.blocks] {
                ensure(section.offset == end, "place of a section")?;
                end = end
                    .checked_add(section.bytes)
                    .ok_or(Flaw::Senseless("length of a section"))?;
            }
            slices.push(slice);
        }
        ensure(
            slices.iter().any(|s| s.codec != Codec::Omitted),
            "a table without slices",
        )?;
        if sides.len() == 1 {
            ensure(
                raw.slices[1].as_bytes().iter().all(|&b| b == 0),
                "a second slice of a symmetric material",
            )?;
        }
        let needs = Section {
            offset: end,
            bytes: raw.needs_bytes.get(),
            checksum: raw.needs_checksum.get(),
        };
        let several = |s: &SliceHeader| s.coding == Coding::Needs;
        ensure(
            slices.iter().all(several) == slices.iter().any(several)
                && slices.iter().any(several) == (needs.bytes != 0)
                && (needs.bytes != 0 || needs.checksum == 0),
            "lists of what positions need",
        )?;
        end = end
            .checked_add(needs.bytes)
            .ok_or(Flaw::Senseless("length of a section"))?;
        ensure(raw.file_bytes.get() == end, "length of the file")?;
        Ok(Self {
            variant,
            material,
            metric,
            rules_hash: raw.rules.get(),
            limits_hash: raw.limits.get(),
            verified: flags & VERIFIED != 0,
            king_run,
            on_unverified: flags & ON_UNVERIFIED != 0,
            generator: text(&raw.generator)?,
            verifier: text(&raw.verifier)?,
            file_bytes: end,
            slices,
            needs,
        })
    }
}

impl SliceHeader {
    /// `boards` are the placements of the material if each has several run states.
    fn checked(
        side: Side,
        raw: &RawSlice,
        metric: Metric,
        boards: Option<u64>,
    ) -> std::result::Result<Self, Flaw> {
        let ensure = |good: bool, what| {
            if good {
                Ok(())
            } else {
                Err(Flaw::Senseless(what))
            }
        };
        let longest = |plies: u16, index: u64| {
            let none = plies == NO_PLIES && index == NO_INDEX;
            let good = none || (plies != NO_PLIES && index < raw.positions.get());
            ensure(good, "index of a longest game")?;
            Ok((!none).then_some(Longest {
                plies: Dtw(plies),
                index,
            }))
        };
        let stats = SliceStats {
            positions: raw.positions.get(),
            wins: raw.wins.get(),
            cursed_wins: raw.cursed_wins.get(),
            draws: raw.draws.get(),
            blessed_losses: raw.blessed_losses.get(),
            losses: raw.losses.get(),
            captures: raw.captures.get(),
            decided: raw.decided.get(),
            longest_win: longest(raw.longest_win_plies.get(), raw.longest_win_index.get())?,
            longest_loss: longest(raw.longest_loss_plies.get(), raw.longest_loss_index.get())?,
            no_runs: boards.map(|positions| NoRuns {
                positions,
                wins: raw.no_runs_wins.get(),
                losses: raw.no_runs_losses.get(),
            }),
        };
        let sum = |counts: &[u64]| counts.iter().try_fold(0_u64, |a, &n| a.checked_add(n));
        let values = sum(&[
            stats.wins,
            stats.cursed_wins,
            stats.draws,
            stats.blessed_losses,
            stats.losses,
        ]);
        ensure(
            values == Some(stats.positions)
                && sum(&[stats.captures, stats.decided]).is_some_and(|n| n <= stats.positions),
            "counts that do not add up",
        )?;
        let codec = Codec::from_id(raw.codec).ok_or(Flaw::Unknown("codec", raw.codec))?;
        let coding = Coding::from_id(raw.coding).ok_or(Flaw::Unknown("coding", raw.coding))?;
        ensure(
            (coding.packing() == Packing::Bits) == (metric == Metric::Wld)
                && matches!(coding, Coding::Rule | Coding::Needs) == (metric == Metric::Dtz),
            "coding of another metric",
        )?;
        let no_runs = stats.no_runs.map_or(
            raw.no_runs_wins == 0u64 && raw.no_runs_losses == 0u64,
            |n| {
                let decisive = n.wins.checked_add(n.losses);
                n.wins <= stats.wins
                    && n.losses <= stats.losses
                    && decisive.is_some_and(|d| d <= n.positions)
            },
        );
        ensure(no_runs, "counts of positions without runs")?;
        ensure(
            raw.zero == 0u32 && raw.parameters == [0; 8],
            "reserved bytes are not zero",
        )?;
        let section = |s: &RawSection| Section {
            offset: s.offset.get(),
            bytes: s.bytes.get(),
            checksum: s.checksum.get(),
        };
        let slice = Self {
            side,
            stats,
            codec,
            block_positions: raw.block_positions.get(),
            model: section(&raw.model),
            table: section(&raw.table),
            blocks: Section {
                offset: raw.blocks_offset.get(),
                bytes: raw.blocks_bytes.get(),
                checksum: 0,
            },
            coding,
            constant: raw.constant.get(),
        };
        if codec == Codec::Constant {
            ensure(
                slice.bytes() == 0 && slice.block_positions == 0,
                "blocks of a constant slice",
            )?;
            ensure(
                coding.packing() != Packing::Bits || slice.constant < 3,
                "value of a constant slice",
            )?;
            return Ok(slice);
        }
        ensure(slice.constant == 0, "a constant with blocks")?;
        if codec == Codec::Omitted {
            ensure(
                coding == Coding::Wld
                    && slice.bytes() == 0
                    && slice.block_positions == 0
                    && boards.is_none(),
                "sections of an omitted slice",
            )?;
            return Ok(slice);
        }
        if codec.in_chunks() {
            // The rest is checked when the model is read.
            ensure(
                (coding == Coding::Wld) == (codec == Codec::Context)
                    && coding != Coding::Needs
                    && slice.block_positions == 0
                    && slice.model.bytes != 0
                    && boards.is_none(),
                "sections of a codec with chunks",
            )?;
            return Ok(slice);
        }
        let n = slice.block_positions;
        ensure(
            n >= 4
                && n.is_power_of_two()
                && coding.packing().bytes(u64::from(n)) <= u64::from(u16::MAX),
            "size of a block",
        )?;
        ensure(
            codec == Codec::Zstd || slice.model.bytes == 0,
            "a dictionary without zstd",
        )?;
        ensure(
            slice.table.bytes == crate::codec::table_bytes(slice.block_count()),
            "length of the block table",
        )?;
        Ok(slice)
    }
}

impl From<&SliceHeader> for RawSlice {
    fn from(s: &SliceHeader) -> Self {
        let raw_section = |s: &Section| RawSection {
            offset: s.offset.into(),
            bytes: s.bytes.into(),
            checksum: s.checksum.into(),
        };
        let plies = |l: Option<Longest>| l.map_or(NO_PLIES, |l| l.plies.0);
        let index = |l: Option<Longest>| l.map_or(NO_INDEX, |l| l.index);
        let stats = &s.stats;
        Self {
            positions: stats.positions.into(),
            wins: stats.wins.into(),
            cursed_wins: stats.cursed_wins.into(),
            draws: stats.draws.into(),
            blessed_losses: stats.blessed_losses.into(),
            losses: stats.losses.into(),
            captures: stats.captures.into(),
            decided: stats.decided.into(),
            longest_win_index: index(stats.longest_win).into(),
            longest_loss_index: index(stats.longest_loss).into(),
            longest_win_plies: plies(stats.longest_win).into(),
            longest_loss_plies: plies(stats.longest_loss).into(),
            codec: s.codec as u8,
            coding: s.coding as u8,
            constant: s.constant.into(),
            block_positions: s.block_positions.into(),
            zero: 0.into(),
            model: raw_section(&s.model),
            table: raw_section(&s.table),
            blocks_offset: s.blocks.offset.into(),
            blocks_bytes: s.blocks.bytes.into(),
            no_runs_wins: stats.no_runs.map_or(0, |n| n.wins).into(),
            no_runs_losses: stats.no_runs.map_or(0, |n| n.losses).into(),
            parameters: [0; 8],
        }
    }
}
