//! Which uses of images a request asks for; read alike by REST and pages.

use crate::http::params::{ENVIRONMENT, FROM, IMAGE, ParameterReader, REGION, TIER, TO};
use strandline_model::EnvironmentId;
use strandline_query::ImageFilter;

/// Which uses of images a request asks for; read alike by the list and the page.
pub fn filter(read: &mut ParameterReader<'_>) -> ImageFilter {
    ImageFilter {
        images: read.words(IMAGE),
        environment: read.text(ENVIRONMENT).map(EnvironmentId::new),
        tiers: read.words(TIER),
        regions: read.texts(REGION),
        from: read.moment(FROM),
        to: read.moment(TO),
    }
}
