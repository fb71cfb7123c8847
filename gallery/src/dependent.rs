//! Launches that may begin before their predecessor has ended, and wait for it inside the kernel.

use crate::prelude::*;
use simt::grid;

#[kernel]
pub fn first(input: Global<u32>, between: Global<u32>) {
    grid::let_next_start();
    between.set(index_1d(), 2 * input.get(index_1d()));
}

#[kernel(instances([Planted, Fixed]))]
pub fn read_before_the_wait<V: Version>(between: Global<u32>, output: Global<u32>) {
    let i = index_1d();
    let value = if V::FIXED {
        grid::wait_for_previous();
        between.get(i)
    } else {
        let value = between.get(i);
        grid::wait_for_previous();
        value
    };
    output.set(i, value + 1);
}

#[kernel(instances([Planted, Fixed]))]
pub fn write_before_the_wait<V: Version>(next: Global<u32>, input: Global<u32>, output: Global<u32>) {
    // Loads the next input over the one that the launch before still reads.
    let i = index_1d();
    if V::FIXED {
        grid::wait_for_previous();
        input.set(i, next.get(i));
    } else {
        input.set(i, next.get(i));
        grid::wait_for_previous();
    }
    output.set(i, output.get(i) + 1);
}

#[kernel(instances([Planted, Fixed]))]
pub fn wait_in_one_branch<V: Version>(between: Global<u32>, output: Global<u32>) {
    // The first block has its elements from elsewhere, it thinks.
    if V::FIXED || block_idx_x() > 0 {
        grid::wait_for_previous();
    }
    output.set(index_1d(), between.get(index_1d()) + 1);
}

#[kernel(instances([Planted, Fixed]))]
pub fn launch_without_a_wait<V: Version>(between: Global<u32>, output: Global<u32>) {
    if V::FIXED {
        grid::wait_for_previous();
    }
    output.set(index_1d(), between.get(index_1d()) + 1);
}

/// The launch in the middle, which has nothing to do with the first one's output.
#[kernel(instances([Planted, Fixed]))]
pub fn launch_after_next_middle<V: Version>(other: Global<u32>) {
    grid::let_next_start();
    if V::FIXED {
        grid::wait_for_previous();
    }
    other.set(index_1d(), index_1d());
}

#[kernel]
pub fn launch_after_next(between: Global<u32>, output: Global<u32>) {
    grid::wait_for_previous();
    output.set(index_1d(), between.get(index_1d()) + 1);
}

/// Counts the input's elements.
#[kernel]
pub fn count(input: Global<u32>, counter: Global<u32>) {
    grid::let_next_start();
    if index_1d() < input.len() {
        counter.fetch_add(0, 1, Relaxed, Scope::Device);
    }
}

#[kernel(instances([Planted, Fixed]))]
pub fn atomic_before_the_wait<V: Version>(counter: Global<u32>, output: Global<u32>) {
    if V::FIXED {
        grid::wait_for_previous();
    }
    if index_1d() == 0 {
        output.set(0, counter.exchange(0, 0, Relaxed, Scope::Device));
    }
    if !V::FIXED {
        grid::wait_for_previous();
    }
}

#[cfg(not(target_os = "cuda"))]
const GRID: Geometry = Geometry::linear(4, 32).overlapping();

/// The run of a launch that works on the output of one before.
#[cfg(not(target_os = "cuda"))]
macro_rules! second {
    ($kernel:ident) => {
        |on| {
            let x = numbers(128);
            let (input, between, output) = (on.input(x.clone())?, on.scratch(128)?, on.output(128)?);
            on.launch(first, Geometry::linear(4, 32), (input.view(), between.view()))?;
            launch!(on, $kernel, GRID, between.view(), output.view())?;
            on.ended(&output, x.iter().map(|v| 2 * v + 1))
        }
    };
}

#[cfg(not(target_os = "cuda"))]
pub static CASES: &[Case] = &[
    Case {
        name: "read-before-the-wait",
        bug: "A dependent launch reads its predecessor's output and waits for it afterwards.",
        effect: "Elements that the predecessor has yet to write are read as they were.",
        fix: "The wait first.",
        finds: &[BeforeWait, GlobalRace, UninitialisedGlobal],
        run: second!(read_before_the_wait),
    },
    Case {
        name: "write-before-the-wait",
        bug: "A dependent launch overwrites its predecessor's input before it waits.",
        effect: "The predecessor computes with the next input.",
        fix: "The wait first.",
        finds: &[BeforeWait, GlobalRace],
        run: |on| {
            let (x, y) = (numbers(128), numbers(140)[12..].to_vec());
            let (input, next, output) = (on.input(x.clone())?, on.input(y)?, on.output(128)?);
            on.launch(first, Geometry::linear(4, 32), (input.view(), output.view()))?;
            launch!(on, write_before_the_wait, GRID, next.view(), input.view(), output.view())?;
            on.ended(&output, x.iter().map(|v| 2 * v + 1))
        },
    },
    Case {
        name: "wait-in-one-branch",
        bug: "One block of a dependent launch does not wait.",
        effect: "Its elements are read as they were.",
        fix: "Every block waits.",
        finds: &[BeforeWait, GlobalRace, UninitialisedGlobal],
        run: second!(wait_in_one_branch),
    },
    Case {
        name: "launch-without-a-wait",
        bug: "A launch is marked as dependent, and its kernel never waits.",
        effect: "Reads data that is not written yet. (rungs launches such a kernel after its predecessor.)",
        fix: "The wait.",
        finds: &[BeforeWait, GlobalRace, UninitialisedGlobal],
        run: second!(launch_without_a_wait),
    },
    Case {
        name: "launch-after-next",
        bug: "Of three launches the middle one does not wait; the third one waits for the middle one alone.",
        effect: "The third launch may begin before the first has ended.",
        fix: "Every launch of a chain waits, even if it does not read its predecessor's output.",
        finds: &[BeforeWait, GlobalRace, UninitialisedGlobal],
        run: |on| {
            let x = numbers(128);
            let (input, between, output) = (on.input(x.clone())?, on.scratch(128)?, on.output(128)?);
            let other = on.scratch(128)?;
            on.launch(first, Geometry::linear(4, 32), (input.view(), between.view()))?;
            launch!(on, launch_after_next_middle, GRID, other.view())?;
            on.launch(launch_after_next, GRID, (between.view(), output.view()))?;
            on.ended(&output, x.iter().map(|v| 2 * v + 1))
        },
    },
    Case {
        name: "atomic-before-the-wait",
        bug: "A dependent launch takes the counter of its predecessor, atomically, before it waits.",
        effect: "The counter is taken before it is complete.",
        fix: "The wait comes first: atomic accesses alone do not define an order.",
        finds: &[BeforeWait],
        run: |on| {
            let (input, counter, output) = (on.input(numbers(128))?, on.scratch(1)?, on.output(1)?);
            on.clear(&counter)?;
            on.launch(count, Geometry::linear(4, 32), (input.view(), counter.view()))?;
            launch!(on, atomic_before_the_wait, GRID, counter.view(), output.view())?;
            on.ended(&output, [128])
        },
    },
];
