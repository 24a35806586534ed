//! Pasted texts, their bytes, and the places that cannot be read.

/// A poll of Satisfactory, a challenge of SQP and its answer.
const POLL: &str = ">d5f60001a59c4384f146df0801";
const INFO: &str = "<0195bd447e00010000003700000033000b0020094555205765737420310f5465616d2044656174686d6174636809323032362e31312e310848696768726973651e64";
const FOUR: &[&str] = &[">0000000000", "<0095bd447e", ">0195bd447e000101", INFO];
const ZEROS: &str = ">d5f60001a59c43840000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000061626364";

/// Texts that are read to the last byte.
pub const LINES: &[(&str, &[&str])] = &[
    // plain digits
    ("d5f60001a59c4384f146df0801", &[POLL]),
    ("D5F60001A59C4384F146DF0801\n", &[POLL]),
    ("d5 f6 00 01 a5 9c 43 84 f1 46 df 08 01", &[POLL]),
    ("d5f6 0001 a59c 4384 f146 df08 01", &[POLL]),
    ("d5:f6:00:01:a5:9c:43:84:f1:46:df:08:01", &[POLL]),
    ("D5-F6-00-01-A5-9C-43-84-F1-46-DF-08-01", &[POLL]),
    ("0xd5 0xf6 0x00 0x01 0xa5 0x9c 0x43 0x84 0xf1 0x46 0xdf 0x08 0x1", &[POLL]),
    ("0xd5f60001a59c4384f146df0801", &[POLL]),
    ("d5,f6,00,01,a5,9c,43,84,f1,46,df,08,01", &[POLL]),
    ("\\xd5\\xf6\\x00\\x01\\xa5\\x9c\\x43\\x84\\xf1\\x46\\xdf\\x08\\x01", &[POLL]),
    ("d5 f6 00 01 a5 9c 43 84\nf1 46 df 08 01\n", &[POLL]),
    ("d5:f6:00:01:a5:9c:43:84:\nf1:46:df:08:01\n", &[POLL]),
    // a time of day, or bytes that look like one
    ("10:00:00\n", &[">100000"]),
    ("d5:f6:00:01:\n10:00:00\n", &[">d5f60001100000"]),
    ("d5,f6,00,01,\n10:00:00\n", &[">d5f60001100000"]),
    ("10:00:00\nd5:f6:00:01\n", &[">d5f60001"]),
    ("d5:f6:00:01\n10:00:01\nd5:f6:00:02\n", &[">d5f60001", ">d5f60002"]),
    ("10:00:00 d5 f6\n", &[">d5f6"]),
    ("d5 f6 00 01 a5 9c 43 84 f1 46 df 08 01  # a poll", &[POLL]),
    ("payload: d5f60001a59c4384f146df0801", &[POLL]),
    // one a line, and one a paragraph
    ("0000000000\n0195bd447e000101\n", &[">0000000000", ">0195bd447e000101"]),
    ("d5f6\n\nd5f6\n", &[">d5f6", "<d5f6"]),
    ("d5f6\n# another\nd5f6\n", &[">d5f6", "<d5f6"]),
    // base64 that begins like a comment
    ("/////1RTb3VyY2UgRW5naW5lIFF1ZXJ5AA==", &[">ffffffff54536f7572636520456e67696e6520517565727900"]),
    ("payload: /////2k=", &[">ffffffff69"]),
    ("/////1X/////", &[">ffffffff55ffffffff"]),
    ("_____1X_____\n/////2dldHN0YXR1cw\n", &[">ffffffff55ffffffff", ">ffffffff676574737461747573"]),
    ("////////////\n// serverResponse\n//serverResponse\n/////SectionOne\nd5f6\n", &[">d5f6"]),
    // strings of one expression
    (
        "\"\\xff\\xff\\xff\\xffT\" \"Source Engine Query\" \"\\x00\"",
        &[">ffffffff54536f7572636520456e67696e6520517565727900"],
    ),
    (
        "\"\\xff\\xff\\xff\\xff\"\n  \"TSource Engine Query\\0\"\n",
        &[">ffffffff54536f7572636520456e67696e6520517565727900"],
    ),
    ("\"SAMP\" \"\\x7f\\x00\"\n", &[">53414d507f00"]),
    // as Go prints bytes
    ("[255 255 255 255 105]", &[">ffffffff69"]),
    ("[ff ff ff ff 69]", &[">ffffffff69"]),
    ("[1 2 3]\nd5f6", &[">d5f6"]),
    // quoted as a whole
    ("> 0000000000\n>\n> 0095bd447e\n", &[">0000000000", "<0095bd447e"]),
    (">\n> x = {0xd5,\n>   0xf6}\n", &[">d5f6"]),
    // directions
    ("> 0000000000\n< 0095bd447e\n", &[">0000000000", "<0095bd447e"]),
    ("-> 0000000000\n<- 0095bd447e\n", &[">0000000000", "<0095bd447e"]),
    ("→ 0000000000\n← 0095bd447e\n", &[">0000000000", "<0095bd447e"]),
    ("C: 0000000000\nS: 0095bd447e\n", &[">0000000000", "<0095bd447e"]),
    ("client: 00 00 00 00 00\nserver: 00 95 bd 44 7e\n", &[">0000000000", "<0095bd447e"]),
    ("Request:\n0000000000\nResponse:\n0095bd447e\n", &[">0000000000", "<0095bd447e"]),
    ("10:00:00.1 TX 0000000000\n10:00:00.2 RX 0095bd447e\n", &[">0000000000", "<0095bd447e"]),
    ("[2026-11-20 10:00:00] sent: 00 00 00 00 00\n", &[">0000000000"]),
    (
        "2026-11-20 10:32:00.1 DEBUG sent 5 bytes: 00 00 00 00 00\n[INFO] net: received: 0095bd447e\n",
        &[">0000000000", "<0095bd447e"],
    ),
    ("out: 0000000000\nin: 0095bd447e\n", &[">0000000000", "<0095bd447e"]),
    ("# client -> server\n0000  00 00 00 00 00   .....\n", &[">0000000000"]),
    ("192.0.2.9:40000 -> 192.0.2.1:7777\n0000000000\n", &[">0000000000"]),
    // dumps
    ("00000000: d5f6 0001 a59c 4384 f146 df08 01         ......C..F...\n", &[POLL]),
    ("0000  d5 f6 00 01 a5 9c 43 84  f1 46 df 08 01  ......C..F...\n", &[POLL]),
    ("0000 d5 f6 00 01 a5 9c 43 84\n0008 f1 46 df 08 01\n", &[POLL]),
    ("> 0000  d5 f6 00 01 a5 9c 43 84\n> 0008  f1 46 df 08 01\n", &[POLL]),
    ("0000  41 42\n0000  43 44\n", &[">4142", "<4344"]),
    ("00000000: 6162 2061 62                             ab ab\n", &[">6162206162"]),
    ("0x00000000  d5f6 0001 a59c 4384 f146 df08 01         ......C..F...\n", &[POLL]),
    ("0000 61 62 63 64 abcd\n", &[">61626364"]),
    ("00000000: 00000000 00000000  ........\n", &[">0000000000000000"]),
    // the last line of hexdump and od, quoted as a whole
    ("> 00000000  d5 f6 00 01 a5 9c 43 84  f1 46 df 08 01           |......C..F...|\n> 0000000d\n", &[POLL]),
    // od -t x4 fills the last word up
    ("0000000 0100f6d5 84439ca5 08df46f1 00000001\n0000015\n", &[POLL]),
    // the columns are named, as by PowerShell and HxD
    (
        "           00 01 02 03 04 05 06 07 08 09 0A 0B 0C 0D 0E 0F\n\n\
         00000000   D5 F6 00 01 A5 9C 43 84 F1 46 DF 08 01           ......C..F...\n",
        &[POLL],
    ),
    ("Offset(h) 00 01 02 03 04 05 06 07\n\n00000000  D5 F6 00 01\n", &[">d5f60001"]),
    ("00 01 02 03 04 05 06 07\n", &[">0001020304050607"]),
    // the marks of `qdissect dump -x`
    ("0000  d5 f6 00 01 a5 9c 43 84\n      ^^ ^^\n0008  f1 46 df 08 01\n", &[POLL]),
    // hexdump -x
    ("0000000    f6d5    0100    9ca5    8443    46f1    08df    0001        \n000000d\n", &[POLL]),
    // tcpdump -e -x: Ethernet addresses are no bytes of a datagram
    (
        "22:13:20.000000 02:00:00:00:00:01 > 02:00:00:00:00:02, ethertype IPv4 (0x0800), length 55: \
         192.0.2.9.40000 > 192.0.2.1.7777: UDP, length 13\n\
         \t0x0000:  4500 0029 0000 0000 4011 f6b9 c000 0209\n\
         \t0x0010:  c000 0201 9c40 1e61 0015 30af d5f6 0001\n\
         \t0x0020:  a59c 4384 f146 df08 01\n",
        &[POLL],
    ),
    // blanks collapsed: the next offset tells where the characters began
    ("0000 61 62 63 64 ab cd\n0004 65 66 67 68   efgh\n", &[">6162636465666768"]),
    // as debuggers and other viewers print them
    (
        "00007FF6A1230000  D5 F6 00 01 A5 9C 43 84  F1 46 DF 08 01 00 00 00  ......C..F......\n\
         00007FF6A1230010  04 00 61 62                                      ..ab\n",
        &[">d5f60001a59c4384f146df080100000004006162"],
    ),
    (
        "0x7fffffffe310:\t0xd5\t0xf6\t0x00\t0x01\t0xa5\t0x9c\t0x43\t0x84\n\
         0x7fffffffe318:\t0xf1\t0x46\t0xdf\t0x08\t0x01\n",
        &[POLL],
    ),
    ("0x404010 <buf>:\t0xd5\t0xf6\n0x404012 <buf+2>:\t0x00\t0x01\n", &[">d5f60001"]),
    (
        "┌────────┬─────────────────────────┬─────────────────────────┬────────┬────────┐\n\
         │00000000│ d5 f6 00 01 a5 9c 43 84 ┊ f1 46 df 08 01          │××⋄•××C×┊×F×••   │\n\
         └────────┴─────────────────────────┴─────────────────────────┴────────┴────────┘\n",
        &[POLL],
    ),
    (
        "         +-------------------------------------------------+\n         \
         |  0  1  2  3  4  5  6  7  8  9  a  b  c  d  e  f |\n\
         +--------+-------------------------------------------------+----------------+\n\
         |00000000| d5 f6 00 01 a5 9c 43 84 f1 46 df 08 01          |......C..F...   |\n",
        &[POLL],
    ),
    ("[0000]   D5 F6 00 01 A5 9C 43 84   F1 46 DF 08 01             ......C. .F...\n", &[POLL]),
    (" | 00000  d5 f6 00 01 a5 9c 43 84  f1 46 df 08 01           ......C..F...    |\n", &[POLL]),
    (
        "U 198.51.100.9:40000 -> 192.0.2.1:7777 #1\n  \
         d5 f6 00 01 a5 9c 43 84    f1 46 df 08 01 00 00 00    ......C..F......\n  \
         04 00 61 62                                            ..ab            \n",
        &[">d5f60001a59c4384f146df080100000004006162"],
    ),
    // arrays
    ("unsigned char x[13] = {0xd5,0xf6,0x00,0x01,0xa5,0x9c,0x43,0x84,0xf1,0x46,0xdf,0x08,0x01};", &[POLL]),
    (
        "let x = [0xd5, 0xf6, 0x00, 0x01,\n  0xa5, 0x9c, 0x43, 0x84, // the cookie\n  0xf1, 0x46, 0xdf, 0x08, 0x01];",
        &[POLL],
    ),
    ("[213, 246, 0, 1, 165, 156, 67, 132, 241, 70, 223, 8, 1]", &[POLL]),
    ("byte[] x = { (byte)0xD5, (byte)0xF6, 0, 1 };", &[">d5f60001"]),
    ("<Buffer d5 f6 00 01 a5 9c 43 84 f1 46 df 08 01>", &[POLL]),
    ("[[0xd5, 0xf6], [0xd5, 0xf6]]", &[">d5f6", "<d5f6"]),
    ("ArrayBuffer { [Uint8Contents]: <d5 f6 00 01>, byteLength: 4 }", &[">d5f60001"]),
    ("[10:32:02] -> (4) D5 F6 00 01\n[10:32:02] <- (4 bytes): D5 F6 01 01\n", &[">d5f60001", "<d5f60101"]),
    ("<<213, 246, 0, 1>>", &[">d5f60001"]),
    ("S: <<0xD5,0xF6,1,1>>\n", &["<d5f60101"]),
    ("<< d5 f6 00 01\n", &["<d5f60001"]),
    ("byteArrayOf(0xD5.toByte(), 0xF6.toByte(), 0x00, 1)", &[">d5f60001"]),
    ("PackedByteArray(213, 246, 0, 1)", &[">d5f60001"]),
    ("{\"0\":213,\"1\":246,\"2\":0,\"3\":1}", &[">d5f60001"]),
    ("array(1 => 213, 2 => 246, 3 => 0, 4 => 1)", &[">d5f60001"]),
    // strings
    ("b'\\xd5\\xf6\\x00\\x01\\xa5\\x9cC\\x84\\xf1F\\xdf\\x08\\x01'", &[POLL]),
    ("request = b\"\\xd5\\xf6\\x00\\x01\"\n", &[">d5f60001"]),
    ("bytes.fromhex('d5f60001a59c4384f146df0801')", &[POLL]),
    ("bytearray(b'\\xd5\\xf6\\x00\\x01')", &[">d5f60001"]),
    ("\"\\xD5\\xF6\" \"\\0\\1\"", &[">d5f60001"]),
    ("\"\\x{d5}\\x{f6}}\"", &[">d5f67d"]),
    ("\"\\008\\001\\070\"", &[">080146"]),
    ("X'D5F60001'", &[">d5f60001"]),
    ("{length = 4, bytes = 0xd5f60001}", &[">d5f60001"]),
    ("LogNet: Packet (4): D5 F6 00 01", &[">d5f60001"]),
    ("b'\\xd5\\xf6'\nb'\\xd5\\xf6'\n", &[">d5f6", "<d5f6"]),
    // base64
    ("1fYAAaWcQ4TxRt8IAQ==", &[POLL]),
    ("1fYAAaWcQ4TxRt8IAQ", &[POLL]),
    ("Buffer.from('1fYAAaWcQ4TxRt8IAQ==', 'base64')", &[POLL]),
    // words are no bytes
    ("This is what I get, don't know why:\n\nd5f60001a59c4384f146df0801\n\nIt's [UDP].", &[POLL]),
    ("Response\n", &[]),
    ("Token: 80902348\n", &[]),
    ("", &[]),
];

/// A name or text, the bytes that are read, and line and column of each error.
type Case = (&'static str, &'static [&'static str], &'static [(usize, usize)]);

/// Texts that cannot be read completely: the bytes that are read, and line and column of each error.
pub const DAMAGED: &[Case] = &[
    ("d5 f6 00 01 a", &[">d5f60001"], &[(1, 13)]),
    ("d5f60001a", &[">d5f60001"], &[(1, 9)]),
    ("d5 f6 00 0g 01\n\nd5f6", &[">d5f600", "<d5f6"], &[(1, 10)]),
    ("0000  d5 f6 zz 01\n", &[">d5f6"], &[(1, 13)]),
    ("00000000: d5f6 00 1\n", &[">d5f600"], &[(1, 19)]),
    // a row is missing: the bytes behind it are not captured
    ("0000  d5 f6 00 01\n0008  f1 46 df 08\n", &[">d5f60001"], &[(2, 1)]),
    ("00000010: d5f6 0001\n", &[">d5f60001"], &[(1, 1)]),
    ("00000000  d5 f6 00 01  |....|\n00000008  f1 46  |.F|\n0000000a\n", &[">d5f60001"], &[(2, 1)]),
    ("00000010  d5 f6 00 01  |....|\n00000014  f1 46  |.F|\n00000016\n", &[">d5f60001f146"], &[(1, 1)]),
    // an offset with a slip, a gap among the bytes
    ("00000000: d5f6 0001\n00000001: a59c\n", &[">d5a5"], &[(1, 1)]),
    ("0000  d5 f6 00 01    a5 9c 43 84 f1\n", &[">d5f60001"], &[(1, 22)]),
    // what `xxd -e` prints
    ("00000000: 41f6d541 64636261  A..Aabcd\n", &[">41f6d54164636261"], &[(1, 30)]),
    ("00000000: 41d5 6241  .AAb\n", &[">41d56241"], &[(1, 22)]),
    // repeated lines without offsets, and an escape that C and Rust read differently
    ("d5 f6 00 01 a5 9c 43 84\n*\nf1\n", &[">d5f60001a59c4384f1"], &[(2, 1)]),
    ("b\"\\xff\\032\"", &[">ff1a"], &[(1, 7)]),
    ("{0xd5, 0x1f6, 0x00}", &[">d500"], &[(1, 8)]),
    // what strace leaves out, and a datagram before another one
    ("recvfrom(3, \"\\325\\366\\1\\1\"..., 512, 0, NULL, NULL) = 44\n", &["<d5f60101"], &[(1, 27)]),
    ("sent=d5f60001a59c4384f146df0801 recv=d5f60101\n", &["<d5f60101"], &[(1, 6)]),
    ("b'\\xd5\\xf6\n", &[">d5f6"], &[(1, 2)]),
    ("{0xd5, 0xf6", &[">d5f6"], &[(1, 1)]),
    ("b'\\xd5\\xg6'", &[">d5786736"], &[(1, 7)]),
    ("<Buffer d5 f6 zz 01>", &[], &[]),
    ("<Buffer d5 f6 00 01 a5 zz 01>", &[], &[(1, 1)]),
    // forms that are not read: od alone, od -b, hexdump -d, xxd -b; and gamedig's, if it is cut
    ("0000000 173325 000400 116245\n0000005\n\nd5f6\n", &[">d5f6"], &[(1, 1)]),
    ("0000000 325 366 000 001\n0000004\n", &[], &[(1, 1)]),
    ("0000000   63189   00256   00165\n0000005\n", &[], &[(1, 1)]),
    ("00000000: 11010101 11110110 00000000  ...\n\nd5f6\n", &[">d5f6"], &[(1, 1)]),
    ("Buffer length: 4 bytes\nd5 f6 \n      \n\nd5f6\n", &[">d5f6", "<d5f6"], &[(1, 1)]),
];

/// The output of the tools with these names, see `tests/data/pasted`.
pub const FILES: &[Case] = &[
    ("base64.txt", &[INFO], &[]),
    ("bytearray.txt", &[INFO], &[]),
    ("conversation.txt", FOUR, &[]),
    ("follow_hex.txt", FOUR, &[]),
    ("follow_raw.txt", FOUR, &[]),
    ("foreign.txt", &["bad_ip_header", ">ffffffff54", "tcp"], &[]),
    ("gamedig.txt", &[POLL, INFO], &[]),
    ("hexdump.txt", &[INFO], &[]),
    ("hexdump_canonical.txt", &[INFO], &[]),
    ("hexdump_star.txt", &[ZEROS], &[]),
    ("node.txt", &[POLL, POLL, POLL], &[]),
    (
        "node_buffer_cut.txt",
        &[
            "<0195bd447e00010000003700000033000b0020094555205765737420310f5465616d2044656174686d617463680932303236",
        ],
        &[(1, 159)],
    ),
    ("od_decimal.txt", &[INFO], &[]),
    ("od_hex.txt", &[INFO], &[]),
    ("od_octal.txt", &[INFO], &[]),
    ("od_words.txt", &[INFO], &[]),
    ("python.txt", &[INFO], &[]),
    ("tcpdump_ascii.txt", FOUR, &[]),
    ("tcpdump_epoch.txt", FOUR, &[]),
    ("tcpdump_link.txt", FOUR, &[]),
    ("tcpdump_plain.txt", FOUR, &[]),
    ("tcpdump_text.txt", &[], &[(2, 1)]),
    ("tshark_x.txt", FOUR, &[]),
    ("wireshark_c_array.txt", &[">0000000000"], &[]),
    ("wireshark_escaped.txt", &[">0000000000"], &[]),
    ("wireshark_peers.txt", &[">0000000000", "<0095bd447e", ">0195bd447e000101"], &[]),
    ("xxd.txt", &[INFO], &[]),
    ("xxd_c8.txt", &[INFO], &[]),
    ("xxd_g1.txt", &[INFO], &[]),
    ("xxd_i.txt", &[INFO], &[]),
    ("xxd_p.txt", &[INFO], &[]),
    ("xxd_star.txt", &[ZEROS], &[]),
];
