//! The record of a capture.

use crate::capture::{self, CaptureInfo, MAX_TOLD, link_name};
use crate::terms;
use schemars::JsonSchema;
use serde::Serialize;
use std::borrow::Cow;

/// A capture: one for each file.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(tag = "type", rename = "capture")]
#[schemars(deny_unknown_fields)]
pub struct CaptureRecord<'a> {
    #[schemars(with = "terms::File")]
    file: &'a str,
    #[schemars(extend("enum" = ["pcap", "pcapng", "hex"]))]
    format: &'static str,
    #[schemars(with = "Option<terms::Compression>")]
    compression: Option<&'static str>,
    #[schemars(with = "Vec<terms::Link>")]
    links: Vec<Cow<'static, str>>,
    snaplen: Option<u32>,
    application: Option<&'a str>,
    comment: Option<&'a str>,
    os: Option<&'a str>,
    hardware: Option<&'a str>,
    #[schemars(length(max = MAX_TOLD))]
    interfaces: Vec<Interface<'a>>,
}

/// An interface that it was made on.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "capture.interface", deny_unknown_fields)]
struct Interface<'a> {
    name: Option<&'a str>,
    #[schemars(with = "terms::Link")]
    link: Cow<'static, str>,
    snaplen: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    description: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    comment: Option<&'a str>,
}

impl<'a> CaptureRecord<'a> {
    /// The record of a capture of this name.
    pub fn new(name: &'a str, info: &'a CaptureInfo) -> CaptureRecord<'a> {
        CaptureRecord {
            file: name,
            format: info.format,
            compression: info.compression,
            links: info.links.iter().map(|&link| link_name(link)).collect(),
            snaplen: info.snaplen,
            application: info.application.as_deref(),
            comment: info.comment.as_deref(),
            os: info.os.as_deref(),
            hardware: info.hardware.as_deref(),
            interfaces: info.interfaces.iter().map(Interface::new).collect(),
        }
    }
}

impl<'a> Interface<'a> {
    fn new(interface: &'a capture::Interface) -> Interface<'a> {
        Interface {
            name: interface.name.as_deref(),
            link: link_name(interface.link),
            snaplen: interface.snaplen,
            description: interface.description.as_deref(),
            comment: interface.comment.as_deref(),
        }
    }
}
