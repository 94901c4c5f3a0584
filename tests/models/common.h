/* Shared by the models: counters that wrap, and witnesses. Plain C preprocessor text, no processes. */

/* 32-bit words are modelled with WRAP values; as on 32 bits, "a is at or after b" is a signed difference. */
#ifndef WRAP
#define WRAP 8
#endif
#define WRAPPED(x) ((x) % WRAP)
#define DISTANCE(a, b) (((a) + WRAP - (b)) % WRAP)

#ifdef BREAK_UNSIGNED /* the compare of a beginner: right until the first wrap */
#define AT_OR_AFTER(a, b) ((a) >= (b))
#else
#define AT_OR_AFTER(a, b) (DISTANCE(a, b) < WRAP / 2)
#endif

/* A place that a correct model must be able to reach. CHECK find assert -DREACH=n proves that it can, so that a model whose
 * interesting half became unreachable does not go on passing. */
#ifdef REACH
#define WITNESS(n, condition) assert(!(REACH == (n) && (condition)))
#else
#define WITNESS(n, condition) skip
#endif
