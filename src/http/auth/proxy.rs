//! Who a trusted proxy says somebody is: by headers that count only where the connection comes from one of its addresses.

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::str::FromStr;
use std::sync::Arc;

use http::{HeaderMap, HeaderName};

use super::claims::{GROUPS_MAX, is_path, is_plain};
use crate::http::caller::Caller;
use crate::http::context::Context;
use crate::http::subject::{Subject, SubjectRules};
use strandline_gitlab::Membership;
use strandline_protocol::AuthenticationMethod;

/// A proxy that authenticates people before it passes their requests on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProxyConfig {
    /// Where it connects from.
    pub addresses: Vec<Network>,
    /// The header with the name of somebody.
    pub user_header: HeaderName,
    /// The header with the full paths of their groups, separated by commas.
    pub groups_header: HeaderName,
    /// Groups below which their members may write.
    pub write_groups: BTreeSet<String>,
    /// Members of these groups see everything.
    pub readers: BTreeSet<String>,
    /// Members of these groups see and write everything.
    pub admins: BTreeSet<String>,
    /// Which clusters are asked what somebody may read there; none where none is.
    pub access_review: Option<Box<SubjectHeaders>>,
}

/// As whom clusters are asked about somebody.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SubjectHeaders {
    /// The header with the name that clusters know somebody by.
    pub user_header: HeaderName,
    /// The header with the names of their groups there, separated by commas.
    pub groups_header: HeaderName,
    /// What clusters make of both.
    pub rules: SubjectRules,
}

/// An address, or all that begin with the same bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Network {
    address: IpAddr,
    bits: u32,
}

impl FromStr for Network {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let (address, bits) =
            text.split_once('/').map_or((text, None), |(address, bits)| (address, Some(bits)));
        let address: IpAddr = address.parse().map_err(|_| ())?;
        let all = if address.is_ipv4() { 32 } else { 128 };
        let bits = bits.map_or(Ok(all), |bits| bits.parse().map_err(|_| ()))?;
        // Everybody is no proxy.
        if (1..=all).contains(&bits) { Ok(Network { address, bits }) } else { Err(()) }
    }
}

impl Network {
    fn contains(self, address: IpAddr) -> bool {
        match (self.address, address.to_canonical()) {
            (IpAddr::V4(own), IpAddr::V4(other)) => {
                (own.to_bits() ^ other.to_bits()) >> (32 - self.bits) == 0
            }
            (IpAddr::V6(own), IpAddr::V6(other)) => {
                (own.to_bits() ^ other.to_bits()) >> (128 - self.bits) == 0
            }
            _ => false,
        }
    }
}

impl SubjectHeaders {
    /// As whom clusters know somebody.
    fn subject(&self, headers: &HeaderMap) -> Result<Subject, &'static str> {
        let user = one(headers, &self.user_header)?;
        let user = user.ok_or("the proxy's header that names the user to clusters is not there")?;
        let unsound = "the proxy's header does not list names of groups, or too many";
        let groups = listed(headers, &self.groups_header, is_plain).ok_or(unsound)?;
        self.rules.subject(user, groups).ok_or("the proxy's header names a user of Kubernetes itself")
    }
}

/// The one name in a header; none where the header is not there.
fn one<'h>(headers: &'h HeaderMap, name: &HeaderName) -> Result<Option<&'h str>, &'static str> {
    let mut all = headers.get_all(name).iter();
    let only = match (all.next(), all.next()) {
        (None, _) => return Ok(None),
        (Some(only), None) => only.to_str().map(str::trim).ok().filter(|name| is_plain(name)),
        (Some(_), Some(_)) => None,
    };
    only.map(Some).ok_or("the proxy's header does not name one user")
}

/// What a header lists, separated by commas, where all of it is as it has to be.
fn listed(headers: &HeaderMap, name: &HeaderName, is_sound: fn(&str) -> bool) -> Option<BTreeSet<String>> {
    let mut all = BTreeSet::new();
    for value in headers.get_all(name) {
        for one in value.to_str().ok()?.split(',').map(str::trim).filter(|one| !one.is_empty()) {
            if !is_sound(one) || all.len() >= GROUPS_MAX {
                return None;
            }
            all.insert(one.to_owned());
        }
    }
    Some(all)
}

impl ProxyConfig {
    /// Who a request is from by the word of the proxy; none where it is not the proxy that sent it, or it says nothing.
    ///
    /// # Errors
    /// Where what it says cannot be read.
    pub(super) fn caller(&self, context: &Context) -> Result<Option<Caller>, &'static str> {
        let peer = context.peer.map(|peer| peer.ip());
        if !peer.is_some_and(|peer| self.addresses.iter().any(|network| network.contains(peer))) {
            return Ok(None);
        }
        let Some(user) = one(&context.headers, &self.user_header)? else { return Ok(None) };
        let unsound = "the proxy's header does not list paths of groups, or too many";
        let groups = listed(&context.headers, &self.groups_header, is_path).ok_or(unsound)?;
        let is_in = |some: &BTreeSet<String>| some.iter().any(|group| groups.contains(group));
        let (admin, none) = (is_in(&self.admins), [] as [&str; 0]);
        let everything = admin || is_in(&self.readers);
        let writes: Vec<_> = groups.intersection(&self.write_groups).collect();
        let asked = self.access_review.as_deref().filter(|_| !everything);
        let subject = asked.map(|of| of.subject(&context.headers)).transpose()?;
        Ok(Some(Caller {
            user: Some(user.to_owned()),
            member: Membership::new(none, &groups),
            everything,
            subject: subject.map(Arc::new),
            write: admin || !writes.is_empty(),
            writes: Membership::new(none, writes),
            writes_everything: admin,
            // A browser sends what the proxy knows it by from anywhere.
            method: AuthenticationMethod::Proxy,
            ..Caller::named(&format!("proxy:{user}"))
        }))
    }
}
