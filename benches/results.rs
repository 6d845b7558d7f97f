//! Prints what all benches found last, as they kept it in `target/bench/results.json`.

mod common;

fn main() {
    common::table::print_all();
}
