//! Who a trusted proxy says somebody is: by headers that count only where the connection comes from one of its addresses.

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::str::FromStr;

use http::HeaderName;

use super::claims::{GROUPS_MAX, is_path, is_plain};
use crate::http::caller::Caller;
use crate::http::context::Context;
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
        let mut users = context.headers.get_all(&self.user_header).iter();
        let user = match (users.next(), users.next()) {
            (None, _) => return Ok(None),
            (Some(user), None) => user.to_str().map(str::trim).ok().filter(|user| is_plain(user)),
            (Some(_), Some(_)) => None,
        };
        let user = user.ok_or("the proxy's header does not name one user")?;
        let mut groups = BTreeSet::new();
        for value in context.headers.get_all(&self.groups_header) {
            let value = value.to_str().map_err(|_| "the proxy's header of groups is no text")?;
            for group in value.split(',').map(str::trim).filter(|group| !group.is_empty()) {
                if !is_path(group) || groups.len() >= GROUPS_MAX {
                    return Err("the proxy's header does not list paths of groups, or too many");
                }
                groups.insert(group.to_owned());
            }
        }
        let is_in = |some: &BTreeSet<String>| some.iter().any(|group| groups.contains(group));
        let (admin, none) = (is_in(&self.admins), [] as [&str; 0]);
        let writes: Vec<_> = groups.intersection(&self.write_groups).collect();
        Ok(Some(Caller {
            user: Some(user.to_owned()),
            member: Membership::new(none, &groups),
            everything: admin || is_in(&self.readers),
            write: admin || !writes.is_empty(),
            writes: Membership::new(none, writes),
            writes_everything: admin,
            // A browser sends what the proxy knows it by from anywhere.
            method: AuthenticationMethod::Proxy,
            ..Caller::named(&format!("proxy:{user}"))
        }))
    }
}
