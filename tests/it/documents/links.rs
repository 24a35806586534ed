//! Links between pages, and the headings they lead to.

use super::pages::{dialect, line_of};
use pulldown_cmark::{Event, Parser, Tag, TagEnd};
use std::collections::{HashMap, HashSet};

/// The targets of the links of a page, each with its line.
pub fn links(page: &str) -> Vec<(usize, String)> {
    let events = Parser::new_ext(page, dialect()).into_offset_iter();
    let link = |(event, at): (Event, std::ops::Range<usize>)| match event {
        Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => {
            Some((line_of(page, at.start), dest_url.into_string()))
        }
        _ => None,
    };
    events.filter_map(link).collect()
}

/// The anchors of a page: those that GitHub creates for headings, and explicit ones.
pub fn anchors(page: &str) -> HashSet<String> {
    let (mut anchors, mut seen, mut heading) = (HashSet::new(), HashMap::new(), None::<String>);
    for event in Parser::new_ext(page, dialect()) {
        match event {
            Event::Start(Tag::Heading { .. }) => heading = Some(String::new()),
            Event::Text(text) | Event::Code(text) => {
                if let Some(heading) = &mut heading {
                    heading.push_str(&text);
                }
            }
            Event::End(TagEnd::Heading(_)) => {
                let slug = slug(&heading.take().unwrap_or_default());
                let before = seen.entry(slug.clone()).or_insert(0);
                anchors.insert(if *before == 0 { slug } else { format!("{slug}-{before}") });
                *before += 1;
            }
            Event::Html(html) | Event::InlineHtml(html) => {
                anchors.extend(html.split("id=\"").skip(1).filter_map(|rest| {
                    let (id, _) = rest.split_once('"')?;
                    Some(id.to_owned())
                }));
            }
            _ => {}
        }
    }
    anchors
}

fn slug(heading: &str) -> String {
    let kept = heading.chars().filter(|&c| c.is_alphanumeric() || " -_".contains(c));
    kept.flat_map(char::to_lowercase).map(|c| if c == ' ' { '-' } else { c }).collect()
}
