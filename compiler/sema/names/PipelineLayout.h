// Pipeline layouts as Megatron writes them: `"Et*3|t*4L"`.

#ifndef RECIPEC_SEMA_NAMES_PIPELINELAYOUT_H
#define RECIPEC_SEMA_NAMES_PIPELINELAYOUT_H

#include <string>
#include <string_view>

namespace recipec::sema {

/// The layers of each chunk, `[3, 4]` for `Et*3|t*4L`: a chunk ends at `|`, `t`
/// is a layer, and `*N` repeats what is before it, a letter or a group in
/// parentheses. Empty for a text that is no layout.
std::string layersOfLayout(std::string_view layout);

} // namespace recipec::sema

#endif // RECIPEC_SEMA_NAMES_PIPELINELAYOUT_H
