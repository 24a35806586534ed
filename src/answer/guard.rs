//! Decides what may be sent to whom, so that nobody can flood others through the server.

use crate::bounded::{Bounded, Budget};
use std::net::IpAddr;

/// Maximum number of addresses that are remembered; the oldest is forgotten, and begins anew.
const MAX_ADDRESSES: usize = 4_096;

/// Whether an address is this machine's own, so that no stranger can forge it.
pub fn is_own(ip: IpAddr) -> bool {
    ip.to_canonical().is_loopback()
}

/// What has come from an address and may be sent to it.
#[derive(Clone, Copy, Debug, Default)]
struct Account {
    /// It has returned its challenge.
    proven: bool,
    /// Bytes of payload that have come and were not answered by as many.
    bytes: u64,
    /// Datagrams, likewise.
    datagrams: u64,
}

/// The accounts of all addresses.
#[derive(Debug)]
pub struct Guard {
    is_own: fn(IpAddr) -> bool,
    has_challenge: bool,
    accounts: Bounded<IpAddr, Account, MAX_ADDRESSES>,
}

impl Guard {
    /// A guard without accounts. `is_own` says which addresses may be sent anything; without a challenge, all others are
    /// sent nothing.
    pub fn new(is_own: fn(IpAddr) -> bool, has_challenge: bool) -> Guard {
        Guard { is_own, has_challenge, accounts: Budget::default().into() }
    }

    /// Notes a datagram of so many bytes.
    pub fn receive(&mut self, from: IpAddr, bytes: usize) {
        if !(self.is_own)(from) {
            let account = self.account(from);
            account.bytes = account.bytes.saturating_add(bytes as u64);
            account.datagrams = account.datagrams.saturating_add(1);
        }
    }

    /// Notes that the address has returned its challenge.
    pub fn prove(&mut self, from: IpAddr) {
        if !(self.is_own)(from) {
            self.account(from).proven = true;
        }
    }

    /// Whether a datagram of so many bytes may be sent, which is then noted.
    pub fn may_send(&mut self, to: IpAddr, bytes: usize) -> bool {
        if (self.is_own)(to) {
            return true;
        }
        let has_challenge = self.has_challenge;
        let account = self.account(to);
        if account.proven {
            return true;
        }
        let left = account.bytes.checked_sub(bytes as u64).zip(account.datagrams.checked_sub(1));
        let Some((bytes, datagrams)) = left.filter(|_| has_challenge) else { return false };
        (account.bytes, account.datagrams) = (bytes, datagrams);
        true
    }

    fn account(&mut self, ip: IpAddr) -> &mut Account {
        self.accounts.get_or_insert(ip.to_canonical(), Account::default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STRANGER: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 1));
    const OTHER: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 2));
    const OWN: IpAddr = IpAddr::V4(std::net::Ipv4Addr::LOCALHOST);

    #[test]
    fn a_stranger_gets_no_more_than_it_sent_until_it_has_returned_its_challenge() {
        let mut guard = Guard::new(is_own, true);
        assert!(!guard.may_send(STRANGER, 0));
        guard.receive(STRANGER, 10);
        assert!(!guard.may_send(STRANGER, 11));
        assert!(guard.may_send(STRANGER, 10));
        assert!(!guard.may_send(STRANGER, 0), "one datagram came, and one was sent");
        guard.receive(STRANGER, 4);
        guard.receive(STRANGER, 4);
        assert!(guard.may_send(STRANGER, 8));
        assert!(!guard.may_send(STRANGER, 1));
        guard.prove(OTHER);
        assert!(!guard.may_send(STRANGER, 1));
        assert!(guard.may_send(OTHER, 60_000));
        assert!(guard.may_send(OWN, 60_000));
    }

    #[test]
    fn without_a_challenge_a_stranger_gets_nothing() {
        let mut guard = Guard::new(is_own, false);
        guard.receive(STRANGER, 1_000);
        assert!(!guard.may_send(STRANGER, 1));
        assert!(guard.may_send(OWN, 1));
    }

    #[test]
    fn an_address_that_was_forgotten_has_proven_nothing() {
        let mut guard = Guard::new(is_own, true);
        guard.receive(STRANGER, 100);
        guard.prove(STRANGER);
        for n in 0..=MAX_ADDRESSES as u32 {
            guard.receive(IpAddr::V4((0x0a00_0000 + n).into()), 1);
        }
        assert!(!guard.may_send(STRANGER, 1));
        guard.receive(STRANGER, 1);
        assert!(guard.may_send(STRANGER, 1));
        assert!(!guard.may_send(STRANGER, 1));
    }

    #[test]
    fn an_address_is_one_however_it_is_written() {
        assert!(
            is_own("::1".parse().expect("an address")) && is_own("127.9.9.9".parse().expect("an address"))
        );
        assert!(is_own("::ffff:127.0.0.1".parse().expect("an address")));
        let mut guard = Guard::new(is_own, true);
        guard.receive(STRANGER, 5);
        assert!(guard.may_send("::ffff:192.0.2.1".parse().expect("an address"), 5));
        assert!(!guard.may_send(STRANGER, 1));
    }
}
