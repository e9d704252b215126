//! Scalar against set-wise solving, one table of figures.
//!
//! `cargo run --release -p dambase-benches --bin solve -- [variant] [MATERIAL,...]`
//!
//! One thread. Both solvers run in turns in the same process on the same children, so that the
//! ratio holds on a busy machine. On Linux the times are those of the processor, elsewhere those of
//! the clock; of all runs the median is shown. What a material needs is solved first and not counted.

use std::collections::BTreeSet;

use dambase_benches::processor_time as now;
use dambase_gen::{Control, Error, Store, scalar, setwise};
use dambase_rules::Variant;
use dambase_tables::{Index, Material};

/// Runs of each solver.
const RUNS: usize = 3;

/// The slices of the project's goals.
const GOALS: &[(Variant, &str)] = &[
    (
        Variant::International,
        "KKvK,KKvKK,KMvKM,KKMvK,MMvK,MMvKM,KKMvKM,KKMvKK,KKKvKM",
    ),
    (
        Variant::English,
        "KKvKK,KMvKM,KKMvK,MMvKK,KKMvKM,KKMvKK,MMMvKK,KKKvKKK",
    ),
    (Variant::Russian, "KKvKK,KKMvK,KKMvKK"),
    (Variant::Brazilian, "KKvKK,KKMvK,KKMvKK"),
    (Variant::Pool, "KKvKK,KKMvK,KKMvKK"),
    (Variant::German, "KKvKK,KKMvK,KKMvKK"),
    (Variant::Italian, "KKvKK,KKMvK,KKMvKK"),
    (Variant::Spanish, "KKvKK,KKMvK,KKMvKK"),
    (Variant::Poddavki, "KKvKK,KKMvK,KKMvKK"),
    (Variant::Frisian, "KKvK,KKvKK,KKMvK"),
    (Variant::Canadian, "KKvK,KKMvK"),
    (Variant::Turkish, "KKvK,KKvKK,KKMvK"),
    (Variant::Armenian, "KKvK,KKMvK"),
    (Variant::Greek, "KKvK,KKMvK"),
];

fn bench(variant: Variant, materials: &[Material]) -> Result<(), Error> {
    let mut store = Store::new();
    let ctl = Control::new();
    for &material in materials {
        let mut needed = BTreeSet::new();
        children(material, &mut needed);
        for m in needed {
            if store.get(m).is_none() {
                let solved = setwise::solve_variant(variant, m, &store, false, &ctl)?;
                store.insert(solved);
            }
        }
        let (mut slow, mut fast) = (Vec::new(), Vec::new());
        for _ in 0..RUNS {
            let start = now();
            let got = setwise::solve_variant(variant, material, &store, false, &ctl)?;
            fast.push((now() - start).as_secs_f64());
            let start = now();
            let wanted = scalar::solve_variant(variant, material, &store, false, &ctl)?;
            slow.push((now() - start).as_secs_f64());
            assert!(got == wanted, "the solvers differ");
        }
        let index = Index::<u128>::new(variant.rules().geometry, material)?;
        let positions = index.positions() as f64 * material.sides().len() as f64;
        let (slow, fast) = (median(&mut slow), median(&mut fast));
        println!(
            "{:<14}{:<10}{positions:>13}{slow:>10.3}{fast:>10.3}{:>9.1}{:>9.1}{:>8.1}",
            variant.name(),
            material.to_string(),
            positions / slow / 1e6,
            positions / fast / 1e6,
            slow / fast
        );
    }
    Ok(())
}

/// The canonical materials that captures and crownings lead to, all the way down.
fn children(material: Material, found: &mut BTreeSet<Material>) {
    for (x, y) in [(0, 1), (1, 0)] {
        let mut next = Vec::new();
        if material.men[x] > 0 {
            let mut m = material;
            m.men[x] -= 1;
            m.kings[x] += 1;
            next.push(m);
        }
        if material.men[y] > 0 {
            let mut m = material;
            m.men[y] -= 1;
            next.push(m);
        }
        if material.kings[y] > 0 {
            let mut m = material;
            m.kings[y] -= 1;
            next.push(m);
        }
        for m in next {
            let both = m.kings[0] + m.men[0] > 0 && m.kings[1] + m.men[1] > 0;
            if both && found.insert(m.canonical()) {
                children(m.canonical(), found);
            }
        }
    }
}

fn median(times: &mut [f64]) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1);
    let variant: Option<Variant> = args.next().map(|v| v.parse()).transpose()?;
    let materials = args.next();
    println!(
        "{:<14}{:<10}{:>13}{:>10}{:>10}{:>9}{:>9}{:>8}",
        "variant", "material", "positions", "scalar s", "set-w. s", "M pos/s", "M pos/s", "ratio"
    );
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build()?;
    for &(v, names) in GOALS {
        if variant.is_some_and(|wanted| wanted != v) {
            continue;
        }
        let names = materials.as_deref().unwrap_or(names);
        let materials = names
            .split(',')
            .map(str::parse)
            .collect::<Result<Vec<Material>, _>>()?;
        let materials: Vec<_> = materials.iter().map(Material::canonical).collect();
        pool.install(|| bench(v, &materials))?;
    }
    Ok(())
}
