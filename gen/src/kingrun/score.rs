//! Values as numbers of which the larger is the better.

use dambase_tables::{Dtw, Value, Wld};

/// A value for the side to move: 0 for a draw; with distances [`WIN`] less the plies for a win and
/// the opposite for a loss, without distances 1 and -1.
pub(super) type Score = i16;

/// The minimum over no successors.
pub(super) const NONE: Score = i16::MAX;

/// Won in 0 plies.
const WIN: Score = NONE - 1;

/// The score of a side to move that has lost already.
pub(super) const fn lost<const DTW: bool>() -> Score {
    if DTW { -WIN } else { -1 }
}

/// The score of the code of a value with distance.
#[inline(always)]
pub(super) const fn of_code(code: u16) -> Score {
    match Value::from_code(code) {
        Value::Draw => 0,
        Value::Win(Dtw(d)) => WIN - d as Score,
        Value::Loss(Dtw(d)) => d as Score - WIN,
    }
}

/// The score of a value without distance; where distances are counted, of one that begins here.
#[inline(always)]
pub(super) const fn of_wld<const DTW: bool>(wld: Wld) -> Score {
    match wld {
        Wld::Draw => 0,
        Wld::Win => -lost::<DTW>(),
        Wld::Loss => lost::<DTW>(),
    }
}

/// The score of a position of which `worst` is the lowest score of its successors for the
/// opponent: one ply further from the end. Without successors the side to move has lost.
#[inline(always)]
pub(super) const fn one_ply_up<const DTW: bool>(worst: Score) -> Score {
    let score = -worst;
    if worst == NONE {
        lost::<DTW>()
    } else if DTW {
        score - score.signum()
    } else {
        score
    }
}

/// Win, loss or draw.
pub(super) const fn wld(score: Score) -> Wld {
    match score {
        0 => Wld::Draw,
        1.. => Wld::Win,
        _ => Wld::Loss,
    }
}

/// The value of a score with distance.
pub(super) const fn value(score: Score) -> Value {
    match score {
        0 => Value::Draw,
        1.. => Value::Win(Dtw((WIN - score) as u16)),
        _ => Value::Loss(Dtw((score + WIN) as u16)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scores_lead_back() {
        for plies in [0, 1, 2, 255, 256, 16_000] {
            for v in [Value::Win(Dtw(plies)), Value::Loss(Dtw(plies)), Value::Draw] {
                assert_eq!(value(of_code(v.code())), v);
                assert_eq!(wld(of_code(v.code())), v.wld());
                assert_eq!(wld(of_wld::<false>(v.wld())), v.wld());
            }
        }
    }

    #[test]
    fn a_ply_up_is_a_ply_more_for_the_other_side() {
        let up = |v: Value| value(one_ply_up::<true>(of_code(v.code())));
        assert_eq!(up(Value::Loss(Dtw(0))), Value::Win(Dtw(1)));
        assert_eq!(up(Value::Win(Dtw(7))), Value::Loss(Dtw(8)));
        assert_eq!(up(Value::Draw), Value::Draw);
        assert_eq!(up(Value::Win(Dtw(0))), Value::Loss(Dtw(1)));
        assert_eq!(value(one_ply_up::<true>(NONE)), Value::Loss(Dtw(0)));
        assert_eq!(wld(one_ply_up::<false>(NONE)), Wld::Loss);
        let begins = |v| value(one_ply_up::<true>(of_wld::<true>(v)));
        assert_eq!(begins(Wld::Loss), Value::Win(Dtw(1)));
        assert_eq!(begins(Wld::Win), Value::Loss(Dtw(1)));
        assert_eq!(wld(one_ply_up::<false>(1)), Wld::Loss);
    }
}
