"""What an HTTP endpoint's failure means, as the errors of `sleuth.errors`. No I/O.

Every error's `details` hold ``retryable`` (may the same call succeed later?), and, where known, ``status`` (HTTP)
and ``retry_after`` (seconds). No text of an answer to a refused key is shown, and the key is cut out of all others.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any
from urllib.parse import urlsplit

from sleuth.errors import ContextTooLong, ModelError, ModelRateLimited, ModelTimeout

RETRYABLE = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 529})
"""Statuses after which the same request may succeed (409, 425: RFC 9110 and 8470; 529: "overloaded", used by several providers)."""

_CONTEXT = re.compile(
    r"context.{0,3}(length|size|window)|maximum context|exceed_context|prompt is too long|too many tokens"
    r"|reduce the length|exceeds? the (available|model's|maximum)[^.]{0,40}(context|tokens)",
    re.IGNORECASE,
)
_NO_MODEL = re.compile(
    r"model_not_found|no such model|unknown model|model.{0,200}(does not exist|not found|not exist)", re.I | re.S
)
_NO_DIALECT = re.compile(
    r"chat model|not supported in the v1/completions|chat/completions|completions? (api|endpoint)? ?(is )?not (supported|available|implemented)"
    r"|completions? api is only available|does not support (text )?completions?|^not supported|unsupported (endpoint|operation|route)",
    re.IGNORECASE,
)
_KEY_LIKE = re.compile(r"\b(sk|pk|key|api|gsk|hf|xai)[-_][\w*.-]{6,}|\bBearer\s+\S+", re.IGNORECASE)


def address(base_url: str) -> str:
    """The base URL as it may be shown: without user, password and query."""
    parts = urlsplit(base_url)
    host = parts.hostname or ""
    host = f"[{host}]" if ":" in host else host
    return f"{parts.scheme}://{host}{f':{parts.port}' if parts.port else ''}{parts.path}".rstrip("/")


@dataclass(frozen=True, slots=True)
class Refusal:
    """An answer that is not a reply: its status, what it says, and what its headers ask for."""

    status: int
    message: str
    code: str = ""
    param: str = ""
    retry_after: float | None = None
    html: bool = False
    inside: bool = False  # in an answer whose status was good: `status` is a guess

    @property
    def no_model(self) -> bool:
        return self.status in (400, 404) and bool(_NO_MODEL.search(f"{self.code} {self.message}"))

    @property
    def no_dialect(self) -> bool:
        """Whether the endpoint says that it has no such route."""
        if self.no_model and not _NO_DIALECT.search(self.message):
            return False
        return self.status in (404, 405, 501) or (self.status == 400 and bool(_NO_DIALECT.search(self.message)))

    @property
    def too_long(self) -> bool:
        return self.status in (400, 413, 422) and bool(_CONTEXT.search(f"{self.code} {self.message}"))

    @property
    def no_credit(self) -> bool:
        return self.status == 402 or (self.status == 429 and "insufficient_quota" in f"{self.code} {self.message}")


def read_refusal(status: int, text: str, headers: Mapping[str, str], key: str | None) -> Refusal:
    """The refusal in an answer's body: OpenAI's, vLLM's, llama.cpp's, FastAPI's or Ollama's form, or plain text."""
    html = "html" in headers.get("content-type", "").lower() or text.lstrip()[:15].lower().startswith(
        ("<!doctype", "<html")
    )
    wait = retry_after(headers)
    try:
        body = json.loads(text)
    except (ValueError, RecursionError):
        return Refusal(status, "" if html else shown(text, key), retry_after=wait, html=html)
    return refusal_in(status, body, key, wait)


def refusal_in(status: int, body: Any, key: str | None, wait: float | None = None) -> Refusal:
    """The refusal in an error's JSON. A numeric code in the body stands for the status of a 200."""
    inner: Any = body
    if isinstance(body, Mapping):
        inner = body.get("error") or body.get("detail") or body
    if not isinstance(inner, Mapping):
        return Refusal(status, shown(inner if isinstance(inner, str) else json.dumps(inner), key), retry_after=wait)
    message = inner.get("message") or inner.get("detail") or json.dumps(inner)
    code, kind = inner.get("code"), inner.get("type")
    stated = code if isinstance(code, int) and 400 <= code < 600 else None
    inside = status == 200 and stated is None
    if status == 200:
        status = stated or 500
    words = " ".join(str(word) for word in (code, kind) if isinstance(word, str))
    return Refusal(status, shown(str(message), key), words, str(inner.get("param") or ""), wait, inside=inside)


def shown(text: str, key: str | None) -> str:
    """Server text fit for an error: one line, at most 300 characters, no keys."""
    if key:
        text = text.replace(key, "***")
    text = " ".join(_KEY_LIKE.sub("***", text).split())
    return text if len(text) <= 300 else text[:297] + "..."


def retry_after(headers: Mapping[str, str], now: datetime | None = None) -> float | None:
    """Seconds the server asks to wait: ``retry-after-ms``, or ``retry-after`` as seconds or as an HTTP date."""
    milliseconds, value = headers.get("retry-after-ms"), headers.get("retry-after")
    for text, unit in ((milliseconds, 0.001), (value, 1.0)):
        try:
            seconds = float(text or "") * unit
        except ValueError:
            continue
        if 0 <= seconds < float("inf"):
            return seconds
    try:
        when = parsedate_to_datetime(value or "")
    except ValueError:
        return None
    when = when if when.tzinfo else when.replace(tzinfo=UTC)
    return max(0.0, (when - (now or datetime.now(UTC))).total_seconds())


def error_of(refusal: Refusal, name: str, where: str) -> ModelError:
    """The error for a refusal that no repair helps. `where` is the address as it may be shown."""
    status, said = refusal.status, f' It said: "{refusal.message}"' if refusal.message else ""
    facts: dict[str, Any] = {"status": 200 if refusal.inside else status, "retryable": status in RETRYABLE}
    if refusal.retry_after is not None:
        facts["retry_after"] = refusal.retry_after
    if refusal.no_credit:
        hint = "Check the account's plan and billing."
        return ModelError(
            f"{where} will not answer: the quota is used up.{said}", hint=hint, **(facts | {"retryable": False})
        )
    if status == 429:
        return ModelRateLimited(f"{where} says there are too many requests (429).{said}", **facts)
    if status in (401, 403):
        hint = "Check the API key for this address, and that it may use this model."
        return ModelError(f"{where} refused the API key ({status}).", hint=hint, **facts)
    if refusal.too_long:
        hint = "Use fewer or shorter passages, or a model with a longer context."
        return ContextTooLong(f"The prompt does not fit the context of {name}.{said}", hint=hint, **facts)
    if status in (408, 504):
        return ModelTimeout(f"{where} gave up on the request ({status}).{said}", **facts)
    if refusal.html and status not in RETRYABLE:
        return answered_html(where, status)
    hint = "The server may be starting or overloaded; try again later." if facts["retryable"] else ""
    if status in (404, 405):
        hint = f"Is the path right? OpenAI-compatible addresses usually end in /v1; this one is {where}."
    return ModelError(
        f"{where} answered with an error ({'status 200, with an error in it' if refusal.inside else status}).{said}",
        hint=hint,
        **facts,
    )


def answered_html(where: str, status: int) -> ModelError:
    return ModelError(
        f"{where} answered HTML, not JSON: is the path right (…/v1)?",
        hint="Check the model's address; a web page, a login or a proxy answered instead of the model.",
        status=status,
        retryable=False,
    )


def broken_answer(where: str, what: str) -> ModelError:
    """An answer that is no reply, though the status was good; worth another try."""
    return ModelError(f"{where} answered {what}.", hint="Is it an OpenAI-compatible server?", retryable=True)


def timed_out(where: str, seconds: float, connecting: bool) -> ModelTimeout:
    what = "Could not connect to" if connecting else "Nothing came from"
    hint = "Check the address, or give a longer timeout if the model is slow."
    return ModelTimeout(f"{what} {where} for {seconds:g} s.", hint=hint, retryable=True)


def unreachable(where: str, cause: BaseException | None) -> ModelError:
    """No answer at all. Not retryable when no connection could be made: a server that is down stays down."""
    kind = type(cause).__name__
    reason = shown(str(cause), None) if cause is not None and str(cause) else "end of stream" if cause is None else kind
    if "Connect" in kind or "UnsupportedProtocol" in kind or "InvalidURL" in kind:
        hint = "Is the server running, and are host and port right? Behind a proxy, check HTTP_PROXY and NO_PROXY."
        return ModelError(f"Cannot reach {where}: {reason}.", hint=hint, retryable=False)
    return ModelError(f"{where} closed the connection before its answer was complete ({reason}).", retryable=True)
