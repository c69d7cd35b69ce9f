"""The page says what the record says, escapes what models bring along, and stands alone."""

import re
from dataclasses import replace
from html import unescape
from html.parser import HTMLParser

import pytest

from documentation.sample_reports import AFTER, LONG, NASTY, SAMPLES, improved, mismatch
from taso_opt.api import OptimizeSettings
from taso_opt.cli.optimize import command
from taso_opt.cli.root import group
from taso_opt.report.page import command_words, render_html, render_summary

VOID = {"meta", "link", "br", "img", "hr", "input"}


class Page(HTMLParser):
    """Tags with their attributes, text by section, and whether every tag is closed."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.tags, self.open, self.sections, self.text = [], [], {}, ""
        self.feed(text)
        assert self.open == [], f"never closed: {self.open}"

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append((tag, dict(attrs).get("id")))

    def handle_startendtag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open and self.open[-1][0] == tag, f"{tag} closes {self.open[-1:]} at {self.getpos()}"
        self.open.pop()

    def handle_data(self, data):
        if self.open and self.open[-1][0] in ("td", "th"):
            data += " "
        if any(tag == "style" for tag, _ in self.open):
            return
        self.text += data
        for _, name in self.open:
            if name is not None:
                self.sections[name] = self.sections.get(name, "") + data

    def count(self, tag, **attributes):
        return sum(name == tag and attributes.items() <= found.items() for name, found in self.tags)


def said(text):
    return " ".join(text.split())


@pytest.mark.parametrize("name", SAMPLES)
def test_every_page_is_well_formed_and_asks_for_nothing_outside(name):
    text = render_html(SAMPLES[name]())
    page = Page(text)
    assert text.startswith("<!DOCTYPE html>")
    assert page.count("script") == page.count("link") == page.count("img") == page.count("iframe") == 0
    for tag, attributes in page.tags:
        assert not any(key.startswith("on") or key == "src" for key in attributes), (tag, attributes)
        assert attributes.get("href", "#").startswith("#")
    assert "http://" not in text and "https://" not in text and "@import" not in text and "url(" not in text
    assert page.count("meta", **{"http-equiv": "Content-Security-Policy"}) == 1


def test_an_improvement_is_told_with_its_figures():
    page = Page(render_html(improved()))
    assert "1.47 times as fast" in page.sections["answer"]
    assert "model.opt.onnx" in page.sections["answer"]
    assert "output 0 does not react" in page.sections["answer"]
    figures = said(page.sections["latency"])
    assert "before: 2.447 ms ± 0.077" in figures
    assert "after: 1.698 ms ± 0.065" in figures
    assert "speed-up: 1.470 (1.400 to 1.580)" in figures
    assert "A/A control: 1.002 (0.946 to 1.073)" in figures
    assert "Conv + Add + Relu" in page.sections["costs"]
    assert "40 graphs explored in 6.5 s" in said(page.sections["search"])
    assert "2.500 ms before and 1.500 ms" in said(page.sections["search"])
    assert "3.5e-06" in page.sections["errors"] and "agrees" in page.sections["errors"]


def test_a_rule_stands_beside_its_conditions_its_proof_and_its_places():
    page = Page(render_html(improved()))
    section = said(page.sections["rule-1"])
    assert "MatMul(MatMul(x, y), z) = MatMul(x, MatMul(y, z))" in section
    assert "k is the same in x and y" in section
    assert "matmul_is_associative" in section
    assert "Proved by z3 5.4.0" in section
    assert "Step 1: first, predicted gain +0.125 ms" in section
    assert "Step 2: second" in section
    assert page.count("figure", **{"class": "drawn"}) == 4


def test_drawings_hold_every_node_and_every_edge():
    record = replace(improved(), places=improved().places[:1])
    page = Page(render_html(record))
    boxes = [attributes["class"] for tag, attributes in page.tags if tag == "rect"]
    assert sum("folded" in kind for kind in boxes) == 1
    assert sum(kind == "box operator output" for kind in boxes) == 2
    assert page.count("path", **{"class": "edge"}) == 2 + sum(len(node.operands) for node in AFTER.nodes)


def test_the_heat_map_counts_each_place_where_it_stands():
    text = render_html(improved())
    cells = re.findall(r'<td class="heat"[^>]*>([^<]*)</td>', text)
    assert cells == ["", "1", *[""] * 9, "1"]


def test_the_search_is_a_staircase_from_the_first_cost_to_the_best():
    page = Page(render_html(improved()))
    path = next(a["d"] for tag, a in page.tags if tag == "path" and a["class"] == "stroke-after")
    heights = [float(part) for part in re.findall(r"V([\d.]+)", path)]
    assert path.count("H") == path.count("V") == 3
    assert heights == sorted(heights)
    circles = [a for tag, a in page.tags if tag == "circle" and a.get("r") == "3.5"]
    assert len(circles) == 4


def test_unchanged_says_why_and_leaves_out_what_was_not_done():
    page = Page(render_html(SAMPLES["unchanged"]()))
    assert "unchanged" in page.sections["answer"]
    assert "no rewriting is predicted to be faster by more than 1%" in page.sections["answer"]
    assert "the input as it was, byte for byte" in page.sections["answer"]
    assert "Nothing was measured as a whole." in page.sections["latency"]
    assert "No rule was applied." in page.sections["rules"]
    assert "places" not in page.sections
    assert page.count("svg") == 0


def test_a_candidate_that_is_not_ahead_is_called_a_candidate():
    page = Page(render_html(SAMPLES["not_ahead"]()))
    assert "unchanged" in page.sections["answer"]
    assert "candidate: 1.698" in said(page.sections["latency"])
    assert "latency of the best candidate" in page.text


def test_a_failed_check_names_the_output_that_differs():
    page = Page(render_html(mismatch()))
    assert "a check failed, nothing written" in page.sections["answer"]
    rows = said(page.sections["errors"])
    assert "y 0 0 1.0e-04 agrees" in rows
    assert "z inf nan 1.0e-04 differs" in rows
    assert "<dt>largest error</dt><dd>not finite</dd>" in render_html(mismatch())


def test_hostile_and_long_names_stay_text():
    text = render_html(SAMPLES["crowded"]())
    page = Page(text)
    assert "<script" not in text.replace("&lt;script", "")
    assert "<script>alert('x')</script>&\"quoted\"" in page.sections["answer"]
    assert "\N{RIGHT-TO-LEFT OVERRIDE}" not in text
    assert "\\u202e" in page.text
    assert LONG in page.sections["answer"]
    labels = [unescape(label) for label in re.findall(r"<text[^>]*>([^<]*)</text>", text)]
    assert max(len(label) for label in labels) < 60


def test_five_hundred_steps_are_all_listed_and_the_first_ones_drawn():
    page = Page(render_html(SAMPLES["crowded"]()))
    assert "All 500 steps in order" in page.sections["places"]
    assert page.sections["places"].count(f"{LONG}_499") == 1
    assert page.count("figure", **{"class": "drawn"}) == 2 * 60


def test_the_command_repeats_the_run():
    words = command_words(improved())
    assert words == [
        "tasoopt",
        "optimize",
        "model.onnx",
        "--force",
        "--device",
        "auto",
        "--threads",
        "1",
        "--dim",
        "n=4",
    ]
    nasty = replace(improved(), input="a b.onnx", settings={"rules": NASTY, "dry_run": True})
    assert command_words(nasty) == ["tasoopt", "optimize", "a b.onnx", "--rules", NASTY, "--dry-run"]
    assert command_words(replace(improved(), input="-model.onnx"))[2] == "./-model.onnx"


def test_the_page_of_a_dry_run_says_what_would_become_of_the_model():
    planned = replace(improved(), result="dry-run", speedup=None, output=None)
    after = sum(planned.operators_after.values())
    assert f"→ {after}" in render_html(planned)
    assert "rule to apply" in render_summary(planned) and "rule applied" not in render_summary(planned)


def test_the_command_is_one_that_the_command_line_takes():
    settings = OptimizeSettings(
        device="cuda", cuda_options={"prefer_nhwc": "1", "enable_cuda_graph": "1"}, dims={"n": (4, 5)}, budget=3.0
    )
    words = command_words(replace(improved(), settings=settings.described()))[2:]
    given = command.make_context("optimize", words, **group.context_settings).params
    assert given["cuda_options"] == settings.cuda_options
    assert {name: given[name] for name in ("device", "budget", "dims", "fp_class", "seed")} == {
        "device": "cuda",
        "budget": 3.0,
        "dims": ("n=4,5",),
        "fp_class": "E3",
        "seed": 0,
    }


def test_settings_are_told_as_a_user_would():
    rows = said(Page(render_html(improved())).sections["reproduce"])
    for told in ("output none", "force yes", "threads 1", "dims n=4", "dry_run no", "providers CPU"):
        assert told in rows


def test_the_summary_calls_a_candidate_a_candidate_too():
    assert "<th>best candidate</th>" in render_summary(SAMPLES["not_ahead"]())
    assert "<th>after</th>" in render_summary(improved())
