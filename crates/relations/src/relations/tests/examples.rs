//! The examples, each with an object such as its controller writes.

use super::*;

/// The file that users are shown.
pub(super) const EXAMPLES: &str = include_str!("../../../../../examples/relations.yaml");

/// What the examples find in an object.
fn told(yaml: &str) -> Vec<String> {
    let object: Value = serde_saphyr::from_str(yaml).unwrap();
    told_with(&object, &Relations::parse(EXAMPLES).unwrap())
}

#[test]
fn crossplane_links_claims_composites_and_what_they_are_composed_of() {
    let composite = "
apiVersion: db.example.org/v1alpha1
kind: XDatabase
metadata: {name: orders-x7k2p, labels: {crossplane.io/claim-name: orders}}
spec:
  claimRef: {apiVersion: db.example.org/v1alpha1, kind: Database, namespace: shop, name: orders}
  resourceRefs:
  - {apiVersion: rds.aws.upbound.io/v1beta1, kind: Instance, name: orders-x7k2p-abcde}
  - {apiVersion: kubernetes.crossplane.io/v1alpha2, kind: Object, name: orders-x7k2p-fghij}
";
    assert_eq!(
        told(composite),
        [
            "<- owns Database.db.example.org shop/orders",
            "-> owns Instance.rds.aws.upbound.io /orders-x7k2p-abcde",
            "-> owns Object.kubernetes.crossplane.io /orders-x7k2p-fghij",
        ]
    );
    let namespaced = "
apiVersion: db.example.org/v1
kind: Database
metadata: {namespace: shop, name: orders}
spec: {crossplane: {resourceRefs: [{apiVersion: rds.aws.m.upbound.io/v1beta1, kind: Instance, name: orders-1}]}}
";
    assert_eq!(told(namespaced), ["-> owns Instance.rds.aws.m.upbound.io shop/orders-1"]);
}

#[test]
fn cert_manager_links_certificates_secrets_and_issuers() {
    let certificate = |issuer: &str| {
        told(&format!(
            "{{apiVersion: cert-manager.io/v1, kind: Certificate, metadata: {{namespace: shop, name: web}},
              spec: {{secretName: web-tls, dnsNames: [shop.example.org], issuerRef: {issuer}}}}}"
        ))
    };
    assert_eq!(
        certificate("{name: internal}"),
        ["-> owns Secret shop/web-tls", "<- references Issuer.cert-manager.io shop/internal"]
    );
    assert_eq!(
        certificate("{name: letsencrypt, kind: ClusterIssuer, group: cert-manager.io}")[1],
        "<- references ClusterIssuer.cert-manager.io /letsencrypt"
    );
    for (version, kind) in [
        ("cert-manager.io/v1", "CertificateRequest"),
        ("acme.cert-manager.io/v1", "Order"),
        ("acme.cert-manager.io/v1", "Challenge"),
    ] {
        let told = told(&format!(
            "{{apiVersion: {version}, kind: {kind}, metadata: {{namespace: shop}}, spec: {{issuerRef: {{kind: Issuer, name: acme}}}}}}"
        ));
        assert_eq!(told, ["<- references Issuer.cert-manager.io shop/acme"], "{kind}");
    }
    let ingress = "
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {namespace: shop, name: web, annotations: {cert-manager.io/cluster-issuer: letsencrypt}}
spec: {tls: [{secretName: web-tls}]}
";
    assert_eq!(
        told(ingress),
        ["<- references Secret shop/web-tls", "<- references ClusterIssuer.cert-manager.io /letsencrypt"]
    );
}

#[test]
fn istio_links_gateways_virtual_services_and_the_services_behind_hosts() {
    let service = "
apiVersion: networking.istio.io/v1
kind: VirtualService
metadata: {namespace: shop, name: reviews}
spec:
  hosts: [reviews.example.org]
  gateways: [mesh, public, infra/edge]
  http:
  - route:
    - {destination: {host: reviews, subset: v1}, weight: 90}
    - {destination: {host: reviews.prod.svc.cluster.local}, weight: 10}
    mirror: {host: shadow.test.svc}
  - route: [{destination: {host: api.partner.example.com}}, {destination: {host: '*.wild'}}]
  tcp: [{route: [{destination: {host: db}}]}]
";
    assert_eq!(
        told(service),
        [
            "-> routes Service shop/reviews",
            "-> routes Service prod/reviews",
            "-> routes Service shop/db",
            "-> routes Service test/shadow",
            "<- routes Gateway.networking.istio.io shop/public",
            "<- routes Gateway.networking.istio.io infra/edge",
        ]
    );
    let gateway = "{apiVersion: networking.istio.io/v1, kind: Gateway, metadata: {namespace: infra, name: edge}, spec: {selector: {istio: ingressgateway}}}";
    assert_eq!(told(gateway), ["-> selects Pod /[istio=ingressgateway]"]);
    let rule = |host: &str| {
        told(&format!(
            "{{apiVersion: networking.istio.io/v1, kind: DestinationRule, metadata: {{namespace: shop}}, spec: {{host: '{host}'}}}}"
        ))
    };
    assert_eq!(rule("reviews"), ["-> references Service shop/reviews"]);
    assert_eq!(rule("reviews.prod.svc.cluster.local"), ["-> references Service prod/reviews"]);
    assert!(rule("*.example.com").is_empty() && rule("reviews.prod").is_empty());
}

#[test]
fn gateway_policies_act_on_their_targets() {
    let policy = "
apiVersion: gateway.envoyproxy.io/v1alpha1
kind: SecurityPolicy
metadata: {namespace: shop, name: jwt}
spec:
  targetRefs:
  - {group: gateway.networking.k8s.io, kind: HTTPRoute, name: web}
  - {group: gateway.networking.k8s.io, kind: Gateway, name: edge, sectionName: https}
";
    assert_eq!(
        told(policy),
        [
            "-> references HTTPRoute.gateway.networking.k8s.io shop/web",
            "-> references Gateway.gateway.networking.k8s.io shop/edge",
        ]
    );
    let one =
        "{apiVersion: gateway.envoyproxy.io/v1alpha1, kind: ClientTrafficPolicy, metadata: {namespace: shop},
        spec: {targetRef: {group: gateway.networking.k8s.io, kind: Gateway, name: edge}}}";
    assert_eq!(told(one), ["-> references Gateway.gateway.networking.k8s.io shop/edge"]);
}

#[test]
fn argo_links_applications_to_what_they_track() {
    let tracked = |id: &str| {
        told(&format!(
            "{{apiVersion: v1, kind: ConfigMap, metadata: {{namespace: shop, name: a, annotations: {{argocd.argoproj.io/tracking-id: '{id}'}}}}}}"
        ))
    };
    assert_eq!(tracked("web:/ConfigMap:shop/a"), ["<- owns Application.argoproj.io argocd/web"]);
    assert_eq!(tracked("team-a_web:/ConfigMap:shop/a"), ["<- owns Application.argoproj.io team-a/web"]);
    assert!(tracked("web").is_empty());
}

#[test]
fn argo_rollouts_name_workloads_services_and_analyses() {
    let rollout = |strategy: &str| {
        told(&format!(
            "{{apiVersion: argoproj.io/v1alpha1, kind: Rollout, metadata: {{namespace: shop, name: web}},
              spec: {{workloadRef: {{apiVersion: apps/v1, kind: Deployment, name: web}}, strategy: {strategy}}}}}"
        ))
    };
    let canary = "{canary: {canaryService: web-canary, stableService: web-stable, analysis: {templates: [{templateName: latency}]},
        steps: [{setWeight: 20}, {analysis: {templates: [{templateName: errors, clusterScope: true}, {templateName: errors, clusterScope: false}]}}]}}";
    assert_eq!(
        rollout(canary),
        [
            "<- references Deployment.apps shop/web",
            "<- references Service shop/web-stable",
            "<- references Service shop/web-canary",
            "<- references AnalysisTemplate.argoproj.io shop/latency",
            "<- references AnalysisTemplate.argoproj.io shop/errors",
            "<- references ClusterAnalysisTemplate.argoproj.io /errors",
        ]
    );
    assert_eq!(
        rollout(
            "{blueGreen: {activeService: live, previewService: next, prePromotionAnalysis: {templates: [{templateName: smoke}]}}}"
        )[1..],
        [
            "<- references Service shop/live",
            "<- references Service shop/next",
            "<- references AnalysisTemplate.argoproj.io shop/smoke",
        ]
    );
}

#[test]
fn flux_owns_what_carries_its_labels_and_reads_sources() {
    let applied = "
apiVersion: apps/v1
kind: Deployment
metadata:
  namespace: shop
  labels: {kustomize.toolkit.fluxcd.io/name: apps, kustomize.toolkit.fluxcd.io/namespace: flux-system}
";
    assert_eq!(told(applied), ["<- owns Kustomization.kustomize.toolkit.fluxcd.io flux-system/apps"]);
    let released = "
apiVersion: v1
kind: ConfigMap
metadata: {namespace: shop, labels: {helm.toolkit.fluxcd.io/name: redis, helm.toolkit.fluxcd.io/namespace: infra}}
";
    assert_eq!(told(released), ["<- owns HelmRelease.helm.toolkit.fluxcd.io infra/redis"]);
    let kustomization = "
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {namespace: flux-system, name: apps}
spec: {path: ./apps, sourceRef: {kind: GitRepository, name: fleet}}
";
    assert_eq!(
        told(kustomization),
        ["<- references GitRepository.source.toolkit.fluxcd.io flux-system/fleet"]
    );
    let release = "
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {namespace: infra, name: redis}
spec: {chart: {spec: {chart: redis, sourceRef: {kind: HelmRepository, name: charts, namespace: flux-system}}}}
";
    assert_eq!(told(release), ["<- references HelmRepository.source.toolkit.fluxcd.io flux-system/charts"]);
}

#[test]
fn knative_routes_to_revisions_and_configurations() {
    let route = "
apiVersion: serving.knative.dev/v1
kind: Route
metadata: {namespace: shop, name: web}
spec: {traffic: [{configurationName: web, latestRevision: true, percent: 90}, {revisionName: web-00001, percent: 10}]}
status: {traffic: [{revisionName: web-00002, percent: 90}, {revisionName: web-00001, percent: 10}]}
";
    assert_eq!(
        told(route),
        [
            "-> routes Revision.serving.knative.dev shop/web-00001",
            "-> routes Revision.serving.knative.dev shop/web-00002",
            "-> routes Configuration.serving.knative.dev shop/web",
        ]
    );
}

#[test]
fn external_secrets_make_secrets_out_of_stores() {
    let secret = |store: &str| {
        told(&format!(
            "{{apiVersion: external-secrets.io/v1, kind: ExternalSecret, metadata: {{namespace: shop, name: db}},
              spec: {{target: {{name: db-credentials}}, secretStoreRef: {store}}}}}"
        ))
    };
    assert_eq!(
        secret("{name: vault}"),
        ["-> owns Secret shop/db-credentials", "<- references SecretStore.external-secrets.io shop/vault"]
    );
    assert_eq!(
        secret("{name: vault, kind: ClusterSecretStore}")[1],
        "<- references ClusterSecretStore.external-secrets.io /vault"
    );
}

#[test]
fn keda_scales_its_target() {
    let scaled = |target: &str| {
        told(&format!(
            "{{apiVersion: keda.sh/v1alpha1, kind: ScaledObject, metadata: {{namespace: shop, name: web}}, spec: {{scaleTargetRef: {target},
              triggers: [{{type: cron}}, {{type: kafka, authenticationRef: {{name: kafka}}}}, {{type: x, authenticationRef: {{name: all, kind: ClusterTriggerAuthentication}}}}]}}}}"
        ))
    };
    assert_eq!(
        scaled("{name: web}"),
        [
            "-> scales Deployment.apps shop/web",
            "<- references TriggerAuthentication.keda.sh shop/kafka",
            "<- references ClusterTriggerAuthentication.keda.sh /all",
        ]
    );
    assert_eq!(
        scaled("{apiVersion: argoproj.io/v1alpha1, kind: Rollout, name: web}")[0],
        "-> scales Rollout.argoproj.io shop/web"
    );
}
