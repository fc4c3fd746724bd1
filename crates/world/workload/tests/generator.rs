//! Compares generated traffic with its expected values: the acceptance limits T1 to T4 of the
//! evaluation of SRMP, and the distributions at the 1 % level. All seeds are fixed.

use std::time::Duration;

use base::{Moment, Seed};
use workload::analysis::Forecast;
use workload::{Counters, Emission, Generator, Mode, State, Workload};

const RUN: Duration = Duration::from_secs(1800);

fn generate(workload: &Workload, seed: u64) -> (Counters, Vec<Emission>) {
    let end = Moment::ZERO + RUN;
    let mut generator = Generator::new(workload.clone(), Seed(seed), Moment::ZERO).unwrap();
    let emissions = std::iter::from_fn(|| generator.poll(end)).collect();
    let mut counters = Counters::default();
    generator.counters(end).iter().for_each(|class| counters.add(class));
    (counters, emissions)
}

fn file(text: &str) -> Workload {
    Workload::parse(text).unwrap()
}

/// The `table1` preset with other settings for the class, or for both states.
fn table1(class: &str, states: &str) -> Workload {
    let text = include_str!("../presets/table1.toml");
    let text = text.replace("phase = \"continuous\"\nstart = \"stationary\"", class);
    file(&text.replace("emit1 = \"per-transition\"", states))
}

#[test]
fn t1_to_t3_one_run_of_table_1() {
    let (counters, emissions) = generate(&Workload::table1(60), 1);
    let [mode0, mode1] = counters.messages;
    assert!((281_400..=312_600).contains(&mode0), "T1: {mode0}");
    let moving = counters.seconds_in(State::Moving);
    let expected = 0.5 * (108_000.0 - moving) + 5.0 * moving;
    assert!((mode0 as f64 - expected).abs() <= 60.0, "T2: {mode0}, not {expected}");
    assert_eq!(mode1, counters.transitions(), "T3");
    assert!((2_020..=2_300).contains(&mode1), "T3: {mode1}");
    assert_eq!(counters.time_ns.iter().sum::<u128>(), 108_000_000_000_000);
    assert_eq!(counters.bytes[0], mode0 * 250);
    assert_eq!(emissions.len() as u64, mode0 + mode1);
    assert!(emissions.windows(2).all(|pair| pair[0].at <= pair[1].at), "in order");
    for emission in emissions.iter().filter(|emission| emission.mode == Mode::One) {
        let change = emission.transition.unwrap();
        assert_eq!((change.to, change.from == change.to), (emission.state, false));
    }
}

#[test]
fn t2_where_the_clock_restarts() {
    let (counters, _) = generate(&table1("phase = \"restart\"", "emit1 = \"per-transition\""), 2);
    let moving = counters.seconds_in(State::Moving);
    let expected = 0.5 * (108_000.0 - moving) + 5.0 * moving;
    let stays = counters.transitions() + 60;
    assert!((counters.messages[0] as f64 - expected).abs() <= stays as f64);
    assert!((counters.messages[0] as f64) < expected, "what is cut short is lost");
}

#[test]
fn t4_the_mean_of_30_runs() {
    let runs = 30;
    let mut sums = [0.0; 2];
    for seed in 0..runs {
        let (counters, _) = generate(&Workload::table1(60), 100 + seed);
        (0..2).for_each(|mode| sums[mode] += counters.messages[mode] as f64 / runs as f64);
    }
    assert!((sums[0] - 297_000.0).abs() <= 2_850.0, "{sums:?}");
    assert!((sums[1] - 2_160.0).abs() <= 26.0, "{sums:?}");
}

#[test]
fn the_forecast_of_table_1_is_the_published_one() {
    let near =
        |got: f64, expected: f64, by: f64| assert!((got - expected).abs() <= by, "{got}, not {expected}");
    let forecast = |workload: &Workload| Forecast::of(&workload.classes[0], RUN).unwrap();
    let plain = forecast(&Workload::table1(60));
    near(plain.mode0.mean, 297_000.0, 0.01);
    near(plain.mode0.deviation, 5_192.0, 1.0);
    near(plain.mode1.mean, 2_160.0, 1e-6);
    near(plain.mode1.deviation, 46.5, 0.1);
    near(plain.seconds_in[State::Moving as usize].deviation / 60.0_f64.sqrt(), 148.95, 0.01);
    near(forecast(&table1("start = \"idle\"", "")).mode0.mean, 293_625.0, 1.0);
    near(forecast(&table1("phase = \"restart\"", "")).mode0.mean, 296_000.0, 100.0);
    let poisson = forecast(&table1("", "emit0 = \"poisson\""));
    near(poisson.mode0.deviation, 5_221.0, 1.0);
    let companions = forecast(&table1("", "emit1 = \"bernoulli:0.01\""));
    near(companions.mode1.mean, 2_970.0, 0.01);
    near(companions.mode1.deviation, 75.0, 0.2);
}

#[test]
fn the_forecast_of_four_states_is_the_published_one() {
    let workload = Workload::full4(60);
    let shares = workload.classes[0].chain.stationary().unwrap();
    for (share, expected) in shares.iter().zip([0.0819, 0.4507, 0.4629, 0.00458]) {
        assert!((share - expected).abs() < 5e-5, "{shares:?}");
    }
    let forecast = Forecast::of(&workload.classes[0], RUN).unwrap();
    assert!((forecast.transitions.mean / 108_000.0 - 0.020834).abs() < 5e-7);
    assert!((forecast.mode0.mean - 274_289.0).abs() < 1.0);
    assert!((forecast.mode0.deviation - 7_550.0).abs() < 250.0, "{}", forecast.mode0.deviation);
    assert!((forecast.mode1.mean - 2_963.0).abs() < 1.0);
    let own_noise = 2_963.0_f64;
    let conditional = (forecast.mode1.deviation.powi(2) - own_noise).sqrt();
    assert!((conditional - 100.0).abs() < 25.0, "{conditional}");
}

/// Every distribution gives the same means, and the spread that follows from its variation.
#[test]
fn runs_differ_as_much_as_the_forecast_says() {
    for holding in [
        "exponential",
        "deterministic",
        "uniform:1",
        "erlang:4",
        "weibull:0.7",
        "lognormal:3",
        "hyperexponential:4",
        "pareto:1.5:100",
    ] {
        let states = format!("emit1 = \"per-transition\"\nholding = \"{holding}\"");
        let mut workload = table1("", &states);
        workload.classes[0].count = 15;
        let forecast = Forecast::of(&workload.classes[0], RUN).unwrap();
        let runs: Vec<Counters> = (0..12).map(|seed| generate(&workload, 500 + seed).0).collect();
        let check = |item: &str, expected: workload::analysis::Expected, counts: Vec<f64>| {
            let n = counts.len() as f64;
            let mean = counts.iter().sum::<f64>() / n;
            let off = (mean - expected.mean) / (expected.deviation / n.sqrt()).max(1.0);
            assert!(off.abs() < 3.5, "{holding}, {item}: {mean}, not {expected:?}");
            let variance = counts.iter().map(|count| (count - expected.mean).powi(2)).sum::<f64>() / n;
            let ratio = variance / expected.deviation.powi(2).max(60.0);
            // Chi-square with 12 degrees of freedom, 0.1 % on each side. Below a deviation of 10,
            // counts are too coarse for the lower limit.
            assert!(ratio < 32.9 / 12.0, "{holding}, {item}: {ratio}");
            assert!(expected.deviation < 10.0 || ratio > 2.2 / 12.0, "{holding}, {item}: {ratio}");
        };
        check("mode 0", forecast.mode0, runs.iter().map(|run| run.messages[0] as f64).collect());
        check("mode 1", forecast.mode1, runs.iter().map(|run| run.messages[1] as f64).collect());
    }
}

#[test]
fn an_object_or_a_class_more_changes_nothing_in_the_others() {
    let small = file("[[class]]\nname = \"a\"\ncount = 3\npreset = \"full4\"");
    let large = file(
        "[[class]]\nname = \"b\"\ncount = 5\npreset = \"table1\"\n\
         [[class]]\nname = \"a\"\ncount = 4\npreset = \"full4\"",
    );
    let of = |emissions: Vec<Emission>, class: u32| -> Vec<_> {
        let ours = emissions.into_iter().filter(|emission| emission.object.class == class);
        ours.filter(|emission| emission.object.number < 3)
            .map(|emission| (emission.at, emission.object.number, emission.mode, emission.size))
            .collect()
    };
    assert_eq!(of(generate(&small, 9).1, 0), of(generate(&large, 9).1, 1));
    assert_ne!(of(generate(&small, 9).1, 0), of(generate(&small, 10).1, 0));
}

/// The Kolmogorov-Smirnov statistic: the largest distance of `draws` from a distribution, times the
/// square root of their number. It exceeds 1.63 once in a hundred times.
fn ks(mut draws: Vec<f64>, cdf: impl Fn(f64) -> f64) -> f64 {
    draws.sort_by(f64::total_cmp);
    let n = draws.len() as f64;
    let distance = draws.iter().enumerate().map(|(rank, &draw)| {
        let expected = cdf(draw);
        (expected - rank as f64 / n).abs().max((expected - (rank + 1) as f64 / n).abs())
    });
    distance.fold(0.0, f64::max) * n.sqrt()
}

#[test]
fn stays_and_gaps_have_their_distributions() {
    let workload = table1("", "emit0 = \"poisson\"\nemit1 = \"per-transition\"");
    let (_, emissions) = generate(&workload, 4);
    let (mut stays, mut gaps) = (Vec::new(), Vec::new());
    for number in 0..60 {
        let mut change: Option<Moment> = None;
        let mut before: Option<Moment> = None;
        for emission in emissions.iter().filter(|emission| emission.object.number == number) {
            match emission.mode {
                Mode::One => {
                    // The end of the run cuts off the last stay: use only stays that begin long
                    // before it.
                    stays.extend(change.map(|change| (change, emission.at.since(change).as_secs_f64())));
                    (change, before) = (Some(emission.at), None);
                }
                Mode::Zero => {
                    if emission.state == State::Moving {
                        gaps.extend(before.map(|before| emission.at.since(before).as_secs_f64()));
                    }
                    before = Some(emission.at);
                }
            }
        }
    }
    let early = |&(start, stay): &(Moment, f64)| (start < Moment::from_secs(1_200)).then_some(stay);
    let stays: Vec<f64> = stays.iter().filter_map(early).collect();
    assert!(stays.len() > 1_000);
    assert!(ks(stays, |x| 1.0 - (-x / 50.0).exp()) < 1.63);
    assert!(gaps.len() > 100_000);
    // A change of state hides the gap that it cuts off: the visible gaps are exponential with rate
    // 5 + 1 / 50.
    assert!(ks(gaps, |x| 1.0 - (-5.02 * x).exp()) < 1.63);
}

#[test]
fn fixed_rates_are_even() {
    let (_, emissions) = generate(&Workload::table1(1), 5);
    let mut changes = 0;
    for pair in emissions.windows(2) {
        if pair[0].mode == Mode::One || pair[1].mode == Mode::One {
            changes += 1;
            continue;
        }
        let interval = if pair[0].state == State::Moving { 200_000_000 } else { 2_000_000_000 };
        assert!((pair[1].at.since(pair[0].at).as_nanos() as i64 - interval).abs() <= 1);
    }
    assert!(changes > 10);
}

#[test]
#[ignore = "takes a minute: the means and deviations of 600 runs"]
fn six_hundred_runs() {
    let runs = 600.0;
    for (workload, mean, deviation) in
        [(Workload::table1(60), 297_000.0, 5_192.0), (Workload::full4(60), 274_289.0, 7_550.0)]
    {
        let counts: Vec<f64> =
            (0..600).map(|seed| generate(&workload, 10_000 + seed).0.messages[0] as f64).collect();
        let got = counts.iter().sum::<f64>() / runs;
        assert!((got - mean).abs() < 3.0 * deviation / runs.sqrt(), "{got}");
        let sd = (counts.iter().map(|count| (count - got).powi(2)).sum::<f64>() / (runs - 1.0)).sqrt();
        // The relative standard deviation of a standard deviation is 1 / sqrt(2 n).
        assert!((sd / deviation - 1.0).abs() < 3.0 / (2.0 * runs).sqrt(), "{sd}");
    }
}

#[test]
fn the_forecast_stands_beside_what_was_generated() {
    let workload = Workload::table1(60);
    let forecast = Forecast::of(&workload.classes[0], RUN).unwrap();
    let (counters, _) = generate(&workload, 1);
    let table = forecast.beside(&counters).to_string();
    assert!(
        table.contains("mode 0 messages") && table.contains("297000") && table.contains("5192"),
        "{table}"
    );
    assert!(table.contains("seconds moving") && !table.contains("seconds off"), "{table}");
}
