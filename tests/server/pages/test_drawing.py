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
