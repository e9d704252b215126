//! Progress on standard error: a bar on a terminal, lines with the time elsewhere.

use std::io::{IsTerminal, Write};
use std::sync::Mutex;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant, SystemTime};

use dambase_gen::Control;
use indicatif::{ProgressBar, ProgressStyle};

use super::grouped;

/// The end of the year 9999, in seconds since 1970.
const LAST_SECOND: u64 = 253_402_300_799;
/// Time between two lines of progress where there is no terminal.
const LINES_EVERY: Duration = Duration::from_secs(10);

/// What is shown of a long task.
#[derive(Debug)]
pub(super) struct Progress {
    bar: Option<ProgressBar>,
    quiet: bool,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    start: Instant,
    total: u64,
    /// Whether the clock of the rate has been started.
    working: bool,
    task: String,
}

impl Progress {
    /// Shows nothing if `quiet`.
    pub(super) fn new(quiet: bool) -> Self {
        let terminal = std::io::stderr().is_terminal();
        let bar = (terminal && !quiet).then(|| {
            let style = "{elapsed_precise} [{wide_bar}] {percent}% {per_sec}, {eta} left, {msg}";
            let style = ProgressStyle::with_template(style).expect("a constant template");
            ProgressBar::new(0).with_style(style)
        });
        Self {
            bar,
            quiet,
            state: Mutex::new(State {
                start: Instant::now(),
                total: 0,
                working: false,
                task: String::new(),
            }),
        }
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(|e| e.into_inner())
    }

    /// Says how many positions there are, and starts the clock.
    pub(super) fn total(&self, positions: u64) {
        let mut state = self.state();
        state.total = positions;
        state.start = Instant::now();
        if let Some(bar) = &self.bar {
            bar.set_length(positions);
            bar.reset_eta();
        }
    }

    /// Says which part of what is counted is being worked at; the clock starts with the first.
    pub(super) fn work(&self, task: String) {
        let mut state = self.state();
        if !std::mem::replace(&mut state.working, true) {
            state.start = Instant::now();
            if let Some(bar) = &self.bar {
                bar.reset_eta();
            }
        }
        drop(state);
        self.task(task);
    }

    /// Says what is being done.
    pub(super) fn task(&self, task: String) {
        if let Some(bar) = &self.bar {
            bar.set_message(task.clone());
        }
        self.state().task = task;
    }

    /// Shows a line.
    pub(super) fn line(&self, text: impl AsRef<str>) {
        if self.quiet {
            return;
        }
        match &self.bar {
            Some(bar) => bar.println(text),
            None => {
                // A clock on the wall may show anything; years beyond four digits have no such form.
                let earliest = SystemTime::UNIX_EPOCH;
                let latest = earliest + Duration::from_secs(LAST_SECOND);
                let now = SystemTime::now().clamp(earliest, latest);
                let now = humantime::format_rfc3339_seconds(now);
                // Progress that nobody can read is no reason to stop.
                let _ = writeln!(std::io::stderr(), "{now} {}", text.as_ref());
            }
        }
    }

    /// Runs a task and shows how far it is.
    pub(super) fn watch<T>(&self, control: &Control, task: impl FnOnce() -> T) -> T {
        if self.quiet {
            return task();
        }
        let every = match &self.bar {
            Some(_) => Duration::from_millis(200),
            None => LINES_EVERY,
        };
        std::thread::scope(|scope| {
            let (finished, wait) = channel::<()>();
            scope.spawn(move || {
                let mut told = false;
                while wait.recv_timeout(every) == Err(RecvTimeoutError::Timeout) {
                    self.tick(control.positions());
                    if control.is_stopped() && !std::mem::replace(&mut told, true) {
                        self.line("stopping; a second signal ends the program at once");
                    }
                }
            });
            let result = task();
            drop(finished);
            if let Some(bar) = &self.bar {
                bar.finish_and_clear();
            }
            result
        })
    }

    fn tick(&self, done: u64) {
        if let Some(bar) = &self.bar {
            bar.set_position(done);
            return;
        }
        let state = self.state();
        if state.total == 0 {
            return;
        }
        if done == 0 {
            // No rate yet, so no estimate.
            let text = format!("0.0 %, {}", state.task);
            drop(state);
            return self.line(text);
        }
        let seconds = state.start.elapsed().as_secs_f64();
        let rate = done as f64 / seconds.max(0.001);
        let percent = done as f64 * 100.0 / state.total as f64;
        let left = (state.total.saturating_sub(done)) as f64 / rate.max(1.0);
        let left = humantime::format_duration(Duration::from_secs(left as u64));
        let text = format!(
            "{percent:.1} %, {} positions/s, {left} left, {}",
            grouped(rate as u64),
            state.task
        );
        drop(state);
        self.line(text);
    }
}
