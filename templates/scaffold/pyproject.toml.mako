[build-system]
requires = ["setuptools>=64"]
build-backend = "setuptools.build_meta"

[project]
name = "${distribution}"
version = "0.1.0"
description = "Target ${name} for match_aie"
requires-python = ">=3.11"
dependencies = ["match-aie"]

[project.optional-dependencies]
test = ["pytest"]

[project.entry-points."match_aie.targets"]
${name} = "${package}:${cls}"

[tool.setuptools]
packages = ["${package}"]
package-dir = {"" = "src"}

[tool.setuptools.package-data]
${package} = ["**/*.mako", "**/*.h", "**/*.c"]
