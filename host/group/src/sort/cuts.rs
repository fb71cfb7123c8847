//! Where sorted parts are cut, so that what lies before the cuts of all parts are the smallest elements of the whole.
//!
//! Equal elements are told apart by the number of their part and their place in it, so there is exactly one such cut
//! for each number of elements. It is found by samples: each part shows some of its elements, evenly spaced, in the
//! range where its cut can be, and each round leaves a range that is smaller by about the number of samples. All ranks
//! compute the same from the same samples.

use std::ops::Range;

/// A search for several cuts at once.
pub struct Search {
    /// Samples of a part for a cut and round, at most.
    samples: u64,
    /// How many elements lie before each cut, in all parts together.
    targets: Vec<u64>,
    /// Where the cut can be, by cut and part.
    ranges: Vec<Vec<Range<u64>>>,
}

/// The places of a range's samples: all, or as many as there are to be.
fn places(range: &Range<u64>, samples: u64) -> impl Iterator<Item = u64> + use<> {
    let (start, all) = (range.start, range.end - range.start);
    let shown = all.min(samples);
    // In the middle of equal pieces. The products need 128 bits only for parts that no memory holds.
    (0..shown).map(move |k| start + ((2 * k + 1) as u128 * all as u128 / (2 * shown) as u128) as u64)
}

impl Search {
    /// For parts of these lengths.
    pub fn new(lengths: &[u64], targets: Vec<u64>, samples: u64) -> Self {
        let whole: Vec<_> = lengths.iter().map(|&length| 0..length).collect();
        Self { samples, ranges: vec![whole; targets.len()], targets }
    }

    /// Whether all cuts are known.
    pub fn is_done(&self) -> bool {
        self.ranges.iter().flatten().all(Range::is_empty)
    }

    /// The places of the samples of a part, cut by cut.
    pub fn places(&self, part: usize) -> Vec<u64> {
        self.ranges.iter().flat_map(|ranges| places(&ranges[part], self.samples)).collect()
    }

    /// Narrows the ranges by the elements at these places, by part. The elements of a part are in order. False if there
    /// are not as many as places.
    pub fn narrow(&mut self, values: &[Vec<u64>]) -> bool {
        let mut rest: Vec<&[u64]> = values.iter().map(Vec::as_slice).collect();
        for (ranges, &target) in self.ranges.iter_mut().zip(&self.targets) {
            let mut shown: Vec<(u64, usize, u64)> = vec![];
            for (part, range) in ranges.iter().enumerate() {
                for place in places(range, self.samples) {
                    let Some((&value, after)) = rest[part].split_first() else { return false };
                    rest[part] = after;
                    shown.push((value, part, place));
                }
            }
            // Each part's are in order already, which this sort makes use of.
            shown.sort();
            narrow_one(ranges, target, &shown);
        }
        rest.iter().all(|rest| rest.is_empty())
    }

    /// The cut of each part, by cut.
    pub fn cuts(&self) -> Vec<Vec<u64>> {
        self.ranges.iter().map(|ranges| ranges.iter().map(|range| range.start).collect()).collect()
    }
}

/// Narrows the ranges of one cut by samples in order.
fn narrow_one(ranges: &mut [Range<u64>], target: u64, shown: &[(u64, usize, u64)]) {
    // How many elements of a part are less than the sample: at least those up to the last sample before it, and at most
    // those before the next one, of that part. Where a part has no such sample, the cut is a bound of what matters: if
    // the sample is before the cut, all that is less lies before the cuts; if it is not, all before the cuts is less.
    let mut least: Vec<u64> = ranges.iter().map(|range| range.start).collect();
    let ends: Vec<u64> = ranges.iter().map(|range| range.end).collect();
    // The places of samples that are still to come, the next one last, above the end of the range.
    let mut next: Vec<Vec<u64>> = ends.iter().map(|&end| vec![end]).collect();
    for &(_, part, place) in shown.iter().rev() {
        next[part].push(place);
    }
    let most = |next: &[u64]| next.last().copied().unwrap_or_default();
    let mut all_least: u64 = least.iter().sum();
    let mut all_most: u64 = next.iter().map(|next| most(next)).sum();
    for &(_, part, place) in shown {
        // Of its own part exactly those before its place are less.
        let (below, above) = (all_least - least[part] + place, all_most);
        if above < target {
            ranges[part].start = ranges[part].start.max(place + 1);
        } else if below >= target {
            ranges[part].end = ranges[part].end.min(place);
        }
        next[part].pop();
        all_least += place + 1 - least[part];
        all_most += most(&next[part]) - place;
        least[part] = place + 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rungs::data::Distribution;

    /// The cuts, and the rounds that it took.
    fn search(parts: &[Vec<u64>], targets: &[u64], samples: u64) -> (Vec<Vec<u64>>, usize) {
        let lengths: Vec<_> = parts.iter().map(|part| part.len() as u64).collect();
        let mut search = Search::new(&lengths, targets.to_vec(), samples);
        let mut rounds = 0;
        while !search.is_done() {
            let values: Vec<Vec<u64>> = (parts.iter().enumerate())
                .map(|(part, all)| search.places(part).iter().map(|&place| all[place as usize]).collect())
                .collect();
            assert!(search.narrow(&values));
            rounds += 1;
            assert!(rounds < 100, "no end");
        }
        (search.cuts(), rounds)
    }

    #[test]
    fn cuts_are_those_of_the_sorted_whole() {
        for distribution in [Distribution::Uniform, Distribution::Few, Distribution::Equal, Distribution::Zipf] {
            for lengths in [&[0usize, 0][..], &[1, 0], &[0, 7, 0], &[1000], &[500, 1, 3000, 0, 77], &[997; 8]] {
                let parts: Vec<Vec<u64>> = (lengths.iter().enumerate())
                    .map(|(i, &n)| {
                        let mut part = distribution.keys::<u64>(n as u64, 1 + i as u64).unwrap();
                        part.sort_unstable();
                        part
                    })
                    .collect();
                let mut whole: Vec<(u64, usize)> =
                    parts.iter().enumerate().flat_map(|(i, part)| part.iter().map(move |&x| (x, i))).collect();
                whole.sort();
                let all = whole.len() as u64;
                let targets: Vec<u64> = (0..=6).map(|k| all * k / 6).chain([1.min(all)]).collect();
                for samples in [1, 2, 5, 64] {
                    let (cuts, _) = search(&parts, &targets, samples);
                    for (cut, &target) in cuts.iter().zip(&targets) {
                        let mut want = vec![0u64; parts.len()];
                        whole[..target as usize].iter().for_each(|&(_, part)| want[part] += 1);
                        assert_eq!(*cut, want, "{distribution} {lengths:?} {target} {samples}");
                    }
                }
            }
        }
    }

    #[test]
    fn a_round_divides_by_the_samples() {
        let part = |seed| {
            let mut part: Vec<u64> = Distribution::Uniform.keys(1 << 20, seed).unwrap();
            part.sort_unstable();
            part
        };
        let parts = [part(1), part(2)];
        let (_, rounds) = search(&parts, &[1 << 20], 1024);
        assert!(rounds <= 3, "{rounds} rounds");
    }
}
