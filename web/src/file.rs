//! The file of the page: read from its beginning to its end, or bytes here and there.

use js_sys::Uint8Array;
use std::io::{self, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use wasm_bindgen::prelude::*;

#[wasm_bindgen]
extern "C" {
    /// Returns at most `limit` bytes of the file from an offset on; none at its end. For reading it in order.
    #[wasm_bindgen(catch, js_name = readCapture)]
    fn read_capture(offset: f64, limit: u32) -> Result<Uint8Array, JsValue>;

    /// Returns `length` bytes of the file from an offset on, or fewer at its end.
    #[wasm_bindgen(catch, js_name = readBytes)]
    fn read_bytes(offset: f64, length: u32) -> Result<Uint8Array, JsValue>;

    /// Yields to the browser, which reads further bytes of the file from that offset on, shows progress and asks for rows.
    #[wasm_bindgen(js_name = takeTurn)]
    pub async fn take_turn(next: f64);
}

/// Reads the file in order. The offset of the next byte is shared between this reader and the loop that yields to the browser.
pub struct Slices(pub Arc<AtomicU64>);

impl Read for Slices {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let limit = u32::try_from(buffer.len()).unwrap_or(u32::MAX);
        let bytes = read_capture(self.0.load(Relaxed) as f64, limit).map_err(unreadable)?;
        let length = bytes.length() as usize;
        let target = buffer.get_mut(..length).ok_or(io::ErrorKind::InvalidData)?;
        bytes.copy_to(target);
        self.0.fetch_add(bytes.length().into(), Relaxed);
        Ok(length)
    }
}

/// Reads bytes at an offset.
pub fn read_at(offset: u64, buffer: &mut [u8]) -> io::Result<()> {
    let length = u32::try_from(buffer.len()).map_err(io::Error::other)?;
    let bytes = read_bytes(offset as f64, length).map_err(unreadable)?;
    if bytes.length() != length {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    bytes.copy_to(buffer);
    Ok(())
}

fn unreadable(_: JsValue) -> io::Error {
    io::Error::other("the browser cannot read the file, or cannot any more")
}
