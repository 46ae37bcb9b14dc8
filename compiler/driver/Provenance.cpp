// Explanations as text in two columns, value and place, and as JSON.

#include "compiler/driver/Provenance.h"

#include "compiler/diag/Glyphs.h"
#include "compiler/driver/Documentation.h"

#include <nlohmann/json.hpp>

#include <algorithm>

namespace recipec::driver {
namespace {

using Json = nlohmann::ordered_json;
using Definition = sema::Explanation::Definition;
using Operand = sema::Explanation::Operand;
using OriginKind = recipe::Origin::Kind;

constexpr int longestQuote = 56;
constexpr int widestColumn = 64;

/// Code in backticks on one line, shortened if it is long.
std::string inBackticks(std::string_view text) {
  std::string line;
  for (char c : text) {
    bool isSpace = c == ' ' || c == '\n' || c == '\t' || c == '\r';
    if (!isSpace || !line.ends_with(' '))
      line += isSpace ? ' ' : c;
  }
  line = diag::printable(line);
  if (diag::textWidth(line) > longestQuote)
    line = line.substr(0, longestQuote - 3) + "...";
  return "`" + line + "`";
}

std::string shortValue(const std::string& value) {
  if (value.empty())
    return "(no value)";
  return diag::textWidth(value) > longestQuote
             ? value.substr(0, longestQuote - 3) + "..."
             : value;
}

/// `sft.recipe:9:22`, `std/schema/parallel.recipe:30`, `--set parallel.tp=2`
std::string placeOf(SourceRange range, const SourceMap& sources) {
  if (!range.isValid())
    return "";
  std::string place = sources.describe(range);
  bool isLibrary = sources.kind(range.source) == SourceKind::standardLibrary;
  return isLibrary ? place.substr(0, place.rfind(':')) : place;
}

std::string_view kindWord(OriginKind kind) {
  switch (kind) {
  case OriginKind::written:
    return "written";
  case OriginKind::defaultValue:
    return "default";
  case OriginKind::commandLine:
    return "command line";
  case OriginKind::derived:
    return "derived";
  }
  return {};
}

std::string_view kindWord(Definition::Kind kind) {
  switch (kind) {
  case Definition::Kind::defaultValue:
    return "default";
  case Definition::Kind::written:
    return "written";
  case Definition::Kind::amended:
    return "amended";
  case Definition::Kind::commandLine:
    return "command line";
  }
  return {};
}

/// Rows of two columns, each with an optional remark.
class Table {
public:
  void add(int indent, std::string what, std::string where,
           std::string remark = "") {
    rows.push_back({std::string(size_t(indent), ' ') + std::move(what),
                    std::move(where), std::move(remark)});
  }

  std::string text() const {
    int column = 0;
    for (const Row& row : rows)
      if (int width = diag::textWidth(row.what); width <= widestColumn)
        column = std::max(column, width);
    std::string result;
    for (const Row& row : rows) {
      result += row.what;
      if (!row.where.empty()) {
        int gap = std::max(0, column - diag::textWidth(row.what)) + 2;
        result += std::string(size_t(gap), ' ') + row.where;
      }
      result += row.remark + "\n";
    }
    return result;
  }

private:
  struct Row {
    std::string what, where, remark;
  };
  std::vector<Row> rows;
};

class TextWriter {
public:
  explicit TextWriter(const SourceMap& sources) : sources(sources) {}

  std::string run(const sema::Explanation& explanation) {
    std::string out = explanation.path;
    // `parallel = parallel { ... }` only repeats the type.
    bool isPlainRecord = explanation.isRecord &&
                         explanation.value == explanation.type + " { ... }";
    if (explanation.value.empty())
      out += " has no value";
    else if (!isPlainRecord)
      out += " = " + explanation.value;
    out += "  (" + explanation.type + ")\n";
    if (explanation.comments)
      for (const std::string& line : descriptionLines(*explanation.comments))
        out += "  " + line + "\n";
    Table cause;
    addCause(explanation, cause);
    out += cause.text();
    if (explanation.isRecord)
      out += fields(explanation);
    if (explanation.history.size() > 1)
      out += history(explanation);
    return out;
  }

private:
  void addCause(const sema::Explanation& explanation, Table& table) const {
    const recipe::Origin& origin = explanation.origin;
    if (!origin.range.isValid())
      return;
    std::string text;
    if (origin.kind == OriginKind::commandLine)
      text = "set on the command line";
    else
      text = std::string(kindWord(origin.kind));
    if (!explanation.expression.empty())
      text += " as " + inBackticks(explanation.expression);
    bool isUsers = origin.kind == OriginKind::written;
    if (isUsers && !explanation.owner.empty())
      text += " in " + explanation.owner;
    table.add(2, std::move(text), placeOf(origin.range, sources));
    addOperands(explanation.operands, 4, table);
  }

  void addOperands(const std::vector<Operand>& operands, int indent,
                   Table& table) const {
    for (const Operand& operand : operands) {
      std::string text = "`" + operand.name + "` is ";
      bool isCode = operand.value.starts_with('"');
      text += isCode ? inBackticks(operand.value) : shortValue(operand.value);
      if (operand.origin.kind == OriginKind::defaultValue)
        text += " by default";
      if (!operand.expression.empty())
        text += (operand.origin.kind == OriginKind::derived ? ", derived as "
                                                            : ", from ") +
                inBackticks(operand.expression);
      table.add(indent, std::move(text),
                placeOf(operand.origin.range, sources));
      addOperands(operand.operands, indent + 2, table);
    }
  }

  std::string fields(const sema::Explanation& explanation) const {
    Table table;
    for (const auto& field : explanation.fields) {
      bool isPlain = field.origin.kind == OriginKind::defaultValue ||
                     field.origin.kind == OriginKind::derived;
      table.add(2, field.name + " = " + shortValue(field.value),
                isPlain ? std::string(kindWord(field.origin.kind))
                        : placeOf(field.origin.range, sources));
    }
    return "fields:\n" + table.text();
  }

  std::string history(const sema::Explanation& explanation) const {
    Table table;
    for (const Definition& definition : explanation.history) {
      std::string word(kindWord(definition.kind));
      word.resize(std::max<size_t>(word.size(), 7), ' ');
      std::string text = word + "  " + inBackticks(definition.text);
      bool isDefault = definition.kind == Definition::Kind::defaultValue;
      if (!isDefault && !definition.owner.empty())
        text += " in " + definition.owner;
      table.add(2, std::move(text), placeOf(definition.range, sources),
                definition.isOverridden ? "  (overridden)" : "");
    }
    return "history, the last wins:\n" + table.text();
  }

  const SourceMap& sources;
};

// ---- JSON

Json placeJson(SourceRange range, const SourceMap& sources) {
  if (!range.isValid())
    return nullptr;
  if (sources.kind(range.source) == SourceKind::commandLine)
    return {{"argument", sources.describe(range)}};
  LineColumn place = sources.lineColumn(range.source, range.begin);
  return {{"file", sources.name(range.source)},
          {"line", place.line},
          {"column", place.column}};
}

Json originJson(const recipe::Origin& origin, const SourceMap& sources) {
  return {{"kind", kindWord(origin.kind)},
          {"place", placeJson(origin.range, sources)}};
}

/// A value with an error is null.
Json valueJson(const std::string& value) {
  return value.empty() ? Json(nullptr) : Json(value);
}

Json operandsJson(const std::vector<Operand>& operands,
                  const SourceMap& sources) {
  Json all = Json::array();
  for (const Operand& operand : operands)
    all.push_back({{"name", operand.name},
                   {"value", valueJson(operand.value)},
                   {"origin", originJson(operand.origin, sources)},
                   {"expression", operand.expression},
                   {"operands", operandsJson(operand.operands, sources)}});
  return all;
}

} // namespace

std::string provenanceText(const sema::Explanation& explanation,
                           const SourceMap& sources) {
  return TextWriter(sources).run(explanation);
}

std::string provenanceJson(const sema::Explanation& explanation,
                           const SourceMap& sources) {
  std::string doc;
  if (explanation.comments)
    for (const std::string& line : descriptionLines(*explanation.comments))
      doc += (doc.empty() ? "" : " ") + line;
  Json history = Json::array();
  for (const Definition& definition : explanation.history)
    history.push_back({{"kind", kindWord(definition.kind)},
                       {"text", definition.text},
                       {"in", definition.owner},
                       {"place", placeJson(definition.range, sources)},
                       {"overridden", definition.isOverridden}});
  Json fields = Json::array();
  for (const auto& field : explanation.fields)
    fields.push_back({{"name", field.name},
                      {"value", valueJson(field.value)},
                      {"origin", originJson(field.origin, sources)}});
  Json all = {{"path", explanation.path},
              {"value", valueJson(explanation.value)},
              {"type", explanation.type},
              {"doc", doc},
              {"origin", originJson(explanation.origin, sources)},
              {"expression", explanation.expression},
              {"operands", operandsJson(explanation.operands, sources)},
              {"history", std::move(history)},
              {"fields", std::move(fields)}};
  return all.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

} // namespace recipec::driver
