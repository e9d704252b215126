//! Compares every figure under the draw limits with the independent solver's.

mod beside;
mod commands;
#[path = "../common/options.rs"]
mod options;
mod pairs;
mod product;
mod ruled;
mod set_wise;

use std::collections::BTreeMap;

use dambase_gen::limits::RuledStore;
use dambase_rules::{ClockRun, Clocks, LimitSet, Position, Side, Variant};
use dambase_tables::{Material, RuleValue};
use serde_json::Value as Json;

/// The name of a governing clock as the truth has it.
fn clock_name(limits: &LimitSet, p: &Position) -> Option<&'static str> {
    let clock = limits.running(p.board()).governing?;
    Some(match limits.limit(clock).name {
        "5-move-each-fresh" => "5-move",
        name => name,
    })
}

fn value(store: &RuledStore, p: &Position) -> RuleValue {
    ruled::value(store, p.board(), p.side(), false)
}

/// The need as the truth has it: none where no clock runs.
fn need(store: &RuledStore, p: &Position) -> Option<u64> {
    store.limits().running(p.board()).governing?;
    value(store, p).need().map(|n| n.0.into())
}

#[derive(Default)]
struct Counts {
    values: BTreeMap<&'static str, u64>,
    needs: [BTreeMap<u64, u64>; 2],
}

fn check_classes(store: &RuledStore, truth: &Json) {
    let limits = store.limits();
    let variant = limits.variant();
    for class in truth["classes"].as_array().unwrap() {
        let material: Material = class["material"].as_str().unwrap().parse().unwrap();
        let clock = limits
            .of_material(material.kings, material.men)
            .map(|c| limits.limit(c));
        let plies = clock.map(|c| u64::from(c.plies()));
        assert_eq!(class["budget"].as_u64(), plies, "{variant} {material}");
        let solved = store.get(material.canonical()).unwrap();
        for side in Side::BOTH {
            let truth = &class[side.name()];
            let what = format!("{variant} {material} {side:?}");
            let slice = match (material.is_symmetric(), material.is_canonical()) {
                (true, _) => 0,
                (_, true) => side as usize,
                (_, false) => side.other() as usize,
            };
            let mut counts = Counts::default();
            for i in 0..solved.dtz[slice].len() {
                let value = solved.dtz[slice].get(i);
                *counts.values.entry(value.name()).or_default() += 1;
                if let (Some(_), Some(n)) = (clock, value.need()) {
                    let loss = usize::from(matches!(value, RuleValue::Loss(_)));
                    *counts.needs[loss].entry(n.0.into()).or_default() += 1;
                }
            }
            for name in ["win", "cursed-win", "draw", "blessed-loss", "loss"] {
                let ours = counts.values.get(name).copied().unwrap_or(0);
                let theirs = truth[name.replace('-', "_")].as_u64();
                assert_eq!(theirs, Some(ours), "{what} {name}");
            }
            for (ours, name) in counts.needs.iter().zip(["win", "loss"]) {
                let theirs: BTreeMap<u64, u64> = truth[format!("need_{name}")]
                    .as_object()
                    .unwrap()
                    .iter()
                    .map(|(n, count)| (n.parse().unwrap(), count.as_u64().unwrap()))
                    .collect();
                assert_eq!(*ours, theirs, "{what} {name}");
                let largest = &truth[format!("largest_need_{name}")];
                let last = ours.last_key_value().map(|(n, _)| *n);
                assert_eq!(largest["need"].as_u64(), last, "{what} {name}");
                if let Some(fen) = largest["fen"].as_str() {
                    let p = Position::parse(variant, fen).unwrap();
                    assert_eq!(need(store, &p), last, "{what} {fen}");
                }
            }
        }
    }
}

fn check_samples(store: &RuledStore, text: &str) {
    let limits = store.limits();
    let variant = limits.variant();
    let (mut samples, mut edges) = (0, 0);
    for line in text.lines() {
        let sample: Json = serde_json::from_str(line).unwrap();
        let fen = sample["fen"].as_str().unwrap();
        let p = Position::parse(variant, fen).expect(fen);
        let value = value(store, &p);
        let what = format!("{variant} {fen}");
        assert_eq!(sample["wld"], value.without_limits().name(), "{what}");
        assert_eq!(sample["rule"], value.name(), "{what}");
        assert_eq!(sample["need"].as_u64(), need(store, &p), "{what}");
        assert_eq!(sample["limit"].as_str(), clock_name(limits, &p), "{what}");
        samples += 1;
        for edge in sample["edge"].as_array().into_iter().flatten() {
            let name = edge["clock"].as_str().unwrap();
            let fresh = limits
                .limits()
                .find(|l| l.name == format!("{name}-each-fresh"));
            let run = ClockRun {
                name: fresh.map_or(name, |l| l.name).to_owned(),
                plies: edge["run"].as_u64().unwrap(),
            };
            let clocks = Clocks::after_runs(limits, p.board(), &[run]).unwrap();
            let value = value.with_left(clocks.left);
            assert_eq!(edge["rule"], value.name(), "{what} {edge}");
            edges += 1;
        }
    }
    assert!(samples > 150 && edges > 80, "{variant}: {samples}, {edges}");
}

fn check(variant: Variant, limits: &str, name: &str) {
    let limits = LimitSet::parse(variant, limits).unwrap();
    let store = ruled::build(limits, &ruled::build_wld(variant, 3));
    let truth = ruled::data(&format!("{name}.json"));
    check_classes(&store, &serde_json::from_str(&truth).unwrap());
    check_samples(&store, &ruled::data(&format!("{name}.samples.jsonl")));
}

macro_rules! truth {
    ($($test:ident $variant:ident $limits:literal $name:literal,)*) => {
        $(
            #[test]
            fn $test() {
                check(Variant::$variant, $limits, $name);
            }
        )*
    };
}

truth! {
    international International "default" "international",
    canadian Canadian "default" "canadian",
    english English "default" "english",
    italian Italian "default" "italian",
    russian_with_the_diagonal Russian "default" "russian-diagonal",
    russian_without_the_diagonal Russian "no-long-diagonal" "russian",
    pool Pool "default" "pool",
    brazilian Brazilian "default" "brazilian",
    brazilian_each_fresh Brazilian "default,5-move-each-fresh" "brazilian-each-fresh",
    spanish Spanish "default" "spanish",
    frisian_without_king_run Frisian "default" "frisian",
}
