/** Caches what `derive` returns for each object, as long as the object lives. The objects must not change. */
export function oncePerObject<Source extends object, Derived>(
  derive: (source: Source) => Derived,
): (source: Source) => Derived {
  const cache = new WeakMap<Source, Derived>()
  return (source) => {
    const cached = cache.get(source)
    if (cached !== undefined) return cached
    const derived = derive(source)
    cache.set(source, derived)
    return derived
  }
}
