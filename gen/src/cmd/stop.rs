//! Stopping on Ctrl-C.

use std::sync::Arc;

use dambase_gen::Control;

use super::failure::Failure;

/// From now on the first signal asks to stop, the second one ends the program at once.
pub(super) fn on_signal(control: &Arc<Control>) -> Result<(), Failure> {
    let control = Arc::clone(control);
    ctrlc::set_handler(move || {
        if control.is_stopped() {
            std::process::exit(1);
        }
        control.stop();
    })
    .map_err(|e| {
        Failure::failed(
            format!("cannot watch for signals: {e}"),
            "report this; the system refuses something it should allow",
        )
    })
}
