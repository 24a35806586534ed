//! The variations that many layouts share.

use super::variation::{Change, Nul, Token, Variation};
use super::{Encoding, Form};

const fn texts(id: &'static str, words: &'static str, form: Form) -> Variation {
    Variation::of(id, words, Change::Texts(form))
}
const fn nul(id: &'static str, words: &'static str, nul: Nul) -> Variation {
    Variation::of(id, words, Change::Nul(nul))
}
const fn token(id: &'static str, words: &'static str, token: Token) -> Variation {
    Variation::of(id, words, Change::Token(token))
}

/// Numbers are little-endian.
pub const LITTLE_ENDIAN: Variation =
    Variation::of("little_endian", "numbers are little-endian", Change::Swap);
/// Numbers are big-endian.
pub const BIG_ENDIAN: Variation = Variation::of("big_endian", "numbers are big-endian", Change::Swap);
/// One number is little-endian.
pub const fn little_endian_at(field: &'static str) -> Variation {
    Variation::of("little_endian", "{} is little-endian", Change::Swap).at(field)
}

/// Lengths of one byte.
pub const TEXTS_U8: Variation = texts("string_length_u8", "texts have 8-bit lengths", Form::U8);
/// Lengths of two bytes, the highest first.
pub const TEXTS_U16_BE: Variation =
    texts("string_length_u16be", "texts have 16-bit lengths, big-endian", Form::U16_BE);
/// Lengths of two bytes, the lowest first.
pub const TEXTS_U16_LE: Variation =
    texts("string_length_u16le", "texts have 16-bit lengths, little-endian", Form::U16_LE);
/// Lengths of four bytes, the highest first.
pub const TEXTS_U32_BE: Variation =
    texts("string_length_u32be", "texts have 32-bit lengths, big-endian", Form::U32_BE);
/// Lengths of four bytes, the lowest first.
pub const TEXTS_U32_LE: Variation =
    texts("string_length_u32le", "texts have 32-bit lengths, little-endian", Form::U32_LE);
/// Lengths of eight bytes, the lowest first.
pub const TEXTS_U64_LE: Variation =
    texts("string_length_u64le", "texts have 64-bit lengths, little-endian", Form::U64_LE);
/// Lengths with 7 bits at a time.
pub const TEXTS_7_BITS: Variation =
    texts("string_length_7bit", "lengths of texts are written 7 bits at a time", Form::SevenBits);
/// Zero bytes end texts.
pub const TEXTS_NUL: Variation = texts("nul_terminated", "texts end with a zero byte", Form::Nul);
/// Fixed width.
pub const TEXTS_FIXED: Variation =
    texts("fixed_width_strings", "texts are fields of fixed width", Form::Fixed);
/// A counted zero byte.
pub const NUL_COUNTED: Variation =
    nul("nul_counted", "texts end with a zero byte that their length counts", Nul::Counted);
/// A zero byte that is not counted.
pub const NUL_UNCOUNTED: Variation =
    nul("nul_uncounted", "a zero byte follows each text that its length does not count", Nul::Uncounted);
/// Two zero bytes.
pub const NUL_TWICE: Variation = nul("nul_twice", "texts end with two zero bytes", Nul::Twice);
/// Lengths count their own byte.
pub const COUNTS_ITSELF: Variation =
    nul("string_length_counts_itself", "lengths of texts count their own byte", Nul::CountsItself);
/// Lengths cut to eight bits.
pub const WRAPPED: Variation =
    nul("string_length_wrapped", "the length of a text is cut to 8 bits", Nul::Wrapped);
/// Lengths count characters.
pub const UNIT: Variation =
    Variation::of("string_length_in_characters", "lengths of texts count characters", Change::Unit);
/// UTF-16, little-endian.
pub const UTF16_LE: Variation =
    Variation::of("utf16_le", "texts are UTF-16, little-endian", Change::Encoding(Encoding::Utf16Le));
/// UTF-16, big-endian.
pub const UTF16_BE: Variation =
    Variation::of("utf16_be", "texts are UTF-16, big-endian", Change::Encoding(Encoding::Utf16Be));
/// UTF-8.
pub const UTF8: Variation = Variation::of("utf8", "texts are UTF-8", Change::Encoding(Encoding::Utf8));

/// Every form of texts with a length of more than one byte, and what goes with it.
pub const LONG_TEXTS: &[Variation] = &[
    TEXTS_U16_BE,
    TEXTS_U16_LE,
    TEXTS_U32_BE,
    TEXTS_U32_LE,
    TEXTS_U64_LE,
    TEXTS_7_BITS,
    TEXTS_NUL,
    NUL_COUNTED,
    NUL_UNCOUNTED,
    UNIT,
    UTF16_LE,
    UTF16_BE,
];

/// Zeros follow.
pub const ZEROS: Variation = Variation::of(
    "trailing_zeros",
    "the zeros at the end are left out: the whole buffer was sent",
    Change::Zeros,
);
/// Another type.
pub const WRONG_TYPE: Variation = Variation::of("wrong_type", "the type is another one", Change::Type);
/// A struct of C.
pub const PADDING: Variation =
    Variation::of("struct_padding", "it is a struct with padding", Change::Padding(false));
/// A struct of C, also where the header ends.
pub const PADDING_BEHIND: Variation =
    Variation::of("struct_padding", "it is a struct with padding", Change::Padding(true));

/// The repeated value in the other order.
pub const TOKEN_SWAPPED: Variation =
    token("token_swapped", "the bytes of the repeated value are in the other order", Token::Swapped);
/// The repeated value is 0.
pub const TOKEN_ZERO: Variation = token("token_zero", "0 is sent instead of the repeated value", Token::Zero);
/// The repeated value went through a string.
pub const TOKEN_REPLACED: Variation =
    token("bytes_replaced", "the repeated value went through a text, which replaced bytes", Token::Replaced);
/// The value is text.
pub const TOKEN_AS_TEXT: Variation =
    token("token_as_text", "the value is written as decimal text", Token::Text);
