-- The view: what the log amounts to, now and at every offset. A row with from_offset and to_offset holds for
-- from_offset <= offset < to_offset; an open row ends at 140737488355327. Nothing here is migrated: a
-- changed schema is built anew from the log. Times are microseconds since 1970. A uid that is a UUID, as Kubernetes writes it,
-- has sixteen bytes, and any other is its text.

CREATE TABLE checkpoint (
    id          INTEGER PRIMARY KEY CHECK (id = 1),
    "offset"    INTEGER NOT NULL,
    hash        BLOB NOT NULL             -- of the change at that offset: tells this log from another
) STRICT;

-- From where on a kind is known whole, of those that retention lets go of before the rest.
CREATE TABLE kind_floor (
    cluster  TEXT NOT NULL,
    "group"  TEXT NOT NULL,
    kind     TEXT NOT NULL,
    floor    INTEGER NOT NULL,            -- an offset
    floor_at INTEGER NOT NULL,            -- when the change there was observed
    since    INTEGER NOT NULL,            -- the earliest moment of anything that can be asked for
    PRIMARY KEY (cluster, "group", kind)
) STRICT, WITHOUT ROWID;

CREATE TABLE cluster (
    id   INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE
) STRICT;

CREATE TABLE cluster_spec (
    cluster_id  INTEGER NOT NULL,
    from_offset INTEGER NOT NULL,
    to_offset   INTEGER NOT NULL,
    region      TEXT NOT NULL,            -- as configured; empty where its Nodes are to say
    PRIMARY KEY (cluster_id, from_offset)
) STRICT, WITHOUT ROWID;

-- What present Nodes say of their region; those that say nothing have no row.
CREATE TABLE node_region (
    resource_id INTEGER PRIMARY KEY,
    cluster_id  INTEGER NOT NULL,
    region      TEXT NOT NULL
) STRICT;
CREATE INDEX node_region_by_cluster ON node_region (cluster_id, region);

-- Where clusters run by the word of their Nodes, while those that say anything agree; a region of cluster_spec is
-- stronger.
CREATE TABLE cluster_region (
    cluster_id  INTEGER NOT NULL,
    from_offset INTEGER NOT NULL,
    to_offset   INTEGER NOT NULL,
    region      TEXT NOT NULL,
    PRIMARY KEY (cluster_id, from_offset)
) STRICT, WITHOUT ROWID;

-- An empty kind stands for the discovery of its group or, with an empty group, of the whole cluster.
CREATE TABLE kind (
    id         INTEGER PRIMARY KEY,
    cluster_id INTEGER NOT NULL,
    "group"    TEXT NOT NULL,
    kind       TEXT NOT NULL,
    UNIQUE (cluster_id, "group", kind)
) STRICT;

-- One row per incarnation, with the log's number.
CREATE TABLE resource (
    id         INTEGER PRIMARY KEY,
    cluster_id INTEGER NOT NULL,
    kind_id    INTEGER NOT NULL,
    namespace  TEXT NOT NULL,
    name       TEXT NOT NULL,
    uid        ANY  NOT NULL,
    created_at INTEGER,                   -- by the cluster's clock
    labels     BLOB,                      -- as they stand, names by their numbers; NULL once it is gone
    links      INTEGER,                   -- digest of all from which its links are found; NULL once it is gone
    images     INTEGER,                   -- digest of what its status tells of its images; NULL where it has none
    spec       INTEGER                    -- digest of what is asked of it; NULL where something owns it, or it is gone
) STRICT;
-- A uid is asked for in a cluster. With both the index serves better than any that begins with the cluster: of two that
-- seem to serve alike SQLite takes either, and the other one leads through all that the cluster holds.
CREATE INDEX resource_by_uid ON resource (uid, cluster_id);
CREATE INDEX resource_by_name ON resource (kind_id, name, namespace);
CREATE INDEX resource_by_namespace ON resource (cluster_id, namespace);

-- Names of labels, which nearly all objects share. Only so many have numbers, and keep them.
CREATE TABLE label_name (
    id   INTEGER PRIMARY KEY,
    text TEXT NOT NULL UNIQUE
) STRICT;

-- By which labels selectors look for a kind: the empty name for those that name no values and for series, and * for all.
CREATE TABLE label_sought (
    kind_id INTEGER NOT NULL,
    name    TEXT NOT NULL,
    PRIMARY KEY (kind_id, name)
) STRICT, WITHOUT ROWID;

-- Under which numbers such labels of what is there are found: a digest of kind, namespace, name and value. By it a selector
-- finds what may match in one place.
CREATE TABLE label_place (
    place       INTEGER NOT NULL,
    resource_id INTEGER NOT NULL,
    PRIMARY KEY (place, resource_id)
) STRICT, WITHOUT ROWID;

-- Whose inventories what is there is in, by the marks that GitOps tools left on it.
CREATE TABLE inventory_mark (
    cluster_id  INTEGER NOT NULL,
    mark        TEXT NOT NULL,
    resource_id INTEGER NOT NULL,
    PRIMARY KEY (cluster_id, mark, resource_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX inventory_mark_by_resource ON inventory_mark (resource_id);

-- Reasons and names of rules, which stand in many versions. Only so many have numbers, and keep them.
CREATE TABLE word (
    id   INTEGER PRIMARY KEY,
    text TEXT NOT NULL UNIQUE
) STRICT;

-- The states of a resource; from_offset is also where its body stands in the log. A state that may last for a time only is
-- judged anew when that is over: at later_offset, the first change that was observed at later_at or after.
CREATE TABLE version (
    resource_id INTEGER NOT NULL,
    from_offset INTEGER NOT NULL,
    to_offset   INTEGER NOT NULL,
    observed_at INTEGER NOT NULL,
    deleted     INTEGER NOT NULL,         -- 1: from here on it is gone
    health      INTEGER,                  -- 0 Healthy … 5 Unknown; NULL for kinds that have none
    reason      ANY NOT NULL,             -- the number of a word, or a text that is none
    message     TEXT NOT NULL,
    rule        ANY NOT NULL,             -- as reason
    rule_set_id INTEGER NOT NULL,         -- which rules judged it
    lasted      INTEGER NOT NULL,         -- for how long its health had been the same when it was observed
    moved       INTEGER NOT NULL,         -- 1: the state before had another health, or there was none, or it has another later
    terminating INTEGER,                  -- its deletionTimestamp; NULL while it is meant to stay
    later_at    INTEGER,                  -- NULL where it means the same for ever
    later_offset INTEGER,                 -- NULL as long as that is not over, and where another state came before
    later_health INTEGER,                 -- as health
    later_reason TEXT,
    later_message TEXT,
    PRIMARY KEY (resource_id, from_offset)
) STRICT, WITHOUT ROWID;
CREATE INDEX version_moves ON version (resource_id, from_offset) WHERE moved = 1;
-- What holds now and is to be judged anew. Nearly nothing is, so that it is small however large the table.
CREATE INDEX version_due ON version (later_at, resource_id)
    WHERE later_at IS NOT NULL AND later_offset IS NULL AND to_offset = 140737488355327;

-- Images that anything ever ran or would have run, as Docker understands their names.
CREATE TABLE image (
    id         INTEGER PRIMARY KEY,
    repository TEXT NOT NULL,             -- with its registry
    tag        TEXT NOT NULL,             -- empty where a digest alone is named
    digest     TEXT NOT NULL,             -- empty where it is not known
    UNIQUE (repository, tag, digest)
) STRICT;

-- What ran them, or would have them run by a template.
CREATE TABLE image_use (
    image_id    INTEGER NOT NULL,
    resource_id INTEGER NOT NULL,
    from_offset INTEGER NOT NULL,
    to_offset   INTEGER NOT NULL,
    PRIMARY KEY (image_id, resource_id, from_offset)
) STRICT, WITHOUT ROWID;
CREATE INDEX image_use_by_resource ON image_use (resource_id, to_offset);

-- Which rules have judged: those of the program, and those that users added.
CREATE TABLE rule_set (
    id   INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE
) STRICT;

-- Far ends of links as objects name them, each once: thousands of Pods name the same ConfigMap. It is found by uid
-- or by address, whenever it arrives.
CREATE TABLE far (
    id        INTEGER PRIMARY KEY,
    kind_id   INTEGER NOT NULL,           -- as claimed, in the declarer's cluster
    uid       ANY  NOT NULL,              -- empty where it is given by its address
    namespace TEXT NOT NULL,
    name      TEXT NOT NULL               -- with a uid as claimed; if both are empty, all of the kind
) STRICT;
-- Each is in one of these two, by which the projector finds it again, and links their far ends.
CREATE UNIQUE INDEX far_by_address ON far (kind_id, namespace, name) WHERE uid = '';
CREATE INDEX far_by_uid ON far (uid) WHERE uid <> '';

-- Links as one end declares them. These rows, those of selected and those of membership stand in stretches of their
-- owner, the first column: one that has taken so many rows ends, and the next takes over what holds then as rows of
-- its own. So what holds at a moment stands together, in the last stretch that began by then, however much came and went.
CREATE TABLE edge (
    declared_by INTEGER NOT NULL,
    stretch     INTEGER NOT NULL,         -- the offset at which it began
    far_id      INTEGER NOT NULL,
    kind        INTEGER NOT NULL,         -- 0 owns, 1 selects, 2 routes, 3 mounts, 4 scales, 5 references
    outward     INTEGER NOT NULL,         -- 0: the far end is the cause; 1: the far end is the dependent
    from_offset INTEGER NOT NULL,
    to_offset   INTEGER NOT NULL,
    PRIMARY KEY (declared_by, stretch, far_id, kind, outward, from_offset)
) STRICT, WITHOUT ROWID;
CREATE INDEX edge_by_far ON edge (far_id, to_offset, kind, outward);

-- Links to whatever carries labels that match, as resources declare them at present.
CREATE TABLE selector (
    id            INTEGER PRIMARY KEY,
    declared_by   INTEGER NOT NULL,
    kind          INTEGER NOT NULL,       -- as an edge's
    outward       INTEGER NOT NULL,
    far_kind_id   INTEGER NOT NULL,
    far_namespace TEXT NOT NULL,          -- empty for all namespaces
    requirements  TEXT NOT NULL           -- JSON
) STRICT;
CREATE INDEX selector_by_declarer ON selector (declared_by);
CREATE INDEX selector_by_kind ON selector (far_kind_id);

-- Under which labels to look for selectors: whatever a selector selects carries one of its anchors.
CREATE TABLE selector_anchor (
    place       INTEGER NOT NULL,
    selector_id INTEGER NOT NULL,
    PRIMARY KEY (place, selector_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX selector_anchor_by_selector ON selector_anchor (selector_id);

-- What they selected, over time.
CREATE TABLE selected (
    declared_by INTEGER NOT NULL,
    stretch     INTEGER NOT NULL,
    resource_id INTEGER NOT NULL,
    kind        INTEGER NOT NULL,
    outward     INTEGER NOT NULL,
    from_offset INTEGER NOT NULL,
    to_offset   INTEGER NOT NULL,
    PRIMARY KEY (declared_by, stretch, resource_id, kind, outward, from_offset)
) STRICT, WITHOUT ROWID;
CREATE INDEX selected_by_resource ON selected (resource_id, to_offset);

-- Projects as the catalog declares them.
CREATE TABLE project (
    path           TEXT NOT NULL,
    from_offset    INTEGER NOT NULL,
    to_offset      INTEGER NOT NULL,
    number         INTEGER,               -- GitLab's; NULL where it is not known
    default_branch TEXT NOT NULL,
    labels         TEXT NOT NULL,         -- JSON
    source         TEXT NOT NULL,
    PRIMARY KEY (path, from_offset)
) STRICT, WITHOUT ROWID;

-- Agents by their full name, path/to/project:agent-name.
CREATE TABLE agent (
    id            TEXT NOT NULL,
    from_offset   INTEGER NOT NULL,
    to_offset     INTEGER NOT NULL,
    number        INTEGER,
    cluster       TEXT NOT NULL,          -- empty where it is not known
    configuration TEXT NOT NULL,
    problem       TEXT NOT NULL,
    warnings      TEXT NOT NULL,          -- JSON
    source        TEXT NOT NULL,
    PRIMARY KEY (id, from_offset)
) STRICT, WITHOUT ROWID;

-- Whom the present agents let see what they serve: members of these projects and groups, in lower case.
CREATE TABLE agent_viewer (
    path  TEXT NOT NULL,
    agent TEXT NOT NULL,
    PRIMARY KEY (agent, path)
) STRICT, WITHOUT ROWID;
CREATE INDEX agent_viewer_by_path ON agent_viewer (path);

-- The view's numbers of environments: one for each name in addresses, for ever.
CREATE TABLE environment_name (
    id      INTEGER PRIMARY KEY,
    name_id TEXT NOT NULL UNIQUE
) STRICT;

-- What is declared of environments at present, from which all that follows is settled: by the catalog …
CREATE TABLE environment_fact (
    environment_id INTEGER PRIMARY KEY,
    source         TEXT NOT NULL,
    spec           TEXT NOT NULL          -- JSON
) STRICT;

-- … by resources of clusters …
CREATE TABLE declaration (
    resource_id    INTEGER PRIMARY KEY,
    environment_id INTEGER NOT NULL,
    origin         TEXT NOT NULL,         -- JSON: the resource's address
    project        TEXT NOT NULL,         -- the first of its projects, or else of its groups
    name           TEXT NOT NULL,         -- the environment's
    namespace      TEXT NOT NULL,
    viewers        TEXT NOT NULL          -- JSON: paths of projects and groups
) STRICT;
CREATE INDEX declaration_by_environment ON declaration (environment_id);

-- … and by the deployment that ended well last, and the last of those that an agent let.
CREATE TABLE environment_deployment (
    environment_id INTEGER NOT NULL,
    deciding       INTEGER NOT NULL,      -- 1: the last that an agent let, which decides where the environment is
    deployment_id  INTEGER NOT NULL,
    finished_at    INTEGER NOT NULL,
    project        TEXT NOT NULL,         -- whose job deployed
    agent          TEXT NOT NULL,
    namespace      TEXT NOT NULL,
    only_labelled  INTEGER NOT NULL,      -- 1: what carries GitLab's two labels; 0: whatever the environment asks for
    PRIMARY KEY (environment_id, deciding)
) STRICT, WITHOUT ROWID;

-- Which environments have to be settled when something changes on which they depend, by its kind and name.
CREATE TABLE environment_ground (
    kind           TEXT NOT NULL,         -- project, agent, cluster
    name           TEXT NOT NULL,
    environment_id INTEGER NOT NULL,
    PRIMARY KEY (kind, name, environment_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX environment_ground_by_environment ON environment_ground (environment_id);

-- Environments as all of that makes them; name_id is the name in addresses.
CREATE TABLE environment (
    id           INTEGER NOT NULL,
    from_offset  INTEGER NOT NULL,
    to_offset    INTEGER NOT NULL,
    name_id      TEXT NOT NULL,
    project      TEXT NOT NULL,
    name         TEXT NOT NULL,
    slug         TEXT NOT NULL,
    tier         TEXT NOT NULL,
    region       TEXT NOT NULL,
    state        TEXT NOT NULL,
    labels       TEXT NOT NULL,           -- JSON: its own and those of its project
    targets      TEXT NOT NULL,           -- JSON
    audience     INTEGER NOT NULL,
    settings     TEXT NOT NULL,           -- JSON: what else is declared of it
    declared_by  TEXT NOT NULL,           -- JSON
    deployment   INTEGER,                 -- the last that ended well
    PRIMARY KEY (id, from_offset)
) STRICT, WITHOUT ROWID;
CREATE INDEX environment_by_name_id ON environment (name_id, to_offset);
-- In the order of lists, so that a page is read and nothing sorted.
CREATE INDEX environment_by_project ON environment (project, name, name_id, to_offset);

-- Who sees environments and may read what they hold: members of the project and of what they are shared with, as far as
-- all agents that serve them let their members in; and whoever may read every place where they look. Each audience has one
-- number for ever, so that whom a scope may ask after is a set of numbers, now and for the past. One that no environment has
-- any more goes, and its number is given to no other: what else names it is found to be of nobody.
CREATE TABLE audience (
    id      INTEGER PRIMARY KEY AUTOINCREMENT,
    project TEXT NOT NULL,
    viewers TEXT NOT NULL,                -- JSON: paths whose members see it besides the project's
    agents  TEXT NOT NULL,                -- JSON: those of its targets
    places  TEXT NOT NULL,                -- JSON: cluster and namespace of each target
    UNIQUE (project, viewers, agents, places)
) STRICT;

-- Audiences by the paths whose members see them, in lower case …
CREATE TABLE audience_path (
    path     TEXT NOT NULL,
    audience INTEGER NOT NULL,
    PRIMARY KEY (path, audience)
) STRICT, WITHOUT ROWID;

-- … by their agents …
CREATE TABLE audience_agent (
    audience INTEGER NOT NULL,
    agent    TEXT NOT NULL,
    PRIMARY KEY (audience, agent)
) STRICT, WITHOUT ROWID;
CREATE INDEX audience_agent_by_agent ON audience_agent (agent);

-- … and by where they look.
CREATE TABLE audience_place (
    cluster   TEXT NOT NULL,              -- its name
    namespace TEXT NOT NULL,              -- as a target's
    audience  INTEGER NOT NULL,
    PRIMARY KEY (cluster, namespace, audience)
) STRICT, WITHOUT ROWID;
CREATE INDEX audience_place_by_audience ON audience_place (audience);

-- The audiences of environments over time; what else moves of an environment begins no row here.
CREATE TABLE environment_audience (
    environment_id INTEGER NOT NULL,
    from_offset    INTEGER NOT NULL,
    to_offset      INTEGER NOT NULL,
    audience       INTEGER NOT NULL,
    PRIMARY KEY (environment_id, from_offset)
) STRICT, WITHOUT ROWID;
CREATE INDEX environment_audience_by_audience ON environment_audience (audience, to_offset);
CREATE INDEX environment_audience_by_end ON environment_audience (to_offset) WHERE to_offset < 140737488355327;

-- Every path of a project or group that the catalog named.
CREATE TABLE viewer (
    folded TEXT NOT NULL,                 -- in lower case
    path   TEXT NOT NULL,
    PRIMARY KEY (folded, path)
) STRICT, WITHOUT ROWID;

-- The last change that moved anything of the catalog: while it stands, so does all that follows from the catalog alone.
CREATE TABLE catalog_state (
    id    INTEGER PRIMARY KEY CHECK (id = 1),
    since INTEGER NOT NULL                -- an offset
) STRICT;

-- The view's numbers of deployments. GitLab's numbers are what the jobs of a project say they are, so each project has its
-- own.
CREATE TABLE deployment_name (
    id      INTEGER PRIMARY KEY,
    number  INTEGER NOT NULL,             -- GitLab's, or one of ours
    project TEXT NOT NULL,                -- whose job deploys
    UNIQUE (number, project)
) STRICT;

CREATE TABLE deployment (
    id             INTEGER NOT NULL,
    from_offset    INTEGER NOT NULL,
    to_offset      INTEGER NOT NULL,
    environment_id INTEGER NOT NULL,
    project        TEXT NOT NULL,         -- whose job deploys
    status         TEXT NOT NULL,
    status_at      INTEGER NOT NULL,      -- when it ended or, where that is not known, when its status was reported
    user           TEXT NOT NULL,
    "ref"          TEXT NOT NULL,
    spec           TEXT NOT NULL,         -- JSON: all that was said of it
    observed_at    INTEGER NOT NULL,
    PRIMARY KEY (id, from_offset)
) STRICT, WITHOUT ROWID;
CREATE INDEX deployment_by_time ON deployment (status_at, id);
CREATE INDEX deployment_by_environment ON deployment (environment_id, id, from_offset);
CREATE INDEX deployment_by_project ON deployment (project, id);

-- Deployments that an agent's configuration authorises (seed 002).
CREATE TABLE agent_deployment (
    deployment_id        INTEGER PRIMARY KEY,
    agent                TEXT NOT NULL,
    kubernetes_namespace TEXT NOT NULL CHECK (length(kubernetes_namespace) <= 255)
) STRICT;

-- Where the resource groups of the present environments look, by place.
CREATE TABLE target (
    environment_id INTEGER NOT NULL,
    position       INTEGER NOT NULL,
    cluster_id     INTEGER NOT NULL,
    namespace      TEXT NOT NULL,         -- empty for all of them and for what is in none
    labels         TEXT NOT NULL,         -- JSON
    inventory      TEXT NOT NULL,         -- the mark to be carried; empty for none, and then the namespace is not
    anchor         INTEGER NOT NULL,      -- digest of the first label, under which it is found; 0 where none is asked for
    PRIMARY KEY (environment_id, position)
) STRICT, WITHOUT ROWID;
-- Of a thousand environments that share a namespace and are told apart by a label, a resource finds its own.
CREATE INDEX target_by_place ON target (cluster_id, inventory, namespace, anchor);

-- At which places environments look over time, each once.
CREATE TABLE environment_place (
    cluster_id     INTEGER NOT NULL,
    namespace      TEXT NOT NULL,         -- as a target's
    environment_id INTEGER NOT NULL,
    from_offset    INTEGER NOT NULL,
    to_offset      INTEGER NOT NULL,
    PRIMARY KEY (cluster_id, namespace, environment_id, from_offset)
) STRICT, WITHOUT ROWID;
CREATE INDEX environment_place_by_environment ON environment_place (environment_id, to_offset);

-- Which resources belong to an environment, with what lists and trees ask of all of them: a row holds as long as
-- nothing of it changes.
CREATE TABLE membership (
    environment_id INTEGER NOT NULL,
    stretch        INTEGER NOT NULL,
    resource_id    INTEGER NOT NULL,
    from_offset    INTEGER NOT NULL,
    to_offset      INTEGER NOT NULL,
    kind_id        INTEGER NOT NULL,
    owner_id       INTEGER,               -- its first owner in the environment; NULL for a root
    health         INTEGER NOT NULL,      -- -1 for kinds that have none
    matches        INTEGER NOT NULL,      -- 1: by the group's parameters; 0: by its owner alone
    counted        INTEGER NOT NULL,      -- 1: its health is the environment's, as that of roots and of claims on volumes is
    PRIMARY KEY (environment_id, stretch, resource_id, from_offset)
) STRICT, WITHOUT ROWID;
CREATE INDEX membership_by_resource ON membership (resource_id, to_offset);

-- Present members of an environment, and those among them whose health counts.
CREATE TABLE member_count (
    environment_id INTEGER NOT NULL,
    kind_id        INTEGER NOT NULL,
    health         INTEGER NOT NULL,
    total          INTEGER NOT NULL,
    counted        INTEGER NOT NULL,
    PRIMARY KEY (environment_id, kind_id, health)
) STRICT, WITHOUT ROWID;

-- Present resources, counted by kind and namespace, with the offset at which one of them, or one that is gone,
-- changed last. This is of now only: what was at a past moment is counted from the versions.
CREATE TABLE resource_count (
    kind_id     INTEGER NOT NULL,
    namespace   TEXT NOT NULL,
    total       INTEGER NOT NULL,
    last_offset INTEGER NOT NULL,
    PRIMARY KEY (kind_id, namespace)
) STRICT, WITHOUT ROWID;

-- The same of what belongs to environments, by the environments to which it belongs together: so each is counted once for who
-- sees any of them. A row without resources tells when the last of them changed.
CREATE TABLE home_count (
    kind_id     INTEGER NOT NULL,
    home        ANY  NOT NULL,            -- the number of an environment; JSON: a list of several
    namespace   TEXT NOT NULL,
    total       INTEGER NOT NULL,
    last_offset INTEGER NOT NULL,
    PRIMARY KEY (kind_id, home, namespace)
) STRICT, WITHOUT ROWID;

-- What environments showed over time, a row for each time that it moved. Until grace_until, a Progressing one shows as
-- grace_state.
CREATE TABLE environment_health (
    environment_id INTEGER NOT NULL,
    from_offset    INTEGER NOT NULL,
    to_offset      INTEGER NOT NULL,
    observed_at    INTEGER NOT NULL,
    state          INTEGER,
    grace_state    INTEGER,
    grace_until    INTEGER,
    rule_set_id    INTEGER NOT NULL,
    PRIMARY KEY (environment_id, from_offset)
) STRICT, WITHOUT ROWID;
-- The same by time, with all that a trend over many environments asks of a row.
CREATE INDEX environment_health_by_time
    ON environment_health (from_offset, observed_at, state, grace_state, grace_until);

-- Their health with the counts of their resources, a row for each offset at which any of it changed. It is kept together
-- by stretches of the log: at its start a stretch takes over what holds then, so that whatever holds within it, of all
-- environments, stands in few pages beside each other.
CREATE TABLE stretch (
    from_offset INTEGER PRIMARY KEY,      -- it lasts until the next
    taken       INTEGER NOT NULL          -- rows that it took over, by which it is known how many more it takes
) STRICT;

CREATE TABLE stretch_health (
    stretch        INTEGER NOT NULL,
    environment_id INTEGER NOT NULL,
    from_offset    INTEGER NOT NULL,      -- may lie before the stretch
    to_offset      INTEGER NOT NULL,      -- open where it lies after the stretch
    state          INTEGER,
    since          INTEGER NOT NULL,
    known          INTEGER,               -- what the resources say; the state, unless a gap makes that Unknown
    known_after    INTEGER NOT NULL,      -- how long after since they have said so
    grace_state    INTEGER,
    grace_since    INTEGER,
    grace_until    INTEGER,
    rule_set_id    INTEGER NOT NULL,
    healthy        INTEGER NOT NULL,      -- resources by health
    suspended      INTEGER NOT NULL,
    progressing    INTEGER NOT NULL,
    missing        INTEGER NOT NULL,
    degraded       INTEGER NOT NULL,
    unknown        INTEGER NOT NULL,
    no_health      INTEGER NOT NULL,
    PRIMARY KEY (stretch, environment_id, from_offset)
) STRICT, WITHOUT ROWID;

CREATE TABLE coverage (
    kind_id     INTEGER NOT NULL,
    namespace   TEXT NOT NULL,
    from_offset INTEGER NOT NULL,
    to_offset   INTEGER NOT NULL,
    cluster_id  INTEGER NOT NULL,
    state       INTEGER NOT NULL,         -- 0 watched, 1 gap, 2 excluded
    since       INTEGER NOT NULL,
    until       INTEGER,                  -- when the mark after it was observed; NULL while it holds
    reason      TEXT NOT NULL,
    message     TEXT NOT NULL,
    -- Of a gap: the times at which something may have been missed, whenever that was recorded. An offset lies in a gap by
    -- the offsets above, a time by these two.
    missed_from INTEGER,                  -- NULL where nothing was missed after all, and for what is no gap
    missed_to   INTEGER,                  -- not included; as large as can be while the gap is open
    PRIMARY KEY (kind_id, namespace, from_offset)
) STRICT, WITHOUT ROWID;
CREATE INDEX coverage_missed ON coverage (cluster_id, missed_to, missed_from) WHERE missed_from IS NOT NULL;
CREATE INDEX coverage_gaps ON coverage (cluster_id, to_offset, from_offset) WHERE state = 1;
CREATE INDEX coverage_by_end ON coverage (to_offset);

-- What Kubernetes' Events say: one row for all that say the same of the same object. Found from the object by its
-- uid or, where the Event has no usable one, by its address, whichever arrives first.
CREATE TABLE kube_event (
    id         INTEGER PRIMARY KEY,       -- in the order of arrival
    identity   BLOB NOT NULL UNIQUE,      -- digest of all that follows, with the cluster's name
    cluster_id INTEGER NOT NULL,
    "group"    TEXT NOT NULL,
    kind       TEXT NOT NULL,
    namespace  TEXT NOT NULL,
    name       TEXT NOT NULL,
    uid        ANY  NOT NULL,             -- empty where the object is given by its address
    type       TEXT NOT NULL,
    reason     TEXT NOT NULL,
    note       TEXT NOT NULL,
    component  TEXT NOT NULL,
    reason_mark INTEGER NOT NULL          -- two bytes of a digest of its reason, by which most others are passed over
) STRICT;
CREATE INDEX kube_event_by_uid ON kube_event (uid) WHERE uid <> '';
CREATE INDEX kube_event_by_name ON kube_event (name, kind, namespace) WHERE uid = '';
CREATE INDEX kube_event_by_reason ON kube_event (reason_mark);

-- How often it had been said, and when by the cluster's clock. What was said stays said: the last row is open.
CREATE TABLE kube_event_count (
    event_id    INTEGER NOT NULL,
    from_offset INTEGER NOT NULL,
    to_offset   INTEGER NOT NULL,
    count       INTEGER NOT NULL,
    first_at    INTEGER NOT NULL,
    last_at     INTEGER NOT NULL,
    said_at     INTEGER NOT NULL,         -- last_at, but never after it was observed
    PRIMARY KEY (event_id, from_offset)
) STRICT, WITHOUT ROWID;

-- The same for questions about many environments, in the order in which it was said: a row for each count of an Event of
-- what belongs to an environment or ended there, while the environment has the audience that it had at the end. The last one
-- holds on where its subject left.
CREATE TABLE event_feed (
    said_at        INTEGER NOT NULL,      -- of the count
    "offset"       INTEGER NOT NULL,      -- where the count begins
    environment_id INTEGER NOT NULL,
    event_id       INTEGER NOT NULL,
    from_offset    INTEGER NOT NULL,      -- "offset", or where its subject came to belong later
    to_offset      INTEGER NOT NULL,
    said_again_at  INTEGER,               -- said_at of the row after it; NULL where there is none
    warned         INTEGER NOT NULL,      -- 0: a Normal one; 1: any other
    reason_mark    INTEGER NOT NULL,      -- as that of its Event
    PRIMARY KEY (said_at, "offset", environment_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX event_feed_by_environment ON event_feed (environment_id, said_at, "offset");

-- How far each Event object has counted; the objects themselves come and go within the hour.
CREATE TABLE kube_event_object (
    cluster_id  INTEGER NOT NULL,
    uid         ANY  NOT NULL,
    count       INTEGER NOT NULL,
    last_offset INTEGER NOT NULL,         -- where it counted so far
    PRIMARY KEY (cluster_id, uid)
) STRICT, WITHOUT ROWID;

-- What happened to environments, a row each. Hours stand first: what is written at one time stands together, whatever the
-- environment, and old hours are cut off in one piece.
CREATE TABLE happening (
    hour           INTEGER NOT NULL,      -- of observed_at, counted from 1970
    environment_id INTEGER NOT NULL,
    "offset"       INTEGER NOT NULL,
    what           INTEGER NOT NULL,      -- 0 changed, 1 created, 2 joined, 3 deleted, 4 parted: a resource
                                          -- 5 said, 6 warned: a Kubernetes Event; 7 deployed, 8 progressed: a deployment
    subject        INTEGER NOT NULL,      -- the resource, the kube_event or the deployment
    past           INTEGER NOT NULL,      -- microseconds of the hour when it was observed
    PRIMARY KEY (hour, environment_id, "offset", what, subject)
) STRICT, WITHOUT ROWID;

-- The same, counted by the hour: a year of it is a few thousand rows beside each other.
CREATE TABLE happening_count (
    environment_id INTEGER NOT NULL,
    hour           INTEGER NOT NULL,
    changed        INTEGER NOT NULL DEFAULT 0,
    created        INTEGER NOT NULL DEFAULT 0,
    joined         INTEGER NOT NULL DEFAULT 0,
    deleted        INTEGER NOT NULL DEFAULT 0,
    parted         INTEGER NOT NULL DEFAULT 0,
    said           INTEGER NOT NULL DEFAULT 0,
    warned         INTEGER NOT NULL DEFAULT 0,
    deployed       INTEGER NOT NULL DEFAULT 0,
    progressed     INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (environment_id, hour)
) STRICT, WITHOUT ROWID;

-- The feed of changes: of all that happened what somebody asked for, deployments, and each Warning when it was first said.
-- Few among many, in the order of the log, so that the newest of all environments are read without a look at the rest.
CREATE TABLE feed (
    "offset"       INTEGER NOT NULL,
    environment_id INTEGER NOT NULL,
    what           INTEGER NOT NULL,      -- as in happening
    subject        INTEGER NOT NULL,
    observed_at    INTEGER NOT NULL,
    manager_id     INTEGER,               -- who wrote it; NULL where that is not known
    PRIMARY KEY ("offset", environment_id, what, subject)
) STRICT, WITHOUT ROWID;
CREATE INDEX feed_by_environment ON feed (environment_id, "offset");

-- Field managers that wrote what is in the feed, or a status.
CREATE TABLE manager (
    id   INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE
) STRICT;

-- Which of them are controllers in an environment: since they wrote the status of something in it. Elsewhere they may be
-- whatever they are, so that what others have says nothing here.
CREATE TABLE controller (
    environment_id INTEGER NOT NULL,
    manager_id     INTEGER NOT NULL,
    since          INTEGER NOT NULL,      -- an offset
    PRIMARY KEY (environment_id, manager_id)
) STRICT, WITHOUT ROWID;

-- What search reads, 64 lines in a block: of a resource its name, after a line with its kind_id and namespace unless they are
-- those of the one before; of a deployment its number, commit, user, branch or tag, environment and project; of an image its name,
-- its digest and, where it is not in lower case, its name as it is written. A line begins with its place in the block, a character
-- from 0 on, and one with a kind and namespace with the character 1; other words are in lower case, and all are parted by tabs. All of it follows from the tables resource, deployment and image.
CREATE TABLE resource_lines (
    block INTEGER PRIMARY KEY,            -- resource.id / 64
    lines TEXT NOT NULL
) STRICT;

CREATE TABLE deployment_lines (
    block INTEGER PRIMARY KEY,            -- deployment.id / 64
    lines TEXT NOT NULL
) STRICT;

CREATE TABLE image_lines (
    block INTEGER PRIMARY KEY,            -- image.id / 64
    lines TEXT NOT NULL
) STRICT;

-- How often a block of these tables that others follow may have become another one: when something is pruned, a number is given again,
-- or another user or commit is declared of a deployment. Whoever keeps such blocks in memory reads them anew then.
CREATE TABLE lines_revision (
    lines    TEXT PRIMARY KEY,            -- the table
    revision INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Which resources of a block ever belonged to an environment, a bit each: a scope searches in these and in no others.
CREATE TABLE search_members (
    environment_id INTEGER NOT NULL,
    block          INTEGER NOT NULL,
    members        INTEGER NOT NULL,
    PRIMARY KEY (environment_id, block)
) STRICT, WITHOUT ROWID;

-- Which images of a block something ever had while it belonged to an environment.
CREATE TABLE image_members (
    environment_id INTEGER NOT NULL,
    block          INTEGER NOT NULL,
    members        INTEGER NOT NULL,
    PRIMARY KEY (environment_id, block)
) STRICT, WITHOUT ROWID;
