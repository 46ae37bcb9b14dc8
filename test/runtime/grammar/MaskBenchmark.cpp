// Prints what compiling and masks cost with a vocabulary of 128,000 random
// tokens: the first mask of each place of a text, and the masks of a second
// text of the same kind. Not a test.
//
// usage: maskBenchmark

#include "runtime/grammar/MaskTable.h"
#include "test/runtime/grammar/Walk.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>

using namespace reciperun::grammar;

namespace {

double now() {
  const auto time = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration<double, std::micro>(time).count();
}

/// Words of several lengths in ASCII and other alphabets, with and without
/// punctuation, as byte-level tokenizers have them.
std::vector<std::string> largeVocabulary() {
  std::vector<std::string> tokens = smallVocabulary();
  std::mt19937 random(7);
  while (tokens.size() < 128'000) {
    std::string token = random() % 2 ? " " : "";
    const bool isAscii = random() % 8 != 0;
    for (size_t i = 1 + random() % 8; i > 0; --i) {
      if (isAscii)
        token += static_cast<char>('a' + random() % 26);
      else
        appendUtf8(token, 0x400 + uint32_t(random() % 0x5000));
    }
    if (random() % 40 == 0)
      token += std::array{"\"", "\",", "\":", "}", "]", "."}[random() % 6];
    tokens.push_back(std::move(token));
  }
  return tokens;
}

struct Case {
  const char* name;
  Compiled (*compile)(std::string_view);
  const char* text;
};

void measure(const Case& each,
             const std::shared_ptr<const Vocabulary>& tokens) {
  const double begin = now();
  const Compiled made = each.compile(each.text);
  if (!made.automaton) {
    std::printf("%s: %s\n", each.name, made.refusal.c_str());
    return;
  }
  MaskTable table(made.automaton, tokens);
  const double compileTime = now() - begin;
  std::vector<uint32_t> mask(tokens->words());
  std::vector<double> times[2];
  for (std::vector<double>& pass : times) {
    std::mt19937 random(1);
    Matcher matcher(made.automaton);
    for (int step = 0; step < 400 && matcher.canGoOn(); ++step) {
      const double start = now();
      if (!table.fill(matcher, mask).isOk())
        return;
      pass.push_back(now() - start);
      const std::vector<int32_t> ids = allowedIds(mask);
      const int32_t id = ids[random() % ids.size()];
      if (!matcher.acceptBytes(tokens->bytesOf(id)).isOk())
        return;
    }
    std::sort(pass.begin(), pass.end());
  }
  std::printf("%-14s compile %8.0f us, %6zu states, first masks: median %7.1f "
              "us, worst %8.1f us, warm masks: median %5.1f us, worst %6.1f "
              "us, cache %5.1f MiB\n",
              each.name, compileTime, made.automaton->size(),
              times[0][times[0].size() / 2], times[0].back(),
              times[1][times[1].size() / 2], times[1].back(),
              double(table.cachedBytes()) / (1 << 20));
}

} // namespace

int main() {
  const auto tokens = std::make_shared<const Vocabulary>(largeVocabulary());
  const Case cases[] = {
      {"any json", schema, "{}"},
      {"object", schema,
       R"({"type": "object", "properties": {"name": {"type": "string"},
           "age": {"type": "integer", "minimum": 0, "maximum": 150},
           "tags": {"type": "array", "items": {"type": "string"}},
           "at": {"format": "date-time"}}, "required": ["name", "age", "tags"]})"},
      {"counted text", schema, R"({"type": "string", "maxLength": 5000})"},
      {"regex", regex, "(?:[A-Z][a-z]+ ){3,20}[0-9]{4}"},
      {"gbnf", gbnf,
       "root ::= expr\nexpr ::= term ([-+*/] term)*\nterm ::= [a-z]+ | [0-9]+ "
       "| \"(\" expr \")\"\n"},
  };
  for (const Case& each : cases)
    measure(each, tokens);
  return 0;
}
