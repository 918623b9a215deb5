"""SipHash-2-4 with 128 bits as its paper writes it, and records made with it."""

MASK = (1 << 64) - 1


def turn(word: int, bits: int) -> int:
    return (word << bits | word >> (64 - bits)) & MASK


def siphash(key: bytes, data: bytes) -> bytes:
    first, second = (int.from_bytes(key[at : at + 8], "little") for at in (0, 8))
    v0, v1 = first ^ 0x736F6D6570736575, second ^ 0x646F72616E646F6D ^ 0xEE
    v2, v3 = first ^ 0x6C7967656E657261, second ^ 0x7465646279746573

    def rounds(count: int) -> None:
        nonlocal v0, v1, v2, v3
        for _ in range(count):
            v0, v2 = (v0 + v1) & MASK, (v2 + v3) & MASK
            v1, v3 = turn(v1, 13) ^ v0, turn(v3, 16) ^ v2
            v0 = turn(v0, 32)
            v2, v0 = (v2 + v1) & MASK, (v0 + v3) & MASK
            v1, v3 = turn(v1, 17) ^ v2, turn(v3, 21) ^ v0
            v2 = turn(v2, 32)

    padded = data + bytes(7 - len(data) % 8) + bytes([len(data) % 256])
    for at in range(0, len(padded), 8):
        word = int.from_bytes(padded[at : at + 8], "little")
        v3 ^= word
        rounds(2)
        v0 ^= word
    v2 ^= 0xEE
    rounds(4)
    code = v0 ^ v1 ^ v2 ^ v3
    v1 ^= 0xDD
    rounds(4)
    return code.to_bytes(8, "little") + (v0 ^ v1 ^ v2 ^ v3).to_bytes(8, "little")


def lanes(key: bytes, payload: bytes) -> bytes:
    stripes = [payload[at : at + 32] for at in range(0, len(payload) - 31, 32)]
    return b"".join(
        siphash(
            siphash(key, lane.to_bytes(8, "little")),
            b"".join(stripe[8 * lane : 8 * lane + 8] for stripe in stripes),
        )
        for lane in range(4)
    )


def code(key: bytes, number: int, payload: bytes) -> bytes:
    head = number.to_bytes(8, "little") + len(payload).to_bytes(8, "little")
    if len(payload) < 512:
        return siphash(key, head + payload)
    return siphash(key, head + lanes(key, payload) + payload[len(payload) // 32 * 32 :])


def record(key: bytes, number: int, payload: bytes) -> bytes:
    return len(payload).to_bytes(4, "little") + payload + code(key, number, payload)


def records(key: bytes, data: bytes, most: int, number: int = 0) -> list[bytes]:
    pieces = [data[at : at + most] for at in range(0, len(data), most)]
    return [record(key, number + n, piece) for n, piece in enumerate(pieces)]
