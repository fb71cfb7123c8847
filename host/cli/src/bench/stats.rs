//! Statistics of the measurements of a row.

use bench_report::{Times, rounded};

/// The precision of a stable median: half of its confidence interval, divided by the median.
const PRECISION: f64 = 0.005;

/// Resolution of the timer in milliseconds: smaller differences do not count.
const RESOLUTION_MS: f64 = 5e-5;

/// Median and spread of measurements, each the time per call of `calls` calls in a row; `None` if there are none.
pub fn times(measurements: &[f64], calls: usize) -> Option<Times> {
    let mut sorted = measurements.to_vec();
    sorted.sort_by(f64::total_cmp);
    let median_ms = quantile(&sorted, 0.5)?;
    let half = interval(&sorted).map_or(f64::INFINITY, |(low, high)| (high - low) / 2.0);
    Some(Times {
        median_ms: rounded(median_ms),
        p10_ms: rounded(quantile(&sorted, 0.1)?),
        p90_ms: rounded(quantile(&sorted, 0.9)?),
        runs: sorted.len(),
        calls,
        stable: half <= (PRECISION * median_ms).max(RESOLUTION_MS),
    })
}

/// The value below which a fraction `q` of the sorted values is, between two neighbours in proportion.
fn quantile(sorted: &[f64], q: f64) -> Option<f64> {
    let place = q * sorted.len().checked_sub(1)? as f64;
    let (below, above) = (sorted[place.floor() as usize], sorted[place.ceil() as usize]);
    Some(below + (above - below) * place.fract())
}

/// The 95 % confidence interval of the median, for any distribution: two of the sorted values. `None` for too few
/// values.
///
/// The number of values below the true median has the mean n / 2 and the standard deviation √n / 2.
fn interval(sorted: &[f64]) -> Option<(f64, f64)> {
    let n = sorted.len() as f64;
    let (low, high) = ((n - 1.96 * n.sqrt()) / 2.0, 1.0 + (n + 1.96 * n.sqrt()) / 2.0);
    // Counted from 1, rounded outwards.
    let (low, high) = (low.floor(), high.ceil());
    (low >= 1.0 && high <= n).then(|| (sorted[low as usize - 1], sorted[high as usize - 1]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians_and_quantiles() {
        let t = times(&[5.0, 1.0, 3.0, 2.0, 4.0], 1).unwrap();
        assert_eq!((t.median_ms, t.p10_ms, t.p90_ms, t.runs), (3.0, 1.4, 4.6, 5));
        assert!(!t.stable, "five values say nothing about a median");
        assert_eq!(times(&[1.0, 2.0], 1).unwrap().median_ms, 1.5);
        assert!(times(&[], 1).is_none());
    }

    #[test]
    fn a_median_is_stable_when_its_interval_is_narrow() {
        // Of 15 values the 3rd and the 13th.
        let sorted: Vec<f64> = (0..15).map(f64::from).collect();
        assert_eq!(interval(&sorted), Some((2.0, 12.0)));
        let near = |spread: f64| (0..15).map(|i| 1.0 + spread * (f64::from(i) - 7.0)).collect::<Vec<_>>();
        assert!(times(&near(0.0005), 1).unwrap().stable);
        assert!(!times(&near(0.002), 1).unwrap().stable);
        // Two outliers do not move it.
        let mut with_outliers = near(0.0005);
        (with_outliers[0], with_outliers[1]) = (9.0, 9.0);
        assert!(times(&with_outliers, 1).unwrap().stable);
    }
}
