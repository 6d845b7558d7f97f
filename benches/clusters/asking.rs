//! Who asks while changes come in.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use strandline_model::EnvironmentId;

use crate::common::Random;
use crate::common::caller::Caller;
use crate::common::table::milliseconds;
use crate::{Size, environments};

/// Between two questions.
const PAUSE: Duration = Duration::from_millis(100);

const QUESTIONS: [&str; 5] = [
    "one environment",
    "100 of the 200 resources of one",
    "the overview of production by region",
    "100 environments of production",
    "a page of changes across environments",
];

/// Milliseconds that answers took, in order, by what was asked.
type Answers = Vec<(&'static str, Vec<f64>)>;

/// One caller, who asks one thing after the other.
pub(crate) struct Asking {
    is_over: Arc<AtomicBool>,
    thread: JoinHandle<Answers>,
}

impl Asking {
    pub(crate) fn begin(server: SocketAddr, size: Size) -> Self {
        let is_over = Arc::new(AtomicBool::new(false));
        let ends = Arc::clone(&is_over);
        let thread = std::thread::spawn(move || {
            let ids: Vec<EnvironmentId> = environments(size).map(|environment| environment.id).collect();
            let (mut caller, mut random) = (Caller::connect(server), Random(3));
            let mut answers: Answers = QUESTIONS.iter().map(|name| (*name, Vec::new())).collect();
            while !ends.load(Ordering::Relaxed) {
                for (question, (_, times)) in answers.iter_mut().enumerate() {
                    let id = &ids[random.below(ids.len() as u64) as usize];
                    let path = match question {
                        0 => format!("/api/v1/environments/{id}"),
                        1 => format!("/api/v1/environments/{id}/resources?limit=100"),
                        2 => "/api/v1/overview?tier=production&group_by=region".to_owned(),
                        3 => "/api/v1/environments?tier=production&limit=100".to_owned(),
                        _ => "/api/v1/changes?limit=20".to_owned(),
                    };
                    times.push(milliseconds(|| caller.ask(&path)));
                    std::thread::sleep(PAUSE);
                }
            }
            answers.iter_mut().for_each(|(_, times)| times.sort_by(f64::total_cmp));
            answers
        });
        Asking { is_over, thread }
    }

    /// Ends it; returns what it found.
    pub(crate) fn end(self) -> Answers {
        self.is_over.store(true, Ordering::Relaxed);
        self.thread.join().expect("the caller got good answers")
    }
}
