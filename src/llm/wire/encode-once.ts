/**
 * Caches what `encode` returns for each object. Providers cache prompts by byte prefix, so a message or tool list must
 * be sent as the same bytes in every request of a session.
 */
export function encodeOnce<Source extends object, Encoded>(
  encode: (source: Source) => Encoded,
): (source: Source) => Encoded {
  const cache = new WeakMap<Source, Encoded>()
  return (source) => {
    const cached = cache.get(source)
    if (cached !== undefined) return cached
    const encoded = encode(source)
    cache.set(source, encoded)
    return encoded
  }
}
