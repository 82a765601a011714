"""Four-digit numbers that plausibly are years (1000 to 2199), told apart from amounts, versions and labels."""

from collections.abc import Iterator

from memrank.text.lazy import Pattern

YEAR = r"(?:1[0-9]{3}|2[01][0-9]{2})"
LEFT = r"(?<![\w$€£¥#@&=+/\\-])(?<![0-9][.,:])"
"""What may not stand right before a date: the end of a longer number, word, path or amount."""
RIGHT = r"(?![\w%$€£°+=]|[.,:/][0-9]|-[0-9a-z])"
SCAN = 2000
"""Only this many characters of a text are read for time."""

AFTER_PREFIX = rf"(?:{LEFT}|(?<=\bmid-)|(?<=\bpre-)|(?<=\bpost-)|(?<=\bfy))"
_BARE = Pattern(rf"{AFTER_PREFIX}{YEAR}{RIGHT}")
_CUE = Pattern(
    r"(?:\b(?:in|since|from|until|till|by|before|after|during|through|throughout|year|years|of|circa|around|between"
    r"|early|mid"
    r"|late|back in|prior to|as of|end|and|to|summer|winter|spring|autumn|fall) (?:the year )?|\b(?:mid|pre|post)-)$"
)
_LABEL = Pattern(
    r"(?:room|flat|suite|apartment|apt|iso|rfc|port|error|errno|code|version|v|model|flight|unit|route|bus|line|page"
    r"|issue|ticket|pr|case|no|number|building|highway|interstate|section|chapter|item|step|id|order|invoice|http"
    r"|windows|office|server|class|level|gate|platform|channel|extension|ext|part|lot|zip|postcode|pin"
    r"|key|exit|size|about|over|under|than|least|most|exactly|nearly|roughly|approximately|only|spend|spent|spends"
    r"|pay|paid|pays|costing|earn|earned|earns|owe|owes|worth|times|x|plus|minus|convert|eur|usd|gbp"
    r"|chf|squared|ieee|din)"
)
_COUNTED = Pattern(
    r"(?:dollar|dollars|euro|euros|pound|pounds|franc|francs|usd|eur|gbp|cents|yen|kg|g|mg|mcg|ml|l|km|m|cm|mm|miles"
    r"|mile|metres|meters|kilometres|kilometers|feet|ft|acres|hectares|litres|liters|calories|kcal|watts|kw|mw"
    r"|volts|mah|hz|mhz|ghz|rpm|degrees|percent|pixels|px|bytes|kb|mb|gb|tb|ms|seconds|minutes|hours|days|weeks"
    r"|months|years|times|steps|words|tokens|characters|lines|pages|users|customers|people|persons|patients"
    r"|participants|subjects|adults|children|women|men|mice|rats|samples|cells|cases|deaths|genes|employees"
    r"|workers|staff|members|students|stores|shops|shares|units|items|pieces|copies|requests|connections|rows"
    r"|records|files|tests|tickets|votes|views|followers|subscribers|points|inhabitants|residents|seats|rooms"
    r"|houses|cars|soldiers|troops|species)"
)
_ROOT = Pattern(r"\b(?:root|square|cube|log|percent|%) of $")


def bare_years(text: str) -> Iterator[tuple[int, int, int]]:
    """(start, end, year) of the years in a cleaned, lower-case text that stand alone."""
    for m in _BARE.finditer(text):
        start, end, year = m.start(), m.end(), int(m[0])
        before, after = text[max(0, start - 24) : start], text[end : end + 16]
        words = before.split()
        following = after.split(None, 1)
        if following and after.startswith(" ") and _COUNTED.fullmatch(following[0].strip("?.,;:!)")):
            continue
        if (words and _LABEL.fullmatch(words[-1].lstrip("("))) or _ROOT.search(before):
            continue
        if 1800 <= year <= 2100 or _CUE.search(before):
            yield start, end, year
