//! The small languages that people type: globs, label selectors, image references, slugs, names and names in addresses, and diagnostics with
//! the place of each mistake.
//!
//! Nothing here does IO, reads a clock, or knows what Strandline records.

mod case;
pub mod diagnostics;
mod glob;
mod image;
pub mod keywords;
mod name;
mod selector;
mod slug;
mod url;

pub use case::{fold_case, fold_letter};
pub use glob::Glob;
pub use image::{Image, ImagePattern, familiar};
pub use name::{is_dns_label, is_project_path, is_subdomain};
pub use selector::{Condition, LabelSelector, Requirement, SelectorError, is_label_name};
pub use slug::slug;
pub use url::percent_encode;
