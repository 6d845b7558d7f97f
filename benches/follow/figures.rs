//! How figures are printed beside their marks.

use crate::common::system::Memory;
use crate::{PEAK, SETTLED};

/// Prints how much memory there is after something, and whether that meets the marks; `base` is what fewer objects take,
/// and `more` how many hundred thousands they are fewer.
pub(crate) fn print_memory(memory: &Memory, when: &str, (base, more): (f64, f64)) {
    let Memory { peak, settled, anonymous } = memory;
    let verdict = |met: bool| if met { "met" } else { "missed" };
    let each = (settled - base) / more;
    let met = verdict(each <= SETTLED);
    let said = format!("{each:.0} MB for 100,000 more, mark: {SETTLED:.0} MB: {met}");
    row(&format!("  {when}, settled"), format!("{settled:.0} MB, {anonymous:.0} MB of it anonymous"), &said);
    let (times, met) = (peak / settled, verdict(*peak <= PEAK * settled));
    let said = format!("{times:.1} times settled, mark: {PEAK:.0}: {met}");
    row(&format!("  {when}, peak"), format!("{peak:.0} MB"), &said);
}

/// A line of the table.
pub(crate) fn row(what: &str, figure: String, said: &str) {
    println!("{what:<32}{figure:<40}{said}");
}
