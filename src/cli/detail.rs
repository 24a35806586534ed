//! The options of `dump` and `live` that show packets in detail.

use super::choices::{Colour, Format};
use super::clock::local_zone;
use super::common_args::Common;
use super::output::Target;
use super::terminal;
use super::text::unknown_name;
use crate::exchange::Windows;
use crate::pipeline::Options;
use crate::protocols::Id;
use crate::report::{
    Detail, Details, Explain, Lister, Output, Records, Report, Shown, StandIns, TIME_FORMATS, TimeFormat,
};
use crate::text::escape::quoted;
use clap::Args;
use jiff::tz::TimeZone;

/// What `dump` and `live` show of each packet beyond its line.
#[derive(Debug, Args)]
pub struct DetailArgs {
    /// The tree of layers and fields of each packet, as -T tree
    #[arg(short = 'V')]
    pub tree: bool,
    /// As -V, but with the details of these alone: frame, eth, ip, udp, or protocols by name
    #[arg(short = 'O', value_name = "PROTO,...", value_delimiter = ',', value_parser = layer)]
    pub only: Vec<Shown>,
    /// The payload of each packet as hex and text, what is wrong in it marked; with -T json and ndjson all bytes of it
    #[arg(short = 'x')]
    pub hex: bool,
    /// Why each datagram was classified so, and what happened in each exchange
    #[arg(long)]
    pub explain: bool,
    /// Times in the lines, in tshark's words: r since the first frame; ad date and local time; u, ud UTC; d since the
    /// captured frame before; e since 1970. Append .N for N decimals
    #[arg(short = 't', value_name = "FORMAT", default_value = "r.6", value_parser = when)]
    pub when: TimeFormat,
    /// When to use colours
    #[arg(long, value_enum, default_value_t = Colour::Auto, value_name = "WHEN")]
    pub color: Colour,
}

/// The values of the options that are not given.
impl Default for DetailArgs {
    fn default() -> Self {
        DetailArgs {
            tree: false,
            only: vec![],
            hex: false,
            explain: false,
            when: TimeFormat::default(),
            color: Colour::Auto,
        }
    }
}

impl DetailArgs {
    /// The first given option that asks for more than one line per packet. Records have room for bytes, so `-x` does not count
    /// there.
    fn detail_option(&self, format: Format) -> Option<&'static str> {
        let Self { tree, only, hex, explain, .. } = self;
        let given = [
            (*tree, "-V"),
            (!only.is_empty(), "-O"),
            (*hex && format.form().is_none(), "-x"),
            (*explain, "--explain"),
        ];
        given.iter().find(|(given, _)| *given).map(|(_, name)| *name)
    }

    /// Whether the options ask for more about each packet than its line.
    fn shows_details(&self, format: Format) -> bool {
        let lines = matches!(format, Format::Text | Format::Tree);
        format == Format::Tree || self.detail_option(format).is_some() || lines && self.when.needs_frames()
    }

    /// The error message if the format cannot show details.
    pub fn format_conflict(&self, format: Format) -> Option<String> {
        let name = self.detail_option(format).filter(|_| !matches!(format, Format::Text | Format::Tree))?;
        Some(format!(
            "{name} shapes text for people, and goes with -T text or -T tree only. Leave out {name} or -T."
        ))
    }

    /// The report that writes packets in a format without columns: in detail, as records or as lines. With `flush` each is
    /// written at once; with `many_files` it contains the name of its file.
    pub fn report<'a>(
        &self,
        to: &'a mut Target,
        format: Format,
        common: &Common,
        options: &Options,
        [flush, many_files]: [bool; 2],
    ) -> Box<dyn Report + 'a> {
        match format.form() {
            _ if self.shows_details(format) => Box::new(Details::new(
                terminal::wrap(to, common),
                flush,
                many_files,
                self.detail(format, common, options),
            )),
            Some(form) => {
                let records = Records::new(Output::new(to, form, flush), true, common.quiet);
                Box::new(records.with_secrets(common.show_secrets).with_bytes(self.hex))
            }
            None => {
                let lister =
                    Lister::new(to, flush, common.quiet, many_files).with_time_format(self.when.clone());
                Box::new(lister.fit(terminal::fitted_screen(self.color, common)))
            }
        }
    }

    /// The details to show of each packet.
    fn detail(&self, format: Format, common: &Common, options: &Options) -> Detail {
        let windows = Windows::new(options.timeout);
        Detail {
            tree: format == Format::Tree || self.tree || !self.only.is_empty(),
            only: self.only.clone(),
            hex: self.hex,
            fields: false,
            explain: self.explain.then(|| Explain { choice: options.choice.clone(), windows }),
            colour: terminal::screen(self.color, common).colour,
            secrets: options.secrets,
            quiet: common.quiet,
            time_format: self.when.clone(),
            stand_ins: StandIns::default(),
        }
    }
}

/// Forms of times that earlier versions had, and what to use instead.
const REMOVED_FORMS: [(&str, &str); 4] = [("a", "ad"), ("adoy", "ad"), ("dd", "d"), ("udoy", "ud")];

fn when(text: &str) -> Result<TimeFormat, String> {
    if let Some((former, instead)) =
        REMOVED_FORMS.iter().find(|(word, _)| text.split('.').next() == Some(word))
    {
        return Err(format!("-t {former} is not known any more; use -t {instead}."));
    }
    let mut unusable = None;
    let zone = || {
        local_zone().unwrap_or_else(|why| {
            unusable = Some(why);
            TimeZone::UTC
        })
    };
    let format = TimeFormat::parse(text, zone);
    if let Some(why) = unusable {
        return Err(why);
    }
    format.ok_or_else(|| {
        let meanings: Vec<_> =
            TIME_FORMATS.iter().map(|(word, what, _)| format!("{word} ({what})")).collect();
        format!(
            "There is no form of times {}. There are {}; each may have decimals behind a point, as in ad.3.",
            quoted(text),
            meanings.join(", ")
        )
    })
}

fn layer(text: &str) -> Result<Shown, String> {
    Shown::by_name(text).ok_or_else(|| {
        let names = Id::ALL.iter().map(|id| id.info().name);
        let known: Vec<_> = ["frame", "eth", "ip", "udp"].into_iter().chain(names).collect();
        unknown_name("layer", text, &known)
    })
}
