//! The values of the model that columns keep as numbers.

use crate::change::CoverageState;
use crate::happening::Happening;
use crate::health::Health;
use crate::stored;

stored!(Health, "health", Healthy, Suspended, Progressing, Missing, Degraded, Unknown);

stored!(CoverageState, "state of coverage", Watched, Gap, Excluded);

stored!(
    Happening,
    "kind of happening",
    Changed,
    Created,
    Joined,
    Deleted,
    Parted,
    Said,
    Warned,
    Deployed,
    Progressed,
);
