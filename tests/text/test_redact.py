"""What gives access is removed; what a memory is about stays."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memrank.text.redact import REMOVED, Redactor

SECRETS = [
    "sk-proj-abcDEF1234567890abcdef",
    "ghp_abcdefghijklmnop123456",
    "hf_abcdefghijklmnopqrst",
    "AKIAIOSFODNN7EXAMPLE",
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N",
    "xoxb-123456789012-abcdefghijkl",
]


@pytest.mark.parametrize("secret", SECRETS)
def test_a_secret_goes_and_its_surroundings_stay(secret: str) -> None:
    assert Redactor().clean(f"The key is {secret}, ask Dana.") == f"The key is {REMOVED}, ask Dana."


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("Authorization: Bearer abc123def456ghi789", "Authorization: [removed]"),
        ("postgres://dana:hunter2@db.example/x", "postgres://[removed]@db.example/x"),
        ('{"api_key": "0123456789"}', '{"[removed]"}'),
        ("password=hunter22 and more", "[removed] and more"),
        ("-----BEGIN PRIVATE KEY-----\nMIIE is cut off", "[removed]"),
        ("-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----\nafter", "[removed]\nafter"),
    ],
)
def test_forms(text: str, kept: str) -> None:
    assert Redactor().clean(text) == kept


@pytest.mark.parametrize(
    "text",
    [
        "Write to dana@example.com or call +31 6 1234 5678.",
        "The password was changed on Friday.",
        "Bearer understanding of the law",
        "sk-learn-based-pipelines-of-the-team",
        "Token budget: 1200",
        "https://example.com:8080/a@b",
    ],
)
def test_what_is_no_secret_is_the_same_object(text: str) -> None:
    assert Redactor().clean(text) is text


def test_own_patterns() -> None:
    assert Redactor([r"\b\d{9}\b"]).clean("BSN 123456789.") == "BSN [removed]."


@pytest.mark.parametrize(
    "piece",
    [
        "sk-",
        "eyJ-",
        "Bearer ",
        "://a",
        "-----BEGIN ",
        "-----BEGIN PRIVATE KEY-----",
        "password ",
        "eyJaaaaaaaa.",
        "ghp_-",
    ],
)
def test_text_that_is_made_to_be_slow_is_not(piece: str) -> None:
    """Quadratic work on this would not end within the patience of anybody who runs the tests."""
    assert len(Redactor().clean(piece * 200_000)) <= len(piece) * 200_000


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_quotes_that_json_escapes_hide_nothing(depth: int) -> None:
    text = 'is {"password": "hunter22", "user": "ann"}, see \'api_key\': "0123456789" and account "a": "77"'
    for _ in range(depth):
        text = json.dumps(text)
    found = Redactor([r'"a": "\d+"']).clean_quoting(f"{text} \\o/")
    assert not any(secret in found for secret in ("hunter22", "0123456789", "77"))
    assert found.count(REMOVED) == 3
    assert "ann" in found
    assert found.endswith(" \\o/")


@given(st.text(alphabet="pas\\\"':= x1"))
def test_what_holds_no_secret_stays_as_it_is(text: str) -> None:
    assert Redactor().clean_quoting(text) == text
