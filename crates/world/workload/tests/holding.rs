//! Every distribution of holding times has mean 1 and its stated variation, also when
//! length-biased.

use std::sync::Arc;

use base::Seed;
use workload::Holding;

const DRAWS: usize = 200_000;

fn all() -> Vec<Holding> {
    let read = |_: &str| Ok("# seconds\n1\n2.5\n\n7\n".to_owned());
    [
        "exponential",
        "deterministic",
        "uniform:0.5",
        "uniform:1",
        "erlang:3",
        "weibull:1.5",
        "weibull:0.7",
        "lognormal:0.5",
        "lognormal:2",
        "hyperexponential:1",
        "hyperexponential:4",
        "pareto:2.5:50",
        "pareto:1:20",
        "pareto:2:100",
        "trace:stays.txt",
    ]
    .map(|text| {
        let holding = Holding::parse(text, &read).unwrap();
        assert_eq!(holding.to_string(), text);
        holding
    })
    .into()
}

fn mean(draws: impl Iterator<Item = f64>) -> f64 {
    draws.sum::<f64>() / DRAWS as f64
}

#[test]
fn means_are_one_and_variations_as_said() {
    for holding in all() {
        let mut rng = Seed(21).rng();
        let draws: Vec<f64> = (0..DRAWS).map(|_| holding.sample(&mut rng)).collect();
        let (one, cv2) = (mean(draws.iter().copied()), holding.cv2());
        let fourth = mean(draws.iter().map(|draw| (draw - 1.0).powi(4)));
        let by = 3.5 * (cv2 / DRAWS as f64).sqrt() + 1e-9;
        assert!((one - 1.0).abs() <= by, "{holding}: mean {one}");
        let got = mean(draws.iter().map(|draw| (draw - 1.0).powi(2)));
        let by = 4.0 * ((fourth - cv2 * cv2).max(0.0) / DRAWS as f64).sqrt() + 1e-9;
        assert!((got - cv2).abs() <= by, "{holding}: variation {got}, not {cv2}");
    }
}

/// A length-biased stay has the mean 1 + cv2.
#[test]
fn stays_that_are_met_are_longer() {
    for holding in all() {
        let mut rng = Seed(22).rng();
        let draws: Vec<f64> = (0..DRAWS).map(|_| holding.sample_biased(&mut rng)).collect();
        let got = mean(draws.iter().copied());
        let variance = mean(draws.iter().map(|draw| (draw - got).powi(2)));
        let expected = 1.0 + holding.cv2();
        let by = 4.0 * (variance / DRAWS as f64).sqrt() + 1e-9;
        assert!((got - expected).abs() <= by, "{holding}: {got}, not {expected}");
    }
}

#[test]
fn distribution_functions_are_met() {
    let ks = |text: &str, cdf: &dyn Fn(f64) -> f64| {
        let holding = Holding::parse(text, &|_| Err(String::new())).unwrap();
        let mut rng = Seed(23).rng();
        let mut draws: Vec<f64> = (0..50_000).map(|_| holding.sample(&mut rng)).collect();
        draws.sort_by(f64::total_cmp);
        let n = draws.len() as f64;
        let far = draws.iter().enumerate().map(|(rank, &draw)| (cdf(draw) - (rank as f64 + 0.5) / n).abs());
        let distance = far.fold(0.0, f64::max) * n.sqrt();
        assert!(distance < 1.63, "{text}: {distance}");
    };
    ks("exponential", &|x| 1.0 - (-x).exp());
    ks("uniform:0.5", &|x| x - 0.5);
    ks("erlang:2", &|x| 1.0 - (-2.0 * x).exp() * (1.0 + 2.0 * x));
    ks("weibull:2", &|x| 1.0 - (-std::f64::consts::FRAC_PI_4 * x * x).exp());
    let share = 0.5 * (1.0 + 0.6_f64.sqrt());
    ks("hyperexponential:4", &|x| {
        1.0 - share * (-2.0 * share * x).exp() - (1.0 - share) * (-2.0 * (1.0 - share) * x).exp()
    });
    // The shortest time relative to the mean; with alpha 2 and no upper limit the mean would be 2.
    let least = (1.0 - 1e-4) / (2.0 * (1.0 - 1e-2));
    ks("pareto:2:100", &|x| (1.0 - (least / x).powi(2)) / (1.0 - 1e-4));
}

#[test]
fn mistakes_are_named() {
    let error = |text: &str| Holding::parse(text, &|_| Ok("1\nx\n".to_owned())).unwrap_err().to_string();
    assert!(error("cauchy").contains("`cauchy` is no distribution of times (there are: exponential"));
    assert!(error("exponential:3").contains("is no distribution"));
    assert!(error("uniform").contains("the spread must be a number from 0 to 1"));
    assert!(error("erlang:2.5").contains("the whole number of stages must be a number from 1 to 1000"));
    assert!(error("hyperexponential:0.5").contains("from 1 to 1000"));
    assert!(error("pareto:2").contains("the ratio of most to least"));
    assert!(error("trace:a.txt").contains("a.txt: line 2: `x` is no time"));
    let empty = Holding::parse("trace:a", &|_| Ok("# nothing".to_owned())).unwrap_err().to_string();
    assert_eq!(empty, "a: no time above zero");
    assert_eq!(Holding::Trace { name: "a".into(), times: Arc::from([1.0]) }.cv2(), 0.0);
}
