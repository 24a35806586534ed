//! Names of values: they are part of the field's declaration, and all output for people takes them from there.

use super::{Field, Value};

/// Names of a field's values.
#[derive(Clone, Copy, Debug)]
pub enum Labels {
    /// There are none.
    None,
    /// Names of 0, 1, 2 and so on.
    FromZero(&'static [&'static str]),
    /// Values with their names.
    Pairs(&'static [(i32, &'static str)]),
    /// Names of the bits, the lowest first.
    Bits(&'static [&'static str]),
}

impl Field {
    /// The same field with names for its values.
    pub(crate) const fn labelled(mut self, labels: Labels) -> Field {
        self.labels = labels;
        self
    }

    /// The name of a value of this field, or the names of the bits set in it.
    pub fn label(&self, value: Value<'_>) -> Option<String> {
        let number = match value {
            Value::Uint(v) => i128::from(v),
            Value::Uint64(v) => i128::from(v),
            Value::Int(v) => i128::from(v),
            Value::Int64(v) => i128::from(v),
            _ => return None,
        };
        match self.labels {
            Labels::None => None,
            Labels::FromZero(names) => {
                usize::try_from(number).ok().and_then(|at| names.get(at)).map(|&n| n.to_owned())
            }
            Labels::Pairs(pairs) => {
                pairs.iter().find(|(v, _)| i128::from(*v) == number).map(|(_, name)| (*name).to_owned())
            }
            Labels::Bits(names) => {
                let bits = u64::try_from(number).ok()?;
                Some(names_of_bits(names, bits).collect::<Vec<_>>().join(", "))
                    .filter(|names| !names.is_empty())
            }
        }
    }
}

/// The names whose bits are set, lowest bit first.
pub(crate) fn names_of_bits(names: &'static [&'static str], bits: u64) -> impl Iterator<Item = &'static str> {
    names
        .iter()
        .enumerate()
        .filter(move |(i, _)| bits.checked_shr(*i as u32).is_some_and(|b| b & 1 == 1))
        .map(|(_, n)| *n)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decode::fields;

    #[test]
    fn values_have_the_names_of_their_declaration() {
        fields! {
            /// Counted from 0.
            KIND = "kind": Uint, Labels::FromZero(&["ask", "answer"]);
            /// Here and there.
            STATUS = "status": Int, Labels::Pairs(&[(-2, "asked"), (40, "failed")]);
            /// Bits.
            FLAGS = "flags": Uint64, Labels::Bits(&["a", "b", "c"]);
            /// No names.
            PLAIN = "plain": Uint;
        }
        assert_eq!(FIELDS.len(), 4);
        let label = |field: &Field, value| field.label(value);
        assert_eq!(label(&KIND, Value::Uint(1)).as_deref(), Some("answer"));
        assert_eq!(label(&KIND, Value::Uint(2)), None);
        assert_eq!(label(&STATUS, Value::Int(-2)).as_deref(), Some("asked"));
        assert_eq!(label(&STATUS, Value::Int(2)), None);
        assert_eq!(label(&FLAGS, Value::Uint64(1 << 63 | 5)).as_deref(), Some("a, c"));
        assert_eq!(label(&FLAGS, Value::Uint64(0)), None);
        assert_eq!(label(&PLAIN, Value::Uint(0)), None);
        assert_eq!(label(&KIND, Value::Bool(true)), None);
    }
}
