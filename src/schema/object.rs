//! Building blocks of schemas.

use serde_json::{Map, Value, json};

/// The schema of an object that has the named keys and no others.
#[derive(Debug, Default)]
pub struct Object {
    properties: Map<String, Value>,
    required: Vec<&'static str>,
    further: Map<String, Value>,
}

impl Object {
    /// A record of that type.
    pub fn record(kind: &str) -> Object {
        Object::default().key("type", json!({ "const": kind }))
    }

    /// A key that is always there.
    pub fn key(mut self, name: &'static str, schema: Value) -> Object {
        self.properties.insert(name.to_owned(), schema);
        self.required.push(name);
        self
    }

    /// Keys that are always there, with the same schema.
    pub fn keys(self, names: &[&'static str], schema: &Value) -> Object {
        names.iter().fold(self, |object, name| object.key(name, schema.clone()))
    }

    /// A key that may be missing.
    pub fn maybe(mut self, name: impl Into<String>, schema: Value) -> Object {
        self.properties.insert(name.into(), schema);
        self
    }

    /// Where `key` is present, `other` must be present, too.
    pub fn needs(mut self, key: &str, other: &str) -> Object {
        let all = self.further.entry("dependentRequired").or_insert_with(|| json!({}));
        match &mut all[key] {
            Value::Array(others) => others.push(other.into()),
            place => *place = json!([other]),
        }
        self
    }

    /// A further keyword of JSON Schema.
    pub fn with(mut self, keyword: &str, value: Value) -> Object {
        self.further.insert(keyword.to_owned(), value);
        self
    }

    /// The schema, with a description; without one where `about` is empty.
    pub fn end(self, about: &str) -> Value {
        let mut schema = Map::new();
        if !about.is_empty() {
            schema.insert("description".to_owned(), about.into());
        }
        schema.insert("type".to_owned(), "object".into());
        schema.insert("properties".to_owned(), self.properties.into());
        if !self.required.is_empty() {
            schema.insert("required".to_owned(), self.required.into());
        }
        schema.insert("additionalProperties".to_owned(), false.into());
        schema.extend(self.further);
        schema.into()
    }
}

/// A reference to a definition in `$defs`.
pub fn of(name: &str) -> Value {
    json!({ "$ref": format!("#/$defs/{name}") })
}

/// A reference to a term that several records share: see [`crate::terms`].
pub fn term(name: &str) -> Value {
    of(&format!("term.{name}"))
}

/// A value of that schema, or null.
pub fn or_null(schema: Value) -> Value {
    json!({ "anyOf": [schema, { "type": "null" }] })
}

/// A list of elements of one schema.
pub fn list(items: Value) -> Value {
    json!({ "type": "array", "items": items })
}

/// A list with `least` to `most` elements.
pub fn list_of(items: Value, least: usize, most: usize) -> Value {
    json!({ "type": "array", "items": items, "minItems": least, "maxItems": most })
}
