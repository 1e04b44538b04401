"""The SVG that matplotlib writes, made fit for a page: titles to hover, an accessible name, dark mode."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final
from xml.etree import ElementTree

from kprof.renderers.plot.scene import Scene, where
from kprof.renderers.plot.theme import DARK, FONTS

CLASS: Final = "kprof-roofline"
_SVG: Final = "http://www.w3.org/2000/svg"
_DROPPED: Final = ("metadata", "defs/style")
_FONT_FAMILY: Final = re.compile(r"font-family: [^;]*; ?")
_COORDINATES: Final = ("d", "x", "y", "transform")
_DIGITS: Final = re.compile(r"(\.\d\d)\d+")
_MOST_DESCRIBED: Final = 12
_SIZE: Final = re.compile(r"([0-9.]+)pt")


def point_id(number: int, level: str) -> str:
    """The id of a point's group."""
    return f"{CLASS}-{number}-{level}"


def finished(svg: str, scene: Scene) -> str:
    """The SVG with everything a reader needs, without an XML prolog: it can stand inside HTML."""
    ElementTree.register_namespace("", _SVG)
    ElementTree.register_namespace("xlink", "http://www.w3.org/1999/xlink")
    root = ElementTree.fromstring(svg)
    for path in _DROPPED:
        _remove(root, path)
    _tidy(root)
    root.set("style", f"font-family:{','.join(FONTS)}")
    root.set("class", CLASS)
    root.set("role", "img")
    root.set("aria-labelledby", f"{CLASS}-title {CLASS}-desc")
    for name in ("width", "height"):
        root.set(name, _SIZE.sub(r"\1", root.get(name, "")))
    titles = dict(_titles(scene))
    for group in root.iter(f"{{{_SVG}}}g"):
        text = titles.get(group.get("id", ""))
        if text is not None:
            group.insert(0, _element("title", text))
    style = _element("style", _style())
    named = _element("title", scene.title, f"{CLASS}-title")
    described = _element("desc", _description(scene), f"{CLASS}-desc")
    for position, element in enumerate((named, described, style)):
        root.insert(position, element)
    return ElementTree.tostring(root, encoding="unicode") + "\n"


def _element(name: str, text: str, identity: str | None = None) -> ElementTree.Element:
    made = ElementTree.Element(f"{{{_SVG}}}{name}", {} if identity is None else {"id": identity})
    made.text = text
    return made


def _remove(root: ElementTree.Element, path: str) -> None:
    parent_path, _, name = path.rpartition("/")
    parent = root if not parent_path else root.find(f"{{{_SVG}}}{parent_path}")
    for found in [] if parent is None else parent.findall(f"{{{_SVG}}}{name}"):
        parent.remove(found)  # type: ignore[union-attr]


def _tidy(root: ElementTree.Element) -> None:
    """Leave out what is said twice, and digits that no screen shows: half of the file."""
    for element in root.iter():
        element.tail = None
        if element.text is not None and not element.text.strip():
            element.text = None
        if element.tag == f"{{{_SVG}}}defs":
            # Every use of a marker has its style too, and only that one follows a rule of a style sheet.
            for marker in element.iter(f"{{{_SVG}}}path"):
                marker.attrib.pop("style", None)
        style = element.get("style")
        if style is not None:
            element.set("style", _FONT_FAMILY.sub("", style))
        for name in _COORDINATES:
            value = element.get(name)
            if value is not None:
                element.set(name, _DIGITS.sub(r"\1", " ".join(value.split())))


def _titles(scene: Scene) -> Iterator[tuple[str, str]]:
    for kernel in scene.kernels:
        for point in kernel.points:
            yield point_id(kernel.number, point.level), f"{kernel.label}\n{where(point)}"


def _description(scene: Scene) -> str:
    """All that the picture says, for those who do not see it."""
    if scene.absent is not None:
        return f"No roofline: {scene.absent.message} ({scene.absent.code})."
    roofs = [f"{one.name} {one.bandwidth_gbs:g} GB/s" for one in scene.memory]
    roofs += [f"{one.name} {one.peak_tflops:g} TFLOP/s" for one in scene.compute]
    kernels = [f"{one.label}: {'; '.join(map(where, one.points))}" for one in scene.kernels]
    more = len(kernels) - _MOST_DESCRIBED
    rest = f" And {more} more." if more > 0 else ""
    return f"Roofs: {', '.join(roofs)}. Kernels: {'. '.join(kernels[:_MOST_DESCRIBED])}.{rest}"


def _style() -> str:
    """Colours stand in the elements, for readers without CSS; dark mode exchanges them."""
    scope = f".{CLASS}"
    rules = [f"{scope} *{{stroke-linejoin:round;stroke-linecap:butt}}"]
    dark = "".join(
        f'{scope} [style*="{what}: {light}"]{{{what}:{to}!important}}'
        for light, to in DARK.items()
        for what in ("fill", "stroke")
    )
    rules.append(f"@media screen and (prefers-color-scheme:dark){{{dark}}}")
    return "".join(rules)
