//! Calls that the four warps of a group make together: products, and changes of their registers.
//!
//! The warps come to such a call at different times, and none need wait for the others; but all have to make the same
//! calls in the same order. So each warp's calls are compared with those of the warp that is ahead.

use super::super::finding::Kind;
use super::carried::WARPS;
use super::session::Session;
use super::state::BlockState;
use std::panic::Location;

const ADVICE: &str = "all 128 threads of four warps, of which the first has a number that is a multiple of 4, make the \
                      same calls in the same order";

impl Session {
    /// The warp of `thread`, which is its first, makes a call of its group.
    pub(in super::super) fn group_calls(
        &mut self,
        block: &mut BlockState,
        thread: usize,
        site: &'static Location<'static>,
    ) {
        let warp = thread as u32 / 32;
        let (number, member) = (warp / WARPS, (warp % WARPS) as usize);
        let (me, there) = (self.agent(block, thread).agent, block.clocks.len().div_ceil(32) as u32);
        if there < (number + 1) * WARPS {
            let what = format!("makes a call of four warps, and its group has {}", there - number * WARPS);
            return self.report(Kind::WarpMask, me, site, &what, ADVICE);
        }
        let group = block.groups.entry(number).or_default();
        let ahead = group.calls.get((group.made[member] - group.by_all) as usize).copied();
        group.made[member] += 1;
        match ahead {
            None => group.calls.push_back((site, warp)),
            Some((first, other)) if first != site => {
                let what = format!("calls this, and warp {other} of its group {}:{}", first.file(), first.line());
                self.report(Kind::WarpMask, me, site, &what, ADVICE);
            }
            Some(_) => {}
        }
        let least = group.made.iter().min().copied().unwrap_or(0);
        group.calls.drain(..(least - group.by_all) as usize);
        group.by_all = least;
    }

    /// The block has ended: the warps of each group have made as many calls.
    pub(super) fn end_groups(&mut self, block: &mut BlockState) {
        let first = block.number * self.launch.stride;
        let mut left: Vec<_> = block.groups.drain().filter(|(_, group)| !group.calls.is_empty()).collect();
        left.sort_unstable_by_key(|&(number, _)| number);
        for (number, group) in left {
            let (site, warp) = group.calls[0];
            let missing = group.made.iter().position(|&made| made == group.by_all).unwrap_or(0) as u32;
            let missing = number * WARPS + missing;
            let what = format!("makes a call of its group that warp {missing} never makes");
            self.report(Kind::WarpMask, first + warp * 32, site, &what, ADVICE);
        }
    }
}
