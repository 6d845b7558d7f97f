//! Links to elsewhere, by the templates of the configuration.

use std::collections::BTreeSet;

use crate::app::LinkTemplate;
use crate::format::visible;
use strandline_model::{ResourceKey, Timestamp, Uid};
use strandline_protocol::{Deployment, Environment};

/// The most links of one template: an environment may run in many places.
const PLACES_MAX: usize = 6;

/// Of an environment at a time; a template that names the cluster or the namespace gives one for each place.
pub(super) fn of_environment(
    templates: &[LinkTemplate],
    environment: &Environment,
    time: Timestamp,
) -> Vec<(String, String)> {
    let mut links = Vec::new();
    for template in templates {
        let (by_cluster, by_namespace) = (template.names("cluster"), template.names("namespace"));
        let place = |target: &strandline_model::Target| {
            let cluster = if by_cluster { target.cluster.clone() } else { String::new() };
            let namespace = if by_namespace { target.namespace.clone() } else { String::new() };
            (cluster, namespace)
        };
        let places: BTreeSet<(String, String)> = match by_cluster || by_namespace {
            true => environment.targets.iter().map(place).collect(),
            false => BTreeSet::from([(String::new(), String::new())]),
        };
        let several = places.len() > 1;
        for (cluster, namespace) in places.into_iter().take(PLACES_MAX) {
            let value = |name: &str| {
                Some(match name {
                    "id" => environment.id.to_string(),
                    "project" => environment.project.clone(),
                    "name" => environment.name.clone(),
                    "slug" => environment.slug.clone(),
                    "tier" => environment.tier.as_str().to_owned(),
                    "region" => environment.region.clone(),
                    "cluster" => cluster.clone(),
                    "namespace" => namespace.clone(),
                    "time" => time.to_string(),
                    _ => return None,
                })
            };
            let Some(url) = template.fill(value) else { continue };
            let of: Vec<&str> = [&cluster, &namespace]
                .into_iter()
                .map(String::as_str)
                .filter(|one| !one.is_empty())
                .collect();
            let label =
                if several { format!("{} {}", template.label, of.join("/")) } else { template.label.clone() };
            links.push((visible(&label).into_owned(), url));
        }
    }
    links
}

/// Of a resource at a time.
pub(super) fn of_resource(
    templates: &[LinkTemplate],
    key: &ResourceKey,
    uid: &Uid,
    time: Timestamp,
) -> Vec<(String, String)> {
    let value = |name: &str| {
        Some(match name {
            "cluster" => key.cluster.clone(),
            "namespace" => key.namespace.clone(),
            "group" => key.kind.group.clone(),
            "kind" => key.kind.kind.clone(),
            "name" => key.name.clone(),
            "uid" => uid.to_string(),
            "time" => time.to_string(),
            _ => return None,
        })
    };
    let of_kind = |one: &&LinkTemplate| one.kinds.is_empty() || one.kinds.contains(&key.kind.kind);
    let link = |one: &LinkTemplate| Some((visible(&one.label).into_owned(), one.fill(value)?));
    templates.iter().filter(of_kind).filter_map(link).collect()
}

/// Of a deployment.
pub(super) fn of_deployment(templates: &[LinkTemplate], deployment: &Deployment) -> Vec<(String, String)> {
    let spec = &deployment.spec;
    let value = |name: &str| {
        Some(match name {
            "environment" => spec.environment.to_string(),
            "project" => spec.project.clone(),
            "id" => spec.id.to_string(),
            "ref" => spec.reference.clone(),
            "sha" => spec.sha.clone(),
            "job" => spec.job.as_ref()?.name.clone(),
            "job_id" => spec.job.as_ref()?.id?.to_string(),
            "user" => spec.user.clone(),
            "time" => spec.finished_at.unwrap_or(deployment.observed_at).to_string(),
            _ => return None,
        })
    };
    let link = |one: &LinkTemplate| Some((visible(&one.label).into_owned(), one.fill(value)?));
    templates.iter().filter_map(link).collect()
}
