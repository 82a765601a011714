"""HTML pages as tests read them: strictly, with what they hold, say and would load."""

from html.parser import HTMLParser

VOID = {"meta", "link", "br", "hr", "img", "input"}


class Page(HTMLParser):
    """The elements of a page in their order. Raises AssertionError where elements are not nested as they should be."""

    def __init__(self, code: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self._open: list[str] = []
        self.feed(code)
        self.close()
        assert not self._open, self._open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._add(tag, attrs)
        if tag not in VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._add(tag, attrs)

    def handle_endtag(self, tag: str) -> None:
        assert self._open, tag
        assert self._open.pop() == tag, tag

    def handle_data(self, data: str) -> None:
        if "style" not in self._open:
            self.text += data

    def _add(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        names = [name for name, _ in attrs]
        assert len(names) == len(set(names)), names
        self.elements.append((tag, dict(attrs)))

    def tags(self) -> list[str]:
        return [tag for tag, _ in self.elements]

    def of(self, tag: str) -> list[dict[str, str | None]]:
        """The attributes of every such element."""
        return [attributes for name, attributes in self.elements if name == tag]


def assert_self_contained(code: str) -> Page:
    """No script, nothing that is loaded, links only to places of the page, and every such place is there once."""
    page = Page(code)
    assert not {"script", "link", "img", "iframe", "object", "embed", "image", "use", "base", "form"} & set(page.tags())
    for _, attributes in page.elements:
        assert not [name for name in attributes if name.startswith("on") or name in ("src", "style", "xlink:href")]
        assert (attributes.get("href") or "#").startswith("#")
    style = code[code.index("<style>") : code.index("</style>")]
    assert "url(" not in style
    assert "@import" not in style
    ids = [attributes["id"] for _, attributes in page.elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    referred = [(attributes.get("href") or "#").removeprefix("#") for attributes in page.of("a")]
    referred += [name for _, attributes in page.elements if (name := attributes.get("aria-labelledby"))]
    assert set(referred) <= set(ids)
    return page
