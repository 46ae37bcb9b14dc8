// Pipeline layouts as Megatron writes them: `"Et*3|t*4L"`.

#ifndef RECIPEC_SEMA_NAMES_PIPELINELAYOUT_H
#define RECIPEC_SEMA_NAMES_PIPELINELAYOUT_H

#include <string>
#include <string_view>

namespace recipec::sema {

/// The layers of each chunk: `[3, 4]` for `Et*3|t*4L`. A `t` is a layer, `|`
/// ends a chunk, and `*N` repeats the letter or parenthesized group before it.
/// Empty if the text is not a layout.
std::string layersOfLayout(std::string_view layout);

} // namespace recipec::sema

#endif // RECIPEC_SEMA_NAMES_PIPELINELAYOUT_H
