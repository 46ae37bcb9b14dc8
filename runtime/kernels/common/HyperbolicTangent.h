// tanh for softcap, in a form that compilers vectorise.
//
// For float it is an odd rational function of x, of degrees 13 and 6 (the
// minimax approximation of Eigen's generic_fast_tanh_float), with a relative
// error of 3e-7; beyond 7.9 tanh rounds to 1. For double, which only serves as
// a reference, it is std::tanh.

#ifndef RECIPERUN_KERNELS_COMMON_HYPERBOLICTANGENT_H
#define RECIPERUN_KERNELS_COMMON_HYPERBOLICTANGENT_H

#include <cmath>

namespace reciperun::kernels {

inline float hyperbolicTangent(float x) {
  constexpr float most = 7.90531110763549805f;
  float c = x < -most ? -most : x;
  c = c > most ? most : c;
  const float s = c * c;
  float above = -2.76076847742355e-16f;
  above = above * s + 2.00018790482477e-13f;
  above = above * s - 8.60467152213735e-11f;
  above = above * s + 5.12229709037114e-08f;
  above = above * s + 1.48572235717979e-05f;
  above = above * s + 6.37261928875436e-04f;
  above = above * s + 4.89352455891786e-03f;
  float below = 1.19825839466702e-06f;
  below = below * s + 1.18534705686654e-04f;
  below = below * s + 2.26843463243900e-03f;
  below = below * s + 4.89352518554385e-03f;
  return c * above / below;
}

inline double hyperbolicTangent(double x) {
  return std::tanh(x);
}

} // namespace reciperun::kernels

#endif // RECIPERUN_KERNELS_COMMON_HYPERBOLICTANGENT_H
