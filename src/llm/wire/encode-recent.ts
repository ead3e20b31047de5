/** More than the messages of the last rounds, which several requests encode: cache markers move, and a round has an end only when the next one begins. */
const RECENT = 32

/** Caches what `encode` returns for the messages that were encoded last. The bytes of older ones are stored with the request body. */
export function encodeRecent<Source extends object, Encoded>(
  encode: (source: Source) => Encoded,
): (source: Source) => Encoded {
  const cache = new Map<Source, Encoded>()
  return (source) => {
    const cached = cache.get(source)
    if (cached !== undefined) return cached
    const encoded = encode(source)
    cache.set(source, encoded)
    if (cache.size > RECENT) {
      const [oldest] = cache.keys()
      if (oldest !== undefined) cache.delete(oldest)
    }
    return encoded
  }
}
