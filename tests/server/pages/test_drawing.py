"""Figures that the server draws."""

from rota.server.pages.drawing.graph import draw_graph


def dependency(name: str) -> dict[str, object]:
    return {"type": "FILE", "resourceId": name}


def test_a_graph_is_drawn_although_its_configuration_was_changed_while_it_was_read() -> None:
    configuration = {
        "dependencies": [dependency("/a"), {"any_of": [dependency("/b"), dependency("/c")]}, dependency("/d")],
        "job": None,
    }
    rows = [{"dependency": dependency("/a"), "met": True}]

    graph = draw_graph(configuration, rows)

    assert [box.title for box in graph.boxes if box.x == 0] == ["/a"]


def test_every_event_is_drawn_once_in_its_order_and_leads_to_its_group_or_to_the_job() -> None:
    groups = {"any_of": [dependency("/b"), {"all_of": [dependency("/c"), dependency("/d")]}]}
    configuration = {"dependencies": [dependency("/a"), groups, dependency("/e")], "job": {"job_type": "load"}}
    rows = [{"dependency": dependency(f"/{name}"), "met": name in "bc"} for name in "abcde"]

    graph = draw_graph(configuration, rows)

    assert [(box.x, box.y, box.title, box.kind) for box in graph.boxes] == [
        (0, 0, "/a", ""),
        (300, 92, "any of", ""),
        (0, 46, "/b", "ok"),
        (300, 115, "all of", ""),
        (0, 92, "/c", "ok"),
        (0, 138, "/d", ""),
        (0, 184, "/e", ""),
        (490, 97, "load", ""),
    ]
    assert [(*ends_of(link.path), link.is_met) for link in graph.links] == [
        ((250, 18), (490, 115), False),
        ((250, 64), (300, 110), True),
        ((250, 110), (300, 133), True),
        ((250, 156), (300, 133), False),
        ((450, 133), (490, 115), False),
        ((450, 110), (490, 115), False),
        ((250, 202), (490, 115), False),
    ]
    assert graph.height == 5 * 46 + 4


def ends_of(path: str) -> tuple[tuple[float, float], tuple[float, float]]:
    """Where a line begins and ends."""
    points = [float(one) for one in path.replace("M", "").replace("C", "").split()]
    return (points[0], points[1]), (points[-2], points[-1])
