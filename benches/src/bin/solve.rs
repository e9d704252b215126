//! Scalar against set-wise solving, one table of figures.
//!
//! `cargo run --release -p dambase-benches --bin solve -- [variant] [MATERIAL,...] [dtw]`; with `dtw` both
//! find distances.
//!
//! One thread. Both solvers run in turns in the same process on the same children, so that the
//! ratio holds on a busy machine. On Linux the times are those of the processor, elsewhere those of
//! the clock; of all runs the median is shown. What a material needs is solved first and not counted.

use dambase_benches::processor_time as now;
use dambase_gen::plan::children;
use dambase_gen::{Control, Error, Store, scalar, setwise};
use dambase_rules::Variant;
use dambase_tables::{Index, Material};

/// Runs of each solver.
const RUNS: usize = 3;

/// The slices of the project's goals.
const GOALS: &[(Variant, &str)] = &[
    (
        Variant::International,
        "KKvK,KKvKK,KMvKM,KKMvK,MMvK,KMvMM,MMvMM,KKMvKM,KKMvKK,KKKvKM",
    ),
    (
        Variant::English,
        "KKvKK,KMvKM,KKMvK,KKvMM,KKMvKM,KKMvKK,MMMvKK,KMMvMM,MMMvKM,MMMvMM,MMMvMMM,KKKvKKK",
    ),
    (Variant::Russian, "KKvKK,KKMvK,KKMvKK,KMMvMM,MMMvMM"),
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

fn bench(variant: Variant, materials: &[Material], distances: bool) -> Result<(), Error> {
    let mut store = Store::new();
    let ctl = Control::new();
    for &material in materials {
        solve_children(variant, material, &mut store, distances, &ctl)?;
        let (mut slow, mut fast) = (Vec::new(), Vec::new());
        for _ in 0..RUNS {
            let start = now();
            let got = setwise::solve_variant(variant, material, &store, distances, &ctl)?;
            fast.push((now() - start).as_secs_f64());
            let start = now();
            let wanted = scalar::solve_variant(variant, material, &store, distances, &ctl)?;
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

/// Solves all that captures and crownings lead to, all the way down, as far as it is not there.
fn solve_children(
    variant: Variant,
    material: Material,
    store: &mut Store,
    distances: bool,
    ctl: &Control,
) -> Result<(), Error> {
    for m in children(variant, material) {
        if store.get(m).is_none() {
            solve_children(variant, m, store, distances, ctl)?;
            let solved = setwise::solve_variant(variant, m, store, distances, ctl)?;
            store.insert(solved);
        }
    }
    Ok(())
}

fn median(times: &mut [f64]) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args: Vec<String> = std::env::args().skip(1).collect();
    let distances = args.last().is_some_and(|last| last == "dtw");
    args.truncate(args.len() - usize::from(distances));
    let mut args = args.into_iter();
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
        pool.install(|| bench(v, &materials, distances))?;
    }
    Ok(())
}
