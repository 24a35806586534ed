//! The imports that every protocol needs.

pub(crate) use crate::bounded::{Bounded, Forgets, Numbered};
pub(crate) use crate::contract::{
    Answer, Ask, Budget, Causation, Context, Direction, Form, Info, Known, Level, Message, Observation,
    Pairing, Part, Probe, Proof, Protocol, Raised, Relation, Role, ShownKey, StepInfo, StepRules,
    at_translation, begins_with_length, hashed, messages, number_at, recognise, recognise_known,
};
pub(crate) use crate::decode::wire::*;
pub(crate) use crate::decode::{
    Colours, Compared, ComparedValue, Cursor, Ends, Fact, Fault, Field, FieldKind, FieldSink, Labels,
    Repeats, Shape, Span, Str, Value, after_mark, fields, remaining, until,
};
pub(crate) use crate::rule::{self, Cite, Example, Rule, Step, Step::*, rules};
