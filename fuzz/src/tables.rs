//! Tables: files, headers, blocks, directories.

use std::sync::LazyLock;

use dambase_probe::Tablebase;
use dambase_rules::{Position, Variant, marker};
use dambase_tables::{
    Codec, DtwArray, Material, Metric, Scratch, Table, Wld, WldArray, WriteOptions, write_archive,
    write_dtw, write_wld,
};
use xxhash_rust::xxh3::xxh3_64;

use crate::choose;

/// The most that is decoded of one table.
const MOST_BLOCKS: u64 = 64;

/// The bytes of a file: refused, or every block decodes or is refused.
pub fn table(data: &[u8]) {
    let Ok(table) = Table::from_bytes("fuzz.wld", data.to_vec()) else {
        return;
    };
    let _ = table.verify_checksums();
    read(&table);
}

fn read(table: &Table) {
    let header = table.header();
    let mut scratch = Scratch::new();
    for &side in header.material.sides() {
        let n = header.slice(side).map_or(0, |s| s.stats.positions);
        let step = n.div_ceil(MOST_BLOCKS).max(1);
        for i in (0..n).step_by(step as usize) {
            let (block, offset) = table.block_of(side, i);
            let Ok(decoded) = table.decode(block, &mut scratch) else {
                continue;
            };
            match header.metric {
                Metric::Wld => drop(decoded.wld(offset)),
                Metric::Dtw => drop(decoded.value(offset)),
                Metric::Dtz => drop(decoded.rule(offset)),
            }
        }
    }
}

/// Noise that compresses a little: the same in every run.
pub(crate) fn noise(i: u64) -> u64 {
    i.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(23) % 1000
}

type R = marker::English;

/// Whole tables with made-up values, one of every kind.
static SEEDS: LazyLock<Vec<Vec<u8>>> = LazyLock::new(|| {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let path = dir.path().join("table");
    let mut seeds = Vec::new();
    let mut options = WriteOptions::default();
    for name in ["KvM", "KKvK"] {
        let material: Material = name.parse().expect("a material");
        let n = dambase_tables::Index::<u64>::new(Variant::English.rules().geometry, material)
            .expect("a small material")
            .positions();
        let wld = [0, 1].map(|side| {
            let mut array = WldArray::new(n);
            for i in 0..n {
                let v = [Wld::Win, Wld::Draw, Wld::Loss][(noise(i / 9 + side) % 3) as usize];
                array.set(i, v);
            }
            array
        });
        let dtw = [0, 1].map(|side| DtwArray {
            codes: (0..n)
                .map(|i| (4 * (noise(i / 3 + side) % 150) + 3) as u16)
                .collect(),
        });
        for codec in [Codec::Zstd, Codec::Context] {
            options.codec = codec;
            write_wld::<R>(&path, material, &[&wld[0], &wld[1]], &options).expect("a table");
            seeds.push(std::fs::read(&path).expect("the table"));
        }
        for codec in [Codec::Zstd, Codec::Distance] {
            options.codec = codec;
            write_dtw::<R>(&path, material, &[&dtw[0], &dtw[1]], &options).expect("a table");
            seeds.push(std::fs::read(&path).expect("the table"));
        }
    }
    // Distances of which Black's follow from White's: one slice depends on the other.
    let linked = linked();
    options.codec = Codec::Distance;
    write_dtw::<R>(&path, linked.0, &[&linked.1[0], &linked.1[1]], &options).expect("a table");
    seeds.push(std::fs::read(&path).expect("the table"));
    // Archives, of which one side to move is missing.
    for k in [1, 5] {
        let table = Table::from_bytes("seed", seeds[k].clone()).expect("a table");
        let header = write_archive(&path, &table).expect("an archive");
        assert!(header.slices.iter().any(|s| s.codec == Codec::Omitted));
        seeds.push(std::fs::read(&path).expect("the archive"));
    }
    // Values under the draw limits, king runs.
    seeds.extend(crate::answers::tables().map(<[u8]>::to_vec));
    seeds
});

/// Two kings against one; Black to move loses two plies more than White needs at best.
fn linked() -> (Material, [DtwArray; 2]) {
    use dambase_rules::{Board, MoveList, Run, Side, movegen};
    let material: Material = "KKvK".parse().expect("a material");
    let index = dambase_tables::Index::<u64>::new(Variant::English.rules().geometry, material)
        .expect("a small material");
    let n = index.positions();
    let white: Vec<u16> = (0..n)
        .map(|i| (4 * (noise(i / 7) % 40) + 3) as u16)
        .collect();
    let black = (0..n).map(|i| {
        let board = index.board(i);
        let mut list = MoveList::new();
        movegen::quiet::<R>(&board, Side::Black, Run::NONE, &mut list);
        let after = list.iter().map(|m| {
            let after: Board<u64> = board.after(Side::Black, m);
            white[index.index(&after) as usize]
        });
        // A win in d plies, 2 d + 1, becomes a loss in d + 1, 2 d + 4.
        after.max().map_or(2, |code| code + 3)
    });
    let black = DtwArray {
        codes: black.collect(),
    };
    (
        material,
        [
            DtwArray {
                codes: white.into(),
            },
            black,
        ],
    )
}

fn number(bytes: &[u8], at: usize, length: usize) -> Option<u64> {
    let bytes = bytes.get(at..at.checked_add(length)?)?;
    Some(bytes.iter().rev().fold(0, |n, &b| n << 8 | u64::from(b)))
}

/// Makes all checksums right again, so that what they guard is looked at (docs/format.md).
pub(crate) fn seal(file: &mut [u8]) -> Option<()> {
    const HEADER: usize = 512;
    for slice in [128, 312] {
        let codec = *file.get(slice + 84)?;
        let blocks = number(file, slice + 144, 8)? as usize;
        let section = |file: &[u8], at: usize| {
            let start = number(file, at, 8)? as usize;
            let end = start.checked_add(number(file, at + 8, 8)? as usize)?;
            (start <= end && end <= file.len()).then_some(start..end)
        };
        if codec == 2
            && let Some(table) = section(file, slice + 120)
        {
            let mut at = table.start;
            while at + 8 < table.end {
                let count = ((table.end - at - 8) / 6).min(16);
                let mut start = blocks.checked_add(number(file, at, 8)? as usize)?;
                for k in 0..count {
                    let length = number(file, at + 8 + 2 * k, 2)? as usize;
                    let Some(block) = file.get(start..start.checked_add(length)?) else {
                        break;
                    };
                    let sum = (xxh3_64(block) as u32).to_le_bytes();
                    let place = at + 8 + 2 * count + 4 * k;
                    file.get_mut(place..place + 4)?.copy_from_slice(&sum);
                    start += length;
                }
                at += 8 + 6 * count.max(1);
            }
        }
        if matches!(codec, 3 | 5)
            && let Some(table) = section(file, slice + 120)
        {
            let places: Vec<u64> = file[table]
                .chunks_exact(5)
                .map_while(|entry| number(entry, 0, 5))
                .map(|entry| entry & ((1 << 35) - 1))
                .collect();
            for group in places.windows(2) {
                let start = blocks.checked_add(group[0] as usize)?;
                let end = blocks.checked_add(group[1] as usize)?;
                if start + 4 <= end && end <= file.len() {
                    let sum = (xxh3_64(&file[start + 4..end]) as u32).to_le_bytes();
                    file[start..start + 4].copy_from_slice(&sum);
                }
            }
        }
        for at in [slice + 96, slice + 120] {
            if let Some(part) = section(file, at)
                && !part.is_empty()
            {
                let sum = xxh3_64(&file[part]).to_le_bytes();
                file[at + 16..at + 24].copy_from_slice(&sum);
            }
        }
    }
    // Lists of needs are the end of the file.
    let lists = number(file, 112, 8)? as usize;
    if lists > 0
        && let Some(start) = file.len().checked_sub(lists)
    {
        let sum = xxh3_64(&file[start..]).to_le_bytes();
        file.get_mut(120..128)?.copy_from_slice(&sum);
    }
    let sum = xxh3_64(file.get(..HEADER - 8)?).to_le_bytes();
    file[HEADER - 8..HEADER].copy_from_slice(&sum);
    Some(())
}

/// A whole table, chosen by the first byte, with changes: three bytes each, the place (modulo the
/// length) and what is added there. All checksums are made right again, as an attacker would.
/// Values may then be anything, but nothing may panic, hang or take memory without bound.
pub fn sealed_table(data: &[u8]) {
    let Some((seed, changes)) = choose(&SEEDS, data) else {
        return;
    };
    let mut file = seed.clone();
    for change in changes.chunks_exact(3).take(64) {
        let place = usize::from(u16::from_le_bytes([change[0], change[1]])) % file.len();
        file[place] = file[place].wrapping_add(change[2]);
    }
    if seal(&mut file).is_none() {
        return;
    }
    if let Ok(table) = Table::from_bytes("fuzz.wld", file) {
        let _ = table.verify_checksums();
        read(&table);
    }
}

/// A directory with one file whose name is the text up to the first line feed and whose content is
/// the rest: opened and asked.
///
/// # Panics
/// If an opened directory answers a position of a table that it cannot have.
pub fn directory(data: &[u8]) {
    let end = data.iter().position(|&b| b == b'\n').unwrap_or(data.len());
    let name = String::from_utf8_lossy(&data[..end]);
    let plain = |c: char| c.is_ascii_alphanumeric() || ". _-~".contains(c);
    if name.is_empty() || name.len() > 64 || !name.chars().all(plain) || name.starts_with("..") {
        return;
    }
    let Ok(dir) = tempfile::tempdir() else {
        return;
    };
    let inside = dir.path().join("english");
    let content = data.get(end + 1..).unwrap_or(&[]);
    let made =
        std::fs::create_dir(&inside).and_then(|()| std::fs::write(inside.join(&*name), content));
    if made.is_err() {
        return;
    }
    let Ok(tables) = Tablebase::open(Variant::English, [dir.path()]) else {
        return;
    };
    let position = Position::parse(Variant::English, "W:WK1:BK32").expect("a position");
    let _ = tables.probe_wld(&position);
    let _ = tables.probe_dtw(&position);
    let _ = tables.moves(&position);
}

/// Packed values and codes of values from outside.
///
/// # Panics
/// If codes that are taken are not given back.
pub fn values(data: &[u8]) {
    let Some((&first, rest)) = data.split_first() else {
        return;
    };
    let n = (rest.len() as u64 * 4).saturating_sub(u64::from(first % 4));
    if let Some(array) = WldArray::from_packed(rest.to_vec(), n) {
        assert_eq!(array.len(), n);
        let mut again = WldArray::new(n);
        for i in 0..n {
            again.set(i, array.get(i));
        }
        for i in 0..n {
            assert_eq!(again.get(i), array.get(i));
        }
    }
}
