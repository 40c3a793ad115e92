"""Where things stand in the calendar of fires."""

from xml.etree import ElementTree

from rota.cli.time.heat_map import draw_heat_map
from tests.model.triggers.instants import ms

SVG = "{http://www.w3.org/2000/svg}"


def columns_of(picture: ElementTree.Element) -> dict[str, str]:
    """Day, as it is told of its cell, to where its column is."""
    return {str(box.findtext(f"{SVG}title")).split(":")[0]: box.attrib["x"] for box in picture.iter(f"{SVG}rect")}


def test_a_month_is_named_above_the_week_in_which_it_begins() -> None:
    picture = ElementTree.fromstring(
        draw_heat_map([], ms("2030-01-15T00:00+00:00"), ms("2030-04-15T00:00+00:00"), "UTC")
    )

    names = {text.text: text.attrib["x"] for text in picture.iter(f"{SVG}text")}
    days = columns_of(picture)
    assert [names[name] for name in ("Feb", "Mar", "Apr")] == [days[f"2030-0{month}-01"] for month in (2, 3, 4)]
    assert "Jan" not in names


def test_a_month_that_begins_on_a_sunday_is_named_above_the_week_that_ends_with_it() -> None:
    picture = ElementTree.fromstring(
        draw_heat_map([], ms("2030-08-20T00:00+00:00"), ms("2030-11-01T00:00+00:00"), "UTC")
    )

    names = {text.text: text.attrib["x"] for text in picture.iter(f"{SVG}text")}
    days = columns_of(picture)
    assert names["Sep"] == days["2030-09-01"] != days["2030-09-02"]
