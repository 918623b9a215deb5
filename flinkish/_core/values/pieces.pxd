# Pieces: values within a longer one, such as the elements of a tuple, or a key and its namespace.
#
# A piece is a tag, a size (uint32) and bytes, one after another, at any address.

from libc.stdint cimport uint8_t, uint32_t
from libc.string cimport memcpy

cdef enum:
    PIECE_HEAD = 5              # bytes of tag and size

cdef struct Piece:
    uint8_t tag
    uint32_t size
    const char* data            # lent by what the piece lies in

# The piece that begins at `data`, of which `left` bytes are left; 0 when it is cut short.
cdef inline bint piece_at(const char* data, uint32_t left, Piece* out) noexcept nogil:
    if left < PIECE_HEAD:
        return 0
    out.tag = <uint8_t>data[0]
    memcpy(&out.size, data + 1, sizeof(uint32_t))
    out.data = data + PIECE_HEAD
    return out.size <= left - PIECE_HEAD

cdef inline void put_piece_head(char* at, uint8_t tag, uint32_t size) noexcept nogil:
    at[0] = <char>tag
    memcpy(at + 1, &size, sizeof(uint32_t))

# Write a piece; where the next one begins.
cdef inline char* put_piece(char* at, uint8_t tag, uint32_t size, const char* data) noexcept nogil:
    put_piece_head(at, tag, size)
    if size != 0:
        memcpy(at + PIECE_HEAD, data, size)
    return at + PIECE_HEAD + size
