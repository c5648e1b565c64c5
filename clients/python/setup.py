"""Compiles the schema into the package.

The descriptors are what is compiled, not Python code: messages are made of them when the package is imported,
so that one wheel works with every version of protobuf.
"""

import shutil
from importlib import resources
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py
from setuptools.command.sdist import sdist

HERE = Path(__file__).resolve().parent
OWN = HERE / "protos"


def schema() -> Path:
    """In a source distribution the schema stands beside this file, in the repository two folders above."""
    for folder in (HERE / "proto", HERE.parent.parent / "proto"):
        if (folder / "hindsight").is_dir():
            return folder
    raise SystemExit("hindsight-client: the folder `proto` of the Hindsight repository is missing; install from a checkout")


def compile_schema(target: Path) -> None:
    import grpc_tools
    from grpc_tools import protoc

    root = schema()
    files = [str(file) for folder in (root, OWN) for file in sorted(folder.rglob("*.proto"))]
    known = str(resources.files(grpc_tools) / "_proto")
    target.parent.mkdir(parents=True, exist_ok=True)
    paths = [f"--proto_path={folder}" for folder in (root, OWN, known)]
    if protoc.main(["protoc", *paths, "--include_imports", f"--descriptor_set_out={target}", *files]) != 0:
        raise SystemExit("hindsight-client: the schema does not compile")


class BuildPy(build_py):
    def run(self) -> None:
        super().run()
        root = HERE / "src" if self.editable_mode else Path(self.build_lib)
        compile_schema(root / "hindsight_client" / "schema.binpb")


class Sdist(sdist):
    def make_release_tree(self, base_dir: str, files: "list[str]") -> None:
        super().make_release_tree(base_dir, files)
        shutil.copytree(schema() / "hindsight", Path(base_dir) / "proto" / "hindsight")
        shutil.copytree(OWN, Path(base_dir) / "protos", dirs_exist_ok=True)


setup(cmdclass={"build_py": BuildPy, "sdist": Sdist})
