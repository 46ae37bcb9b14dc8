// Help with the axes of sweeps.

#ifndef RECIPEC_SEMA_RECIPES_AXISHELP_H
#define RECIPEC_SEMA_RECIPES_AXISHELP_H

#include <string>
#include <string_view>

namespace recipec::sema {

/// What to write for an axis that is no list. Other programs describe one by
/// its bounds: `{ min = 1e-5, max = 1e-3 }`.
std::string helpWithAxis(std::string_view written);

} // namespace recipec::sema

#endif // RECIPEC_SEMA_RECIPES_AXISHELP_H
