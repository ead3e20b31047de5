/** A value that is created on first use, once. */
export interface Lazy<T> {
  (): T
  /** The value if it exists already; does not create it. For clean-up code. */
  peek(): T | undefined
}

/**
 * Creates a value on first use and returns the same one from then on. A `create` that throws is called again next time; a
 * promise that rejects is kept, unless `retry` says that the next caller may try again.
 */
export function lazy<T>(create: () => T, options: { readonly retry?: boolean } = {}): Lazy<T> {
  let holder: { readonly value: T } | undefined
  const get = (): T => {
    if (holder !== undefined) return holder.value
    const created = { value: create() }
    holder = created
    if (options.retry === true && created.value instanceof Promise) {
      created.value.catch(() => {
        if (holder === created) holder = undefined
      })
    }
    return created.value
  }
  return Object.assign(get, { peek: () => holder?.value })
}
