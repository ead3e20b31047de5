import type { Clock } from "./clock.ts"

/** Loads values and keeps each one for a while. A failed load is not kept. */
export function keepFor<K, V>(
  ms: number,
  { clock, load }: { readonly clock: Clock; readonly load: (key: K) => Promise<V> },
): (key: K) => Promise<V> {
  const kept = new Map<K, { readonly at: number; readonly value: Promise<V> }>()
  return async (key) => {
    const now = clock.now()
    const known = kept.get(key)
    if (known !== undefined && now - known.at < ms) return await known.value
    for (const [other, { at }] of kept) if (now - at >= ms) kept.delete(other)
    const value = load(key)
    kept.set(key, { at: now, value })
    try {
      return await value
    } catch (cause) {
      kept.delete(key)
      throw cause
    }
  }
}
