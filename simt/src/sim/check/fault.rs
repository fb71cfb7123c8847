//! The error that ends a kernel, as a finding.

use super::super::error::Fault;
use super::super::finding::{Finding, Kind, Side};
use super::super::memory::NO_FLOAT_ORDER;
use super::session::Session;

impl Session {
    /// What ended a kernel, as a finding.
    pub(in crate::sim) fn fault(&mut self, fault: &Fault) {
        let advice = match fault.kind {
            Kind::DivergentBarrier => "let all threads of the block reach one call; or use named barriers for roles",
            Kind::MissedBarrier => {
                "every thread of the block has to reach the barrier, also those with nothing left to do"
            }
            Kind::WarpMask => "the mask names exactly the lanes that make the call, the caller among them",
            Kind::OutOfBounds => "compare the index with the view's length before the access",
            Kind::Misaligned => {
                "a vector access, and a view of wider elements, begin at a multiple of their bytes: slice such a view \
                 at a multiple of as many elements, or access the elements one by one up to there"
            }
            Kind::Fault if fault.what.contains(NO_FLOAT_ORDER) => {
                "map the numbers to integers of the same order (of a negative one flip all bits, of another the sign), \
                 or try compare_exchange until it succeeds"
            }
            Kind::Deadlock => "let one of them do what another waits for before it waits itself",
            Kind::EndlessSpin => "let a thread write what is waited for, on every path and before it ends",
            _ => "",
        };
        // Two sides are shown; further ones are told behind the advice.
        let mut waits = fault.waits.iter();
        let first = waits.next().cloned();
        let also = |side: &Side| format!("\n  also: {}", side.to_string().replace("\n      at", " at"));
        let finding = Finding {
            kind: fault.kind,
            kernel: fault.kernel,
            memory: None,
            first,
            second: Side {
                what: match fault.kind.hangs() {
                    true => fault.what.clone(),
                    false => format!("stops: {}", fault.what),
                },
                site: fault.site.clone(),
                block: fault.block,
                thread: fault.thread,
                warp: fault.warp,
                value: None,
            },
            advice: waits.fold(advice.into(), |advice, side| advice + &also(side)),
            count: 1,
            seed: self.schedule.seed(),
        };
        self.push(finding);
    }
}
