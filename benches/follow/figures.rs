//! How figures are printed beside their marks.

use crate::common::system::Memory;
use crate::{PEAK, SETTLED};

/// Prints how much memory there is after something, and whether that meets the marks.
pub(crate) fn print_memory(memory: &Memory, when: &str, hundred_thousands: f64) {
    let Memory { peak, settled, anonymous } = memory;
    let mark = SETTLED * hundred_thousands;
    let verdict = |met: bool| if met { "met" } else { "missed" };
    let met = verdict(*settled <= mark);
    let said = format!("mark: {mark:.0} MB: {met}");
    row(&format!("  {when}, settled"), format!("{settled:.0} MB, {anonymous:.0} MB of it anonymous"), &said);
    let (times, met) = (peak / settled, verdict(*peak <= PEAK * settled));
    let said = format!("{times:.1} times settled, mark: {PEAK:.0}: {met}");
    row(&format!("  {when}, peak"), format!("{peak:.0} MB"), &said);
}

/// A line of the table.
pub(crate) fn row(what: &str, figure: String, said: &str) {
    println!("{what:<32}{figure:<40}{said}");
}
