//! A datagram of one of the protocols, as reports and filters see it.

use crate::check::Finding;
use crate::contract::{Context, Decoded, Direction, Level, Listing, Pairing, Piece, Raised, Whole};
use crate::decode::{AnyListener, Coverage, Facts, Listener, Tree};
use crate::diagnosis::{self, Diagnosis, Examined};
use crate::net::{Datagram, Endpoint};
use crate::protocols::Id;
use crate::rule::Severity;

/// A datagram of one of the protocols, with the results of all stages.
#[derive(Debug)]
pub struct Packet<'a> {
    /// The datagram.
    pub datagram: &'a Datagram<'a>,
    /// The bytes that its fields and findings refer to: its payload, or the message that it completes together with
    /// other parts.
    pub bytes: &'a [u8],
    /// Its header as a part of a message, and the message if it completes one.
    pub piece: Option<&'a Piece>,
    /// Its protocol.
    pub id: Id,
    /// Index into the protocol's messages.
    pub message: u8,
    /// Index into the protocol's steps, if it is a request or an answer.
    pub step: u8,
    /// Which way it travels.
    pub direction: Direction,
    /// Confidence of the recognition.
    pub level: Level,
    /// Index of its server, or `crate::conversation::NONE`.
    pub server_index: u32,
    /// The server that was asked, if another endpoint answers, or translated addresses hide it.
    pub asked_server: Option<Endpoint>,
    /// How it belongs to an exchange.
    pub pairing: &'a Pairing,
    /// The results of decoding it.
    pub decoded: &'a Decoded<'a>,
    /// The report's own listener, with the fields that it has recorded.
    pub listener: &'a AnyListener,
    /// Rules that it breaks in view of earlier datagrams, whatever their severity for the user.
    pub raised: &'a Raised,
    /// The rules it breaks.
    pub findings: &'a [Finding],
    /// Number of further findings, which were only counted.
    pub more_findings: u32,
    /// What would make it fit, if it breaks rules and the report [wants](crate::report::Wants::diagnosis) to know.
    pub examined: &'a Examined,
    /// It is no message, but came in the place of an answer: its bytes are one field.
    pub unreadable: bool,
}

impl Packet<'_> {
    /// The client and the server, whichever of them sent it.
    #[inline]
    pub fn ends(&self) -> [Endpoint; 2] {
        self.direction.order([self.datagram.src, self.datagram.dst])
    }

    /// The server that its exchange and its findings belong to: the one that was asked, which may not be the one that
    /// answers, nor the one behind translated addresses.
    pub fn server(&self) -> Endpoint {
        self.asked_server.unwrap_or_else(|| self.ends()[1])
    }

    /// Name of the message.
    pub fn message_name(&self) -> &'static str {
        self.id.info().message_name(self.message)
    }

    /// What it says of game servers.
    #[inline]
    pub fn listing(&self) -> Option<Listing> {
        self.id.info().messages.get(usize::from(self.message))?.listing
    }

    /// The game server that tells a master of itself in it.
    pub fn told_server(&self) -> Option<Endpoint> {
        let Some(Listing::Heartbeat(port)) = self.listing() else { return None };
        let [server, _] = self.ends();
        Some(port(self.bytes).map_or(server, |port| Endpoint::of(server.ip(), port)))
    }

    /// The servers that a master lists in it.
    pub fn listed_servers(&self) -> Vec<Endpoint> {
        let Some(Listing::List(field)) = self.listing() else { return vec![] };
        let mut tree = Tree::default();
        self.decode_again(false, &mut tree);
        let listed = tree.nodes().iter().filter(|node| node.field == field);
        let addresses = listed.filter_map(|node| node.value(self.bytes)?.socket());
        addresses.map(|address| Endpoint::of(address.ip(), address.port())).collect()
    }

    /// What would make it fit, if that is known.
    pub fn diagnosis(&self) -> Option<&Diagnosis> {
        self.examined.diagnosis()
    }

    /// Whether its diagnosis explains a finding of it.
    pub(crate) fn explains(&self, finding: &Finding) -> bool {
        let is_serious = finding.severity > Severity::Note;
        let is_cause = diagnosis::is_reason(self.id, finding.rule, finding.minor)
            || self.message == self.id.info().unknown() && is_serious;
        is_cause && self.diagnosis().is_some()
    }

    /// The facts in it about its server, if it could be decoded and contains any.
    #[inline]
    pub fn facts(&self) -> Option<&Facts<'_>> {
        self.decoded.facts().filter(|facts| !facts.is_empty())
    }

    /// The tree of its fields, if the report has chosen [`AnyListener::Tree`].
    pub fn tree(&self) -> Option<&Tree> {
        if let AnyListener::Tree(tree) = self.listener { Some(tree) } else { None }
    }

    /// Its fields as an object in JSON, if the report has chosen [`AnyListener::Json`].
    pub fn object(&self) -> Option<&[u8]> {
        if let AnyListener::Json(json) = self.listener { Some(json.object()) } else { None }
    }

    /// The rules that were checked, if the report has chosen [`AnyListener::Coverage`].
    pub fn coverage(&self) -> Option<&Coverage> {
        if let AnyListener::Coverage(coverage) = self.listener { Some(coverage) } else { None }
    }

    /// The context for decoding it once more. `secrets` says whether passwords may be shown.
    fn context(&self, secrets: bool) -> Context {
        let Packet { message, direction, pairing, datagram, .. } = *self;
        let (asked, continues) = (pairing.asked(), pairing.continues());
        let missing = self.whole().map_or(datagram.cut as usize, Whole::missing);
        let layout = self.piece.map(|piece| piece.split.layout);
        Context { message, direction, asked, missing, continues, layout, secrets }
    }

    /// The message that it completes together with other parts.
    pub fn whole(&self) -> Option<&Whole> {
        self.piece?.whole.as_ref()
    }

    /// Decodes it once more into a tree, with passwords or without.
    pub(crate) fn decode_again(&self, secrets: bool, tree: &mut Tree) {
        self.decode_instead(self.bytes, secrets, tree);
    }

    /// Decodes other bytes as if it had these.
    pub(crate) fn decode_instead(&self, bytes: &[u8], secrets: bool, tree: &mut Tree) {
        // A fault that stops decoding is a finding of the packet already; the fields before it count.
        let message = Message { id: self.id, piece: self.piece, unreadable: self.unreadable };
        message.decode(bytes, &self.context(secrets), tree, &mut Decoded::default());
    }

    /// The offset of one of its bytes in the capture; `None` where it was reassembled or joined.
    pub fn file_offset(&self, at: u16) -> Option<u64> {
        self.datagram.file_offset(at).filter(|_| self.whole().is_none())
    }
}

/// What decoding a datagram of one of the protocols needs besides its bytes and its context.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Message<'a> {
    /// See [`Packet::id`].
    pub id: Id,
    /// See [`Packet::piece`].
    pub piece: Option<&'a Piece>,
    /// See [`Packet::unreadable`].
    pub unreadable: bool,
}

impl Message<'_> {
    /// Decodes it and reports it to the listener.
    #[inline(always)]
    pub fn decode<'b>(
        &self,
        bytes: &'b [u8],
        context: &Context,
        listener: &mut impl Listener,
        decoded: &mut Decoded<'b>,
    ) {
        let info = self.id.info();
        listener.begin();
        if let Some(piece) = self.piece {
            piece.report_joining(info, listener);
        }
        if self.unreadable {
            decoded.read_nothing(bytes, context, info.ends, listener);
        } else {
            self.id.dissect_to(bytes, context, listener, decoded);
        }
        listener.end();
    }
}
