import type { PluginBoundary } from "./containment.ts"

/** The object of a plugin, with methods that run inside the boundary. */
export function containedObject<T extends object>(object: T, where: string, boundary: PluginBoundary): T {
  // A proxy of a frozen object could not return other functions.
  const shell: T = Object.create(object)
  return new Proxy(shell, {
    get: (_shell, name) => {
      const value: unknown = Reflect.get(object, name)
      if (typeof value !== "function") return value
      return (...args: readonly unknown[]): unknown => boundary.call(where, () => Reflect.apply(value, object, args))
    },
  })
}
