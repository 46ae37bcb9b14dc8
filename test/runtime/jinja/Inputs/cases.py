"""Templates with variables, rendered by Jinja itself as transformers sets it up.

`cases.py cases` prints the cases as JSON, `cases.py expected` what Jinja makes
of them: a line of JSON each, with the text or, where Jinja fails, `null`.
"""

import datetime
import json
import sys

MESSAGES = [
    {"role": "system", "content": "Answer briefly."},
    {"role": "user", "content": "  Où est la gare?\n"},
    {"role": "assistant", "content": "Là-bas, à «gauche»."},
    {"role": "user", "content": "<|im_end|> {{ 1 + 1 }} 🚉"},
]
TOOLS = [{
    "type": "function",
    "function": {
        "name": "departures",
        "description": "Lists trains \"soon\".",
        "parameters": {
            "type": "object",
            "properties": {
                "city": {"type": "string"},
                "limit": {"type": "integer", "default": 3, "range": [0.5, 1e-7]},
            },
            "required": ["city"],
        },
    },
}]
CALLS = [
    {"role": "user", "content": "Next train?"},
    {"role": "assistant", "content": None, "tool_calls": [
        {"function": {"name": "departures", "arguments": {"city": "Wien", "limit": 1}}},
    ]},
    {"role": "tool", "name": "departures", "content": "12:05 <Graz>"},
]
CHAT = {
    "messages": MESSAGES, "tools": None, "bos_token": "<s>", "eos_token": "</s>",
    "add_generation_prompt": True, "strings": ["b", "A", "c", "a"],
    "numbers": [3, 1, 2.5, -4], "none": None, "flag": True,
    "nested": {"z": 1, "a": {"b": [1, "two", None, True, 3.0]}},
}

# Whole templates, in the manner of the model families.
FAMILIES = {
    "roles_in_tags": """
{%- for message in messages %}
    {%- if loop.first and message.role != 'system' %}
        {{- '<|im_start|>system\\nYou help.<|im_end|>\\n' }}
    {%- endif %}
    {{- '<|im_start|>' + message['role'] + '\\n' + message['content'] | trim + '<|im_end|>' + '\\n' }}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|im_start|>assistant\\n' }}
{%- endif %}
""",
    "alternation": """
{{ bos_token }}{% if messages[0]['role'] == 'system' %}{% set system = messages[0]['content'] ~ '\\n\\n' %}{% set rest = messages[1:] %}{% else %}{% set rest = messages %}{% endif %}
{% for message in rest %}
{% if (message['role'] == 'user') != (loop.index0 % 2 == 0) %}{{ raise_exception('roles alternate') }}{% endif %}
{% if message.role == 'user' %}[INST] {{ (system if loop.first and system is defined else '') + message.content.strip() }} [/INST]{% else %} {{ message.content }}{{ eos_token }}{% endif %}
{% endfor %}""",
    "headers": """
{{- bos_token }}
{%- set date = strftime_now("%d %b %Y") %}
{%- set ns = namespace(found=false, count=0) %}
{%- macro header(role) -%}
<|start|>{{ role }}<|end|>{{ "\\n\\n" }}
{%- endmacro %}
{{- header('system') }}Today: {{ date }}
{% for m in messages if m.role != 'system' %}
    {%- set ns.count = ns.count + 1 %}
    {%- if 'gare' in m.content %}{% set ns.found = true %}{% endif %}
    {{- header(m.role) ~ m.content|trim }}<|eot|>
{%- endfor %}
{{ ns.count }} {{ ns.found }}""",
    "tools": """
{%- if tools is not none and tools %}
{{- '<tools>' }}
{%- for tool in tools %}
{{ tool | tojson }}
{{ tool | tojson(indent=2) }}
{%- for name, field in tool.function.parameters.properties.items() %}
- {{ name }}: {{ field.type }}{{ ' (required)' if name in tool.function.parameters.required else '' }}
{%- endfor %}
{%- endfor %}
{{- '\\n</tools>\\n' }}
{%- endif %}
{%- for message in messages %}
{%- if message.tool_calls is defined and message.tool_calls %}
{%- for call in message.tool_calls %}
{%- set call = call.function if call.function else call %}
<call>{"name": {{ call.name | tojson }}, "arguments": {{ call.arguments | tojson }}}</call>
{%- endfor %}
{%- elif message.role == 'tool' %}
<response>{{ message.content | e }}</response>
{%- else %}
{{ message.role }}: {{ message.content or 'nothing' }}
{%- endif %}
{%- endfor %}""",
    "reasoning": """
{%- set ns = namespace(last=messages|length - 1) %}
{%- for m in messages[::-1] %}
{%- set index = (messages|length - 1) - loop.index0 %}
{%- if m.role == 'user' and ns.last == messages|length - 1 %}{%- set ns.last = index %}{% endif %}
{%- endfor %}
{%- for m in messages %}
{%- set content = m.content if m.content is string else '' %}
{%- if '</think>' in content %}
{%- set content = content.split('</think>')[-1].lstrip('\\n') %}
{%- endif %}
{{ loop.index0 > ns.last }} {{ content.split(' ')[:2] | join('_') }}
{%- endfor %}""",
}

# Templates that each try one thing, with the variables of CHAT.
SINGLE = r"""
{{ 7 // 2 }} {{ -7 // 2 }} {{ -7 % 3 }} {{ 7 % -3 }} {{ 2 ** 10 }} {{ 7 / 2 }} {{ 1 / 4 * 3 }}
{{ 1.0 }} {{ 1e16 }} {{ 1e-5 }} {{ 0.1 + 0.2 }} {{ 100000.0 * 10 }} {{ 5 | float }} {{ "3.7" | int }}
{{ 'a' ~ 1 ~ none ~ true ~ [1, 'x'] ~ {'k': 2.0} }}
{{ [1, 'it\'s', "q\"", none, true, 1.5, ['n']] }} {{ {'a': {'b': []}} }}
{{ strings | sort }} {{ strings | sort(reverse=true) }} {{ strings | sort(case_sensitive=true) | join(',') }}
{{ numbers | sort }} {{ numbers | sum }} {{ numbers | max }} {{ numbers | min }} {{ numbers | first }} {{ numbers | last }}
{{ nested | tojson }} {{ nested | dictsort | map('first') | list }} {{ {'b': 1, 'A': 2} | dictsort(by='value', reverse=true) | map('last') | list }} {{ nested.a.b | tojson(indent=4) }}
{{ strings | map('upper') | list }} {{ messages | map(attribute='role') | join(', ') }} {{ messages | map(attribute='name', default='-') | list }}
{{ messages | selectattr('role', 'equalto', 'user') | list | length }} {{ messages | rejectattr('role', 'in', ['user']) | map(attribute='role') | list }}
{{ numbers | select('gt', 1) | list }} {{ numbers | reject('odd') | list }} {{ [0, 1, '', 'a'] | select | list }}
{{ messages[0].content[2:5] }} {{ messages[1].content[::-1] }} {{ 'Où'[1] }} {{ 'Où' | length }} {{ numbers[-1] }} {{ strings[1:3] }} {{ strings[::-2] }}
{{ 'a,b,,c'.split(',') }} {{ ' a  b '.split() }} {{ 'a,b,c'.split(',', 1) }} {{ 'a,b,c'.rsplit(',', 1) }} {{ 'x'.join(strings) }}
{{ 'strata été'.upper() }} {{ 'ÉTÉ'.lower() }} {{ 'hello world-wide'|title }} {{ 'hELLO'.capitalize() }}
{{ '  x '.strip() }}|{{ '  x '.lstrip() }}|{{ '  x '.rstrip() }}|{{ 'xxaxx'.strip('x') }}|{{ 'xxaxx' | trim('x') }}
{{ 'abc'.startswith('ab') }} {{ 'abc'.endswith(('bc', 'z')) }} {{ 'abcabc'.find('c') }} {{ 'abcabc'.rfind('c') }} {{ 'aXbX'.replace('X', '-', 1) }} {{ 'aaa'.count('a') }}
{{ x is defined }} {{ none is none }} {{ 1 is odd }} {{ 4 is divisibleby 2 }} {{ 'a' is string }} {{ nested is mapping }} {{ [1] is sequence }} {{ 1.5 is float }} {{ true is integer }} {{ true is number }} {{ 'A' is upper }}
{{ missing }}|{{ missing | default('d') }}|{{ '' | default('d') }}|{{ '' | default('d', true) }}|{{ nested.nothing is defined }}
{{ 1 < 2 < 3 }} {{ 1 < 2 > 5 }} {{ not 1 == 2 }} {{ 'a' in 'cat' }} {{ 'z' not in nested }} {{ [1] == [1.0] }} {{ 'a' < 'b' }}
{{ 1 if flag else 2 }} {{ 'yes' if not flag }}|{{ (1, 2)[1] }} {{ 3 and 0 or 'x' }} {{ none or 5 }}
{% for a, b in [[1, 2], [3, 4]] %}{{ a }}-{{ b }};{% endfor %}{% for k, v in nested.items() %}{{ k }}={{ v }};{% endfor %}{% for k in nested %}{{ k }}{% endfor %}
{% for x in [] %}never{% else %}empty{% endfor %}{% for i in range(5) %}{% if i == 1 %}{% continue %}{% endif %}{% if i == 3 %}{% break %}{% endif %}{{ i }}{% endfor %}
{% for i in range(10, 0, -3) %}{{ loop.index }}/{{ loop.length }}:{{ i }}{{ ',' if not loop.last }}{% endfor %}{% for x in strings %}{{ loop.previtem | default('^') }}{{ loop.nextitem | default('$') }}{% endfor %}
{% for x in strings %}{{ loop.cycle('odd', 'even') }} {{ loop.changed(x | length) }} {% endfor %}
{% set x = 1 %}{% for i in range(3) %}{% set x = i %}{% endfor %}{{ x }}{% if true %}{% set x = 5 %}{% endif %}{{ x }}
{% set text %}a{{ 1 }}b{% endset %}[{{ text }}]{% filter upper %}shout {{ text }}{% endfilter %}
{% macro f(a, b='B') %}{{ a }}{{ b }}{{ caller() if caller is defined }}{% endmacro %}{{ f(1) }}{{ f(1, b=2) }}{% call f('x') %}inner{% endcall %}
{% for n in [[1, [2, 3]], [4, []]] recursive %}{% if n is iterable %}{{ loop(n) }}{% else %}{{ n }}.{% endif %}{% endfor %}
{# a comment #}a{#- trimmed -#}   b{% raw %}{{ not }} {% if %}{% endraw %}c
{{ "a\tb\nc\\d\x41\u00e9" }}{{ 'one' 'two' }}
{{ 'x\ny\n\nz' | indent }}|{{ 'x\ny' | indent(2, true) }}|{{ 'x\n\ny' | indent('> ', blank=true) }}
{{ 3.14159 | round(2) }} {{ 2.5 | round }} {{ 2.1 | round(0, 'ceil') }} {{ -3 | abs }} {{ '<a & "b">' | escape }} {{ 'a b c' | wordcount }}
{{ ['b', 'a', 'B'] | unique | list }} {{ [1, 2, 3] | reverse | list }} {{ 'abc' | reverse }} {{ {'a': 1}.get('b', 'none') }} {{ nested.keys() | list }} {{ {'a': 1}.values() | list }}
{% set l = [] %}{% set _ = l.append(1) %}{{ l }}{{ l + [2] }} {{ [0] * 3 }} {{ 'ab' * 2 }} {{ dict(a=1, b='x') }}
{{ messages | length }}{{ messages[9] is defined }}{{ messages.0.role }} {{ 'a' 'b' | upper }} {{ -1 | abs }}
{% set l = [] %}{% set _ = l.append(l) %}{{ l }} {{ l == l }} {{ l in [l] }} {% set d = {} %}{% set _ = d.update({'d': d, 'l': [d, l]}) %}{{ d }} {{ d == d }}
{{ [[1, 'a'], {'b': [none]}] == [[1.0, 'a'], {'b': [none]}] }} {{ {'a': 1, 'b': 2} == {'b': 2, 'a': 1} }} {{ [1, [2]] == [1, [3]] }} {{ {'a': 1} == {'b': 1} }} {{ [1] == [1, 2] }} {{ [] == {} }} {{ ['a'] != ['b'] }}
{{ [1, [2, 'a']] < [1, [2, 'b']] }} {{ [1, 2] <= [1] }} {{ [[1], [2]] > [[1], [1, 5]] }} {{ [[2], [1, 3], [1]] | sort }} {{ [] < [0] }}
{{ ['b', 'B', 1, 1.0, none, none] | unique | list }} {{ [1, 2, 1].count(1) }} {{ [[1], [2]].index([2]) }} {{ ['b', 'A'] | max }} {{ ['b', 'A'] | min }}
{{ ' a  b '.split(none, 1) }} {{ 'a-b-c'.rsplit('-') }} {{ 'aaa'.rsplit('aa', 1) }} {{ 'été-là-été'.rsplit('é', 2) }} {{ 'a\nb\r\nc\n'.splitlines() }} {{ ''.split() }} {{ 'a'.split('b') }}
{{ 'été là'.find('là') }} {{ 'été été'.rfind('été') }} {{ 'abc'.rfind('') }} {{ 'abc'.find('d') }} {{ 'aaaa'.count('aa') }} {{ 'été'.count('') }} {{ 'ab'.replace('', '-') }} {{ 'été'.replace('', '-', 2) }} {{ 'aaa' | replace('a', 'bb', 2) }}
{{ 'été'.strip('é') }} {{ 'éaé'.rstrip('é') }} {{ 'ààà'.strip('à') }}| {{ 'été là'[::-2] }} {{ 'été'[-1] }} {{ 'été'[5:] }}| {{ 'été'[-9:2] }} {{ 'abcdef'[4:1:-2] }} {{ [0, 1, 2, 3][3:0:-2] }} {{ 'été' | list }}
{{ 'a\nb' | indent('--', true) }} {{ '' | indent(2, true) }}| {{ 'a\n' | indent }}| {{ '' * 5 }}| {{ 'été' * 3 }} {{ [] * 3 }} {{ [1, [2]] * 2 }} {{ 3 * 'ab' }} {{ 'a' * -1 }}|
{% set d = {'a': 1} %}{% set _ = d.update(d) %}{{ d }} {{ d.copy() }} {{ dict(d, b=2, a=3) }} {{ {'a': 1, 'b': 2, 'a': 3} }} {{ ['a', ['b', 1]] | join('-') }} {{ 'abc' | join('-') }}
{{ [{'a': {'b': 2}}, {'a': {'b': 1}}] | sort(attribute='a.b') | map(attribute='a.b') | list }} {{ [[1, 2], [3]] | map('length') | list }} {{ 'ab' | map('upper') | join }} {{ [] | map('nothing') | list }}
{{ 1 + 'a' }}
{{ missing.field }}
{{ missing() }}
{{ 'a' | nothing }}
{{ 'a' is nothing }}
{% if %}{% endif %}
{% for x in 5 %}{% endfor %}
{{ raise_exception('stop') }}
{{ 1 / 0 }}
{{ [1, 'a'] | sort }}
{{ (1 }}
{% endif %}
{% unknown %}
{{ 'unterminated }}
"""

# White space around tags.
SPACES = [
    "a\n  {% if true %}\n  b\n  {% endif %}\nc\n",
    "a\n  {%+ if true %}\n  b\n  {%- endif +%}\nc\n\n",
    "a {%- if true -%} b {%- endif -%} c",
    "  {{ 1 }}  {% if true %}  x{% endif %}\n\n  {# c #}\n  y",
    "{% for i in range(2) %}\n\t{{ i }}\n{% endfor %}\n{%- raw -%} {{ }} {% endraw %}\n",
    "x\r\n{% if true %}\r\ny{% endif %}\r\n",
    "{{- 'a' -}}\n\n b \n{{- 'c' }}\n",
    "a\n  {# c #}  {% if true %}b{% endif %} {# d #}  {{- 'e' }}",
    "a  {% raw %}\n b\n  {% endraw %}\n c{% raw %} d {%- endraw +%}\n",
]


def cases():
    for name, template in FAMILIES.items():
        for messages in (MESSAGES, MESSAGES[1:], CALLS):
            for tools in (None, TOOLS):
                yield name, template, dict(CHAT, messages=messages, tools=tools)
    for template in SINGLE.strip().split("\n"):
        yield template, template, CHAT
    for template in SPACES:
        yield template, template, CHAT


def environment(now):
    from jinja2.exceptions import TemplateError
    from jinja2.ext import loopcontrols
    from jinja2.sandbox import SandboxedEnvironment

    def tojson(x, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
        return json.dumps(x, ensure_ascii=ensure_ascii, indent=indent,
                          separators=separators, sort_keys=sort_keys)

    def raise_exception(message):
        raise TemplateError(message)

    result = SandboxedEnvironment(trim_blocks=True, lstrip_blocks=True,
                                  extensions=[loopcontrols])
    result.filters["tojson"] = tojson
    result.globals["raise_exception"] = raise_exception
    result.globals["strftime_now"] = now.strftime
    return result


def expected(now):
    jinja = environment(now)
    for name, template, variables in cases():
        try:
            text = jinja.from_string(template).render(**variables)
        except Exception:  # whatever a template raises
            text = None
        yield {"name": name, "text": text}


if __name__ == "__main__":
    time = datetime.datetime.fromtimestamp(1700000000, datetime.timezone.utc)
    rows = (expected(time) if sys.argv[1] == "expected" else
            ({"name": n, "template": t, "variables": v} for n, t, v in cases()))
    for row in rows:
        print(json.dumps(row, ensure_ascii=False))
