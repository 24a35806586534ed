//! Counts the work of decoders, in builds with debug assertions only: the bytes that building blocks look at, and their steps.
//! Tests and fuzzing hold it against the length of the payload, so that the time for a datagram stays in proportion to it.

#[cfg(debug_assertions)]
thread_local! {
    static DONE: std::cell::Cell<u64> = const { std::cell::Cell::new(0) };
}

/// Counts a step that looks at so many bytes.
#[inline(always)]
pub(crate) fn add(bytes: usize) {
    #[cfg(debug_assertions)]
    DONE.with(|done| done.set(done.get().saturating_add(bytes as u64).saturating_add(1)));
    #[cfg(not(debug_assertions))]
    let _ = bytes;
}

/// The work of this thread since the last call; `None` in builds that do not count it.
#[cfg(feature = "internals")]
pub fn take() -> Option<u64> {
    #[cfg(debug_assertions)]
    return Some(DONE.take());
    #[cfg(not(debug_assertions))]
    None
}
