//! Reads the text of metrics strictly, in each of its forms.

use std::collections::{BTreeMap, BTreeSet};

/// A sample: its name, its labels, its value.
#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    pub name: String,
    pub labels: BTreeMap<String, String>,
    pub value: f64,
}

impl Sample {
    /// The value of a label; empty if there is none.
    pub fn label(&self, name: &str) -> &str {
        self.labels.get(name).map_or("", String::as_str)
    }
}

/// The samples of a text.
#[derive(Debug, Default)]
pub struct Exposed {
    pub samples: Vec<Sample>,
    /// Types by family.
    pub types: BTreeMap<String, String>,
}

impl Exposed {
    /// The samples with a name, and those labels.
    pub fn of<'a>(
        &'a self,
        name: &'a str,
        labels: &'a [(&'a str, &'a str)],
    ) -> impl Iterator<Item = &'a Sample> {
        let named = self.samples.iter().filter(move |sample| sample.name == name);
        named.filter(move |sample| labels.iter().all(|(label, value)| sample.label(label) == *value))
    }

    /// The sum of these samples; whole numbers.
    #[track_caller]
    pub fn sum(&self, name: &str, labels: &[(&str, &str)]) -> u64 {
        let sum: f64 = self.of(name, labels).map(|sample| sample.value).sum();
        assert!(sum >= 0.0 && sum.fract() == 0.0, "{name} {labels:?}: {sum}");
        sum as u64
    }

    /// The values of a label.
    pub fn values(&self, label: &str) -> BTreeSet<&str> {
        self.samples.iter().filter_map(|sample| sample.labels.get(label)).map(String::as_str).collect()
    }
}

/// Reads a text.
#[track_caller]
pub fn exposed(text: &str) -> Exposed {
    let lines = text.strip_suffix("# EOF\n").expect("it ends with # EOF");
    let (mut all, mut family, mut families) = (Exposed::default(), String::new(), BTreeSet::new());
    let mut seen = BTreeSet::new();
    for line in lines.lines() {
        if let Some(about) = line.strip_prefix("# ") {
            let words: Vec<_> = about.splitn(3, ' ').collect();
            let [keyword, name, rest] = words[..] else { panic!("{line}") };
            assert!(!rest.is_empty(), "{line}");
            if family != name {
                assert!(families.insert(name.to_owned()), "{name} begins twice");
                name.clone_into(&mut family);
            }
            match keyword {
                "TYPE" => _ = all.types.insert(name.to_owned(), rest.to_owned()),
                "UNIT" => assert!(name.ends_with(&format!("_{rest}")), "{line}"),
                "HELP" => {}
                _ => panic!("{line}"),
            }
            continue;
        }
        let sample = sample(line);
        let stem =
            ["_total", "_bucket", "_sum", "_count"].iter().find_map(|end| sample.name.strip_suffix(end));
        assert!(sample.name == family || stem == Some(&family), "{line} is not of {family}");
        assert!(seen.insert((sample.name.clone(), sample.labels.clone())), "{line} is there twice");
        all.samples.push(sample);
    }
    all
}

#[track_caller]
fn sample(line: &str) -> Sample {
    let (series, value) = line.rsplit_once(' ').expect(line);
    let (name, labels) = series.split_once('{').unwrap_or((series, "}"));
    let is_name = |name: &str| !name.is_empty() && name.bytes().all(|b| b.is_ascii_lowercase() || b == b'_');
    assert!(is_name(name), "{line}");
    let (mut rest, mut found) = (labels, BTreeMap::new());
    while rest != "}" {
        let (label, quoted) = rest.split_once("=\"").expect(line);
        let (value, behind) = quoted_value(quoted).expect(line);
        assert!(is_name(label) && found.insert(label.to_owned(), value).is_none(), "{line}");
        rest = behind.strip_prefix(',').unwrap_or(behind);
        assert!(rest != "}" || behind == "}", "{line}");
    }
    Sample { name: name.to_owned(), labels: found, value: value.parse().expect(line) }
}

/// The value before the closing quote, without its escapes, and what is behind the quote.
fn quoted_value(text: &str) -> Option<(String, &str)> {
    let (mut value, mut chars) = (String::new(), text.char_indices());
    loop {
        match chars.next()? {
            (at, '"') => return Some((value, &text[at + 1..])),
            (_, '\\') => value.push(match chars.next()?.1 {
                'n' => '\n',
                c @ ('\\' | '"') => c,
                _ => return None,
            }),
            (_, c) => value.push(c),
        }
    }
}
