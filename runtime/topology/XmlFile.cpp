// See XmlFile.h. expat parses.

#include "runtime/topology/XmlFile.h"

#include <expat.h>

#include <algorithm>
#include <cctype>
#include <memory>

namespace reciperun::topology {
namespace {

constexpr size_t mostNested = 100;

class XmlParser {
public:
  explicit XmlParser(std::string_view text)
      : text(text), parser(XML_ParserCreate("UTF-8"), &XML_ParserFree) {
    XML_SetUserData(parser.get(), this);
    XML_SetElementHandler(
        parser.get(),
        [](void* self, const char* name, const char** attributes) {
          static_cast<XmlParser*>(self)->begin(name, attributes);
        },
        [](void* self, const char*) { static_cast<XmlParser*>(self)->end(); });
    XML_SetCharacterDataHandler(
        parser.get(), [](void* self, const char* data, int length) {
          static_cast<XmlParser*>(self)->characters({data, size_t(length)});
        });
    XML_SetXmlDeclHandler(
        parser.get(), [](void* self, const char*, const char*, int) {
          static_cast<XmlParser*>(self)->note(XmlExtra::Kind::declaration);
        });
    XML_SetStartDoctypeDeclHandler(
        parser.get(),
        [](void* self, const char*, const char*, const char*, int) {
          static_cast<XmlParser*>(self)->note(XmlExtra::Kind::declaration);
        });
  }

  XmlFile parse() {
    const auto result = XML_Parse(parser.get(), text.data(), int(text.size()),
                                  /*isFinal=*/1);
    if (result != XML_STATUS_OK && file.error.empty()) {
      file.error = XML_ErrorString(XML_GetErrorCode(parser.get()));
      file.errorPosition = here();
    }
    return std::move(file);
  }

private:
  Position here() const {
    return {int(XML_GetCurrentLineNumber(parser.get())),
            int(XML_GetCurrentColumnNumber(parser.get())) + 1};
  }

  void note(XmlExtra::Kind kind) { noteAt(kind, here()); }
  void noteAt(XmlExtra::Kind kind, Position position) {
    if (std::ranges::find(file.extras, kind, &XmlExtra::kind) ==
        file.extras.end())
      file.extras.push_back({kind, position});
  }

  /// The text of the current tag.
  std::string_view tag() const {
    const auto at = size_t(XML_GetCurrentByteIndex(parser.get()));
    return text.substr(at, size_t(XML_GetCurrentByteCount(parser.get())));
  }

  /// The position of an offset within the current tag.
  Position within(std::string_view tag, size_t offset) const {
    Position position = here();
    for (size_t i = 0; i < offset; ++i) {
      if (tag[i] == '\n')
        position = {position.line + 1, 1};
      else
        ++position.column;
    }
    return position;
  }

  void begin(const char* name, const char** attributes) {
    if (open.size() == mostNested) {
      file.error = "more than 100 nested elements";
      file.errorPosition = here();
      XML_StopParser(parser.get(), XML_FALSE);
      return;
    }
    XmlElement element{name};
    element.position = here();
    const std::string_view raw = tag();
    noteSpaces(raw);
    size_t at = 0;
    for (; attributes[0]; attributes += 2) {
      const std::string attribute = attributes[0];
      at = std::min(raw.find(attribute, at + 1), raw.size());
      element.attributes.push_back({attribute, attributes[1], within(raw, at)});
      at = endOfValue(raw, at);
    }
    open.push_back(std::move(element));
  }

  /// The offset of the quote that ends the attribute at an offset.
  static size_t endOfValue(std::string_view raw, size_t at) {
    const size_t quote = raw.find_first_of("\"'", at);
    return quote == raw.npos ? at : raw.find(raw[quote], quote + 1);
  }

  /// Notes white space that is not one blank before each attribute.
  void noteSpaces(std::string_view raw) {
    char quote = 0;
    for (size_t i = 0; i < raw.size(); ++i) {
      const char c = raw[i];
      if (quote) {
        if (c == '&')
          noteAt(XmlExtra::Kind::reference, within(raw, i));
        if (c == quote)
          quote = 0;
        continue;
      }
      if (c == '"' || c == '\'')
        quote = c;
      if (c == '\t' || c == '\n' || c == '\r')
        noteAt(XmlExtra::Kind::brokenTag, within(raw, i));
      if (c == '=' && (raw[i - 1] == ' ' || raw[i + 1] == ' '))
        noteAt(XmlExtra::Kind::spacedEquals, within(raw, i));
    }
  }

  void end() {
    XmlElement element = std::move(open.back());
    open.pop_back();
    if (open.empty())
      file.root = std::move(element);
    else
      open.back().children.push_back(std::move(element));
  }

  void characters(std::string_view data) {
    for (const char c : data) {
      if (c == '\t')
        note(XmlExtra::Kind::tab);
      else if (!std::isspace(static_cast<unsigned char>(c)))
        note(XmlExtra::Kind::text);
    }
  }

  std::string_view text;
  std::unique_ptr<XML_ParserStruct, decltype(&XML_ParserFree)> parser;
  std::vector<XmlElement> open; // from the root to the current one
  XmlFile file;
};

std::string escaped(const std::string& value) {
  std::string text;
  for (const char c : value)
    text += c == '&'   ? "&amp;"
            : c == '<' ? "&lt;"
            : c == '"' ? "&quot;"
                       : std::string(1, c);
  return text;
}

void write(const XmlElement& element, int depth, std::string& text) {
  const std::string indent(size_t(2 * depth), ' ');
  text += indent + "<" + element.name;
  for (const XmlAttribute& each : element.attributes)
    text += " " + each.name + "=\"" + escaped(each.value) + "\"";
  if (element.children.empty()) {
    text += "/>\n";
    return;
  }
  text += ">\n";
  for (const XmlElement& child : element.children)
    write(child, depth + 1, text);
  text += indent + "</" + element.name + ">\n";
}

} // namespace

const XmlAttribute* XmlElement::find(std::string_view attribute) const {
  const auto found =
      std::ranges::find(attributes, attribute, &XmlAttribute::name);
  return found == attributes.end() ? nullptr : &*found;
}

std::string XmlElement::valueOf(std::string_view attribute) const {
  const XmlAttribute* found = find(attribute);
  return found ? found->value : "";
}

XmlFile parseXml(std::string_view text) {
  return XmlParser(text).parse();
}

std::string toXml(const XmlElement& element) {
  std::string text;
  write(element, 0, text);
  return text;
}

} // namespace reciperun::topology
