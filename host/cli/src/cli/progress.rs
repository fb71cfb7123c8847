//! Progress bars for long work.

use super::Common;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressFinish, ProgressStyle};
use std::time::Duration;

/// A bar on standard error, removed when it is dropped. There is no bar if standard error is not a terminal, or with
/// `--quiet`.
pub(crate) struct Progress {
    bar: ProgressBar,
    begun: bool,
}

/// Without colour, so that it needs no exception for `NO_COLOR`.
const STYLE: &str = "{spinner} {pos} of {len} [{bar:24}] {elapsed}  {msg}";

/// The interval at which the bar is redrawn during a step.
const TICK: Duration = Duration::from_millis(200);

impl Common {
    /// The bar for work of `steps` steps.
    pub(crate) fn progress(&self, steps: usize) -> Progress {
        let target = if self.quiet { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr() };
        Progress::on(target, steps)
    }
}

impl Progress {
    fn on(target: ProgressDrawTarget, steps: usize) -> Self {
        let bar = ProgressBar::with_draw_target(Some(steps as u64), target).with_finish(ProgressFinish::AndClear);
        // The default style only replaces a template that does not parse; a test shows that it parses.
        bar.set_style(ProgressStyle::with_template(STYLE).unwrap_or_else(|_| ProgressStyle::default_bar()));
        if !bar.is_hidden() {
            bar.enable_steady_tick(TICK);
        }
        Self { bar, begun: false }
    }

    /// Begins the next step.
    pub(crate) fn step(&mut self, what: impl Into<String>) {
        if std::mem::replace(&mut self.begun, true) {
            self.bar.inc(1);
        }
        self.bar.set_message(what.into());
    }

    /// Whether the bar is hidden.
    pub(crate) fn is_hidden(&self) -> bool {
        self.bar.is_hidden()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use indicatif::InMemoryTerm;

    #[test]
    fn the_bar_shows_the_step_and_goes() {
        let term = InMemoryTerm::new(3, 80);
        let mut progress = Progress::on(ProgressDrawTarget::term_like(Box::new(term.clone())), 3);
        assert!(!progress.is_hidden());
        progress.step("reduce one-thread");
        progress.step("reduce tree");
        progress.bar.tick();
        let shown = term.contents();
        assert!(shown.contains("1 of 3 [") && shown.ends_with("reduce tree"), "{shown}");
        drop(progress);
        assert_eq!(term.contents(), "");
    }

    #[test]
    fn the_template_is_one() {
        assert!(ProgressStyle::with_template(STYLE).is_ok());
    }
}
