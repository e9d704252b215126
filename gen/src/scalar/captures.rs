//! Values that finished tables on disk leave out.

use dambase_rules::movegen::captures;
use dambase_rules::{MoveList, Ruleset, Variant, WithRuleset};
use dambase_tables::{Index, Value};

use super::children::{Children, decided_code};
use crate::{Error, Solved, Store, parallel};

/// Bytes of packed values that one thread fills at a time.
const PART: usize = 1 << 14;

/// Gives the positions in which the side to move must capture, and those in which the game is
/// over by a special rule, the values that follow from the smaller materials in `store`. All
/// other values of `solved` stay. This makes a table whole that was read from a file, where
/// captures have no meaning.
///
/// # Errors
/// [`Error::MissingTable`] and [`Error::MissingDistances`] if `store` lacks something;
/// [`Error::TooLarge`] if the material cannot be numbered.
pub fn fill_captures<R: Ruleset>(solved: &mut Solved, store: &Store) -> Result<(), Error> {
    let material = solved.material;
    let index = Index::<R::Bits>::new(R::RULES.geometry, material)?;
    for (slice, &side) in material.sides().iter().enumerate() {
        let fixed = decided_code::<R>(&index, side);
        if let Some(dtw) = &mut solved.dtw {
            let children = Children::<R, true>::new(material, side, store);
            let codes = &mut dtw[slice].codes;
            if let Some(code) = fixed {
                codes.fill(code);
            } else {
                let children = children?;
                parallel::chunks_mut(codes, 4 * PART, &|part, codes| {
                    let start = (part * 4 * PART) as u64;
                    let range = start..start + codes.len() as u64;
                    let mut list = MoveList::new();
                    index.for_each_capture::<R>(side, range, |i, board| {
                        captures::<R>(board, side, &mut list);
                        codes[(i - start) as usize] = children.capture(board, &list);
                    });
                    Ok(())
                })?;
            }
            let wld = &mut solved.wld[slice];
            let dtw = &dtw[slice];
            parallel::chunks_mut(wld.packed_mut(), PART, &|part, bytes| {
                let codes = dtw.codes[4 * part * PART..].chunks(4);
                for (byte, codes) in bytes.iter_mut().zip(codes) {
                    *byte = codes.iter().enumerate().fold(0, |b, (j, &c)| {
                        b | (Value::from_code(c).wld() as u8) << (2 * j)
                    });
                }
                Ok(())
            })?;
            continue;
        }
        let wld = &mut solved.wld[slice];
        if let Some(code) = fixed {
            wld.fill(Value::from_code(code).wld());
            continue;
        }
        let children = Children::<R, false>::new(material, side, store)?;
        parallel::chunks_mut(wld.packed_mut(), PART, &|part, bytes| {
            let start = (part * PART * 4) as u64;
            let range = start..start + 4 * bytes.len() as u64;
            let mut list = MoveList::new();
            index.for_each_capture::<R>(side, range, |i, board| {
                captures::<R>(board, side, &mut list);
                let value = Value::from_code(children.capture(board, &list)).wld();
                let (byte, shift) = (&mut bytes[((i - start) / 4) as usize], i % 4 * 2);
                *byte = *byte & !(3 << shift) | (value as u8) << shift;
            });
            Ok(())
        })?;
    }
    Ok(())
}

/// [`fill_captures`] for a code chosen at run time.
///
/// # Errors
/// As [`fill_captures`].
pub fn fill_captures_variant(
    variant: Variant,
    solved: &mut Solved,
    store: &Store,
) -> Result<(), Error> {
    struct Fill<'a>(&'a mut Solved, &'a Store);
    impl WithRuleset for Fill<'_> {
        type Output = Result<(), Error>;
        fn run<R: Ruleset>(self) -> Self::Output {
            fill_captures::<R>(self.0, self.1)
        }
    }
    variant.with(Fill(solved, store))
}
