//! Turns what watches saw into changes, within the writer's transaction.
//!
//! Why: docs/decisions/0006-the-log-decides-what-changed.md.

use rusqlite::params;

use super::append::{AppendError, Appended, Batch, Observed, Phase};
use super::draft::Draft;
use super::error::LogError;
use super::ids;
use super::live::{Live, key_of};
use super::runs::Run;
use super::transaction::Write;
use super::types::ChangeType;
use strandline_model::{DeletionCause, ResourceKey, ResourceVersion};
use strandline_redact::Observation;

type Result<T> = std::result::Result<T, LogError>;

impl Write<'_> {
    pub(super) fn batch(&mut self, batch: &Batch) -> Result<std::result::Result<Appended, AppendError>> {
        let Some(run) = self.run(&batch.watch)?.filter(|run| run.epoch == batch.epoch) else {
            return Ok(Err(AppendError::Superseded(batch.watch.clone())));
        };
        let mut appended = Appended::default();
        for observed in &batch.observed {
            match observed {
                Observed::Applied(observation) => self.applied(batch, &run, observation, &mut appended)?,
                Observed::Unreadable { namespace, name, uid } => {
                    let key = key_of(&batch.watch, namespace, name);
                    if let Some(live) = self.incarnation(run.kind, &key, uid)? {
                        self.touch(&live, &live.resource_version, run.epoch)?;
                    }
                    appended.unchanged += 1;
                }
                Observed::Deleted { namespace, name, uid, .. } => {
                    let key = key_of(&batch.watch, namespace, name);
                    if let Some(live) = self.incarnation(run.kind, &key, uid)? {
                        appended.written += self.deleted(&live, &key, DeletionCause::Watched)?;
                    }
                }
            }
        }
        if batch.phase == Phase::ListEnd {
            let cause = match run.reselected {
                true => |last_seen| DeletionCause::Unfollowed { last_seen },
                false => |last_seen| DeletionCause::Relist { last_seen },
            };
            appended.written += self.end_unseen(&batch.watch, run.kind, run.epoch, cause)?;
        }
        if batch.phase != Phase::ListPage {
            self.advance(batch, &run)?;
        }
        appended.head = self.state.head;
        Ok(Ok(appended))
    }

    /// Writes an observation if it is a change: same token or same digest is none, and neither is a state
    /// older than the one recorded, which a watch may repeat.
    fn applied(
        &mut self,
        batch: &Batch,
        run: &Run,
        seen: &Observation,
        appended: &mut Appended,
    ) -> Result<()> {
        let key = key_of(&batch.watch, &seen.namespace, &seen.name);
        let mut same = None;
        for live in self.live(run.kind, &key)? {
            if is_stale(batch, seen, &live) {
                // It is there all the same, so the end of this list must not miss it.
                self.touch(&live, &live.resource_version, run.epoch)?;
                appended.stale += 1;
                return Ok(());
            }
            if live.uid == seen.uid.as_str() {
                same = Some(live);
            } else {
                let last_seen = self.last_seen(run.kind, &key.namespace)?;
                appended.written += self.deleted(&live, &key, DeletionCause::Replaced { last_seen })?;
            }
        }
        match same {
            Some(live)
                if live.digest == seen.digest.0
                    || (live.resource_version == seen.resource_version && !run.reshaped) =>
            {
                self.touch(&live, &seen.resource_version, run.epoch)?;
                appended.unchanged += 1;
                appended.noise += usize::from(live.resource_version != seen.resource_version);
            }
            same => {
                self.state_of(run, &key, seen, same.as_ref())?;
                appended.written += 1;
            }
        }
        Ok(())
    }

    pub(super) fn state_of(
        &mut self,
        run: &Run,
        key: &ResourceKey,
        seen: &Observation,
        before: Option<&Live>,
    ) -> Result<()> {
        let subject = match before {
            Some(live) => live.subject,
            None => ids::subject(self.connection, run.kind, &key.namespace, &key.name, seen.uid.as_str())?,
        };
        let open = before.map(|live| live.group.clone()).unwrap_or_default();
        let (packed, group) = self.pack_state(&seen.body, open)?;
        self.write(Draft {
            r#type: ChangeType::Applied,
            subject,
            key,
            uid: seen.uid.as_str(),
            resource_version: seen.resource_version.as_str(),
            changed_by: seen.changed_by.as_ref(),
            body: &seen.body,
            packed: Some(packed),
        })?;
        let sql = "INSERT OR REPLACE INTO live
            (subject_id, kind_id, resource_version, digest, keyframe, deltas, deltas_at, seen_epoch)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)";
        self.connection.prepare_cached(sql)?.execute(params![
            subject,
            run.kind,
            seen.resource_version,
            seen.digest.0,
            group.keyframe,
            group.deltas,
            group.deltas_at,
            run.epoch
        ])?;
        Ok(())
    }
}

/// Whether a state is older than the one recorded, as a watch may repeat it or a list may still show it.
///
/// A list that is itself newer than what is recorded, and yet shows an older state, shows a cluster that was rolled
/// back: there the older state is the true one.
fn is_stale(batch: &Batch, seen: &Observation, live: &Live) -> bool {
    let before = |one: &ResourceVersion, other| one.compare(other).is_some_and(std::cmp::Ordering::is_lt);
    let older = before(&seen.resource_version, &live.resource_version);
    match batch.phase {
        Phase::Watch | Phase::UpToDate | Phase::Confirmed(_) => older,
        _ => older && batch.cursor.as_ref().is_some_and(|list| before(list, &live.resource_version)),
    }
}
