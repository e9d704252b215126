//! A set of tables of one code: opened once, asked by any number of threads.

use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};

use dambase_rules::{
    Bits, Board, LimitSet, Move, Position, Ruleset, Run, Side, Variant, WithRuleset,
};
use dambase_tables::{Dtw, Value, Wld};

use crate::cache::Blocks;
use crate::error::{Error, Result};
use crate::lookup::{Asked, Miss, Reach, check};
use crate::measure::{Measure, OfDtw, OfWld};
use crate::scratch::Scratch;
use crate::slot::{Map, Slot};

/// Bytes of decoded blocks that are kept unless [`Tablebase::set_cache_bytes`] says otherwise.
pub const DEFAULT_CACHE_BYTES: u64 = 64 << 20;

/// All tables of one code in one or several directories.
///
/// It is `Send + Sync`, every method takes `&self`, and the answers do not depend on how many
/// threads ask. Every method that looks up has a variant that takes a [`Scratch`]; without one,
/// a scratch of the thread is used.
#[derive(Debug)]
pub struct Tablebase {
    variant: Variant,
    /// Those of the tables of values under the draw limits.
    pub(crate) limits: LimitSet,
    /// Whether positions have king runs.
    pub(crate) king_run: bool,
    dirs: Vec<PathBuf>,
    /// Sorted by material, so that captures lead to lower slots.
    pub(crate) slots: Vec<Slot>,
    pub(crate) map: Map,
    pub(crate) blocks: Blocks,
    issues: Vec<Error>,
    /// Positions with more pieces are refused.
    pub(crate) most_pieces: AtomicU8,
    /// Whether look-ups use the processor's newer instructions; see `look_up`.
    pub(crate) fast_path: bool,
    /// Tells this tablebase from all others of the process.
    id: u64,
}

thread_local! {
    static SCRATCH: RefCell<Scratch> = RefCell::new(Scratch::new());
}

/// Runs `f` with the scratch of this thread.
pub(crate) fn with_scratch<T>(f: impl FnOnce(&mut Scratch) -> T) -> T {
    SCRATCH.with_borrow_mut(f)
}

impl Tablebase {
    /// Opens the tables of `variant` in `dirs`: those in the subdirectory named after the code.
    ///
    /// Directories are listed, headers read and files mapped; blocks are read when they are first
    /// needed. A directory without tables of the code counts as empty. Of a table that is in several
    /// directories the first good one is used. Files that cannot be used are listed in
    /// [`Self::issues`], and a look-up that needs one of them gives its error.
    ///
    /// ```
    /// use dambase_probe::{Tablebase, Variant};
    ///
    /// let dir = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/egdb");
    /// let tables = Tablebase::open(Variant::English, [dir])?;
    /// assert!(tables.issues().is_empty());
    /// assert_eq!(tables.coverage().complete_wld(), 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::NoDirectory`], [`Error::NotADirectory`] or [`Error::Io`], naming the path.
    pub fn open<P: AsRef<Path>>(
        variant: Variant,
        dirs: impl IntoIterator<Item = P>,
    ) -> Result<Self> {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let mut found = crate::open::Found::new(variant);
        let mut names = Vec::new();
        for dir in dirs {
            let dir = dir.as_ref();
            found.list(dir)?;
            if !names.iter().any(|d| d == dir) {
                names.push(dir.to_owned());
            }
        }
        let (mut slots, mut issues) = found.into_slots();
        let king_run = crate::open::king_run_of(variant, &mut slots, &mut issues);
        let limits = crate::rule::limits_of(variant, &mut slots, &mut issues);
        let map = Map::new(&slots);
        Ok(Self {
            variant,
            limits,
            king_run,
            dirs: names,
            slots,
            map,
            blocks: Blocks::new(DEFAULT_CACHE_BYTES),
            issues,
            most_pieces: AtomicU8::new(u8::MAX),
            fast_path: dambase_tables::cpu::has_fast_path(),
            id: NEXT.fetch_add(1, Ordering::Relaxed),
        })
    }

    /// The code.
    #[must_use]
    pub const fn variant(&self) -> Variant {
        self.variant
    }
    /// Whether the tables know the king run: then positions have runs, and one without a run field
    /// has none pending. If not, in a code with a king run, values are those of play without that
    /// rule, and a position with a pending run is refused.
    #[must_use]
    pub const fn king_run(&self) -> bool {
        self.king_run
    }
    /// The directories, as they were given.
    #[must_use]
    pub fn dirs(&self) -> &[PathBuf] {
        &self.dirs
    }
    /// The files that cannot be used, each with the reason.
    #[must_use]
    pub fn issues(&self) -> &[Error] {
        &self.issues
    }

    /// Refuses positions of more pieces from now on, with [`Error::TooManyPieces`]; 255, as at
    /// first, refuses none. May be called at any time.
    pub fn set_most_pieces(&self, pieces: u8) {
        self.most_pieces.store(pieces, Ordering::Relaxed);
    }

    /// Looks up without the instructions that are chosen at run time where the processor has
    /// them. The answers are the same; only tests and measurements need this.
    #[must_use]
    pub fn with_portable_code(mut self) -> Self {
        self.fast_path = false;
        self
    }

    /// The position of a FEN of this code.
    ///
    /// # Errors
    /// What is wrong with the text or the position.
    pub fn position(&self, fen: &str) -> Result<Position, dambase_rules::Error> {
        Position::parse(self.variant, fen)
    }

    /// Bytes that decoded blocks may take in the shared cache. Beside it, each [`Scratch`] keeps
    /// at most 256 blocks, and [resident tables](Self::make_resident) are not counted.
    #[must_use]
    pub fn cache_capacity(&self) -> u64 {
        self.blocks.capacity()
    }
    /// Bytes that decoded blocks take in the shared cache now.
    #[must_use]
    pub fn cache_bytes(&self) -> u64 {
        self.blocks.bytes()
    }
    /// Sets the bytes that decoded blocks may take; may be called at any time.
    pub fn set_cache_bytes(&self, bytes: u64) {
        self.blocks.set_capacity(bytes);
    }
    /// Drops all decoded blocks from the shared cache.
    pub fn clear_cache(&self) {
        self.blocks.clear();
    }

    /// Win, loss or draw for the side to move, endless play being a draw.
    ///
    /// Answered from the distances if there is no WLD table. Costs at most one block for each
    /// quiet position that captures can lead to.
    ///
    /// ```
    /// use dambase_probe::{Tablebase, Variant, Wld};
    ///
    /// let dir = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/egdb");
    /// let tables = Tablebase::open(Variant::English, [dir])?;
    /// // A man that must be taken: captures are answered as exactly as all else.
    /// let position = tables.position("W:WK18:B15")?;
    /// assert_eq!(tables.probe_wld(&position)?, Wld::Win);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::MissingTable`] names the table that is not there, [`Error::Table`] one that is
    /// damaged; [`Error::RunNotCovered`] if a king run is pending that the tables do not know;
    /// [`Error::OtherVariant`].
    pub fn probe_wld(&self, position: &Position) -> Result<Wld> {
        with_scratch(|s| self.probe_wld_with(position, s))
    }
    /// [`Self::probe_wld`] with the buffers of the caller.
    ///
    /// # Errors
    /// As [`Self::probe_wld`].
    pub fn probe_wld_with(&self, position: &Position, scratch: &mut Scratch) -> Result<Wld> {
        self.ask::<OfWld>(position, Reach::Files, scratch)
            .map_err(failed)
    }

    /// Win, loss or draw for the side to move if all blocks that it takes are in memory; nothing
    /// if not. Never touches a file.
    ///
    /// ```
    /// use dambase_probe::{Tablebase, Variant, Wld};
    ///
    /// let dir = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/egdb");
    /// let tables = Tablebase::open(Variant::English, [dir])?;
    /// let position = tables.position("B:WK12:BK31")?;
    /// assert_eq!(tables.try_probe_wld(&position)?, None);
    /// tables.probe_wld(&position)?;
    /// assert_eq!(tables.try_probe_wld(&position)?, Some(Wld::Win));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`Self::probe_wld`].
    pub fn try_probe_wld(&self, position: &Position) -> Result<Option<Wld>> {
        with_scratch(|s| self.try_probe_wld_with(position, s))
    }
    /// [`Self::try_probe_wld`] with the buffers of the caller.
    ///
    /// # Errors
    /// As [`Self::probe_wld`].
    pub fn try_probe_wld_with(
        &self,
        position: &Position,
        scratch: &mut Scratch,
    ) -> Result<Option<Wld>> {
        in_memory(self.ask::<OfWld>(position, Reach::Memory, scratch))
    }

    /// Value and distance in plies for the side to move.
    ///
    /// ```
    /// use dambase_probe::{Dtw, Tablebase, Value, Variant};
    ///
    /// let dir = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/egdb");
    /// let tables = Tablebase::open(Variant::English, [dir])?;
    /// let position = tables.position("W:WK3:BK1")?;
    /// assert_eq!(tables.probe(&position)?, Value::Loss(Dtw(10)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`Self::probe_wld`]; the table that is missing is one of distances.
    pub fn probe(&self, position: &Position) -> Result<Value> {
        with_scratch(|s| self.probe_with(position, s))
    }
    /// [`Self::probe`] with the buffers of the caller.
    ///
    /// # Errors
    /// As [`Self::probe`].
    pub fn probe_with(&self, position: &Position, scratch: &mut Scratch) -> Result<Value> {
        self.ask::<OfDtw>(position, Reach::Files, scratch)
            .map_err(failed)
    }

    /// Value and distance if all blocks that they take are in memory; nothing if not. Never
    /// touches a file.
    ///
    /// # Errors
    /// As [`Self::probe`].
    pub fn try_probe(&self, position: &Position) -> Result<Option<Value>> {
        with_scratch(|s| in_memory(self.ask::<OfDtw>(position, Reach::Memory, s)))
    }

    /// Plies to the end of the game, the winner hurrying and the loser delaying; 0 if it is
    /// over, nothing if it is drawn.
    ///
    /// # Errors
    /// As [`Self::probe`].
    pub fn probe_dtw(&self, position: &Position) -> Result<Option<Dtw>> {
        Ok(self.probe(position)?.dtw())
    }

    /// [`Self::probe_wld`] for programs with boards of their own: no [`Position`] is made. No king
    /// run is pending.
    ///
    /// ```
    /// use dambase_probe::{Board, Scratch, Side, Tablebase, Variant, Wld};
    ///
    /// let dir = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/egdb");
    /// let tables = Tablebase::open(Variant::English, [dir])?;
    /// use dambase_probe::marker;
    ///
    /// let board = Board::<u64> {
    ///     men: [0, 0],
    ///     kings: [1 << 11, 1 << 30], // squares 12 and 31
    /// };
    /// let mut scratch = Scratch::new();
    /// let wld = tables.probe_board::<marker::English>(&board, Side::Black, &mut scratch)?;
    /// assert_eq!(wld, Wld::Win);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`Self::probe_wld`], and [`Error::IllegalPosition`] for a placement that is none. More
    /// pieces than at the start are not noticed.
    #[inline]
    pub fn probe_board<R: Ruleset>(
        &self,
        board: &Board<R::Bits>,
        side: Side,
        scratch: &mut Scratch,
    ) -> Result<Wld> {
        self.ask_board::<R, OfWld>(board, side, [Run::NONE; 2], Reach::Files, scratch)
            .map_err(failed)
    }

    /// [`Self::try_probe_wld`] for programs with boards of their own.
    ///
    /// # Errors
    /// As [`Self::probe_board`].
    #[inline]
    pub fn try_probe_board<R: Ruleset>(
        &self,
        board: &Board<R::Bits>,
        side: Side,
        scratch: &mut Scratch,
    ) -> Result<Option<Wld>> {
        in_memory(self.ask_board::<R, OfWld>(board, side, [Run::NONE; 2], Reach::Memory, scratch))
    }

    /// [`Self::probe`] for programs with boards of their own.
    ///
    /// # Errors
    /// As [`Self::probe_board`].
    #[inline]
    pub fn probe_board_value<R: Ruleset>(
        &self,
        board: &Board<R::Bits>,
        side: Side,
        scratch: &mut Scratch,
    ) -> Result<Value> {
        self.ask_board::<R, OfDtw>(board, side, [Run::NONE; 2], Reach::Files, scratch)
            .map_err(failed)
    }

    /// [`Self::probe_board`] with the king runs of White and Black.
    ///
    /// # Errors
    /// As [`Self::probe_board`]; also [`Error::IllegalPosition`] for a run without its king, and
    /// [`Error::RunNotCovered`].
    #[inline]
    pub fn probe_run<R: Ruleset>(
        &self,
        board: &Board<R::Bits>,
        side: Side,
        runs: [Run; 2],
        scratch: &mut Scratch,
    ) -> Result<Wld> {
        self.check_runs::<R>(board, side, runs)?;
        self.ask_board::<R, OfWld>(board, side, runs, Reach::Files, scratch)
            .map_err(failed)
    }

    /// [`Self::probe_board_value`] with the king runs of White and Black.
    ///
    /// # Errors
    /// As [`Self::probe_run`].
    #[inline]
    pub fn probe_run_value<R: Ruleset>(
        &self,
        board: &Board<R::Bits>,
        side: Side,
        runs: [Run; 2],
        scratch: &mut Scratch,
    ) -> Result<Value> {
        self.check_runs::<R>(board, side, runs)?;
        self.ask_board::<R, OfDtw>(board, side, runs, Reach::Files, scratch)
            .map_err(failed)
    }

    #[inline(always)]
    pub(crate) fn ask_board<R: Ruleset, M: Measure>(
        &self,
        board: &Board<R::Bits>,
        side: Side,
        runs: [Run; 2],
        reach: Reach,
        scratch: &mut Scratch,
    ) -> Result<M::Answer, Miss> {
        self.other::<R>()?;
        check::<R>(board, side)?;
        self.attach(scratch);
        self.look_up::<R, M>(board, side, runs, reach, scratch, Asked::FIRST)
    }

    pub(crate) fn ask<M: Measure>(
        &self,
        position: &Position,
        reach: Reach,
        scratch: &mut Scratch,
    ) -> Result<M::Answer, Miss> {
        struct Ask<'a, M>(
            &'a Tablebase,
            &'a Position,
            Reach,
            &'a mut Scratch,
            std::marker::PhantomData<M>,
        );
        impl<M: Measure> WithRuleset for Ask<'_, M> {
            type Output = Result<M::Answer, Miss>;
            fn run<R: Ruleset>(self) -> Self::Output {
                let Self(tablebase, position, reach, scratch, _) = self;
                let board = Board::from_wide(position.board());
                tablebase.attach(scratch);
                let (side, runs) = (position.side(), position.runs());
                tablebase.look_up::<R, M>(&board, side, runs, reach, scratch, Asked::FIRST)
            }
        }
        self.fits(position)?;
        self.variant.with(Ask::<M>(
            self,
            position,
            reach,
            scratch,
            std::marker::PhantomData,
        ))
    }

    /// Refuses boards of another code.
    #[inline(always)]
    pub(crate) fn other<R: Ruleset>(&self) -> Result<()> {
        if R::VARIANT == self.variant {
            Ok(())
        } else {
            Err(self.other_variant(R::VARIANT))
        }
    }

    /// Refuses positions that the tables do not have.
    pub(crate) fn fits(&self, position: &Position) -> Result<()> {
        if position.variant() != self.variant {
            return Err(self.other_variant(position.variant()));
        }
        self.knows(position.runs())
    }

    /// Refuses runs if the tables do not know any.
    #[inline(always)]
    fn knows(&self, runs: [Run; 2]) -> Result<()> {
        if !self.king_run && runs.iter().any(|r| r.count > 0) {
            let variant = self.variant;
            return Err(Error::RunNotCovered { variant });
        }
        Ok(())
    }

    /// Refuses runs that are none, or that the tables do not know.
    #[inline(always)]
    fn check_runs<R: Ruleset>(
        &self,
        board: &Board<R::Bits>,
        side: Side,
        runs: [Run; 2],
    ) -> Result<()> {
        let good = |(kings, r): (&R::Bits, &Run)| {
            r.count == 0
                || (r.count <= 3
                    && usize::from(r.square) < R::RULES.geometry.squares()
                    && kings.has(r.square))
        };
        if R::RULES.king_run.is_some() && board.kings.iter().zip(&runs).all(good) {
            return self.knows(runs);
        }
        // What is wrong, if anything is.
        Position::new(R::VARIANT, board.wide(), side, runs)?;
        Ok(())
    }

    /// The position after a legal move, as the tables know positions: if they do not know king runs,
    /// the one that the move begins is dropped.
    #[must_use]
    pub fn after(&self, position: &Position, m: &Move<u128>) -> Position {
        let after = position.after(m);
        if self.king_run {
            after
        } else {
            after.without_runs()
        }
    }

    /// Prepares a scratch for look-ups here.
    #[inline(always)]
    pub(crate) fn attach(&self, scratch: &mut Scratch) {
        scratch.attach(self.id);
    }

    #[cold]
    fn other_variant(&self, position: Variant) -> Error {
        Error::OtherVariant {
            tables: self.variant,
            position,
        }
    }
}

/// An error of a look-up that may read files.
#[cold]
pub(crate) fn failed(miss: Miss) -> Error {
    match miss {
        Miss::Failed(e) => *e,
        Miss::NotInMemory => unreachable!("files may be read"),
    }
}

#[inline(always)]
pub(crate) fn in_memory<T>(answer: Result<T, Miss>) -> Result<Option<T>> {
    match answer {
        Ok(v) => Ok(Some(v)),
        Err(Miss::NotInMemory) => Ok(None),
        Err(Miss::Failed(e)) => Err(*e),
    }
}
