//! Many positions at once.

use dambase_rules::{Board, Position, Ruleset, Run, Side, WithRuleset};
use dambase_tables::Wld;

use crate::cache::Key;
use crate::error::Result;
use crate::lookup::{Asked, Miss, Place, Reach, Stored, check};
use crate::measure::{Measure, OfWld};
use crate::scratch::Scratch;
use crate::tablebase::{Tablebase, failed, with_scratch};

/// Positions whose answers are looked for together.
const BATCH: usize = 256;

impl Tablebase {
    /// Win, loss or draw of many positions, for the side to move, in their order.
    ///
    /// Faster than one by one where the positions are spread over more blocks than the cache
    /// holds: every block is decoded once for all positions of a batch that it holds, and reads
    /// of flat memory overlap.
    ///
    /// ```
    /// use dambase_probe::{Tablebase, Variant, Wld};
    ///
    /// let dir = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/egdb");
    /// let tables = Tablebase::open(Variant::English, [dir])?;
    /// let positions = [
    ///     tables.position("B:WK12:BK31")?,
    ///     tables.position("W:WK3:BK1")?,
    /// ];
    /// let answers: Result<Vec<_>, _> = tables.probe_many(&positions).into_iter().collect();
    /// assert_eq!(answers?, [Wld::Win, Wld::Loss]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn probe_many(&self, positions: &[Position]) -> Vec<Result<Wld>> {
        struct Many<'a>(&'a Tablebase, &'a [Position], &'a mut Scratch);
        impl WithRuleset for Many<'_> {
            type Output = Vec<Result<Wld>>;
            fn run<R: Ruleset>(self) -> Self::Output {
                let Self(tablebase, positions, scratch) = self;
                let boards: Vec<_> = positions
                    .iter()
                    .map(|p| (Board::from_wide(p.board()), p.side()))
                    .collect();
                let runs: Vec<_> = if tablebase.king_run {
                    positions.iter().map(Position::runs).collect()
                } else {
                    Vec::new()
                };
                let mut answers = tablebase.probe_all::<R>(&boards, &runs, scratch);
                for (p, answer) in positions.iter().zip(&mut answers) {
                    if let Err(e) = tablebase.fits(p) {
                        *answer = Err(e);
                    }
                }
                answers
            }
        }
        with_scratch(|s| self.variant().with(Many(self, positions, s)))
    }

    /// [`Self::probe_many`] for programs with boards of their own. No king runs are pending.
    #[must_use]
    pub fn probe_boards<R: Ruleset>(
        &self,
        boards: &[(Board<R::Bits>, Side)],
        scratch: &mut Scratch,
    ) -> Vec<Result<Wld>> {
        self.probe_all::<R>(boards, &[], scratch)
    }

    /// The answers of placements with these runs; with none if there are no runs.
    fn probe_all<R: Ruleset>(
        &self,
        boards: &[(Board<R::Bits>, Side)],
        runs: &[[Run; 2]],
        scratch: &mut Scratch,
    ) -> Vec<Result<Wld>> {
        self.attach(scratch);
        let mut answers = Vec::with_capacity(boards.len());
        for (i, batch) in boards.chunks(BATCH).enumerate() {
            let runs = runs.get(i * BATCH..).unwrap_or(&[]);
            self.batch::<R, OfWld>(batch, runs, scratch, &mut answers);
        }
        answers.into_iter().map(|a| a.map_err(failed)).collect()
    }

    /// Appends the answers of a few positions.
    fn batch<R: Ruleset, M: Measure>(
        &self,
        boards: &[(Board<R::Bits>, Side)],
        runs: &[[Run; 2]],
        scratch: &mut Scratch,
        answers: &mut Vec<Result<M::Answer, Miss>>,
    ) {
        #[cfg(target_arch = "x86_64")]
        if self.fast_path {
            // SAFETY: the flag is only set on processors that have these instructions.
            #[allow(unsafe_code)]
            return unsafe { self.batch_x86::<R, M>(boards, runs, scratch, answers) };
        }
        self.batch_here::<R, M>(boards, runs, scratch, answers);
    }

    /// The same with the instructions of [`Self::look_up`]'s fast form.
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "popcnt,lzcnt,bmi1,bmi2")]
    fn batch_x86<R: Ruleset, M: Measure>(
        &self,
        boards: &[(Board<R::Bits>, Side)],
        runs: &[[Run; 2]],
        scratch: &mut Scratch,
        answers: &mut Vec<Result<M::Answer, Miss>>,
    ) {
        self.batch_here::<R, M>(boards, runs, scratch, answers);
    }

    #[inline(always)]
    fn batch_here<R: Ruleset, M: Measure>(
        &self,
        boards: &[(Board<R::Bits>, Side)],
        runs: &[[Run; 2]],
        scratch: &mut Scratch,
        answers: &mut Vec<Result<M::Answer, Miss>>,
    ) {
        let first = answers.len();
        let mut flat: Vec<(usize, &M::Flat, u64)> = Vec::new();
        let mut stored: Vec<(Key, usize, Stored<'_>)> = Vec::new();
        let mut captures = Vec::new();
        let runs_of = |i: usize| runs.get(i).copied().unwrap_or([Run::NONE; 2]);
        for (i, (board, side)) in boards.iter().enumerate() {
            let runs = runs_of(i);
            let place = self
                .other::<R>()
                .and_then(|()| check::<R>(board, *side))
                .and_then(|()| self.place::<R, M>(board, *side, runs, None));
            // What is not known yet is filled in below.
            answers.push(match place {
                Ok(Place::Known(v)) => Ok(v),
                Ok(Place::Flat(slice, index)) => {
                    flat.push((first + i, slice, index));
                    Err(Miss::NotInMemory)
                }
                Ok(Place::Stored(s)) if scratch.recent(s.key).is_some() => {
                    self.read::<M>(&s, Reach::Files, scratch)
                }
                Ok(Place::Stored(s)) => {
                    stored.push((s.key, first + i, s));
                    Err(Miss::NotInMemory)
                }
                Ok(Place::Captures) => {
                    captures.push(i);
                    Err(Miss::NotInMemory)
                }
                Err(e) => Err(e.into()),
            });
        }
        for (i, slice, index) in flat {
            answers[i] = Ok(M::at(slice, index));
        }
        stored.sort_unstable_by_key(|(key, ..)| *key);
        for (_, i, s) in stored {
            answers[i] = self.read::<M>(&s, Reach::Files, scratch);
        }
        for i in captures {
            let (board, side) = &boards[i];
            let (runs, asked) = (runs_of(i), Asked::FIRST);
            answers[first + i] =
                self.look_up::<R, M>(board, *side, runs, Reach::Files, scratch, asked);
        }
    }
}
