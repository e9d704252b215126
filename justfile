# What continuous integration runs.
check:
    bash .ci/run

# The ordinary tests.
test:
    cargo test --workspace

# The slow suites: deep move-tree counts, larger slices, faults.
test-slow:
    cargo test --release --workspace -- --ignored

# Formatting and lints.
lint:
    cargo fmt --all --check
    cargo clippy --workspace --all-targets -- -D warnings

# Documentation, with warnings denied.
docs:
    RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps
