// The template language: what published templates use beyond the golden chats, and what must stop. The
// expected texts were read off Jinja 3.1.
#include <catch2/catch.hpp>

#include "core/base/error.hpp"
#include "core/text/chat_template.hpp"

using namespace verlc;
using nlohmann::ordered_json;
using verlc::text::ChatOptions;
using verlc::text::ChatTemplate;

namespace {

std::string render(const std::string& source, const ordered_json& variables = ordered_json::object()) {
  ChatOptions options;
  options.variables = variables;
  options.now = 1721995200;
  return ChatTemplate::from_string(source).render({{{"role", "user"}, {"content", "hi"}}}, options);
}

std::string refusal(const std::string& source) {
  try {
    return "(rendered) " + render(source).substr(0, 50);
  } catch (const Error& error) {
    return error.what();
  }
}

}  // namespace

TEST_CASE("white space around tags") {
  CHECK(render("a\n  {% if true %}\nb\n  {% endif %}\nc\n") == "a\nb\nc");
  CHECK(render("a \n {%- if true -%} \n b {%- endif %}c") == "abc");
  CHECK(render("  {%+ if true %}x{% endif +%}\ny") == "  x\ny");
  CHECK(render("a {# note #}\nb\n  {# x -#}  \n c") == "a b\nc");
  CHECK(render("{{ 'a' }}\n  {{- 'b' -}}  \nc") == "abc");
  CHECK(render("{% raw %}{{ x }}{% endraw %}") == "{{ x }}");
  CHECK(render("a\r\nb\r\n") == "a\nb");
}

TEST_CASE("expressions") {
  CHECK(render("{{ 7 // 2 }} {{ -7 // 2 }} {{ -7 % 3 }} {{ 7 / 2 }} {{ 2 ** 10 }} {{ 1 + 2 * 3 }}") ==
        "3 -4 2 3.5 1024 7");
  CHECK(render("{{ 1e16 }} {{ 0.00001 }} {{ 1.0 }} {{ 123456.789 }}") == "1e+16 1e-05 1.0 123456.789");
  CHECK(render("{{ [1, 'a', none, true, 1.5, {'k': \"it's\"}] }} {{ (1,) }}") ==
        "[1, 'a', None, True, 1.5, {'k': \"it's\"}] (1,)");
  CHECK(render("{{ 'abcdef'[1:4] }}{{ 'abc'[::-1] }}{{ [1,2,3,4][-2:] }}{{ 'abc'[-1] }}") == "bcdcba[3, 4]c");
  CHECK(render("{{ 'a' ~ 1 ~ none }}{{ 1 < 2 < 3 }}{{ 'b' in 'abc' }}{{ 4 not in [1,2] }}") ==
        "a1NoneTrueTrueTrue");
  CHECK(render("{{ 'x' if false }}|{{ 1 if false else 2 }}|{{ not 1 == 2 }}|{{ 0 or 'd' }}|{{ 1 and 2 }}") ==
        "|2|True|d|2");
  CHECK(render("{{ 'a\\n\\'\\u00e9\\x41\\q' }}") == "a\n'\u00e9A\\q");
  CHECK(render("{{ missing }}{{ messages[0].nothing }}{{ messages[9] is defined }}") == "False");
  CHECK(render("{{ {'items': 5}['items'] }} {{ {'a': 1, 'a': 2} }}") == "5 {'a': 2}");
  CHECK(render("{{ -1|abs }} {{ 'a' ~ 'b'|upper }} {{ '%s-%d' % ('x', 3) }}") == "1 aB x-3");
}

TEST_CASE("statements") {
  CHECK(
      render(
          "{% for x in [1,2,3] if x != 2 %}{{ loop.index }}:{{ x }}{{ ',' if not loop.last }}{% endfor %}") ==
      "1:1,2:3");
  CHECK(render("{% for k, v in {'a': 1}.items() %}{{ k }}{{ v }}{% else %}none{% endfor %}") == "a1");
  CHECK(render("{% for x in [] %}{% else %}none{% endfor %}") == "none");
  CHECK(render("{% for x in range(9) %}{% if x == 1 %}{% continue %}{% endif %}{% if x > 3 %}{% break %}{% "
               "endif %}"
               "{{ x }}{% endfor %}") == "023");
  CHECK(render("{% set x = 1 %}{% for i in [1,2] %}{{ x }}{% set x = 5 %}{{ x }}{% endfor %}{{ x }}") ==
        "15151");
  CHECK(render("{% set ns = namespace(n=0, s='') %}{% for i in [1,2] %}{% set ns.n = ns.n + i %}{% endfor "
               "%}{{ ns.n }}") == "3");
  CHECK(
      render("{% macro m(a, b='z') %}[{{ a }}{{ b }}]{% endmacro %}{{ m(1) }}{{ m(1, b=2) }}{{ m(b=3) }}") ==
      "[1z][12][3]");
  CHECK(render("{% set t %}a{{ 1 }}{% endset %}{{ t }}{% set u | upper %}b{% endset %}{{ u }}") == "a1B");
  CHECK(
      render("{% filter upper %}x{{ 'y' }}{% endfilter %}{% with a = 1, b = 2 %}{{ a + b }}{% endwith %}") ==
      "XY3");
  CHECK(render("{% if 0 %}a{% elif [] %}b{% elif 'x' %}c{% else %}d{% endif %}") == "c");
  CHECK(
      render(
          "{% for x in 'ab' %}{{ loop.previtem }}{{ loop.cycle('o','e') }}{{ loop.nextitem }}{% endfor %}") ==
      "obae");
  CHECK(render("{{ strftime_now('%d %b %Y') }}") == "26 Jul 2024");
}

TEST_CASE("filters, methods and tests") {
  CHECK(render("{{ {'b': [1, 2.0, none], 'a': '\u00e9\"\\n'}|tojson }}") ==
        "{\"b\": [1, 2.0, null], \"a\": \"\u00e9\\\"\\n\"}");
  CHECK(render("{{ {'a': [1], 'b': {}, 'c': []}|tojson(indent=2) }}") ==
        "{\n  \"a\": [\n    1\n  ],\n  \"b\": {},\n  \"c\": []\n}");
  CHECK(render("{{ [3,1,2]|sort|join('-') }} {{ [{'n': 1}, {'n': 2}]|map(attribute='n')|list }}") ==
        "1-2-3 [1, 2]");
  CHECK(render("{{ [{'r': 'a'}, {'r': 'b'}]|selectattr('r', 'equalto', 'b')|list|length }}") == "1");
  CHECK(render("{{ [1,2,3]|select('odd')|list }}{{ [0,1]|reject|list }}{{ ['a']|map('upper')|first }}") ==
        "[1, 3][0]A");
  CHECK(render("{{ x|default('d') }}{{ ''|default('e', true) }}{{ 'a b'|title }}{{ 'abc'|last }}") ==
        "deA Bc");
  CHECK(
      render(
          "{{ '  a '.strip() }}{{ 'xxa'.lstrip('x') }}{{ 'a,b,c'.split(',')[-1] }}{{ ' a  b '.split() }}") ==
      "aac['a', 'b']");
  CHECK(
      render("{{ 'a,b,c'.split(',', 1) }}{{ 'aXbX'.replace('X', '') }}{{ 'abc'.startswith(('x', 'ab')) }}") ==
      "['a', 'b,c']abTrue");
  CHECK(render("{{ 'a\nb'|indent(2) }}|{{ '<'|e }}|{{ ' 42 '|int + 1 }}|{{ 'x'|int }}|{{ 3.7|int }}") ==
        "a\n  b|&lt;|43|0|3");
  CHECK(render("{{ {} is mapping }}{{ 'a' is string }}{{ [] is iterable }}{{ 1 is number }}{{ none is none "
               "}}{{ x is defined }}") == "TrueTrueTrueTrueTrueFalse");
  CHECK(render("{{ {'a': 1}.get('b', 2) }}{{ {'a': 1}.keys()|list }}{{ {'b': 1, 'a': 2}|dictsort }}") ==
        "2['a'][('a', 2), ('b', 1)]");
}

TEST_CASE("faults name the line of the template") {
  CHECK_THAT(refusal("a\nb\n{{ x.y }}"), Catch::Contains(":3") && Catch::Contains("'x' is undefined"));
  CHECK_THAT(refusal("\n{{ raise_exception('no roles') }}"),
             Catch::Contains(":2") && Catch::Contains("no roles"));
  CHECK_THAT(refusal("\n\n{% if %}"), Catch::Contains(":3"));
  CHECK_THAT(refusal("{% if true %}"), Catch::Contains("endif"));
  CHECK_THAT(refusal("{% include 'x' %}"), Catch::Contains("include") && Catch::Contains("supported"));
  CHECK_THAT(refusal("{{ 1|frobnicate }}"), Catch::Contains("frobnicate") && Catch::Contains("tojson"));
  CHECK_THAT(refusal("{{ 1 is frob }}"), Catch::Contains("frob"));
  CHECK_THAT(refusal("{{ 'a' + 1 }}"), Catch::Contains("'str' and 'int'"));
  CHECK_THAT(refusal("{{ 1 // 0 }}"), Catch::Contains("zero"));
  CHECK_THAT(refusal("{{ 'open }}"), Catch::Contains("not closed"));
  CHECK_THAT(refusal("{{ messages.append(1) }}"), Catch::Contains("undefined"));
  CHECK_THAT(refusal("{{ 9223372036854775807 + 1 }}"), Catch::Contains("too large"));
}

TEST_CASE("no template hangs, overflows or fills the memory") {
  CHECK_THAT(refusal("{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}"), Catch::Contains("too deep"));
  CHECK_THAT(refusal("{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}"),
             Catch::Contains("too many steps"));
  CHECK_THAT(
      refusal("{% set n = namespace(s='x') %}{% for i in range(99) %}{% set n.s = n.s ~ n.s %}{% endfor %}"),
      Catch::Contains("limit"));
  CHECK_THAT(refusal("{{ 'x' * 100000000000 }}"), Catch::Contains("limit"));
  CHECK_THAT(refusal("{{ range(1000000000) }}"), Catch::Contains("range"));
  CHECK_THAT(refusal("{{ " + std::string(100000, '(') + "1" + std::string(100000, ')') + " }}"),
             Catch::Contains("levels"));
  std::string sums = "{{ 1";
  for (int i = 0; i < 100000; ++i) sums += "+1";
  CHECK_THAT(refusal(sums + " }}"), Catch::Contains("too many"));
  std::string ifs;
  for (int i = 0; i < 10000; ++i) ifs += "{% if 1 %}";
  CHECK_THAT(refusal(ifs), Catch::Contains("levels"));
  CHECK(render("{% set n = namespace() %}{% set n.me = n %}ok") == "ok");
}

TEST_CASE("null members of messages count as absent, reasoning has both names") {
  const auto chat = ChatTemplate::from_string("{{ messages[0] }}");
  CHECK(chat.render(ordered_json::parse(R"([{"role":"user","content":null,"reasoning":"r"}])")) ==
        "{'role': 'user', 'reasoning': 'r', 'thinking': 'r', 'reasoning_content': 'r'}");
  CHECK_THROWS_AS(chat.render(ordered_json::array()), Error);
  CHECK_THROWS_AS(chat.render(ordered_json::parse("[3]")), Error);
}
