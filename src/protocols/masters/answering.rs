//! What a right master answers: a list of one server, in the form of the request.

use super::SERVERS_REQUEST;
use crate::contract::answering::{Reply, Slot::Hex};

pub static REPLIES: &[Reply] = &[
    Reply::to(SERVERS_REQUEST, &[Hex("ffffffff 66 0a c0000222 6987 00*6")]).when(|p| p.starts_with(b"1")),
    Reply::to(SERVERS_REQUEST, &[Hex(r"ffffffff 'getserversExtResponse\' c0000222 6987 '\EOT' 000000")])
        .when(|p| p.starts_with(b"\xff\xff\xff\xffgetserversExt")),
    Reply::to(SERVERS_REQUEST, &[Hex(r"ffffffff 'getserversResponse\' c0000222 6987 '\EOT' 000000")])
        .when(|p| p.starts_with(b"\xff\xff\xff\xff") && !p.starts_with(b"\xff\xff\xff\xffgetserversExt")),
    Reply::to(SERVERS_REQUEST, &[Hex("ffffffff 64 0a c0000222 6987")]).when(|p| p.starts_with(b"c")),
    Reply::to(SERVERS_REQUEST, &[Hex("ffffffff 'servers ' c0000222 6987")]).when(|p| p.starts_with(b"query")),
];
