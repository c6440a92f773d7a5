// On the core everything must end up in one function, so that accumulators stay in registers.
#ifdef __AIENGINE__
#define MATCH_AIE_INLINE inline __attribute__((always_inline))
#else
#define MATCH_AIE_INLINE inline
#endif
