"""In a real browser the page asks for nothing, complains of nothing, and everything in it has its place.

Without a Chromium these tests are skipped, but not where CI is set: there `make browser` has to have found one.
"""

import pytest

from documentation.sample_reports import SAMPLES
from taso_opt.report.page import render_html, render_summary

SIZES = {"desktop": (1280, 900), "phone": (390, 844)}

SPILLED = """() => [...document.querySelectorAll("svg text")].filter(text => {
    const inner = text.getBBox(), whole = text.ownerSVGElement.viewBox.baseVal;
    return inner.width > 0 && (inner.x < -1 || inner.x + inner.width > whole.width + 1);
}).map(text => text.textContent)"""
"""Texts of plots and drawings that stick out of their picture."""

CRAMPED = """() => [...document.querySelectorAll("figure.drawn g")].filter(group => {
    const box = group.querySelector("rect").getBBox();
    return [...group.querySelectorAll("text")].some(text => text.getBBox().width > box.width);
}).map(group => group.querySelector("title").textContent)"""
"""Nodes of drawings whose text is wider than their box."""

OVERLAPS = """() => [...document.querySelectorAll("figure.plot svg")].flatMap(picture => {
    const boxes = [...picture.querySelectorAll("text")].map(text => [text.textContent, text.getBBox()]);
    return boxes.flatMap(([name, a], at) => boxes.slice(at + 1).filter(([_, b]) =>
        a.x < b.x + b.width && b.x < a.x + a.width && a.y + 2 < b.y + b.height - 2 && b.y + 2 < a.y + a.height - 2
    ).map(([other, _]) => name + " | " + other));
})"""
"""Pairs of texts in a plot that lie upon each other."""


CONTRASTS = """() => {
    const numbers = colour => colour.match(/[\\d.]+/g).map(Number);
    const linear = part => part <= 0.03928 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
    const light = ([r, g, b]) => 0.2126 * linear(r / 255) + 0.7152 * linear(g / 255) + 0.0722 * linear(b / 255);
    const over = (top, below, a = top[3] ?? 1) => [0, 1, 2].map(at => top[at] * a + below[at] * (1 - a));
    const ground = element => {
        const mine = numbers(getComputedStyle(element).backgroundColor);
        return over(mine, element.parentElement ? ground(element.parentElement) : [255, 255, 255]);
    };
    const hasText = element => [...element.childNodes].some(node => node.nodeType === 3 && node.textContent.trim());
    return [...document.querySelectorAll("main *:not(svg *)")].filter(one => hasText(one) && one.checkVisibility())
        .map(one => {
            const pair = [light(numbers(getComputedStyle(one).color)), light(ground(one))].sort((a, b) => a - b);
            return [one.textContent.trim().slice(0, 40), (pair[1] + 0.05) / (pair[0] + 0.05)];
        });
}"""
"""For each element with text its contrast with its ground, as the WCAG defines it; 4.5 is legible."""


@pytest.fixture
def show(chromium, tmp_path):
    """Opens a text as a page of a size; what the page asked for and complained of is collected in it."""
    opened = []

    def shown(text, size="desktop", scheme="light"):
        path = tmp_path / "report.html"
        path.write_text(text, encoding="utf-8")
        width, height = SIZES[size]
        page = chromium.new_page(viewport={"width": width, "height": height}, color_scheme=scheme)
        opened.append(page)
        page.asked, page.complaints = [], []
        page.on("request", lambda request: page.asked.append(request.url))
        page.on("console", lambda message: page.complaints.append(message.text))
        page.on("pageerror", lambda error: page.complaints.append(str(error)))
        page.on("dialog", lambda dialog: page.complaints.append(dialog.message))
        page.goto(path.as_uri())
        return page

    yield shown
    for page in opened:
        page.close()


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", SAMPLES)
def test_a_page_asks_for_nothing_and_fits_its_window(name, size, show):
    page = show(render_html(SAMPLES[name]()), size)
    assert len(page.asked) == 1 and page.asked[0].startswith("file:")
    assert page.complaints == []
    width, wanted = page.evaluate("[innerWidth, document.documentElement.scrollWidth]")
    assert wanted <= width == SIZES[size][0]


@pytest.mark.parametrize("name", SAMPLES)
def test_texts_of_pictures_stay_in_their_place(name, show):
    page = show(render_html(SAMPLES[name]()))
    page.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
    assert page.evaluate(SPILLED) == []
    assert page.evaluate(CRAMPED) == []
    assert page.evaluate(OVERLAPS) == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_stands_out_from_its_ground(scheme, show):
    page = show(render_html(SAMPLES["improved"]()), scheme=scheme)
    ratios = page.evaluate(CONTRASTS)
    assert len(ratios) > 50
    assert min(ratio for _, ratio in ratios) >= 4.5, [(text, ratio) for text, ratio in ratios if ratio < 4.5]


def test_a_link_to_a_folded_rule_unfolds_it(show):
    page = show(render_html(SAMPLES["crowded"]()))
    folded = page.locator("details.rule").nth(30)
    assert folded.evaluate("one => one.open") is False
    page.locator("#rules a").nth(30).click()
    assert folded.evaluate("one => one.open") is True
    assert page.locator("#rule-31").is_visible()


def test_the_short_form_of_many_rules_is_short_and_fits_a_phone(show):
    page = show(f"<!DOCTYPE html><body>{render_summary(SAMPLES['crowded']())}</body>", "phone")
    assert page.locator("tr").last.inner_text().split() == ["and", "38", "more", "380"]
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_hostile_names_do_nothing_in_a_notebook(show):
    page = show(f"<!DOCTYPE html><body>{render_summary(SAMPLES['crowded']())}</body>")
    assert page.complaints == []
    assert page.locator("script").count() == 0
