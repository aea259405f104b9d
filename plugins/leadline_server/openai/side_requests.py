"""Side requests of chat front ends: for titles, tags and suggestions. They never start a run.

Front ends send them to the model of the chat, in the fixed forms of their own prompts. They are answered here, from the
conversation that they quote and without a model: with a title, and with empty lists.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from leadline.display import one_line
from leadline_server.openai.requests import ChatRequest
from leadline_server.problems import Problem

# Open WebUI: every prompt of its own begins with the first; its tasks about a chat quote it as in the second, and those
# about files of the user have the third.
_TASK, _HISTORY, _CONTEXT = "### Task:", "<chat_history>", "<context>"
# The key of the object that a task of Open WebUI asks for, and the answer; a title is made.
_KEYS: Mapping[str, Any] = {"title": None, "tags": [], "follow_ups": [], "queries": [], "text": "", "prompt": None}
# Beginnings of other prompts of front ends. Open WebUI: memory, tools, joining answers, summary of a long chat.
# LibreChat: titles.
_MEMORY = "You are Open WebUI's private memory reviewer."
_TOOLS = "Available Tools:"
_REFUSED = (
    "You have been provided with a set of responses from various models to the latest user query:",
    "### Task:\nSummarize the conversation history that will be compacted",
    "Your task is to reflect the speaker's likely facial expression through a fitting emoji.",
)
_TITLES = (
    "Provide a concise, 5-word-or-less title for the conversation",
    "Please generate a concise, 5-word-or-less title for the conversation",
    "Analyze this conversation and provide:\n1. The detected language of the conversation",
)
# A line of the quoted conversation by its user.
_USER = re.compile(r"^(?:USER|User|user): *(.+)$", re.MULTILINE)
_TITLE_LENGTH = 60


def side_answer(request: ChatRequest) -> str | None:
    """Return the answer to a side request, or None for a question. Raises `Problem` for what is neither."""
    first, last = request.messages[0], request.messages[-1]
    text = last.text.strip()
    if first.role == "system" and first.text.startswith(_MEMORY):
        return json.dumps({"operations": []})
    if first.role == "system" and first.text.startswith(_TOOLS):
        return json.dumps({"tool_calls": []})
    if text.startswith(_REFUSED):
        raise Problem(422, "unsupported", "this is a request of the front end about a chat, and no question")
    if text.startswith(_TITLES):
        title = _title(text)
        return json.dumps({"title": title}, ensure_ascii=False) if request.wants_json else title
    if not text.startswith(_TASK):
        return None
    if _HISTORY in text:
        return _task_answer(text)
    if _CONTEXT in text:
        raise Problem(
            422,
            "unsupported",
            "Open WebUI added files or search results to the question, which Leadline does not read",
            "turn them off for this model; POST /v1/knowledge?name=FILE gives Leadline a document",
        )
    return None


def _task_answer(text: str) -> str:
    task = text.partition(_HISTORY)[0]
    # The key that the output must have stands last: before it, a prompt may show others as examples.
    places = {key: task.find(f'"{key}"') for key in _KEYS}
    keys = [key for key, position in places.items() if position >= 0]
    if not keys:
        raise Problem(422, "unsupported", "this is a task of Open WebUI that Leadline does not know, and no question")
    key = min(keys, key=places.__getitem__)
    value = _KEYS[key]
    return json.dumps({key: _title(text) if value is None else value}, ensure_ascii=False)


def _title(text: str) -> str:
    """Return the beginning of the user's first message in a quoted conversation."""
    asked = _USER.search(text)
    words = one_line(asked[1] if asked else "").strip("\"' ")
    if len(words) > _TITLE_LENGTH:
        cut = words[:_TITLE_LENGTH]
        words = f"{cut.rsplit(' ', 1)[0] if ' ' in cut else cut}…"
    return words or "Research"
