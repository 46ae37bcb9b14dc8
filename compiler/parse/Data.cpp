// Data files to syntax trees; see Data.h.
//
// 1. JSON text is checked to be strict JSON and then parsed as YAML, of which
//    JSON is a subset. YAML has no surrogate pairs of `\u` escapes, so they are
//    combined first.
// 2. libyaml turns the text into events. Their marks count code points, which a
//    table maps to bytes.
// 3. One function per event builds the tree. Reading stops at the first error,
//    because the rest may be misread.

#include "compiler/parse/Data.h"

#include "compiler/base/Utf8.h"
#include "compiler/parse/DataErrors.h"
#include "compiler/parse/Parse.h"
#include "compiler/parse/Scalars.h"

#include "llvm/ADT/StringExtras.h"
#include <nlohmann/json.hpp>
#include <yaml.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace recipec::parse {
namespace {

/// The text for libyaml, and the offsets of its code points in the file.
struct DataText {
  std::string text;
  std::vector<uint32_t> offsets; // one per code point, and the end

  uint32_t offsetOf(size_t index) const {
    return offsets[std::min(index, offsets.size() - 1)];
  }
};

/// The value of the escape `\uXXXX` at `at`; nullopt when there is no such
/// escape.
std::optional<uint32_t> escapeAt(std::string_view text, size_t at) {
  if (text.substr(at, 2) != "\\u" || at + 6 > text.size())
    return std::nullopt;
  return uint32_t(std::stoul(std::string(text.substr(at + 2, 4)), nullptr, 16));
}

/// `\ud83d\ude00` as `\U0001f600`; nullopt when there is no surrogate pair at
/// `at`.
std::optional<std::string> pairAt(std::string_view text, size_t at) {
  constexpr uint32_t high = 0xD800, low = 0xDC00, end = 0xE000;
  std::optional<uint32_t> first = escapeAt(text, at);
  if (!first || *first < high || *first >= low)
    return std::nullopt;
  std::optional<uint32_t> second = escapeAt(text, at + 6);
  if (!second || *second < low || *second >= end)
    return std::nullopt;
  uint32_t value = 0x10000 + ((*first - high) << 10) + (*second - low);
  return "\\U" + llvm::utohexstr(value, /*LowerCase=*/true, /*Width=*/8);
}

/// Copies the text for libyaml. With `isJson` the text is strict JSON, so every
/// backslash begins an escape.
DataText prepare(std::string_view text, bool isJson) {
  DataText result;
  size_t at = text.starts_with(byteOrderMark) ? byteOrderMark.size() : 0;
  auto copy = [&](size_t count) {
    for (size_t i = 0; i < count && at < text.size(); ++i, ++at) {
      if (beginsCodePoint(text[at]))
        result.offsets.push_back(uint32_t(at));
      result.text += text[at];
    }
  };
  while (at < text.size()) {
    bool isEscape = isJson && text[at] == '\\';
    std::optional<std::string> pair;
    if (isEscape)
      pair = pairAt(text, at);
    if (!pair) {
      copy(isEscape ? 2 : 1);
      continue;
    }
    result.text += *pair;
    result.offsets.insert(result.offsets.end(), pair->size(), uint32_t(at));
    at += 12;
  }
  result.offsets.push_back(uint32_t(text.size()));
  return result;
}

/// A libyaml event that is freed with its owner.
class Event {
public:
  Event() = default;
  ~Event() {
    if (isFilled)
      yaml_event_delete(&event);
  }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;

  bool fill(yaml_parser_t& parser) {
    isFilled = yaml_parser_parse(&parser, &event) != 0;
    return isFilled;
  }
  yaml_event_type_t type() const { return event.type; }
  const yaml_event_t* operator->() const { return &event; }

private:
  yaml_event_t event{};
  bool isFilled = false;
};

std::string textOf(const yaml_char_t* text) {
  return text ? reinterpret_cast<const char*>(text) : "";
}

class DataReader {
public:
  DataReader(const SourceMap& sources, SourceId source, diag::Engine& engine)
      : source(source), engine(engine), whole(sources.text(source)),
        isJson(sources.name(source).ends_with(".json")) {
    file.source = source;
  }
  ~DataReader() {
    if (isOpen)
      yaml_parser_delete(&parser);
  }
  DataReader(const DataReader&) = delete;
  DataReader& operator=(const DataReader&) = delete;

  ast::File run();
  ast::File runDocuments();

private:
  using Node = std::optional<ast::ExprId>;

  bool open();
  bool isStrictJson();
  bool next(Event& event);
  Node document();
  bool documents();
  void declare(ast::ExprId root);
  Node node(const Event& event, SourceRange ifEmpty);
  Node scalar(const Event& event, SourceRange ifEmpty);
  Node sequence(const Event& event);
  Node mapping(const Event& event);
  std::optional<ast::Name> key(const Event& event);
  Node alias(const Event& event);
  bool checkTag(const yaml_char_t* tag, SourceRange range);

  SourceRange rangeOf(const Event& event) const {
    SourceRange range{source, text.offsetOf(event->start_mark.index),
                      text.offsetOf(event->end_mark.index)};
    // libyaml ends a block scalar on the following line.
    while (range.end > range.begin &&
           std::isspace(static_cast<unsigned char>(whole[range.end - 1])))
      --range.end;
    return range;
  }
  ast::ExprId add(SourceRange range, decltype(ast::Expr::node) node) {
    file.exprs.push_back({range, std::move(node)});
    return ast::ExprId(file.exprs.size() - 1);
  }
  diag::Builder report(SourceRange range, std::string message) {
    return engine.report(diag::Kind::InvalidData, range, std::move(message));
  }
  void report(const DataError& error) {
    report({source, uint32_t(error.begin), uint32_t(error.end)}, error.message)
        .help(error.help);
  }

  SourceId source;
  diag::Engine& engine;
  std::string_view whole;
  bool isJson;
  DataText text;
  yaml_parser_t parser{};
  bool isOpen = false;
  ast::File file;
  std::map<std::string, ast::ExprId> anchors;
  int depth = 0;
  size_t values = 0;
};

// ---- events

bool DataReader::open() {
  if (whole.size() > maxDataFile) {
    report({source, 0, 0}, "this file has " + std::to_string(whole.size()) +
                               " bytes; data of more than " +
                               std::to_string(maxDataFile) + " is not read")
        .help("import the values of a recipe alone; samples are named as "
              "`data.train`, say `jsonl(\"train.jsonl\")`");
    return false;
  }
  if (isJson && !isStrictJson())
    return false;
  text = prepare(whole, isJson);
  isOpen = yaml_parser_initialize(&parser) != 0;
  if (!isOpen) {
    report({source, 0, 0}, "there is not enough memory to read this file")
        .help("end other programs, or import a smaller file");
    return false;
  }
  yaml_parser_set_encoding(&parser, YAML_UTF8_ENCODING);
  yaml_parser_set_input_string(
      &parser, reinterpret_cast<const unsigned char*>(text.text.data()),
      text.text.size());
  return true;
}

bool DataReader::isStrictJson() {
  // nlohmann's error texts address programmers, so only the position is used.
  struct Checker : nlohmann::json_sax<nlohmann::json> {
    bool null() override { return true; }
    bool boolean(bool) override { return true; }
    bool number_integer(number_integer_t) override { return true; }
    bool number_unsigned(number_unsigned_t) override { return true; }
    bool number_float(number_float_t, const string_t&) override { return true; }
    bool string(string_t&) override { return true; }
    bool binary(binary_t&) override { return true; }
    bool start_object(size_t) override { return true; }
    bool key(string_t&) override { return true; }
    bool end_object() override { return true; }
    bool start_array(size_t) override { return true; }
    bool end_array() override { return true; }
    bool parse_error(size_t position, const std::string&,
                     const nlohmann::detail::exception&) override {
      at = position;
      return false;
    }
    size_t at = 0; // position of the last byte read, counted from 1
  };
  Checker checker;
  if (nlohmann::json::sax_parse(whole, &checker))
    return true;
  // The position counts from 1.
  report(explainJson(whole, checker.at == 0 ? whole.size() : checker.at - 1));
  return false;
}

bool DataReader::next(Event& event) {
  if (event.fill(parser))
    return true;
  if (parser.error == YAML_READER_ERROR) {
    uint32_t at = uint32_t(std::min(parser.problem_offset, whole.size()));
    if (whole.starts_with(byteOrderMark))
      at += uint32_t(byteOrderMark.size());
    report({source, at, std::min(at + 1, uint32_t(whole.size()))},
           "this byte is no text: " + std::string(parser.problem))
        .help("data files are UTF-8");
    return false;
  }
  YamlProblem problem;
  problem.problem = parser.problem;
  problem.at = text.offsetOf(parser.problem_mark.index);
  if (parser.context) {
    problem.context = parser.context;
    problem.contextAt = text.offsetOf(parser.context_mark.index);
  }
  report(explainYaml(whole, problem));
  return false;
}

// ---- nodes

bool DataReader::checkTag(const yaml_char_t* tag, SourceRange range) {
  if (!tag)
    return true;
  report(range, "the tag `" + textOf(tag) + "` has no meaning here")
      .help("leave the tag out: a value has the type that it is written as, "
            "`\"3\"` is a string and `3` an `int`");
  return false;
}

DataReader::Node DataReader::scalar(const Event& event, SourceRange ifEmpty) {
  SourceRange range = rangeOf(event);
  const auto& data = event->data.scalar;
  if (!checkTag(data.tag, range))
    return std::nullopt;
  std::string value(reinterpret_cast<const char*>(data.value), data.length);
  if (data.style != YAML_PLAIN_SCALAR_STYLE)
    return add(range, ast::StringLiteral{{std::move(value)}, {}});
  if (value.empty())
    return add(ifEmpty, ast::KeywordLiteral{ast::KeywordLiteral::Which::none});
  std::optional<Scalar> plain = plainScalar(value);
  if (!plain) {
    report(range, "the number `" + value + "` is out of range")
        .help("numbers are finite, and integers lie between -2^63 and 2^63 - "
              "1; a string stands between `\"`");
    return std::nullopt;
  }
  return std::visit([&](auto& node) { return add(range, std::move(node)); },
                    *plain);
}

DataReader::Node DataReader::alias(const Event& event) {
  std::string name = textOf(event->data.alias.anchor);
  auto anchor = anchors.find(name);
  if (anchor != anchors.end())
    return anchor->second;
  const SourceRange range = rangeOf(event);
  report(range, "there is no anchor `&" + name + "` before this")
      .help("write `&" + name + "` before the value that is meant, or `\"" +
            std::string(whole.substr(range.begin, range.end - range.begin)) +
            "\"` for a text");
  return std::nullopt;
}

DataReader::Node DataReader::sequence(const Event& event) {
  SourceRange range = rangeOf(event);
  if (!checkTag(event->data.sequence_start.tag, range))
    return std::nullopt;
  ast::ListExpr list;
  while (true) {
    Event element;
    if (!next(element))
      return std::nullopt;
    if (element.type() == YAML_SEQUENCE_END_EVENT) {
      range = cover(range, rangeOf(element));
      break;
    }
    Node value = node(element, rangeOf(element));
    if (!value)
      return std::nullopt;
    list.elements.push_back(*value);
  }
  return add(range, std::move(list));
}

std::optional<ast::Name> DataReader::key(const Event& event) {
  SourceRange range = rangeOf(event);
  if (event.type() == YAML_ALIAS_EVENT || event.type() != YAML_SCALAR_EVENT) {
    const bool isTemplate = range.begin > 0 && whole[range.begin - 1] == '{' &&
                            whole[range.begin] == '{';
    report(range, "a key is a string, and this is something else")
        .help(isTemplate ? "templates are not filled in: write the value, or "
                           "the text in quotation marks"
                         : "write a key in quotation marks");
    return std::nullopt;
  }
  const auto& data = event->data.scalar;
  if (!checkTag(data.tag, range))
    return std::nullopt;
  std::string name(reinterpret_cast<const char*>(data.value), data.length);
  if (name == "<<" && data.style == YAML_PLAIN_SCALAR_STYLE) {
    report(range, "merge keys are not part of YAML 1.2")
        .help("write the merged keys out, or amend in the recipe: "
              "`base { ... }`");
    return std::nullopt;
  }
  return ast::Name{std::move(name), range};
}

DataReader::Node DataReader::mapping(const Event& event) {
  SourceRange range = rangeOf(event);
  if (!checkTag(event->data.mapping_start.tag, range))
    return std::nullopt;
  ast::Body body;
  std::map<std::string, SourceRange> known;
  while (true) {
    Event keyEvent;
    if (!next(keyEvent))
      return std::nullopt;
    if (keyEvent.type() == YAML_MAPPING_END_EVENT) {
      range = cover(range, rangeOf(keyEvent));
      break;
    }
    std::optional<ast::Name> name = key(keyEvent);
    if (!name)
      return std::nullopt;
    auto [first, isNew] = known.emplace(name->text, name->range);
    if (!isNew) {
      report(name->range, "the key `" + name->text + "` stands here twice")
          .label(first->second, "it stands here first")
          .help("remove one of the two");
      return std::nullopt;
    }
    Event valueEvent;
    if (!next(valueEvent))
      return std::nullopt;
    Node value = node(valueEvent, name->range);
    if (!value)
      return std::nullopt;
    ast::Item item;
    item.range = cover(name->range, file[*value].range);
    item.node = ast::Assignment{{*name}, *value, ast::BodyId::none};
    body.items.push_back(std::move(item));
  }
  body.range = range;
  file.bodies.push_back(std::move(body));
  return add(range, ast::RecordExpr{ast::BodyId(file.bodies.size() - 1)});
}

DataReader::Node DataReader::node(const Event& event, SourceRange ifEmpty) {
  if (++values > maxDataValues) {
    report(rangeOf(event), "this file has more than " +
                               std::to_string(maxDataValues) + " values")
        .help("import the values of a recipe alone");
    return std::nullopt;
  }
  if (event.type() == YAML_ALIAS_EVENT)
    return alias(event);
  if (event.type() == YAML_SCALAR_EVENT) {
    Node value = scalar(event, ifEmpty);
    if (value && event->data.scalar.anchor)
      anchors[textOf(event->data.scalar.anchor)] = *value;
    return value;
  }
  if (depth == maxNesting) {
    report(rangeOf(event), "this is nested deeper than " +
                               std::to_string(maxNesting) + " levels")
        .help("give inner values keys of their own at the top");
    return std::nullopt;
  }
  ++depth;
  bool isMapping = event.type() == YAML_MAPPING_START_EVENT;
  const yaml_char_t* anchor = isMapping ? event->data.mapping_start.anchor
                                        : event->data.sequence_start.anchor;
  Node value = isMapping ? mapping(event) : sequence(event);
  if (value && anchor)
    anchors[textOf(anchor)] = *value;
  --depth;
  return value;
}

DataReader::Node DataReader::document() {
  Node root;
  while (true) {
    Event event;
    if (!next(event))
      return std::nullopt;
    switch (event.type()) {
    case YAML_STREAM_START_EVENT:
    case YAML_DOCUMENT_END_EVENT:
      break;
    case YAML_DOCUMENT_START_EVENT:
      if (!root)
        break;
      report(rangeOf(event), "a second document begins here")
          .help("a data file is one document: put the other into a file of "
                "its own");
      return std::nullopt;
    case YAML_STREAM_END_EVENT:
      if (!root)
        report({source, 0, 0}, "this file is empty")
            .help("write lines `key: value` with the keys that the recipe "
                  "reads");
      return root;
    default:
      root = node(event, rangeOf(event));
      if (!root)
        return std::nullopt;
    }
  }
}

bool DataReader::documents() {
  while (true) {
    Event event;
    if (!next(event))
      return false;
    switch (event.type()) {
    case YAML_STREAM_START_EVENT:
    case YAML_DOCUMENT_END_EVENT:
      break;
    case YAML_DOCUMENT_START_EVENT:
      anchors.clear();
      break;
    case YAML_STREAM_END_EVENT:
      return true;
    default:
      const Node root = node(event, rangeOf(event));
      if (!root)
        return false;
      declare(*root);
    }
  }
}

void DataReader::declare(ast::ExprId root) {
  ast::Declaration declaration;
  declaration.range = file[root].range;
  declaration.node = ast::Let{{"data", declaration.range}, root};
  file.declarations.push_back(std::move(declaration));
}

ast::File DataReader::run() {
  Node root;
  if (open())
    root = document();
  if (root)
    declare(*root);
  return std::move(file);
}

ast::File DataReader::runDocuments() {
  if (open() && !documents())
    file.declarations.clear();
  return std::move(file);
}

} // namespace

bool isDataFile(std::string_view path) {
  return path.ends_with(".yaml") || path.ends_with(".yml") ||
         path.ends_with(".json");
}

ast::File parseData(const SourceMap& sources, SourceId source,
                    diag::Engine& engine) {
  return DataReader(sources, source, engine).run();
}

ast::File parseDocuments(const SourceMap& sources, SourceId source,
                         diag::Engine& engine) {
  return DataReader(sources, source, engine).runDocuments();
}

} // namespace recipec::parse
