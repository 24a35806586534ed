//! `export`: its errors, and with the feature `parquet` its files and the documentation of the columns.
//! `tests/tables/questions.py` compares the contents with the records.

use crate::kit::run::qdissect;
use tempfile::tempdir;

#[cfg(not(feature = "parquet"))]
#[test]
fn a_build_without_tables_says_how_to_get_them() {
    let folder = tempdir().unwrap();
    let to = folder.path().join("tables");
    let output = qdissect().args(["export", "captures/demo.pcapng", "--to"]).arg(&to).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8(output.stderr).unwrap().contains("--features parquet"));
    assert!(!to.exists());
}

#[cfg(feature = "parquet")]
mod written {
    use super::*;
    use qdissect::tables::{Kind, Table};
    use std::fmt::Write;
    use std::fs;
    use std::path::Path;

    fn export(to: &Path, args: &[&str]) -> (Option<i32>, String) {
        let output = qdissect().arg("export").args(args).arg("--to").arg(to).output().unwrap();
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    }

    fn files(folder: &Path) -> Vec<String> {
        let names = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name());
        names.map(|name| name.into_string().unwrap()).collect()
    }

    #[test]
    fn existing_tables_are_kept_and_captures_are_always_written() {
        let folder = tempdir().unwrap();
        let to = folder.path().join("tables");
        assert_eq!(export(&to, &["--tables", "exchanges", "captures/demo.pcapng"]).0, Some(0));
        let mut tables = files(&to);
        tables.sort();
        assert_eq!(tables, ["captures", "exchanges"]);
        assert!(
            tables.iter().all(|table| files(&to.join(table)) == ["part-00000.parquet"]),
            "nothing else is left"
        );
        let part = to.join("captures/part-00000.parquet");
        let before = fs::read(&part).unwrap();
        let (code, stderr) = export(&to, &["captures/demo.pcapng"]);
        assert_eq!((code, fs::read(&part).unwrap()), (Some(2), before));
        assert!(stderr.contains("part-00000.parquet\" exists"), "{stderr}");
    }

    #[cfg(unix)]
    #[test]
    fn all_tables_are_written_if_standard_output_is_closed() {
        let folder = tempdir().unwrap();
        let to = folder.path().join("tables");
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let mut command = qdissect();
        command.args(["export", "captures/demo.pcapng", "--to"]).arg(&to).stdout(writer);
        assert_eq!(command.status().unwrap().code(), Some(0));
        assert!(files(&to).iter().all(|table| files(&to.join(table)) == ["part-00000.parquet"]));
    }

    #[test]
    fn unreadable_inputs_end_with_2_and_tables_are_written() {
        let folder = tempdir().unwrap();
        let to = folder.path().join("tables");
        assert_eq!(export(&to, &["README.md", "captures/demo.pcapng"]).0, Some(2));
        assert_eq!(files(&to).len(), 5);
    }

    /// The tables of the documentation, from the metadata of the columns.
    fn columns() -> String {
        let mut text = String::new();
        for table in Table::ALL {
            writeln!(text, "\n### {}\n\n| column | type | meaning |\n|---|---|---|", table.name()).unwrap();
            for column in table.columns() {
                let kind = match column.kind {
                    Kind::Int32 => "int32",
                    Kind::Int64 => "int64",
                    Kind::Bool => "boolean",
                    Kind::Text | Kind::Label => "text",
                    Kind::Time => "time, and `_ns`",
                    Kind::Numbers => "list of int64",
                    Kind::Texts => "list of text",
                    Kind::Bytes => "bytes",
                };
                let null = if column.nullable { " or null" } else { "" };
                let unit =
                    if column.unit.is_empty() { String::new() } else { format!(" In {}.", column.unit) };
                writeln!(text, "| `{}` | {kind}{null} | {}{unit} |", column.name, column.meaning).unwrap();
            }
        }
        text + "\n"
    }

    #[test]
    fn the_page_has_every_column() {
        let page = fs::read_to_string("docs/tables.md").unwrap();
        let (head, rest) = page.split_once("<!-- columns -->\n").expect("there is a place for them");
        let (_, tail) = rest.split_once("<!-- /columns -->").expect("it has an end");
        let expected = format!("{head}<!-- columns -->\n{}<!-- /columns -->{tail}", columns());
        if std::env::var_os("UPDATE_DOCS").is_some() {
            fs::write("docs/tables.md", &expected).unwrap();
        }
        assert!(page == expected || std::env::var_os("UPDATE_DOCS").is_some(), "UPDATE_DOCS=1 writes them");
    }
}
