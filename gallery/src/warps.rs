//! Operations of a warp: all lanes that the mask names make the call, and a lane reads from lanes of the mask.

use crate::prelude::*;

shared!(TILE: [u32; BLOCK]);

#[kernel(instances([Planted, Fixed]))]
pub fn full_mask_in_a_branch<V: Version>(input: Global<u32>, output: Global<u32>) {
    let lane = lane_id();
    let mut sum = input.get(lane);
    if lane < 16 {
        let mask = if V::FIXED { 0xFFFF } else { FULL };
        sum += warp::shuffle_xor(mask, sum, 1);
    }
    output.set(lane, sum);
}

#[kernel(instances([Planted, Fixed]))]
pub fn full_mask_partial_warp<V: Version>(input: Global<u32>, output: Global<u32>) {
    // 48 threads: the second warp has 16 lanes.
    let t = thread_idx_x();
    let mask = if V::FIXED && t >= 32 { 0xFFFF } else { FULL };
    output.set(t, warp::reduce_add(mask, input.get(t)));
}

#[kernel(instances([Planted, Fixed]))]
pub fn lanes_that_returned<V: Version>(input: Global<u32>, output: Global<u32>) {
    let (t, n) = (thread_idx_x(), input.len());
    if !V::FIXED && t >= n {
        return;
    }
    let sum = warp::reduce_add(FULL, if t < n { input.get(t) } else { 0 });
    if t == 0 {
        output.set(0, sum);
    }
}

#[kernel(instances([Planted, Fixed]))]
pub fn source_outside_the_mask<V: Version>(input: Global<u32>, output: Global<u32>) {
    let lane = lane_id();
    let value = input.get(lane);
    if lane < 24 {
        let from = if V::FIXED { (lane + 8) % 24 } else { lane + 8 };
        output.set(lane, warp::shuffle(0x00FF_FFFF, value, from));
    } else {
        output.set(lane, value);
    }
}

#[kernel(instances([Planted, Fixed]))]
pub fn tree_of_half_a_warp<V: Version>(input: Global<u32>, output: Global<u32>) {
    let lane = lane_id();
    if lane < 16 {
        let mut sum = input.get(lane);
        let mut distance = if V::FIXED { 8 } else { 16 };
        while distance > 0 {
            sum += warp::shuffle_xor(0xFFFF, sum, distance);
            distance /= 2;
        }
        if lane == 0 {
            output.set(0, sum);
        }
    }
}

#[kernel(instances([Planted, Fixed]))]
pub fn mask_without_the_caller<V: Version>(input: Global<u32>, output: Global<u32>) {
    let lane = lane_id();
    if lane < 16 {
        let mask = if V::FIXED { 0xFFFF } else { 0xFFFF_0000 };
        output.set(lane, warp::ballot(mask, input.get(lane) > 500));
    }
}

#[kernel(instances([Planted, Fixed]))]
pub fn masks_that_differ<V: Version>(input: Global<u32>, output: Global<u32>) {
    let lane = lane_id();
    // Each lane names the lanes up to its own.
    let mask = if V::FIXED { FULL } else { u32::MAX >> (31 - lane) };
    output.set(lane, warp::ballot(mask, input.get(lane) > 500) & (u32::MAX >> (31 - lane)));
}

#[kernel(instances([Planted, Fixed]))]
pub fn ballot_in_a_loop<V: Version>(input: Global<u32>, output: Global<u32>) {
    let lane = lane_id();
    let (mut left, mut rounds) = (input.get(lane) % 7, 0);
    if V::FIXED {
        while warp::ballot(FULL, left > 0) != 0 {
            left = left.saturating_sub(1);
            rounds += 1;
        }
    } else {
        while left > 0 && warp::ballot(FULL, left > 0) != 0 {
            left -= 1;
            rounds += 1;
        }
    }
    output.set(lane, rounds);
}

#[kernel(instances([Planted, Fixed]))]
pub fn sync_warp_in_a_branch<V: Version>(input: Global<u32>, output: Global<u32>) {
    let (lane, tile) = (lane_id(), TILE::view());
    tile.set(lane, input.get(lane));
    if lane % 2 == 0 {
        sync_warp(if V::FIXED { 0x5555_5555 } else { FULL }); // the even lanes alone are here
        output.set(lane, tile.get((lane + 2) % 32));
    } else {
        output.set(lane, 0);
    }
}

#[kernel(instances([Planted, Fixed]))]
pub fn two_shuffles_for_one<V: Version>(input: Global<u32>, output: Global<u32>) {
    let lane = lane_id();
    let value = input.get(lane);
    let other = if V::FIXED {
        warp::shuffle_xor(FULL, if lane < 16 { value } else { 2 * value }, 16)
    } else if lane < 16 {
        warp::shuffle_xor(FULL, value, 16)
    } else {
        warp::shuffle_xor(FULL, 2 * value, 16)
    };
    output.set(lane, other);
}

#[kernel(instances([Planted, Fixed]))]
pub fn mask_that_is_active<V: Version>(input: Global<u32>, output: Global<u32>) {
    let lane = lane_id();
    let value = input.get(lane);
    if lane % 4 != 3 {
        // The lanes that happen to run together need not be all that took the branch.
        let mask = if V::FIXED { 0x7777_7777 } else { warp::active_mask() };
        output.set(lane, warp::shuffle(mask, value, 0));
    } else {
        output.set(lane, 0);
    }
}

#[kernel(instances([Planted, Fixed]))]
pub fn own_lane_counted<V: Version>(keys: Global<u32>, ranks: Global<u32>) {
    let lane = lane_id();
    let peers = warp::match_any(FULL, keys.get(lane) % 4);
    let below = if V::FIXED { (1 << lane) - 1 } else { u32::MAX >> (31 - lane) };
    ranks.set(lane, (peers & below).count_ones());
}

#[kernel(instances([Planted, Fixed]))]
pub fn seam_of_the_warp<V: Version>(keys: Global<u32>) {
    // Odd-even transposition in registers, one key per lane: lane 31 has no right neighbour, and lane 0 no left one.
    let lane = lane_id();
    let mut key = keys.get(lane);
    for round in 0..32 {
        let right = (lane + round).is_multiple_of(2);
        let partner = if right { lane + 1 } else { lane.wrapping_sub(1) };
        let other = warp::shuffle(FULL, key, partner);
        if !V::FIXED || partner < 32 {
            key = if right { key.min(other) } else { key.max(other) };
        }
    }
    keys.set(lane, key);
}

#[kernel(instances([Planted, Fixed]))]
pub fn shuffle_after_a_vote<V: Version>(input: Global<u32>, output: Global<u32>) {
    let lane = lane_id();
    let value = input.get(lane);
    let large = warp::ballot(FULL, value > 500);
    if value > 500 {
        // The first of the large values goes to all of them; lane 0 need not be one.
        let from = if V::FIXED { large.trailing_zeros() } else { 0 };
        output.set(lane, warp::shuffle(large, value, from));
    } else {
        output.set(lane, 0);
    }
}

#[cfg(not(target_os = "cuda"))]
const WARP: Geometry = Geometry::linear(1, 32);

#[cfg(not(target_os = "cuda"))]
pub static CASES: &[Case] = &[
    Case {
        name: "full-mask-in-a-branch",
        bug: "A shuffle in a branch that half of the warp takes names all lanes.",
        effect: "Hangs, or returns arbitrary values for the missing lanes.",
        fix: "The mask of the lanes that take the branch.",
        finds: &[WarpMask],
        run: |on| {
            let x = numbers(32);
            let (input, output) = (on.input(x.clone())?, on.output(32)?);
            launch!(on, full_mask_in_a_branch, WARP, input.view(), output.view())?;
            on.ended(&output, (0..32).map(|t| x[t] + if t < 16 { x[t ^ 1] } else { 0 }))
        },
    },
    Case {
        name: "full-mask-partial-warp",
        bug: "The last warp of the block has 16 threads, and the mask names 32.",
        effect: "Undefined; today's GPUs accept it, with arbitrary values for the missing lanes.",
        fix: "The mask of the existing lanes, or blocks of whole warps.",
        finds: &[WarpMask],
        run: |on| {
            let x = numbers(48);
            let (input, output) = (on.input(x.clone())?, on.output(48)?);
            launch!(on, full_mask_partial_warp, Geometry::linear(1, 48), input.view(), output.view())?;
            let sum = |t| if t < 32 { x[..32].iter().sum() } else { x[32..].iter().sum::<u32>() };
            on.ended(&output, (0..48).map(sum))
        },
    },
    Case {
        name: "lanes-that-returned",
        bug: "Lanes without an element return, and the others reduce over the full mask.",
        effect: "Undefined; today's GPUs ignore lanes that have ended.",
        fix: "These lanes stay and contribute the neutral element.",
        finds: &[WarpMask],
        run: |on| {
            let x = numbers(20);
            let (input, output) = (on.input(x.clone())?, on.output(1)?);
            launch!(on, lanes_that_returned, WARP, input.view(), output.view())?;
            on.ended(&output, [x.iter().sum()])
        },
    },
    Case {
        name: "source-outside-the-mask",
        bug: "A shuffle of 24 lanes reads from the lane 8 above, and the last eight lanes have none in the mask.",
        effect: "They get any value.",
        fix: "The source stays inside the mask.",
        finds: &[ShuffleOutsideMask],
        run: |on| {
            let x = numbers(32);
            let (input, output) = (on.input(x.clone())?, on.output(32)?);
            launch!(on, source_outside_the_mask, WARP, input.view(), output.view())?;
            on.ended(&output, (0..32).map(|t| if t < 24 { x[(t + 8) % 24] } else { x[t] }))
        },
    },
    Case {
        name: "tree-of-half-a-warp",
        bug: "A tree of shuffles over 16 lanes begins with the distance 16.",
        effect: "Adds what the other half's registers hold.",
        fix: "It begins with 8.",
        finds: &[ShuffleOutsideMask, Fault],
        run: |on| {
            let x = numbers(16);
            let (input, output) = (on.input(x.clone())?, on.output(1)?);
            launch!(on, tree_of_half_a_warp, WARP, input.view(), output.view())?;
            on.ended(&output, [x.iter().sum()])
        },
    },
    Case {
        name: "mask-without-the-caller",
        bug: "The lower half of a warp votes with the mask of the upper half.",
        effect: "Undefined; it hangs on most GPUs.",
        fix: "The mask names its callers.",
        finds: &[WarpMask],
        run: |on| {
            let x = numbers(32);
            let (input, output) = (on.input(x.clone())?, on.output(16)?);
            launch!(on, mask_without_the_caller, WARP, input.view(), output.view())?;
            on.ended(&output, [(0..16).map(|t| ((x[t] > 500) as u32) << t).sum(); 16])
        },
    },
    Case {
        name: "masks-that-differ",
        bug: "Each lane votes with its own mask.",
        effect: "Lanes with different masks never meet: it hangs, or each lane votes alone.",
        fix: "One mask for all, and the bits chosen afterwards.",
        finds: &[WarpMask],
        run: |on| {
            let x = numbers(32);
            let (input, output) = (on.input(x.clone())?, on.output(32)?);
            launch!(on, masks_that_differ, WARP, input.view(), output.view())?;
            let votes: u32 = (0..32).map(|t| ((x[t] > 500) as u32) << t).sum();
            on.ended(&output, (0..32).map(|t| votes & u32::MAX >> (31 - t)))
        },
    },
    Case {
        name: "ballot-in-a-loop",
        bug: "Lanes leave a loop one by one, and the vote inside names all of them.",
        effect: "Hangs when the first lane has left.",
        fix: "All lanes stay until the vote says that nobody has work.",
        finds: &[WarpMask],
        run: |on| {
            let x = numbers(32);
            let (input, output) = (on.input(x.clone())?, on.output(32)?);
            launch!(on, ballot_in_a_loop, WARP, input.view(), output.view())?;
            let most = x.iter().map(|v| v % 7).max().unwrap_or(0);
            on.ended(&output, [most; 32])
        },
    },
    Case {
        name: "sync-warp-in-a-branch",
        bug: "The even lanes call sync_warp with the full mask in their arm of a branch.",
        effect: "Waits for the odd lanes, which never arrive.",
        fix: "The mask of the even lanes.",
        finds: &[WarpMask],
        run: |on| {
            let x = numbers(32);
            let (input, output) = (on.input(x.clone())?, on.output(32)?);
            launch!(on, sync_warp_in_a_branch, WARP, input.view(), output.view())?;
            on.ended(&output, (0..32).map(|t| if t % 2 == 0 { x[(t + 2) % 32] } else { 0 }))
        },
    },
    Case {
        name: "two-shuffles-for-one",
        bug: "Two arms of a branch have a shuffle each, with the full mask, and should exchange with each other.",
        effect: "Each arm waits for the other's lanes; a GPU that runs the arms in sequence takes old values.",
        fix: "One shuffle, with the values chosen before.",
        finds: &[WarpMask],
        run: |on| {
            let x = numbers(32);
            let (input, output) = (on.input(x.clone())?, on.output(32)?);
            launch!(on, two_shuffles_for_one, WARP, input.view(), output.view())?;
            on.ended(&output, (0..32).map(|t| if t < 16 { 2 * x[t + 16] } else { x[t - 16] }))
        },
    },
    Case {
        name: "mask-that-is-active",
        bug: "The mask names the lanes that are active at that moment.",
        effect: "Which lanes run together is up to the hardware and the compiler; a lane of the branch may be missing.",
        fix: "The mask is computed from the branch's condition.",
        finds: &[ShuffleOutsideMask],
        run: |on| {
            let x = numbers(32);
            let (input, output) = (on.input(x.clone())?, on.output(32)?);
            launch!(on, mask_that_is_active, WARP, input.view(), output.view())?;
            on.ended(&output, (0..32).map(|t| if t % 4 != 3 { x[0] } else { 0 }))
        },
    },
    Case {
        name: "own-lane-counted",
        bug: "The rank of a key among equal ones of its warp counts the lane itself.",
        effect: "All places are one too high.",
        fix: "The mask of the lanes below, without the lane's own bit.",
        finds: &[WrongResult],
        run: |on| {
            let x = numbers(32);
            let (keys, ranks) = (on.input(x.clone())?, on.output(32)?);
            launch!(on, own_lane_counted, WARP, keys.view(), ranks.view())?;
            on.ended(&ranks, (0..32).map(|t| x[..t].iter().filter(|v| *v % 4 == x[t] % 4).count() as u32))
        },
    },
    Case {
        name: "seam-of-the-warp",
        bug: "Odd-even transposition in registers: the lanes at the ends exchange with each other around the warp.",
        effect: "The smallest key meets the largest; one of them is doubled.",
        fix: "A lane without a neighbour keeps its key.",
        finds: &[WrongResult],
        run: |on| {
            let mut x = numbers(32);
            let keys = on.input(x.clone())?;
            launch!(on, seam_of_the_warp, WARP, keys.view())?;
            x.sort_unstable();
            on.ended(&keys, x)
        },
    },
    Case {
        name: "shuffle-after-a-vote",
        bug: "Lanes with large values, found by a vote, read from lane 0, which need not be one of them.",
        effect: "Arbitrary values if lane 0 is not in the mask.",
        fix: "The lanes read from the first lane of the mask.",
        finds: &[ShuffleOutsideMask],
        run: |on| {
            let mut x = numbers(32);
            x[0] = 3;
            let (input, output) = (on.input(x.clone())?, on.output(32)?);
            launch!(on, shuffle_after_a_vote, WARP, input.view(), output.view())?;
            let first = x.iter().copied().find(|v| *v > 500).unwrap_or(0);
            on.ended(&output, (0..32).map(|t| if x[t] > 500 { first } else { 0 }))
        },
    },
];
