"""Lists the crates that are in the program for a target, or in the Python module: parts.py TARGET LICENCES SBOM [python/Cargo.toml]

LICENCES becomes a text with the licence of each, as most of them ask for; SBOM a list in the form of CycloneDX 1.5.
"""

import json
import os
import subprocess
import sys
import uuid
from datetime import datetime, timezone
from pathlib import Path

target, licences, sbom, *manifest = sys.argv[1:]
# The program is built with all that it can do.
chosen = ["--manifest-path", *manifest] if manifest else ["--features=parquet"]


def cargo(*arguments):
    return subprocess.run(["cargo", *arguments], check=True, capture_output=True, encoding="utf-8").stdout


# What is compiled into the program: no crates for tests, and none that only run while it is built.
tree = cargo("tree", "--locked", *chosen, f"--target={target}", "--edges=normal,no-proc-macro", "--prefix=none", "--format={p}")
named = {tuple(line.split()[:2]) for line in tree.splitlines()}
metadata = json.loads(cargo("metadata", "--locked", *chosen, f"--filter-platform={target}", "--format-version=1"))
packages = {(it["name"], f"v{it['version']}"): it for it in metadata["packages"]}
own = next(it for it in metadata["packages"] if it["id"] == metadata["resolve"]["root"])
parts = [packages[key] for key in sorted(named) if packages[key] is not own]
assert len(parts) > 20, "the crates are found"

# Names of files that hold a licence, or the notice that belongs to one.
LICENCE = ("license", "licence", "copying", "copyright", "notice", "unlicense")

with open(licences, "w", encoding="utf-8", newline="\n") as out:
    out.write(f"{own['name']} contains these crates, and the standard library of Rust (MIT or Apache-2.0).\n")
    if "musl" in target:
        out.write("It is linked with the C library musl (MIT), Copyright © 2005-2020 Rich Felker, et al.\n")
    for part in parts:
        out.write(f"\n{'=' * 80}\n{part['name']} {part['version']}: {part['license']}\n")
        folder = Path(part["manifest_path"]).parent
        texts = sorted(path for path in folder.iterdir() if path.is_file() and path.name.lower().startswith(LICENCE))
        for text in texts:
            out.write(f"\n--- {text.name}\n\n{text.read_text(encoding='utf-8', errors='replace').strip()}\n")
        if not texts:
            out.write(f"\nIts package has no text of it. Authors: {', '.join(part['authors']) or 'not named'}.\n")


checksums = {}
for entry in Path(own["manifest_path"]).with_name("Cargo.lock").read_text().split("[[package]]")[1:]:
    values = dict(line.split(" = ", 1) for line in entry.splitlines() if line.count(" = ") == 1)
    checksums[values["name"].strip('"'), values["version"].strip('"')] = values.get("checksum", '""').strip('"')


def component(package, kind):
    name, version = package["name"], package["version"]
    purl = f"pkg:cargo/{name}@{version}"
    listed = {"type": kind, "bom-ref": purl, "name": name, "version": version, "purl": purl}
    listed["licenses"] = [{"expression": package["license"].replace("/", " OR ")}]
    if checksums.get((name, version)):
        listed["hashes"] = [{"alg": "SHA-256", "content": checksums[name, version]}]
    return listed


purls = {it["id"]: f"pkg:cargo/{it['name']}@{it['version']}" for it in parts + [own]}
dependencies = [
    {"ref": purls[node["id"]], "dependsOn": sorted({purls[it] for it in node["dependencies"] if it in purls and it != node["id"]})}
    for node in metadata["resolve"]["nodes"]
    if node["id"] in purls
]
built = datetime.fromtimestamp(int(os.environ["SOURCE_DATE_EPOCH"]), timezone.utc)
bom = {
    "bomFormat": "CycloneDX",
    "specVersion": "1.5",
    "version": 1,
    "serialNumber": uuid.uuid5(uuid.NAMESPACE_URL, f"{own['name']}/{own['version']}/{target}/{built}").urn,
    "metadata": {"timestamp": built.strftime("%Y-%m-%dT%H:%M:%SZ"), "component": component(own, "application")},
    "components": [component(it, "library") for it in parts],
    "dependencies": sorted(dependencies, key=lambda it: it["ref"]),
}
Path(sbom).write_text(json.dumps(bom, indent=1) + "\n", encoding="utf-8", newline="\n")
