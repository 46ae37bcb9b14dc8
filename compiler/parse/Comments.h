// Hands comments to the items that they belong to. Private to this folder.

#ifndef RECIPEC_PARSE_COMMENTS_H
#define RECIPEC_PARSE_COMMENTS_H

#include "compiler/ast/Ast.h"
#include "compiler/parse/Tokens.h"

namespace recipec::parse {

/// Walks over the comments of a text in their order, in step with the
/// transformer, which visits items in the same order.
class CommentCursor {
public:
  CommentCursor(const SourceMap& sources, const TokenList& list)
      : sources(sources), list(list) {}

  /// Those before an item that begins at `offset`.
  ast::Comments before(uint32_t offset);
  /// Adds what follows behind an item on its last line. Comments between
  /// `begin` and `end` that no inner item took make `comments.inner` true.
  void finish(ast::Comments& comments, uint32_t end);
  /// The comments at the top of a file, when a blank line parts them from the
  /// first declaration at `offset`.
  ast::Comments header(uint32_t offset);

private:
  std::string_view text() const { return sources.text(list.source); }
  /// Whether a line without text ends directly before `offset`'s line.
  bool hasBlankLineBefore(uint32_t offset) const;
  std::string take();

  const SourceMap& sources;
  const TokenList& list;
  size_t next = 0;
};

} // namespace recipec::parse

#endif // RECIPEC_PARSE_COMMENTS_H
