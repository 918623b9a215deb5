# Four SipHash-2-4-128 at once, of data that is dealt out to them word by word.
#
# One SipHash waits for each of its own steps; four that have nothing to do with one another fill the
# vectors of a processor.  This is C, since Cython has no vectors.  Compilers that have them make
# something of this for every processor; with AVX2 it is twice as fast again, and with the rotations of
# AVX-512 three times.  What the processor can do is looked up as the program runs.

from libc.stdint cimport uint8_t, uint64_t

cdef enum:
    SIP_LANES = 4
    SIP_STRIPE = 32              # bytes: a word for each lane

cdef extern from * nogil:
    """
    #include <stdint.h>
    #include <string.h>

    typedef uint64_t flinkish_lanes __attribute__((vector_size(32)));

    #if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    #define FLINKISH_LE(v) do { for (int j_ = 0; j_ < 4; j_++) (v)[j_] = __builtin_bswap64((v)[j_]); } while (0)
    #else
    #define FLINKISH_LE(v) do { } while (0)
    #endif

    #define FLINKISH_TURN(v, bits) ((v) << (bits) | (v) >> (64 - (bits)))
    #define FLINKISH_ROUND do { \
        a += b; b = FLINKISH_TURN(b, 13) ^ a; a = FLINKISH_TURN(a, 32); \
        c += d; d = FLINKISH_TURN(d, 16) ^ c; \
        a += d; d = FLINKISH_TURN(d, 21) ^ a; \
        c += b; b = FLINKISH_TURN(b, 17) ^ c; c = FLINKISH_TURN(c, 32); \
    } while (0)

    /* The body of both: `data` is `size` bytes, whole stripes; `keys` has the first words of the four
       keys and then the second ones; `codes` gets the 16 bytes of each lane, lane after lane. */
    #define FLINKISH_SIP_LANES(NAME, TARGET) \
    TARGET static void NAME(const uint64_t *keys, const uint8_t *data, size_t size, uint8_t *codes) { \
        flinkish_lanes a, b, c, d, word; \
        const uint64_t length = (uint64_t)(size / 4) << 56; \
        memcpy(&word, keys, 32); \
        a = word ^ 0x736F6D6570736575ULL; c = word ^ 0x6C7967656E657261ULL; \
        memcpy(&word, keys + 4, 32); \
        b = word ^ 0x646F72616E646F6DULL ^ 0xEE; d = word ^ 0x7465646279746573ULL; \
        for (; size; data += 32, size -= 32) { \
            memcpy(&word, data, 32); \
            FLINKISH_LE(word); \
            d ^= word; FLINKISH_ROUND; FLINKISH_ROUND; a ^= word; \
        } \
        d ^= length; FLINKISH_ROUND; FLINKISH_ROUND; a ^= length; \
        c ^= 0xEE; \
        for (int half = 0; half < 2; half++) { \
            FLINKISH_ROUND; FLINKISH_ROUND; FLINKISH_ROUND; FLINKISH_ROUND; \
            word = a ^ b ^ c ^ d; \
            FLINKISH_LE(word); \
            for (int lane = 0; lane < 4; lane++) { \
                uint64_t part = word[lane]; \
                memcpy(codes + 16 * lane + 8 * half, &part, 8); \
            } \
            b ^= 0xDD; \
        } \
    }

    FLINKISH_SIP_LANES(flinkish_sip_any, )
    #if defined(__x86_64__)
    FLINKISH_SIP_LANES(flinkish_sip_avx2, __attribute__((target("avx2"))))
    FLINKISH_SIP_LANES(flinkish_sip_avx512, __attribute__((target("avx512f,avx512vl"))))
    #endif

    static inline void flinkish_sip_lanes(
        const uint64_t *keys, const uint8_t *data, size_t size, uint8_t *codes
    ) {
    #if defined(__x86_64__)
        if (__builtin_cpu_supports("avx512vl")) {
            flinkish_sip_avx512(keys, data, size, codes);
            return;
        }
        if (__builtin_cpu_supports("avx2")) {
            flinkish_sip_avx2(keys, data, size, codes);
            return;
        }
    #endif
        flinkish_sip_any(keys, data, size, codes);
    }
    """
    # The codes of the four lanes of `size` bytes, a multiple of SIP_STRIPE: lane i has the words i,
    # i + 4, i + 8 … and the key (keys[i], keys[i + 4]).
    void sip_lanes "flinkish_sip_lanes"(
        const uint64_t* keys, const uint8_t* data, size_t size, uint8_t* codes
    )
    # The same, whatever the processor can do; for tests.
    void sip_lanes_plain "flinkish_sip_any"(
        const uint64_t* keys, const uint8_t* data, size_t size, uint8_t* codes
    )
