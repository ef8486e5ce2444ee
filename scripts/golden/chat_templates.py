#!/usr/bin/env python3
"""Golden chats: published chat templates rendered by `transformers` over conversations made up here.

    pip download --no-deps -d WHEELS trl==1.16.0 axolotl==0.19.0
    python scripts/golden/chat_templates.py --tokenizers FOLDER --wheels WHEELS [--smollm2 models/SmolLM2-135M-Instruct]

Template texts come from the tokenizer_config.json files under FOLDER, from SmolLM2's, and from the packages trl and
axolotl (both Apache-2.0), which carry the published ones of Qwen2.5, DeepSeek-R1, Llama, Mistral and others. Writes
tests/golden/text/data/chat.json.xz: the templates with origin and special tokens, the conversations, and for every
(template, conversation, generation prompt) the text, or null where the template refuses.
"""
import argparse
import copy
import datetime
import json
import lzma
import pathlib
import zipfile

import tokenizers
import transformers
from transformers.utils import chat_template_utils

OUT = pathlib.Path(__file__).resolve().parents[2] / "tests/golden/text/data/chat.json.xz"
NOW = 1721995200  # noon UTC: the same date nearly everywhere
TRL = ["qwen2_5", "qwen3", "qwen3_instruct_2507", "deepseek_r1_distill", "deepseekv3", "llama3", "llama3_1", "llama3_2",
       "gemma", "gemma3", "phi3", "glm4moe", "cohere2", "gptoss", "qwen3_6"]
AXOLOTL = ["mistral_v1", "mistral_v2v3", "mistral_v3_tekken", "mistral_v7_tekken"]
TOKENS = {"bos_token": "<s>", "eos_token": "</s>", "pad_token": "<pad>", "unk_token": "<unk>"}

WEATHER = {"type": "function", "function": {
    "name": "get_weather", "description": "Weather of a city: \"now\" & <later>, in °C.",
    "parameters": {"type": "object", "properties": {
        "city": {"type": "string", "description": "The city's name, e.g. 北京 or Zürich"},
        "unit": {"type": "string", "enum": ["celsius", "fahrenheit"], "default": "celsius"},
        "days": {"type": "integer", "minimum": 1, "maximum": 14}}, "required": ["city"]},
    "return": {"type": "string", "description": "A sentence"}}}
SUM = {"type": "function", "function": {"name": "sum", "description": "Adds numbers.", "parameters": {
    "type": "object", "properties": {"xs": {"type": "array", "items": {"type": "number"}, "description": "Numbers"}},
    "required": ["xs"]}}}
BARE = {"type": "function", "function": {"name": "now", "description": "The time.", "parameters": {
    "type": "object", "properties": {}}}}


def user(text):
    return {"role": "user", "content": text}


def assistant(text, **more):
    return {"role": "assistant", "content": text, **more}


def system(text):
    return {"role": "system", "content": text}


def call(name, arguments, **more):
    return {"type": "function", "function": {"name": name, "arguments": arguments}, **more}


def tool(text, **more):
    return {"role": "tool", "content": text, **more}


def plain_chats():
    texts = ["Hello", "", "  spaced \n", "What is 2 + 3?", "你好，世界", "<b>&\"quotes\" 'single'</b>", "a\n\nb\tc\\n {{x}} {% y %}",
             "👩‍💻 é e\u0301", "<|im_start|>system\nno<|im_end|>"]
    chats = [[user(t)] for t in texts]
    chats += [[system(s), user("Hi")] for s in ("You are helpful.", "", " Be brief.\n", "Réponds \"en\" français.")]
    chats += [
        [user("1+1?"), assistant("2"), user("and 2+2?")],
        [system("Count."), user("one"), assistant("two"), user("three"), assistant(" four ")],
        [user("a"), assistant("b"), user("c"), assistant("d"), user("e"), assistant("f"), user("g")],
        [system("S"), user("a"), assistant("b"), system("again"), user("c")],
        [user("first"), user("second")],
        [assistant("I begin"), user("ok")],
        [user("q"), assistant("<think>\nlet me see\n</think>\n\nThe answer is 4."), user("sure?")],
        [user("q"), assistant("<think>\n\n</think>\n\nyes")],
        [user("q"), assistant("The answer is 4.", reasoning_content="2 and 2\nis 4"), user("next"),
         assistant("done", reasoning_content="\nlast thought\n")],
        [user("q"), assistant("x", thinking="hm"), user("r")],
        [{"role": "user", "content": "named", "name": "bob"}, assistant("hi")],
        [{"role": "critic", "content": "unknown role"}],
        [user([{"type": "text", "text": " part one "}, {"type": "text", "text": "part two"}]), assistant("ok")],
        [system([{"type": "text", "text": "parts"}]), user([{"type": "image"}, {"type": "text", "text": "what?"}])],
        [user("no content follows"), {"role": "assistant", "content": None}],
    ]
    return [{"messages": chat} for chat in chats]


def tool_chats():
    weather_call = call("get_weather", {"city": "北京", "days": 3})
    chats = [
        ([user("Weather in Zürich?")], [WEATHER]),
        ([system("Use tools."), user("Weather?")], [WEATHER, SUM]),
        ([user("Time?")], [BARE]),
        ([user("w"), {"role": "assistant", "tool_calls": [weather_call]}, tool("{\"t\": 21.5}", name="get_weather")], [WEATHER]),
        ([user("w"), assistant("", tool_calls=[weather_call]), tool("21"), assistant("It is 21."), user("thanks")], [WEATHER]),
        ([user("w"), assistant("Let me look.", tool_calls=[weather_call, call("sum", {"xs": [1, 2.5, -3e-7, 1e22]})]),
          tool("21"), tool("0.5"), assistant("Both done.")], [WEATHER, SUM]),
        ([user("w"), assistant(None, tool_calls=[call("sum", "{\"xs\": [1, 2]}", id="abc123def")]),
          tool("3", tool_call_id="abc123def")], [SUM]),
        ([user("w"), assistant("", tool_calls=[call("sum", {"xs": [True, None, {"é": "\"\\\n\t\u2028"}]}, id="123456789")]),
          tool("4", tool_call_id="123456789"), assistant("4", reasoning_content="easy")], [SUM]),
        ([user("<tool_response>fake</tool_response>"), assistant("no"), user("ok")], [SUM]),
        ([user("w"), assistant("", tool_calls=[weather_call]), tool("x"), user("<tool_response>\nq\n</tool_response>")], None),
    ]
    return [{"messages": messages, **({"tools": tools} if tools else {})} for messages, tools in chats]


def conversations():
    chats = plain_chats() + tool_chats()
    for variables in ({"enable_thinking": False}, {"enable_thinking": True}, {"date_string": "26 Jul 2024"},
                      {"tools_in_user_message": False, "builtin_tools": ["brave_search"]}, {"bos_token": "<other>"}):
        for base in (0, 13, 14, 29, 33):
            chats.append({**copy.deepcopy(chats[base]), "variables": variables})
    return chats


class FixedTime(datetime.datetime):
    @classmethod
    def now(cls, tz=None):
        return datetime.datetime.fromtimestamp(NOW, datetime.timezone.utc)


def collect_templates(args):
    found = {}

    def from_config(name, path):
        config = json.loads(path.read_text())
        if "chat_template" not in config:
            return
        content = {k: (v["content"] if isinstance(v, dict) else v) for k, v in config.items() if k in TOKENS and v}
        found[name] = {"origin": f"tokenizer_config.json of {name}", "special_tokens": content,
                       "source": config["chat_template"]}

    for folder in sorted(args.tokenizers.iterdir()):
        from_config(folder.name, folder / "tokenizer_config.json")
    if args.smollm2:
        from_config("smollm2", args.smollm2 / "tokenizer_config.json")
    for package, pattern, names in (("trl", "trl/chat_templates/{}.jinja", TRL),
                                    ("axolotl", "axolotl/utils/chat_templates/templates/{}.jinja", AXOLOTL)):
        wheel = next(args.wheels.glob(f"{package}-*.whl"))
        with zipfile.ZipFile(wheel) as packed:
            for name in names:
                found[f"{package}_{name}"] = {"origin": f"{wheel.name}: {pattern.format(name)}", "special_tokens": TOKENS,
                                              "source": packed.read(pattern.format(name)).decode()}
    return found


def render(template, chat, prompt):
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizers.Tokenizer(tokenizers.models.BPE()), **template["special_tokens"])
    try:
        return tokenizer.apply_chat_template(
            copy.deepcopy(chat["messages"]), chat_template=template["source"], tools=chat.get("tools"), tokenize=False,
            add_generation_prompt=prompt, **chat.get("variables", {}))
    except Exception:  # noqa: BLE001: any refusal counts
        return None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--tokenizers", type=pathlib.Path, required=True)
    parser.add_argument("--wheels", type=pathlib.Path, required=True)
    parser.add_argument("--smollm2", type=pathlib.Path)
    args = parser.parse_args()
    chat_template_utils.datetime = FixedTime
    templates = collect_templates(args)
    chats = conversations()
    rendered = {name: [[render(template, chat, prompt) for prompt in (False, True)] for chat in chats]
                for name, template in templates.items()}
    data = {"transformers": transformers.__version__, "now": NOW, "templates": templates, "conversations": chats,
            "rendered": rendered}
    OUT.write_bytes(lzma.compress(json.dumps(data, ensure_ascii=False).encode(), preset=9 | lzma.PRESET_EXTREME))
    refused = sum(text is None for rows in rendered.values() for row in rows for text in row)
    print(f"{len(templates)} templates x {len(chats)} conversations x 2 ({refused} refused), {OUT.stat().st_size} bytes")


if __name__ == "__main__":
    main()
