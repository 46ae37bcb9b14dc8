// See Xml.h.

#include "runtime/storage/Xml.h"

#include <algorithm>
#include <expat.h>
#include <memory>

namespace reciperun::storage {
namespace {

constexpr size_t deepest = 32;

struct XmlBuilder {
  XML_Parser parser = nullptr;
  XmlElement document;           // holds the root
  std::vector<XmlElement*> open; // from the document on
  std::string fault;

  void stop(const char* reason) {
    fault = reason;
    XML_StopParser(parser, XML_FALSE);
  }
};

void beginElement(void* data, const XML_Char* name, const XML_Char**) {
  XmlBuilder& builder = *static_cast<XmlBuilder*>(data);
  if (builder.open.size() > deepest)
    return builder.stop("elements are nested too deeply");
  builder.open.back()->children.push_back({name, {}, {}});
  builder.open.push_back(&builder.open.back()->children.back());
}

void endElement(void* data, const XML_Char*) {
  static_cast<XmlBuilder*>(data)->open.pop_back();
}

void addText(void* data, const XML_Char* text, int size) {
  static_cast<XmlBuilder*>(data)->open.back()->text.append(text, size_t(size));
}

void refuseDoctype(void* data, const XML_Char*, const XML_Char*,
                   const XML_Char*, int) {
  static_cast<XmlBuilder*>(data)->stop("it has a document type");
}

} // namespace

const XmlElement* XmlElement::find(std::string_view child) const {
  const auto found = std::ranges::find(children, child, &XmlElement::name);
  return found == children.end() ? nullptr : &*found;
}

std::string XmlElement::textOf(std::string_view child) const {
  const XmlElement* found = find(child);
  return found ? found->text : std::string();
}

Expected<XmlElement> parseXml(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(" \t\r\n"), text.size()));
  const std::unique_ptr<XML_ParserStruct, decltype(&XML_ParserFree)> parser(
      XML_ParserCreate("UTF-8"), XML_ParserFree);
  XmlBuilder builder;
  builder.parser = parser.get();
  builder.open = {&builder.document};
  XML_SetUserData(parser.get(), &builder);
  XML_SetElementHandler(parser.get(), beginElement, endElement);
  XML_SetCharacterDataHandler(parser.get(), addText);
  XML_SetStartDoctypeDeclHandler(parser.get(), refuseDoctype);
  if (XML_Parse(parser.get(), text.data(), int(text.size()), XML_TRUE) ==
      XML_STATUS_ERROR) {
    if (builder.fault.empty())
      builder.fault = XML_ErrorString(XML_GetErrorCode(parser.get()));
    return Status::error(
        "line " + std::to_string(XML_GetCurrentLineNumber(parser.get())) +
        " of the XML: " + builder.fault);
  }
  return std::move(builder.document.children.front());
}

std::string escapeXml(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '&')
      out += "&amp;";
    else if (c == '<')
      out += "&lt;";
    else if (c == '>')
      out += "&gt;";
    else if (c == '"')
      out += "&quot;";
    else
      out += c;
  }
  return out;
}

} // namespace reciperun::storage
