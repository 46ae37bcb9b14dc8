// See Toml.h.

#include "compiler/import/Toml.h"

#include "compiler/base/Source.h"

#include <algorithm>
#include <string>

#include <toml++/toml.h>

namespace recipec::importer {
namespace {

class TomlReader {
public:
  TomlReader(const SourceMap& sources, SourceId source)
      : sources(sources), source(source) {}

  void read(const std::string& prefix, const toml::table& table) {
    for (const auto& [key, node] : table)
      read(prefix + std::string(key.str()), node);
    // toml++ sorts the keys of a table; restore the order of the file.
    std::ranges::stable_sort(
        entries, {}, [](const Entry& entry) { return entry.range.begin; });
  }

  SourceRange rangeOf(const toml::source_region& region) const {
    return {source, offsetOf(region.begin), offsetOf(region.end)};
  }

  std::vector<Entry> entries;

private:
  /// Lines, and columns in code points, count from 1.
  uint32_t offsetOf(const toml::source_position& position) const {
    const int line =
        std::clamp(int(position.line), 1, sources.lineCount(source));
    const std::string_view text = sources.lineText(source, line);
    size_t at = 0;
    for (uint32_t column = 1; column < position.column && at < text.size();
         ++column)
      do
        ++at;
      while (at < text.size() && (uint8_t(text[at]) & 0xc0) == 0x80);
    return sources.lineBegin(source, line) + uint32_t(at);
  }

  /// A scalar as the file spells it; numbers without the `_` between digits.
  std::string textOf(const toml::node& node) const {
    if (const auto* text = node.as_string())
      return text->get();
    std::string spelled(sources.text(rangeOf(node.source())));
    if (node.is_number())
      std::erase(spelled, '_');
    return spelled;
  }

  void read(const std::string& key, const toml::node& node) {
    if (const toml::table* table = node.as_table())
      return read(key + ".", *table);
    Entry entry{key, {}, node.is_array(), rangeOf(node.source())};
    if (const toml::array* list = node.as_array())
      for (const toml::node& element : *list)
        entry.values.push_back(textOf(element));
    else
      entry.values.push_back(textOf(node));
    entries.push_back(std::move(entry));
  }

  const SourceMap& sources;
  const SourceId source;
};

} // namespace

std::vector<Entry> readToml(const SourceMap& sources, SourceId source,
                            diag::Engine& engine) {
  TomlReader reader(sources, source);
  try {
    reader.read("", toml::parse(sources.text(source)));
  } catch (const toml::parse_error& error) {
    engine
        .report(diag::Kind::InvalidData, reader.rangeOf(error.source()),
                "this is no TOML: " + std::string(error.description()))
        .help("compare it with https://toml.io");
    return {};
  }
  return std::move(reader.entries);
}

} // namespace recipec::importer
