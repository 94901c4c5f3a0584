/* Short vectors of HIP programs (C and C++): plain structs, and make_* in the HIP spelling. */
#ifndef HIP_HOST_VECTOR_TYPES_H_
#define HIP_HOST_VECTOR_TYPES_H_

#include <stdint.h>

#define HIP_HOST_VECTORS(name, T)                                                        \
  typedef struct name##1 {                                                               \
    T x;                                                                                 \
  }                                                                                      \
  name##1;                                                                               \
  typedef struct __attribute__((aligned(2 * sizeof(T)))) name##2 {                       \
    T x, y;                                                                              \
  }                                                                                      \
  name##2;                                                                               \
  typedef struct name##3 {                                                               \
    T x, y, z;                                                                           \
  }                                                                                      \
  name##3;                                                                               \
  typedef struct __attribute__((aligned(sizeof(T) == 8 ? 16 : 4 * sizeof(T)))) name##4 { \
    T x, y, z, w;                                                                        \
  }                                                                                      \
  name##4;                                                                               \
  static inline name##1 make_##name##1(T x) {                                            \
    name##1 v = {x};                                                                     \
    return v;                                                                            \
  }                                                                                      \
  static inline name##2 make_##name##2(T x, T y) {                                       \
    name##2 v = {x, y};                                                                  \
    return v;                                                                            \
  }                                                                                      \
  static inline name##3 make_##name##3(T x, T y, T z) {                                  \
    name##3 v = {x, y, z};                                                               \
    return v;                                                                            \
  }                                                                                      \
  static inline name##4 make_##name##4(T x, T y, T z, T w) {                             \
    name##4 v = {x, y, z, w};                                                            \
    return v;                                                                            \
  }
HIP_HOST_VECTORS(char, signed char)
HIP_HOST_VECTORS(uchar, unsigned char)
HIP_HOST_VECTORS(short, short)
HIP_HOST_VECTORS(ushort, unsigned short)
HIP_HOST_VECTORS(int, int)
HIP_HOST_VECTORS(uint, unsigned int)
HIP_HOST_VECTORS(long, long)
HIP_HOST_VECTORS(ulong, unsigned long)
HIP_HOST_VECTORS(longlong, long long)
HIP_HOST_VECTORS(ulonglong, unsigned long long)
HIP_HOST_VECTORS(float, float)
HIP_HOST_VECTORS(double, double)
#undef HIP_HOST_VECTORS

#endif
