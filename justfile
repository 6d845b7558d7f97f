# The recipes of the house; `just check` is what CI runs.

# Everything that must pass before a change lands
check:
    .ci/run

# Style and lints, quickly
lint:
    cargo fmt --check
    cargo clippy --all-targets -- -D warnings

# Every test that needs no cluster
test:
    cargo test

# The tests against a real control plane, built on first use
cluster:
    KUBEBUILDER_ASSETS="$(tests/control-plane/build)" STRANDLINE_REQUIRE_CONTROL_PLANE=1 cargo test --test it control_plane

# The storm in two real clusters in full: 200 custom kinds, 5,000 Pods; a tenth of it is among the tests
storm:
    KUBEBUILDER_ASSETS="$(tests/control-plane/build)" STRANDLINE_REQUIRE_CONTROL_PLANE=1 STRANDLINE_STORM=full cargo test --test it storm::

# Benches; each prints its peer in the same run
bench:
    cargo bench

# A simulated fleet with a day of history
demo:
    cargo run --release -- demo

# The documentation of the library
docs:
    cargo doc --no-deps --open
