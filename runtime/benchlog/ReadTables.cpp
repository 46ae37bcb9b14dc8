// Reads tables line by line:
//
// 1. Remove the tag of mpirun, and split the line at white space.
// 2. A line that begins a run (settings, `Collective test starting`) opens a
//    log when the present one has rows.
// 3. A row is two whole numbers, a type, an operator where there is one, and 8
//    figures, or 9 with a root. Further figures are per-iteration times, and a
//    date and time at the end are a time stamp.

#include "runtime/benchlog/BenchLog.h"

#include "runtime/benchlog/CollectiveTest.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <span>

namespace reciperun::benchlog {
namespace {

struct Word {
  std::string_view text;
  size_t begin = 0; // offset in the whole text
};
using Words = std::vector<Word>;

/// The words of a line that starts at `begin` of the whole text.
Words wordsOf(std::string_view line, size_t begin) {
  constexpr std::string_view tagEnds[] = {"<stdout>:", "<stderr>:"};
  if (line.starts_with('['))
    for (std::string_view end : tagEnds)
      if (const size_t at = line.find(end); at != line.npos) {
        begin += at + end.size();
        line.remove_prefix(at + end.size());
        break;
      }
  Words words;
  for (size_t at = 0; at < line.size();) {
    const size_t first = line.find_first_not_of(" \t\r", at);
    if (first == line.npos)
      break;
    const size_t end =
        std::min(line.find_first_of(" \t\r", first), line.size());
    words.push_back({line.substr(first, end - first), begin + first});
    at = end;
  }
  return words;
}

template <class T> std::optional<T> parse(std::string_view text) {
  T value{};
  const auto [last, error] =
      std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || last != text.data() + text.size())
    return std::nullopt;
  return value;
}

TextSpan spanOf(const Words& words) {
  return {words.front().begin, words.back().begin + words.back().text.size()};
}

/// A printed number, with half of its last decimal as rounding.
std::optional<Figure> figureOf(std::string_view text) {
  const auto value = parse<double>(text);
  if (!value)
    return std::nullopt;
  const size_t exponent = text.find('e');
  const std::string_view mantissa = text.substr(0, exponent);
  const size_t point = mantissa.find('.');
  const int decimals =
      point == mantissa.npos ? 0 : int(mantissa.size() - point - 1);
  int power = 0;
  if (exponent != text.npos)
    if (const auto given = parse<int>(text.substr(
            exponent + (text.substr(exponent + 1).starts_with('+') ? 2 : 1))))
      power = *given;
  return Figure{*value, 0.5 * std::pow(10, power - decimals)};
}

constexpr std::string_view unchecked = "N/A";

bool isFigure(std::string_view text) {
  return text == unchecked || parse<double>(text);
}

// ---- rows

/// Four words: time, algbw, busbw, #wrong.
std::optional<Half> halfOf(std::span<const Word> words) {
  const auto time = figureOf(words[0].text),
             algorithm = figureOf(words[1].text), bus = figureOf(words[2].text);
  if (!time || !algorithm || !bus)
    return std::nullopt;
  return Half{*time, *algorithm, *bus, parse<double>(words[3].text)};
}

/// Where the halves of a row start among its figures, by the number of figures.
struct RowForm {
  size_t figures;
  bool hasRoot;
  int outOfPlace, inPlace; // -1: the row has no such half
};
constexpr RowForm rowForms[] = {
    {8, false, 0, 4},  {9, true, 1, 5},
    {16, false, 0, 8}, {17, true, 1, 9}, // with per-iteration times
    {4, false, -1, 0}, {5, true, -1, 1},
};

std::optional<Row> rowOf(const Words& words) {
  if (words.size() < 7)
    return std::nullopt;
  const auto size = parse<int64_t>(words[0].text),
             count = parse<int64_t>(words[1].text);
  if (!size || !count || isFigure(words[2].text))
    return std::nullopt;
  Row row;
  row.size = *size;
  row.count = *count;
  row.type = words[2].text;
  row.span = spanOf(words);
  std::span<const Word> rest = std::span(words).subspan(3);
  if (!isFigure(rest[0].text)) {
    row.redop = rest[0].text;
    rest = rest.subspan(1);
  }
  if (rest.size() > 2 && !isFigure(rest.back().text)) {
    row.timestamp = std::string(rest[rest.size() - 2].text) + " " +
                    std::string(rest.back().text);
    rest = rest.first(rest.size() - 2);
  }
  const auto form = std::ranges::find(rowForms, rest.size(), &RowForm::figures);
  if (form == std::end(rowForms) ||
      !std::ranges::all_of(rest, isFigure, &Word::text))
    return std::nullopt;
  if (form->hasRoot)
    row.root = parse<int>(rest[0].text).value_or(-1);
  if (form->outOfPlace >= 0)
    row.outOfPlace = halfOf(rest.subspan(size_t(form->outOfPlace), 4));
  row.inPlace = halfOf(rest.subspan(size_t(form->inPlace), 4));
  if (!row.outOfPlace && !row.inPlace)
    return std::nullopt;
  return row;
}

// ---- comment lines

/// The word after `names`, which follow one another; empty when the line does
/// not have them.
std::string_view wordAfter(const Words& words,
                           std::initializer_list<std::string_view> names) {
  const auto first =
      std::search(words.begin(), words.end(), names.begin(), names.end(),
                  [](const Word& word, std::string_view name) {
                    return word.text == name;
                  });
  const auto after = std::next(
      first, std::min(words.end() - first, std::ptrdiff_t(names.size())));
  return after == words.end() ? std::string_view() : after->text;
}

std::optional<Settings> settingsOf(const Words& words) {
  const auto minimum = parse<int64_t>(wordAfter(words, {"minBytes"})),
             maximum = parse<int64_t>(wordAfter(words, {"maxBytes"}));
  if (!minimum || !maximum)
    return std::nullopt;
  const auto number = [&](std::initializer_list<std::string_view> names,
                          int otherwise) {
    return parse<int>(wordAfter(words, names)).value_or(otherwise);
  };
  Settings settings;
  settings.threads = number({"nThread"}, 1);
  settings.gpus = number({"nGpus"}, 1);
  settings.minBytes = *minimum;
  settings.maxBytes = *maximum;
  const std::string_view step = wordAfter(words, {"step:"});
  settings.isFactor = step.ends_with("(factor)");
  settings.step = parse<int64_t>(step.substr(0, step.find('('))).value_or(0);
  settings.warmups = number({"warmup", "iters:"}, 0);
  settings.iterations =
      number({"iters:", std::to_string(settings.warmups), "iters:"}, 0);
  settings.aggregated = number({"agg", "iters:"}, 1);
  settings.validation = number({"validation:"}, 0);
  settings.graph = number({"graph:"}, 0);
  settings.unalign = number({"unalign:"}, 0);
  settings.span = spanOf(words);
  return settings;
}

/// `Rank 0 Group 0 Pid 12 on host device 0 [0000:1b:00] NVIDIA H200`; old
/// versions have no group, and `[0x1b]`.
std::optional<RankLine> rankOf(const Words& words) {
  const auto rank = parse<int>(wordAfter(words, {"Rank"}));
  const auto device = parse<int>(wordAfter(words, {"device"}));
  if (!rank || !device)
    return std::nullopt;
  RankLine line;
  line.span = spanOf(words);
  line.rank = *rank;
  line.device = *device;
  line.group = parse<int>(wordAfter(words, {"Group"})).value_or(0);
  line.pid = parse<int64_t>(wordAfter(words, {"Pid"})).value_or(0);
  line.host = wordAfter(words, {"on"});
  bool isName = false;
  for (const Word& word : words) {
    if (isName)
      line.name += (line.name.empty() ? "" : " ") + std::string(word.text);
    if (word.text.starts_with('[') && word.text.ends_with(']')) {
      line.address = word.text.substr(1, word.text.size() - 2);
      isName = true;
    }
  }
  return line;
}

// ---- the whole text

class TableReader {
public:
  std::vector<BenchLog> read(std::string_view text) {
    for (size_t at = 0; at < text.size();) {
      const size_t end = std::min(text.find('\n', at), text.size());
      if (const Words words = wordsOf(text.substr(at, end - at), at);
          !words.empty())
        readLine(words);
      at = end + 1;
    }
    close();
    return std::move(logs);
  }

private:
  void readLine(const Words& words) {
    if (words[0].text.starts_with('#')) {
      readComment(words);
      return;
    }
    if (auto row = rowOf(words))
      log.rows.push_back(*std::move(row));
    else
      readCommand(words);
  }
  void readComment(const Words& words);
  void readCommand(const Words& words);
  /// Begins another run unless the present one has no rows yet.
  void open() {
    if (!log.rows.empty() || log.average)
      close();
  }
  void close() {
    if (!log.rows.empty()) {
      if (log.test.empty())
        log.test = commandTest;
      logs.push_back(std::move(log));
    }
    log = {};
  }

  BenchLog log;
  std::string commandTest; // of the last command line
  std::vector<BenchLog> logs;
};

/// A command line of a test, in a log that shows it: `all_reduce_perf -b 8`.
void TableReader::readCommand(const Words& words) {
  for (const Word& word : words)
    if (word.text.ends_with("_perf"))
      if (const auto test = findTest(word.text))
        commandTest = nameOf(*test);
}

void TableReader::readComment(const Words& words) {
  if (const auto name = wordAfter(words, {"test", "starting:"});
      !name.empty()) {
    open();
    if (const auto test = findTest(name))
      log.test = nameOf(*test);
  } else if (auto settings = settingsOf(words)) {
    open();
    log.settings = *std::move(settings);
  } else if (auto rank = rankOf(words)) {
    log.ranks.push_back(*std::move(rank));
  } else if (const auto count =
                 parse<int64_t>(wordAfter(words, {"bounds", "values", ":"}))) {
    log.outOfBounds = *count;
    log.outOfBoundsSpan = spanOf(words);
  } else if (const auto average =
                 parse<double>(wordAfter(words, {"bus", "bandwidth", ":"}))) {
    // `%g` drops zeros at the end, so the digits do not show its rounding.
    const double digits =
        *average > 0 ? std::floor(std::log10(*average)) - 5 : -5;
    log.average = Figure{*average, 0.5 * std::pow(10, digits)};
    log.averageSpan = spanOf(words);
    const std::string_view last = words.back().text;
    log.verdict = last == "OK" || last == "FAILED" ? last : "";
  }
}

} // namespace

std::vector<BenchLog> readTables(std::string_view text) {
  return TableReader().read(text);
}

} // namespace reciperun::benchlog
