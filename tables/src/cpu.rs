//! What the processor can do.

use std::sync::LazyLock;

/// The variable of the environment that turns the copies of hot code for newer processors off, if it
/// is set to anything but `0` or nothing. Tables and answers are the same with both.
pub const PORTABLE: &str = "DAMBASE_PORTABLE";

/// Whether code that is compiled for AVX2, BMI1, BMI2, LZCNT and POPCNT may run: the processor has
/// them all, and [`PORTABLE`] does not forbid it. Found out once in a process.
#[inline(always)]
#[must_use]
pub fn has_fast_path() -> bool {
    static FOUND: LazyLock<bool> = LazyLock::new(|| {
        let forbidden = std::env::var_os(PORTABLE).is_some_and(|v| !v.is_empty() && v != "0");
        !forbidden && has_instructions()
    });
    *FOUND
}

/// Hot code of which there are two copies that do the same: one for every processor, and one with
/// wider vectors and better bit instructions.
pub(crate) trait Hot: Sized {
    /// The code. It is to be `#[inline(always)]`, as all that it should be compiled with.
    fn run_anywhere(self);

    /// Runs the best copy for this processor.
    fn run(self) {
        #[cfg(target_arch = "x86_64")]
        if has_fast_path() {
            // SAFETY: the processor has the features that the function is compiled for.
            #[allow(unsafe_code)]
            unsafe {
                run_avx2(self);
            };
            return;
        }
        self.run_anywhere();
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
fn run_avx2(code: impl Hot) {
    code.run_anywhere();
}

#[cfg(target_arch = "x86_64")]
fn has_instructions() -> bool {
    use std::arch::is_x86_feature_detected as has;
    has!("avx2") && has!("bmi1") && has!("bmi2") && has!("lzcnt") && has!("popcnt")
}

#[cfg(not(target_arch = "x86_64"))]
fn has_instructions() -> bool {
    false
}
