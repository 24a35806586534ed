//! Which server of one capture is which of the other.

use super::answers::Seen;
use crate::net::Endpoint;
use crate::protocols::Id;
use std::collections::BTreeSet;

/// A server in one protocol.
pub type Key = (Endpoint, Id);

/// The servers that are compared.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Pairs {
    /// Those of both captures.
    pub both: Vec<(Key, Key)>,
    /// Those that are only in A, and only in B.
    pub only: [Vec<Key>; 2],
}

/// Pairs the servers of two captures: by endpoint and protocol, and where each capture has one host, by protocol and port, or by
/// protocol alone, because the same server may have another address.
pub fn pairs(a: &Seen, b: &Seen) -> Pairs {
    paired(keys(a), keys(b))
}

/// The servers of a capture, in order.
pub fn keys(seen: &Seen) -> BTreeSet<Key> {
    let asked = seen.case.ports().filter(|port| port.weight() > 0 && seen.case.is_target(port.endpoint));
    asked.map(|port| (port.endpoint, port.id)).filter(|key| seen.servers.contains_key(key)).collect()
}

fn paired(a: BTreeSet<Key>, b: BTreeSet<Key>) -> Pairs {
    let hosts = |keys: &BTreeSet<Key>| keys.iter().map(|(end, _)| end.host()).collect::<BTreeSet<_>>().len();
    let is_one_server = hosts(&a) == 1 && hosts(&b) == 1;
    let mut pairs = Pairs { both: vec![], only: [a, b].map(|keys| keys.into_iter().collect()) };
    take(&mut pairs, |a, b| a == b);
    if is_one_server {
        take(&mut pairs, |(a, id), (b, other)| id == other && a.port() == b.port());
        let [a, b] = pairs.only.clone();
        let alone = |keys: &[Key], id: Id| keys.iter().filter(|(_, other)| *other == id).count() == 1;
        take(&mut pairs, |(_, id), (_, other)| id == other && alone(&a, *id) && alone(&b, *id));
    }
    pairs.both.sort();
    pairs
}

/// Pairs those that are the same.
fn take(pairs: &mut Pairs, is_same: impl Fn(&Key, &Key) -> bool) {
    let [a, b] = &mut pairs.only;
    a.retain(|key| match b.iter().position(|other| is_same(key, other)) {
        Some(at) => {
            pairs.both.push((*key, b.remove(at)));
            false
        }
        None => true,
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: Endpoint = Endpoint::v4([192, 0, 2, 1], 7777);
    const MOVED: Endpoint = Endpoint::v4([192, 0, 2, 9], 7777);
    const OTHER_PORT: Endpoint = Endpoint::v4([192, 0, 2, 9], 7778);

    fn found(a: &[Key], b: &[Key]) -> Pairs {
        paired(a.iter().copied().collect(), b.iter().copied().collect())
    }

    #[test]
    fn a_server_that_has_moved_is_the_same_where_each_capture_has_one() {
        for moved in [A, MOVED, OTHER_PORT] {
            let pairs = found(&[(A, Id::Sqp)], &[(moved, Id::Sqp)]);
            assert_eq!(pairs.both, [((A, Id::Sqp), (moved, Id::Sqp))]);
            assert_eq!(pairs.only, [vec![], vec![]]);
        }
    }

    #[test]
    fn servers_of_several_hosts_are_paired_by_endpoint_alone() {
        let third = Endpoint::v4([192, 0, 2, 3], 7777);
        let pairs = found(&[(A, Id::Sqp), (third, Id::Sqp)], &[(MOVED, Id::Sqp), (third, Id::Sqp)]);
        assert_eq!(pairs.both, [((third, Id::Sqp), (third, Id::Sqp))]);
        assert_eq!(pairs.only, [vec![(A, Id::Sqp)], vec![(MOVED, Id::Sqp)]]);
    }

    #[test]
    fn another_protocol_is_another_server() {
        let pairs = found(&[(A, Id::Sqp)], &[(A, Id::A2s)]);
        assert_eq!((pairs.both.len(), pairs.only.map(|keys| keys.len())), (0, [1, 1]));
    }
}
