// The XML of a store's answers, by libexpat.

#ifndef RECIPERUN_STORAGE_XML_H
#define RECIPERUN_STORAGE_XML_H

#include "runtime/base/Status.h"

#include <string>
#include <string_view>
#include <vector>

namespace reciperun::storage {

/// An element without attributes and namespaces, which S3's answers do not
/// need.
struct XmlElement {
  std::string name;
  std::string text; // directly inside it
  std::vector<XmlElement> children;

  /// The first child of a name; null when there is none.
  const XmlElement* find(std::string_view child) const;
  /// The text of a child; empty when there is none.
  std::string textOf(std::string_view child) const;
};

/// Parses a document, which may have white space before it. Fails for text that
/// is not well-formed, has a document type (entities could expand without
/// bound), or nests more than 32 elements.
Expected<XmlElement> parseXml(std::string_view text);

/// `<` and other characters of a text as entities.
std::string escapeXml(std::string_view text);

} // namespace reciperun::storage

#endif // RECIPERUN_STORAGE_XML_H
