//! `qdissect export`: its arguments, and the Parquet files that it writes.

use super::choices::TABLES;
use super::common_args::Common;
use super::diagnostics::Done;
use super::inputs::Inputs;
use super::job::{Job, ReadsCaptures};
use super::output::Target;
#[cfg(target_os = "linux")]
use super::sandbox::Allowed;
use super::system::display_name;
use crate::pipeline::Options;
use clap::Args;
use std::io;
use std::path::{Path, PathBuf};

/// `qdissect export`
#[derive(Debug, Args)]
pub struct ExportArgs {
    /// Directory to write to: in it, a directory for each table
    #[arg(long, value_name = "DIR")]
    pub to: PathBuf,
    /// Only these tables, separated by commas
    #[arg(long, value_parser = TABLES, value_name = "TABLE,...", value_delimiter = ',')]
    pub tables: Vec<&'static str>,
    /// All fields of each message as JSON, in the column `fields` of `messages`
    #[arg(long)]
    pub fields: bool,
    #[command(flatten)]
    pub common: Common,
}

impl ExportArgs {
    /// The directories of the requested tables; `captures` is always included.
    fn folders(&self) -> Vec<PathBuf> {
        let wanted =
            |name: &&str| self.tables.is_empty() || self.tables.contains(name) || *name == "captures";
        TABLES.names().filter(wanted).map(|name| self.to.join(name)).collect()
    }
}

impl ReadsCaptures for ExportArgs {
    fn common(&self) -> &Common {
        &self.common
    }

    fn common_mut(&mut self) -> &mut Common {
        &mut self.common
    }

    /// Creates the directories. Existing tables are not overwritten.
    fn prepare(&self) -> Result<(), String> {
        if !cfg!(feature = "parquet") {
            return Err("This program was built without tables: `cargo install --path . --locked --features parquet` \
                        builds one with them."
                .to_owned());
        }
        if self.common.output.is_some() {
            return Err("export writes to the directory that --to names; leave --output out.".to_owned());
        }
        for folder in self.folders() {
            std::fs::create_dir_all(&folder)
                .map_err(|e| format!("\"{}\" cannot be made: {e}.", display_name(&folder)))?;
            let part = part_path(&folder);
            if part.exists() {
                let path = display_name(&part);
                return Err(format!("\"{path}\" exists: name another directory with --to, or remove it."));
            }
        }
        Ok(())
    }

    #[cfg(target_os = "linux")]
    fn allowed(&self) -> Allowed {
        Allowed { write: self.folders(), ..Allowed::default() }
    }

    fn run(&self, to: &mut Target, Job { options, inputs, .. }: Job) -> io::Result<Done> {
        export(to, self, options, inputs)
    }
}

/// The only file of a table.
pub fn part_path(folder: &Path) -> PathBuf {
    folder.join("part-00000.parquet")
}

/// Never called: without Parquet support, [`ExportArgs::prepare`] fails first.
#[cfg(not(feature = "parquet"))]
fn export(_: &mut dyn io::Write, _: &ExportArgs, _: Options, _: Inputs) -> io::Result<Done> {
    Ok((super::diagnostics::FAILED, 0))
}

#[cfg(feature = "parquet")]
use written::export;

#[cfg(feature = "parquet")]
mod written {
    use super::*;
    use crate::cli::diagnostics::{error_text, refuse};
    use crate::cli::output::Target;
    use crate::cli::save::read_all;
    use crate::cli::value_parsers::Expression;
    use crate::tables::{SCHEMA, Table, Tables};
    use arrow_array::RecordBatch;
    use arrow_schema::{DataType, Field};
    use parquet::arrow::ArrowWriter;
    use parquet::basic::{Compression, Encoding};
    use parquet::errors::ParquetError;
    use parquet::file::metadata::KeyValue;
    use parquet::file::properties::{EnabledStatistics, WriterProperties, WriterPropertiesBuilder};
    use parquet::schema::types::ColumnPath;
    use serde_json::json;

    /// Rows per row group.
    const GROUP: usize = 131_072;
    /// A row group ends earlier when its rows reach this size in bytes.
    const MAX_GROUP_BYTES: usize = 12 << 20;

    /// The file of a table that is being written.
    struct Part {
        table: Table,
        writer: ArrowWriter<Target>,
        rows: usize,
        path: PathBuf,
    }

    /// The I/O error inside an error of the writer, if there is one.
    fn io_error(e: ParquetError) -> io::Error {
        match e {
            ParquetError::External(e) => {
                e.downcast::<io::Error>().map_or_else(io::Error::other, |inner| *inner)
            }
            e => io::Error::other(e),
        }
    }

    /// Chooses the encoding of a column: numbers as differences from row to row, labels by a dictionary, both uncompressed
    /// because they are small already; texts are compressed. Minimum and maximum are stored for columns whose values grow with
    /// the rows, so that readers can skip row groups.
    fn with_encoding(all: WriterPropertiesBuilder, field: &Field) -> WriterPropertiesBuilder {
        let (data_type, inner) = match field.data_type() {
            DataType::List(element) => (element.data_type(), &["list", "element"][..]),
            data_type => (data_type, &[][..]),
        };
        let path = [&[field.name().as_str()], inner].concat().into_iter().map(str::to_owned).collect();
        let path = ColumnPath::new(path);
        let grows = matches!(data_type, DataType::Timestamp(..)) || field.name().ends_with("frame");
        let statistics = if grows { EnabledStatistics::Chunk } else { EnabledStatistics::None };
        let all = all.set_column_statistics_enabled(path.clone(), statistics);
        match data_type {
            DataType::Int32 | DataType::Int64 | DataType::Timestamp(..) => all
                .set_column_dictionary_enabled(path.clone(), false)
                .set_column_encoding(path, Encoding::DELTA_BINARY_PACKED),
            DataType::Utf8 => all
                .set_column_dictionary_enabled(path.clone(), false)
                .set_column_compression(path, Compression::SNAPPY),
            _ => all,
        }
    }

    impl Part {
        fn new(table: Table, to: &Path, options: &str) -> io::Result<Part> {
            let path = part_path(&to.join(table.name()));
            let metadata = [("qdissect.schema", SCHEMA), ("qdissect.options", options)];
            let metadata = metadata.map(|(key, value)| KeyValue::new(key.to_owned(), value.to_owned()));
            let properties = WriterProperties::builder()
                .set_created_by(concat!("qdissect ", env!("CARGO_PKG_VERSION")).to_owned())
                .set_key_value_metadata(Some(metadata.to_vec()))
                .set_max_row_group_row_count(Some(GROUP));
            let schema = table.schema();
            let properties =
                schema.fields().iter().fold(properties, |all, field| with_encoding(all, field)).build();
            let target = Target::open(Some(&path))?;
            let writer = ArrowWriter::try_new(target, schema, Some(properties)).map_err(io_error)?;
            Ok(Part { table, writer, rows: 0, path })
        }

        fn write(&mut self, batch: &RecordBatch) -> io::Result<()> {
            self.rows += batch.num_rows();
            self.writer.write(batch).map_err(io_error)?;
            if self.writer.in_progress_size() >= MAX_GROUP_BYTES {
                self.writer.flush().map_err(io_error)
            } else {
                Ok(())
            }
        }

        /// Finishes the file and gives it its final name. Returns a line that names it.
        fn complete(self) -> io::Result<String> {
            let Part { table, writer, rows, path } = self;
            writer.into_inner().map_err(io_error)?.complete(true)?;
            Ok(format!("{rows:>12} {:<10} {}", table.name(), display_name(&path)))
        }
    }

    /// The options that affect the results, as metadata for readers of the tables.
    fn options_json(common: &Common) -> String {
        let protocols: Vec<_> = common.protocol.iter().map(|id| id.info().name).collect();
        json!({
            "display_filter": common.display_filter.as_ref().map(Expression::text),
            "protocol": protocols,
            "timeout_ns": common.timeout,
            "per_file": common.per_file,
            "memory": common.memory,
        })
        .to_string()
    }

    /// Reads the inputs, writes the tables, and then lists them. The tables are complete even if writing the list fails.
    pub(super) fn export(
        out: &mut dyn io::Write,
        args: &ExportArgs,
        options: Options,
        inputs: Inputs,
    ) -> io::Result<Done> {
        let (code, lines) = match write(args, options, inputs) {
            Ok(written) => written,
            Err(e) => {
                let to = display_name(&args.to);
                return Ok(refuse(&format_args!(
                    "Not all tables could be written to \"{to}\": {}.",
                    error_text(&e)
                )));
            }
        };
        if !args.common.quiet {
            lines.iter().try_for_each(|line| writeln!(out, "{line}"))?;
        }
        Ok((code, 1))
    }

    /// Reads the inputs and writes the tables; returns the exit code, and a line for each table.
    fn write(args: &ExportArgs, options: Options, inputs: Inputs) -> io::Result<(u8, Vec<String>)> {
        let options_json = options_json(&args.common);
        let folders = args.folders();
        let wanted: Vec<_> =
            Table::ALL.into_iter().filter(|table| folders.contains(&args.to.join(table.name()))).collect();
        let parts = wanted.iter().map(|&table| Part::new(table, &args.to, &options_json));
        let mut parts = parts.collect::<io::Result<Vec<_>>>()?;
        let write_batch = |table, batch: RecordBatch| match parts.iter_mut().find(|part| part.table == table)
        {
            Some(part) => part.write(&batch),
            None => Ok(()),
        };
        let (_, code) = read_all(
            &args.common,
            options,
            inputs,
            &mut Tables::new(&wanted, args.fields, &options_json, Box::new(write_batch)),
        )?;
        let lines = parts.into_iter().map(Part::complete).collect::<io::Result<_>>()?;
        Ok((code, lines))
    }
}
