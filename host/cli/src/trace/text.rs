//! A trace in lines of text, in the notation of S0: digits joined where all values have one digit, blocks apart.

use super::{Step, Trace};

/// The lines of a trace: the input, then each step behind its label.
pub fn lines(trace: &Trace) -> Vec<(String, String)> {
    let apart = trace.steps.iter().any(blocks_differ);
    let groups = |step: &Step| if apart { groups(step) } else { vec![step.values.len()] };
    let first = trace.steps.first().map_or_else(|| vec![trace.n], groups);
    let input: Vec<_> = trace.input.iter().copied().map(Some).collect();
    let widest = trace.input.iter().chain(&trace.output).map(|v| v.to_string().len()).max().unwrap_or(1);
    // Values between, as a scan has, are never wider than the widest of the steps.
    let widest = trace
        .steps
        .iter()
        .flat_map(|s| s.values.iter().flatten())
        .map(|v| v.to_string().len())
        .fold(widest, usize::max);
    let mut lines = vec![(String::new(), line(&input, &first, widest))];
    lines.extend(trace.steps.iter().map(|s| (format!("({})", s.label), line(&s.values, &groups(s), widest))));
    lines
}

/// Whether several blocks share the work of a step.
fn blocks_differ(step: &Step) -> bool {
    let mut blocks = step.workers.iter().flatten().map(|w| w.block);
    let first = blocks.next();
    blocks.any(|block| Some(block) != first)
}

/// Lengths of the runs of elements that the same block worked on, for steps that are a whole launch.
fn groups(step: &Step) -> Vec<usize> {
    if !step.whole_launch {
        return vec![step.values.len()];
    }
    step.workers.chunk_by(|a, b| a.map(|w| w.block) == b.map(|w| w.block)).map(<[_]>::len).collect()
}

/// Values in groups, each value in `width` places.
pub fn line(values: &[Option<u32>], groups: &[usize], width: usize) -> String {
    let cell = |v: &Option<u32>| format!("{:>width$}", v.map_or("·".to_string(), |v| v.to_string()));
    let (inside, between) = if width == 1 { ("", " ") } else { (" ", " | ") };
    let mut rest = values;
    let mut texts = vec![];
    for &group in groups {
        let (now, later) = rest.split_at(group);
        texts.push(now.iter().map(cell).collect::<Vec<_>>().join(inside));
        rest = later;
    }
    texts.join(between)
}
