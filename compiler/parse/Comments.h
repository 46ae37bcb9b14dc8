// Assigns comments to items. Private to this folder.

#ifndef RECIPEC_PARSE_COMMENTS_H
#define RECIPEC_PARSE_COMMENTS_H

#include "compiler/ast/Ast.h"
#include "compiler/parse/Tokens.h"

namespace recipec::parse {

/// Walks over the comments of a text in order. The transformer visits items in
/// the same order.
class CommentCursor {
public:
  CommentCursor(const SourceMap& sources, const TokenList& list)
      : sources(sources), list(list) {}

  /// The comments before an item that begins at `offset`.
  ast::Comments before(uint32_t offset);
  /// Adds the comment that follows an item on its last line; the item ends at
  /// `end`. Sets `comments.inner` when comments before `end` belong to no inner
  /// item.
  void finish(ast::Comments& comments, uint32_t end);
  /// The comments at the top of a file, if a blank line separates them from the
  /// first declaration at `offset`.
  ast::Comments header(uint32_t offset);

private:
  std::string_view text() const { return sources.text(list.source); }
  /// Whether the line before `offset`'s line is blank.
  bool hasBlankLineBefore(uint32_t offset) const;
  std::string take();

  const SourceMap& sources;
  const TokenList& list;
  size_t next = 0;
};

} // namespace recipec::parse

#endif // RECIPEC_PARSE_COMMENTS_H
