//! The same bytes in many forms, and the meaning of the text around them.

use super::{datagrams, digits, places};
use qdissect::capture::Time;
use qdissect::net::{Endpoint, parse};
use qdissect::pasted::{AssumedEndpoints, Form, Mark, Metadata, Piece, frames, read};
use qdissect::rule::hex;

/// The bytes of each datagram of a text without errors.
#[track_caller]
fn bytes(text: &str) -> Vec<String> {
    let pasted = read(text, None);
    assert_eq!(pasted.complaints, [], "{text}");
    pasted.pieces.iter().map(|piece| digits(&piece.bytes)).collect()
}

#[test]
fn digits_are_read_however_they_are_separated() {
    for line in [
        "d5f600",
        "D5 F6 00",
        "d5f6 00",
        "0xd5, 0xf6, 0x0",
        "0xd5f600",
        "d5:f6:00",
        "d5-f6-00",
        "\\xd5\\xf6\\x00",
        "\\xd5 \\xf6 \\x00",
        "  d5,f6,00,",
        "D5h F6h 00h",
        "d5|f6|00",
    ] {
        assert_eq!(bytes(line), ["d5f600"], "{line}");
    }
    for line in ["", "  ", "hello", "d5 f6 or so", "a\u{e9}"] {
        assert_eq!(bytes(line), [""; 0], "{line}");
    }
}

#[test]
fn text_columns_are_recognised_only_in_lines_up_to_the_limit() {
    let complaints =
        |row: usize| read(&format!("{}  {}", "70 ".repeat(row), "p".repeat(row)), None).complaints.len();
    assert_eq!([4, 127, 128].map(complaints), [0, 0, 1]);
    assert_eq!(read("70 70 70 70  pppq", None).complaints.len(), 1);
}

#[test]
fn lines_of_digits_are_wrapped_or_datagrams_of_their_own() {
    let read = |lengths: &[usize], between: &str| {
        let line = |len: &usize| vec!["d5"; *len].join(between);
        let text = lengths.iter().map(line).collect::<Vec<_>>().join("\n");
        read(&text, None).pieces.iter().map(|piece| piece.bytes.len()).collect::<Vec<_>>()
    };
    for own in [&[13, 64, 13, 64][..], &[8, 5], &[8, 8], &[40, 13, 40], &[5, 5, 8, 24, 5], &[1260, 1260, 805]]
    {
        assert_eq!(read(own, ""), own);
    }
    for (wrapped, datagrams) in [
        (&[30, 5][..], &[35][..]),
        (&[5, 30, 5, 30, 30, 1], &[5, 35, 61]),
        (&[16, 16, 5], &[37]),
        (&[64, 13], &[77]),
        (&[13, 64, 64, 2], &[13, 130]),
        (&[256, 256, 1], &[513]),
    ] {
        assert_eq!(read(wrapped, ""), datagrams, "{wrapped:?}");
    }
    for (lengths, datagrams) in [
        (&[8, 5][..], &[13][..]),
        (&[8, 8, 5, 8, 8, 1], &[21, 17]),
        (&[5, 16, 9, 16], &[5, 25, 16]),
        (&[8, 5, 8], &[8, 5, 8]),
        (&[13, 64, 13, 64], &[13, 64, 13, 64]),
    ] {
        assert_eq!(read(lengths, " "), datagrams, "{lengths:?}");
    }
}

#[test]
fn a_damaged_line_gives_what_stands_before_the_damage() {
    for (line, expected, column, words) in [
        ("d5 f6 00 0g 01", "d5f600", 10, "not \"0g\""),
        ("d5f60001zzd5f60001d5f60001d5f60001", "d5f60001", 9, "not \"zzd5f60001d5\""),
        ("d5 f60 01", "d5f601", 6, "An odd number of hex digits, 3,"),
        ("0000  d5 f6 0g 01 d5 f6 00 01 a5", "d5f6", 13, "not \"0g\""),
    ] {
        let pasted = read(line, None);
        assert_eq!(
            (digits(&pasted.pieces[0].bytes).as_str(), places(line)),
            (expected, vec![(1, column)]),
            "{line}"
        );
        assert!(pasted.complaints[0].what.contains(words), "{line}: {}", pasted.complaints[0].what);
    }
    let word = read("DEBUG d5 f6 00 01", None);
    assert_eq!((word.pieces.len(), word.complaints.len()), (0, 1));
    for line in [
        "This is what I get:",
        "a bad day to add 10 20",
        "02:00:5e:00:53:01 > 02:00:5e:00:53:10, ethertype IPv4 (0x0800)",
    ] {
        assert_eq!(bytes(line), [""; 0], "{line}");
    }
}

#[test]
fn rows_of_dumps_end_where_the_characters_begin() {
    for (row, expected) in [
        ("00000000: 6162 6364                                abcd", "61626364"),
        ("00000000: 4142 4344 4546 4748  ABCDEFGH", "4142434445464748"),
        ("00000000: 41 42 43 44 45 46 47 48  41424344", "4142434445464748"),
        ("0000  61 62 20 61 62   ab ab", "6162206162"),
        ("00000000  61 62 20 61 62                                    |ab ab|", "6162206162"),
        ("000000 61 62 20 61 62                                   >ab ab<", "6162206162"),
        // the gap in the middle
        ("00000000  41 42 43 44 45 46 47 48  49 4a", "4142434445464748494a"),
        (
            "00000000: 00 5B 68 65 78 64 75 6D  70 5D 00 00 00 00 00 00  .[hexdump]......",
            "005b68657864756d705d000000000000",
        ),
        // words without a colon have their low byte first
        ("0000000 f6d5 0100 00a5                         ", "d5f60001a500"),
        ("0000000    f6d5    0100    00a5", "d5f60001a500"),
        ("000000 0100f6d5", "d5f60001"),
        ("00000000: d5f60001 a5", "d5f60001a5"),
        // data, and no offset
        ("d5f6 0001", "d5f60001"),
        ("d5f60001", "d5f60001"),
        ("0xd5f6 0x0001", "d5f60001"),
        ("00000000 d5f60001", "00000000d5f60001"),
        ("d5f6:0001", "d5f60001"),
    ] {
        assert_eq!(bytes(row), [expected], "{row}");
    }
    let tcpdump = read("\t0x0000:  6162 2061 62                             ab.ab", None);
    assert_eq!(digits(&tcpdump.pieces[0].bytes), "6162206162");
}

#[test]
fn rows_that_are_elsewhere_are_gaps_repetitions_or_other_dumps() {
    let row = "00 01 02 03 04 05 06 07 08 09 0a 0b 0c 0d 0e 0f";
    let all = "000102030405060708090a0b0c0d0e0f";
    let second = |offset: &str| {
        let text = format!("00000000: {row}\n00000010: {row}\n{offset}: aa bb\n");
        let pasted = read(&text, None);
        let pieces = pasted.pieces.iter().map(|p| (digits(&p.bytes), p.missing)).collect::<Vec<_>>();
        (pieces, pasted.complaints.iter().map(|c| c.line).collect::<Vec<_>>())
    };
    let two = all.to_owned() + all;
    assert_eq!(second("00000020"), (vec![(two.clone() + "aabb", 0)], vec![]));
    assert_eq!(second("00000030"), (vec![(two.clone(), 18)], vec![3]));
    assert_eq!(second("00000018"), (vec![(two[..48].to_owned() + "aabb", 0)], vec![2]));
    assert_eq!(second("00000000"), (vec![(two.clone(), 0), ("aabb".into(), 0)], vec![]));
    assert_eq!(second("00000010"), (vec![(two.clone(), 0), ("aabb".into(), 0)], vec![3]));
    assert_eq!(second("ffffffffffffffff"), (vec![(two, 65_475)], vec![3]));
    // The base of the offsets is recognised at the next row.
    for next in ["0000010", "0000020", "0000016"] {
        assert_eq!(bytes(&format!("0000000 {row}\n{next} aa bb\n")), [all.to_owned() + "aabb"], "{next}");
    }
}

#[test]
fn a_star_stands_for_no_more_than_fits_into_a_datagram() {
    for (end, missing, complaints) in [("000100f8", 0, 1), ("10000000", 65_501, 1)] {
        let pasted = read(&format!("00000000: 00 01 02 03 04 05\n*\n{end}: 06\n"), None);
        let piece = &pasted.pieces[0];
        assert_eq!((piece.missing, pasted.complaints.len()), (missing, complaints), "{end}");
        assert_eq!(piece.bytes.len(), if missing == 0 { 65_507 } else { 6 });
    }
}

#[test]
fn arrays_of_many_languages() {
    for text in [
        "unsigned char x[] = {0xd5, 0xf6, 0x00};",
        "unsigned char x[3] = {\n  0xd5, 0xf6,\n  0x0\n};",
        "/* a */ {0xd5, /* .}. */ 0xf6, // ]\n 0x00}",
        "let x: [u8; 3] = [0xd5, 0xf6, 0x00];",
        "x := []byte{0xd5, 0xf6, 0x00}",
        "x := [3]byte{0xd5, 0xf6, 0x00}",
        "new byte[] { 0xD5, 0xF6, 0x00 }",
        "new byte[] { (byte)0xD5, (byte)0xF6, 0x00 }",
        "[213, 246, 0]",
        "[-43, -10, 0]",
        "[d5, f6, 00]",
        "[0xd5u8, 0xf6u8, 0u8]",
        "Uint8Array(3) [ 213, 246, 0 ]",
        "{\"type\":\"Buffer\",\"data\":[213,246,0]}",
        "<Buffer d5 f6 00>",
        "list: {0xd5, 0b11110110, 0o0}",
    ] {
        // A comment before the list applies to the whole line.
        let text = text.trim_start_matches("/* a */ ");
        assert_eq!(bytes(text), ["d5f600"], "{text}");
    }
    assert_eq!(bytes("[01, 02, 10]"), ["010210"]);
    assert_eq!(bytes("[1, 2, 10]"), ["01020a"]);
    assert_eq!(bytes("{'i', 4}"), ["6904"]);
    assert_eq!(bytes(r"{'\xff', b'T', ' ', ',', '\0'}"), ["ff54202c00"]);
    for text in
        ["[UDP] 127.0.0.1", "[13]", "x[60]", "[2026-11-20 10:32:02] sent", "don't, it's", "{ a, b }", "[] {}"]
    {
        assert_eq!(bytes(text), [""; 0], "{text}");
    }
}

#[test]
fn invalid_and_omitted_list_elements_are_reported() {
    for (text, expected, missing, column) in [
        ("[213, 300, 0, 1]", "d50001", 0, 7),
        ("<Buffer d5 f6 ... 12 more bytes>", "d5f6", 12, 15),
        ("[ 213, 246, ... 12 more items ]", "d5f6", 12, 13),
        ("{0xd5, 0xf6", "d5f6", 0, 1),
    ] {
        let pasted = read(text, None);
        let piece = &pasted.pieces[0];
        assert_eq!((digits(&piece.bytes).as_str(), piece.missing), (expected, missing), "{text}");
        assert_eq!(places(text), [(1, column)], "{text}");
    }
}

#[test]
fn a_comment_that_is_too_long_is_words_of_the_list() {
    for [open, close] in [["/*", "*/"], ["//", "\n"], ["#", "\n"]] {
        let list = |len: usize| format!("x = {{0xd5, {open}{}{close} 0xf6}}", "x".repeat(len));
        assert_eq!(bytes(&list(4096)), ["d5f6"], "{open}");
        let pasted = read(&list(4097), None);
        assert!(
            pasted.pieces[0].bytes == [0xd5, 0xf6] && !pasted.complaints.is_empty(),
            "{open}: it is said"
        );
    }
}

#[test]
fn strings_with_escapes_of_several_languages() {
    for (text, expected) in [
        (r"b'\xd5\xf6\x00ab'", "d5f6006162"),
        (r#""\0\12\177\e\n\\\"""#, "000a7f1b0a5c22"),
        (r#""\u00d5""#, "d5"),
        ("b'status'", "737461747573"),
        (r#"b"\x69'\x04""#, "692704"),
        ("bytes.fromhex('d5 f6 00')", "d5f600"),
        ("\"d5f600\"", "d5f600"),
        ("Buffer.from('d5f600', 'hex')", "d5f600"),
        ("unhexlify(b'd5f600')", "d5f600"),
        ("atob('1fYA')", "d5f600"),
        ("Buffer.from('1fYA', 'base64')", "d5f600"),
        // an expression goes on
        ("\"\\xd5\\xf6\" \\\n\"\\x00\"", "d5f600"),
        ("x = (b'\\xd5'\n     b'\\xf6\\0')", "d5f600"),
        (">>> b'\\xd5\\xf6'", "d5f6"),
        // without quotes
        (r"\xff\xff\x49\x11Harbour\x00b\x00", "ffff4911486172626f7572006200"),
        (r"\xff\xff\x49Harbour\x00", "ffff49486172626f757200"),
        // Lua, PostgreSQL, Snort
        (r#""\255\255\255\255T\0""#, "ffffffff5400"),
        (r#""\184\9""#, "b809"),
        (r#""\\8\12""#, "5c380a"),
        (r"'\xd5f60001'", "d5f60001"),
        ("content:\"|ff ff|info|0a|\"; depth:2;", "ffff696e666f0a"),
    ] {
        assert_eq!(bytes(text), [expected], "{text}");
    }
    assert_eq!(bytes("b'\\xd5'\nb'\\xf6'"), ["d5", "f6"], "each printed for itself");
    for text in ["\"name\"", "'it is'", "don't do 'that", "\"be\"", "\"\""] {
        assert_eq!(bytes(text), [""; 0], "{text}");
    }
    let escapes = read(r"'a\q\xg0'", None);
    assert_eq!(
        (escapes.pieces[0].bytes.as_slice(), places(r"'a\q\xg0'")),
        (&b"aqxg0"[..], vec![(1, 3), (1, 5)])
    );
}

#[test]
fn base64_in_both_alphabets_and_no_words() {
    // RFC 4648 section 10.
    let forced = |text: &str| read(text, Some(Form::Base64));
    for (text, bytes) in [
        ("Zg==", &b"f"[..]),
        ("Zm8=", b"fo"),
        ("Zm9v", b"foo"),
        ("Zm9vYg==", b"foob"),
        ("Zm9vYmE", b"fooba"),
        ("+/-_", &[0xfb, 0xff, 0xbf]),
    ] {
        assert_eq!(forced(text).pieces[0].bytes, bytes, "{text}");
    }
    for text in ["=", "A", "AAAAA", "AA=", "AAA==", "AAAA====", "AB==", "A A=", "A\u{e9}="] {
        assert_eq!((forced(text).pieces.len(), forced(text).complaints.len()), (0, 1), "{text}");
    }
    for word in ["response", "Response", "challenge", "Satisfactory", "ServerQuery", "a/b/c/de", "gamedig1"] {
        assert_eq!(bytes(word), [""; 0], "{word}");
    }
    for text in ["AAAAAAA=", "1fYAAaWcQ4TxRt8IAQ==", "1fYAAaWcQ4Tx", "AAECAwQF"] {
        assert_eq!(bytes(text).len(), 1, "{text}");
    }
}

/// The head of the only datagram of a text.
fn metadata(text: &str) -> Metadata {
    let pasted = read(text, None);
    assert_eq!((pasted.pieces.len(), pasted.complaints.len()), (1, 0), "{text}");
    pasted.pieces[0].metadata
}

#[test]
fn marks_before_bytes_determine_the_direction() {
    for (line, mark) in [
        ("> d5 f6", Some(Mark::ToServer)),
        ("<- d5f6", Some(Mark::FromServer)),
        ("→ d5f6", Some(Mark::ToServer)),
        ("C: d5 f6", Some(Mark::ToServer)),
        ("server: d5 f6", Some(Mark::FromServer)),
        ("[10:32:00.5] TX d5 f6", Some(Mark::Sent)),
        ("request = b'x\\x00'", Some(Mark::ToServer)),
        ("in: d5", Some(Mark::Received)),
        ("> server response: d5", Some(Mark::FromServer)),
        ("client <- server: d5", Some(Mark::FromServer)),
        ("C->S d5 f6", Some(Mark::ToServer)),
        ("S → C: d5 f6", Some(Mark::FromServer)),
        ("to server d5 f6", Some(Mark::ToServer)),
        ("from the server d5 f6", Some(Mark::FromServer)),
        ("received from server: d5 f6 00 01", Some(Mark::FromServer)),
        ("client received: d5 f6 00 01", Some(Mark::FromServer)),
        ("char peer1_0[] = {0xd5, 0xf6}", Some(Mark::FromServer)),
        ("unsigned char request[13] = {0xd5, 0xf6}", Some(Mark::ToServer)),
        ("let x = [0xd5, 0xf6]", None),
        (">>> [0xd5, 0xf6]", None),
        ("<Buffer d5>", None),
        ("d5 f6", None),
        ("c2 5f", None),
        ("00:00:00:00:00", None),
        ("Data: d5", None),
    ] {
        assert_eq!(metadata(line).mark, mark, "{line}");
    }
}

#[test]
fn text_lines_determine_the_direction_of_the_bytes_below() {
    for (line, expected) in [
        ("Request (13 bytes):", Some(Mark::ToServer)),
        ("# server response", Some(Mark::FromServer)),
        ("// client -> server", Some(Mark::ToServer)),
        ("Received 52 bytes:", Some(Mark::Received)),
        ("--- sent ---", Some(Mark::Sent)),
        ("response", Some(Mark::FromServer)),
        ("server query:", Some(Mark::ToServer)),
        ("This is what I get from the server:", None),
        ("->", Some(Mark::ToServer)),
        ("server->client", Some(Mark::FromServer)),
        ("server <- client:", Some(Mark::ToServer)),
        ("S -> C", Some(Mark::FromServer)),
        ("C->S", Some(Mark::ToServer)),
        ("13 bytes to server", Some(Mark::ToServer)),
        ("Sent to the client:", Some(Mark::FromServer)),
        ("received from the client", Some(Mark::ToServer)),
        ("client received", Some(Mark::FromServer)),
        ("When I connect to the server, this is what comes:", None),
        ("To whom it may concern:", None),
        ("I am logged in:", None),
    ] {
        assert_eq!(metadata(&format!("{line}\nd5f60001\n")).mark, expected, "{line}");
    }
}

#[test]
fn ends_are_read_with_their_order() {
    let (a, b) = (Endpoint::v4([198, 51, 100, 21], 56417), Endpoint::v4([192, 0, 2, 10], 7777));
    let ends = |line: &str| metadata(&format!("{line}\nd5f60001\n"));
    let tcpdump = ends("10:32:00.614506 IP 198.51.100.21.56417 > 192.0.2.10.7777: UDP, length 5");
    assert_eq!((tcpdump.src, tcpdump.dst, tcpdump.mark), (Some(a), Some(b), None));
    assert_eq!(tcpdump.time, Some(Time::from_nanos(37_920_614_506_000)));
    let left = ends("192.0.2.10:7777 <- 198.51.100.21:56417");
    assert_eq!((left.src, left.dst), (Some(a), Some(b)));
    let v6 = ends("[2001:db8::1]:9 → [2001:db8::2]:10");
    assert_eq!(v6.dst.map(|e| e.to_string()).as_deref(), Some("[2001:db8::2]:10"));
}

#[test]
fn time_stamps_of_all_kinds() {
    let nanos = |stamp: &str| metadata(&format!("{stamp} sent: d5f60001")).time.and_then(Time::nanos);
    for stamp in [
        "2026-11-20T10:32:02.380Z",
        "2026-11-20 10:32:02.380",
        "[2026-11-20 10:32:02,380]",
        "2026-11-20T11:32:02.380+01:00",
        "2026/11/20 10:02:02.380-0030",
        "1795170722.380",
    ] {
        assert_eq!(nanos(stamp), Some(1_795_170_722_380_000_000), "{stamp}");
    }
    assert_eq!(nanos("10:32:02"), Some(37_922_000_000_000));
    for stamp in ["10:32:02:01", "2026-13-40 10:32:02", "99:99:99", "d5:f6:00", "1795170722", "\u{e9}"] {
        let pasted = read(&format!("{stamp} sent: d5f60001"), None);
        assert!(pasted.pieces.iter().all(|piece| piece.metadata.time.is_none()), "{stamp}");
    }
}

const POLL: &str = "d5f60001 a59c4384f146df08 01";
const STATE: &str = "d5f60101 a59c4384f146df08 03 e5650600 0000000000000000 00 0100 41 01";

fn piece(mark: Option<Mark>, payload: &str) -> Piece {
    let metadata = Metadata { mark, ..Metadata::default() };
    Piece { bytes: hex(payload), missing: 0, metadata, packet: None }
}

/// Ports that the datagrams come from.
fn from(pieces: &[Piece]) -> Vec<u16> {
    let frames = frames(pieces, AssumedEndpoints::default());
    frames.iter().map(|shot| parse(&shot.frame(1)).expect("a datagram").src.port()).collect()
}

#[test]
fn the_text_decides_the_direction_before_the_content_does() {
    let marked = [piece(Some(Mark::ToServer), "00"), piece(Some(Mark::FromServer), "00")];
    assert_eq!(from(&marked), [40_000, 7777]);
    assert_eq!(from(&[piece(None, STATE), piece(None, POLL)]), [7777, 40_000]);
    assert_eq!(from(&[piece(None, POLL), piece(None, "ffff")]), [40_000, 7777], "it answers");
    // A message of SA-MP with the port of the assumed server.
    let samp = [piece(None, "53414d50c000020a611e69"), piece(None, "53414d50c000020a611e690003003200")];
    assert_eq!(from(&samp), [40_000, 7777]);
}

#[test]
fn sent_may_mean_sent_by_the_server() {
    let [sent, received] = [Some(Mark::Sent), Some(Mark::Received)];
    assert_eq!(from(&[piece(sent, POLL), piece(received, STATE)]), [40_000, 7777]);
    assert_eq!(from(&[piece(received, POLL), piece(sent, STATE)]), [40_000, 7777]);
    assert_eq!(from(&[piece(sent, "ffff"), piece(received, "ffff")]), [40_000, 7777]);
}

#[test]
fn time_goes_on_from_the_stamps() {
    const STEP: i64 = 1_000_000;
    let mut pieces = [piece(None, POLL), piece(None, STATE), piece(None, POLL), piece(None, STATE)];
    let times = |pieces: &[Piece]| {
        let frames = frames(pieces, AssumedEndpoints::default());
        frames.iter().map(|frame| frame.time.nanos().expect("known") / STEP).collect::<Vec<_>>()
    };
    assert_eq!(times(&pieces), [0, 1, 2, 3]);
    pieces[2].metadata.time = Some(Time::from_nanos(500 * STEP));
    assert_eq!(times(&pieces), [498, 499, 500, 501]);
}

#[test]
fn ends_that_the_text_names_are_kept() {
    let server = Endpoint::v6([0x20; 16], 9000);
    let mut asked = piece(Some(Mark::ToServer), POLL);
    asked.metadata.dst = Some(server);
    let shot = frames(&[asked], AssumedEndpoints::default()).remove(0);
    let d = shot.frame(1);
    let d = parse(&d).expect("a datagram");
    assert_eq!((d.dst, d.src.to_string().as_str()), (server, "[2001:db8::1]:40000"));
}

#[test]
fn endpoints_are_searched_up_to_the_limits() {
    let end = Endpoint::v4([192, 0, 2, 1], 7);
    let words = |before: usize| read(&format!("{}to 192.0.2.1:7\nd5f6\n", "word ".repeat(before)), None);
    assert_eq!([20, 30, 31].map(|before| words(before).pieces[0].metadata.dst), [Some(end), Some(end), None]);
    let blanks = |n: usize| read(&format!("b'\\xd5\\xf6'{}('192.0.2.1', 7)", " ".repeat(n)), None);
    assert_eq!([1, 180, 200].map(|n| blanks(n).pieces[0].metadata.peer), [Some(end), Some(end), None]);
}

#[test]
fn lines_of_a_log_are_datagrams_of_their_own() {
    let line = "[DEBUG] d5f60001a59c4384d5f60001a59c4384\n";
    assert_eq!(datagrams(&line.repeat(2)).len(), 2);
}
