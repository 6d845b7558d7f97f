//! Kubernetes objects as text: JSON that is read without being built, manifests as people write them, Events, and the
//! digest that tells a change from noise.
//!
//! Nothing here judges an object, links it to others, or knows what Strandline keeps of it.

pub mod digest;
pub mod gitlab_deployment;
pub mod gitops_marks;
pub mod json;
pub mod kube_event;
pub mod manifests;
mod object;

pub use object::{Metadata, Object, ObjectError, OwnerReference};
