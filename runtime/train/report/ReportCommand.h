// `reciperun report`: a page about runs.

#ifndef RECIPERUN_TRAIN_REPORT_REPORTCOMMAND_H
#define RECIPERUN_TRAIN_REPORT_REPORTCOMMAND_H

#include "runtime/cli/Command.h"

namespace reciperun::train {

cli::Command reportCommand();

} // namespace reciperun::train

#endif // RECIPERUN_TRAIN_REPORT_REPORTCOMMAND_H
