"""Fills the templates for Homebrew, Scoop and winget from the archives in a folder, into that folder: manifests.py FOLDER

$VERSION, $DESCRIPTION, $HOMEPAGE, $REPOSITORY and $RELEASE (the URL of the release) stand for what Cargo.toml says, $SHA256_TARGET for the
hash of the archive of that target, with underscores for hyphens.
"""

import hashlib
import os
import sys
from pathlib import Path
from string import Template

folder = Path(sys.argv[1])
version = os.environ["VERSION"]
values = {key: os.environ[key] for key in ("VERSION", "DESCRIPTION", "HOMEPAGE", "REPOSITORY")}
values["RELEASE"] = f"{values['REPOSITORY']}/releases/download/v{version}"
for archive in folder.glob(f"qdissect-{version}-*"):
    target = archive.name.removeprefix(f"qdissect-{version}-").removesuffix(".tar.gz").removesuffix(".zip")
    if target != archive.name and archive.suffix in (".gz", ".zip"):
        values["SHA256_" + target.replace("-", "_")] = hashlib.sha256(archive.read_bytes()).hexdigest()

for template in sorted(Path(__file__).with_name("templates").iterdir()):
    try:
        text = Template(template.read_text(encoding="utf-8")).substitute(values)
    except KeyError as missing:
        sys.exit(f"{template.name} needs {missing}: an archive is not in {folder}")
    filled = folder / "manifests" / template.name
    filled.parent.mkdir(exist_ok=True)
    filled.write_text(text, encoding="utf-8", newline="\n")
    print(filled)
