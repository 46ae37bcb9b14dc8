// The token ids of the prompts of completions and embeddings.

#ifndef RECIPERUN_SERVER_OPENAI_PROMPTIDS_H
#define RECIPERUN_SERVER_OPENAI_PROMPTIDS_H

#include "runtime/base/Status.h"
#include "runtime/serve/prompts/PromptFile.h"
#include "runtime/server/front/ApiModel.h"
#include "runtime/server/openai/BodyFields.h"

#include <cstdint>
#include <vector>

namespace reciperun::server {

/// The ids of a prompt, within the limits of the plan. A text is continued as
/// it is.
Expected<std::vector<int32_t>> promptIds(const ApiModel& served,
                                         const serve::PromptContent& content,
                                         const CommonFields& fields);

} // namespace reciperun::server

#endif // RECIPERUN_SERVER_OPENAI_PROMPTIDS_H
