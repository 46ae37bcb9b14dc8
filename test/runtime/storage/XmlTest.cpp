#include "runtime/storage/Xml.h"

#include <gtest/gtest.h>

namespace reciperun::storage {
namespace {

TEST(Xml, GivesElementsAndTexts) {
  const auto root = parseXml("\n <?xml version=\"1.0\"?><List xmlns=\"urn:x\">"
                             "<Key>a&amp;b &#233;</Key><Key>c</Key></List>");
  ASSERT_TRUE(root) << root.message();
  EXPECT_EQ(root->name, "List");
  EXPECT_EQ(root->children.size(), 2u);
  EXPECT_EQ(root->textOf("Key"), "a&b \xc3\xa9");
  EXPECT_EQ(root->textOf("None"), "");
}

TEST(Xml, RefusesWhatIsNotComplete) {
  EXPECT_EQ(parseXml("<a><b></a>").message(),
            "line 1 of the XML: mismatched tag");
  EXPECT_FALSE(parseXml("<a>"));
  EXPECT_FALSE(parseXml(""));
}

TEST(Xml, RefusesDocumentTypes) {
  EXPECT_EQ(parseXml("<!DOCTYPE a [<!ENTITY b \"bb\">]><a>&b;</a>").message(),
            "line 1 of the XML: it has a document type");
}

TEST(Xml, RefusesDeepNesting) {
  std::string text;
  for (int i = 0; i < 40; ++i)
    text += "<a>";
  EXPECT_EQ(parseXml(text + "<b/>").message(),
            "line 1 of the XML: elements are nested too deeply");
}

TEST(Xml, EscapesTexts) {
  EXPECT_EQ(escapeXml("a<b>&\"c\""), "a&lt;b&gt;&amp;&quot;c&quot;");
}

} // namespace
} // namespace reciperun::storage
