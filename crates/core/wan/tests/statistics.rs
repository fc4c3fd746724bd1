//! The draws have the requested distributions: fixed seeds, bounds at the 1 % level or three sigma.

use std::time::Duration;

use base::{Moment, Seed};
use wan::{GilbertElliott, Jitter, JitterProcess, Loss, LossProcess, Shape, Share, Step};

const DRAWS: usize = 40_000;

fn loss(text: &str) -> Loss {
    Loss::parse(text, &|_| Err("no files".to_owned())).unwrap()
}

/// One datagram each millisecond.
fn lost(text: &str, seed: u64, count: usize) -> Vec<bool> {
    let mut process = LossProcess::new(loss(text), Seed(seed));
    (0..count).map(|ms| process.is_lost(Moment::from_millis(ms as u64))).collect()
}

fn share(lost: &[bool]) -> f64 {
    lost.iter().filter(|&&lost| lost).count() as f64 / lost.len() as f64
}

#[test]
fn bernoulli_losses_have_their_mean_and_no_memory() {
    let lost = lost("5%", 1, 200_000);
    let sigma = (0.05_f64 * 0.95 / 200_000.0).sqrt();
    assert!((share(&lost) - 0.05).abs() < 3.0 * sigma);
    // Chi-square of the counts of pairs, one degree of freedom.
    let mut pairs = [[0.0_f64; 2]; 2];
    lost.windows(2).for_each(|pair| pairs[usize::from(pair[0])][usize::from(pair[1])] += 1.0);
    let total: f64 = pairs.iter().flatten().sum();
    let mut chi2 = 0.0;
    for (before, row) in pairs.iter().enumerate() {
        for (after, count) in row.iter().enumerate() {
            let column = pairs[0][after] + pairs[1][after];
            let expected = pairs[before].iter().sum::<f64>() * column / total;
            chi2 += (count - expected).powi(2) / expected;
        }
    }
    assert!(chi2 < 6.63, "{chi2}");
}

#[test]
fn bursts_have_their_mean_length_and_loss() {
    for (text, burst) in [("ge:5%:2", 2.0), ("ge:5%:3", 3.0), ("ge:5%:5", 5.0), ("ge:5%:10", 10.0)] {
        let count = 400_000;
        let lost = lost(text, 3, count);
        // Correlated draws: the variance is larger by (1 + m) / (1 - m), where m is the memory of a
        // step.
        let memory = 1.0 - 1.0 / burst - 0.05 / burst / 0.95;
        let sigma = (0.05 * 0.95 / count as f64 * (1.0 + memory) / (1.0 - memory)).sqrt();
        assert!((share(&lost) - 0.05).abs() < 3.0 * sigma, "{text}: {}", share(&lost));
        let bursts = lost.windows(2).filter(|pair| pair[0] && !pair[1]).count() as f64;
        let mean = share(&lost) * count as f64 / bursts;
        // A geometric length: its standard deviation is the root of b (b - 1).
        let sigma = (burst * (burst - 1.0) / bursts).sqrt();
        assert!((mean - burst).abs() < 3.0 * sigma, "{text}: {mean}");
        // P(lost at +k | lost) = P + (1 - P) memory^k.
        for lag in [1, 2, 5] {
            let both = lost.windows(lag + 1).filter(|window| window[0] && window[lag]).count() as f64;
            let got = both / (share(&lost) * count as f64);
            let expected = 0.05 + 0.95 * memory.powi(lag as i32);
            assert!((got - expected).abs() < 0.03, "{text} at {lag}: {got}, not {expected}");
        }
    }
}

#[test]
fn the_parameters_of_bursts_are_the_published_ones() {
    for (burst, to_good, to_bad) in
        [(2.0, 0.5, 0.02632), (3.0, 0.3333, 0.01754), (5.0, 0.2, 0.01053), (10.0, 0.1, 0.00526)]
    {
        let five = Share::from_millionths(50_000);
        let channel = GilbertElliott::of_burst(five, burst, Step::Datagram).unwrap();
        assert!((channel.to_good.as_f64() - to_good).abs() < 5e-5);
        assert!((channel.to_bad.as_f64() - to_bad).abs() < 5e-6);
        assert!((Loss::GilbertElliott(channel).mean() - 0.05).abs() < 1e-8);
    }
}

#[test]
fn bursts_in_time_last_as_long_however_much_is_sent() {
    for every_us in [200_u64, 1_000, 5_000] {
        let mut process = LossProcess::new(loss("ge:10%:30ms"), Seed(5));
        let count = 400_000_u64;
        let lost: Vec<bool> =
            (0..count).map(|n| process.is_lost(Moment::from_micros(n * every_us))).collect();
        assert!((share(&lost) - 0.1).abs() < 0.015, "{every_us}: {}", share(&lost));
        // Probability of the bad state after t: 0.1 + 0.9 * (memory of a millisecond) to the power
        // of t.
        let lag = (20_000 / every_us) as usize;
        let both = lost.windows(lag + 1).filter(|window| window[0] && window[lag]).count() as f64;
        let memory: f64 = 1.0 - 1.0 / 30.0 - 0.1 / 30.0 / 0.9;
        let (got, expected) = (both / (share(&lost) * count as f64), 0.1 + 0.9 * memory.powi(20));
        assert!((got - expected).abs() < 0.04, "{every_us}: {got}, not {expected}");
    }
}

fn delays(jitter: Jitter, delay: Duration) -> Vec<f64> {
    let mut process = JitterProcess::new(jitter, Seed(11));
    let mut delays: Vec<f64> = (0..DRAWS).map(|_| process.draw(delay).as_secs_f64() * 1e3).collect();
    delays.sort_by(f64::total_cmp);
    delays
}

/// The largest distance of the sorted `draws` from a distribution, times the root of their number
/// (Kolmogorov and Smirnov). It is above 1.63 for one in a hundred samples of that distribution.
fn ks(draws: &[f64], cdf: impl Fn(f64) -> f64) -> f64 {
    let n = draws.len() as f64;
    let distance = draws.iter().enumerate().map(|(rank, &draw)| {
        let expected = cdf(draw);
        (expected - rank as f64 / n).abs().max((expected - (rank + 1) as f64 / n).abs())
    });
    distance.fold(0.0, f64::max) * n.sqrt()
}

/// The distribution function of the standard normal distribution, by its series.
fn normal_cdf(x: f64) -> f64 {
    let (mut term, mut sum) = (x, x);
    for k in 1..60 {
        term *= -x * x / (2.0 * f64::from(k));
        sum += term / f64::from(2 * k + 1);
    }
    (0.5 + sum / (2.0 * std::f64::consts::PI).sqrt()).clamp(0.0, 1.0)
}

#[test]
fn jitter_has_the_distribution_asked_for() {
    let ms = Duration::from_millis;
    let up_to = delays(Jitter::UpTo(ms(2)), ms(10));
    assert!(ks(&up_to, |x| (x - 10.0) / 2.0) < 1.63);
    let uniform = delays(Jitter::Uniform(ms(2)), ms(10));
    assert!(ks(&uniform, |x| (x - 8.0) / 4.0) < 1.63);
    let normal = delays(Jitter::Normal(ms(2)), ms(10));
    assert!(ks(&normal, |x| normal_cdf((x - 10.0) / 2.0)) < 1.63);
    // Shapes 1 and 2 have distribution functions in closed form.
    let exponential = delays(Jitter::Gamma { mean: ms(3), shape: Shape(1_000) }, ms(10));
    assert!(ks(&exponential, |x| 1.0 - (-(x - 10.0) / 3.0).exp()) < 1.63);
    let gamma = delays(Jitter::Gamma { mean: ms(3), shape: Shape(2_000) }, ms(10));
    assert!(
        ks(&gamma, |x| {
            let y = (x - 10.0) / 1.5;
            1.0 - (-y).exp() * (1.0 + y)
        }) < 1.63
    );
}

#[test]
fn a_normal_jitter_as_long_as_the_delay_keeps_the_mean() {
    let ms = Duration::from_millis;
    let delays = delays(Jitter::Normal(ms(10)), ms(10));
    assert!(delays[0] >= 0.0 && delays[DRAWS - 1] <= 20.0);
    let mean = delays.iter().sum::<f64>() / DRAWS as f64;
    assert!((mean - 10.0).abs() < 0.1, "{mean}");
}
