#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| dambase_fuzz::answers(data));
