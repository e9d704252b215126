//! Look-ups in tables whose values make no sense.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use dambase_probe::Tablebase;
use dambase_rules::{Board, Clocks, LimitSet, Position, Ruleset, Run, Side, Variant, marker};
use dambase_tables::needs::{Need, NeedsArray, NeedsList, NeedsNumbers};
use dambase_tables::{
    Codec, DtwArray, DtzArray, Material, Metric, RuleValue, RunIndex, Wld, WldArray, WriteOptions,
    table_path, write_dtw, write_dtz, write_needs, write_wld,
};

use crate::choose;
use crate::tables::{noise, seal};

/// Most positions that are asked for.
const MOST_POSITIONS: usize = 8;
/// Most changes of a file.
const MOST_CHANGES: usize = 32;

/// The files of a directory with made-up values, and what they are of.
struct World {
    variant: Variant,
    materials: Vec<Material>,
    /// Names below the directory, and bytes.
    files: Vec<(PathBuf, Vec<u8>)>,
}

/// Distances without and with king runs; values under the limits of one and of several clocks.
static WORLDS: LazyLock<Vec<World>> = LazyLock::new(|| {
    vec![
        world::<marker::English>(&["KvK", "KvM", "MvM", "KKvK"], "default"),
        world::<marker::Frisian>(&["KvK", "KvM"], "default"),
        world::<marker::Russian>(&["KvK", "KvM", "KMvK"], "default,30-move,60-move"),
    ]
});

/// All tables.
pub(crate) fn tables() -> impl Iterator<Item = &'static [u8]> {
    WORLDS
        .iter()
        .flat_map(|w| &w.files)
        .map(|(_, bytes)| &**bytes)
}

/// Writes all kinds of tables of materials.
fn world<R: Ruleset>(names: &[&str], limits: &str) -> World {
    let dir = tempfile::tempdir().expect("a temporary directory");
    fs::create_dir(dir.path().join(R::VARIANT.name())).expect("a directory");
    let limits = LimitSet::parse(R::VARIANT, limits).expect("limits");
    let materials: Vec<Material> = names.iter().map(|n| n.parse().expect("a name")).collect();
    let mut files = Vec::new();
    for &material in &materials {
        for metric in [Metric::Wld, Metric::Dtw, Metric::Dtz] {
            let path = table_path(dir.path(), R::VARIANT, material, metric);
            write::<R>(&path, material, metric, &limits);
            let name = path.strip_prefix(dir.path()).expect("a name").to_owned();
            files.push((name, fs::read(&path).expect("the table")));
        }
    }
    World {
        variant: R::VARIANT,
        materials,
        files,
    }
}

fn write<R: Ruleset>(path: &Path, material: Material, metric: Metric, limits: &LimitSet) {
    let scope = R::RULES.king_run;
    // Under the extra limits the quiet clock runs beside the one of the pieces.
    let several = *limits != LimitSet::of(R::VARIANT) && material.pieces() == 3;
    let index = RunIndex::<R::Bits>::new(R::RULES.geometry, scope, material).expect("an index");
    let n = index.positions();
    let sides = material.sides();
    let options = WriteOptions {
        // The codecs in chunks take long to write; one material has them.
        codec: if material == Material::new(1, 0, 0, 1) {
            Codec::Context
        } else {
            Codec::Zstd
        },
        level: 3,
        dictionary: false,
        king_run: scope.is_some(),
        limits_hash: if metric == Metric::Dtz {
            limits.hash()
        } else {
            0
        },
        ..WriteOptions::default()
    };
    let wld = |i: u64, k: u64| [Wld::Win, Wld::Draw, Wld::Loss][(noise(i / 9 + k) % 3) as usize];
    let of = |wld: Wld, win: u16, loss: u16, draw: u16| match wld {
        Wld::Win => win,
        Wld::Loss => loss,
        Wld::Draw => draw,
    };
    let slices = 0..sides.len() as u64;
    let written = match metric {
        Metric::Wld => {
            let slices: Vec<_> = slices
                .map(|k| {
                    let mut array = WldArray::new(n);
                    (0..n).for_each(|i| array.set(i, wld(i, k)));
                    array
                })
                .collect();
            write_wld::<R>(path, material, &slices.iter().collect::<Vec<_>>(), &options)
        }
        Metric::Dtw => {
            // A win in d plies is 2 d + 1, a loss 2 d + 2; most are as far from the end.
            let code = |i: u64, k: u64| {
                let d = [4, noise(i) as u16 % 40][usize::from(noise(i + k) < 300)] & !1;
                of(wld(i, k), 2 * (d + 1) + 1, 2 * d + 2, 0)
            };
            let slices: Vec<_> = slices
                .map(|k| DtwArray {
                    codes: (0..n).map(|i| code(i, k)).collect(),
                })
                .collect();
            write_dtw::<R>(path, material, &slices.iter().collect::<Vec<_>>(), &options)
        }
        Metric::Dtz if several => {
            let list = lists();
            let symbol = |i: u64, k: u64| {
                let number = (noise(i / 5 + k) % list.len() as u64) as u32;
                let value = match noise(i) {
                    0..50 => RuleValue::undecided(wld(i, k)),
                    _ => list.value(wld(i, k), Some(number)),
                };
                NeedsList::symbol(value, number).expect("a small number")
            };
            let slices: Vec<_> = slices
                .map(|k| NeedsArray {
                    symbols: (0..n).map(|i| symbol(i, k)).collect(),
                })
                .collect();
            let slices: Vec<_> = slices.iter().collect();
            write_needs::<R>(path, material, &slices, &list, &options)
        }
        Metric::Dtz => {
            let code = |i: u64, k: u64| of(wld(i, k), 3 + 2 * (noise(i) % 40) as u16, 12, 0) as u8;
            let slices: Vec<_> = slices
                .map(|k| DtzArray {
                    codes: (0..n).map(|i| code(i, k)).collect(),
                })
                .collect();
            write_dtz::<R>(path, material, &slices.iter().collect::<Vec<_>>(), &options)
        }
    };
    written.expect("a table");
}

/// What positions need of two clocks.
fn lists() -> NeedsList {
    let mut numbers = NeedsNumbers::default();
    for n in 0..90_u8 {
        let step = |k: u8| Need {
            diagonal: if n % 7 == 0 { 2 } else { 0 },
            beside: n / 20 + 9 * k,
            quiet: n % 20 + 4 - k,
        };
        let steps: Vec<_> = (0..=n % 3).map(step).collect();
        let _ = numbers.number(&steps);
    }
    numbers.into_list()
}

/// A placement of a material, which two bytes choose.
fn position(world: &World, material: Material, choice: u64, side: Side) -> Option<Position> {
    let geometry = world.variant.rules().geometry;
    let index = dambase_tables::Index::<u128>::new(geometry, material).ok()?;
    let place = choice.wrapping_mul(0x9e37_79b9_7f4a_7c15) % index.positions();
    let board: Board<u128> = index.board(place);
    Position::new(world.variant, board, side, [Run::NONE; 2]).ok()
}

/// A directory with made-up values, which the first byte chooses; a file of it, which the second
/// chooses, with as many changes as the third says, as in [`crate::sealed_table`]; and positions to
/// ask for, three bytes each. Answers may be anything, but nothing may panic, hang or take memory
/// without bound, and lines end.
///
/// # Panics
/// If a batch of look-ups answers otherwise than single ones.
pub fn answers(data: &[u8]) {
    let Some((world, rest)) = choose(&WORLDS, data) else {
        return;
    };
    let Some(((name, bytes), rest)) = choose(&world.files, rest) else {
        return;
    };
    let Some((&changes, rest)) = rest.split_first() else {
        return;
    };
    let changes = usize::from(changes) % (MOST_CHANGES + 1);
    let Some((changes, asked)) = rest.split_at_checked(3 * changes) else {
        return;
    };
    let mut file = bytes.clone();
    for change in changes.chunks_exact(3) {
        let place = usize::from(u16::from_le_bytes([change[0], change[1]])) % file.len();
        file[place] = file[place].wrapping_add(change[2]);
    }
    if seal(&mut file).is_none() {
        return;
    }
    let Ok(dir) = tempfile::tempdir() else {
        return;
    };
    let mut made = fs::create_dir(dir.path().join(world.variant.name()));
    for (other, bytes) in &world.files {
        let bytes = if other == name { &file } else { bytes };
        made = made.and_then(|()| fs::write(dir.path().join(other), bytes));
    }
    if made.is_err() {
        return;
    }
    let Ok(tables) = Tablebase::open(world.variant, [dir.path()]) else {
        return;
    };
    let positions: Vec<Position> = asked
        .chunks_exact(3)
        .take(MOST_POSITIONS)
        .filter_map(|p| {
            let material = world.materials[usize::from(p[0] / 2) % world.materials.len()];
            let choice = u16::from_le_bytes([p[1], p[2]]).into();
            position(world, material, choice, Side::BOTH[usize::from(p[0] % 2)])
        })
        .collect();
    let mut single = Vec::new();
    for p in &positions {
        single.push(tables.probe_wld(p).ok());
        let _ = tables.probe(p);
        let _ = tables.probe_dtz(p);
        let _ = tables.moves(p);
        let _ = tables.line(p);
        let clocks = Clocks::fresh(tables.limits(), p.board());
        let _ = tables.verdict(p, clocks);
        let _ = tables.check_dtz(p);
        let _ = tables.line_by_rule(p, clocks);
    }
    let batch = tables.probe_many(&positions).into_iter();
    assert_eq!(batch.map(Result::ok).collect::<Vec<_>>(), single);
    for metric in [Metric::Wld, Metric::Dtw] {
        let _ = tables.make_resident(metric, |_| true);
    }
    for (p, before) in positions.iter().zip(&single) {
        // A whole table may be refused for one bad block, that is not asked for otherwise.
        if let (Ok(now), Some(before)) = (tables.probe_wld(p), before) {
            assert_eq!(now, *before, "{}", p.fen());
        }
    }
}
