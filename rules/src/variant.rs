//! Run-time names of the codes, and the bridge to code that is generic over them.

use std::fmt;
use std::str::FromStr;

use crate::codes;
use crate::ruleset::{Rules, Ruleset, WithRuleset};

macro_rules! variants {
    ($($name:ident = $id:literal, $word:ty, $rules:ident, $doc:literal;)*) => {
        /// A code of draughts, or a named extra ruleset.
        ///
        /// The numbers stand in table files and never change.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        #[repr(u8)]
        #[non_exhaustive]
        pub enum Variant {
            $(#[doc = $doc] $name = $id,)*
        }

        /// Marker types, one for each variant, for code generic over [`Ruleset`].
        pub mod marker {
            use super::*;
            $(
                #[doc = $doc]
                #[derive(Clone, Copy, Debug)]
                pub struct $name;
                impl Ruleset for $name {
                    type Bits = $word;
                    const VARIANT: Variant = Variant::$name;
                    const RULES: Rules = codes::$rules;
                }
            )*
        }

        impl Variant {
            /// The fourteen codes and then the extra rulesets.
            pub const ALL: &'static [Variant] = &[$(Variant::$name),*];

            /// The rules.
            #[must_use]
            pub const fn rules(self) -> &'static Rules {
                match self { $(Variant::$name => &codes::$rules,)* }
            }

            /// Runs `f` monomorphised for this code. Call it once, outside the loop.
            pub fn with<F: WithRuleset>(self, f: F) -> F::Output {
                match self { $(Variant::$name => f.run::<marker::$name>(),)* }
            }

            /// The variant with a number from a table file.
            #[must_use]
            pub const fn from_id(id: u8) -> Option<Self> {
                match id { $($id => Some(Variant::$name),)* _ => None }
            }
        }
    };
}

variants! {
    English = 0, u64, ENGLISH, "English draughts, American checkers.";
    International = 1, u64, INTERNATIONAL, "International draughts.";
    Russian = 2, u64, RUSSIAN, "Russian draughts, shashki.";
    Brazilian = 3, u64, BRAZILIAN, "Brazilian draughts.";
    Pool = 4, u64, POOL, "American pool checkers.";
    German = 5, u64, GERMAN, "German draughts.";
    Italian = 6, u64, ITALIAN, "Italian draughts.";
    Spanish = 7, u64, SPANISH, "Spanish draughts.";
    Canadian = 8, u128, CANADIAN, "Canadian draughts.";
    Frisian = 9, u64, FRISIAN, "Frisian draughts.";
    Turkish = 10, u64, TURKISH, "Turkish draughts, dama.";
    Armenian = 11, u64, ARMENIAN, "Armenian draughts, tama.";
    Greek = 12, u64, GREEK, "Greek draughts.";
    Poddavki = 13, u64, PODDAVKI, "Give-away draughts, poddavki.";
    GermanMustContinue = 64, u64, GERMAN_MUST_CONTINUE, "German with forced landing.";
    SpanishFederation = 65, u64, SPANISH_FEDERATION, "Spanish with deferred removal.";
    TurkishPromoteAtEnd = 66, u64, TURKISH_PROMOTE_AT_END, "Turkish, crowned at the end.";
    ArmenianQueenKing = 67, u64, ARMENIAN_QUEEN_KING, "Armenian with a queen-like king.";
    ArmenianPromoteAtEnd = 68, u64, ARMENIAN_PROMOTE_AT_END, "Armenian, crowned at the end.";
    GreekMustContinue = 69, u64, GREEK_MUST_CONTINUE, "Greek with forced landing.";
    GreekPromoteAtEnd = 70, u64, GREEK_PROMOTE_AT_END, "Greek, crowned at the end.";
    FrisianFederation = 71, u64, FRISIAN_FEDERATION, "Frisian by the federation's rules.";
    Breakthrough = 72, u64, BREAKTHROUGH, "Brazilian, won by the first crowning.";
}

impl Variant {
    /// The name used on the command line and in directories.
    #[must_use]
    pub const fn name(self) -> &'static str {
        self.rules().name
    }
    /// The number that stands in table files.
    #[must_use]
    pub const fn id(self) -> u8 {
        self as u8
    }
    /// True for the fourteen codes, false for the extra rulesets.
    #[must_use]
    pub const fn is_code(self) -> bool {
        self.id() < 64
    }
}

impl fmt::Display for Variant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// The name of no known code.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("unknown code \"{name}\"; known are: {}", list())]
pub struct UnknownVariant {
    /// What was asked for.
    pub name: String,
}

fn list() -> String {
    Variant::ALL
        .iter()
        .map(|v| v.name())
        .collect::<Vec<_>>()
        .join(", ")
}

impl FromStr for Variant {
    type Err = UnknownVariant;

    /// Case does not matter; underscores count as hyphens.
    fn from_str(s: &str) -> Result<Self, Self::Err> {
        let wanted = s.trim().to_ascii_lowercase().replace('_', "-");
        Self::ALL
            .iter()
            .copied()
            .find(|v| v.name() == wanted)
            .ok_or_else(|| UnknownVariant { name: s.to_owned() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bits::Bits;

    #[test]
    fn names_and_numbers_lead_back() {
        for &v in Variant::ALL {
            assert_eq!(v.name().parse(), Ok(v));
            assert_eq!(Variant::from_id(v.id()), Some(v));
        }
        assert_eq!("Spanish_Federation".parse(), Ok(Variant::SpanishFederation));
        assert!("".parse::<Variant>().is_err());
        assert_eq!(Variant::ALL.iter().filter(|v| v.is_code()).count(), 14);
    }

    #[test]
    fn words_hold_their_boards() {
        struct Fits;
        impl WithRuleset for Fits {
            type Output = bool;
            fn run<R: Ruleset>(self) -> bool {
                R::RULES.geometry.squares() <= R::Bits::WIDTH as usize
            }
        }
        assert!(Variant::ALL.iter().all(|v| v.with(Fits)));
    }

    #[test]
    fn fingerprints_tell_rules_apart() {
        // Frisian run scopes share a fingerprint only if all else is equal, which it is not.
        for &a in Variant::ALL {
            for &b in Variant::ALL {
                assert_eq!(a == b, a.rules().fingerprint() == b.rules().fingerprint());
            }
        }
    }
}
