//! The proof of one material: every value follows from those of its successors.
//!
//! Nothing of the solvers is used here, only move generation and the values themselves. With
//! distances, a win in `n` has a best successor lost in `n - 1`, a loss in `n` has only won
//! successors, the longest in `n - 1`, and a draw has a drawn successor and none that is lost:
//! distances shrink along best play, so each of them is what it claims to be. Without distances the
//! same relations could hold for wins that go round in circles; so it is shown besides that every
//! win and every loss rests on ended games, by collecting them from there (`grounded`).

use std::sync::atomic::{AtomicU64, Ordering};

use dambase_rules::movegen::{self, MoveList};
use dambase_rules::position::{decided, runs_after, winner_without_moves};
use dambase_rules::{Bits, Board, Move, Position, Ruleset, Run, Side};
use dambase_tables::{
    Dtw, Longest, Material, RunIndex, SliceStats, Value, Wld, WldArray, canonical_with_runs,
};

use super::sampled;
use crate::{Control, Error, Solved, Store, parallel};

/// Positions that are looked at between two looks at the wish to stop; a multiple of 64.
const CHUNK: u64 = 1 << 14;
/// Faults of one slice that are kept.
const MOST_FAULTS: usize = 8;
/// The score of a win in no plies.
const WIN: i32 = 1 << 20;

/// How much of a material is looked at.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Extent {
    /// Every position.
    All,
    /// So many positions of each slice, always the same ones.
    Sample(u64),
}

/// A position whose value does not follow from its successors.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Fault {
    /// The side to move.
    pub side: Side,
    /// The index in the slice.
    pub index: u64,
    /// The position.
    pub fen: String,
    /// What was found and what should be there.
    pub what: String,
}

/// The captures of a position. One copy for each code: move generation is large.
#[inline(never)]
fn captures<R: Ruleset>(board: &Board<R::Bits>, side: Side, list: &mut MoveList<R::Bits>) {
    movegen::captures::<R>(board, side, list);
}

/// The legal moves of a position that is not over.
#[inline(never)]
fn moves<R: Ruleset>(board: &Board<R::Bits>, side: Side, run: Run, list: &mut MoveList<R::Bits>) {
    captures::<R>(board, side, list);
    if list.is_empty() {
        movegen::quiet::<R>(board, side, run, list);
    }
}

/// What was found in one slice.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct SliceProof {
    /// Counts by the values as they follow from the successors; of the sample only, where only a
    /// sample was looked at.
    pub stats: SliceStats,
    /// Positions with a wrong value.
    pub wrong: u64,
    /// The first of them.
    pub faults: Vec<Fault>,
}

/// What is done with one material.
#[derive(Clone, Copy, Debug)]
pub struct Prover<'a, R: Ruleset> {
    oracle: &'a Oracle<'a, R>,
    control: &'a Control,
}

/// The numbering of a material and its values.
type Entry<'a, W> = (RunIndex<W>, &'a Solved);

/// Values of any position from tables in memory.
#[derive(Debug)]
pub struct Oracle<'a, R: Ruleset> {
    width: usize,
    entries: Vec<Option<Entry<'a, R::Bits>>>,
    distances: bool,
    /// Captures have their true values in the arrays.
    resolved: bool,
    /// Whether positions have king runs.
    king_run: bool,
}

impl<'a, R: Ruleset> Oracle<'a, R> {
    /// Values come from the materials of `store`, which knows whether positions have king runs, and
    /// from `solved`. With `distances`, materials
    /// without them do not count. If not `resolved`, the values of capture positions are found by playing the captures.
    ///
    /// # Errors
    /// [`Error::TooLarge`]; [`Error::NoRuns`] for a material without runs where others have them.
    pub fn new(
        store: &'a Store,
        solved: Option<&'a Solved>,
        distances: bool,
        resolved: bool,
    ) -> Result<Self, Error> {
        let mut materials = store.materials();
        materials.extend(solved.map(|s| s.material));
        let of_a_kind = |m: &Material| m.kings.into_iter().chain(m.men).max();
        let most = materials.iter().filter_map(of_a_kind).max().unwrap_or(0);
        let width = usize::from(most) + 1;
        let mut oracle = Self {
            width,
            entries: vec![None; width.pow(4)],
            distances,
            resolved,
            king_run: store.king_run(),
        };
        let stored = store.materials().into_iter().filter_map(|m| store.get(m));
        for s in stored.chain(solved) {
            if distances && s.dtw.is_none() {
                continue;
            }
            let index = oracle.numbering(s.material)?;
            if s.wld.iter().any(|a| a.len() != index.positions()) {
                return Err(Error::NoRuns(s.material));
            }
            let slot = oracle.slot(s.material).expect("a material of this oracle");
            oracle.entries[slot] = Some((index, s));
        }
        Ok(oracle)
    }

    fn numbering(&self, m: Material) -> Result<RunIndex<R::Bits>, Error> {
        let scope = R::RULES.king_run.filter(|_| self.king_run);
        Ok(RunIndex::new(R::RULES.geometry, scope, m)?)
    }

    /// The king runs after a move.
    fn runs_after(
        &self,
        runs: [Run; 2],
        before: &Board<R::Bits>,
        after: &Board<R::Bits>,
        side: Side,
        m: &Move<R::Bits>,
    ) -> [Run; 2] {
        if self.king_run {
            runs_after::<R>(runs, before, after, side, m)
        } else {
            [Run::NONE; 2]
        }
    }

    fn slot(&self, m: Material) -> Option<usize> {
        let counts = [m.kings[0], m.men[0], m.kings[1], m.men[1]];
        counts.into_iter().try_fold(0, |slot, n| {
            let n = usize::from(n);
            (n < self.width).then_some(slot * self.width + n)
        })
    }

    fn entry(&self, m: Material) -> Result<&Entry<'a, R::Bits>, Material> {
        let slot = self.slot(m).ok_or(m)?;
        self.entries[slot].as_ref().ok_or(m)
    }

    /// The stored score of a position that is quiet or resolved.
    fn stored(&self, board: &Board<R::Bits>, side: Side, runs: [Run; 2]) -> Result<i32, Material> {
        let (p, runs) = canonical_with_runs(R::RULES.geometry, board, side, runs);
        let (index, solved) = self.entry(p.material)?;
        Ok(self.at(solved, p.side, index.index(&p.board, runs)))
    }

    /// The score at an index.
    fn at(&self, solved: &Solved, side: Side, index: u64) -> i32 {
        let slot = slot_of(solved.material, side);
        match (&solved.dtw, self.distances) {
            (Some(dtw), true) => score(dtw[slot].get(index)),
            _ => match solved.wld[slot].get(index) {
                Wld::Draw => 0,
                Wld::Win => WIN,
                Wld::Loss => -WIN,
            },
        }
    }

    /// The score for a side that is to move in a game that is over by the material or because
    /// the side has no piece.
    fn over(board: &Board<R::Bits>, side: Side) -> Option<i32> {
        let winner = decided::<R>(board).or_else(|| {
            board
                .pieces(side)
                .is_empty()
                .then(|| winner_without_moves(&R::RULES, side))
        })?;
        Some(if winner == side { WIN } else { -WIN })
    }

    /// The score of any position, and whether it had to be found by playing captures.
    fn score(&self, board: &Board<R::Bits>, side: Side, runs: [Run; 2]) -> Result<i32, Material> {
        if let Some(s) = Self::over(board, side) {
            return Ok(s);
        }
        if !self.resolved {
            let mut list = MoveList::new();
            captures::<R>(board, side, &mut list);
            if !list.is_empty() {
                return self.best(board, side, runs, &list);
            }
        }
        self.stored(board, side, runs)
    }

    /// The best score that the moves of a list lead to; that of a side without moves if it is
    /// empty.
    fn best(
        &self,
        board: &Board<R::Bits>,
        side: Side,
        runs: [Run; 2],
        list: &MoveList<R::Bits>,
    ) -> Result<i32, Material> {
        let mut best = None;
        for m in list.iter() {
            let after = board.after(side, m);
            let runs = self.runs_after(runs, board, &after, side, m);
            let s = self.back(self.score(&after, side.other(), runs)?);
            if best.is_none_or(|b| s > b) {
                best = Some(s);
            }
        }
        Ok(
            best.unwrap_or(if winner_without_moves(&R::RULES, side) == side {
                WIN
            } else {
                -WIN
            }),
        )
    }

    /// The score one ply earlier, for the other side.
    fn back(&self, score: i32) -> i32 {
        let step = i32::from(self.distances);
        match score {
            0 => 0,
            s if s < 0 => -s - step,
            s => -s + step,
        }
    }
}

fn slot_of(material: Material, side: Side) -> usize {
    if material.is_symmetric() {
        0
    } else {
        side as usize
    }
}

fn score(v: Value) -> i32 {
    match v {
        Value::Draw => 0,
        Value::Win(d) => WIN - i32::from(d.0),
        Value::Loss(d) => i32::from(d.0) - WIN,
    }
}

fn value(score: i32) -> Value {
    match score {
        0 => Value::Draw,
        s if s > 0 => Value::Win(Dtw(u16::try_from(WIN - s).unwrap_or(u16::MAX))),
        s => Value::Loss(Dtw(u16::try_from(WIN + s).unwrap_or(u16::MAX))),
    }
}

/// Puts the true values of captures and of decided positions into the arrays of `solved`, where
/// tables have nothing that means anything. Its positions are those of `store`, with king runs or
/// without.
///
/// # Errors
/// [`Error::MissingTable`] if a capture leads to a material that is not in `store`, whose
/// captures must be resolved already and which must have distances if `solved` has;
/// [`Error::NoRuns`] if `solved` has no king runs but `store` has; [`Error::Interrupted`].
pub fn resolve<R: Ruleset>(
    solved: &mut Solved,
    store: &Store,
    control: &Control,
) -> Result<(), Error> {
    let material = solved.material;
    let oracle = Oracle::<R>::new(store, None, solved.dtw.is_some(), true)?;
    let index = oracle.numbering(material)?;
    if solved.wld.iter().any(|a| a.len() != index.positions()) {
        return Err(Error::NoRuns(material));
    }
    for (slot, &side) in material.sides().iter().enumerate() {
        let n = index.positions();
        let codes = solved.dtw.as_mut().map(|dtw| &mut dtw[slot].codes[..]);
        let mut codes = codes.map(|codes| codes.chunks_mut(CHUNK as usize));
        let bytes = solved.wld[slot]
            .packed_mut()
            .chunks_mut((CHUNK / 4) as usize);
        let mut pieces: Vec<_> = bytes
            .map(|bytes| (bytes, codes.as_mut().and_then(Iterator::next)))
            .collect();
        parallel::chunks_mut(&mut pieces, 1, &|chunk, piece| {
            control.check()?;
            let (bytes, codes) = &mut piece[0];
            let mut list = MoveList::new();
            let first = chunk as u64 * CHUNK;
            for i in first..(first + CHUNK).min(n) {
                let (board, runs) = index.position(i);
                let score = match Oracle::<R>::over(&board, side) {
                    Some(s) => s,
                    None => {
                        captures::<R>(&board, side, &mut list);
                        if list.is_empty() {
                            continue;
                        }
                        oracle
                            .best(&board, side, runs, &list)
                            .map_err(|needed| Error::MissingTable { material, needed })?
                    }
                };
                let at = (i - first) as usize;
                let (byte, shift) = (&mut bytes[at / 4], at % 4 * 2);
                *byte = *byte & !(3 << shift) | (value(score).wld() as u8) << shift;
                if let Some(codes) = codes {
                    codes[at] = value(score).code();
                }
            }
            Ok(())
        })?;
    }
    Ok(())
}

/// Finds the values of one side to move from those of the other, which must be true everywhere,
/// and from `store`. Positions have no king runs; distances are not looked at.
///
/// # Errors
/// [`Error::MissingTable`] if a move leads to a material that is not in `store`;
/// [`Error::Interrupted`].
pub fn derive<R: Ruleset>(
    solved: &mut Solved,
    side: Side,
    store: &Store,
    control: &Control,
) -> Result<(), Error> {
    let material = solved.material;
    let slot = slot_of(material, side);
    let n = solved.wld[slot].len();
    let mut found = std::mem::replace(&mut solved.wld[slot], WldArray::new(n));
    let oracle = Oracle::<R>::new(store, Some(solved), false, true)?;
    let index = oracle.numbering(material)?;
    let piece = (CHUNK / 4) as usize;
    let result = parallel::chunks_mut(found.packed_mut(), piece, &|chunk, bytes| {
        control.check()?;
        let mut list = MoveList::new();
        let first = chunk as u64 * CHUNK;
        for i in first..(first + CHUNK).min(n) {
            let (board, runs) = index.position(i);
            let score = match Oracle::<R>::over(&board, side) {
                Some(s) => s,
                None => {
                    moves::<R>(&board, side, Run::NONE, &mut list);
                    oracle
                        .best(&board, side, runs, &list)
                        .map_err(|needed| Error::MissingTable { material, needed })?
                }
            };
            let at = (i - first) as usize;
            let (byte, shift) = (&mut bytes[at / 4], at % 4 * 2);
            *byte = *byte & !(3 << shift) | (value(score).wld() as u8) << shift;
        }
        Ok(())
    });
    drop(oracle);
    solved.wld[slot] = found;
    result
}

impl<'a, R: Ruleset> Prover<'a, R> {
    /// A prover that asks `oracle`.
    #[must_use]
    pub const fn new(oracle: &'a Oracle<'a, R>, control: &'a Control) -> Self {
        Self { oracle, control }
    }

    /// Proves the slices of a material, in the order of [`Material::sides`].
    ///
    /// # Errors
    /// [`Error::MissingTable`] if a move leads to a material that the oracle does not have;
    /// [`Error::Interrupted`].
    pub fn prove(&self, material: Material, extent: Extent) -> Result<Vec<SliceProof>, Error> {
        let (index, solved) = self
            .oracle
            .entry(material)
            .map_err(|needed| Error::MissingTable { material, needed })?;
        let slices: Result<Vec<_>, _> = material
            .sides()
            .iter()
            .map(|&side| self.slice(index, solved, side, extent))
            .collect();
        let mut slices = slices?;
        let sound = slices.iter().all(|s| s.wrong == 0);
        if sound && extent == Extent::All && !self.oracle.distances {
            self.ground(index, solved, &mut slices)?;
        }
        Ok(slices)
    }

    fn slice(
        &self,
        index: &RunIndex<R::Bits>,
        solved: &Solved,
        side: Side,
        extent: Extent,
    ) -> Result<SliceProof, Error> {
        let n = index.positions();
        let (count, pick): (u64, Box<dyn Fn(u64) -> u64 + Sync>) = match extent {
            Extent::All => (n, Box::new(|i| i)),
            Extent::Sample(few) if few >= n => (n, Box::new(|i| i)),
            Extent::Sample(few) => (few, Box::new(move |i| sampled(i, few, n))),
        };
        let chunks = count.div_ceil(CHUNK) as usize;
        let proofs = parallel::collect(chunks, &|chunk| {
            self.control.check()?;
            let chunk = chunk as u64;
            let mut proof = SliceProof::default();
            let mut list = MoveList::new();
            let range = chunk * CHUNK..((chunk + 1) * CHUNK).min(count);
            self.control.add(range.end - range.start);
            for i in range {
                self.position(index, solved, side, pick(i), &mut list, &mut proof)?;
            }
            Ok(proof)
        })?;
        let none = SliceProof::default();
        Ok(proofs.into_iter().fold(none, SliceProof::followed_by))
    }

    fn position(
        &self,
        index: &RunIndex<R::Bits>,
        solved: &Solved,
        side: Side,
        i: u64,
        list: &mut MoveList<R::Bits>,
        proof: &mut SliceProof,
    ) -> Result<(), Error> {
        let material = solved.material;
        let (board, runs) = index.position(i);
        let stats = &mut proof.stats;
        let (found, quiet) = match Oracle::<R>::over(&board, side) {
            Some(s) => {
                stats.decided += 1;
                (s, false)
            }
            None => {
                moves::<R>(&board, side, runs[side as usize], list);
                let quiet = !list.is_capture();
                stats.captures += u64::from(!quiet);
                let best = self.oracle.best(&board, side, runs, list);
                let missing = |needed| Error::MissingTable { material, needed };
                (best.map_err(missing)?, quiet)
            }
        };
        let value = value(found);
        stats.positions += 1;
        if self.oracle.king_run {
            let none = stats.no_runs.get_or_insert_default();
            if i.is_multiple_of(index.run_states()) {
                none.add(value.wld());
            }
        }
        match value {
            Value::Draw => stats.draws += 1,
            Value::Win(plies) => {
                stats.wins += 1;
                if self.oracle.distances {
                    Longest::keep(&mut stats.longest_win, Some(Longest { plies, index: i }));
                }
            }
            Value::Loss(plies) => {
                stats.losses += 1;
                if self.oracle.distances {
                    Longest::keep(&mut stats.longest_loss, Some(Longest { plies, index: i }));
                }
            }
        }
        if !quiet && !self.oracle.resolved {
            return Ok(());
        }
        let stored = self.oracle.at(solved, side, i);
        let slot = slot_of(material, side);
        let wld = solved.wld[slot].get(i);
        let what = if stored != found {
            format!("is {}, should be {}", self.words(stored), self.words(found))
        } else if wld != value.wld() {
            // Only with distances: the other table of the material says something else.
            format!("is a {wld} without distances, a {} with them", value.wld())
        } else {
            return Ok(());
        };
        proof.fault::<R>(&board, side, runs, i, what);
        Ok(())
    }

    fn words(&self, score: i32) -> String {
        match value(score) {
            Value::Draw => "a draw".to_owned(),
            v if !self.oracle.distances => format!("a {}", v.wld()),
            Value::Win(d) => format!("a win in {d} plies"),
            Value::Loss(d) => format!("a loss in {d} plies"),
        }
    }

    /// Shows that every win and loss rests on ended games or on smaller materials.
    fn ground(
        &self,
        index: &RunIndex<R::Bits>,
        solved: &Solved,
        slices: &mut [SliceProof],
    ) -> Result<(), Error> {
        let material = solved.material;
        let n = index.positions();
        let words = usize::try_from(n.div_ceil(64)).expect("slice larger than memory");
        // A bit for each position that is drawn or rests on ended games.
        let grounded: Vec<Vec<AtomicU64>> = (0..slices.len())
            .map(|_| (0..words).map(|_| AtomicU64::new(0)).collect())
            .collect();
        let known = |board: &Board<R::Bits>, side: Side, runs: [Run; 2]| {
            let (p, runs) = canonical_with_runs(R::RULES.geometry, board, side, runs);
            if p.material != material {
                return true;
            }
            let i = index.index(&p.board, runs);
            let word = &grounded[slot_of(material, p.side)][(i / 64) as usize];
            word.load(Ordering::Relaxed) >> (i % 64) & 1 == 1
        };
        let missing = |needed| Error::MissingTable { material, needed };
        let rests = |i: u64, side: Side, list: &mut MoveList<R::Bits>| {
            let (board, runs) = index.position(i);
            if Oracle::<R>::over(&board, side).is_some() {
                return Ok(true);
            }
            moves::<R>(&board, side, runs[side as usize], list);
            if list.is_capture() {
                return Ok(true);
            }
            let own = self.oracle.at(solved, side, i);
            if own == 0 {
                return Ok(true);
            }
            if list.is_empty() {
                return Ok(true);
            }
            for m in list.iter() {
                let after = board.after(side, m);
                let other = side.other();
                let runs = self.oracle.runs_after(runs, &board, &after, side, m);
                let known = known(&after, other, runs);
                if own < 0 {
                    if !known {
                        return Ok(false);
                    }
                } else if known && self.oracle.score(&after, other, runs).map_err(missing)? < 0 {
                    return Ok(true);
                }
            }
            Ok::<_, Error>(own < 0)
        };
        loop {
            let mut more = false;
            for (slot, &side) in material.sides().iter().enumerate() {
                let sets = &grounded[slot];
                let chunks: Vec<_> = sets.chunks((CHUNK / 64) as usize).collect();
                let found = parallel::collect(chunks.len(), &|chunk| {
                    self.control.check()?;
                    let words = chunks[chunk];
                    let mut list = MoveList::new();
                    let mut more = false;
                    for (w, word) in words.iter().enumerate() {
                        let first = chunk as u64 * CHUNK + w as u64 * 64;
                        let before = word.load(Ordering::Relaxed);
                        let mut now = before;
                        for b in 0..64.min(n - first) {
                            if before >> b & 1 == 0 && rests(first + b, side, &mut list)? {
                                now |= 1 << b;
                            }
                        }
                        if now != before {
                            word.store(now, Ordering::Relaxed);
                            more = true;
                        }
                    }
                    Ok(more)
                })?;
                more |= found.contains(&true);
            }
            if !more {
                break;
            }
        }
        for ((slot, &side), proof) in material.sides().iter().enumerate().zip(slices) {
            for i in 0..n {
                let word = grounded[slot][(i / 64) as usize].load(Ordering::Relaxed);
                if word >> (i % 64) & 1 == 0 {
                    let own = self.words(self.oracle.at(solved, side, i));
                    let what = format!("is {own} that no line of play brings about");
                    let (board, runs) = index.position(i);
                    proof.fault::<R>(&board, side, runs, i, what);
                }
            }
        }
        Ok(())
    }
}

impl SliceProof {
    /// The counts of two parts of a slice together.
    fn followed_by(mut self, later: Self) -> Self {
        self.stats.merge(&later.stats);
        self.wrong += later.wrong;
        self.faults.extend(later.faults);
        self.faults.truncate(MOST_FAULTS);
        self
    }

    fn fault<R: Ruleset>(
        &mut self,
        board: &Board<R::Bits>,
        side: Side,
        runs: [Run; 2],
        index: u64,
        what: String,
    ) {
        self.wrong += 1;
        if self.faults.len() < MOST_FAULTS {
            let fen = Position::new(R::VARIANT, board.wide(), side, runs)
                .map_or_else(|e| e.to_string(), |p| p.fen());
            self.faults.push(Fault {
                side,
                index,
                fen,
                what,
            });
        }
    }
}
