//! Reads texts with variations.

use super::numbers::{fits, value, write_number};
use super::reader::{Reader, Value};
use super::{Change, Encoding, Form, Nul, Order};

/// Text that stands for a text that is left out.
const PLACEHOLDER: &str = "?";
/// Bytes that are kept of a text too long for its length.
const KEPT: usize = 250;

impl<'a> Reader<'a> {
    /// Reads a text in the form and the encoding of the layout, and writes it.
    pub fn text(&mut self, name: &'static str) -> Option<()> {
        self.text_as(name, self.layout.form, self.layout.encoding)
    }

    /// Reads a key, which is not empty, and its value, and writes both. Where a width is varied, the key must begin as
    /// names do.
    pub fn pair(&mut self) -> Option<()> {
        self.text("key")?;
        let first = self.last_text().chars().next()?;
        if self.has_other_width() && !first.is_alphanumeric() && first != '_' {
            return None;
        }
        self.text("value")
    }

    pub(super) fn texts_part(&mut self, names: &'static [&'static str]) -> Option<()> {
        let misses = self.misses("text");
        for (i, name) in names.iter().enumerate() {
            if misses && i == 2 {
                self.write_text(PLACEHOLDER.as_bytes(), self.layout.form)?;
            } else {
                self.text(name)?;
            }
        }
        Some(())
    }

    pub(super) fn text_as(&mut self, name: &'static str, declared: Form, encoded: Encoding) -> Option<()> {
        let form = self.form_here(name, declared);
        let encoding = self.encoding_here(name, encoded);
        let raw = self.raw_text(name, form, encoding)?;
        if encoding.is_wide() && !raw.len().is_multiple_of(2) {
            return None;
        }
        let text = decode(raw, encoding)?;
        if text.chars().any(|c| matches!(c as u32, 0..32 | 127..160))
            || encoding.is_wide() && !is_wide_text(raw, &text)
        {
            return None;
        }
        if encoding == encoded {
            self.write_text(raw, declared)?;
        } else if encoded.is_wide() {
            let units = text.encode_utf16();
            let little = encoded == Encoding::Utf16Le;
            let bytes: Vec<u8> =
                units.flat_map(|u| if little { u.to_le_bytes() } else { u.to_be_bytes() }).collect();
            self.write_text(&bytes, declared)?;
        } else {
            self.write_text(text.as_bytes(), declared)?;
        }
        self.keep_value(name, Value::Text(text.clone()));
        self.texts.push(text);
        Some(())
    }

    fn form_here(&mut self, name: &str, declared: Form) -> Form {
        let varied = self.find(|v| matches!(v.change, Change::Texts(_)));
        let mut form = match varied.and_then(|place| self.form_of(place)) {
            Some(form) => form,
            None if self.swaps_all().is_some() => declared.swapped(),
            None => declared,
        };
        if self.swaps_field(name) {
            form = form.swapped();
        }
        if form != declared {
            let place = varied.or_else(|| self.swaps_all());
            place.into_iter().for_each(|place| self.mark(place));
        }
        form
    }

    fn encoding_here(&mut self, name: &str, declared: Encoding) -> Encoding {
        let varied = |v: &super::Variation| match v.change {
            Change::Encoding(encoding) => Some(encoding),
            _ => None,
        };
        let Some(place) = self.find(|v| varied(v).is_some()) else { return declared };
        let Some(encoding) = self.variation(place).and_then(varied) else { return declared };
        let applies = match (declared.is_wide(), encoding.is_wide()) {
            (true, false) => true,
            (false, true) => !self.layout.narrow.contains(&name),
            (true, true) => declared != encoding,
            (false, false) => false,
        };
        if !applies {
            return declared;
        }
        self.mark(place);
        encoding
    }

    fn raw_text(&mut self, name: &str, form: Form, encoding: Encoding) -> Option<&'a [u8]> {
        match form {
            Form::Nul => self.until_nul(encoding),
            Form::Fixed => {
                let width = self.expected.fixed;
                let field = (width > 0).then(|| self.take(width))??;
                let end = field.iter().position(|&b| b == 0)?;
                let (text, fill) = field.split_at_checked(end)?;
                fill.iter().all(|&b| b == 0).then_some(text)
            }
            Form::SevenBits | Form::Length(..) => self.after_length(name, form, encoding),
        }
    }

    fn until_nul(&mut self, encoding: Encoding) -> Option<&'a [u8]> {
        let wide = if encoding.is_wide() { 2 } else { 1 };
        let ends = |unit: &[u8]| unit.len() == wide && unit.iter().all(|&b| b == 0);
        let n = self.rest().chunks(wide).position(ends)?.checked_mul(wide)?;
        let raw = self.take(n)?;
        self.take(wide)?;
        match self.nul() {
            Some((place, Nul::Twice)) => {
                (self.byte()? == 0).then_some(())?;
                self.mark(place);
            }
            Some(_) => return None,
            None => {}
        }
        Some(raw)
    }

    fn after_length(&mut self, name: &str, form: Form, encoding: Encoding) -> Option<&'a [u8]> {
        let mut n = match form {
            Form::Length(width, order) => self.length(width, order)?,
            _ => self.seven_bits()?,
        };
        let nul = self.nul();
        if let Some((place, Nul::CountsItself)) = nul {
            n = n.checked_sub(1)?;
            self.mark(place);
        }
        let left = self.rest().len();
        if n > left.saturating_add(2) {
            return None;
        }
        if let Some((place, Nul::Wrapped)) = nul
            && n < 256
            && name == self.expected.wrapped
        {
            n = n.saturating_add(256);
            self.mark(place);
        }
        if let Some(place) = self.find(|v| v.change == Change::Unit)
            && (!self.layout.narrow.contains(&name) || encoding == Encoding::Utf8)
        {
            n = self.bytes_of_units(n, encoding, place)?;
        }
        let raw = self.take(n)?;
        let wide = if encoding.is_wide() { 2 } else { 1 };
        match nul {
            Some((place, Nul::Counted)) => {
                let (text, end) = raw.split_at_checked(raw.len().checked_sub(wide)?)?;
                end.iter().all(|&b| b == 0).then_some(())?;
                self.mark(place);
                return Some(text);
            }
            Some((place, Nul::Uncounted)) => {
                self.take(wide)?.iter().all(|&b| b == 0).then_some(())?;
                self.mark(place);
            }
            Some((_, Nul::Twice)) => return None,
            _ => {}
        }
        Some(raw)
    }

    fn length(&mut self, width: usize, order: Order) -> Option<usize> {
        usize::try_from(value(self.take(width)?, order)).ok()
    }

    fn seven_bits(&mut self) -> Option<usize> {
        let (mut n, mut shift) = (0u64, 0u32);
        loop {
            let b = self.byte()?;
            n |= u64::from(b & 127) << shift;
            shift = shift.saturating_add(7);
            if b < 128 {
                self.has_long_text |= n >= 128;
                return usize::try_from(n).ok().filter(|_| b != 0 || shift <= 7);
            }
            if shift > 28 {
                return None;
            }
        }
    }

    /// Number of bytes of so many UTF-16 units.
    fn bytes_of_units(&mut self, n: usize, encoding: Encoding, place: usize) -> Option<usize> {
        if encoding.is_wide() {
            self.mark(place);
            return n.checked_mul(2);
        }
        let (mut at, mut units) = (0usize, 0usize);
        while units < n {
            let bytes = match *self.rest().get(at)? {
                0..0x80 => 1,
                0xc0..0xe0 => 2,
                0xe0..0xf0 => 3,
                0xf0..0xf8 => 4,
                _ => return None,
            };
            if bytes > 1 {
                self.mark(place);
            }
            units = units.saturating_add(if bytes == 4 { 2 } else { 1 });
            at = at.saturating_add(bytes);
        }
        (units == n).then_some(at)
    }

    fn nul(&self) -> Option<(usize, Nul)> {
        let place = self.find(|v| matches!(v.change, Change::Nul(_)))?;
        match self.variation(place)?.change {
            Change::Nul(nul) => Some((place, nul)),
            _ => None,
        }
    }

    fn form_of(&self, place: usize) -> Option<Form> {
        match self.variation(place)?.change {
            Change::Texts(form) => Some(form),
            _ => None,
        }
    }

    /// Writes a text as it should have been. A text too long for its length loses its end.
    fn write_text(&mut self, bytes: &[u8], form: Form) -> Option<()> {
        if form == Form::Nul {
            if bytes.contains(&0) {
                return None;
            }
            self.write(bytes);
            self.write(&[0]);
            return Some(());
        }
        let Form::Length(width, order) = form else { return None };
        let mut kept = bytes;
        if !fits(bytes.len() as u64, width) {
            kept = bytes.get(..KEPT)?;
            if let Err(error) = std::str::from_utf8(kept) {
                kept = kept.get(..error.valid_up_to())?;
            }
        }
        write_number(&mut self.out, kept.len() as u64, width, order);
        self.write(kept);
        Some(())
    }
}

fn decode(raw: &[u8], encoding: Encoding) -> Option<String> {
    let wide = |read: fn([u8; 2]) -> u16| {
        let units = raw.chunks_exact(2).filter_map(|unit| unit.try_into().ok().map(read));
        char::decode_utf16(units).collect::<Result<String, _>>().ok()
    };
    match encoding {
        Encoding::Utf8 => std::str::from_utf8(raw).ok().map(str::to_owned),
        Encoding::Bytes => Some(match std::str::from_utf8(raw) {
            Ok(text) => text.to_owned(),
            Err(_) => raw.iter().map(|&b| b as char).collect(),
        }),
        Encoding::Utf16Le => wide(u16::from_le_bytes),
        Encoding::Utf16Be => wide(u16::from_be_bytes),
    }
}

/// Whether UTF-16 is a text rather than other bytes: nearly all of its characters are of scripts in use, its bytes are no
/// ASCII in pairs, and they are no ASCII in the other order.
fn is_wide_text(raw: &[u8], text: &str) -> bool {
    let most = |part: usize, all: usize| part.saturating_mul(10) >= all.saturating_mul(9);
    let in_use = |c: &char| matches!(*c as u32, 0..0x250 | 0x400..0x500 | 0x3000..0xa000);
    let chars = text.chars().count();
    let units = raw.chunks_exact(2);
    let (all, no_pairs) =
        (units.len(), units.filter(|unit| unit.iter().any(|&b| b == 0 || !(32..128).contains(&b))).count());
    let other_order = chars > 1 && text.chars().all(|c| c as u32 & 255 == 0);
    most(text.chars().filter(in_use).count(), chars) && most(no_pairs, all) && !other_order
}
