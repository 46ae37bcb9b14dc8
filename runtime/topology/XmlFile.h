// XML texts as trees of elements, each with its position.

#ifndef RECIPERUN_TOPOLOGY_XMLFILE_H
#define RECIPERUN_TOPOLOGY_XMLFILE_H

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace reciperun::topology {

/// A position in a text, from 1; 0: none.
struct Position {
  int line = 0, column = 0;
};

struct XmlAttribute {
  std::string name, value;
  Position position = {};
};

struct XmlElement {
  std::string name;
  std::vector<XmlAttribute> attributes = {};
  std::vector<XmlElement> children = {};
  Position position = {};

  /// The attribute of a name; null when there is none.
  const XmlAttribute* find(std::string_view attribute) const;
  /// Its value, or an empty text.
  std::string valueOf(std::string_view attribute) const;
};

/// A part of an XML text that is no element: a declaration, text, or white
/// space of a kind that the readers of some formats do not take.
struct XmlExtra {
  enum class Kind {
    declaration,  // `<?xml ...?>`, `<!DOCTYPE ...>`
    text,         // between elements
    tab,          // between elements
    brokenTag,    // a line end or a tab within a tag
    spacedEquals, // white space around `=`
    reference     // `&amp;` in a value
  };
  Kind kind;
  Position position;
};

struct XmlFile {
  std::optional<XmlElement> root;
  std::vector<XmlExtra> extras; // the first of each kind
  /// Why the text is no XML, and where; empty when it is.
  std::string error;
  Position errorPosition;
};

/// Parses a text with at most 100 nested elements.
XmlFile parseXml(std::string_view text);

/// A text with an element a line, indented by two spaces, without a
/// declaration.
std::string toXml(const XmlElement& element);

} // namespace reciperun::topology

#endif // RECIPERUN_TOPOLOGY_XMLFILE_H
