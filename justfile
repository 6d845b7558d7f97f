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

# The past of a real cluster held against what kubectl said, moment by moment; minutes
past:
    STRANDLINE_PAST=1 KUBEBUILDER_ASSETS="$(tests/control-plane/build)" STRANDLINE_REQUIRE_CONTROL_PLANE=1 cargo test --test it past:: -- --test-threads 1

# The chart and what it makes, in a real cluster; helm is built on first use
packaging:
    KUBEBUILDER_ASSETS="$(tests/control-plane/build)" STRANDLINE_REQUIRE_CONTROL_PLANE=1 STRANDLINE_PACKAGING="$(tests/packaging/build)" STRANDLINE_REQUIRE_PACKAGING=1 cargo test --test it chart::

# The plain manifests, from the chart
manifests:
    HELM="$(tests/packaging/build)/helm" deploy/render > deploy/manifests/strandline.yaml

# The static program for amd64 or arm64, in target/TARGET/release/strandline; needs Python's pip, which brings the C compiler
static architecture="amd64":
    deploy/static {{architecture}}

# Builds the static program of this commit in two folders, and says whether both are the same, byte for byte; half an hour
reproduce architecture="amd64":
    deploy/reproduce {{architecture}}

# All files of a release for amd64 and arm64, in target/release-files; SIGNING_KEY names an SSH key that signs their checksums
release:
    test -z "$(git status --porcelain)" || { echo "there are changes that are not committed"; exit 1; }
    rm -rf target/release-files
    deploy/static amd64
    deploy/static arm64
    deploy/release target/release-files amd64=target/x86_64-unknown-linux-musl/release/strandline arm64=target/aarch64-unknown-linux-musl/release/strandline

# The image for amd64 as an OCI layout in target/image, without a container engine, and its test; `crane push target/image NAME` publishes it
image: static
    rm -rf target/image
    deploy/image target/image amd64=target/x86_64-unknown-linux-musl/release/strandline
    STRANDLINE_IMAGE_PROGRAM="$PWD/target/x86_64-unknown-linux-musl/release/strandline" KUBEBUILDER_ASSETS="$(tests/control-plane/build)" STRANDLINE_REQUIRE_CONTROL_PLANE=1 STRANDLINE_PACKAGING="$(tests/packaging/build)" STRANDLINE_REQUIRE_PACKAGING=1 cargo test --test it chart::image

# The Debian package for amd64, in target/debian
deb: static
    deploy/deb target/x86_64-unknown-linux-musl/release/strandline target/debian

# Random histories against a naive fold, as many and as long as is wanted: a few short ones are among the tests
histories runs="200" changes="10000":
    STRANDLINE_HISTORIES={{runs}} STRANDLINE_HISTORY_CHANGES={{changes}} cargo test --release --test it -- --nocapture random_histories

# All of what takes long, of which an ordinary run plays a fifth: the thousand simulated histories, the law of access, 5,000 streams; half an hour
full:
    STRANDLINE_FULL=1 cargo test -p strandline --lib -- catalog::law
    STRANDLINE_FULL=1 cargo test --test it -- simulation streams

# The properties among the tests against other cases than those of every day, and more of them
laws times="20":
    STRANDLINE_FULL=1 PROPTEST_RNG_SEED=$(date +%s) PROPTEST_CASES=$((256 * {{times}})) STRANDLINE_LAWS={{times}} cargo test --release --lib
    STRANDLINE_FULL=1 PROPTEST_RNG_SEED=$(date +%s) PROPTEST_CASES=$((256 * {{times}})) cargo test --release --package strandline-view --test it

# A fleet of many clusters, as long as it is to be watched; a thousand of them take 17 GB for the simulated servers alone
clusters clusters="1000" rate="2000" minutes="60":
    STRANDLINE_BENCH_CLUSTERS={{clusters}} STRANDLINE_BENCH_RATE={{rate}} STRANDLINE_BENCH_MINUTES={{minutes}} cargo bench --profile profiling --bench clusters

# Benches; each prints its peer in the same run, and all that was found is kept in target/bench/results.json
bench:
    STRANDLINE_PEERS="$(benches/peers/build)" cargo bench
    cargo bench --bench results

# Argo CD's gitops-engine, which the bench `follow` compares with; prints the folder that STRANDLINE_PEERS is to name; needs Go
peers:
    benches/peers/build

# Past moments against now in a log of millions of changes, which is built once and used again
large changes="5000000" objects="500000" directory="target/bench/large":
    STRANDLINE_BENCH_CHANGES={{changes}} STRANDLINE_BENCH_OBJECTS={{objects}} STRANDLINE_BENCH_BUSY=4 STRANDLINE_BENCH_DIR={{directory}} cargo bench --bench past

# How time, memory, disk and answers grow with a log of two million objects; a quarter of an hour, 5 GB
scale:
    cargo bench --profile profiling --bench scale

# A simulated fleet with a day of history
demo:
    cargo run --release -- demo

# The documentation of the library
docs:
    cargo doc --no-deps --open
